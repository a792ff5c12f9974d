"""Injection suspects in an opened comparison: a notice, and highlighted passages."""

from collections.abc import Sequence
from dataclasses import replace

from components.html.format import count
from components.html.markup import EMPTY, Markup, escape, fill, join
from components.html.pieces import notice_html
from components.inspect.html_parts import more_characters_note, text_html, truncate_text
from components.inspect.load_comparison import ComparisonDetail, OrderReplies
from studies.domain import REFERENCE, Item
from studies.texts.injection import (
    INSTRUCTION,
    RULE_DESCRIPTIONS,
    InjectionSuspect,
    find_echoed_spans,
    find_suspect_spans,
    find_suspects,
)


def texts_shown(item: Item, shown: Sequence[str]) -> list[str]:
    """The texts of an item that the judge was shown: its question and the given answers."""
    answers = {REFERENCE: item.reference, **item.responses, **item.twins}
    return [item.instruction, *(answers.get(who, "") for who in shown)]


def suspects_shown(item: Item | None, shown: Sequence[str]) -> list[InjectionSuspect]:
    """Injection suspects among the texts that the judge was shown."""
    if item is None:
        return []
    with_twins = replace(item, responses={**item.responses, **item.twins})
    return [one for one in find_suspects(with_twins) if one.where in (INSTRUCTION, *shown)]


def suspect_notice(opened: ComparisonDetail) -> Markup:
    """HTML warning about injection suspects, shown above the verdicts of a comparison; empty if
    there are none."""
    found = suspects_shown(opened.item, opened.line.model_names)
    if not found:
        return EMPTY
    sentences = [f"{text[:1].upper()}{text[1:]}." for text in map(describe_suspect, found)]
    repeated = sum(bool(_echo_spans(order, opened.item)) for order in opened.orders)
    if repeated:
        word = "repeats" if repeated == 1 else "repeat"
        sentences.append(f"{count(repeated, 'reply')} {word} those words.")
    if any(_is_verdict_in_echo(order, opened.item) for order in opened.orders):
        sentences.append(
            "**The verdict was found in words that the reply repeats from an answer.** Check "
            "this verdict by hand."
        )
    else:
        sentences.append("Verdicts are read from replies only, never from an answer.")
    return notice_html("warn", "Injection suspect.", " ".join(sentences))


def _echo_spans(order: OrderReplies, item: Item | None) -> tuple[tuple[int, int], ...]:
    """Passages (start, end) of an order's reply that repeat suspicious lines of the texts shown."""
    if item is None:
        return ()
    return find_echoed_spans(order.reply.judgement.reply, texts_shown(item, order.shown))


def _is_verdict_in_echo(order: OrderReplies, item: Item | None) -> bool:
    """Whether the verdict was read from words that the reply only quotes from a suspicious text."""
    read = order.reply.span
    return read is not None and any(
        start <= read[0] and read[1] <= end for start, end in _echo_spans(order, item)
    )


def describe_suspect(suspect: InjectionSuspect) -> str:
    """Clause on a suspicious text, such as "the answer of gpt-4 tells the judge how to decide"."""
    whose = "the question" if suspect.where == INSTRUCTION else f"the answer of {suspect.where}"
    return f"{whose} {describe_rules(suspect.rules)}"


def describe_rules(rules: Sequence[str]) -> str:
    """Descriptions, joined, of what detection rules found in a text, such as "tells the judge how
    to decide and imitates a verdict"."""
    *others, last = [RULE_DESCRIPTIONS[rule] for rule in rules]
    return f"{', '.join(others)} and {last}" if others else last


def mark_suspects_or_empty(text: str) -> Markup:
    """Escaped text with its suspicious passages highlighted; "" if it has none."""
    found = find_suspect_spans(text)
    return mark_spans_or_empty(
        text, [(one.start, one.end, describe_rules(one.rules)) for one in found]
    )


def mark_spans_or_empty(text: str, pieces: Sequence[tuple[int, int, str]]) -> Markup:
    """Escaped text in which each piece (start, end, reason) is highlighted, with the reason on
    hover; empty without pieces. Pieces that overlap an earlier one, or lie in the part of a long
    text that is not shown, are not highlighted."""
    if not pieces:
        return EMPTY
    shown, out, at = truncate_text(text), [], 0
    for start, end, why in pieces:
        if end > len(shown) or start < at:
            continue
        tip = escape(f"Injection suspect: {why}")
        out.append(
            fill(
                '{}<mark class="eh-suspect" title="{}">{}</mark>',
                shown[at:start],
                tip,
                shown[start:end],
            )
        )
        at = end
    return join(out) + escape(shown[at:]) + more_characters_note(text)


def untrusted_text_html(text: str) -> Markup:
    """HTML of a text from an untrusted source, escaped, with suspicious passages highlighted."""
    return mark_suspects_or_empty(text) or text_html(text)
