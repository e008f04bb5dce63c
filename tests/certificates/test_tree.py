"""The tree of a k-median proof: honest ones pass, files round-trip, and no corruption is ever accepted and false."""

import hashlib
import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from certiclust.bounds.branch_and_bound import Node, Stage, pack
from certiclust.bounds.lagrangian import Instance, ascend
from certiclust.certificates import Certificate, CertificateError
from certiclust.certificates import certificate as certificate_module
from certiclust.certificates.files import packed_arrays
from certiclust.certificates.replay import Scale, replay, unpack
from certiclust.space.lists import build_lists
from tests.bounds.test_branch_and_bound import ascents_of, hard, plant, unit_of
from tests.solver import brute

seeds = st.integers(0, 2**32 - 1)
NONE = np.zeros(0, np.int64)


def scale_of(cost, k):
    return Scale(cost.shape[1], len(cost), k, 0, 0.0)


def replayed(stored, cost, k, upper):
    """The bound that the verifier derives, with costs handed out in small blocks."""
    m, n = cost.shape

    def blocks(ids):
        for start in range(0, len(ids), 3):
            yield cost[ids[start : start + 3]]

    return replay(unpack(stored, n, m), blocks, scale_of(cost, k), upper)


def grown(seed):
    """A branched tree with drops and fixings, grown to its end on a tiny instance; packed."""
    _, cost, k = hard(seed, 9, 8)
    best, unit = brute.optimum(cost, k), unit_of(cost)
    tree = plant(cost, k, best, unit, steps=5)
    with ascents_of(4):
        tree.run(60)
    return cost, k, best, unit, tree, pack(tree.nodes, unit, 1.0)


def test_honest_trees_of_all_kinds():
    kinds = set()
    for seed in range(60):
        cost, k, best, _, tree, stored = grown(seed)
        assert tree.lower * (1 - 1e-15) <= replayed(stored, cost, k, best) <= best
        kinds |= {"root only"} if len(tree.nodes) == 1 else {"branched"}
        kinds |= {"drops"} if any(len(s.dropped) for node in tree.nodes for s in node.stages) else set()
        kinds |= {"fixes"} if any(len(s.opened) for node in tree.nodes for s in node.stages) else set()
    assert kinds == {"root only", "branched", "drops", "fixes"}


def test_several_stages_at_the_root_are_replayed_in_order():
    """Far stars: the first stage drops and fixes, the second profits from it; exchanged they prove nothing."""
    x = np.concatenate([np.array([0, -3, 3, -4, 5]) + 1000.0 * g for g in range(2)])
    cost = np.abs(x[:, None] - x)
    best, value = min(brute.solutions(cost, 2), key=lambda item: item[1])
    c1 = cost[list(best)].min(axis=0)
    lists = build_lists(cost, np.full(10, 50.0))
    strong = ascend(lists, Instance(2, 1.0), c1 + 5.0, value + 0.5, floor=1e-9, iterations=3000).u
    others = np.array([j for j in range(10) if j not in best])
    first = (strong, others, np.array(best))
    second = (c1, NONE, NONE)  # with two candidates left the cost itself is the bound
    assert replayed(_tree([first, second]), cost, 2, value) == value
    assert replayed(_tree([second]), cost, 2, value) < value  # without the first stage the second proves less
    # a stage that finds everything decided already may not decide it again
    with pytest.raises(CertificateError, match="drops|fixes"):  # noqa: RUF043
        replayed(_tree([(strong, others, NONE), (strong, others[:1], NONE)]), cost, 2, value)
    with pytest.raises(CertificateError, match="drops"):
        replayed(_tree([(c1, others, NONE)]), cost, 2, value)


def _tree(stages, unit=1.0):
    node = Node(-1, -1, 0, [Stage(u, np.asarray(d), np.asarray(o)) for u, d, o in stages])
    return pack([node], unit, 1.0)


