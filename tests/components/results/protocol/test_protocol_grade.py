"""Grade Score panels on scripted judges."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.html.pieces import no_significant_difference_badge
from components.results.bias.tab import render_unrelated_option
from components.results.bias.unrelated_contrast import show_unrelated_option_contrast
from components.results.protocol import blocks as protocol_view
from components.results.protocol import grade_panel as protocol_grade
from components.results.protocol import reading_rules as protocol_reading
from components.results.protocol import sections as protocol_sections
from components.results.protocol import unrelated_option as protocol_unrelated
from metrics.protocols.grade_score import RANDOM_GRADE
from metrics.protocols.grade_table import grade_cells
from studies.domain import UNRELATED, Estimate, Verdict
from studies.frames.frame import NO_PICK, TIE
from studies.store.store import Store
from tests.components.written_replies import answered, endpoint, write_items
from tests.metrics.frames import build, rotated
from tests.page_words import says, text_of

N3 = "three options"
REPLACED = "one replaced"
ADDED = "one added"
JUDGES = ("steady", "first", "worst")


def choose(planned) -> int:
    """steady: the best-ranked. first: the first slot. worst: the worst-ranked, always."""
    shown = planned.ask.shown
    if planned.ask.judge == "first":
        return 0
    ranked = sorted(name for name in shown if name.startswith("rank"))
    return shown.index(ranked[0] if planned.ask.judge == "steady" else ranked[-1])


def write(planned, rng) -> str:
    """Prompt 3 echoes a heading that the authors' rule takes for the choice; prompt 4 grades, and
    under `first` gives its own choice the lowest grade."""
    option = choose(planned) + 1
    said = f"Selection: Option {option}\nExplanation: the most helpful."
    if planned.ask.prompt == "grade-debias":
        return f"Selection Criteria: Option 1 is accurate.\n{said}"
    if planned.ask.prompt == "grade-points":
        low = planned.ask.judge == "first"
        grades = [1 if (k == option) == low else 5 for k in range(1, len(planned.ask.shown) + 1)]
        lines = "\n".join(f"Option {k}: {grade}" for k, grade in enumerate(grades, 1))
        return f"Grading:\n{lines}\n{said}"
    return said


@pytest.fixture(scope="module")
def graded(module_store: Store) -> Store:
    items = [
        {
            "id": f"q{n}", "instruction": f"Question {n}?",
            "responses": {f"rank-{k}": f"answer {k} to {n}" for k in (1, 2, 3)},
            "human": [{"judge": "panel", "ranks": {"rank-1": 1, "rank-2": 2, "rank-3": 3}}],
        }
        for n in range(12)
    ]  # fmt: skip
    path = write_items(module_store.path.with_name("items.jsonl"), items)
    for name, unrelated in ((N3, "none"), (REPLACED, "replace"), (ADDED, "add")):
        values = {
            "name": name, "preset": "grade-score", "unrelated": unrelated,
            "data": {"source": str(path), "options": 3},
            "judges": [endpoint(judge) for judge in JUDGES],
            "prompts": ["grade-simple", "grade-debias", "grade-points"],
        }  # fmt: skip
        answered(module_store, values, write)
    return module_store


@pytest.fixture
def scene(graded):
    return FilteredStudy(graded, N3)


def cell(cells, judge, prompt="grade-simple"):
    return next(c for c in cells if (c.judge, c.prompt) == (judge, prompt))


def test_steady_judges_have_a_grade_of_one_right_or_wrong(scene):
    cells = protocol_grade.study_grade_cells(scene)
    assert len(cells) == 9
    # worked by hand from Iourovitski 2024: consistent (1, 1, 1), always first (0, 0, 1/N).
    steady, first, worst = (cell(cells, judge) for judge in JUDGES)
    assert [steady.grade.value, steady.accuracy.value] == pytest.approx([1, 1])
    assert [worst.grade.value, worst.accuracy.value] == pytest.approx([1, 0])
    assert [first.grade.value, first.entropy.value] == [0, 0]
    assert first.choice.value == pytest.approx(1 / 3)
    html = protocol_grade.show_heatmap(cells, "Grade")
    assert "chance at N = 3: 0.58" in html
    assert (
        "{&quot;judge&quot;: &quot;first&quot;, &quot;prompt&quot;: &quot;grade-debias&quot;}"
        in html
    )


@pytest.mark.parametrize(
    ("measure", "options", "value"),
    [("Grade", 3, 0.579977), ("Entropy", 3, 0.608476), ("Choice", 3, 0.629630),
     ("Entropy", 4, 0.661995), ("Choice", 6, 0.401363), ("Accuracy", 4, 0.25),
     ("Above chance", 5, 0.0)],
)  # fmt: skip
def test_chance_scores_are_those_of_the_tables(measure, options, value):
    assert protocol_grade.chance_score(measure, options) == pytest.approx(value, abs=1e-6)


def test_the_highest_grade_stands_beside_chance(scene):
    kpis = text_of(protocol_view.show_kpis(scene))
    assert says(kpis, "Highest grade", f"chance {RANDOM_GRADE[3]:.2f}")


def test_an_unknown_chance_score_is_none():
    assert protocol_grade.chance_score("Entropy", 9) is None
    assert protocol_grade.chance_note("Entropy", [9]) == ""


def test_the_finding_warns_of_a_judge_that_is_steadily_wrong(graded):
    title, lead = protocol_view.protocol_headline(FilteredStudy(graded, N3, Filter(judge="worst")))
    assert says(title, "3", "3 combinations", "Grade Score", "significantly")
    assert says(lead, "but", "right", "only 0") and "(chance: 33" in lead


@pytest.mark.parametrize(
    ("high", "below"), [(-0.01, True), (0.0, False), (0.2, False), (None, False)]
)
def test_a_steady_judge_is_wrong_only_if_significantly_below_chance(scene, high, below):
    """0.25 right of 0.25 + 0.08 by chance; without an upper bound nothing is significant."""
    steady = cell(protocol_grade.study_grade_cells(scene), "steady")
    lead = Estimate(-0.08, -0.2, high, 36)
    made = replace(steady, accuracy=Estimate(0.25, n=36), accuracy_lead=lead)
    clause = protocol_grade._accuracy_clause(made)
    assert ("only 25" in clause) == clause.startswith(", but") == below
    assert says(clause, "25", "(chance: 33")
    assert protocol_grade._accuracy_clause(replace(made, accuracy=Estimate(None))) == ""


def test_the_number_of_verdicts_that_hang_on_the_reading_rule(scene):
    # Prompt 3 only: the authors' rule reads "Option 1" after the heading. That is slot 1 whatever
    # the judge chose: `first` chose slot 1 in all 36 trials, the others in 12 of 36 (one of three
    # rotations), so 0 + 24 + 24 of 324 replies differ.
    found = protocol_reading.load_parsing_rule_differences(scene)
    differ = {key: one.differ for key, one in found.items() if one.differ}
    assert differ == {("steady", "grade-debias"): 24, ("worst", "grade-debias"): 24}
    assert found["steady", "grade-debias"].both_read == 24
    assert "<b>48 of 324</b> replies" in protocol_reading.show_parsing_rule_differences(scene)


def test_grades_and_the_selections_they_contradict(scene):
    html = protocol_reading.show_grades_given_in_replies(scene)
    rows = protocol_reading.rows_with_option_grades(scene)
    assert len(rows) == 3 * 36
    by_judge = {
        judge: protocol_reading.mean_option_grades(rows[rows["judge"] == judge]) for judge in JUDGES
    }
    # steady: 5 to its choice, which is always rank-1, and 1 to the others.
    assert [by_judge["steady"][f"rank-{k}"].value for k in (1, 2, 3)] == [5, 1, 1]
    # first: 1 to its choice, each answer a third of the time, 5 otherwise: (1 + 5 + 5)/3.
    assert by_judge["first"]["rank-2"].value == pytest.approx(11 / 3)
    contradicted = re.findall(r"<b>([\d.]+)</b>[^<]*<span class=\"eh-ci\">\[", html)
    assert {"100.0", "0.0"} <= set(contradicted)


def test_at_equal_n_the_difference_is_the_options_own(graded, scene):
    beside = protocol_view.load_choices_of_other_study(scene, REPLACED)
    found = protocol_unrelated.unrelated_grade_contrasts(
        protocol_grade.load_choice_rows(scene), beside.frame
    )
    # Nobody changes: steady and worst keep grade 1, first keeps 0.
    assert {one.raw.value for one in found} == {0}
    html = protocol_unrelated.show_unrelated_option(
        scene, protocol_grade.study_grade_cells(scene), beside
    )
    assert html.count(no_significant_difference_badge()) == len(found) == 9


def test_a_filter_on_the_judge_leaves_the_adjusted_intervals_as_they_are(graded, tmp_path):
    """Of the effect of the unrelated option, in the view Protocol and in the view Position."""
    store = Store(tmp_path / "store.db")

    def choose_at_random(planned, rng) -> str:
        return f"Selection: Option {rng.randint(1, len(planned.ask.shown))}"

    for name, unrelated in (("chance", "none"), ("chance, replaced", "replace")):
        values = {
            "name": name, "preset": "grade-score", "unrelated": unrelated,
            "data": {"source": str(graded.path.with_name("items.jsonl")), "options": 3},
            "judges": [endpoint(f"chance {judge}") for judge in JUDGES],
            "prompts": ["grade-simple", "grade-debias"],
        }  # fmt: skip
        answered(store, values, choose_at_random)

    def intervals(chosen: Filter) -> tuple[list[str], list[str]]:
        study = FilteredStudy(store, "chance", chosen)
        beside = protocol_view.load_choices_of_other_study(study, "chance, replaced")
        cells = protocol_grade.study_grade_cells(study)
        html = protocol_unrelated._paired_differences_html(study, cells, cells, beside)
        position = render_unrelated_option(study)
        bounds = re.compile(r"<b>([^<]*)</b>.*?(\[[^\]]*\])")
        return bounds.findall(html), bounds.findall(position)

    every, some = intervals(Filter()), intervals(Filter(judge="chance first"))
    assert [len(found) for found in (*every, *some)] == [6, 6, 2, 2]
    assert all(set(mine) < set(all_of) for mine, all_of in zip(some, every, strict=True))


def test_position_says_why_the_second_study_is_not_comparable(graded):
    """No choice of either study remains, so neither shows an unrelated option."""
    nothing = FilteredStudy(graded, N3, Filter(category="nowhere"))
    assert says(show_unrelated_option_contrast(nothing), "Not comparable", "neither does")
    assert show_unrelated_option_contrast(FilteredStudy(graded, ADDED)) is None


def test_with_one_more_option_nothing_is_compared(scene):
    beside = protocol_view.load_choices_of_other_study(scene, ADDED)
    html = protocol_unrelated.show_unrelated_option(
        scene, protocol_grade.study_grade_cells(scene), beside
    )
    assert "not comparable" in html and says(html, "0.58", "N = 3", "0.57", "N = 4")
    assert "Difference" not in html


def test_how_often_the_unrelated_option_is_taken(graded):
    cells = protocol_grade.study_grade_cells(FilteredStudy(graded, ADDED))
    assert cell(cells, "steady").unrelated_share.value == 0
    assert cell(cells, "first").unrelated_share.value == pytest.approx(1 / 4)  # each slot once
    assert (
        protocol_grade.study_grade_cells(FilteredStudy(graded, N3))[0].unrelated_share.value is None
    )


def test_studies_that_can_be_held_beside_come_first(scene):
    assert protocol_view.comparable_studies(scene) == [REPLACED, ADDED]
    assert protocol_view.load_choices_of_other_study(scene, "nobody") is None


def test_a_filter_that_leaves_nothing_says_so(graded):
    nobody = FilteredStudy(graded, N3, Filter(judge="nobody"))
    assert says(protocol_grade.show_heatmap([], "Grade"), "No item", "shown", "rotated")
    assert says(protocol_view.protocol_headline(nobody)[0], "rotations yet")
    assert protocol_view.show_kpis(nobody) == ""
    assert "No reply text" in protocol_reading.show_parsing_rule_differences(nobody)
    assert "No reply contains" in protocol_reading.show_grades_given_in_replies(nobody)


@pytest.fixture(scope="module")
def unranked(graded: Store) -> Store:
    """Six items that nobody ranked, read by the rule of the authors' code."""
    items = [
        {"id": f"q{n}", "instruction": f"Question {n}?",
         "responses": {f"rank-{k}": f"answer {k} to {n}" for k in (1, 2, 3)}}
        for n in range(6)
    ]  # fmt: skip
    path = write_items(graded.path.with_name("unranked.jsonl"), items)
    values = {
        "name": "unranked", "preset": "grade-score", "reading": "gradelab",
        "data": {"source": str(path)}, "judges": [endpoint(judge) for judge in JUDGES],
        "prompts": ["grade-simple"],
    }  # fmt: skip
    answered(graded, values, write)
    return graded


