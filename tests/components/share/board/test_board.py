"""Boards: the same records give the same bytes, and `verify` names every fault of the records, also
when all file hashes were written anew."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import yaml

from components.__main__ import main
from components.filtering.filtered_study import FilteredStudy
from components.share.board import board_files, record_tree
from components.share.board.board_rows import add_rank_ranges, rows_with_verdicts_and_sets
from components.share.board.check_records import check_record_structure, recheck_records
from components.share.board.record_tree import BoardError, StudyRecords
from components.study.plan.study_preview import plan_from_text
from judges.judge_errors import PlanError
from judges.planning.plan import Plan, asks_of, save_plan
from judges.rendering.prompt import parse_prompt
from metrics.catalogue.records import RECORDS, estimate_position_measures
from studies.domain import Ask, Item, Judgement, Preference, Verdict
from studies.exchange.export import write_export
from studies.people.item_votes import votes_as_judgements
from studies.spec.judge_spec import parse_judge
from studies.spec.study import DataSpec, Study
from studies.store.queries.adapted_requests import REFUSABLE_SETS, key_without_parameters
from studies.store.store import Store
from tests.judges.small_studies import run_text
from tests.page_words import says

STUDY = """
name: Two judges
data: {source: probe, count: 8, seed: 1}
contestants: [precise, flawed, offtopic]
judges:
  - {name: leaning, model: simulated, first_bias: 0.6, accuracy: 0.7, seed: 1}
  - {name: fair, model: simulated, accuracy: 1, seed: 2}
