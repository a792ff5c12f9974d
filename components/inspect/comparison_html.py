"""HTML of one opened comparison: finding, question, answers, replies, prompt and details."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from components.html.format import count, dollars, duration, share
from components.html.markup import EMPTY, Markup, escape, fill, join, link_button
from components.html.pieces import notice_html, status_badge, wrap
from components.html.tables.table import Cells, Table, row_name_cell
from components.inspect import injection_marks
from components.inspect.explanation import (
    explain_comparison,
    known_answer_or_votes_text,
    label_text,
)
from components.inspect.html_parts import html, more_characters_note, text_html, truncate_text
from components.inspect.load_comparison import (
    NOT_RECORDED,
    ComparisonDetail,
    OrderReplies,
    SentMessages,
)
from components.inspect.replies_html import replies_html
from components.inspect.verification_filter import verifications_html
from components.inspect.word_diff import MIN_SHARED_WORDS, WordDifference, word_difference
from studies.domain import REFERENCE, USABLE_STATUSES, Item, Judgement, Status, Usage

_REFERENCE: Final = "Reference answer"


def comparison_html(
    opened: ComparisonDetail, place: int, total: int, previous: str, following: str
) -> Markup:
    """HTML panel of the opened comparison, which is number `place` (from 0) of `total` in the
    filtered list. `previous`, `following`: keys that open its neighbours in the list, empty at the
    ends."""
    explanation = explain_comparison(opened)
    parts = (
        notice_html(explanation.kind, explanation.title, explanation.text),
        injection_marks.suspect_notice(opened),
        _question_section(opened),
        _answers_section(opened),
        replies_html(opened),
        *(_prompt_drawer(order, i, len(opened.orders)) for i, order in enumerate(opened.orders, 1)),
        _details_section(opened),
    )
    key = opened.orders[0].reply.judgement.ask.key if opened.orders else ""
    position = f"{count(place + 1)} of {count(total)}"
    badges = join(status_badge(status) for status in _unusable_statuses_or_first(opened))
    return wrap(
        html.opened_comparison(opened, key, position, badges, previous, following, join(parts))
    )


def _unusable_statuses_or_first(opened: ComparisonDetail) -> list[Status]:
    """The different statuses of the unusable replies, from the first reply in each order; if all
    these replies are usable, a list with the status of the first one."""
    found = list(dict.fromkeys(order.reply.judgement.status for order in opened.orders))
    return [status for status in found if status not in USABLE_STATUSES] or found[:1]


# --------------------------------------------------------------------- question


def _question_section(opened: ComparisonDetail) -> Markup:
    item = opened.item
    if item is None:
        return html.section("Question") + html.missing(
            "The text was not recorded: this study contains verdicts without texts."
        )
    question = injection_marks.untrusted_text_html(item.instruction)
    return html.question(question, opened.images, _context_and_reference_drawers(opened, item))


def _context_and_reference_drawers(opened: ComparisonDetail, item: Item) -> Iterator[Markup]:
    context = item.context if isinstance(item.context, str) else "\n\n".join(item.context)
    context_title = "Image description" if item.images else "Context"
    for title, text in (
        (context_title, context),
        (_REFERENCE, item.reference),
        ("Ground truth", item.ground_truth),
    ):
        if text.strip():
            checks = verifications_html(opened.checks, REFERENCE) if title == _REFERENCE else ""
            body = fill('<div class="eh-txt" dir="auto">{}</div>{}', text_html(text), checks)
            yield html.drawer(title, body, "soft")


# ---------------------------------------------------------------------- answers


def _answers_section(opened: ComparisonDetail) -> Markup:
    texts = [text for _, text in opened.answers]
    if len(texts) != 2 or texts[0] is None or texts[1] is None:
        cards = (_answer_card(opened, who, text, None) for who, text in opened.answers)
        return html.section("Answers") + html.columns(cards)
    found = word_difference(truncate_text(texts[0]), truncate_text(texts[1]))
    halves = (found.first, found.second)
    cards = (
        _answer_card(opened, who, text, made)
        for (who, text), made in zip(opened.answers, halves, strict=True)
    )
    return html.section("Answers", _shared_words_note(found)) + html.columns(cards)


def _shared_words_note(found: WordDifference) -> Markup:
    if found.shared is None:
        return Markup('<span class="eh-small">Too long to mark the differences</span>')
    below = found.shared if found.marked else min(found.shared, MIN_SHARED_WORDS - 0.01)
    shared = f"{share(below, 0)} of words are in both answers"  # rounded, still below the limit
    if found.marked:
        return fill(
            '<span class="eh-row"><mark>only in this answer</mark><span>{}</span></span>', shared
        )
    least = share(MIN_SHARED_WORDS, 0)
    return fill("<span>{}. The differences are marked only from {} on.</span>", shared, least)


def _answer_card(
    opened: ComparisonDetail, model: str, text: str | None, marked: str | None
) -> Markup:
    flagged = injection_marks.mark_suspects_or_empty(text or "")
    body = flagged or (marked if marked is not None else text_html(text or ""))
    if not (text or "").strip():
        body = html.missing(NOT_RECORDED if text is None else "The answer is empty.")
    more = more_characters_note(text or "") if marked is not None and not flagged else ""
    return html.answer_card(model, text, body + more, verifications_html(opened.checks, model))


# ----------------------------------------------------------- prompt and details


def _prompt_drawer(order: OrderReplies, place: int, orders: int) -> Markup:
    title = "Prompt as sent" if orders == 1 else f"Prompt as sent, order {place}"
    sent = order.sent
    if not sent.messages:
        return html.drawer(title, html.missing(sent.note), "how")
    messages = [(role, text_html(text)) for role, text in sent.messages]
    copy = link_button("Copy", {"data-copy": ".eh-msg span"})
    return html.drawer(title, html.prompt(messages, copy, _sent_text_note(sent)), "how")


def _sent_text_note(sent: SentMessages) -> str:
    if sent.exact:
        return (
            "This text was rebuilt from the stored prompt. It is identical to the text sent: both "
            "have the same hash."
        )
    return (
        "This text was rebuilt from the stored prompt. It differs from the text sent, which has "
        "another hash."
    )


def _details_section(opened: ComparisonDetail) -> Markup:
    line, item = opened.line, opened.item
    single = len(line.model_names) == 1
    better = known_answer_or_votes_text(item, line.model_names) if item else ""
    facts = {
        "Judge": line.judge,
        "Prompt": line.prompt,
        "Item": line.item,
        "Category": line.category or "none",
        "Label" if single else "Better answer": label_text(opened) or better or NOT_RECORDED,
        "Source": "imported" if opened.recorded else "called from this app",
    }
    return html.drawer("Details", html.details(facts, _call_details_table(opened)), "how", True)


def _call_details_table(opened: ComparisonDetail) -> Markup:
    rows = [_call_details(order.reply.judgement, opened.recorded) for order in opened.orders]
    if not rows:
        return EMPTY
    heads = ["Call", *(f"Order {i}" for i in range(1, len(rows) + 1))]
    lines: list[Cells] = [[row_name_cell(name), *(row[name] for row in rows)] for name in rows[0]]
    return Table(heads, lines, box="eh-orders", data={"style": f"--orders: {len(rows)}"}).html()


def _call_details(judgement: Judgement, recorded: bool) -> dict[str, str]:
    unknown = fill('<span class="eh-mute">{}</span>', NOT_RECORDED)
    cost = dollars(judgement.cost)
    dated = 0 < judgement.time < 1e11  # later than the year 5000: no seconds
    at = datetime.fromtimestamp(judgement.time if dated else 0, UTC)
    return {
        "Status": status_badge(judgement.status),
        "Rule": fill("<code>{}</code>", judgement.rule) if judgement.rule else unknown,
        "Options" if len(judgement.ask.shown) == 1 else "Labels": escape(
            ", ".join(judgement.ask.labels)
        )
        or unknown,
        "Tokens": _token_text(judgement.usage) or unknown,
        "Cost": unknown if recorded and judgement.cost is None else cost,
        "Time": duration(judgement.seconds) if judgement.seconds else unknown,
        "Model": escape(judgement.model) or unknown,
        "Finish": escape(judgement.finish) or unknown,
        "Called": f"{at:%Y-%m-%d %H:%M UTC}" if dated else unknown,
        "Key": fill('<span class="eh-mono">{}</span>', judgement.ask.key),
    }


def _token_text(usage: Usage) -> str:
    if usage.prompt is None and usage.completion is None:
        return ""
    cached = f", {count(usage.cached)} of them cached" if usage.cached else ""
    return f"{count(usage.prompt)} in{cached}, {count(usage.completion)} out"
