"""Frames for tests, built from compact rows, and the public records where they are available."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metrics.estimation import row_selection
from metrics.remedies import remedy_study
from metrics.summary.optional_sections import OPTIONAL_SECTIONS, WITH_PEOPLE
from metrics.summary.summary import to_plain_data
from studies.domain import STATUSES
from studies.frames.frame import NO_PICK, SEP, TIE

RECORDS = Path(os.environ.get("EVENHAND_RECORDS", Path(__file__).parents[3] / "shared" / "data"))


def json_sections(frame: pd.DataFrame, *names: str) -> dict[str, Any]:
    """Some optional sections of the JSON, without the others: the whole takes half a second."""
    frame = remedy_study.add_call_credits(frame, remedy_study.build_remedy_study(frame))
    judged = row_selection.select_judges(frame)
    found = {name: OPTIONAL_SECTIONS[name](frame if name in WITH_PEOPLE else judged)
             for name in names}  # fmt: skip
    return {name: to_plain_data(value) for name, value in found.items() if value}


def build(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows with at least item, shown and pick; everything else has the plain value.

    Column by column: laws build hundreds of frames, and a frame of dictionaries costs ten times as
    much as the columns of one.
    """
    table = [_row(row) for row in rows]

    def column(name: str) -> list[Any]:
        return [row[name] for row in table]

    width = max((len(row["shown"].split(SEP)) for row in table), default=2)
    names = sorted({name for row in table for name in row["shown"].split(SEP)})
    columns: dict[str, Any] = {}
    for name in ("study", "item", "category", "judge", "prompt", "shown", "labels", "comparison"):
        columns[name] = _categories([str(value) for value in column(name)])
    for name, dtype in (("options", np.int8), ("orders", np.int16), ("repeat", np.int16)):
        columns[name] = np.array(column(name), dtype)
    columns["noise"] = np.array(column("noise"), bool)
    columns["status"] = _categories(column("status"), list(STATUSES))
    for name in ("pick", "margin", "known_answer"):
        columns[name] = np.array(column(name), np.int8)
    for name in ("first", "second"):
        columns[name] = _categories(column(name), names)
    columns |= _spread(column("scores"), "score", width, np.nan, np.float32)
    columns |= _spread(column("p"), "p", width, np.nan, np.float32)
    columns |= _spread(column("length"), "length", width, -1, np.int32)
    columns |= _families(column("family"), column("families"), width)
    return pd.DataFrame(columns)


def _categories(values: list[Any], known: list[str] | None = None) -> pd.Categorical:
    known = sorted(set(values)) if known is None else known
    place = {name: code for code, name in enumerate(known)}
    codes = [-1 if value is None else place[value] for value in values]
    return pd.Categorical.from_codes(np.array(codes, np.int64), known)


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = tuple(row["shown"])
    pick = row["pick"]
    full = {
        "study": "test", "category": "", "judge": "j", "prompt": "p", "repeat": 0, "noise": False,
        "status": "unreadable" if pick is None else "ok", "known_answer": NO_PICK,
        "orders": len(shown), "margin": 1, "scores": None, "p": None, "length": None,
        "family": None, "families": None, **row,
    }  # fmt: skip
    full["pick"] = NO_PICK if pick is None else TIE if pick == "tie" else pick
    full["margin"] = 0 if full["pick"] < 0 else full["margin"]
    full["labels"] = SEP.join(row.get("labels", "ABCDEFGHIJ"[: len(shown)]))
    full["options"], full["shown"] = len(shown), SEP.join(shown)
    full["comparison"] = SEP.join(sorted(shown))
    full["first"], full["second"] = shown[0], shown[1] if len(shown) > 1 else None
    return full


def _spread(
    lists: list[Any], prefix: str, width: int, blank: float, dtype: type
) -> dict[str, np.ndarray]:
    if all(values is None for values in lists):
        return {}
    return {
        f"{prefix}_{slot}": np.array(
            [x[slot] if x is not None and len(x) > slot else blank for x in lists], dtype
        )
        for slot in range(width)
    }


def _families(judge: list[Any], slots: list[Any], width: int) -> dict[str, pd.Categorical]:
    if all(name is None for name in judge):
        return {}
    found = {"family": _categories([name or "" for name in judge])}
    for slot in range(width):
        found[f"family_{slot}"] = _categories(["" if x is None else x[slot] for x in slots])
    return found


