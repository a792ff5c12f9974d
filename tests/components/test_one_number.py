"""A number that several places print is the same number: views, cards, comparisons, report, tables
for a paper, JSON and library text are read and compared by measure, judge and prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results.cards.card_measures import CardMeasures
from components.results.overview import panels
from components.study.plan.demo_studies import (
    LARGER_STUDY,
    OPTIONS_STUDY,
    PAIRS_STUDY,
    SINGLE_STUDY,
    TWINS_STUDY,
    import_demo_studies,
)
from metrics.catalogue.answer_records import AGREEMENT
from studies.domain import Estimate
from studies.exchange.recorded_studies import import_verdicts
from studies.store.store import Store
from tests.printed_numbers import PrintedNumbers, read_study, several
from tests.voted_studies import six_items


@pytest.fixture
def voted(store: Store) -> FilteredStudy:
    six_items().save(store)
    return FilteredStudy(store, "voted")


def test_a_study_with_votes_prints_each_number_once(voted: FilteredStudy) -> None:
    numbers = read_study(voted)
    assert numbers.contradictions == []
    # On the five pairs with a majority of people, one call of `first` in two is right.
    places = numbers.found["agreement", "first", "p"]
    assert all(low <= 0.5 <= high for low, high in places.values())
    for outlet in ("Summary: judges", "Agreement: majority", "card of first", "report", "JSON",
                   "library", "Summary: first compared with good"):  # fmt: skip
        assert outlet in places, f"{outlet} does not print the agreement; found: {[*places]}"


@pytest.mark.extra
def test_a_second_definition_is_found(
    voted: FilteredStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = CardMeasures.measure_by_rater
    monkeypatch.setattr(
        CardMeasures,
        "measure_by_rater",
        lambda self, record: (
            {
                self.rater: self.agreement_share_with_people(self.rater)
            }  # ties of people count: 5 of 12, not 1 of 2
            if record.key == AGREEMENT.key
            else own(self, record)
        ),
    )
    monkeypatch.setattr(panels, "flip_share_from_consistency", lambda _: Estimate(0.123, 0.1, 0.2))
    lines = read_study(voted).contradictions
    assert {line.split(" / ")[0] for line in lines} == {"agreement", "conflict"}
    (line,) = [one for one in lines if one.startswith("agreement")]
    assert "first" in line and "0.4170" in line and "0.5000" in line


def test_rounded_numbers_agree_if_one_value_is_rounded_to_both() -> None:
    numbers = PrintedNumbers()
    for place, text in (("a", "75.8 %"), ("b", "76 %")):
        numbers.add(place, "consistency", ("j", "p"), text)
    assert numbers.contradictions == []
    numbers.add("c", "consistency", ("j", "p"), "75.7 %")
    assert len(numbers.contradictions) == 1


@pytest.mark.extra
@pytest.mark.parametrize(
    ("name", "least"),
    [
        (PAIRS_STUDY, 60),
        (OPTIONS_STUDY, 50),
        (LARGER_STUDY, 90),
        (SINGLE_STUDY, 8),
        (TWINS_STUDY, 12),
    ],
)
def test_a_demo_prints_each_number_once(module_store: Store, name: str, least: int) -> None:
    import_demo_studies(module_store)
    numbers = read_study(FilteredStudy(module_store, name))
    assert numbers.contradictions == []
    assert len(list(several(numbers))) >= least, "numbers are no longer found in several places"


@pytest.mark.extra
@pytest.mark.records
def test_real_records_print_each_number_once(module_store: Store, records: Path) -> None:
    import_verdicts(module_store, records / "prd", "PRD")
    numbers = read_study(FilteredStudy(module_store, "PRD"))
    assert numbers.contradictions == []
    places = numbers.found["agreement", "gpt-4", "prd"]
    assert len(places) >= 10 and all(low <= 0.75766423 <= high for low, high in places.values())
    assert len(list(several(numbers))) >= 80
