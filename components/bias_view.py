"""Position bias in numbers and words: what the bias panels show. No gradio here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pandas as pd

from components import matrix as heat
from components.charts import Figure
from components.format import NARROW, count, interval, share
from components.panels import FirstVisitRow, FlipRow, Kpi, empty, flips_table, kpi_strip
from components.rows import machine_rows, row_names
from components.slots import SlotRow, slot_histogram
from metrics.labels import slot_and_label
from metrics.order_tests import sign
from metrics.position import flip_counts, profile, slot_shares, tie_rate
from studies.frame import SEP
from studies.records import Estimate

MEASURES: Final = {
    "Consistency": ("consistency", heat.CONSISTENCY),
    "Entropy": ("entropy", heat.ENTROPY),
    "First-slot share": ("first_share", heat.FIRST_SHARE),
    "Accuracy": ("accuracy", heat.ACCURACY),
}
SUBTITLES: Final = {
    "Consistency": f"% of comparisons whose verdict survives a new order; 95{NARROW}% CI",
    "Entropy": f"of the slot chosen, 1 = no slot preferred; 95{NARROW}% CI",
    "First-slot share": f"% of decisive verdicts for the answer shown first; 95{NARROW}% CI",
    "Accuracy": f"% right where the better answer is known; 95{NARROW}% CI",
}
SURE: Final = 0.05
"""A slot is called preferred below this p, Holm-adjusted over the rows shown."""


@dataclass(frozen=True, slots=True)
class Lean:
    """Which way one row's flips go, and whether that is more than chance."""

    name: str
    judge: str
    prompt: str
    pairs: int
    flips: int
    first: int
    second: int
    p: float

    @property
    def toward(self) -> str:
        return "first" if self.first > self.second else "second"


def leans(frame: pd.DataFrame) -> list[Lean]:
    """One for each judge and prompt, p-values adjusted by Holm's step-down."""
    found = []
    for (judge, prompt), name in row_names(frame).items():
        rows = frame[(frame["judge"] == judge) & (frame["prompt"] == prompt)]
        flips = flip_counts(rows)
        first, second = flips["toward_first"], flips["toward_second"]
        p = sign(first, second).p
        found.append(Lean(name, judge, prompt, flips["pairs"], flips["flips"], first, second, p))
    return _holm(found)


def _holm(found: list[Lean]) -> list[Lean]:
    order = sorted(range(len(found)), key=lambda i: found[i].p)
    adjusted, floor = {}, 0.0
    for step, i in enumerate(order):
        floor = max(floor, min(1.0, found[i].p * (len(found) - step)))
        adjusted[i] = floor
    return [
        Lean(r.name, r.judge, r.prompt, r.pairs, r.flips, r.first, r.second, adjusted[i])
        for i, r in enumerate(found)
    ]


def show_matrix(frame: pd.DataFrame, measure: str) -> str:
    """Judges and prompts by category; the whole slice first, set apart."""
    frame = machine_rows(frame)
    if frame.empty:
        return empty("Nothing to show yet.", "No judgement of this selection has been stored.")
    name, scale = MEASURES[measure]
    names = row_names(frame)
    whole = profile(frame, ["judge", "prompt"])
    by_category = profile(frame, ["judge", "prompt", "category"])
    cells: dict[tuple[str, str], Estimate | None] = {}
    for (judge, prompt), row in names.items():
        cells[row, "All"] = whole[judge, prompt][name]
        for (j, p, category), measures in by_category.items():
            if (j, p) == (judge, prompt) and category:
                cells[row, str(category)] = measures[name]
    rows = sorted(names.values(), key=lambda row: -_value(cells[row, "All"]))
    columns = [heat.Column("All", count(frame["item"].nunique(), "item")), *_categories(frame)]
    return heat.matrix(
        rows, columns, cells, scale, total=True, keys=("row", "category"), label_width=168
    )


def _categories(frame: pd.DataFrame) -> list[heat.Column]:
    sizes = frame.groupby("category", observed=True)["item"].nunique()
    return [heat.Column(str(name), str(size)) for name, size in sizes.items() if str(name)]


def _value(estimate: Estimate | None) -> float:
    return -1.0 if estimate is None or estimate.value is None else estimate.value


def show_slots(frame: pd.DataFrame) -> Figure | None:
    """How often each slot is chosen, against 1/N."""
    frame = machine_rows(frame)
    if frame.empty:
        return None
    options = int(frame["options"].max())
    rows = []
    for (judge, prompt), name in row_names(frame).items():
        part = frame[(frame["judge"] == judge) & (frame["prompt"] == prompt)]
        ties = tie_rate(part) if options == 2 else None
        select = {"judge": judge, "prompt": prompt}
        two_lines = name.replace(", ", "\n")
        rows.append(SlotRow(two_lines, slot_shares(part, options), ties, select))
    return slot_histogram(rows if options == 2 else rows[:1])


