"""Position bias in numbers and words: what the bias panels show. No gradio here.

Functions of a frame draw what is in it; those that end in `_of` draw from counts made before.
"""

from __future__ import annotations

from typing import Final

import pandas as pd

from components.bias.counts import ROW, Bias, bias_of
from components.bias.matrix import BY_CATEGORY, MEASURES, SUBTITLES, matrix_of
from components.bias.words import Lean, finding_of, flip_sentence, leans_of, rows_are
from components.charts import Figure
from components.drawing.panels import FirstVisitRow, FlipRow, Kpi, empty, flips_table, kpi_strip
from components.drawing.pieces import not_evidence
from components.drawing.slots import SlotRow, slot_histogram
from components.format import count, interval, number, share
from components.rows import machine_rows
from components.voices import RIGHT
from metrics.grade import G_RANDOM
from metrics.labels import slot_and_label
from metrics.measures import Cell
from metrics.position import profile
from studies.frame import SEP
from studies.records import Estimate

MOST_SLOT_ROWS: Final = 6
"""So many rows of N bars, N above two, stand one under the other before prompts are pooled."""

__all__ = [
    "MEASURES",
    "SUBTITLES",
    "Lean",
    "first_visit_rows",
    "flip_sentence",
    "flips_of",
    "kpis_of",
    "leans",
    "pools_prompts",
    "show_finding",
    "show_flips",
    "show_kpis",
    "show_matrix",
    "show_slots",
    "slots_of",
    "strip_of",
]


def leans(frame: pd.DataFrame) -> list[Lean]:
    """One for each judge and prompt, p-values adjusted by Holm's step-down."""
    return leans_of(bias_of(frame))


def show_matrix(frame: pd.DataFrame, measure: str, layout: str = BY_CATEGORY) -> str:
    """Judges and prompts by category; the whole slice first, set apart."""
    return matrix_of(bias_of(frame), measure, layout, machine_rows(frame))


def show_slots(frame: pd.DataFrame) -> Figure | None:
    """How often each slot is chosen, against 1/N."""
    return slots_of(bias_of(frame))


def show_flips(frame: pd.DataFrame) -> str:
    """Diverging bars with a sentence each."""
    return flips_of(bias_of(frame))


def show_finding(frame: pd.DataFrame, recorded: bool = False) -> tuple[str, str]:
    """The headline and its lead: subject, direction and size."""
    return finding_of(bias_of(frame))


def show_kpis(frame: pd.DataFrame, failures: int, planned: int, right: str = RIGHT) -> str:
    """The usual strip of a results view."""
    return strip_of(bias_of(frame), failures, planned, right)


# --------------------------------------------------------------------------- panels


def slots_of(bias: Bias) -> Figure | None:
    """One row a judge and prompt; ties in a column of their own where there are pairs.

    Among N options many rows of N bars cannot be read: then prompts are pooled, and a filter shows
    one judge's prompts.
    """
    if not bias.asked:
        return None
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
    return slot_histogram(rows)


def pools_prompts(bias: Bias) -> bool:
    return bias.options > 2 and len(bias.names) > MOST_SLOT_ROWS


def _row_select(row: Cell) -> dict[str, str]:
    return dict(zip(ROW, row, strict=False))


def flips_of(bias: Bias) -> str:
    """Which way verdicts flip, judge by judge."""
    if bias.options != 2 or not bias.tables:
        return empty("No pairs here.", "Flips toward a side need pairs asked in both orders.")
    rows = [
        FlipRow(
            row.name, row.first, row.second, flip_sentence(row),
            {"judge": row.judge, "prompt": row.prompt, "flipped": True},
        )
        for row in sorted(leans_of(bias), key=lambda row: row.flips)
    ]  # fmt: skip
    return flips_table(rows)


# ----------------------------------------------------------------------------- KPIs


