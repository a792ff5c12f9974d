"""Examples of twins (answers changed in one property other than quality) beside their originals,
with the changed words marked."""

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from metrics.estimation.row_selection import COMPARISON_KEY, group_codes
from metrics.twins.twin_effects import TwinEffect
from studies.domain import Item
from studies.frames.frame import NO_PICK, SEP, TIE
from studies.frames.twin_rows import CHANGED_COLUMN, TWIN_COLUMN, add_twin_columns
from studies.texts.twin_families import is_twin, split_twin_name

SHOWN_PAIRS: Final = 1
SHOWN_WORDS: Final = 24
"""Number of words of an example, shared equally by its runs of changed and unchanged words. A run
shows at most its part, or 8 words if that is more."""

Change = Literal["", "added", "removed"]


class _TwinVerdict(NamedTuple):
    """A verdict on a pair of an answer and its twin: the position chosen (`pick`), the position of
    the twin (`changed`), and the names of the answers in the order shown (`shown`)."""

    pick: int
    changed: int
    shown: str


@dataclass(frozen=True)
class TwinPair:
    """An answer and its twin as one text with the changed words marked, and the judge's verdicts
    on the pair in words."""

    item: str
    words: tuple[tuple[str, Change], ...]
    """Runs of words, and whether the twin added or removed them."""
    verdict: str


@dataclass(frozen=True)
class TwinExamples:
    """Example pairs of an answer and its twin, for one judge and prompt. A twin is a copy of an
    answer with one change; a family is a kind of change, such as padding. `select`: filters with
    which Inspect lists the comparisons of the twin shown most often; `total`: their number."""

    family: str
    pairs: tuple[TwinPair, ...]
    total: int
    select: dict[str, Any]


def load_twin_examples(filtered: FilteredStudy, effect: TwinEffect) -> TwinExamples:
    """Load examples of the twins of the effect's family: the SHOWN_PAIRS items with the most
    verdicts in the direction of the effect, without those whose texts are not stored."""
    every = _twin_rows(filtered, effect)
    rows = every.loc[every["pick"] != NO_PICK]
    toward = (effect.beyond_floor.value or 0) >= 0
    names = rows["shown"].astype(str).tolist()
    columns = (rows[name].tolist() for name in ("item", "pick", CHANGED_COLUMN))
    by_item: dict[str, list[_TwinVerdict]] = {}
    for item, *row in zip(*columns, names, strict=True):
        by_item.setdefault(str(item), []).append(_TwinVerdict(*row))
    ranked = sorted(by_item, key=lambda item: (-_count_verdicts_for(by_item[item], toward), item))
    found = []
    for name in ranked[:SHOWN_PAIRS]:
        item = filtered.store.item(filtered.name, name)
        twin = _find_twin_name(by_item[name][0].shown)
        if item is not None and twin in item.twins:
            words = _mark_changed_words(item, twin)
            found.append(TwinPair(name, words, _describe_verdicts(by_item[name])))
    select = {"judge": effect.judge, "prompt": effect.prompt}
    twins: Counter[str] = Counter()
    for shown, times in Counter(names).items():
        twins[_find_twin_name(shown)] += times
    if twins:
        select["contestant"] = min(twins, key=lambda name: (-twins[name], name))
    chosen = {key: value for key, value in select.items() if value}
    shows = [chosen.get("contestant") in str(names).split(SEP) for names in every["shown"]]
    total = group_codes(every.loc[shows], COMPARISON_KEY)[1]
    return TwinExamples(effect.family, tuple(found), total, chosen)


def _twin_rows(filtered: FilteredStudy, effect: TwinEffect) -> pd.DataFrame:
    """Judgements on twins of the effect's family, by its judge and prompt (by all prompts if the
    effect names none), on the items of the selected category."""
    chosen = Filter(category=filtered.filter.category)
    rows = filtered.memoise(
        ("twin rows", chosen),
        lambda: add_twin_columns(chosen.apply(filtered.store.frame(filtered.name, "only"))),
    )
    mask = (rows[TWIN_COLUMN] == effect.family) & (rows["judge"] == effect.judge)
    if effect.prompt:
        mask &= rows["prompt"] == effect.prompt
    return rows.loc[mask]


def _find_twin_name(shown: str) -> str:
    return next(name for name in shown.split(SEP) if is_twin(name))


def _count_verdicts_for(rows: list[_TwinVerdict], twin: bool) -> int:
    """Number of verdicts for the twin or, if `twin` is False, for the original; ties do not
    count."""
    return sum((row.pick == row.changed) == twin for row in rows if row.pick != TIE)


def _describe_verdicts(rows: list[_TwinVerdict]) -> str:
    """The verdicts on one pair in words."""
    words = [
        "a tie" if row.pick == TIE else "the twin" if row.pick == row.changed else "the original"
        for row in rows
    ]
    if len(set(words)) == 1:
        return f"Chosen: {words[0]}, in {'both orders' if len(words) == 2 else 'all calls'}."
    return f"Chosen: {', then '.join(words)}, by the order shown."


def _mark_changed_words(item: Item, twin: str) -> tuple[tuple[str, Change], ...]:
    """The words of the original and its twin as a list of (text, change); change is "added" or
    "removed" by the twin, or "" for words that both have. Long texts are shortened."""
    names = (split_twin_name(twin)[0], twin)
    original, changed = (re.findall(r"\S+", item.answer(name)) for name in names)
    matcher = difflib.SequenceMatcher(None, original, changed, autojunk=False)
    runs = list(_iterate_changed_runs(matcher, original, changed))
    return tuple(_join_and_shorten_runs(runs))


def _iterate_changed_runs(
    matcher: difflib.SequenceMatcher[str], original: list[str], changed: list[str]
) -> Iterator[tuple[list[str], Change]]:
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            yield changed[c:d], ""
            continue
        if b > a:
            yield original[a:b], "removed"
        if d > c:
            yield changed[c:d], "added"


def _join_and_shorten_runs(runs: list[tuple[list[str], Change]]) -> Iterator[tuple[str, Change]]:
    """Yield (text, change) for each run of words. A long run is cut to its first words or, if it
    is unchanged and at the beginning, to its last words, which stand next to a change."""
    each = max(SHOWN_WORDS // max(len(runs), 1), 8)
    for place, (words, change) in enumerate(runs):
        if len(words) <= each:
            yield " ".join(words), change
        elif place == 0 and not change:
            yield "… " + " ".join(words[-each:]), change
        else:
            yield " ".join(words[:each]) + " …", change
