"""Table of the Grade Score by judge, prompt and presence of an unrelated option.

The unrelated option is an answer to another question, shown among the answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.intervals import join_notes, proportion, unknown_estimate
from metrics.estimation.measures import CellKey, GroupedFrame
from metrics.position.position_measures import ACCURACY, ACCURACY_LEAD, SLOT_ENTROPY
from metrics.protocols.creation_levels import score_columns
from metrics.protocols.grade_score import GradeRule, estimate_grade_score_measures
from studies.domain import UNRELATED, Estimate
from studies.frames.frame import NO_PICK, SEP

UNRELATED_ABSENT: Final = "none"
UNRELATED_PRESENT: Final = "unrelated"
NO_GRADES_NOTE: Final = "the prompt asks for no grades"
NO_UNRELATED_NOTE: Final = "no unrelated option was shown"
READING_KEY: Final = ("item", "judge", "prompt", "shown", "labels", "repeat", "noise")
"""Columns that identify a call, to match two readings of the same replies by different parsing
rules."""


@dataclass(frozen=True, slots=True)
class GradeCell:
    """Grade Score and further measures of a judge with a prompt, with or without an unrelated
    option.

    `options` lists the numbers of options N; Grade Scores of different N are not comparable.
    `pooled_entropy` is the entropy of all slots picked, `accuracy` the share of right choices
    and `accuracy_lead` its lead over random choices (`ACCURACY_LEAD`). `contradictions` is the
    share of choices of an option that the judge itself graded lower than another option, in the
    same reply.
    """

    judge: str
    prompt: str
    unrelated: str
    options: tuple[int, ...]
    grade: Estimate
    entropy: Estimate
    choice: Estimate
    corrected: Estimate
    pooled_entropy: Estimate
    accuracy: Estimate
    accuracy_lead: Estimate
    contradictions: Estimate
    unrelated_share: Estimate


def mark_unrelated(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with a column `unrelated` for grouping: "unrelated" if an unrelated option
    (an answer to another question) was shown, else "none"."""
    shown = frame["shown"].astype("category")
    has = [UNRELATED in str(names).split(SEP) for names in shown.cat.categories]
    codes = np.array(has, np.int64)[shown.cat.codes.to_numpy()] if has else np.zeros(0, np.int64)
    return frame.assign(
        unrelated=pd.Categorical.from_codes(codes, pd.Index([UNRELATED_ABSENT, UNRELATED_PRESENT]))
    )


def grade_cells(frame: pd.DataFrame, rule: GradeRule = "default") -> list[GradeCell]:
    """Compute the Grade Score and further measures of each judge with each prompt, separately with
    and without an unrelated option (an answer to another question).

    The two are comparable only if the number of options is equal, that is, if the unrelated option
    replaced another one (`unrelated: replace` in the study file)."""
    choosing = row_selection.select_judges(row_selection.select_rows(frame, frame["options"] > 1))
    marked = mark_unrelated(choosing)
    evidence = GroupedFrame(marked, ["judge", "prompt", "unrelated"])
    cell = evidence.frame["cell"].to_numpy()
    accuracy, lead = ACCURACY.by_cell(evidence), ACCURACY_LEAD.by_cell(evidence)
    pooled = SLOT_ENTROPY.by_cell(evidence)
    return [
        _build_grade_cell(
            key,
            row_selection.select_rows(marked, cell == code),
            rule,
            (accuracy[key], lead[key]),
            pooled[key],
        )
        for code, key in enumerate(evidence.cells)
    ]


def _build_grade_cell(
    key: CellKey,
    rows: pd.DataFrame,
    rule: GradeRule,
    accuracy: tuple[Estimate, Estimate],
    pooled: Estimate,
) -> GradeCell:
    parts = estimate_grade_score_measures(rows, rule)
    judge, prompt, unrelated = key
    return GradeCell(
        judge,
        prompt,
        unrelated,
        options=tuple(sorted({int(n) for n in rows["options"]})),
        grade=parts["grade"],
        entropy=parts["entropy"],
        choice=parts["choice"],
        corrected=parts["corrected"],
        pooled_entropy=pooled,
        accuracy=accuracy[0],
        accuracy_lead=accuracy[1],
        contradictions=share_of_choices_against_own_grades(rows),
        unrelated_share=unrelated_option_choice_share(rows),
    )


