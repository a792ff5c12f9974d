"""The example board, built as `make board` builds it, and the ways in which a careful forger
rewrites a copy of it."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from components.__main__ import main
from components.share.board import board_files, record_tree
from tests.samples import ALL

ROOT = Path(__file__).parents[4]
EMBEDDED = "records/probe-set-embedded-judge"
RECORDED = "records/probe-set-qwen-1-5b-judge"
LOG, ITEMS = "judgements.jsonl.gz", "items.jsonl.gz"
Rows = list[dict[str, Any]]


def build_example(out: Path, *files: str) -> Path:
    """Run the command of the Makefile's target `board` with another folder; in `make test` only
    with the study files named, if any."""
    recipe = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    found = re.search(r"python -m components (board build .*)", recipe)
    assert found
    words = shlex.split(found[1])
    words[words.index("--out") + 1] = str(out)
    if files and not ALL:
        words = [one for one in words if Path(one).suffix != ".yaml" or Path(one).name in files]
    assert main([str(ROOT / one) if one.startswith("assets/") else one for one in words]) == 0
    return out


def read_lines(path: Path) -> Rows:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def change_lines(path: Path, change: Callable[[Rows], object]) -> None:
    rows = read_lines(path)
    change(rows)
    record_tree.write_gzipped_lines(path, rows)


def change_text(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def derive_again(board: Path, fully: bool = ALL) -> None:
    """Write the numbers, verdicts, page and manifest that follow from the changed records; if they
    cannot be computed any more, the manifest only. `make test`, too, writes only the manifest: the
    records are checked before what follows from them."""
    if not fully:
        record_tree.write_manifest(board)
        return
    try:
        records: Sequence[record_tree.StudyRecords] = [
            record_tree.read_records(board, name) for name in record_tree.study_folders(board)
        ]
        title = record_tree.read_json(board / board_files.BOARD_FILE)["title"]
        board_files.write_derived_files(board, title, records)
    except record_tree.BoardError:
        record_tree.write_manifest(board)
