"""Panels of MT-Bench and Arena-Hard, on two scripted judges and on real records."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.results.protocol import blocks as protocol_view
from components.results.protocol import game_panels as protocol_games
from components.results.protocol import redundancy_panel
from components.results.protocol import sections as protocol_sections
from components.results.protocol import visit_replies as protocol_cost
from components.results.protocol.tab import GAMES, VIEW
from metrics.protocols.creation_levels import single_answer_ratings_by_prompt
from studies.domain import Estimate
from studies.exchange.recorded_studies import import_verdicts
from studies.spec.presets import PRESETS
from studies.store.store import Store
from tests.components.written_replies import answered, endpoint, write_items
from tests.metrics.frames import build
from tests.page_words import says

NAME = "games"
BOTH_GAMES = {
    "q0": ("A", "B"),  # x wins both: agree
    "q1": ("A", "A"),  # the first shown both times
    "q2": ("B", "B"),  # the second both times
    "q3": ("A", "C"),  # a win and a tie
    "q4": ("C", "C"),  # agree
    "q5": ("A", ""),  # one game cannot be read
}


def write(planned, rng) -> str:
    if planned.ask.prompt == "mt-bench-single":
        return f"Good. Rating: [[{8 if planned.ask.shown == ('x',) else 5}]]"
    game = BOTH_GAMES[planned.ask.item][planned.ask.shown[0] != "x"]
    return f"[[{game}]]" if game else "I cannot decide."


@pytest.fixture(scope="module")
def games(module_store: Store) -> Store:
    items = [
        {"id": item, "instruction": "?", "category": "maths" if item < "q3" else "coding",
         "responses": {"x": f"one {item}", "y": f"two {item}"}}
        for item in BOTH_GAMES
    ]  # fmt: skip
    path = write_items(module_store.path.with_name("items.jsonl"), items)
    values = {"name": NAME, "preset": "mt-bench", "data": {"source": str(path)},
              "judges": [endpoint("gpt")]}  # fmt: skip
    answered(module_store, values, write)
    return module_store


@pytest.fixture
def scene(games):
    return FilteredStudy(games, NAME)


def test_conflicts_by_what_the_two_games_say(scene):
    (one,) = protocol_games.order_conflicts_by_rater(scene)
    assert (one.pairs, one.agree, one.both_first, one.both_second) == (5, 2, 1, 1)
    assert (one.one_tie, one.dropped_pairs, one.conflicting_pair_count) == (1, 1, 3)
    # The win in q3 was the first shown's: that flip leans to the first, too.
    assert (one.toward_first, one.toward_second) == (2, 1)
    html = protocol_games.show_order_conflicts([one])
    assert says(html, "Click", "2 flips toward")


def test_the_judge_with_the_largest_share_of_conflicts_is_first(scene):
    (one,) = protocol_games.order_conflicts_by_rater(scene)
    less, more = replace(one, judge="less", both_first=0), replace(one, judge="more")
    none = replace(one, judge="none", pairs=0, both_first=0, both_second=0, one_tie=0)
    html = protocol_games.show_order_conflicts([none, less, more])
    assert html.index(">more<") < html.index(">less<") < html.index(">none<")


def test_the_adjusted_win_rate_counts_unequal_games_as_ties(games, scene):
    # x: one win, four ties of five pairs: (1 + 2)/5; the pair with an unread game is dropped.
    html = protocol_games.show_win_rates(scene)
    assert html.index("60.0</b>") < html.index("40.0</b>")
    # Each game alone: of 11 usable games, also that of q5, x wins 6 and ties 3, (6 + 3/2)/11.
    alone = FilteredStudy(games, NAME, Filter(rule="count each order"))
    assert says(protocol_games.show_win_rates(alone), "68.2")
    (wins,) = (panel for panel in GAMES.panels if panel.name == "wins")
    for text in (wins.subtitle, wins.how):
        assert "all outcomes" in text and "all pairs" not in text
    assert says(wins.how, "if it combines", "their pair")
    assert says(
        protocol_games.order_conflicts_line_html(protocol_games.order_conflicts_by_rater(scene)),
        "<b>3",
        "5</b>",
        "different results",
    )


def test_single_ratings_by_model_and_category(scene):
    html = protocol_games.show_ratings(scene)
    assert "<b>8.00</b>" in html and "<b>5.00</b>" in html
    assert "maths" in html and "coding" in html


def test_a_preset_shows_its_panels_and_no_others(scene):
    assert protocol_sections.study_sections(scene) == ("win-table", "ratings")
    drawn = VIEW.render(scene, CONTROLS)
    shown = {name for name, part in drawn.items() if part is True}
    inside = {f"{name}_panel" for name in ("rules", "wins", "conflicts", "single", "redundancy")}
    assert shown - inside == {"games", "ratings", "others_panel"}
    assert {"rules", "wins", "conflicts", "single", "redundancy", "scatter"} <= set(drawn)
    assert not {"board", "heatmap", "levels", "alignment"} & set(drawn)


CONTROLS = {
    "beside": None, "score": "Grade", "printed": "Grade", "split": "Models", "cell": "Reward",
    "table": "Five levels", "correlation": "Spearman", "scores": None,
}  # fmt: skip


def test_without_a_preset_the_prompts_decide(judged):
    scene = FilteredStudy(judged, "two judges")
    assert protocol_sections.study_protocols(scene) == ["pairwise"]
    assert protocol_sections.study_sections(scene) == ("visit-leaderboard", "win-table")


def test_nothing_judged_is_an_answer_and_no_error(games):
    nobody = FilteredStudy(games, NAME, Filter(judge="nobody"))
    drawn = VIEW.render(nobody, CONTROLS)
    assert says(drawn["wins"], "No usable", "pairs yet")
    assert "No single ratings" in drawn["single"]
    assert says(drawn["conflicts"], "Conflicts need", "games")
    assert protocol_view.protocol_headline(nobody)[0] == "No verdicts yet."


@pytest.mark.records
def test_the_recorded_games_of_mt_bench_give_the_published_numbers(records, store):
    # data/README.md: 73 valid; adjusted .4863 / .5137; the first shown both times 16, second 2.
    import_verdicts(store, records / "mtbench_pair", "mt")
    scene = FilteredStudy(store, "mt", Filter(rule="win only if both orders agree"))
    found = protocol_games.order_conflicts_by_rater(scene)  # one for each of its prompts
    assert sum(one.pairs for one in found) == 73
    assert sum(one.both_first for one in found) == 16
    assert sum(one.both_second for one in found) == 2
    assert sum(one.conflicting_pair_count for one in found) == 27
    html = protocol_games.show_win_rates(scene)
    assert "<b>51.4</b>" in html and "<b>48.6</b>" in html
    # Three games of the file say "error": nobody answered, so they are no unreadable replies.
    read = protocol_cost.reply_counts(scene)
    assert sum(one.failed_calls for one in read) == 3
    assert not any(one.without_verdict for one in read)
    said = protocol_cost.extraction_sentence(scene, read)
    assert says(said, "147", "3 calls failed")


def test_every_preset_names_panels_that_the_page_draws() -> None:
    drawn = {value for name, value in vars(protocol_sections).items() if name.endswith("_SECTION")}
    for preset in PRESETS.values():
        assert preset.panels and set(preset.panels) <= drawn


def test_the_headline_and_the_key_figures_of_the_games(scene):
    """x: one win and four ties of five pairs, (1 + 2)/5; three pairs with different results."""
    title, lead = protocol_view.protocol_headline(scene)
    assert says(title, "x has", "60.0", "not significantly above", "of y.")
    assert says(lead, "3 of 5 pairs", "different results") and says(lead, "in both orders.")
    kpis = {one.label: one for one in protocol_games.game_kpis(scene)}
    assert says(kpis["Adjusted win rate"].value, "60.0")
    assert kpis["Adjusted win rate"].note.startswith("x ")
    assert kpis["Adjusted win rate"].note.endswith("n 5")
    both = [kpis[f"{place} position won both games"] for place in ("First", "Second")]
    assert [(one.value, one.unit) for one in both] == [("1", "of 5")] * 2
    assert len(kpis) == 3 and says(protocol_view.show_kpis(scene), "Adjusted win rate")


def test_a_baseline_in_every_pair_is_not_the_best_of_the_models(store):
    """Of four items each, x beats y in two and z in three. The 5/8 of x are of other pairs."""
    won_by_x = {"y": ("q0", "q1"), "z": ("q0", "q1", "q2")}

    def judge(planned, rng) -> str:
        other = max(planned.ask.shown)
        best = "x" if planned.ask.item in won_by_x[other] else other
        return "[[A]]" if planned.ask.shown[0] == best else "[[B]]"

    items = [
        {"id": f"q{k}", "instruction": "?", "responses": {who: f"{who} {k}" for who in "xyz"}}
        for k in range(4)
    ]
    path = write_items(store.path.with_name("items.jsonl"), items)
    values = {"name": "arena", "preset": "mt-bench", "data": {"source": str(path)},
              "prompts": ["mt-bench-pair"], "pairing": "baseline", "baseline": "x",
              "judges": [endpoint("gpt")]}  # fmt: skip
    answered(store, values, judge)
    shown = FilteredStudy(store, "arena")
    title = protocol_games.games_headline(shown)[0]
    assert says(title, "y has the", "against x: 50.0", "not significantly different", "even share.")
    figure = protocol_games.game_kpis(shown)[0]
    assert figure.note.startswith("y against x") and says(figure.value, "50.0")
    ends = [Estimate(0.5, low, high) for low, high in ((0.51, 0.9), (0.1, 0.49), (0.5, None))]
    said = [protocol_games._leader_not_significant_clause(shown, one) for one in ends]
    assert says(said[0], "significantly above an") and says(said[1], "significantly below an")
    assert says(said[2], "not significantly")


def test_ratings_alone_have_a_headline_and_no_key_figures(games):
    alone = FilteredStudy(games, NAME, Filter(prompt="mt-bench-single"))
    title, lead = protocol_games.games_headline(alone)
    assert says(title, "x has", ": 8.00 of 10", "of y.") and "averaged" in lead
    assert protocol_games.game_kpis(alone) == [] and protocol_view.show_kpis(alone) == ""
    (single,) = single_answer_ratings_by_prompt(protocol_games.load_rating_rows(alone)).values()
    free = replace(single, scale=replace(single.scale, high=math.inf))
    two = protocol_games._ratings_title({"p": single, "q": free})
    assert says(two, "by p: 8.00", "of 10", "by q: 8.00")
    many = protocol_games._ratings_title(dict.fromkeys("pqrstuv", single))
    assert many.count("highest") == protocol_games.MAX_TITLE_RATINGS
    one = FilteredStudy(games, NAME, Filter(prompt="mt-bench-single", category="maths"))
    assert "data-heat" not in protocol_games.show_ratings(one)
    assert "data-heat" in protocol_games.show_ratings(alone)


def test_the_scores_that_are_compared_with_benchmarks_follow_from_the_prompts(
    games, scene, judged, monkeypatch
):
    score, boards = redundancy_panel.study_scores_by_model(scene)
    assert score == "rating" and boards["x"].value > boards["y"].value
    alone = FilteredStudy(games, NAME, Filter(prompt="mt-bench-single"))
    score, means = redundancy_panel.study_scores_by_model(alone)
    assert (score, {n: e.value for n, e in means.items()}) == ("mean rating", {"x": 8, "y": 5})
    # Of two prompts that rate, the one with more models counts, and is named.
    rated = {"p": SimpleNamespace(means={"x": 1}), "q": SimpleNamespace(means={"x": 2, "y": 3})}
    with monkeypatch.context() as patch:
        patch.setattr(redundancy_panel, "single_answer_ratings_by_prompt", lambda rows: rated)
        found = redundancy_panel.study_scores_by_model(alone)
        assert says(found[0], "mean rating", "by q") and found[1] == {"x": 2, "y": 3}
        rated.clear()
        assert redundancy_panel.study_scores_by_model(alone) == ("mean rating", {})
    nobody = FilteredStudy(games, NAME, Filter(judge="nobody"))
    assert redundancy_panel.study_scores_by_model(nobody) == ("", {})
    uploaded = {"bench": {"x": 1.0, "y": 2.0}}
    assert redundancy_panel.correlate_with_benchmarks(nobody, uploaded) is None
    assert says(redundancy_panel.show_correlations(nobody, uploaded, "R²"), "no scores")
    own, *_ = redundancy_panel.correlate_with_benchmarks(alone, uploaded).benchmarks
    assert "mean rating" in own


def test_without_labels_of_five_levels_no_counts_are_drawn(games, scene):
    assert says(protocol_games.show_arena_verdict_counts(scene), "No five-level verdicts")
    assert protocol_games._weighted_ratings_table(scene) == ""


@pytest.mark.parametrize(
    ("shown", "status", "pick", "margin", "protocol"),
    [
        (("x",), "ok", None, 0, "single"),
        (("x", "y", "z"), "ok", 1, 1, "choice"),
        (("x", "y"), "ok", None, 0, "factuality"),
        (("x", "y"), "unreadable", None, 0, "pairwise"),
        (("x", "y"), "ok", 1, 2, "five-level"),
        (("x", "y"), "ok", 1, 1, "pairwise"),
    ],
)
def test_the_protocol_of_an_unknown_prompt_follows_from_its_verdicts(
    shown, status, pick, margin, protocol
):
    row = {"item": "q", "shown": shown, "pick": pick, "margin": margin, "status": status}
    assert protocol_sections._infer_protocol(build([row])) == protocol


@pytest.mark.parametrize(
    ("preset", "combine", "published", "words"),
    [
        ("arena-hard", "pooled", True, "counts separately"),
        ("mt-bench", "pooled", False, "this app"),
        ("arena-hard", "strict", True, "as a tie"),
        ("mt-bench", "strict", True, "as a tie"),
    ],
)
def test_the_rule_on_two_games_follows_from_preset_and_filter(preset, combine, published, words):
    shown = SimpleNamespace(study=SimpleNamespace(preset=preset), rule=(combine, "tie"))
    (rule,) = protocol_sections.rules_in_force(shown, [protocol_sections.WINS_SECTION])
    assert rule.published is published and words in f"{rule.in_use} {rule.alternatives}"
    both = [protocol_sections.WINS_SECTION, protocol_sections.VISIT_SECTION]
    assert rule.subject not in {r.subject for r in protocol_sections.rules_in_force(shown, both)}
    levels = [protocol_sections.WINS_SECTION, protocol_sections.LEVELS_SECTION]
    told = [r.subject for r in protocol_sections.rules_in_force(shown, levels)]
    assert len(told) == (1 if preset == "arena-hard" else 2), "one rule on the two orders"


def test_without_verdicts_and_preset_the_paper_has_no_panels(judged, scene):
    nobody = FilteredStudy(judged, "two judges", Filter(judge="nobody"))
    assert says(protocol_view.render_rules(nobody), "No protocol panels")
    assert protocol_view.render_benchmark_correlations(nobody, None, "R²") is None
    assert protocol_view.protocol_headline(nobody)[0] == "No verdicts yet."
    assert protocol_view.show_kpis(nobody) == ""
    # Published tables stand beside a study of the same preset, or of none.
    assert protocol_view.render_published_creation(scene, "Five levels") == ""
    assert "<table" in protocol_view.render_published_creation(nobody, "Five levels")
