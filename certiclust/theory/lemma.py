"""What the general lemma gives when it counts its steps to the ratio, and not to the optimum."""

from __future__ import annotations

from math import ceil, inf, log, log1p


def steps_to_ratio(delta: float, spread: float, ratio: float) -> float:
    r"""Return how many successful steps lead below `ratio` times OPT, at most.

    The lemma (`certiclust.evolution.proofs`) counts the steps down to OPT itself. A solution above
    :math:`\alpha\,OPT` is no approximate local optimum, so every success until then gains the factor
    :math:`1 - \delta`, and :math:`\lceil \log_{1/(1-\delta)}(f_{init} / (\alpha\,OPT)) \rceil` successes suffice.

    Parameters
    ----------
    delta : float
        Relative improvement per successful step, between 0 and 1.
    spread : float
        f_init / OPT, or an upper bound on it.
    ratio : float
        The alpha to be reached.

    Examples
    --------
    >>> steps_to_ratio(0.5, 80.0, 10.0)
    3
    >>> steps_to_ratio(0.5, 9.0, 10.0)
    0
    """
    if spread <= ratio:
        return 0
    return inf if spread == inf else ceil(log(spread / ratio) / -log1p(-delta))