prompts: [brief-letters]
noise_floor: 0.1
"""
FOLDER = "records/two-judges"
LOG = f"{FOLDER}/judgements.jsonl.gz"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store(tmp_path_factory.mktemp("board") / "evenhand.db")
    run_text(store, STUDY)
    yield store
    store.close()


@pytest.fixture(scope="module")
def records(store: Store) -> StudyRecords:
    return record_tree.records_of_store(store, "Two judges", by="the tests")


@pytest.fixture(scope="module")
def built(records: StudyRecords, tmp_path_factory: pytest.TempPathFactory) -> Path:
    board = tmp_path_factory.mktemp("built") / "board"
    board_files.write_board([records], board, "A board")
    return board


@pytest.fixture
def board(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "board"))


def test_a_file_of_a_board_has_its_letters_as_they_are() -> None:
    assert record_tree.json_text({"né": [1, None]}) == '{\n "né": [\n  1,\n  null\n ]\n}\n'
    with pytest.raises(ValueError, match="JSON"):
        record_tree.json_text(float("nan"))


def read_log(board: Path, name: str = LOG) -> list[dict[str, Any]]:
    with gzip.open(board / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def rewrite(board: Path, change: Callable[[list[dict[str, Any]]], object], name: str = LOG) -> None:
    """Change the lines of a record file, and write the manifest anew, as a forger would."""
    rows = read_log(board, name)
    change(rows)
    record_tree.write_gzipped_lines(board / name, rows)
    record_tree.write_manifest(board)


def fault(board: Path) -> str:
    with pytest.raises(BoardError) as caught:
        board_files.verify_board(board)
    return str(caught.value)


def all_files(board: Path) -> dict[str, bytes]:
    return {
        path.relative_to(board).as_posix(): path.read_bytes()
        for path in board.rglob("*")
        if path.is_file()
    }


def test_two_builds_of_the_same_records_are_equal_byte_by_byte(
    records: StudyRecords, built: Path, tmp_path: Path
) -> None:
    board_files.write_board([records], tmp_path / "again", "A board")
    assert all_files(tmp_path / "again") == all_files(built)


def test_a_board_as_built_is_verified(board: Path) -> None:
    words = board_files.verify_board(board)
    calls = len(read_log(board))
    assert f"{calls} judgements, 2 rows" in words
    assert f"{calls} replies read again" in words


def test_the_rows_have_the_numbers_of_the_store(store: Store, built: Path) -> None:
    rows = json.loads((built / "board.json").read_text())["rows"]
    profile = estimate_position_measures(store.frame("Two judges"), ["judge", "prompt"])
    for row in rows:
        theirs = profile[row["judge"], row["prompt"]]
        for key in ("accuracy", "consistency", "first_share"):
            mine = row["numbers"][key]
            expected = theirs[key]
            for part in ("value", "low", "high"):
                assert mine[part] == pytest.approx(getattr(expected, part), abs=1e-6)
    assert [row["judge"] for row in rows] == ["fair", "leaning"]
    assert {row["by"] for row in rows} == {"the tests"}


@pytest.mark.parametrize(
    "name",
    [LOG, f"{FOLDER}/items.jsonl.gz", f"{FOLDER}/study.yaml", f"{FOLDER}/record.json",
     f"{FOLDER}/prompts/brief-letters.yaml", "board.json", "verdicts/1.js", "README.md"],
)  # fmt: skip
def test_a_changed_byte_of_any_file_is_named(board: Path, name: str) -> None:
    content = bytearray((board / name).read_bytes())
    content[len(content) // 2] ^= 1
    (board / name).write_bytes(bytes(content))
    assert fault(board).startswith(f"{name}: its SHA-256")


def test_missing_and_additional_files_are_named(board: Path) -> None:
    (board / "notes.txt").write_text("x")
    assert fault(board).startswith("notes.txt: not listed")
    (board / "notes.txt").unlink()
    (board / "verdicts/2.js").unlink()
    assert fault(board).startswith("verdicts/2.js: listed")


def swap(row: dict[str, Any]) -> None:
    row["verdict"]["pick"] = 1 - row["verdict"]["pick"]


def decided(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return next(row for row in rows if row["verdict"] and row["verdict"]["pick"] in (0, 1))


FORGERIES: list[tuple[str, Callable[[list[dict[str, Any]]], object], str]] = [
    ("swapped verdict", lambda rows: swap(decided(rows)), "read again"),
    ("duplicate", lambda rows: rows.append(rows[3]), "duplicate of line 4"),
    ("missing order", lambda rows: rows.remove(next(r for r in rows if not r["ask"]["noise"])),
     "an order is missing"),
    ("missing repeat", lambda rows: rows.remove(next(r for r in rows if r["ask"]["noise"])),
     "calls missing: 1"),
    ("renamed judge", lambda rows: [r["ask"].update(judge="new") for r in rows
                                    if r["ask"]["judge"] == "fair"], "judge 'new'"),
    ("verdicts of another judge", lambda rows: [r["ask"].update(
        judge={"fair": "leaning", "leaning": "fair"}[r["ask"]["judge"]]) for r in rows],
     "key does not fit"),
    ("unknown prompt", lambda rows: rows[0]["ask"].update(prompt="other"), "prompt 'other'"),
    ("mixed judge", lambda rows: rows[0].update(model="newer"), "is mixed"),
    ("other item", lambda rows: rows[0]["ask"].update(item="nowhere"), "item 'nowhere'"),
    ("order count", lambda rows: rows[0]["ask"].update(orders=3), "differs from the plan"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"), [one[1:] for one in FORGERIES], ids=[one[0] for one in FORGERIES]
)
def test_a_forged_record_is_named_though_the_manifest_was_written_anew(
    board: Path, change: Callable[[list[dict[str, Any]]], object], words: str
) -> None:
    rewrite(board, change)
    found = fault(board)
    assert LOG in found and words in found


def test_a_changed_prompt_and_a_changed_answer_do_not_fit_the_keys(board: Path) -> None:
    prompt = board / f"{FOLDER}/prompts/brief-letters.yaml"
    text = prompt.read_text()
    prompt.write_text(text.replace("answer", "reply", 1).replace("Response", "Reply", 1))
    assert prompt.read_text() != text
    record_tree.write_manifest(board)
    assert fault(board).startswith(f"{FOLDER}/prompts/brief-letters.yaml: not the prompt")
    study = board / f"{FOLDER}/study.yaml"
    named = study.read_text()
    study.write_text(named.replace("- brief-letters", "- prompts/brief-letters.yaml"))
    record_tree.write_manifest(board)
    found = fault(board)
    assert says(found, "key", "not fit") and "(prompts/brief-letters.yaml)" in found
    prompt.write_text(text)
    study.write_text(named)
    items = f"{FOLDER}/items.jsonl.gz"
    rewrite(board, lambda rows: rows[2]["responses"].update(flawed="Better."), items)
    name = read_log(board, items)[2]["id"]
    assert says(fault(board), f"{items}, item {name}:", "probe set", "responses")


def test_a_changed_answer_of_a_data_file_does_not_fit_its_keys(
    records: StudyRecords, tmp_path: Path
) -> None:
    """Items that do not come with Evenhand are known by the keys of their calls alone."""
    data = DataSpec(record_tree.ITEMS_FILE, seed=records.study.data.seed)
    study = replace(records.study, data=data)
    own = replace(records, study=study, source="mine")
    board_files.write_board([own], tmp_path / "board")
    board_files.verify_board(tmp_path / "board")
    items = f"{FOLDER}/items.jsonl.gz"
    rewrite(tmp_path / "board", lambda rows: rows[2]["responses"].update(flawed="Better."), items)
    name = read_log(tmp_path / "board", items)[2]["id"]
    found = fault(tmp_path / "board")
    assert says(found, "key", "not fit") and found.endswith(f"item {name} (items.jsonl.gz)")


def test_a_judge_with_other_settings_does_not_fit_the_keys(board: Path) -> None:
    path = board / f"{FOLDER}/record.json"
    facts = json.loads(path.read_text())
    facts["identities"]["fair"] = facts["identities"]["fair"].replace("1", "0.9")
    record_tree.write_json(path, facts)
    record_tree.write_manifest(board)
    assert says(fault(board), "key", "not fit")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda row: row["numbers"]["accuracy"].update(value=0.99), "accuracy, value: the board"),
        (lambda row: row["numbers"]["consistency"].update(place=[1, 1]), "consistency, place"),
        (lambda row: row.update(judge="better"), "row better, brief-letters, judge"),
        (lambda row: row.update(asked=1), "asked: the board says 1"),
    ],
)  # fmt: skip
def test_a_changed_number_is_named_with_its_row(
    board: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    path = board / "board.json"
    values = json.loads(path.read_text())
    change(values["rows"][1])
    record_tree.write_json(path, values)
    record_tree.write_manifest(board)
    found = fault(board)
    assert found.startswith("board.json, row") and words in found


def test_a_changed_page_is_found(board: Path) -> None:
    page = board / "index.html"
    page.write_text(page.read_text().replace("Cost against accuracy", "Cost", 1))
    assert fault(board).startswith("index.html, line ")


def test_add_gives_the_board_that_a_build_of_both_gives(
    records: StudyRecords,
    store: Store,
    board: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_text(store, STUDY.replace("Two judges", "More").replace("name: fair", "name: third"))
    more = record_tree.records_of_store(store, "More", by="another")
    before = all_files(board)
    with monkeypatch.context() as broken, pytest.raises(OSError, match="stopped"):
        broken.setattr(board_files, "compute_board", Mock(side_effect=OSError("stopped")))
        board_files.add_study(board, more)
    assert all_files(board) == before
    board_files.add_study(board, more)
    board_files.write_board([records, more], tmp_path / "both", "A board")
    assert all_files(board) == all_files(tmp_path / "both")
    rows = json.loads((board / "board.json").read_text())["rows"]
    assert len(rows) == 4 and len({row["set"] for row in rows}) == 1
    with pytest.raises(BoardError, match="study of this name"):
        board_files.add_study(board, more)


def test_commands_build_verify_and_exit_1_at_a_difference(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board = tmp_path / "board"
    assert (
        main(["board", "build", "Two judges", "--out", str(board), "--store", str(store.path)]) == 0
    )
    assert main(["board", "verify", str(board)]) == 0
    assert "all equal" in capsys.readouterr().out
    assert (
        main(["board", "build", "Two judges", "--out", str(board), "--store", str(store.path)]) == 2
    )
    rewrite(board, lambda rows: swap(decided(rows)))
    assert main(["board", "verify", str(board)]) == 1
    assert LOG in capsys.readouterr().err
    assert main(["board", "verify", str(tmp_path / "nowhere")]) == 1  # fmt: skip


def test_a_study_file_with_its_export_gives_the_same_records(
    store: Store, records: StudyRecords, tmp_path: Path
) -> None:
    (tmp_path / "two.yaml").write_text(STUDY)
    write_export(store, "Two judges", "jsonl", tmp_path / "two.jsonl")
    found = record_tree.records_of_file(tmp_path / "two.yaml", by="the tests")
    assert found.judgements == records.judgements
    assert dict(found.identities) == dict(records.identities)
    (tmp_path / "two.jsonl").unlink()
    with pytest.raises(BoardError, match=r"two\.jsonl"):
        record_tree.records_of_file(tmp_path / "two.yaml")


def test_twins_have_their_own_column_and_change_no_other(store: Store, tmp_path: Path) -> None:
    """Oracles: the row of the same judges without twins, and the effects that Nudges shows."""
    text = STUDY.replace("Two judges", "With twins")
    run_text(store, text + "twins: {families: [longer-3, crowd], answers: [precise]}\n")
    records = record_tree.records_of_store(store, "With twins")
    board = board_files.write_board([records], tmp_path / "board")
    assert "all equal" in board_files.verify_board(tmp_path / "board")
    plain = [
        row
        for row, *_ in rows_with_verdicts_and_sets(
            record_tree.records_of_store(store, "Two judges")
        )
    ]
    effects = FilteredStudy(store, "With twins").twin_effects
    for one, other in zip(board["rows"], sorted(plain, key=lambda row: row["judge"]), strict=True):
        numbers = {**one["numbers"]}
        nudge = numbers.pop("twin_preference")
        assert one["set"] == other["set"] and one["asked"] > other["asked"]
        for key, number in numbers.items():
            assert number["value"] == other["numbers"][key]["value"], key
        own = [e for e in effects if e.judge == one["judge"] and e.prompt]
        top = max(own, key=lambda e: abs(e.beyond_floor.value))
        assert nudge["value"] == pytest.approx(top.adjusted.value, abs=1e-6)
        assert nudge["place"] is None and says(nudge["note"], top.family, top.floor_family)
    assert plain[0]["numbers"]["twin_preference"]["value"] is None
    (tmp_path / "twins.yaml").write_text(
        text + "twins: {families: [longer-3, crowd], answers: [precise]}\n"
    )
    write_export(store, "With twins", "jsonl", tmp_path / "twins.jsonl")
    from_file = record_tree.records_of_file(tmp_path / "twins.yaml")
    assert recheck_records(from_file) == recheck_records(records)


def test_a_study_whose_judges_see_images_is_refused(store: Store, tmp_path: Path) -> None:
    text = STUDY.replace("model: simulated,", "model: simulated, vision: true,")
    (tmp_path / "two.yaml").write_text(text + "judge_sees: images\n")
    write_export(store, "Two judges", "jsonl", tmp_path / "two.jsonl")
    with pytest.raises(BoardError, match="images"):
        record_tree.records_of_file(tmp_path / "two.yaml")


def test_the_readme_is_a_static_space(built: Path) -> None:
    front = yaml.safe_load((built / "README.md").read_text().split("---")[1])
    assert (front["sdk"], front["app_file"]) == ("static", "index.html")
    workflow = yaml.safe_load((built / ".github/workflows/check-board.yaml").read_text())
    assert "board verify ." in workflow["jobs"]["verify"]["steps"][-1]["run"]


# ---- records by hand ---------------------------------------------------------------------------


def imported(orders: int = 2) -> StudyRecords:
    """Imported verdicts: two judges on three items, in two orders; people prefer x."""
    items, found = [], []
    for k in range(3):
        votes = tuple(Preference(f"p{n}", ("x", "y"), "x") for n in range(2))
        items.append(Item(f"q{k}", "question", {"x": "1", "y": "2"}, human=votes))
        for judge in ("one", "two"):
            for shown in (("x", "y"), ("y", "x"))[:orders]:
                pick = shown.index("x") if judge == "one" else 0
                ask = Ask(
                    f"r{k}{judge}{shown[0]}", f"q{k}", judge, "p", shown, ("A", "B"), orders=2
                )
                found.append(Judgement(ask, "ok", Verdict(pick)))
    study = Study("By hand", Study("").data)
    return StudyRecords("by-hand", study, tuple(items), tuple(found), (), {}, "hand")


def test_imported_verdicts_are_checked_as_far_as_they_can_be() -> None:
    records = imported()
    assert recheck_records(records) == 0, "no imported verdict has a reply"
    rows = {row["judge"]: row for row, _, _ in rows_with_verdicts_and_sets(records)}
    assert rows["one"]["imported"] and rows["one"]["not_read_again"] == 6
    assert rows["one"]["numbers"]["consistency"]["value"] == 1.0
    assert rows["two"]["numbers"]["consistency"]["value"] == 0.0
    assert rows["two"]["numbers"]["first_share"]["value"] == 1.0
    with pytest.raises(BoardError, match="order is missing"):
        check_record_structure(imported(orders=1))
    twice = replace(records, judgements=(*records.judgements, records.judgements[0]))
    with pytest.raises(BoardError, match="duplicate of line 1"):
        check_record_structure(twice)


def test_verify_counts_no_votes_and_the_page_shows_only_its_command(tmp_path: Path) -> None:
    """Votes of people are records, but no verdicts of the board's judges."""
    records = imported()
    votes = votes_as_judgements(records.items, "By hand", [one.ask for one in records.judgements])
    records = replace(records, judgements=(*records.judgements, *votes))
    board_files.write_board([records], tmp_path / "board")
    words = board_files.verify_board(tmp_path / "board").split(";")[0]
    assert votes and words.startswith("12 judgements, 2 rows")
    page = (tmp_path / "board" / "index.html").read_text()
    assert "board verify board/" in page and "all equal" not in page