def test_items_with_other_numbers_of_options_have_grades_of_their_own(scene, monkeypatch):
    """Six items with three options and six with four; `few` saw those with three. Rotated right,
    option 0 stands at the places 1, 2, … and 0."""
    rows = []
    for n in range(12):
        size = 4 if n < 6 else 3
        steady = [(turn + 1) % size for turn in range(size)]
        rows += rotated(f"q{n}", steady, judge="steady") + rotated(
            f"q{n}", [0] * size, judge="first"
        )
        rows += rotated(f"q{n}", steady, judge="few") if size == 3 else []
    frame = build(rows)
    monkeypatch.setattr(protocol_grade, "load_choice_rows", lambda _: frame)
    cells = grade_cells(frame)
    assert protocol_grade.list_numbers_of_options(cells) == [3, 4]
    said = text_of(protocol_grade.show_grades_by_option_count(scene, cells))
    assert said.index("few") < said.index("steady") < said.index("first ")
    # Always the same option: 1 at both N. Always the first place: 0. By chance 0.58 and 0.57.
    assert re.search(r"steady \D*1\.00 \[\S+ \S+ 1\.00 \[", said)
    assert re.search(r"first \D*0\.00 \[\S+ \S+ 0\.00 \[", said)
    assert re.search(r"few \D*1\.00 \[\S+ \S+ – ", said) and said.endswith("chance 0.58 0.57")
    monkeypatch.undo()
    alone = protocol_grade.study_grade_cells(scene)
    assert protocol_grade.show_grades_by_option_count(scene, alone) == ""
    # Without a common N the key figure names no chance; without ranks no accuracy is known.
    best, _, accuracy = protocol_grade.grade_kpis(cells)
    assert "chance" not in best.note and accuracy.value == "–" and "chance" not in accuracy.note


