"""Forgeries of the example board: `verify` names file, row and number of each, though the forger
wrote every hash anew, and all numbers too where the records still give any."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.__main__ import main
from components.share.board import board_files, record_tree
from components.share.board.check_records import recheck_records
from components.share.board.record_tree import BoardError
from tests.components.share.board.example_board import (
    EMBEDDED,
    ITEMS,
    LOG,
    RECORDED,
    Rows,
    build_example,
    change_lines,
    change_text,
    derive_again,
    read_lines,
)
from tests.page_words import says
from tests.samples import ALL

JUDGE = "qwen2.5-coder-1.5b"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_example(tmp_path_factory.mktemp("example") / "board", "second.yaml", "pairs.yaml")


@pytest.fixture
def board(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "board"))


def fault(board: Path) -> str:
    with pytest.raises(BoardError) as caught:
        board_files.verify_board(board)
    return str(caught.value)


def record_fault(board: Path, folder: str) -> str:
    """The fault of one study's records; with `make test-all` that of the whole board, for which the
    rows of the studies before it are computed."""
    if ALL:
        return fault(board)
    with pytest.raises(BoardError) as caught:
        recheck_records(record_tree.read_records(board, folder.partition("/")[2]))
    return str(caught.value)


def test_one_changed_byte_of_any_file_is_named(board: Path) -> None:
    paths = [path for path in sorted(board.rglob("*")) if path.is_file()]
    assert len(paths) > 20
    for path in paths:
        name, content = path.relative_to(board).as_posix(), path.read_bytes()
        at = len(content) // 2
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        if name in ("index.html", board_files.WORKFLOW_FILE):
            assert path.read_bytes() != content  # outside the manifest: the next test
        else:
            found = fault(board)
            assert name in found and ("SHA-256" in found or "manifest.json" in found)
        path.write_bytes(content)


@pytest.mark.extra
@pytest.mark.parametrize("name", ["index.html", board_files.WORKFLOW_FILE])
def test_one_changed_byte_outside_the_manifest_is_named(board: Path, name: str) -> None:
    content = (board / name).read_bytes()
    at = len(content) // 2
    (board / name).write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    assert fault(board).startswith(f"{name}, line ")


# ---- records -------------------------------------------------------------------------------------


def of_row(rows: Rows, number: int = 5) -> dict[str, Any]:
    """A record that decides for a position."""
    return [row for row in rows if row["verdict"] and row["verdict"]["pick"] in (0, 1)][number]


def named(row: dict[str, Any]) -> str:
    """Row and comparison of a record, as a message names them."""
    ask = row["ask"]
    return (
        f"{ask['judge']}, {ask['prompt']}, item {ask['item']}, shown {' then '.join(ask['shown'])}"
    )


def swap_pick(row: dict[str, Any]) -> None:
    row["verdict"]["pick"] = 1 - row["verdict"]["pick"]


def test_a_swapped_verdict(board: Path) -> None:
    row = of_row(read_lines(board / RECORDED / LOG))
    change_lines(board / RECORDED / LOG, lambda rows: swap_pick(of_row(rows)))
    derive_again(board)
    stored, found = 2 - row["verdict"]["pick"], fault(board)
    assert found.startswith(f"{RECORDED}/{LOG}, line 6: read again") and named(row) in found
    assert says(found, f"stored ok, position {stored}", f"read ok, position {3 - stored}")


def test_a_swapped_verdict_without_the_tokens_it_was_read_from(board: Path) -> None:
    """The probabilities are swapped too; the reply of the embedded judge still names the label."""

    def swap(rows: Rows) -> None:
        swap_pick(of_row(rows))
        of_row(rows)["verdict"]["label_probabilities"].reverse()

    row = of_row(read_lines(board / EMBEDDED / LOG))
    change_lines(board / EMBEDDED / LOG, swap)
    derive_again(board)
    found = fault(board)
    assert found.startswith(f"{EMBEDDED}/{LOG}, line 6:") and named(row) in found


def test_a_missing_order(board: Path) -> None:
    row = of_row(read_lines(board / EMBEDDED / LOG))
    change_lines(board / EMBEDDED / LOG, lambda rows: rows.remove(of_row(rows)))
    derive_again(board)
    ask, pair = row["ask"], " and ".join(sorted(row["ask"]["shown"]))
    found, place = fault(board), f"{ask['judge']}, {ask['prompt']}, item {ask['item']}, {pair}"
    assert found.startswith(f"{EMBEDDED}/{LOG}:")
    assert says(found, "order is missing", place, "1 of 2")


def test_a_duplicate(board: Path) -> None:
    row = of_row(read_lines(board / EMBEDDED / LOG))
    change_lines(board / EMBEDDED / LOG, lambda rows: rows.append(of_row(rows)))
    derive_again(board)
    found = fault(board)
    assert found.startswith(f"{EMBEDDED}/{LOG}, line 1105")
    assert says(found, "duplicate", "line 6", named(row))


@pytest.mark.parametrize("also_in_the_study_file", [False, True])
def test_a_renamed_judge(board: Path, also_in_the_study_file: bool) -> None:
    def rename(rows: Rows) -> None:
        for row in rows:
            row["ask"]["judge"] = "better"

    change_lines(board / EMBEDDED / LOG, rename)
    if also_in_the_study_file:
        change_text(board / EMBEDDED / "study.yaml", "name: embedded\n", "name: better\n")
    derive_again(board)
    assert fault(board).startswith(f"{EMBEDDED}/{LOG}, line 1: judge 'better'")


@pytest.mark.extra
def test_a_judge_renamed_everywhere_still_shows_what_was_asked(board: Path) -> None:
    """A name is a label that the study's author chose; the model is part of every key."""

    def rename(rows: Rows) -> None:
        for row in rows:
            row["ask"]["judge"], row["model"] = "gpt-9", "gpt-9"

    change_lines(board / RECORDED / LOG, rename)
    change_text(board / RECORDED / "record.json", JUDGE, "gpt-9")
    change_text(board / RECORDED / "study.yaml", f"name: {JUDGE}\n", "name: gpt-9\n")
    derive_again(board, fully=True)
    rows = json.loads((board / "board.json").read_text())["rows"]
    assert {row["requested"] for row in rows if row["judge"] == "gpt-9"} == {f"{JUDGE}-instruct"}
    change_text(board / RECORDED / "study.yaml", f"model: {JUDGE}-instruct", "model: gpt-9")
    derive_again(board)
    found = fault(board)
    assert found.startswith(f"{RECORDED}/{LOG}, line 1: the key")
    assert "judge gpt-9 (study.yaml" in found