def show_flips(frame: pd.DataFrame) -> str:
    """Diverging bars with a sentence each."""
    pairs = machine_rows(frame)
    pairs = pairs[pairs["options"] == 2]
    if pairs.empty:
        return empty("No pairs here.", "Flips toward a side need pairs asked in both orders.")
    rows = [
        FlipRow(
            row.name, row.first, row.second, flip_sentence(row),
            {"judge": row.judge, "prompt": row.prompt, "flipped": True},
        )
        for row in sorted(leans(pairs), key=lambda row: row.flips)
    ]  # fmt: skip
    return flips_table(rows)


def flip_sentence(row: Lean) -> str:
    """'Prefers' only when the test says so."""
    if not row.pairs:
        return "No pair was read in both orders."
    if not row.flips:
        return f"All {count(row.pairs)} pairs keep their verdict."
    rate = share(row.flips / row.pairs, 0)
    if row.p >= SURE:
        return f"**No side preferred**; {rate} of pairs still flip."
    most, least = max(row.first, row.second), min(row.first, row.second)
    if row.flips > row.pairs / 2:
        share_of = f"{count(most)} of {count(row.flips)}"
        return f"Decides **by position**: {share_of} flips go to the {row.toward} answer."
    versus = f"{count(most)} flips against {count(least)}"
    return f"Wavers **toward the answer shown {row.toward}**: {versus}."


def show_finding(frame: pd.DataFrame, recorded: bool = False) -> tuple[str, str]:
    """The headline and its lead: subject, direction and size."""
    frame = machine_rows(frame)
    if frame.empty:
        return "Nothing has been judged yet.", "Run the study; this page fills while it runs."
    if int(frame["options"].max()) > 2:
        return _option_finding(frame)
    rows = leans(frame[frame["options"] == 2])
    sure = [row for row in rows if row.p < SURE]
    flips, pairs = sum(r.flips for r in rows), sum(r.pairs for r in rows)
    if not pairs:
        return "No pair has been read in both orders yet.", "Position bias needs both orders."
    lead = (
        "Swap two answers, and an even-handed judge mirrors its verdict. "
        "Blank is even-handed; more ink is more bias."
    )
    what = _rows_are(rows)
    rate = share(flips / pairs, 0)
    if len(rows) == 1:
        return f"Swap two answers, and {rows[0].judge} changes its mind on {rate} of pairs.", lead
    head = f"No {what} prefers a side for sure"
    if sure:
        head = f"{len(sure)} of {len(rows)} {what}s prefer a side"
    return f"{head}; swapping the answers changes {rate} of verdicts.", lead


def _rows_are(rows: list[Lean]) -> str:
    """What a row stands for, so that the finding counts the right thing."""
    if len({row.judge for row in rows}) == 1:
        return "prompt"
    return "judge" if len({row.prompt for row in rows}) == 1 else "judge-prompt pair"


def _option_finding(frame: pd.DataFrame) -> tuple[str, str]:
    options = int(frame["options"].max())
    shares = slot_shares(frame, options)
    best = max(range(options), key=lambda slot: _value(shares[slot]))
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
    value = shares[best].value
    if value is None:
        return "No item has been read in all rotations yet.", "Slots are compared within items."
    lead = (
        f"Each answer stood in each of {options} places once: a judge that goes by what it reads "
        f"picks every place in {share(1 / options, 0)} of trials."
    )
    return f"Of {options} places, the {words[best]} wins {share(value, 0)} of the time.", lead


def show_kpis(frame: pd.DataFrame, failures: int, planned: int) -> str:
    """Five numbers at most; failures are always one of them."""
    frame = machine_rows(frame)
    if frame.empty:
        return ""
    whole = profile(frame)[()]
    consistent = whole["consistency"]
    kpis = [
        _kpi("Verdicts that survive a new order", consistent, after=f"; coin {_coin(frame)}"),
        _kpi("Shown first wins", whole["first_share"]),
        _kpi("Flips without any swap", whole["noise_floor"], before="noise floor; "),
        _kpi("Right on known pairs", whole["accuracy"]),
        Kpi(
            "Not evidence", count(failures), f"of {count(planned)}",
            "unreadable, empty or failed; never counted as ties",
        ),
    ]  # fmt: skip
    return kpi_strip(kpis)


def _coin(frame: pd.DataFrame) -> str:
    options = int(frame["options"].max())
    return share((1 / options) ** (options - 1), 0)


def _kpi(label: str, estimate: Estimate, *, before: str = "", after: str = "") -> Kpi:
    value = "–" if estimate.value is None else share(estimate.value, 1)
    return Kpi(label, value, note=f"{before}{_note(estimate)}{after}")


def _note(estimate: Estimate) -> str:
    if estimate.value is None:
        return estimate.note or "not asked"
    return f"{interval(estimate, 1, scale=100)}, n {count(estimate.n)}"


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
    slot, label = effects["slot"], effects["label"]
    if slot.value is None or label.value is None:
        return ""
    pulls = (abs(slot.value - 0.5), abs(label.value - 0.5))
    if max(pulls) < 0.1:
        return "No strong taste for a place or a label."
    if pulls[0] >= pulls[1]:
        side = "first" if slot.value > 0.5 else "second"
        return f"It goes by **place**: the {side}."
    names = sorted({n for text in frame["labels"].unique() for n in str(text).split(SEP)})
    return f"It goes by **label**: {names[0] if label.value > 0.5 else names[-1]}."
