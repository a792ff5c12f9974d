"""Contents of the bias panels as HTML and figures, without Gradio."""

from __future__ import annotations

from typing import Final

import pandas as pd

from components.charts.figures import Figure
from components.charts.slot_histogram import SlotRow, slot_histogram_figure
from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import machine_rows
from components.filtering.memo import memoise_by_study
from components.filtering.raters import ACCURACY_LABEL
from components.html.format import count, even_share, interval, number, share
from components.html.markup import EMPTY, Markup
from components.html.panel import FirstVisitRow, FlipRow, Kpi, empty_state, flips_table, kpi_strip
from components.html.pieces import share_kpi, unusable_replies_kpi
from components.html.tables.forest_cells import Axis, axis_html, forest_html, value_html
from components.html.templates import macros
from components.results.bias.computed import ROW_COLUMNS, Bias
from components.results.bias.flip_leans import FlipLean, flip_leans
from components.results.bias.sentences import flip_sentence, random_consistency, row_noun
from metrics.catalogue import position_records as records
from metrics.catalogue.answer_records import ACCURACY
from metrics.catalogue.record import MeasureRecord
from metrics.catalogue.records import rater_profile
from metrics.estimation.entropy import split_entropy_by_order
from metrics.estimation.measures import CellKey
from metrics.position.label_effect import slot_and_label_effects
from metrics.protocols.grade_score import RANDOM_GRADE
from studies.domain import Estimate
from studies.frames.frame import SEP

MAX_SLOT_ROWS: Final = 6
"""For more than two options, the histogram has one row per judge and prompt if there are at most
this many; otherwise one row per judge, with prompts pooled."""
SHARE_AXIS: Final = Axis(chance=0.5)
LABELS_NOT_CROSSED: Final = (
    "The first answer always had the first label, so the effects of position and label cannot be "
    "separated. Set `labels: crossed` to separate them."
)
BIAS: Final = macros("results/bias/bias.html")
_REPEATED: Final = "of comparisons repeated in the same order; "


def slot_figure(bias: Bias) -> Figure | None:
    """Histogram of the positions chosen, one row per judge and prompt; for pairs, with a column for
    ties. With more than two options and more than MAX_SLOT_ROWS rows, one row per judge."""
    if not bias.calls:
        return None
    names: dict[CellKey, str]
    if pools_prompts(bias):
        each, names = bias.by_judge, {(judge,): judge for judge, _ in bias.names}
    else:
        each, names = bias.each, {row: name.replace(", ", "\n") for row, name in bias.names.items()}
    shares = [each(f"slot {slot}") for slot in range(bias.options)]
    ties = each("tie_rate") if bias.options == 2 else {}
    rows = [
        SlotRow(name, [one[row] for one in shares], ties.get(row), _row_select(row))
        for row, name in names.items()
    ]
    return slot_histogram_figure(rows)


def pools_prompts(bias: Bias) -> bool:
    return bias.options > 2 and len(bias.names) > MAX_SLOT_ROWS


def _row_select(row: CellKey) -> dict[str, str]:
    return dict(zip(ROW_COLUMNS, row, strict=False))


def flips_html(bias: Bias) -> Markup:
    """HTML table of the direction of flips, by judge and prompt."""
    if bias.options != 2 or not bias.tables:
        return empty_state(
            "No pairs here.", "To show the direction of flips, pairs must be judged in both orders."
        )
    rows = []
    for row in sorted(flip_leans(bias), key=lambda row: row.flips):
        select = {"judge": row.judge, "prompt": row.prompt, "flipped": True}
        rows.append(FlipRow(row.name, row.first, row.second, flip_sentence(row), select))
    return flips_table(rows)


# ----------------------------------------------------------------------------- KPIs


