"""Parquet files of rendered requests for Ray workers.

The driver (the process that starts the run) renders the requests, as for a batch file. Each row
contains the messages of a request, and the ask with the labels that are needed to read the verdict.
Workers therefore need no store, items or images. The files contain no API key. They are kept small,
because a file is processed again from its start when its worker fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from judges.engine.run_state import RunSettings
from judges.judge_errors import PlanError
from judges.models.interface import JudgeCall
from judges.planning.plan import parameters_of
from judges.rendering.messages import PromptInputs
from judges.rendering.prompt import Prompt
from judges.security.key_consents import Pair
from studies.domain import Ask, Item, JudgeSpec
from studies.files.shards import write_table

ASK_SCHEMA: Final = pa.schema(
    [
        ("key", pa.string()), ("batch", pa.string()), ("position", pa.int64()),
        ("ask", pa.string()), ("messages", pa.large_string()),
    ]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RayJob:
    """Settings that every worker gets: judges, prompts, the rule for reading verdicts (`reading`)
    and the folder for results."""

    judges: Mapping[str, JudgeSpec]
    prompts: Mapping[str, Prompt]
    reading: str
    owner: str
    """Id under which the run holds leases and records attempts."""
    shards: str
    """Folder of result files that all workers and the driver can access."""
    in_flight: int
    """Maximum calls in flight, for each judge in each worker."""
    settings: RunSettings
    allowed: frozenset[Pair] = frozenset()
    """Environment variables (API keys) that a worker may send, each with the only origin that may
    receive it. The driver has checked the user's consent."""


@dataclass(frozen=True, slots=True)
class AskRow:
    """One row of a Parquet file of requests."""

    batch: str
    position: int
    ask: Ask
    messages: list[dict[str, Any]]


def write_asks(calls: Iterable[tuple[int, Ask, JudgeCall]], folder: Path, size: int) -> list[Path]:
    """Write requests, each with its index in the plan, to files of at most `size` rows. Each
    file is one batch; the batch's name is the file's name without its suffix."""
    paths = []
    for number, part in enumerate(_split_into_batches(calls, size)):
        path = folder / f"{number:05d}.parquet"
        rows = [
            {
                "key": ask.key, "batch": path.stem, "position": position,
                "ask": json.dumps(asdict(ask)), "messages": json.dumps(call.messages),
            }
            for position, ask, call in part
        ]  # fmt: skip
        write_table(path, pa.Table.from_pylist(rows, schema=ASK_SCHEMA))
        paths.append(path)
    return paths


def parse_ask_row(row: Mapping[str, Any]) -> AskRow:
    values = json.loads(row["ask"])
    names = {name: tuple(values[name]) for name in ("shown", "labels")}
    ask = Ask(**{**values, **names})
    return AskRow(row["batch"], row["position"], ask, json.loads(row["messages"]))


def build_call(job: RayJob, row: AskRow) -> JudgeCall:
    """Rebuild the call of a row, with the messages that the driver rendered. Only prompt and labels
    are needed to read a verdict, so item and answers stay empty."""
    ask = row.ask
    judge, prompt = job.judges[ask.judge], job.prompts[ask.prompt]
    shown = tuple(name for name in ask.shown if name)
    inputs = PromptInputs(Item(ask.item, "", {}), shown, (), ask.labels)
    parameters = parameters_of(judge, prompt, len(ask.shown), ask.labels)
    return JudgeCall(ask.key, judge, prompt, inputs, row.messages, parameters)


def make_shard_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlanError(
            f"cannot create the shard folder {folder}: {error.strerror}; name another one with "
            "--shards"
        ) from None


def _split_into_batches(
    calls: Iterable[tuple[int, Ask, JudgeCall]], size: int
) -> Iterator[Sequence[tuple[int, Ask, JudgeCall]]]:
    remaining = iter(calls)
    while part := list(islice(remaining, size)):
        yield part
