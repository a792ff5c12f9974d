"""The study files we ship: each runs from the command line, and a second run makes no call."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from judges.__main__ import main
from judges.planning.plan import asks_of, make_plan
from metrics.__main__ import main as metrics_main
from studies.errors import SourceError
from studies.sources.load import load_source
from studies.spec.presets import PRESETS
from studies.spec.study import DataSpec, dump_study, load_study, parse_study
from studies.store.store import Store
from tests.example_studies import ExampleStudy, load_examples
from tests.samples import sample

ALL = {example.path.stem: example for example in load_examples()}
SIMULATED = [name for name, example in ALL.items() if not example.uses_embedded_judge]
FEW = 3
"""Items of a shortened run: enough to show that the file works."""


MEASURED = {
    "creation-mmbench-probe": "reward",
    "grade-score-probe": "grade",
    "visit-bench-probe": "elo",
}
"""What the command for numbers must find in a study of each paper; it takes seconds."""


def shortened(example: ExampleStudy, folder: Path) -> Path:
    """The same study on a few items, as a file of its own."""
    values: dict[str, Any] = yaml.safe_load(example.path.read_text("utf-8"))
    values["data"] = {**values.get("data", {}), "count": FEW}
    path = folder / example.path.name
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def attempts(store: Path) -> int:
    opened = Store(store)
    count = opened.read("SELECT count(*) FROM attempts").fetchone()[0]
    opened.close()
    return int(count)


def test_there_is_a_study_of_every_protocol_for_both_kinds_of_judges_and_for_real_records() -> None:
    for preset in PRESETS:
        kinds = {
            example.uses_embedded_judge
            for example in ALL.values()
            if example.study.preset == preset
        }
        assert kinds == {False, True}, preset
    for name in ("visit-bench", "grade-score", "mt-bench", "arena-hard"):
        real = [e for e in ALL.values() if e.study.preset == name and e.needs_records]
        assert {example.uses_embedded_judge for example in real} == {False, True}, name


@pytest.mark.parametrize("name", ALL)
def test_a_study_we_ship_says_no_more_than_it_must_and_is_read_back(name: str) -> None:
    example = ALL[name]
    assert load_study(example.path) == parse_study(
        dump_study(example.study), folder=example.path.parent
    )
    written = yaml.safe_load(example.path.read_text("utf-8"))
    assert set(written) <= {"name", "preset", "data", "contestants", "judges", "prompts",
                            "labels", "unrelated", "pairing", "new", "baseline",
                            "reference_games"}  # fmt: skip
    assert example.path.read_text("utf-8").startswith("# "), "it says what it is"


@pytest.mark.parametrize("name", sample(SIMULATED, "visit-bench-probe"))
def test_a_study_we_ship_runs_and_its_second_run_makes_no_call(
    name: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if ALL[name].needs_records:
        monkeypatch.setenv("EVENHAND_RECORDS", str(request.getfixturevalue("records")))
    file, store = shortened(ALL[name], tmp_path), tmp_path / "store.db"
    assert main(["run", str(file), "--store", str(store)]) == 0
    planned = len(list(asks_of(make_plan(load_study(file)))))
    assert planned > 0 and attempts(store) == planned
    assert main(["run", str(file), "--store", str(store)]) == 0
    assert attempts(store) == planned
    if name in MEASURED:
        capsys.readouterr()
        assert metrics_main([str(store), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["counts"]["planned"] == planned and MEASURED[name] in found


@pytest.mark.extra
def test_an_embedded_study_is_small_enough_to_wait_for(
    monkeypatch: pytest.MonkeyPatch, records: Path
) -> None:
    monkeypatch.setenv("EVENHAND_RECORDS", str(records))
    for name, example in ALL.items():
        if example.uses_embedded_judge:
            plan = make_plan(example.study)
            most = 12 if example.needs_records else 2
            assert len(plan.items) <= most, name
            assert sum(1 for _ in asks_of(plan)) <= 36, name


def test_records_that_nobody_told_of_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVENHAND_RECORDS", raising=False)
    with pytest.raises(SourceError, match=r"run: export EVENHAND_RECORDS=/path/to/records"):
        make_plan(ALL["visit-bench"].study)


def test_no_other_variable_can_be_read_out_of_a_study_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOME_SECRET", "sk-0123456789")
    with pytest.raises(SourceError, match=r"\$\{SOME_SECRET\} is not supported") as error:
        load_source(DataSpec(source="${SOME_SECRET}/items.jsonl"), tmp_path)
    assert "sk-" not in str(error.value)


def test_the_folder_of_the_records_is_in_no_stored_study(
    monkeypatch: pytest.MonkeyPatch, records: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("EVENHAND_RECORDS", str(records))
    file, store = shortened(ALL["grade-score-oasst"], tmp_path), tmp_path / "store.db"
    assert main(["run", str(file), "--store", str(store)]) == 0
    opened = Store(store)
    text = opened.read("SELECT yaml FROM studies").fetchone()[0]
    opened.close()
    assert "${EVENHAND_RECORDS}/oasst" in text and str(records) not in text
    assert os.fsencode(str(records)) not in store.read_bytes()
