"""What a slice is like before anything is asked: categories, lengths, coverage, openings."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from studies.openings import Openings, openings
from studies.records import REFERENCE, Item
from studies.suspects import INSTRUCTION, Suspect, suspects_in


@dataclass(frozen=True, slots=True)
class Lengths:
    """Words of one kind of text: the median, the middle half, the middle 80 %."""

    name: str
    n: int
    low: float
    quarter: float
    median: float
    three_quarters: float
    high: float


@dataclass(frozen=True, slots=True)
class Covered:
    """How many items one contestant answered, and how many it left out or left empty."""

    name: str
    found: int
    missing: int
    empty: int


@dataclass(frozen=True, slots=True)
class Profile:
    items: int
    categories: tuple[tuple[str, int], ...]
    """The largest first; an item without one is in ''."""
    instructions: Lengths | None
    answers: tuple[Lengths, ...]
    """By contestant, the longest median first; the reference is one of them where there is one."""
    coverage: tuple[Covered, ...]
    openings: Openings
    images: tuple[tuple[int, int], ...]
    """(how many images, how many items have so many)."""
    described: int
    """Items with images and a description of them."""
    judged: int
    """Items that somebody (or the design) has an opinion on."""
    suspects: tuple[Suspect, ...] = ()
    """Questions and answers of those who play that speak to the judge."""


def profile(items: Sequence[Item], contestants: Sequence[str] = ()) -> Profile:
    """`contestants`: who plays; nobody named means all who answered."""
    names = list(contestants) or sorted({name for item in items for name in item.responses})
    if REFERENCE not in names and any(item.reference.strip() for item in items):
        names.append(REFERENCE)
    texts = {name: [_answer(item, name) for item in items] for name in names}
    lengths = [found for name in names if (found := lengths_of(name, texts[name]))]
    pictures = Counter(len(item.images) for item in items)
    return Profile(
        items=len(items),
        categories=tuple(_by_size(Counter(item.category for item in items))),
        instructions=lengths_of("instruction", [item.instruction for item in items]),
        answers=tuple(sorted(lengths, key=lambda one: -one.median)),
        coverage=tuple(covered(name, texts[name]) for name in names if name != REFERENCE),
        openings=openings(item.instruction for item in items),
        images=tuple(sorted(pictures.items())) if set(pictures) - {0} else (),
        described=sum(bool(item.images and any(item.context)) for item in items),
        judged=sum(bool(item.human) for item in items),
        suspects=tuple(s for s in suspects_in(items) if s.where in (INSTRUCTION, *names)),
    )


def _answer(item: Item, name: str) -> str | None:
    return item.reference if name == REFERENCE else item.responses.get(name)


def _by_size(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def covered(name: str, texts: Sequence[str | None]) -> Covered:
    missing = sum(text is None for text in texts)
    empty = sum(text is not None and not text.strip() for text in texts)
    return Covered(name, len(texts) - missing - empty, missing, empty)


def lengths_of(name: str, texts: Sequence[str | None]) -> Lengths | None:
    """None if nobody wrote anything; what is missing or empty is no short answer."""
    words = sorted(len(text.split()) for text in texts if text and text.strip())
    n = len(words)
    if not n:
        return None
    if n == 1:
        words *= 2  # a lone text is its own median and its own ends
    tenths = statistics.quantiles(words, n=10, method="inclusive")
    low, middle, high = statistics.quantiles(words, n=4, method="inclusive")
    return Lengths(name, n, tenths[0], low, middle, high, tenths[8])
