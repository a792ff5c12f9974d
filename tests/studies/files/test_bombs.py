"""Decompression bombs: refused with a reason, below 500 MB of memory; `make bench` has the time."""

from __future__ import annotations

import base64
import gzip
import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.inspect.load_comparison import load_image
from components.study.file.lenient_study import START_YAML
from components.study.jobs import save_uploads_as_data, store_upload
from judges.judge_errors import PlanError
from judges.rendering.messages import image_url
from studies.errors import SourceError
from studies.files.image_files import image_size, why_data_url_refused
from studies.files.read_limits import LOCAL_LIMITS, PUBLIC_LIMITS, ReadLimits, current_limits
from studies.files.table_formats.parquet import read_arrow
from studies.files.tables import read_table
from studies.spec.study import parse_study
from tests.attacks.attack_list import OWN, PUBLIC
from tests.attacks.attack_log import attempt
from tests.samples import sample

ROOT = Path(__file__).parents[3]
BURSTING = "bombs and huge uploads"
PLAIN: dict[str, Any] = {"use_dictionary": False, "write_statistics": False}
READER = Path(__file__).with_name("bomb_reader.py")


def texts(path: Path) -> None:
    """One text of 10 kB a million times: 10 GB, packed into some kilobytes."""
    codes = pa.array(np.zeros(1_000_000, np.int32))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 10_000]))
    pq.write_table(pa.table({"left": column}), path, compression="zstd")
    assert path.stat().st_size < 10_000


def nested_texts(path: Path) -> None:
    """The same, all of it in one list of one row."""
    offsets = pa.array([0, 1_000_000], pa.int32())
    values = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(1_000_000, np.int32)), pa.array(["x" * 10_000])
    )
    pq.write_table(pa.table({"left": pa.ListArray.from_arrays(offsets, values)}), path)


def nested_numbers(path: Path, limits: ReadLimits = PUBLIC_LIMITS) -> None:
    """One row that is a list of a million zeros more than the limit allows."""
    many = limits.values + 1_000_000
    offsets = pa.array([0, many], pa.int32())
    listed = pa.ListArray.from_arrays(offsets, pa.array(np.zeros(many, np.int8)))
    pq.write_table(pa.table({"left": listed}), path, compression="zstd", **PLAIN)


def one_cell(path: Path) -> None:
    """One cell of 210 MB of zeros."""
    pq.write_table(pa.table({"left": [bytes(210 << 20)]}), path, compression="zstd", **PLAIN)


def many_rows(path: Path) -> None:
    pq.write_table(pa.table({"left": np.zeros(LOCAL_LIMITS.rows + 1, np.int8)}), path)


def sparse(megabytes: int) -> Callable[[Path], None]:
    """A line without an end, in a sparse file."""

    def write(path: Path) -> None:
        with path.open("wb") as out:
            out.write(b'{"id": "')
            out.truncate(megabytes << 20)

    return write


def gzipped(path: Path) -> None:
    """256 MB of blanks in sixteen members of 16 kB."""
    path.write_bytes(gzip.compress((b" " * 4095 + b"\n") * 4096, 9) * 16)


def gzipped_line(path: Path) -> None:
    path.write_bytes(gzip.compress(b"{" + b" " * (16 << 20), 9) * 64)


def columns(path: Path) -> None:
    path.write_text(",".join(f"c{k}" for k in range(1_000_000)) + "\n", "utf-8")


def same_columns(path: Path) -> None:
    path.write_text("c," * 1_000_000 + "\n", "utf-8")


def keys(path: Path) -> None:
    path.write_text(json.dumps({f"c{k}": k for k in range(200_000)}) + "\n", "utf-8")


def key_twice(path: Path) -> None:
    """Two equal keys after many others: the search must not compare all pairs."""
    pairs = ",".join(f'"c{k}":1' for k in range(199_000))
    path.write_text("{" + pairs + ',"last":1,"last":2}\n', "utf-8")


