"""Ranking in the report file, and its table for a paper."""

from __future__ import annotations

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import rule_text
from components.html.format import count, number
from components.html.markup import EMPTY, Markup
from components.html.panel import finding_html
from components.results.ranking.computed import load_ranking
from components.results.ranking.sentences import ranking_finding
from components.results.view.paper_table import (
    PaperTable,
    interval_cell,
    percent_cells,
    rank_cell,
    slice_text,
)
from metrics.ratings.bradley_terry import fit_leaderboards
from metrics.win_rates.win_rates import win_rate


def has_pairs(filtered: FilteredStudy) -> bool:
    return bool((filtered.outcomes["options"] == 2).any())


def report_headline(filtered: FilteredStudy) -> Markup:
    if not has_pairs(filtered):
        return EMPTY
    return finding_html(*ranking_finding(load_ranking(filtered)))


def ranking_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of Bradley–Terry ratings on the Elo scale, with rank ranges."""
    pairs = filtered.outcomes[filtered.outcomes["options"] == 2]
    if pairs.empty:
        return None
    rates = win_rate(pairs)  # on the ranked battles only, as on the page
    rows = []
    for board in fit_leaderboards(pairs):
        for place, name in enumerate(board.names):
            rank, rating = board.ranks[name], board.ratings[name]
            rows.append(
                (
                    rank_cell(rank.low, rank.high),
                    name,
                    number(rating.value),
                    interval_cell(rating, 1, 0),
                    *percent_cells(rates[name]),
                    count(int(board.matches[place])),
                )
            )
    caption = (
        f"Ranking on {filtered.name}: Bradley–Terry ratings on the Elo scale with 95 % intervals "
        "over items, and win rates (ties count half). A rank is the range of places that the "
        f"intervals of differences between models allow. {rule_text(*filtered.rule)} "
        f"{slice_text(filtered)}"
    )
    head = ("Rank", "Model", "Rating", "95 % CI", "Win rate", "95 % CI", "Battles")
    return PaperTable("Ranking", caption, head, tuple(rows))
