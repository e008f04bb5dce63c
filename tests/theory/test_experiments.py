"""Experiments: laws, seeds, processes, files that go on, and words for what cannot be done."""

import json
import warnings
from math import e, inf, isnan

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.exceptions import ConvergenceWarning

from certiclust.evolution import ALGORITHMS, Algorithm, Certified, CommaSurvival, HeavyTailedMutation, evolve, gsemo
from certiclust.theory import fixed_budget, growth, hitting_times, iteration_bound, points, pose, power_law
from certiclust.theory.experiments import hitting, mean_of
from certiclust.theory.experiments.targets import certified_optimum, goal_for
from tests import naive

mpl.use("Agg")
import matplotlib.pyplot as plt

LINE = np.array([[0.0], [1.0], [3.0], [100.0], [101.0], [103.0], [200.0], [201.0], [203.0]])


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


# ------------------------------------------------------------------------------------------------------ statistics


def test_mean_and_its_interval_are_students():
    values = np.random.default_rng(0).exponential(size=30)
    estimate = mean_of(values)
    expected = stats.t.interval(0.95, 29, values.mean(), stats.sem(values))
    assert estimate.value == values.mean()
    assert_allclose([estimate.low, estimate.high], expected)
    assert isnan(mean_of([3.0]).low)
    assert mean_of([3.0]).value == 3.0
    assert isnan(mean_of([]).value)


def test_power_law_is_the_regression_of_logarithms():
    rng = np.random.default_rng(1)
    n, k = np.array([50, 100, 200, 400] * 3), np.repeat([2, 5, 10], 4)
    times = 3 * n**1.1 * k**1.9 * np.exp(0.05 * rng.normal(size=12))
    (in_n, in_k), _ = power_law(np.column_stack([n, k]), times)
    assert in_n.low < 1.1 < in_n.high
    assert in_k.low < 1.9 < in_k.high
    (alone,), constant = power_law(n[:4], times[:4])
    line = stats.linregress(np.log(n[:4]), np.log(times[:4]))
    assert alone.value == pytest.approx(line.slope)
    assert alone.high - alone.value == pytest.approx(stats.t.ppf(0.975, 2) * line.stderr)
    assert np.log(constant) == pytest.approx(line.intercept)
    with pytest.raises(ValueError, match=r"needs 3 different cells at least; got 2"):
        power_law([1, 2], [1, 2])
    with pytest.raises(ValueError, match="needs 3 different cells"):
        power_law([2, 2, 2], [1, 2, 3])


# --------------------------------------------------------------------------------------------------------- targets


def test_targets_by_hand():
    problem = pose("k-median", LINE, 3)
    # every cluster 0, 1, 3 costs 3 with its middle point
    assert certified_optimum(problem) == (9.0, pytest.approx(9.0, rel=1e-9))
    theorem = goal_for(problem, "theorem")
    assert theorem.cost == pytest.approx(90.0, rel=1e-9)
    assert theorem.event == "10 x optimum"
    assert theorem.paper == iteration_bound(problem).iterations
    assert goal_for(problem, "theorem", epsilon=0.2, optimum=8.0).cost == pytest.approx(5 / 0.8 * 8)
    assert goal_for(problem, "optimum").cost == pytest.approx(9.0)
    assert goal_for(problem, "optimum").paper is None
    assert goal_for(problem, 12.5).cost == 12.5
    size, bounds = goal_for(problem, "size"), iteration_bound(problem)
    assert size.paper == bounds.paper.phases["size k"]
    assert size.sharper == bounds.sharper.phases["size k"]


def test_the_optimum_of_k_means_is_over_its_candidates():
    problem = pose("k-means", LINE, 3)
    best = naive.optimum("k-means", problem.space.matrix.T, problem.space.weights, 3)[0]
    cost, lower = certified_optimum(problem)
    assert cost == best == pytest.approx(15.0)  # 1 + 4 for each cluster, with its middle point
    assert lower == pytest.approx(best)
    goal = goal_for(problem, "theorem")  # 25/(1 - eps)^2, without the factor 2 of the data points
    assert goal.cost == pytest.approx(100 * best)
    assert goal.paper == iteration_bound(problem).iterations


