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

from judges.batch_files import URL
from judges.errors import PlanError

NOTES: Final = "batches.json"
WINDOW: Final = "24h"
OVER: Final = frozenset({"completed", "failed", "expired", "cancelled"})


@dataclass(slots=True)
class Batch:
    """How far one file is."""

    sha: str
    file_id: str = ""
    batch_id: str = ""
    status: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    """Output and error files that were fetched, by name in the folder."""

    @property
    def over(self) -> bool:
        return self.status in OVER


def read_notes(folder: Path) -> dict[str, Batch]:
    path = folder / NOTES
    if not path.is_file():
        return {}
    try:
        return {name: Batch(**values) for name, values in json.loads(path.read_text()).items()}
    except (ValueError, TypeError, AttributeError):
        raise PlanError(f"{path} is not what submit-batch wrote; move it away") from None


def submit(client: openai.OpenAI, folder: Path, judge_files: list[Path]) -> dict[str, Batch]:
    """Uploads what is not uploaded, creates what is not created."""
    notes = read_notes(folder)
    made = None
    for path in judge_files:
        sha = hashlib.sha256(path.read_bytes()).hexdigest()
        note = notes.setdefault(path.name, Batch(sha))
        if note.sha != sha:
            raise PlanError(f"{path.name} changed after it was submitted; export to a new folder")
        if not note.file_id:
            note.file_id = client.files.create(file=path, purpose="batch").id
            _write(folder, notes)
        if not note.batch_id:
            made = made if made is not None else _made_before(client)
            note.batch_id = made.get(sha) or _create(client, note)
            _write(folder, notes)
    return notes


def _create(client: openai.OpenAI, note: Batch) -> str:
    """Never sent twice by the client itself: an answer that was lost may have made a batch, which
    the next submit finds."""
    batch = client.with_options(max_retries=0).batches.create(
        input_file_id=note.file_id, endpoint=URL, completion_window=WINDOW,
        metadata={"evenhand": note.sha},
    )  # fmt: skip
    return batch.id


def _made_before(client: openai.OpenAI) -> dict[str, str]:
    """Batches of ours by the sha of their file: a crash may have come before the note."""
    found = {}
    for batch in client.batches.list(limit=100):
        sha = (batch.metadata or {}).get("evenhand")
        if sha and batch.status not in ("failed", "cancelled"):
            found[sha] = batch.id
    return found


def collect(
    client: openai.OpenAI,
    folder: Path,
    names: Collection[str],
    *,
    wait: float = 0.0,
    every: float = 30.0,
    told: Callable[[dict[str, Batch]], None] = lambda notes: None,
) -> list[Path]:
    """Fetches what is finished of some files; with `wait`, looks until all is over or time is up.

    Returns every output and error file of theirs that lies in the folder now.
    """
    notes = read_notes(folder)
    if not notes:
        raise PlanError(f"no {NOTES} in {folder}: submit-batch comes first")
    end = time.monotonic() + wait
    mine = {name: note for name, note in notes.items() if name in names}
    while True:
        for name, note in mine.items():
            _look(client, folder, name, note)
            _write(folder, notes)
        told(mine)
        if all(note.over for note in mine.values()) or time.monotonic() >= end:
            break
        time.sleep(min(every, max(0.0, end - time.monotonic())))
    return [folder / file for note in mine.values() for file in note.files]


def _look(client: openai.OpenAI, folder: Path, name: str, note: Batch) -> None:
    if not note.batch_id:
        return
    batch: Any = None
    if not note.over:
        batch = client.batches.retrieve(note.batch_id)
        note.status = batch.status
        counts = batch.request_counts
        note.counts = counts.model_dump() if counts else {}
    if not note.over or note.files:
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


def _write(folder: Path, notes: dict[str, Batch]) -> None:
    half = folder / f"{NOTES}.part"
    half.write_text(json.dumps({name: asdict(note) for name, note in notes.items()}, indent=1))
    half.replace(folder / NOTES)
