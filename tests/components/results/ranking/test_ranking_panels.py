"""Ranking panels: leaderboards, single orders, people, convergence, battles needed."""

from __future__ import annotations

import itertools
import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.html.format import approximate_count
from components.results.ranking import analysis_places, panels, point_ranking_panel, sentences
from components.results.ranking import tab as ranking_tab
from components.results.ranking.computed import compute_ranking, load_ranking
from components.results.ranking.point_ranking_panel import (
    single_answer_ranking_headline,
    single_answer_ranking_html,
)
from components.results.ranking.sentences import ranking_headline, win_rate_headline
from components.results.view_drawing import VIEWS, render_view_uncached
from metrics.estimation.planning.power import further_verdicts_to_separate
from metrics.ratings.online_elo import EloRating
from metrics.summary.rating_sections import rating_sections
from metrics.win_rates.win_rates import win_rate
from studies.domain import Estimate
from studies.exchange.recorded_studies import import_verdicts
from studies.store.store import Store
from tests.judges.small_studies import run_text
from tests.metrics.frames import build, pair, prd
from tests.page_words import says
from tests.voted_studies import save

NAME = "two judges"


def battles(
    wins: dict[tuple[str, str], tuple[int, int]], **more: object
) -> list[dict[str, object]]:
    """(x, y) -> how often x and how often y won, both orders of each item alike."""
    rows = []
    for (x, y), (won, lost) in wins.items():
        for n in range(won + lost):
            first = 0 if n < won else 1
            rows += pair(f"{x}{y}{n}", first, 1 - first, x=x, y=y, **more)
    return rows


LADDER = {("a", "b"): (30, 10), ("b", "c"): (21, 19), ("a", "c"): (29, 11)}


@pytest.fixture(scope="module")
def ladder() -> pd.DataFrame:
    return build(battles(LADDER))


def test_the_finding_names_the_leader_and_the_first_pair_that_is_not_told_apart(ladder):
    title, lead = ranking_headline(compute_ranking(ladder, ladder))
    assert says(title, "a leads b by 176 Elo points [78, 275]")
    assert says(lead, "third", "no significant difference")
    assert re.search(r"about [\d,]+ more items would probably show a difference of this size", lead)


def test_the_leaderboard_says_what_it_takes_to_separate_neighbours(ladder):
    html = panels.leaderboard_html(compute_ranking(ladder))
    leads = [row.split("<td")[-1] for row in html.split("<tr")[2:]]
    tagged = ["not significant" in lead for lead in leads]
    assert tagged == [False, True, False], "the tag stands beside the lead that covers 0 only"
    (needed,) = re.findall(r"≈ ([\d,]+ more items), [\d,]+ battles of either", html)
    _, lead = ranking_headline(compute_ranking(ladder, ladder))
    assert needed in lead, "headline and table give one number of items for one gap"
    table = json.loads(
        re.search(r'data-table="([^"]*)"', html)
        .group(1)
        .replace("&quot;", '"')
        .replace("&#x27;", "'")
    )
    assert table["columns"][:4] == ["rank_low", "rank_high", "contestant", "measure"]
    assert {row[2] for row in table["rows"]} == {"a", "b", "c"}


def test_one_order_alone_can_crown_somebody_else():
    # a before b: a wins 20 of 20 items; b before a: b wins 14 of 20. Both: 26 of 40 for a.
    rows = []
    for n in range(20):
        rows += pair(f"q{n}", 0 if n < 18 else 1, 0 if n < 14 else 1, x="a", y="b")
    ranking = compute_ranking(build(rows), build(rows))
    assert ranking.first_order.names[0] == "a"
    assert ranking.second_order.names[0] == "b"
    assert "would lead" not in ranking_headline(ranking)[1]  # 14 of 20: not significant
    clear = [
        row
        for n in range(20)
        for row in pair(f"q{n}", 0 if n < 19 else 1, 0 if n < 17 else 1, x="a", y="b")
    ]
    found = ranking_headline(compute_ranking(build(clear), build(clear)))[1]
    assert says(found, "second", "alone", "lead")
    html = panels.order_comparison_html(ranking)
    assert "first order alone" in html
    assert html.count('class="n"') == 4  # two hollow marks for each of two contestants


