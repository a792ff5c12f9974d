"""Order of the options and criteria in a prompt that judges one answer, as stored in `Ask.labels`.

`Ask.labels` lists the options of the verdict in the order offered, then the criteria of a rubric in
the order listed. An option with a letter is stored as "B=4", a criterion as "criterion:Clarity";
options and criteria contain neither sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from studies.domain import PASS_FAIL_OPTIONS

CRITERION_PREFIX: Final = "criterion:"
LETTER_SIGN: Final = "="
LEVEL_PREFIX: Final = "level_"
"""Prefix of the frame's columns with the levels of a rubric, numbered by the criterion's place."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Options in the order offered, their letters, and criteria in the order listed."""

    options: tuple[str, ...]
    letters: tuple[str, ...] = ()
    """Letter of each option; empty if a reply names the options themselves."""
    criteria: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names by which a reply chooses an option, in the order offered."""
        return self.letters or self.options

    @property
    def labels(self) -> tuple[str, ...]:
        """The arrangement as stored in `Ask.labels`."""
        return (*self.option_labels, *(f"{CRITERION_PREFIX}{name}" for name in self.criteria))

    @property
    def option_labels(self) -> tuple[str, ...]:
        if not self.letters:
            return self.options
        paired = zip(self.letters, self.options, strict=True)
        return tuple(f"{letter}{LETTER_SIGN}{option}" for letter, option in paired)

    @property
    def is_pass_fail(self) -> bool:
        return set(self.options) == set(PASS_FAIL_OPTIONS)

    @property
    def scores(self) -> tuple[float, ...]:
        """Score of each option in the order offered: 1 for pass and 0 for fail, or the number it
        states; empty for named levels, as their order is not stored."""
        if self.is_pass_fail:
            return tuple(float(PASS_FAIL_OPTIONS.index(option)) for option in self.options)
        try:
            return tuple(float(option) for option in self.options)
        except ValueError:
            return ()

    @property
    def ascending_scores(self) -> tuple[float, ...]:
        """Scores from the lowest to the highest; ranks from 1 for named levels."""
        return tuple(sorted(self.scores)) or tuple(
            float(rank) for rank in range(1, len(self.options) + 1)
        )


@lru_cache(maxsize=4096)
def parse_arrangement(labels: tuple[str, ...]) -> Arrangement:
    """Parse the labels of an ask that shows one answer."""
    offered = [label for label in labels if not label.startswith(CRITERION_PREFIX)]
    criteria = [
        label.removeprefix(CRITERION_PREFIX)
        for label in labels
        if label.startswith(CRITERION_PREFIX)
    ]
    parts = [label.partition(LETTER_SIGN) for label in offered]
    if parts and all(sign for _, sign, _ in parts):
        letters = tuple(letter for letter, _, _ in parts)
        return Arrangement(tuple(option for *_, option in parts), letters, tuple(criteria))
    return Arrangement(tuple(offered), (), tuple(criteria))


def rotations(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return as many orders as names, so that each name is at each place once; the given order
    comes first."""
    return [(*names[k:], *names[:k]) for k in range(len(names))]