def test_fair_targets_are_the_theorems_phases():
    problem = pose("fair k-median", LINE, 4)
    bounds = iteration_bound(problem).paper
    assert goal_for(problem, "balls").paper == bounds.phases["size k"] + bounds.phases["all critical balls"]
    assert goal_for(problem, "size").paper == bounds.phases["size k"]
    goal = goal_for(problem, "theorem")
    assert goal.event == "84 x optimum"
    tight = pose("fair k-median", LINE, 4, factor=2.0)
    assert goal_for(tight, "balls").paper is not None
    with pytest.raises(ValueError, match="no ratio of fair k-median is proved"):
        goal_for(tight, "theorem", optimum=1.0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"target": "ratio"}, "target must be 'theorem', 'size', 'balls', 'optimum' or a cost; got 'ratio'"),
        ({"target": -1.0}, "a target cost must be finite and not negative; got -1"),
        ({"target": inf}, "must be finite"),
        ({"target": "balls"}, "k-median has no critical balls"),
        ({"runs": 0}, "runs must be at least 1; got 0"),
        ({"max_iter": 0}, "max_iter must be at least 1; got 0"),
        ({"epsilon": 1.0}, "epsilon must lie between 0 and 1; got 1"),
        ({"p": 0}, "p must be a whole number, at least 1; got 0"),
        ({"optimum": 0.0}, "the optimum is 0"),
        ({"file": "x.csv", "random_state": None}, "needs a whole number as random_state; got None"),
    ],
)
def test_bad_input_of_hitting_times(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        hitting_times(pose("k-median", LINE, 3), **arguments)


def test_other_bad_input():
    problem = pose("k-median", LINE, 3)
    with pytest.raises(ValueError, match="budgets must hold whole numbers of at least 1; got"):
        fixed_budget(problem, [0, 10])
    with pytest.raises(ValueError, match="budgets must hold"):
        fixed_budget(problem, [])
    with pytest.raises(ValueError, match="at least three different values"):
        growth(lambda n: problem, [10, 10, 20])
    with pytest.raises(ValueError, match=r"problem must be one of 'k-center'.*; got 'k-mode'"):
        pose("k-mode", LINE, 3)
    with pytest.raises(ValueError, match="sample_weight must be positive; got 0"):
        pose("k-median", LINE, 3, sample_weight=np.arange(9))
    with pytest.raises(ValueError, match="kind must be 'blobs'"):
        points("round", 10)
    cosine = pose("k-median", points("uniform", 20), 3, metric="cosine")
    with pytest.raises(ValueError, match="no ratio of k-median is proved for the metric 'cosine'"):
        hitting_times(cosine, optimum=1.0)


def test_an_optimum_that_is_not_proved_is_refused(monkeypatch):
    monkeypatch.setattr("certiclust.theory.experiments.targets.certified_optimum", lambda problem: (10.0, 8.0))
    with pytest.raises(ValueError, match=r"found 10 but did not prove it optimal \(gap 25.00%\)"):
        goal_for(pose("k-median", LINE, 3), "optimum")


# ------------------------------------------------------------------------------------------------- hitting times


def test_hitting_times_are_those_of_the_runs():
    problem = pose("k-center", points("blobs", 30), 3)
    times = hitting_times(problem, runs=5, random_state=7)
    again = [gsemo(problem, 10**8, int(seed), stop=Certified()) for seed in times.seeds]
    assert_array_equal(times.iterations, [run.n_iter for run in again])
    assert_array_equal(times.mean_population, [run.mean_population for run in again])
    assert_array_equal(times.costs, [run.cost for run in again])
    assert times.reached.all()
    assert times.bound == pytest.approx(e * 9 * 30 - e * 3 * 29)
    assert times.expected == times.mean.value == times.iterations.mean()
    assert times.ratio == times.mean.value / times.bound


def test_the_law_of_the_simplest_hitting_time():
    # k = 1, n = 4: from the empty set exactly one of four bits must flip: geometric, and the sharper bound is its mean
    times = hitting_times(pose("k-center", LINE[:4], 1), runs=2000)
    p = (3 / 4) ** 3
    assert times.sharper == pytest.approx(1 / p)
    assert abs(times.mean.value - 1 / p) < 4 * np.sqrt(1 - p) / p / np.sqrt(2000)
    cells = np.array([np.count_nonzero(times.iterations == t) for t in range(1, 8)])
    expected = 2000 * p * (1 - p) ** np.arange(7)
    tail = 2000 - cells.sum(), 2000 - expected.sum()
    assert stats.chisquare([*cells, tail[0]], [*expected, tail[1]]).pvalue > 1e-4


def test_the_bound_is_nearly_attained_at_two_centres():
    # The exponential points: a proof step that only one point makes, from one of two parents. PROOFS.md saw 0.593.
    times = hitting_times(pose("k-center", points("exponential", 60), 2), runs=1500)
    assert 0.75 < times.ratio < 1
    assert times.mean.high < times.bound
    assert times.sharper < times.bound


def test_failed_runs_are_counted():
    problem = pose("k-median", LINE, 3)
    times = hitting_times(problem, target="optimum", runs=40, max_iter=150)
    assert 0 < times.failures < 40
    assert times.iterations[~times.reached].tolist() == [150] * times.failures
    assert times.mean.value == times.iterations[times.reached].mean()
    assert times.expected == times.iterations.sum() / (40 - times.failures) > times.mean.value
    assert (times.costs[times.reached] == 9).all()
    assert times.bound is None
    assert isnan(times.ratio)
    assert f"{times.failures} failed" in repr(times)
    none = hitting_times(problem, target="optimum", runs=3, max_iter=1)
    assert none.failures == 3
    assert isnan(none.expected)


def test_events_end_in_order():
    problem = pose("fair k-median", LINE, 4)
    size, balls, best = (hitting_times(problem, target=t, runs=20) for t in ("size", "balls", "optimum"))
    assert (size.iterations <= balls.iterations).all()
    assert (balls.iterations <= best.iterations).all()
    assert (size.iterations < best.iterations).any()


def test_the_same_numbers_on_any_number_of_processes(tmp_path):
    problem = pose("k-median", points("blobs", 400), 5)  # the matrix is large enough for joblib to map it into memory
    alone = hitting_times(problem, target=1e9, runs=6, random_state=3, file=tmp_path / "a.csv")
    both = hitting_times(problem, "gsemo", 1e9, 6, 2, random_state=3, file=tmp_path / "b.csv")
    assert_array_equal(alone.iterations, both.iterations)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    more = hitting_times(problem, target=1e9, runs=9, random_state=3)
    assert_array_equal(more.iterations[:6], alone.iterations)
    assert_array_equal(more.seeds[:6], alone.seeds)
    other = hitting_times(problem, target=1e9, runs=6, random_state=4)
    assert (other.seeds != alone.seeds).any()


def test_other_algorithms_have_the_bound_of_their_contract():
    problem = pose("fair k-median", LINE, 4)
    contract = ALGORITHMS["nsga2"].contract(problem)
    phases = [contract.phases[name] * contract.offspring for name in ("size k", "all critical balls", "local optimum")]
    bounds = [
        goal_for(problem, t).contracted(problem, ALGORITHMS["nsga2"], 1, 0.5) for t in ("size", "balls", "theorem")
    ]
    assert_allclose(bounds, np.cumsum(phases))
    assert goal_for(problem, "optimum").contracted(problem, ALGORITHMS["nsga2"], 1, 0.5) is None
    comma = Algorithm("comma", survival=CommaSurvival(), members=4, offspring=4)
    assert goal_for(problem, "size").contracted(problem, comma, 1, 0.5) is None
    heavy = hitting_times(problem, target="balls", mutation="heavy-tailed", runs=5)
    assert heavy.algorithm == "gsemo, heavy-tailed"
    assert heavy.sharper is None
    own = Algorithm("mine", mutation=HeavyTailedMutation())
    composed = hitting_times(problem, own, "balls", 5)
    assert composed.algorithm == "mine"
    assert composed.bound == heavy.bound == goal_for(problem, "balls").contracted(problem, own, 1, 0.5)
    again = [evolve(problem, own, 10**6, int(seed), stop=Certified()).n_iter for seed in composed.seeds]
    assert_array_equal(composed.iterations, again)
    assert_array_equal(heavy.iterations, again)
    with pytest.raises(ValueError, match=r"algorithm must be one of gsemo, .*; got 'ga'"):
        hitting_times(problem, "ga", "balls")


def test_tables_and_figures():
    times = hitting_times(pose("k-center", LINE, 3), runs=10)
    frame = times.to_frame()
    assert_array_equal(frame["iterations"], times.iterations)
    assert list(frame) == ["seed", "iterations", "reached", "mean_population", "cost"]
    axes = times.plot()
    assert_array_equal(axes.lines[0].get_xdata(), np.sort(times.iterations))
    assert axes.lines[0].get_ydata()[-1] == 1
    _, given = plt.subplots()
    assert times.plot(ax=given) is given
    summary = times.summary()
    assert (summary["mean"], summary["failures"], summary["bound"]) == (times.mean.value, 0, times.bound)
    assert repr(times).startswith("<HittingTimes of gsemo on k-center, n = 9, k = 3, f1 >= 0 at size k: mean ")


# ---------------------------------------------------------------------------------------------------- going on


def test_a_stopped_experiment_goes_on(tmp_path, monkeypatch):
    problem, file = pose("k-center", LINE, 3), tmp_path / "runs.csv"
    whole = hitting_times(problem, runs=8, file=file)
    text = file.read_text()
    lines = text.split("\n")
    assert lines[0] == "# certiclust experiment 1"
    assert json.loads(lines[1][2:])["event"] == "f1 >= 0 at size k"
    assert lines[2] == "run,seed,iterations,reached,mean_population,cost"
    file.write_text("\n".join([*lines[:3], lines[6], lines[4], lines[8][:5]]))  # two runs, and one half written
    count, plain = [], hitting.evolve
    counted = lambda *arguments, **options: count.append(1) or plain(*arguments, **options)  # noqa: E731
    monkeypatch.setattr("certiclust.theory.experiments.hitting.evolve", counted)
    again = hitting_times(problem, runs=8, file=file)
    assert len(count) == 6
    assert_array_equal(again.iterations, whole.iterations)
    assert_array_equal(again.mean_population, whole.mean_population)
    assert file.read_text() == text
    count.clear()
    hitting_times(problem, runs=8, file=file)
    assert not count
    assert len(hitting_times(problem, runs=5, file=file)) == 5  # fewer are read, and none is lost
    assert file.read_text() == text
    hitting_times(problem, runs=10, file=file)
    assert len(count) == 2
    assert file.read_text().startswith(text)
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"random_state": 1}, "its random_state is 0, not 1"),
        ({"max_iter": 10**6}, "its max_iter is 100000000, not 1000000"),
        ({"target": "size"}, "its event is 'f1 >= 0 at size k', not 'size k'"),
    ],
)
def test_the_file_of_another_experiment_is_refused(tmp_path, change, sentence):
    file = tmp_path / "runs.csv"
    hitting_times(pose("k-center", LINE, 3), runs=2, file=file)
    before = file.read_bytes()
    with pytest.raises(ValueError, match=f"belongs to another experiment: {sentence}"):
        hitting_times(pose("k-center", LINE, 3), **{"runs": 2, **change}, file=file)
    with pytest.raises(ValueError, match="its problem is 'k-center', not 'k-tMM'"):
        hitting_times(pose("k-tMM", LINE, 3), runs=2, file=file)
    with pytest.raises(ValueError, match="its data is"):
        hitting_times(pose("k-center", LINE + np.eye(9, 1), 3), runs=2, file=file)
    with pytest.raises(ValueError, match="its experiment is 'hitting times', not 'fixed budget'"):
        fixed_budget(pose("k-center", LINE, 3), [10], runs=2, file=file)
    assert file.read_bytes() == before