def test_where_one_order_was_asked_the_panel_says_so():
    rows = [row for n in range(10) for row in pair(f"q{n}", n % 2, 0, orders=1)[:1]]
    drawn = panels.order_comparison_html(compute_ranking(build(rows), build(rows)))
    assert says(drawn, "No effect", "in one order")


def test_people_stand_beside_the_judges_only_if_they_rated_the_same_contestants(ladder):
    votes = build(battles({("a", "b"): (12, 8), ("b", "c"): (12, 8)}, judge="human:ann", orders=1))
    ranking = compute_ranking(ladder, ladder, votes)
    assert set(panels.people_ratings(ranking.largest_group_leaderboard, ranking)) == {"a", "b", "c"}
    drawn = panels.leaderboard_html(ranking)
    assert drawn.count('class="u"') == 3 and says(drawn, "people: 1,", "comparisons")
    title = ranking_headline(ranking)[0]
    assert says(title, "a leads b by", "people's votes", "order of estimates", "places 2 to 3")
    assert says(title, "this ranking", "places 1 to 3", "people's")
    some = build(battles({("a", "b"): (3, 2)}, judge="human:ann"))
    assert (
        panels.people_ratings(
            ranking.largest_group_leaderboard, compute_ranking(ladder, ladder, some)
        )
        == {}
    )


def test_a_settled_leaderboard_is_not_said_to_have_open_places():
    """Only people's differences are not significant."""
    judged = build(battles(dict.fromkeys((("a", "b"), ("b", "c"), ("a", "c")), (36, 4))))
    votes = build(battles({("a", "b"): (12, 8), ("b", "c"): (12, 8)}, judge="human:ann", orders=1))
    ranking = compute_ranking(judged, judged, votes)
    assert all(rank.low == rank.high for rank in ranking.largest_group_leaderboard.ranks.values())
    title = ranking_headline(ranking)[0]
    assert says(title, "same order", "places 1 to 3", "people's") and "this" not in title


def test_people_never_rate_among_the_judges(ladder):
    votes = build([*battles(LADDER), *battles({("c", "a"): (90, 0)}, judge="human:ann")])
    assert (
        compute_ranking(votes).largest_group_leaderboard.names
        == compute_ranking(ladder).largest_group_leaderboard.names
    )


def test_a_short_run_has_not_converged_and_a_long_one_has():
    # Two contestants, 75 % for a: Bradley–Terry says ±95 points. 40 battles of K 4 move Elo by at
    # most 160/2 and mostly less: far away. After 4,000 the online rating hovers around it.
    rng = np.random.default_rng(1)

    def played(items: int) -> pd.DataFrame:
        won = int(0.75 * items)
        rows = []
        for n in rng.permutation(items):
            first = 0 if n < won else 1
            rows += pair(f"q{n}", first, 1 - first, x="a", y="b")
        return build(rows)

    assert "not converged" in panels.elo_convergence_badge(compute_ranking(played(20)))
    assert says(
        panels.elo_convergence_badge(compute_ranking(played(2000))),
        "Bradley–Terry",
        "in their Elo bands",
    )


def test_a_curve_that_ends_outside_its_band_is_named():
    """All of a's wins first, then all of b's: the last block decides, whatever the band says."""
    rows = []
    for n in range(2000):
        first = 0 if n < 1200 else 1
        rows += pair(f"q{n:04}", first, 1 - first, x="a", y="b")
    ranking = compute_ranking(build(rows))
    badge = panels.elo_convergence_badge(ranking)
    assert says(badge, "Bradley–Terry", "in their Elo bands")
    told = panels.elo_order_note(ranking)
    assert says(told, "Drawn in plan", "a and b", "outside", "use Bradley–Terry")
    rated = ranking.elo_curve.table["a"]  # b's range is as wide: its ratings are 2000 minus a's
    assert says(told, "a", *(f"{end:,.0f}" for end in (rated.order_low, rated.order_high)))


