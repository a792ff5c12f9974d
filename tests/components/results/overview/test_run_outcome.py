"""The end of a run: the direction of the flips, and what can be done next."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace

from components.filtering.filtered_study import FilteredStudy
from components.results.bias.computed import load_bias
from components.results.bias.sentences import flip_leans
from components.results.overview import run_outcome
from components.results.overview.panels import flip_direction_chart
from components.results.overview.run_outcome import next_steps, repetition_text, run_outcome_html
from components.results.view_drawing import VIEWS
from components.study.plan import demo_studies
from judges.planning.plan import make_plan, save_plan
from metrics.position.order_effect import order_effect
from metrics.position.position_measures import noise_floor
from studies.domain import Estimate
from studies.spec.study import parse_study
from tests.judges.small_studies import run_text
from tests.page_words import says
from tests.voted_studies import six_items

NAME = "two judges"
ONE_REPLY_EACH = """
name: once
data: {source: probe, count: 6, seed: 1}
contestants: [precise, flawed]
judges: [{name: first, model: simulated, first_bias: 0.5, seed: 1}]
prompts: [brief-letters]
noise_floor: 0
"""


def steps(store, name: str) -> dict[str, dict[str, object]]:
    shown = FilteredStudy(store, name)
    return {step.words: dict(step.opens) for step in next_steps(shown, load_bias(shown))}


def test_the_flips_are_those_of_position_bias_and_open_in_inspect(judged):
    rows = flip_leans(load_bias(FilteredStudy(judged, NAME)))
    flips, pairs = sum(row.flips for row in rows), sum(row.pairs for row in rows)
    html = run_outcome_html(judged, NAME)
    assert flips and says(html, "Which way verdicts", "flip", f"{flips} of {pairs}")
    found = steps(judged, NAME)
    assert json.loads(str(found[f"Open {flips} flips"]["data-select"])) == {"flipped": True}
    assert json.loads(unescape(re.findall(r'data-select="([^"]+)"', html)[0])) == {"flipped": True}


def test_changes_are_split_into_repeats_and_what_the_order_adds(judged):
    bias = load_bias(FilteredStudy(judged, NAME))
    frame = judged.frame(NAME)
    repeats, effect = noise_floor(frame), order_effect(frame)
    text = repetition_text(bias).replace("\u202f", " ")
    assert f"{100 * repeats.value:.1f} % [" in text and f"n {repeats.n}." in text
    assert f"{effect.n} repeated comparisons" in text
    sure = effect.low > 0 or effect.high < 0
    assert ("no significant difference" in text) is not sure
    assert says(run_outcome_html(judged, NAME), "minus", "on a repeat")


def test_without_repeats_nothing_is_said_about_chance(store, tmp_path):
    run_text(store, ONE_REPLY_EACH, tmp_path)
    text = repetition_text(load_bias(FilteredStudy(store, "once")))
    assert "is unknown" in text and "points" not in text


def test_remedies_are_offered_only_where_the_better_answer_is_known(judged, store):
    voted = steps(store, six_items("Voted").save(store))
    assert voted["Remedies"]["data-view"] in VIEWS and "Vote" not in voted
    known = (FilteredStudy(judged, NAME).measured_judge_rows["known_answer"] >= 0).any()
    assert ("Remedies" in steps(judged, NAME)) == known
    assert ("Vote" in steps(judged, NAME)) != known


def test_among_several_options_only_the_next_steps_are_shown(recorded_demos):
    store = recorded_demos
    html = run_outcome_html(store, demo_studies.OPTIONS_STUDY)
    assert not says(html, "Which way") and says(html, "Next")
    assert steps(store, demo_studies.OPTIONS_STUDY)["Report"] == {"data-click": "#eh-share"}


def leaning(*p: float):
    return [SimpleNamespace(p=one, is_significant=one < 0.05) for one in p]


def test_one_judge_has_its_p_value_and_several_are_counted():
    said = run_outcome._flip_direction_sentence
    assert says(said(leaning(0.03)), "p = .030, adjusted")
    assert says(said(leaning(1e-9)), "p < .001, adjusted")
    assert says(said(leaning(0.01, 0.9)), "1 of 2 combinations", "prefers")
    none = said(leaning(0.5, 0.9, 0.8))
    assert says(none, "0 of 3 combinations", "prefer") and "prefers" not in none


def bias(**measures: Estimate):
    known = {"noise_floor": Estimate(None), "order_effect": Estimate(None), **measures}
    return SimpleNamespace(overall=lambda name: known[name])


def test_the_precision_of_flips_is_told_by_the_ends_of_their_interval():
    """± half of its width would be wrong at an end: of 12 flips in 12 comparisons, beyond 100 %."""
    wide = bias(consistency=Estimate(0.7, 0.6, 0.85))
    assert says(run_outcome._flip_precision_sentence(wide), "15.0", "40.0")
    told = run_outcome._flip_precision_sentence(bias(consistency=Estimate(0.0, 0.0, 0.242)))
    assert says(told, "75.8", "100.0") and "±" not in told
    for unknown in (Estimate(0.7), Estimate(0.7, None, 0.8), Estimate(0.7, 0.6, None)):
        assert run_outcome._flip_precision_sentence(bias(consistency=unknown)) == ""


def test_an_effect_of_the_order_is_said_with_its_significance():
    repeats = Estimate(0.1, 0.05, 0.2, 30)

    def text(low: float | None, high: float | None) -> str:
        effect = Estimate(0.2, low, high, 12)
        return repetition_text(bias(noise_floor=repeats, order_effect=effect))

    assert says(text(0.1, 0.3), "+20.0 points", "[10.0, 30.0]", "12 repeated")
    assert "no significant" not in text(0.1, 0.3) and "no significant" not in text(-0.3, -0.1)
    assert "no significant" in text(-0.1, 0.3) and "no significant" in text(0.0, 0.3)
    assert "points" not in text(None, 0.3) and "n 30" in text(None, 0.3)


def test_the_card_of_an_improved_prompt_names_what_the_study_has_several_of():
    def address(judges: str, prompts: str, judge: str = "a") -> dict[str, str]:
        study = SimpleNamespace(
            judges=[SimpleNamespace(name=name) for name in judges], prompts=tuple(prompts)
        )
        shown = SimpleNamespace(store=SimpleNamespace(study=lambda name: study))
        found = SimpleNamespace(study="s", judge=judge, prompt="p")
        made = run_outcome._improved_prompt_address(shown, found)
        assert made.pop("study") == "s" and made.pop("view") == "Remedies"
        return made

    assert address("a", "p") == {}
    assert address("ab", "p") == {"judge": "a"} and address("bc", "p") == {}
    assert address("a", "pq") == {"prompt": "p"}
    assert address("ab", "pq") == {"judge": "a", "prompt": "p"}


def test_before_the_first_reply_there_is_no_outcome(store):
    plan = make_plan(parse_study(ONE_REPLY_EACH, "test", Path()))
    save_plan(plan, store)
    assert run_outcome_html(store, "once") == ""
    assert flip_direction_chart(load_bias(FilteredStudy(store, "once"))) == ""
