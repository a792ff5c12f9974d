"""HTML of a judge's report card: summary, measures, positions, categories, flips, cost."""

from __future__ import annotations

import json
from typing import Final

from components.charts.slot_histogram import slot_name
from components.filtering.raters import Raters
from components.html.format import (
    DASH,
    NARROW_SPACE,
    count,
    dollars,
    duration,
    interval,
    number,
    share,
    tokens,
)
from components.html.markup import (
    EMPTY,
    Markup,
    attributes,
    escape,
    fill,
    inline_markup,
    join,
    link,
)
from components.html.panel import Axis, empty_state, forest_html, how_computed, wrap
from components.html.tables.range_table import range_table
from components.html.tables.table import TableCell, TableRow
from components.results.cards.accuracy_table import show_accuracies
from components.results.cards.flip_examples import flip_examples_html
from components.results.cards.measure_table import show_measures
from components.results.cards.point_card import (
    PointCard,
    point_how_text,
    point_measures_html,
    point_sentences_html,
)
from components.results.cards.report_card import ReportCard
from components.results.cards.sentence_rules import card_sentences
from metrics.estimation import row_selection
from studies.domain import Estimate
from studies.store.queries.judge_spending import JudgeSpending

SLOT_COLOURS: Final = ("first", "second")


def show_card(raters: Raters, rater: str) -> Markup:
    """HTML of the report card of one rater (a judge with a prompt)."""
    if rater not in raters.in_view:
        return empty_state(
            "There is no judge to report on.",
            "No judge's verdict passes these filters. Run the study or remove a filter. For "
            "verdicts by people, see the view People.",
        )
    card = ReportCard(raters, rater)
    if (card.rows["options"] == 1).all():
        return _show_point_card(card)
    parts = [_card_head(card, _orders_text(card)), _sentences_html(card), show_measures(card)]
    if card.facts["read"]:
        slots = fill("<section><h3>Positions chosen</h3>{}</section>", _slot_bars(card))
        left = fill("<div>{}{}</div>", slots, _category_table(card))
        right = fill("<div>{}</div>", _flips_section(card))
        parts.append(fill('<div class="eh-two eh-card-two">{}{}</div>', left, right))
    parts += [show_accuracies(card), _cost_html(card)]
    return wrap(fill('<article class="eh-report">{}</article>', join(parts))) + how_computed(
        _how_computed(card)
    )


def _show_point_card(card: ReportCard) -> Markup:
    """HTML of the report card of a rater that judges single answers."""
    points = PointCard(card.rows)
    shown = count(points.arrangements, "arrangement")
    parts = [
        _card_head(card, shown),
        point_sentences_html(points),
        point_measures_html(points),
        _cost_html(card),
    ]
    made = wrap(fill('<article class="eh-report">{}</article>', join(parts)))
    return made + how_computed(point_how_text(points))


def _orders_text(card: ReportCard) -> str:
    orders = int(card.facts["orders"] or 0)
    return "one order" if orders == 1 else "both orders" if card.pairs else f"{orders} orders"


def _card_head(card: ReportCard, shown: str) -> Markup:
    filtered = card.raters.filtered
    items = count(card.rows["item"].nunique(), "item")
    words = ["Report card of a judge", card.prompt, filtered.name, f"{items} in {shown}"]
    if filtered.filter.category != "all":
        words.append(f"category {filtered.filter.category}")
    small = join((escape(word) for word in words if word), " \u00b7 ")
    badge = _simulated_badge(card)
    return fill('<p class="eh-small eh-mute">{}</p><h1>{} {}</h1>', small, card.judge, badge)


def _simulated_badge(card: ReportCard) -> Markup:
    kinds = {judge.name: judge.kind for judge in card.raters.filtered.study.judges}
    if kinds.get(card.judge) != "simulated":
        return EMPTY
    return Markup('<span class="eh-badge sim">simulated</span>')


def _sentences_html(card: ReportCard) -> Markup:
    """HTML of the card's two sentences and its advice; hover or keyboard focus shows the rule and
    threshold that chose each sentence."""
    parts = []
    for sentence in card_sentences(card.facts, card.words):
        made = attributes({"class": "eh-said", "data-tip": sentence.threshold, "tabindex": "0"})
        parts.append(fill("<span{}>{}</span>", made, inline_markup(sentence.text)))
    return fill('<p class="eh-verdict eh-claim">{}</p>', join(parts, " "))


# ------------------------------------------------------------------ positions and flips


def _slot_bars(card: ReportCard) -> Markup:
    """HTML bars of each position's share of the decisive verdicts, with a dashed line at 1/N."""
    even = 1 / card.options
    bars = ""
    for slot, estimate in enumerate(card.slots):
        if estimate.value is None:
            return fill('<p class="eh-small eh-mute">{}</p>', estimate.note)
        colour = SLOT_COLOURS[slot] if slot < 2 else "later"
        select = json.dumps(_judge_selection(card) | {"slot": slot})
        tip = f"{share(estimate.value)} {interval(estimate, 1, scale=100)}\nshown {slot_name(slot)}"
        made = attributes(
            {
                "type": "button",
                "class": "eh-bar",
                "data-select": select,
                "data-tip": f"{tip}\nn {count(estimate.n)}\nClick to open these verdicts in "
                "Inspect",
            }
        )
        low, high = estimate.low or estimate.value, estimate.high or estimate.value
        bars += fill(
            '<button{}><span>{}</span><span class="t">'
            '<i class="{}" style="width:{:.2f}%"></i>'
            '<i class="w" style="left:{:.2f}%;width:{:.2f}%"></i>'
            '<i class="c" style="left:{:.2f}%"></i></span>'
            "<b>{}</b></button>",
            made,
            slot_name(slot),
            colour,
            100 * estimate.value,
            100 * low,
            100 * (high - low),
            100 * even,
            share(estimate.value, 0),
        )
    return fill(
        '<div class="eh-bars">{}</div><p class="eh-small eh-mute">{}</p>',
        bars,
        _ties_and_flips(card),
    )