def share_of_choices_against_own_grades(frame: pd.DataFrame) -> Estimate:
    """Estimate the share of choices of an option that the judge itself graded lower than another
    option, in the same reply.

    Only readable choices with all options graded count, and without any the share is unknown; if
    several options share the top grade, choosing any of them is no contradiction.
    """
    columns = score_columns(frame)
    rows = row_selection.select_picks(frame)
    rows = row_selection.select_rows(rows, (rows["pick"] >= 0) & (rows["options"] > 1))
    if not columns or len(rows) == 0:
        return unknown_estimate(NO_GRADES_NOTE, "share")
    grades = rows[columns].to_numpy(np.float64)
    beyond = np.arange(len(columns)) >= rows["options"].to_numpy()[:, None]
    graded = (np.isfinite(grades) | beyond).all(axis=1)
    rows, grades = row_selection.select_rows(rows, graded), grades[graded]
    if len(rows) == 0:
        return unknown_estimate(NO_GRADES_NOTE, "share")
    own = grades[np.arange(len(rows)), rows["pick"].to_numpy()]
    against = own < np.nanmax(grades, axis=1) - 1e-9
    return proportion(against, row_selection.item_codes(rows), note="selection below the top grade")


def unrelated_option_choice_share(frame: pd.DataFrame) -> Estimate:
    """Estimate the share of decisive choices for the unrelated option, where it was shown; unknown
    if there are no such choices."""
    rows = row_selection.select_picks(frame)
    rows = row_selection.select_rows(rows, rows["pick"] >= 0)
    rows = row_selection.select_rows(rows, mark_unrelated(rows)["unrelated"] == UNRELATED_PRESENT)
    if len(rows) == 0:
        return unknown_estimate(NO_UNRELATED_NOTE, "share")
    names = row_selection.contestants(rows)
    chosen = row_selection.chosen_contestants(rows, names) == names.index(UNRELATED)
    sizes = sorted({int(n) for n in rows["options"]})
    note = join_notes("", f"chance is 1/{sizes[0]}" if len(sizes) == 1 else "")
    return proportion(chosen, row_selection.item_codes(rows), note=note)


# -- two readings of the same replies ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadingDifference:
    """Share and number (`differ`) of the verdicts that differ between two parsing rules, among the
    calls in both frames."""

    share: Estimate
    differ: int
    both_read: int
    """Number of calls with different verdicts for which both rules read a verdict; `only_first` and
    `only_second` count the calls for which only that rule read one."""
    only_first: int
    only_second: int


def reply_reading_differences(
    first: pd.DataFrame, second: pd.DataFrame, by: Sequence[str] = ("judge", "prompt")
) -> dict[CellKey, ReadingDifference]:
    """Return cell (values of the columns `by`) -> differences between two readings of the same
    replies, such as by the default and by the `gradelab` rule.

    Verdicts differ if the slots differ or only one rule read a verdict. Rows are matched by call,
    not by row number; calls that only one frame has are left out.
    """
    one = _index_readings(first).reset_index()
    two = _index_readings(second)
    place = two.index.get_indexer(pd.MultiIndex.from_frame(one[list(READING_KEY)]))
    rows = first.iloc[one["place"].to_numpy()[place >= 0]]
    a = one["reading"].to_numpy()[place >= 0]
    b = two["reading"].to_numpy()[place[place >= 0]]
    evidence = GroupedFrame(rows, by)
    cell, item = evidence.frame["cell"].to_numpy(), row_selection.item_codes(rows)
    return {
        key: _compare_readings(a[cell == code], b[cell == code], item[cell == code])
        for code, key in enumerate(evidence.cells)
    }


def _index_readings(frame: pd.DataFrame) -> pd.DataFrame:
    """Build a table indexed by the call (READING_KEY; of equal calls the first row): `reading`, the
    verdict (slot, tie or NO_PICK), and `place`, the row number in `frame`."""
    reading = np.where(row_selection.usable_status_mask(frame), frame["pick"], NO_PICK)
    table = pd.DataFrame({name: frame[name].astype(str).to_numpy() for name in READING_KEY})
    table = table.assign(reading=reading, place=np.arange(len(frame)))
    return table.drop_duplicates(list(READING_KEY)).set_index(list(READING_KEY))


def _compare_readings(
    first: row_selection.Ints, second: row_selection.Ints, item: row_selection.Ints
) -> ReadingDifference:
    """Count the calls for which two parsing rules read different verdicts. `first` and `second`
    have the verdict of each call by one rule (chosen slot, tie, or NO_PICK if none was read),
    `item` the code of its item."""
    different = first != second
    both = (first != NO_PICK) & (second != NO_PICK)
    return ReadingDifference(
        share=proportion(different, item),
        differ=int(different.sum()),
        both_read=int((different & both).sum()),
        only_first=int((different & (second == NO_PICK)).sum()),
        only_second=int((different & (first == NO_PICK)).sum()),
    )
