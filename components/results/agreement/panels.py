"""Panels of the view Agreement: headline, key figures, matrix of raters, merged orders,
categories.

A rater is a judge with a prompt, or the people who voted."""

from collections.abc import Mapping
from typing import Final

from components.html import heatmap as heat
from components.html import scales
from components.html.format import DASH, count, decimal, interval, number, percent, share
from components.html.markup import EMPTY, Markup, attributes, fill, join, link
from components.html.pieces import empty_state, legend_entry, wrap
from components.html.tables.forest_cells import fit_share_axis
from components.html.tables.range_table import (
    axis_cell,
    dumbbell_track,
    people_track,
    range_row,
    range_table,
)
from components.html.tables.table import TableCell
from components.results.agreement.computed import Agreement, judges_equally_close_to_people
from components.results.bias.sentences import NO_PREFERENCES, missing_orders_text
from metrics.agreement.pairwise_agreement import PEOPLE
from studies.domain import Estimate

COEFFICIENTS: Final = {
    "κ": (
        "kappa",
        scales.KAPPA_SCALE,
        "Cohen's κ between two raters; possible verdicts: each position, and tie",
    ),
    "Same verdict": (
        "share",
        scales.AGREEMENT_SCALE,
        "% of verdicts on which two raters agree, ties included",
    ),
    "α": (
        "alpha",
        scales.KAPPA_SCALE,
        "Krippendorff's α between two raters; possible verdicts: each position, and tie",
    ),
    "Without ties": (
        "decisive",
        scales.AGREEMENT_SCALE,
        "% of verdicts on which two raters agree, where neither gives a tie",
    ),
}
GOLD_NOTE: Final = (
    "The known better answers give the accuracy. If people labelled them, map their column to "
    "`human` instead of `gold`."
)
"""Note for a table with a column of known better answers and without votes."""
TWO_RATERS: Final = "verdicts of two raters (judges, prompts or people) that pass the filters"


def agreement_headline(data: Agreement) -> tuple[str, str]:
    """Headline and the sentence below: the judges closest to people; without votes, agreement among
    judges; without judges, agreement of two people. Otherwise, what is missing."""
    raters, replies = data.raters, len(data.raters.rows_of_model_judges)
    if not data.judges and raters.has_people:
        people = data.voter_agreement.voters
        who = "one person" if people == 1 else f"{count(people)} people"
        none = f"There is no judge to compare with them {raters.yet_or_under_filters_text}."
        lead = f"The votes are by {who}. {NO_PREFERENCES if replies else none}"
        return _two_people_agreement_sentence(data), lead
    if not data.judges:
        return NO_PREFERENCES, "Agreement is measured on replies that do."
    if ranked := data.judges_compared_with_people:
        kappa = "κ corrects for chance: 0 is chance, 1 is full agreement."
        return _judges_closest_to_people_sentence(
            data, ranked
        ), f"{_two_people_agreement_sentence(data)} {kappa}"
    gold = "gold" in raters.filtered.study.data.mapping.values()
    if len(data.judges) > 1:
        wrong = f"{rater_noun(data).capitalize()} that agree may still be wrong."
        lead = GOLD_NOTE if gold else wrong
        return _agreement_among_judges_sentence(data), f"{raters.missing_votes_text} {lead}"
    lead = GOLD_NOTE if gold else "Agreement needs a second judge or prompt, or some votes."
    title = f"There is no second judge and no vote to compare {data.judges[0]} with"
    return f"{title} {raters.yet_or_under_filters_text}.", f"{raters.missing_votes_text} {lead}"


def _two_people_agreement_sentence(data: Agreement) -> str:
    pair = data.voter_agreement.pair.share.value
    if pair is None:
        return "No pair has votes by two people."
    return f"Two people who vote on the same pair agree in {share(pair, 0)} of cases."


def _agreement_share_with_people(data: Agreement, name: str) -> float | None:
    got = data.coefficients_with_people(name)
    return None if got is None else got.share.value


def _judges_closest_to_people_sentence(data: Agreement, ranked: list[str]) -> str:
    best = judges_equally_close_to_people(data, ranked)
    value = _agreement_share_with_people(data, best[0]) or 0.0
    if len(ranked) == 1:
        return f"{best[0]} agrees with people in {share(value, 0)} of its verdicts."
    if len(best) == 1:
        return f"{best[0]} agrees with people most often: in {share(value, 0)} of verdicts."
    if len(best) == 2:
        other = _agreement_share_with_people(data, best[1]) or 0.0
        return (
            f"{best[0]} (in {share(value, 0)} of its verdicts) and {best[1]} ({share(other, 0)}) "
            "agree with people most often."
        )
    return (
        f"{best[0]} agrees with people in {share(value, 0)} of verdicts, not "
        f"significantly more often than {len(best) - 1} other {rater_noun(data)}."
    )


def _agreement_among_judges_sentence(data: Agreement) -> str:
    two = data.two_judges_agreeing_most
    what = rater_noun(data)
    if two is None:
        return f"No two {what} have verdicts on the same answers yet."
    a, b, got = two
    if len(data.judges) == 2:
        return f"{a} and {b} agree in {percent(got.share, 0, n=False)} of verdicts."
    highest = f"Of {len(data.judges)} {what}, {a} and {b} have the highest κ"
    return f"{highest}, {decimal(got.kappa, 2, n=False)}."


