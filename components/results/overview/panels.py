"""Contents of the Overview: three findings, each with a sentence, a small chart and a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from components.html.format import NARROW_SPACE, count, join_names, percent, share
from components.html.markup import EMPTY, Markup, escape
from components.html.tables import range_table
from components.html.tables.forest_cells import Axis, axis_html, fit_share_axis
from components.html.templates import macros
from components.results.agreement.computed import Agreement
from components.results.agreement.panels import agreement_finding
from components.results.bias.computed import Bias
from components.results.bias.flip_leans import FlipLean, flip_leans
from components.results.bias.sentences import bias_finding, repeat_clause
from components.results.ranking.computed import Ranking
from components.results.view.steps_and_menus import JudgeMenu
from studies.domain import Estimate

PositionRates = Mapping[str, tuple[Estimate, Estimate]]
"""Model -> its win rate where its answer is shown first, and where it is shown second."""
MAX_ROWS: Final = 8
"""Maximum rows of a small chart; the linked view shows all rows."""
OVERVIEW: Final = macros("results/overview/overview.html")
_WON_AXIS: Final = Axis()
"""The axis from 0 to 100 % of verdicts won; fixed, so that plots of different studies compare."""


def compared_pairs(bias: Bias) -> list[FlipLean]:
    """Flips of the judges and prompts that have pairs judged in both orders; empty for choices
    among N options."""
    return [row for row in flip_leans(bias) if row.pairs] if bias.options == 2 else []


def swap_sentence(bias: Bias) -> str:
    """Sentence on the flips, and on judges that decide by position."""
    rows = compared_pairs(bias)
    if not bias.calls or not rows:
        return bias_finding(bias)[0]
    rate = share(sum(row.flips for row in rows) / sum(row.pairs for row in rows), 0)
    told = f"{rate} of comparisons flip when the answers are swapped{repeat_clause(bias)}"
    by_position = [row.name for row in rows if row.order_decides and row.flips_one_way]
    if not by_position:
        return f"{told}."
    verb = "decides" if len(by_position) == 1 else "decide"
    return f"{told}; {join_names(by_position)} {verb} mostly by position."


def people_sentence(data: Agreement) -> str:
    """Sentence on the judges closest to people, with the agreement of two people if it is known."""
    title, _ = agreement_finding(data)
    pair = data.among_voters.pair.share.value if data.raters.has_people else None
    if pair is None or not data.judges:
        return title
    return f"{title} Two people who vote on the same pair agree in {share(pair, 0)} of cases."


def swap_chart(bias: Bias, menu: JudgeMenu = escape, *, legend_only: bool = False) -> Any:
    """HTML bars of flips toward the first and toward the second position, by judge and prompt;
    with `legend_only`, only the legend stands above the bars, without the line of text."""
    rows = compared_pairs(bias)
    if not rows:
        return EMPTY
    most = max(max(row.first, row.second) for row in rows) or 1
    pairs = {row.pairs for row in rows}
    of = f", out of {count(pairs.pop())} in each row" if len(pairs) == 1 else ""
    text = "" if legend_only else f"number of comparisons that flip{of}"
    shown = sorted(rows, key=lambda row: row.flips)[-MAX_ROWS:]
    return OVERVIEW.swaps(text, shown, most, len(rows) - len(shown), menu)


def order_chart(ranking: Ranking, by_position: PositionRates) -> Any:
    """HTML table with a plot in each row: a model's win rate where its answer is shown first and
    where it is shown second; then its rank from the first order of the answers, the second, and
    both."""
    one, two, both = ranking.first_order, ranking.second_order, ranking.board
    if one is None or two is None or both is None:
        return EMPTY
    rows = []
    for name in both.names[:MAX_ROWS]:
        boards = (board.names for board in (one, two, both))
        ranks = [str(names.index(name) + 1) if name in names else "–" for names in boards]
        rows.append((name, ranks, *_position_cell(name, by_position.get(name))))
    return OVERVIEW.orders(axis_html(_WON_AXIS), rows, len(both.names) - len(rows))


def _position_cell(name: str, rates: tuple[Estimate, Estimate] | None) -> tuple[str, str, Markup]:
    """Hover card, text for screen readers and downloads, and plot of two points on one axis,
    joined by a line; empty if a rate is unknown."""
    if rates is None or any(one.value is None for one in rates):
        return "", "", EMPTY
    first, second = rates
    marks = [
        range_table.bar_mark("between", _WON_AXIS, first.value, second.value),
        range_table.point_mark("p first", _WON_AXIS, first.value),
        range_table.point_mark("p second", _WON_AXIS, second.value),
    ]
    shown = f"{share(first.value, 0)} shown first, {share(second.value, 0)} shown second"
    tip = f"{name}\nshown first: {percent(first)}\nshown second: {percent(second)}"
    return tip, shown, range_table.track_html(_WON_AXIS, *marks)


def people_chart(data: Agreement, menu: JudgeMenu = escape) -> Any:
    """HTML chart of agreement: judges with people's majority, and two people with each other."""
    found = [(name, data.with_people(name)) for name in data.ranked_judges]
    lines = [(name, one.share) for name, one in found if one and one.share.value is not None]
    if not lines or not data.raters.has_people:
        return EMPTY
    pair = data.among_voters.pair.share
    axis = fit_share_axis([*(one for _, one in lines), pair], holds=(data.chance,), bounds=(0, 1))
    axis = replace(axis, chance=data.chance)
    rows = [
        (menu(name), f"{name}\n{percent(one)}", _judge_track(axis, one), one.value)
        for name, one in lines[:MAX_ROWS]
    ]
    if pair.value is not None:
        track = range_table.people_track(axis, pair)
        rows.append((escape("two people"), f"two people\n{percent(pair)}", track, pair.value))
    text = (
        f"% of verdicts equal to the people's majority, ties included, 95{NARROW_SPACE}% CI; "
        f"dashed: chance, {share(data.chance, 0)}"
    )
    return OVERVIEW.people(text, rows, axis_html(axis), len(lines) - MAX_ROWS)


def _judge_track(axis: Axis, one: Estimate) -> Markup:
    bar = range_table.bar_mark("v", axis, one.low, one.high)
    return range_table.track_html(axis, bar, range_table.point_mark("p", axis, one.value))
