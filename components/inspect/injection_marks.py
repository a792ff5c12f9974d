"""Injection suspects in a comparison that is read: what is said of them, and their words marked."""

from __future__ import annotations

from collections.abc import Sequence

from components.html.format import count, escape
from components.html.panel import notice_html
from components.inspect.html_parts import hidden_length_note, text_html, truncate_text
from components.inspect.load_comparison import ComparisonDetail, OrderReplies
from studies.domain import REFERENCE, Item
from studies.texts.injection import (
    INSTRUCTION,
    RULE_DESCRIPTIONS,
    InjectionSuspect,
    find_echoes,
    find_spans,
    find_suspects,
)


def texts_shown(item: Item, shown: Sequence[str]) -> list[str]:
    """What of an item a judge was shown: its question and these answers."""
    answers = {REFERENCE: item.reference, **item.responses}
    return [item.instruction, *(answers.get(who, "") for who in shown)]


def suspects_shown(item: Item | None, shown: Sequence[str]) -> list[InjectionSuspect]:
    """The suspicious texts among those that stood before the judge."""
    if item is None:
        return []
    return [one for one in find_suspects(item) if one.where in (INSTRUCTION, *shown)]


def suspect_notice(opened: ComparisonDetail) -> str:
    """What the reader should know before reading the verdicts of a comparison."""
    found = suspects_shown(opened.item, opened.line.names)
    if not found:
        return ""
    told = [f"{said[:1].upper()}{said[1:]}." for said in map(describe_suspect, found)]
    repeated = sum(bool(_echo_spans(order, opened.item)) for order in opened.orders)
    if repeated:
        word = "repeats" if repeated == 1 else "repeat"
        told.append(f"{count(repeated, 'reply')} {word} those words.")
    if any(_verdict_in_echo(order, opened.item) for order in opened.orders):
        told.append("**A verdict was read inside the words it repeats:** check it by hand.")
    else:
        told.append("The verdict is read from the reply alone, never from an answer.")
    return notice_html("warn", "Injection suspect.", " ".join(told))


def _echo_spans(order: OrderReplies, item: Item | None) -> tuple[tuple[int, int], ...]:
    """Where the reply to one order repeats a suspect's words."""
    if item is None:
        return ()
    return find_echoes(order.reply.judgement.reply, texts_shown(item, order.shown))


def _verdict_in_echo(order: OrderReplies, item: Item | None) -> bool:
    """Whether the verdict was read in words that are a suspect's, not the judge's."""
    read = order.reply.span
    return read is not None and any(
        start <= read[0] and read[1] <= end for start, end in _echo_spans(order, item)
    )


def describe_suspect(one: InjectionSuspect) -> str:
    """Whose text it is, and what it does."""
    whose = "the question" if one.where == INSTRUCTION else f"the answer of {one.where}"
    return f"{whose} {describe_rules(one.rules)}"


def describe_rules(rules: Sequence[str]) -> str:
    """What a text does that these rules found."""
    told = [RULE_DESCRIPTIONS[rule] for rule in rules]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def mark_suspects(text: str) -> str:
    """A text with its suspicious pieces marked, or nothing if it has none."""
    found = find_spans(text)
    return mark_spans(text, [(one.start, one.end, describe_rules(one.rules)) for one in found])


def mark_spans(text: str, pieces: Sequence[tuple[int, int, str]]) -> str:
    """Pieces of a text (from, to, why) inside marks; everything is escaped."""
    if not pieces:
        return ""
    shown, out, at = truncate_text(text), [], 0
    for start, end, why in pieces:
        if end > len(shown) or start < at:
            continue
        tip = escape(f"Injection suspect: {why}")
        out.append(
            f'{escape(shown[at:start])}<mark class="eh-suspect" title="{tip}">'
            f"{escape(shown[start:end])}</mark>"
        )
        at = end
    return "".join(out) + escape(shown[at:]) + hidden_length_note(text)


def untrusted_text_html(text: str) -> str:
    """A text from outside, with what is suspicious in it marked."""
    return mark_suspects(text) or text_html(text)
