"""The parts that algorithms are composed of, each with what it guarantees: selection, reproduction, survival."""

from certiclust.evolution.components.crossover import BalancedCrossover, Crossover, NoCrossover, UnionCrossover
from certiclust.evolution.components.mutation import (
    BitwiseMutation,
    HeavyTailedMutation,
    Mutation,
    OneBitMutation,
    SwapMutation,
)
from certiclust.evolution.components.selection import (
    BestBiasedSelection,
    CrowdingSelection,
    HypervolumeSelection,
    Selection,
    UniformSelection,
)
from certiclust.evolution.components.survival import (
    ArchiveSurvival,
    CommaSurvival,
    CrowdingSurvival,
    DecompositionSurvival,
    HypervolumeSurvival,
    NichingSurvival,
    Survival,
)

__all__ = [
    "ArchiveSurvival",
    "BalancedCrossover",
    "BestBiasedSelection",
    "BitwiseMutation",
    "CommaSurvival",
    "Crossover",
    "CrowdingSelection",
    "CrowdingSurvival",
    "DecompositionSurvival",
    "HeavyTailedMutation",
    "HypervolumeSelection",
    "HypervolumeSurvival",
    "Mutation",
    "NichingSurvival",
    "NoCrossover",
    "OneBitMutation",
    "Selection",
    "Survival",
    "SwapMutation",
    "UniformSelection",
    "UnionCrossover",
]