def test_a_gap_without_a_finite_value_has_no_limit(judged):
    ranking = load_ranking(FilteredStudy(judged, NAME, Filter(judge="fair")))
    assert panels.bradley_terry_by_model(ranking) == {}
    assert panels.elo_convergence_badge(ranking) == ""
    assert "Regularised." in panels.leaderboard_html(ranking)


@pytest.mark.parametrize(("rating", "outside"), [(1000.4, False), (1001.2, False), (1001.6, True)])
def test_a_rating_is_outside_the_band_only_by_points_that_are_shown(rating, outside):
    rated = EloRating(Estimate(1000.0), 999.6, 1000.9, 20)
    assert panels._is_outside_elo_range(rated, rating) == outside


def test_the_curve_can_be_replayed_and_its_numbers_taken_along(ladder):
    figure = panels.elo_figure(compute_ranking(ladder))
    assert figure["replay"] == "battles"
    assert figure["table"]["columns"][:3] == ["contestant", "battles", "elo"]


@pytest.mark.records
def test_a_lead_beside_overlapping_ranks_is_not_left_without_a_word():
    ranking = compute_ranking(prd())
    html, board = panels.leaderboard_html(ranking), ranking.largest_group_leaderboard
    rows = html.split("<tr")[2:]
    for above, below, row in zip(board.names, board.names[1:], rows, strict=False):
        apart = board.ranks[above].high < board.ranks[below].low
        assert apart == ("not significant" not in row and "not after" not in row), (above, row)
    # gpt-3.5-turbo leads bard by 36 points [5, 67], with ranks 3 to 5 and 4 to 5.
    assert html.count("not after adjustment") == 1


def test_each_curve_has_its_name_at_the_end_and_a_band_that_starts_hidden(ladder):
    ranking = compute_ranking(ladder)
    figure = panels.elo_figure(ranking)
    names = set(ranking.largest_group_leaderboard.names)
    bands = {one["meta"]["band"]: one for one in figure["data"] if "band" in one.get("meta", {})}
    lines = {one["meta"]["contestant"] for one in figure["data"] if one.get("mode") == "lines"
             and "contestant" in one.get("meta", {})}  # fmt: skip
    assert set(bands) == lines == names
    assert all(one["visible"] is False for one in bands.values())
    labels = [one["text"] for one in figure["layout"]["annotations"]]
    assert {name for name in names if any(text.endswith(name) for text in labels)} == names


def test_a_head_to_head_says_what_is_expected_and_how_many_battles(ladder):
    ranking = compute_ranking(ladder)
    html = panels.head_to_head_html(ranking)
    assert "Bradley–Terry expects" in html
    assert panels.battles_per_cell_text(ranking) == "80 battles a cell"
    assert 'class="also"' not in html
    more = compute_ranking(build([*battles(LADDER), *battles({("a", "b"): (2, 1)}, judge="k")]))
    assert panels.battles_per_cell_text(more) == "80 to 86 battles a cell"
    assert 'class="also"' in panels.head_to_head_html(more)


def test_the_leaderboard_ranks_the_right_answer_first(judged):
    html = panels.leaderboard_html(compute_ranking(Filter(judge="fair").apply(judged.frame(NAME))))
    assert html.index("precise") < html.index("flawed")


def test_the_ranking_is_worked_out_once_for_a_version(judged):
    scene = FilteredStudy(judged, NAME)
    assert load_ranking(scene) is load_ranking(FilteredStudy(judged, NAME))


