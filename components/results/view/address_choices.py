"""Choices read from a page address, with the former texts of renamed choices."""

from collections.abc import Mapping, Sequence
from typing import Final

RENAMED_CHOICES: Final[Mapping[str, str]] = {
    "Above the coin": "Above chance",
    "First-slot share": "First-position share",
    "as the study says": "study default",
    "each order counts": "count each order",
    "2–0 wins, else a tie": "win only if both orders agree",
    "2–0 wins, unreadable is a tie": "win only if both orders agree; unusable reply = tie",
    "win only if both agree": "win only if both orders agree",
    "win only if both agree, unreadable is a tie": (
        "win only if both orders agree; unusable reply = tie"
    ),
    "Accuracy": "Same verdict",
    "Entropy of slots": "Entropy of positions",
    "Right": "Accuracy",
    "Right on known answers": "Accuracy where the better answer is known",
    "Right where the better answer is known": "Accuracy where the better answer is known",
    "Same as people": "Agreement with people",
    "Same as people, without ties": "Agreement with people, without ties",
    "Share for the longer answer": "Share of verdicts for the longer answer",
    "Picks the longer": "Share of verdicts for the longer answer",
    "Same as the label": "Agreement with labels",
    "Within one step of the label": "Scores within one step of the label",
    "Accuracy where the better answer is known": "Accuracy",
    "Agreement with people": "Agreement with people, ties included",
    "Entropy": "Position entropy",
    "Entropy of positions": "Position entropy",
}
"""Former text of a choice -> the text that replaced it, so that older addresses still work. A text
that was replaced several times has an entry for each replacement."""

FORMER_VIEWS: Final[Mapping[str, str]] = {
    "Overview": "Summary",
    "Report cards": "Summary",
    "Position bias": "Position",
    "People": "Agreement",
    "Pass or fail": "Agreement",
    "Scores": "Agreement",
    "Win rates": "Ranking",
    "Protocol": "Paper",
}
"""Former name of a view -> the view that has its panels."""
FORMER_COMPARISONS: Final = ("Compare two", "Contrasts")
"""Former names of the view that compared two sides."""
FORMER_FAMILIES: Final[Mapping[str, str]] = {"Quality": "Agreement", "Win rates": "Ranking"}
"""Family of measures that an older address of a comparison of two sides names -> the view that now
compares these measures. Families that are not listed are compared in Position."""


def choice_or_default(
    wanted: str | None, known: Sequence[str], default: str | None = None
) -> str | None:
    """The choice `wanted` (usually from the page address) if it is in `known`, or its present
    text if it was renamed; else `default`, if given; else the first of `known`; None if
    `known` is empty."""
    for _ in RENAMED_CHOICES:  # a choice may have been renamed several times
        if wanted in known:
            break
        wanted = RENAMED_CHOICES.get(wanted or "", wanted)
    if wanted in known:
        return wanted
    return default if default is not None else known[0] if known else None
