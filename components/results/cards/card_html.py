"""HTML of a judge's report card: summary, measures, positions, categories, flips, cost."""

from typing import Any, Final

import numpy as np

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters
from components.html import format as formats
from components.html import pieces
from components.html.format import DASH, NARROW_SPACE, count, share, spaced_ci
from components.html.markup import EMPTY, Markup, fill, join
from components.html.tables.forest_cells import Axis, forest_html
from components.html.tables.table import plain_table
from components.html.tables.value_table import (
    PERCENT,
    STYLES,
    ColumnHead,
    forest_cell,
    name_cell,
    value_cell,
    value_table,
)
from components.html.templates import macros
from components.inspect import comparison_index
from components.results.cards.measure_table import show_measures
from components.results.cards.point_card import PointCard
from components.results.cards.report_card import ReportCard
from components.results.cards.sentence_rules import card_sentences
from metrics.catalogue import records
from metrics.catalogue.record import CHANCE
from metrics.estimation.row_selection import reply_noun, usable_status_mask
from metrics.protocols.printed_accuracies import PRINTED_BY, accuracies_as_in_papers

SLOT_COLOURS: Final = ("first", "second")
MAX_CARDS: Final = 12
"""Maximum number of report cards in the report file; a line gives the number of further cards."""
MAX_EXAMPLES: Final = 3
MAX_QUESTION_CHARS: Final = 150
_OWN_RULE: Final = (
    "Evenhand's definition: each usable verdict counts separately; a tie counts as wrong"
)
_CARD: Final = macros("results/cards/card.html")


def show_card(raters: Raters, rater: str, unfolded: bool = False) -> Markup:
    """HTML of the report card of one rater (a judge with a prompt), or a message if no verdict of
    this rater passes the filters; with `unfolded`, its lower part is open."""
    if rater not in raters.filtered_rater_names:
        return pieces.empty_state(
            "There is no judge to report on.",
            "No judge's verdict passes these filters. Run the study or remove a filter. For "
            "verdicts by people, see the view Agreement.",
        )
    card = ReportCard(raters, rater)
    if (card.rows["options"] == 1).all():
        points = PointCard(card.rows)
        told = _CARD.sentences([(text, "") for text in points.sentences], "")
        head = _card_head(card, count(points.arrangement_count, "arrangement"))
        top = [head, told, _single_answer_measure_table(points)]
        made = _CARD.report(top, [], EMPTY, [_cost_html(card)], unfolded)
        return made + pieces.how_computed(points.how_computed_text)
    said = [(one.text, one.threshold) for one in card_sentences(card.facts, card.text_by_key)]
    told = _CARD.sentences(said, " eh-claim")
    top = [_card_head(card, _orders_text(card)), told, show_measures(card)]
    left, right = [], EMPTY
    if card.facts["read"] and not card.scores_only:
        left = [_slot_bars(card), _consistency_by_category_html(card)]
        right = _flip_examples_html(card)
    below = [_accuracies_as_in_papers_table(card), _cost_html(card)]
    made = _CARD.report(top, left, right, below, unfolded)
    return made + pieces.how_computed(_how_computed_text(card))


def _single_answer_measure_table(card: PointCard) -> Markup:
    """HTML table of the measures that have a value, then a list of those without a value."""
    heads = [
        ColumnHead("Measure", numeric=False),
        ColumnHead(f"Value, 95{NARROW_SPACE}% CI"),
        ColumnHead("", axis=Axis()),
    ]
    rows, missing = [], []
    for label, note, one, style in card.measures:
        if one.value is None:
            missing.append(f"{label.lower()} ({one.note})")
            continue
        value = value_cell(one, STYLES[style], who=label, n=True)
        plot = forest_cell(one, Axis(), STYLES[style], label) if style == "percent" else EMPTY
        rows.append([name_cell(label, note=note), value, plot])
    none = fill('<p class="eh-small eh-mute eh-under">No value: {}.</p>', "; ".join(missing))
    table = value_table(heads, rows, label="Measures of the judge")
    return table + none if missing else table


def report_cards_html(filtered: FilteredStudy) -> Markup:
    """HTML report section with one report card per judge and prompt, as on the page; at most
    MAX_CARDS."""
    raters = Raters(filtered)
    names = list(raters.filtered_rater_names)
    cards = join(
        fill('<section class="eh-panel eh-sheet">{}</section>', show_card(raters, name, True))
        for name in names[:MAX_CARDS]
    )
    left = len(names) - MAX_CARDS
    more = pieces.wrap(fill("<p>The page has {}.</p>", count(left, "more card")))
    return cards + more if left > 0 else cards


