"""The view Ranking of Results: leaderboard, Elo curves, stability of the ranking, win rates."""

from dataclasses import replace
from typing import Final

from components.charts.figure_parts import empty_figure
from components.filtering.filtered_study import FilteredStudy, combine_rule_clause
from components.filtering.filters import counting_rule_text
from components.html.format import NARROW_SPACE, count, number
from components.html.markup import EMPTY, Markup
from components.html.pieces import LegendMark, finding_html, panel_heading, paragraph
from components.results.bias.computed import load_bias
from components.results.bias.sentences import low_consistency_warning
from components.results.pass_fail.scores import computed
from components.results.ranking import analysis_places, panels, point_ranking_panel
from components.results.ranking.computed import Ranking, load_ranking
from components.results.ranking.ranking_stability import HOLD_RULE, does_ranking_hold
from components.results.ranking.sentences import ranking_headline, win_rate_headline
from components.results.view import paper_table
from components.results.view.result_view import Body, Content, Panel, PanelGroup, View, fold
from components.results.wins import win_rate_panels as wins
from metrics.ratings.bradley_terry import connected_leaderboards
from metrics.win_rates.win_rates import win_rate, win_rate_difference

NAME: Final = "Ranking"


HOW_RANKING: Final = (
    "Each usable verdict of each order is one battle, unless the study combines both orders. `P(a "
    "beats b) = 1/(1 + 10^((Rb − Ra)/400))` is fitted by maximum likelihood; ratings average 1000; "
    "intervals by the sandwich estimator, clustered by item. To compare two models, use the "
    "interval of their difference, not the overlap of two bars. A rank is the range of places that "
    "the intervals of differences between models allow.\n\nFurther battles needed to separate two "
    "models: `n·(h·(1 + 0.84/z)/gap)² − n`. The gap is the difference of their ratings, n the "
    "number of battles so far of one or both models, h the half-width of the gap's interval "
    "adjusted for all pairs of models, z its quantile (1.96 for two models); the table shows the "
    "interval of the pair alone. After these battles the adjusted interval excludes 0 with "
    f"80{NARROW_SPACE}% probability (power). They are battles on further items, at as many battles "
    "an item as now."
)
HOW_ORDERS: Final = (
    "The first order is the one that the plan lists first for a pair of models; in the second "
    "order the answers are swapped. Each leaderboard has the Bradley–Terry ratings from the "
    "verdicts of one order alone; every verdict is one battle. Where the two leaderboards differ, "
    "the order affects the ranking; using both orders cancels most of this effect.\n\n" + HOLD_RULE
)


def has_pairs(filtered: FilteredStudy) -> bool:
    return bool((filtered.counted_outcomes["options"] == 2).any())


def report_headline(filtered: FilteredStudy) -> Markup:
    shown = has_pairs(filtered)
    return finding_html(*ranking_headline(load_ranking(filtered))) if shown else EMPTY


def ranking_paper_table(filtered: FilteredStudy) -> paper_table.PaperTable | None:
    """Table for a paper: Bradley–Terry ratings on the Elo scale, rank ranges and win rates; None
    without pairs."""
    pairs = filtered.counted_outcomes[filtered.counted_outcomes["options"] == 2]
    if pairs.empty:
        return None
    rates = win_rate(pairs)  # on the ranked battles only, as on the page
    rows = []
    for board in connected_leaderboards(pairs):
        for name, matches in zip(board.names, board.matches, strict=True):
            rank, rating = board.ranks[name], board.ratings[name]
            place = (paper_table.rank_cell(rank.low, rank.high), name)
            rated = (number(rating.value), paper_table.interval_cell(rating, 1, 0))
            rate = paper_table.percent_cells(rates[name])
            rows.append((*place, *rated, *rate, count(int(matches))))
    caption = (
        f"Ranking on {filtered.name}: Bradley–Terry ratings on the Elo scale with 95 % intervals "
        "over items, and win rates (ties count half). A rank is the range of places that the "
        f"intervals of differences between models allow. {counting_rule_text(*filtered.rule)} "
        f"{paper_table.describe_items_and_filters(filtered)}"
    )
    head = ("Rank", "Model", "Rating", "95 % CI", "Win rate", "95 % CI", "Battles")
    return paper_table.PaperTable("Ranking", caption, head, tuple(rows))