@pytest.mark.parametrize("also_in_the_study_file", [False, True])
def test_a_changed_prompt(board: Path, also_in_the_study_file: bool) -> None:
    change_text(board / EMBEDDED / "prompts/brief-warning.yaml", "Response", "Reply")
    if also_in_the_study_file:
        change_text(
            board / EMBEDDED / "study.yaml", "- brief-warning", "- prompts/brief-warning.yaml"
        )
    derive_again(board)
    found = fault(board)
    if also_in_the_study_file:
        assert found.startswith(f"{EMBEDDED}/{LOG}, line ")
        assert says(found, "key", "not fit") and ", or" not in found
        assert found.endswith("prompt brief-warning (prompts/brief-warning.yaml)")
    else:
        assert found.startswith(f"{EMBEDDED}/prompts/brief-warning.yaml: not the prompt")


def exchange_prompts(rows: Rows) -> None:
    other = {"brief-letters": "brief-warning", "brief-warning": "brief-letters"}
    for row in rows:
        row["ask"]["prompt"] = other.get(row["ask"]["prompt"], row["ask"]["prompt"])


def choose_items(rows: Rows) -> None:
    dropped = {row["ask"]["item"] for row in rows[:200]}
    rows[:] = [row for row in rows if row["ask"]["item"] not in dropped]


