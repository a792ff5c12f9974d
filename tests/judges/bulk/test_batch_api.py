"""Recorded batches: when results are downloaded, and what is masked in them."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from judges.bulk.batch_api import (
    BATCHES_FILE,
    SubmittedBatch,
    _mask_line,
    _poll_and_download,
    _reusable_batch_ids_by_file_hash,
    read_submitted_batches,
)
from judges.judge_errors import PlanError


class Provider:
    """A client with one batch, which counts how often it was looked up."""

    def __init__(self, status: str, output: str | None = "out", error: str | None = None) -> None:
        self.looked_up = 0
        counts = SimpleNamespace(model_dump=lambda: {"completed": 2})
        self._batch = SimpleNamespace(
            status=status, request_counts=counts, output_file_id=output, error_file_id=error
        )
        self.batches = SimpleNamespace(retrieve=self._retrieve)
        self.files = SimpleNamespace(
            content=lambda name: SimpleNamespace(read=lambda: f"{name} 1\n{name} 2\n".encode())
        )

    def _retrieve(self, name: str) -> Any:
        assert name == "b1"
        self.looked_up += 1
        return self._batch


def download(folder: Path, provider: Any, submitted: SubmittedBatch) -> list[str]:
    _poll_and_download(provider, folder, "j.jsonl", submitted, lambda text: text.replace("k", "*"))
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("before", "now", "looks", "files"),
    [
        ("", "in_progress", 1, []),
        ("", "completed", 1, ["j.output.jsonl"]),
        ("in_progress", "expired", 1, ["j.output.jsonl"]),
        ("completed", "completed", 1, ["j.output.jsonl"]),  # it ended, but nothing was downloaded
    ],
)
def test_results_are_downloaded_once_their_batch_has_ended(before, now, looks, files, tmp_path):
    provider, submitted = Provider(now), SubmittedBatch("sha", "f", "b1", before)
    assert download(tmp_path, provider, submitted) == files == submitted.files
    assert provider.looked_up == looks and submitted.status == now
    if files:
        assert (tmp_path / files[0]).read_text() == "out 1\nout 2\n"
        assert download(tmp_path, provider, submitted) == files
        assert provider.looked_up == looks, "it is there already"
    if not before:
        assert submitted.counts == {"completed": 2}


def test_errors_have_a_file_of_their_own_and_a_batch_that_was_not_created_none(tmp_path):
    provider = Provider("completed", "out", "err")
    submitted = SubmittedBatch("sha", "f", "b1")
    assert download(tmp_path, provider, submitted) == ["j.error.jsonl", "j.output.jsonl"]
    empty = SubmittedBatch("sha", "f")
    _poll_and_download(Provider("completed"), tmp_path, "x", empty, str)  # type: ignore[arg-type]
    assert empty.files == [] and empty.status == ""
    nothing = SubmittedBatch("sha", "f", "b1")
    (tmp_path / "n").mkdir()
    assert download(tmp_path / "n", Provider("failed", None), nothing) == []
    assert nothing.is_final


@pytest.mark.parametrize(
    "best_first",
    [
        [("completed", 5), ("in_progress", 1), ("cancelling", 9), ("expired", 4)],
        [("validating", None), ("cancelled", 9), ("expired", 3)],
        [("expired", 7), ("expired", 3)],
    ],
)
def test_of_several_batches_of_a_file_the_best_is_used_in_whatever_order_they_are_listed(
    best_first: list[tuple[str, int | None]],
) -> None:
    listed = [
        SimpleNamespace(
            id=str(rank),
            status=status,
            metadata={"evenhand": "sha"},
            output_file_id="out",
            request_counts=None if done is None else SimpleNamespace(completed=done),
        )
        for rank, (status, done) in enumerate(best_first)
    ]
    failed = SimpleNamespace(
        id="failed", status="failed", metadata={"evenhand": "sha"}, output_file_id=None
    )
    for order in permutations([*listed, failed]):
        client: Any = SimpleNamespace(batches=SimpleNamespace(list=lambda limit, all=order: all))
        assert _reusable_batch_ids_by_file_hash(client) == {"sha": "0"}


def test_a_key_is_masked_in_a_line_also_where_it_is_escaped():
    def mask(text: str) -> str:
        return text.replace("sé-key", "***")

    line = json.dumps({"echo": "sé-key"}).encode() + b"\n"
    assert b"\\u00e9" in line
    assert json.loads(_mask_line(line, mask)) == {"echo": "***"}
    for same in (b'{"a":  1}\n', b"no json\r\n", b""):
        assert _mask_line(same, mask) == same
    assert _mask_line("broken sé-key\n".encode(), mask) == b"broken ***\n"


def test_a_damaged_list_of_batches_is_refused_and_none_is_empty(tmp_path):
    assert read_submitted_batches(tmp_path) == {}
    path = tmp_path / BATCHES_FILE
    path.write_text('{"a.jsonl": {"sha": "s", "status": "failed"}}')
    found = read_submitted_batches(tmp_path)
    assert found == {"a.jsonl": SubmittedBatch("s", status="failed")}
    for wrong in ("{", "[]", '{"a": 1}', '{"a": {"sha": "s", "other": 1}}'):
        path.write_text(wrong)
        with pytest.raises(PlanError, match=BATCHES_FILE):
            read_submitted_batches(tmp_path)
