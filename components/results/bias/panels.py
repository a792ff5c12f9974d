"""Contents of the bias panels as HTML and figures, without Gradio.

A flip is a comparison whose verdict changes with the order of the answers."""

from typing import Final

from components.charts.figure_parts import Figure
from components.charts.slot_histogram import SlotRow, slot_histogram_figure
from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html.format import count, even_share_text, interval, number, share, spaced_ci
from components.html.markup import EMPTY, Markup
from components.html.pieces import Kpi, empty_state, kpi_strip, share_kpi, unusable_replies_kpi
from components.html.tables.forest_cells import Axis, axis_html, forest_html, value_html
from components.html.tables.forest_tables import FlipRow, flips_table
from components.html.templates import macros
from components.results.bias.computed import ROW_COLUMNS, Bias
from components.results.bias.flip_leans import differs_from_half, flip_leans
from components.results.bias.sentences import (
    consistency_by_chance,
    flip_sentence,
    missing_orders_text,
)
from metrics.catalogue import position_records as records
from metrics.catalogue.answer_records import ACCURACY
from metrics.catalogue.record import MeasureRecord
from metrics.estimation.entropy import split_entropy_by_order
from metrics.estimation.measures import CellKey
from metrics.estimation.multiple_comparisons import simultaneous_interval
from studies.domain import Estimate

MAX_SLOT_ROWS: Final = 6
"""For more than two options, the histogram has one row per judge and prompt if there are at most
this many; otherwise one row per judge, with prompts pooled."""
SHARE_AXIS: Final = Axis(chance=0.5)
LABELS_NOT_CROSSED: Final = (
    "The first answer always had the first label, so the effects of position and label cannot be "
    "separated. Set `labels: crossed` to separate them."
)
BIAS: Final = macros("results/bias/bias.html")
MIN_PULL: Final = 0.1
"""Smallest distance of a share of verdicts from ½ that is called a preference."""


def chosen_slot_histogram(bias: Bias) -> Figure | None:
    """Histogram of the positions chosen, one row per judge and prompt; for pairs, with a column for
    ties. With more than two options and more than MAX_SLOT_ROWS rows, one row per judge. None if
    no prompt asks for a choice among answers."""
    if not bias.names:
        return None
    each = bias.by_rater
    names: dict[CellKey, str] = {row: name.replace(", ", "\n") for row, name in bias.names.items()}
    if pools_prompts_in_histogram(bias):
        each, names = bias.by_judge, {(judge,): judge for judge, _ in bias.names}
    shares = [each(f"slot {slot}") for slot in range(bias.max_options)]
    ties = each("tie_rate") if bias.max_options == 2 else {}
    rows = []
    for row, name in names.items():
        select = dict(zip(ROW_COLUMNS, row, strict=False))
        rows.append(SlotRow(name, [one[row] for one in shares], ties.get(row), select))
    return slot_histogram_figure(rows)


def pools_prompts_in_histogram(bias: Bias) -> bool:
    return bias.max_options > 2 and len(bias.names) > MAX_SLOT_ROWS


def flip_directions_html(bias: Bias) -> Markup:
    """HTML table of the direction of flips, by judge and prompt; a message if no pair was judged in
    both orders, or if some comparisons have more than two options. A judge with a prompt is left
    out if none of its pairs was to be judged in both orders."""
    asked = [row for row in flip_leans(bias) if row.pairs or row.missing]
    if bias.max_options != 2 or not asked:
        return empty_state("No flips here.", missing_orders_text(bias.max_orders))
    rows = []
    for row in sorted(asked, key=lambda row: row.flips):
        select = {"judge": row.judge, "prompt": row.prompt, "flipped": True}
        rows.append(FlipRow(row.name, row.first, row.second, flip_sentence(row), select))
    return flips_table(rows)


# ----------------------------------------------------------------------------- KPIs


def position_bias_kpis_html(
    bias: Bias, failures: int | None = None, planned: int | None = None, by_design: bool = True
) -> Markup:
    """HTML row of key figures: consistency, first-position share, changes on a repeat, accuracy,
    unusable replies; empty without calls.

    Accuracy is left out unless `by_design` (the better answers are known by the design of the
    data). `failures` and `planned` replace the numbers of unusable replies and of calls."""
    if not bias.call_count:
        return EMPTY
    accuracy = f"chance {share(bias.accuracy_by_chance, 0)}"
    kpis = [
        _measure_kpi(bias, records.CONSISTENCY, f"chance {share(consistency_by_chance(bias), 0)}"),
        _measure_kpi(bias, records.FIRST_SHARE, f"even {even_share_text(bias.numbers_of_options)}"),
        _measure_kpi(bias, records.NOISE_FLOOR),
        *([_measure_kpi(bias, ACCURACY, accuracy)] if by_design else []),
        unusable_replies_kpi(
            (bias.unusable_reply_count if failures is None else failures),
            (bias.call_count if planned is None else planned),
            "replies without a verdict; left out of position measures",
        ),
    ]
    return kpi_strip(kpis)


