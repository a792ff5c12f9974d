"""Options and criteria of a prompt that judges one answer, in the form in which `Ask.labels`
has them.

`Ask.labels` lists the options of the verdict in the order offered, then the criteria
of a rubric in the order listed. An option that has a letter in the prompt is stored as
"B=4", a criterion as "criterion:Clarity"; names of options and criteria contain neither
"=" nor ":". In a frame, an option other than a number, pass or fail also has its rank on
the prompt's scale, if the scale is known: "good:3" is the third option from below."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from studies.domain import PASS_FAIL_OPTIONS

CRITERION_PREFIX: Final = "criterion:"
LETTER_SIGN: Final = "="
RANK_SIGN: Final = ":"
LEVEL_PREFIX: Final = "level_"
"""Prefix of the frame's columns with a rubric's levels; `level_0`: first criterion."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Options in the order offered, their letters, and criteria in the order listed."""

    options: tuple[str, ...]
    letters: tuple[str, ...] = ()
    """Letter of each option; empty if replies name the options themselves instead of letters."""
    criteria: tuple[str, ...] = ()
    ranks: tuple[float, ...] = ()
    """Rank of each option on the scale, 1 for the lowest; empty if the options are numbers or the
    scale is unknown."""

    @property
    def names_in_reply(self) -> tuple[str, ...]:
        """Names by which a reply chooses an option, in the order offered: the letters or, if there
        are none, the options themselves."""
        return self.letters or self.options

    @property
    def labels(self) -> tuple[str, ...]:
        """The options and criteria in the form in which `Ask.labels` stores them."""
        return (*self.option_labels, *(f"{CRITERION_PREFIX}{name}" for name in self.criteria))

    @property
    def option_labels(self) -> tuple[str, ...]:
        """The options as stored in `Ask.labels`: with letters "A=5", "B=4", else as they are."""
        if not self.letters:
            return self.options
        paired = zip(self.letters, self.options, strict=True)
        return tuple(f"{letter}{LETTER_SIGN}{option}" for letter, option in paired)

    @property
    def is_pass_fail(self) -> bool:
        return set(self.options) == set(PASS_FAIL_OPTIONS)

    @property
    def option_scores(self) -> tuple[float, ...]:
        """Score of each option in the order offered, higher for a better verdict: 1 for pass and 0
        for fail, the number that the option states or, for named options such as "good", the rank
        on the prompt's scale (1 for the lowest).

        Empty for named options of unknown rank.
        """
        if self.ranks:
            return self.ranks
        if self.is_pass_fail:
            return tuple(float(PASS_FAIL_OPTIONS.index(option)) for option in self.options)
        try:
            return tuple(float(option) for option in self.options)
        except ValueError:
            return ()

    @property
    def ascending_scores(self) -> tuple[float, ...]:
        """Scores of the options, ascending; 1, 2, … for named options of unknown rank."""
        return tuple(sorted(self.option_scores)) or tuple(
            float(rank) for rank in range(1, len(self.options) + 1)
        )

    @property
    def score_step(self) -> float:
        """Smallest difference between the scores of two options; 1 if the scores are unknown."""
        distances = (high - low for low, high in pairwise(sorted(set(self.option_scores))))
        return min(distances, default=1.0)


ONE_STEP: Final = 1 + 1e-4
"""Largest number of steps between two scores that counts as one step; frames store scores and
labels as 32-bit numbers, so that 0.3 − 0.2 is more than 0.1."""


@lru_cache(maxsize=4096)
def parse_arrangement(labels: tuple[str, ...]) -> Arrangement:
    """Return how a request about one answer presented its scale: options, their order and ranks,
    criteria. `labels` are its `Ask.labels`."""
    offered = [label for label in labels if not label.startswith(CRITERION_PREFIX)]
    criteria = [
        label.removeprefix(CRITERION_PREFIX)
        for label in labels
        if label.startswith(CRITERION_PREFIX)
    ]
    letters, options = _split_letters(offered)
    parts = [option.rpartition(RANK_SIGN) for option in options]
    ranks: tuple[float, ...] = ()
    if parts and all(sign and rank.isdigit() for _, sign, rank in parts):
        options = tuple(option for option, _, _ in parts)
        ranks = tuple(float(rank) for *_, rank in parts)
    return Arrangement(options, letters, tuple(criteria), ranks)


def _split_letters(offered: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split labels into letters and options: ("A=5", "B=4") -> ("A", "B"), ("5", "4"). If any
    label lacks a letter, return () and the labels unchanged."""
    parts = [label.partition(LETTER_SIGN) for label in offered]
    if parts and all(sign for _, sign, _ in parts):
        return tuple(letter for letter, _, _ in parts), tuple(option for *_, option in parts)
    return (), tuple(offered)


def add_ranks_to_labels(labels: tuple[str, ...], scale: Sequence[str]) -> tuple[str, ...]:
    """Add ranks to named options: "good", "bad" on the scale "bad", "good" -> "good:2", "bad:1".

    Numbers, pass and fail, and options other than those of the scale are returned unchanged.
    """
    one = parse_arrangement(labels)
    if one.option_scores or set(one.options) != set(scale) or len(one.options) < 2:
        return labels
    ranked = tuple(f"{name}{RANK_SIGN}{scale.index(name) + 1}" for name in one.options)
    return Arrangement(ranked, one.letters, one.criteria).labels


def rotations(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return all rotations of the names, so that each name is in each position once; the given
    order comes first."""
    return [(*names[k:], *names[:k]) for k in range(len(names))]
