"""Agreement number by number: coefficients, distances, who could stand in, corrected win rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from components.agreement.data import Agreement
from components.agreement.view import WHAT_TO_DO
from components.drawing.panels import Axis, empty, forest_row, wrap
from components.drawing.tracks import (
    Cell,
    Row,
    axis_cell,
    bar,
    diamond,
    dumbbell,
    link,
    point,
    spread_axis,
    table,
    track,
)
from components.format import NONE, count, interval, number, rich, safe, share
from components.voices import NO_PEOPLE, select_of
from metrics.alignment import Alignment
from metrics.concord import PEOPLE, Concord
from metrics.corrected import Corrected
from metrics.intervals import unknown
from metrics.replacement import Replacement
from studies.records import Estimate

PAIR: Final = "two people"
OTHERS: Final = "a person, the others"
MEAN: Final = "a person, the others' mean"
ALWAYS_TIE: Final = "always tie"
SURELY_BEST: Final = 0.95
COLUMNS: Final = (
    "Same verdict, %", "Without ties, %", "Cohen's κ", "κ without ties", "Krippendorff's α", "MAE",
    "Within 1, %",
)  # fmt: skip


def show_coefficients(data: Agreement) -> str:
    """Judges against the people's majority, people against each other: all coefficients."""
    if not data.voices.has_people:
        return empty(NO_PEOPLE, WHAT_TO_DO)
    lines: list[tuple[str, bool, Concord, Alignment | None]] = []
    for name in data.ranked:
        if (got := data.with_people(name)) is not None:
            lines.append((name, False, got, data.distance(name, False)))
        if (both := data.merged_with_people.get(name)) is not None:
            lines.append((name, True, both, data.distance(name, True)))
    lines += [
        (PAIR, False, data.persons.pair, None),
        (OTHERS, False, data.persons.others, data.scores.among_people().aligned),
    ]
    heads = [Cell("Held against people", "nm"), *(Cell(safe(name)) for name in COLUMNS)]
    heads.append(Cell("n", "num n"))
    rows = [
        Row(
            [
                Cell(_both(name) if merged else _voice(data, name), "nm"),
                *(_cell(head, e) for head, e in zip(COLUMNS, _parts(got, far), strict=True)),
                Cell(count(got.share.n), "num n"),
            ],
            kind="who" if name in (PAIR, OTHERS) else "both" if merged else "",
        )
        for name, merged, got, far in lines
    ]
    return table(heads, rows, "numbers", "Agreement with people, all coefficients")


def _voice(data: Agreement, name: str) -> str:
    """A judge's name opens what it says otherwise than people."""
    if name not in data.voices.names:
        return safe(name)
    return link(name, select_of(data.voices, name) | {"unlike": PEOPLE})


def _both(name: str) -> str:
    return f'<span class="eh-mute"><span class="wide">{safe(name)}, </span>both orders</span>'


def _parts(got: Concord, far: Alignment | None) -> list[Estimate]:
    none = unknown("two votes have no mean of others", "score")
    distances = [none, none] if far is None else [far.mae, far.consistency]
    return [got.share, got.decisive, got.kappa, got.kappa_decisive, got.alpha, *distances]


def _cell(head: str, estimate: Estimate) -> Cell:
    percent = head.endswith("%")
    scale, decimals = (100, 1) if percent else (1, 2)
    label = f'<span class="lb">{safe(head)}</span>'
    if estimate.value is None:
        none = f'<span class="eh-mute" data-tip="{safe(estimate.note)}">{NONE}</span>'
        return Cell(label + none, "num")
    value = number(scale * estimate.value, decimals)
    bounds = interval(estimate, decimals, scale=scale)
    return Cell(f'{label}<b>{value}</b> <span class="eh-ci">{bounds}</span>', "num")


# ---------------------------------------------------------------------------- distances


def show_distances(data: Agreement) -> str:
    """MAE and Consistency of Creation-MMBench: hollow one order, solid both, people diamonds."""
    if not data.voices.has_people:
        return empty(NO_PEOPLE, WHAT_TO_DO)
    judges = [(name, data.distance(name, False), data.distance(name, True)) for name in data.ranked]
    judges = [line for line in judges if line[1].consistency.value is not None]
    if not judges:
        return empty("No pair that people judged too.", "Scores need verdicts on the same pairs.")
    people = data.scores.among_people().aligned
    tied = data.scores.always_tie().aligned
    every = [a.consistency for _, one, both in judges for a in (one, both)]
    axis = spread_axis([*every, people.consistency, tied.consistency], bounds=(0, 1))
    heads = [
        Cell("Judge", "nm"), Cell("MAE, one \u2192 both", "num m"), axis_cell(axis),
        Cell("Within 1, %", "num d"),
    ]  # fmt: skip
    rows = [_distance(name, one, both, axis) for name, one, both in judges]
    if people.mae.value is not None:
        rows.append(_alone(MEAN, people, diamond(axis, people.consistency)))
    hollow = track(axis, point("o", axis, tied.consistency.value))
    rows.append(_alone(ALWAYS_TIE, tied, hollow))
    return table(heads, rows, "short", "Distance from the people's mean", axis)


