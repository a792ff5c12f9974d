"""The people who voted, one line each, who stands out and why, and the numbers without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from components.agreement.data import Agreement
from components.drawing.panels import empty, notice, wrap
from components.drawing.tracks import Cell, Row, link, table
from components.format import NONE, count, duration, interval, number, rich, safe, share
from components.voices import NO_PEOPLE
from metrics.voters import Voter
from studies.records import HUMAN_PREFIX, Estimate

SHOWN: Final = 12
"""People in view at once; the rest is folded."""
MOST: Final = 300
"""Lines at most, however many voted: the export has all of them."""
HEADS: Final = (
    "Votes", "First side, %", "Same when swapped, %", "Ties, %", "With the others, %",
    "Those others, %", "Right, %", "Pace",
)  # fmt: skip
ALL_VOTES: Final = "All votes, %"
TWO: Final = "two people"
MARKS: Final = {
    "apart": "apart from the others",
    "one side": "one side",
    "unsteady": "unsteady",
    "too fast": "too fast",
}


def told(data: Agreement) -> str:
    """Under the panel's heading: how many, and that nobody is left out."""
    people = data.voters
    if not people:
        return ""
    flagged = sum(bool(one.flags) for one in people)
    out = "nobody stands out" if not flagged else f"{flagged} stand out, and stay in all numbers"
    out = "1 stands out, and stays in all numbers" if flagged == 1 else out
    cast = sum(one.votes for one in people)
    return f"{_persons(len(people))}, {count(cast, 'vote')}; {out}"


def _persons(number_of: int) -> str:
    return "1 person" if number_of == 1 else f"{count(number_of)} people"


def show_voters(data: Agreement) -> str:
    """Who stands out first, then by number of votes; each name opens that person's votes."""
    people = data.voters
    if not people:
        return empty(NO_PEOPLE, "Whoever votes has a line here.")
    made = _table(people[:SHOWN], "The people who voted")
    if rest := people[SHOWN:MOST]:
        more = _table(rest, "More people who voted")
        head = f"<summary>Show {count(len(rest))} more</summary>"
        made += wrap(f'<details class="eh-rest">{head}{more}</details>')
    if len(people) > MOST:
        left = f"{count(len(people) - MOST)} more people voted; export the votes to see them all."
        made += wrap(f'<p class="eh-small eh-mute eh-under">{safe(left)}</p>')
    return made + _reasons([one for one in people if one.flags]) + _beside(data)


def _table(people: Sequence[Voter], label: str) -> str:
    heads = [Cell("Person", "nm"), *(Cell(safe(name)) for name in HEADS)]
    return table(heads, [_line(one) for one in people], "numbers eh-people", label)


def _line(one: Voter) -> Row:
    name = link(one.name, {"judge": HUMAN_PREFIX + one.name})
    mark = f' <span class="eh-badge s-unreadable">{_marks(one)}</span>' if one.flags else ""
    cells = [
        _labelled(HEADS[0], count(one.votes)),
        _share(HEADS[1], one.first), _share(HEADS[2], one.steady), _share(HEADS[3], one.ties),
        _share(HEADS[4], one.others),
        _labelled(HEADS[5], NONE if one.rest is None else number(100 * one.rest, 0)),
        _share(HEADS[6], one.skill), _pace(one),
    ]  # fmt: skip
    return Row([Cell(f"{name}{mark}", "nm"), *cells])


def _marks(one: Voter) -> str:
    return ", ".join(MARKS[flag.rule] for flag in one.flags)


def _labelled(head: str, value: str) -> Cell:
    return Cell(f'<span class="lb">{safe(head)}</span>{value}', "num")


def _share(head: str, estimate: Estimate) -> Cell:
    label = f'<span class="lb">{safe(head)}</span>'
    if estimate.value is None:
        why = f'<span class="eh-mute" data-tip="{safe(estimate.note)}">{NONE}</span>'
        return Cell(label + why, "num")
    bounds = interval(estimate, 0, scale=100)
    tip = f'data-tip="n {count(estimate.n)}"'
    value = number(100 * estimate.value, 0)
    return Cell(f'{label}<b {tip}>{value}</b> <span class="eh-ci">{bounds}</span>', "num")


def _pace(one: Voter) -> Cell:
    if one.seconds is None:
        none = f'<span class="eh-mute" data-tip="not timed">{NONE}</span>'
        return _labelled(HEADS[7], none)
    tip = f'data-tip="median of {count(one.timed, "timed vote")}"'
    return _labelled(HEADS[7], f"<span {tip}>{duration(one.seconds)}</span>")


def _reasons(people: Sequence[Voter]) -> str:
    if not people:
        return ""
    lines = "".join(
        f"<li><b>{safe(one.name)}</b> {safe(flag.reason)}.</li>"
        for one in people[:SHOWN]
        for flag in one.flags
    )
    return wrap(f'<ul class="eh-plain eh-small eh-under eh-reasons">{lines}</ul>')


# ---------------------------------------------------------------- what depends on whom one asks


def _beside(data: Agreement) -> str:
    """Agreement by all votes, beside the same without who stands out and by random choice only."""
    columns = {ALL_VOTES: data.by_all_votes}
    if data.flagged:
        columns[f"Without {_named(data.flagged)}, %"] = data.without_flagged
    if data.sought:
        columns["Pairs chosen at random, %"] = data.at_random
    if len(columns) == 1:
        return ""
    heads = [Cell("Same verdict", "nm"), *(Cell(safe(name)) for name in columns)]
    rows = [
        Row(
            [
                Cell(safe(voice), "nm"),
                *(_share_of(head, values.get(voice)) for head, values in columns.items()),
            ],
            kind="who" if voice == TWO else "",
        )
        for voice in columns[ALL_VOTES]
    ]
    made = table(heads, rows, "numbers", "Agreement by all votes and by fewer")
    head = "<h3>What it changes</h3>"
    return wrap(f'<div class="eh-beside">{head}{made}</div>')


def _named(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"the {len(names)} who stand out"


def _share_of(head: str, estimate: Estimate | None) -> Cell:
    if estimate is None or estimate.value is None:
        return _labelled(head, NONE)
    value = f"<b>{number(100 * estimate.value, 1)}</b>"
    bounds = interval(estimate, 1, scale=100)
    n = f'<span class="eh-mute">n {count(estimate.n)}</span>'
    return _labelled(head, f'{value} <span class="eh-ci">{bounds}</span> {n}')


# ---------------------------------------------------------------- how the pairs came to be voted on


def show_sought(data: Agreement) -> str:
    """Above the panels, where people were sent to pairs because judges flip or disagree there."""
    if not data.sought:
        return ""
    text = (
        f"{count(data.sought)} of {count(data.votes_cast)} votes are on pairs that were picked "
        "because judges flip or disagree there. They are good for finding faults. Agreement, κ, "
        "MAE and stand-ins below count them and are those of harder pairs than usual; the panel "
        "of the people shows agreement on randomly chosen pairs beside. Corrected win rates leave "
        "such votes out."
    )
    return notice("warn", "Not all votes were chosen at random.", text)


def caveat(data: Agreement) -> str:
    """The same in one line, under each panel that estimates."""
    if not data.sought:
        return ""
    part = share(data.sought / max(data.votes_cast, 1), 0)
    words = rich(
        f"{part} of the votes are on pairs **not chosen at random**: no figure for all pairs."
    )
    return wrap(f'<p class="eh-small eh-mute eh-under">{words}</p>')
