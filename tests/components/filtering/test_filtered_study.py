"""A reply that arrives while a study is being read never leaves old numbers in the cache."""

from __future__ import annotations

from components.filtering.filtered_study import FilteredStudy
from components.results.bias.computed import load_bias
from components.results.view_drawing import study_headline
from studies.spec.study import DataSpec, Study
from studies.store.store import Store
from tests.studies.small_items import ask, item, judged


def save(store: Store, comparisons: int) -> None:
    asks = [
        ask(f"{n}{order}", f"q{n}", order) for n in range(comparisons) for order in ("xy", "yx")
    ]
    store.save_study(
        Study(name="one", data=DataSpec(source="a")),
        [item(f"q{n}") for n in range(comparisons)],
        (),
        recorded=[judged(one, 0) for one in asks],
        plan_sha=str(comparisons),
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


def test_a_slow_reader_does_not_take_the_new_numbers_for_its_own(store):
    save(store, 2)
    slow = FilteredStudy(store, "one")
    assert len(slow.frame) == 4
    save(store, 6)
    assert load_bias(FilteredStudy(store, "one")).call_count == 12
    assert load_bias(slow).call_count == 4
