"""The ledger equals the provider's bill, and the budget is reserved before each call."""

import asyncio
import math
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
import yaml

from judges.engine.run_state import RunSettings
from judges.judge_errors import PlanError
from judges.models.interface import JudgeCall
from judges.money.costs import (
    PRICES_FILE,
    Ledger,
    cost_of,
    listed_price,
    listed_prices,
    price_of,
    reply_token_cap,
    require_prices_for_budget,
    worst_case_cost,
)
from judges.planning.plan import save_plan
from studies.domain import JudgeSpec, Price, Usage
from studies.store.queries.run_costs import attempt_totals, study_spending
from studies.store.store import Store
from tests.judge_server import Fault, JudgeServer, PrefixCache, Reply, first_attempt, sometimes
from tests.judges.small_studies import QUICK, endpoint, engine, judgements, run_through, study_plan
from tests.page_words import pattern, says


def test_a_price_list_is_read_without_its_dates(tmp_path):
    path = tmp_path / "prices.yaml"
    path.write_text("models: {m: {input: 1.5, output: 2, cache_read: 1, checked: 2025-01-02}}")
    assert listed_prices(path) == {"m": Price(1.5, 2, 1)}
    empty = tmp_path / "empty.yaml"
    empty.write_text("models:\n")
    assert listed_prices(empty) == {}


def test_every_listed_price_states_the_day_on_which_it_was_checked():
    entries = yaml.safe_load(PRICES_FILE.read_text(encoding="utf-8"))["models"]
    assert set(entries) == set(listed_prices())
    assert all(isinstance(entry["checked"], date) for entry in entries.values())
    for price in listed_prices().values():
        assert price.cache_read is None or 0 < price.cache_read < price.input < price.output


@pytest.mark.parametrize(
    "own",
    [
        "http://127.0.0.1:8000/v1",
        "http://localhost:11434/v1",
        "http://[::1]:8000/v1",
        "http://10.1.2.3/v1",
        "http://192.168.0.7:8000/v1",
        "http://gpu-box:8000/v1",
        "http://models.internal/v1",
        "https://gpu.local/v1",
    ],
)
def test_a_list_price_does_not_apply_to_a_server_of_ones_own(own):
    public = JudgeSpec("j", "gpt-4o", "https://api.openai.com/v1")
    assert price_of(public) == listed_prices()["gpt-4o"]
    at_home = replace(public, endpoint=own)
    assert price_of(at_home) is None, "unknown, neither free nor the list price"
    with pytest.raises(PlanError, match="price"):
        require_prices_for_budget(1.0, [at_home])
    stated = replace(at_home, price=Price(0.0, 0.0))
    assert price_of(stated) == Price(0.0, 0.0)
    assert price_of(replace(public, endpoint="https://8.8.8.8/v1")) is not None


def test_cached_and_written_tokens_have_prices_of_their_own():
    # 1000 prompt tokens: 600 plain at 2, 300 cached at 1, 100 written at 3; 50 out at 8:
    # 1200 + 300 + 300 + 400 = 2200 millionths.
    price = Price(2.0, 8.0, cache_read=1.0, cache_write=3.0)
    assert cost_of(Usage(1000, 50, 300, 100), price) == pytest.approx(0.0022)
    # Without prices of their own they cost what input costs: 2000 + 400.
    assert cost_of(Usage(1000, 50, 300, 100), Price(2.0, 8.0)) == pytest.approx(0.0024)


def test_tokens_that_are_counted_apart_from_the_prompt_never_earn_money():
    # Some endpoints do not count cached tokens among the prompt's: 10 new at 2, 500 read at 1, 5
    # out at 8 dollars a million. 10 - 500 new ones would be paid back.
    assert cost_of(Usage(10, 5, cached=500), Price(2.0, 8.0, 1.0)) == pytest.approx(5.6e-4)
    # All 500 tokens of the prompt were cached: 500 x $1 + 5 x $8 per million.
    assert cost_of(Usage(500, 5, cached=500), Price(2.0, 8.0, 1.0)) == pytest.approx(5.4e-4)


def test_an_unknown_price_or_an_untold_usage_is_unknown_never_zero():
    assert cost_of(Usage(1000, 50), None) is None
    assert cost_of(Usage(), Price(2.0, 8.0)) is None
    assert cost_of(Usage(), Price(0.0, 0.0)) == 0, "a free call, whatever its tokens"
    assert cost_of(Usage(), Price(0.0, 0.0, 0.0, 1.0)) is None
    assert cost_of(Usage(1000), Price(2.0, 8.0)) is None, "its reply was not counted"
    assert cost_of(Usage(1000), Price(2.0, 0.0)) == pytest.approx(0.002)
    assert price_of(JudgeSpec("j", "nobody-knows-it", "http://x")) is None
    assert price_of(JudgeSpec("j", "simulated")) == Price(0.0, 0.0)