def test_places_are_the_ranges_that_intervals_allow() -> None:
    """By hand: accuracy is better when higher; [.6, .7] is surely behind [.8, .9] and cannot be
    told from [.65, .85]. First-position share is better near one half."""

    def number(low: float, high: float) -> dict[str, Any]:
        return {"value": (low + high) / 2, "low": low, "high": high}

    empty = {"value": None, "low": None, "high": None}
    rows = []
    for accuracy, first in (((0.8, 0.9), (0.45, 0.55)), ((0.65, 0.85), (0.2, 0.3)),
                            ((0.6, 0.7), (0.7, 0.9))):  # fmt: skip
        numbers = {key: dict(empty) for key in RECORDS}
        numbers |= {"accuracy": number(*accuracy), "first_share": number(*first)}
        rows.append({"numbers": numbers})
    add_rank_ranges(rows)
    assert [row["numbers"]["accuracy"]["place"] for row in rows] == [[1, 2], [1, 3], [2, 3]]
    assert [row["numbers"]["first_share"]["place"] for row in rows] == [[1, 1], [2, 3], [2, 3]]
    assert rows[0]["numbers"]["consistency"]["place"] is None


def test_prompts_with_names_of_other_scripts_have_a_file_each(
    records: StudyRecords, tmp_path: Path
) -> None:
    one, names = records.prompts[0], ["\u54c1\u8cea", "\u6b63\u78ba"]
    prompts = tuple(
        parse_prompt(one.yaml.replace(f"name: {one.name}", f"name: {name}", 1)) for name in names
    )
    record_tree.write_records(replace(records, prompts=prompts), tmp_path)
    found = record_tree.read_records(tmp_path, records.name)
    assert [prompt.name for prompt in found.prompts] == names


