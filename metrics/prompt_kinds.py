"""What a prompt asks for, told from what was read of it: a frame holds verdicts, not prompts.

Prompts of several protocols share a study. A reply that should have scored two answers and could
not be read is no missing verdict on a pair, and a verdict of three levels is none of five.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from metrics import selection
from studies.frame import NO_PICK

SCORING: Final = ("creation-factuality",)
LEVELLED: Final = ("creation-subjective", "arena-hard")
"""How our own prompts of a kind begin: nothing that was read needs to say it."""


def scoring(frame: pd.DataFrame) -> selection.Mask:
    """Rows of prompts that score several answers and pick none, read or not."""
    shown = (frame["options"] > 1).to_numpy() & selection.evidence(frame)
    bare = (frame["pick"] == NO_PICK).to_numpy()
    kinds = _Prompts(frame)
    return kinds.rows((kinds.having(shown & bare) & ~kinds.having(shown & ~bare)), SCORING)


def levelled(frame: pd.DataFrame) -> selection.Mask:
    """Rows of prompts that answer in five levels: one was much better, or the name says it."""
    strong = selection.evidence(frame) & (frame["margin"] == 2).to_numpy()
    kinds = _Prompts(frame)
    return kinds.rows(kinds.having(strong), LEVELLED)


class _Prompts:
    """The prompts of a frame as codes: of millions of rows no name is looked at twice."""

    def __init__(self, frame: pd.DataFrame) -> None:
        prompt = frame["prompt"].astype("category").cat
        self.names = [str(name) for name in prompt.categories]
        self.codes = prompt.codes.to_numpy()

    def having(self, rows: selection.Mask) -> selection.Mask:
        """Which prompts have such a row."""
        found: selection.Mask = np.zeros(len(self.names), np.bool_)
        found[self.codes[rows]] = True
        return found

    def rows(self, prompts: selection.Mask, begun: Sequence[str]) -> selection.Mask:
        """The rows of these prompts, and of those whose names begin so."""
        named = np.array([name.startswith(tuple(begun)) for name in self.names], np.bool_)
        wanted = prompts | named
        return wanted[self.codes] if len(wanted) else np.zeros(len(self.codes), np.bool_)
