"""Kind of each prompt, inferred from its verdicts: a scoring prompt scores each of the answers
shown and picks none; a five-level prompt asks for one of five levels, such as "much better".

A frame has no prompt texts. The kind is needed because an unreadable reply to a scoring prompt is
not a missing verdict on a pair, and verdicts of five levels have tables of their own."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from studies.frames.frame import NO_PICK

SCORING_PREFIXES: Final = ("creation-factuality",)
FIVE_LEVEL_PREFIXES: Final = ("creation-subjective", "arena-hard")
"""Name prefixes of the built-in five-level prompts; SCORING_PREFIXES are those of the scoring
prompts. Prompts with these prefixes are recognised by name, even without a verdict."""
NO_PICKS_NOTE: Final = "this prompt picks no answer"
"""Reason why a measure of picks has no value for a scoring prompt."""


def scoring_mask(frame: pd.DataFrame) -> row_selection.Mask:
    """Mask of all rows of scoring prompts, unreadable replies included. A scoring prompt scores
    each of the answers shown and picks none; it is recognised by its usable replies or by its
    name."""
    shown = (frame["options"] > 1).to_numpy() & row_selection.usable_status_mask(frame)
    unpicked = (frame["pick"] == NO_PICK).to_numpy()
    kinds = _PromptCodes(frame)
    return kinds.rows_of_prompts(
        (kinds.prompts_with(shown & unpicked) & ~kinds.prompts_with(shown & ~unpicked)),
        SCORING_PREFIXES,
    )


def five_level_mask(frame: pd.DataFrame) -> row_selection.Mask:
    """Mask of all rows of five-level prompts (levels such as "better" and "much better"). Such a
    prompt is recognised by a verdict "much better" (`margin` 2) in one of its rows, or by its
    name."""
    strong = row_selection.usable_status_mask(frame) & (frame["margin"] == 2).to_numpy()
    kinds = _PromptCodes(frame)
    return kinds.rows_of_prompts(kinds.prompts_with(strong), FIVE_LEVEL_PREFIXES)


class _PromptCodes:
    """Integer codes of the prompts in a frame, so that each prompt name is tested only once."""

    def __init__(self, frame: pd.DataFrame) -> None:
        prompt = frame["prompt"].astype("category").cat
        self.names = [str(name) for name in prompt.categories]
        self.codes = prompt.codes.to_numpy()

    def prompts_with(self, rows: row_selection.Mask) -> row_selection.Mask:
        """Mask of the prompts that have at least one of the selected rows."""
        found: row_selection.Mask = np.zeros(len(self.names), np.bool_)
        found[self.codes[rows]] = True
        return found

    def rows_of_prompts(
        self, prompts: row_selection.Mask, prefixes: Sequence[str]
    ) -> row_selection.Mask:
        """Mask of the rows of the selected prompts, and of prompts whose name starts with one of
        the prefixes."""
        named = np.array([name.startswith(tuple(prefixes)) for name in self.names], np.bool_)
        wanted = prompts | named
        return wanted[self.codes] if len(wanted) else np.zeros(len(self.codes), np.bool_)
