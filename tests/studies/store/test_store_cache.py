"""The memory cache of a store: versions, bytes, order of removal, simultaneous requests."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
import pandas as pd
import pytest

from studies.store.caching import store_cache
from studies.store.caching.memory_size import measure_memory
from studies.store.caching.store_cache import StoreCache

MB = 1 << 20


def block(megabytes: float) -> np.ndarray:
    return np.ones(int(megabytes * MB), np.uint8)


def fill(cache: StoreCache, name: str, megabytes: float = 1, version: int = 1) -> np.ndarray:
    return cache.compute_once(("study", name), version, lambda: block(megabytes))


def has(cache: StoreCache, name: str, version: int = 1) -> bool:
    made = []
    cache.compute_once(("study", name), version, lambda: made.append(1))
    return not made


def test_a_value_is_computed_once_per_version():
    cache, made = StoreCache(), []

    def work() -> int:
        made.append(1)
        return len(made)

    assert [cache.compute_once(("s", "x"), version, work) for version in (1, 1, 2, 2)] == [
        1, 1, 2, 2,
    ]  # fmt: skip
    assert len(cache) == 1  # the older version is gone


def test_the_least_recently_used_value_is_dropped_first():
    cache = StoreCache(most_bytes=3 * MB + 1000)
    for name in "abc":
        fill(cache, name)
    assert len(cache) == 3
    fill(cache, "a")  # now b is the oldest
    fill(cache, "d")
    assert len(cache) == 3
    assert has(cache, "a") and has(cache, "c") and has(cache, "d")
    assert not has(cache, "b")


def test_the_newest_value_is_kept_even_if_it_is_larger_than_the_limit():
    cache = StoreCache(most_bytes=MB)
    fill(cache, "small", 0.5)
    fill(cache, "large", 5)
    assert len(cache) == 1 and has(cache, "large")
    fill(cache, "small", 0.5)
    assert len(cache) == 1 and cache.bytes < MB


def test_a_buffer_shared_by_several_values_counts_once():
    cache, frame = StoreCache(), pd.DataFrame({"x": np.ones(MB, np.float64)})
    cache.compute_once(("s", "frame"), 1, lambda: frame)
    alone = cache.bytes
    assert 8 * MB <= alone < 9 * MB
    cache.compute_once(("s", "copy"), 1, lambda: frame.copy(deep=False))
    cache.compute_once(("s", "part"), 1, lambda: {"rows": frame["x"].to_numpy()[10:20]})
    assert cache.bytes < alone + 10_000
    cache.drop_study("s")
    assert (len(cache), cache.bytes) == (0, 0)


class LazyNumbers:
    @cached_property
    def large(self) -> np.ndarray:
        return block(4)


def test_a_value_that_grows_after_it_was_stored_is_measured_again():
    cache = StoreCache(most_bytes=6 * MB)
    lazy = cache.compute_once(("s", "lazy"), 1, LazyNumbers)
    assert cache.bytes < 10_000
    assert len(lazy.large) == 4 * MB
    assert cache.bytes > 4 * MB
    fill(cache, "a", 1)
    fill(cache, "b", 3)
    assert cache.bytes <= 6 * MB and not has(cache, "lazy")


class StandingClock:
    """The time, which passes only when the test says so."""

    def __init__(self) -> None:
        self.now = 10.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(("filler", "kept_for_a_second"), [(3.0, True), (3.4, False)])
def test_growth_is_seen_within_a_second_and_at_once_when_half_full(
    filler, kept_for_a_second, monkeypatch
):
    clock = StandingClock()
    monkeypatch.setattr(store_cache, "time", clock)
    cache = StoreCache(most_bytes=7 * MB)
    lazy = cache.compute_once(("s", "lazy"), 1, LazyNumbers)
    fill(cache, "filler", filler)
    assert len(lazy.large) == 4 * MB
    fill(cache, "next", 0.3)  # 4 + 3.0 + 0.3 MB are more than 7
    assert (len(cache) == 3) == kept_for_a_second
    clock.now += 1
    fill(cache, "last", 0.1)
    assert cache.bytes <= 7 * MB and not has(cache, "lazy")


def test_a_slow_measurement_is_not_repeated_at_once(monkeypatch):
    """A measurement takes an eighth of a second, so that 6.25 s pass before the next."""
    clock, measured = StandingClock(), []
    monkeypatch.setattr(store_cache, "time", clock)
    cache = StoreCache(most_bytes=20 * MB)

    class Counted:
        @property
        def __dict__(self) -> dict[str, object]:
            measured.append(clock.now)
            clock.now += 0.125
            return {}

    fill(cache, "filler", 12)  # more than half full: measured as often as allowed
    cache.compute_once(("s", "counted"), 1, Counted)
    assert len(measured) == 2  # as a new value, and as one that may have grown
    for number in range(40):
        clock.now += 0.6
        cache.compute_once(("s", "counted"), 1, Counted)
        cache.compute_once(("s", number), 1, lambda: 0)
    assert len(measured) == 2 + 40 // 11  # every 6.6 s


def test_what_was_put_or_found_since_the_last_measurement_is_measured(monkeypatch):
    monkeypatch.setattr(store_cache, "time", StandingClock())
    cache = StoreCache(most_bytes=100 * MB)
    fill(cache, "first", 0.1)
    old = cache.compute_once(("s", "lazy"), 1, LazyNumbers)
    assert len(old.large) == 4 * MB < cache.bytes
    other = cache.compute_once(("s", "other"), 1, LazyNumbers)
    for number in range(9):
        cache.compute_once(("s", number), 1, lambda: 0)
    assert cache.bytes < 5 * MB
    assert cache.find(("s", "other"), 1) is other and cache.find(("s", "other"), 2) is None
    assert cache.find(("s", "none"), 1) is None
    assert len(other.large) == 4 * MB and cache.bytes > 8 * MB


def test_dropping_a_study_leaves_the_others():
    cache = StoreCache()
    for study in ("one", "two"):
        cache.compute_once((study, "x"), 1, lambda: block(1))
    cache.drop_study("one")
    assert len(cache) == 1 and MB <= cache.bytes < 1.1 * MB


def test_simultaneous_requests_wait_for_one_computation():
    cache, made = StoreCache(), []

    def slow() -> int:
        made.append(1)
        time.sleep(0.1)
        return 7

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: cache.compute_once(("s", "x"), 1, slow), range(6)))
    assert (found, made) == ([7] * 6, [1])
    assert cache._computing == {}, "no lock is left"


def test_a_failed_computation_is_not_stored_and_blocks_nobody():
    cache = StoreCache()
    with pytest.raises(ZeroDivisionError):
        cache.compute_once(("s", "x"), 1, lambda: 1 // 0)
    assert cache.compute_once(("s", "x"), 1, lambda: 3) == 3


def test_a_computation_may_use_the_cache():
    cache = StoreCache()
    inner = lambda: cache.compute_once(("s", "inner"), 1, lambda: 2)  # noqa: E731
    assert cache.compute_once(("s", "outer"), 1, lambda: inner() + 1) == 3
    assert len(cache) == 2


def test_many_threads_stay_within_the_bytes():
    cache, most = StoreCache(most_bytes=8 * MB), []
    before = threading.active_count()

    def use(number: int) -> None:
        cache.compute_once(("s", number % 40), number % 3, lambda: block(1))
        most.append(cache.bytes)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(1_000)))
    assert len(most) == 1_000 and max(most) <= 8 * MB
    assert cache.bytes == pytest.approx(len(cache) * MB, rel=0.01)
    assert threading.active_count() <= before + 8


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("x" * MB, MB, 1.1 * MB),
        (["y" * 1000 + str(k) for k in range(10_000)], 10 * MB * 0.95, 11 * MB),
        ({k: float(k) for k in range(100_000)}, 5 * MB, 20 * MB),
        (pd.DataFrame({"c": pd.Categorical(["a", "b"] * (MB // 2))}), MB, 1.2 * MB),
        (np.array(["z" * 50 + str(k) for k in range(10_000)], object), 0.9 * MB, 1.6 * MB),
        (pd.Series(["q" * 100 + str(k) for k in range(10_000)]), MB, 2 * MB),
    ],
)
def test_sizes_are_close_to_the_memory_that_is_needed(value, low, high):
    assert low <= measure_memory(value).total <= high


def test_excluded_objects_classes_and_functions_count_nothing():
    class Holder:
        def __init__(self) -> None:
            self.owner, self.kind, self.call = LazyNumbers(), LazyNumbers, has

    holder = Holder()
    assert len(holder.owner.large) == 4 * MB
    assert measure_memory(holder).total > 4 * MB
    assert measure_memory(holder, (LazyNumbers,)).total < 2_000


def test_readers_do_not_wait_while_a_value_is_measured(monkeypatch):
    """Measuring a frame takes long, and longer while runs and other readers need the processor."""
    cache, begun, finish = StoreCache(), threading.Event(), threading.Event()
    cache.compute_once(("s", "small"), 1, lambda: "small")

    def measure(value, excluded):
        if value == "large":
            begun.set()
            assert finish.wait(10)
        return measure_memory(value, excluded)

    monkeypatch.setattr(store_cache, "measure_memory", measure)
    writer = threading.Thread(target=cache.compute_once, args=(("s", "large"), 1, lambda: "large"))
    writer.start()
    assert begun.wait(10)
    found = []
    reader = threading.Thread(target=lambda: found.append(cache.find(("s", "small"), 1)))
    reader.start()
    reader.join(5)
    waits = reader.is_alive()
    finish.set()
    writer.join(10)
    assert found == ["small"] and not waits
    assert cache.find(("s", "large"), 1) == "large" and cache.bytes > 0
