"""Share of replies without a readable verdict, and the advice if it is large. No HTML is imported:
the library's cards need no optional package."""

from typing import Final

import pandas as pd

MANY_UNUSABLE: Final = 0.2
"""Share of replies without a readable verdict (`unreadable_share`) from which the prompt's verdict
format should be changed first."""
FORMAT_ADVICE: Final = "Change the prompt's verdict format first, so that replies can be read."


def unreadable_share(rows: pd.DataFrame) -> float:
    """Share, among all calls, of the replies that came but hold no verdict in the prompt's format.
    Another format mends neither failed calls nor refused, empty or truncated replies, so these are
    not counted as unreadable."""
    return float((rows["status"] == "unreadable").mean()) if len(rows) else 0.0
