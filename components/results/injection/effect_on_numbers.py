"""Injection suspects in the results: their number, and their effect on win rates.

Suspects are excluded only if the user chooses so; win rates with and without them are always shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import WITH_SUSPECTS, WITHOUT_SUSPECTS
from components.filtering.memo import memoise_by_study
from components.html.format import count, share
from components.html.markup import EMPTY, Markup
from components.html.panel import Action, notice_html
from components.inspect.injection_marks import texts_shown
from components.inspect.url_selection import ONLY_SUSPECTS
from metrics.win_rates.win_rates import win_rates_by_cell
from studies.frames.frame import SEP, SUSPECT_COLUMN
from studies.texts.injection import INSTRUCTION, find_echoes

MAX_REPLIES_SCANNED: Final = 200
"""Maximum number of replies searched for repeated injection text; further replies are ignored."""
SUSPECTS_SELECTION: Final = {"suspect": ONLY_SUSPECTS}
"""Filter with which the button "Read the suspects" opens Inspect."""


@dataclass(frozen=True, slots=True)
class WinRateShift:
    """Win rate of one model with and without the injection suspects."""

    name: str
    rate_with: float
    rate_without: float


@dataclass(frozen=True, slots=True)
class InjectionEffect:
    """The injection suspects among the filtered judgements, and their effect on win rates."""

    texts: int
    items: int
    judgements: int
    of: int
    echo_count: int
    largest_shift: WinRateShift | None


@memoise_by_study
def injection_effect(filtered: FilteredStudy) -> InjectionEffect | None:
    """Number of the filtered study's injection suspects, and their effect on win rates; computed
    even if the filter excludes them. None without suspects."""
    included = replace(filtered, filter=replace(filtered.filter, suspects=WITH_SUSPECTS))
    if SUSPECT_COLUMN not in filtered.unfiltered_frame or not included.frame[SUSPECT_COLUMN].any():
        return None
    rows = included.frame[included.frame[SUSPECT_COLUMN]]
    texts = suspect_texts(filtered, rows)
    return InjectionEffect(
        texts=len(texts),
        items=len({item for item, _ in texts}),
        judgements=len(rows),
        of=len(included.frame),
        echo_count=_count_echoes(filtered, rows["seq"].tolist()),
        largest_shift=_largest_shift(included),
    )


def suspect_texts(filtered: FilteredStudy, rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Suspect texts that judges saw in these rows: (item, "@instruction") for the instruction of
    an item, (item, model) for the answer of a model."""
    shown: dict[str, set[str]] = defaultdict(set)
    for item, contestants in rows[["item", "shown"]].drop_duplicates().itertuples(index=False):
        shown[item].update(contestants.split(SEP))
    return [
        (item, where)
        for item, facts in filtered.store.item_facts(filtered.name).items()
        for where in facts["suspects"]
        if item in shown and (where == INSTRUCTION or where in shown[item])
    ]


def _largest_shift(included: FilteredStudy) -> WinRateShift | None:
    without = replace(included, filter=replace(included.filter, suspects=WITHOUT_SUSPECTS))
    rates = [
        {
            name: one.value
            for name, one in win_rates_by_cell(filtered.outcomes, ()).get((), {}).items()
        }
        for filtered in (included, without)
    ]
    known = [
        WinRateShift(name, before, after)
        for name, before in rates[0].items()
        if before is not None and (after := rates[1].get(name)) is not None
    ]
    return max(known, key=_shift_size, default=None)


def _shift_size(shift: WinRateShift) -> tuple[float, float]:
    """Sort key: change of a win rate by suspects, in absolute value; a rise sorts above an equal
    fall."""
    change = round(shift.rate_with - shift.rate_without, 9)
    return abs(change), change


def _count_echoes(filtered: FilteredStudy, seqs: Sequence[int]) -> int:
    """Number of replies that repeat a suspect text, among the first MAX_REPLIES_SCANNED replies
    whose judge was shown a suspect text."""
    keys = filtered.store.keys_by_seq(seqs[:MAX_REPLIES_SCANNED])
    found = (filtered.store.judgement(filtered.name, key) for key in keys.values())
    return sum(
        bool(find_echoes(one.reply, texts_shown(item, one.ask.shown)))
        for one in found
        if one is not None
        and one.reply
        and (item := filtered.store.item(filtered.name, one.ask.item)) is not None
    )


def suspects_notice(filtered: FilteredStudy) -> Markup:
    """HTML notice: number of suspects, and the win rate they change most, with and without them."""
    text = suspects_text(filtered)
    return (
        notice_html("warn", *text, Action("Read the suspects", SUSPECTS_SELECTION))
        if text
        else EMPTY
    )


def suspects_text(filtered: FilteredStudy) -> tuple[str, str] | None:
    """Title and text of the notice on injection suspects; None if there are none."""
    found = injection_effect(filtered)
    if found is None:
        return None
    many = f"{count(found.texts, 'injection suspect')} in {count(found.items, 'item')}"
    left_out = filtered.filter.suspects == WITHOUT_SUSPECTS
    verb = "is" if found.texts == 1 else "are"
    title = f"{many} {verb} excluded." if left_out else f"{many}."
    rows = f"{count(found.judgements)} of {count(found.of, 'judgement')}"
    sentences = [
        f"{rows} are not counted."
        if left_out
        else f"In {rows}, the question or an answer contains text addressed to the judge."
    ]
    sentences.append(_shift_sentence(found.largest_shift, left_out))
    if found.echo_count:
        verb = "repeats" if found.echo_count == 1 else "repeat"
        sentences.append(f"{count(found.echo_count, 'reply')} {verb} the text of a suspect.")
    return title, " ".join(sentences)


def _shift_sentence(shift: WinRateShift | None, left_out: bool) -> str:
    if shift is None:
        return (
            "Without injection suspects no verdict is left: their effect on win rates is unknown."
        )
    here, there = (
        (shift.rate_without, shift.rate_with) if left_out else (shift.rate_with, shift.rate_without)
    )
    decimals = 0 if abs(here - there) >= 0.02 else 1
    seen, other = share(here, decimals), share(there, decimals)
    word = "With" if left_out else "Without"
    if seen == other:
        return f"{word} injection suspects, all win rates are the same as here."
    return f"{word} injection suspects, the win rate of {shift.name} is {other} instead of {seen}."