def test_an_empty_side_needs_no_stage():
    """A branch without solutions is closed by that alone: here k = m, so closing any candidate leaves none."""
    cost = np.random.default_rng(0).random((2, 4))
    u = cost.min(axis=0)
    value = u.sum()
    nodes = [Node(-1, -1, 0), Node(0, 1, -1), Node(0, 1, 1, [Stage(u, NONE, NONE)])]
    assert replayed(pack(nodes, 0.0, 1.0), cost, 2, 9.0) == pytest.approx(value, rel=1e-12)
    # one open candidate of three does not close the other side
    cost = np.vstack([cost, np.full(4, 0.5)])
    assert replayed(pack(nodes, 0.0, 1.0), cost, 2, 9.0) == 0.0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"parent": [-1, 0]}, "different lengths"),
        ({"candidate": [-1, 9, 9]}, "outside 0..3"),
        ({"candidate": [-1, 1, 2]}, "both sides"),
        ({"side": [0, 1, 1]}, "both sides"),
        ({"side": [0, -1, -1]}, "both sides"),
        ({"parent": [-1, 0, 1]}, "both sides"),
        ({"parent": [-1, 2, 0]}, "no parent before it"),
        ({"parent": [0, 0, 0]}, "no parent before it"),
        ({"parent": [-1, -1, 0]}, "no parent before it"),
        ({"parent": [-1.0, 0.0, 0.0]}, "malformed"),
        ({"parent": [[-1, 0, 0]]}, "malformed"),
        ({"stage_node": [0, 3]}, "without a node"),
        ({"stage_node": [0, -1]}, "without a node"),
        ({"stage_node": [0]}, "malformed"),
        ({"u": [[1.0, 2.0]]}, "malformed"),
        ({"u": "abc"}, "malformed"),
        ({"u": [[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]}, "multipliers"),
        ({"u": [[1.0, float("nan"), 1.0], [1.0, 1.0, 1.0]]}, "multipliers"),
        ({"u": [[1.0, float("inf"), 1.0], [1.0, 1.0, 1.0]]}, "multipliers"),
        ({"u": [[1.0, 1e308, 1e308], [1.0, 1.0, 1.0]]}, "multipliers"),
        ({"u": None}, "malformed|multipliers"),
        ({"granularity": -1.0}, "granularity"),
        ({"granularity": float("nan")}, "granularity"),
        ({"granularity": 5e-324}, "granularity"),
        ({"granularity": None}, "malformed"),
        ({"granularity": 0.7}, "multiples of 0.7"),
        ({"granularity": 2.0}, "multiples of 2.0"),
        ({"dropped": [4], "dropped_end": [1, 1]}, "outside 0..3"),
        ({"dropped": [-1], "dropped_end": [1, 1]}, "outside 0..3"),
        ({"dropped": [0], "dropped_end": [1, 1]}, "drops a candidate"),
        ({"opened": [3], "opened_end": [1, 1]}, "fixes a candidate"),
        ({"opened_end": [0]}, "different lengths"),
        ({"dropped": ["a"], "dropped_end": [1, 1]}, "malformed"),
        ({"dropped": [10**30], "dropped_end": [1, 1]}, "malformed"),
    ],
)
def test_a_malformed_tree_is_refused_with_the_reason(change, reason):
    cost = np.array([[1.0, 4.0, 3.0], [3.0, 1.0, 3.0], [2.0, 2.0, 5.0], [4.0, 4.0, 1.0]])
    u = np.array([2.0, 2.0, 2.0])
    nodes = [Node(-1, -1, 0, [Stage(u, NONE, NONE)]), Node(0, 1, -1), Node(0, 1, 1, [Stage(u, NONE, NONE)])]
    stored = {key: np.asarray(value).tolist() for key, value in pack(nodes, 1.0, 1.0).items()}
    assert replayed(stored, cost, 2, 9.0) <= brute.optimum(cost, 2)
    with pytest.raises(CertificateError, match=reason):
        replayed({**stored, **change}, cost, 2, 9.0)
    for key in stored:
        with pytest.raises(CertificateError, match="malformed"):
            replayed({name: value for name, value in stored.items() if name != key}, cost, 2, 9.0)
    with pytest.raises(CertificateError, match="dictionary"):
        replayed([stored], cost, 2, 9.0)


