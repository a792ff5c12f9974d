"""Run journal: lease and intent before each call, result after; dead owners lose their leases."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from studies.domain import NO_USAGE, Ask, Judgement, Usage, Verdict
from studies.errors import StoreUnusable
from studies.store import run_owners
from studies.store.database import MIGRATIONS, SCHEMA_FILE, SCHEMA_VERSION, connect
from studies.store.run_journal import RunJournal, list_possibly_paid_calls
from studies.store.run_owners import LeaseOwner, is_owner_alive_else_clean_up
from studies.store.store import Store
from tests.samples import sample

ROOT = Path(__file__).resolve().parents[3]
T = TypeVar("T")


def do(act: Callable[[], Awaitable[T]]) -> T:
    async def main() -> T:
        return await act()

    return asyncio.run(main())


def judgement(key: str, status: str = "ok", reply: str = "A") -> Judgement:
    ask = Ask(key, "q", "judge", "prompt", ("x", "y"), ("A", "B"))
    verdict = Verdict(0) if status == "ok" else None
    return Judgement(ask, status, verdict, reply=reply)  # type: ignore[arg-type]


async def begun(journal: RunJournal, key: str, **more: bool) -> int:
    attempt = await journal.begin_attempt(key, **more)
    assert isinstance(attempt, int), attempt
    return attempt


def test_a_leased_ask_is_elsewhere_for_another_run_and_answered_once_settled(store):
    async def act() -> None:
        one, two = RunJournal(store), RunJournal(store)
        attempt = await begun(one, "k")
        assert await two.begin_attempt("k") == "elsewhere"
        assert await one.begin_attempt("k") == "elsewhere", (
            "two judges may be one and the same request"
        )
        assert two.find_leased_keys(["k", "free"]) == {"k"}
        await one.store_judgement(judgement("k"), attempt, Usage(10, 2), 0.5)
        assert await two.begin_attempt("k") == "answered"
        assert two.find_leased_keys(["k", "free"]) == set()
        one.close()
        two.close()

    do(act)
    row = store.read("SELECT outcome, prompt_tokens, cost FROM attempts").fetchall()
    assert row == [("ok", 10, 0.5)]
    assert store.read("SELECT count(*) FROM leases").fetchone() == (0,)


def test_a_run_does_not_ask_again_what_another_failed_at_while_it_ran(store):
    async def act() -> None:
        one, two = RunJournal(store), RunJournal(store)
        attempt = await begun(one, "k")
        await one.store_judgement(judgement("k", "error"), attempt, NO_USAGE, None)
        assert await two.begin_attempt("k") == "answered", "it failed a moment ago"
        later = RunJournal(store)
        await begun(later, "k")  # an error never satisfies a resume
        for journal in (one, two, later):
            journal.close()

    do(act)


def test_between_two_attempts_the_lease_is_kept_and_nothing_is_listed_as_paid(store):
    async def act() -> None:
        one, two = RunJournal(store), RunJournal(store)
        first = await begun(one, "k")
        assert one.attempts_in_flight == {first}
        await one.end_attempt(first, "HTTP 500", NO_USAGE, None)
        assert one.attempts_in_flight == set()
        assert await two.begin_attempt("k") == "elsewhere", (
            "it waits in a backoff and is still ours"
        )
        assert open_attempts(store) == []
        second = await begun(one, "k", leased=True)
        assert open_attempts(store) == [second]
        await one.undo_attempt("k", second)
        assert open_attempts(store) == []
        await begun(two, "k")
        one.close()
        two.close()

    do(act)


def test_a_released_ask_is_anybodys_and_a_late_release_takes_no_lease_of_others(store):
    async def act() -> None:
        one, two = RunJournal(store), RunJournal(store)
        await one.end_attempt(await begun(one, "k"), "HTTP 500", NO_USAGE, None)
        await one.release_lease("k")
        await begun(two, "k")
        await one.release_lease("k")
        assert one.find_leased_keys(["k"]) == {"k"}, "the lease is two's now"
        one.close()
        two.close()

    do(act)


def open_attempts(store: Store) -> list[int]:
    return [row[0] for row in store.read("SELECT id FROM attempts WHERE ended IS NULL")]


@pytest.mark.parametrize("outcome", ["error", "too_long", "filtered", "unsupported", "empty"])
def test_nothing_without_words_replaces_a_reply(outcome, store):
    async def act() -> None:
        first = RunJournal(store)
        half = judgement("k", "truncated", "half a")
        await first.store_judgement(half, await begun(first, "k"), NO_USAGE, None)
        first.close()
        retry = RunJournal(store, again=["truncated", "error"])
        await retry.store_judgement(
            judgement("k", outcome, ""), await begun(retry, "k"), NO_USAGE, None
        )
        retry.close()

    do(act)
    assert store.read("SELECT status FROM judgements").fetchall() == [("truncated",)]
    assert store.read("SELECT reply FROM replies").fetchall() == [("half a",)]


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        (("unreadable", "hm"), ("ok", "[[A]]"), "ok"),
        (("unreadable", "hm"), ("error", "half"), "unreadable"),
        (("refusal", ""), ("error", ""), "refusal"),
        (("refusal", ""), ("empty", ""), "empty"),
        (("error", ""), ("ok", "[[A]]"), "ok"),
        (("error", ""), ("error", ""), "error"),
    ],
)
def test_a_second_outcome_replaces_the_first_only_if_it_says_more(before, after, kept, store):
    async def act() -> None:
        for status, reply in (before, after):
            journal = RunJournal(store, again=["unreadable", "refusal", "error"])
            made = judgement("k", status, reply)
            await journal.store_judgement(made, await begun(journal, "k"), NO_USAGE, None)
            journal.close()

    do(act)
    assert store.read("SELECT status FROM judgements").fetchall() == [(kept,)]


def test_a_clean_end_gives_back_its_leases_and_lists_what_never_came_back(store):
    async def act() -> None:
        journal = RunJournal(store)
        await begun(journal, "a")  # its call has begun and never came back
        await journal.end_attempt(await begun(journal, "b"), "HTTP 500", NO_USAGE, None)
        journal.close()
        assert not is_owner_alive_else_clean_up(store.run_locks_folder, journal.owner.id)

    do(act)
    assert [doubt.key for doubt in list_possibly_paid_calls(store)] == ["a"]
    assert store.read("SELECT count(*) FROM leases").fetchone() == (0,)


def test_a_call_that_was_stopped_while_it_was_noted_is_not_listed_as_paid(store):
    """The note is committed after the task ends: no request was sent."""

    async def act() -> None:
        journal = RunJournal(store)
        noting = asyncio.create_task(journal.begin_attempt("k"))
        await asyncio.sleep(0)
        noting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await noting
        store.writer.run(lambda connection: None)  # waits for the writes before it
        assert len(open_attempts(store)) == 1
        journal.close()

    do(act)
    assert open_attempts(store) == [] and list_possibly_paid_calls(store) == []


HOLDER = """
import asyncio, sys
from studies.store.run_journal import RunJournal
from studies.store.store import Store
async def main():
    journal = RunJournal(Store(sys.argv[1]))
    await journal.begin_attempt("k")
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

    async def begin() -> object:
        journal = RunJournal(store)
        attempt = await journal.begin_attempt("k")
        journal.close()
        return attempt

    assert is_owner_alive_else_clean_up(store.run_locks_folder, owner)
    assert do(begin) == "elsewhere"
    assert list_possibly_paid_calls(store) == []
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    assert not is_owner_alive_else_clean_up(store.run_locks_folder, owner)
    assert [doubt.key for doubt in list_possibly_paid_calls(store)] == ["k"]
    assert isinstance(do(begin), int)


