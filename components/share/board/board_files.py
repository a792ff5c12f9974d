"""Build a board (a static page that compares judges, with its records), add a study to it, and
verify it; all three compute from the same records."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import yaml

from components.html.format import count
from components.html.markup import ASSETS
from components.share.board.board_page import board_page, board_verified_message
from components.share.board.board_rows import Json, compute_board
from components.share.board.check_records import check_record_structure, recheck_records
from components.share.board.record_tree import (
    MANIFEST_FILE,
    PAGE_FILE,
    RECORDS,
    BoardError,
    StudyRecords,
    file_hashes,
    json_text,
    manifest_hash,
    read_json,
    read_records,
    record_file_paths,
    study_folders,
    write_json,
    write_manifest,
    write_records,
)

BOARD_FILE: Final = "board.json"
VERDICTS_FOLDER: Final = "verdicts"
README_FILE: Final = "README.md"
WORKFLOW_FILE: Final = ".github/workflows/check-board.yaml"
DEFAULT_TITLE: Final = "Judges compared"
_SCRIPT_START: Final = "boardVerdicts("
_DATA_TAG: Final = re.compile(r'<script\b[^<>]*\bid="board-data"[^<>]*>')
_DATA_END: Final = re.compile(r"</script>")
"""_DATA_TAG and _DATA_END: start and end of the element of a page that contains its numbers."""


def write_board(all_records: Iterable[StudyRecords], board: Path, title: str = "") -> Json:
    """Write a new board (a static page that compares judges, with its records) of these studies;
    return its numbers. The studies are read one at a time. BoardError, and no board, if the folder
    `board` is not empty or the records of a study have a fault."""
    if board.exists() and (not board.is_dir() or any(board.iterdir())):
        raise BoardError(f"{board} is not empty and was not changed; name a new folder")
    part = board.with_name(board.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        made = write_derived_files(
            part, title or DEFAULT_TITLE, _check_and_write_records(all_records, part)
        )
        if board.exists():
            board.rmdir()
        part.replace(board)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return made


def zip_board(all_records: Iterable[StudyRecords], path: Path) -> None:
    """Write a new board of these studies as one zip file."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        write_board(all_records, Path(folder) / "board")
        shutil.make_archive(str(path.with_suffix("")), "zip", folder, "board")


def add_study(board: Path, records: StudyRecords) -> Json:
    """Add one study to a board, and compute the board anew; return its numbers. BoardError if its
    records have a fault, or if the board has a study of this name. At an error the study is not
    part of the board."""
    title = read_json(board / BOARD_FILE)["title"]
    present = [read_records(board, name) for name in study_folders(board)]
    added = [*_check_and_write_records([records], board)]
    try:
        return write_derived_files(board, title, [*present, *added])
    except BaseException:
        shutil.rmtree(board / RECORDS / records.name)
        raise


def _check_and_write_records(
    all_records: Iterable[StudyRecords], board: Path
) -> Iterator[StudyRecords]:
    """Check the records of each study, write them to the board's tree, and yield them; BoardError
    at the first fault."""
    for records in all_records:
        check_record_structure(records)
        write_records(records, board)
        yield records


def write_derived_files(board: Path, title: str, records: Iterable[StudyRecords]) -> Json:
    """Write the files that are computed from the records: numbers, verdicts by row, README,
    workflow, manifest and page; return the numbers."""
    found, verdicts = compute_board(records, title)
    shutil.rmtree(board / VERDICTS_FOLDER, ignore_errors=True)
    (board / VERDICTS_FOLDER).mkdir()
    write_json(board / BOARD_FILE, found)
    for row, one in verdicts.items():
        path = board / VERDICTS_FOLDER / f"{row}.js"
        path.write_text(row_verdicts_javascript(row, one), encoding="utf-8")
    (board / README_FILE).write_text(readme_text(found), encoding="utf-8")
    workflow = board / WORKFLOW_FILE
    workflow.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ASSETS / "board" / "check-board.yml", workflow)
    write_manifest(board)
    page = board_page(found, manifest_hash(board))
    (board / PAGE_FILE).write_text(page, encoding="utf-8")
    return found


