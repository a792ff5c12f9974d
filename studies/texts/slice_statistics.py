"""Statistics of a slice before a run: categories, text lengths, coverage, opening verbs."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from studies.domain import REFERENCE, Item
from studies.texts import instruction_verbs, repeated_answers
from studies.texts.injection import INSTRUCTION, InjectionSuspect, find_all_suspects


@dataclass(frozen=True, slots=True)
class LengthSummary:
    """Lengths in words of `n` texts: median, quartiles, and the 10th (`low`) and 90th (`high`)
    percentile."""

    name: str
    n: int
    low: float
    lower_quartile: float
    median: float
    upper_quartile: float
    high: float


@dataclass(frozen=True, slots=True)
class ContestantCoverage:
    """Numbers of items for which a contestant has an answer, no answer, or an empty answer."""

    name: str
    found: int
    missing: int
    empty: int


@dataclass(frozen=True, slots=True)
class SliceProfile:
    items: int
    categories: tuple[tuple[str, int], ...]
    """Categories with their numbers of items, the largest first; '' for items without a
    category."""
    instructions: LengthSummary | None
    answers: tuple[LengthSummary, ...]
    """Length summary of each contestant's answers, and of the references; longest median first."""
    coverage: tuple[ContestantCoverage, ...]
    openings: instruction_verbs.InstructionOpenings
    images: tuple[tuple[int, int], ...]
    """(number of images, number of items with that many); empty if no item has images."""
    described: int
    """Number of items that have images and a description of them."""
    judged: int
    """Number of items with a preference among their answers: a person's vote, or one by design."""
    suspects: tuple[InjectionSuspect, ...] = ()
    """Suspected prompt injections in the questions and in the selected contestants' answers."""


def profile_slice(items: Sequence[Item], contestants: Sequence[str] = ()) -> SliceProfile:
    """Compute the statistics of the items that a study uses (its slice). `contestants` are those
    whose answers count; without them, all that have answers. References are counted too, if
    there are any."""
    names = list(contestants) or sorted({name for item in items for name in item.responses})
    if REFERENCE not in names and any(item.reference.strip() for item in items):
        names.append(REFERENCE)
    texts = {name: [_contestant_text(item, name) for item in items] for name in names}
    lengths = [found for name in names if (found := summarise_lengths(name, texts[name]))]
    image_counts = Counter(len(item.images) for item in items)
    return SliceProfile(
        items=len(items),
        categories=tuple(
            instruction_verbs.sort_by_frequency(Counter(item.category for item in items))
        ),
        instructions=summarise_lengths("instruction", [item.instruction for item in items]),
        answers=tuple(sorted(lengths, key=lambda one: -one.median)),
        coverage=tuple(count_coverage(name, texts[name]) for name in names if name != REFERENCE),
        openings=instruction_verbs.count_opening_verbs(item.instruction for item in items),
        images=tuple(sorted(image_counts.items())) if set(image_counts) - {0} else (),
        described=sum(bool(item.images and any(item.context)) for item in items),
        judged=sum(bool(item.human) for item in items),
        suspects=tuple(
            suspect
            for suspect in find_all_suspects(repeated_answers.mark_repeated_answers(items))
            if suspect.where in (INSTRUCTION, *names)
        ),
    )


def _contestant_text(item: Item, name: str) -> str | None:
    return item.reference if name == REFERENCE else item.responses.get(name)


def count_coverage(name: str, texts: Sequence[str | None]) -> ContestantCoverage:
    """Count a contestant's `texts`, one per item: answers, missing answers (None) and
    empty ones."""
    missing = sum(text is None for text in texts)
    empty = sum(text is not None and not text.strip() for text in texts)
    return ContestantCoverage(name, len(texts) - missing - empty, missing, empty)


def summarise_lengths(name: str, texts: Sequence[str | None]) -> LengthSummary | None:
    """Summarise the lengths of the texts that are not missing or empty; None if all are."""
    words = sorted(len(text.split()) for text in texts if text and text.strip())
    n = len(words)
    if not n:
        return None
    if n == 1:
        words *= 2  # quantiles need two values
    tenths = statistics.quantiles(words, n=10, method="inclusive")
    low, middle, high = statistics.quantiles(words, n=4, method="inclusive")
    return LengthSummary(name, n, tenths[0], low, middle, high, tenths[8])
