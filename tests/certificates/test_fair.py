"""Certificates of fair k-median: what they say, and that no claim about fairness can be forged."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from certiclust import Certificate, CertificateError, FairKMedian, InfeasibleError
from certiclust.certificates import Guarantee

RNG = np.random.default_rng(0)
X = RNG.exponential(size=(60, 2)) ** 2
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
TWO_SQUARES = np.concatenate([SQUARE, SQUARE + 100.0])


def certified(mode, beta=1.1, k=6, **parameters):
    return FairKMedian(k, beta=beta, mode=mode, random_state=0, **parameters).fit(X).certificate_


CERTIFICATES = {mode: certified(mode) for mode in ("strict", "tight", "proven")}


def refused(certificate, rows=X, match=None):
    with pytest.raises(CertificateError, match=match):
        certificate.verify(rows)


def changed(certificate, key, **values):
    witness = copy.deepcopy(certificate.witness)
    witness[key] = {**witness[key], **values}
    return replace(certificate, witness=witness)


@pytest.mark.parametrize("mode", CERTIFICATES)
def test_what_is_said(mode):
    certificate = CERTIFICATES[mode]
    certificate.verify(X)
    text = str(certificate)
    assert "fairness: the largest distance to a centre, in fair radii, is" in text
    assert "1.1-fair" in text
    assert certificate.guarantee.fairness == pytest.approx({"strict": 1.1, "tight": 3.3, "proven": 7.7}[mode])
    assert certificate.guarantee.ratio is None
    assert certificate.fair_lower_bound >= certificate.lower_bound > 0
    assert Certificate.from_dict(certificate.to_dict()) == certificate


def test_a_cost_below_the_fair_bound_is_explained():
    certificate = CERTIFICATES["proven"]
    assert certificate.cost < certificate.fair_lower_bound
    assert "below 1 because this set is not as fair" in str(certificate)


@pytest.mark.parametrize("mode", CERTIFICATES)
@pytest.mark.parametrize("field", ["lower_bound", "fair_lower_bound"])
@pytest.mark.parametrize("factor", [1 + 1e-9, 1.01, 10.0])
def test_bounds_cannot_be_raised(mode, field, factor):
    certificate = CERTIFICATES[mode]
    refused(replace(certificate, **{field: getattr(certificate, field) * factor}), match="lower_bound")


@pytest.mark.parametrize("mode", CERTIFICATES)
def test_the_ratio_cannot_be_lowered(mode):
    certificate = CERTIFICATES[mode]
    replace(certificate, fairness_ratio=certificate.fairness_ratio * (1 + 1e-9)).verify(X)
    refused(replace(certificate, fairness_ratio=certificate.fairness_ratio * (1 - 1e-9)), match="^fairness_ratio")
    refused(replace(certificate, guarantee=replace(certificate.guarantee, fairness=0.5)), match="^guarantee")


@pytest.mark.parametrize("mode", ["tight", "proven"])
def test_balls_must_be_those_of_the_greedy(mode):
    certificate = CERTIFICATES[mode]
    balls = certificate.witness["fairness"]["balls"]
    other = [v for v in range(60) if v not in balls]
    refused(changed(certificate, "fairness", balls=[]), match="uncovered|unknown|malformed|u must")
    refused(changed(certificate, "fairness", balls=[*balls, other[0]]))
    refused(changed(certificate, "fairness", balls=[other[0], *balls[1:]]))
    refused(changed(certificate, "fairness", balls=[60, *balls[1:]]), match="distinct balls between 0 and 59")
    refused(changed(certificate, "fairness", balls=["a"]), match="integers")


def test_a_bound_is_about_its_own_mode():
    """The strict bound is larger; it does not become that of the balls by changing the name, nor for a smaller beta."""
    strict, tight = CERTIFICATES["strict"], CERTIFICATES["tight"]
    refused(changed(strict, "fairness", mode="tight"))
    refused(changed(tight, "fairness", mode="strict"), match="balls")
    refused(changed(strict, "fairness", beta=0.9), match="at least 1")
    refused(changed(strict, "fairness", beta=float("nan")), match="at least 1")
    refused(changed(strict, "fairness", mode="lenient"), match="mode")
    refused(changed(strict, "fairness", beta=2.0))  # more pairs are allowed, so less is proved
    refused(changed(strict, "fairness", beta=1.0), match="not one")  # and these centres are not that fair


def test_centres_that_break_the_constraint_are_compared_with_nothing():
    strict = CERTIFICATES["strict"]
    free = CERTIFICATES["proven"]
    witness = {**strict.witness, "centers": free.witness["centers"]}
    lie = replace(strict, cost=free.cost, lower_bound=free.cost, witness=witness, guarantee=None, fairness_ratio=None)
    refused(lie, match="not one")
    replace(lie, lower_bound=0.0).verify(X)


def test_the_tree_of_fair_sets_needs_its_upper_bound():
    strict = CERTIFICATES["strict"]
    for upper in (None, True, -1.0, float("inf"), "1"):
        refused(changed(strict, "tree", upper=upper), match="cost up to which")
    refused(changed(strict, "tree", upper=0.5 * strict.lower_bound), match="lower_bound")


def infeasible():
    with pytest.raises(InfeasibleError) as caught:
        FairKMedian(3, beta=1.2, mode="strict", random_state=0).fit(TWO_SQUARES)
    return caught.value


def test_the_proof_that_nothing_is_fair():
    error = infeasible()
    certificate = error.certificate
    certificate.verify(TWO_SQUARES)
    assert certificate.infeasible_beta == 1.2
    assert "no set is 1.2-fair, proved" in str(certificate)
    Certificate.from_dict(certificate.to_dict()).verify(TWO_SQUARES)
    replace(certificate, infeasible_beta=1.0).verify(TWO_SQUARES)  # what is not 1.2-fair is not 1-fair either
    refused(replace(certificate, infeasible_beta=1.5), TWO_SQUARES)
    refused(replace(certificate, infeasible_beta=0.5), TWO_SQUARES, match="at least 1")
    witness = {k: v for k, v in certificate.witness.items() if k != "infeasible"}
    refused(replace(certificate, witness=witness), TWO_SQUARES, match="malformed")


def test_a_forged_proof_that_nothing_is_fair():
    """With any weights, any branching: where a fair set exists no tree is accepted."""
    certificate = infeasible().certificate
    tree = certificate.witness["infeasible"]
    easy = np.array([[0.0], [0.0], [0.1], [9.0], [9.0], [9.1], [20.0], [20.1]])
    est = FairKMedian(3, beta=1.2, mode="strict", random_state=0).fit(easy)
    lie = replace(est.certificate_, infeasible_beta=1.2, witness={**est.certificate_.witness, "infeasible": tree})
    refused(lie, easy)
    rng = np.random.default_rng(1)
    for _ in range(40):
        forged = {k: (np.asarray(v).copy() if not isinstance(v, (str, float)) else v) for k, v in tree.items()}
        forged["y"] = rng.integers(0, 5, size=forged["y"].size)
        refused(replace(lie, witness={**lie.witness, "infeasible": forged}), easy)


def test_other_problems_claim_nothing_about_fairness():
    from certiclust import KMedian

    certificate = KMedian(4, random_state=0).fit(X).certificate_
    assert certificate.fair_lower_bound is None
    for field in ("fair_lower_bound", "fairness_ratio", "infeasible_beta"):
        refused(replace(certificate, **{field: 1.0}), match="no claims about fair sets")
    fair = Guarantee(None, "fair k-median definition", "every point has a centre within reach", 9.0)
    refused(replace(certificate, guarantee=fair), match="^guarantee")


def test_files_of_before_can_be_read(tmp_path):
    content = CERTIFICATES["tight"].to_dict()
    for field in ("fair_lower_bound", "fairness_ratio", "infeasible_beta"):
        del content[field]
    old = Certificate.from_dict(content)
    assert old.fair_lower_bound is None
    old.verify(X)
    CERTIFICATES["strict"].save(tmp_path / "c.json")
    Certificate.load(tmp_path / "c.json").verify(X)


def test_whole_weights_are_counted_exactly():
    """Radii hang on k * w(ball) >= W: with integers without tolerance, here and in the solver."""
    rows = np.arange(6.0)[:, None]
    weights = np.array([2**40, 1, 1, 1, 1, 2**40 - 4], dtype=float)
    est = FairKMedian(2, mode="strict", beta=1.5, random_state=0).fit(rows, sample_weight=weights)
    est.certificate_.verify(rows, weights)
    assert est.radii_[0] == 0.0
    assert est.radii_[5] > 0.0
