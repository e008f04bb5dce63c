"""What people look at: displays of fronts, histories and clusters, drawn by matplotlib when it is asked for."""

from certiclust.front import FrontDisplay
from certiclust.report.clusters import ClustersDisplay
from certiclust.report.history import HistoryDisplay

__all__ = ["ClustersDisplay", "FrontDisplay", "HistoryDisplay"]
