"""Means, power laws, and how sure one may be of them."""

from __future__ import annotations

from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit


class Estimate(NamedTuple):
    """A number with its confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def mean_of(values: ArrayLike, level: float = 0.95) -> Estimate:
    """Return the mean with Student's interval; NaN for ends that the number of values does not allow.

    Examples
    --------
    >>> mean_of([1.0, 2.0, 3.0]).value
    2.0
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.size == 0:
        return Estimate(nan, nan, nan)
    mean = float(numbers.mean())
    if numbers.size == 1:
        return Estimate(mean, nan, nan)
    half = float(stdtrit(numbers.size - 1, (1 + level) / 2)) * float(numbers.std(ddof=1)) / sqrt(numbers.size)
    return Estimate(mean, mean - half, mean + half)


def power_law(factors: ArrayLike, values: ArrayLike, level: float = 0.95) -> tuple[list[Estimate], float]:
    r"""Fit :math:`y = c\,x_1^{a_1} x_2^{a_2} \cdots` by least squares on logarithms.

    The intervals are Student's of the regression: they hold what the cells scatter about the law, whether by chance or
    because the law is not quite one.

    Parameters
    ----------
    factors : array-like of shape (cells,) or (cells, f)
        What was varied.
    values : array-like of shape (cells,)
        What was measured, positive.
    level : float, default=0.95
        Confidence.

    Returns
    -------
    exponents : list of Estimate
        One for each factor.
    constant : float
        The c of the law.

    Examples
    --------
    >>> (exponent,), constant = power_law([1, 2, 4, 8], [3, 12, 48, 192])
    >>> round(exponent.value, 6), round(constant, 6)
    (2.0, 3.0)
    """
    x = np.log(np.asarray(factors, dtype=np.float64))
    x = x[:, None] if x.ndim == 1 else x
    y = np.log(np.asarray(values, dtype=np.float64))
    design = np.column_stack([np.ones(len(x)), x])
    free = len(x) - design.shape[1]
    if free < 1 or np.linalg.matrix_rank(design) < design.shape[1]:
        need = design.shape[1] + 1
        raise ValueError(f"a power law in {x.shape[1]} factor(s) needs {need} different cells at least; got {len(x)}.")
    fitted, *_ = np.linalg.lstsq(design, y, rcond=None)
    variance = float(np.square(y - design @ fitted).sum()) / free
    errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    half = float(stdtrit(free, (1 + level) / 2)) * errors
    exponents = [Estimate(float(a), float(a - h), float(a + h)) for a, h in zip(fitted[1:], half[1:], strict=True)]
    return exponents, float(np.exp(fitted[0]))