def default_kpis_html(
    bias: Bias, failures: int | None = None, planned: int | None = None, right: str = ACCURACY_LABEL
) -> Markup:
    """HTML row of default key figures: consistency, first-position share, changes on a repeat,
    accuracy, unusable replies. `failures` and `planned` replace the numbers of unusable replies and
    of calls in `bias`; `right`: name shown for the accuracy."""
    if not bias.calls:
        return EMPTY
    kpis = [
        _consistency_kpi(bias),
        _record_kpi(bias, records.FIRST_SHARE, f"even {even_share(bias.option_numbers)}"),
        _record_kpi(bias, records.NOISE_FLOOR),
        _accuracy_kpi(bias, right),
        _failures_kpi(
            bias.failures if failures is None else failures,
            bias.calls if planned is None else planned,
        ),
    ]
    return kpi_strip(kpis)


def bias_kpis_html(bias: Bias, right: str = ACCURACY_LABEL) -> Markup:
    """HTML row of key figures of the bias view. Pairs: consistency, largest net flip rate (flips
    toward the first position minus toward the second), … N options: highest Grade Score (entropy
    and share of the most chosen answer, combined), consistency, most chosen position, …"""
    if not bias.calls:
        return EMPTY
    return kpi_strip(_option_kpis(bias) if bias.options > 2 else _pair_kpis(bias, right))


def _record_kpi(bias: Bias, record: MeasureRecord, beside: str = "", label: str = "") -> Kpi:
    """Key figure of a measure, under the name of its record unless `label` is given."""
    before = _REPEATED if record.key == records.NOISE_FLOOR.key else ""
    return share_kpi(label or record.name, bias.whole(record.key), before=before, beside=beside)


def _consistency_kpi(bias: Bias) -> Kpi:
    return _record_kpi(bias, records.CONSISTENCY, f"chance {share(random_consistency(bias), 0)}")


def _pair_kpis(bias: Bias, right: str) -> list[Kpi]:
    rows = [row for row in flip_leans(bias) if row.pairs]
    noise = bias.whole("noise_floor")
    fourth = _record_kpi(bias, records.NOISE_FLOOR)
    if noise.value is None and len(rows) > 1:
        fourth = _most_consistent_kpi(bias)
    return [
        _consistency_kpi(bias),
        _strongest_lean_kpi(bias, rows),
        _slot_preference_kpi(rows) if len(rows) > 1 else _accuracy_kpi(bias, right),
        fourth,
        _failures_kpi(bias.failures, bias.calls),
    ]


def _strongest_lean_kpi(bias: Bias, rows: list[FlipLean]) -> Kpi:
    """Key figure: largest net flip rate of a judge and prompt. A net flip rate is (flips toward the
    first position − flips toward the second) / pairs; the largest absolute value is taken."""
    label = "Largest net flip rate" if len(rows) > 1 else "Net flip rate"
    if not rows:
        return Kpi(label, "–", note="no pair was judged in both orders")
    fairness = bias.each("fairness")
    most = max(rows, key=lambda row: abs(fairness[row.judge, row.prompt].value or 0.0))
    lean = fairness[most.judge, most.prompt]
    value = None if lean.value is None else -lean.value
    unit = "" if not value else "toward first" if value > 0 else "toward second"
    negated = Estimate(
        value, None if lean.high is None else -lean.high, None if lean.low is None else -lean.low
    )
    name = f"{most.name} " if len(rows) > 1 else ""
    note = f"{name}{interval(negated, 0, scale=100)}, {count(most.pairs, 'pair')}"
    return Kpi(label, share(value, 0, signed=True), unit, note)


def _accuracy_kpi(bias: Bias, label: str) -> Kpi:
    base = "" if label == ACCURACY_LABEL else "; ties of people left out"
    return _record_kpi(bias, ACCURACY, f"chance {share(bias.right_chance, 0)}{base}", label)


