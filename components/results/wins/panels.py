"""Contents of the win-rate panels, without Gradio: by model, category, judge and prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters
from components.html import heatmap as heat
from components.html import scales
from components.html.format import count, number, share
from components.html.markup import EMPTY, Markup, fill
from components.html.panel import Action, Axis, empty_state, notice_html, panel_html
from components.html.tables.level_stacks import level_legend, level_table
from components.html.tables.value_table import (
    PERCENT,
    ColumnHead,
    count_cell,
    forest_cell,
    name_cell,
    value_cell,
    value_table,
)
from components.results.bias.computed import load_bias
from components.results.protocol.creation_panels import level_row, study_baseline
from components.results.wins.judges_vs_people import GAP_SCALE, judge_people_gaps
from metrics.estimation.row_selection import (
    contestants,
    count_items_by,
    people_mask,
    select_pairs,
    select_picks,
    select_rows,
)
from metrics.protocols.creation_table import creation_table
from metrics.win_rates.win_rates import manski_bounds, win_loss_record, win_rate, win_rates_by_cell
from studies.domain import USABLE_STATUSES, Estimate

SPLIT_COLUMNS: Final = {"Category": "category", "Judge": "judge", "Prompt": "prompt"}
RATER_CHOICES: Final = ("Judges", "People", "Difference")
NOTHING_YET_HTML: Final = empty_state(
    "Nothing to show yet.",
    "There are no verdicts for these filters yet. Run the study or change the filters.",
)
NO_VOTES_HTML: Final = empty_state(
    "No votes by people.", "Win rates by people need votes, from the data or from the Vote tab."
)


# -- by contestant -------------------------------------------------------------------------------


def study_win_rates(filtered: FilteredStudy) -> dict[str, Estimate]:
    """Win rate of each model, highest first, under the counting rule (how the two orders of a pair
    are combined) of the study or filter."""
    return {who: rate for who, rate in win_rate(filtered.outcomes).items() if rate.n}


def chance_win_rate(frame: pd.DataFrame) -> float:
    """Win rate of random choices: 1/N, with N the most frequent number of options."""
    sizes = frame["options"].value_counts()
    return 1 / max(int(sizes.index[0]), 2) if len(sizes) else 0.5


def show_win_rates(filtered: FilteredStudy) -> Markup:
    """HTML table by model: win rate, wins, ties, losses; if verdicts are missing, also the win rate
    if the model had lost all of them, and if it had won all."""
    rates = study_win_rates(filtered)
    if not rates:
        return NOTHING_YET_HTML
    counts, bounds = (
        win_loss_record(filtered.outcomes),
        manski_bounds(filtered.machines),
    )
    axis = Axis(chance=chance_win_rate(filtered.outcomes))
    missing = any(_has_missing(bounds.get(who)) for who in rates)
    heads = [
        ColumnHead("Model", numeric=False),
        ColumnHead("Win rate, %"),
        ColumnHead("", axis=axis),
        ColumnHead("Wins"),
        ColumnHead("Ties"),
        ColumnHead("Losses"),
    ]
    if missing:
        heads.append(
            ColumnHead(
                "Range of the win rate, %: from all missing verdicts lost to all won",
                tip="win rate if the model lost all missing verdicts, and if it won all",
            )
        )
    lines = [_rate_row(who, rates, counts, bounds, axis, missing) for who in rates]
    return _missing_notice(filtered, rates) + value_table(heads, lines, label="Win rates")


def _rate_row(
    who: str,
    rates: Mapping[str, Estimate],
    counts: Mapping[str, Mapping[str, int]],
    bounds: Mapping[str, Estimate],
    axis: Axis,
    missing: bool,
) -> list[Markup]:
    rate, own, bound = rates[who], counts[who], bounds.get(who)
    select = {"contestant": who}
    tied = {**select, "slot": -1}
    span = None
    if bound is not None and bound.low is not None and bound.high is not None and missing:
        span = (bound.low, bound.high)
    line = [
        name_cell(who, select),
        value_cell(rate, PERCENT, who=f"win rate of {who}", select=select, key=f"win_rate.{who}"),
        forest_cell(rate, axis, PERCENT, f"win rate of {who}", select, bounds=span),
        count_cell(own["wins"]),
        count_cell(own["ties"], f"{share(own['ties'] / max(own['matches'], 1))} of verdicts", tied),
        count_cell(own["losses"]),
    ]
    if missing:
        ends = "–" if span is None else f"{number(100 * span[0], 1)}–{number(100 * span[1], 1)}"
        line.append(fill('<span class="eh-ci">{}</span>', ends))
    return line


def _has_missing(bound: Estimate | None) -> bool:
    return bound is not None and bound.low is not None and bound.low != bound.high


def _missing_notice(filtered: FilteredStudy, rates: Mapping[str, Estimate]) -> Markup:
    """HTML notice on missing verdicts: their number, and the leading model's win rate if they were
    all lost, all won, or counted otherwise (as ties if they are left out now, or the reverse)."""
    failed = ~filtered.machines["status"].isin(list(USABLE_STATUSES)) & ~filtered.machines["noise"]
    missing = int(failed.sum())
    if not missing:
        return EMPTY
    best = next(iter(rates))
    total = int((~filtered.machines["noise"]).sum())
    combine, unreadable = filtered.rule
    other = win_rate(filtered.machines, combine, "exclude" if unreadable == "tie" else "tie").get(
        best
    )
    now = number(100 * (rates[best].value or 0), 1)
    text = f"{count(missing)} of {count(total)} verdicts are missing. "
    if other is not None and other.value is not None:
        word = "were excluded" if unreadable == "tie" else "counted as ties"
        text += (
            f"If the missing verdicts {word}, the win rate of {best} would be "
            f"{number(100 * other.value, 1)} instead of {now}\u202f%. "
        )
    bound = manski_bounds(filtered.machines).get(best)
    if bound is not None and bound.low is not None and bound.high is not None:
        low, high = number(100 * bound.low, 1), number(100 * bound.high, 1)
        text += (
            f"If {best} lost all missing verdicts, its win rate would be {low}\u202f%; if it won "
            f"all, {high}\u202f%."
        )
    title = (
        "Missing verdicts count as ties in these win rates."
        if unreadable == "tie"
        else "Missing verdicts are excluded."
    )
    return notice_html(
        "warn", title, text, Action(f"Open {count(missing)}", {"status": "failures"})
    )


# -- by category, judge, prompt ------------------------------------------------------------------


def default_split(filtered: FilteredStudy) -> str:
    """Default columns of the matrix: "Category" if there are several, else "Judge" or "Prompt"."""
    frame = filtered.machines
    if len({str(group) for group in frame["category"].unique()} - {""}) > 1:
        return "Category"
    return "Judge" if frame["judge"].nunique() >= frame["prompt"].nunique() else "Prompt"


def show_matrix(filtered: FilteredStudy, by: str, raters: str) -> Markup:
    """HTML matrix of win rates; rows are models. `raters`: "Judges" (columns by `by`: category,
    judge or prompt), "People", or "Difference" of the two (columns are categories)."""
    column = SPLIT_COLUMNS[by]
    if raters != "Judges":
        rows = Raters(filtered).rows
        votes = select_rows(rows, people_mask(rows))
        if votes.empty:
            return NO_VOTES_HTML
        if raters == "Difference":
            return _difference_matrix(filtered)
        return _rate_matrix(votes, "category", "Category")
    return (
        _rate_matrix(filtered.outcomes, column, by) if len(filtered.outcomes) else NOTHING_YET_HTML
    )


def _rate_matrix(rows: pd.DataFrame, column: str, by: str) -> Markup:
    whole = {who: rate for who, rate in win_rate(rows).items() if rate.n}
    if not whole:
        return NOTHING_YET_HTML
    cells: dict[tuple[str, str], Estimate | None] = {(n, "All"): e for n, e in whole.items()}
    for (group,), rates in win_rates_by_cell(rows, [column]).items():
        cells |= {(who, str(group)): e for who, e in rates.items() if group and e.n}
    return _draw_matrix(rows, list(whole), column, by, cells, wins_scale(chance_win_rate(rows)))


def wins_scale(even: float) -> scales.ColourScale:
    """Colour scale for win rates: no colour up to chance (`even`), strongest colour at 100 %."""
    if even == 0.5:
        return scales.WINS_SCALE
    ends = (
        f"no colour: {number(100 * even)} % (an even share) or less",
        "full colour: the model is chosen in 100 % of verdicts",
    )
    return scales.ColourScale("Win rate", "w", even, 1, ends)


def _draw_matrix(
    rows: pd.DataFrame,
    names: list[str],
    column: str,
    by: str,
    cells: Mapping[tuple[str, str], Estimate | None],
    scale: scales.ColourScale,
) -> Markup:
    sizes = count_items_by(rows, column)
    columns = [
        heat.MatrixColumn("All", count(rows["item"].nunique(), "item")),
        *(heat.MatrixColumn(group, str(n)) for group, n in sizes.items() if group),
    ]
    if len(columns) == 2 and column != "category":
        columns = columns[1:]
    total = columns[0].name == "All"
    return heat.matrix_html(
        names, columns, cells, scale, total=total, turns=True, keys=("contestant", by.lower())
    )


def _difference_matrix(filtered: FilteredStudy) -> Markup:
    found = judge_people_gaps(filtered)
    if not found:
        return empty_state(
            "No pair has both a judge's verdict and a person's vote.",
            "The difference between judges and people needs votes and verdicts on the same pairs.",
        )
    rows = filtered.machines
    names = list(study_win_rates(filtered)) or contestants(rows)
    return _draw_matrix(rows, names, "category", "Category", found, GAP_SCALE)


# -- five levels ---------------------------------------------------------------------------------


def show_levels(filtered: FilteredStudy) -> Markup:
    """HTML panel of five-level verdicts; empty if no verdict is "much better"."""
    rows = select_pairs(filtered.machines)
    strong = select_picks(rows)
    if strong.empty or not bool((strong["margin"] > 1).any()):
        return EMPTY
    baseline = study_baseline(filtered)
    found = creation_table(rows, baseline).get((), [])
    scored = any(row.vfs.value is not None for row in found)
    lines = [level_row(row, scored) for row in found]
    against = f"against {baseline}" if baseline else "against all opponents"
    subtitle = (
        f"% of usable verdicts {against}, both orders; half of the ties on each side of the "
        "centre line"
    )
    body = level_legend() + level_table(lines, baseline or "")
    return panel_html("Five levels", subtitle, body, how_text=HOW_LEVELS)


HOW_LEVELS: Final = (
    "`Reward = (100·much better + 50·better − 50·worse − 100·much worse) / usable verdicts`, "
    "`Win rate = (much better + better) / usable verdicts`: here a tie is not a win. Unusable "
    "replies are excluded and counted separately. VFS: visual factuality score, 0 to 10. "
    "Intervals, items as clusters: t for Reward, Wilson at the effective n for Win rate."
)


# -- ties ----------------------------------------------------------------------------------------


def show_ties(filtered: FilteredStudy) -> Markup:
    """HTML table of tie rates by judge and prompt; empty if no verdict is a tie."""
    rates = load_bias(filtered).each("tie_rate")
    if not any(rate.value for rate in rates.values()):
        return EMPTY
    axis = Axis()
    heads = [
        ColumnHead("Judge, prompt", numeric=False),
        ColumnHead("Ties, %"),
        ColumnHead("", axis=axis),
    ]
    lines = []
    for (judge, prompt), rate in sorted(rates.items()):
        select = {"judge": judge, "prompt": prompt, "slot": -1}
        if rate.value is None:
            continue  # a format with scores only
        who = f"ties by {judge}, {prompt}"
        lines.append(
            [
                name_cell(judge, select, prompt),
                value_cell(rate, PERCENT, who=who, select=select),
                forest_cell(rate, axis, PERCENT, who, select),
            ]
        )
    return value_table(heads, lines, label="Tie rates")
