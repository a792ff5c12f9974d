"""Find answers that a contestant gives, word for word, to several different questions.

Such a contestant does not answer the question: it may be a null model, whose constant text is
written to win comparisons, or a failed run. The answer is flagged like a suspected injection;
nothing is excluded.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from studies.domain import QUESTION_META, REPEATED_META, Item

MIN_QUESTIONS: Final = 3
"""Minimum number of questions to which a contestant gives the same answer for it to be flagged."""
MIN_LENGTH: Final = 20
"""Minimum characters of a repeated answer; "Yes" or "B" may be right for many questions."""


def mark_repeated_answers(items: Sequence[Item]) -> list[Item]:
    """Return the items with repeated answers marked. An answer is repeated if its contestant
    gives it, word for word, to MIN_QUESTIONS or more different questions; answers shorter than
    MIN_LENGTH characters do not count. The mark is the contestant's name in the item's meta."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, item in enumerate(items):
        for name, text in item.responses.items():
            if len(answer := text.strip()) >= MIN_LENGTH:
                places[name, answer].append(index)
    marked: dict[int, list[str]] = defaultdict(list)
    for (name, _), found in places.items():
        if len({_question_id_or_text(items[index]) for index in found}) >= MIN_QUESTIONS:
            for index in found:
                marked[index].append(name)
    return [_mark_item(item, marked.get(index, [])) for index, item in enumerate(items)]


def describe_repeated_answers(items: Sequence[Item]) -> list[str]:
    """Return notes for the user, one for each contestant whose answers are marked as repeated (see
    `mark_repeated_answers`)."""
    flagged: dict[str, int] = defaultdict(int)
    for item in items:
        for name in item.meta.get(REPEATED_META, "").splitlines():
            flagged[name] += 1
    return [
        f"suspect: {name!r} gives an answer word for word to different questions, in "
        f"{found:,} of {sum(name in item.responses for item in items):,} items. It may be an "
        "attack on the judge or a failed run: read one of these answers, and leave the model out "
        "if it does not answer"
        for name, found in sorted(flagged.items())
    ]


def _question_id_or_text(item: Item) -> str:
    return item.meta.get(QUESTION_META) or item.instruction or item.id


def _mark_item(item: Item, names: Sequence[str]) -> Item:
    """Return the item with `names` stored as the contestants whose answer to it is repeated."""
    if not names and REPEATED_META not in item.meta:
        return item
    meta = {key: value for key, value in item.meta.items() if key != REPEATED_META}
    if names:
        meta[REPEATED_META] = "\n".join(sorted(names))
    return replace(item, meta=meta)
