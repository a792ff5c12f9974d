"""Panels of the Grade Score protocol (choices among N options): how often two rules for reading a
verdict from a reply give different verdicts; and the grades for each option that replies to the
protocol's fourth prompt contain."""

from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.html.format import count, percent, share
from components.html.markup import Markup, fill
from components.html.pieces import empty_state, paragraph
from components.html.tables import value_table as tables
from components.results.protocol.grade_panel import load_choice_rows
from components.results.protocol.sections import rows_by_rater
from judges.engine.outcome import verdict_by_slot
from judges.verdicts.verdict import parse_verdict
from metrics.estimation import row_selection
from metrics.estimation.intervals import mean_estimate
from metrics.protocols import grade_table
from metrics.protocols.creation_levels import score_columns
from studies.domain import STATUSES, Estimate, Verdict
from studies.frames.frame import NO_PICK, TIE
from studies.store.store import Store

MAX_REREAD: Final = 4000
"""Maximum number of replies read again by the other parsing rule: the first in plan order. The plan
is shuffled, so these are a random sample."""
CHOICE_FORMAT: Final = "selection-option"


def parsing_rule_to_compare(reading: str) -> str:
    """Name of the parsing rule with which the study's rule `reading` is compared."""
    return "default" if reading == "gradelab" else "gradelab"


Rereadings = dict[tuple[str, ...], tuple[str, int]]
"""(item, judge, prompt, models in the order shown, repeat) of a call -> (status, chosen slot)"""


def reparse_choices(store: Store, study: str, rule: str, prompts: tuple[str, ...]) -> Rereadings:
    """Verdicts that the parsing rule `rule` reads from stored replies to these prompts: call ->
    (status, chosen position). Only the first MAX_REREAD replies with a text are read. Cached
    per version of the study."""
    return store.memoised(
        study, ("reread", rule, prompts), lambda: _reparse_uncached(store, study, rule, prompts)
    )


def _reparse_uncached(store: Store, study: str, rule: str, prompts: tuple[str, ...]) -> Rereadings:
    found: Rereadings = {}
    for judgement in store.judgements(study):
        ask = judgement.ask
        if ask.prompt not in prompts or judgement.rule == "probabilities" or not judgement.reply:
            continue
        verdict = parse_verdict(CHOICE_FORMAT, judgement.reply, len(ask.labels), rule).verdict
        slot = NO_PICK if verdict is None else _verdict_slot(verdict_by_slot(verdict, ask.labels))
        status = "unreadable" if slot == NO_PICK else "ok"
        found[ask.item, ask.judge, ask.prompt, *ask.shown, str(ask.repeat)] = status, slot
        if len(found) >= MAX_REREAD:
            break
    return found


def _verdict_slot(verdict: Verdict) -> int:
    """The chosen position, counted from 0; TIE for a tie, NO_PICK without a choice."""
    if verdict.pick is None:
        return NO_PICK
    return TIE if verdict.pick == "tie" else int(verdict.pick)


