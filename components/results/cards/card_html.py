"""A judge's report card as one sheet: words, measures, places, categories, cost, flips to read."""

from __future__ import annotations

import json
from typing import Final

from components.charts.slot_histogram import slot_name
from components.filtering.raters import Raters
from components.html.format import (
    DASH,
    NARROW_SPACE,
    attributes,
    count,
    dollars,
    duration,
    escape,
    inline_markup,
    interval,
    number,
    share,
    tokens,
)
from components.html.panel import Axis, empty_state, forest_html, how_computed, wrap
from components.html.range_table import TableCell, TableRow, range_table, select_link
from components.results.cards.flip_examples import flip_examples_html
from components.results.cards.measure_table import show_measures
from components.results.cards.report_card import ReportCard
from components.results.cards.sentence_rules import card_sentences
from metrics.estimation import row_selection
from studies.domain import Estimate

SLOT_COLOURS: Final = ("first", "second")


def show_card(voices: Raters, voice: str) -> str:
    """The whole sheet of one voice."""
    if voice not in voices.in_view:
        return empty_state(
            "No judge to report on.",
            "No verdict of a judge is in view: run the study, or take a filter away. People who "
            "judged alone are under Agreement.",
        )
    card = ReportCard(voices, voice)
    parts = [_card_head(card), _sentences_html(card), show_measures(card)]
    if card.facts["read"]:
        places = f"<section><h3>Which place is chosen</h3>{_slot_bars(card)}</section>"
        left = f"{places}{_category_table(card)}"
        parts.append(
            f'<div class="eh-two eh-card-two"><div>{left}</div><div>{_flips_section(card)}</div></div>'
        )
    parts.append(_cost_html(card))
    return wrap(f'<article class="eh-report">{"".join(parts)}</article>') + how_computed(
        _how_computed(card)
    )


def _card_head(card: ReportCard) -> str:
    scene = card.raters.filtered_study
    items = count(card.rows["item"].nunique(), "item")
    orders = int(card.facts["orders"] or 0)
    asked = "one order" if orders == 1 else "both orders" if card.pairs else f"{orders} orders"
    words = ["Report card of a judge", card.prompt, scene.name, f"{items} in {asked}"]
    if scene.filter.category != "all":
        words.append(f"category {scene.filter.category}")
    small = " \u00b7 ".join(escape(word) for word in words if word)
    badge = _simulated_badge(card)
    return f'<p class="eh-small eh-mute">{small}</p><h1>{escape(card.judge)} {badge}</h1>'


def _simulated_badge(card: ReportCard) -> str:
    kinds = {judge.name: judge.kind for judge in card.raters.filtered_study.study.judges}
    if kinds.get(card.judge) != "simulated":
        return ""
    return '<span class="eh-badge sim">simulated</span>'


def _sentences_html(card: ReportCard) -> str:
    """Two sentences and one piece of advice; the threshold of each on hover and on focus."""
    said = card_sentences(card.facts, card.words)
    parts = []
    for sentence in said:
        made = attributes({"class": "eh-said", "data-tip": sentence.threshold, "tabindex": "0"})
        parts.append(f"<span{made}>{inline_markup(sentence.text)}</span>")
    return f'<p class="eh-verdict">{" ".join(parts)}</p>'


# -------------------------------------------------------------------- places and flips


def _slot_bars(card: ReportCard) -> str:
    """A bar a slot, share of decisive verdicts, the dashed line at 1/N; ties in words."""
    even = 1 / card.options
    bars = ""
    for slot, estimate in enumerate(card.slots):
        if estimate.value is None:
            return f'<p class="eh-small eh-mute">{escape(estimate.note)}</p>'
        colour = SLOT_COLOURS[slot] if slot < 2 else "later"
        select = json.dumps(_judge_selection(card) | {"slot": slot})
        tip = f"{share(estimate.value)} {interval(estimate, 1, scale=100)}\nshown {slot_name(slot)}"
        made = attributes(
            {"type": "button", "class": "eh-bar", "data-select": select,
             "data-tip": f"{tip}\nn {count(estimate.n)}\nClick to read them"}
        )  # fmt: skip
        low, high = estimate.low or estimate.value, estimate.high or estimate.value
        bars += (
            f'<button{made}><span>{slot_name(slot)}</span><span class="t">'
            f'<i class="{colour}" style="width:{100 * estimate.value:.2f}%"></i>'
            f'<i class="w" style="left:{100 * low:.2f}%;width:{100 * (high - low):.2f}%"></i>'
            f'<i class="c" style="left:{100 * even:.2f}%"></i></span>'
            f"<b>{share(estimate.value, 0)}</b></button>"
        )
    return (
        f'<div class="eh-bars">{bars}</div><p class="eh-small eh-mute">{_ties_and_flips(card)}</p>'
    )


