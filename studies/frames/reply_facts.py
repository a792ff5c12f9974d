"""Facts about the text of a reply, as columns of the frame, for measures that need the text.

The frame has no texts. A measure that depends on them registers a function of the text; the frame
then has a column with its value for each reply: NaN without a reply, or for one that is shorter
than the function's minimum length. Without registered functions no text is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import pandas as pd

ReplyFact = Callable[[str], float]
REPLY_FACTS: Final[dict[str, ReplyFact]] = {}
"""Column of the frame -> function that computes its value from the text of a reply."""
LEAST: Final = "least_characters"
"""Name of the attribute, set on a registered function, with the minimum length of a reply that the
function reads."""


def register_reply_fact(column: str, min_length: int = 1) -> Callable[[ReplyFact], ReplyFact]:
    """Return a decorator that registers a function of a reply's text; its results become the
    column `column` of the frame. Replies shorter than `min_length` characters get NaN, so that
    millions of short replies need not be read. ValueError if the column has a function."""

    def register_fact(fact: ReplyFact) -> ReplyFact:
        if column in REPLY_FACTS:
            raise ValueError(f"the fact {column} about replies is registered twice")
        REPLY_FACTS[column] = fact
        setattr(fact, LEAST, min_length)
        return fact

    return register_fact


def min_reply_length_to_read() -> int:
    """Return the smallest minimum length, in characters, of the registered functions: the text of a
    shorter reply need not be read. 1 without registered functions."""
    return min((getattr(fact, LEAST, 1) for fact in REPLY_FACTS.values()), default=1)


def add_reply_facts(frame: pd.DataFrame, replies: Iterable[tuple[int, str]]) -> pd.DataFrame:
    """Return the frame with one more column for each registered function of replies. `replies`
    are pairs of sequence number (the frame's column `seq`) and text."""
    found: dict[str, dict[int, float]] = {column: {} for column in REPLY_FACTS}
    for seq, text in replies:
        for column, fact in REPLY_FACTS.items():
            if len(text) >= getattr(fact, LEAST, 1):
                found[column][seq] = float(fact(text))
    return frame.assign(
        **{column: frame["seq"].map(values).astype(np.float64) for column, values in found.items()}
    )
