"""The protocols at full length: all real records with simulated judges, slices with the embedded
one. Numbers of asks are worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from judges.__main__ import main
from studies.domain import USABLE_STATUSES
from studies.store.store import Store
from tests.example_studies import ExampleStudy, load_examples

ALL = {example.path.stem: example for example in load_examples()}
ASKS = {
    # VisIT-Bench: 570 items with five answers, 8 with four; pairs x 2 orders.
    "visit-bench": 570 * 10 * 2 + 8 * 6 * 2,
    # 117 OpenAssistant items with three replies x 3 rotations x 4 prompts x 2 judges.
    "grade-score-oasst": 117 * 3 * 4 * 2,
    # 64 items x 4 rotations x 4 prompts x 2 judges; replace keeps N.
    "grade-score-probe": 64 * 4 * 4 * 2,
    "grade-score-probe-unrelated": 64 * 4 * 4 * 2,
    # 8 items x 3 contestants against precise x 2 orders x (levels + factuality) x 2 judges.
    "creation-mmbench-probe": 8 * 3 * 2 * 2 * 2,
    # 64 items x 3 pairs x 2 games + 64 x 3 ratings, by 2 judges.
    "mt-bench-probe": (64 * 3 * 2 + 64 * 3) * 2,
    "arena-hard-probe": 64 * 3 * 2 * 2,
    # 80 first turns x 2 games + 80 x 2 ratings; 80 questions x 4 models x 2 games; 2 judges each.
    "mt-bench": (80 * 2 + 80 * 2) * 2,
    "arena-hard-vicuna80": 80 * 4 * 2 * 2,
    # 8 visual items x 10 pairs (the reference plays) x 2 orders x 2 judges.
    "visit-bench-probe": 8 * 10 * 2 * 2,
}


def run_twice(example: ExampleStudy, folder: Path) -> dict[str, int]:
    """The counts of a whole run; the second makes no call."""
    path = folder / "store.db"
    calls = []
    for _ in range(2):
        assert main(["run", str(example.path), "--store", str(path)]) == 0
        store = Store(path)
        calls.append(store.read("SELECT count(*) FROM attempts").fetchone()[0])
        counts = store.status_counts(example.study.name)
        store.close()
    assert calls[0] == calls[1] == counts["planned"]
    return counts


@pytest.mark.parametrize(
    "name", [n for n, example in ALL.items() if not example.uses_embedded_judge]
)
def test_a_protocol_runs_whole_with_simulated_judges(
    name: str, tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_RECORDS", str(records))
    counts = run_twice(ALL[name], tmp_path)
    assert counts["planned"] == ASKS.get(name, counts["planned"])
    assert set(counts) <= {"planned", "ok", "unreadable"}


@pytest.mark.embedded
@pytest.mark.parametrize("name", [n for n, example in ALL.items() if example.uses_embedded_judge])
def test_a_protocol_runs_on_a_slice_with_the_embedded_judge(
    name: str, tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_RECORDS", str(records))
    counts = run_twice(ALL[name], tmp_path)
    read = sum(count for status, count in counts.items() if status in USABLE_STATUSES)
    # It is too small to find its labels every time; a prompt beyond its context is too_long.
    assert read >= counts["planned"] / 2, counts
    assert counts.get("error", 0) == 0
