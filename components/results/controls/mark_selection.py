"""Filters with which Inspect lists the judgements behind a number clicked in Results.

The counting rule states how the verdicts in both orders become one outcome, and whether unusable
replies count as ties."""

from dataclasses import asdict
from typing import Any

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import (
    ALL_CHOICE,
    WITHOUT_SUSPECTS,
    judge_rows_or_people_rows,
    rater_names,
)
from components.inspect.url_selection import NO_SUSPECTS, Selection, parse_selection
from metrics.agreement.pairwise_agreement import PEOPLE
from studies.texts.twin_families import is_twin


def inspect_filters_for_mark(filtered: FilteredStudy, mark: Any) -> Selection:
    """Filters with which the Inspect tab lists the judgements behind `mark`, a clicked number,
    point or cell. The filters of Results apply too, except the counting rule and, if several
    models are selected, the filter on models."""
    data = mark.get("customdata", mark) if isinstance(mark, dict) else {}
    filters = {
        k: v for k, v in asdict(filtered.filter).items() if k in ("judge", "prompt", "category")
    }
    values = {k: v for k, v in filters.items() if v != ALL_CHOICE}
    if len(filtered.filter.contestants) == 1:
        values["contestant"] = filtered.filter.contestants[0]
    if filtered.filter.suspects == WITHOUT_SUSPECTS:
        values["suspect"] = NO_SUSPECTS
    values |= data if isinstance(data, dict) else {}
    if values.get("row") == PEOPLE:  # people against a judge: select that judge against people
        values["row"], values["unlike"] = values.get("unlike", ""), PEOPLE
    if "row" in values:
        frames = (
            judge_rows_or_people_rows(filtered.unfiltered_frame),
            filtered.measured_judge_rows,
        )
        by_row = {row: cell for rows in frames for cell, row in rater_names(rows).items()}
        judge_and_prompt = by_row.get(str(values.pop("row")), ("", ""))
        values["judge"], values["prompt"] = judge_and_prompt
    if (
        values.get("judge") == PEOPLE
        and filtered.unfiltered_frame is not filtered.whole_frame_by_person
    ):
        del values["judge"]  # people are the only judges: select all of them
    if "opponent" in values:
        values["against"] = values.pop("opponent")
    shows_twin = any(is_twin(str(values.get(name))) for name in ("contestant", "against"))
    values["no_twins"] = not shows_twin and len(filtered.store.frame(filtered.name, "only")) > 0
    return parse_selection({**values, "study": filtered.name})
