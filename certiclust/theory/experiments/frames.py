"""pandas, imported when a table is asked for and not before."""

from __future__ import annotations

from typing import Any


def frame_of(**columns: Any) -> Any:
    """Return a pandas DataFrame with these columns."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install pandas.") from error
    return pd.DataFrame(columns)
