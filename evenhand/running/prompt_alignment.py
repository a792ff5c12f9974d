"""Improve a prompt with labelled items (items whose right verdict is known): new versions of the
prompt (candidates) are compared, on labelled items that they were not made from, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from evenhand.extras import report_missing_extra
from evenhand.running.function_judge import JudgeLike, collect_judges
from evenhand.running.study_runs import _build_engine, _follow_run, _given_or_new_store_path
from evenhand.study_table import JudgedStudy
from studies.errors import StudyError
from studies.terminal import escape_control

if TYPE_CHECKING:
    from judges.planning.plan import Plan
    from studies.store.store import Store

COLUMNS: Final = ("agreement", "difference", "flips", "first_share", "distance", "length_excess",
                  "unusable")  # fmt: skip
"""Estimates in the table; those that no prompt of the study has are left out."""


@dataclass(frozen=True, eq=False)
class PromptComparison:
    """Comparison of a prompt with new versions of it (candidates), on labelled items set apart (the
    hold-out). `table` has one row for each prompt, that of the study first. `section` has the
    same result as in the JSON of `evenhand metrics --json`."""

    section: dict[str, Any]
    table: pd.DataFrame
    recommendation: str
    text: str

    def __str__(self) -> str:
        return escape_control(self.text)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table = self.table.to_html(escape=True, border=0, float_format="{:.3f}".format)
        return (
            f'<div class="evenhand-align"><p><b>{escape(self.recommendation)}</b></p>{table}</div>'
        )


@report_missing_extra
def align(
    study: JudgedStudy | str | Path,
    *,
    judge: str = "",
    prompt: str = "",
    judges: Iterable[JudgeLike] = (),
    rules: Sequence[str] = (),
    criteria: str = "",
    examples: int = 4,
    budget: float | None = None,
    store: str | Path | None = None,
    progress: bool = True,
) -> PromptComparison:
    """Make new versions of a prompt, call the judge with all of them, and compare them on labelled
    items set apart (the hold-out; labelled: the right verdict is known). A version adds one block
    to the prompt: `examples` labelled cases (comparisons or single answers with their right
    verdict), your `rules`, both of these, or your `criteria`. No case is from a held-out item.

    `study` is a study file that was run, or a study read from a store; StudyError for a study
    that is in no store. `judge` and `prompt` are names in the study ("": the first). If judges
    of the study are Python functions, `judges` has these functions. `budget` is the maximum of
    dollars, None for no limit. `store` is the file with the study's replies (None: the store of
    the study, or the one beside the study file). `progress` shows a progress bar."""
    from judges.operations.align_prompt import (
        AlignRuns,
        build_candidate_plan,
        build_candidates,
        check_budget_suffices,
        forecast_missing_calls,
        split_and_find_mistakes,
    )
    from metrics.summary.alignment.alignment_text import alignment_text
    from metrics.summary.measured_study import read_stored_study
    from studies.store.store import Store

    path = _store_path_of_study(study) if store is None else _given_or_new_store_path(study, store)
    kept = Store(path)
    try:
        plan = _load_or_make_and_save_plan(study, kept)
        task = split_and_find_mistakes(plan, kept, judge, prompt)
        kinds = ["examples"] * (examples > 0) + ["rules"] * bool(rules)
        kinds += ["both"] * (len(kinds) == 2) + ["criteria"] * bool(criteria)
        made = build_candidates(task, kinds, rules=rules, criteria=criteria, examples=examples)
        asked = build_candidate_plan(task, made, budget)
        check_budget_suffices(forecast_missing_calls(asked, kept), budget, "the candidates")
        engine = _build_engine(collect_judges(judges)[1])
        try:
            run = AlignRuns(kept, engine).start_and_record_hold_out_run(task, made, asked)
            _follow_run(run, progress)
        finally:
            engine.close()
        name, at = plan.study.name, (task.judge.name, task.prompt.name)
        text = alignment_text(kept, name, *at)
    finally:
        kept.close()
    section = read_stored_study(path, name).summarise(quick=True)["alignment"]
    own = section["judges"][at[0]][at[1]]
    return PromptComparison(own, _candidates_frame(own), own["recommendation"]["sentence"], text)


def _store_path_of_study(study: JudgedStudy | str | Path) -> Path:
    if isinstance(study, JudgedStudy) and study.store is None:
        raise StudyError(f"{study.name}: not in a store; run it first: eh.run(study, judges)")
    if isinstance(study, JudgedStudy):
        assert study.store is not None
        return study.store
    return _given_or_new_store_path(study, None)


def _load_or_make_and_save_plan(study: JudgedStudy | str | Path, store: Store) -> Plan:
    from judges.planning.plan import load_stored_plan, make_plan, save_plan
    from studies.spec.study import load_study

    if isinstance(study, JudgedStudy):
        return load_stored_plan(store, study.name)
    plan = make_plan(load_study(Path(study).expanduser()))
    save_plan(plan, store)
    return plan


def _candidates_frame(section: dict[str, Any]) -> pd.DataFrame:
    """Return the table of PromptComparison from the dictionary `section`, with one row for each
    entry of `section["candidates"]`, the prompt of the study included."""
    found = section.get("candidates", {})
    columns = [name for name in COLUMNS if any(name in line for line in found.values())]
    rows = {}
    for name, line in found.items():
        row: dict[str, Any] = {"kind": line["kind"], "status": line["status"]}
        for column in columns:
            got = line.get(column) or {"value": None, "low": None, "high": None}
            row |= {
                column: got["value"],
                f"{column}_low": got["low"],
                f"{column}_high": got["high"],
            }
        rows[name] = {**row, "calls": line["calls"], "tokens": line.get("tokens")}
    return pd.DataFrame.from_dict(rows, orient="index")
