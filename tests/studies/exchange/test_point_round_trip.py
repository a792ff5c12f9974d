"""Verdicts on single answers after export and import: pass/fail, named levels, rubrics, labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from metrics.labels.label_sections import pass_fail_section, scores_section
from studies.domain import (
    FAIL,
    GOLD,
    PASS,
    AnswerLabel,
    Ask,
    Item,
    Judgement,
    Usage,
    Verdict,
    assign_recorded_keys,
)
from studies.exchange.export import EXPORT_FORMATS, write_export
from studies.exchange.recorded_studies import import_verdicts
from studies.files.table_formats.spreadsheet_guard import FLAT_COLUMNS
from studies.frames.arrangement import Arrangement
from studies.sources.load import load_source
from studies.spec.study import DataSpec, Study, dump_study, parse_study
from studies.store.store import Store

RUBRIC = ("Correctness", "Tone of voice")
ARRANGEMENTS = {
    "pass-fail": [Arrangement((FAIL, PASS)), Arrangement((PASS, FAIL))],
    "scale": [Arrangement(("1", "2", "3")), Arrangement(("3", "1", "2"), ("B", "A", "C"))],
    "named": [Arrangement(("poor", "good")), Arrangement(("good", "poor"))],
    "rubric": [Arrangement(("1", "2"), (), RUBRIC), Arrangement(("2", "1"), (), RUBRIC[::-1])],
    "probable": [Arrangement(("1", "2", "3"))],
}
SCORES = {
    "pass-fail": (1.0,), "scale": (2.0,), "named": (2.0,), "rubric": (1.5, 2.0, 1.0),
    "probable": (3.0,),
}  # fmt: skip


def judgements() -> list[Judgement]:
    """Verdicts of every kind, with noise-floor repeats and unusable replies."""
    found = []
    for prompt, arrangements in ARRANGEMENTS.items():
        for k in range(4):
            for offered in arrangements:
                shares = (0.1, 0.2, 0.7) if prompt == "probable" else ()
                ask = Ask("", f"q{k}", "=judge", prompt, ("model | x"[:5],), offered.labels,
                          orders=len(arrangements))  # fmt: skip
                verdict = Verdict(scores=SCORES[prompt], label_probabilities=shares,
                                  label_mass=0.9 if shares else None)  # fmt: skip
                common = {"rule": "r", "reply": "-yes\n", "usage": Usage(7, 2), "cost": 0.25,
                          "seconds": 1.5, "model": "m", "time": 12.5, "detail": "d"}  # fmt: skip
                found.append(Judgement(ask, "ok", verdict, **common))  # type: ignore[arg-type]
                noisy = replace(ask, repeat=1, noise=True)
                found.append(Judgement(noisy, "unreadable", None, **common))  # type: ignore[arg-type]
    return assign_recorded_keys("out", found)


@pytest.fixture
def exported(store: Store, tmp_path: Path) -> Store:
    labels = (AnswerLabel("model", PASS, GOLD), AnswerLabel("model", 2.0, "human:ann"))
    items = [
        Item(f"q{k}", f"question {k}", {"model": f"answer {k}"}, labels=(labels[k % 2],))
        for k in range(4)
    ]
    store.save_study(Study("out"), items, (), recorded=judgements(), only_recorded=True)
    write_export(store, "out", "items", tmp_path / "items.jsonl")
    return store


def sorted_rows(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    names = sorted(set(frame.columns) - {"study", "seq"})
    return sorted(
        tuple(map(str, row)) for row in zip(*(frame[name] for name in names), strict=True)
    )


@pytest.mark.parametrize("form", ["jsonl", "parquet", "csv"])
def test_points_come_back_with_labels_and_measures(
    exported: Store, tmp_path: Path, form: str
) -> None:
    path = tmp_path / f"judgements{EXPORT_FORMATS[form].suffix}"
    assert write_export(exported, "out", form, path) == len(judgements())
    spec = DataSpec(path.name, files={"items": "items.jsonl"})
    import_verdicts(exported, spec, "in", folder=tmp_path)
    before, after = exported.frame("out"), exported.frame("in")
    assert sorted_rows(after) == sorted_rows(before)
    for section in (pass_fail_section, scores_section):
        assert section(after) == section(before) and section(before)
    again = [replace(one, ask=replace(one.ask, key="")) for one in exported.judgements("in")]
    assert again == [replace(one, ask=replace(one.ask, key="")) for one in judgements()]


def test_flat_tables_of_older_versions_get_their_orders_from_the_rows(
    exported: Store, tmp_path: Path
) -> None:
    write_export(exported, "out", "csv", tmp_path / "new.csv")
    older = pd.read_csv(tmp_path / "new.csv", dtype=str, keep_default_na=False)
    older[list(FLAT_COLUMNS[:-4])].to_csv(tmp_path / "old.csv", index=False)
    found = load_source(DataSpec("old.csv"), tmp_path)
    assert found.format == "evenhand-csv"
    wanted = {prompt: len(arrangements) for prompt, arrangements in ARRANGEMENTS.items()}
    assert {one.ask.prompt: one.ask.orders for one in found.judgements} == wanted


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [("status", "fine", "status"), ("slot", "4", "slot"), ("scores", "", "no verdict"),
     ("repeat", "often", "often")],
)  # fmt: skip
def test_wrong_cells_of_a_flat_table_name_the_line(
    exported: Store, tmp_path: Path, column: str, value: str, problem: str
) -> None:
    write_export(exported, "out", "csv", tmp_path / "flat.csv")
    table = pd.read_csv(tmp_path / "flat.csv", dtype=str, keep_default_na=False)
    table.loc[0, column] = value
    table.to_csv(tmp_path / "flat.csv", index=False)
    with pytest.raises(Exception, match=problem) as error:
        load_source(DataSpec("flat.csv"), tmp_path)
    assert "flat.csv" in str(error.value)


def test_the_study_file_keeps_what_arranges_points() -> None:
    text = (
        "name: s\ndata: {source: items.jsonl}\njudges: [{name: j, model: simulated}]\n"
        "prompts: [rubric, pass-fail]\noptions: crossed\ncriteria_order: rotations\n"
        'criteria: "Tone: it is kind\\nLength: two sentences"\n'
    )
    study = parse_study(text, "s")
    again = parse_study(dump_study(study), "s")
    assert dump_study(again) == dump_study(study)
    assert (again.options, again.criteria_order) == ("crossed", "rotations")
    assert again.criteria == study.criteria and len(again.criteria.splitlines()) == 2
