"""A name never replaces a study that has replies."""

from __future__ import annotations

import pytest

from components.study.file.lenient_study import NEW_STUDY_NAME
from components.study.jobs import save_plan_for_run
from judges.engine.engine import Engine
from judges.planning.plan import load_stored_plan
from studies.errors import StudyError

TEXT = """
name: {name}
data: {{source: probe, count: {count}, seed: {seed}}}
contestants: [precise, flawed]
judges: [{{name: fair, model: simulated, accuracy: 1}}]
prompts: [brief-letters]
"""


def run_to_end(store, name: str) -> int:
    Engine().start(load_stored_plan(store, name), store).finished.wait(60)
    return store.status_counts(name)["planned"]


def study_text(name: str, count: int, seed: int = 1) -> str:
    return TEXT.format(name=name, count=count, seed=seed)


def test_another_design_under_the_same_name_is_refused_with_a_free_name(store):
    name = save_plan_for_run(study_text("Mine", 4), store).study.name
    asked = run_to_end(store, name)
    with pytest.raises(StudyError, match=rf"{asked} replies of.*'Mine 2'"):
        save_plan_for_run(study_text("Mine", 2, seed=9).replace("precise", "padded"), store)
    assert store.status_counts("Mine")["planned"] == asked


def test_a_larger_design_extends_the_study(store):
    save_plan_for_run(study_text("Mine", 2), store)
    asked = run_to_end(store, "Mine")
    assert save_plan_for_run(study_text("Mine", 64), store).study.name == "Mine"
    counts = store.status_counts("Mine")
    assert counts["planned"] - counts["pending"] == asked


def test_a_new_form_gets_the_next_number(store):
    save_plan_for_run(study_text(NEW_STUDY_NAME, 4), store)
    asked = run_to_end(store, NEW_STUDY_NAME)
    other = study_text(NEW_STUDY_NAME, 4).replace("flawed", "padded")
    assert save_plan_for_run(other, store).study.name == f"{NEW_STUDY_NAME} 2"
    assert save_plan_for_run(study_text(NEW_STUDY_NAME, 4), store).study.name == NEW_STUDY_NAME
    assert store.status_counts(NEW_STUDY_NAME)["planned"] == asked


def test_a_study_without_replies_may_be_redesigned(store):
    save_plan_for_run(study_text("Draft", 4), store)
    assert save_plan_for_run(study_text("Draft", 2, seed=5), store).study.name == "Draft"
