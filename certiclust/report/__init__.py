"""What people look at: the report as one page, and displays of fronts, histories and clusters.

Displays are drawn by matplotlib, imported when it is asked for.
"""

from certiclust.front import FrontDisplay
from certiclust.report.clusters import ClustersDisplay
from certiclust.report.history import HistoryDisplay
from certiclust.report.html import report_html

__all__ = ["ClustersDisplay", "FrontDisplay", "HistoryDisplay", "report_html"]
