"""Hub datasets, read offline by the real client libraries from a loopback server."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from studies.errors import SourceError, StudyError
from studies.files.read_limits import PUBLIC_LIMITS
from studies.sources import hub
from studies.sources.catalogue import all_data_sets, find_hub_set, hub_sets
from studies.sources.hub import _parse_split, _read_repo_file, parse_hub_address
from studies.sources.registry import SOURCE_FORMATS
from studies.spec.study import DataSpec
from tests.page_words import says
from tests.studies.sources.hub_server import COMMIT, Hub, serving

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent


def as_parquet(rows: list[dict[str, Any]], group: int = 1000) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out, row_group_size=group)
    return out.getvalue()


def talk(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[k % 2], "content": t} for k, t in enumerate(texts)]


def battles() -> bytes:
    """2,000 battles in 100 row groups, about 12 MB of incompressible data."""
    random = Random(1)
    rows = [
        {"question_id": k, "model_a": "x", "model_b": "y", "winner": "model_a",
         "judge": f"expert_{k % 5}", "turn": 1,
         "conversation_a": talk(f"q{k}", random.randbytes(1500).hex()),
         "conversation_b": talk(f"q{k}", random.randbytes(1500).hex())}
        for k in range(2000)
    ]  # fmt: skip
    return as_parquet(rows, 20)


CARD = b"""---
configs:
- config_name: default
  data_files:
  - {split: human, path: data/human-*}
  - {split: gpt4_pair, path: data/gpt4-*}
---
"""
LINES = "".join(
    json.dumps({"prompt": f"p{k}", "chosen": "yes", "rejected": "no"}) + "\n" for k in range(5)
).encode()
PICTURE = {"bytes": b"\x89PNG\r\n\x1a\n" + b"0" * 40, "path": None}
VISIT = [{"instruction_category": "c", "image_url": "https://pictures.example/a.png",
          "instruction": "what?", "instruction_conditioned_caption": "a cat", "image": PICTURE,
          "reference_output": "a cat", "human_ratings_gpt4_correct": True,
          "human_ratings_problem_in_caption": False,
          "human_ratings_problem_in_gpt4": False}]  # fmt: skip
REPOS = {
    "lmsys/mt_bench_human_judgments": {
        "README.md": CARD,
        "data/human-00000-of-00001.parquet": battles(),
        "data/gpt4-00000-of-00001.parquet": as_parquet([{"question_id": 1}]),
    },
    "someone/pairs": {"train.jsonl": LINES},
    "someone/secret": {"train.jsonl": LINES},
    "someone/script": {"script.py": b"raise SystemExit('ran!')", "train.jsonl": LINES},
    "tatsu-lab/alpaca_eval": {
        "alpaca_farm_human_crossannotations.json": json.dumps(
            [{"instruction": "why?", "output_1": "a", "output_2": "b", "preference": p,
              "annotator_index": k} for k, p in enumerate((1, 2))]
        ).encode(),
    },
    "mlfoundations/VisIT-Bench": {"test.parquet": as_parquet(VISIT)},
}  # fmt: skip

ASKS: dict[str, dict[str, Any]] = {
    "slice": {"source": "hub:lmsys/mt_bench_human_judgments@main", "split": "human[5:30]"},
    "lines": {"source": "hub:someone/pairs"},
    "few": {"source": "hub:someone/pairs", "split": "train[:2]"},
    "file": {"source": "hub:tatsu-lab/alpaca_eval:alpaca_farm_human_crossannotations.json"},
    "visit": {"source": "hub:mlfoundations/VisIT-Bench"},
    "no such file": {"source": "hub:tatsu-lab/alpaca_eval:gone.json"},
    "no such set": {"source": "hub:someone/nothing"},
    "no such revision": {"source": "hub:someone/pairs@v9"},
    "no such split": {"source": "hub:someone/pairs", "split": "dev"},
    "script": {"source": "hub:someone/script"},
    "private": {"source": "hub:someone/secret"},
    "private, own token": {"source": "hub:someone/secret", "token": "hf_mine"},
    "private, variable": {"source": "hub:someone/secret", "env": {"HF_TOKEN": "hf_mine"}},
    "private, owner's token, public": {
        "source": "hub:someone/secret",
        "env": {"HF_TOKEN": "hf_mine", "EVENHAND_PUBLIC": "1"},
    },
}


def test_a_file_of_the_hub_that_is_too_large_is_refused_before_its_download(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = PUBLIC_LIMITS.file_bytes
    told = lambda *_, **__: [SimpleNamespace(size=size)]  # noqa: E731
    monkeypatch.setattr(
        huggingface_hub, "HfApi", lambda token: SimpleNamespace(get_paths_info=told)
    )
    fetched: list[str] = []
    table = HERE / "absent.csv"
    monkeypatch.setattr(
        huggingface_hub, "hf_hub_download", lambda *_, **__: fetched.append("") or str(table)
    )
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    address = parse_hub_address("hub:someone/pairs:train.jsonl")
    with pytest.raises(SourceError, match="absent"):  # just small enough: fetched, and not there
        _read_repo_file(address, COMMIT, False)
    assert len(fetched) == 1
    size += 1
    with pytest.raises(SourceError, match=r"^someone/pairs: train\.jsonl: .* MB; at most"):
        _read_repo_file(address, COMMIT, False)
    assert len(fetched) == 1


def read(asks: list[dict[str, Any]], endpoint: str, home: Path) -> list[dict[str, Any]]:
    env = {
        **os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(home), "PYTHONPATH": str(ROOT),
        "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(HERE / "hub_reader.py")], input=json.dumps(asks), env=env, text=True,
        capture_output=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Any]], Hub]:
    """Results of all requests, made in one process, and the server's log."""
    home = tmp_path_factory.mktemp("hub")
    with serving(REPOS, private=("someone/secret",)) as (hub, address):
        found = read(list(ASKS.values()), address, home)
    return dict(zip(ASKS, found, strict=True)), hub