def headline(filtered: FilteredStudy) -> tuple[str, str]:
    if not computed.has_comparisons(filtered):
        return point_ranking_panel.single_answer_ranking_headline(filtered)
    title, lead = (
        win_rate_headline(
            win_rate(filtered.measured_judge_rows, *filtered.rule),
            lambda one, other: win_rate_difference(
                filtered.measured_judge_rows, one, other, *filtered.rule
            ),
        )
        if computed.compares_only_many_options(filtered)
        else ranking_headline(load_ranking(filtered))
    )
    return title, f"{lead} {low_consistency_warning(load_bias(filtered))}".strip()


def render_leaderboard(filtered: FilteredStudy) -> Content:
    ranking = load_ranking(filtered)
    heading = leaderboard_heading(ranking, combine_rule_clause(filtered))
    return Content({"leaders": panels.leaderboard_html(ranking)}, heading)


def render_evidence_and_convergence(filtered: FilteredStudy) -> Markup | None:
    """Render the evidence that neighbours on the leaderboard differ, and whether Elo has converged;
    None if neither is known."""
    ranking = load_ranking(filtered)
    evidence = panels.top_models_e_values_html(filtered.measured_judge_rows, ranking)
    return evidence + panels.elo_convergence_badge(ranking) or None


def render_elo_curves(filtered: FilteredStudy) -> Content:
    ranking = load_ranking(filtered)
    figure = panels.elo_figure(ranking) or empty_figure("Elo needs pairwise comparisons.", 200)
    return Content({"elo": figure, "elo_note": panels.elo_order_note(ranking)})


def render_head_to_head(filtered: FilteredStudy) -> Content:
    ranking = load_ranking(filtered)
    sizes = panels.battles_per_cell_text(ranking)
    subtitle = f"% of battles that the row wins, ties half; {sizes}" if sizes else ""
    heads = panels.head_to_head_html(ranking)
    return Content({"heads": heads}, panel_heading("Head-to-head", subtitle))


def render_ranking_by_order(filtered: FilteredStudy) -> Markup:
    """Render the sentence on whether the ranking holds in both orders, and the table of orders."""
    ranking = load_ranking(filtered)
    text = f"**Does the ranking hold?** {does_ranking_hold(filtered).sentence}"
    return paragraph(text, "eh-under") + panels.order_comparison_html(ranking)


def leaderboard_heading(ranking: Ranking, rule: str = "") -> Markup:
    if not ranking.largest_group_leaderboard:
        return panel_heading("Leaderboard")
    items = ranking.largest_group_leaderboard.items
    subtitle = f"Bradley–Terry, Elo scale, ties half; 95{NARROW_SPACE}% CI over "
    keys: list[tuple[LegendMark, str]] = []
    if panels.people_ratings(ranking.largest_group_leaderboard, ranking):
        who = f"judge {ranking.judges[0]}" if len(ranking.judges) == 1 else "judges"
        keys = [("dot", who), ("diamond", "people")]
    fought = set(ranking.largest_group_leaderboard.matches)
    each = f"; {count(int(fought.pop()), 'battle')} each" if len(fought) == 1 else ""
    return panel_heading("Leaderboard", subtitle + count(items, "item") + each + rule, keys)


