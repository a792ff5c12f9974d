"""Recorded studies: saved once, and replaced when their file has changed."""

from __future__ import annotations

from pathlib import Path

from studies.domain import Ask, Item, Judgement, Verdict, assign_recorded_keys
from studies.exchange.export import write_export
from studies.exchange.recorded_studies import save_recorded_once
from studies.spec.study import Study
from studies.store.store import Store

ITEMS = [Item("q1", "why?", {"x": "so", "y": "thus"})]


def test_a_file_is_saved_as_a_recorded_study_once(store: Store, tmp_path: Path) -> None:
    made = [
        Judgement(Ask("", "q1", judge, "p", ("x", "y"), ("A", "B")), "ok", Verdict(0))
        for judge in ("j", "k")
    ]
    recorded = assign_recorded_keys("source", made)
    store.save_study(Study("source"), ITEMS, (), recorded=recorded, only_recorded=True)
    path = tmp_path / "log.jsonl"
    assert write_export(store, "source", "jsonl", path) == 2
    assert save_recorded_once(store, Study("copy"), ITEMS, path)
    assert not save_recorded_once(store, Study("copy"), ITEMS, path), "the same file"
    summary = store.studies()[0]
    assert (summary.name, summary.recorded, summary.planned, summary.judged) == ("copy", True, 2, 2)
    first = path.read_text("utf-8").splitlines(keepends=True)[0]
    path.write_text(first, encoding="utf-8")
    assert save_recorded_once(store, Study("copy"), ITEMS, path), "another content"
    assert [judgement.ask.judge for judgement in store.judgements("copy")] == ["j"]