@pytest.mark.parametrize("writes", [False, True])
def test_the_ledger_equals_the_servers_bill_to_the_cent_retries_and_cache_included(
    writes, store, tmp_path
):
    rules = [
        first_attempt(Fault("empty_content")),  # billed, told, settles as `empty`
        sometimes(Fault("server_error"), 0.2),  # not billed
        sometimes(Fault("length"), 0.2),  # billed twice: the cap is doubled
    ]
    rules[0].chance = 0.1
    with JudgeServer(rules=rules, cache=PrefixCache(writes=writes)) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=150, concurrency=8)
        run = run_through(plan, store)
        totals = server.bill.totals
    assert totals.untold == 0
    assert totals.cached > 0
    assert totals.billed > 150, "some were billed twice"
    dollars = float(totals.dollars)
    assert run.snapshot().spent == pytest.approx(dollars, abs=1e-9)
    assert sum(account.cost for account in attempt_totals(store, "small")) == pytest.approx(dollars)
    assert sum(j.cost or 0 for j in judgements(store)) == pytest.approx(dollars)
    assert study_spending(store, "small") == pytest.approx(dollars)
    calls = sum(account.calls for account in attempt_totals(store, "small"))
    assert calls == totals.calls, "every attempt is in the ledger"


def test_a_call_that_told_no_usage_is_counted_as_unknown(store, tmp_path):
    rules = [first_attempt(Fault("cut_body")), sometimes(Fault("no_usage"), 0.5)]
    with JudgeServer(rules=rules) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=20)
        run = run_through(plan, store)
        totals = server.bill.totals
    told = float(totals.dollars) - totals.untold_pico_dollars / 1e12
    assert run.snapshot().spent == pytest.approx(told)
    assert run.snapshot().unknown_usage == totals.untold


def test_a_judge_without_a_price_is_asked_and_its_calls_are_counted(store, tmp_path):
    with JudgeServer() as server:
        judge = {"name": "judge", "model": "nobody-knows", "base_url": server.base_url}
        run = run_through(study_plan(tmp_path, [judge], items=4), store)
    assert run.snapshot().spent == 0
    assert run.snapshot().unpriced == 4
    assert all(j.cost is None for j in judgements(store))


def test_a_budget_with_an_unknown_price_is_refused_before_anything_is_asked(store, tmp_path):
    with JudgeServer() as server:
        judge = {"name": "judge", "model": "nobody-knows", "base_url": server.base_url}
        plan = study_plan(tmp_path, [judge], items=4, budget_usd=1)
        with pytest.raises(PlanError, match=pattern("price", "not known")):
            run_through(plan, store)
        assert server.bill.totals.calls == 0


def test_a_budget_is_never_exceeded_and_the_run_says_so(store, tmp_path):
    # A call costs about 0.001 dollars; 20 tokens of cap keep the worst case near.
    with JudgeServer(latency=(0.001, 0.02)) as server:
        judge = endpoint(server.base_url, max_tokens=20)
        plan = study_plan(tmp_path, [judge], items=100, concurrency=16, budget_usd=0.02)
        run = run_through(plan, store)
        dollars = float(server.bill.totals.dollars)
    assert run.state == "stopped"
    assert run.reason.startswith("budget reached")
    assert 0.012 < dollars <= 0.02
    counts = store.status_counts("small")
    assert counts["pending"] + counts["ok"] == 100


def test_a_second_run_does_not_get_the_budget_anew(store, tmp_path):
    with JudgeServer() as server:
        judge = endpoint(server.base_url, max_tokens=20)
        plan = study_plan(tmp_path, [judge], items=60, budget_usd=0.01)
        run_through(plan, store)
        again = run_through(plan, store)
        dollars = float(server.bill.totals.dollars)
    assert dollars <= 0.01
    assert again.snapshot().spent_before + again.snapshot().spent == pytest.approx(dollars)