def _distance(name: str, one: Alignment, both: Alignment, axis: Axis) -> Row:
    mae = _arrow(one.mae, both.mae, 1, 2)
    said = _arrow(one.consistency, both.consistency, 100, 1)
    tip = (
        f"{name}\nMAE {number(both.mae.value, 2)} {interval(both.mae, 2)} both orders, "
        f"{number(one.mae.value, 2)} {interval(one.mae, 2)} one\n"
        f"Within 1 of the mean {share(both.consistency.value)} "
        f"{interval(both.consistency, 1, scale=100)}, n {count(both.consistency.n)}"
    )
    cells = [
        Cell(safe(name), "nm"), Cell(mae, "num m"),
        Cell(dumbbell(axis, one.consistency, both.consistency), "trk"), Cell(said, "num d"),
    ]  # fmt: skip
    return Row(cells, tip=tip)


def _arrow(one: Estimate, both: Estimate, scale: float, decimals: int) -> str:
    ends = [number(None if e.value is None else scale * e.value, decimals) for e in (one, both)]
    return f'<span class="eh-mute">{ends[0]} \u2192</span> <b>{ends[1]}</b>'


def _alone(name: str, got: Alignment, marks: str) -> Row:
    said = number(None if got.consistency.value is None else 100 * got.consistency.value, 1)
    cells = [
        Cell(safe(name), "nm"), Cell(f"<b>{number(got.mae.value, 2)}</b>", "num m"),
        Cell(marks, "trk"), Cell(f"<b>{said}</b>", "num d"),
    ]  # fmt: skip
    tip = f"{name}\nMAE {number(got.mae.value, 2)} {interval(got.mae, 2)}\nn {count(got.mae.n)}"
    return Row(cells, tip=tip, kind="who")


# ----------------------------------------------------------------------------- stand-ins


def show_stand_ins(data: Agreement) -> str:
    """Put in a person's place: above 0 the judge sides with the others more than that person."""
    if not data.voices.has_people:
        return empty(NO_PEOPLE, WHAT_TO_DO)
    known = [one for one in data.stand_ins if one.advantage.value is not None]
    if not known:
        return empty("No pair has two votes.", "A stand-in is held against the *other* voters.")
    axis = spread_axis([one.advantage for one in known], signed=True, holds=(0.0,))
    axis = replace(axis, chance=0.0)
    heads = [
        Cell("Judge", "nm"), axis_cell(axis), Cell("Judge − person", "num d"),
        Cell("Best, %", "num b"),
    ]  # fmt: skip
    rows = [_stand_in(one, axis) for one in known]
    words = f"{best_stand_in(known, data.voices.names)} {best_prompt(data.prompt_stand_ins)}"
    below = wrap(f'<p class="eh-small eh-under">{rich(words.strip())}</p>')
    return table(heads, rows, "short", "Judges in a person's place", axis) + below


def _stand_in(one: Replacement, axis: Axis) -> Row:
    gap = number(100 * (one.advantage.value or 0.0), 1, signed=True)
    bounds = interval(one.advantage, 1, scale=100)
    judge, person = (share(e.value) for e in (one.with_judge, one.with_person))
    cells = [
        Cell(safe(one.judge), "nm"),
        Cell(forest_row(one.advantage, axis), "trk"),
        Cell(f'<b>{gap}</b> <span class="eh-ci">{bounds}</span>', "num d"),
        Cell(number(None if one.best is None else 100 * one.best), "num b"),
    ]
    tip = (
        f"{one.judge}\nsides with the others on {judge}, the person it replaces on {person}\n"
        f"{gap} points {bounds}\nn {count(one.advantage.n)} pairs with two votes or more"
    )
    return Row(cells, tip=tip)