def test_items_with_and_without_the_unrelated_option_have_rows_of_their_own(scene, monkeypatch):
    """Always the same of three options, grade 1; with the unrelated one as the fourth always the
    first place, grade 0."""
    rows = []
    for n in range(6):
        rows += rotated(f"q{n}", [1, 2, 0])
        rows += [
            row | {"shown": tuple(UNRELATED if name == "o3" else name for name in row["shown"])}
            for row in rotated(f"r{n}", [0] * 4)
        ]
    frame = build(rows)
    monkeypatch.setattr(protocol_grade, "load_choice_rows", lambda _: frame)
    said = text_of(protocol_grade.show_grades_by_option_count(scene, grade_cells(frame)))
    with_three, with_four = said.split("chance")[0].split(" j ")[1:]
    assert re.match(r"choice 1\.00 \[\S+ \S+ –", with_three)
    assert re.match(r"choice, unrelated – 0\.00 \[", with_four)


def test_one_combination_alone_is_named_in_the_headline(graded):
    def title(judge: str) -> str:
        chosen = Filter(judge=judge, prompt="grade-simple")
        return protocol_view.protocol_headline(FilteredStudy(graded, N3, chosen))[0]

    assert says(title("steady"), "of steady", "grade-simple", "is significantly")
    assert says(title("first"), "of first", "grade-simple", "is not significantly")


