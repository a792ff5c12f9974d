"""What a slice is like before anything is asked: categories, lengths, coverage, openings."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from studies.domain import REFERENCE, Item
from studies.texts.injection import INSTRUCTION, InjectionSuspect, find_all_suspects
from studies.texts.instruction_verbs import InstructionOpenings, count_openings


@dataclass(frozen=True, slots=True)
class LengthSummary:
    """Words of one kind of text: the median, the middle half, the middle 80 %."""

    name: str
    n: int
    low: float
    lower_quartile: float
    median: float
    upper_quartile: float
    high: float


@dataclass(frozen=True, slots=True)
class ContestantCoverage:
    """How many items one contestant answered, and how many it left out or left empty."""

    name: str
    found: int
    missing: int
    empty: int


@dataclass(frozen=True, slots=True)
class SliceProfile:
    items: int
    categories: tuple[tuple[str, int], ...]
    """The largest first; an item without one is in ''."""
    instructions: LengthSummary | None
    answers: tuple[LengthSummary, ...]
    """By contestant, the longest median first; the reference is one of them where there is one."""
    coverage: tuple[ContestantCoverage, ...]
    openings: InstructionOpenings
    images: tuple[tuple[int, int], ...]
    """(how many images, how many items have so many)."""
    described: int
    """Items with images and a description of them."""
    judged: int
    """Items that somebody (or the design) has an opinion on."""
    suspects: tuple[InjectionSuspect, ...] = ()
    """Questions and answers of those who play that speak to the judge."""


def profile_slice(items: Sequence[Item], contestants: Sequence[str] = ()) -> SliceProfile:
    """`contestants`: who plays; nobody named means all who answered."""
    names = list(contestants) or sorted({name for item in items for name in item.responses})
    if REFERENCE not in names and any(item.reference.strip() for item in items):
        names.append(REFERENCE)
    texts = {name: [_contestant_text(item, name) for item in items] for name in names}
    lengths = [found for name in names if (found := summarise_lengths(name, texts[name]))]
    pictures = Counter(len(item.images) for item in items)
    return SliceProfile(
        items=len(items),
        categories=tuple(_sorted_counts(Counter(item.category for item in items))),
        instructions=summarise_lengths("instruction", [item.instruction for item in items]),
        answers=tuple(sorted(lengths, key=lambda one: -one.median)),
        coverage=tuple(count_coverage(name, texts[name]) for name in names if name != REFERENCE),
        openings=count_openings(item.instruction for item in items),
        images=tuple(sorted(pictures.items())) if set(pictures) - {0} else (),
        described=sum(bool(item.images and any(item.context)) for item in items),
        judged=sum(bool(item.human) for item in items),
        suspects=tuple(s for s in find_all_suspects(items) if s.where in (INSTRUCTION, *names)),
    )


def _contestant_text(item: Item, name: str) -> str | None:
    return item.reference if name == REFERENCE else item.responses.get(name)


def _sorted_counts(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def count_coverage(name: str, texts: Sequence[str | None]) -> ContestantCoverage:
    missing = sum(text is None for text in texts)
    empty = sum(text is not None and not text.strip() for text in texts)
    return ContestantCoverage(name, len(texts) - missing - empty, missing, empty)


def summarise_lengths(name: str, texts: Sequence[str | None]) -> LengthSummary | None:
    """None if nobody wrote anything; what is missing or empty is no short answer."""
    words = sorted(len(text.split()) for text in texts if text and text.strip())
    n = len(words)
    if not n:
        return None
    if n == 1:
        words *= 2  # a lone text is its own median and its own ends
    tenths = statistics.quantiles(words, n=10, method="inclusive")
    low, middle, high = statistics.quantiles(words, n=4, method="inclusive")
    return LengthSummary(name, n, tenths[0], low, middle, high, tenths[8])
