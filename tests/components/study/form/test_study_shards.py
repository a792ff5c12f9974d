"""Tests of a folder of Parquet shards as study data: opened verdicts, runs, missing items."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from components.study import form_html as study_draw
from components.study.file.lenient_study import START_YAML, FormState
from components.study.file.yaml_edit import put_value, reset_to_source
from components.study.form.data_step.records_report import records_html
from components.study.form_changes import apply_changes
from components.study.form_updates_tab import plan_updates
from components.study.jobs import import_recorded_verdicts, save_plan_for_run
from components.study.plan.cost_preview import forecast_by_judge
from components.study.plan.study_preview import StudyPreview, build_preview
from studies.exchange.export import write_export
from studies.files.shards import AskOutcome, write_shard
from studies.spec.study import parse_study
from studies.store.store import Store
from tests.page_words import says

NAME = "two judges"
OFFERED = "Open these verdicts as a study"
SIMULATED = START_YAML.replace("model: embedded", "model: simulated")


@pytest.fixture
def shards(judged: Store, tmp_path: Path) -> Path:
    """Shards and items of the finished study, as written by a worker."""
    folder = tmp_path / "from-the-cluster"
    whole = [AskOutcome(j, position=place) for place, j in enumerate(judged.judgements(NAME))]
    write_shard(folder / "00000-a.parquet", whole[:100])
    write_shard(folder / "00001-b.parquet", whole[100:])
    write_export(judged, NAME, "items", folder / "items.jsonl")
    return folder


def typed(folder: Path, text: str = SIMULATED) -> tuple[str, StudyPreview]:
    """Study text and preview after the folder's path is typed into the form."""
    entries = [{"n": 1, "set": "kind", "to": "file"}, {"n": 2, "set": "data.source", "to": folder}]
    made, _ = apply_changes(text, FormState(), entries, folder.parent)
    return made, build_preview(made, folder.parent)


def test_a_folder_with_its_items_can_be_asked_about_and_opened(judged, shards):
    text, look = typed(shards)
    held = judged.status_counts(NAME)["planned"]
    html = records_html(look, FormState())
    assert f"and {held:,} recorded verdicts" in html and OFFERED in html
    assert says(html, "run", "calls the judges")
    assert look.plan is not None and look.contestants == ["flawed", "offtopic", "padded", "precise"]
    store = Store(shards.parent / "evenhand.db")
    _, strip, run, *_ = plan_updates(look, FormState(), store, forecast_by_judge(look.plan), {})
    assert "Nothing to run yet" not in strip and run.visible
    asked = save_plan_for_run(text, store)
    assert store.status_counts(asked.study.name)["pending"] > 0 and not asked.recorded
    store.close()


def test_its_verdicts_open_whole_and_give_the_numbers_of_the_study_they_come_from(judged, shards):
    text, _ = typed(shards)
    text = put_value(text, ("data", "count"), 3)  # the form's slice is not what is opened
    store = Store(shards.parent / "evenhand.db")
    form = reset_to_source(START_YAML, str(shards))  # begun on the Study tab, without a name
    store.save_study(parse_study(form, "study.yaml", store.folder), (), ())
    name = import_recorded_verdicts(text, store)
    assert name == "from-the-cluster" and [line.recorded for line in store.studies()] == [True]
    assert (
        store.status_counts(name, recorded=True)["recorded"]
        == judged.status_counts(NAME)["planned"]
    )
    left, right = (
        made.frame(of)[["item", "judge", "status", "pick", "first", "second"]].astype(str)
        for made, of in ((store, name), (judged, NAME))
    )
    pd.testing.assert_frame_equal(left, right)
    store.close()


def test_without_questions_and_answers_nothing_can_be_asked_and_the_page_says_why(shards):
    (shards / "items.jsonl").unlink()
    text, look = typed(shards)
    assert look.plan is None and look.data_error == ""
    assert says(look.plan_error, "put", "items.jsonl beside", "files")
    store = Store(shards.parent / "evenhand.db")
    _, strip, run, *_ = plan_updates(look, FormState(), store, None, {})
    assert says(strip, "contain verdicts, but no", "questions") and not run.visible
    assert "Open the verdicts" in strip
    assert OFFERED in records_html(look, FormState())
    read = look.records.verdict_count
    assert says(strip, f"{read:,} recorded verdict", "read") and "questions read" not in strip
    # No comparison is shown: none can be judged. The profile promises no answers.
    assert "not judged" not in study_draw.render_records(look, FormState())
    assert "all answers" not in study_draw.render_slice_profile(look, FormState())
    opened = FormState(panel="prompts")
    assert says(study_draw.render_prompt_body(look, opened), "item", "no answers")
    assert says(study_draw.render_slice_profile(look, FormState()), "These records contain", "no")
    assert (
        store.status_counts(import_recorded_verdicts(text, store), recorded=True)["recorded"] > 100
    )
    store.close()


def test_a_folder_of_other_files_is_no_folder_of_shards(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    pd.DataFrame({"a": [1]}).to_parquet(other / "a.parquet")
    _, look = typed(other)
    assert says(look.data_error, "other", "no known format", "columns", "a")
    assert OFFERED not in records_html(look, FormState())