def test_the_rule_of_reading_is_that_of_the_study(unranked, scene):
    sections = [protocol_sections.GRADE_SECTION]
    by_authors, own = (
        protocol_sections.rules_in_force(one, sections)
        for one in (FilteredStudy(unranked, "unranked"), scene)
    )
    assert by_authors[0] != own[0] and by_authors[1:3] == own[1:3]
    assert by_authors[0] == protocol_sections._READING_GRADELAB
    assert own[0] == protocol_sections._READING_DEFAULT


def test_without_a_second_study_the_shares_stand_beside_what_to_do(graded):
    def shown(name: str, beside: str | None = None) -> str:
        return text_of(protocol_view.render_unrelated_option(FilteredStudy(graded, name), beside))

    added = shown(ADDED)
    # steady and worst never take it; first takes each of four places in turn.
    assert re.search(r"first 25 \[", added) and re.search(r"steady 0 \[", added)
    assert says(added, "not comparable") and says(added, "unrelated: none")
    assert says(shown(REPLACED), "replaces the worst-ranked", "unrelated: none")
    none = shown(N3)
    assert says(none, "no unrelated option", "unrelated: replace") and "at random" not in none
    scene = FilteredStudy(graded, N3)
    assert says(protocol_unrelated.show_unrelated_option(scene, [], None), "No item", "rotated")
    rows = protocol_grade.load_choice_rows(scene)
    beside = protocol_unrelated.ComparisonStudy("other", "replace", rows.iloc[:0])
    cells = protocol_grade.study_grade_cells(scene)
    drawn = protocol_unrelated.show_unrelated_option(scene, cells, beside)
    assert says(drawn, "other has no", "rotations")
    assert protocol_unrelated.unrelated_grade_contrasts(rows, rows) == []
    assert "–" in protocol_unrelated._effect_cell(None)