def _ties_and_flips(card: ReportCard) -> str:
    ties = f"{share(card.ties.value, 0)} of verdicts are ties; dashed line: no preference"
    if not card.pairs:
        return ties
    flips = card.flips
    return (
        f"{ties}; {count(flips['toward_first'])} flips toward the answer shown first and "
        f"{count(flips['toward_second'])} toward the second, of {count(flips['pairs'], 'pair')}"
    )


def _judge_selection(card: ReportCard) -> dict[str, object]:
    return {"judge": card.judge, "prompt": card.prompt}


def _category_table(card: ReportCard) -> Markup:
    known = {name: e for name, e in card.categories.items() if e.value is not None}
    if not known:
        return EMPTY
    ranked = sorted(known.items(), key=lambda pair: (pair[1].items < 5, -(pair[1].value or 0.0)))
    axis = Axis(chance=card.measures["chance"].value)
    rows = [
        TableRow(
            [
                TableCell(link(name, _judge_selection(card) | {"category": name}), "nm"),
                TableCell(forest_html(estimate, axis), "trk"),
                TableCell(_category_value(estimate), "num"),
            ]
        )
        for name, estimate in ranked
    ]
    heads = [TableCell("", "nm"), TableCell("", "trk"), TableCell("", "num")]
    made = range_table(heads, rows, "card cats", f"Consistency of {card.judge} by category")
    return fill("<section><h3>Consistency by category</h3>{}</section>", made)


def _category_value(estimate: Estimate) -> Markup:
    if 0 < estimate.items < 5:
        return fill('<span class="eh-mute eh-small">{}</span>', count(estimate.items, "item"))
    ends = f"{number(100 * (estimate.low or 0.0))}\u2013{number(100 * (estimate.high or 0.0))}"
    value = number(100 * (estimate.value or 0.0))
    return fill(
        '<b>{}</b> <span class="eh-ci">{}</span>', value, ends if estimate.low is not None else ""
    )


def _flips_section(card: ReportCard) -> Markup:
    return fill("<section><h3>Example flips</h3>{}</section>", flip_examples_html(card))


# ------------------------------------------------------------------------ cost and speed


def _cost_html(card: ReportCard) -> Markup:
    """HTML of replies, tokens, seconds and dollars; values that were not recorded show a dash and
    the reason."""
    spent = card.spent
    failed = len(card.planned_rows) - int(row_selection.evidence_mask(card.planned_rows).sum())
    timing = "median" if spent.timed else "not recorded"
    parts = [
        ("Replies", count(spent.replies), f"{count(failed)} without a verdict"),
        ("Tokens, in and out", *_token_texts(spent)),
        ("Time per reply", duration(spent.median_seconds), timing),
        ("Dollars", *_dollar_texts(spent)),
    ]
    cells = join(
        fill(
            '<div><dt>{}</dt><dd><b>{}</b><span class="eh-small eh-mute">{}</span></dd></div>',
            label,
            value,
            note,
        )
        for label, value, note in parts
    )
    return fill('<dl class="eh-spent">{}</dl>', cells)


def _token_texts(spent: JudgeSpending) -> tuple[str, str]:
    if spent.prompt_tokens is None:
        return DASH, "not recorded"
    return f"{tokens(spent.prompt_tokens)} + {tokens(spent.completion_tokens)}", ""


def _dollar_texts(spent: JudgeSpending) -> tuple[str, str]:
    if spent.dollars is None:
        return DASH, "price unknown"
    if not spent.replies:
        return dollars(spent.dollars), "price unknown"
    per_thousand = 1000 * spent.dollars / (spent.replies - spent.unpriced)
    return dollars(spent.dollars), f"{dollars(per_thousand)} for 1,000 replies"


def _how_computed(card: ReportCard) -> str:
    replies, read = len(card.planned_rows), int(card.facts["read"] or 0)
    people = card.among_voters
    votes = (
        f"People: the majority vote on {count(people.cases, 'pair')}, of which "
        f"{count(people.single_vote_cases)} have a single vote. "
        if people.cases
        else ""
    )
    return (
        f"{count(replies, 'reply')}, {count(read)} with a verdict. Intervals: "
        f"95{NARROW_SPACE}%, resampled by items; all orders and pairs of an item stay together. "
        f"{votes}Chance consistency: the consistency of random verdicts that choose each position "
        "as often as the judge does.\n\n"
        "Fixed rules choose the sentences of this card from its numbers. Hover over a sentence to "
        "see its rule and threshold."
    )
