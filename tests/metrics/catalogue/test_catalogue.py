"""The catalogue of measures: every number of the JSON has a record, and outlets follow from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results.bias.bias_matrix import list_matrix_measures, position_paper_table
from components.results.cards.measure_table import card_measures, show_measures
from components.results.cards.report_card import ReportCard
from components.results.contrasts.measure_families import FAMILIES
from components.study.plan.demo_studies import OPTIONS_STUDY, PAIRS_STUDY
from evenhand.audit_cards import UnsavedRaters, UnsavedStudy, judge_cards
from metrics.catalogue import records
from metrics.catalogue.record import DECLARED, MeasureRecord, declare
from metrics.drift.night_scores import night_outcomes_by_stream
from metrics.estimation.measures import GroupedFrame, Measure, MeasureTally, build_tally
from metrics.summary.remedy_section import RemedyInputs
from metrics.summary.summary import summarise_frame
from studies.exchange.recorded_studies import import_verdicts
from studies.store.store import Store
from tests.demo_store import copy_demo
from tests.metrics.record_paths import find_record
from tests.page_words import pattern
from tests.samples import sample

DOCS = Path(__file__).parents[3] / "docs" / "statistics.md"


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store(copy_demo(tmp_path_factory.mktemp("catalogue") / "store.db"))
    yield store
    store.close()


def estimate_paths(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of all estimates of a summary; contrasts are differences of declared measures."""
    if isinstance(value, dict):
        if {"value", "low", "high"} <= value.keys():
            yield path
        for key, one in value.items():
            if not key.startswith("contrast"):
                yield from estimate_paths(one, (*path, str(key)))
    elif isinstance(value, list):
        for one in value:
            yield from estimate_paths(one, (*path, "[]"))


def few_items(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["item"].isin(sorted(frame["item"].unique())[:10])]


def without_record(summary: dict[str, Any]) -> set[str]:
    return {".".join(path) for path in estimate_paths(summary) if not find_record(path)}


@pytest.mark.parametrize("name", sample([PAIRS_STUDY, OPTIONS_STUDY], PAIRS_STUDY))
def test_every_number_of_the_json_has_a_record(demos: Store, name: str) -> None:
    summary = summarise_frame(few_items(demos.frame(name)), quick=True)
    assert len(list(estimate_paths(summary))) > 30
    assert without_record(summary) == set()


@pytest.mark.extra
@pytest.mark.records
def test_every_number_on_people_has_a_record(records: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "prd.db")
    import_verdicts(store, records / "prd", "PRD")
    summary = summarise_frame(store.frame("PRD"), quick=True)
    store.close()
    assert "agreement" in summary and without_record(summary) == set()


def test_a_number_outside_the_catalogue_is_found() -> None:
    estimate = {"value": 1.0, "low": None, "high": None}
    assert without_record({"position": {"j": {"p": {"invented": estimate}}}}) == {
        "position.j.p.invented"
    }


def test_names_and_definitions_are_declared_once() -> None:
    all_records = list(records.RECORDS.values())
    names = [one.name for one in all_records]
    assert len(set(names)) == len(names)
    definitions = [(one.definition, one.paths) for one in all_records]
    assert len(set(definitions)) == len(definitions)
    for one in all_records:
        assert one.definition and not one.definition.endswith("."), one.key
        assert one.how.endswith("."), one.key
        assert one.name[0].isupper() or one.name[0] in "κα", one.key


def test_a_second_declaration_of_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match=pattern("consistency", "twice")):
        declare(**vars(records.RECORDS["consistency"]))


def test_docs_show_the_tables_of_the_catalogue() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert "\n".join(records.measure_table_lines()).strip() in text, (
        "run python -m metrics.catalogue.records and put its output into docs/statistics.md"
    )


def test_chance_of_accuracy_depends_on_ties_and_options() -> None:
    accuracy = records.RECORDS["accuracy"]
    assert accuracy.chance() == 0.5
    assert accuracy.chance(2, ties=0.2) == pytest.approx(0.4)
    assert accuracy.chance(4, ties=0.0) == 0.25


