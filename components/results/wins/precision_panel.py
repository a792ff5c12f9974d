"""Panels on precision (what would narrow the interval of the highest win rate most), on the jury,
and on ratings with ties as a third outcome.

All numbers are also in the output of `python -m metrics --json`, under the keys in the hover texts.
"""

from typing import Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html.format import count, number, share, spaced_ci
from components.html.markup import EMPTY, Markup, escape, fill
from components.html.pieces import paragraph
from components.html.tables import value_table as tables
from components.results.wins.panels import study_win_rates
from metrics.estimation.planning.variance_components import ITEM, REPEAT
from metrics.estimation.row_selection import people_mask, select_pairs, select_rows
from metrics.ratings.tie_models import TieModel, fit_davidson, fit_rao_kupper
from metrics.win_rates.jury import JuryResult, decide_jury, effective_judges, verdict_correlation
from metrics.win_rates.precision_plan import PrecisionPlan, precision_plan
from studies.frames.frame import TIE

FACET_WORDS: Final = {ITEM: "items", "judge": "judges", "prompt": "prompts", REPEAT: "repeats"}
LOGITS: Final = tables.NumberStyle(2, signed=True)
MIN_JURY: Final = 3
MIN_NARROWING: Final = 0.005
"""If no interval narrows by at least this part, which is shown as 1 %, the sentence says that more
calls would hardly help."""


@memoise_by_study
def plan_leader_precision(filtered: FilteredStudy) -> PrecisionPlan | None:
    """Return by how much twice the items, judges, prompts or repeats would narrow the interval of
    the highest win rate. None without win rates, or if too few items were judged by every judge
    with every prompt and with this model in both positions."""
    rates = study_win_rates(filtered)
    return precision_plan(filtered.measured_judge_rows, next(iter(rates))) if rates else None


def leader_precision_sentence(plan: PrecisionPlan) -> str:
    """Sentence on how much the interval of the win rate would narrow with twice the items, judges,
    prompts or repeats."""
    gains = sorted(plan.narrowing.items(), key=lambda one: -one[1])
    if gains[0][1] < MIN_NARROWING:
        return f"More calls would hardly narrow the interval of the win rate of {plan.contestant}."
    parts = [f"twice the {FACET_WORDS[name]} by {share(gain, 0)}" for name, gain in gains]
    unmeasured = " (for repeats, at most this: the study has no repeats to measure it)"
    limit = "" if plan.repeat_known else unmeasured
    narrows = f" narrows the interval of the win rate of {plan.contestant} by "
    first = parts[0].replace(" by ", narrows)
    return f"{', '.join([first[0].upper() + first[1:], *parts[1:]])}{limit}."


def show_leader_precision(filtered: FilteredStudy) -> Markup:
    """HTML of how much the interval of the highest win rate would narrow with more items, judges,
    prompts or repeats, and of the share of the variance due to each; empty if unknown."""
    plan = plan_leader_precision(filtered)
    if plan is None:
        return EMPTY
    shares = sorted(plan.components.variance_shares().items(), key=lambda one: -one[1])
    path = f"precision.{plan.contestant}"
    lines = []
    for name, part in shares:
        if part > 0:
            key, text = f"{path}.variance_shares.{name}", number(100 * part, 1)
            cell = tables.hover_html(text, "", None, key)
            lines.append([tables.name_cell(name), cell])
    heads = ["Source of variance", "Share of the variance of single verdicts, %"]
    text = paragraph(escape(leader_precision_sentence(plan)), "eh-small", f"{path}.narrowing")
    return text + tables.value_table(heads, lines, label="Variance components")


