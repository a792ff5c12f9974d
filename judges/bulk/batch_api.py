"""Client of a provider's Batch API: upload files, create batches, poll, download the results.

`batches.json`, in the folder of the batch files, records the progress of each file. It is written
after every step, so a crash repeats at most one step, and no second batch is created for a file
with a recorded batch. A batch that was created but not recorded is found again by its metadata.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from judges.bulk.batch_files import COMPLETIONS_PATH
from judges.judge_errors import PlanError
from studies.files.partial_files import replace_when_written

if TYPE_CHECKING:
    import openai

BATCHES_FILE: Final = "batches.json"
COMPLETION_WINDOW: Final = "24h"
FINAL_STATUSES: Final = frozenset({"completed", "failed", "expired", "cancelled"})


@dataclass(slots=True)
class SubmittedBatch:
    """Recorded progress of one batch file: its upload, the batch created from it, and the
    downloaded results."""

    sha: str
    """SHA-256 of the batch file, in hexadecimal."""
    file_id: str = ""
    batch_id: str = ""
    status: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    """Number of requests by state (total, completed, failed), as the provider reports it."""
    files: list[str] = field(default_factory=list)
    """Names of the downloaded output and error files in the folder."""

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
        raise PlanError(
            f"{path} was not written by submit-batch, or is damaged; move it to another folder, "
            "then run submit-batch again"
        ) from None


def submit_batches(
    client: openai.OpenAI, folder: Path, judge_files: list[Path]
) -> dict[str, SubmittedBatch]:
    """Upload each file in `judge_files` and create its batch; skip a file whose batch exists
    already. Returns file name -> recorded progress, for all batch files in `folder` submitted so
    far. PlanError if a file was changed after it was submitted."""
    batches = read_submitted_batches(folder)
    created = None
    for path in judge_files:
        sha = hashlib.sha256(path.read_bytes()).hexdigest()
        submitted = batches.setdefault(path.name, SubmittedBatch(sha))
        if submitted.sha != sha:
            raise PlanError(f"{path.name} changed after it was submitted; export to a new folder")
        if not submitted.file_id:
            submitted.file_id = client.files.create(file=path, purpose="batch").id
            _write_submitted_batches(folder, batches)
        if not submitted.batch_id:
            created = created if created is not None else _reusable_batch_ids_by_file_hash(client)
            submitted.batch_id = created.get(sha) or _create_batch(client, submitted)
            _write_submitted_batches(folder, batches)
    return batches


def _create_batch(client: openai.OpenAI, submitted: SubmittedBatch) -> str:
    """Create a batch and return its id, without retries: if the response is lost, the batch may
    still exist at the provider, and the next `submit-batch` finds it."""
    created = client.with_options(max_retries=0).batches.create(
        input_file_id=submitted.file_id,
        endpoint=COMPLETIONS_PATH,
        completion_window=COMPLETION_WINDOW,
        metadata={"evenhand": submitted.sha},
    )
    return created.id


def _reusable_batch_ids_by_file_hash(client: openai.OpenAI) -> dict[str, str]:
    """Return the hash of a batch file -> id of the batch that this program created from it; batches
    that ended without an output file, such as failed ones, are left out. Of several batches of one
    file, a completed batch is preferred, then one in progress, then the batch with most replies."""
    found = dict[str, Any]()
    for batch in client.batches.list(limit=100):
        sha = (batch.metadata or {}).get("evenhand")
        if sha and (batch.output_file_id or batch.status not in FINAL_STATUSES):
            found[sha] = max(found.get(sha, batch), batch, key=_batch_preference_sort_key)
    return {sha: batch.id for sha, batch in found.items()}


def _batch_preference_sort_key(batch: Any) -> tuple[bool, bool, int]:
    """Return a sort key; of several batches of one file, the batch with the highest key is used.
    The key is (whether completed, whether in progress, number of replies so far); a batch that
    ended or is being cancelled is not in progress."""
    in_progress = batch.status not in {*FINAL_STATUSES, "cancelling"}
    replies = batch.request_counts.completed if batch.request_counts else 0
    return batch.status == "completed", in_progress, replies


def collect_batches(
    client: openai.OpenAI,
    folder: Path,
    names: Collection[str],
    *,
    wait: float = 0.0,
    every: float = 30.0,
    on_progress: Callable[[dict[str, SubmittedBatch]], None] = lambda batches: None,
    mask: Callable[[str], str] = str,
) -> list[Path]:
    """Download the results of the batches that were made from the files `names` in `folder`.
    Batches that have not ended are checked again every `every` seconds, for at most `wait`
    seconds (0: one check only). PlanError if no batch was submitted from `folder`.

    `on_progress` is called after each check with file name -> progress. `mask` removes the API
    key from the text that is written, because some servers echo the request.

    Returns the paths of all output and error files downloaded for `names`, earlier ones
    included."""
    batches = read_submitted_batches(folder)
    if not batches:
        raise PlanError(f"no {BATCHES_FILE} in {folder}: run submit-batch first")
    end = time.monotonic() + wait
    selected = {name: submitted for name, submitted in batches.items() if name in names}
    while True:
        for name, submitted in selected.items():
            _poll_and_download(client, folder, name, submitted, mask)
            _write_submitted_batches(folder, batches)
        on_progress(selected)
        if all(one.is_final for one in selected.values()) or time.monotonic() >= end:
            break
        time.sleep(min(every, max(0.0, end - time.monotonic())))
    return [folder / file for submitted in selected.values() for file in submitted.files]


def _poll_and_download(
    client: openai.OpenAI,
    folder: Path,
    name: str,
    submitted: SubmittedBatch,
    mask: Callable[[str], str],
) -> None:
    if not submitted.batch_id:
        return
    batch: Any = None
    if not submitted.is_final:
        batch = client.batches.retrieve(submitted.batch_id)
        submitted.status = mask(batch.status)
        counts = batch.request_counts
        submitted.counts = counts.model_dump() if counts else {}
    if not submitted.is_final or submitted.files:
        return
    batch = batch or client.batches.retrieve(submitted.batch_id)
    stem = Path(name).stem
    for kind, file_id in (("output", batch.output_file_id), ("error", batch.error_file_id)):
        if file_id:
            path = folder / f"{stem}.{kind}.jsonl"
            lines = client.files.content(file_id).read().splitlines(True)
            with replace_when_written(path) as partial:
                partial.write_bytes(b"".join(_mask_line(line, mask) for line in lines))
            submitted.files.append(path.name)


def _mask_line(line: bytes, mask: Callable[[str], str]) -> bytes:
    """Return a line of a result file with the API key masked by `mask`, even if the line contains
    the key with JSON escapes."""
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
    except ValueError:
        text = line.decode("utf-8", "replace").rstrip("\r\n")
    masked = mask(text)
    return line if masked == text else masked.encode("utf-8", "replace") + b"\n"


def _write_submitted_batches(folder: Path, batches: dict[str, SubmittedBatch]) -> None:
    rows = {name: asdict(one) for name, one in batches.items()}
    with replace_when_written(folder / BATCHES_FILE) as partial:
        partial.write_text(json.dumps(rows, indent=1))