def strip_of(
    bias: Bias, failures: int | None = None, planned: int | None = None, right: str = RIGHT
) -> str:
    """The usual strip: five numbers, failures always one of them."""
    if not bias.asked:
        return ""
    kpis = [
        _kpi("Verdicts that survive a new order", bias.whole("consistency"),
             after=f"; coin {_coin(bias.options)}"),
        _kpi("Shown first wins", bias.whole("first_share")),
        _kpi("Flips without any swap", bias.whole("noise_floor"), before="noise floor; "),
        _kpi(right, bias.whole("accuracy")),
        _failures(bias.failures if failures is None else failures,
                  bias.asked if planned is None else planned),
    ]  # fmt: skip
    return kpi_strip(kpis)


def kpis_of(bias: Bias, right: str = RIGHT) -> str:
    """The strip of the bias view: what survives, who leans most, how many prefer a slot."""
    if not bias.asked:
        return ""
    return kpi_strip(_option_kpis(bias) if bias.options > 2 else _pair_kpis(bias, right))


def _pair_kpis(bias: Bias, right: str) -> list[Kpi]:
    rows = [row for row in leans_of(bias) if row.pairs]
    noise = bias.whole("noise_floor")
    fourth = _kpi("Flips without any swap", noise, before="noise floor; ")
    if noise.value is None and len(rows) > 1:
        fourth = _steadiest(bias)
    return [
        _kpi("Verdicts that survive the swap", bias.whole("consistency"),
             after=f"; coin {_coin(2)}"),
        _strongest(bias, rows),
        _preferring(rows) if len(rows) > 1 else _right(bias, right),
        fourth,
        _failures(bias.failures, bias.asked),
    ]  # fmt: skip


def _strongest(bias: Bias, rows: list[Lean]) -> Kpi:
    """The row that leans most, as a share of its pairs."""
    label = "Strongest lean" if len(rows) > 1 else "Lean of its flips"
    if not rows:
        return Kpi(label, "–", note="no pair was read in both orders")
    fairness = bias.each("fairness")
    most = max(rows, key=lambda row: abs(fairness[row.judge, row.prompt].value or 0.0))
    lean = fairness[most.judge, most.prompt]
    value = None if lean.value is None else -lean.value
    unit = "" if not value else "to first" if value > 0 else "to second"
    turned = Estimate(value, None if lean.high is None else -lean.high,
                      None if lean.low is None else -lean.low)  # fmt: skip
    name = f"{most.name} " if len(rows) > 1 else ""
    note = f"{name}{interval(turned, 0, scale=100)}, {count(most.pairs, 'pair')}"
    return Kpi(label, share(value, 0, signed=True), unit, note)


def _right(bias: Bias, label: str) -> Kpi:
    return _kpi(label, bias.whole("accuracy"), after=f"; coin {_coin(2)}")


def _preferring(rows: list[Lean]) -> Kpi:
    sure = sum(row.sure for row in rows)
    what = rows_are([(row.judge, row.prompt) for row in rows])
    label = "With a preferred slot" if "-" in what else f"{what.capitalize()}s that prefer a slot"
    unit = f"of {count(len(rows), what)}" if "-" in what else f"of {count(len(rows))}"
    return Kpi(label, count(sure), unit, "sign test on flips, p < .05, Holm")


def _steadiest(bias: Bias) -> Kpi:
    each = bias.each("consistency")
    best = max(each, key=lambda row: _value(each[row]))
    note = f"{bias.names[best[0], best[1]]} {interval(each[best], 1, scale=100)}"
    return Kpi("Most consistent", share(each[best].value, 1), note=note)


