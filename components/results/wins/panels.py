"""Contents of the win-rate panels, without Gradio: by model, category, judge and prompt; and the
differences between win rates by judges and by people, on the cases (answers to one item) that both
judged."""

from collections.abc import Mapping
from typing import Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.filtering.raters import Raters
from components.html import heatmap, scales
from components.html.format import count, number, share
from components.html.markup import EMPTY, Markup, fill
from components.html.pieces import Action, empty_state, notice_html, panel_html
from components.html.tables import value_table as tables
from components.html.tables.forest_cells import Axis
from components.html.tables.level_stacks import level_legend, level_table
from components.results.bias.computed import load_bias
from components.results.protocol.creation_panels import level_row, study_baseline
from components.results.view.unusable_replies import unusable_link_label
from metrics.estimation import row_selection
from metrics.estimation.frame_stacking import stack_frames
from metrics.protocols.creation_table import creation_table
from metrics.win_rates import win_rates
from metrics.win_rates.prediction_powered import (
    ALL_CATEGORIES,
    CorrectedWinRate,
    win_rates_against_people,
)
from studies.domain import USABLE_STATUSES, Estimate

_GAP_ENDS: Final = (
    "−30 points or less: lower win rate by judges than by people; no colour: 0",
    "+30 points or more: higher win rate by judges than by people",
)
GAP_SCALE: Final = scales.ColourScale(
    "Judges − people", "r", 0, 0.3, _GAP_ENDS, 0, 100, "points", signed=True
)
SPLIT_COLUMNS: Final = {"Category": "category", "Judge": "judge", "Prompt": "prompt"}
RATER_CHOICES: Final = ("Judges", "People", "Difference")
NOTHING_YET_HTML: Final = empty_state(
    "No win rates yet.",
    "No comparison that passes the filters has the usable verdicts that the counting rule needs.",
)


# -- by contestant -------------------------------------------------------------------------------


def study_win_rates(filtered: FilteredStudy) -> dict[str, Estimate]:
    """Model -> win rate, the highest first, for models with verdicts. The counting rule of the
    study or filter decides how the two orders of a pair are combined, and whether unusable
    replies are ties."""
    rates = win_rates.win_rate(filtered.counted_outcomes)
    return {who: rate for who, rate in rates.items() if rate.n}


def chance_win_rate(frame: pd.DataFrame) -> float:
    """Win rate of an answer if judges chose at random: 1/N, N being the most frequent number of
    answers in a comparison (at least 2); 0.5 for an empty frame."""
    sizes = frame["options"].value_counts()
    return 1 / max(int(sizes.index[0]), 2) if len(sizes) else 0.5


def show_win_rates(filtered: FilteredStudy) -> Markup:
    """HTML table by model: win rate, wins, ties, losses; a message without verdicts.

    If verdicts are missing, a notice stands above it. If each order counts separately, a column
    then shows the win rates that the model would have if it had lost, and had won, all missing
    verdicts."""
    rates = study_win_rates(filtered)
    if not rates:
        return NOTHING_YET_HTML
    counts = win_rates.win_loss_record(filtered.counted_outcomes)
    pooled = filtered.rule[0] == "pooled"
    bounds = win_rates.win_rate_bounds(filtered.measured_judge_rows) if pooled else {}
    axis = Axis(chance=chance_win_rate(filtered.counted_outcomes))
    spans = {who: _possible_range(bounds.get(who)) for who in rates}
    counted = "verdicts" if pooled else "outcomes, the orders combined"
    missing = any(span and span[0] != span[1] for span in spans.values())
    heads: list[tables.Head] = ["Model", "Win rate, %", axis, "Wins", "Ties", "Losses"]
    if missing:
        title = "Range of the win rate, %: from all missing verdicts lost to all won"
        tip = "win rate if the model lost all missing verdicts, and if it won all"
        heads.append((title, tip))
    lines = []
    for who, rate in rates.items():
        own, select, span = counts[who], {"contestant": who}, spans[who] if missing else None
        name, key = f"win rate of {who}", f"win_rate.{who}"
        cells = tables.plotted_cells(rate, axis, tables.PERCENT, name, select, key=key, bounds=span)
        tied = f"{share(own['ties'] / max(own['matches'], 1))} of {counted}"
        line = [
            tables.name_cell(who, select),
            *cells,
            tables.count_cell(own["wins"]),
            tables.count_cell(own["ties"], tied, {**select, "slot": -1} if pooled else None),
            tables.count_cell(own["losses"]),
        ]
        if missing:
            ends = "–" if span is None else "–".join(number(100 * end, 1) for end in span)
            line.append(fill('<span class="eh-ci">{}</span>', ends))
        lines.append(line)
    table = tables.value_table(heads, lines, label="Win rates")
    return _missing_verdicts_notice(filtered, rates, spans[next(iter(rates))]) + table


