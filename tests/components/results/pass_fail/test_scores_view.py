"""The view on scores: heatmap of arrangements, order effects, agreement, contradictions, report."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.inspect.load_comparison import load_inspect_page
from components.inspect.replies_html import replies_html
from components.inspect.url_selection import Selection
from components.results.agreement import tab as agreement_tab
from components.results.controls.mark_selection import inspect_filters_for_mark
from components.results.controls.results_parts_tab import OUTPUTS
from components.results.pass_fail import pass_fail_panels
from components.results.pass_fail.scores import panels, score_tables
from components.results.pass_fail.scores import score_panels as scores_tab
from components.results.pass_fail.scores.computed import load_scores
from components.results.view_drawing import VIEWS, offered_views, render_view_uncached
from components.share.report import ReportFigures, report_sections
from judges.planning.plan import make_plan, save_plan
from metrics.labels.scores.intransitive_triples import IntransitiveTriples
from metrics.labels.scores.score_distribution import ExpectedScores
from studies.domain import Ask, Estimate, Item, Judgement, Verdict
from studies.exchange.export import write_export
from studies.exchange.recorded_studies import import_verdicts, save_recorded_study
from studies.sources.load import LoadedSource
from studies.spec.study import DataSpec, parse_study
from studies.store.store import Store
from tests.components.written_replies import write_items
from tests.judges.small_studies import run_text
from tests.metrics.frames import json_sections
from tests.page_words import says, text_of

JUDGE = "name: sim, model: simulated, seed: 3, score_noise: 0.3, first_bias: 0.3"
GRADED = f"{JUDGE}, read: probabilities"
ITEMS = 9


def run_study(
    store: Store, folder: Path, name: str, prompts: str, more: str = "", judge: str = JUDGE
) -> None:
    text = (
        f"name: {name}\ndata: {{source: items.jsonl}}\njudges: [{{{judge}}}]\n"
        f"prompts: [{prompts}]\n{more}"
    )
    run_text(store, text, folder)


@pytest.fixture(scope="module")
def store(module_store: Store) -> Store:
    lines = [
        {"id": f"q{k}", "instruction": f"question {k}",
         "responses": {"m": f"answer {k}", "n": f"other {k}"},
         "labels": [{"contestant": who, "value": 1 + (k + shift) % 3}
                    for shift, who in enumerate("mn")]}
        for k in range(ITEMS)
    ]  # fmt: skip
    folder = module_store.path.parent
    write_items(folder / "items.jsonl", lines)
    rotated = "options: rotations\ncriteria_order: rotations\n"
    run_study(module_store, folder, "rubrics", "rubric", rotated)
    run_study(module_store, folder, "mixed", "score-scale, brief-letters", "options: crossed\n")
    run_study(module_store, folder, "repeated", "score-scale", "repeats: 3\n")
    run_study(module_store, folder, "levels", "rubric", judge=GRADED)
    return module_store


def test_the_heatmap_has_one_row_per_arrangement(store: Store) -> None:
    results = load_scores(FilteredStudy(store, "rubrics"))
    assert results.shown_rater == ("sim", "rubric") and results.distribution is not None
    assert len(results.distribution.arrangements) == 9 and results.distribution.values == (
        1.0,
        2.0,
        3.0,
    )
    html = str(panels.score_by_arrangement_matrix(results))
    for one in results.distribution.arrangements:
        assert one.name in html
        assert sum(share.value or 0 for share in one.shares.values()) == pytest.approx(1)
    opened = {unescape(text) for text in re.findall(r'data-select="([^"]*)"', html)}
    assert opened == {'{"judge": "sim", "prompt": "rubric"}'}


def test_a_heatmap_says_what_it_does_not_show(store: Store) -> None:
    results = load_scores(FilteredStudy(store, "rubrics"))
    rater, shown = results.shown_rater, results.distribution
    assert rater is not None and shown is not None
    assert "not shown" not in panels.score_by_arrangement_matrix(results)
    assert panels.score_by_arrangement_matrix(replace(results, distributions={})) == ""
    many = replace(shown, arrangements=shown.arrangements * 4)  # 36 of which MAX_ROWS are drawn
    drawn = panels.score_by_arrangement_matrix(replace(results, distributions={rater: many}))
    assert says(drawn, f"{36 - panels.MAX_ROWS} arrangements", "not shown")
    many = replace(shown, values=())
    drawn = panels.score_by_arrangement_matrix(replace(results, distributions={rater: many}))
    assert says(drawn, "too many") and "<table" not in drawn


def test_effects_of_both_orders_are_shown_with_intervals(store: Store) -> None:
    html = str(panels.order_effects_html(load_scores(FilteredStudy(store, "rubrics"))))
    assert says(html, "order", "options") and says(html, "order", "criteria")
    assert says(html, "listed", "first") and "listed 3rd" in html
    crossed = str(panels.order_effects_html(load_scores(FilteredStudy(store, "mixed"))))
    assert "letter A" in crossed and "criteria" not in crossed.lower()
    assert not re.search(r"n [\d,]+ of", crossed), "n is not a part of the verdicts"


def test_expected_levels_are_shown_with_the_numbers_of_the_json(store: Store) -> None:
    html = str(scores_tab.render_matrix(FilteredStudy(store, "levels")).bodies["score_matrix"])
    section = json_sections(store.frame("levels"), "score_distribution")
    found = section["score_distribution"]["sim"]["rubric"]["criteria"]
    assert set(found) == {"Correctness", "Completeness", "Clarity"}
    for name, one in found.items():
        row = html[html.index(name) :]
        for key in ("expected", "expected_spread"):
            assert f"{one[key]['value']:.2f}" in row
    without = str(scores_tab.render_matrix(FilteredStudy(store, "rubrics")).bodies["score_matrix"])
    assert "Expected level" not in without


def test_repeats_in_the_same_order_are_shown_with_the_numbers_of_the_json(store: Store) -> None:
    html = str(panels.order_effects_html(load_scores(FilteredStudy(store, "repeated"))))
    section = json_sections(store.frame("repeated"), "point_repeats")["point_repeats"]
    found = section["sim"]["score-scale"]["deviation"]
    assert found["value"] > 0 and f"{found['value']:.2f}".lstrip("0") in html
    several = section["sim"]["score-scale"]["several"]
    assert says(html, f"{100 * several['value']:.1f}", "]", str(several["n"]), "answers")
    assert f", n {several['n']}" not in html.partition("answers")[0]


def test_pairs_and_scores_in_one_study(store: Store) -> None:
    whole = FilteredStudy(store, "mixed")
    shown = VIEWS["Agreement"].panels_of_shown_groups(whole)
    assert scores_tab.LABELS in shown and agreement_tab.MATRIX in shown
    assert pass_fail_panels.AREAS not in shown
    results = load_scores(whole)
    assert results.contradictions["sim"].share.n > 0
    assert "Pairs contradicted" in str(score_tables.scores_against_comparisons_table(results))
    assert "Nudges" not in offered_views(FilteredStudy(store, "rubrics"))


def test_a_score_prompt_without_a_readable_reply_has_a_row(tmp_path: Path) -> None:
    """One prompt gives scores, no reply to the other can be read: two rows, the second with no mean
    and 100 % of its replies unusable."""
    judged = [("good", (3.0,)), ("good", (4.0,)), ("bad", None), ("bad", None)]
    made = []
    for k, (prompt, scores) in enumerate(judged):
        ask = Ask("", f"q{k % 2}", "sim", prompt, ("m",), ("1", "2", "3", "4", "5"), orders=1)
        fine = scores is not None
        verdict = Verdict(None, 1, scores) if fine else None
        made.append(Judgement(ask, "ok" if fine else "unreadable", verdict, "recorded"))
    items = [Item(f"q{k}", "why?", {"m": "so"}) for k in range(2)]
    store = Store(tmp_path / "rows.db")
    loaded = LoadedSource(items, made, "table", "written here")
    save_recorded_study(store, "rows", DataSpec(source="x.csv"), loaded)
    table = text_of(str(scores_tab.render_judges(FilteredStudy(store, "rows"))))
    assert says(table, "sim · good", "3.50") and says(table, "sim · bad", "–", "100.0")
    store.close()


def test_the_headline_of_agreement_is_the_agreement_with_labels(store: Store) -> None:
    """Position says what the order changes, or that this is unknown if only one was used."""
    for name in ("rubrics", "repeated"):
        filtered = FilteredStudy(store, name)
        (found,) = load_scores(filtered).agreement.values()
        title, lead = VIEWS["Agreement"].headline(filtered)
        assert says(title, "ρ", "labels", f"{found.spearman.value:.2f}".lstrip("0"))
        assert says(lead, f"{100 * found.within_one.value:.0f}", "one step")
        by_order = VIEWS["Position"].headline(filtered)[0]
        assert by_order != title and ("unknown" in by_order) is (name == "repeated")
    assert VIEWS["Summary"].headline(FilteredStudy(store, "repeated"))[0] == title


def test_scores_minus_labels_are_shown_by_model(store: Store) -> None:
    filtered = FilteredStudy(store, "repeated")
    (found,) = load_scores(filtered).bias_by_model.values()
    assert set(found) == {"m", "n"} and all(one.low is not None for one in found.values())
    html = scores_tab.render_bias_by_model(filtered)
    first, second = found
    assert (found[first].value or 0) >= (found[second].value or 0)
    assert html is not None and html.index(f">{first}<") < html.index(f">{second}<")
    section = json_sections(filtered.unfiltered_frame, "scores")["scores"]["sim"]["score-scale"]
    assert section["by_contestant"][first]["bias"]["value"] == pytest.approx(found[first].value)
    alone = FilteredStudy(store, "repeated", Filter(contestants=("m",)))
    assert scores_tab.render_bias_by_model(alone) is None


def test_panels_name_judge_prompt_and_scale_and_count_the_levels_of_a_rubric(store: Store) -> None:
    """A verdict of the rubric has three levels, which the shares count."""
    filtered = FilteredStudy(store, "rubrics")
    for panel in (scores_tab.ORDER, scores_tab.LABELS):
        assert says(panel.render(filtered, {})[panel.heading_output], "sim · rubric")
    told = scores_tab.report_scores_by_arrangement(filtered)
    one = load_scores(filtered).distribution.arrangements[0].mean
    assert says(told.subtitle, "sim · rubric", "% of levels") and "Share of levels" in told.content
    assert says(told.content, f"n {3 * one.n}", f"{one.n} verdicts", "1 to 3", f"{one.value:.2f}")
    assert load_scores(FilteredStudy(store, "mixed")).distribution.counted == "verdicts"


def test_the_tab_draws_the_view_and_its_sentences_are_short(store: Store) -> None:
    for name in ("rubrics", "mixed"):
        filtered = FilteredStudy(store, name)
        view = VIEWS["Agreement"]
        made = render_view_uncached(filtered, view.name, view.initial_values(filtered))
        assert set(OUTPUTS) <= set(made)
        position = VIEWS["Position"]
        matrix = position.render(filtered, position.initial_values(filtered))["score_matrix"]
        assert "eh-heat-box" in matrix
        assert made["score_contradictions_panel"] is (name == "mixed")
        assert says(scores_tab.kpis(filtered), "not counted", "lowest")
        title, lead = scores_tab.headline(filtered)
        assert says(title, "order", "options")
        assert max(len(text.split()) for text in (title, lead)) <= 25


def test_a_click_opens_all_arrangements_of_an_answer_in_inspect(store: Store) -> None:
    filtered = FilteredStudy(store, "rubrics")
    chosen = inspect_filters_for_mark(filtered, {"judge": "sim", "prompt": "rubric"})
    shown = load_inspect_page(store, chosen)
    assert shown.total == 2 * ITEMS, "one line for each answer"


@pytest.mark.extra
def test_the_report_has_the_sections(store: Store) -> None:
    body = str(report_sections(FilteredStudy(store, "rubrics"), ReportFigures()))
    assert "Scores by arrangement" in body and "Agreement with labels" in body
    assert "both orders" not in body


@pytest.mark.extra
def test_the_report_has_scores_beside_comparisons(store: Store) -> None:
    mixed = str(report_sections(FilteredStudy(store, "mixed"), ReportFigures()))
    assert "Scores against comparisons" in mixed and "Which position is chosen" in mixed


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_rubrics_come_back_from_an_export(store: Store, form: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{form}"
    write_export(store, "rubrics", form, path)
    import_verdicts(store, path, f"again-{form}")
    before, after = (store.frame(name) for name in ("rubrics", f"again-{form}"))
    columns = ["item", "labels", "score_0", "level_0", "level_1", "level_2"]

    def rows(frame: object) -> list[tuple[object, ...]]:
        return sorted(frame[columns].astype(str).itertuples(index=False, name=None))  # type: ignore[index]

    assert rows(after) == rows(before)


def test_inspect_shows_the_arrangements_of_one_answer_side_by_side(store: Store) -> None:
    key = next(one.ask.key for one in store.judgements("rubrics"))
    opened = load_inspect_page(store, Selection(study="rubrics", key=key)).opened
    assert opened is not None and len(opened.orders) == 9
    html = str(replies_html(opened))
    assert "in 9 arrangements" in html
    assert html.count("Clarity, Correctness, Completeness") == 3


def test_before_the_first_verdict_the_plan_decides_which_views_are_offered(
    store: Store, tmp_path: Path
) -> None:
    text = f"name: planned\ndata: {{count: 1}}\njudges: [{{{JUDGE}}}]\nprompts: [rubric]\n"
    save_plan(make_plan(parse_study(text, "test", tmp_path)), store)
    planned = FilteredStudy(store, "planned")
    assert not len(planned.unfiltered_frame) and "Nudges" not in offered_views(planned)


def test_expected_scores_are_told_with_their_spread_within_a_reply() -> None:
    spread = Estimate(0.456)
    made = panels._expected_score_kpi(ExpectedScores(Estimate(3.256, 3.1, 3.4), spread))
    assert (made.value, made.note.split(", ")[0]) == ("3.26", "[3.10")
    assert says(made.note, "3.40]", "0.46")
    bare = panels._expected_score_kpi(ExpectedScores(Estimate(3.256), spread))
    assert not bare.note.startswith(",") and says(bare.note, "within a reply", "0.46")


def test_order_effects_are_drawn_where_there_are_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: Any = SimpleNamespace(distribution=None)
    monkeypatch.setattr(scores_tab, "load_scores", lambda _: shown)
    monkeypatch.setattr(panels, "order_effects_html", lambda one: f"tables of {one.distribution}")
    assert scores_tab.render_order_effects(shown) == ""
    shown.distribution = "j"
    assert scores_tab.render_order_effects(shown) == "tables of j"


def test_filters_that_leave_no_score_leave_no_number(store: Store) -> None:
    nothing = FilteredStudy(store, "rubrics", Filter(judge="nobody"))
    results = load_scores(nothing)
    assert results.shown_rater is results.distribution is None
    assert says(panels.scores_headline(results)[0], "No usable score")
    assert says(scores_tab.render_matrix(nothing).bodies["score_matrix"], "No usable score")
    assert panels.scores_kpis(results) == panels.score_by_arrangement_matrix(results) == ""
    assert panels.expected_levels_table(results) == scores_tab.render_order_effects(nothing) == ""
    assert scores_tab.report_scores_by_arrangement(nothing) is None
    assert score_tables.score_agreement_paper_table(nothing) is None


def test_the_headline_is_on_options_then_criteria_then_labels(store: Store) -> None:
    whole = load_scores(FilteredStudy(store, "rubrics"))
    rater = whole.shown_rater
    order, criteria = whole.order[rater], whole.criteria[rater]
    even = {"first_place": order.expected_first}
    noisy = replace(order, noise_floor=Estimate(0.25, 0.0, 0.26, n=8), changed=Estimate(0.5, 0.3))
    title, lead = panels.scores_headline(replace(whole, order={rater: noisy}))
    assert says(title, "50", "options.") and says(lead, "; 25", "on a repeat")
    noise = replace(noisy, noise_floor=Estimate(0.25, 0.1, 0.4), **even)
    title, lead = panels.scores_headline(replace(whole, order={rater: noise}))
    assert says(title, "No effect", "options") and "%" not in title
    assert says(lead, "50", "another order, 25", "a repeat")
    # A judge whose effect is shown is told before one whose is not, with as many verdicts.
    keen, one = ("keen", "rubric"), whole.distributions[rater]
    two = replace(
        whole, distributions={rater: one, keen: one}, order={rater: noise, keen: noisy}, criteria={}
    )
    title, _ = panels.scores_headline(two)
    assert two.shown_rater == keen and says(title, "50", "options, by keen.")
    assert replace(two, order={rater: noise, keen: noise}).shown_rater == rater
    once = replace(noisy, noise_floor=Estimate(None), **even)
    title, lead = panels.scores_headline(replace(whole, order={rater: once}))
    assert says(title, "50", "options.") and says(lead, "may be noise")
    by_criteria = replace(whole, order={})
    title, lead = panels.scores_headline(by_criteria)
    assert says(title, f"{100 * criteria.overall.changed.value:.0f}", "criteria.")
    assert "repeat" not in lead and "score − label" in lead
    unknown = replace(criteria, overall=replace(criteria.overall, changed=Estimate(None)))
    title, _ = panels.scores_headline(replace(by_criteria, criteria={rater: unknown}))
    assert title == panels.label_agreement_headline(whole)[0] and "ρ" in title
    title, lead = panels.scores_headline(replace(by_criteria, criteria={}, agreement={}))
    assert says(title, "mean score", f"{whole.distribution.mean.value:.2f}")
    assert lead.startswith("Mean score") and "label" not in lead


def test_repeats_count_answers_or_combinations_of_answer_and_order(store: Store) -> None:
    repeated = load_scores(FilteredStudy(store, "repeated"))
    rubrics = load_scores(FilteredStudy(store, "rubrics"))
    found = repeated.repeats[repeated.shown_rater]
    cases = found.several.n
    assert says(str(panels.order_effects_html(repeated)), f"of {cases} answers get")
    both = replace(rubrics, repeats={rubrics.shown_rater: found})
    for shown in (both, replace(both, criteria={}), replace(both, order={})):
        html = str(panels.order_effects_html(shown))
        assert says(html, f"of {cases} combinations of", "answer and order")
    bare = replace(rubrics, order={}, criteria={})
    assert panels.ONE_ORDER.split(".")[0] in panels.order_effects_html(bare)
    order = replace(rubrics.order[rubrics.shown_rater], places=(), place_entropy=None)
    html = str(panels.order_effects_html(replace(rubrics, order={rubrics.shown_rater: order})))
    assert "Entropy" not in html and "Position of" not in html


def test_the_paper_table_has_a_row_for_scores_expected_scores_and_criteria(store: Store) -> None:
    levels = FilteredStudy(store, "levels")
    table = score_tables.score_agreement_paper_table(levels)
    assert [row[0] for row in table.rows] == ["sim", "sim, expected score"]
    found = load_scores(levels)
    one = replace(found.agreement[found.shown_rater], mae=Estimate(0.125, n=8))
    split = replace(found, by_criterion={found.shown_rater: {"Clarity": one}}, expected={})
    assert [*score_tables._agreement_rows(levels, split)] == [
        ("sim", found.agreement[found.shown_rater]), ("sim, Clarity", one),
    ]  # fmt: skip


def test_circular_triples_stand_beside_their_share_by_chance(store: Store) -> None:
    found = load_scores(FilteredStudy(store, "mixed")).contradictions["sim"]
    triples = IntransitiveTriples(Estimate(0.1, 0.05, 0.2, 40), 0.25, 0.125, 0.375, 1.0, 0)
    told = score_tables._circular_share_by_chance(replace(found, triples=triples))
    assert says(text_of(told), "25.0", "[12.5, 37.5]")
    assert score_tables._circular_triple_share(replace(found, triples=triples)).value == 0.1
    none = replace(found, triples=None)
    assert score_tables._circular_share_by_chance(none).value is None