def _option_kpis(bias: Bias) -> list[Kpi]:
    grades = bias.each("grade")
    best = max(grades, key=lambda row: _value(grades[row]))
    top, coin = grades[best], G_RANDOM.get(bias.options)
    slots = [bias.whole(f"slot {slot}") for slot in range(bias.options)]
    place = max(range(bias.options), key=lambda slot: _value(slots[slot]))
    name = bias.names[best[0], best[1]]
    coin_note = f"; coin {coin:.2f}" if coin is not None else ""
    return [
        Kpi("Best grade", number(top.value, 2), note=f"{name} {interval(top, 2)}{coin_note}"),
        _kpi("Items that keep one choice", bias.whole("consistency"),
             after=f"; coin {_coin(bias.options)}"),
        _kpi(f"Place {place + 1}, chosen most", slots[place],
             after=f"; even {share(1 / bias.options, 0)}"),
        _kpi("Right", bias.whole("accuracy"), after=f"; coin {share(1 / bias.options, 0)}"),
        _failures(bias.failures, bias.asked),
    ]  # fmt: skip


def _failures(failures: int, planned: int) -> Kpi:
    return not_evidence(failures, planned, "unreadable, empty or failed; never counted as ties")


def _coin(options: int) -> str:
    return share((1 / options) ** (options - 1), 0)


def _kpi(label: str, estimate: Estimate, *, before: str = "", after: str = "") -> Kpi:
    value = "–" if estimate.value is None else share(estimate.value, 1)
    return Kpi(label, value, note=f"{before}{_note(estimate)}{after}")


def _note(estimate: Estimate) -> str:
    if estimate.value is None:
        return estimate.note or "not asked"
    return f"{interval(estimate, 1, scale=100)}, n {count(estimate.n)}"


def _value(estimate: Estimate | None) -> float:
    return -1.0 if estimate is None or estimate.value is None else estimate.value


# ---------------------------------------------------------------------- first visit


def first_visit_rows(frame: pd.DataFrame) -> list[FirstVisitRow]:
    """One line a prompt: flips, noise floor, share of the first slot, right on known pairs."""
    rows = []
    for (judge, prompt), measures in profile(frame, ["judge", "prompt"]).items():
        part = frame[(frame["judge"] == judge) & (frame["prompt"] == prompt)]
        select = {"judge": str(judge), "prompt": str(prompt), "flipped": True}
        rows.append(
            FirstVisitRow(
                str(prompt), _labels(part), measures["consistency"], meaning(part, measures), select
            )
        )
    return sorted(rows, key=lambda row: _value(row.consistency))


def _labels(frame: pd.DataFrame) -> str:
    names = sorted({name for text in frame["labels"].unique() for name in str(text).split(SEP)})
    return ", ".join(names)


def meaning(frame: pd.DataFrame, measures: dict[str, Estimate]) -> str:
    """What a line of the first screen means, in words made from its numbers."""
    flips, noise = measures["conflict"].value, measures["noise_floor"].value
    if flips is None:
        return "Not read in both orders yet."
    parts = [f"Flips **{share(flips, 0)}**"]
    if noise is not None:
        parts[0] += f" (noise floor {share(noise, 0)})"
    first, right = measures["first_share"].value, measures["accuracy"].value
    if first is not None:
        parts.append(f"{share(first, 0)} first")
    if right is not None:
        parts.append(f"right on {share(right, 0)} of known pairs")
    return ", ".join(parts) + ". " + blame(frame)


def blame(frame: pd.DataFrame) -> str:
    """Slot or label: told apart only where labels were crossed."""
    effects = slot_and_label(frame)
    names = sorted({n for text in frame["labels"].unique() for n in str(text).split(SEP)})
    return blamed(effects["slot"], effects["label"], names)


def blamed(slot: Estimate, label: Estimate, names: list[str]) -> str:
    """The same from finished numbers."""
    if slot.value is None or label.value is None:
        return ""
    pulls = (abs(slot.value - 0.5), abs(label.value - 0.5))
    if max(pulls) < 0.1:
        return "No strong taste for a place or a label."
    if pulls[0] >= pulls[1]:
        side = "first" if slot.value > 0.5 else "second"
        return f"It goes by **place**: the {side}."
    return f"It goes by **label**: {names[0] if label.value > 0.5 else names[-1]}."