def test_prd_ranks_as_published_and_the_second_order_crowns_claude():
    frame = prd()
    mine = frame[(frame["judge"] == "gpt-4").to_numpy()]
    people = frame[frame["judge"].astype(str).str.startswith("human:").to_numpy()]
    ranking = compute_ranking(mine, mine, people)
    names = ("gpt-4", "claude-v1", "vicuna-13b", "gpt-3.5-turbo", "bard")
    assert ranking.largest_group_leaderboard.names == names
    assert ranking.largest_group_leaderboard.ratings["gpt-4"].value == pytest.approx(1276, abs=1)
    title, lead = ranking_headline(ranking)
    assert says(title, "gpt-4 ranks itself first; people", "same order", "places 3 to 5")
    assert says(lead, "Third", "fourth", "no", "4")


def plain(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html).replace("\u202f", " ")


def test_the_evidence_of_neighbours_is_one_vote_an_item():
    # 8 of 10 items for a: e-value B(8.5, 2.5)/B(.5, .5)·2^10 = 1.6758, the mixture of Krichevsky
    # and Trofimov 1981. 70 of 100: 298.
    for won, n, text in ((8, 10, "1.7"), (70, 100, "298.0")):
        frame = build(battles({("a", "b"): (won, n - won)}))
        html = plain(panels.top_models_e_values_html(frame, compute_ranking(frame)))
        assert says(html, "a wins", f"{won} of {n}", f"e-value {text}")
    assert panels.top_models_e_values_html(build([]), compute_ranking(build([]))) == ""


def test_the_headline_follows_the_adjusted_ranks_as_the_leaderboard_does():
    """The same lead over the next model: of two models alone, and among six."""
    lead = {("a", "b"): (27, 13)}
    alone = compute_ranking(build(battles(lead)))
    even = dict.fromkeys(itertools.combinations("bcdef", 2), (20, 20))
    among = compute_ranking(build(battles(lead | even)))
    for ranking, settled in ((alone, True), (among, False)):
        gap = ranking.largest_group_leaderboard.gap("a", "b")
        assert gap.low > 0 and ranking.largest_group_leaderboard.ranks["a"].high == (
            1 if settled else 6
        ), gap
        title, below = ranking_headline(ranking)
        assert says(title, "a leads b", f"{gap.value:.0f} Elo")
        assert says(title, "not significant", "adjustment") is not settled
        assert says(below, "more items would", "of this size") is not settled
        assert "Elo" not in below.replace("the Elo scale", ""), "the lead is in the headline"


def test_the_items_needed_are_those_for_the_adjusted_interval():
    """More items than for the pair's own interval, and a number also for a lead that is only
    significant before the adjustment."""
    even = dict.fromkeys(itertools.combinations("bcdef", 2), (20, 20))
    rows = build(battles({("a", "b"): (27, 13)} | even))
    found = compute_ranking(rows).largest_group_leaderboard
    assert further_verdicts_to_separate(found.gap("a", "b")) == 0
    assert further_verdicts_to_separate(found.adjusted_gap("a", "b")) > 0
    assert says(panels.leaderboard_html(compute_ranking(rows)), "for all pairs", "more items")
    # At a level of 99 %, z is 2.5758: 400 · (150 · (1 + 0.8416/2.5758)/100)² − 400 = 1184.2.
    assert further_verdicts_to_separate(Estimate(100, -50, 250, 400, level=0.99)) == 1185
    how = ranking_tab.HOW_RANKING
    assert "0.84/z)/gap" in how and says(how, "half-width", "adjusted for all", "z its quantile")


def test_the_json_has_the_further_items_of_the_page():
    """Of 40 items x wins 23 in both orders: two battles are one item."""
    rows = build(battles({("x", "y"): (23, 17)}))
    plan = rating_sections(rows)["planning"]["x − y"]
    assert plan["battles_so_far"] == 80 and plan["further_battles"] > 100
    assert plan["further_items"] == pytest.approx(plan["further_battles"] / 2, abs=0.5)
    told = approximate_count(plan["further_items"], "more item")
    assert says(ranking_headline(compute_ranking(rows))[1], told)