def pair(item: str, first: Any, second: Any, **more: Any) -> list[dict[str, Any]]:
    """One pair x, y in both orders: the slot picked with x first, and with y first."""
    more = {"x": "x", "y": "y", **more}
    x, y = more.pop("x"), more.pop("y")
    truth = more.pop("better", None)
    slots = [(x, y), (y, x)]
    return [
        {
            "item": item,
            "shown": shown,
            "pick": pick,
            **({} if truth is None else {"known_answer": shown.index(truth)}),
            **more,
        }
        for shown, pick in zip(slots, (first, second), strict=True)
    ]


PICKS = {"A": 0, "B": 1, "C": "tie", "?": None}


def patterns(counts: Mapping[str, int], **more: Any) -> pd.DataFrame:
    """Items by pattern of choices: {"AA": 12} is twelve items, first slot both times."""
    rows: list[dict[str, Any]] = []
    for pattern, count in counts.items():
        for k in range(count):
            rows += pair(f"{pattern}{k}", PICKS[pattern[0]], PICKS[pattern[1]], **more)
    return build(rows)


def rotated(item: str, picks: Iterable[Any], **more: Any) -> list[dict[str, Any]]:
    """Slots picked in the N rotations of options 0…N−1, rotated right by 1, 2, … N."""
    picks = list(picks)
    names = [f"o{k}" for k in range(len(picks))]
    turned = [names[-k:] + names[:-k] for k in range(1, len(picks))] + [names]
    return [
        {"item": item, "shown": shown, "pick": pick, "prompt": "choice", **more}
        for shown, pick in zip(turned, picks, strict=True)
    ]


def records(*parts: str) -> Path:
    """A file of the public records; the test is skipped, loudly, where they are not here."""
    path = RECORDS.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"PUBLIC RECORDS ABSENT: no {path}; set EVENHAND_RECORDS to their folder")
    return path


SLOT = {"first": 0, "second": 1, "tie": TIE}


def _lines(path: Path) -> list[dict[str, Any]]:
    packed = path.read_bytes()
    text = gzip.decompress(packed) if path.suffix == ".gz" else packed
    return [json.loads(line) for line in text.decode().splitlines()]


@cache
def prd() -> pd.DataFrame:
    """PRD: five judges, ten pairs, both orders, and the people's votes. Read once; not to be
    changed in place."""
    category = {p["prompt_id"]: p["category"] for p in _lines(records("prd", "prompts.jsonl"))}
    judged = [
        {"judge": row["judge"], **_prd(row), "category": category[row["prompt_id"]], "orders": 2}
        for row in _lines(records("prd", "judgements.jsonl.gz"))
    ]
    votes = [
        {"judge": f"human:{row['annotator']}", **_prd(row), "orders": 1, "prompt": "vote"}
        for row in _lines(records("prd", "human_votes.jsonl"))
    ]
    return build(judged + votes)


def _prd(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = (row["first"], row["second"])
    pick = {"first": 0, "second": 1, "tie": "tie"}.get(row["verdict"])
    return {"item": row["prompt_id"], "shown": shown, "pick": pick}


def llmbar(part: str, judge: str, prompt: str) -> pd.DataFrame:
    """One LLMBar run: both orders of each item, verdicts already un-swapped in the file."""
    rows = json.loads(records("llmbar", part, judge, prompt, "result.json").read_text())
    made = []
    for index, row in enumerate(rows):
        for swap, key in ((False, "swap = False"), (True, "swap = True")):
            made.append(_llmbar(index, row, swap, key))
    return build(made)


def _llmbar(index: int, row: Mapping[str, Any], swap: bool, key: str) -> dict[str, Any]:
    shown = ("output_2", "output_1") if swap else ("output_1", "output_2")
    winner = row["results"][-1][key]["winner"]
    better = f"output_{row['label']}"
    pick = None if winner is None else shown.index(f"output_{winner}")
    return {"item": str(index), "shown": shown, "pick": pick, "known_answer": shown.index(better)}


def mtbench() -> pd.DataFrame:
    """MT-Bench pair judgements of two games; game 2 is already un-swapped in the file."""
    rows: list[dict[str, Any]] = []
    for row in _lines(records("mtbench_pair", "gpt-4_pair.jsonl")):
        names = {"model_1": row["model_1"], "model_2": row["model_2"]}
        for game, order in (
            ("g1_winner", ("model_1", "model_2")),
            ("g2_winner", ("model_2", "model_1")),
        ):
            winner = row[game]
            pick = {"tie": "tie", "error": None}.get(winner, winner)
            rows.append(
                {
                    "item": f"{row['question_id']}-{row.get('turn', 1)}",
                    "shown": tuple(names[name] for name in order),
                    "pick": order.index(pick) if pick in order else pick,
                }
            )
    return build(rows)