# ----------------------------------------------------------------------------------------------------- corruptions


def corrupt(rng, stored, m):
    """One random change; returns what was changed."""
    key = str(rng.choice([k for k in stored if k == "granularity" or np.size(stored[k])]))
    if key == "granularity":
        stored[key] = float(rng.choice([0.0, 0.5, 1.0, 2.0, 3.0, 0.1, 1e-3, 1e300]))
        return key
    values = np.array(stored[key])
    place = tuple(int(rng.integers(size)) for size in values.shape)
    if key == "u":
        factor = float(rng.choice([0.0, 0.5, 1.001, 2.0, 10.0, 1e6, 1e200, -1.0]))
        if rng.random() < 0.3:
            values *= factor
        else:
            values[place] = values[place] * factor + float(rng.choice([0.0, 0.1]))
    elif rng.random() < 0.5:
        values[place] = int(rng.integers(-2, m + 1))
    elif key in ("dropped", "opened"):
        if rng.random() < 0.5:
            values = np.append(values, int(rng.integers(m)))
            stored[f"{key}_end"] = np.array(stored[f"{key}_end"]) + (rng.random() < 0.9)
        else:
            values = rng.permutation(values)
    elif key == "parent" and rng.random() < 0.5:  # cut the tree off: leaves without children
        keep = int(rng.integers(1, len(values) + 1))
        for name in ("parent", "candidate", "side"):
            stored[name] = np.array(stored[name])[:keep]
        return "cut"
    elif key == "stage_node":
        values = rng.permutation(values)
    else:
        values = values[::-1].copy()
    stored[key] = values
    return key


def add_fixings(rng, stored, m):
    """A forger's try: claim that candidates are useless or needed, at a random stage."""
    key = str(rng.choice(["dropped", "opened"]))
    stages = len(stored["stage_node"])
    if not stages:
        return "nothing"
    ends, values = np.array(stored[f"{key}_end"]), np.array(stored[key], dtype=np.int64)
    stage = int(rng.integers(min(stages, len(ends))))
    extra = rng.choice(m, int(rng.integers(1, m + 1)), replace=False)
    stored[key] = np.insert(values, np.clip(ends[stage], 0, len(values)), extra)
    ends[stage:] += len(extra)
    stored[f"{key}_end"] = ends
    return key


def test_no_corruption_is_accepted_and_false():
    """6000 random changes of small trees, one to three at a time: refused, or what follows is still true."""
    refused = accepted = weaker = 0
    for seed in range(60):
        cost, k, best, _, tree, honest = grown(seed)
        m = len(cost)
        rng = np.random.default_rng(seed)
        for _ in range(100):
            stored = {key: np.copy(value) for key, value in honest.items()}
            stored["granularity"] = honest["granularity"]
            what = []
            for _ in range(int(rng.integers(1, 4))):
                what.append((corrupt if rng.random() < 0.7 else add_fixings)(rng, stored, m))
            upper = best * float(rng.choice([1.0, 1.0, 0.9, 1.1, 2.0]))
            other_k = int(np.clip(k + rng.choice([0, 0, 0, 1, -1]), 1, m))
            truth = min(upper, best if other_k == k else brute.optimum(cost, other_k))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    bound = replayed(stored, cost, other_k, upper)
            except CertificateError:
                refused += 1
                continue
            assert bound <= truth * (1 + 1e-12), (seed, what, bound, truth)
            accepted += 1
            weaker += bound < tree.lower * (1 - 1e-9)
    assert refused > 1000
    assert accepted > 1000
    assert weaker > 300


def tiny_certificates():
    """Certificates of fits on tiny data with their optimum: points, integers, weights."""
    rng = np.random.default_rng(0)
    found = []
    while len(found) < 14:
        case = brute.case(rng, 8)
        if case.cost.max() == 0 or case.options.get("metric") == "cosine":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est = case.fit()
        found.append((case, est.certificate_.to_dict(), brute.optimum(case.cost, case.k)))
    return found