def test_models_with_equal_ratings_are_in_no_different_order_by_people():
    """a beats b and c 36 to 4 by the judge, b and c draw; people put c before b."""
    judged = build(battles({("a", "b"): (36, 4), ("a", "c"): (36, 4), ("b", "c"): (20, 20)}))
    votes = build(battles(dict.fromkeys(itertools.combinations("acb", 2), (36, 4)),
                          judge="human:ann", orders=1))  # fmt: skip
    title = ranking_headline(compute_ranking(judged, judged, votes))[0]
    assert says(title, "same order", "2 to 3")


def test_models_with_equal_votes_are_not_put_first_by_people():
    judged = build(battles(dict.fromkeys(itertools.combinations("bca", 2), SURE)))
    even = dict.fromkeys(itertools.combinations("abc", 2), (1, 1))
    votes = build(battles(even, judge="human:ann", orders=1))
    title = ranking_headline(compute_ranking(judged, judged, votes))[0]
    assert says(title, "6 comparisons put", "no model first")
    assert not says(title, "a first")


def test_without_pairs_the_head_to_head_says_so():
    """No comparison of two; replies without a verdict; a verdict in one of two orders only, where
    the rule needs both."""
    lost = build([row for n in range(4) for row in pair(f"q{n}", 0, None)])
    mute = build([row for n in range(4) for row in pair(f"q{n}", None, None)])
    for rows, outcomes, told in (
        (build([]), build([]), ("pairwise comparisons",)),
        (mute, mute[:0], ("No reply", "better")),
        (lost, lost[:0], ("No pair", "counting rule")),
    ):
        found = compute_ranking(outcomes, rows)
        assert says(panels.head_to_head_html(found), *told)
        assert says(ranking_headline(found)[1], *told)
    one = compute_ranking(lost, lost)
    assert says(panels.order_comparison_html(one), "No pair", "usable verdicts", "both orders")


def test_a_study_of_four_options_is_ranked_by_win_rates_and_shows_no_empty_panel(store):
    run_text(store, "name: options\ndata: {source: probe, count: 12}\noptions: rotations\n"
             "contestants: [precise, padded, flawed, offtopic]\nprompts: [brief-options]\n"
             "judges: [{name: ada, model: simulated, seed: 1, accuracy: 0.7}]\n")  # fmt: skip
    filtered = FilteredStudy(store, "options")
    drawn = render_view_uncached(filtered, "Ranking", VIEWS["Ranking"].initial_values(filtered))
    rates = win_rate(filtered.measured_judge_rows)
    (first, best), (second, following), *_ = rates.items()
    assert best.value > following.value
    shares = [f"{100 * one.value:.0f}" for one in (best, following)]
    assert says(plain(drawn["finding"]), f"{first} and {second}", shares[0], shares[1])
    shown = {name for name, value in drawn.items() if name.endswith("_panel") and value}
    assert {"option_rates_panel", "rate_matrix_panel"} <= shown
    assert not shown & {"board_panel", "curves_panel", "head_to_head_panel", "choices_panel",
                        "orders_panel", "rates_panel"}  # fmt: skip


@pytest.mark.parametrize(
    ("rates", "named"),
    [
        ({"a": 0.5, "b": 0.5}, ("a and b", "same win rate", "50")),
        ({"a": 1 / 3 + 1e-12, "b": 1 / 3, "c": 1 / 3 - 1e-12}, ("a, b and c", "same", "33")),
        ({"a": None, "b": None}, ("No ranking",)),
        ({"a": 0.6, "b": None}, ("No ranking",)),
    ],
)
def test_equal_or_unknown_win_rates_name_no_leader(rates, named):
    known = {name: Estimate(value) for name, value in rates.items()}
    title, _ = win_rate_headline(known, lambda *_: Estimate(0.0))
    assert says(title, *named) and "most" not in title


@pytest.mark.parametrize(("low", "named"), [(0.01, True), (0.0, False), (None, False)])
def test_a_highest_win_rate_is_named_only_if_significantly_above_the_next(low, named):
    rates = {"a": Estimate(0.45, 0.42, 0.48), "b": Estimate(0.44, 0.41, 0.48)}
    title, _ = win_rate_headline(rates, lambda *_: Estimate(0.01, low, 0.03))
    assert says(title, "a has", "highest") is named
    assert says(title, "No significant", "a and b", "45", "44") is not named


