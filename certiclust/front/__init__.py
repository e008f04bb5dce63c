"""Every number of clusters at once: `sweep` fits all sizes, and a `Front` holds what they cost and what is proved."""

from certiclust.front.chain import sweep
from certiclust.front.display import FrontDisplay
from certiclust.front.front import Front
from certiclust.front.knee import Suggestion

__all__ = ["Front", "FrontDisplay", "Suggestion", "sweep"]