def test_two_runs_at_once_share_one_budget(store, tmp_path):
    # Two engines on two handles of one file, as two processes: each alone would spend it all.
    other = Store(store.path)
    with JudgeServer(latency=(0.001, 0.02)) as server, engine() as one, engine() as two:
        judge = endpoint(server.base_url, max_tokens=20)
        plan = study_plan(tmp_path, [judge], items=150, concurrency=16, budget_usd=0.02)
        save_plan(plan, store)
        runs = [one.start(plan, store, settings=QUICK), two.start(plan, other, settings=QUICK)]
        assert all(run.wait(60) for run in runs)
        dollars = float(server.bill.totals.dollars)
    other.close()
    assert {run.reason[:14] for run in runs} == {"budget reached"}
    assert 0.012 < dollars <= 0.02
    assert sum(run.snapshot().spent for run in runs) == pytest.approx(dollars)


def test_calls_that_were_in_flight_when_a_process_died_count_against_the_budget(store, tmp_path):
    # Ten calls told what they used, d dollars at most. Three more were under way at the kill, two
    # were lost, and two were refused, which costs nothing: 5 may have been billed. With a budget
    # of what the ten cost and 5 d, nothing more may be asked.
    with JudgeServer() as server:
        judge = endpoint(server.base_url, max_tokens=20)
        first = run_through(study_plan(tmp_path, [judge], items=10), store)
        dearest = max(j.cost for j in judgements(store))
        keys = [ask.key for ask in study_plan_asks(study_plan(tmp_path, [judge], items=15), store)]
        dead = "1-dead"
        ways = [(None, None)] * 3 + [(1.0, "connection lost")] * 2 + [(1.0, "HTTP 500")] * 2
        store.writer.run(
            lambda c: (
                c.execute("UPDATE runs SET owner=? WHERE id=?", (dead, first.id)),
                c.execute("UPDATE attempts SET owner=?", (dead,)),
                c.executemany(
                    "INSERT INTO attempts(key, owner, started, ended, outcome) VALUES (?,?,0,?,?)",
                    [(keys[0], dead, *way) for way in ways],
                ),
            )
        )
        budget = first.snapshot().spent + 5 * dearest + 1e-6
        plan = study_plan(tmp_path, [judge], items=15, budget_usd=budget)
        again = run_through(plan, store)
        assert server.bill.totals.calls == 10, "not one more"
    assert again.reason.startswith("budget reached")
    assert says(again.reason, "5 calls", "billed")


def study_plan_asks(plan, store):
    """The asks of a plan that nothing stored answers."""
    save_plan(plan, store)
    return [ask for _, ask in store.pending_asks("small", "judge", -1, 100)]


def test_a_judge_that_costs_nothing_goes_on_when_the_budget_is_gone(store, tmp_path):
    with JudgeServer() as server:
        judges = [
            endpoint(server.base_url, "dear", max_tokens=20),
            {"name": "free", "model": "simulated", "accuracy": 0.8},
        ]
        plan = study_plan(tmp_path, judges, items=40, budget_usd=0.005)
        run = run_through(plan, store)
    assert run.reason.startswith("budget reached")
    assert sum(j.ask.judge == "free" and j.status == "ok" for j in judgements(store)) == 40


def test_an_untold_call_is_feared_at_its_worst_by_the_budget(store, tmp_path):
    # Every reply is lost on its way, each may have been billed: no more than the budget allows.
    with JudgeServer(rules=[sometimes(Fault("cut_body"), 1.0)]) as server:
        judge = endpoint(server.base_url, max_tokens=20)
        plan = study_plan(tmp_path, [judge], items=100, budget_usd=0.01)
        run_through(plan, store, settings=RunSettings(attempts=2, first_backoff=0.01))
        assert float(server.bill.totals.dollars) <= 0.01


DOLLARS = Price(2.0, 8.0)
"""Dollars per million tokens."""


def costed_call(text: str, *, images: int = 0, cap: int = 100, **parameters: Any) -> JudgeCall:
    """A call of one message; the prompt and its inputs are not used by the ledger."""
    content: Any = text
    if images:
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        content = [{"type": "text", "text": text}, *[picture] * images]
    judge = JudgeSpec("judge", "m", endpoint="https://host.example/v1", max_tokens=cap)
    unused: Any = None
    messages = [{"role": "user", "content": content}]
    return JudgeCall("key", judge, unused, unused, messages, parameters)


@pytest.mark.parametrize(
    ("parameters", "cap"),
    [({}, 100), ({"max_tokens": 7}, 7), ({"max_completion_tokens": 9}, 9),
     ({"max_tokens": 7, "max_completion_tokens": 9}, 9), ({"max_tokens": None}, 100)],
)  # fmt: skip
def test_the_longest_reply_is_what_the_call_allows_else_what_the_judge_allows(parameters, cap):
    assert reply_token_cap(costed_call("x", **parameters)) == cap