def test_a_low_consistency_is_stated_above_the_win_rates_of_options(tmp_path):
    """The judge picks the first of three answers in each of three orders, so no two verdicts on
    one question are equal; by chance the three are equal in 3 of 27 cases."""
    store = Store(tmp_path / "options.db")
    models = ("x", "y", "z")
    rows = [
        (f"q{k}", "keen", "p", (*models[turn:], *models[:turn]), models[turn], 3)
        for k in range(60)
        for turn in range(3)
    ]
    save(store, "first of three", rows)
    title, lead = VIEWS["Ranking"].headline(FilteredStudy(store, "first of three"))
    assert says(title, "x, y and z", "33") and says(lead, "consistency", "0", "chance", "11")
    store.close()


@pytest.mark.parametrize(
    "parts", [("", ""), ("evidence", ""), ("", "badge"), ("evidence", "badge")]
)
def test_evidence_and_convergence_are_drawn_if_one_of_them_is_known(parts, monkeypatch):
    shown = SimpleNamespace(measured_judge_rows=None)
    monkeypatch.setattr(ranking_tab, "load_ranking", lambda _: None)
    monkeypatch.setattr(panels, "top_models_e_values_html", lambda *_: parts[0])
    monkeypatch.setattr(panels, "elo_convergence_badge", lambda _: parts[1])
    assert ranking_tab.render_evidence_and_convergence(shown) == ("".join(parts) or None)


SURE, UNSURE = (36, 4), (12, 8)


@pytest.mark.parametrize(
    ("order", "wins", "told"),
    [
        ("abc", SURE, ("votes give", "the same ranking")),
        ("acb", SURE, ("the same model", "rank the others")),
        ("acb", UNSURE, ("60 comparisons put a", "rank the others", "places 1 to 3")),
        ("bac", SURE, ("people put b above a",)),
        ("bac", UNSURE, ("60 comparisons put b", "but not significantly")),
    ],
)
def test_the_ranking_by_people_is_compared_with_that_of_the_judges(order, wins, told):
    """Each model beats the later ones, by judges and by people, 36 to 4 or 12 to 8 times."""

    def board(names, won, **more):
        return build(battles(dict.fromkeys(itertools.combinations(names, 2), won), **more))

    judged = board("abc", SURE)
    ranking = compute_ranking(judged, judged, board(order, wins, judge="human:ann", orders=1))
    assert ranking.people.names == tuple(order)
    title = ranking_headline(ranking)[0]
    assert says(title, "a leads b", *told)
    assert ("significant" in title or "settled" in title) is (wins == UNSURE)


@pytest.mark.parametrize(
    ("ranks", "told"),
    [
        ([(1, 1), (2, 3), (2, 3)], "places 2 to 3"),
        ([(1, 2), (1, 2), (3, 4), (3, 4)], "places 1 to 4"),
        ([(1, 2), (1, 2), (3, 3), (4, 5), (4, 5)], "places 1, 2, 4 and 5"),
        ([(1, 1), (2, 2)], "some places"),
    ],
)
def test_open_places_are_named_of_the_ranking_that_has_them(ranks, told):
    ranges = {str(n): SimpleNamespace(low=low, high=high) for n, (low, high) in enumerate(ranks)}
    board, settled = SimpleNamespace(ranks=ranges), SimpleNamespace(ranks={})
    clause = sentences._unsettled_places_clause
    assert says(clause(board, settled), told) and "people" not in clause(board, settled)
    assert says(clause(settled, board), told) and "this" not in clause(settled, board)


