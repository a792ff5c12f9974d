"""Study and Run of a study of single answers do not speak of comparisons, orders or positions."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.results.overview.tab import render_card_or_judge_tables
from components.results.remedies.point_remedies_panel import single_answer_rules_headline
from components.results.view.unreadable_share import FORMAT_ADVICE
from components.results.view.unusable_replies import load_unusable_shares
from components.results.view_drawing import VIEWS
from components.run import actions_tab, live_figures
from components.run.live_figures import NO_VERDICT, LiveStudies
from components.run.partial_results import partial_results_html
from components.run.run_facts import load_run_facts
from components.run.status_html import run_kpis_html
from components.study.file.lenient_study import START_YAML, FormState, read_lenient_study
from components.study.file.yaml_edit import put_value
from components.study.form.data_step.records_report import comparisons_html
from components.study.form.more_settings import more_settings, settings_text, study_question
from components.study.form.prompts import VERDICT_ENDINGS
from components.study.plan.cost_preview import forecast_by_judge
from components.study.plan.demo_studies import LARGER_STUDY, SINGLE_STUDY
from components.study.plan.study_preview import StudyPreview, build_preview
from components.study.steps import power_panel, run_strip
from components.study.steps.planned_study import comparisons_per_question, planned_study
from judges.engine.engine import Engine
from judges.engine.pending_asks import QuoteCache
from judges.planning.plan import save_plan
from judges.verdicts.verdict_formats import FORMATS
from metrics.catalogue.records import RECORDS
from studies.domain import Estimate
from studies.frames.point_columns import pass_fail_mask
from studies.frames.twin_rows import filter_rows_by_twins
from studies.spec.presentations import resolve_contestants
from studies.store.store import Store
from tests.frozen_pages import plain
from tests.judges.small_studies import run_text
from tests.page_words import says, text_of

OF_COMPARISONS = re.compile(
    r"comparison|\borders|(same|one) order|\bflip|first position|shown first|\b1st\b|\bElo\b"
)


@pytest.fixture
def store(recorded_demos) -> Store:
    return recorded_demos


def study_texts(store: Store, prompts: list[str]) -> tuple[StudyPreview, str]:
    preview = build_preview(put_value(START_YAML, ("prompts",), prompts), store.folder)
    plan = preview.plan
    assert plan is not None
    numbers = forecast_by_judge(plan, store)
    planned = planned_study(preview, plan, numbers, store, "")
    parts = (
        run_strip.cost_strip(preview, plan, numbers, ""),
        power_panel.power_html(planned, preview.lenient_study, FormState()),
        comparisons_html(preview, FormState()),
        settings_text(preview.lenient_study),
    )
    return preview, " ".join(map(text_of, map(str, parts)))


@pytest.mark.parametrize("prompts", [["pass-fail"], ["score-scale"], ["pass-fail", "score-scale"]])
def test_the_form_of_single_answers_does_not_speak_of_comparisons(store, prompts):
    preview, text = study_texts(store, prompts)
    assert not OF_COMPARISONS.findall(text)
    assert says(text, "Three answers", "as they will") and says(text, "judgements")
    # Every model's answer to every question is judged once by each judge with each prompt.
    per_question = len(resolve_contestants(preview.plan.study, preview.plan.items))
    assert comparisons_per_question(preview.plan, forecast_by_judge(preview.plan)) == per_question


@pytest.mark.parametrize("prompts", [["brief-letters"], ["brief-letters", "pass-fail"]])
def test_the_form_of_pairs_still_does(store, prompts):
    _, text = study_texts(store, prompts)
    assert all(says(text, part) for part in ("Three comparisons", "share of flips", "both orders"))


def drawn(store: Store, name: str) -> list:
    return actions_tab.render(store, Engine(), LiveStudies(store), name)


def charts_shown(outputs: list) -> list[bool]:
    return [one["visible"] for one in outputs if isinstance(one, dict) and "visible" in one]


def test_run_of_single_answers_shows_their_pass_rate_and_no_chart_of_comparisons(store):
    outputs = drawn(store, SINGLE_STUDY)
    assert charts_shown(outputs) == [False, False, False]
    text = text_of(str(plain([one for one in outputs if isinstance(one, str)])))
    assert not re.findall(r"shown first|100 % is even", text)
    picture = LiveStudies(store).for_study(SINGLE_STUDY).figures()
    frame = filter_rows_by_twins(store.frame(SINGLE_STUDY), "without")
    expected = RECORDS["point_pass_rate"].estimator.estimate(frame)
    assert picture.of_answers == ("Pass rate", expected)
    assert f"{100 * expected.value:.1f}" in text


def test_run_of_pairs_shows_all_three_charts(store):
    assert charts_shown(drawn(store, LARGER_STUDY)) == [True, True, True]


def test_partial_results_of_single_answers_are_their_pass_rate(store):
    facts = load_run_facts(store, Engine(), QuoteCache(store), SINGLE_STUDY)
    facts = replace(facts, running=True)
    picture = LiveStudies(store).for_study(SINGLE_STUDY).figures()
    name, rate = picture.of_answers
    text = text_of(partial_results_html(facts, picture))
    assert says(text, f"{rate.n:,}", name.lower(), f"{100 * rate.value:.0f}")
    level = replace(picture, of_answers=(RECORDS["point_level"].name, Estimate(0.44, n=18)))
    assert says(text_of(partial_results_html(facts, level)), "Of 18", "mean score 44", "scale")
    none = replace(picture, of_answers=(name, NO_VERDICT))
    assert says(text_of(partial_results_html(facts, none)), "No answer", "yet")


def test_pass_rate_keeps_its_name_while_no_reply_is_usable(store):
    picture = LiveStudies(store).for_study(SINGLE_STUDY)
    frame = filter_rows_by_twins(store.frame(SINGLE_STUDY), "without")
    passes = frame[pass_fail_mask(frame)]
    bad = passes.assign(status=pd.Categorical(["unreadable"] * len(passes)))
    name, rate = live_figures._pass_rate_or_score(bad)
    assert name == RECORDS["point_pass_rate"].name and rate.value is None
    # Recorded replies are not followed, as in a study of pairs.
    facts = load_run_facts(store, Engine(), QuoteCache(store), SINGLE_STUDY)
    none = replace(picture.figures(), rows=0, of_answers=(name, NO_VERDICT))
    assert says(text_of(run_kpis_html(facts, none)), name, "see Results")


@pytest.mark.parametrize(
    ("prompts", "named"), [(["score-scale"], "Mean score"), (["pass-fail"], "Pass rate")]
)
def test_run_before_the_first_reply_knows_from_the_plan_that_single_answers_are_judged(
    prompts, named, tmp_path
):
    store = Store(tmp_path / "planned.db")
    preview = build_preview(put_value(START_YAML, ("prompts",), prompts), tmp_path)
    save_plan(preview.plan, store)
    name = preview.plan.study.name
    outputs = drawn(store, name)
    assert charts_shown(outputs) == [False, False, False]
    assert LiveStudies(store).for_study(name).figures().of_answers[0].startswith(named)
    store.close()


def test_the_headline_follows_a_filter_that_leaves_only_scores(tmp_path):
    store = Store(tmp_path / "both.db")
    text = (
        "name: both\njudges: [{name: keen, model: simulated, seed: 3}]\n"
        "data: {source: probe, count: 6}\ncontestants: [precise, flawed]\n"
        "prompts: [pass-fail, score-scale]\n"
    )
    run_text(store, text)
    whole, scores = (
        FilteredStudy(store, "both", Filter(prompt=prompt)) for prompt in ("all", "score-scale")
    )
    assert "pass" in VIEWS["Summary"].headline(whole)[0]
    assert not says(VIEWS["Summary"].headline(scores), "no pass/fail")
    assert "score" in " ".join(VIEWS["Summary"].headline(scores)).lower()
    store.close()


def test_replies_that_cannot_be_read_come_before_remedies(tmp_path):
    found = {}
    for missing in (0, 5):
        lines = [
            {"id": f"q{k}", "instruction": f"question {k}", "responses": {"m": f"answer {k}"},
             "labels": [{"contestant": "m", "value": 1 + k % 3}]}
            for k in range(12)
        ]  # fmt: skip
        (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        store = Store(tmp_path / f"{missing}.db")
        unreadable = f", unreadable_rate: {missing / 10}" if missing else ""
        run_text(
            store,
            "name: s\ndata: {source: items.jsonl}\nprompts: [score-scale]\n"
            f"judges: [{{name: keen, model: simulated, seed: 3{unreadable}}}]\n",
            tmp_path,
        )
        filtered = FilteredStudy(store, "s")
        found[missing] = single_answer_rules_headline(filtered)[0]
        store.close()
    assert found[5] == FORMAT_ADVICE and found[0] != FORMAT_ADVICE


def test_the_table_of_judges_shows_prompts_whose_replies_cannot_be_read(store: Store) -> None:
    """Of the demo, half of the replies to score-scale cannot be read; see assets/demo/README.md."""
    filtered = FilteredStudy(store, SINGLE_STUDY)
    text = text_of(str(render_card_or_judge_tables(filtered)))
    shares = load_unusable_shares(filtered)
    by_prompt = {prompt: found.value for (_, prompt), found in shares.items()}
    rows = filtered.measured_judge_rows
    for prompt, value in by_prompt.items():
        own = rows[rows["prompt"] == prompt]
        assert value == pytest.approx(float((own["status"] != "ok").mean()))
        assert f"{100 * value:.1f}" in text
    assert max(by_prompt, key=lambda prompt: by_prompt[prompt] or 0) == "score-scale"


@pytest.mark.parametrize("noise", [0.5, 1.0])
@pytest.mark.parametrize("prompt", ["pass-fail", "brief-letters"])
def test_repeats_are_described_alike_in_both_places(prompt, noise, store: Store) -> None:
    """Single answers have no order; a probability of 100 % is not stated."""
    text = put_value(put_value(START_YAML, ("prompts",), [prompt]), ("noise_floor",), noise)
    preview = build_preview(text, store.folder)
    line, form = (
        settings_text(preview.lenient_study),
        text_of(more_settings(preview, FormState())).partition("Noise floor")[2],
    )
    for told in (line, form):
        assert says(told, "repeated", "50") is (noise < 1)
        assert "100\u202f" not in told.partition("repeated")[2][:60]
        assert says(told, "repeated", "same order") is (prompt == "brief-letters")
    assert says(form, "without a swap") is (prompt == "brief-letters")


@pytest.mark.parametrize(
    ("prompts", "name"),
    [
        (["pass-fail", "score-scale"], "pass rate"),
        (["score-scale"], "share of answers above a given score"),
        (["brief-letters"], "win rate"),
    ],
)
def test_the_planned_share_is_one_that_the_study_has(prompts, name, store: Store) -> None:
    preview = build_preview(put_value(START_YAML, ("prompts",), prompts), store.folder)
    assert preview.plan is not None
    planned = planned_study(
        preview, preview.plan, forecast_by_judge(preview.plan, store), store, ""
    )
    assert planned.planned_measure_name == name


def test_every_verdict_format_is_described() -> None:
    assert set(VERDICT_ENDINGS) >= set(FORMATS) - {"none"}


@pytest.mark.parametrize(
    ("judges", "prompts", "source", "single", "text"),
    [
        ([], ["p"], "probe", False, "No judge selected for the probe set"),
        (["j"], ["p"], "probe", False, "Is j even-handed on the probe set?"),
        (["j"], ["p"], "probe", True, "Is j right on the probe set?"),
        (["j"], ["p", "q"], "hub:me/set@1", False, "Which prompt makes j even-handed on me/set?"),
        (["j", "k"], ["p", "q"], "uploads/01234567-a.csv", True, "Which judge is right on a.csv?"),
    ],
)
def test_the_question_of_a_study_fits_its_judges_prompts_and_data(
    judges, prompts, source, single, text
):
    names = [{"name": one} for one in judges]
    made = {"data": {"source": source}, "judges": names, "prompts": prompts}
    study = read_lenient_study(json.dumps(made), Path())
    assert study_question(study, single_answers=single) == text
