"""Effect of an unrelated option (an answer to another item) on the Grade Score (harmonic mean of
position entropy and share of the most chosen answer): two studies of the same items with equal
numbers of options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter, machine_rows, short_names
from components.html.format import NARROW_SPACE, interval, number, share
from components.html.markup import Markup, fill
from components.html.pieces import empty_state, no_difference_badge, wrap
from components.html.tables.table import Table, TableCell, name_of_row
from metrics.estimation.contrasts import Contrast, paired_contrasts
from metrics.estimation.frame_stacking import stack_frames
from metrics.protocols.grade_score import grade_measure
from metrics.protocols.grade_table import (
    UNRELATED_ABSENT,
    UNRELATED_PRESENT,
    mark_unrelated,
    unrelated_share,
)
from studies.domain import Estimate
from studies.spec.study import Study
from studies.store.store import Store

SEED: Final = 20_24
BOOTSTRAP_ROUNDS: Final = 500
SIDE_COLUMN: Final = "side"
REPLACE_ADVICE: Final = (
    "To see the effect of an unrelated option, run the same study with `unrelated: replace`. "
    "An answer to another item then replaces the worst-ranked answer."
)


@dataclass(frozen=True, slots=True)
class UnrelatedEffect:
    """Grade Score with minus without the unrelated option, and how often this option is chosen."""

    judge: str
    prompt: str
    contrast: Contrast
    chosen: Estimate


def show_unrelated_contrast(filtered: FilteredStudy) -> Markup:
    """HTML table of the Grade Scores with and without the unrelated option, from two studies; or a
    note that the second study is missing or not comparable."""
    store, name = filtered.store, filtered.name
    other = find_counterpart(store, filtered.study)
    if other is None:
        return empty_state(_missing_study_text(filtered.study), REPLACE_ADVICE)
    versions = (store.version(name), store.version(other))
    chosen = filtered.filter
    found = store.memoised(
        name,
        ("unrelated effects", other, chosen),
        lambda: _compute_effects(store, name, other, chosen),
        versions,
    )
    if isinstance(found, str):
        return empty_state("Not comparable.", found)
    return _effects_table(found, other)


def _missing_study_text(study: Study) -> str:
    if study.unrelated == "add":
        return (
            "An added option changes the number of options N, and Grade Scores at different N "
            "cannot be compared."
        )
    if study.unrelated == "replace":
        return (
            "The store has no verdicts by these judges and prompts on the same data without the "
            "unrelated option."
        )
    return (
        "The store has no verdicts by these judges and prompts on the same data with an unrelated "
        "option (an answer to another item)."
    )


def find_counterpart(store: Store, study: Study) -> str | None:
    """Name of a study that differs from `study` in the unrelated option: in one of the two it
    replaces an answer, in the other it is absent. Both have the same data and a common judge and
    prompt. None if the store has no such study."""
    wanted = {"none": "replace", "replace": "none"}.get(study.unrelated)
    judges = {judge.name for judge in study.judges}
    for line in store.studies():
        other = store.study(line.name)
        if (
            other.unrelated == wanted
            and other.data.source == study.data.source
            and judges & {judge.name for judge in other.judges}
            and set(study.prompts) & set(other.prompts)
            and line.judged
        ):
            return line.name
    return None


def _compute_effects(
    store: Store, name: str, other: str, chosen: Filter
) -> tuple[UnrelatedEffect, ...] | str:
    frames = [machine_rows(chosen.apply(store.frame(study))) for study in (name, other)]
    return unrelated_effects(*frames)


def unrelated_effects(one: pd.DataFrame, two: pd.DataFrame) -> tuple[UnrelatedEffect, ...] | str:
    """Effects of the unrelated option for each common judge and prompt, paired by item; a text with
    the reason if the studies cannot be compared."""
    sides = {}
    for frame in (one, two):
        has = bool((mark_unrelated(frame)["unrelated"] == UNRELATED_PRESENT).any())
        sides[UNRELATED_PRESENT if has else UNRELATED_ABSENT] = frame
    if len(sides) < 2:
        return (
            "Both studies show an unrelated option, or neither does, so its effect cannot be "
            "measured."
        )
    sizes = [set(frame["options"].unique()) for frame in sides.values()]
    if sizes[0] != sizes[1]:
        return (
            "The studies show different numbers of options N; Grade Scores can be compared only at "
            "equal N."
        )
    both = stack_frames(sides, SIDE_COLUMN)
    cells = set(both.groupby(["judge", "prompt", SIDE_COLUMN], observed=True).size().index)
    rows = sorted(
        {
            (j, p)
            for j, p, _ in cells
            if {(j, p, UNRELATED_PRESENT), (j, p, UNRELATED_ABSENT)} <= cells
        }
    )
    pairs = [((j, p, UNRELATED_PRESENT), (j, p, UNRELATED_ABSENT)) for j, p in rows]
    if not pairs:
        return "The two studies have no judge and prompt in common."
    rng = np.random.default_rng(SEED)
    found = paired_contrasts(
        both, ["judge", "prompt", SIDE_COLUMN], [grade_measure()], rng, pairs, BOOTSTRAP_ROUNDS
    )
    shown = sides[UNRELATED_PRESENT]
    return tuple(
        UnrelatedEffect(
            j, p, one, unrelated_share(shown[(shown["judge"] == j) & (shown["prompt"] == p)])
        )
        for (j, p), one in zip(rows, found, strict=True)
    )


def _effects_table(found: tuple[UnrelatedEffect, ...], other: str) -> Markup:
    names = short_names([(one.judge, one.prompt) for one in found])
    heads = ("Without", "With", f"Difference, adjusted 95{NARROW_SPACE}% CI", "Chosen")
    rows = [_effect_row(names[one.judge, one.prompt], one) for one in found]
    table = Table(["Row", *map(TableCell, heads)], rows, "eh-tbl dense eh-tests eh-unrel")
    note = (
        f"The other study is {other}. Grade Scores are compared on the items that both studies "
        "contain."
    )
    return wrap(table.html(), fill('<p class="eh-small eh-under">{}</p>', note))


def _effect_row(name: str, one: UnrelatedEffect) -> list[TableCell | str]:
    contrast = one.contrast
    gap = contrast.adjusted
    includes_zero = gap.low is not None and gap.high is not None and gap.low <= 0 <= gap.high
    badge = " " + no_difference_badge() if includes_zero else ""
    return [
        name_of_row(name),
        number(contrast.right_value, 2),
        number(contrast.left_value, 2),
        fill(
            '<b>{}</b> <span class="eh-ci">{}</span>{}',
            number(gap.value, 2, signed=True),
            interval(gap, 2),
            badge,
        ),
        share(one.chosen.value, 0),
    ]