def claims_hold(case, certificate, optima):
    """Whether what an accepted certificate says is true."""
    k = certificate.n_clusters
    best = optima.setdefault(k, brute.optimum(case.cost, k))
    if certificate.lower_bound > best * (1 + 1e-12):
        return False
    if certificate.optimal and certificate.cost > best * (1 + 1.1e-9):
        return False
    ratio = None if certificate.guarantee is None else certificate.guarantee.ratio
    return ratio is None or certificate.cost <= ratio * best * (1 + 1e-9)


def test_no_corrupted_certificate_is_accepted_and_false():
    """Cost, bound, k, centres, guarantee and tree of real certificates, 4000 changes in all."""
    refused = accepted = 0
    for number, (case, honest, best) in enumerate(tiny_certificates()):
        rng = np.random.default_rng(number)
        optima = {case.k: best}
        m = len(case.cost)
        for _ in range(300):
            content = json.loads(json.dumps(honest))
            for _ in range(int(rng.integers(1, 3))):
                field = str(
                    rng.choice(["cost", "lower_bound", "n_clusters", "centers", "ratio", "tree", "tree", "swap"])
                )
                witness = content["witness"]
                if field in ("cost", "lower_bound"):
                    content[field] *= float(rng.choice([0.0, 0.5, 0.999, 1 + 1e-13, 1 + 1e-6, 1.1, 2.0]))
                elif field == "n_clusters":
                    content[field] = int(rng.integers(1, m + 2))
                elif field == "centers" or (field == "swap" and "swap_optimal" in witness):
                    key = "centers" if field == "centers" else "swap_optimal"
                    count = content["n_clusters"] if rng.random() < 0.5 else len(witness[key])
                    witness[key] = [int(v) for v in rng.choice(m + 1, min(count, m + 1), replace=False)]
                elif field == "ratio" and content["guarantee"] is not None and content["guarantee"]["ratio"]:
                    content["guarantee"]["ratio"] *= float(rng.choice([0.2, 0.5, 0.9, 1.5]))
                elif field == "tree" and "tree" in witness:
                    stored = witness["tree"]
                    (corrupt if rng.random() < 0.7 else add_fixings)(rng, stored, m)
                    for key, value in stored.items():
                        stored[key] = np.asarray(value).tolist()
                    if stored["granularity"] != stored["granularity"]:
                        stored["granularity"] = None
            content["gap"] = content["optimal"] = None
            try:
                loaded = Certificate(**_fields(content))
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    case.verify(loaded)
            except CertificateError:
                refused += 1
                continue
            accepted += 1
            assert claims_hold(case, loaded, optima), (number, content)
    assert refused > 2000
    assert accepted > 100


def _fields(content):
    """A certificate whose derived numbers fit: a forger would see to that."""
    from certiclust.certificates.certificate import _guarantee

    fields = {key: value for key, value in content.items() if key not in ("format", "gap", "optimal")}
    if fields["guarantee"] is not None:
        fields["guarantee"] = _guarantee(fields["guarantee"])
    return fields


def test_every_single_bit_of_a_small_witness():
    """Flip each of the low bits and the sign of every stored integer, and a bit of every exponent."""
    cost, k, best, _, _, honest = next(g for g in (grown(s) for s in range(99)) if len(g[4].nodes) >= 5)
    for key, values in honest.items():
        if key == "granularity":
            continue
        for place in np.ndindex(values.shape):
            for bit in (0, 1, 2, 52, 55, 63) if values.dtype == np.float64 else (0, 1, 2, 31, 63):
                stored = {name: np.copy(v) for name, v in honest.items()}
                stored["granularity"] = honest["granularity"]
                stored[key].view(np.uint64)[place] ^= np.uint64(1 << bit)
                try:
                    bound = replayed(stored, cost, k, best * 1.2)
                except CertificateError:
                    continue
                assert bound <= best * (1 + 1e-12)


