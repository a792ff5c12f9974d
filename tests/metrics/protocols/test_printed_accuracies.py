"""Accuracies as papers print them, worked by hand and against LLMBar's own statistics."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from metrics.position.position_measures import accuracy
from metrics.protocols.printed_accuracies import PRINTED_BY, accuracies_as_in_papers
from studies.exchange.recorded_studies import import_verdicts
from studies.frames.frame import NO_PICK
from studies.store.store import Store
from tests.metrics.frames import json_sections

MAPPING = {"q": "instruction", "one": "first", "two": "second", "won": "winner", "best": "gold"}
ORDERS = ("xx", "xy", "yy", "x-", "xt", "tt", "--", "y-")
"""Verdicts in the two orders of each pair: x is better, t a tie, - an unusable reply."""


def frame_of(store: Store, tmp_path: Path, both: bool = True) -> pd.DataFrame:
    words = {"x": "x", "y": "y", "t": "tie", "-": ""}
    rows = [
        {"q": f"question {k}", "one": first, "two": second, "won": words[said], "best": "x"}
        for k, pair in enumerate(ORDERS)
        for (first, second), said in list(zip((("x", "y"), ("y", "x")), pair, strict=True))[
            : 1 + both
        ]
    ]
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    import_verdicts(store, path, "pairs", mapping=MAPPING)
    return store.frame("pairs")


def test_each_accuracy_follows_its_rule(store: Store, tmp_path: Path) -> None:
    frame = frame_of(store, tmp_path)
    found = {name: (got.value, got.n) for name, got in accuracies_as_in_papers(frame).items()}
    assert found == {
        "average_of_orders": (5 / 16, 16),  # right: 2 + 1 + 0 + 1 + 1
        "right_in_both_orders": (1 / 8, 8),
        "orders_merged": (3 / 8, 8),  # xx, x- and xt
        "unusable_as_tie": ((5 + 7 / 2) / 16, 16),  # three ties, four unusable replies
    }
    assert (accuracy(frame).value, accuracy(frame).n) == (5 / 12, 12)


def test_pairs_in_one_order_have_no_merged_accuracy(store: Store, tmp_path: Path) -> None:
    found = accuracies_as_in_papers(frame_of(store, tmp_path, both=False))
    assert found["average_of_orders"].n == 8
    assert found["right_in_both_orders"].value is None
    assert found["orders_merged"].note.startswith("no pair was judged in both orders")


def test_the_summary_names_the_source_of_each(store: Store, tmp_path: Path) -> None:
    section = json_sections(frame_of(store, tmp_path), "accuracies")["accuracies"]
    cell = section["recorded"]["recorded"]
    assert set(cell) == set(PRINTED_BY)
    assert "JudgeBench" in cell["orders_merged"]["note"]
    assert accuracies_as_in_papers(store.frame("pairs").assign(known_answer=-2)) == {}
    scored = store.frame("pairs").assign(pick=NO_PICK, known_answer=0, status="ok")
    assert accuracies_as_in_papers(scored) == {}  # a prompt that only scores


@pytest.mark.parametrize("judge", ["GPT-4", "ChatGPT"])
@pytest.mark.parametrize("part", ["Manual", "GPTOut"])
def test_llmbar_s_own_numbers(store: Store, records: Path, part: str, judge: str) -> None:
    folders = sorted((records / "llmbar" / part / judge).iterdir())
    assert folders
    for folder in folders:
        import_verdicts(store, folder / "result.json", folder.name)
        found = accuracies_as_in_papers(store.frame(folder.name))
        stated = json.loads((folder / "statistics.json").read_text())
        for name, key in (
            ("average_of_orders", "correct_average"), ("right_in_both_orders", "correct_both"),
        ):  # fmt: skip
            percent = float(stated[key].rpartition("=")[2].strip(" %"))
            assert found[name].value == pytest.approx(percent / 100, abs=1e-12)