def test_an_owner_is_alive_until_it_is_closed_and_leaves_no_file(tmp_path):
    owner = LeaseOwner(tmp_path / "owners")
    assert is_owner_alive_else_clean_up(tmp_path / "owners", owner.id)
    assert is_owner_alive_else_clean_up(tmp_path / "owners", owner.id), (
        "asking does not take the lock away"
    )
    owner.close()
    assert not is_owner_alive_else_clean_up(tmp_path / "owners", owner.id)
    assert list((tmp_path / "owners").iterdir()) == []


def test_two_owners_in_one_process_do_not_see_each_other_as_dead(tmp_path):
    one, two = LeaseOwner(tmp_path), LeaseOwner(tmp_path)
    assert one.id != two.id
    assert is_owner_alive_else_clean_up(tmp_path, one.id) and is_owner_alive_else_clean_up(
        tmp_path, two.id
    )
    one.close()
    assert not is_owner_alive_else_clean_up(tmp_path, one.id) and is_owner_alive_else_clean_up(
        tmp_path, two.id
    )
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
    connection = connect(path, create=True)
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    ).fetchall()
    connection.close()
    plain = (
        (name, " ".join(line.split("--")[0].strip() for line in sql.splitlines()))
        for name, sql in rows
    )
    return [(name, "".join(sql.split())) for name, sql in plain]


def without(script: str, start: str, end: str) -> str:
    return script[: script.index(start)] + script[script.index(end) :]