def test_other_files_are_not_overwritten(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("mine\n")
    with pytest.raises(ValueError, match="holds no runs of an experiment; it is not overwritten"):
        hitting_times(pose("k-center", LINE, 3), runs=2, file=file)
    assert file.read_text() == "mine\n"


def test_ctrl_c_keeps_what_was_finished(tmp_path, monkeypatch):
    problem, file, plain, count = pose("k-center", LINE, 3), tmp_path / "runs.csv", hitting.evolve, []

    def interrupting(*arguments, **options):
        import signal

        count.append(1)
        if len(count) == 4:
            signal.raise_signal(signal.SIGINT)
        return plain(*arguments, **options)

    monkeypatch.setattr("certiclust.theory.experiments.hitting.evolve", interrupting)
    with pytest.warns(ConvergenceWarning, match="interrupted after 3 of 9 runs"):
        cut = hitting_times(problem, runs=9, file=file)
    assert len(cut) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = hitting_times(problem, runs=9, file=file)
    assert len(count) == 4 + 6
    assert_array_equal(whole.iterations[:3], cut.iterations)


# ------------------------------------------------------------------------------------------ budgets and growth


def test_fixed_budget_looks_at_the_same_runs_later(tmp_path):
    problem = pose("k-median", LINE, 3)
    budget = fixed_budget(problem, [2000, 3, 30], runs=30, optimum=9.0, file=tmp_path / "b.csv")
    assert budget.budgets.tolist() == [3, 30, 2000]
    assert (np.diff(np.where(np.isfinite(budget.costs), budget.costs, 1e300), axis=1) <= 0).all()
    for column, b in enumerate(budget.budgets):
        costs = [gsemo(problem, int(b), int(seed)).cost for seed in budget.seeds]
        assert_array_equal(budget.costs[:, column], costs)
    assert 0 < budget.found[0] < 30 == budget.found[2]
    finite = budget.costs[np.isfinite(budget.costs[:, 0]), 0]
    assert budget.means[0].value == finite.mean()
    assert budget.means[2].value == 9.0
    frame = budget.to_frame()
    assert frame["ratio"].iloc[-1] == 1
    assert_array_equal(frame["found"], budget.found)
    axes = budget.plot()
    assert_array_equal(axes.lines[0].get_xdata(), budget.budgets[budget.found == 30])
    assert "after 2,000 iterations" in repr(budget)
    again = fixed_budget(problem, [3, 30, 2000], runs=30, file=tmp_path / "b.csv")
    assert_array_equal(again.costs, budget.costs)


def test_growth(tmp_path):
    def family(n):
        return pose("k-center", points("exponential", n), 2)

    study = growth(family, [200, 50, 100], "n", runs=60, folder=tmp_path / "runs")
    assert study.values.tolist() == [50, 100, 200]
    assert_array_equal(study.times[1].iterations, hitting_times(family(100), runs=60).iterations)
    (expected,), _ = power_law(study.values, [times.mean.value for times in study.times])
    assert study.exponent == expected
    assert 0.5 < study.exponent.value < 1.5
    assert study.bound_exponent.value == pytest.approx(1, abs=0.02)  # 2 e (n + 1)
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {f"n={n}.csv" for n in (50, 100, 200)}
    frame = study.to_frame()
    assert frame["n"].tolist() == [50, 100, 200]
    assert_allclose(frame["ratio"], frame["mean"] / frame["bound"])
    assert study.plot().get_xlabel() == "n"
    assert "exponent" in repr(study)


# ------------------------------------------------------------------------------------------------------ instances


def test_only_one_point_makes_the_next_step_of_the_exponential_points():
    problem = pose("k-center", points("exponential", 60), 4)
    dust, tower = int(np.argmin(problem.space.points[:, 0])), np.argsort(-problem.space.points[:, 0])
    chosen = [dust]
    for step in range(3):
        good = [j for j in range(60) if j not in chosen and problem.f1(np.array(sorted([*chosen, j])))[1] >= 0]
        assert good == [int(tower[step])]
        chosen.append(good[0])


def test_separated_points_have_as_many_small_balls_as_there_can_be():
    problem = pose("fair k-median", points("separated", 60, clusters=6), 6)
    assert iteration_bound(problem).inputs.balls == (10,) * 6


@pytest.mark.parametrize("kind", ["blobs", "uniform", "exponential", "separated"])
def test_points_are_reproducible(kind):
    assert points(kind, 50, 3).shape[0] == 50
    assert_array_equal(points(kind, 50, 3), points(kind, 50, 3))
    assert (points(kind, 50, 3) != points(kind, 50, 4)).any()
