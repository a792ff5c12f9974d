"""The store: saving, sharing and deleting judgements; unusable files are refused."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.domain import STATUSES, Judgement, Usage, Verdict
from studies.errors import SourceError, StoreTooNew, StoreUnusable, StudyError
from studies.frames.frame import SEP, frame_from_rows
from studies.spec.study import Study, study_from_mapping
from studies.store import database, parallel_reads
from studies.store.queries import prompt_queries
from studies.store.rows import PromptText, put_judgement
from studies.store.store import PlanChange, Store
from studies.texts.twin_families import TWIN_SIGN
from tests.other_user import let_others_enter, without_rights
from tests.page_words import pattern
from tests.studies.small_items import ask, item, judged, planned


def write(store: Store, *judgements: Judgement) -> None:
    for judgement in judgements:
        store.writer.run(lambda c, j=judgement: put_judgement(c, j))


def save(store: Store, name: str, *keys: str, **more: Any) -> PlanChange:
    asks = [ask(key) for key in keys]
    return store.save_study(Study(name=name), more.get("items", [item()]), planned(*asks))


def rows(store: Store, table: str) -> int:
    return int(store.read(f"SELECT count(*) FROM {table}").fetchone()[0])


# ---- studies and their plans -------------------------------------------------------------------


def test_a_study_comes_back_as_it_was_saved(store: Store) -> None:
    values = {
        "name": "s", "contestants": ["x"], "families": {"x": "a"}, "noise_floor": 0.25,
        "judges": [{"name": "j", "model": "m", "base_url": "http://127.0.0.1/v1",
                    "temperature": None, "price": {"input": 1, "output": 2}}],
    }  # fmt: skip
    study = study_from_mapping(values)
    store.save_study(study, [item()], [])
    assert store.study("s") == study


def test_saving_again_keeps_judgements_and_says_what_changed(store: Store) -> None:
    save(store, "s", "k1", "k2", "k3")
    write(store, judged(ask("k1")), judged(ask("k2")))
    # k1 stays, k2 and k3 are no longer asked for, k4 is new.
    assert save(store, "s", "k1", "k4") == PlanChange(kept=1, dropped=2, added=1)
    assert store.status_counts("s") == {"planned": 2, "ok": 1, "pending": 1}
    assert rows(store, "judgements") == rows(store, "replies") == 2
    assert save(store, "s", "k2") == PlanChange(kept=0, dropped=2, added=1)
    assert store.status_counts("s") == {"planned": 1, "ok": 1}


def test_a_plan_that_fails_half_way_leaves_the_old_one(store: Store) -> None:
    def failing() -> Iterator[Any]:
        yield from planned(ask("k9"))
        raise SourceError("an image is gone")

    save(store, "s", "k1", "k2")
    with pytest.raises(SourceError, match=pattern("image", "gone")):
        store.save_study(Study(name="s"), [], failing())
    assert [made.key for made in store.asks("s")] == ["k1", "k2"]
    assert list(store.items("s")) == ["q1"]


def test_asks_come_back_in_plan_order_with_all_they_hold(store: Store) -> None:
    asks = [
        ask("b", shown="xy", repeat=1, noise=True, orders=2),
        ask("a", item="q2", shown="zyx", orders=3, unrelated_item="q1"),
    ]
    store.save_study(Study(name="s"), [item("q1"), item("q2")], planned(*asks))
    assert list(store.asks("s")) == asks


def test_a_study_nobody_saved_is_named_with_those_that_were(store: Store) -> None:
    with pytest.raises(StudyError, match=pattern("no", "named 'x'", "none")):
        store.study("x")
    save(store, "one")
    with pytest.raises(StudyError, match="Known studies: one"):
        store.study("x")
    with pytest.raises(StudyError, match=pattern("no study named", "'x'")):
        store.delete_study("x")


def test_equal_items_are_stored_once_and_unequal_ones_of_one_id_apart(store: Store) -> None:
    save(store, "one", items=[item("q1"), item("q2")])
    save(store, "two", items=[item("q1"), replace(item("q2"), category="other")])
    assert rows(store, "items") == 3
    assert store.items("one")["q2"].category == ""
    found = store.item("two", "q2")
    assert found is not None and found.category == "other"
    assert store.item("two", "q9") is None


def test_texts_of_any_kind_survive(store: Store) -> None:
    hostile = "nul \0, \u2028 line, 😀, ' quote; DROP TABLE items; \x1f"
    made = replace(item(), responses={"x": hostile, "y": hostile[::-1]}, instruction=hostile)
    save(store, "s", "k", items=[made])
    write(store, judged(ask("k"), reply=hostile, reasoning=hostile, detail=hostile))
    assert store.items("s")["q1"] == made
    found = store.judgement("s", "k")
    assert found is not None
    assert (found.reply, found.reasoning, found.detail) == (hostile, hostile, hostile)


def test_prompts_are_kept_by_their_hash(store: Store) -> None:
    texts = [PromptText("sha1", "p", 1, "name: p"), PromptText("sha2", "p", 2, "name: p # 2")]
    store.save_study(Study(name="s"), [item()], [], texts)
    store.save_study(Study(name="t"), [item()], [], texts[:1])
    assert (store.prompt_yaml("sha2"), store.prompt_yaml("sha3")) == ("name: p # 2", None)
    assert rows(store, "prompts") == 2


# ---- deleting ----------------------------------------------------------------------------------


def test_deleting_takes_what_no_other_study_asks_for(store: Store) -> None:
    save(store, "one", "shared", "own", items=[item("q1"), item("q2")])
    save(store, "two", "shared", items=[item("q1")])
    write(store, judged(ask("shared")), judged(ask("own")))
    assert store.delete_study("one") == 1
    assert [line.name for line in store.studies()] == ["two"]
    assert [made.ask.key for made in store.judgements("two")] == ["shared"]
    left = {name: rows(store, name) for name in ("items", "plan", "requests", "replies")}
    assert left == {"items": 1, "plan": 1, "requests": 1, "replies": 1}


def test_a_new_study_of_a_deleted_name_has_no_past_runs(store: Store) -> None:
    """They carry what was spent, which would count against the budget of the new study."""
    for name in ("one", "two"):
        save(store, name, "k")
    runs = [(f"id {name}", name, "1-dead", "done", "", 1.0, 2.0) for name in ("one", "two")]
    store.writer.run(lambda c: c.executemany("INSERT INTO runs VALUES (?,?,?,?,?,?,?)", runs))
    store.delete_study("one")
    save(store, "one", "k")
    assert [run.study for run in store.runs()] == ["two"]
    assert store.runs("one") == []


def test_a_run_renews_the_time_of_its_study_and_no_other(store: Store) -> None:
    for name in ("ran", "running", "idle"):
        save(store, name, "k", items=[item("q1")])
    version = store.version("ran")
    saved = {line.name: line.updated for line in store.studies()}
    assert [line.name for line in store.studies()] == ["idle", "running", "ran"]
    late = max(saved.values()) + 100
    runs = [
        ("1", "ran", "x", "done", "", late, late + 7),
        ("2", "running", "x", "running", "", late, None),
    ]
    store.writer.run(lambda c: c.executemany("INSERT INTO runs VALUES (?,?,?,?,?,?,?)", runs))
    used = {"ran": late + 7, "running": late, "idle": saved["idle"]}
    assert [(line.name, line.updated) for line in store.studies()] == list(used.items())
    assert store.version("ran") == version, "a run without judgements leaves drawn results valid"


def test_a_deleted_judgement_s_number_is_never_used_again(store: Store) -> None:
    """Live views follow the numbers: one that came back would be skipped."""
    save(store, "one", "k1")
    write(store, judged(ask("k1")))
    (before,) = [row[-1] for row in store.frame_rows("one")]
    store.delete_study("one")
    save(store, "two", "k2")
    write(store, judged(ask("k2")))
    (after,) = [row[-1] for row in store.frame_rows("two")]
    assert after > before


# ---- judgements --------------------------------------------------------------------------------


probability = st.floats(0, 1)
verdicts = st.builds(
    Verdict,
    pick=st.sampled_from([0, 1, "tie", None]),
    margin=st.integers(0, 2),
    scores=st.lists(st.floats(0, 10), max_size=3).map(tuple),
    label_probabilities=st.lists(probability, max_size=3).map(tuple),
    label_mass=st.none() | probability,
)
judgements = st.builds(
    Judgement,
    ask=st.just(ask("k")),
    status=st.sampled_from(["ok", "extracted"]),
    verdict=verdicts,
    rule=st.text(max_size=5),
    reply=st.text(st.characters(blacklist_categories=("Cs",)), max_size=20),
    usage=st.builds(Usage, st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)),
    cost=st.none() | probability,
    seconds=probability,
    time=st.floats(0, 2e9),
) | st.builds(
    Judgement,
    ask=st.just(ask("k")),
    status=st.sampled_from([status for status in STATUSES if status not in ("ok", "extracted")]),
    detail=st.text(st.characters(blacklist_categories=("Cs",)), max_size=20),
)


@given(judgements)
def test_a_judgement_written_and_read_is_the_same_judgement(made: Judgement) -> None:
    with one_store() as store:
        write(store, made)
        assert list(store.judgements("s")) == [made]
        assert store.judgement("s", "k") == made


_OPEN: list[Store] = []


@pytest.fixture(scope="module", autouse=True)
def a_store_for_the_law(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    made = Store(tmp_path_factory.mktemp("law") / "law.db")
    save(made, "s", "k")
    _OPEN.append(made)
    yield
    made.close()


@contextmanager
def one_store() -> Iterator[Store]:
    yield _OPEN[0]


def test_a_judgement_written_again_replaces_and_moves_to_the_end(store: Store) -> None:
    save(store, "s", "k1", "k2")
    write(store, judged(ask("k1"), None), judged(ask("k2")))
    cursor = max(row[-1] for row in store.frame_rows("s"))
    write(store, judged(ask("k1"), 1))
    (again,) = store.frame_rows("s", since=cursor)
    assert (again[0], again[10]) == (0, 1)
    assert store.status_counts("s") == {"planned": 2, "ok": 2}


def test_narrow_rows_are_in_plan_order_whatever_came_first(store: Store) -> None:
    save(store, "s", "k1", "k2", "k3")
    write(store, *(judged(ask(key)) for key in ("k3", "k1", "k2")))
    assert [row[0] for row in store.frame_rows("s")] == [0, 1, 2]
    assert len(store.frame_rows("s")[0]) == 15


@pytest.mark.parametrize("block", [1, 2, 20_000])
def test_the_frame_is_that_of_its_rows(
    store: Store, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    """The store joins the columns of rows; names with quotes and control signs survive it."""
    monkeypatch.setattr(parallel_reads, "ROWS_PER_BLOCK", block)
    monkeypatch.setattr(parallel_reads, "MIN_PARALLEL_BLOCKS", 2)
    odd = 'say "a"\n\\, é\x1e'
    save(store, "s", "k1", "k2", "unasked", "k3", items=[item(), item(odd)])
    write(store, judged(ask("k3"), None), judged(ask("k1")), judged(ask("k2"), 1))

    def change(c: sqlite3.Connection) -> None:
        c.execute("UPDATE plan SET judge=?, item=? WHERE key='k2'", (odd, odd))
        c.execute("UPDATE judgements SET scores='[1.5, 7]' WHERE key='k1'")
        c.execute("UPDATE judgements SET probabilities='[0.25, 0.75]' WHERE key='k2'")

    store.writer.run(change)
    rows = frame_from_rows(store.frame_rows("s"), store.item_facts("s"), study="s")
    pd.testing.assert_frame_equal(store._build_frame("s", store.study("s")), rows)
    assert list(rows["judge"]) == ["j", odd, "j"]
    assert odd in set(rows["item"])
    assert rows["score_0"].tolist()[0] == 1.5
    assert (odd, "p", "live", "ok", 1) in store.ask_counts_by_rater_and_status("s")
    assert sum(count for *_, count in store.ask_counts_by_rater_and_status("s")) == 4


@pytest.mark.parametrize("parallel_from", [1, 100])
def test_blocks_are_of_one_state_of_the_store(
    store: Store, monkeypatch: pytest.MonkeyPatch, parallel_from: int
) -> None:
    monkeypatch.setattr(parallel_reads, "ROWS_PER_BLOCK", 1)
    monkeypatch.setattr(parallel_reads, "MIN_PARALLEL_BLOCKS", parallel_from)
    keys = [f"k{number}" for number in range(1, 8)]
    save(store, "s", *keys)
    write(store, *(judged(ask(key), 0) for key in keys))
    blocks = store._column_texts("s")
    first = next(blocks)
    write(store, *(judged(ask(key), 1) for key in keys))
    assert [first.seqs, *(block.seqs for block in blocks)] == [str(n) for n in range(1, 8)]
    assert [block.seqs for block in store._column_texts("s")] == [str(n) for n in range(8, 15)]


@pytest.mark.parametrize("commits", [1, 100])
def test_blocks_are_of_one_state_while_another_connection_commits(
    store: Store, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    """A write between the two connections' first reads: both are opened again; only one is used if
    writers never pause."""
    monkeypatch.setattr(parallel_reads, "ROWS_PER_BLOCK", 1)
    monkeypatch.setattr(parallel_reads, "MIN_PARALLEL_BLOCKS", 1)
    save(store, "s", "k1", "k2", "k3")
    write(store, *(judged(ask(key), 0) for key in ("k1", "k2", "k3")))
    opened: list[sqlite3.Connection] = []

    def open_and_write() -> sqlite3.Connection:
        opened.append(store._open_reader())
        if len(opened) % 2 == 0 and len(opened) <= 2 * commits:
            write(store, *(judged(ask(key), 1) for key in ("k1", "k2", "k3")))
        return opened[-1]

    query = (
        "SELECT j.seq FROM plan p JOIN judgements j USING(key) WHERE p.position BETWEEN :first "
        "AND :last AND p.study=(SELECT id FROM studies WHERE name=:study)"
    )
    rows = parallel_reads.read_blocks(store.read_connection, open_and_write, "s", query)
    seqs = [seq for (seq,) in rows]
    assert seqs == list(range(seqs[0], seqs[0] + 3))
    assert len(opened) == (4 if commits == 1 else 2 * parallel_reads.ATTEMPTS + 1)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[-1].execute("SELECT 1")


def test_a_reader_sees_the_state_at_which_it_was_opened_and_is_closed_after(store: Store) -> None:
    save(store, "s", "k1")
    with ExitStack() as stack:
        reader = parallel_reads._open_in_transaction(store._open_reader, stack)
        write(store, judged(ask("k1")))
        assert reader.execute("SELECT count(*) FROM judgements").fetchone() == (0,)
    assert rows(store, "judgements") == 1
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        reader.execute("SELECT 1")


def test_blocks_skip_gaps_between_positions(store: Store) -> None:
    save(store, "s", "k1", "k2")
    write(store, judged(ask("k1")), judged(ask("k2")))
    store.writer.run(lambda c: c.execute("UPDATE plan SET position=? WHERE key='k2'", (2**40,)))
    blocks = parallel_reads.blocks_of_plan(store.read_connection, "s")
    assert [block["first"] for block in blocks] == [0, 2**40]
    assert len(store._build_frame("s", store.study("s"))) == 2


def test_the_rate_of_an_endpoint_that_reports_no_tokens(store: Store) -> None:
    keys = [f"k{number}" for number in range(5)]
    save(store, "s", *keys)
    write(store, *(replace(judged(ask(key)), usage=Usage(), seconds=2.0) for key in keys))
    store.writer.run(lambda c: c.execute("UPDATE requests SET endpoint='e'"))
    assert store.endpoint_throughput("e") == (0.0, 0.5)


def test_an_error_is_pending_and_any_other_outcome_is_not(store: Store) -> None:
    keys = list(STATUSES)
    save(store, "s", *keys)
    write(store, *(judged(ask(s), 0 if s == "ok" else None, status=s) for s in STATUSES))
    assert [made.key for _, made in store.pending_asks("s", "j", -1, 99)] == ["error"]
    assert store.pending_asks("s", "somebody else", -1, 99) == []


def test_pending_asks_come_page_by_page(store: Store) -> None:
    save(store, "s", "a", "b", "c")
    first = store.pending_asks("s", "j", -1, 2)
    assert [made.key for _, made in first] == ["a", "b"]
    assert [made.key for _, made in store.pending_asks("s", "j", first[-1][0], 2)] == ["c"]


def test_the_newest_replies_come_first_and_failures_can_be_had_alone(store: Store) -> None:
    save(store, "s", "a", "b", "c")
    write(store, judged(ask("a")), judged(ask("b"), None), judged(ask("c")))
    assert [made.ask.key for made in store.latest_judgements("s", 2)] == ["c", "b"]
    assert [made.ask.key for made in store.latest_judgements("s", 9, failures_only=True)] == ["b"]


def test_recorded_judgements_follow_the_plan_and_satisfy_no_ask(store: Store) -> None:
    recorded = [judged(ask("r1")), judged(ask("r2"), "tie")]
    store.save_study(
        Study(name="s"), [item()], planned(ask("k1")), recorded=recorded, only_recorded=False
    )
    assert store.status_counts("s") == {"planned": 1, "pending": 1}
    assert [made.ask.key for made in store.judgements("s")] == ["r1", "r2"]
    assert list(store.frame("s")["pick"]) == [0, -1]


# ---- the frame ---------------------------------------------------------------------------------


def test_the_frame_is_made_once_until_something_changes(store: Store) -> None:
    save(store, "s", "k1", "k2")
    write(store, judged(ask("k1")))
    before = store.version("s")
    first = store.frame("s")
    first["mine"] = 1  # what one reader adds is not there for the next
    assert "mine" not in store.frame("s") and store.version("s") == before
    write(store, judged(ask("k2"), 1))
    assert store.version("s") != before
    assert list(store.frame("s")["pick"]) == [0, 1]
    save(store, "s", "k2")
    assert list(store.frame("s")["pick"]) == [1]


def test_the_frame_knows_category_lengths_and_truth_of_its_items(store: Store) -> None:
    human = item(human=(), category="maths", reference="ideal")
    save(store, "s", "k1", items=[human])
    write(store, judged(ask("k1")))
    frame = store.frame("s")
    assert (frame["category"][0], frame["shown"][0]) == ("maths", f"x{SEP}y")
    assert frame["length_0"][0] == len("x answers q1")


def test_without_a_name_the_only_study_is_meant(store: Store) -> None:
    with pytest.raises(StudyError, match=pattern("choose", "--study", "none yet")):
        store.frame()
    save(store, "one", "k1")
    assert len(store.frame()) == 0
    save(store, "two", "k2")
    with pytest.raises(StudyError, match=pattern("store")):
        store.frame()


# ---- which files are stores --------------------------------------------------------------------


def test_a_store_that_is_opened_again_holds_what_was_written(tmp_path: Path) -> None:
    first = Store(tmp_path / "s.db")
    save(first, "s", "k")
    write(first, judged(ask("k")))
    first.close()
    second = Store(tmp_path / "s.db")
    assert second.status_counts("s") == {"planned": 1, "ok": 1}
    second.close()


def test_a_closed_store_can_be_used_again(store: Store) -> None:
    save(store, "s", "k")
    store.close()
    assert store.status_counts("s") == {"planned": 1, "pending": 1}
    save(store, "t", "k")


def test_the_store_is_where_the_environment_says(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("EVENHAND_STORE", str(tmp_path / "deep" / "er.db"))
    made = Store()
    assert made.path == tmp_path / "deep" / "er.db" and made.path.exists()
    made.close()


def test_a_store_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version={database.SCHEMA_VERSION + 1}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(
        StoreTooNew, match=rf"newer Evenhand \(schema {database.SCHEMA_VERSION + 1}.*--store"
    ):
        Store(path)
    assert path.read_bytes() == before


def test_another_program_s_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "photos.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    connection.close()
    with pytest.raises(StoreUnusable, match=r"photos\.db is another program's database.*--store"):
        Store(path)
    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert tables == [("photos",)]


@pytest.mark.parametrize("content", [b"not a database, " * 100, b"SQLite format 3\0" + b"x" * 500])
def test_a_file_that_is_no_database_is_refused_and_left_alone(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(StoreUnusable, match=r"notes\.txt.*file is not a database.*--store"):
        Store(path)
    assert path.read_bytes() == content


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match=pattern("choose another file", "--store")):
        Store(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnusable, match=r"cannot open the store .*--store"):
        Store(tmp_path / "file" / "s.db")


@pytest.mark.skipif(os.name == "nt", reason="POSIX rights")
def test_a_folder_that_cannot_be_written_is_a_message(tmp_path: Path) -> None:
    let_others_enter(tmp_path)
    tmp_path.chmod(0o555)
    try:
        with without_rights(), pytest.raises(StoreUnusable, match=r"s\.db.*--store"):
            Store(tmp_path / "s.db")
        assert list(tmp_path.iterdir()) == []
    finally:
        tmp_path.chmod(0o755)


def test_a_store_that_is_spoilt_while_open_is_a_message(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    made = Store(path)
    save(made, "s", *(f"k{n}" for n in range(500)))
    made.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with pytest.raises(StoreUnusable, match=r"s\.db cannot be read"):
        made.status_counts("s")
    made.close()


def test_calls_without_twins_are_live_ones_if_there_are_any(store: Store) -> None:
    """One live call about the answers, one about a twin; two recorded ones about twins."""
    twin = (f"x{TWIN_SIGN}crowd", "y")
    live = [ask("k1"), replace(ask("k2"), shown=twin)]
    recorded = [judged(replace(ask(key), shown=twin)) for key in ("k3", "k4")]
    store.save_study(Study("mixed"), [item()], planned(*live), recorded=recorded, plan_sha="a")
    assert store.count_asks_without_twins("mixed") == 1
    rows = [*recorded, judged(ask("k5"))]
    store.save_study(Study("r"), [item()], (), recorded=rows, plan_sha="b", only_recorded=True)
    assert store.count_asks_without_twins("r") == 1


@pytest.mark.parametrize(
    ("platform", "variable", "folder"),
    [
        ("linux", "XDG_DATA_HOME", ".local/share"),
        ("win32", "LOCALAPPDATA", "AppData/Local"),
        ("darwin", "", "Library/Application Support"),
    ],
)
def test_without_a_name_the_store_is_in_the_user_s_data_folder(
    platform: str, variable: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EVENHAND_STORE", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(database.sys, "platform", platform)
    assert database.default_store_path() == tmp_path / folder / "evenhand" / "evenhand.db"
    if variable:
        monkeypatch.setenv(variable, "/elsewhere")
        assert database.default_store_path() == Path("/elsewhere/evenhand/evenhand.db")


def test_a_file_that_cannot_be_migrated_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise sqlite3.DatabaseError("no such step")

    monkeypatch.setattr(database, "_create_or_migrate", fail)
    with pytest.raises(StoreUnusable, match=r"a\.db .*no such step"):
        database.prepare_store(tmp_path / "a.db")


def test_the_scale_of_a_prompt_is_a_list() -> None:
    for text, scale in (
        ("scale: [1, two]", ("1", "two")), ("scale: 12", ()), ("scale: [", ()), ("- scale", ()),
    ):  # fmt: skip
        assert prompt_queries.scale_in_prompt_yaml(text) == scale


def test_a_failed_query_of_a_reader_is_a_fault_of_the_store(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise sqlite3.DatabaseError("disk I/O error")

    with monkeypatch.context() as inside:
        inside.setattr(parallel_reads, "read_blocks", fail)
        with pytest.raises(StoreUnusable, match="disk I/O"):
            list(store.read_blocks("s", "SELECT 1"))
    store.close()
    monkeypatch.setattr(store, "_open_reader", fail)
    with pytest.raises(StoreUnusable, match="disk I/O"):
        _ = store.read_connection
