"""The form writes a study file that can be run; bad values are said, never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.study_form import (
    JUDGES,
    Form,
    planned,
    prompt_choices,
    show_coverage,
    show_plan,
    show_prompt,
    source_facts,
    study_yaml,
)
from studies.errors import EvenhandError
from studies.study import parse

SIMULATED = Form(judges=(JUDGES[1],), contestants=(), items=4, noise_floor=0.0)


def test_what_the_form_writes_is_a_study():
    study = parse(study_yaml(SIMULATED))
    assert study.judges[0].simulation == {"first_bias": 0.3, "accuracy": 0.8, "seed": 7}
    assert (study.data.source, study.data.count, study.data.seed) == ("probe", 4, 7)


def test_the_plan_strip_and_the_button_name_the_same_number():
    # 4 items x 6 pairs of four answers x 2 orders = 48 asks.
    strip, words = show_plan(planned(study_yaml(SIMULATED), Path()))
    assert words == "Run 48 asks, free"
    assert ">48<" in strip.replace(" ", "")


def test_an_endpoint_without_a_price_has_an_unknown_cost():
    form = Form(judges=(JUDGES[2],), base_url="http://127.0.0.1:9/v1", model="m", items=2)
    _, words = show_plan(planned(study_yaml(form), Path()))
    assert words.endswith("price unknown")


def test_the_first_ask_is_shown_as_sent_and_escaped(tmp_path):
    items = tmp_path / "items.jsonl"
    items.write_text(
        '{"id": "q", "instruction": "<script>alert(1)</script>", '
        '"responses": {"a": "one", "b": "<img src=x>"}}\n',
        encoding="utf-8",
    )
    form = Form(
        source="A JSONL file", file="items.jsonl", judges=(JUDGES[1],), contestants=(), items=0
    )
    html = show_prompt(planned(study_yaml(form), tmp_path))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "&lt;img src=x&gt;" in html


def test_a_contestant_missing_in_some_items_is_said_before_the_run(tmp_path):
    lines = [
        '{"id": "q1", "instruction": "i", "responses": {"a": "1", "b": "2"}}',
        '{"id": "q2", "instruction": "i", "responses": {"a": "1"}}',
    ]
    (tmp_path / "items.jsonl").write_text("\n".join(lines), encoding="utf-8")
    form = Form(
        source="A JSONL file", file="items.jsonl", judges=(JUDGES[1],), contestants=(), items=0
    )
    html = show_coverage(planned(study_yaml(form), tmp_path))
    assert "Some answers are missing" in html


def test_a_study_without_a_judge_is_refused_with_the_reason():
    with pytest.raises(EvenhandError, match="names no judge"):
        planned(study_yaml(Form(judges=())), Path())


def test_the_choices_of_the_probe_set_are_its_own():
    categories, contestants, size = source_facts("Built-in probe set", "", Path())
    assert (len(categories), size) == (8, 64)
    assert contestants == ["flawed", "offtopic", "padded", "precise"]


def test_every_prompt_on_offer_says_its_protocol():
    labels = {name: label for label, name in prompt_choices()}
    assert "pairwise, overall-response" in labels["brief-letters"]
    assert "choice, selection-option" in labels["brief-options"]