def row_verdicts_javascript(row: str, verdicts: str) -> str:
    """A JavaScript file that hands the verdicts of a row (JSON) to the page. It is a script because
    a page opened from a file may load scripts, but no data."""
    return f"{_SCRIPT_START}{json.dumps(row)}, {verdicts});\n"


def readme_text(board: Json) -> str:
    """README of the board's folder, with the metadata of a static Space."""
    front = {"title": board["title"][:60], "sdk": "static", "app_file": PAGE_FILE, "pinned": False}
    top = yaml.safe_dump(front, sort_keys=False, allow_unicode=True)
    return (
        f"---\n{top}---\n\n# {board['title']}\n\n"
        f"Judges compared: {count(len(board['rows']), 'row')}, "
        f"{count(board['verdicts'], 'judgement')}. Open "
        f"`{PAGE_FILE}`; it needs no server. Every number is computed from the records in "
        f"`{RECORDS}/`:\n\n    python -m components board verify .\n\n"
        "To add a judge, run a study, then `python -m components board add . STUDY`, and send the "
        "changed folder as a pull request.\n"
    )


# ---- verify --------------------------------------------------------------------------------------


def verify_board(board: Path, manifest: str = "") -> str:
    """Compute everything on a board again from its records, and compare; BoardError at the first
    difference. Return a line that says how many judgements, rows and numbers are equal, and how
    many replies were read again. `manifest`: the SHA-256 that manifest.json must have; "" to skip
    this."""
    if manifest and manifest != manifest_hash(board):
        raise BoardError(f"{MANIFEST_FILE}: its SHA-256 is {manifest_hash(board)}")
    _check_manifest(board)
    stored = read_json(board / BOARD_FILE)
    counts: list[int] = []
    files: list[str] = []

    def yield_checked() -> Iterator[StudyRecords]:
        for name in study_folders(board):
            records = read_records(board, name)
            counts.append(recheck_records(records))
            files.extend(record_file_paths(records))
            yield records

    found, verdicts = compute_board(yield_checked(), str(stored.get("title", "")))
    require_equal_boards(stored, json.loads(json.dumps(found)), BOARD_FILE)
    _require_equal_text(board / BOARD_FILE, json_text(stored), board)
    for row in found["rows"]:
        require_equal_verdicts(board, row, verdicts[row["id"]])
        files.append(f"{VERDICTS_FOLDER}/{row['id']}.js")
    _require_exact_files(board, files)
    _require_equal_text(board / README_FILE, readme_text(found), board)
    if (board / WORKFLOW_FILE).exists():  # a copy may lack hidden folders
        workflow = (ASSETS / "board" / "check-board.yml").read_text(encoding="utf-8")
        _require_equal_text(board / WORKFLOW_FILE, workflow, board)
    _require_equal_page(board, stored)
    return f"{board_verified_message(found)}; {count(sum(counts), 'reply')} read again"


def _check_manifest(board: Path) -> None:
    listed = read_json(board / MANIFEST_FILE).get("sha256", {})
    found = file_hashes(board)
    for name in sorted({*listed, *found}):
        if name not in found:
            raise BoardError(f"{name}: listed in {MANIFEST_FILE}, but missing")
        if name not in listed:
            raise BoardError(f"{name}: not listed in {MANIFEST_FILE}")
        if listed[name] != found[name]:
            raise BoardError(f"{name}: its SHA-256 differs from the one in {MANIFEST_FILE}")
    _require_equal_text(board / MANIFEST_FILE, json_text({"sha256": found}), board)


def _require_exact_files(board: Path, expected: Iterable[str]) -> None:
    """Raise BoardError unless the files of records and verdicts are exactly those `expected`."""
    own = (f"{RECORDS}/", f"{VERDICTS_FOLDER}/")
    found, wanted = file_hashes(board), set(expected)
    if more := {name for name in found if name.startswith(own)} - wanted:
        raise BoardError(f"{min(more)}: no file of a board")
    if linked := wanted - found.keys():
        raise BoardError(f"{min(linked)}: not a file of this folder")


