"""A composition as the compiled loop reads it: codes and numbers."""

from __future__ import annotations

from typing import NamedTuple

# Parent selection.
UNIFORM, BEST_BIASED, BY_CROWDING, BY_CONTRIBUTION = 0, 1, 2, 3
# Crossover.
NO_CROSSOVER, UNION, BALANCED = 0, 1, 2
# Survivor selection.
ARCHIVE, CROWDING, NICHING, HYPERVOLUME, DECOMPOSITION, COMMA = 0, 1, 2, 3, 4, 5


class Recipe(NamedTuple):
    """How parents are chosen, offspring made and survivors kept.

    Attributes
    ----------
    selection : int
        Code of the parent selection.
    bias : float
        Probability with which best-biased selection takes the best member.
    threshold : float
        The best member is the largest with an f1 of at least this: 0 for the max problems, as in their proof.
    crossover : int
        Code of the crossover.
    crossover_rate : float
        Probability with which an offspring is made by crossover and not by mutation.
    survival : int
        Code of the survivor selection.
    members, offspring : int
        Largest |P|, and offspring per generation.
    references : int
        Reference directions of NSGA-III.
    """

    selection: int
    bias: float
    threshold: float
    crossover: int
    crossover_rate: float
    survival: int
    members: int
    offspring: int
    references: int
