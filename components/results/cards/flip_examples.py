"""Three example flips on a report card, with links to Inspect."""

from __future__ import annotations

from typing import Final

import numpy as np

from components.html.format import truncate
from components.html.markup import Markup, escape, fill, join, link
from components.html.panel import verdict_chip
from components.inspect.comparison_index import (
    ComparisonIndex,
    ComparisonRow,
    comparison_rows,
    index_comparisons,
)
from components.results.cards.report_card import ReportCard

MAX_EXAMPLES: Final = 3
MAX_QUESTION_CHARS: Final = 150


def flip_examples_html(card: ReportCard) -> Markup:
    """HTML of example flips, each from another item and if possible another category."""
    filtered = card.raters.filtered
    own = card.rows.assign(judge=card.rows["judge"].cat.rename_categories(_judge_rename(card)))
    chosen = _pick_examples(index_comparisons(own))
    if not chosen:
        return fill('<p class="eh-small eh-mute">{}</p>', _no_flips_text(card))
    questions = filtered.store.questions(filtered.name, {line.item for line in chosen})
    keys = filtered.store.keys_by_seq([line.seqs[0] for line in chosen])
    made = join(
        _flip_html(card, line, questions.get(line.item) or line.item, keys.get(line.seqs[0], ""))
        for line in chosen
    )
    legend = (
        "The same colour twice means that the same position won in both orders."
        if card.pairs
        else ""
    )
    return fill('{}<p class="eh-small eh-mute">{}</p>', made, legend)


def _judge_rename(card: ReportCard) -> dict[str, str]:
    return {card.rater: card.judge}


def _no_flips_text(card: ReportCard) -> str:
    if not card.facts["sets"]:
        return "No comparison has a verdict in more than one order."
    return "No verdict changed when swapped."


def _pick_examples(index: ComparisonIndex) -> list[ComparisonRow]:
    """Choose MAX_EXAMPLES flips of different items, if possible of different categories;
    preferably those in which the numbers of verdicts for the first and the second position differ
    most."""
    flipped = np.flatnonzero(index.flipped)
    ranked = flipped[np.argsort(-np.abs(index.lean[flipped]), kind="stable")]
    firsts = index.frame.iloc[index.first[ranked]]
    items, categories = set(), set()
    new_category: list[int] = []
    same_category: list[int] = []
    for at, item, category in zip(ranked, firsts["item"], firsts["category"], strict=True):
        if item in items:
            continue
        items.add(item)
        (same_category if category in categories else new_category).append(int(at))
        categories.add(category)
    examples = [*new_category, *same_category][:MAX_EXAMPLES]
    return comparison_rows(index, examples) if len(ranked) else []


def _flip_html(card: ReportCard, line: ComparisonRow, question: str, key: str) -> Markup:
    short = truncate(question, MAX_QUESTION_CHARS)
    chips = join(verdict_chip(mark.pick) for mark in line.verdicts[:6])
    select = {"judge": card.judge, "prompt": card.prompt, "flipped": True, "key": key}
    who = join((escape(name) for name in line.names), " \u00b7 ")
    return fill(
        '<div class="eh-card flip"><div dir="auto">{}</div>'
        '<div class="eh-row eh-small">{}<span class="eh-mute">{}</span>'
        '<span class="eh-grow"></span>{}</div></div>',
        short,
        chips,
        who,
        link("Open", select),
    )