def _orders_text(card: ReportCard) -> str:
    orders = int(card.facts["orders"] or 0)
    if orders < 2:
        return "one order" if orders else "unknown order"
    return "both orders" if card.compares_pairs else f"{orders} orders"


def _card_head(card: ReportCard, orders: str) -> Any:
    """HTML head of a report card; `orders`: text such as "both orders"."""
    filtered = card.raters.filtered
    items = card.rows.loc[usable_status_mask(card.rows), "item"].nunique()
    judged = f"{count(items, 'item')} in {orders}" if items else "no verdict"
    prompt = f"prompt {card.prompt}" if card.prompt else ""
    words = ["Report card of a judge", prompt, f"study {filtered.name}", judged]
    if filtered.filter.category != "all":
        words.append(f"category {filtered.filter.category}")
    simulated = {judge.name for judge in filtered.study.judges if judge.kind == "simulated"}
    return _CARD.head(card, list(filter(None, words)), card.judge in simulated)


# ------------------------------------------------------------------ positions and flips


def _slot_bars(card: ReportCard) -> Any:
    """HTML bars of each position's share of the decisive verdicts, with a dashed line at 1/N; the
    reason instead, if a share is unknown."""
    bars = []
    for slot, one in enumerate(card.decisive_shares_by_slot):
        if one.value is None:
            return _CARD.no_slots(one.note)
        name = formats.slot_name(slot)
        bars.append(
            {
                "name": name,
                "colour": SLOT_COLOURS[slot] if slot < 2 else "later",
                "select": card.inspect_filters | {"slot": slot},
                "tip": f"{share(one.value)}{spaced_ci(one, 1, scale=100)}\nshown {name}\n"
                f"n {count(one.n)}\nClick to open these verdicts in Inspect",
                "value": one.value,
                "low": one.value if one.low is None else one.low,
                "high": one.value if one.high is None else one.high,
            }
        )
    below = f"{share(card.tie_share.value, 0)} of verdicts are ties; dashed line: no preference"
    if card.compares_pairs:
        below += (
            f"; {count(card.flips['toward_first'], 'flip')} toward the answer shown first and "
            f"{count(card.flips['toward_second'])} toward the second, of "
            f"{count(card.flips['pairs'], 'pair')}"
        )
    return _CARD.slots(bars, 1 / card.max_options, below)


def _consistency_by_category_html(card: ReportCard) -> Any:
    known = {name: e for name, e in card.consistency_by_category.items() if e.value is not None}
    ranked = sorted(known.items(), key=lambda pair: (pair[1].items < 5, -(pair[1].value or 0.0)))
    axis = Axis(chance=card.chance_consistency)
    rows = [(name, estimate, forest_html(estimate, axis)) for name, estimate in ranked]
    return _CARD.categories(card, rows) if rows else EMPTY


def _flip_examples_html(card: ReportCard) -> Any:
    """HTML of example flips, each from another item and if possible another category; a sentence
    instead, if nothing flips or no comparison has verdicts in several orders."""
    store, study = card.raters.filtered.store, card.raters.filtered.name
    renamed = card.rows["judge"].cat.rename_categories({card.rater: card.judge})
    index = comparison_index.index_comparisons(card.rows.assign(judge=renamed))
    chosen = _choose_example_flips(index)
    if not chosen:
        none = "No comparison has a verdict in more than one order."
        return _CARD.flips([], "No comparison flips." if card.facts["sets"] else none)
    questions = store.questions(study, {line.item for line in chosen})
    keys = store.keys_by_seq([line.seqs[0] for line in chosen])
    examples = [
        {
            "question": formats.truncate(questions.get(line.item) or line.item, MAX_QUESTION_CHARS),
            "chips": join(pieces.verdict_chip(mark.pick) for mark in line.verdicts[:6]),
            "names": line.model_names,
            "select": card.inspect_filters | {"flipped": True, "key": keys.get(line.seqs[0], "")},
        }
        for line in chosen
    ]
    twice = "The same colour twice means that the same position won in both orders."
    return _CARD.flips(examples, twice if card.compares_pairs else "")