def rater_noun(data: Agreement) -> str:
    """Plural noun for the rows of the panels: "prompts", "judges" or "judge-prompt pairs"."""
    judges, prompts = ({data.raters.names[name][k] for name in data.judges} for k in (0, 1))
    if len(judges) == 1:
        return "prompts"
    return "judges" if len(prompts) == 1 else "judge-prompt pairs"


# ------------------------------------------------------------------------------ matrix


def show_matrix(data: Agreement, kind: str) -> Markup:
    """HTML matrix of agreement between raters, by the coefficient `kind` (a key of COEFFICIENTS);
    with fewer than two raters, a message. A click on a value opens the comparisons on which the two
    raters disagree."""
    field, scale, _ = COEFFICIENTS[kind]
    names = [*([PEOPLE] if PEOPLE in data.agreement_by_rater_pair else []), *data.ranked_judges]
    if len(names) < 2:
        return empty_state(
            "One rater only." if names else "Nothing to compare.", f"Agreement needs {TWO_RATERS}."
        )
    cells: dict[tuple[str, str], Estimate | None] = {
        (a, b): getattr(got, field)
        for a in names
        for b, got in data.agreement_by_rater_pair[a].items()
    }
    click = "Click to read the comparisons on which the two raters disagree"
    keys = ("row", "unlike")
    return heat.matrix_html(names, names, cells, scale, keys=keys, click=click, turns=False)


# ---------------------------------------------------------------------- one order or both


ORDER_LEGEND: Final = fill(
    '<span class="eh-key"><i class="hollow"></i>one order</span>{}{}',
    legend_entry("dot", "both orders"),
    legend_entry("diamond", "people"),
)


def order_legend(*more: str) -> Markup:
    """HTML legend of the symbols for one order, both orders and people, then the entries `more`."""
    return wrap(fill('<div class="eh-row eh-keys">{}{}</div>', ORDER_LEGEND, join(more)))


def show_merged_order_agreement(data: Agreement) -> Markup:
    """HTML table of agreement with people: single orders against both orders merged. When orders
    are merged, a win needs both orders; anything else is a tie. A message if no pair with verdicts
    in both orders has votes."""
    if not data.merged_share_equal_to_majority:
        why = NO_PREFERENCES
        if len(data.merged_order_verdicts):
            why = "No pair with verdicts in both orders has votes."
        elif data.judges:
            why = missing_orders_text(int(data.raters.rows_of_model_judges["orders"].max()))
        return empty_state("No merged orders.", why)
    pair = data.voter_agreement.pair.share
    lines = [
        (name, got.share, data.merged_share_equal_to_majority[name])
        for name in data.ranked_judges
        if name in data.merged_share_equal_to_majority
        and (got := data.coefficients_with_people(name)) is not None
    ]
    every = [e for _, one, both in lines for e in (one, both)] + [pair]
    axis = fit_share_axis(every, bounds=(0, 1))
    rows = [
        range_row(
            name,
            dumbbell_track(axis, one, both),
            one_to_both_orders_html(one, both),
            tip=_agreement_and_chance_text(name, (one, both), data),
        )
        for name, one, both in lines
    ]
    if pair.value is not None:
        value, tip = fill("<b>{}</b>", number(100 * pair.value)), f"two people\n{percent(pair)}"
        rows.append(range_row("two people", people_track(axis, pair), value, tip=tip))
    head = TableCell(data.raters.column_head, "nm")
    heads = [head, axis_cell(axis), TableCell("Agreement, %", "num d")]
    label = "Agreement with people: one order and both orders"
    return range_table(heads, rows, "short", label, axis)


def _agreement_and_chance_text(
    name: str, shares: tuple[Estimate, Estimate], data: Agreement
) -> str:
    """Text of the hover card: agreement in one order and in both orders, each with the agreement
    of a judge that chooses at random and ties as often."""
    chances = (data.chance_agreement_with_people(name, both) for both in (False, True))
    parts = zip(("one order", "both orders"), shares, chances, strict=True)
    told = (f"{order} {percent(one)}, chance {share(by, 0)}" for order, one, by in parts)
    return "\n".join((name, *told))


def one_to_both_orders_html(
    one: Estimate, both: Estimate, scale: float = 100, decimals: int = 0
) -> Markup:
    """HTML of a value from one order and the value from both orders, with an arrow between them;
    both are multiplied by `scale`."""
    ends = [number(None if e.value is None else scale * e.value, decimals) for e in (one, both)]
    return fill('<span class="eh-mute">{} \u2192</span> <b>{}</b>', *ends)


def estimate_html(
    estimate: Estimate,
    decimals: int = 0,
    scale: float = 100,
    *,
    head: str = "",
    tip: str = "",
    opens: Mapping[str, object] | None = None,
    attribute: Markup = EMPTY,
) -> Markup:
    """HTML of an estimate with its interval. Both are multiplied by `scale`, by default to per
    cent. An unknown value is a dash, with the reason in its hover card.

    `head`: column head, shown before the value on phones only. `tip`: hover card of a known
    value. `opens`: filters of the judgements that a click on the value opens. `attribute`:
    HTML attribute from `measure_attribute` that names the measure."""
    label = fill('<span class="lb">{}</span>', head) if head else EMPTY
    if estimate.value is None:
        return label + fill('<span class="eh-mute" data-tip="{}">{}</span>', estimate.note, DASH)
    value = link(number(scale * estimate.value, decimals), opens)
    shown = fill("<b{}{}>{}</b>", attributes({"data-tip": tip or None}), attribute, value)
    bounds = interval(estimate, decimals, scale=scale)
    return fill('{}{} <span class="eh-ci">{}</span>', label, shown, bounds)
