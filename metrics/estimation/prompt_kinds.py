"""What a prompt asks for, told from what was read of it: a frame holds verdicts, not prompts.

Prompts of several protocols share a study. A reply that should have scored two answers and could
not be read is no missing verdict on a pair, and a verdict of three levels is none of five.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from studies.frames.frame import NO_PICK

SCORING_PREFIXES: Final = ("creation-factuality",)
FIVE_LEVEL_PREFIXES: Final = ("creation-subjective", "arena-hard")
"""How our own prompts of a kind begin: nothing that was read needs to say it."""


def scoring_mask(frame: pd.DataFrame) -> row_selection.Mask:
    """Rows of prompts that score several answers and pick none, read or not."""
    shown = (frame["options"] > 1).to_numpy() & row_selection.evidence_mask(frame)
    bare = (frame["pick"] == NO_PICK).to_numpy()
    kinds = _PromptCodes(frame)
    return kinds.rows(
        (kinds.prompts_with(shown & bare) & ~kinds.prompts_with(shown & ~bare)), SCORING_PREFIXES
    )


def five_level_mask(frame: pd.DataFrame) -> row_selection.Mask:
    """Rows of prompts that answer in five levels: one was much better, or the name says it."""
    strong = row_selection.evidence_mask(frame) & (frame["margin"] == 2).to_numpy()
    kinds = _PromptCodes(frame)
    return kinds.rows(kinds.prompts_with(strong), FIVE_LEVEL_PREFIXES)


class _PromptCodes:
    """The prompts of a frame as codes: of millions of rows no name is looked at twice."""

    def __init__(self, frame: pd.DataFrame) -> None:
        prompt = frame["prompt"].astype("category").cat
        self.names = [str(name) for name in prompt.categories]
        self.codes = prompt.codes.to_numpy()

    def prompts_with(self, rows: row_selection.Mask) -> row_selection.Mask:
        """Which prompts have such a row."""
        found: row_selection.Mask = np.zeros(len(self.names), np.bool_)
        found[self.codes[rows]] = True
        return found

    def rows(self, prompts: row_selection.Mask, begun: Sequence[str]) -> row_selection.Mask:
        """The rows of these prompts, and of those whose names begin so."""
        named = np.array([name.startswith(tuple(begun)) for name in self.names], np.bool_)
        wanted = prompts | named
        return wanted[self.codes] if len(wanted) else np.zeros(len(self.codes), np.bool_)
