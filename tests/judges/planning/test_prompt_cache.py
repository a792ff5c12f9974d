"""Discounts for repeated starts of prompts: order of calls, forecast and bill."""

from itertools import pairwise
from pathlib import Path

import pytest

from judges.planning.forecast import (
    common_prefix_length,
    forecast_plan,
    min_cached_tokens,
    sort_asks_for_cache,
)
from judges.planning.plan import asks_of, make_plan, save_plan
from studies.domain import Ask, JudgeSpec, Price
from studies.spec.study import study_from_mapping
from studies.store.queries.run_costs import attempt_totals
from tests.judge_server import JudgeServer, PrefixCache
from tests.judges.small_studies import endpoint, run_through

LONG = "The question comes with a long text that every call for it repeats. " * 80


def long_study(folder: Path, url: str, items: int = 12, **more):
    lines = [
        f'{{"id": "q{n}", "instruction": "{n}: {LONG}", "responses": {{"x": "a{n}", "y": "b{n}"}}}}'
        for n in range(items)
    ]
    (folder / "long.jsonl").write_text("\n".join(lines))
    values = {
        "name": "long",
        "data": {"source": str(folder / "long.jsonl")},
        "judges": [endpoint(url)],
        "prompts": ["visit-reference-free"],
        "orders": "both",
        "repeats": 2,
        "concurrency": 8,
        **more,
    }
    return make_plan(study_from_mapping(values, folder=folder))


def ask(item: str, number: int, prompt: str = "p") -> Ask:
    return Ask(f"{item}{prompt}{number}", item, "j", prompt, ("x", "y"), ("A", "B"))


def test_the_first_call_of_each_start_comes_before_the_second_ones():
    block = [ask(item, n) for item in "abc" for n in range(3)]
    ordered = [one.key for one in sort_asks_for_cache(block)]
    assert ordered == ["ap0", "bp0", "cp0", "ap1", "bp1", "cp1", "ap2", "bp2", "cp2"]


def test_a_block_keeps_its_asks_and_the_random_order_of_its_items(tmp_path):
    asks = [p.ask for p in asks_of(long_study(tmp_path, "http://127.0.0.1:9/v1"))]
    ordered = sort_asks_for_cache(asks)
    assert sorted(a.key for a in ordered) == sorted(a.key for a in asks)
    planned = list(dict.fromkeys(a.item for a in asks))
    assert [a.item for a in ordered[:12]] == planned
    assert planned != sorted(planned, key=lambda item: int(item[1:])), "the plan is random"


def test_a_discount_is_known_from_the_preset_or_from_the_price():
    url = "http://127.0.0.1:9/v1"
    assert min_cached_tokens(JudgeSpec("j", "gpt", "https://api.openai.com/v1")) == 1024
    assert min_cached_tokens(JudgeSpec("j", "m", "https://api.deepseek.com/v1")) == 64
    assert min_cached_tokens(JudgeSpec("j", "m", url, price=Price(2, 8, cache_read=0.5))) == 1024
    assert min_cached_tokens(JudgeSpec("j", "m", url, price=Price(2, 8))) is None
    assert min_cached_tokens(JudgeSpec("j", "m", url, price=Price(2, 8, cache_read=2))) is None
    assert min_cached_tokens(JudgeSpec("j", "simulated")) is None


def test_cached_tokens_are_in_the_forecast_and_in_the_bill(store, tmp_path):
    with JudgeServer(latency=0.1, cache=PrefixCache(lag=0.1)) as server:
        plan = long_study(tmp_path, server.base_url)
        forecast = forecast_plan(plan)
        run_through(plan, store)
        totals = server.bill.totals
        dollars = float(totals.dollars)
        asked_for = totals.prompt
        cached = totals.cached
    (bill,) = attempt_totals(store, "long")
    assert bill.cached_tokens == cached
    assert bill.cost == pytest.approx(dollars)
    assert forecast.cached_tokens == pytest.approx(cached, rel=0.3)
    assert forecast.dollars is not None
    undiscounted = (asked_for * 2.0 + totals.completion * 8.0) / 1e6
    assert dollars < undiscounted
    assert cached > 0.4 * asked_for


def test_calls_with_the_same_start_are_not_made_at_the_same_moment(store, tmp_path):
    starts: list[str] = []

    def note(asked):
        starts.append(asked.text.partition(": The question")[0][-3:])
        return "Overall, Response A is better."

    with JudgeServer(latency=0.05, behaviour=note) as server:
        plan = long_study(tmp_path, server.base_url, concurrency=4)
        save_plan(plan, store)
        run_through(plan, store)
    first_wave = starts[:4]
    assert len(set(first_wave)) == 4
    assert not any(one == other for one, other in pairwise(starts[:12]))


def test_common_start_counts_the_characters_in_which_two_texts_agree():
    assert common_prefix_length("abcd", "abxd") == 2
    assert common_prefix_length("", "a") == 0
    assert common_prefix_length("same", "same") == 4
    assert common_prefix_length("same and more", "same") == 4
