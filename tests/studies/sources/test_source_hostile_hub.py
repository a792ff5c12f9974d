"""Malicious Hub datasets: cards that name local files, and decompression bombs."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_source_hub import LINES, read

from studies.errors import SourceError
from studies.sources.hub_files import check_data_files, data_paths_in_card
from tests.attacks.attack_list import MODES, PUBLIC
from tests.attacks.attack_log import Mode, attempt
from tests.page_words import says
from tests.samples import sample
from tests.studies.sources.hub_server import Hub, serving

DATASETS = "dataset code"
SECRET = "hub-canary-77aa"
ROWS = "".join(
    json.dumps({"prompt": f"{SECRET} {k}", "chosen": "yes", "rejected": "no"}) + "\n"
    for k in range(3)
)


SCRIPT = """import datasets
open({!r}, "w").close()
class Script(datasets.GeneratorBasedBuilder):
    def _info(self): return datasets.DatasetInfo()
"""


def card(path: str) -> bytes:
    return f"---\nconfigs:\n- config_name: default\n  data_files: '{path}'\n---\n".encode()


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("train.jsonl", LINES)
    return out.getvalue()


def bomb() -> bytes:
    """10 GB of text in one list of one row."""
    values = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(1_000_000, np.int32)), pa.array(["x" * 10_000])
    )
    listed = pa.ListArray.from_arrays(pa.array([0, 1_000_000], pa.int32()), values)
    out = io.BytesIO()
    pq.write_table(pa.table({"prompt": ["p"], "chosen": listed, "rejected": ["no"]}), out)
    return out.getvalue()


@pytest.fixture(scope="module", params=sample(MODES, PUBLIC))
def visited(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, dict[str, Any]], Hub, Path, Mode]:
    folder = tmp_path_factory.mktemp("machine")
    inner = folder / "secret.jsonl"
    inner.write_text(ROWS, encoding="utf-8")
    with serving({}) as (elsewhere, other):
        repos = {
            "evil/absolute": {"README.md": card(str(inner)), "train.jsonl": LINES},
            "evil/file": {"README.md": card(f"file://{inner}"), "train.jsonl": LINES},
            "evil/up": {"README.md": card("../" * 12 + str(inner)[1:]), "train.jsonl": LINES},
            "evil/inner": {"README.md": card(f"{other}/inner.jsonl"), "train.jsonl": LINES},
            "evil/yaml": {
                ".huggingface.yaml": card(str(inner)).strip(b"-\n"),
                "train.jsonl": LINES,
            },
            "evil/script": {"script.py": SCRIPT.format(str(folder / "script-ran")).encode()},
            "evil/zip": {"train.zip": b"PK\3\4" + bytes(100)},
            "evil/bomb": {"train.parquet": bomb()},
            "good/plain": {"README.md": card("*.jsonl"), "train.jsonl": LINES},
        }
        public = {"EVENHAND_PUBLIC": str(int(request.param == PUBLIC))}
        asks = [{"source": f"hub:{name}", "env": public} for name in repos]
        with serving(repos) as (_, address):
            found = read(asks, address, folder / "home")
    return dict(zip(repos, found, strict=True)), elsewhere, folder, request.param


@pytest.mark.parametrize("name", ["absolute", "file", "up", "inner", "yaml"])
def test_a_dataset_that_names_a_file_outside_of_itself_is_refused(name, visited):
    found = visited[0][f"evil/{name}"]
    with attempt(DATASETS, visited[3], f"a card, {name}"):
        assert SECRET not in json.dumps(found)
        assert "error" in found or found["items"], found  # the file of its own may be read
        if name != "yaml":
            assert "error" in found, found


def test_no_script_of_a_dataset_is_run(visited):
    folder, found = visited[2], visited[0]["evil/script"]
    with attempt(DATASETS, visited[3], "a script dataset"):
        assert "error" in found and not (folder / "script-ran").exists(), found


def test_nothing_is_asked_of_a_server_that_a_card_names(visited):
    with attempt(DATASETS, visited[3], "a card with a URL"):
        assert visited[1].asked == []


def test_an_archive_is_refused_and_a_bomb_is_too(visited):
    with attempt(DATASETS, visited[3], "an archive"):
        assert "zip" in visited[0]["evil/zip"]["error"].lower()
    with attempt(DATASETS, visited[3], "a Parquet file of 10 GB"):
        assert says(visited[0]["evil/bomb"]["error"], "unpacks", "read")


def test_an_honest_card_is_read(visited):
    assert len(visited[0]["good/plain"]["items"]) == 5


@pytest.mark.parametrize(
    "file",
    ["/etc/passwd", "file:///etc/passwd", "hf://datasets/other/set@main/a.jsonl",
     "hf://datasets/my/set@main/../../x.jsonl", "zip://a.csv::hf://datasets/my/set@main/a.zip",
     "hf://datasets/my/set@main/a.zip", "hf://datasets/my/set@main/a.tar.gz",
     "hf://datasets/my/set@main/weights.PKL", "https://example.com/a.csv"],
)  # fmt: skip
def test_only_tables_of_the_dataset_itself_are_read(file, each_mode):
    check_data_files(["hf://datasets/my/set@main/data/a.csv.gz"], "my/set")
    with attempt(DATASETS, each_mode, file), pytest.raises(SourceError):
        check_data_files([file], "my/set")


def test_every_path_that_a_card_names_is_seen():
    assert list(data_paths_in_card(card("data/*.jsonl").decode())) == ["data/*.jsonl"]
    dashes = card("/y").decode().replace("configs", "license: x  # --- not the end\nconfigs", 1)
    assert list(data_paths_in_card(dashes)) == ["/y"]
    split = "configs:\n- data_dir: d\n  data_files:\n  - {split: a, path: [x, /y]}\n"
    assert list(data_paths_in_card(split)) == ["a", "x", "/y", "d"]
    assert list(data_paths_in_card("---\n[[[\n---\n")) == list(data_paths_in_card("no card")) == []