def flip_known(rows: Rows) -> None:
    for row in rows:
        for one in row["human"]:
            if one["picked"] == "precise":
                one["picked"] = next(name for name in one["shown"] if name != "precise")


@pytest.mark.extra
def test_the_board_as_built_is_verified_with_its_manifest(built: Path) -> None:
    assert "all equal" in board_files.verify_board(built, record_tree.manifest_hash(built))


HARDER: dict[str, tuple[str, str, Callable[[Rows], object], str]] = {
    "records of two rows exchanged": (EMBEDDED, LOG, exchange_prompts, "prompt brief-letters and"),
    "an unwelcome verdict as unreadable": (RECORDED, LOG, lambda rows: of_row(rows).update(
        status="error", verdict=None), "line 6: read again"),
    "a verdict of a judge that reads replies": (RECORDED, LOG, lambda rows: (
        swap_pick(of_row(rows)), of_row(rows).update(status="extracted")), "line 6: read again"),
    "both orders missing": (EMBEDDED, LOG, choose_items, "calls missing"),
    "an unknown status": (EMBEDDED, LOG, lambda rows: rows[5].update(status="fine"), "line 6: not"),
    "other known answers": (EMBEDDED, ITEMS, flip_known, "not as in the probe set: human"),
    "another text": (EMBEDDED, ITEMS, lambda rows: rows[3].update(instruction="?"), "instruction"),
    "an item left out": (EMBEDDED, ITEMS, lambda rows: rows.pop(0), "is not in items.jsonl.gz"),
}  # fmt: skip


@pytest.mark.parametrize("forgery", HARDER)
def test_harder_forgeries_of_records_are_named(board: Path, forgery: str) -> None:
    folder, name, change, words = HARDER[forgery]
    change_lines(board / folder / name, change)
    derive_again(board)
    found = record_fault(board, folder)
    assert found.startswith(folder) and words in found


def test_chosen_items_with_all_their_records_left_out(board: Path) -> None:
    kept = {row["id"] for row in read_lines(board / EMBEDDED / ITEMS)[5:]}
    change_lines(board / EMBEDDED / ITEMS, lambda rows: rows.__delitem__(slice(0, 5)))

    def keep(rows: Rows) -> None:
        rows[:] = [row for row in rows if row["ask"]["item"] in kept]

    change_lines(board / EMBEDDED / LOG, keep)
    derive_again(board)
    assert says(fault(board), f"{EMBEDDED}/{ITEMS}, item coding-01:", "probe set", "missing")


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("study.yaml", "- brief-warning", "- brief-other", "study.yaml: not the prompt brief-o"),
        ("study.yaml", "labels: crossed", "labels: plain", "plans no such call"),
        ("study.yaml", "baseline: precise", "baseline: padded", "plans no such call"),
        ("study.yaml", "name: Probe set,", "name: Other set,", "the name of another study"),
        ("record.json", '"source": "probe"', '"source": "bench"', "the source is 'bench'"),
        ("record.json", "prompts/brief-letters", "../../../README", "no file of prompts/"),
        ("record.json", "embedded:0c1d", "embedded:0c1e", "judge embedded (study.yaml or record"),
    ],
)  # fmt: skip
def test_a_changed_study_file_or_record(
    board: Path, file: str, old: str, new: str, words: str
) -> None:
    change_text(board / EMBEDDED / file, old, new)
    derive_again(board)
    found = fault(board)
    assert EMBEDDED.partition("/")[2] in found and words in found


@pytest.mark.extra
@pytest.mark.parametrize("name", ["records/notes.txt", f"{EMBEDDED}/prompts/more.yaml",
                                  "records/other/record.json", "verdicts/99.js"])  # fmt: skip