def _ties_and_flips(card: ReportCard) -> str:
    ties = f"ties {share(card.ties.value, 0)}; dashed: even"
    if not card.pairs:
        return ties
    flips = card.flips
    return (
        f"{ties}; {count(flips['toward_first'])} flips toward the first, "
        f"{count(flips['toward_second'])} toward the second of {count(flips['pairs'], 'pair')}"
    )


def _judge_selection(card: ReportCard) -> dict[str, object]:
    return {"judge": card.judge, "prompt": card.prompt}


def _category_table(card: ReportCard) -> str:
    known = {name: e for name, e in card.categories.items() if e.value is not None}
    if not known:
        return ""
    ranked = sorted(known.items(), key=lambda pair: (pair[1].items < 5, -(pair[1].value or 0.0)))
    axis = Axis(chance=card.measures["chance"].value)
    rows = [
        TableRow(
            [
                TableCell(select_link(name, _judge_selection(card) | {"category": name}), "nm"),
                TableCell(forest_html(estimate, axis), "trk"),
                TableCell(_category_value(estimate), "num"),
            ]
        )
        for name, estimate in ranked
    ]  # fmt: skip
    heads = [TableCell("", "nm"), TableCell("", "trk"), TableCell("", "num")]
    made = range_table(heads, rows, "card cats", f"Consistency of {card.judge} by category")
    return f"<section><h3>Consistency by category</h3>{made}</section>"


def _category_value(estimate: Estimate) -> str:
    if 0 < estimate.items < 5:
        return f'<span class="eh-mute eh-small">{count(estimate.items, "item")}</span>'
    ends = f"{number(100 * (estimate.low or 0.0))}\u2013{number(100 * (estimate.high or 0.0))}"
    value = number(100 * (estimate.value or 0.0))
    return f'<b>{value}</b> <span class="eh-ci">{ends if estimate.low is not None else ""}</span>'


def _flips_section(card: ReportCard) -> str:
    return f"<section><h3>Flips to read</h3>{flip_examples_html(card)}</section>"


# ------------------------------------------------------------------------ cost and speed


def _cost_html(card: ReportCard) -> str:
    """Replies, tokens, seconds, dollars; what nobody recorded is a dash with the reason."""
    spent = card.spent
    failed = len(card.asked) - int(row_selection.evidence_mask(card.asked).sum())
    per = None if spent.dollars is None or not spent.replies else 1000 * spent.dollars
    parts = [
        ("Replies", count(spent.replies), f"{count(failed)} without a verdict"),
        ("Tokens, in and out", f"{tokens(spent.prompt_tokens)} + {tokens(spent.completion_tokens)}"
         if spent.prompt_tokens is not None else DASH,
         "" if spent.prompt_tokens is not None else "not recorded"),
        ("Seconds a reply", duration(spent.median_seconds),
         "median" if spent.timed else "not recorded"),
        ("Dollars", dollars(spent.dollars) if spent.dollars is not None else DASH,
         f"{dollars(per / (spent.replies - spent.unpriced))} for 1,000 replies" if per is not None
         else "no price known"),
    ]  # fmt: skip
    cells = "".join(
        f"<div><dt>{escape(label)}</dt><dd><b>{escape(value)}</b>"
        f'<span class="eh-small eh-mute">{escape(note)}</span></dd></div>'
        for label, value, note in parts
    )
    return f'<dl class="eh-spent">{cells}</dl>'


def _how_computed(card: ReportCard) -> str:
    asked, read = len(card.asked), int(card.facts["read"] or 0)
    people = card.among_voters
    votes = (
        f"People: {count(people.cases, 'pair')} voted on, majority; {count(people.single_vote_cases)} with a "
        "single vote. "
        if people.cases
        else ""
    )
    return (
        f"{count(asked, 'reply')}, {count(read)} read. Intervals: 95{NARROW_SPACE}%, resampled by items, "
        f"all orders and pairs of an item kept together. {votes}Chance of consistency is what "
        "independent draws from the judge's own shares would give.\n\n"
        "The sentences are chosen by rules from the numbers; the rule and its threshold stand in "
        "the hover of each."
    )
