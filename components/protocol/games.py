"""MT-Bench's own numbers: adjusted win rates, and what the two games of a pair say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from components.drawing.grid import (
    PERCENT,
    Head,
    counted,
    forest_cell,
    name,
    table,
    value,
)
from components.drawing.panels import Axis, Kpi, empty, wrap
from components.format import count, number, rich, share
from components.protocol.ratings import rating_rows
from components.protocol.sections import rows_of_protocol
from components.rows import machine_rows
from components.scene import Scene
from metrics.agreement import CASE
from metrics.measures import Evidence
from metrics.preference import ratings
from metrics.selection import combinations, group_codes, pairs, rows_of
from metrics.wins import record, win_rate


def game_rows(scene: Scene) -> pd.DataFrame:
    rows = machine_rows(rows_of_protocol(scene, "pairwise", "five-level"))
    return pairs(rows)


# -- adjusted win rates --------------------------------------------------------------------------


def show_wins(scene: Scene) -> str:
    """Wins, losses, ties and (wins + ties/2) / all, both games merged by the rule in force."""
    rows = game_rows(scene)
    combine, unreadable = scene.rule
    found = win_rate(rows, combine, unreadable) if len(rows) else {}
    rates = {model: rate for model, rate in found.items() if rate.n}
    if not rates:
        return empty("No pair has been read yet.", "Win rates need pairs of answers.")
    counts = record(rows, combine, unreadable)
    axis = Axis(chance=0.5)
    heads = [
        Head("Model", numeric=False), Head("Adjusted win rate, %"), Head("", axis=axis),
        Head("Wins"), Head("Losses"), Head("Ties"), Head("Matches"),
    ]  # fmt: skip
    lines = []
    for model, rate in rates.items():
        own, select = counts[model], {"contestant": model}
        who = f"adjusted win rate of {model}"
        lines.append(
            [
                name(model, select),
                value(rate, PERCENT, who=who, select=select),
                forest_cell(rate, axis, PERCENT, who, select),
                counted(own["wins"]),
                counted(own["losses"]),
                counted(own["ties"]),
                counted(own["matches"]),
            ]
        )
    return table(heads, lines, label="Adjusted win rates")


@dataclass(frozen=True, slots=True)
class Conflicts:
    """What the two games of each pair say, for one judge and prompt."""

    judge: str
    prompt: str
    pairs: int
    """Both games read."""
    agree: int
    both_first: int
    """The answer shown first was chosen in both games."""
    both_second: int
    one_tie: int
    toward_first: int
    """Flips that lean to the first, those with one tie too."""
    toward_second: int
    dropped: int
    """Pairs with a game that could not be read."""

    @property
    def unequal(self) -> int:
        return self.both_first + self.both_second + self.one_tie


def conflicts(scene: Scene) -> list[Conflicts]:
    """By judge and prompt, over pairs asked in both orders."""
    rows = game_rows(scene)
    rows = rows_of(rows, ~rows["noise"].to_numpy() & (rows["orders"] > 1).to_numpy())
    found = []
    for judge, prompt in combinations(rows, ("judge", "prompt")):
        mine = rows_of(rows, (rows["judge"] == judge) & (rows["prompt"] == prompt))
        found.append(_conflicts(str(judge), str(prompt), mine))
    return [one for one in found if one.pairs + one.dropped]


def _conflicts(judge: str, prompt: str, rows: pd.DataFrame) -> Conflicts:
    asked = group_codes(rows, CASE)[1]
    sets = Evidence(rows).sets
    lean = sets["lean"].to_numpy()
    hard, flips = sets["hard"].to_numpy(), ~sets["consistent"].to_numpy()
    return Conflicts(
        judge, prompt, len(sets), int(sets["consistent"].sum()),
        int((hard & (lean > 0)).sum()), int((hard & (lean < 0)).sum()), int(sets["soft"].sum()),
        int((flips & (lean > 0)).sum()), int((flips & (lean < 0)).sum()), asked - len(sets),
    )  # fmt: skip


def show_conflicts(found: Sequence[Conflicts]) -> str:
    if not found:
        return empty("No pair was asked in both orders.", "Conflicts need two games.")
    heads = [
        Head("Judge, prompt", numeric=False), Head("Pairs"), Head("Games agree"),
        Head("First both times"), Head("Second both times"), Head("One tie, one win"),
        Head("Dropped", tip="pairs with a game that could not be read"),
    ]  # fmt: skip
    lines = []
    for one in found:
        select = {"judge": one.judge, "prompt": one.prompt}
        flips = {**select, "flipped": True}
        lines.append(
            [
                name(one.judge, select, one.prompt),
                count(one.pairs),
                f"{count(one.agree)} {_percent(one.agree, one.pairs)}",
                counted(one.both_first, _leaning("first", one), {**flips, "toward": "first"}),
                counted(one.both_second, _leaning("second", one), {**flips, "toward": "second"}),
                counted(one.one_tie, "a win in one game, a tie in the other", flips),
                counted(one.dropped, "no verdict in a game", {**select, "status": "failures"}),
            ]
        )
    return table(heads, lines, label="Conflicts between the two games")


def _leaning(side: str, one: Conflicts) -> str:
    """A click opens every flip that leans to a side, also those with a tie in one game."""
    leaning = one.toward_first if side == "first" else one.toward_second
    return f"the {side} shown won both games\nopens all {leaning} flips toward the {side}"


def _percent(part: int, whole: int) -> str:
    return f'<span class="eh-ci">{share(part / whole, 0)}</span>' if whole else ""


# -- words ---------------------------------------------------------------------------------------


def tell(scene: Scene) -> tuple[str, str]:
    rows = game_rows(scene)
    rates = win_rate(rows, *scene.rule) if len(rows) else {}
    rates = {model: rate for model, rate in rates.items() if rate.value is not None}
    if not rates:
        found = ratings(rating_rows(scene)) if len(rating_rows(scene)) else {}
        if found:
            best = max(found, key=lambda model: found[model].value or 0.0)
            said = f"{best} has the highest rating: {number(found[best].value, 2)} of 10."
            return said, "The mean over items of each model's mean rating."
        return "No verdict yet.", "This page fills while the study runs."
    best = next(iter(rates))
    clash = conflicts(scene)
    unequal, asked = sum(one.unequal for one in clash), sum(one.pairs for one in clash)
    lead = "Adjusted win rate: (wins + half the ties) / all, the two games of a pair merged."
    if asked:
        lead = f"{count(unequal)} of {count(asked)} pairs have unequal games. {lead}"
    return f"{best} has the highest adjusted win rate: {share(rates[best].value)}.", lead


def game_kpis(scene: Scene) -> list[Kpi]:
    rows = game_rows(scene)
    rates = win_rate(rows, *scene.rule) if len(rows) else {}
    kpis = []
    best = next((model for model, rate in rates.items() if rate.value is not None), None)
    if best is not None:
        note = f"{best} {PERCENT.bounds(rates[best])}, n {count(rates[best].n)}"
        kpis.append(Kpi("Adjusted win rate", share(rates[best].value), note=note))
    clash = conflicts(scene)
    asked = sum(one.pairs for one in clash)
    if asked:
        kpis += [
            Kpi("First shown, both games", count(sum(o.both_first for o in clash)),
                f"of {count(asked)}", "pairs in conflict toward the first"),
            Kpi("Second shown, both games", count(sum(o.both_second for o in clash)),
                f"of {count(asked)}", "pairs in conflict toward the second"),
        ]  # fmt: skip
    return kpis


def unequal_sentence(found: Sequence[Conflicts]) -> str:
    """What the two games of a pair say together, in one line."""
    asked, unequal = sum(one.pairs for one in found), sum(one.unequal for one in found)
    if not asked:
        return ""
    first, second = sum(o.both_first for o in found), sum(o.both_second for o in found)
    said = (
        f"**{count(unequal)} of {count(asked)}** pairs have unequal games: the first shown won "
        f"both {count(first)} times, the second {count(second)} times."
    )
    return wrap(f'<p class="eh-small">{rich(said)}</p>')