def test_the_worst_case_is_every_byte_every_image_and_the_longest_reply():
    # 1000 bytes at 0.5 tokens, and 16 for the message: 516 at 2; 100 out at 8: 1032 + 800.
    assert worst_case_cost(costed_call("x" * 1000), DOLLARS, 0.5) == pytest.approx(1832e-6)
    # Two bytes a letter: 500 letters weigh as much.
    assert worst_case_cost(costed_call("é" * 500), DOLLARS, 0.5) == pytest.approx(1832e-6)
    # Two images of 2000 tokens each: 8000 more.
    pictured = costed_call("x" * 1000, images=2)
    assert worst_case_cost(pictured, DOLLARS, 0.5) == pytest.approx(9832e-6)
    # Every token may have to be written to a cache that costs 3: 1548 + 800.
    dear = Price(2.0, 8.0, cache_write=3.0)
    assert worst_case_cost(costed_call("x" * 1000), dear, 0.5) == pytest.approx(2348e-6)
    # A cheaper cache is no reason to reserve less.
    cheap = Price(2.0, 8.0, cache_read=0.1, cache_write=1.0)
    assert worst_case_cost(costed_call("x" * 1000), cheap, 0.5) == pytest.approx(1832e-6)


@pytest.mark.parametrize(
    ("price", "worst"),
    [(None, 0.0), (Price(0.0, 0.0), 0.0), (Price(2.0, 0.0), 1032e-6), (Price(0.0, 8.0), 800e-6)],
)
def test_only_what_has_a_price_is_reserved(price, worst):
    assert worst_case_cost(costed_call("x" * 1000), price, 0.5) == pytest.approx(worst)


def test_reservations_are_given_back():
    ledger = Ledger(budget=0.004)
    assert ledger.has_no_reserved_calls and ledger.dollars_spent == 0 and ledger.remaining == 0.004
    call = costed_call("x" * 1000)  # at most 0.001832 dollars: two fit, three do not
    assert ledger.reserve(call, DOLLARS) == pytest.approx(0.001832)
    assert not ledger.has_no_reserved_calls
    assert ledger.reserve(call, DOLLARS) == pytest.approx(0.001832)
    assert ledger.remaining == pytest.approx(0.004 - 2 * 0.001832)
    assert ledger.reserve(call, DOLLARS) is None
    assert ledger.remaining == pytest.approx(0.004 - 2 * 0.001832), "nothing was reserved"
    # 100 tokens in, 10 out: 280 millionths. The rest of the reservation is free again.
    assert ledger.settle("judge", 0.001832, Usage(100, 10), DOLLARS) == pytest.approx(280e-6)
    assert ledger.remaining == pytest.approx(0.004 - 0.001832 - 280e-6)
    assert not ledger.has_no_reserved_calls
    assert ledger.settle("judge", 0.001832, Usage(100, 10), DOLLARS) == pytest.approx(280e-6)
    assert ledger.has_no_reserved_calls
    assert ledger.spent == {"judge": pytest.approx(560e-6)}
    assert ledger.dollars_spent == pytest.approx(560e-6)
    assert ledger.remaining == pytest.approx(0.004 - 560e-6)


def test_a_call_that_fits_the_budget_exactly_is_made():
    call = costed_call("x" * 1000)
    assert Ledger(budget=0.001832).reserve(call, DOLLARS) == pytest.approx(0.001832)
    assert Ledger(budget=0.001831).reserve(call, DOLLARS) is None


def test_without_a_budget_every_call_is_made_and_a_free_one_is_not_open():
    ledger = Ledger()
    assert ledger.remaining == math.inf
    assert ledger.reserve(costed_call("x"), Price(0.0, 0.0)) == 0.0
    assert ledger.reserve(costed_call("x"), None) == 0.0
    assert ledger.has_no_reserved_calls
    spent = Ledger(budget=0.0)
    assert spent.reserve(costed_call("x"), Price(0.0, 0.0)) == 0.0, "a free call needs no budget"
    assert spent.reserve(costed_call("x"), DOLLARS) is None


