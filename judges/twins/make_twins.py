"""Make the twins of a study's answers (copies with one small change that should not matter to a
judge, or with a real fault), check each of them, and count the answers for which none can be
made."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, Final

from judges.twins.twin_makers import FULL_STOPS, MAKERS, TwinSkipped, TwinSource
from studies.domain import Item
from studies.spec.presentations import draw_twin_targets, unrelated_answer
from studies.spec.study import Study
from studies.texts import twin_families

SLACK: Final = 300
"""Characters by which a twin may exceed the upper bound in LENGTHS, because short answers get whole
sentences. Doubled for the families `frame`, which restates the question twice, and `longer-3`."""
LENGTHS: Final[Mapping[str, tuple[float, float]]] = {
    "plain": (0.5, 1),
    "markdown": (1, 1.5),
    "longer-1": (2, 2),
    "longer-3": (4, 4),
    "twice": (2, 2),
    "cut": (0.3, 0.85),
    "marker": (0, 0),
    "echo": (0, 100),
    "empty": (0, 0),
    "other": (0, 100),
}
"""Family -> bounds of the length of its twins as a multiple of the original's; (1, 1) if absent."""


@dataclass(frozen=True)
class TwinItems:
    """Items with their twins (changed copies of answers). For each family (kind of change): how
    many twins were made, and how many answers were skipped, by reason."""

    items: tuple[Item, ...]
    made: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """(family, reason) -> number of answers."""


def add_twins(study: Study, items: Sequence[Item]) -> TwinItems:
    """Return the items with the twins (changed copies of answers) that the study asks for, and
    their numbers. If it asks for none, the items stay as they are. The same study always gets
    the same twins."""
    if study.twins is None:
        return TwinItems(tuple(items))
    design = study.twins.design
    families = twin_families.add_floor_and_control_families(study.twins.families, design)
    makers = {judge.family for judge in study.judges if judge.family}
    maker = makers.pop() if len(makers) == 1 else ""
    targets = draw_twin_targets(study, items)
    others = sorted((item for item in items if item.responses), key=lambda item: item.id)
    made: Counter[str] = Counter()
    skipped: Counter[tuple[str, str]] = Counter()
    result = []
    for item in items:
        twins: dict[str, str] = {}
        for answer in dict.fromkeys(target.answer for target in targets.get(item.id, ())):
            other = _draw_unrelated_answer(study, item, others)
            for family in families:
                seed = f"{study.data.seed}\x1f{item.id}\x1f{answer}\x1f{family}"
                source = TwinSource(item, item.answer(answer), seed, maker, other)
                try:
                    twins[twin_families.twin_name(answer, family)] = make_twin(family, source)
                    made[family] += 1
                except TwinSkipped as reason:
                    skipped[family, str(reason)] += 1
        result.append(replace(item, twins=twins) if twins else item)
    return TwinItems(tuple(result), made, skipped)


def smallest_detectable_effect(answers: int, families: int, power: float = 0.8) -> float | None:
    """Return the smallest effect of a change that is detected with probability `power`: the
    difference of two shares (0 to 1), with this change and with a meaningless one (the floor).
    `answers` is the number of answers with twins, `families` the number of kinds of change
    tested; None if one of them is 0.

    The estimate assumes that a judge chooses at random, independently in both orders, and
    corrects for testing several kinds of change."""
    if not answers or not families:
        return None
    normal = NormalDist()
    quantile = normal.inv_cdf(1 - 0.025 / families) + normal.inv_cdf(power)
    return float(min(quantile * 0.5 / answers**0.5, 1.0))


def list_twins(items: Sequence[Item]) -> Iterator[dict[str, Any]]:
    """Yield a dictionary for every twin of the items, with the keys item, answer (the model that
    wrote it), family (the kind of change), original and twin (the two texts)."""
    for item in items:
        for name, text in item.twins.items():
            answer, family = twin_families.split_twin_name(name)
            found = {"item": item.id, "answer": answer, "family": family}
            yield {**found, "original": item.answer(answer), "twin": text}


def describe_twins(found: TwinItems) -> Iterator[str]:
    """Yield lines of text on the twins of a study: for each kind of change (family) the numbers
    made and skipped; then, if meaningless changes (floors) were made too, the smallest effect
    that the study can detect."""
    reasons: dict[str, list[str]] = {}
    for (family, reason), count in sorted(found.skipped.items()):
        reasons.setdefault(family, []).append(f"{count:,} skipped: {reason}")
    for family in twin_families.FAMILIES:
        if family in found.made or family in reasons:
            left = "".join(f"; {reason}" for reason in reasons.get(family, ()))
            yield f"  {family:<16} {found.made.get(family, 0):,} twins{left}"
    moving = [
        name
        for name in found.made
        if twin_families.FAMILIES[name].group not in ("floor", "control")
    ]
    effect = smallest_detectable_effect(found.made.get(twin_families.SHAM, 0), len(moving))
    if effect is not None:
        yield f"  smallest effect that these calls can show: about {100 * effect:.0f} points"


def _draw_unrelated_answer(study: Study, item: Item, others: Sequence[Item]) -> str:
    """Draw an answer to another item; empty if there is none."""
    candidates = random.Random(f"{study.data.seed}\x1f{item.id}\x1fother").sample(
        others, min(2, len(others))
    )
    other = next((one for one in candidates if one.id != item.id), None)
    has_answer = other is not None and any(text.strip() for text in other.responses.values())
    return unrelated_answer(item, other) if other is not None and has_answer else ""


def make_twin(family: str, source: TwinSource) -> str:
    """Return the text of the twin of one answer, changed in the way `family`. Raise TwinSkipped if
    this kind of change does not apply to the answer, or if the twin breaks one of its rules,
    such as the bounds on its length."""
    if not source.text.strip():
        raise TwinSkipped("empty answer")
    twin = MAKERS[family](source)
    if reason := find_broken_rule(family, source.text, twin):
        raise TwinSkipped(reason)
    return twin


def find_broken_rule(family: str, original: str, twin: str) -> str:
    """Return which rule for the kind of change `family` a twin breaks, such as "words lost"; "" if
    it keeps all rules."""
    if family == twin_families.REPEAT:
        return "" if twin == original else "differs from the original"
    if twin == original:
        return "same as the original"
    low, high = LENGTHS.get(family, (1, 1))
    slack = SLACK * (2 if family in ("frame", "longer-3") else 1)
    if not low * len(original) - 2 <= len(twin) <= high * len(original) + slack:
        return "length out of bounds"
    rules = twin_families.FAMILIES[family]
    if rules.keeps_words and not _keeps_words(original, twin):
        return "words lost"
    replaced = family in ("marker", "echo", "empty", "other")
    if not replaced and original.rstrip()[-1] in FULL_STOPS:
        return "" if twin.rstrip().rstrip("*")[-1] in FULL_STOPS else "no full stop at the end"
    return ""


def _keeps_words(original: str, twin: str) -> bool:
    """Whether the twin has all words of the original in the same order, possibly with others
    between them. Markdown characters at the start and end of words are ignored."""
    if original.rstrip() in twin:
        return True
    words = iter(word.strip("*#-") for word in twin.replace("**", "").split())
    return all(
        word in words for word in (w.strip("*#-") for w in original.replace("**", "").split())
    )