ORDER_KEYS: Final[tuple[tuple[LegendMark, str], ...]] = (
    ("ring", "one order alone"),
    ("dot", "both orders"),
)
BOARD: Final = Panel(
    "board",
    render_leaderboard,
    (Body("leaders", "eh-leaders", clickable=True),),
    "Leaderboard",
    how=HOW_RANKING,
    in_report=has_pairs,
    table=ranking_paper_table,
    applies=computed.can_have_ratings,
    json_keys=(
        "bradley_terry.*",
        "ranks.*.place",
        "gaps.*.*",
        "win_rate.*",
        "planning.*.e_value",
        "protocol.bradley_terry.*",
    ),
)
EVIDENCE: Final = Panel(
    "evidence",
    render_evidence_and_convergence,
    (Body("evidence", "eh-evidence"),),
    "Evidence and convergence",
    json_keys=("planning.*.e_value",),
)
ELO: Final = Panel(
    "curves",
    render_elo_curves,
    (Body("elo", "eh-elo", chart_height=230, clickable=True), Body("elo_note", "eh-elo-note")),
    "Elo curves",
    "rating after each battle; depends on their order, the leaderboard does not",
    how="After each battle `R += 4 (S − E)`: rating R, result S (1, ½ or 0), expected result E; "
    "start 1000, battles in the order of the plan. This order is arbitrary. The band, drawn for "
    "the model pointed at, shows the ratings if the items are shuffled. With more battles the "
    "curves approach the leaderboard's Bradley–Terry ratings. Elo and Bradley–Terry agree for a "
    "model if its Bradley–Terry rating lies within the final band. A curve can end outside its "
    "band if battles come in blocks (one judge, then the next), as Elo weights the last block "
    "most. In that case use the band.",
    scale=29,
    in_report=has_pairs,
    applies=computed.can_have_ratings,
    json_keys=("elo.*", "elo.*.order_low", "elo.*.order_high", "protocol.elo.*"),
)
HEAD_TO_HEAD: Final = Panel(
    "head_to_head",
    render_head_to_head,
    (Body("heads", "eh-heads", clickable=True),),
    "Head-to-head",
    how="`(wins + ties/2) / battles` between the two models; Wilson intervals at the effective n, "
    "items as clusters. The hover card adds the share that the Bradley–Terry ratings predict. "
    "If the two shares differ much, one rating per model does not describe this pair well.",
    scale=20,
    in_report=has_pairs,
    applies=computed.can_have_ratings,
    json_keys=("head_to_head.*.*", "protocol.head_to_head.*.*"),
)
ORDERS: Final = Panel(
    "orders",
    render_ranking_by_order,
    (Body("orders", "eh-orders"),),
    "Does the ranking depend on the order of the answers?",
    "ratings from each order alone and from both orders together; line: "
    f"95{NARROW_SPACE}% CI of the rating from both orders",
    ORDER_KEYS,
    how=HOW_ORDERS,
    applies=computed.can_have_ratings,
    json_keys=(
        "bradley_terry_by_order.first.*",
        "bradley_terry_by_order.second.*",
        "bradley_terry.*",
    ),
)
CHOICES: Final = Panel(
    "choices",
    analysis_places.places_by_analysis_html,
    (Body("choices", "eh-choices-strip"),),
    analysis_places.TITLE,
    analysis_places.SUBTITLE,
    how=analysis_places.HOW_CHOICES,
    applies=computed.can_have_ratings,
    json_keys=(
        "first_place.multiverse.*.*",
        "first_place.first.halves_first",
        "first_place.first.verdicts",
        "first_place.cycles",
    ),
)
POINTS: Final = Panel(
    "point_ranking",
    point_ranking_panel.single_answer_ranking_html,
    (Body("point_ranking", "eh-point-ranking", clickable=True),),
    point_ranking_panel.TITLE,
    point_ranking_panel.SUBTITLE,
    how=point_ranking_panel.HOW_POINTS,
    report=point_ranking_panel.single_answer_ranking_html,
    json_keys=("point_ranking.*.*",),
)
OPTION_RATES: Final = replace(
    wins.RATES,
    name="option_rates",
    applies=computed.compares_only_many_options,
    bodies=(Body("option_rates", "eh-option-rates", clickable=True),),
    subtitle=wins.RATES.subtitle.replace("ties count half", "a tie counts 1/N with N answers"),
    table=None,
)
"""The win rates of a study that compares three or more answers, in place of the leaderboard."""
PAIR_RATES: Final = replace(wins.RATES, applies=computed.can_have_ratings)
PAIRS: Final = PanelGroup(
    (
        BOARD,
        OPTION_RATES,
        PanelGroup((ELO, HEAD_TO_HEAD)),
        CHOICES,
        fold("Win rates by category, judge and prompt", wins.MATRIX, PAIR_RATES, wins.TIES),
        fold(
            "Order by order, jury, precision",
            *(ORDERS, EVIDENCE, wins.JURY, wins.TIE_MODELS, wins.PRECISION),
        ),
        wins.LEVELS,
    ),
    row=False,
    css="eh-kind",
    name="ranking_of_pairs",
    visible=computed.has_comparisons,
)
"""Panels that need comparisons of answers."""
VIEW: Final = View(
    NAME,
    (PAIRS, POINTS),
    headline,
    kpis=lambda _: EMPTY,
    report=report_headline,
    json_keys=("gaps.*.*", "planning.*.further_items", "position_pooled.consistency"),
)
