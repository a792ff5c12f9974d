"""Creation-MMBench panels: levels, agreement with people, correlation with benchmarks."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.results.protocol import blocks as protocol_view
from components.results.protocol import creation_panels as protocol_creation
from components.results.protocol import game_panels as protocol_ratings
from components.results.protocol import redundancy_panel as protocol_redundancy
from components.results.protocol import sections as protocol_sections
from components.results.wins import panels as wins_view
from studies.domain import Estimate
from studies.store.store import Store
from tests.components.written_replies import answered, endpoint, write_items
from tests.page_words import says, text_of

READ, SEEN = "descriptions", "images"
LEVEL = {"good": 1, "bad": -2}
"""What every judge says of a model against the baseline."""


def write(planned, rng) -> str:
    first, second = planned.ask.shown
    model = second if first == "base" else first
    if planned.ask.prompt == "creation-factuality":
        score = {"good": 9, "bad": 4, "base": 8}
        return (
            f"Response A Visual Factuality Score: {score[first]}/10\n"
            f"Response B Visual Factuality Score: {score[second]}/10"
        )
    if planned.ask.item == "story-0" and first == "base":
        return "I would rather not say."
    level = LEVEL[model] if model == first else -LEVEL[model]
    if planned.ask.judge == "waverer" and first == "base":
        level = 2  # the baseline is much better, whatever the model
    label = {2: "A>>B", 1: "A>B", 0: "A=B", -1: "B>A", -2: "B>>A"}[level]
    return f"Evaluation of A: fine.\nEvaluation of B: fine.\nFinal Verdict is: [[{label}]]"


def vote(person: str, model: str, score: int) -> dict:
    picked = "tie" if score == 0 else model if score > 0 else "base"
    return {"judge": person, "shown": [model, "base"], "picked": picked, "margin": abs(score)}


@pytest.fixture(scope="module")
def creation(module_store: Store) -> Store:
    items = [
        {
            "id": f"{task}-{n}", "instruction": f"Write a {task}.", "category": category,
            "context": "A lake.", "criteria": {"subjective": "tone", "factuality": "lake"},
            "responses": {name: f"{name} writes {task} {n}" for name in ("good", "bad", "base")},
            "meta": {"task": task},
            "human": [vote("ann", "good", 1), vote("ben", "good", 0), vote("ann", "bad", -1),
                      vote("ben", "bad", 0)],
        }
        for category, task in (("Literary", "story"), ("Literary", "poem"), ("Common", "mail"))
        for n in range(3)
    ]  # fmt: skip
    path = write_items(module_store.path.with_name("items.jsonl"), items)
    for name, sees in ((READ, "context"), (SEEN, "images")):
        values = {
            "name": name, "preset": "creation-mmbench", "data": {"source": str(path)},
            "baseline": "base", "judge_sees": sees,
            "prompts": ["creation-subjective", "creation-factuality"],
            "judges": [endpoint(judge, model=f"{judge}-{sees}", vision=True)
                       for judge in ("firm", "waverer")],
        }  # fmt: skip
        answered(module_store, values, write)
    return module_store


@pytest.fixture
def scene(creation):
    return FilteredStudy(creation, READ, Filter(judge="firm"))


def test_reward_win_rate_counts_and_fail_of_each_model(scene):
    good, bad = protocol_creation.creation_mmbench_rows(scene)
    # 9 items, two orders; one reply of each model failed: 17 readable. good: all "better".
    assert (good.model, good.counts["better"], good.fail) == ("good", 17, 1)
    assert (good.reward.value, good.win_rate.value) == (50, 1)
    assert (bad.reward.value, bad.counts["much_worse"]) == (-100, 17)
    assert (good.vfs.value, bad.vfs.value, good.baseline_vfs.value) == (9, 4, 8)
    html = protocol_creation.show_creation_table(
        scene, "Models", "Reward", ("creation-table", "factuality")
    )
    assert html.count('class="eh-stack"') == 2
    assert says(html, "visual factuality", "(VFS)", "8.00")
    assert "100 of 100" not in html and "17 of 17 usable verdicts" in html


def test_categories_and_tasks_pool_the_judgements_of_their_items(scene):
    html = protocol_creation.show_creation_table(scene, "Categories", "Win rate", ())
    assert "Literary" in html and "Common" in html and 'class="w' in html
    tasks = protocol_creation.show_creation_table(scene, "Tasks", "Reward", ())
    assert all(task in tasks for task in ("story", "poem", "mail"))
    assert "−100.0" in tasks and "+50.0" in tasks


def test_arena_hard_is_not_headed_by_the_measures_of_another_paper(scene, monkeypatch):
    """The same five levels: win rate leads, and a win without its ties is called won outright."""
    sections = ("creation-table", "win-table")
    assert protocol_view.main_section(scene) == "creation-table"
    own = protocol_creation.show_creation_table(scene, "Models", "Reward", sections)
    monkeypatch.setattr(protocol_sections, "is_arena_hard", lambda _: True)
    assert protocol_view.main_section(scene) == "win-table"
    title, lead = protocol_view.protocol_headline(scene)
    assert says(title, "highest adjusted") and says(lead, "each order counts")
    assert not says(protocol_view.show_kpis(scene), "Reward")
    other = protocol_creation.show_creation_table(scene, "Models", "Reward", sections)
    assert says(other, "Won outright") and not says(own, "Won outright")


def test_the_five_labels_by_place(creation):
    counts = protocol_ratings.arena_verdict_counts(FilteredStudy(creation, READ))
    firm = counts["firm", "creation-subjective"]
    # Each order of each model: good first A>B, good second B>A, bad first B>>A, bad second A>>B;
    # the two replies that failed had the baseline first.
    assert firm == {"A>>B": 8, "A>B": 9, "A=B": 0, "B>A": 8, "B>>A": 9, "fail": 2}


def test_a_judge_held_against_people_in_one_order_and_in_both(creation):
    found = protocol_creation.compute_distance_from_people(FilteredStudy(creation, READ), None)
    overall = {(r.judge, r.run): r for r in found.rows if r.model == "overall"}
    # People: good +½, bad −½. firm: good +1 (gap ½), bad −2 (gap 1½): MAE 1, half within one.
    assert overall["firm", "dual"].mae.value == pytest.approx(1)
    assert overall["firm", "dual"].consistency.value == pytest.approx(0.5)
    # waverer says base>>model in one order: good (1 − 2)/2 = −½ (gap 1, within), bad −2 (gap 1½).
    assert overall["waverer", "dual"].mae.value == pytest.approx((8 * 1 + 8 * 1.5) / 16)
    # Always tie: |0 − ½| = ½ everywhere, so within one.
    tie = next(r for r in found.always_tie if r.model == "overall")
    assert (tie.mae.value, tie.consistency.value) == (0.5, 1)
    html = protocol_creation.show_distance_from_people(found)
    best = replace(found, rows=[
        replace(r, consistency=Estimate(0.9 if r.judge == "waverer" else 0.1)) for r in found.rows
    ])  # fmt: skip
    ranked = protocol_creation.show_distance_from_people(best)
    assert ranked.index(">waverer<") < ranked.index(">firm<")
    assert "Always tie" in html and "ann" in html and says(html, "each person compared", "others")


def test_seeing_and_reading_stand_side_by_side_when_both_studies_are_there(creation):
    scene = FilteredStudy(creation, READ)
    assert protocol_view.comparable_studies(scene) == [SEEN]
    found = protocol_view.load_distance_from_people(scene, SEEN)
    assert {(r.judge, r.sees) for r in found.rows} == {
        (judge, sees) for judge in ("firm", "waverer") for sees in ("context", "images")
    }
    html = protocol_creation.show_distance_from_people(found)
    assert "description − images" in html


def test_without_votes_the_panel_says_what_it_needs(judged):
    found = protocol_creation.compute_distance_from_people(
        FilteredStudy(judged, "two judges"), None
    )
    assert found is None
    assert says(protocol_creation.show_distance_from_people(found), "No votes", "people")


def test_win_rates_show_the_same_stacks(scene):
    html = wins_view.show_five_levels(scene)
    assert html.count('class="eh-stack"') == 2 and "against base" in html


def scores(tmp_path: Path, text: str) -> dict:
    path = tmp_path / "scores.csv"
    path.write_text(text, encoding="utf-8")
    return protocol_redundancy.read_benchmark_scores(path)


def test_other_benchmarks_are_matched_by_name(creation, tmp_path):
    text = "Model, Benchmark, Score\n" + "".join(
        f"{model},{bench},{value}\n"
        for bench, values in {"MMMU": (60, 30), "Other": (10, 20)}.items()
        for model, value in zip(("good", "bad"), values, strict=True)
    )
    found = scores(tmp_path, text)
    scene = FilteredStudy(creation, READ)
    html = protocol_redundancy.show_correlations(scene, found, "Spearman")
    assert says(html, "2", "2 models", "table")
    assert "at least 3 are needed" not in html  # a cell without a number is a dash
    figure = protocol_redundancy.show_scatter(scene, found)
    assert [trace["customdata"] for trace in figure["data"] if "customdata" in trace] == [
        [{"contestant": "bad"}, {"contestant": "good"}]
    ] * 2


def test_a_table_of_strangers_is_told(creation, tmp_path):
    html = protocol_redundancy.show_correlations(
        FilteredStudy(creation, READ), scores(tmp_path, "model,benchmark,score\nnobody,X,1\n"), "R²"
    )
    assert says(html, "No model name", "matches")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model,score\nx,1\n", "missing: benchmark"),
        ("model,benchmark,score\nx,B,high\n", "row 1: the score 'high' is not a number"),
        ("model,benchmark,score\nx,B,1\nx,B,2\n", "row 2: B has a score of x already"),
        ("", "is not a CSV"),
    ],
)
def test_a_bad_table_says_what_is_wrong_and_where(tmp_path, text, said):
    with pytest.raises(protocol_redundancy.InvalidScores, match=re.escape(said)):
        scores(tmp_path, text)


def test_no_upload_yet_says_what_to_bring(scene):
    assert "Upload a CSV" in protocol_redundancy.show_correlations(scene, None, "Spearman")
    assert protocol_redundancy.show_scatter(scene, None) is None


def test_a_study_of_factuality_alone_has_a_table_of_scores_alone(creation):
    alone = FilteredStudy(creation, READ, Filter(judge="firm", prompt="creation-factuality"))
    html = protocol_creation.show_creation_table(alone, "Models", "Reward", ("factuality",))
    assert 'class="eh-stack"' not in html
    rows = re.findall(r"(good|bad) ([\d.]+) \S+ \S+ ([\d.]+) \S+ \S+ (\d)", text_of(html))
    # good 9, bad 4, and the baseline 8 beside both; every reply is usable.
    assert rows == [("good", "9.00", "8.00", "0"), ("bad", "4.00", "8.00", "0")]
    # Without verdicts on levels the section on levels draws no stacks either.
    levels = protocol_creation.show_creation_table(alone, "Models", "Reward", ("creation-table",))
    assert levels == html
    nobody = FilteredStudy(creation, READ, Filter(category="nowhere"))
    none = protocol_creation.show_creation_table(nobody, "Models", "Reward", ("creation-table",))
    assert says(none, "No five-level verdicts")


def test_the_note_on_the_baseline_counts_unusable_factuality_replies(scene):
    good, bad = protocol_creation.creation_mmbench_rows(scene)
    note = protocol_creation._baseline_note
    assert says(note(scene, [good, bad]), "baseline base", "(VFS) is 8.00.")
    other = replace(bad, baseline_vfs=Estimate(6.5), vfs_fail=2)
    told = note(scene, [replace(good, vfs_fail=1), other])
    assert says(told, "6.50 to 8.00") and says(told, "3 factuality replies")
    none = replace(good, baseline_vfs=Estimate(None))
    assert not re.search(r"\d", text_of(note(scene, [none])))


def test_without_both_orders_people_are_compared_with_no_key_figure(creation):
    found = protocol_creation.compute_distance_from_people(FilteredStudy(creation, READ), None)
    (kpi,) = protocol_creation.distance_from_people_kpis(found)
    # waverer: good within one level on 8 of 16, bad never; firm the same; always tie: all.
    assert says(kpi.value, "50.0") and says(kpi.note, "100")
    single = replace(found, rows=[row for row in found.rows if row.run != "dual"], contrasts=[])
    assert protocol_creation.distance_from_people_kpis(single) == []
    assert protocol_creation._paired_differences_table(single) == ""
    assert "<table" in protocol_creation._paired_differences_table(found)


def test_a_study_that_sees_the_same_is_not_put_beside(creation):
    """The studies differ in the unrelated option alone: only this study's judges are compared."""
    scene = FilteredStudy(creation, READ)
    own = protocol_view.load_distance_from_people(scene, None)
    assert {row.sees for row in own.rows} == {"context"}
    assert protocol_view.load_distance_from_people(scene, "nobody") == own


def test_a_file_of_scores_may_have_two_million_bytes(tmp_path, monkeypatch):
    text = "model,benchmark,score\nx,B,1\n"
    monkeypatch.setattr(protocol_redundancy, "MAX_BYTES", len(text))
    assert scores(tmp_path, text) == {"B": {"x": 1.0}}
    monkeypatch.setattr(protocol_redundancy, "MAX_BYTES", len(text) - 1)
    with pytest.raises(protocol_redundancy.InvalidScores, match=f"than {len(text) - 1} bytes"):
        scores(tmp_path, text)
