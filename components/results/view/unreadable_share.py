"""Share of calls without a readable verdict, and the advice if it is large.

This module imports no HTML code, because the library's cards work without the optional packages.
"""

from typing import Final

import pandas as pd

MANY_UNUSABLE: Final = 0.2
"""Share of replies without a readable verdict (`unreadable_share`) from which the prompt's verdict
format should be changed first."""
FORMAT_ADVICE: Final = "Change the prompt's verdict format first, so that replies can be read."


def unreadable_share(rows: pd.DataFrame) -> float:
    """Share of all calls whose reply holds a text but no verdict in the prompt's format, 0 to
    1. Failed calls and refused, empty or truncated replies do not count, because another format
    would not help there."""
    return float((rows["status"] == "unreadable").mean()) if len(rows) else 0.0
