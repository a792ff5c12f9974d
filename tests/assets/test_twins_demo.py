"""The recorded study of twins: texts that are made anew, findings that its README states."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from components.study.plan.demo_studies import DEMO_FOLDER, TWINS_STUDY
from evenhand.auditing import twin_table
from evenhand.auditing.twin_table import twins
from evenhand.recorded_demo import demo_study
from judges.planning.plan import asks_of, make_plan
from metrics.twins.twin_effects import twin_effects
from studies.spec.study import load_study

README = (DEMO_FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_plan_of_the_study_file_is_what_was_recorded() -> None:
    """A changed text of a twin would change the key of its calls."""
    plan = make_plan(load_study(DEMO_FOLDER / "twins.yaml"))
    with gzip.open(DEMO_FOLDER / "twins.jsonl.gz", "rt", encoding="utf-8") as lines:
        recorded = {json.loads(line)["ask"]["key"] for line in lines}
    assert {one.ask.key for one in asks_of(plan)} == recorded and len(recorded) == 3406


@pytest.fixture(scope="module")
def found():
    return twins(demo_study("twins")).table.set_index("family")


def test_the_preference_for_padding_appears(found) -> None:
    for family in ("frame", "twice"):
        assert found.finding[family] == "shown" and found.adjusted_low[family] > 0
    assert found.adjusted["longer-3"] > 0 and found.finding["longer-3"] == "not shown"


def test_the_padded_answers_win_against_equally_correct_ones() -> None:
    """Counted from the recorded lines alone; the interval is that of the README."""
    with gzip.open(DEMO_FOLDER / "twins.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    pairs = [row for row in rows if set(row["ask"]["shown"]) == {"padded", "precise"}]
    won = [row["ask"]["shown"][row["verdict"]["pick"]] == "padded" for row in pairs]
    assert len(won) == 128 and sum(won) == 99
    assert "77 % [69, 84] of 128 verdicts" in " ".join(README.split())


def test_controls_lose_and_the_readme_has_the_numbers(found) -> None:
    assert (found.adjusted_high[["cut", "number", "other"]] < 0).all()
    words = " ".join(README.split())
    for family in ("frame", "thinking", "attack-order", "twice", "hedged", "markdown", "longer-3"):
        row = found.loc[family]
        text = f"{100 * row.adjusted:+.0f} [{100 * row.adjusted_low:.0f}, "
        text += f"{100 * row.adjusted_high:.0f}]"
        assert text.replace("-", "−") in words, family


def test_the_study_is_a_demo_of_every_store() -> None:
    assert demo_study("twins").name == TWINS_STUDY
    assert Path(DEMO_FOLDER / "twins.yaml").read_text("utf-8").count(TWINS_STUDY) == 1


def test_a_prompt_with_the_name_of_the_judge_takes_no_effects_of_another(monkeypatch) -> None:
    """Judge p has the prompts p and q: the sentence about q does not speak of p."""
    study = demo_study("twins")
    one = twin_effects(study.measured.twins, study.frame)[0]
    effects = [replace(one, judge="p", prompt=prompt) for prompt in ("p", "q")]
    monkeypatch.setattr(twin_table, "twin_effects", lambda *_: effects)
    monkeypatch.setattr(
        twin_table, "twin_headline", lambda listed: [effect.prompt for effect in listed]
    )
    assert twins(study).sentences == {("p", "p"): ["p"], ("p", "q"): ["q"]}