# ---- every difference has its own words ------------------------------------------------------


def small_board(**changed: Any) -> dict[str, Any]:
    """A board of one row with one number; `changed`: values of the board, its row or its number."""
    number = {"value": 0.5, "n": 8, "note": "x"}
    row = {"judge": "j", "prompt": "p", "asked": 4, "numbers": {"accuracy": number}}
    board = {"title": "t", "verdicts": 9, "rows": [row]}
    for key, value in changed.items():
        (number if key in number else row if key in row else board)[key] = value
    return board


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"title": "u"}, "f, title: the board says u, its records give t"),
        ({"more": 1}, "f, more: the board says 1, its records give None"),
        ({"asked": 5}, "f, row j, p, asked: the board says 5, its records give 4"),
        ({"prompt": "q"}, "f, row j, q, prompt: the board says q, its records give p"),
        ({"value": 0.51}, "f, row j, p, accuracy, value: the board says 0.51"),
        ({"note": None}, "f, row j, p, accuracy, note: the board says None"),
        ({"rows": []}, "f: 0 rows; the records have 1"),
        ({"numbers": {}}, "f, row j, p, accuracy, value: the board says None"),
        ({"numbers": {**small_board()["rows"][0]["numbers"], "own": {"n": 1}}},
         "f, row j, p, own, n: the board says 1, its records give None"),
    ],
)  # fmt: skip
def test_the_first_value_that_differs_is_named(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(BoardError) as caught:
        board_files.require_equal_boards(small_board(**changed), small_board(), "f")
    assert str(caught.value).startswith(words)


def test_a_number_may_differ_by_rounding_and_by_no_more() -> None:
    """The sixth decimal; of a number above 1, as much of each whole."""
    board_files.require_equal_boards(small_board(), small_board(), "f")
    for value, shift in ((0.5, 1.4e-6), (0.5, -1.4e-6), (200.0, 2.9e-4)):
        stored = small_board(value=value + shift)
        board_files.require_equal_boards(stored, small_board(value=value), "f")
    for value, shift in ((0.5, 1.6e-6), (0.5, -1.6e-6), (200.0, 3.1e-4)):
        with pytest.raises(BoardError):
            board_files.require_equal_boards(
                small_board(value=value + shift), small_board(value=value), "f"
            )
    with pytest.raises(BoardError):  # whole numbers are not rounded
        board_files.require_equal_boards(small_board(n=8 + 10**9), small_board(n=9 + 10**9), "f")


def script_rows(board: Path, change: Callable[[list[Any]], object]) -> None:
    path = board / "verdicts/1.js"
    start, _, rest = path.read_text().partition(", ")
    values = json.loads(rest.rpartition(")")[0])
    change(values["rows"])
    path.write_text(f"{start}, {json.dumps(values)});\n")


def test_a_listed_verdict_is_named_and_a_list_that_cannot_be_read_by_its_line(board: Path) -> None:
    row = json.loads((board / "board.json").read_text())["rows"][0]
    script = (board / "verdicts/1.js").read_text()
    verdicts = script.partition(", ")[2].rpartition(")")[0]
    board_files.require_equal_verdicts(board, row, verdicts)
    second = json.loads(verdicts)["rows"][1]
    script_rows(board, lambda rows: rows[1].__setitem__(-1, "else"))
    with pytest.raises(BoardError) as caught:
        board_files.require_equal_verdicts(board, row, verdicts)
    assert str(caught.value).startswith("verdicts/1.js, row fair, brief")
    assert f", line {second[0]} of two-judges" in str(caught.value)
    for text in (script.replace("[", "{", 1), 'boardVerdicts("1", []);\n', "", script + "x"):
        (board / "verdicts/1.js").write_text(text)
        with pytest.raises(BoardError, match=r"^verdicts/1\.js, line \d"):
            board_files.require_equal_verdicts(board, row, verdicts)
    (board / "verdicts/1.js").unlink()
    with pytest.raises(BoardError, match=r"^verdicts/1\.js: missing$"):
        board_files.require_equal_verdicts(board, row, verdicts)


def test_a_changed_number_of_the_page_is_named_and_other_changes_by_their_line(board: Path) -> None:
    page, stored = board / "index.html", json.loads((board / "board.json").read_text())
    text = page.read_text()
    start = text.index(">", text.index('id="board-data"')) + 1
    end = text.index("</script>", start)
    data = json.loads(text[start:end])
    data["rows"][1]["asked"] = 1
    page.write_text(text[:start] + json.dumps(data) + text[end:])
    with pytest.raises(BoardError) as caught:
        board_files._require_equal_page(board, stored)
    assert str(caught.value).startswith("index.html, row leaning, brief")
    assert ", asked: " in str(caught.value) and " says 1," in str(caught.value)
    for broken in ("{", "[]", "{}"):
        page.write_text(text[:start] + broken + text[end:])
        with pytest.raises(BoardError, match=r"^index\.html, line \d"):
            board_files._require_equal_page(board, stored)
    page.write_text(text[:start])
    with pytest.raises(BoardError, match=r"^index\.html, line \d"):
        board_files._require_equal_page(board, stored)
    page.unlink()
    assert fault(board) == "index.html: missing"


def test_the_manifest_of_a_board_is_the_one_that_was_published(board: Path) -> None:
    published = record_tree.manifest_hash(board)
    assert board_files.verify_board(board, published) == board_files.verify_board(board)
    path = board / "manifest.json"
    listed = json.loads(path.read_text())
    path.write_text(json.dumps(listed))
    assert fault(board).startswith("manifest.json, line 1")
    with pytest.raises(BoardError, match=r"^manifest\.json: its SHA-256 is"):
        board_files.verify_board(board, published)


def test_files_beside_those_of_the_records_and_files_elsewhere_are_named(board: Path) -> None:
    (board / "verdicts/99.js").write_text("x")
    record_tree.write_manifest(board)
    assert fault(board).startswith("verdicts/99.js: no file")
    (board / "verdicts/99.js").unlink()
    (board / "notes.txt").write_text("a reader's own file")
    record_tree.write_manifest(board)
    assert fault(board).startswith("index.html, line "), "the page has the manifest's hash"
    with pytest.raises(BoardError, match=r"^records/gone: "):
        board_files._require_exact_files(board, [*record_tree.file_hashes(board), "records/gone"])


def test_the_workflow_may_be_missing_but_not_differ(board: Path) -> None:
    path = board / board_files.WORKFLOW_FILE
    path.write_text(path.read_text() + "x")
    assert fault(board).startswith(f"{board_files.WORKFLOW_FILE}, line ")
    shutil.rmtree(board / ".github")
    board_files.verify_board(board)


def test_a_board_is_written_whole_into_an_empty_folder_or_not_at_all(
    records: StudyRecords, built: Path, tmp_path: Path
) -> None:
    twice = replace(records, judgements=(*records.judgements, records.judgements[0]))
    with pytest.raises(BoardError, match="duplicate"):
        board_files.write_board([records, twice], tmp_path / "board")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "board").mkdir()
    made = board_files.write_board([records], tmp_path / "board", "A board")
    assert all_files(tmp_path / "board") == all_files(built) and len(made["rows"]) == 2
    for taken in (tmp_path / "board", tmp_path / "file"):
        taken.write_text("mine") if not taken.exists() else None
        with pytest.raises(BoardError, match="not empty"):
            board_files.write_board([records], taken)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_zipped_board_is_the_board(records: StudyRecords, tmp_path: Path) -> None:
    made = board_files.write_board([records], tmp_path / "plain")
    assert made["title"] == board_files.DEFAULT_TITLE
    board_files.zip_board([records], tmp_path / "board.zip")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["board.zip", "plain"]
    shutil.unpack_archive(tmp_path / "board.zip", tmp_path / "out")
    assert all_files(tmp_path / "out" / "board") == all_files(tmp_path / "plain")