def test_an_unknown_cost_counts_as_spent_only_where_it_may_have_been_billed():
    ledger = Ledger(budget=1.0)
    for billed, left in ((False, 1.0), (True, 1 - 0.001832)):
        reserved = ledger.reserve(costed_call("x" * 1000), DOLLARS)
        assert reserved == pytest.approx(0.001832)
        assert ledger.settle("j", reserved, Usage(), DOLLARS, maybe_billed=billed) is None
        assert ledger.remaining == pytest.approx(left)
        assert ledger.unknown_usage["j"] == billed
    assert ledger.spent == {} and not ledger.unpriced
    assert ledger.settle("k", 0.0, Usage(10, 1), None) is None
    assert dict(ledger.unpriced) == {"k": 1} and ledger.unknown_usage["k"] == 0


def test_the_spending_of_other_runs_is_taken_off_the_budget():
    ledger = Ledger(budget=1.0, spent_by_others=0.25)
    assert ledger.remaining == 0.75
    # Three calls of others at an unknown cost: each as much as their dearest.
    ledger.unknown_by_others, ledger.max_cost_by_others = 3, 0.1
    assert ledger.remaining == pytest.approx(0.45)
    # Without a known cost: each as much as the dearest call of this run may cost. In flight, too.
    ledger.max_cost_by_others = 0.0
    assert ledger.remaining == 0.75
    reserved = ledger.reserve(costed_call("x" * 1000), DOLLARS)
    assert reserved is not None
    ledger.reserve(costed_call("x"), DOLLARS)
    ledger.settle("j", reserved, Usage(0, 0), DOLLARS)
    small = (16.5 * 2 + 800) / 1e6
    assert ledger.remaining == pytest.approx(0.75 - small - 3 * 0.001832)
    ledger.in_flight_by_others = 2
    assert ledger.remaining == pytest.approx(0.75 - small - 5 * 0.001832)


def test_the_tokens_of_a_byte_are_raised_by_what_a_reply_reports_never_lowered():
    ledger, call = Ledger(budget=1.0), costed_call("x" * 1000)

    def reserve_input() -> float:
        """Prompt tokens that the ledger now fears for the call, without those of the message."""
        reserved = ledger.reserve(call, Price(1.0, 0.0))
        assert reserved is not None
        return reserved * 1e6 - 16

    assert reserve_input() == pytest.approx(500)
    ledger.calibrate_tokens_per_byte(
        call, Usage(216, 1)
    )  # 200 of 1000 bytes: 0.22 with the tenth on top
    assert reserve_input() == pytest.approx(500)
    ledger.calibrate_tokens_per_byte(
        costed_call("x" * 1000, images=1), Usage(5016, 1)
    )  # the image's tokens
    ledger.calibrate_tokens_per_byte(call, Usage())
    ledger.calibrate_tokens_per_byte(costed_call(""), Usage(500, 1))
    assert reserve_input() == pytest.approx(500)
    ledger.calibrate_tokens_per_byte(call, Usage(1016, 1))  # one token a byte, and a tenth
    assert reserve_input() == pytest.approx(1100)
    ledger.calibrate_tokens_per_byte(call, Usage(816, 1))
    assert reserve_input() == pytest.approx(1100)


def test_a_settlement_wakes_each_waiting_call_once():
    async def act() -> list[bool]:
        ledger = Ledger(budget=1.0)
        waiting = [asyncio.ensure_future(ledger.wait_for_release_or_control()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        ledger.settle("j", 0.0, Usage(1, 1), DOLLARS)
        late = asyncio.ensure_future(ledger.wait_for_release_or_control())
        await asyncio.gather(*waiting[1:])
        done = [late.done()]
        ledger.wake_waiters()
        await late
        return [*done, late.done()]

    assert asyncio.run(act()) == [False, True]


def test_a_budget_needs_a_price_for_every_judge_and_no_budget_needs_none():
    priced = JudgeSpec("a", "m", "https://host.example/v1", price=DOLLARS)
    unknown = JudgeSpec("b", "m", "https://host.example/v1")
    require_prices_for_budget(1.0, [priced])
    require_prices_for_budget(None, [priced, unknown])
    for judges in ([priced, unknown], [unknown, priced]):
        with pytest.raises(PlanError, match="'b'"):
            require_prices_for_budget(0.0, judges)
    assert price_of(priced) == DOLLARS and listed_price("m", "https://host.example/v1") is None


def test_the_expected_total_is_that_of_the_judgements_so_far(store, tmp_path):
    with JudgeServer(behaviour=lambda _: Reply("Overall, Response A is better.")) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=10)
        run = run_through(plan, store, settings=QUICK)
    snapshot = run.snapshot()
    assert snapshot.expected_dollars == pytest.approx(snapshot.spent)
