"""Effect of an unrelated option (an answer to another item) on the Grade Score (harmonic mean of
position entropy and share of the most chosen answer): two studies of the same items with equal
numbers of options."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import judge_rows_or_people_rows
from components.html.markup import Markup
from components.html.pieces import empty_state
from components.html.templates import macros
from components.results.bias.computed import load_bias
from metrics.estimation.contrasts import Contrast, paired_contrasts
from metrics.estimation.frame_stacking import stack_frames
from metrics.protocols import grade_table
from metrics.protocols.grade_score import grade_measure
from studies.domain import Estimate
from studies.spec.study import Study
from studies.store.store import Store

PRESENT, ABSENT = grade_table.UNRELATED_PRESENT, grade_table.UNRELATED_ABSENT
SEED: Final = 20_24
BOOTSTRAP_ROUNDS: Final = 500
SIDE_COLUMN: Final = "side"
NEEDS: Final = (
    "choices among three answers or more, and verdicts by the same judges and prompts on the same "
    "data with `unrelated: replace` (an answer to another item replaces the worst-ranked one)"
)


@dataclass(frozen=True, slots=True)
class UnrelatedEffect:
    """Effect of an unrelated option (an answer to another item) for one judge and prompt:
    `contrast` is the Grade Score with this option minus the score without it, and `chosen` is
    the share of verdicts for this option."""

    judge: str
    prompt: str
    contrast: Contrast
    chosen: Estimate


def show_unrelated_option_contrast(filtered: FilteredStudy) -> Markup | None:
    """HTML table of the Grade Scores with and without the unrelated option, from two studies, or a
    note that the second study is not comparable; None without a second study."""
    store, name = filtered.store, filtered.name
    other = find_counterpart_study(store, filtered.study)
    if other is None:
        return None
    versions = (store.version(name), store.version(other))
    chosen = filtered.filter.of_all_raters  # intervals are adjusted for all of them

    def compute_effects() -> tuple[UnrelatedEffect, ...] | str:
        frames = [
            judge_rows_or_people_rows(chosen.apply(store.frame(study))) for study in (name, other)
        ]
        return unrelated_option_effects(*frames)

    found = store.memoised(name, ("unrelated effects", other, chosen), compute_effects, versions)
    if isinstance(found, str):
        return empty_state("Not comparable.", found)
    names = load_bias(filtered).names
    found = tuple(one for one in found if (one.judge, one.prompt) in names)
    rows = [
        (names[one.judge, one.prompt], one.contrast, one.chosen, _includes_zero(one.contrast))
        for one in found
    ]
    return macros("results/bias/bias.html").unrelated(rows, other)


def _includes_zero(contrast: Contrast) -> bool:
    one = contrast.adjusted
    return one.low is not None and one.high is not None and not one.excludes_zero


def find_counterpart_study(store: Store, study: Study) -> str | None:
    """Name of a study that differs from `study` in the unrelated option: in one of the two it
    replaces an answer, in the other it is absent. Both have the same data and a common judge and
    prompt. None if the store has no such study with verdicts."""
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


def unrelated_option_effects(
    first: pd.DataFrame, second: pd.DataFrame
) -> tuple[UnrelatedEffect, ...] | str:
    """Effects of the unrelated option for each common judge and prompt, paired by item, from the
    frames of two studies in either order; a text with the reason if the studies cannot be
    compared."""
    sides = {}
    for frame in (first, second):
        has = bool((grade_table.mark_unrelated(frame)["unrelated"] == PRESENT).any())
        sides[PRESENT if has else ABSENT] = frame
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
    rows = sorted({(j, p) for j, p, _ in cells if {(j, p, PRESENT), (j, p, ABSENT)} <= cells})
    pairs = [((j, p, PRESENT), (j, p, ABSENT)) for j, p in rows]
    if not pairs:
        return "The two studies have no judge and prompt in common."
    rng = np.random.default_rng(SEED)
    found = paired_contrasts(
        both, ["judge", "prompt", SIDE_COLUMN], [grade_measure()], rng, pairs, BOOTSTRAP_ROUNDS
    )
    shown, effects = sides[PRESENT], []
    for (j, p), one in zip(rows, found, strict=True):
        own = shown[(shown["judge"] == j) & (shown["prompt"] == p)]
        effects.append(UnrelatedEffect(j, p, one, grade_table.unrelated_option_choice_share(own)))
    return tuple(effects)
