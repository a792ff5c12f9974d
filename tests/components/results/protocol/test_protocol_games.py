"""Panels of MT-Bench and Arena-Hard, on two scripted judges and on real records."""

from __future__ import annotations

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.results.protocol import blocks as protocol_view
from components.results.protocol import game_panels as protocol_games
from components.results.protocol import sections as protocol_sections
from components.results.protocol import visit_replies as protocol_cost
from components.results.protocol.tab import VIEW
from studies.exchange.recorded_studies import import_verdicts
from studies.spec.presets import PRESETS
from studies.store.store import Store
from tests.components.written_replies import answered, endpoint, write_items
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
    (one,) = protocol_games.game_conflicts(scene)
    assert (one.pairs, one.agree, one.both_first, one.both_second) == (5, 2, 1, 1)
    assert (one.one_tie, one.dropped_pairs, one.conflicting_pairs) == (1, 1, 3)
    # The win in q3 was the first shown's: that flip leans to the first, too.
    assert (one.toward_first, one.toward_second) == (2, 1)
    html = protocol_games.show_conflicts([one])
    assert says(html, "Click", "2 flips toward")


def test_the_adjusted_win_rate_counts_unequal_games_as_ties(scene):
    # x: one win, four ties of five pairs: (1 + 2)/5; the pair with an unread game is dropped.
    html = protocol_games.show_win_rates(scene)
    assert html.index("60.0</b>") < html.index("40.0</b>")
    assert says(
        protocol_games.game_conflicts_line_html(protocol_games.game_conflicts(scene)),
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
    found = protocol_games.game_conflicts(scene)  # one for each of its prompts
    assert sum(one.pairs for one in found) == 73
    assert sum(one.both_first for one in found) == 16
    assert sum(one.both_second for one in found) == 2
    assert sum(one.conflicting_pairs for one in found) == 27
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