def show_jury_win_rates(filtered: FilteredStudy) -> Markup:
    """HTML table of the win rates if a strict majority of the judges decides each case (two answers
    to one item). Below it, the share of cases that have such a majority, and how many independent
    judges the jury is worth or, if no better answer is known, the correlation of their verdicts.
    Empty with fewer than MIN_JURY judges, or without pairs."""
    got = _compute_jury_and_sentence(filtered)
    if got is None:
        return EMPTY
    result, worth = got
    heads: list[tables.Head] = [
        "Model (verdicts by the jury of all judges)",
        ("Win rate, %", "jury.win_rate"),
        (
            "Range of the win rate, %: from all undecided cases lost to all won",
            "jury.bounds: win rate if all undecided cases were lost, and if all were won",
        ),
    ]
    lines = []
    for name, rate in result.win_rate.items():
        bound, who = result.bounds[name], f"win rate of {name} by the jury"
        ends = f"{number(100 * (bound.low or 0), 1)}–{number(100 * (bound.high or 0), 1)}"
        cell = tables.value_cell(rate, tables.PERCENT, who=who, key=f"jury.win_rate.{name}")
        span = fill('<span class="eh-ci">{}</span>', ends)
        lines.append([tables.name_cell(name), cell, span])
    text = (
        f"The jury has {count(len(result.panel), 'judge')}; a strict majority decides "
        f"{share(result.coverage.value, 0)} of cases.{worth}"
    )
    note = paragraph(escape(text), "eh-small", "jury.coverage")
    return note + tables.value_table(heads, lines, label="Jury")


@memoise_by_study
def _compute_jury_and_sentence(filtered: FilteredStudy) -> tuple[JuryResult, str] | None:
    """The jury's verdicts, and a sentence on how independent its judges are; None with fewer than
    MIN_JURY judges or without pairs."""
    rows = filtered.measured_judge_rows
    rows = select_rows(rows, ~people_mask(rows))
    if rows["judge"].astype(str).nunique() < MIN_JURY or select_pairs(rows).empty:
        return None
    return decide_jury(rows), _effective_judges_sentence(rows)


def _effective_judges_sentence(rows: pd.DataFrame) -> str:
    """Sentence on how many independent judges the judges in `rows` are worth, given the correlation
    of their errors. If the better answers are unknown, a sentence on the correlation of their
    verdicts; "" if this correlation is unknown too."""
    votes = effective_judges(rows)
    if votes is not None and votes.value is not None:
        return (
            f" By the correlation of their errors, they are worth {number(votes.value, 1)}"
            f"{spaced_ci(votes)} independent judges."
        )
    correlation = verdict_correlation(rows)
    return "" if correlation is None else f" Their verdicts correlate {number(correlation, 2)}."


@memoise_by_study
def _fit_tie_models(filtered: FilteredStudy) -> tuple[TieModel, TieModel] | None:
    pairs = select_pairs(filtered.counted_outcomes)
    if pairs.empty or not (pairs["pick"] == TIE).any():
        return None
    found = fit_davidson(pairs), fit_rao_kupper(pairs)
    return found if all(one.strength for one in found) else None


def show_tie_models(filtered: FilteredStudy) -> Markup:
    """HTML table of strengths in logits, from two models with ties as a separate outcome: Davidson
    and Rao–Kupper. Empty if no verdict on a pair is a tie, or if a model cannot be fitted."""
    models = _fit_tie_models(filtered)
    if models is None:
        return EMPTY
    tip = "Davidson and Rao–Kupper have different scales: compare only the order of the models."
    heads: list[tables.Head] = ["Model (rated with ties as a third outcome)"]
    for name, key in (("Davidson", "davidson"), ("Rao–Kupper", "rao_kupper")):
        where = f"{tip} Key in the JSON: tie_models.{key}"
        heads.append((f"Strength by {name}, logits", where))
    lines = []
    for who in models[0].strength:
        cells = [
            tables.value_cell(one.strength.get(who), LOGITS, who=f"{who}, {one.model}")
            for one in models
        ]
        lines.append([tables.name_cell(who), *cells])
    return tables.value_table(heads, lines, label="Tie models")
