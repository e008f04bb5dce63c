"""Which candidate set to take."""

from __future__ import annotations

from collections.abc import Callable

from certiclust.space.candidates.lattice import ladder
from certiclust.space.candidates.sets import CandidateSet, FloatArray, data_points, midpoints

CANDIDATE_NAMES = ("auto", "data", "midpoints", "ladder")
#: ``"auto"`` takes a finer set than the data only if its distances to all points are at most this many.
AUTO_DISTANCES = 4_000_000
#: Dimensions up to which ``"auto"`` tries the ladder.
AUTO_DIMENSIONS = 3


def candidate_set(
    name: str, points: FloatArray, weights: FloatArray, epsilon: float, max_candidates: int
) -> CandidateSet:
    """Return the candidate set of that name for k-means.

    ``"auto"``: the ladder in up to three dimensions if it is small enough, else the midpoints if they are, else the
    data points.

    Parameters
    ----------
    name : str
        One of `CANDIDATE_NAMES`.
    points, weights : ndarray
        Clients and their positive weights.
    epsilon : float
        How much worse than the mean the ladder may be.
    max_candidates : int
        Largest size allowed.

    Raises
    ------
    ValueError
        If the set is larger, with its size and what to change. ``"auto"`` never raises.
    """
    if name == "data":
        return data_points(points)
    if name == "midpoints":
        return midpoints(points, max_candidates)
    if name == "ladder":
        return ladder(points, weights, epsilon, max_candidates)
    allowed = min(max_candidates, AUTO_DISTANCES // len(points))
    finer: list[Callable[[FloatArray, int], CandidateSet]] = [midpoints]
    if points.shape[1] <= AUTO_DIMENSIONS and len(points) * 2 <= allowed:
        finer.insert(0, lambda rows, most: ladder(rows, weights, epsilon, most))
    for build in finer:
        try:
            return build(points, allowed)
        except ValueError:
            continue
    return data_points(points)
