"""HTML of one opened comparison: finding, question, answers, replies, prompt and details."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from components.html.format import attributes, count, dollars, duration, escape, share
from components.html.panel import notice_html, status_badge, wrap
from components.inspect.explanation import explain_comparison, human_verdict_text
from components.inspect.html_parts import (
    columns_html,
    drawer,
    hidden_length_note,
    missing_note,
    section_heading,
    text_html,
    truncate_text,
)
from components.inspect.injection_marks import mark_suspects, suspect_notice, untrusted_text_html
from components.inspect.load_comparison import (
    NOT_RECORDED,
    ComparisonDetail,
    ItemImage,
    OrderReplies,
    SentMessages,
)
from components.inspect.replies_html import replies_html
from components.inspect.verification_filter import checks_html
from components.inspect.word_diff import MIN_SHARED_WORDS, WordDifference, word_difference
from studies.domain import REFERENCE, USABLE_STATUSES, Item, Judgement, Status, Usage

_REFERENCE: Final = "Reference answer"
_SIMULATED: Final = '<span class="eh-badge sim">simulated judge</span>'


def comparison_html(
    opened: ComparisonDetail, place: int, total: int, previous: str, following: str
) -> str:
    """Panel of the opened comparison, number `place` (from 0) of the `total` in the filtered
    list."""
    explanation = explain_comparison(opened)
    parts = (
        _heading(opened, place, total, previous, following),
        notice_html(explanation.kind, explanation.title, explanation.text),
        suspect_notice(opened),
        _question(opened),
        _answers(opened),
        replies_html(opened),
        *(_prompt_drawer(order, i, len(opened.orders)) for i, order in enumerate(opened.orders, 1)),
        _details(opened),
        f'<nav class="eh-ends">{_navigation(previous, following, words=True)}</nav>',
    )
    key = opened.orders[0].reply.judgement.ask.key if opened.orders else ""
    made = attributes({"class": "eh-panel eh-open", "data-key": key})
    return wrap(f"<section{made}>{''.join(parts)}</section>")


# ------------------------------------------------------------------------- head


def _heading(
    opened: ComparisonDetail, place: int, total: int, previous: str, following: str
) -> str:
    line = opened.line
    where = ", ".join(escape(part) for part in (line.item, line.category) if part)
    badges = _SIMULATED if opened.simulated else ""
    badges += "".join(status_badge(status) for status in _statuses(opened))
    position = f"{count(place + 1)} of {count(total)}"
    return (
        f'<header class="eh-open-head"><div class="eh-row"><b>{escape(line.judge)}</b>'
        f'<span class="eh-mute">judges item {where} with {escape(line.prompt)}</span>{badges}</div>'
        f'<nav class="eh-row"><span class="at" aria-live="polite">{position}</span>'
        f"{_navigation(previous, following)}</nav></header>"
    )


def _statuses(opened: ComparisonDetail) -> list[Status]:
    """Failure statuses of the orders; without a failure, the status of the first order."""
    found = list(dict.fromkeys(order.reply.judgement.status for order in opened.orders))
    return [status for status in found if status not in USABLE_STATUSES] or found[:1]


def _navigation(previous: str, following: str, words: bool = False) -> str:
    back = _navigation_button(
        "\u2039 Previous" if words else "\u2039", "Previous", previous, "k ArrowLeft"
    )
    return back + _navigation_button(
        "Next \u203a" if words else "\u203a", "Next", following, "j ArrowRight"
    )


def _navigation_button(text: str, label: str, key: str, keys: str) -> str:
    made = attributes(
        {
            "type": "button",
            "class": "eh-btn small",
            "aria-label": f"{label} comparison",
            "data-keys": keys,
            "data-select": json.dumps({"key": key}) if key else None,
            "disabled": None if key else "disabled",
        }
    )
    return f"<button{made}>{text}</button>"


# --------------------------------------------------------------------- question


def _question(opened: ComparisonDetail) -> str:
    item = opened.item
    if item is None:
        return section_heading("Question") + missing_note(
            "Not recorded. This study contains verdicts without texts."
        )
    pictures = "".join(_image_html(one) for one in opened.images)
    pictures = f'<div class="eh-pictures">{pictures}</div>' if pictures else ""
    question = f'<p class="eh-question" dir="auto">{untrusted_text_html(item.instruction)}</p>'
    return (
        f"{section_heading('Question')}{question}"
        f'{pictures}<div class="eh-backs">{"".join(_context_drawers(opened, item))}</div>'
    )


def _context_drawers(opened: ComparisonDetail, item: Item) -> Iterable[str]:
    context = item.context if isinstance(item.context, str) else "\n\n".join(item.context)
    context_title = "Image description" if item.images else "Context"
    for title, text in (
        (context_title, context),
        (_REFERENCE, item.reference),
        ("Ground truth", item.ground_truth),
    ):
        if text.strip():
            checks = checks_html(opened.checks, REFERENCE) if title == _REFERENCE else ""
            body = f'<div class="eh-txt" dir="auto">{text_html(text)}</div>{checks}'
            yield drawer(title, body, "soft")


def _image_html(one: ItemImage) -> str:
    name = escape(one.name)
    if one.source:
        return f'<img alt="{name}" src="{escape(one.source)}" loading="lazy">'
    if one.link:
        rel = 'target="_blank" rel="noopener noreferrer nofollow"'
        return f'<p class="eh-small">Image: <a href="{escape(one.link)}" {rel}>{name}</a></p>'
    return f'<p class="eh-small">The file of image {name} is missing.</p>'


# ---------------------------------------------------------------------- answers


def _answers(opened: ComparisonDetail) -> str:
    texts = [text for _, text in opened.answers]
    if len(texts) != 2 or texts[0] is None or texts[1] is None:
        cards = (_answer_card(opened, who, text, None, None) for who, text in opened.answers)
        return section_heading("Answers") + columns_html(cards)
    found = word_difference(truncate_text(texts[0]), truncate_text(texts[1]))
    halves = (found.first, found.second)
    cards = (
        _answer_card(opened, who, text, made, n)
        for (who, text), made, n in zip(opened.answers, halves, found.words, strict=True)
    )
    return section_heading("Answers", _shared_note(found)) + columns_html(cards)


def _shared_note(found: WordDifference) -> str:
    if found.shared is None:
        return '<span class="eh-small">Too long to mark the differences</span>'
    shared = f"{share(found.shared, 0)} of words shared"
    if found.marked:
        return f'<span class="eh-row"><mark>only in this answer</mark><span>{shared}</span></span>'
    least = share(MIN_SHARED_WORDS, 0)
    return f"<span>{shared}. Differences are marked if at least {least} are shared.</span>"


def _answer_card(
    opened: ComparisonDetail, who: str, text: str | None, marked: str | None, words: int | None
) -> str:
    n = len((text or "").split()) if words is None else words
    size = f'<span class="eh-mute eh-small">{count(n, "word")}</span>' if text else ""
    flagged = mark_suspects(text or "")
    body = flagged or (marked if marked is not None else text_html(text or ""))
    if not (text or "").strip():
        body = missing_note(NOT_RECORDED if text is None else "The answer is empty.")
    more = hidden_length_note(text or "") if marked is not None and not flagged else ""
    return (
        f'<article class="eh-card"><header><b>{escape(who)}</b>{size}</header>'
        f'<div class="eh-txt" dir="auto">{body}{more}</div>'
        f"{checks_html(opened.checks, who)}</article>"
    )


# ----------------------------------------------------------- prompt and details


def _prompt_drawer(order: OrderReplies, place: int, orders: int) -> str:
    title = "Prompt as sent" if orders == 1 else f"Prompt as sent, order {place}"
    sent = order.sent
    if not sent.messages:
        return drawer(title, missing_note(sent.note), "how")
    messages = "".join(
        f'<div class="eh-msg"><b>{escape(role)}</b><span dir="auto">{text_html(text)}</span></div>'
        for role, text in sent.messages
    )
    copy = '<button type="button" class="eh-link" data-copy=".eh-msg span">Copy</button>'
    body = f'{messages}<p class="eh-small">{copy} \u00b7 {escape(_hash_note(sent))}</p>'
    return drawer(title, body, "how")


def _hash_note(sent: SentMessages) -> str:
    if sent.exact:
        return "Rebuilt from the stored prompt. It is identical to what was sent: the hashes agree."
    return "Rebuilt from the stored prompt. It differs from what was sent: the hashes do not agree."


def _details(opened: ComparisonDetail) -> str:
    line, item = opened.line, opened.item
    better = human_verdict_text(item, line.names) if item else ""
    facts = {
        "Judge": escape(line.judge),
        "Prompt": escape(line.prompt),
        "Item": escape(line.item),
        "Category": escape(line.category) or "none",
        "Better answer": escape(better) or NOT_RECORDED,
        "Source": "imported" if opened.recorded else "called from this app",
    }
    pairs = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items())
    body = f'<dl class="eh-meta">{pairs}</dl>{_order_table(opened)}'
    return drawer("Details", body, "how", opened=True)


def _order_table(opened: ComparisonDetail) -> str:
    rows = [_order_facts(order.reply.judgement, opened.recorded) for order in opened.orders]
    if not rows:
        return ""
    heads = "".join(f"<th>Order {i}</th>" for i in range(1, len(rows) + 1))
    body = "".join(
        f"<tr><th>{name}</th>{''.join(f'<td>{row[name]}</td>' for row in rows)}</tr>"
        for name in rows[0]
    )
    return (
        f'<div class="eh-orders"><table style="--orders: {len(rows)}"><thead><tr><th></th>'
        f"{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _order_facts(judgement: Judgement, recorded: bool) -> dict[str, str]:
    unknown = f'<span class="eh-mute">{NOT_RECORDED}</span>'
    cost = dollars(judgement.cost)
    at = datetime.fromtimestamp(judgement.time, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return {
        "Status": status_badge(judgement.status),
        "Rule": f"<code>{escape(judgement.rule)}</code>" if judgement.rule else unknown,
        "Labels": escape(", ".join(judgement.ask.labels)) or unknown,
        "Tokens": _token_text(judgement.usage) or unknown,
        "Cost": unknown if recorded and judgement.cost is None else cost,
        "Time": duration(judgement.seconds) if judgement.seconds else unknown,
        "Model": escape(judgement.model) or unknown,
        "Finish": escape(judgement.finish) or unknown,
        "Called": at if judgement.time else unknown,
        "Key": f'<span class="eh-mono">{escape(judgement.ask.key)}</span>',
    }


def _token_text(usage: Usage) -> str:
    if usage.prompt is None and usage.completion is None:
        return ""
    cached = f", {count(usage.cached)} of them cached" if usage.cached else ""
    return f"{count(usage.prompt)} in{cached}, {count(usage.completion)} out"