# ---- records that cannot be read ---------------------------------------------------------------


def read_fault(board: Path) -> str:
    with pytest.raises(BoardError) as caught:
        record_tree.read_records(board, "two-judges")
    return str(caught.value)


def test_a_record_that_is_missing_or_malformed_is_named_with_its_file(board: Path) -> None:
    folder = board / FOLDER
    record, study, items = (
        folder / name for name in ("record.json", "study.yaml", "items.jsonl.gz")
    )
    facts = json.loads(record.read_text())
    for prompts in (["../study.yaml"], ["prompts/brief-letters.yaml", "prompts/A.yaml"]):
        record_tree.write_json(record, {**facts, "prompts": prompts})
        assert read_fault(board).startswith(f"two-judges/record.json: {prompts[-1]!r} is no")
    for name in ("by", "source", "identities", "prompts"):
        record_tree.write_json(record, {key: facts[key] for key in facts if key != name})
        assert read_fault(board) == f"two-judges/record.json: {name!r} is missing"
    record.write_text("{")
    assert read_fault(board) == f"{record}: not JSON"
    record.unlink()
    assert says(read_fault(board), str(record), "a board")
    record_tree.write_json(record, facts)
    text = study.read_text()
    study.write_text(text.replace("contestants:", "contestant:"))
    assert read_fault(board).startswith("two-judges/study.yaml")
    study.write_text(text)
    items.write_bytes(gzip.compress(b"{not json\n"))
    assert read_fault(board).startswith("records/two-judges/")
    study.unlink()
    assert read_fault(board).startswith(f"{study}: No such")


