"""Caps of this Space's key hold against many sessions, crashes and study files.

The spending is checked against the bill of the judge server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.inspect.load_comparison import _rebuild_sent_messages, stored_prompt
from judges.engine.public_engine import PublicEngine, RunLimits
from judges.engine.run import Run
from judges.judge_errors import PlanError
from judges.models.interface import JudgeCall
from judges.money.host_key import (
    CallReservation,
    HostKey,
    RunAllowance,
    load_host_key_settings,
    off_switch_file,
)
from judges.planning.plan import load_stored_plan, make_plan, plan_for_current_visitor, save_plan
from judges.rendering.messages import PromptInputs
from judges.rendering.prompt import load_prompt
from studies.domain import Ask, Item, JudgeSpec, Price
from studies.errors import AccessDenied, EvenhandError
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import Visitor, as_visitor, new_secret, visitor_from_secret
from studies.spec.study import study_from_mapping
from studies.store.store import Store
from tests.attacks.attack_list import PUBLIC
from tests.attacks.attack_log import attempt
from tests.judge_server import JudgeServer
from tests.judges.engine.test_endpoint_failures import Disk
from tests.judges.small_studies import PRICE, QUICK, write_items
from tests.page_words import pattern, says
from tests.waiting import settled, until

KEY = "LENT_BY_THE_HOUSE"
ABUSE = "the owner's key, abused"
LIMITS = RunLimits(asks=100, runs_per_visitor=1, total_runs=60, concurrency=16)
DAY = 86_400.0


def lent(url: str, **more: float) -> HostKey:
    caps = {"run_usd": 10.0, "visitor_usd": 10.0, "day_usd": 10.0, **more}
    return HostKey(KEY, url, {"judge": Price(**PRICE)}, **caps)


@pytest.fixture
def guarded(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[VisitorStore]:
    monkeypatch.setenv(KEY, "the-owners-own-key")
    made = VisitorStore(store)
    yield made
    made.close()


def test_a_call_for_which_nothing_was_reserved_is_not_settled(tmp_path: Path) -> None:
    async def refuse(work: object) -> Any:
        raise AssertionError("written")

    async def settle() -> None:
        allowance = RunAllowance(tmp_path, lent("https://a.org"), "v", "r", "judge", refuse)
        for billed in (True, False):
            await CallReservation().settle(allowance, 0.5, billed=billed)
            await CallReservation(3).settle(None, 0.5, billed=billed)
        assert allowance.has_no_reserved_calls

    asyncio.run(settle())


@contextmanager
def shared(
    store: VisitorStore, lent_key: HostKey | None, limits: RunLimits = LIMITS
) -> Iterator[PublicEngine]:
    engine = PublicEngine(store, limits, lent_key)
    try:
        yield engine
    finally:
        engine.close()


def study(
    store: VisitorStore, folder: Path, name: str, url: str, items: int = 4, **judge: Any
) -> str:
    """Asks of nobody else: what two visitors ask alike is asked once, and would flatter us."""
    path = write_items(folder / f"{name}.jsonl", items, words=len(name))
    path.write_text(path.read_text().replace("question", f"{name} asks"))
    spec = {"name": "lent", "model": "judge", "base_url": url, "api_key_env": KEY,
            "max_tokens": 64, **judge}  # fmt: skip
    values = {
        "name": name, "data": {"source": str(path)}, "judges": [spec], "orders": "one",
        "prompts": ["visit-reference-free"],
    }  # fmt: skip
    save_plan(make_plan(study_from_mapping(values, folder=folder)), store)
    return name


def start(engine: PublicEngine, store: VisitorStore, name: str, wall: Any = None) -> Run:
    settings = replace(QUICK, wall_clock=wall) if wall else QUICK
    return engine.start(load_stored_plan(store, name), store, settings=settings)


def visitors(count: int) -> list[Visitor]:
    return [visitor_from_secret(new_secret()) for _ in range(count)]


def test_fifty_sessions_at_once_do_not_pass_the_cap_by_one_call(
    guarded: VisitorStore, tmp_path: Path
) -> None:
    # A call may cost about half a cent here, and 200 are wanted: 6 cents are not enough.
    cap = 0.06
    with JudgeServer(latency=(0.005, 0.03)) as server:
        people = visitors(50)
        for number, who in enumerate(people):
            with as_visitor(who):
                study(guarded, tmp_path, f"visitor {number}", server.base_url)
        with shared(guarded, lent(server.base_url, day_usd=cap)) as engine:

            def session(number: int) -> Run:
                with as_visitor(people[number]):
                    return start(engine, guarded, f"visitor {number}")

            with ThreadPoolExecutor(50) as pool:
                runs = list(pool.map(session, range(50)))
            assert all(run.wait(60) for run in runs)
        told = float(server.bill.totals.dollars)
        calls = server.bill.totals.calls
    with attempt(ABUSE, PUBLIC, *(f"session {number}" for number in range(50))):
        assert cap / 4 < told <= cap
        assert 0 < calls < 200
    refused = [run for run in runs if "all visitors today" in run.reason]
    assert refused, "no run was stopped by the cap of the day"
    assert all(run.state in ("done", "failed") for run in runs)
    booked = guarded.unrestricted.read(
        "SELECT sum(COALESCE(spent, reserved)) FROM allowance"
    ).fetchone()
    assert booked[0] == pytest.approx(told)


def test_a_full_disk_pauses_a_run_that_the_house_pays_for_and_loses_nothing(
    guarded: VisitorStore, tmp_path: Path
) -> None:
    disk = Disk(guarded.unrestricted)
    (who,) = visitors(1)
    with JudgeServer(latency=0.02) as server, as_visitor(who):
        study(guarded, tmp_path, "one", server.base_url, items=60)
        with shared(guarded, lent(server.base_url)) as engine:
            run = start(engine, guarded, "one")
            until(lambda: run.snapshot().done >= 10)
            disk.fill()
            until(lambda: run.snapshot().state == "paused")
            assert says(run.snapshot().reason, "disk", "full")
            settled(lambda: server.bill.totals.calls)  # what was in flight has come back
            disk.repair()
            run.resume()
            assert run.wait(120), run.snapshot()
        told, calls = float(server.bill.totals.dollars), server.bill.totals.calls
    assert run.state == "done"
    assert calls == 60, "no answer was lost and paid for again"
    booked = guarded.unrestricted.read(
        "SELECT sum(COALESCE(spent, reserved)) FROM allowance"
    ).fetchone()
    assert booked[0] == pytest.approx(told)


def test_what_is_gone_is_gone_after_a_restart_and_there_again_tomorrow(
    guarded: VisitorStore, tmp_path: Path
) -> None:
    (who,) = visitors(1)
    with JudgeServer() as server, as_visitor(who):
        study(guarded, tmp_path, "one", server.base_url, items=30)
        key = lent(server.base_url, day_usd=0.02)
        with shared(guarded, key) as engine:
            first = start(engine, guarded, "one")
            assert first.wait(120)
        spent = server.bill.totals.calls
        assert 0 < spent < 30
        again = VisitorStore(Store(guarded.path))
        with shared(again, key) as engine:
            run = start(engine, again, "one")
            assert run.wait(120)
            assert server.bill.totals.calls == spent
            assert says(run.reason, "Space's key pays $0.02")
            tomorrow = start(engine, again, "one", wall=lambda: first.started + DAY)
            assert tomorrow.wait(120)
        assert server.bill.totals.calls > spent


def test_a_call_whose_price_was_never_told_counts_as_its_worst_case(
    guarded: VisitorStore, tmp_path: Path
) -> None:
    """As after a crash in the middle of a call: the intent stands, nothing takes its place."""
    (who,) = visitors(1)
    with JudgeServer() as server, as_visitor(who):
        study(guarded, tmp_path, "one", server.base_url)
        guarded.unrestricted.writer.run(
            lambda c: c.execute(
                "INSERT INTO allowance(day, visitor, run, reserved) "
                "VALUES (strftime('%Y-%m-%d', 'now'), 'gone', 'gone', 0.9999)"
            )
        )
        with shared(guarded, lent(server.base_url, day_usd=1.0)) as engine:
            run = start(engine, guarded, "one")
            assert run.wait(120)
        assert server.bill.totals.calls == 0
        assert says(run.reason, "$0.9999", "spent")


@pytest.mark.parametrize(("cap", "whose"), [("run_usd", "this run"), ("visitor_usd", "you today")])
def test_a_run_and_a_visitor_have_caps_of_their_own(
    guarded: VisitorStore, tmp_path: Path, cap: str, whose: str
) -> None:
    first, second = visitors(2)
    with JudgeServer() as server, shared(guarded, lent(server.base_url, **{cap: 0.02})) as engine:
        for name, who in (("one", first), ("two", second)):
            with as_visitor(who):
                study(guarded, tmp_path, name, server.base_url, items=30)
                run = start(engine, guarded, name)
                assert run.wait(120)
            before = float(server.bill.totals.dollars)
            assert whose in run.reason
            assert 0.005 < before <= (0.02 if name == "one" else 0.04)
        with as_visitor(first):  # another run of the same visitor
            run = start(engine, guarded, "one")
            assert run.wait(120)
        more = float(server.bill.totals.dollars) - before
    assert (more > 0) == (cap == "run_usd")


def test_the_switch_stops_the_next_call(guarded: VisitorStore, tmp_path: Path) -> None:
    (who,) = visitors(1)
    with JudgeServer(latency=0.05) as server, as_visitor(who):
        study(guarded, tmp_path, "one", server.base_url, items=60)
        with shared(guarded, lent(server.base_url), replace(LIMITS, concurrency=2)) as engine:
            run = start(engine, guarded, "one")
            while server.bill.totals.calls < 4:
                assert not run.wait(0.01)
            off_switch_file(guarded.path).touch()
            at_most = server.bill.totals.calls + 4  # what was reserved before is still sent
            assert run.wait(120)
            assert server.bill.totals.calls <= at_most
            assert says(run.reason, "key", "switched off")
            off_switch_file(guarded.path).unlink()
            run = start(engine, guarded, "one")
            assert run.wait(120)
            assert run.state == "done"


REFUSED = {
    "another model": ({"model": "dear"}, "can be used for judge only"),
    "a price of its own is not believed": ({"price": {"input": 0, "output": 0}}, ""),
    "extra_body": ({"extra_body": {"n": 100}}, "may change a call's cost"),
    "another variable": ({"api_key_env": "PATH"}, "type your key instead"),
    "another endpoint": ({"base_url": "http://127.0.0.1:9/v1"}, "can be used at"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_study_file_cannot_talk_the_key_into_more(
    guarded: VisitorStore, tmp_path: Path, case: str
) -> None:
    changes, why = REFUSED[case]
    (who,) = visitors(1)
    with JudgeServer() as server, as_visitor(who):
        study(guarded, tmp_path, "one", server.base_url, items=30, **changes)
        with (
            shared(guarded, lent(server.base_url, day_usd=0.02)) as engine,
            attempt(ABUSE, PUBLIC, f"a study file with {case}"),
        ):
            if why:
                with pytest.raises(PlanError, match=why):
                    start(engine, guarded, "one")
                assert server.bill.totals.calls == 0
            else:
                assert start(engine, guarded, "one").wait(120)
                assert 0 < float(server.bill.totals.dollars) <= 0.02


def test_without_a_house_no_variable_of_the_machine_is_used(
    guarded: VisitorStore, tmp_path: Path
) -> None:
    (who,) = visitors(1)
    with JudgeServer() as server, as_visitor(who):
        study(guarded, tmp_path, "one", server.base_url)
        with attempt(ABUSE, PUBLIC, "a variable where no key is lent"):
            with shared(guarded, None) as engine, pytest.raises(PlanError, match="type your key"):
                start(engine, guarded, "one")
            assert server.bill.totals.calls == 0


def test_a_key_of_ones_own_costs_the_house_nothing(guarded: VisitorStore, tmp_path: Path) -> None:
    (who,) = visitors(1)
    with JudgeServer() as server, as_visitor(who):
        study(guarded, tmp_path, "one", server.base_url, price=PRICE)
        with shared(guarded, lent(server.base_url, day_usd=0.0)) as engine:
            run = engine.start(
                load_stored_plan(guarded, "one"),
                guarded,
                keys={"lent": "my-own-key"},
                settings=QUICK,
            )
            assert run.wait(120)
        assert run.state == "done"
        assert server.bill.totals.calls == 4
    assert guarded.unrestricted.read("SELECT count(*) FROM allowance").fetchone() == (0,)


def test_what_one_visitor_paid_for_answers_nobody_else(
    guarded: VisitorStore, tmp_path: Path
) -> None:
    """The same data, judge and prompt: B's study is as unasked as A's was."""
    with JudgeServer() as server:
        key = {"keys": {"lent": "a-key-of-ones-own"}, "settings": QUICK}
        for number, who in enumerate(visitors(2)):
            with as_visitor(who):
                path = write_items(tmp_path / "same.jsonl", 3)
                values = {
                    "name": f"study {number}", "data": {"source": str(path)}, "orders": "one",
                    "judges": [{"name": "lent", "model": "judge", "base_url": server.base_url}],
                    "prompts": ["visit-reference-free"],
                }  # fmt: skip
                plan = plan_for_current_visitor(
                    make_plan(study_from_mapping(values, folder=tmp_path)), guarded
                )
                save_plan(plan, guarded)
                assert guarded.status_counts(plan.study.name) == {"planned": 3, "pending": 3}
                with shared(guarded, None) as engine:
                    assert engine.start(plan, guarded, **key).wait(120)
                asked = next(guarded.judgements(plan.study.name))
                sent = _sent_of(guarded, plan.study.name, asked.ask)
                assert sent.exact and sent.messages  # and Inspect knows its own asks
        assert server.bill.totals.calls == 6


def _sent_of(store: VisitorStore, study_name: str, ask: Ask) -> Any:
    items = store.items(study_name)
    prompt = stored_prompt(store, ask.key)
    return _rebuild_sent_messages(store, store.study(study_name), ask, prompt, items)


# ------------------------------------------------------------------ whose run, and how many


def test_runs_are_steered_by_their_owner_alone(guarded: VisitorStore, tmp_path: Path) -> None:
    first, second = visitors(2)
    with JudgeServer(latency=0.2) as server, shared(guarded, lent(server.base_url)) as engine:
        with as_visitor(first):
            study(guarded, tmp_path, "one", server.base_url, items=30)
            run = start(engine, guarded, "one")
            token = guarded.create_share_link("one")
            assert len(run.id) >= 20  # nobody guesses 128 bits
        with as_visitor(second), attempt(ABUSE, PUBLIC, "another visitor's run, four ways"):
            for look in (engine.latest_run, engine.active_run):
                with pytest.raises(AccessDenied):
                    look("one")
            assert engine.find_run(run.id) is None
            with pytest.raises(AccessDenied):
                engine.start(run.plan, guarded)
        with as_visitor(Visitor(second.owner, visitor_from_secret("", token).share)):
            assert engine.latest_run("one") is run
            assert engine.find_run(run.id) is run
            with pytest.raises(AccessDenied, match="not yours"):
                engine.active_run("one")
            with pytest.raises(AccessDenied, match="not yours"):
                engine.start(run.plan, guarded)
        with as_visitor(first):
            assert engine.active_run("one") is run
            run.stop()
            assert run.wait(120)


def test_one_run_a_visitor_and_so_many_in_all(guarded: VisitorStore, tmp_path: Path) -> None:
    people = visitors(3)
    limits = RunLimits(asks=40, runs_per_visitor=1, total_runs=2, concurrency=2)
    with JudgeServer(latency=0.2) as server:
        with shared(guarded, lent(server.base_url), limits) as engine:
            for number, who in enumerate(people):
                with as_visitor(who):
                    study(guarded, tmp_path, f"{number}", server.base_url, items=30)
            with as_visitor(people[0]):
                run = start(engine, guarded, "0")
                study(guarded, tmp_path, "0, too", server.base_url)
                with pytest.raises(PlanError, match=pattern("your run", "'0'", "running")):
                    start(engine, guarded, "0, too")
            with as_visitor(people[1]):
                start(engine, guarded, "1")
            with as_visitor(people[2]), pytest.raises(PlanError, match="2 runs are active"):
                start(engine, guarded, "2")
            run.stop()
            assert run.wait(120)
            with as_visitor(people[2]):
                assert start(engine, guarded, "2").state == "running"
        assert server.peak_in_flight <= 4


def test_a_study_that_is_too_large_is_not_begun(guarded: VisitorStore, tmp_path: Path) -> None:
    (who,) = visitors(1)
    with as_visitor(who):
        study(guarded, tmp_path, "one", "http://127.0.0.1:9/v1", items=41)
        limits = replace(LIMITS, asks=40)
        with shared(guarded, None, limits) as engine, pytest.raises(PlanError, match="41 calls"):
            start(engine, guarded, "one")


# ------------------------------------------------------------------------------- settings


def test_no_key_is_lent_unless_the_owner_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KEY_ENV", "MODELS"):
        monkeypatch.delenv(f"EVENHAND_HOUSE_{name}", raising=False)
    assert load_host_key_settings() is None


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"KEY_ENV": "NOT_SET_ANYWHERE"}, "is not set"),
        ({"MODELS": ""}, "MODELS is empty"),
        ({"MODELS": "gpt-4o-mini, unheard-of"}, "no price is known for unheard-of"),
        ({"DAY_USD": "much"}, "not an amount of dollars"),
        ({"DAY_USD": "nan"}, "not an amount of dollars"),
        ({"RUN_USD": "-1"}, "not an amount of dollars"),
    ],
)
def test_a_setting_that_cannot_hold_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], told: str
) -> None:
    monkeypatch.setenv(KEY, "x")
    for name, value in {"KEY_ENV": KEY, "MODELS": "gpt-4o-mini", **settings}.items():
        monkeypatch.setenv(f"EVENHAND_HOUSE_{name}", value)
    with pytest.raises(EvenhandError, match=told):
        load_host_key_settings()


def test_the_settings_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "x")
    said = {"KEY_ENV": KEY, "MODELS": "gpt-4o-mini", "DAY_USD": "3", "URL": "https://h.test/v1"}
    for name, value in said.items():
        monkeypatch.setenv(f"EVENHAND_HOUSE_{name}", value)
    found = load_host_key_settings()
    assert found is not None
    assert (found.key_env, found.endpoint, found.day_usd) == (KEY, "https://h.test/v1", 3.0)
    assert list(found.prices) == ["gpt-4o-mini"]
    assert found.run_usd <= found.visitor_usd <= found.day_usd


# ------------------------------------------------------------- the reservations of single calls


MOST = (4 + 16) * 3e-6 + 50 * 8e-6
"""Four bytes and a message, written to the cache, and 50 tokens of reply: 460 millionths."""
FOUR_BYTES: Any = {"role": "user", "content": "abcd"}


def costed_call() -> JudgeCall:
    item = Item("q", "?", {"x": "1", "y": "2"})
    inputs = PromptInputs(item, ("x", "y"), ("1", "2"), ("A", "B"))
    judge = JudgeSpec("j", "judge", "https://a.org", max_tokens=50)
    return JudgeCall("k", judge, load_prompt("brief-letters"), inputs, [FOUR_BYTES], {})


def allowance_of(store: Store, visitor: str = "ann", run: str = "r", **caps: float) -> RunAllowance:
    async def write(work: Any) -> Any:
        return store.writer.run(work)

    return RunAllowance(
        store.path, lent("https://a.org", **caps), visitor, run, "judge", write, lambda: DAY - 1
    )


def booked(store: Store) -> list[tuple[Any, ...]]:
    return list(store.read("SELECT day, visitor, run, reserved, spent FROM allowance ORDER BY id"))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, ""),
        ({"endpoint": "https://a.org/v1/"}, ""),
        ({"endpoint": "https://a.org/v2"}, "https://a.org/v1 only"),
        ({"api_key_env": "ANOTHER"}, "names a variable"),
        ({"model": "dear"}, "judge only"),
        ({"extra_body": {"n": 2}}, "extra_body"),
    ],
)
def test_the_key_is_for_one_variable_endpoint_and_list_of_models(
    changes: dict[str, Any], told: str
) -> None:
    judge = replace(JudgeSpec("j", "judge", "https://a.org/v1", KEY), **changes)
    found = lent("https://a.org/v1").refusal_reason(judge)
    assert told in found and bool(found) == bool(told)
    assert bool(lent("https://a.org/v1").refusal_reason(judge, images=True)), "no price of images"


@pytest.mark.parametrize(
    ("cap", "visitor", "run", "counts"),
    [
        ("run_usd", "ann", "r", True),
        ("run_usd", "ann", "another", False),
        ("visitor_usd", "ann", "another", True),
        ("visitor_usd", "bob", "another", False),
        ("day_usd", "bob", "another", True),
    ],
)
def test_the_last_call_may_reach_its_cap_and_none_may_pass_it(
    store: Store, cap: str, visitor: str, run: str, counts: bool
) -> None:
    first = allowance_of(store, **{cap: 2 * MOST})
    other = allowance_of(store, visitor, run, **{cap: 2 * MOST})

    async def reserve() -> list[bool]:
        calls = (first, first, other)
        return [isinstance(await one.reserve(costed_call()), int) for one in calls]

    made = asyncio.run(reserve())
    assert made == [True, True, not counts]
    assert [row[:3] for row in booked(store)[:2]] == [("1970-01-01", "ann", "r")] * 2
    assert [row[3] for row in booked(store)] == pytest.approx([MOST] * sum(made))


def test_a_settled_call_counts_what_it_cost_and_a_released_one_nothing(store: Store) -> None:
    async def act() -> None:
        paid = allowance_of(store)
        for cost, billed in ((0.0001, True), (None, True), (0.0001, False)):
            call = CallReservation()
            assert not call.is_reserved
            assert await call.try_reserve(paid, costed_call()) == ""
            assert call.is_reserved and not paid.has_no_reserved_calls
            await call.settle(paid, cost, billed=billed)
            assert not call.is_reserved and paid.has_no_reserved_calls

    asyncio.run(act())
    assert [row[3:] for row in booked(store)] == [
        (pytest.approx(MOST), 0.0001),
        (pytest.approx(MOST), None),
    ]


def test_a_refused_call_waits_for_one_in_flight_and_alone_it_stops_the_judge(store: Store) -> None:
    async def act() -> None:
        paid = allowance_of(store, run_usd=1.5 * MOST)
        first, second = CallReservation(), CallReservation()
        assert await first.try_reserve(paid, costed_call()) == ""
        assert await second.try_reserve(paid, costed_call()) == "", "first may cost less"
        assert not second.is_reserved
        waiting = asyncio.create_task(second.release_or_await_dollars(paid))
        await asyncio.sleep(0)
        assert not waiting.done()
        await first.settle(paid, MOST, billed=True)
        await asyncio.wait_for(waiting, 60)
        assert "this run" in await second.try_reserve(paid, costed_call())
        await asyncio.wait_for(second.release_or_await_dollars(paid), 60)  # nothing to wait for

    asyncio.run(act())


def test_a_call_that_is_not_made_gives_its_dollars_back(store: Store) -> None:
    async def act() -> None:
        paid, call = allowance_of(store, run_usd=MOST), CallReservation()
        for _ in range(2):
            assert await call.try_reserve(paid, costed_call()) == ""
            await call.release_or_await_dollars(paid)
            assert not call.is_reserved and paid.has_no_reserved_calls
        await CallReservation().release_or_await_dollars(None)
        assert await call.try_reserve(None, costed_call()) == "" and not call.is_reserved

    asyncio.run(act())
    assert booked(store) == []


def test_the_owner_switches_the_key_off_by_a_file_or_a_variable(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid = allowance_of(store)
    off_switch_file(store.path).touch()
    assert "switched off" in str(asyncio.run(paid.reserve(costed_call())))
    off_switch_file(store.path).unlink()
    monkeypatch.setenv("EVENHAND_HOUSE_OFF", "1")
    assert "switched off" in str(asyncio.run(paid.reserve(costed_call())))
    monkeypatch.setenv("EVENHAND_HOUSE_OFF", "0")
    assert (
        isinstance(asyncio.run(paid.reserve(costed_call())), int) and not paid.has_no_reserved_calls
    )
