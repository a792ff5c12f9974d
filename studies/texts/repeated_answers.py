"""Find answers that a contestant gives, word for word, to several different questions.

Such a contestant does not answer: it may be a null model, whose constant text is written to win the
comparison, or a failed run. It is flagged like a suspected injection; nothing is excluded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from studies.domain import Item
from studies.texts.injection import REPEATED_RULE, InjectionSuspect

MIN_QUESTIONS: Final = 3
"""Different questions with the same answer from which the answer is a suspect."""
MIN_LENGTH: Final = 20
"""Characters from which an answer counts: "Yes" and "B" answer many questions."""
_QUOTE_LENGTH: Final = 120


def find_repeated_answers(items: Iterable[Item]) -> list[InjectionSuspect]:
    """Find all answers that their contestant gives to at least three different questions."""
    places: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in items:
        for name, text in item.responses.items():
            if len(answer := text.strip()) >= MIN_LENGTH:
                places[name, answer].append(item)
    return [
        InjectionSuspect(item.id, name, (REPEATED_RULE,), _shorten(answer))
        for (name, answer), found in places.items()
        if len({item.instruction or item.id for item in found}) >= MIN_QUESTIONS
        for item in found
    ]


def describe_repeated_answers(items: Sequence[Item]) -> list[str]:
    """Describe the contestants with repeated answers, one sentence each, for notes of an import."""
    flagged: dict[str, set[str]] = defaultdict(set)
    for suspect in find_repeated_answers(items):
        flagged[suspect.where].add(suspect.item)
    return [
        f"suspect: {name!r} gives an answer word for word to different questions, in "
        f"{len(found):,} of {sum(name in item.responses for item in items):,} items. It may be an "
        "attack on the judge or a failed run: read one of these answers, and leave the model out "
        "if it does not answer"
        for name, found in sorted(flagged.items())
    ]


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE_LENGTH else line[: _QUOTE_LENGTH - 1] + "\u2026"