def _slot_preference_kpi(rows: list[FlipLean]) -> Kpi:
    significant = sum(row.is_significant for row in rows)
    what = row_noun([(row.judge, row.prompt) for row in rows])
    plural = f"{what.capitalize()}s that prefer a position"
    label = "With a preferred position" if "-" in what else plural
    unit = f"of {count(len(rows), what)}" if "-" in what else f"of {count(len(rows))}"
    return Kpi(
        label,
        count(significant),
        unit,
        "sign test on flips, items as units, p < .05 after Holm's adjustment",
    )


def _most_consistent_kpi(bias: Bias) -> Kpi:
    each = bias.each("consistency")
    best = max(each, key=lambda row: _value_or_minus_one(each[row]))
    note = f"{bias.names[best[0], best[1]]} {interval(each[best], 1, scale=100)}"
    return Kpi("Highest consistency", share(each[best].value, 1), note=note)


def _option_kpis(bias: Bias) -> list[Kpi]:
    grades = bias.each("grade")
    best = max(grades, key=lambda row: _value_or_minus_one(grades[row]))
    top, chance = grades[best], RANDOM_GRADE.get(bias.options)
    slots = [bias.whole(f"slot {slot}") for slot in range(bias.options)]
    top_slot = max(range(bias.options), key=lambda slot: _value_or_minus_one(slots[slot]))
    name = bias.names[best[0], best[1]]
    chance_note = f"; chance {chance:.2f}" if chance is not None else ""
    even = f"even {share(1 / bias.options, 0)}"
    return [
        Kpi("Highest grade", number(top.value, 2), note=f"{name} {interval(top, 2)}{chance_note}"),
        _consistency_kpi(bias),
        share_kpi(f"Position {top_slot + 1}, chosen most", slots[top_slot], beside=even),
        _accuracy_kpi(bias, ACCURACY_LABEL),
        _failures_kpi(bias.failures, bias.calls),
    ]


def _failures_kpi(failures: int, planned: int) -> Kpi:
    return unusable_replies_kpi(
        failures, planned, "replies without a verdict; left out of position measures"
    )


def _value_or_minus_one(estimate: Estimate | None) -> float:
    return -1.0 if estimate is None or estimate.value is None else estimate.value


# ---------------------------------------------------------------------- first visit


def first_visit_rows(frame: pd.DataFrame) -> list[FirstVisitRow]:
    """Rows of the demo table on the Home tab by judge and prompt, the least consistent first.
    People's votes are left out."""
    frame, rows = machine_rows(frame), []
    for (judge, prompt), measures in rater_profile(frame, ["judge", "prompt"]).items():
        part = frame[(frame["judge"] == judge) & (frame["prompt"] == prompt)]
        select = {"judge": str(judge), "prompt": str(prompt), "flipped": True}
        labels, told = ", ".join(_label_names(part)), prompt_summary(part, measures)
        rows.append(FirstVisitRow(str(prompt), labels, measures["consistency"], told, select))
    return sorted(rows, key=lambda row: _value_or_minus_one(row.consistency))


def _label_names(frame: pd.DataFrame) -> list[str]:
    return sorted({name for text in frame["labels"].unique() for name in str(text).split(SEP)})


def prompt_summary(frame: pd.DataFrame, measures: dict[str, Estimate]) -> str:
    """Text on one row of the demo table: flips, noise floor, first-position share, accuracy, and
    whether the judge prefers a position or a label."""
    flips, noise = measures["conflict"].value, measures["noise_floor"].value
    if flips is None:
        return "No pair has been judged in both orders yet."
    parts = [f"Flips **{share(flips, 0)}** of pairs"]
    if noise is not None:
        parts[0] += f" ({share(noise, 0)} change on a repeat)"
    first, right = measures["first_share"].value, measures["accuracy"].value
    if first is not None:
        parts.append(f"picks the answer shown first in {share(first, 0)} of decisive verdicts")
    if right is not None:
        parts.append(f"correct in {share(right, 0)} of verdicts where the better answer is known")
    effects = slot_and_label_effects(frame)
    preferred = slot_or_label_sentence(effects["slot"], effects["label"], _label_names(frame))
    return f"{', '.join(parts)}. {preferred}"


