"""Study and Run of a study of single answers do not speak of comparisons, orders or positions."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from components.run import actions_tab
from components.run.live_figures import NO_VERDICT, LiveStudies
from components.run.partial_results import partial_results_html
from components.run.run_facts import QuoteCache, load_run_facts
from components.study.file.lenient_study import START_YAML, FormState
from components.study.file.yaml_edit import put_value
from components.study.form.data_step.records_report import comparisons_html
from components.study.form.more_settings import settings_text
from components.study.plan.cost_preview import forecast_by_judge
from components.study.plan.demo_studies import LARGER_STUDY, SINGLE_STUDY
from components.study.plan.study_preview import StudyPreview, build_preview
from components.study.steps import power_panel, run_strip
from components.study.steps.planned_study import comparisons_per_question, planned_study
from judges.engine.engine import Engine
from metrics.catalogue.records import RECORDS
from studies.frames.twin_rows import select_twin_rows
from studies.store.store import Store
from tests.demo_store import copy_demo
from tests.frozen_pages import plain
from tests.page_words import says, text_of

OF_COMPARISONS = re.compile(
    r"comparison|\borders|(same|one) order|\bflip|first position|shown first|\b1st\b|\bElo\b"
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    made = Store(copy_demo(tmp_path_factory.mktemp("demo") / "demo.db"))
    yield made
    made.close()


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
    per_question = len(preview.contestants)
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
    frame = select_twin_rows(store.frame(SINGLE_STUDY), "without")
    expected = RECORDS["point_pass_rate"].estimator.of(frame)
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
    assert says(text, f"{name} of {rate.n:,}", f"{100 * rate.value:.0f}")
    none = replace(picture, of_answers=(name, NO_VERDICT))
    assert says(text_of(partial_results_html(facts, none)), "No answer", "yet")
