"""The two sides of a contrast: judges and prompts that can be compared, and their judgements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE, judge_rows_or_people_rows, rater_names
from components.filtering.memo import memoise_by_study
from components.filtering.raters import call_credits_of_all_raters
from components.results.bias.computed import load_bias
from metrics.estimation import row_selection
from metrics.estimation.frame_stacking import stack_frames
from metrics.position.position_measures import CONSISTENCY
from metrics.remedies.remedy_study import CREDIT
from studies.domain import HUMAN_PREFIX

LEFT: Final = "left"
RIGHT: Final = "right"
SIDE_CELLS: Final = ((LEFT,), (RIGHT,))


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a contrast: a judge, a prompt, or a judge with a prompt; an empty `judge` or
    `prompt` means all."""

    name: str
    judge: str = ""
    prompt: str = ""
    study: str = ""
    """Name of another study from which the judgements come; empty means the current study."""

    @property
    def kind(self) -> str:
        """The word before the name in a sentence: a model may have the name of a judge. Empty for a
        judge with a prompt, which has both names, and for a person."""
        if self.judge.startswith(HUMAN_PREFIX) or bool(self.judge) == bool(self.prompt):
            return ""
        return "judge" if self.judge else "prompt"

    @property
    def title(self) -> str:
        """The name with its kind, such as "the judge gpt-4"."""
        return f"the {self.kind} {self.name}" if self.kind else self.name


def name_both(left: Side, right: Side) -> str:
    """Both names with their kind, such as "the judges gpt-4 and gpt-3.5-turbo"."""
    if left.kind and left.kind == right.kind:
        return f"the {left.kind}s {left.name} and {right.name}"
    return f"{left.title} and {right.title}"


def list_sides_of_whole_study(filtered: FilteredStudy) -> dict[str, Side]:
    """Name -> side, for all sides that can be compared in a study: its judges; its prompts, if
    there are several; and their combinations, if there are several of both. With one judge and
    several prompts, the judge is no side."""
    rows = judge_rows_or_people_rows(filtered.unfiltered_frame)
    cells = rater_names(rows)
    judges = sorted({judge for judge, _ in cells})
    prompts = sorted({prompt for _, prompt in cells})
    found: dict[str, Side] = {}
    if len(judges) > 1 or len(prompts) == 1:
        found |= {judge: Side(judge, judge=judge) for judge in judges}
    if len(prompts) > 1:
        found |= {prompt: Side(prompt, prompt=prompt) for prompt in prompts}
    if len(judges) > 1 and len(prompts) > 1:
        found |= {name: Side(name, *cell) for cell, name in cells.items()}
    return found


def sides_in_other_studies(filtered: FilteredStudy) -> dict[str, Side]:
    """Name -> side from another study of the same data: the same judges, if they see images there
    and image descriptions here, or the reverse."""
    rows = judge_rows_or_people_rows(filtered.unfiltered_frame)
    judges = {str(name) for name in rows["judge"].unique()}
    found: dict[str, Side] = {}
    for line in filtered.store.studies():
        if line.name == filtered.name:
            continue
        study, own = filtered.store.study(line.name), filtered.study
        if study.data.source != own.data.source or study.judge_sees == own.judge_sees:
            continue
        for judge in study.judges:
            if judge.name in judges:
                name = f"{judge.name}, {study.judge_sees} ({line.name})"
                found[name] = Side(name, judge=judge.name, study=line.name)
    return found


def default_sides(filtered: FilteredStudy, known: dict[str, Side]) -> tuple[str, str]:
    """Names of the two sides to compare by default, whatever the filters: the most and the least
    consistent judge of the study; with one judge, the most and the least consistent prompt. If
    there are neither two judges nor two prompts, the first name in `known` and ""."""
    for ranked in _rank_judges_then_prompts(FilteredStudy(filtered.store, filtered.name)):
        offered = [name for name in ranked if name in known]
        if len(offered) > 1:
            return offered[0], offered[-1]
    return next(iter(known), ""), ""