# ----------------------------------------------------------------------------------------------------------- files


@pytest.fixture
def fitted():
    rng = np.random.default_rng(2)
    X = rng.random((60, 2))
    est = brute.Case(X, 5, X).fit()
    return X, est.certificate_


def test_a_small_witness_stays_in_the_json(tmp_path, fitted):
    X, certificate = fitted
    certificate.save(tmp_path / "small.json")
    assert [p.name for p in tmp_path.iterdir()] == ["small.json"]
    loaded = Certificate.load(tmp_path / "small.json")
    assert loaded == certificate
    loaded.verify(X)


def test_a_large_witness_goes_to_an_npz_of_its_own(tmp_path):
    """Above 1 MB of JSON, for real: a long root witness."""
    n, k, stages = 500, 2, 120
    X = np.random.default_rng(0).random((n, 1)) * np.pi
    est = brute.Case(X, k, X).fit(max_iter=1)
    certificate = est.certificate_
    tree = certificate.witness["tree"]
    many = {**tree, "stage_node": np.zeros(stages, int), "u": np.repeat(np.array(tree["u"])[-1:], stages, axis=0)}
    for name in ("dropped", "opened"):
        many |= {name: np.zeros(0, int), f"{name}_end": np.zeros(stages, int)}
    many |= {"parent": np.array([-1]), "candidate": np.array([-1]), "side": np.array([0])}
    big = Certificate(
        **{**_fields(certificate.to_dict()), "lower_bound": 0.0, "witness": {**certificate.witness, "tree": many}}
    )
    big.save(tmp_path / "big.json")
    names = sorted(p.name for p in tmp_path.iterdir())
    assert len(names) == 2
    npz = names[0] if names[0].endswith(".npz") else names[1]
    digest = hashlib.sha256((tmp_path / npz).read_bytes()).hexdigest()
    assert npz == f"big.{digest[:16]}.npz"
    assert (tmp_path / "big.json").stat().st_size < 100_000
    loaded = Certificate.load(tmp_path / "big.json")
    assert loaded == big
    loaded.verify(X)
    big.save(tmp_path / "again.json")  # the same content has the same name
    assert (tmp_path / f"again.{digest[:16]}.npz").read_bytes() == (tmp_path / npz).read_bytes()


@pytest.fixture
def split(tmp_path, fitted, monkeypatch):
    """A certificate whose witness lies beside it, without a megabyte to write."""
    monkeypatch.setattr(certificate_module, "MAX_JSON", 2000)
    X, certificate = fitted
    path = tmp_path / "c.json"
    certificate.save(path)
    (npz,) = tmp_path.glob("*.npz")
    return X, certificate, path, npz


def test_the_two_files_make_one_certificate(split):
    X, certificate, path, npz = split
    assert json.loads(path.read_text())["witness"]["tree"] == {"file": npz.name}
    loaded = Certificate.load(path)
    assert loaded == certificate
    loaded.verify(X)
    with np.load(npz, allow_pickle=False) as arrays:
        assert all(arrays[name].dtype.kind in "if" for name in arrays.files)


def test_a_missing_npz_is_named(split):
    _, _, path, npz = split
    npz.unlink()
    with pytest.raises(CertificateError, match=f"{npz.name} is missing"):
        Certificate.load(path)


def test_a_renamed_npz_is_missing(split):
    _, _, path, npz = split
    npz.rename(npz.with_name("other.npz"))
    with pytest.raises(CertificateError, match=f"{npz.name} is missing"):
        Certificate.load(path)


