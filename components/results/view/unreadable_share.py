"""Share of replies without a readable verdict, the advice if it is large, and failed calls, which
are no replies. No HTML is imported: the library's cards need no optional package."""

from collections.abc import Collection
from typing import Final

import pandas as pd

from components.html.format import count
from studies.domain import ERROR_STATUSES

MANY_UNUSABLE: Final = 0.2
"""Share of replies without a readable verdict (`unreadable_share`) from which the prompt's verdict
format should be changed first."""
FORMAT_ADVICE: Final = "Change the prompt's verdict format first, so that replies can be read."


def unreadable_share(rows: pd.DataFrame) -> float:
    """Share of the replies that came but hold no verdict in the prompt's format. Another format
    mends neither failed calls nor refused, empty or truncated replies, so these do not count."""
    return float((rows["status"] == "unreadable").mean()) if len(rows) else 0.0


def count_failed_calls(rows: pd.DataFrame) -> int:
    return int(rows["status"].isin(list(ERROR_STATUSES)).sum())


def failures_title(kinds: Collection[str]) -> str:
    """Title of the calls without a verdict; `kinds`: their statuses. A failed call is no reply."""
    failed = ERROR_STATUSES.intersection(kinds)
    if failed and len(failed) == len(kinds):
        return "Failed calls"
    return f"Unusable replies{' and failed calls' if failed else ''}"


def replies_text(rows: pd.DataFrame) -> str:
    """Number of replies, such as "20 replies" or, if calls failed, "16 replies and 4 failed
    calls"."""
    failed = count_failed_calls(rows)
    replies = count(len(rows) - failed, "reply")
    return f"{replies} and {count(failed, 'failed call')}" if failed else replies
