"""Memory of cached values: what an object holds counts with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from studies.store.caching.memory_size import measure_memory


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