def _excludes_half(share: Estimate) -> bool:
    return (share.low or 0.0) > 0.5 or (1.0 if share.high is None else share.high) < 0.5


def slot_or_label_sentence(slot: Estimate, label: Estimate, names: list[str]) -> str:
    """Sentence on whether the judge prefers a position or a label, by at least 10 points and with
    an interval that excludes an even share. `slot`, `label`: shares of the first position and of
    the first label; "" if one is unknown. `names`: the labels, sorted."""
    if slot.value is None or label.value is None:
        return ""
    pulls = tuple(abs((one.value or 0.0) - 0.5) * _excludes_half(one) for one in (slot, label))
    if max(pulls) < 0.1:
        return "No strong preference for a position or a label is shown."
    if pulls[0] >= pulls[1]:
        position = "first" if slot.value > 0.5 else "second"
        return f"The judge favours the **position**: {position}."
    return f"The judge favours the **label**: {names[0] if label.value > 0.5 else names[-1]}."


# ---------------------------------------------------------------- position or label


def show_slot_or_label(bias: Bias) -> Markup | None:
    """HTML forest plots by judge and prompt: shares of the first position and of the first label,
    against 50 %; None if labels were not crossed with positions."""
    slots, labels = bias.each("slot"), bias.each("label")
    rows = []
    for row, name in bias.names.items():
        if slots[row].value is None:
            continue
        names = list(bias.labels(row))
        first = names[0] if names else "first"
        marks = (
            _share_mark(slots[row], "the first position", "position"),
            _share_mark(labels[row], f"the label “{first}”", f"label {first}"),
        )
        rows.append((name, marks, slot_or_label_sentence(slots[row], labels[row], names)))
    if not rows:
        return None
    made: Markup = BIAS.slot_or_label(axis_html(SHARE_AXIS), rows)
    return made


def _share_mark(estimate: Estimate, what: str, word: str) -> tuple[Markup, str, Markup]:
    """Plot, word for phones, and value of a share of verdicts."""
    tip = (
        f"{share(estimate.value, 1)} {interval(estimate, 1, scale=100)}\nof verdicts go to {what}, "
        f"ties left out; 50 % means no preference\nn {count(estimate.n)}"
    )
    value = value_html(share(estimate.value, 0), interval(estimate, 0, scale=100))
    return forest_html(estimate, SHARE_AXIS, tip=tip), word, value


# ------------------------------------------------------------ noise and effect of the order

EntropySplit = dict[str, Estimate]


@memoise_by_study
def load_entropy_split(filtered: FilteredStudy) -> dict[CellKey, EntropySplit]:
    """Entropy of the verdict by judge and prompt: total, due to noise, due to order; only for
    judges and prompts with repeats in every order."""
    rows = filtered.machines
    if not len(rows) or not ((rows["repeat"] > 0).any()):
        return {}
    groups = rows.groupby(["judge", "prompt"], observed=True, sort=False)
    found = {(str(j), str(p)): split_entropy_by_order(part) for (j, p), part in groups}
    return {cell: got for cell, got in found.items() if got["total"].value}


def entropy_split_html(bias: Bias, split: dict[CellKey, EntropySplit]) -> Markup:
    """HTML sentence on how much of the uncertainty of each judge's verdicts is due to the order."""
    parts = []
    for cell, got in split.items():
        total, order = got["total"].value or 0.0, got["order"].value or 0.0
        if cell in bias.names and total > 0:
            told = f"{share(order / total, 0)} of {number(total, 2)} bits"
            parts.append(f"{bias.names[cell]} {told}")
    if not parts:
        return EMPTY
    text = (
        f"Share of the verdicts' entropy that is due to the order: {', '.join(parts)}; the rest "
        "is noise between repeats. With few repeats, the order's share is overestimated."
    )
    made: Markup = BIAS.note(text, "eh-entropy-split")
    return made
