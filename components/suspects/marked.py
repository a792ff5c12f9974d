"""Injection suspects in a comparison that is read: what is said of them, and their words marked."""

from __future__ import annotations

from collections.abc import Sequence

from components.drawing.panels import notice
from components.format import count, safe
from components.inspect.data import Opened, Order
from components.inspect.pieces import cut, more_of, text_html
from studies.records import REFERENCE, Item
from studies.suspects import INSTRUCTION, TOLD, Suspect, echoes, spans, suspects_of


def texts_shown(item: Item, shown: Sequence[str]) -> list[str]:
    """What of an item a judge was shown: its question and these answers."""
    answers = {REFERENCE: item.reference, **item.responses}
    return [item.instruction, *(answers.get(who, "") for who in shown)]


def suspects_shown(item: Item | None, shown: Sequence[str]) -> list[Suspect]:
    """The suspicious texts among those that stood before the judge."""
    if item is None:
        return []
    return [one for one in suspects_of(item) if one.where in (INSTRUCTION, *shown)]


def suspect_notice(opened: Opened) -> str:
    """What the reader should know before reading the verdicts of a comparison."""
    found = suspects_shown(opened.item, opened.line.names)
    if not found:
        return ""
    told = [f"{said[:1].upper()}{said[1:]}." for said in map(said_of, found)]
    repeated = sum(bool(_repeated(order, opened.item)) for order in opened.orders)
    if repeated:
        word = "repeats" if repeated == 1 else "repeat"
        told.append(f"{count(repeated, 'reply')} {word} those words.")
    if any(_read_there(order, opened.item) for order in opened.orders):
        told.append("**A verdict was read inside the words it repeats:** check it by hand.")
    else:
        told.append("The verdict is read from the reply alone, never from an answer.")
    return notice("warn", "Injection suspect.", " ".join(told))


def _repeated(order: Order, item: Item | None) -> tuple[tuple[int, int], ...]:
    """Where the reply to one order repeats a suspect's words."""
    if item is None:
        return ()
    return echoes(order.reply.judgement.reply, texts_shown(item, order.shown))


def _read_there(order: Order, item: Item | None) -> bool:
    """Whether the verdict was read in words that are a suspect's, not the judge's."""
    read = order.reply.span
    return read is not None and any(
        start <= read[0] and read[1] <= end for start, end in _repeated(order, item)
    )


def said_of(one: Suspect) -> str:
    """Whose text it is, and what it does."""
    whose = "the question" if one.where == INSTRUCTION else f"the answer of {one.where}"
    return f"{whose} {does(one.rules)}"


def does(rules: Sequence[str]) -> str:
    """What a text does that these rules found."""
    told = [TOLD[rule] for rule in rules]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def suspicious_html(text: str) -> str:
    """A text with its suspicious pieces marked, or nothing if it has none."""
    found = spans(text)
    return marked_html(text, [(one.start, one.end, does(one.rules)) for one in found])


def marked_html(text: str, pieces: Sequence[tuple[int, int, str]]) -> str:
    """Pieces of a text (from, to, why) inside marks; everything is escaped."""
    if not pieces:
        return ""
    shown, out, at = cut(text), [], 0
    for start, end, why in pieces:
        if end > len(shown) or start < at:
            continue
        tip = safe(f"Injection suspect: {why}")
        out.append(
            f'{safe(shown[at:start])}<mark class="eh-suspect" title="{tip}">'
            f"{safe(shown[start:end])}</mark>"
        )
        at = end
    return "".join(out) + safe(shown[at:]) + more_of(text)


def foreign_html(text: str) -> str:
    """A text from outside, with what is suspicious in it marked."""
    return suspicious_html(text) or text_html(text)
