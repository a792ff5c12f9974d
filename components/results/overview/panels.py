"""Contents of the Overview: three findings, each with a small chart and a link to its view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from components.html.format import NARROW_SPACE, count, number, percent, share
from components.html.markup import (
    EMPTY,
    Markup,
    attributes,
    escape,
    fill,
    inline_markup,
    join,
    link_button,
)
from components.html.panel import LegendMark, legend_key, wrap
from components.html.tables.forest_cells import Axis, axis_html, fit_share_axis
from components.html.tables.range_table import bar_mark, people_track, point_mark, track_html
from components.html.tables.table import Table, TableCell, TableRow
from components.results.agreement.computed import Agreement
from components.results.bias.computed import Bias
from components.results.bias.flip_leans import FlipLean, flip_leans
from components.results.ranking.computed import Ranking
from components.results.view.judge_menu import JudgeMenu
from studies.domain import Estimate

PositionRates = Mapping[str, tuple[Estimate, Estimate]]
"""Model -> its win rate where its answer is shown first, and where it is shown second."""
MAX_ROWS: Final = 8
"""Maximum rows of a small chart; the linked view shows all rows."""


def finding_card(topic: str, sentence: str, body: Markup, view: str, link_text: str) -> Markup:
    """HTML of one finding: topic, sentence, small chart, and a link to the view with the
    details. The sentence is hidden while a run is active."""
    opens = link_button(link_text, {"data-view": view})
    return wrap(
        fill(
            '<div class="eh-card3"><p class="eh-small eh-mute">{}</p><h2 class="eh-claim">{}</h2>{}'
            '<p class="eh-card3-link">{}</p></div>',
            topic,
            inline_markup(sentence),
            body,
            opens,
        )
    )


def action_card(
    title: str, sentence: str, opens: Mapping[str, object], text: str, *, finding: bool = False
) -> Markup:
    """HTML of a strip with a title, a sentence, and the button that opens the next view.
    `finding`: the sentence depends on the verdicts, so it is hidden while a run is active."""
    made = attributes({"type": "button", "class": "eh-btn", **opens})
    return wrap(
        fill(
            '<div class="eh-next"><div><h2>{}</h2><p{}>{}</p></div><button{}>{}</button></div>',
            title,
            Markup(' class="eh-claim"') if finding else EMPTY,
            inline_markup(sentence),
            made,
            text,
        )
    )


def _caption(text: str, keys: Sequence[tuple[LegendMark, str]] = ()) -> Markup:
    row = join(legend_key(mark, name) for mark, name in keys)
    legend = fill('<div class="eh-row eh-keys">{}</div>', row) if row else EMPTY
    return fill('<p class="eh-small eh-mute">{}</p>{}', text, legend) if text else legend


def _more(hidden: int) -> Markup:
    return fill('<p class="eh-small eh-mute">and {} more</p>', count(hidden)) if hidden else EMPTY


def swap_chart(bias: Bias, menu: JudgeMenu = escape, *, legend_only: bool = False) -> Markup:
    """HTML bars of flips toward the first and toward the second position, by judge and prompt;
    with `legend_only`, only the legend stands above the bars, without the line of text."""
    rows = [row for row in flip_leans(bias) if row.pairs] if bias.options == 2 else []
    if not rows:
        return EMPTY
    most = max(max(row.first, row.second) for row in rows) or 1
    keys: list[tuple[LegendMark, str]] = [
        ("first", "flips toward the answer shown first"),
        ("second", "flips toward the answer shown second"),
    ]
    pairs = {row.pairs for row in rows}
    of = f", out of {count(pairs.pop())} in each row" if len(pairs) == 1 else ""
    text = f"number of comparisons that flip{of}"
    caption = _caption("" if legend_only else text, keys)
    shown = sorted(rows, key=lambda row: row.flips)[-MAX_ROWS:]
    return (
        caption + join(_swap_row(row, most, menu) for row in shown) + _more(len(rows) - len(shown))
    )


def _swap_row(row: FlipLean, most: int, menu: JudgeMenu) -> Markup:
    left, right = (f"{30 * value / most:.2f}%" for value in (row.first, row.second))
    return fill(
        '<div class="eh-swap"><span>{}</span><div class="eh-div">'
        '<i class="l" style="width:{}"></i><i class="r" style="width:{}"></i><i class="z"></i>'
        '<span style="right:calc(50% + {})">{}</span><span style="left:calc(50% + {})">{}</span>'
        "</div></div>",
        menu(row.name),
        left,
        right,
        left,
        count(row.first),
        right,
        count(row.second),
    )


def order_chart(ranking: Ranking, by_position: PositionRates) -> Markup:
    """HTML table with a plot in each row: a model's win rate where its answer is shown first and
    where it is shown second; then its rank from the first order of the answers, the second, and
    both."""
    one, two, both = ranking.first_order, ranking.second_order, ranking.board
    if one is None or two is None or both is None:
        return EMPTY
    heads = [
        TableCell("Model", "nm"),
        TableCell(axis_html(_WON_AXIS), "trk"),
        *(TableCell(text) for text in ("1st", "2nd", "both")),
    ]
    rows = []
    for name in both.names[:MAX_ROWS]:
        places = [
            str(board.names.index(name) + 1) if name in board.names else "–"
            for board in (one, two, both)
        ]
        kind = "" if places[0] == places[1] else "eh-moved"
        plot = _position_cell(name, by_position.get(name))
        rows.append(TableRow([TableCell(name, "nm"), plot, *map(TableCell, places)], kind=kind))
    label = "Models: win rate by position, rank by order"
    table = Table(heads, rows, "eh-tbl eh-orders", label).wrapped()
    keys: list[tuple[LegendMark, str]] = [("first", "shown first"), ("second", "shown second")]
    text = (
        "win rate in %, by position of the answer; at the right: rank by the verdicts of the 1st "
        "order, the 2nd, and both"
    )
    return _caption(text, keys) + table + _more(len(both.names) - len(rows))


_WON_AXIS: Final = Axis()
"""The axis from 0 to 100 % of verdicts won; fixed, so that plots of different studies compare."""


def _position_cell(name: str, rates: tuple[Estimate, Estimate] | None) -> TableCell:
    """Cell with two points on one axis, joined by a line; its text is for screen readers and
    downloads."""
    if rates is None or any(one.value is None for one in rates):
        return TableCell("–", "trk")
    first, second = rates
    marks = [
        bar_mark("between", _WON_AXIS, first.value, second.value),
        point_mark("p first", _WON_AXIS, first.value),
        point_mark("p second", _WON_AXIS, second.value),
    ]
    shown = f"{share(first.value, 0)} shown first, {share(second.value, 0)} shown second"
    tip = f"{name}\nshown first: {percent(first)}\nshown second: {percent(second)}"
    words = fill('<span class="eh-vh">{}</span>', shown)
    return TableCell(words + track_html(_WON_AXIS, *marks), "trk", tip)


def people_chart(data: Agreement, menu: JudgeMenu = escape) -> Markup:
    """HTML chart of agreement: judges with people's majority, and two people with each other."""
    found = [(name, data.with_people(name)) for name in data.ranked_judges]
    lines = [(name, one.share) for name, one in found if one and one.share.value is not None]
    if not lines or not data.raters.has_people:
        return EMPTY
    pair = data.among_voters.pair.share
    axis = fit_share_axis([*(one for _, one in lines), pair], holds=(data.chance,), bounds=(0, 1))
    axis = replace(axis, chance=data.chance)
    rows = [
        _people_row(name, one, _judge_track(axis, one), menu(name))
        for name, one in lines[:MAX_ROWS]
    ]
    if pair.value is not None:
        rows.append(_people_row("two people", pair, people_track(axis, pair), escape("two people")))
    foot = fill('<div class="eh-swap three"><span></span>{}<span></span></div>', axis_html(axis))
    caption = _caption(
        f"% of verdicts equal to the people's majority, ties included, 95{NARROW_SPACE}% CI; "
        f"dashed: chance, {share(data.chance, 0)}"
    )
    return caption + join(rows) + foot + _more(max(0, len(lines) - MAX_ROWS))


def _judge_track(axis: Axis, one: Estimate) -> Markup:
    return track_html(
        axis, bar_mark("v", axis, one.low, one.high), point_mark("p", axis, one.value)
    )


def _people_row(name: str, one: Estimate, track: Markup, label: Markup) -> Markup:
    made = attributes({"class": "eh-swap three", "data-tip": f"{name}\n{percent(one)}"})
    value = number(100 * (one.value or 0.0))
    return fill("<div{}><span>{}</span>{}<b>{}</b></div>", made, label, track, value)
