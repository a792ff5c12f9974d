"""MT-Bench's numbers: adjusted win rates, conflicts between the two games of a pair, and ratings of
single answers; and counts of Arena-Hard's five verdicts.

A game is one order of a pair with its verdict.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import combine_rule_text
from components.html import heatmap, scales
from components.html.format import count, number, overlap_clause, share, spaced_ci
from components.html.markup import EMPTY, Markup, fill
from components.html.pieces import Kpi, empty_state, paragraph
from components.html.tables import value_table as tables
from components.html.tables.forest_cells import Axis, fit_axis, tick_steps_from
from components.results.protocol.creation_panels import study_baseline
from components.results.protocol.sections import judge_rows_or_votes, rows_by_rater
from metrics.agreement.majority_agreement import CASE_KEY
from metrics.estimation import row_selection
from metrics.estimation.measures import GroupedFrame
from metrics.estimation.score_scale import ScoreScale
from metrics.protocols import creation_levels
from metrics.ratings.battles import STRONG_WINS
from metrics.ratings.bradley_terry import connected_leaderboards
from metrics.win_rates.win_rates import win_loss_record, win_rate, win_rate_difference
from studies.domain import Estimate
from studies.frames.frame import TIE

ARENA_LABELS: Final = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
"""The five possible verdicts of Arena-Hard; A is the answer shown first, >> is much better."""
USUAL_ENDS: Final = (1.0, 5.0, 10.0, 100.0)
MAX_TITLE_RATINGS: Final = 2
"""Maximum number of prompts whose best model the headline names."""


def load_pairwise_verdict_rows(filtered: FilteredStudy) -> pd.DataFrame:
    return row_selection.select_pairs(judge_rows_or_votes(filtered, "pairwise", "five-level"))


def load_rating_rows(filtered: FilteredStudy) -> pd.DataFrame:
    return judge_rows_or_votes(filtered, "single")


# -- adjusted win rates --------------------------------------------------------------------------


def show_win_rates(filtered: FilteredStudy) -> Markup:
    """HTML table of each model's wins, losses, ties and adjusted win rate, (wins + ties/2) /
    all outcomes; a message without usable verdicts. The counting rule of the study or filter
    decides whether the two orders of a pair give one outcome or two."""
    rows = load_pairwise_verdict_rows(filtered)
    found = win_rate(rows, *filtered.rule) if len(rows) else {}
    rates = {model: rate for model, rate in found.items() if rate.n}
    if not rates:
        return empty_state("No usable verdicts on pairs yet.", "Win rates need pairs of answers.")
    counts = win_loss_record(rows, *filtered.rule)
    axis, parts = Axis(chance=0.5), ("wins", "losses", "ties", "matches")
    lines = []
    for model, rate in rates.items():
        select, who = {"contestant": model}, f"adjusted win rate of {model}"
        cells = tables.plotted_cells(rate, axis, tables.PERCENT, who, select)
        own = [tables.count_cell(counts[model][part]) for part in parts]
        lines.append([tables.name_cell(model, select), *cells, *own])
    names = map(str.capitalize, parts)
    heads: list[tables.Head] = ["Model", "Adjusted win rate, %", axis, *names]
    return tables.value_table(heads, lines, label="Adjusted win rates")


@dataclass(frozen=True, slots=True)
class GameConflicts:
    """Numbers of pairs of one judge and prompt whose two games (the verdicts in the two orders)
    give the same result, or conflict: the first position wins both, the second wins both, or
    one game is a tie and the other is not."""

    judge: str
    prompt: str
    pairs: int
    """Pairs with a usable verdict in both games."""
    agree: int
    both_first: int
    """Pairs where the answer shown first was chosen in both games."""
    both_second: int
    one_tie: int
    toward_first: int
    """`both_first`, plus pairs with one tie in which the other game went to the first position."""
    toward_second: int
    dropped_pairs: int
    """Number of pairs left out because one game, or both, has no usable verdict."""

    @property
    def conflicting_pair_count(self) -> int:
        return self.both_first + self.both_second + self.one_tie


def order_conflicts_by_rater(filtered: FilteredStudy) -> list[GameConflicts]:
    """Counts of conflicts for each judge and prompt that was to judge pairs in both orders."""
    rows = load_pairwise_verdict_rows(filtered)
    both = ~rows["noise"].to_numpy() & (rows["orders"] > 1).to_numpy()
    raters = rows_by_rater(row_selection.select_rows(rows, both))
    found = [_count_conflicts(*rater) for rater in raters]
    return [one for one in found if one.pairs + one.dropped_pairs]


def _count_conflicts(judge: str, prompt: str, rows: pd.DataFrame) -> GameConflicts:
    pairs = row_selection.group_codes(rows, CASE_KEY)[1]
    sets = GroupedFrame(rows).order_sets
    lean = sets["lean"].to_numpy()
    hard, flips = sets["hard"].to_numpy(), ~sets["consistent"].to_numpy()
    return GameConflicts(
        judge=judge,
        prompt=prompt,
        pairs=len(sets),
        agree=int(sets["consistent"].sum()),
        both_first=int((hard & (lean > 0)).sum()),
        both_second=int((hard & (lean < 0)).sum()),
        one_tie=int(sets["soft"].sum()),
        toward_first=int((flips & (lean > 0)).sum()),
        toward_second=int((flips & (lean < 0)).sum()),
        dropped_pairs=pairs - len(sets),
    )


def show_order_conflicts(found: Sequence[GameConflicts]) -> Markup:
    """HTML table of the conflicts of each judge and prompt, the largest share of pairs first."""
    if not found:
        return empty_state("No pair was judged in both orders.", "Conflicts need two games.")
    heads: list[tables.Head] = [
        "Judge, prompt",
        "Pairs",
        "Pairs whose games agree",
        "First position won both",
        "Second position won both",
        "One tie, one win",
        ("Pairs dropped", "pairs without a usable verdict in one game or in both"),
    ]
    label = "Conflicts between the two games (orders) of a pair"
    ranked = sorted(found, key=lambda one: (one.judge, one.prompt))
    ranked.sort(key=lambda one: -one.conflicting_pair_count / max(one.pairs, 1))
    return tables.value_table(heads, [_conflicts_row(one) for one in ranked], label=label)


def _conflicts_row(conflicts: GameConflicts) -> list[Markup | str]:
    select = {"judge": conflicts.judge, "prompt": conflicts.prompt}
    flips, failures = {**select, "flipped": True}, {**select, "status": "failures"}
    part = share(conflicts.agree / conflicts.pairs, 0) if conflicts.pairs else ""
    sides = {
        "first": (conflicts.both_first, conflicts.toward_first),
        "second": (conflicts.both_second, conflicts.toward_second),
    }
    return [
        tables.name_cell(conflicts.judge, select, conflicts.prompt),
        count(conflicts.pairs),
        fill('{} <span class="eh-ci">{}</span>', count(conflicts.agree), part) if part else "0",
        *(
            tables.count_cell(
                won,
                f"the {side} position won both games\n"
                f"Click to open {count(leaning, 'flip')} toward the {side} position",
                {**flips, "toward": side},
            )
            for side, (won, leaning) in sides.items()
        ),
        tables.count_cell(conflicts.one_tie, "a win in one game, a tie in the other", flips),
        tables.count_cell(conflicts.dropped_pairs, "no verdict in a game", failures),
    ]


def render_order_conflicts(filtered: FilteredStudy) -> Markup:
    found = order_conflicts_by_rater(filtered)
    return order_conflicts_line_html(found) + show_order_conflicts(found)


def order_conflicts_line_html(found: Sequence[GameConflicts]) -> Markup:
    """HTML line on the number of pairs whose two games conflict; empty without pairs."""
    pairs, unequal, first, second = (
        sum(getattr(one, part) for one in found)
        for part in ("pairs", "conflicting_pair_count", "both_first", "both_second")
    )
    if not pairs:
        return EMPTY
    text = (
        f"**{count(unequal)} of {count(pairs)}** pairs have different results in the two "
        f"orders: the first position won both games in {count(first, 'pair')}, the second in "
        f"{count(second, 'pair')}; in the rest of these pairs, one game is a win and the other a "
        "tie."
    )
    return paragraph(text, "eh-small")


# -- MT-Bench: single ratings --------------------------------------------------------------------


def show_ratings(filtered: FilteredStudy) -> Markup:
    """HTML table of each model's mean rating and, with several categories, a matrix of mean ratings
    by category; a message without ratings."""
    rows = load_rating_rows(filtered)
    found = creation_levels.single_answer_ratings_by_prompt(rows) if len(rows) else {}
    if not found:
        why = "To get single ratings, use the prompt mt-bench-single, which rates one answer at a "
        return empty_state("No single ratings.", f"{why}time.")
    means = [one for part in found.values() for one in part.means.values()]
    axis = fit_axis(means, tick_steps_from(1), number)
    several = len(found) > 1
    score = [tables.ColumnHead("Score", numeric=False)] if several else []
    lines, matrices = [], EMPTY
    for prompt, part in found.items():
        own = rows[rows["prompt"] == prompt]
        order = sorted(part.means, key=lambda model: -(part.means[model].value or 0.0))
        for model in order:
            select = {"contestant": model, **({"prompt": prompt} if several else {})}
            who = f"mean rating of {model}"
            cells = tables.plotted_cells(part.means[model], axis, tables.SCORE, who, select)
            rated = count(int((own["first"] == model).sum()))
            named = [tables.name_cell(model, select), *([prompt] if several else [])]
            lines.append([*named, *cells, rated])
        matrices += _ratings_by_category_matrix(own, order, part.scale)
    heads: list[tables.Head] = ["Model", *score, "Rating", axis, "Ratings"]
    return tables.value_table(heads, lines, label="Single ratings") + matrices


def rating_colours(scale: ScoreScale, highest: float) -> scales.ColourScale:
    """Colour scale of ratings: no colour up to half of the highest possible rating, full colour
    at that rating. If `scale` has no highest possible rating, it is taken to be the first of
    USUAL_ENDS that is at least `highest`, the highest rating given."""
    ends = (scale.high,) if math.isfinite(scale.high) else USUAL_ENDS
    full = next((end for end in ends if end >= highest), highest)
    texts = (f"no colour: {full / 2:g} or less", f"full colour: {full:g}")
    return scales.ColourScale("Rating", "w", full / 2, full, texts, 1, 1, f"of {full:g}")


def _ratings_by_category_matrix(
    rows: pd.DataFrame, order: Sequence[str], scale: ScoreScale
) -> Markup:
    cells: dict[tuple[str, str], Estimate | None] = {}
    sizes = rows.groupby("category", observed=True)["item"].nunique()
    columns = [heatmap.MatrixColumn(str(c), str(n)) for c, n in sizes.items() if str(c)]
    if len(columns) < 2:
        return EMPTY
    for column in columns:
        part = creation_levels.single_answer_ratings(rows[rows["category"] == column.name])
        cells |= {(model, column.name): got for model, got in part.items()}
    colours = rating_colours(scale, float(rows["score_0"].max()))
    keys = ("contestant", "category")
    return heatmap.matrix_html(order, columns, cells, colours, keys=keys, turns=True)


# -- Arena-Hard: five labels ---------------------------------------------------------------------


def arena_verdict_counts(filtered: FilteredStudy) -> dict[tuple[str, str], dict[str, int]]:
    """(judge, prompt) -> number of each of Arena-Hard's five verdicts (ARENA_LABELS) and, under
    "fail", of unusable replies. Calls that were repeated only to measure noise are not counted."""
    rows = judge_rows_or_votes(filtered, "five-level")
    found = {}
    for judge, prompt, mine in rows_by_rater(rows.loc[~rows["noise"].to_numpy()]):
        read = row_selection.select_picks(mine)
        pick, margin = read["pick"].to_numpy(), read["margin"].to_numpy()
        level = np.where(pick == TIE, 2, np.where(pick == 0, 2 - margin, 2 + margin))
        counts = np.bincount(np.clip(level, 0, 4), minlength=5).tolist()
        by_label = dict(zip(ARENA_LABELS, counts, strict=True))
        found[judge, prompt] = {**by_label, "fail": len(mine) - len(read)}
    return found


def show_arena_verdict_counts(filtered: FilteredStudy) -> Markup:
    """HTML table of how often each of Arena-Hard's five verdicts (A>>B to B>>A) was given; below,
    ratings with and without extra weight for >>. A message without such verdicts. Without position
    bias, and with all pairs judged in both orders, A>>B is as frequent as B>>A, and A>B as B>A."""
    found = arena_verdict_counts(filtered)
    if not found:
        why = "Use a prompt whose verdict is one of five labels, such as Arena-Hard's."
        return empty_state("No five-level verdicts.", why)
    lines = []
    for (judge, prompt), counts in found.items():
        select = {"judge": judge, "prompt": prompt}
        line = [tables.name_cell(judge, select, prompt)]
        for label, slot in zip(ARENA_LABELS, (0, 0, -1, 1, 1), strict=True):
            line.append(tables.count_cell(counts[label], label, {**select, "slot": slot}))
        failed = {**select, "status": "failures"}
        lines.append([*line, tables.count_cell(counts["fail"], "unusable replies", failed)])
    heads = ["Judge, prompt", *ARENA_LABELS, "Unusable replies"]
    return tables.value_table(heads, lines, label="Five labels") + _weighted_ratings_table(filtered)


def _weighted_ratings_table(filtered: FilteredStudy) -> Markup:
    """HTML table of two ratings per model: "much better" as one win, or as three (Arena-Hard);
    empty without ratings."""
    rows = judge_rows_or_votes(filtered, "five-level")
    every = (connected_leaderboards(rows), connected_leaderboards(rows, weighting="arena-hard"))
    plain, weighted = (
        {n: e for board in boards for n, e in board.ratings.items()} for boards in every
    )
    if not plain:
        return EMPTY
    tip = "Arena-Hard's code counts each >> (much better) several times, although it is one verdict"
    thrice_head = (f"Rating, >> counted {STRONG_WINS} times", tip)
    heads: list[tables.Head] = ["Model", "Rating, each verdict once", thrice_head]
    lines = []
    for model, got in plain.items():
        select, other = {"contestant": model}, weighted.get(model)
        once = tables.value_cell(got, tables.ELO, who=f"{model}, each verdict once", select=select)
        thrice = tables.value_cell(other, tables.ELO, who=f"{model}, >> three times")
        lines.append([tables.name_cell(model, select), once, thrice])
    label = "Bradley–Terry ratings with and without extra weight for >> (much better)"
    return tables.value_table(heads, lines, label=label)


# -- headline and key numbers --------------------------------------------------------------------


def _ratings_title(found: Mapping[str, creation_levels.PromptRatings]) -> str:
    """Headline: the model with the highest rating by each prompt in `found`, for at most
    MAX_TITLE_RATINGS prompts."""
    parts = []
    for prompt, ratings in found.items():
        means = ratings.means
        best = max(means, key=lambda model: means[model].value or 0.0)
        end = f" of {ratings.scale.high:g}" if math.isfinite(ratings.scale.high) else ""
        by = f" by {prompt}" if len(found) > 1 else ""
        rating = f"{number(means[best].value, 2)}{end}{overlap_clause(best, means)}"
        parts.append(f"{best} has the highest rating{by}: {rating}.")
    return " ".join(parts[:MAX_TITLE_RATINGS])


def _model_with_highest_win_rate(filtered: FilteredStudy) -> tuple[str, Estimate] | None:
    """The model with the highest adjusted win rate, and this rate; None without verdicts. A
    baseline in every pair is left out: it is compared with all other models, but each of these
    only with the baseline, so that the rates are not comparable."""
    rows = load_pairwise_verdict_rows(filtered)
    rates = win_rate(rows, *filtered.rule) if len(rows) else {}
    rates.pop(study_baseline(filtered) or "", None)
    return next(((model, rate) for model, rate in rates.items() if rate.value is not None), None)


def _leader_not_significant_clause(filtered: FilteredStudy, best: Estimate) -> str:
    """Clause that the highest win rate is not significantly above the next; "" if it is. With a
    baseline in every pair, the clause gives the interval of `best`, and whether it is significantly
    different from an even share."""
    if study_baseline(filtered):
        side = "not significantly different from"
        side = "significantly above" if (best.low or 0) > 0.5 else side
        side = "significantly below" if best.high is not None and best.high < 0.5 else side
        return f"{spaced_ci(best, scale=100)}, {side} an even share"
    rows, rule = load_pairwise_verdict_rows(filtered), filtered.rule
    first, second, *_ = *(name for name, rate in win_rate(rows, *rule).items() if rate.n), "", ""
    known = second and (win_rate_difference(rows, first, second, *rule).low or 0) <= 0
    return f", not significantly above that of {second}" if known else ""


def games_headline(filtered: FilteredStudy) -> tuple[str, str]:
    best = _model_with_highest_win_rate(filtered)
    if best is None:
        ratings = load_rating_rows(filtered)
        if (
            found := creation_levels.single_answer_ratings_by_prompt(ratings)
            if len(ratings)
            else {}
        ):
            return _ratings_title(found), "Ratings are averaged for each item, then over items."
        return "No verdicts yet.", "Results appear here while the study runs."
    conflicts = order_conflicts_by_rater(filtered)
    unequal = sum(one.conflicting_pair_count for one in conflicts)
    pairs = sum(one.pairs for one in conflicts)
    rule = combine_rule_text(filtered.rule[0])
    lead = f"Adjusted win rate: (wins + half the ties) / all outcomes; {rule}."
    part = f"{count(unequal)} of {count(pairs)} pairs"
    told = f"{part} have different results in their two orders (games). " if pairs else ""
    highest = f"{share(best[1].value)}{_leader_not_significant_clause(filtered, best[1])}"
    against = _against_baseline_clause(filtered)
    return f"{best[0]} has the highest adjusted win rate{against}: {highest}.", told + lead


def _against_baseline_clause(filtered: FilteredStudy) -> str:
    baseline = study_baseline(filtered)
    return f" against {baseline}" if baseline else ""


def game_kpis(filtered: FilteredStudy) -> list[Kpi]:
    kpis = []
    if (best := _model_with_highest_win_rate(filtered)) is not None:
        model, rate = best
        who = f"{model}{_against_baseline_clause(filtered)}"
        note = f"{who}{spaced_ci(rate, scale=100)}, n {count(rate.n)}"
        kpis.append(Kpi("Adjusted win rate", share(rate.value), note=note))
    conflicts = order_conflicts_by_rater(filtered)
    if pairs := sum(one.pairs for one in conflicts):
        of, note = f"of {count(pairs)}", "pairs judged in both orders"
        first = count(sum(one.both_first for one in conflicts))
        second = count(sum(one.both_second for one in conflicts))
        kpis.append(Kpi("First position won both games", first, of, note))
        kpis.append(Kpi("Second position won both games", second, of, note))
    return kpis