def test_a_changed_npz_is_named(split):
    _, _, path, npz = split
    content = npz.read_bytes()
    for place in (0, len(content) // 2, len(content) - 1):
        npz.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(CertificateError, match=f"{npz.name} is not the file that was saved"):
            Certificate.load(path)
    npz.write_bytes(content[:-7])
    with pytest.raises(CertificateError, match="not the file that was saved"):
        Certificate.load(path)


def forged(path, content):
    """Put a file of this content beside the certificate, under the name that fits it."""
    name = f"c.{hashlib.sha256(content).hexdigest()[:16]}.npz"
    (path.parent / name).write_bytes(content)
    document = json.loads(path.read_text())
    document["witness"]["tree"] = {"file": name}
    path.write_text(json.dumps(document))


def test_a_forged_npz_with_a_fitting_name_is_refused_or_true(split):
    X, certificate, path, _npz = split
    arrays = {name: np.asarray(value) for name, value in certificate.witness["tree"].items()}
    forged(path, packed_arrays({**arrays, "u": arrays["u"] * 0.9}))
    with pytest.raises(CertificateError, match=r"lower_bound|drops a candidate"):
        Certificate.load(path).verify(X)
    forged(path, packed_arrays({**arrays, "u": np.array(["x"])}))
    with pytest.raises(CertificateError):
        Certificate.load(path).verify(X)
    forged(path, packed_arrays({**arrays, "u": arrays["u"].astype(complex)}))
    with pytest.raises(CertificateError), warnings.catch_warnings():  # noqa: PT012
        warnings.simplefilter("error")
        Certificate.load(path).verify(X)


def test_no_pickle_is_ever_loaded(split):
    _, _, path, _ = split
    import io

    buffer = io.BytesIO()
    np.savez_compressed(buffer, u=np.array([print, {}], dtype=object), allow_pickle=True)
    forged(path, buffer.getvalue())
    with pytest.raises(CertificateError, match="cannot be read"):
        Certificate.load(path)


@pytest.mark.parametrize("damage", ["truncated", "deflate", "no zip", "empty"])
def test_an_unreadable_npz_with_a_fitting_name_is_refused(split, damage):
    _, _, path, npz = split
    content = bytearray(npz.read_bytes())
    if damage == "truncated":
        content = content[: len(content) // 2]
    elif damage == "deflate":
        for place in range(60, 160):
            content[place] ^= 0x5A
    elif damage == "no zip":
        content = bytearray(b"hello")
    else:
        content = bytearray()
    forged(path, bytes(content))
    with pytest.raises(CertificateError):
        Certificate.load(path)


@pytest.mark.parametrize("name", ["../c.npz", "/etc/passwd", "c.json", "", None, 7, ["c.npz"]])
def test_only_a_file_beside_the_certificate_is_read(split, name):
    _, _, path, _ = split
    document = json.loads(path.read_text())
    document["witness"]["tree"] = {"file": name}
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="not the name of an .npz file"):  # noqa: RUF043
        Certificate.load(path)


# ---------------------------------------------------------------------------------------------- through fit and verify


@settings(derandomize=True, deadline=None, max_examples=40)
@given(seeds)
def test_trees_of_fits_branch_and_verify(seed):
    """Random costs make the solver branch; the verifier agrees, from JSON too."""
    rng = np.random.default_rng(seed)
    D = (rng.random((14, 11)) > 0.35) + 0.01 * rng.random((14, 11))
    case = brute.Case(D, int(rng.integers(2, 6)), np.ascontiguousarray(D.T), {"metric": "precomputed"})
    certificate = case.fit().certificate_
    best = brute.optimum(case.cost, case.k)
    assert certificate.optimal
    assert best * (1 - 1e-9) <= certificate.lower_bound <= best
    case.verify(Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))))


def test_a_tree_is_only_about_k_median_and_its_own_data():
    X = np.random.default_rng(3).random((20, 2))
    certificate = brute.Case(X, 3, X).fit().certificate_
    other = cdist(X, X)
    with pytest.raises(CertificateError, match="data"):
        certificate.verify(X + 1e-9)
    with pytest.raises(CertificateError):
        certificate.verify(other)
    content = {**_fields(certificate.to_dict()), "problem": "k-means", "metric": "sqeuclidean"}
    with pytest.raises(CertificateError):
        Certificate(**content).verify(X)
