"""Who wins how often: by contestant, category, judge and prompt, and what is missing. No gradio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pandas as pd

from components.bias.counts import bias_in
from components.drawing import matrix as heat
from components.drawing.grid import PERCENT, Head, counted, forest_cell, name, table, value
from components.drawing.levels import LevelRow, level_keys, level_table
from components.drawing.panels import Action, Axis, empty, notice, panel
from components.format import count, number, share
from components.protocol.creation import baseline_of
from components.scene import Scene
from components.voices import Voices
from components.wins.people import GAP, people_gaps
from metrics.creation import creation_table
from metrics.selection import contestants, items_by, pairs, people, picked, rows_of
from metrics.wins import manski, record, win_rate, win_rates
from studies.records import EVIDENCE, Estimate

BY: Final = {"Category": "category", "Judge": "judge", "Prompt": "prompt"}
VOICES: Final = ("Judges", "People", "Difference")
NOTHING: Final = empty("Nothing to show yet.", "No judgement of this selection has been stored.")
NO_PEOPLE: Final = empty(
    "Nobody voted here.", "People's win rates need votes: in the data, or from the Vote tab."
)


# -- by contestant -------------------------------------------------------------------------------


def rates_of(scene: Scene) -> dict[str, Estimate]:
    """Win rates under the rule in force, best first."""
    return {who: rate for who, rate in win_rate(scene.outcomes).items() if rate.n}


def even_share(frame: pd.DataFrame) -> float:
    """What a contestant wins by chance: 1/N, of the N most rows have."""
    sizes = frame["options"].value_counts()
    return 1 / max(int(sizes.index[0]), 2) if len(sizes) else 0.5


def show_rates(scene: Scene) -> str:
    """One line a contestant: rate, what the missing verdicts could make of it, ties."""
    rates = rates_of(scene)
    if not rates:
        return NOTHING
    counts, bounds = record(scene.outcomes), manski(scene.machines)
    axis = Axis(chance=even_share(scene.outcomes))
    missing = any(_missing(bounds.get(who)) for who in rates)
    heads = [
        Head("Contestant", numeric=False), Head("Win rate, %"), Head("", axis=axis), Head("Wins"),
        Head("Ties"), Head("Losses"),
    ]  # fmt: skip
    if missing:
        heads.append(Head("If all missing", tip="all missing verdicts lost, all won: bounds"))
    lines = [_rate_line(who, rates, counts, bounds, axis, missing) for who in rates]
    return _missing_notice(scene, rates) + table(heads, lines, label="Win rates")


def _rate_line(
    who: str,
    rates: Mapping[str, Estimate],
    counts: Mapping[str, Mapping[str, int]],
    bounds: Mapping[str, Estimate],
    axis: Axis,
    missing: bool,
) -> list[str]:
    rate, own, bound = rates[who], counts[who], bounds.get(who)
    select = {"contestant": who}
    tied = {**select, "slot": -1}
    span = None
    if bound is not None and bound.low is not None and bound.high is not None and missing:
        span = (bound.low, bound.high)
    line = [
        name(who, select),
        value(rate, PERCENT, who=f"win rate of {who}", select=select),
        forest_cell(rate, axis, PERCENT, f"win rate of {who}", select, bounds=span),
        counted(own["wins"]),
        counted(own["ties"], f"{share(own['ties'] / max(own['matches'], 1))} of verdicts", tied),
        counted(own["losses"]),
    ]
    if missing:
        ends = "–" if span is None else f"{number(100 * span[0], 1)}–{number(100 * span[1], 1)}"
        line.append(f'<span class="eh-ci">{ends}</span>')
    return line


def _missing(bound: Estimate | None) -> bool:
    return bound is not None and bound.low is not None and bound.low != bound.high


def _missing_notice(scene: Scene, rates: Mapping[str, Estimate]) -> str:
    """How many verdicts are missing, what they would do as ties, and what they could do at all."""
    failed = ~scene.machines["status"].isin(list(EVIDENCE)) & ~scene.machines["noise"]
    missing = int(failed.sum())
    if not missing:
        return ""
    best = next(iter(rates))
    asked = int((~scene.machines["noise"]).sum())
    combine, unreadable = scene.rule
    other = win_rate(scene.machines, combine, "exclude" if unreadable == "tie" else "tie").get(best)
    now = number(100 * (rates[best].value or 0), 1)
    told = f"{count(missing)} of {count(asked)} verdicts are missing. "
    if other is not None and other.value is not None:
        word = "Left out" if unreadable == "tie" else "As ties"
        told += f"{word}, {number(100 * other.value, 1)} instead of {now}\u202f% for {best}. "
    bound = manski(scene.machines).get(best)
    if bound is not None and bound.low is not None and bound.high is not None:
        low, high = number(100 * bound.low, 1), number(100 * bound.high, 1)
        told += f"All lost or all won: {low} to {high}\u202f%."
    title = "Counted as ties." if unreadable == "tie" else "Left out."
    return notice("warn", title, told, Action(f"Open {count(missing)}", {"status": "failures"}))


# -- by category, judge, prompt ------------------------------------------------------------------


def split_of(scene: Scene) -> str:
    """By category where the items have several, else by what else differs."""
    frame = scene.machines
    if len({str(group) for group in frame["category"].unique()} - {""}) > 1:
        return "Category"
    return "Judge" if frame["judge"].nunique() >= frame["prompt"].nunique() else "Prompt"


def show_matrix(scene: Scene, by: str, voice: str) -> str:
    """Contestants by category, judge or prompt: by the judges, by people, or the difference."""
    column = BY[by]
    if voice != "Judges":
        heard = Voices(scene).rows
        voters = rows_of(heard, people(heard))
        if voters.empty:
            return NO_PEOPLE
        if voice == "Difference":
            return _differences(scene)
        return _matrix(voters, "category", "Category")
    return _matrix(scene.outcomes, column, by) if len(scene.outcomes) else NOTHING


def _matrix(rows: pd.DataFrame, column: str, by: str) -> str:
    whole = {who: rate for who, rate in win_rate(rows).items() if rate.n}
    if not whole:
        return NOTHING
    cells: dict[tuple[str, str], Estimate | None] = {(n, "All"): e for n, e in whole.items()}
    for (group,), rates in win_rates(rows, [column]).items():
        cells |= {(who, str(group)): e for who, e in rates.items() if group and e.n}
    return _drawn(rows, list(whole), column, by, cells, wins_scale(even_share(rows)))


def wins_scale(even: float) -> heat.Scale:
    """From chance to all wins; below chance stays blank. Pairs: the scale of head-to-heads."""
    if even == 0.5:
        return heat.WINS
    ends = (f"{number(100 * even)} % even", "100 % chosen; below even stays blank")
    return heat.Scale("Wins", "w", even, 1, ends)


def _drawn(
    rows: pd.DataFrame,
    names: list[str],
    column: str,
    by: str,
    cells: Mapping[tuple[str, str], Estimate | None],
    scale: heat.Scale,
) -> str:
    sizes = items_by(rows, column)
    columns = [
        heat.Column("All", count(rows["item"].nunique(), "item")),
        *(heat.Column(group, str(n)) for group, n in sizes.items() if group),
    ]
    if len(columns) == 2 and column != "category":
        columns = columns[1:]
    total = columns[0].name == "All"
    return heat.matrix(
        names, columns, cells, scale, total=total, turns=True, keys=("contestant", by.lower())
    )


def _differences(scene: Scene) -> str:
    found = people_gaps(scene)
    if not found:
        return empty("No pair that people judged too.", "The difference is paired by item.")
    rows = scene.machines
    names = list(rates_of(scene)) or contestants(rows)
    return _drawn(rows, names, "category", "Category", found, GAP)


# -- five levels ---------------------------------------------------------------------------------


def show_levels(scene: Scene) -> str:
    """Stacks where verdicts have margins; nothing at all where they have not."""
    rows = pairs(scene.machines)
    strong = picked(rows)
    if strong.empty or not bool((strong["margin"] > 1).any()):
        return ""
    baseline = baseline_of(scene)
    found = creation_table(rows, baseline).get((), [])
    scored = any(row.vfs.value is not None for row in found)
    lines = [
        LevelRow(row.model, row.counts, row.fail, row.reward, row.win_rate,
                 row.vfs if scored else None, {"contestant": row.model})
        for row in found
    ]  # fmt: skip
    against = f"against {baseline}" if baseline else "against everyone met"
    subtitle = f"% of readable verdicts {against}, both orders; the tie is centred on the line"
    body = level_keys() + level_table(lines, baseline or "")
    return panel("Five levels", subtitle, body, how_text=HOW_LEVELS)


HOW_LEVELS: Final = (
    "`Reward = (100 MB + 50 B − 50 W − 100 MW) / readable`, `Win rate = (MB + B) / readable`: here "
    "a tie is no win. Failures are left out and shown. VFS: visual factuality, 0 to 10. Reward: "
    "item-cluster t; Win rate: Wilson at the effective n of the items."
)


# -- ties ----------------------------------------------------------------------------------------


def show_ties(scene: Scene) -> str:
    """How often each judge says tie, by prompt; nothing at all where nobody ever does."""
    rates = bias_in(scene).each("tie_rate")
    if not any(rate.value for rate in rates.values()):
        return ""
    axis = Axis()
    heads = [Head("Judge, prompt", numeric=False), Head("Ties, %"), Head("", axis=axis)]
    lines = []
    for (judge, prompt), rate in sorted(rates.items()):
        select = {"judge": judge, "prompt": prompt, "slot": -1}
        if rate.value is None:
            continue  # a format that only scores
        who = f"ties by {judge}, {prompt}"
        lines.append(
            [
                name(judge, select, prompt),
                value(rate, PERCENT, who=who, select=select),
                forest_cell(rate, axis, PERCENT, who, select),
            ]
        )
    return table(heads, lines, label="Tie rates")
