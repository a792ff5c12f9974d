"""Parquet shards: duplicate, late or damaged shards leave each judgement in the store once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from judges.planning.plan import make_plan, save_plan
from studies.__main__ import main
from studies.domain import Judgement, Usage
from studies.errors import SourceError, StoreUnusable
from studies.exchange.export import write_export
from studies.exchange.shard_import import import_shards, save_shards_as_study
from studies.files.shards import (
    JOURNAL_SUFFIX,
    AskOutcome,
    CallAttempt,
    _shard_row,
    find_shards,
    finished_keys,
    read_batches,
    recover_journals,
    summarise_shards,
    why_matches_shards,
    write_shard,
)
from studies.spec.study import parse_study
from studies.store.queries.shard_rows import (
    create_import_table,
    insert_import_rows,
    store_collected_rows_as_study,
)
from studies.store.store import Store
from tests.judges.small_studies import run_text
from tests.page_words import pattern, says

STUDY = """
name: small
data: {source: probe, count: 6}
judges: [{name: a, model: simulated, accuracy: 0.8, unreadable_rate: 0.2, seed: 1}]
prompts: [brief-letters]
noise_floor: 0.2
labels: crossed
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A completed study."""
    made = Store(tmp_path_factory.mktemp("done") / "done.db")
    run_text(made, STUDY)
    yield made
    made.close()


@pytest.fixture
def planned(store: Store) -> Store:
    """The same study without any judgement."""
    save_plan(make_plan(parse_study(STUDY)), store)
    return store


def outcomes(done: Store) -> list[AskOutcome]:
    call = CallAttempt("w1", 10.0, 11.0, "ok", Usage(100, 20, reasoning_tokens=7), 0.25)
    return [
        AskOutcome(judgement, (replace(call, started=float(place)),), position=place)
        for place, judgement in enumerate(done.judgements("small"))
    ]


def rows(store: Store, name: str = "small") -> list[Judgement]:
    return list(store.judgements(name))


def test_shards_in_any_order_and_twice_give_the_same_store(
    done: Store, planned: Store, tmp_path: Path
) -> None:
    whole = outcomes(done)
    half = len(whole) // 2
    write_shard(tmp_path / "s" / "b.parquet", whole[:half][::-1])
    write_shard(tmp_path / "s" / "deep" / "a.parquet", whole[half - 3 :])  # three come twice
    first = import_shards(planned, find_shards(tmp_path / "s"))
    assert rows(planned) == rows(done)
    assert (first.files, first.stored, first.already_answered) == (2, len(whole), 3)
    assert first.by_status["unreadable"] == done.status_counts("small")["unreadable"] > 0
    again = import_shards(planned, find_shards(tmp_path / "s")[::-1])
    assert (again.stored, again.already_answered) == (0, len(whole) + 3)
    assert rows(planned) == rows(done)


def test_each_attempt_is_booked_once(done: Store, planned: Store, tmp_path: Path) -> None:
    whole = outcomes(done)
    retried = replace(
        whole[0], attempts=(CallAttempt("w1", 1.5, 2.0, "HTTP 500"), *whole[0].attempts)
    )
    write_shard(tmp_path / "a.parquet", [retried, *whole[1:]])
    first = import_shards(planned, [tmp_path / "a.parquet"])
    again = import_shards(planned, [tmp_path / "a.parquet"])
    assert first.attempts == len(whole) + 1
    assert first.dollars == pytest.approx(0.25 * len(whole))
    assert (again.attempts, again.dollars) == (0, 0.0)
    booked = planned.read(
        "SELECT count(*), sum(cost), sum(prompt_tokens), sum(reasoning_tokens) FROM attempts"
    ).fetchone()
    number = len(whole)
    assert booked == (number + 1, pytest.approx(0.25 * number), 100 * number, 7 * number)


def test_an_error_gives_way_to_an_answer_and_an_answer_to_nothing(
    done: Store, planned: Store, tmp_path: Path
) -> None:
    one, two = outcomes(done)[:2]
    failed = replace(one.judgement, status="error", verdict=None, reply="", detail="HTTP 500")
    write_shard(tmp_path / "1.parquet", [replace(one, judgement=failed), two])
    write_shard(
        tmp_path / "2.parquet",
        [one, replace(two, judgement=replace(failed, ask=two.judgement.ask))],
    )
    for name in ("1", "2", "1"):
        import_shards(planned, [tmp_path / f"{name}.parquet"])
    assert rows(planned) == [one.judgement, two.judgement]


def test_what_no_study_asks_is_not_stored(done: Store, store: Store, tmp_path: Path) -> None:
    write_shard(tmp_path / "a.parquet", outcomes(done)[:4])
    found = import_shards(store, [tmp_path / "a.parquet"])
    assert (found.stored, found.unknown) == (0, 4)
    assert store.read("SELECT count(*) FROM judgements").fetchone()[0] == 0


def test_an_ask_that_was_given_up_stays_pending_but_its_calls_count(
    done: Store, planned: Store, tmp_path: Path
) -> None:
    one, two = outcomes(done)[:2]
    write_shard(tmp_path / "a.parquet", [replace(one, settled=False), two])
    assert finished_keys([tmp_path / "a.parquet"]) == {two.judgement.ask.key}
    found = import_shards(planned, [tmp_path / "a.parquet"])
    assert (found.stored, found.attempts) == (1, 2)
    assert rows(planned) == [two.judgement]


def folder_of(done: Store, folder: Path) -> Path:
    """A folder of three shards out of order with duplicate rows, and their items."""
    whole = outcomes(done)
    write_shard(folder / "z.parquet", whole[:5])
    write_shard(folder / "m.parquet", whole[3:9])
    write_shard(folder / "a.parquet", whole[9:])
    write_export(done, "small", "items", folder / "items.jsonl")
    return folder


def test_a_folder_of_shards_opens_as_the_exported_file_does(
    done: Store, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of(done, tmp_path / "small")
    write_export(done, "small", "parquet", tmp_path / "one.parquet")
    write_export(done, "small", "items", tmp_path / "items.jsonl")
    other = Store(tmp_path / "other.db")
    assert main(["import", str(folder), "--store", str(store.path)]) == 0
    items = f"items={tmp_path / 'items.jsonl'}"
    one = ["import", str(tmp_path / "one.parquet"), "--name", "small", "--files", items]
    assert main([*one, "--store", str(other.path)]) == 0
    assert rows(store) == rows(other)
    left, right = (made.frame("small").drop(columns="seq") for made in (store, other))
    pd.testing.assert_frame_equal(left, right)
    said = capsys.readouterr().out
    assert "evenhand-shards: small: " in said
    assert f"{len(rows(done)):,} recorded" in said
    other.close()


def test_opening_a_folder_again_replaces_the_study(
    done: Store, store: Store, tmp_path: Path
) -> None:
    folder = folder_of(done, tmp_path / "small")
    for _ in range(2):
        assert main(["import", str(folder), "--store", str(store.path)]) == 0
        assert len(rows(store)) == len(rows(done))
    (folder / "z.parquet").unlink()
    assert main(["import", str(folder), "--store", str(store.path)]) == 0
    assert len(rows(store)) == len(rows(done)) - 3


def test_folders_that_are_opened_at_once_while_answers_come_in_keep_apart(
    done: Store, planned: Store, tmp_path: Path
) -> None:
    # All of them pass through one connection of the writer.
    folders = [folder_of(done, tmp_path / name) for name in ("one", "two")]
    items = list(done.items("small").values())

    def open_folder(folder: Path) -> None:
        save_shards_as_study(
            planned, replace(parse_study(STUDY), name=folder.name), items, folder, "sha"
        )

    def take(_: object) -> None:
        import_shards(planned, [folders[0] / "m.parquet"])

    with ThreadPoolExecutor(4) as pool:
        work = [pool.submit(open_folder, folder) for folder in folders]
        work += [pool.submit(take, None) for _ in range(6)]
        for one in work:
            one.result()
    for name in ("one", "two"):
        assert len(rows(planned, name)) == len(rows(done))
    assert len(rows(planned)) == 6


def test_a_folder_is_opened_whole_or_not_at_all_when_the_disk_is_in_trouble(
    done: Store, store: Store, tmp_path: Path
) -> None:
    def fail(_: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    items = list(done.items("small").values())
    store.writer.run(create_import_table)
    with pytest.raises(StoreUnusable):
        store.writer.run(fail)  # a run's, say: the writer opens its file anew
    with pytest.raises(SourceError, match=pattern("import", "folder again")):
        store.writer.run(lambda c: insert_import_rows(c, []))
    with pytest.raises(SourceError, match=pattern("import", "folder again")):
        store.writer.run(
            lambda c: store_collected_rows_as_study(c, parse_study(STUDY), items, "sha")
        )
    assert store.studies() == []


def test_shards_without_items_say_so_and_keep_their_ids(
    done: Store, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of(done, tmp_path / "small")
    (folder / "items.jsonl").unlink()
    assert main(["import", str(folder), "--store", str(store.path)]) == 0
    assert says(capsys.readouterr().out, "without question", "answers: add")
    assert set(store.items("small")) == {j.ask.item for j in rows(done)}


def test_a_folder_is_counted_without_reading_its_texts(done: Store, tmp_path: Path) -> None:
    folder = folder_of(done, tmp_path / "small")
    held = summarise_shards(folder)
    assert held.rows == len(rows(done)) + 2  # two came twice
    assert set(held.items) == {j.ask.item for j in rows(done)}
    assert held.unknown_order == 0
    assert ".parquet contains" in why_matches_shards(folder)
    assert why_matches_shards(tmp_path / "nothing") == ""


def test_a_broken_shard_is_named(done: Store, planned: Store, tmp_path: Path) -> None:
    write_shard(tmp_path / "good.parquet", outcomes(done)[:2])
    cut = (tmp_path / "good.parquet").read_bytes()[:-100]
    (tmp_path / "cut.parquet").write_bytes(cut)
    assert [path.name for path in find_shards(tmp_path)] == ["good.parquet"]
    with pytest.raises(SourceError, match=r"cut\.parquet: cannot be read"):
        import_shards(planned, [tmp_path / "cut.parquet"])


def test_an_unknown_status_is_no_judgement(done: Store, planned: Store, tmp_path: Path) -> None:
    odd = outcomes(done)[0]
    wrong = replace(odd.judgement, status="splendid")  # type: ignore[arg-type]
    write_shard(tmp_path / "a.parquet", [replace(odd, judgement=wrong)])
    with pytest.raises(SourceError, match=pattern("a.parquet", "not judgements", "'splendid'")):
        import_shards(planned, [tmp_path / "a.parquet"])


def test_shards_of_two_studies_in_one_folder_are_refused(
    done: Store, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = outcomes(done)[0]
    other = replace(one.judgement.ask, judge="somebody else")
    write_shard(tmp_path / "f" / "a.parquet", [one])
    write_shard(
        tmp_path / "f" / "b.parquet", [replace(one, judgement=replace(one.judgement, ask=other))]
    )
    assert main(["import", str(tmp_path / "f"), "--store", str(store.path)]) == 2
    assert says(capsys.readouterr().err, "shards", "several studies")


def test_scores_and_probabilities_survive(planned: Store, done: Store, tmp_path: Path) -> None:
    one = outcomes(done)[0]
    assert one.judgement.verdict is not None or one.judgement.status == "unreadable"
    verdict = replace(
        next(o.judgement.verdict for o in outcomes(done) if o.judgement.verdict),
        scores=(7.0, 8.5), label_probabilities=(0.25, 0.75), label_mass=0.9, pick="tie", margin=0,
    )  # fmt: skip
    judgement = replace(
        one.judgement, status="ok", verdict=verdict, cost=0.5, usage=Usage(None, None, 3, 4),
        top_logprobs=json.dumps([["A", -0.5]]), reasoning="because",
    )  # fmt: skip
    write_shard(tmp_path / "a.parquet", [replace(one, judgement=judgement)])
    import_shards(planned, [tmp_path / "a.parquet"])
    assert rows(planned) == [judgement]


def test_a_folder_without_final_results_is_refused(done: Store, tmp_path: Path) -> None:
    one = outcomes(done)[0]
    write_shard(tmp_path / "small" / "a.parquet", [replace(one, settled=False)])
    with pytest.raises(SourceError, match=r"^small: no judgements"):
        summarise_shards(tmp_path / "small")
    write_shard(tmp_path / "small" / "b.parquet", [one])
    assert summarise_shards(tmp_path / "small").rows == 1


def test_an_exported_file_is_read_as_a_shard_of_final_results(done: Store, tmp_path: Path) -> None:
    """It lacks the columns that only shards have: they are empty, and every row counts."""
    write_shard(tmp_path / "own.parquet", outcomes(done))
    table = pq.read_table(tmp_path / "own.parquet")
    bare = table.drop_columns(["position", "settled", "attempts"])
    (tmp_path / "bare").mkdir()
    pq.write_table(bare, tmp_path / "bare" / "a.parquet")
    (batch,) = read_batches(tmp_path / "bare" / "a.parquet")
    assert batch.schema.names == [*bare.schema.names, "position", "settled", "attempts"]
    for name in ("position", "settled", "attempts"):
        assert batch.column(name).null_count == len(batch) == len(rows(done))
    assert summarise_shards(tmp_path / "bare").rows == len(rows(done))
    keys = finished_keys([tmp_path / "bare" / "a.parquet"])
    assert keys == {one.ask.key for one in rows(done)}


def test_a_journal_becomes_a_shard_unless_it_has_one_or_no_whole_line(
    done: Store, tmp_path: Path
) -> None:
    row = json.dumps(_shard_row(outcomes(done)[0]))
    journals = {"b1-new": f"{row}\n{row[:40]}", "b1-kept": row, "b1-cut": row[:40], "b2-other": row}
    for name, text in journals.items():
        (tmp_path / f"{name}{JOURNAL_SUFFIX}").write_text(text, encoding="utf-8")
    (tmp_path / "b1-kept.parquet").write_bytes(b"as it was")
    recover_journals(tmp_path, "b1")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "b1-kept.parquet", "b1-new.parquet", f"b2-other{JOURNAL_SUFFIX}",
    ]  # fmt: skip
    assert (tmp_path / "b1-kept.parquet").read_bytes() == b"as it was"
    (batch,) = read_batches(tmp_path / "b1-new.parquet")
    assert [one["ask"]["key"] for one in batch.to_pylist()] == [rows(done)[0].ask.key]