@memoise_by_study
def _rank_judges_then_prompts(whole: FilteredStudy) -> list[list[str]]:
    """One list with the study's judges, or, if there is only one judge, two lists: the judge, and
    the study's prompts. Each list begins with the most consistent one."""
    counts, found = load_bias(whole).counts.rows, []
    for column in ("judge", "prompt"):
        got = counts.by_cell(CONSISTENCY.name, (column,))
        values = {cell[0]: one.value or 0.0 for cell, one in got.items()}
        found.append(sorted(values, key=lambda name: -values[name]))
        if len(values) > 1:
            break
    return found


def _select_rows_of_side(rows: pd.DataFrame, side: Side) -> pd.DataFrame:
    mask = np.ones(len(rows), bool)
    for column in ("judge", "prompt"):
        if wanted := getattr(side, column):
            mask &= np.asarray(rows[column] == wanted)
    return row_selection.select_rows(rows, mask)


def rows_of_side(filtered: FilteredStudy, side: Side) -> pd.DataFrame:
    """Judgements of a side that pass the filters. The judge filter is ignored if the side names
    a judge, the prompt filter if it names a prompt. The column CREDIT is added: 1 if the call
    chose the better answer, ½ for a tie, 0 otherwise, missing if the better answer is unknown."""
    chosen = filtered.filter
    chosen = replace(chosen, judge=ALL_CHOICE) if side.judge else chosen
    chosen = replace(chosen, prompt=ALL_CHOICE) if side.prompt else chosen
    source = replace(filtered, filter=chosen)
    if side.study:
        source = FilteredStudy(filtered.store, side.study, chosen)
    rows = _select_rows_of_side(source.measured_judge_rows, side)
    return rows.assign(**{CREDIT: call_credits_of_all_raters(source)[CREDIT].reindex(rows.index)})


def load_people_rows(filtered: FilteredStudy) -> pd.DataFrame:
    """People's votes that pass the filters of category, models and injection suspects."""
    rows = filtered.of_all_raters.frame
    return row_selection.select_rows(rows, row_selection.people_mask(rows))


def candidate_sides(filtered: FilteredStudy, left: Side, right: Side) -> list[Side]:
    """All sides from which a reader could have chosen `left` and `right`, for the adjustment of
    the intervals: all judges of the study if both are judges, all prompts if both are prompts,
    all combinations if both are. Only `left` and `right` if their kinds differ, or if one of
    them is from another study."""

    def side_kind(side: Side) -> tuple[bool, bool, str]:
        return bool(side.judge), bool(side.prompt), side.study

    alike = [
        one
        for one in list_sides_of_whole_study(filtered).values()
        if side_kind(one) == side_kind(left)
    ]
    return alike if alike and side_kind(left) == side_kind(right) else [left, right]


def stack_candidates_and_people(filtered: FilteredStudy, sides: list[Side]) -> pd.DataFrame:
    """Rows of several sides and people's votes, with a column `side` ("side 0", …, "people")."""
    return _stack_with_people(filtered, {f"side {number}": one for number, one in enumerate(sides)})


def stack_sides_and_people(filtered: FilteredStudy, left: Side, right: Side) -> pd.DataFrame:
    """Rows of both sides and people's votes, with a column `side`: "left", "right" or
    "people". The column `prompt` becomes "side/prompt", so that a judgement that belongs to
    both sides can be told apart in its two rows."""
    return _stack_with_people(filtered, {LEFT: left, RIGHT: right})


def _stack_with_people(filtered: FilteredStudy, sides: dict[str, Side]) -> pd.DataFrame:
    parts = {name: rows_of_side(filtered, one) for name, one in sides.items()}
    frame = stack_frames({**parts, "people": load_people_rows(filtered)}, "side")
    return frame.assign(prompt=_prompts_prefixed_by_side(frame))


def _prompts_prefixed_by_side(frame: pd.DataFrame) -> pd.Categorical[str]:
    """The text "side/prompt" of each row, as a categorical column."""
    side, prompt = frame["side"].cat, frame["prompt"].cat
    code, count = row_selection.group_codes(frame, ["side", "prompt"])
    first = row_selection.first_row_per_group(code, count)
    names = [
        f"{side.categories[a]}/{prompt.categories[b]}"
        for a, b in zip(side.codes.iloc[first], prompt.codes.iloc[first], strict=True)
    ]
    known = sorted(names)
    codes = np.array([known.index(name) for name in names], np.int64)
    return pd.Categorical.from_codes(codes[code], pd.Index(known, dtype="str"))
