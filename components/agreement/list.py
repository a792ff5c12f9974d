"""The list of cases on which voices part, the most informative first, each one click away."""

from __future__ import annotations

from typing import Final

from components.agreement.data import Agreement
from components.agreement.disputes import (
    AGAINST_KNOWN,
    AGAINST_PEOPLE,
    JUDGES_SPLIT,
    PEOPLE_SPLIT,
    TIE_WORD,
    Dispute,
    disputes,
)
from components.drawing.panels import Action, button, empty, wrap
from components.format import count, safe

MOST_LISTED: Final = 8
HEADS: Final = {
    AGAINST_PEOPLE: ("People prefer", "most judges name another answer"),
    AGAINST_KNOWN: ("Known to be better", "most judges name another answer"),
    JUDGES_SPLIT: ("People prefer", "judges say different things"),
    PEOPLE_SPLIT: ("People", "people say different things"),
}


def show_disputes(data: Agreement, kind: str) -> tuple[str, str]:
    """(subtitle, the list): the most informative first, each one click from the replies."""
    found = disputes(data.voices, kind)
    total = len({(one.item, one.names) for one in found})
    if not found:
        if kind in (AGAINST_PEOPLE, PEOPLE_SPLIT) and not data.voices.has_people:
            told = "Nobody has voted here yet: the Vote tab, or data whose items hold votes."
        else:
            told = f"There is no case in view in which {HEADS[kind][1]}."
        return "", empty("Nothing to list.", told)
    top = found[:MOST_LISTED]
    scene = data.voices.scene
    questions = scene.store.questions(scene.name, {one.item for one in top})
    head = (
        f'<div class="eh-dl h"><span>Question</span><span>{HEADS[kind][0]}</span>'
        "<span>Judges, all orders</span><span></span></div>"
    )
    rows = "".join(_dispute(one, kind, questions.get(one.item) or one.item) for one in top)
    subtitle = f"{count(total, 'case')}: {HEADS[kind][1]}; the most informative first"
    return subtitle, wrap(f'<div class="eh-dl-box">{head}{rows}</div>')


def _dispute(one: Dispute, kind: str, question: str) -> str:
    select: dict[str, object] = {"item": one.item}
    if len(one.names) == 2:
        select |= {"contestant": one.names[0], "against": one.names[1]}
    words = " ".join(question.split())[:160]
    where = f" \u00b7 {safe(one.category)}" if one.category else ""
    return (
        f'<div class="eh-dl"><span class="q" dir="auto">{safe(words)}</span>'
        f'<span class="eh-small">{_theirs(one, kind)}</span>'
        f'<span class="eh-small">{_counted(one)}{where}</span>'
        f"{button(Action('Open', select), small=True)}</div>"
    )


def _theirs(one: Dispute, kind: str) -> str:
    if kind == AGAINST_KNOWN:
        return f"<b>{safe(one.known)}</b>"
    total = sum(one.votes.values())
    if not total:
        return '<span class="eh-mute">no votes</span>'
    if kind == PEOPLE_SPLIT or one.people in (None, TIE_WORD):
        said = ", ".join(f"{safe(who)} {n}" for who, n in one.votes.most_common())
        return f'{said} <span class="eh-mute">of {count(total, "vote")}</span>'
    mine = one.votes[one.people or ""]
    many = "1 vote" if total == 1 else f"{mine} of {total} votes"
    return f'<b>{safe(one.people)}</b> <span class="eh-mute eh-nw">{many}</span>'


def _counted(one: Dispute) -> str:
    said = [f"{_named(who)} {n}" for who, n in one.judges.most_common()]
    return ", ".join(said) + f' <span class="eh-mute">of {one.heard}</span>'


def _named(who: str) -> str:
    return "tie or split" if who == TIE_WORD else f"<b>{safe(who)}</b>"