def _possible_range(bound: Estimate | None) -> tuple[float, float] | None:
    """Lowest and highest possible value of a win rate; None if unknown."""
    if bound is None or bound.low is None or bound.high is None:
        return None
    return bound.low, bound.high


def _missing_verdicts_notice(
    filtered: FilteredStudy, rates: Mapping[str, Estimate], span: tuple[float, float] | None
) -> Markup:
    """HTML notice with the number of missing verdicts and the win rate that the first model in
    `rates` would have if all were lost or all won (`span`). Empty if none is missing."""
    rows = filtered.measured_judge_rows
    rows = row_selection.select_rows(rows, rows["options"] > 1)
    failed = ~rows["status"].isin(list(USABLE_STATUSES)) & ~rows["noise"]
    missing, total = int(failed.sum()), int((~rows["noise"]).sum())
    if not missing:
        return EMPTY
    best = next(iter(rates))
    ties = filtered.rule[1] == "tie"
    now = number(100 * (rates[best].value or 0), 1)
    one = missing == 1
    text = f"{count(missing)} of {count(total, 'verdict')} {'is' if one else 'are'} missing. "
    if {number(100 * end, 1) for end in span or ()} == {now}:
        text += f"{'It does' if one else 'They do'} not change the win rate of {best}."
    elif span is not None:
        low, high = map(share, span)
        lost, won = ("this verdict", "it") if one else ("all missing verdicts", "all")
        text += f"If {best} lost {lost}, its win rate would be {low}; if it won {won}, {high}."
    title = "count as ties in these win rates" if ties else "are excluded"
    opens = Action(unusable_link_label(filtered), {"status": "failures"})
    return notice_html("warn", f"Missing verdicts {title}.", text, opens)


# -- by category, judge, prompt ------------------------------------------------------------------


def default_matrix_columns(filtered: FilteredStudy) -> str:
    """Default columns of the matrix: "Category" if there are several; else "Judge", or "Prompt" if
    there are more prompts than judges."""
    frame = filtered.measured_judge_rows
    if len({str(group) for group in frame["category"].unique()} - {""}) > 1:
        return "Category"
    return "Judge" if frame["judge"].nunique() >= frame["prompt"].nunique() else "Prompt"


def show_matrix(filtered: FilteredStudy, by: str, raters: str) -> Markup:
    """HTML matrix of win rates; rows are models. `raters`: "Judges", "People" or "Difference"
    (judges minus people). `by` ("Category", "Judge" or "Prompt") names the columns for "Judges";
    for "People" and "Difference", the columns are categories. A message without verdicts or
    votes."""
    if raters == "Judges":
        rows = filtered.counted_outcomes
        return _win_rate_matrix_html(rows, SPLIT_COLUMNS[by], by) if len(rows) else NOTHING_YET_HTML
    everyone = Raters(filtered)
    votes = row_selection.select_rows(everyone.rows, row_selection.people_mask(everyone.rows))
    if votes.empty:
        return empty_state(everyone.missing_votes_text, "Win rates by people need votes.")
    both = win_rates_of_judges_and_people(filtered)
    found = {key: one.people for key, one in both.items() if one.people.n}
    if raters == "People" and not found:  # votes on more than two answers
        return _win_rate_matrix_html(votes, "category", "Category")
    if raters == "People":
        names = [who for who, group in found if group == ALL_CATEGORIES]
        scale = win_rate_colours(0.5)
        return _contestant_matrix_html(votes, names, "category", "Category", found, scale)
    found = {key: one.bias for key, one in both.items() if one.bias.value is not None}
    if not found:
        return empty_state(
            "No pair has both a judge's verdict and a person's vote.",
            "The difference between judges and people needs votes and verdicts on the same pairs.",
        )
    machine = filtered.measured_judge_rows
    names = list(study_win_rates(filtered)) or row_selection.contestants(machine)
    return _contestant_matrix_html(machine, names, "category", "Category", found, GAP_SCALE)


