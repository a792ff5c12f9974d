"""Frames for tests: compact rows in, the contract's table out; and the public records, if here."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from studies.frame import NO_PICK, SEP, TIE
from studies.records import STATUSES

RECORDS = Path(os.environ.get("EVENHAND_RECORDS", Path(__file__).parents[3] / "shared" / "data"))


def build(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows with at least item, shown and pick; everything else has the plain value."""
    table = [_row(row) for row in rows]
    width = max((len(row["shown"].split(SEP)) for row in table), default=2)
    columns = [
        "study", "item", "category", "judge", "prompt", "shown", "labels", "comparison", "options",
        "orders", "repeat", "noise", "status", "pick", "margin", "truth", "first", "second",
    ]  # fmt: skip
    frame = pd.DataFrame(table, columns=[*columns, "scores", "p", "length", "family", "families"])
    for name in ("study", "item", "category", "judge", "prompt", "shown", "labels", "comparison"):
        frame[name] = frame[name].astype(str).astype("category")
    names = sorted({name for shown in frame["shown"] for name in shown.split(SEP)})
    frame["first"] = pd.Categorical(frame["first"], categories=names)
    frame["second"] = pd.Categorical(frame["second"], categories=names)
    frame["status"] = pd.Categorical(frame["status"], categories=list(STATUSES))
    for name, dtype in (("options", np.int8), ("orders", np.int16), ("repeat", np.int16)):
        frame[name] = frame[name].astype(dtype)
    for name in ("pick", "margin", "truth"):
        frame[name] = frame[name].astype(np.int8)
    frame["noise"] = frame["noise"].astype(bool)
    _spread(frame, "scores", "score", width, np.nan, np.float32)
    _spread(frame, "p", "p", width, np.nan, np.float32)
    _spread(frame, "length", "length", width, -1, np.int32)
    _families(frame, width)
    return frame


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = tuple(row["shown"])
    pick = row["pick"]
    full = {
        "study": "test", "category": "", "judge": "j", "prompt": "p", "repeat": 0, "noise": False,
        "status": "unreadable" if pick is None else "ok", "truth": NO_PICK, "orders": len(shown),
        "margin": 1, "scores": None, "p": None, "length": None, "family": None, "families": None,
        **row,
    }  # fmt: skip
    full["pick"] = NO_PICK if pick is None else TIE if pick == "tie" else pick
    full["margin"] = 0 if full["pick"] < 0 else full["margin"]
    full["labels"] = SEP.join(row.get("labels", "ABCDEFGHIJ"[: len(shown)]))
    full["options"], full["shown"] = len(shown), SEP.join(shown)
    full["comparison"] = SEP.join(sorted(shown))
    full["first"], full["second"] = shown[0], shown[1] if len(shown) > 1 else None
    return full


def _spread(
    frame: pd.DataFrame, name: str, prefix: str, width: int, blank: float, dtype: type
) -> None:
    lists = frame.pop(name)
    if not lists.notna().any():
        return
    for slot in range(width):
        values = [
            x[slot] if isinstance(x, list | tuple) and len(x) > slot else blank for x in lists
        ]
        frame[f"{prefix}_{slot}"] = np.array(values, dtype)


def _families(frame: pd.DataFrame, width: int) -> None:
    judge, slots = frame.pop("family"), frame.pop("families")
    if not judge.notna().any():
        return
    frame["family"] = judge.fillna("").astype("category")
    for slot in range(width):
        values = [x[slot] if isinstance(x, list | tuple) else "" for x in slots]
        frame[f"family_{slot}"] = pd.Categorical(values)


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
            **({} if truth is None else {"truth": shown.index(truth)}),
            **more,
        }
        for shown, pick in zip(slots, (first, second), strict=True)
    ]


PICKS = {"A": 0, "B": 1, "C": "tie", "?": None}


def patterns(counts: Mapping[str, int], **more: Any) -> pd.DataFrame:
    """Choice pairs as in STATISTICS.md 5: {"AA": 12} is twelve items, first slot both times."""
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


def prd() -> pd.DataFrame:
    """PRD: five judges, ten pairs, both orders, and the people's votes, truth = their majority."""
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
    return {"item": str(index), "shown": shown, "pick": pick, "truth": shown.index(better)}


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
