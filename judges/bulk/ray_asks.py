"""Asks on their way to workers: Parquet files of rendered requests, small enough to be done again.

A worker needs neither the store nor the items nor the images: a request is rendered here, as it is
for a batch file, and goes out with the ask that its verdict is read by. No key is in it.
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
from judges.rendering.prompt import Prompt, PromptInputs
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
    """What every worker is told: who is asked, how replies are read, where they go."""

    judges: Mapping[str, JudgeSpec]
    prompts: Mapping[str, Prompt]
    reading: str
    owner: str
    """Whose attempts these are, in the ledger."""
    shards: str
    """A folder that all workers and the driver see."""
    in_flight: int
    """Calls at once, for each judge in each worker."""
    settings: RunSettings
    allowed: frozenset[Pair] = frozenset()
    """Variables a worker may send, with their origins: the driver has checked the consents."""


@dataclass(frozen=True, slots=True)
class AskRow:
    """One row of a file of asks."""

    batch: str
    position: int
    ask: Ask
    messages: list[dict[str, Any]]


def write_asks(asked: Iterable[tuple[int, Ask, JudgeCall]], folder: Path, size: int) -> list[Path]:
    """So many asks a file; the file's name is the name of the batch."""
    paths = []
    for number, part in enumerate(_split_into_batches(asked, size)):
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


def build_call(job: RayJob, asked: AskRow) -> JudgeCall:
    """The request as it was rendered. A verdict is read by prompt and labels alone, so the scene
    is left empty."""
    ask = asked.ask
    judge, prompt = job.judges[ask.judge], job.prompts[ask.prompt]
    shown = tuple(name for name in ask.shown if name)
    scene = PromptInputs(Item(ask.item, "", {}), shown, (), ask.labels)
    parameters = parameters_of(judge, prompt, len(ask.shown))
    return JudgeCall(ask.key, judge, prompt, scene, asked.messages, parameters)


def make_shard_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlanError(
            f"the folder of shards {folder} cannot be made: {error.strerror}; name another with "
            "--shards"
        ) from None


def _split_into_batches(
    asked: Iterable[tuple[int, Ask, JudgeCall]], size: int
) -> Iterator[Sequence[tuple[int, Ask, JudgeCall]]]:
    waiting = iter(asked)
    while part := list(islice(waiting, size)):
        yield part
