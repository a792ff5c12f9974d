"""A reply that arrives while a study is being read never leaves old numbers in the cache."""

from __future__ import annotations

from typing import Any

from components.filtering import filtered_study
from components.filtering.filtered_study import FilteredStudy
from components.results.bias.computed import load_bias
from components.results.view_drawing import study_headline
from studies.domain import JudgeSpec
from studies.spec.study import DataSpec, Study
from studies.store.store import Store
from tests.studies.small_items import ask, item, judged


def save(store: Store, comparisons: int, **settings: Any) -> None:
    asks = [
        ask(f"{n}{order}", f"q{n}", order) for n in range(comparisons) for order in ("xy", "yx")
    ]
    store.save_study(
        Study(name="one", data=DataSpec(source="a"), **settings),
        [item(f"q{n}") for n in range(comparisons)],
        (),
        recorded=[judged(one, 0) for one in asks],
        plan_sha=f"{comparisons} {settings}",
        only_recorded=True,
    )


def test_numbers_of_an_old_frame_are_not_kept_for_the_new_version(store):
    save(store, 0)
    slow = FilteredStudy(store, "one")
    assert len(slow.frame) == 0  # read before the replies arrive
    save(store, 6)
    assert load_bias(slow).call_count == 0
    assert load_bias(FilteredStudy(store, "one")).call_count == 12
    assert "no verdicts" not in study_headline(store, "one")


def test_effects_of_old_twins_are_not_kept_for_the_new_version(store, monkeypatch):
    """Six comparisons arrive between the reading of the twins and that of the version."""
    save(store, 0)
    read = store.frame

    def read_slowly(name: str, twins: str = "without"):
        rows = read(name)
        if twins == "only" and not len(rows):
            save(store, 6)
        return rows

    monkeypatch.setattr(store, "frame", read_slowly)
    monkeypatch.setattr(filtered_study, "twin_effects", lambda twins, _: [len(twins)])
    assert FilteredStudy(store, "one").twin_effects == []
    assert FilteredStudy(store, "one").twin_effects == [12]


def test_a_study_saved_while_it_is_read_leaves_no_old_settings_in_its_frame(store, monkeypatch):
    save(store, 2)
    read = store.study

    def read_slowly(name: str) -> Study:
        found = read(name)
        monkeypatch.setattr(store, "study", read)
        save(store, 2, families={"x": "X"}, judges=(JudgeSpec("j", "embedded", family="Y"),))
        return found

    monkeypatch.setattr(store, "study", read_slowly)
    store.frame("one")
    assert "X" in set(store.frame("one")["family_0"])


def test_a_slow_reader_does_not_take_the_new_numbers_for_its_own(store):
    save(store, 2)
    slow = FilteredStudy(store, "one")
    assert len(slow.frame) == 4
    save(store, 6)
    assert load_bias(FilteredStudy(store, "one")).call_count == 12
    assert load_bias(slow).call_count == 4