def _measure_kpi(bias: Bias, record: MeasureRecord, beside: str = "") -> Kpi:
    """Key figure of a measure, under the name of its record; `beside`: text on the level to compare
    it with, such as "chance 50 %"."""
    before = "of comparisons repeated in the same order; " * (record is records.NOISE_FLOOR)
    return share_kpi(record.name, bias.overall(record.key), before=before, beside=beside)


def slot_or_label_preference_sentence(
    slot: Estimate, label: Estimate, names: list[str], prefers: bool, tests: float
) -> str:
    """Sentence on whether the judge prefers a position or a label, whichever is stronger; "" if a
    share is unknown. `slot` and `label` are the shares of the first position and of the first
    label in `names`, which are sorted. A preference is a share that differs from ½ by at least
    MIN_PULL and significantly.

    The sentence says "not adjusted for several tests" if the preference does not hold after the
    adjustment: for a position, if the flips do not show it (`prefers` is False); for a label,
    if its interval, widened for `tests` tests, contains ½."""
    if slot.value is None or label.value is None:
        return ""
    pulls = tuple(abs((one.value or 0.0) - 0.5) * differs_from_half(one) for one in (slot, label))
    if max(pulls) < MIN_PULL:
        least = f"{100 * MIN_PULL:g} points"
        return f"No preference of {least} or more for a position or a label is shown."
    if pulls[0] >= pulls[1]:
        kind, other, name = "position", "label", "first" if slot.value > 0.5 else "second"
    else:
        kind, other, name = "label", "position", names[0] if label.value > 0.5 else names[-1]
        prefers = differs_from_half(simultaneous_interval(label, tests))
    if prefers:
        return f"The judge favours the **{kind}**: {name}."
    return f"Not adjusted for several tests: rather the {kind} ({name}) than the {other}."


# ---------------------------------------------------------------- position or label


def show_slot_and_label_shares(bias: Bias) -> Markup | None:
    """HTML forest plots by judge and prompt: shares of verdicts for the first position and for the
    first label, against 50 %; None if labels were not crossed with positions."""
    slots, labels = bias.by_rater("slot"), bias.by_rater("label")
    prefers = {(row.judge, row.prompt): row.is_significant for row in flip_leans(bias)}
    tests = bias.bonferroni_factor
    rows = []
    for row, name in bias.names.items():
        if slots[row].value is None:
            continue
        names = list(bias.labels(row))
        first = names[0] if names else "first"
        marks = (
            _plot_name_and_value(slots[row], "the first position", "position"),
            _plot_name_and_value(labels[row], f"the label “{first}”", f"label {first}"),
        )
        shares = slots[row], labels[row]
        told = slot_or_label_preference_sentence(*shares, names, prefers[row[0], row[1]], tests)
        rows.append((name, marks, told))
    return BIAS.slot_or_label(axis_html(SHARE_AXIS), rows) if rows else None


def _plot_name_and_value(estimate: Estimate, chosen: str, name: str) -> tuple[Markup, str, Markup]:
    """(plot, `name`, value with its interval) of a share of verdicts. `name` is shown on phones
    only. `chosen`: words in the hover card for the position or label that these verdicts chose."""
    tip = (
        f"{share(estimate.value, 1)}{spaced_ci(estimate, 1, scale=100)}\nof verdicts go to {chosen}"
        f", ties left out; 50 % means no preference\nn {count(estimate.n)}"
    )
    value = value_html(share(estimate.value, 0), interval(estimate, 0, scale=100))
    return forest_html(estimate, SHARE_AXIS, tip=tip), name, value


# ------------------------------------------------------------ noise and effect of the order

EntropySplit = dict[str, Estimate]


@memoise_by_study
def load_entropy_by_cause(filtered: FilteredStudy) -> dict[CellKey, EntropySplit]:
    """(judge, prompt) -> entropy of its verdicts in bits, by part: "total", and the parts due to
    noise and to order. Left out where the total is 0, or unknown for lack of repeats."""
    rows = filtered.measured_judge_rows
    if not len(rows) or not ((rows["repeat"] > 0).any()):
        return {}
    groups = rows.groupby(["judge", "prompt"], observed=True, sort=False)
    found = {(str(j), str(p)): split_entropy_by_order(part) for (j, p), part in groups}
    return {cell: got for cell, got in found.items() if got["total"].value}


def order_share_of_entropy_html(bias: Bias, split: dict[CellKey, EntropySplit]) -> Markup:
    """HTML sentence on how much of the uncertainty of each judge's verdicts is due to the order;
    empty if it is unknown for all."""
    parts = []
    for cell, got in split.items():
        total, order = got["total"].value or 0.0, got["order"].value or 0.0
        if cell in bias.names and total > 0:
            part = share(order / total, 0)
            parts.append(f"{bias.names[cell]} {part} of {number(total, 2)} bits")
    if not parts:
        return EMPTY
    text = (
        f"Share of the verdicts' entropy that is due to the order: {', '.join(parts)}; the rest "
        "is noise between repeats. With few repeats, the order's share is overestimated."
    )
    return BIAS.note(text, "eh-entropy-split")