def load_rows_by_both_parsing_rules(filtered: FilteredStudy) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two frames with the same rows (choices among options): one with the verdicts that the study's
    parsing rule read, one with those that the other rule read. Both have only choices whose reply
    text is stored and was read again, at most MAX_REREAD."""
    rows = load_choice_rows(filtered).iloc[: 5 * MAX_REREAD]
    prompts = tuple(sorted({str(prompt) for prompt in rows["prompt"].unique()}))
    rule = parsing_rule_to_compare(filtered.study.reading)
    found = reparse_choices(filtered.store, filtered.name, rule, prompts)
    columns = [rows[name].astype(str) for name in ("item", "judge", "prompt", "shown", "repeat")]
    keys = [
        (item, judge, prompt, *shown.split("\x1f"), repeat)
        for item, judge, prompt, shown, repeat in zip(*columns, strict=True)
    ]
    stored = np.array([key in found for key in keys], bool)
    reparsed = [found[key] for key in keys if key in found]
    rows = rows.loc[stored]
    other = rows.assign(
        status=pd.Categorical([status for status, _ in reparsed], categories=list(STATUSES)),
        pick=np.array([slot for _, slot in reparsed], np.int8),
    )
    return rows, other


def load_parsing_rule_differences(
    filtered: FilteredStudy,
) -> dict[tuple[str, ...], grade_table.ReadingDifference]:
    """(judge, prompt) -> counts of the verdicts that differ between the two parsing rules; empty if
    no reply text is stored."""
    first, second = load_rows_by_both_parsing_rules(filtered)
    return grade_table.reply_reading_differences(first, second) if len(first) else {}


def show_parsing_rule_differences(filtered: FilteredStudy) -> Markup:
    found = load_parsing_rule_differences(filtered)
    if not found:
        return empty_state(
            "No reply text is stored.",
            "Parsing rules can be compared only on reply texts; label probabilities have no text.",
        )
    mine, other = filtered.study.reading, parsing_rule_to_compare(filtered.study.reading)
    prompts = list(dict.fromkeys(prompt for _, prompt in found))
    lines = []
    for judge in dict.fromkeys(judge for judge, _ in found):
        line = [tables.name_cell(judge, {"judge": judge})]
        for prompt in prompts:
            one = found.get((judge, prompt))
            cell = _difference_cell(judge, prompt, one, mine, other) if one else None
            line.append(cell or tables.count_cell(0))
        lines.append(line)
    head = "Judge (cells: replies whose verdict depends on the parsing rule)"
    heads, label = ([head, *prompts], "Verdicts that depend on the parsing rule")
    table = tables.value_table(heads, lines, label=label)
    return paragraph(parsing_differences_sentence(found, mine, other), "eh-small") + table


def _difference_cell(
    judge: str, prompt: str, difference: grade_table.ReadingDifference, mine: str, other: str
) -> Markup:
    """HTML cell with the number of verdicts that differ between two parsing rules, named `mine` and
    `other`; hover shows the kinds of difference."""
    of = count(difference.share.n)
    if not difference.differ:
        return fill('<span class="eh-mute">0 of {}</span>', of)
    parts = {
        "another option": difference.both_read,
        f"a choice only under {mine}": difference.only_first,
        f"a choice only under {other}": difference.only_second,
    }
    kinds = ", ".join(f"{count(n)} {what}" for what, n in parts.items() if n)
    click = "Click to open these replies in Inspect"
    tip = f"{percent(difference.share)}\n{judge}, {prompt}\n{kinds}\n{click}"
    inside = fill('<b>{}</b> <span class="eh-ci">of {}</span>', count(difference.differ), of)
    return tables.hover_html(inside, tip, {"judge": judge, "prompt": prompt})


def parsing_differences_sentence(
    found: dict[tuple[str, ...], grade_table.ReadingDifference], mine: str, other: str
) -> str:
    differ = sum(one.differ for one in found.values())
    replies = sum(one.share.n for one in found.values())
    rules = f"`{mine}` and `{other}`"
    part = "" if replies < MAX_REREAD else f" (the first {count(MAX_REREAD)} in plan order)"
    if not differ:
        return f"All {count(replies)} replies{part} give the same verdict under {rules}."
    return (
        f"**{count(differ)} of {count(replies)}** replies{part} give different verdicts under "
        f"{rules}: {share(differ / replies)}."
    )


# -- prompt 4: its grades ------------------------------------------------------------------------


def rows_with_option_grades(filtered: FilteredStudy) -> pd.DataFrame:
    """The usable choices whose reply contains a grade for every option."""
    rows = row_selection.select_picks(load_choice_rows(filtered))
    columns = score_columns(rows)
    if not columns or rows.empty:
        return rows.iloc[:0]
    grades = rows[columns].to_numpy(np.float64)
    beyond = np.arange(len(columns)) >= rows["options"].to_numpy()[:, None]
    complete: pd.DataFrame = rows.loc[(np.isfinite(grades) | beyond).all(axis=1)]
    return complete


def mean_option_grades(rows: pd.DataFrame) -> dict[str, Estimate]:
    """Model -> its mean grade (0 to 5) over all positions; empty without rows."""
    if rows.empty:
        return {}
    names = row_selection.contestants(rows)
    placed = row_selection.slot_contestants(rows, names)
    grades = rows[score_columns(rows)].to_numpy(np.float64)[:, : placed.shape[1]]
    item = row_selection.item_codes(rows)
    found = {}
    for code, who in enumerate(names):
        at = placed == code
        row = np.nonzero(at)[0]
        found[who] = mean_estimate(grades[at], item[row], "grade", (0, 5))
    return found


def show_grades_given_in_replies(filtered: FilteredStudy) -> Markup:
    """HTML table by judge and prompt: mean grade of each model's answers, and share of replies
    whose selection contradicts the grades in the same reply; a message if no reply has grades."""
    rows = rows_with_option_grades(filtered)
    if rows.empty:
        return empty_state(
            "No reply contains grades of the options.",
            "Prompt 4 of Grade Score (grade-points) asks for a grade from 0 to 5 before the "
            "selection.",
        )
    models = row_selection.contestants(rows)
    lines = []
    for judge, prompt, mine in rows_by_rater(rows):
        select = {"judge": judge, "prompt": prompt}
        grades, who = mean_option_grades(mine), f"{judge}, {prompt}"
        share_of = grade_table.share_of_choices_against_own_grades(mine)
        line = [
            tables.name_cell(judge, select, prompt),
            count(len(mine)),
            tables.value_cell(share_of, tables.PERCENT, who=who, select=select),
        ]
        for model in models:
            opens, who = {**select, "contestant": model}, f"{judge} on {model}"
            line.append(tables.value_cell(grades.get(model), tables.SCORE, who=who, select=opens))
        lines.append(line)
    graded = [f"Grade of {model}" for model in models]
    heads = ["Judge, prompt", "Graded replies", "Selections contradicted, %", *graded]
    label = "Grades from 0 to 5 that the judge gave before its selection"
    return tables.value_table(heads, lines, label=label)
