"""Panels of the Grade Score protocol (choices among N options): the verdicts that two parsing rules
read from the same replies; the grades for each option, for which its fourth prompt asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.html.format import count, percent, share
from components.html.markup import Markup, fill, inline_markup
from components.html.panel import empty_state, wrap
from components.html.tables.value_table import (
    PERCENT,
    SCORE,
    ColumnHead,
    count_cell,
    hover_html,
    name_cell,
    value_cell,
    value_table,
)
from components.results.protocol.grade.grade_panel import load_choice_rows, short_prompt
from judges.engine.outcome import labels_to_slots
from judges.verdicts.verdict import parse_verdict
from metrics.estimation.intervals import mean_estimate
from metrics.estimation.row_selection import contestants, item_codes, select_picks, slot_contestants
from metrics.protocols.creation_levels import score_columns
from metrics.protocols.grade_table import (
    ReadingDifference,
    contradiction_share,
    reading_differences,
)
from studies.domain import STATUSES, Estimate, Verdict
from studies.frames.frame import NO_PICK, TIE
from studies.store.store import Store

MAX_REREAD: Final = 4000
"""Maximum number of replies read again by the other parsing rule: the first in plan order. The plan
is shuffled, so these are a random sample."""
CHOICE_FORMAT: Final = "selection-option"
READING_RULES: Final = ("default", "gradelab")


def other_reading_rule(reading: str) -> str:
    """Name of the parsing rule with which the study's rule is compared."""
    return "default" if reading == "gradelab" else "gradelab"


def reread_choices(
    store: Store, study: str, rule: str, prompts: tuple[str, ...]
) -> dict[tuple[str, ...], tuple[str, int]]:
    """Read the first MAX_REREAD stored replies by the parsing rule `rule`: (item, judge, prompt,
    models in the order shown, repeat) of a call -> (status, chosen position)."""
    return store.memoised(
        study, ("reread", rule, prompts), lambda: _reread_choices(store, study, rule, prompts)
    )


def _reread_choices(
    store: Store, study: str, rule: str, prompts: tuple[str, ...]
) -> dict[tuple[str, ...], tuple[str, int]]:
    found: dict[tuple[str, ...], tuple[str, int]] = {}
    for judgement in store.judgements(study):
        ask = judgement.ask
        if ask.prompt not in prompts or judgement.rule == "probabilities" or not judgement.reply:
            continue
        verdict = parse_verdict(CHOICE_FORMAT, judgement.reply, len(ask.labels), rule).verdict
        slot = NO_PICK if verdict is None else _verdict_slot(labels_to_slots(verdict, ask.labels))
        found[_ask_key(ask.item, ask.judge, ask.prompt, ask.shown, ask.repeat)] = (
            "unreadable" if slot == NO_PICK else "ok",
            slot,
        )
        if len(found) >= MAX_REREAD:
            break
    return found


def _verdict_slot(verdict: Verdict) -> int:
    if verdict.pick is None:
        return NO_PICK
    return TIE if verdict.pick == "tie" else int(verdict.pick)


def _ask_key(
    item: str, judge: str, prompt: str, shown: Sequence[str], repeat: int
) -> tuple[str, ...]:
    return (item, judge, prompt, *shown, str(repeat))


def load_two_readings(filtered: FilteredStudy) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two frames of the same choices: read by the study's parsing rule, and by the other rule."""
    rows = load_choice_rows(filtered).iloc[: 5 * MAX_REREAD]
    prompts = tuple(sorted({str(prompt) for prompt in rows["prompt"].unique()}))
    rule = other_reading_rule(filtered.study.reading)
    found = reread_choices(filtered.store, filtered.name, rule, prompts)
    keys = [
        _ask_key(str(item), str(judge), str(prompt), str(shown).split("\x1f"), int(repeat))
        for item, judge, prompt, shown, repeat in zip(
            rows["item"], rows["judge"], rows["prompt"], rows["shown"], rows["repeat"], strict=True
        )
    ]
    stored = np.array([key in found for key in keys], bool)
    reparsed = [found[key] for key in keys if key in found]
    rows = rows.loc[stored]
    other = rows.assign(
        status=pd.Categorical([status for status, _ in reparsed], categories=list(STATUSES)),
        pick=np.array([slot for _, slot in reparsed], np.int8),
    )
    return rows, other


def load_reading_differences(filtered: FilteredStudy) -> dict[tuple[str, ...], ReadingDifference]:
    """(judge, prompt) -> counts of the verdicts that differ between the two parsing rules."""
    first, second = load_two_readings(filtered)
    return reading_differences(first, second) if len(first) else {}


