"""Injection suspects beside the results: how many, and what they do to the numbers.

Nothing is left out unless the reader says so, and the page says both numbers either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from components.drawing.panels import Action, notice
from components.format import count, share
from components.inspect.selection import ONLY
from components.remember import remembered
from components.rows import WITH_SUSPECTS, WITHOUT_SUSPECTS
from components.scene import Scene
from components.suspects.marked import texts_shown
from metrics.wins import win_rates
from studies.frame import SEP, SUSPECT
from studies.suspects import INSTRUCTION, echoes

MOST_READ: Final = 200
"""Replies that are looked through for what they repeat: a page is not a place to read all."""
OPEN: Final = {"suspect": ONLY}
"""What a click on "open them" selects."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The contestant whose win rate the suspects change most."""

    name: str
    with_them: float
    without: float


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What is under suspicion in view, and what it does."""

    texts: int
    items: int
    judgements: int
    of: int
    echoed: int
    moved: Moved | None


@remembered
def suspicion(scene: Scene) -> Suspicion | None:
    """None where nothing in view is suspicious; whether it is left out makes no difference."""
    every = replace(scene, filter=replace(scene.filter, suspects=WITH_SUSPECTS))
    if SUSPECT not in scene.whole or not every.frame[SUSPECT].any():
        return None
    rows = every.frame[every.frame[SUSPECT]]
    texts = suspicious_texts(scene, rows)
    return Suspicion(
        texts=len(texts),
        items=len({item for item, _ in texts}),
        judgements=len(rows),
        of=len(every.frame),
        echoed=_echoed(scene, rows["seq"].tolist()),
        moved=_moved(every),
    )


def suspicious_texts(scene: Scene, rows: pd.DataFrame) -> list[tuple[str, str]]:
    """(item, where in it) of each suspect that stood before the judges of these rows."""
    shown = rows.groupby("item", observed=True)["shown"].unique()
    return [
        (item, where)
        for item, facts in scene.store.narrow_items(scene.name).items()
        for where in facts["suspects"]
        if item in shown.index
        and (where == INSTRUCTION or any(where in str(who).split(SEP) for who in shown[item]))
    ]


def _moved(every: Scene) -> Moved | None:
    without = replace(every, filter=replace(every.filter, suspects=WITHOUT_SUSPECTS))
    rates = [
        {name: one.value for name, one in win_rates(scene.outcomes, ()).get((), {}).items()}
        for scene in (every, without)
    ]
    known = [
        Moved(name, before, after)
        for name, before in rates[0].items()
        if before is not None and (after := rates[1].get(name)) is not None
    ]
    return max(known, key=_gain, default=None)


def _gain(moved: Moved) -> tuple[float, float]:
    """How far a rate moves; of two that move as far, the one that suspects help comes first."""
    by = round(moved.with_them - moved.without, 9)
    return abs(by), by


def _echoed(scene: Scene, seqs: Sequence[int]) -> int:
    """Replies that repeat what a suspect says, among the first of those that saw one."""
    keys = scene.store.keys_at(seqs[:MOST_READ])
    found = (scene.store.judgement(scene.name, key) for key in keys.values())
    return sum(
        bool(echoes(one.reply, texts_shown(item, one.ask.shown)))
        for one in found
        if one is not None
        and one.reply
        and (item := scene.store.item(scene.name, one.ask.item)) is not None
    )


def suspects_line(scene: Scene) -> str:
    """One line above the numbers: how many, and what they are with and without them."""
    told = suspects_words(scene)
    return notice("warn", *told, Action("Read them", OPEN)) if told else ""


def suspects_words(scene: Scene) -> tuple[str, str] | None:
    """The same as words: the title, and what stands under it."""
    found = suspicion(scene)
    if found is None:
        return None
    many = f"{count(found.texts, 'injection suspect')} in {count(found.items, 'item')}"
    left_out = scene.filter.suspects == WITHOUT_SUSPECTS
    verb = "is" if found.texts == 1 else "are"
    title = f"{many} {verb} left out." if left_out else f"{many}."
    rows = f"{count(found.judgements)} of {count(found.of, 'judgement')}"
    told = [f"{rows} {'are not counted' if left_out else 'saw text that speaks to the judge'}."]
    told.append(_difference(found.moved, left_out))
    if found.echoed:
        told.append(
            f"{count(found.echoed, 'reply')} {'repeats' if found.echoed == 1 else 'repeat'} it."
        )
    return title, " ".join(told)


def _difference(moved: Moved | None, left_out: bool) -> str:
    if moved is None:
        return "Without them no verdict is left to compare."
    here, there = (moved.without, moved.with_them) if left_out else (moved.with_them, moved.without)
    decimals = 0 if abs(here - there) >= 0.02 else 1
    seen, other = share(here, decimals), share(there, decimals)
    word = "With" if left_out else "Without"
    if seen == other:
        return f"{word} them no win rate changes."
    return f"{word} them {moved.name} wins {other} instead of {seen}."