def test_a_file_more_that_the_manifest_lists(board: Path, name: str) -> None:
    (board / name).parent.mkdir(exist_ok=True)
    (board / name).write_text("{}")
    record_tree.write_manifest(board)
    found = fault(board)
    assert found.startswith(f"{name}: ") or "other/record.json" in found


@pytest.mark.extra
def test_a_study_twice_under_two_folders(board: Path) -> None:
    shutil.copytree(board / EMBEDDED, board / "records/.again")
    derive_again(board)
    assert says(fault(board), "records/.again/study.yaml:", "name of another study")


# ---- what follows from the records ---------------------------------------------------------------


def in_data(change: Callable[[Any], object]) -> Callable[[Path], None]:
    def work(board: Path) -> None:
        values = json.loads((board / "board.json").read_text())
        change(values["rows"])
        record_tree.write_json(board / "board.json", values)

    return work


def page_number(board: Path) -> None:
    change_text(board / "index.html", '"value":0.89', '"value":0.99')


def page_words(board: Path) -> None:
    change_text(board / "index.html", "4 of 9 rows may be first", "One row is first")


def listed_verdict(board: Path) -> None:
    text = (board / "verdicts/8.js").read_text()
    start = text.index("[[") + 1
    (board / "verdicts/8.js").write_text(text[:start] + text[start:].replace(",1,", ",0,", 1))


def other_list(board: Path) -> None:
    one, two = (board / f"verdicts/{n}.js" for n in (7, 8))
    text = one.read_text()
    one.write_text(two.read_text().replace('("8"', '("7"', 1))
    two.write_text(text.replace('("7"', '("8"', 1))


def twice_in_the_text(board: Path) -> None:
    """A reader of the file sees the first of two equal keys, a program takes the last."""
    change_text(board / "board.json", '"format": 1', '"format": 9,\n "format": 1')


DERIVED: dict[str, tuple[Callable[[Path], None], str]] = {
    "number": (in_data(lambda rows: rows[7]["numbers"]["accuracy"].update(value=0.99)),
               f"board.json, row {JUDGE}, brief-reference, accuracy, value: the board says 0.99"),
    "rows exchanged": (in_data(lambda rows: rows.insert(4, rows.pop(5))),
                       f"board.json, row {JUDGE}, brief-letters, id"),
    "text of a file": (twice_in_the_text, "board.json, line "),
    "number of the page": (page_number, f"index.html, row {JUDGE}, brief-reference, accuracy"),
    "sentence of the page": (page_words, "index.html, line "),
    "listed verdict": (listed_verdict, f"verdicts/8.js, row {JUDGE}, brief-reference, line "),
    "lists of two rows": (other_list, f"verdicts/7.js, row {JUDGE}, brief-numbers, line "),
}  # fmt: skip


@pytest.mark.extra
@pytest.mark.parametrize("forgery", DERIVED)
def test_a_forgery_of_what_follows_from_the_records_is_named(board: Path, forgery: str) -> None:
    change, words = DERIVED[forgery]
    change(board)
    record_tree.write_manifest(board)
    assert fault(board).startswith(words)


@pytest.mark.extra
def test_records_invented_as_a_whole_are_found_by_the_manifest_that_was_published(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published = record_tree.manifest_hash(board)

    def exchange(rows: Rows) -> None:  # two replies to the same prompt: both keys fit
        one = of_row(rows)
        two = next(row for row in rows if row["ask"]["prompt"] == one["ask"]["prompt"]
                   and row["verdict"]["pick"] != one["verdict"]["pick"])  # fmt: skip
        for part in one.keys() - {"ask"}:
            one[part], two[part] = two[part], one[part]

    change_lines(board / RECORDED / LOG, exchange)
    derive_again(board)
    assert main(["board", "verify", str(board), "--manifest", published]) == 1
    assert "manifest.json: its SHA-256 is" in capsys.readouterr().err
