r"""The general lemma of the paper: how long an evolutionary process takes to imitate local search.

The best feasible solution is chosen as a parent with probability :math:`P_{sel}` or more, turned into a given neighbour
with probability :math:`P_{rep}(p, q)` or more, and never lost. With :math:`\lambda` offspring per iteration one of them
is that neighbour with probability :math:`1 - (1 - P_{sel} P_{rep})^\lambda` at least, and each such success multiplies
the cost by :math:`1 - \delta` or less.
"""

from __future__ import annotations

from math import ceil, expm1, inf, log, log1p


def general_lemma(selection: float, reproduction: float, delta: float, spread: float, offspring: int = 1) -> float:
    r"""Return the general lemma's bound: expected iterations to a (1 - delta)-approximate local optimum.

    .. math:: \frac{1}{1 - (1 - P_{sel} P_{rep}(p, q))^\lambda} \log_{1/(1 - \delta)} \frac{f_{init}}{OPT}

    Parameters
    ----------
    selection, reproduction : float
        Lower bounds on the probabilities of choosing the best feasible solution as parent, and of turning it into a
        given neighbour.
    delta : float
        Relative improvement per successful step, between 0 and 1.
    spread : float
        f_init / OPT, or an upper bound on it.
    offspring : int, default=1
        Offspring per iteration.

    Examples
    --------
    >>> round(general_lemma(0.5, 0.1, 0.5, 8.0), 6)
    60.0
    """
    _check(delta)
    if spread <= 1:
        return 0.0
    if spread == inf:
        return inf
    return log(spread) / -log1p(-delta) / success(selection, reproduction, offspring)


def success(selection: float, reproduction: float, offspring: int = 1) -> float:
    """Return the probability that one iteration makes the neighbour that the lemma waits for, at least.

    Examples
    --------
    >>> success(0.5, 0.5, offspring=2)
    0.4375
    """
    for name, value in (("selection", selection), ("reproduction", reproduction)):
        if not 0 < value <= 1:
            raise ValueError(f"{name} must be a probability above 0; got {value}.")
    if offspring < 1:
        raise ValueError(f"offspring must be at least 1; got {offspring}.")
    both = selection * reproduction
    return 1.0 if both == 1 else -expm1(offspring * log1p(-both))


def steps_to_ratio(delta: float, spread: float, ratio: float) -> float:
    r"""Return how many successful steps lead below `ratio` times OPT, at most.

    The lemma counts the steps down to OPT itself. A solution above :math:`\alpha\,OPT` is no approximate local
    optimum, so every success until then gains the factor :math:`1 - \delta`, and
    :math:`\lceil \log_{1/(1-\delta)}(f_{init} / (\alpha\,OPT)) \rceil` successes suffice for the ratio.

    Examples
    --------
    >>> steps_to_ratio(0.5, 80.0, 10.0)
    3
    >>> steps_to_ratio(0.5, 9.0, 10.0)
    0
    """
    _check(delta)
    if spread == inf:
        return inf
    return ceil(log(spread / ratio) / -log1p(-delta)) if spread > ratio else 0


def _check(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1; got {delta}.")
