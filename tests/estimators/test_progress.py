"""The line that verbose shows."""

import io

import numpy as np
import pytest
from rich.console import Console

from certiclust import KTMM, FairKMedian, KCenter, KMeans, KMedian
from certiclust.estimators._progress import ProgressLine, fitting, said, shown_progress
from certiclust.evolution import Progress


def at(seconds, upper=10.0, lower=8.0):
    return Progress(seconds, 1234, upper, lower, 0, upper < float("inf"), 1, False)


def test_what_is_said():
    assert said(at(1.25)) == "   1.2 s  1,234 iterations  cost 10  lower bound 8  gap 25.00%"
    assert said(at(1.0, lower=0.0)) == "   1.0 s  1,234 iterations  cost 10"
    assert said(at(1.0, upper=float("inf"), lower=3.0)) == "   1.0 s  1,234 iterations"
    assert said(at(0.0, upper=0.0, lower=0.0)).endswith("cost 0")


@pytest.mark.parametrize("upper", [10.0, 2515.871234, 0.27932212345, 1.23456789e8, 8.1e-5])
def test_time_iterations_cost_bound_and_gap_fit_80_columns(upper):
    state = Progress(1234.5, 123_456_789, upper, upper / 1.23456, 0, True, 1, False)
    line = fitting("fair k-median, k = 20", state, 80)
    assert len(line) <= 80
    for part in ("1234.5 s", "123M iter.", f"cost {upper:.6g}", "bound ", "gap 23.46%"):
        assert part in line
    assert fitting("k-median, k = 2", at(1.25), 200) == f"k-median, k = 2  {said(at(1.25))}"
    assert (
        fitting("k-median, k = 2", at(1.25), 70) == "k-median, k = 2  1.2 s  1234 iter.  cost 10  bound 8  gap 25.00%"
    )


def test_plain_lines_at_most_one_a_second_and_the_last():
    told = io.StringIO()
    line = ProgressLine("k-median, k = 2", Console(file=told, width=20))
    for seconds in (0.0, 0.3, 0.9, 1.1, 1.2):
        line(at(seconds))
    line.close()
    line.close()
    lines = told.getvalue().splitlines()
    assert [text.split()[4] for text in lines] == ["0.0", "1.1", "1.2"]
    assert all(text.startswith("k-median, k = 2  ") and text.endswith("25.00%") for text in lines)  # never wrapped


def test_a_live_line_on_a_terminal_ends_with_the_last_state():
    told = io.StringIO()
    line = ProgressLine("k-means, k = 3", Console(file=told, force_terminal=True, width=100))
    for seconds in (0.0, 0.05, 0.5):
        line(at(seconds))
    line(at(0.55, upper=8.0))
    line.close()
    shown = told.getvalue()
    assert "\x1b[?25h" in shown  # the cursor is back
    assert "gap 0.00%" in shown.rsplit("\x1b[2K", 1)[-1]
    assert shown.count("0.1 s") == 0  # too soon after the first


def test_nothing_is_shown_when_not_asked(monkeypatch, capfd):
    monkeypatch.setattr("certiclust.estimators._progress.ProgressLine", None)  # not even made
    with shown_progress(0, "k-median, k = 2") as callbacks:
        assert callbacks == ()
    KMedian(2, random_state=0).fit(np.arange(6.0)[:, None])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("k", [1, 2, 6])
@pytest.mark.parametrize("estimator", [KMedian, KMeans, KCenter, KTMM, FairKMedian])
def test_every_fit_ends_with_its_cost(estimator, k, capfd):
    found = estimator(k, random_state=0, verbose=1).fit(np.arange(6.0)[:, None])
    told = capfd.readouterr()
    assert told.out == ""
    assert f"cost {found.cost_:.8g}" in told.err.splitlines()[-1]
    assert "\x1b" not in told.err


def test_the_line_ends_when_the_solver_fails(capfd):
    try:
        with shown_progress(1, "k-median, k = 2") as callbacks:
            callbacks[0](at(0.0))
            callbacks[0](at(0.5))
            raise RuntimeError
    except RuntimeError:
        pass
    assert len(capfd.readouterr().err.splitlines()) == 2
