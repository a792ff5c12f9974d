"""Batches at a provider: upload, create, poll, download; resumable by the ids kept in the folder.

`batches.json` beside the files says how far each one is. It is written after every step, so that a
crash between two steps repeats at most the step it was in, and a batch is never created twice for
a file whose creation was noted. A creation that was not noted is found again by its metadata.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import openai

from judges.bulk.batch_files import COMPLETIONS_PATH
from judges.judge_errors import PlanError

BATCHES_FILE: Final = "batches.json"
COMPLETION_WINDOW: Final = "24h"
FINAL_STATUSES: Final = frozenset({"completed", "failed", "expired", "cancelled"})


@dataclass(slots=True)
class SubmittedBatch:
    """How far one file is."""

    sha: str
    file_id: str = ""
    batch_id: str = ""
    status: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    """Output and error files that were fetched, by name in the folder."""

    @property
    def is_final(self) -> bool:
        return self.status in FINAL_STATUSES


def read_submitted_batches(folder: Path) -> dict[str, SubmittedBatch]:
    path = folder / BATCHES_FILE
    if not path.is_file():
        return {}
    try:
        return {
            name: SubmittedBatch(**values) for name, values in json.loads(path.read_text()).items()
        }
    except (ValueError, TypeError, AttributeError):
        raise PlanError(f"{path} is not what submit-batch wrote; move it away") from None


def submit_batches(
    client: openai.OpenAI, folder: Path, judge_files: list[Path]
) -> dict[str, SubmittedBatch]:
    """Uploads what is not uploaded, creates what is not created."""
    notes = read_submitted_batches(folder)
    made = None
    for path in judge_files:
        sha = hashlib.sha256(path.read_bytes()).hexdigest()
        note = notes.setdefault(path.name, SubmittedBatch(sha))
        if note.sha != sha:
            raise PlanError(f"{path.name} changed after it was submitted; export to a new folder")
        if not note.file_id:
            note.file_id = client.files.create(file=path, purpose="batch").id
            _write_submitted_batches(folder, notes)
        if not note.batch_id:
            made = made if made is not None else _find_created_batches(client)
            note.batch_id = made.get(sha) or _create_batch(client, note)
            _write_submitted_batches(folder, notes)
    return notes


def _create_batch(client: openai.OpenAI, note: SubmittedBatch) -> str:
    """Never sent twice by the client itself: an answer that was lost may have made a batch, which
    the next submit finds."""
    batch = client.with_options(max_retries=0).batches.create(
        input_file_id=note.file_id, endpoint=COMPLETIONS_PATH, completion_window=COMPLETION_WINDOW,
        metadata={"evenhand": note.sha},
    )  # fmt: skip
    return batch.id


def _find_created_batches(client: openai.OpenAI) -> dict[str, str]:
    """Batches of ours by the sha of their file: a crash may have come before the note."""
    found = {}
    for batch in client.batches.list(limit=100):
        sha = (batch.metadata or {}).get("evenhand")
        if sha and batch.status not in ("failed", "cancelled"):
            found[sha] = batch.id
    return found


def collect_batches(
    client: openai.OpenAI,
    folder: Path,
    names: Collection[str],
    *,
    wait: float = 0.0,
    every: float = 30.0,
    told: Callable[[dict[str, SubmittedBatch]], None] = lambda notes: None,
) -> list[Path]:
    """Fetches what is finished of some files; with `wait`, looks until all is over or time is up.

    Returns every output and error file of theirs that lies in the folder now.
    """
    notes = read_submitted_batches(folder)
    if not notes:
        raise PlanError(f"no {BATCHES_FILE} in {folder}: submit-batch comes first")
    end = time.monotonic() + wait
    mine = {name: note for name, note in notes.items() if name in names}
    while True:
        for name, note in mine.items():
            _download_if_final(client, folder, name, note)
            _write_submitted_batches(folder, notes)
        told(mine)
        if all(note.is_final for note in mine.values()) or time.monotonic() >= end:
            break
        time.sleep(min(every, max(0.0, end - time.monotonic())))
    return [folder / file for note in mine.values() for file in note.files]


def _download_if_final(
    client: openai.OpenAI, folder: Path, name: str, note: SubmittedBatch
) -> None:
    if not note.batch_id:
        return
    batch: Any = None
    if not note.is_final:
        batch = client.batches.retrieve(note.batch_id)
        note.status = batch.status
        counts = batch.request_counts
        note.counts = counts.model_dump() if counts else {}
    if not note.is_final or note.files:
        return
    batch = batch or client.batches.retrieve(note.batch_id)
    stem = Path(name).stem
    for kind, file_id in (("output", batch.output_file_id), ("error", batch.error_file_id)):
        if file_id:
            path = folder / f"{stem}.{kind}.jsonl"
            half = path.with_name(path.name + ".part")
            half.write_bytes(client.files.content(file_id).read())
            half.replace(path)
            note.files.append(path.name)


def _write_submitted_batches(folder: Path, notes: dict[str, SubmittedBatch]) -> None:
    half = folder / f"{BATCHES_FILE}.part"
    half.write_text(json.dumps({name: asdict(note) for name, note in notes.items()}, indent=1))
    half.replace(folder / BATCHES_FILE)
