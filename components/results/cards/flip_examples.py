"""Three flips worth reading: the same place won in both orders, whoever stood there."""

from __future__ import annotations

from typing import Final

import numpy as np

from components.html.format import escape
from components.html.panel import verdict_chip
from components.html.range_table import select_link
from components.inspect.comparison_index import (
    ComparisonIndex,
    ComparisonRow,
    comparison_rows,
    index_comparisons,
)
from components.results.cards.report_card import ReportCard

MAX_EXAMPLES: Final = 3
MAX_QUESTION_CHARS: Final = 150


def flip_examples_html(card: ReportCard) -> str:
    """Cards that open the flip in Inspect; of different items, categories apart if possible."""
    scene = card.raters.filtered_study
    own = card.rows.assign(judge=card.rows["judge"].cat.rename_categories(_judge_rename(card)))
    chosen = _pick_examples(index_comparisons(own))
    if not chosen:
        return f'<p class="eh-small eh-mute">{_no_flips_text(card)}</p>'
    questions = scene.store.questions(scene.name, {line.item for line in chosen})
    keys = scene.store.keys_by_seq([line.seqs[0] for line in chosen])
    made = "".join(
        _flip_html(card, line, questions.get(line.item) or line.item, keys.get(line.seqs[0], ""))
        for line in chosen
    )
    told = "The same colour twice: the same place won in both orders." if card.pairs else ""
    return f'{made}<p class="eh-small eh-mute">{told}</p>'


def _judge_rename(card: ReportCard) -> dict[str, str]:
    return {card.rater: card.judge}


def _no_flips_text(card: ReportCard) -> str:
    if not card.facts["sets"]:
        return "No comparison was read in more than one order."
    return "No verdict changed with the order."


def _pick_examples(all_of: ComparisonIndex) -> list[ComparisonRow]:
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
    return comparison_rows(all_of, [*taken, *waiting][:MAX_EXAMPLES]) if len(ranked) else []


def _flip_html(card: ReportCard, line: ComparisonRow, question: str, key: str) -> str:
    words = " ".join(question.split())
    short = (
        words if len(words) <= MAX_QUESTION_CHARS else words[: MAX_QUESTION_CHARS - 1] + "\u2026"
    )
    chips = "".join(verdict_chip(mark.pick) for mark in line.verdicts[:6])
    select = {"judge": card.judge, "prompt": card.prompt, "flipped": True, "key": key}
    who = " \u00b7 ".join(escape(name) for name in line.names)
    return (
        f'<div class="eh-card flip"><div dir="auto">{escape(short)}</div>'
        f'<div class="eh-row eh-small">{chips}<span class="eh-mute">{who}</span>'
        f'<span class="eh-grow"></span>{select_link("Open", select)}</div></div>'
    )