def _choose_example_flips(
    index: comparison_index.ComparisonIndex,
) -> list[comparison_index.ComparisonRow]:
    """Choose up to MAX_EXAMPLES flips of different items, if possible of different categories;
    preferably those in which the numbers of verdicts for the first and the second position differ
    most."""
    flipped = np.flatnonzero(index.flipped)
    ranked = flipped[np.argsort(-np.abs(index.lean[flipped]), kind="stable")]
    firsts = index.frame.iloc[index.first[ranked]]
    items, categories = set(), set()
    new_category: list[int] = []
    same_category: list[int] = []
    for at, item, category in zip(ranked, firsts["item"], firsts["category"], strict=True):
        if item not in items:
            (same_category if category in categories else new_category).append(int(at))
            items.add(item)
            categories.add(category)
    examples = [*new_category, *same_category][:MAX_EXAMPLES]
    return comparison_index.comparison_rows(index, examples) if len(ranked) else []


# ------------------------------------------------------------------- accuracies, cost, speed


def _accuracies_as_in_papers_table(card: ReportCard) -> Markup:
    """HTML table of accuracies as defined in several papers, beside Evenhand's accuracy; empty if
    no better answer is known, or the judge chooses among more than two options."""
    found = accuracies_as_in_papers(card.rows_without_noise_repeats)
    if not found:
        return EMPTY
    own = (records.RECORDS["accuracy"].name, card.measures["accuracy"], _OWN_RULE)
    listed = [(records.RECORDS[key].name, one, PRINTED_BY[key]) for key, one in found.items()]
    rows = [
        (name, PERCENT.text(one.value), PERCENT.interval(one), count(one.n), source)
        if one.value is not None
        else (name, DASH, "", "0", source)
        for name, one, source in (own, *listed)
    ]
    table = plain_table(("Definition", "Accuracy, %", "95 % CI", "n", "Source"), rows)
    return fill("<section><h3>Accuracy as defined in papers</h3>{}</section>", table)


def _cost_html(card: ReportCard) -> Any:
    """HTML of replies, tokens, seconds and dollars; values that were not recorded show a dash and
    the reason."""
    spent, chosen = card.rater_spending, card.raters.filtered.filter
    parts = [f"{count(spent.unusable)} without a verdict"]
    parts += [f"{count(spent.repeats)} repeated in the same order"] if spent.repeats else []
    parts += [f"{count(spent.twins)} on twins (Nudges)"] if spent.twins else []
    parts += [f"besides, {count(spent.failed, 'failed call')}"] if spent.failed else []
    if chosen.selects_cases:
        parts.append("the filters do not apply")
    tokens, each = (DASH, "not recorded"), "price unknown"
    if spent.prompt_tokens is not None:
        both = (spent.prompt_tokens, spent.completion_tokens)
        tokens = (" + ".join(map(formats.tokens, both)), "")
    if spent.dollars_per_reply is not None:
        each = f"{formats.dollars(1000 * spent.dollars_per_reply)} for 1,000 replies"
        each += "; the sum includes failed calls" if spent.failed else ""
    dollars = DASH if spent.dollars is None else formats.dollars(spent.dollars)
    timing = "median" if spent.timed else "not recorded"
    return _CARD.spent(
        [
            ("Replies", count(spent.replies), "; ".join(parts)),
            ("Tokens, in and out", *tokens),
            ("Time per reply", formats.duration(spent.median_seconds), timing),
            ("Dollars", dollars, each),
        ]
    )


def _how_computed_text(card: ReportCard) -> str:
    read, once = int(card.facts["read"] or 0), len(card.rows_without_noise_repeats)
    repeats, single = len(card.rows) - once, count(once)
    others = f": {count(repeats, 'repeat')} in the same order and {single} others, of which"
    parts = f"{others} {count(read)}" if repeats else f", {count(read)}"
    people, votes = card.voter_agreement, ""
    if people.cases:
        votes = (
            f"People voted on {count(people.cases, 'pair')}, of which "
            f"{count(people.single_vote_cases)} have a single vote; “the answer that most people "
            "prefer” has over half of a pair's votes, and pairs without one are left out there. "
        )
    return (
        f"{count(len(card.rows), reply_noun(card.rows))}{parts} with a verdict. "
        f"Intervals: 95{NARROW_SPACE}%, items as clusters: all orders and pairs of an item stay "
        f"together. {votes}{CHANCE}\n\nFixed rules choose the sentences of this card from its "
        "numbers. Hover over a sentence to see its rule and threshold."
    )