def test_a_slice_of_a_known_set_is_read_at_a_pinned_commit(visited: Any) -> None:
    found = visited[0]["slice"]
    assert found["items"] == [str(k) for k in range(5, 30)] and found["verdicts"] == 25
    assert found["format"] == "arena" and found["revision"] == COMMIT
    assert found["pinned"] == f"hub:lmsys/mt_bench_human_judgments@{COMMIT}"
    assert says(found["why"], "lmsys/mt_bench_human_judgments", "Hub", "commit 0123456789ab")


def test_only_the_slice_is_fetched(visited: Any) -> None:
    # 25 of 2,000 rows are two of 100 row groups; beside them the footer, and a block at a time.
    whole = len(REPOS["lmsys/mt_bench_human_judgments"]["data/human-00000-of-00001.parquet"])
    assert whole > 10_000_000
    assert visited[1].sent < whole / 3


def test_json_lines_are_streamed_and_their_format_is_found(visited: Any) -> None:
    assert visited[0]["lines"]["format"] == "preference"
    assert len(visited[0]["lines"]["items"]) == 5 and len(visited[0]["few"]["items"]) == 2


def test_a_config_that_ends_like_a_file_is_that_file(visited: Any) -> None:
    found = visited[0]["file"]
    assert (found["format"], found["verdicts"], found["revision"]) == ("alpaca-eval", 2, COMMIT)
    assert "no file 'gone.json'" in visited[0]["no such file"]["error"]


def test_images_that_are_not_needed_are_not_fetched(visited: Any) -> None:
    assert visited[0]["visit"]["format"] == "visit-bench"
    assert visited[0]["visit"]["images"] == [1]  # the address, not the bytes beside it


def test_what_is_not_there_is_said_with_a_remedy(visited: Any) -> None:
    errors = {name: told.get("error", "") for name, told in visited[0].items()}
    assert says(errors["no such set"], "no dataset 'someone/nothing'", "private")
    assert "someone/pairs has no revision 'v9'" in errors["no such revision"]
    assert "dev" in errors["no such split"] and "train" in errors["no such split"]
    assert says(errors["script"], "dataset", "script")


def test_only_the_reader_s_own_token_is_sent(visited: Any) -> None:
    found, hub = visited
    assert says(found["private"]["error"], "private")
    assert len(found["private, own token"]["items"]) == 5
    assert len(found["private, variable"]["items"]) == 5
    assert says(found["private, owner's token, public"]["error"], "private")
    assert hub.tokens == {"Bearer hf_mine"}


def test_no_network_is_a_sentence_and_quick(tmp_path: Path) -> None:
    (told,) = read([ASKS["lines"]], "http://127.0.0.1:9", tmp_path)  # nothing listens there
    assert says(told["error"], "Hub cannot", "reached")
    assert says(told["error"], "set", "source")


# ---- addresses and the catalogue -------------------------------------------------------------


def test_addresses_are_read_part_by_part() -> None:
    one = parse_hub_address("hub:a/b.c:conf-1@refs/pr/3")
    assert (one.repo, one.config, one.revision, one.file) == ("a/b.c", "conf-1", "refs/pr/3", "")
    assert parse_hub_address("hub:a/b:data/x.jsonl.gz").file == "data/x.jsonl.gz"
    for wrong in ("hub:a", "hub:", "hub:a/b/c", "hub:a b/c", "hub:../../etc"):
        with pytest.raises(StudyError, match="expected hub:owner/name"):
            parse_hub_address(wrong)


def test_a_split_names_rows() -> None:
    assert _parse_split("test[10:20]") == ("test", 10, 20) and _parse_split("test[:5]") == (
        "test",
        0,
        5,
    )
    assert _parse_split("") == ("", 0, 20_000) and _parse_split("dev") == ("dev", 0, 20_000)
    for wrong in ("test[5:5]", "test[", "test[a:b]"):
        with pytest.raises(StudyError, match=r"data\.split"):
            _parse_split(wrong)


def test_the_catalogue_names_formats_licences_and_sizes() -> None:
    assert {entry.format for entry in all_data_sets()} <= set(SOURCE_FORMATS)
    assert all(
        e.licence and e.holds and e.rows and e.megabytes and e.summary for e in all_data_sets()
    )
    assert all(e.split in e.splits or not e.splits for e in all_data_sets())
    assert len({e.hub for e in hub_sets()}) == len(hub_sets()) == 11
    assert {e.name for e in all_data_sets()} >= {
        "MT-Bench human judgements", "Chatbot Arena conversations", "OpenAssistant", "VisIT-Bench",
        "Creation-MMBench", "JudgeBench", "RewardBench", "LLMBar", "PRD",
    }  # fmt: skip
    found = find_hub_set("tatsu-lab/alpaca_eval", "alpaca_eval_gpt4_baseline.json")
    assert found is not None and found.name == "AlpacaEval baseline outputs"
    assert find_hub_set("nobody/nothing") is None


@pytest.mark.parametrize(("asked", "read"), [("auto", "alpaca-eval"), ("table", "table")])
def test_a_known_set_has_its_format_unless_the_study_names_one(
    asked: str, read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = SimpleNamespace(sha=COMMIT)
    api = SimpleNamespace(dataset_info=lambda *_, **__: info)
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda token: api)
    monkeypatch.setattr(hub, "_read_repo_file", lambda *_, **__: None)
    source = "hub:tatsu-lab/alpaca_eval:alpaca_eval_gpt4_baseline.json"
    spec, *_ = hub.read_hub(DataSpec(source, asked))
    assert spec.format == read
