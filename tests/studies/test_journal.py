"""Leases and intents ahead of each call, results after it; who is alive decides, not the clock."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from studies.database import MIGRATIONS, SCHEMA, VERSION, connect
from studies.journal import Journal, possibly_paid_twice
from studies.owner import Owner, is_alive
from studies.records import NO_USAGE, Ask, Judgement, Usage, Verdict
from studies.store import Store

ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "store.db")
    yield made
    made.close()


def do(act: Callable[[], Awaitable[T]]) -> T:
    async def main() -> T:
        return await act()

    return asyncio.run(main())


def judgement(key: str, status: str = "ok", reply: str = "A") -> Judgement:
    ask = Ask(key, "q", "judge", "prompt", ("x", "y"), ("A", "B"))
    verdict = Verdict(0) if status == "ok" else None
    return Judgement(ask, status, verdict, reply=reply)  # type: ignore[arg-type]


def test_a_leased_ask_is_elsewhere_for_another_run_and_answered_once_settled(store):
    async def act() -> None:
        one, two = Journal(store), Journal(store)
        (claim,) = (await one.claim(["k"])).ours
        assert (await two.claim(["k"])).elsewhere == ["k"]
        await one.settle(judgement("k"), claim.attempt, Usage(10, 2), 0.5)
        claimed = await two.claim(["k"])
        assert (claimed.ours, claimed.elsewhere) == ([], [])
        one.close()
        two.close()

    do(act)
    row = store.read("SELECT outcome, prompt_tokens, cost FROM attempts").fetchall()
    assert row == [("ok", 10, 0.5)]
    assert store.read("SELECT count(*) FROM leases").fetchone() == (0,)


def test_a_run_does_not_ask_again_what_another_failed_at_while_it_ran(store):
    async def act() -> None:
        one, two = Journal(store), Journal(store)
        (claim,) = (await one.claim(["k"])).ours
        await one.settle(judgement("k", "error"), claim.attempt, NO_USAGE, None)
        assert (await two.claim(["k"])).ours == [], "it failed a moment ago"
        later = Journal(store)
        assert len((await later.claim(["k"])).ours) == 1, "an error never satisfies a resume"
        for journal in (one, two, later):
            journal.close()

    do(act)


def test_an_error_does_not_replace_a_reply(store):
    async def act() -> None:
        first = Journal(store)
        (claim,) = (await first.claim(["k"])).ours
        await first.settle(judgement("k", "truncated", "half a"), claim.attempt, NO_USAGE, None)
        first.close()
        retry = Journal(store, again=["truncated", "error"])
        (claim,) = (await retry.claim(["k"])).ours
        await retry.settle(judgement("k", "error", ""), claim.attempt, NO_USAGE, None)
        retry.close()

    do(act)
    assert store.read("SELECT status FROM judgements").fetchall() == [("truncated",)]
    assert store.read("SELECT reply FROM replies").fetchall() == [("half a",)]


def test_a_clean_end_gives_back_its_leases_and_forgets_what_was_not_called(store):
    async def act() -> None:
        journal = Journal(store)
        claims = (await journal.claim(["a", "b", "c"])).ours
        journal.calling.add(claims[0].attempt)  # its call has begun and never came back
        journal.close()

    do(act)
    assert [doubt.key for doubt in possibly_paid_twice(store)] == ["a"]
    assert store.read("SELECT count(*) FROM leases").fetchone() == (0,)


HOLDER = """
import asyncio, sys
from studies.journal import Journal
from studies.store import Store
async def main():
    journal = Journal(Store(sys.argv[1]))
    await journal.claim(["k"])
    print(journal.owner.id, flush=True)
    sys.stdin.read()
asyncio.run(main())
"""


def test_a_lease_lives_as_long_as_its_process_and_dies_with_it(store):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store.path)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdout is not None
    owner = holder.stdout.readline().strip()

    async def claim() -> tuple[int, int]:
        journal = Journal(store)
        claimed = await journal.claim(["k"])
        journal.close()
        return len(claimed.ours), len(claimed.elsewhere)

    assert is_alive(store.owners, owner)
    assert do(claim) == (0, 1)
    assert possibly_paid_twice(store) == []
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    assert not is_alive(store.owners, owner)
    assert [doubt.key for doubt in possibly_paid_twice(store)] == ["k"]
    assert do(claim) == (1, 0)


def test_an_owner_is_alive_until_it_is_closed_and_leaves_no_file(tmp_path):
    owner = Owner(tmp_path / "owners")
    assert is_alive(tmp_path / "owners", owner.id)
    assert is_alive(tmp_path / "owners", owner.id), "asking does not take the lock away"
    owner.close()
    assert not is_alive(tmp_path / "owners", owner.id)
    assert list((tmp_path / "owners").iterdir()) == []


def test_two_owners_in_one_process_do_not_see_each_other_as_dead(tmp_path):
    one, two = Owner(tmp_path), Owner(tmp_path)
    assert one.id != two.id
    assert is_alive(tmp_path, one.id) and is_alive(tmp_path, two.id)
    one.close()
    assert not is_alive(tmp_path, one.id) and is_alive(tmp_path, two.id)
    two.close()


def test_a_run_whose_process_is_gone_is_shown_as_interrupted(store):
    gone = ("id", "study", "123-dead", "running", "", 1.0, None)
    ended = ("id2", "study", "124-dead", "done", "", 2.0, 3.0)
    store.writer.run(
        lambda c: c.executemany("INSERT INTO runs VALUES (?,?,?,?,?,?,?)", [gone, ended])
    )
    assert [(run.id, run.state) for run in store.runs()] == [("id2", "done"), ("id", "interrupted")]
    assert store.runs("other") == []


def schema(path: Path) -> list[tuple[str, str]]:
    connection = connect(path)
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    ).fetchall()
    connection.close()
    plain = (
        (name, " ".join(line.split("--")[0].strip() for line in sql.splitlines()))
        for name, sql in rows
    )
    return [(name, "".join(sql.split())) for name, sql in plain]


def test_a_store_of_the_first_version_is_brought_to_the_same_schema_as_a_new_one(tmp_path):
    new = tmp_path / "new.db"
    Store(new).close()
    old = tmp_path / "old.db"
    connection = connect(old)
    script = SCHEMA.read_text()
    start = script.index("CREATE TABLE extractions")  # what came with version 2
    end = script.index("CREATE TABLE attempts")
    connection.executescript(script[:start] + script[end:])
    connection.execute("PRAGMA user_version=1")
    connection.close()
    Store(old).close()
    assert len(MIGRATIONS) == VERSION - 1
    assert schema(old) == schema(new)
