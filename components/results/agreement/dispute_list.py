"""HTML list of disputed cases, the most informative first, with links to the replies."""

from __future__ import annotations

from typing import Final

from components.html.format import count
from components.html.markup import Markup, fill, join
from components.html.panel import Action, button_html, empty_state, wrap
from components.results.agreement.computed import Agreement
from components.results.agreement.disputes import (
    AGAINST_KNOWN,
    AGAINST_PEOPLE,
    JUDGES_SPLIT,
    PEOPLE_SPLIT,
    TIE_NAME,
    Dispute,
    list_disputes,
)

MAX_DISPUTES: Final = 8
KIND_TITLES: Final = {
    AGAINST_PEOPLE: ("People prefer", "most judges prefer a different answer than people do"),
    AGAINST_KNOWN: ("Answer known to be better", "most judges prefer a worse answer"),
    JUDGES_SPLIT: ("People prefer", "judges disagree with each other"),
    PEOPLE_SPLIT: ("People's votes", "people disagree with each other"),
}


def show_disputes(data: Agreement, kind: str) -> tuple[str, str]:
    """Subtitle and HTML list of disputed cases of one `kind`, such as judges against people: the
    MAX_DISPUTES most informative ones."""
    found = list_disputes(data.raters, kind)
    total = len({(one.item, one.names) for one in found})
    if not found:
        if kind in (AGAINST_PEOPLE, PEOPLE_SPLIT) and not data.raters.has_people:
            reason = "There are no votes yet. Vote on the Vote tab, or load data with votes."
        else:
            reason = f"These filters leave no pair of answers on which {KIND_TITLES[kind][1]}."
        return "", empty_state("Nothing to list.", reason)
    top = found[:MAX_DISPUTES]
    filtered = data.raters.filtered
    questions = filtered.store.questions(filtered.name, {one.item for one in top})
    head = fill(
        '<div class="eh-dl h"><span>Question</span><span>{}</span>'
        "<span>Judges' verdicts, all orders</span><span></span></div>",
        KIND_TITLES[kind][0],
    )
    rows = join(_dispute_row(one, kind, questions.get(one.item) or one.item) for one in top)
    subtitle = f"{count(total, 'case')}: {KIND_TITLES[kind][1]}; most informative first"
    return subtitle, wrap(fill('<div class="eh-dl-box">{}{}</div>', head, rows))


def _dispute_row(one: Dispute, kind: str, question: str) -> Markup:
    select: dict[str, object] = {"item": one.item}
    if len(one.names) == 2:
        select |= {"contestant": one.names[0], "against": one.names[1]}
    words = " ".join(question.split())[:160]
    where = f" \u00b7 {one.category}" if one.category else ""
    return fill(
        '<div class="eh-dl"><span class="q" dir="auto">{}</span>'
        '<span class="eh-small">{}</span>'
        '<span class="eh-small">{}{}</span>'
        "{}</div>",
        words,
        _reference_html(one, kind),
        _judge_counts_html(one),
        where,
        button_html(Action("Open", select), small=True),
    )


def _reference_html(one: Dispute, kind: str) -> Markup:
    if kind == AGAINST_KNOWN:
        return fill("<b>{}</b>", one.known)
    total = sum(one.votes.values())
    if not total:
        return Markup('<span class="eh-mute">no votes</span>')
    if kind == PEOPLE_SPLIT or one.people in (None, TIE_NAME):
        counts = join((f"{who} {n}" for who, n in one.votes.most_common()), ", ")
        return fill('{} <span class="eh-mute">of {}</span>', counts, count(total, "vote"))
    mine = one.votes[one.people or ""]
    many = "1 vote" if total == 1 else f"{mine} of {total} votes"
    return fill('<b>{}</b> <span class="eh-mute eh-nw">{}</span>', one.people, many)


def _judge_counts_html(one: Dispute) -> Markup:
    counts = [fill("{}× {}", n, _winner_html(who)) for who, n in one.judges.most_common()]
    return join(counts, ", ") + fill(
        ' <span class="eh-mute">({})</span>', count(one.judge_count, "judge")
    )


def _winner_html(who: str) -> Markup:
    return Markup("undecided") if who == TIE_NAME else fill("<b>{}</b>", who)