def png(path: Path) -> None:
    """50,000 × 50,000 pixels in a hundred bytes or so."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        sum_of = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", sum_of)

    head = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def bytes_of(content: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content) and None


BOMBS: dict[str, tuple[Callable[[Path], None], str]] = {
    "texts.parquet": (texts, ""),
    "nested.parquet": (nested_texts, "unpacks to more than can be read"),
    "numbers.parquet": (nested_numbers, "values in its cells"),
    "rows.parquet": (many_rows, "rows; split"),
    "line.jsonl": (sparse(1024), "1,024 MB; at most"),
    "line.csv": (sparse(1024), "1,024 MB; at most"),
    "shorter.jsonl": (sparse(250), "MB"),
    "shorter.csv": (sparse(250), "MB"),
    "packed.jsonl.gz": (gzipped, "times its size"),
    "packed.csv.gz": (gzipped, "times its size"),
    "packed.json.gz": (gzipped_line, "times its size"),
    "deep.json": (bytes_of(b"[" * 1_000_000), "deep"),
    "deep.jsonl": (bytes_of(b'{"a":' * 300 + b"1" + b"}" * 300), "deep"),
    "wide.csv": (columns, "1,000,000 columns; at most"),
    "same.csv": (same_columns, "1,000,001 columns; at most"),
    "wide.jsonl": (keys, "200,000 columns; at most"),
    "twice.jsonl": (key_twice, "the key 'last' is written twice"),
    "blank.jsonl": (bytes_of(b"\n" * 6_000_000), "blank lines; remove"),
    "blank.csv": (bytes_of(b"a,b\n" + b"\n" * 6_000_000), "blank lines; remove"),
    "archive.zip": (bytes_of(b"PK\3\4"), "unpack it first"),
    "archive.csv": (bytes_of(b"PK\3\4\0\0\0"), "zero byte"),
    "code.pickle": (bytes_of(b"\x80\4."), "not a supported file type"),
    "numbers.npz": (bytes_of(b"PK\3\4"), "not a supported file type"),
    "cut.parquet": (bytes_of(b"PAR1" + bytes(200) + b"PAR1"), "cannot be read as Parquet"),
    "large.png": (png, "50,000 × 50,000 pixels; at most"),
}
OF_TEXTS = {"0": "unpacks to more than can be read", "1": "more than 200,000 rows"}
STRANGERS = {"cell.parquet": (one_cell, "unpacks to more than can be read")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bombs")
    for name, (write, _) in {**BOMBS, **STRANGERS}.items():
        write(made / name)
    return made


@pytest.mark.parametrize("public", sample(["0", "1"], "1"), ids=["one's own machine", "strangers"])
def test_every_bomb_is_refused_below_500_megabytes(folder, public):
    bombs = {**BOMBS, **(STRANGERS if public == "1" else {})}
    if public == "0":
        nested_numbers(folder / "numbers.parquet", LOCAL_LIMITS)
    read = subprocess.run(
        [sys.executable, str(READER)], input="\n".join(str(folder / name) for name in bombs),
        env={**os.environ, "EVENHAND_PUBLIC": public, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    lines = [json.loads(line) for line in read.stdout.splitlines()]
    assert len(lines) == len(bombs), read.stderr
    mode = PUBLIC if public == "1" else OWN
    for (name, (_, reason)), line in zip(bombs.items(), lines, strict=True):
        with attempt(BURSTING, mode, name):
            assert line["said"].startswith("refused: "), (name, line)
            assert (reason or OF_TEXTS[public]) in line["said"], (name, line)
            assert line["megabytes"] < 500, (name, line)


def test_strangers_are_held_to_tighter_caps_in_everything(monkeypatch):
    for name in PUBLIC_LIMITS.__slots__:
        assert 0 < getattr(PUBLIC_LIMITS, name) < getattr(LOCAL_LIMITS, name), name
    assert current_limits() is LOCAL_LIMITS
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    assert current_limits() is PUBLIC_LIMITS


def test_an_honest_file_of_the_same_kinds_is_read_as_before(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    rows = [{"left": "x" * 50, "tags": ["a", None, "ü"], "more": {"n": k, "deep": [[{"a": 1}]]}}
            for k in range(700)]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=90)
    (tmp_path / "a.jsonl").write_text("\n\n".join(json.dumps(row) for row in rows), "utf-8")
    with gzip.open(tmp_path / "b.jsonl.gz", "wt", encoding="utf-8") as out:
        out.write("\n".join(json.dumps(row) for row in rows))
    (tmp_path / "a.json").write_text(json.dumps(rows), "utf-8")
    for name in ("a.parquet", "a.jsonl", "b.jsonl.gz", "a.json"):
        assert read_table(tmp_path / name).rows == rows, name


def test_texts_in_lists_are_read_also_where_a_writer_gave_up_its_dictionary(tmp_path):
    """A dictionary that grows too large ends within a column: first codes, then plain texts."""
    texts = [f"{k} {'x' * 300}" for k in range(900)]
    rows = [{"talk": [{"role": "user", "content": text}, {"role": "x"}]} for text in texts]
    rows = [{"talk": [turn | {"content": turn.get("content")} for turn in row["talk"]]}
            for row in rows]  # fmt: skip
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, dictionary_pagesize_limit=20_000,
                   row_group_size=400, data_page_size=5_000)  # fmt: skip
    assert read_table(path).rows == rows


# ---- uploads: nothing that was there is lost -----------------------------------------------


def test_an_upload_that_is_refused_leaves_the_study_and_the_disk_as_they_were(
    folder, tmp_path, monkeypatch
):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    for names in (["line.jsonl"], ["line.csv", "wide.jsonl"]):
        with pytest.raises(SourceError, match="MB are read"):
            save_uploads_as_data(START_YAML, [folder / name for name in names], tmp_path)
    assert not (tmp_path / "uploads").exists()
    assert parse_study(START_YAML, "study.yaml", tmp_path).data.source == "probe"


@pytest.mark.parametrize(
    "name",
    ["../../evenhand.db", "..", ".hidden.csv", "a/b.csv", "a\\b.csv", "<img src=x>.csv",
     "a b;c.csv", "x" * 300 + ".csv", "a\n.csv", "é.jsonl.gz", "con|pipe.csv", "-rf.csv",
     "$(id).csv"],
)  # fmt: skip
def test_an_upload_is_kept_under_a_name_that_is_only_a_name(name, tmp_path):
    sent = tmp_path / "sent"
    sent.write_bytes(b"a,b\n1,2\n")
    kept = tmp_path / store_upload(sent, tmp_path, name)
    assert kept.parent == tmp_path / "uploads" and kept.is_file()
    assert kept.name.isprintable() and len(kept.name) < 120
    assert not set(kept.name) & set("<>:;|\\/\"'$() \n")
    if name.endswith((".csv", ".jsonl.gz")):
        assert kept.suffixes[-1] == Path(name).suffixes[-1]


# ---- pictures ------------------------------------------------------------------------------

GIF = b"GIF89a" + struct.pack("<HH", 3, 2) + b"\x80\0\0" + bytes(9)
WEBP = b"RIFF" + bytes(4) + b"WEBPVP8X" + bytes(8) + b"\x02\0\0\x01\0\0" + bytes(8)
LOSSLESS = b"RIFF" + bytes(4) + b"WEBPVP8L" + bytes(4) + b"\x2f" + struct.pack("<I", 2 | 1 << 14)
JPEG = (b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(10) + b"\xff\xc0\0\x11\x08"
        + struct.pack(">HH", 2, 3) + bytes(12))  # fmt: skip


@pytest.mark.parametrize(("kind", "content"), [("gif", GIF), ("webp", WEBP), ("webp", LOSSLESS),
                                               ("jpeg", JPEG)])  # fmt: skip
def test_width_and_height_stand_at_the_beginning_of_a_picture(kind, content):
    assert image_size(content) == (kind, 3, 2)
    assert image_size(content[:9]) is None


def test_a_picture_that_would_burst_is_neither_sent_nor_shown_and_is_told(folder):
    with pytest.raises(PlanError, match="50,000 × 50,000 pixels"):
        image_url("large.png", folder)
    shown = load_image("large.png", folder)
    assert not shown.source
    coded = base64.b64encode((folder / "large.png").read_bytes()).decode()
    inline = f"data:image/png;base64,{coded}"
    assert "pixels" in why_data_url_refused(inline)
    assert not load_image(inline, folder).source


@pytest.mark.parametrize("path", ["/etc/passwd", "../evenhand.db", "../secret.png", "note.txt"])
def test_for_a_stranger_a_path_in_the_data_leads_to_no_file_of_the_machine(
    path, tmp_path, monkeypatch
):
    """Images are sent to a judge, and a mapped column can contain any path."""
    inner = tmp_path / "uploads"
    inner.mkdir()
    (tmp_path / "evenhand.db").write_bytes(b"SQLite format 3\0")
    (tmp_path / "secret.png").write_bytes(GIF)
    (inner / "note.txt").write_text("somebody's")
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    with pytest.raises(PlanError):
        image_url(path, inner)
    (inner / "fine.png").write_bytes(GIF)
    assert image_url("fine.png", inner).startswith("data:image/png;base64,")


def test_rows_of_an_arrow_file_are_counted_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "data.arrow"
    batch = pa.record_batch({"x": [1, 2, 3]})
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, batch.schema) as stream:
        for _ in range(4):
            stream.write_batch(batch)
    names, rows = read_arrow(path, replace(current_limits(), rows=12))
    assert names == ("x",) and len(rows) == 12
    with pytest.raises(SourceError, match="rows"):
        read_arrow(path, replace(current_limits(), rows=11))
