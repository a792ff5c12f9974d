"""Verdicts of published judge replies: MT-Bench pair, LLMBar, PRD."""

from __future__ import annotations

import gzip
import json
import os
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from judges.verdicts.verdict import parse_verdict
from judges.verdicts.verdict_formats import FORMATS
from tests.samples import ALL

pytestmark = pytest.mark.records

ROOT = Path(__file__).parents[3]
RECORDS = Path(os.environ.get("EVENHAND_RECORDS", ROOT.parent / "shared" / "data"))


def record(name: str) -> Path:
    path = RECORDS / name
    if not path.exists():
        reason = f"REAL RECORDS ABSENT: {path} is not there; set EVENHAND_RECORDS to find them"
        warnings.warn(reason, stacklevel=2)
        pytest.skip(reason)
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    text = gzip.decompress(raw) if path.suffix == ".gz" else raw
    return [json.loads(line) for line in text.splitlines()]


def llmbar(name: str) -> list[tuple[str, str | None, bool]]:
    """Reply, recorded winner (un-swapped: "1", "2" or none), whether the order was swapped."""
    items = json.loads(record(f"llmbar/{name}/result.json").read_text(encoding="utf-8"))
    return [
        (game["completion"][0], game["winner"], swapped)
        for item in items
        for game, swapped in (
            (item["results"][-1]["swap = False"], False),
            (item["results"][-1]["swap = True"], True),
        )
    ]


def winner(format: str, reply: str, swapped: bool) -> str | None:
    verdict = parse_verdict(format, reply).verdict
    if verdict is None or not isinstance(verdict.pick, int):
        return None
    return "21"[verdict.pick] if swapped else "12"[verdict.pick]


def test_every_mt_bench_judgment_reads_as_its_recorded_winner() -> None:
    # 75 rows x 2 games; the second game is recorded un-swapped. FastChat writes "$ERROR$" as the
    # judgment of a failed call and "error" as its winner: three of them, unreadable for us.
    counts: Counter[str] = Counter()
    for row in lines(record("mtbench_pair/gpt-4_pair.jsonl")):
        for game, names in ((1, ("model_1", "model_2")), (2, ("model_2", "model_1"))):
            verdict = parse_verdict("mt-bench", row[f"g{game}_judgment"]).verdict
            found = "error" if verdict is None else "tie"
            if verdict is not None and isinstance(verdict.pick, int):
                found = names[verdict.pick]
            assert found == row[f"g{game}_winner"], (row["question_id"], game)
            counts[found] += 1
    # As recorded: 40 + 20, 23 + 39, 11 + 14, 1 + 2.
    assert counts == {"model_1": 60, "model_2": 62, "tie": 25, "error": 3}


@pytest.mark.parametrize("judge", ["ChatGPT", "GPT-4"])
@pytest.mark.parametrize(("split", "games"), [("GPTOut", 94), ("Manual", 92)])
def test_every_one_label_reply_of_llmbar_reads_as_its_recorded_winner(
    split: str, games: int, judge: str
) -> None:
    replies = llmbar(f"{split}/{judge}/Vanilla")
    assert len(replies) == games
    for reply, recorded, swapped in replies:
        assert winner("label", reply, swapped) == recorded, reply


@pytest.mark.parametrize("judge", ["ChatGPT", "GPT-4"])
@pytest.mark.parametrize(("split", "games"), [("GPTOut", 94), ("Manual", 92)])
def test_every_explained_reply_of_llmbar_reads_as_its_recorded_winner(
    split: str, games: int, judge: str
) -> None:
    # They end "Output (a) is better"; with our word for it, that is overall-response. The two
    # replies without a winner (both equally good) have none for us either.
    replies = llmbar(f"{split}/{judge}/CoT")
    assert len(replies) == games
    for reply, recorded, swapped in replies:
        ours = re.sub(r"Output \(([ab])\)", lambda m: f"Response {m[1].upper()}", reply)
        assert winner("overall-response", ours, swapped) == recorded, reply


@pytest.fixture(scope="module")
def prd() -> list[dict[str, Any]]:
    return lines(record("prd/judgements.jsonl.gz"))


def test_no_format_finds_a_verdict_in_real_prose_that_has_no_marker(
    prd: list[dict[str, Any]],
) -> None:
    # PRD's judges end "1", "I choose 2", "Assistant 1's answer is better": none is our marker,
    # and 18 replies of bard are empty. A part of them for all formats, to keep it short.
    assert sum(not row["raw"].strip() for row in prd) == 18
    for row in prd[:: 10 if ALL else 40]:
        for format in FORMATS:
            assert parse_verdict(format, row["raw"], 4).verdict is None, (format, row["raw"])


@pytest.mark.parametrize(
    ("format", "markers"),
    [
        ("mt-bench", {"first": "[[A]]", "second": "[[B]]", "tie": "[[C]]"}),
        (
            "five-level",
            {
                "first": "Final Verdict is: [[A>B]]",
                "second": "Final Verdict is: [[B>A]]",
                "tie": "Final Verdict is: [[A=B]]",
            },
        ),
        (
            "json-winner",
            {side: f'{{"winner": "{name}"}}' for side, name in
             (("first", "model_a"), ("second", "model_b"), ("tie", "tie"))},
        ),
        (
            "overall-response",
            {
                "first": "Overall, Response A is better.",
                "second": "Overall, Response B is better.",
                "tie": "Overall, neither is.",
            },
        ),
    ],
)  # fmt: skip
def test_a_marker_after_real_prose_is_read_as_it_stands(
    prd: list[dict[str, Any]], format: str, markers: dict[str, str]
) -> None:
    for row in prd[:: 4 if ALL else 24]:
        reply = f"{row['raw']}\n\n{markers[row['verdict']]}"
        assert (
            parse_verdict(format, reply).verdict
            == parse_verdict(format, markers[row["verdict"]]).verdict
        )
