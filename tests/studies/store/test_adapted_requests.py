"""Keys of calls that were sent without refused parameters."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace

import pytest

from studies.store import database
from studies.store.queries.adapted_requests import (
    REFUSABLE_SETS,
    _store_adapted_request,
    find_key_as_sent,
    is_key_of_call,
    key_without_parameters,
    rekey_adapted_call,
    use_adapted_keys_in_plan,
)
from studies.store.run_journal import RunJournal


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as made:
        for statement in database.schema_statements():
            made.execute(statement)
        made.execute("INSERT INTO studies(id, name, yaml, created, updated) VALUES (1,'s','',0,0)")
        for position, key in enumerate(("key", "other")):
            made.execute(
                "INSERT INTO plan VALUES (1,?,?,'q','j','p','x','A',0,0,1,NULL,'live')",
                (position, key),
            )
            parameters = json.dumps({"seed": 1, "temperature": 0.0, "max_tokens": 9})
            made.execute("INSERT INTO requests VALUES (?,'e','m','sha',?)", (key, parameters))
            made.execute("INSERT INTO attempts(key, owner, started) VALUES (?,'o',1.0)", (key,))
        yield made


def judge(connection: sqlite3.Connection, key: str, status: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO judgements(key, status, rule, finish, cached_tokens, cache_write, "
        "seconds, model, time) VALUES (?,?,'','',0,0,0.0,'',0.0)",
        (key, status),
    )
    connection.execute("INSERT OR REPLACE INTO replies VALUES (?,'r','','',NULL)", (key,))


def keys(connection: sqlite3.Connection, table: str) -> list[str]:
    return [key for (key,) in connection.execute(f"SELECT key FROM {table} ORDER BY rowid")]


def test_each_set_of_parameters_has_a_key_of_its_own():
    made = [key_without_parameters("key", names) for names in REFUSABLE_SETS]
    assert len(set(made)) == len(made) == 16 and made[0] == "key"
    assert key_without_parameters("key", ["seed", "top_p"]) == key_without_parameters(
        "key", {"top_p", "seed"}
    )
    assert all(is_key_of_call(key, "key") for key in made)
    assert not is_key_of_call("other", "key")


def test_a_plan_and_its_attempts_move_to_the_new_key_and_back(connection):
    new = rekey_adapted_call(connection, "key", ["temperature"])
    assert new == key_without_parameters("key", ["temperature"])
    assert keys(connection, "attempts") == [new, "other"]
    assert find_key_as_sent(connection, "key") == new
    assert find_key_as_sent(connection, "other") is None
    sent = connection.execute("SELECT endpoint, parameters FROM requests WHERE key=?", (new,))
    endpoint, parameters = sent.fetchone()
    assert endpoint == "e" and json.loads(parameters) == {"seed": 1, "max_tokens": 9}
    assert rekey_adapted_call(connection, new, ["temperature"]) == new, "nothing changes"
    both = rekey_adapted_call(connection, new, ["temperature", "seed"])
    assert both == key_without_parameters("key", ["seed", "temperature"])
    assert find_key_as_sent(connection, "key") == both
    planned = connection.execute("SELECT key FROM plan ORDER BY position").fetchall()
    assert planned == [(both,), ("other",)]
    assert rekey_adapted_call(connection, both, []) == "key"
    assert find_key_as_sent(connection, "key") is None
    assert keys(connection, "attempts") == ["key", "other"]


@pytest.mark.parametrize("status", ["error", "ok"])
def test_a_stored_error_gives_way_and_a_reply_stays(connection, status):
    judge(connection, "key", status)
    judge(connection, "other", "error")
    rekey_adapted_call(connection, "key", ["seed"])
    kept = ["other"] if status == "error" else ["key", "other"]
    for table in ("judgements", "replies"):
        found = connection.execute(f"SELECT key FROM {table} ORDER BY key").fetchall()
        assert [key for (key,) in found] == kept


def test_a_new_plan_finds_the_reply_under_its_adapted_key(connection):
    new = rekey_adapted_call(connection, "key", ["seed"])
    connection.execute("UPDATE plan SET key='key' WHERE key=?", (new,))
    assert use_adapted_keys_in_plan(connection, 1) == ["key", "other"], "no reply is stored"
    judge(connection, new, "ok")
    assert use_adapted_keys_in_plan(connection, 2) == []
    assert use_adapted_keys_in_plan(connection, 1) == [new, "other"]
    connection.execute("UPDATE plan SET key='key' WHERE key=?", (new,))
    judge(connection, "key", "ok")
    assert use_adapted_keys_in_plan(connection, 1) == ["key", "other"], (
        "the planned call has a reply"
    )


def test_a_call_without_a_stored_request_gets_its_key_alone(connection: sqlite3.Connection) -> None:
    for planned, requests in (("unknown", []), ("key", ["new-key"])):
        _store_adapted_request(connection, planned, f"new-{planned}", {"temperature", "seed"})
        found = connection.execute(
            "SELECT adapted, without FROM adapted_requests WHERE key=?", (planned,)
        ).fetchall()
        assert found == [(f"new-{planned}", "seed,temperature")]
        made = connection.execute("SELECT key FROM requests WHERE key LIKE 'new%'").fetchall()
        assert [key for (key,) in made] == requests
    (sent,) = connection.execute("SELECT parameters FROM requests WHERE key='new-key'").fetchone()
    assert json.loads(sent) == {"max_tokens": 9}


def test_a_reply_to_an_adapted_call_is_not_paid_again_beside_a_cut_one(connection):
    """Both keys have a reply; the planned call's was cut off, and cut replies are retried."""
    judge(connection, "key", "truncated")
    journal = SimpleNamespace(start_seq=99, retry_statuses={"truncated", "error"})
    assert not RunJournal._has_final_judgement(journal, connection, "key")
    adapted = key_without_parameters("key", ["seed"])
    _store_adapted_request(connection, "key", adapted, ["seed"])
    judge(connection, adapted, "ok")
    assert RunJournal._has_final_judgement(journal, connection, "key")