def test_without_pairs_there_is_no_leader_and_no_number_of_items():
    assert ranking_headline(compute_ranking(build([])))[0] == "No ranking here."
    assert sentences._items_needed_clause(Estimate(None)) == ""
    assert sentences._items_needed_clause(Estimate(40.0, -20.0, 100.0, 80, 0)) == ""
    assert says(sentences._items_needed_clause(Estimate(40.0, -20.0, 100.0, 80, 40)), "more items")


def test_a_cycle_is_told_once_round_and_a_lead_that_no_verdict_changes():
    def pooled(rows):
        return SimpleNamespace(measured_judge_rows=rows, rule=("pooled", "exclude"))

    rows = build(battles({("a", "b"): (5, 1), ("b", "c"): (5, 1), ("c", "a"): (5, 1)}))
    told = analysis_places.first_place_and_cycles_text(pooled(rows))
    assert says(told, "1 cycle among", "a &gt; b", "c &gt; a.")
    won = build(battles({("a", "b"): (6, 0)}))
    told = analysis_places.first_place_and_cycles_text(pooled(won))
    assert "cycle" not in told and "<b>a</b>" in told
    sure = SimpleNamespace(leader="a", halves_first=9, halves=10, verdicts=None)
    assert says(analysis_places._first_place_sentence(sure, "pooled"), "in 9 of 10", "no change")


def test_a_lead_of_single_answers_is_significant_only_after_adjustment(tmp_path):
    """Scores of x, y and z on eight items. x − y is 0.5 on average, with a standard deviation of
    0.535: its t interval is [0.05, 0.95] alone (t .975 = 2.365), and for three pairs together
    (t .99167 = 3.128) [−0.09, 1.09]."""
    scores = {"x": [4, 4, 4, 4, 3, 3, 3, 3], "y": [3, 3, 3, 3, 3, 3, 3, 3], "z": [1] * 8}
    lines = [
        f"Why {n}?,{one},Because.,{value},3"
        for one, values in scores.items()
        for n, value in enumerate(values)
    ]
    path = tmp_path / "scored.csv"
    path.write_text(
        "\n".join(["question,model,answer,score,human_score", *lines]), encoding="utf-8"
    )
    store = Store(tmp_path / "scored.db")
    import_verdicts(store, path, "scored")
    scored = FilteredStudy(store, "scored")
    title, lead = single_answer_ranking_headline(scored)
    assert title == "x leads y." and says(lead, "not significant after", "all pairs")
    assert "1–2" in str(single_answer_ranking_html(scored)) and "usable" not in str(
        single_answer_ranking_html(scored)
    )
    ((rater, ranking),) = point_ranking_panel.load_single_answer_rankings(scored).items()
    table = point_ranking_panel._model_ranking_table(rater, ranking, Estimate(0.48, n=50))
    assert says(table, "of the replies", "no usable verdict") and "48" in table
    store.close()


def test_single_answers_name_a_leader_only_if_its_lead_excludes_zero(tmp_path):
    """Of 12 answers by each model the judge passes all of x and none of y; of z as many as of x."""
    passed = {"x": "pass", "y": "fail", "z": "pass"}
    store = Store(tmp_path / "points.db")
    for name, models in (("apart", "xy"), ("alike", "xz")):
        lines = [
            f"Is {n} odd?,{one},No.,{passed[one]},{passed[one]}"
            for n in range(12)
            for one in models
        ]
        path = tmp_path / f"{name}.csv"
        path.write_text(
            "\n".join(["question,model,answer,verdict,label", *lines]), encoding="utf-8"
        )
        import_verdicts(store, path, name)
    title, lead = single_answer_ranking_headline(FilteredStudy(store, "apart"))
    assert says(title, "x is significantly", "of y.") and says(lead, "x 100", "y 0")
    assert says(lead, "by the labels:"), "every answer has a label"
    title, lead = single_answer_ranking_headline(FilteredStudy(store, "alike"))
    assert says(title, "No significant difference") and says(lead, "x 100", "z 100")
    nobody = FilteredStudy(store, "apart", Filter(judge="nobody"))
    assert single_answer_ranking_headline(nobody)[0] == "No ranking yet."
    store.close()