def test_a_folder_without_records_is_no_board(tmp_path: Path) -> None:
    (tmp_path / "records" / "empty").mkdir(parents=True)
    with pytest.raises(BoardError, match="no records"):
        record_tree.study_folders(tmp_path)
    for name in "ba":
        (tmp_path / "records" / name).mkdir()
        (tmp_path / "records" / name / "record.json").write_text("{}")
    assert record_tree.study_folders(tmp_path) == ["a", "b"]


def test_an_unfinished_study_and_one_without_a_judge_make_no_records(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "evenhand.db")) as store:
        save_plan(plan_from_text(STUDY, tmp_path), store)
        calls = store.status_counts("Two judges")["pending"]
        with pytest.raises(BoardError, match=f"reply: {calls};"):
            record_tree.records_of_store(store, "Two judges")
    people = imported()
    votes = votes_as_judgements(people.items, "By hand", [one.ask for one in people.judgements])
    with pytest.raises(BoardError, match="no verdict"):
        record_tree._make_study_records(people.study, people.items, votes, (), {}, "")


def test_a_visitor_s_own_salt_leaves_the_keys(store: Store, records: StudyRecords) -> None:
    """Also the key of a call that was sent without parameters that its provider refused."""
    study, items = store.study("Two judges"), tuple(store.items("Two judges").values())
    judges = [
        {"name": name, "model": "m", "base_url": f"http://{name}/v1"} for name in records.identities
    ]
    study = replace(study, judges=tuple(parse_judge(one, "judge") for one in judges))
    plain = Plan(study, items, records.prompts, Path())
    salted = [one.ask for one in asks_of(replace(plain, salt="own"))]
    wanted = [one.ask for one in asks_of(plain)]
    assert len(wanted) > 3 and not {one.key for one in salted} & {one.key for one in wanted}
    keys = [key_without_parameters(salted[1].key, names) for names in REFUSABLE_SETS]
    found = record_tree._replace_salted_keys(
        replace(plain, salt="own"),
        [replace(records.judgements[0], ask=replace(salted[1], key=key)) for key in [*keys, "own"]],
        {},
    )
    expected = [key_without_parameters(wanted[1].key, names) for names in REFUSABLE_SETS]
    assert [one.ask for one in found] == [
        replace(salted[1], key=key) for key in [*expected, "own"]
    ]  # fmt: skip


def test_weights_that_are_not_here_are_named_by_the_caller(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "two.yaml").write_text(STUDY)
    write_export(store, "Two judges", "jsonl", tmp_path / "two.jsonl")

    def fail(*_: object) -> str:
        raise PlanError("no such file")

    monkeypatch.setattr(record_tree, "identity_of", fail)
    with pytest.raises(BoardError) as caught:
        record_tree.records_of_file(tmp_path / "two.yaml", {"fair": "embedded:1"})
    assert says(str(caught.value), "judge 'leaning'", "(no such file)", "'leaning=embedded:SHA256'")
    named = {"fair": "embedded:1", "leaning": "embedded:2"}
    found = record_tree.records_of_file(tmp_path / "two.yaml", named)
    assert dict(found.identities) == named