def test_chance_of_consistency_depends_on_ties_and_options() -> None:
    """Summed over all outcomes of random verdicts: A, B or a tie in each of two orders."""
    consistency = records.RECORDS["consistency"]
    assert (consistency.chance(), consistency.chance(3)) == (0.5, pytest.approx(1 / 9))
    chances = {"x": 0.3, "y": 0.3, "tie": 0.4}
    same = sum(p * q for a, p in chances.items() for b, q in chances.items() if a == b)
    assert consistency.chance(2, ties=0.4) == pytest.approx(same)
    assert consistency.chance(2, ties=1.0) == 1


def _every_reply(evidence: GroupedFrame) -> MeasureTally:
    return build_tally(evidence.frame, evidence.frame["repeat"] == 0, 1)


@pytest.fixture
def new_measure(monkeypatch: pytest.MonkeyPatch) -> MeasureRecord:
    """A measure that only this test declares."""
    record = MeasureRecord(
        key="first_calls",
        name="First calls",
        question="nudges",
        definition="replies to a call that is no repeat",
        how="Interval: Wilson at the effective number of items.",
        paths=("position.*.*.first_calls", "position_pooled.first_calls"),
        measure=Measure("first_calls", "share", _every_reply),
        outlets=frozenset({"matrix", "card", "library", "paper"}),
        families=("Behaviour",),
    )
    monkeypatch.setitem(DECLARED, record.key, record)
    return record


def test_a_new_measure_is_on_the_cards_of_page_and_library(
    demos: Store, new_measure: MeasureRecord
) -> None:
    frame = few_items(demos.frame(PAIRS_STUDY))
    raters = UnsavedRaters(UnsavedStudy("s", judgements=frame))
    card = ReportCard(raters, raters.filtered_rater_names[0])
    (line,) = [one for one in card_measures(card) if one.record is new_measure]
    assert line.estimate.value == pytest.approx((card.rows["repeat"] == 0).mean())
    assert (line.label, line.description) == ("First calls", new_measure.description)
    drawn = show_measures(card)
    assert "First calls" in drawn and line.value_text in drawn
    measured = SimpleNamespace(remedies=RemedyInputs())
    study: Any = SimpleNamespace(
        name="s", frame=frame, known_answer_source="none", measured=measured
    )
    printed = next(judge_cards(study))
    assert printed.measures["First calls"] == line.estimate


def test_a_card_takes_names_and_links_from_the_records(demos: Store) -> None:
    frame = few_items(demos.frame(OPTIONS_STUDY))
    raters = UnsavedRaters(UnsavedStudy("s", judgements=frame))
    card = ReportCard(raters, raters.filtered_rater_names[0])
    lines = card_measures(card)
    unlisted = {
        "accuracy",
        "own_family_outsiders",
        "agreement_with_ties",
    }  # shown only where they are known
    assert {one.key for one in records.records_listed_by("card", 5)} - unlisted <= {
        line.record.key for line in lines
    }
    for line in lines:
        assert line.description.startswith(line.record.description)
        by_people = "unlike" in line.record.selection  # nobody voted here
        assert bool(line.link) == (bool(line.record.selection) and not by_people)
    assert lines[-1].record.key == "unusable"


def test_a_new_measure_is_watched_by_the_gate(demos: Store, new_measure: MeasureRecord) -> None:
    frame = few_items(demos.frame(PAIRS_STUDY))
    before = {stream.kind for stream in night_outcomes_by_stream(frame)}
    assert before == {"accuracy", "coverage", "consistency"}
    gated = replace(new_measure, outlets=frozenset({"gate"}))
    DECLARED[gated.key] = gated
    nights = {
        s: one for s, one in night_outcomes_by_stream(frame).items() if s.kind == "first_calls"
    }
    assert nights and all(set(one.values()) == {"60"} for one in nights.values())


def test_a_new_measure_is_in_json_matrix_and_paper(
    demos: Store, new_measure: MeasureRecord
) -> None:
    frame = few_items(demos.frame(PAIRS_STUDY))
    summary = summarise_frame(frame, quick=True)
    value = summary["position_pooled"]["first_calls"]["value"]
    assert value == pytest.approx((frame["repeat"] == 0).mean())
    assert "First calls" in list_matrix_measures(2)
    table = position_paper_table(FilteredStudy(demos, PAIRS_STUDY))
    assert table is not None and "First calls" in table.head
    assert "| First calls | % of replies to a call that is no repeat." in "\n".join(
        records.measure_table_lines()
    )
    assert new_measure in records.records_of_family("Behaviour") and "Behaviour" in FAMILIES
