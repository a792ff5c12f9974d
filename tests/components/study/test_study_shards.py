"""A folder of Parquet shards as the data of a study: it opens, and what cannot be asked is said."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from components.study import draw as study_draw
from components.study.actions import apply
from components.study.bench import Bench, bench
from components.study.errands import open_verdicts, ready
from components.study.records import records_html
from components.study.sheet import START, View
from components.study.show_tab import show_plan_of
from studies.exports import export
from studies.shards import Outcome, write_shard
from studies.store import Store

NAME = "two judges"
OFFERED = "Open these verdicts as a study"
SIMULATED = START.replace("model: embedded", "model: simulated")


@pytest.fixture
def shards(judged: Store, tmp_path: Path) -> Path:
    """The finished study as a worker would have left it, with its items."""
    folder = tmp_path / "from-the-cluster"
    whole = [Outcome(j, position=place) for place, j in enumerate(judged.judgements(NAME))]
    write_shard(folder / "00000-a.parquet", whole[:100])
    write_shard(folder / "00001-b.parquet", whole[100:])
    export(judged, NAME, "items", folder / "items.jsonl")
    return folder


def typed(folder: Path, text: str = SIMULATED) -> tuple[str, Bench]:
    """What the form makes of the folder's path, typed."""
    entries = [{"n": 1, "set": "kind", "to": "file"}, {"n": 2, "set": "data.source", "to": folder}]
    made, _ = apply(text, View(), entries, folder.parent)
    return made, bench(made, folder.parent)


def test_a_folder_with_its_items_can_be_asked_about_and_opened(judged, shards):
    text, look = typed(shards)
    held = judged.counts(NAME)["planned"]
    html = records_html(look, View())
    assert f"and {held:,} recorded verdicts" in html and OFFERED in html
    assert "A run of this study asks its own judges" in html
    assert look.plan is not None and look.contestants == ["flawed", "offtopic", "padded", "precise"]
    store = Store(shards.parent / "evenhand.db")
    strip, run, *_ = show_plan_of(look, View(), store)
    assert "no plan yet" not in strip and run.interactive
    asked = ready(text, store)
    assert store.counts(asked.study.name)["pending"] > 0 and not asked.recorded
    store.close()


def test_its_verdicts_open_whole_and_give_the_numbers_of_the_study_they_come_from(judged, shards):
    text, look = typed(shards)
    assert len(look.items) < len(judged.items(NAME))  # the form's slice is not what is opened
    store = Store(shards.parent / "evenhand.db")
    name = open_verdicts(text, store)
    assert name == "from-the-cluster" and store.studies()[0].recorded
    assert store.counts(name, recorded=True)["recorded"] == judged.counts(NAME)["planned"]
    left, right = (
        made.frame(of)[["item", "judge", "status", "pick", "first", "second"]].astype(str)
        for made, of in ((store, name), (judged, NAME))
    )
    pd.testing.assert_frame_equal(left, right)
    store.close()


def test_without_questions_and_answers_nothing_can_be_asked_and_the_page_says_why(shards):
    (shards / "items.jsonl").unlink()
    text, look = typed(shards)
    assert look.plan is None and look.data_fault == ""
    said = study_draw.said(look, View())
    assert "from-the-cluster holds verdicts, but no questions and no answers" in said
    assert "put the items into items.jsonl beside the shards" in said
    store = Store(shards.parent / "evenhand.db")
    strip, run, *_ = show_plan_of(look, View(), store)
    assert "no plan yet" in strip and not run.interactive
    assert OFFERED in records_html(look, View())
    assert "This item has no answers" in study_draw.prompt_body(look, View())
    assert "There are no answers in these records." in study_draw.slice_profile(look, View())
    assert store.counts(open_verdicts(text, store), recorded=True)["recorded"] > 100
    store.close()


def test_a_folder_of_other_files_is_no_folder_of_shards(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    pd.DataFrame({"a": [1]}).to_parquet(other / "a.parquet")
    _, look = typed(other)
    assert "no format knows a folder with a.parquet" in look.data_fault
    assert OFFERED not in records_html(look, View())
