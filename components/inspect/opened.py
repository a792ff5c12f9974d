"""One comparison opened, as HTML: why it is here, question, answers, replies, prompt, details."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from components.drawing.panels import notice, status_badge, wrap
from components.format import attributes, count, dollars, duration, safe, share
from components.inspect.data import NOT_RECORDED, Opened, Order, Picture, Sent
from components.inspect.diff import LEAST_SHARED, Difference, word_difference
from components.inspect.pieces import absent, cut, drawer, more_of, section, side_by_side, text_html
from components.inspect.replies import replies
from components.inspect.verified import checks_html
from components.inspect.why import people, why
from components.suspects.marked import foreign_html, suspect_notice, suspicious_html
from studies.records import EVIDENCE, REFERENCE, Item, Judgement, Status, Usage

_REFERENCE: Final = "Reference answer"
_SIMULATED: Final = '<span class="eh-badge sim">simulated judge</span>'


def opened_html(opened: Opened, place: int, total: int, previous: str, following: str) -> str:
    """The panel at the right; on a phone, the whole view."""
    told = why(opened)
    parts = (
        _head(opened, place, total, previous, following),
        notice(told.kind, told.title, told.text),
        suspect_notice(opened),
        _question(opened),
        _answers(opened),
        replies(opened),
        *(_prompt(order, i, len(opened.orders)) for i, order in enumerate(opened.orders, 1)),
        _details(opened),
        f'<nav class="eh-ends">{_steps(previous, following, words=True)}</nav>',
    )
    key = opened.orders[0].reply.judgement.ask.key if opened.orders else ""
    made = attributes({"class": "eh-panel eh-open", "data-key": key})
    return wrap(f"<section{made}>{''.join(parts)}</section>")


# ------------------------------------------------------------------------- head


def _head(opened: Opened, place: int, total: int, previous: str, following: str) -> str:
    line = opened.line
    where = ", ".join(safe(part) for part in (line.item, line.category) if part)
    badges = _SIMULATED if opened.simulated else ""
    badges += "".join(status_badge(status) for status in _statuses(opened))
    at = f"{count(place + 1)} of {count(total)}"
    return (
        f'<header class="eh-open-head"><div class="eh-row"><b>{safe(line.judge)}</b>'
        f'<span class="eh-mute">judges item {where} with {safe(line.prompt)}</span>{badges}</div>'
        f'<nav class="eh-row"><span class="at" aria-live="polite">{at}</span>'
        f"{_steps(previous, following)}</nav></header>"
    )


def _statuses(opened: Opened) -> list[Status]:
    """The failures of its orders, or how all of them were read."""
    found = list(dict.fromkeys(order.reply.judgement.status for order in opened.orders))
    return [status for status in found if status not in EVIDENCE] or found[:1]


def _steps(previous: str, following: str, words: bool = False) -> str:
    back = _step("\u2039 Previous" if words else "\u2039", "Previous", previous, "k ArrowLeft")
    return back + _step("Next \u203a" if words else "\u203a", "Next", following, "j ArrowRight")


def _step(text: str, label: str, key: str, keys: str) -> str:
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


def _question(opened: Opened) -> str:
    item = opened.item
    if item is None:
        return section("Question") + absent("Not recorded: this study has verdicts only.")
    pictures = "".join(_picture(one) for one in opened.pictures)
    pictures = f'<div class="eh-pictures">{pictures}</div>' if pictures else ""
    question = f'<p class="eh-question" dir="auto">{foreign_html(item.instruction)}</p>'
    return (
        f"{section('Question')}{question}"
        f'{pictures}<div class="eh-backs">{"".join(_backgrounds(opened, item))}</div>'
    )


def _backgrounds(opened: Opened, item: Item) -> Iterable[str]:
    context = item.context if isinstance(item.context, str) else "\n\n".join(item.context)
    told = "Image description" if item.images else "Context"
    for title, text in (
        (told, context),
        (_REFERENCE, item.reference),
        ("Ground truth", item.ground_truth),
    ):
        if text.strip():
            said = checks_html(opened.checks, REFERENCE) if title == _REFERENCE else ""
            body = f'<div class="eh-txt" dir="auto">{text_html(text)}</div>{said}'
            yield drawer(title, body, "soft")


def _picture(one: Picture) -> str:
    name = safe(one.name)
    if one.source:
        return f'<img alt="{name}" src="{safe(one.source)}" loading="lazy">'
    if one.link:
        rel = 'target="_blank" rel="noopener noreferrer nofollow"'
        return f'<p class="eh-small">Image: <a href="{safe(one.link)}" {rel}>{name}</a></p>'
    return f'<p class="eh-small">Image {name} is not beside the data here.</p>'


# ---------------------------------------------------------------------- answers


def _answers(opened: Opened) -> str:
    texts = [text for _, text in opened.answers]
    if len(texts) != 2 or texts[0] is None or texts[1] is None:
        cards = (_answer(opened, who, text, None, None) for who, text in opened.answers)
        return section("Answers") + side_by_side(cards)
    found = word_difference(cut(texts[0]), cut(texts[1]))
    halves = (found.first, found.second)
    cards = (
        _answer(opened, who, text, made, n)
        for (who, text), made, n in zip(opened.answers, halves, found.words, strict=True)
    )
    return section("Answers", _shared(found)) + side_by_side(cards)


def _shared(found: Difference) -> str:
    if found.shared is None:
        return '<span class="eh-small">too long to mark differences</span>'
    told = f"{share(found.shared, 0)} of words shared"
    if found.marked:
        return f'<span class="eh-row"><mark>only in this answer</mark><span>{told}</span></span>'
    least = share(LEAST_SHARED, 0)
    return f"<span>{told}: differences are not marked below {least}</span>"


def _answer(
    opened: Opened, who: str, text: str | None, marked: str | None, words: int | None
) -> str:
    n = len((text or "").split()) if words is None else words
    size = f'<span class="eh-mute eh-small">{count(n, "word")}</span>' if text else ""
    flagged = suspicious_html(text or "")
    body = flagged or (marked if marked is not None else text_html(text or ""))
    if not (text or "").strip():
        body = absent(NOT_RECORDED if text is None else "The answer is empty.")
    more = more_of(text or "") if marked is not None and not flagged else ""
    return (
        f'<article class="eh-card"><header><b>{safe(who)}</b>{size}</header>'
        f'<div class="eh-txt" dir="auto">{body}{more}</div>'
        f"{checks_html(opened.checks, who)}</article>"
    )


# ----------------------------------------------------------- prompt and details


def _prompt(order: Order, place: int, orders: int) -> str:
    title = "Prompt as sent" if orders == 1 else f"Prompt as sent, order {place}"
    sent = order.sent
    if not sent.messages:
        return drawer(title, absent(sent.note), "how")
    messages = "".join(
        f'<div class="eh-msg"><b>{safe(role)}</b><span dir="auto">{text_html(text)}</span></div>'
        for role, text in sent.messages
    )
    copy = '<button type="button" class="eh-link" data-copy=".eh-msg span">Copy</button>'
    body = f'{messages}<p class="eh-small">{copy} \u00b7 {safe(_proof(sent))}</p>'
    return drawer(title, body, "how")


def _proof(sent: Sent) -> str:
    if sent.exact:
        return "written out again from the stored prompt; it hashes to the key of this ask"
    return "written out again from the stored prompt; it no longer hashes to the key of this ask"


def _details(opened: Opened) -> str:
    line, item = opened.line, opened.item
    told = people(item, line.names) if item else ""
    facts = {
        "Judge": safe(line.judge),
        "Prompt": safe(line.prompt),
        "Item": safe(line.item),
        "Category": safe(line.category) or "none",
        "Better answer": safe(told) or NOT_RECORDED,
        "Source": "recorded elsewhere" if opened.recorded else "asked here",
    }
    pairs = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items())
    body = f'<dl class="eh-meta">{pairs}</dl>{_order_table(opened)}'
    return drawer("Details", body, "how", opened=True)


def _order_table(opened: Opened) -> str:
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
        "Rule": f"<code>{safe(judgement.rule)}</code>" if judgement.rule else unknown,
        "Labels": safe(", ".join(judgement.ask.labels)) or unknown,
        "Tokens": _tokens(judgement.usage) or unknown,
        "Cost": unknown if recorded and judgement.cost is None else cost,
        "Time": duration(judgement.seconds) if judgement.seconds else unknown,
        "Model": safe(judgement.model) or unknown,
        "Finish": safe(judgement.finish) or unknown,
        "Asked": at if judgement.time else unknown,
        "Key": f'<span class="eh-mono">{safe(judgement.ask.key)}</span>',
    }


def _tokens(usage: Usage) -> str:
    if usage.prompt is None and usage.completion is None:
        return ""
    cached = f", {count(usage.cached)} of them cached" if usage.cached else ""
    return f"{count(usage.prompt)} in{cached}, {count(usage.completion)} out"