def _win_rate_matrix_html(rows: pd.DataFrame, column: str, by: str) -> Markup:
    whole = {who: rate for who, rate in win_rates.win_rate(rows).items() if rate.n}
    if not whole:
        return NOTHING_YET_HTML
    cells = {(name, ALL_CATEGORIES): rate for name, rate in whole.items()}
    for (group,), rates in win_rates.win_rates_by_cell(rows, [column]).items():
        cells |= {(who, str(group)): e for who, e in rates.items() if group and e.n}
    scale = win_rate_colours(chance_win_rate(rows))
    return _contestant_matrix_html(rows, list(whole), column, by, cells, scale)


def win_rate_colours(even: float) -> scales.ColourScale:
    """Colour scale for win rates: no colour up to chance (`even`), strongest colour at 100 %."""
    if even == 0.5:
        return scales.WINS_SCALE
    ends = (
        f"no colour: {number(100 * even)} % (an even share) or less",
        "full colour: the model is chosen in 100 % of verdicts",
    )
    return scales.ColourScale("Win rate", "w", even, 1, ends)


def _contestant_matrix_html(
    rows: pd.DataFrame,
    names: list[str],
    column: str,
    by: str,
    cells: Mapping[tuple[str, str], Estimate | None],
    scale: scales.ColourScale,
) -> Markup:
    """HTML matrix of `cells`, (model, value) -> estimate: a row for each model in `names`, a column
    for each value of the frame's column `column`, which the page calls `by`. A first column pools
    all values; its estimates have the key (model, ALL_CATEGORIES). It is left out if the columns
    are judges or prompts and there is only one."""
    sizes = row_selection.count_items_by(rows, column)
    columns = [heatmap.MatrixColumn(group, str(n)) for group, n in sizes.items() if group]
    total = len(columns) != 1 or column == "category"
    whole = heatmap.total_name(sizes)
    if total:
        columns.insert(0, heatmap.MatrixColumn(whole, count(rows["item"].nunique(), "item")))
    cells = {(name, group or whole): one for (name, group), one in cells.items()}
    keys = ("contestant", by.lower())
    return heatmap.matrix_html(names, columns, cells, scale, total=total, turns=True, keys=keys)


# -- judges and people ---------------------------------------------------------------------------


@memoise_by_study
def win_rates_of_judges_and_people(
    filtered: FilteredStudy,
) -> dict[tuple[str, str], CorrectedWinRate]:
    """(model, category) -> its win rates by judges and by people; the category ALL_CATEGORIES pools
    all. The judges' rate follows the counting rule."""
    rows = Raters(filtered).rows
    votes = row_selection.select_rows(rows, row_selection.people_mask(rows))
    sides = {"judges": filtered.counted_outcomes, "people": votes}
    return win_rates_against_people(stack_frames(sides, "side")) if len(votes) else {}


# -- five levels ---------------------------------------------------------------------------------


def show_five_levels(filtered: FilteredStudy) -> Markup:
    """HTML panel of verdicts on five levels (much better … much worse); empty if no verdict is
    "much better" or "much worse"."""
    rows = row_selection.select_pairs(filtered.measured_judge_rows)
    strong = row_selection.select_picks(rows)
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
    "`Won outright = (much better + better) / usable verdicts`: a tie is not a win. Unusable "
    "replies are excluded and counted separately. VFS: visual factuality score, 0 to 10. "
    "Intervals, items as clusters: t for Reward, else Wilson at the effective n."
)


# -- ties ----------------------------------------------------------------------------------------


def show_tie_rates(filtered: FilteredStudy) -> Markup:
    """HTML table of tie rates by judge and prompt, the highest first; empty if no verdict is a
    tie."""
    rates = load_bias(filtered).by_rater("tie_rate")
    if not any(rate.value for rate in rates.values()):
        return EMPTY
    axis, lines = Axis(), []
    ranked = sorted(rates.items(), key=lambda one: (-(one[1].value or 0.0), one[0]))
    for (judge, prompt), rate in ranked:
        if rate.value is None:
            continue  # a format with scores only
        select = {"judge": judge, "prompt": prompt, "slot": -1}
        who = f"ties by {judge}, {prompt}"
        cells = tables.plotted_cells(rate, axis, tables.PERCENT, who, select)
        lines.append([tables.name_cell(judge, select, prompt), *cells])
    return tables.value_table(["Judge, prompt", "Ties, %", axis], lines, label="Tie rates")