def best_prompt(prompts: Sequence[Replacement]) -> str:
    """Which prompt, all judges together, would replace a person best, and how sure that is."""
    known = [one for one in prompts if one.advantage.value is not None]
    if len(known) < 2:
        return ""
    first = known[0]
    gap = number(100 * (first.advantage.value or 0.0), 1, signed=True)
    sure = "" if first.best is None else f", leading in {share(first.best, 0)} of resamplings"
    return (
        f"Of {count(len(known), 'prompt')}, all judges together, **{first.judge}** comes closest: "
        f"{gap} points {interval(first.advantage, 1, scale=100)}{sure}."
    )


def best_stand_in(
    known: Sequence[Replacement], names: Mapping[str, tuple[str, str]] | None = None
) -> str:
    """Who would replace a person best, with which prompt, and how sure that is."""
    first = known[0]
    judge, prompt = (names or {}).get(first.judge, (first.judge, ""))
    several = len({cell[1] for cell in (names or {}).values()}) > 1
    who = f"**{judge}** with the prompt **{prompt}**" if several else f"**{first.judge}**"
    low, high = first.advantage.low, first.advantage.high
    if low is not None and low > 0:
        told = "sides with the others **more often than the person it replaces**"
    elif high is not None and high < 0:
        told = "sides with the others **less often than the person it replaces**"
    else:
        told = "cannot be told from the person it replaces"
    sides = f"({share(first.with_judge.value, 0)} against {share(first.with_person.value, 0)})"
    head = f"{who} would replace a person best: it {told} {sides}."
    if len(known) == 1 or first.best is None:
        return head
    if first.best >= SURELY_BEST:
        return f"{head} It leads in {share(first.best, 0)} of resamplings."
    next_best = max(known[1:], key=lambda one: one.best or 0.0)
    return (
        f"{head} It leads in {share(first.best, 0)} of resamplings only; {next_best.judge} in "
        f"{share(next_best.best, 0)}."
    )


# ------------------------------------------------------------------------------ corrected


def show_corrected(data: Agreement) -> str:
    """Win rates by people with the judges' help, beside the raw ones of both."""
    if not data.voices.has_people:
        return empty(NO_PEOPLE, WHAT_TO_DO)
    table_of = {name: one for name, one in data.corrected.items() if one.people.value is not None}
    if not table_of:
        why = (
            "All votes are on pairs that were picked because judges flip or disagree there; "
            "correcting needs votes on pairs chosen at random."
            if data.sought
            else "Corrected win rates start from people's votes."
        )
        return empty("No pair was voted on at random." if data.sought else "No votes.", why)
    every = [e for one in table_of.values() for e in (one.corrected, one.judge, one.people)]
    axis = spread_axis(every, holds=(0.5,), bounds=(0, 1))
    axis = replace(axis, chance=0.5)
    heads = [
        Cell("Contestant", "nm"), Cell("Judges, %", "num a"), Cell("People, %", "num b"),
        axis_cell(axis), Cell("Corrected, %", "num d"), Cell("Worth of votes", "num w"),
    ]  # fmt: skip
    rows = [_corrected(name, one, axis) for name, one in table_of.items()]
    said = {part for one in table_of.values() for part in one.corrected.note.split("; ") if part}
    words = "".join(f"{rich(note.capitalize())}. " for note in sorted(said))
    below = wrap(f'<p class="eh-small eh-mute eh-under">{words}</p>') if words else ""
    return table(heads, rows, "stand", "Corrected win rates", axis) + below


def _corrected(name: str, one: Corrected, axis: Axis) -> Row:
    marks = track(
        axis, bar("v", axis, one.corrected.low, one.corrected.high),
        point("s", axis, one.judge.value), point("q", axis, one.people.value),
        point("p", axis, one.corrected.value),
    )  # fmt: skip
    worth = NONE if one.worth is None else f"× {number(one.worth, 1)}"
    tip = (
        f"{name}\njudges − people {number(100 * (one.bias.value or 0.0), 1, signed=True)} "
        f"{interval(one.bias, 1, scale=100)} points on the same pairs\n"
        f"people's n {count(one.people.n)}, judges' n {count(one.judge.n)}"
    )
    cells = [
        Cell(safe(name), "nm"), Cell(_rate(one.judge), "num a"), Cell(_rate(one.people), "num b"),
        Cell(marks, "trk"), Cell(_rate(one.corrected, bold=True), "num d"), Cell(worth, "num w"),
    ]  # fmt: skip
    return Row(cells, tip=tip)


def _rate(estimate: Estimate, bold: bool = False) -> str:
    if estimate.value is None:
        return NONE
    value = number(100 * estimate.value, 1)
    value = f"<b>{value}</b>" if bold else value
    return f'{value} <span class="eh-ci">{interval(estimate, 1, scale=100)}</span>'
