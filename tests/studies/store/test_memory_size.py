"""Memory of cached values: what an object holds counts with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from studies.store.caching.memory_size import MAX_DEPTH, measure_memory


@dataclass
class Plain:
    held: object


@dataclass(slots=True)
class Slotted:
    held: object


def test_the_attributes_of_an_object_count():
    texts = [f"{k:0100}" for k in range(50)]
    for made in (Plain, Slotted):
        empty, full = measure_memory(made(None)), measure_memory(made(texts))
        assert full.small - empty.small > 50 * 100
        array = measure_memory(made(np.zeros(10_000)))
        assert array.total >= 80_000


def test_arrays_of_a_sampled_list_count_with_all_elements():
    """200 of 400 arrays are measured; views count with the array that they show a part of."""
    arrays = [np.zeros(1000) for _ in range(400)]
    sampled, whole = measure_memory(arrays), measure_memory(arrays[:200])
    assert sum(whole.buffers.values()) == 200 * 8000
    assert sampled.buffers == {} and sampled.small > 400 * 8000 > 0.9 * sampled.small
    view = measure_memory(np.zeros(1000)[:10])
    assert sum(view.buffers.values()) == 8000


def test_nothing_below_the_deepest_level_counts():
    nested: list[object] = ["x" * 10_000]
    for _ in range(MAX_DEPTH - 2):
        nested = [nested]
    assert measure_memory(nested).small > 10_000 > measure_memory([[nested]]).small


def test_a_set_that_another_thread_changes_counts_without_its_elements():
    changing = {f"{k}" * 1000 for k in range(9)}

    class Changed(dict):  # type: ignore[type-arg]
        def items(self):
            yield ("a", 1)
            changing.add("b")
            raise RuntimeError("changed size during iteration")

    assert 0 < measure_memory(Changed(a=1)).small < 2000
