"""Three flips worth reading: the same place won in both orders, whoever stood there."""

from __future__ import annotations

from typing import Final

import numpy as np

from components.cards.facts import Card
from components.drawing.panels import verdict_chip
from components.drawing.tracks import link
from components.format import safe
from components.inspect.rows import Comparisons, Line, comparisons, lines

MOST: Final = 3
LONGEST: Final = 150


def flips_to_read(card: Card) -> str:
    """Cards that open the flip in Inspect; of different items, categories apart if possible."""
    scene = card.voices.scene
    own = card.rows.assign(judge=card.rows["judge"].cat.rename_categories(_back(card)))
    chosen = _worth_reading(comparisons(own))
    if not chosen:
        return f'<p class="eh-small eh-mute">{_none(card)}</p>'
    questions = scene.store.questions(scene.name, {line.item for line in chosen})
    keys = scene.store.keys_at([line.seqs[0] for line in chosen])
    made = "".join(
        _flip(card, line, questions.get(line.item) or line.item, keys.get(line.seqs[0], ""))
        for line in chosen
    )
    told = "The same colour twice: the same place won in both orders." if card.pairs else ""
    return f'{made}<p class="eh-small eh-mute">{told}</p>'


def _back(card: Card) -> dict[str, str]:
    return {card.voice: card.judge}


def _none(card: Card) -> str:
    if not card.facts["sets"]:
        return "No comparison was read in more than one order."
    return "No verdict changed with the order."


def _worth_reading(all_of: Comparisons) -> list[Line]:
    """Hard flips first; a category that was shown already waits."""
    flipped = np.flatnonzero(all_of.flipped)
    ranked = flipped[np.argsort(-np.abs(all_of.lean[flipped]), kind="stable")]
    firsts = all_of.frame.iloc[all_of.first[ranked]]
    items, categories, taken, waiting = set(), set(), [], []
    for at, item, category in zip(ranked, firsts["item"], firsts["category"], strict=True):
        if item in items:
            continue
        items.add(item)
        (waiting if category in categories else taken).append(int(at))
        categories.add(category)
    return lines(all_of, [*taken, *waiting][:MOST]) if len(ranked) else []


def _flip(card: Card, line: Line, question: str, key: str) -> str:
    words = " ".join(question.split())
    short = words if len(words) <= LONGEST else words[: LONGEST - 1] + "\u2026"
    chips = "".join(verdict_chip(mark.pick) for mark in line.marks[:6])
    select = {"judge": card.judge, "prompt": card.prompt, "flipped": True, "key": key}
    who = " \u00b7 ".join(safe(name) for name in line.names)
    return (
        f'<div class="eh-card flip"><div dir="auto">{safe(short)}</div>'
        f'<div class="eh-row eh-small">{chips}<span class="eh-mute">{who}</span>'
        f'<span class="eh-grow"></span>{link("Open", select)}</div></div>'
    )