def require_equal_boards(stored: Json, found: Json, file: str) -> None:
    """Raise BoardError at the first value in which two boards differ by more than rounding:
    `stored`, read from `file`, and `found`, computed from the records. The error names file, row
    and value."""
    if len(stored["rows"]) != len(found["rows"]):
        raise BoardError(
            f"{file}: {len(stored['rows'])} rows; the records have {len(found['rows'])}"
        )
    for mine, theirs in zip(stored["rows"], found["rows"], strict=True):
        row = f"{file}, row {mine.get('judge')}, {mine.get('prompt')}"
        for key in {**theirs, **mine}:
            if key == "numbers":
                _require_equal_numbers(mine[key], theirs[key], row)
            elif not _is_equal_up_to_rounding(mine.get(key), theirs.get(key)):
                _raise_difference(f"{row}, {key}", mine.get(key), theirs.get(key))
    for key in {**found, **stored}:
        if key != "rows" and not _is_equal_up_to_rounding(stored.get(key), found.get(key)):
            _raise_difference(f"{file}, {key}", stored.get(key), found.get(key))


def _require_equal_numbers(stored: Json, found: Json, row: str) -> None:
    for key in {**found, **stored}:
        mine, theirs = stored.get(key, {}), found.get(key, {})
        for part in {**theirs, **mine}:
            if not _is_equal_up_to_rounding(mine.get(part), theirs.get(part)):
                _raise_difference(f"{row}, {key}, {part}", mine.get(part), theirs.get(part))


def _is_equal_up_to_rounding(mine: Any, theirs: Any) -> bool:
    """Whether two values are equal; two floats may differ by rounding, up to 0.0000015 (for values
    above 1, up to this fraction of them)."""
    if isinstance(mine, float) and isinstance(theirs, float):
        return abs(mine - theirs) <= 1.5e-6 * max(1.0, abs(mine))
    return bool(mine == theirs)


def _raise_difference(where: str, stored: object, found: object) -> None:
    raise BoardError(f"{where}: the board says {stored}, its records give {found}")


def require_equal_verdicts(board: Path, row: Json, verdicts: str) -> None:
    """Raise BoardError if the file with the verdicts of a row, which the page lists, differs from
    `verdicts`, computed from the records; the error names the first verdict that differs."""
    path = board / VERDICTS_FOLDER / f"{row['id']}.js"
    expected = row_verdicts_javascript(row["id"], verdicts)
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text != expected and text.startswith(_SCRIPT_START):
        stored = _parse_json_object_or_empty(text.partition(", ")[2].rpartition(")")[0]).get(
            "rows", []
        )
        for mine, theirs in zip(stored, json.loads(verdicts)["rows"], strict=False):
            if mine != theirs:
                name = f"{VERDICTS_FOLDER}/{path.name}, row {row['judge']}, {row['prompt']}"
                _raise_difference(f"{name}, line {theirs[0]} of {row['study']}", mine, theirs)
    _require_equal_text(path, expected, board)


def _require_equal_page(board: Path, stored: Json) -> None:
    page, path = board_page(stored, manifest_hash(board)), board / PAGE_FILE
    if path.is_file() and path.read_text(encoding="utf-8") != page:
        text = path.read_text(encoding="utf-8")
        tag = _DATA_TAG.search(text)
        end = _DATA_END.search(text, tag.end()) if tag else None
        data = _parse_json_object_or_empty(text[tag.end() : end.start()]) if tag and end else {}
        if "rows" in data:
            require_equal_boards(data, stored, PAGE_FILE)
    _require_equal_text(path, page, board)


def _parse_json_object_or_empty(text: str) -> Json:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _require_equal_text(path: Path, expected: str, board: Path) -> None:
    name = path.relative_to(board).as_posix()
    if not path.is_file():
        raise BoardError(f"{name}: missing")
    text = path.read_bytes().decode(errors="replace")
    if text != expected:
        lines = zip_longest(text.split("\n"), expected.split("\n"))
        line = next(at for at, (mine, theirs) in enumerate(lines, 1) if mine != theirs)
        raise BoardError(
            f"{name}, line {line}: differs from the file that this version of Evenhand makes from "
            "the records"
        )
