"""Rows, keys and values of JSON are counted before they are parsed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from studies.errors import SourceError
from studies.files import tables
from studies.files.read_limits import PUBLIC_LIMITS, current_limits
from studies.files.table_formats import json_lines
from studies.files.table_formats.json_lines import (
    count_values_within_limits,
    parse_cell_if_json,
    parse_json_cell_or_raise,
)
from studies.files.table_formats.nested_columns import value_at_path
from studies.files.tables import read_table
from studies.sources.cells import parse_conversation, parse_texts
from tests.attacks.attack_log import Mode, attempt, each_mode  # noqa: F401 - a fixture
from tests.conftest import ROOT

BURSTING = "bombs and huge uploads"
SHARE = 100
"""The limits of a mode are divided by this number, so that the files are small."""
SMALL = replace(PUBLIC_LIMITS, rows=100, columns=10, values=300, depth=8)


def keys(many: int) -> str:
    return ",".join(f'"{number}":1' for number in range(many))


BOMBS = {
    "rows": lambda many: f"[{','.join(['{}'] * many)}]",
    "keys of one object": lambda many: f"{{{keys(many)}}}",
    "keys inside a row": lambda many: f'[{{"a": {{{keys(many)}}}}}]',
    "keys before a second line": lambda many: f"{{{keys(many)}}}\n{{}}",
    "values of a list": lambda many: f'[{{"a": [{",".join("0" * many)}]}}]',
    "lists in lists": lambda many: f"[{','.join(['[[[]]]'] * (many // 3))}]",
}


def refuse_to_parse(*_: object, **__: object) -> Any:
    raise AssertionError("the text was parsed before its values were counted")


@pytest.fixture
def unparsed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (tables, json_lines):
        monkeypatch.setattr(module, "json", SimpleNamespace(loads=refuse_to_parse))


@pytest.mark.parametrize("bomb", BOMBS)
def test_millions_of_rows_keys_or_values_are_not_parsed(
    bomb: str,
    each_mode: Mode,  # noqa: F811
    unparsed: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "a.json"
    whole = current_limits()
    limits = replace(whole, rows=whole.rows // SHARE, values=whole.values // SHARE)
    monkeypatch.setattr(tables, "current_limits", lambda: limits)
    path.write_text(BOMBS[bomb](limits.rows * 15))
    assert path.stat().st_size < whole.file_bytes
    with attempt(BURSTING, each_mode, f"JSON: millions of {bomb}"), pytest.raises(SourceError):
        read_table(path)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "current_limits", lambda: SMALL)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", json.dumps([{"a": 1}] * 101), "more than 100 rows"),
        ("a.json", json.dumps([{"a": [0] * 101}]), "more than 100 rows"),
        ("a.json", json.dumps([{"a": [0] * 50}] * 7), "364 values"),
        ("a.json", json.dumps([{str(n): 1} for n in range(11)]), "11 columns"),
        ("a.json", json.dumps(dict.fromkeys("abcdefghijk", 1)), "11 columns"),
        ("a.jsonl", "".join(f'{{"{n}": 1}}\n' for n in range(100)), "11 columns"),
        ("a.jsonl", (json.dumps({"a": [0] * 50}) + "\n") * 7, "306 values"),
        ("a.csv", "a,b,c,d,e,f\n" + "1,2,3,4,5,6\n" * 51, "306 values"),
        ("a.json", json.dumps([[[[[[[[[[0] * 20]]]]]]]]]), "nested more than 8"),
    ],
)
def test_every_text_format_has_the_same_limits(
    name: str, text: str, reason: str, small: None, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SourceError, match=reason):
        read_table(tmp_path / name)


@pytest.mark.parametrize(
    "rows", [[{"a": 1}] * 100, [{"a": "x, [y] {z}" * 500}], [{"a": 'quote " comma , \\'}] * 40]
)
def test_commas_and_brackets_inside_texts_are_not_values(
    rows: list[Any], small: None, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(rows))
    assert read_table(tmp_path / "a.json").rows == rows


def random_value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.randrange(6 if depth < 6 else 3)
    if kind > 3:
        return [random_value(draw, depth + 1) for _ in range(draw.randrange(6))]
    if kind == 3:
        return {random_text(draw): random_value(draw, depth + 1) for _ in range(draw.randrange(6))}
    return random_text(draw) if kind else draw.choice((None, True, -1.5e9, 7))


def random_text(draw: random.Random) -> str:
    return "".join(draw.choices('\\"[]{},: aé\n', k=draw.randrange(9)))


def count_by_parsing(value: Any) -> int:
    """The same number from the parsed value: an empty list or object counts as one."""
    if not isinstance(value, (dict, list)):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return max(1, len(value)) + sum(map(count_by_parsing, inner))


@pytest.mark.parametrize("indent", [None, 1])
def test_the_count_is_that_of_the_parsed_value(
    indent: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a string or an escape lies across two pieces of the text."""
    monkeypatch.setattr(json_lines, "MEGABYTE", 7)
    generous = replace(PUBLIC_LIMITS, columns=0)
    draw = random.Random(1)
    for _ in range(300):
        value = [random_value(draw) for _ in range(5)]
        for ascii_only in (True, False):
            text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
            assert count_values_within_limits(text.encode(), "a", generous) == count_by_parsing(
                value
            ), text


CELL_READERS: dict[str, Callable[[str], object]] = {
    "a conversation": lambda text: parse_conversation(f"[{text}]"),
    "a list of texts": lambda text: parse_texts(f"[{text}]"),
    "a path into a cell": lambda text: value_at_path({"a": f'{{"b": [{text}]}}'}, ["a", "b"]),
    "a run of Phoenix": lambda text: parse_cell_if_json(f'{{"question": [{text}]}}', "{"),
    "a judgement": lambda text: parse_json_cell_or_raise(f"[{text}]"),
}


@pytest.mark.parametrize("reader", CELL_READERS)
def test_json_inside_a_cell_is_counted_before_it_is_parsed(
    reader: str,
    each_mode: Mode,  # noqa: F811
    unparsed: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_lines, "current_limits", lambda: SMALL)
    deep = ("[" * 9 + "0," * 11 + "0" + "]" * 9, "[" * 9 + "]" * 9, "[" * 20_000)
    for bomb in ("0," * 400 + "0", *deep):
        with attempt(BURSTING, each_mode, f"{reader}: {bomb[:9]}"), pytest.raises(SourceError):
            CELL_READERS[reader](bomb)


def test_nesting_is_measured_not_guessed_from_brackets() -> None:
    depth = PUBLIC_LIMITS.depth
    count_values_within_limits(b"[" * depth + b"]" * depth, "a", PUBLIC_LIMITS)
    count_values_within_limits(json.dumps([{"a": [1]}] * depth).encode(), "a", PUBLIC_LIMITS)
    for text in (b"[" * (depth + 1) + b"]" * (depth + 1), b"[" * (depth + 1), b'{"a":' * 5_000):
        with pytest.raises(SourceError, match=f"nested more than {depth} deep"):
            count_values_within_limits(text, "a", PUBLIC_LIMITS)


def test_no_reader_of_foreign_cells_parses_json_by_itself() -> None:
    """Each uses the functions that count; a log and a schema are counted where they are read, and a
    worker's journal is our own."""
    folders = ("studies/sources", "studies/files")
    found = {
        path.name
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"\bjson\.loads\(", path.read_text(encoding="utf-8"))
    }
    assert found == {"json_lines.py", "inspect_log.py", "tables.py", "shards.py"}
