from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from studies.store.lru_cache import LruCache


def test_what_nobody_asks_for_goes_first():
    kept: LruCache[str, int] = LruCache(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1  # now b has been waiting longest
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)
    assert len(kept) == 2
    kept.drop("a")
    kept.drop("nobody")
    assert (kept.get("a"), len(kept)) == (None, 1)


def test_a_value_put_again_is_the_new_one_and_counts_once():
    kept: LruCache[str, int] = LruCache(2)
    for number in range(5):
        assert kept.put("a", number) == number
    kept.put("b", 9)
    assert (kept.get("a"), kept.get("b"), len(kept)) == (4, 9, 2)


def test_many_threads_at_once_never_hold_more_than_it_may():
    kept: LruCache[int, int] = LruCache(8)

    def use(number: int) -> int:
        kept.put(number % 20, number)
        kept.get((number * 7) % 20)
        return len(kept)

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(use, range(4_000))) <= 8