def test_replies_that_both_rules_read_alike_are_counted(graded, monkeypatch):
    simple = FilteredStudy(graded, N3, Filter(prompt="grade-simple"))
    found = protocol_reading.load_parsing_rule_differences(simple)
    sentence = protocol_reading.parsing_differences_sentence
    told = sentence(found, "default", "gradelab")
    assert says(told, "All 108 replies", "same verdict", "`default` and `gradelab`.")
    monkeypatch.setattr(protocol_reading, "MAX_REREAD", 108)
    assert says(sentence(found, "a", "b"), "first 108")
    monkeypatch.setattr(protocol_reading, "MAX_REREAD", 109)
    assert not says(sentence(found, "a", "b"), "first 10")
    monkeypatch.setattr(protocol_reading, "MAX_REREAD", 7)
    reread = protocol_reading._reparse_uncached(graded, N3, "default", ("grade-simple",))
    assert len(reread) == 7
    slots = [protocol_reading._verdict_slot(Verdict(pick)) for pick in (None, "tie", 0, 2)]
    assert slots == [NO_PICK, TIE, 0, 2]


def test_without_grades_in_replies_no_model_has_a_mean_grade(scene, unranked):
    rows = protocol_reading.rows_with_option_grades(scene)
    assert protocol_reading.mean_option_grades(rows.iloc[:0]) == {}
    bare = FilteredStudy(unranked, "unranked", Filter(judge="nobody"))
    assert protocol_reading.rows_with_option_grades(bare).empty


def test_a_judge_without_a_grade_ranks_below_one_with_a_grade_of_zero():
    """Mean over prompts: a (−1 + 0.9)/2, b 0, c (0.2 + 0.4)/2."""

    def made(judge: str, grade: float | None) -> SimpleNamespace:
        return SimpleNamespace(judge=judge, grade=Estimate(grade))

    cells = [made("a", None), made("a", 0.9), made("b", 0.0), made("c", 0.2), made("c", 0.4)]
    assert protocol_grade.rank_judges(cells) == ["c", "b", "a"]
