"""Injection suspects beside the results: how many, and what they do to the numbers.

Nothing is left out unless the reader says so, and the page says both numbers either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import WITH_SUSPECTS, WITHOUT_SUSPECTS
from components.filtering.memo import memoise_by_study
from components.html.format import count, share
from components.html.panel import Action, notice_html
from components.inspect.injection_marks import texts_shown
from components.inspect.url_selection import ONLY_SUSPECTS
from metrics.win_rates.win_rates import win_rates_by_cell
from studies.frames.frame import SEP, SUSPECT_COLUMN
from studies.texts.injection import INSTRUCTION, find_echoes

MAX_REPLIES_SCANNED: Final = 200
"""Replies that are looked through for what they repeat: a page is not a place to read all."""
SUSPECTS_SELECTION: Final = {"suspect": ONLY_SUSPECTS}
"""What a click on "open them" selects."""


@dataclass(frozen=True, slots=True)
class WinRateShift:
    """The contestant whose win rate the suspects change most."""

    name: str
    rate_with: float
    rate_without: float


@dataclass(frozen=True, slots=True)
class InjectionEffect:
    """What is under suspicion in view, and what it does."""

    texts: int
    items: int
    judgements: int
    of: int
    echo_count: int
    largest_shift: WinRateShift | None


@memoise_by_study
def injection_effect(scene: FilteredStudy) -> InjectionEffect | None:
    """None where nothing in view is suspicious; whether it is left out makes no difference."""
    every = replace(scene, filter=replace(scene.filter, suspects=WITH_SUSPECTS))
    if SUSPECT_COLUMN not in scene.unfiltered_frame or not every.frame[SUSPECT_COLUMN].any():
        return None
    rows = every.frame[every.frame[SUSPECT_COLUMN]]
    texts = suspect_texts(scene, rows)
    return InjectionEffect(
        texts=len(texts),
        items=len({item for item, _ in texts}),
        judgements=len(rows),
        of=len(every.frame),
        echo_count=_count_echoes(scene, rows["seq"].tolist()),
        largest_shift=_largest_shift(every),
    )


def suspect_texts(scene: FilteredStudy, rows: pd.DataFrame) -> list[tuple[str, str]]:
    """(item, where in it) of each suspect that stood before the judges of these rows."""
    shown = rows.groupby("item", observed=True)["shown"].unique()
    return [
        (item, where)
        for item, facts in scene.store.item_facts(scene.name).items()
        for where in facts["suspects"]
        if item in shown.index
        and (where == INSTRUCTION or any(where in str(who).split(SEP) for who in shown[item]))
    ]


def _largest_shift(every: FilteredStudy) -> WinRateShift | None:
    without = replace(every, filter=replace(every.filter, suspects=WITHOUT_SUSPECTS))
    rates = [
        {name: one.value for name, one in win_rates_by_cell(scene.outcomes, ()).get((), {}).items()}
        for scene in (every, without)
    ]
    known = [
        WinRateShift(name, before, after)
        for name, before in rates[0].items()
        if before is not None and (after := rates[1].get(name)) is not None
    ]
    return max(known, key=_shift_size, default=None)


def _shift_size(moved: WinRateShift) -> tuple[float, float]:
    """How far a rate moves; of two that move as far, the one that suspects help comes first."""
    by = round(moved.rate_with - moved.rate_without, 9)
    return abs(by), by


def _count_echoes(scene: FilteredStudy, seqs: Sequence[int]) -> int:
    """Replies that repeat what a suspect says, among the first of those that saw one."""
    keys = scene.store.keys_by_seq(seqs[:MAX_REPLIES_SCANNED])
    found = (scene.store.judgement(scene.name, key) for key in keys.values())
    return sum(
        bool(find_echoes(one.reply, texts_shown(item, one.ask.shown)))
        for one in found
        if one is not None
        and one.reply
        and (item := scene.store.item(scene.name, one.ask.item)) is not None
    )


def suspects_notice(scene: FilteredStudy) -> str:
    """One line above the numbers: how many, and what they are with and without them."""
    told = suspects_text(scene)
    return notice_html("warn", *told, Action("Read them", SUSPECTS_SELECTION)) if told else ""


def suspects_text(scene: FilteredStudy) -> tuple[str, str] | None:
    """The same as words: the title, and what stands under it."""
    found = injection_effect(scene)
    if found is None:
        return None
    many = f"{count(found.texts, 'injection suspect')} in {count(found.items, 'item')}"
    left_out = scene.filter.suspects == WITHOUT_SUSPECTS
    verb = "is" if found.texts == 1 else "are"
    title = f"{many} {verb} left out." if left_out else f"{many}."
    rows = f"{count(found.judgements)} of {count(found.of, 'judgement')}"
    told = [f"{rows} {'are not counted' if left_out else 'saw text that speaks to the judge'}."]
    told.append(_shift_sentence(found.largest_shift, left_out))
    if found.echo_count:
        told.append(
            f"{count(found.echo_count, 'reply')} {'repeats' if found.echo_count == 1 else 'repeat'} it."
        )
    return title, " ".join(told)


def _shift_sentence(moved: WinRateShift | None, left_out: bool) -> str:
    if moved is None:
        return "Without them no verdict is left to compare."
    here, there = (
        (moved.rate_without, moved.rate_with) if left_out else (moved.rate_with, moved.rate_without)
    )
    decimals = 0 if abs(here - there) >= 0.02 else 1
    seen, other = share(here, decimals), share(there, decimals)
    word = "With" if left_out else "Without"
    if seen == other:
        return f"{word} them no win rate changes."
    return f"{word} them {moved.name} wins {other} instead of {seen}."