def as_of(version: int) -> str:
    """The schema as it was at a version."""
    script = SCHEMA_FILE.read_text()
    if version < 8:  # what came with version 8
        script = without(script, "CREATE TABLE alignments", "CREATE TABLE allowance")
    if version < 7:  # what came with version 7
        script = without(script, "CREATE TABLE adapted_requests", "CREATE TABLE plan (")
        script = without(
            script, ",\n    reasoning_tokens", "\n) STRICT;\nCREATE INDEX attempts_by_key"
        )
    if version < 5:  # what came with version 5
        script = script[: script.index("CREATE TABLE allowance")]
    if version < 6:  # what came with version 6
        script = without(
            script, ",\n    votes   INTEGER", "\n) STRICT, WITHOUT ROWID;\n\nCREATE TABLE items"
        )
    if version < 4:  # what came with version 4
        script = without(script, ",\n    owner     TEXT NOT NULL DEFAULT ''", "CREATE TABLE items")
        script = script.replace("CREATE TABLE items", "\n) STRICT;\n\nCREATE TABLE items")
        script = script[: script.index("CREATE TABLE ballots")]
    if version < 3:  # what came with version 3
        script = without(
            script, ",\n    top       TEXT", "\n) STRICT, WITHOUT ROWID;\n\nCREATE TABLE e"
        )
    if version < 2:  # what came with version 2
        script = without(script, "CREATE TABLE extractions", "CREATE TABLE attempts")
    return script


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_an_older_store_is_brought_to_the_same_schema_as_a_new_one(version, tmp_path):
    new = tmp_path / "new.db"
    Store(new).close()
    old = tmp_path / "old.db"
    connection = connect(old, create=True)
    connection.executescript(as_of(version))
    connection.execute(f"PRAGMA user_version={version}")
    connection.close()
    assert schema(old) != schema(new)
    Store(old).close()
    assert len(MIGRATIONS) == SCHEMA_VERSION - 1
    assert schema(old) == schema(new)


KILLED = """
import os, signal, sys
from pathlib import Path
from studies.store import database
step, path = int(sys.argv[1]), Path(sys.argv[2])
real = database.MIGRATIONS[step]
def killed(connection):
    real(connection)
    connection.execute("PRAGMA user_version=99")
    os.kill(os.getpid(), signal.SIGKILL)
database.MIGRATIONS[step] = killed
database.prepare_store(path)
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
@pytest.mark.parametrize("step", sample(range(len(MIGRATIONS)), 0, len(MIGRATIONS) - 1))
def test_a_kill_inside_a_migration_changes_nothing(step, tmp_path):
    """The process dies after a step, inside the transaction: the store is as before, and opens."""
    new, old = tmp_path / "new.db", tmp_path / "old.db"
    Store(new).close()
    connection = connect(old, create=True)
    connection.executescript(as_of(1))
    connection.execute("PRAGMA user_version=1")
    connection.execute("INSERT INTO runs VALUES ('r', 's', '', 'done', '', 0, 1)")
    connection.close()
    before = schema(old)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(step), str(old)], cwd=ROOT, check=False
    )
    assert done.returncode == -signal.SIGKILL
    connection = connect(old)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert schema(old) == before
    opened = Store(old)
    assert opened.read("SELECT id FROM runs").fetchall() == [("r",)]
    opened.close()
    assert schema(old) == schema(new)


def test_a_call_over_the_budget_or_of_a_run_that_asks_elsewhere_is_not_started(store):
    """A call that does not fit takes no lease; an attempt that is undone keeps it if told to."""

    async def act() -> None:
        one, two = RunJournal(store), RunJournal(store)
        one.fits_budget = lambda _: False
        assert await one.begin_attempt("k") == "too dear"
        assert two.find_leased_keys(["k"]) == set() and open_attempts(store) == []
        one.fits_budget = lambda _: True
        first = await begun(one, "k")
        hedge = await begun(one, "k", leased=True)
        await one.undo_attempt("k", hedge, keep_lease=True)
        assert open_attempts(store) == [first] and one.attempts_in_flight == {first}
        assert await two.begin_attempt("k") == "elsewhere"
        await one.undo_attempt("k", first)
        assert open_attempts(store) == [] and one.attempts_in_flight == set()
        await begun(two, "k")
        one.close()
        two.close()

    do(act)


def test_a_folder_without_locks_is_refused_and_an_unknown_owner_is_alive(
    store, tmp_path, monkeypatch
):
    folder = tmp_path / "owners"
    owner = LeaseOwner(folder)
    assert is_owner_alive_else_clean_up(folder, owner.id) is True
    (folder / "other.lock").mkdir()
    assert is_owner_alive_else_clean_up(folder, "other") is True, "it cannot be checked"
    assert is_owner_alive_else_clean_up(folder, "none") is False
    owner.close()
    monkeypatch.setattr(run_owners, "try_lock", lambda _: False)
    with pytest.raises(OSError, match="file locks") as error:
        LeaseOwner(folder)
    assert error.value.errno == errno.ENOLCK
    with pytest.raises(StoreUnusable, match="support file locks"):
        RunJournal(store)