def show_reading_differences(filtered: FilteredStudy) -> Markup:
    found = load_reading_differences(filtered)
    if not found:
        return empty_state(
            "No reply text is stored.",
            "Parsing rules can be compared only on reply texts; label probabilities have no text.",
        )
    mine, other = filtered.study.reading, other_reading_rule(filtered.study.reading)
    prompts = list(dict.fromkeys(prompt for _, prompt in found))
    head = "Judge (cells: replies whose verdict depends on the parsing rule)"
    heads = [ColumnHead(head, numeric=False)]
    heads += [ColumnHead(short_prompt(prompt)) for prompt in prompts]
    lines = []
    for judge in dict.fromkeys(judge for judge, _ in found):
        line = [name_cell(judge, {"judge": judge})]
        for prompt in prompts:
            one = found.get((judge, prompt))
            line.append(_difference_cell(judge, prompt, one, mine, other) if one else count_cell(0))
        lines.append(line)
    return wrap(
        fill('<p class="eh-small">{}</p>', inline_markup(reading_sentence(found, mine, other)))
    ) + value_table(heads, lines, label="Verdicts that depend on the parsing rule")


def _difference_cell(
    judge: str, prompt: str, one: ReadingDifference, mine: str, other: str
) -> Markup:
    """HTML cell with the number of verdicts that differ between two parsing rules; hover shows the
    kinds of difference."""
    if not one.differ:
        return fill('<span class="eh-mute">0 of {}</span>', count(one.share.n))
    parts = {
        "another option": one.both_read,
        f"a choice only under {mine}": one.only_first,
        f"a choice only under {other}": one.only_second,
    }
    kinds = ", ".join(f"{count(n)} {what}" for what, n in parts.items() if n)
    tip = (
        f"{percent(one.share)}\n{judge}, {prompt}\n{kinds}\nClick to open these replies in Inspect"
    )
    inside = fill(
        '<b>{}</b> <span class="eh-ci">of {}</span>', count(one.differ), count(one.share.n)
    )
    return hover_html(inside, tip, {"judge": judge, "prompt": prompt})


def reading_sentence(found: dict[tuple[str, ...], ReadingDifference], mine: str, other: str) -> str:
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


def graded_rows(filtered: FilteredStudy) -> pd.DataFrame:
    """The usable choices whose reply contains a grade for every option."""
    rows = select_picks(load_choice_rows(filtered))
    columns = score_columns(rows)
    if not columns or rows.empty:
        return rows.iloc[:0]
    grades = rows[columns].to_numpy(np.float64)
    beyond = np.arange(len(columns)) >= rows["options"].to_numpy()[:, None]
    complete: pd.DataFrame = rows.loc[(np.isfinite(grades) | beyond).all(axis=1)]
    return complete


def mean_grades(rows: pd.DataFrame) -> dict[str, Estimate]:
    """Mean grade (0 to 5) of each model over all positions."""
    if rows.empty:
        return {}
    names = contestants(rows)
    placed = slot_contestants(rows, names)
    grades = rows[score_columns(rows)].to_numpy(np.float64)[:, : placed.shape[1]]
    item = item_codes(rows)
    found = {}
    for code, who in enumerate(names):
        at = placed == code
        row = np.nonzero(at)[0]
        found[who] = mean_estimate(grades[at], item[row], "grade", (0, 5))
    return found


def show_option_grades(filtered: FilteredStudy) -> Markup:
    """HTML of each answer's mean grade, and of the share of replies whose selection contradicts the
    grades in the same reply."""
    rows = graded_rows(filtered)
    if rows.empty:
        return empty_state(
            "No reply contains grades of the options.",
            "Prompt 4 of Grade Score (grade-points) asks for a grade from 0 to 5 before the "
            "selection.",
        )
    who = contestants(rows)
    heads = [
        ColumnHead("Judge, prompt", numeric=False),
        ColumnHead("Graded replies"),
        ColumnHead("Selections contradicted, %"),
    ]
    heads += [ColumnHead(f"Grade of {one}") for one in who]
    lines = []
    cells = rows.groupby(["judge", "prompt"], observed=True).size().index
    for judge, prompt in cells:
        mine = rows[(rows["judge"] == judge) & (rows["prompt"] == prompt)]
        select = {"judge": str(judge), "prompt": str(prompt)}
        grades = mean_grades(mine)
        lines.append(
            [
                name_cell(str(judge), select, short_prompt(str(prompt))),
                count(len(mine)),
                value_cell(
                    contradiction_share(mine), PERCENT, who=f"{judge}, {prompt}", select=select
                ),
                *(
                    value_cell(
                        grades.get(one),
                        SCORE,
                        who=f"{judge} on {one}",
                        select={**select, "contestant": one},
                    )
                    for one in who
                ),
            ]
        )
    return value_table(
        heads, lines, label="Grades from 0 to 5 that the judge gave before its selection"
    )
