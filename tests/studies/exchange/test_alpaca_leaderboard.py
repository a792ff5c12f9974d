"""AlpacaEval's leaderboard, compared with numbers computed by hand."""

from __future__ import annotations

import csv
import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from studies.domain import Ask, Item, Judgement, Verdict, assign_recorded_keys
from studies.errors import StudyError
from studies.exchange.alpaca_leaderboard import LEADERBOARD_COLUMNS, leaderboard_rows
from studies.exchange.export import write_export
from studies.spec.study import Study
from studies.store.store import Store

ITEMS = [Item(f"q{k}", f"{k}?", {"base": "b", "m": "four" * k, "n": "nn"}) for k in (1, 2, 3)]


def judged(item: int, model: str, pick: Any, *, base_first: bool = True, **more: Any) -> Judgement:
    shown = ("base", model) if base_first else (model, "base")
    status = more.pop("status", "ok")
    likely = more.pop("likely", ())
    verdict = None if pick is None else Verdict(pick, label_probabilities=likely)
    ask = Ask("", f"q{item}", more.pop("judge", "j"), "p", shown, ("A", "B"), orders=2, **more)
    return Judgement(ask, status, verdict)


M = [
    judged(1, "m", 1), judged(1, "m", 0, base_first=False),  # m twice
    judged(2, "m", "tie"), judged(3, "m", 0),  # a tie, then the baseline
    judged(2, "m", None, base_first=False, status="unreadable"),
    judged(3, "m", 1, repeat=1, noise=True),
    judged(1, "m", 0, judge="human:ann"),
]  # fmt: skip


def rows(store: Store, made: list[Judgement], path: Path, **study: Any) -> list[dict[str, str]]:
    spec = replace(Study("board"), **study)
    store.save_study(
        spec, ITEMS, (), recorded=assign_recorded_keys("board", made), only_recorded=True
    )
    write_export(store, "board", "alpaca-eval", path)
    with path.open(encoding="utf-8", newline="") as out:
        assert tuple(csv.DictReader(out).fieldnames or ()) == LEADERBOARD_COLUMNS
        out.seek(0)
        return list(csv.DictReader(out))


def test_a_model_s_line_counts_read_verdicts_of_machines_alone(
    store: Store, tmp_path: Path
) -> None:
    # m: 1, 1, ½, 0: 62.5 %, sd by n − 1 over √4. The unread reply, the noise repeat and the vote
    # are not in it. n: 0, last. Lengths of m: 4, 8, 12.
    n = [judged(1, "n", 0), judged(2, "n", 1, base_first=False)]
    first, last = rows(store, [*M, *n], tmp_path / "board.csv")
    assert (first[""], last[""]) == ("m", "n")
    assert float(first["win_rate"]) == 62.5 == float(first["discrete_win_rate"])
    assert float(first["standard_error"]) == pytest.approx(
        100 * statistics.stdev([1, 1, 0.5, 0]) / math.sqrt(4)
    )
    counts = [first[name] for name in ("n_wins", "n_wins_base", "n_draws", "n_total")]
    assert counts == ["2", "1", "1", "4"]
    assert first["avg_length"] == "8"
    assert (float(last["win_rate"]), last["n_total"]) == (0, "2")


def test_the_standard_error_of_two_verdicts_and_of_one(store: Store, tmp_path: Path) -> None:
    # m: 1, 0: the standard deviation is √½, over √2 it is ½. n has one verdict: no spread.
    made = [judged(1, "m", 1), judged(2, "m", 0), judged(1, "n", 0)]
    first, last = rows(store, made, tmp_path / "board.csv")
    assert float(first["standard_error"]) == pytest.approx(50)
    assert float(last["standard_error"]) == 0


def test_label_probabilities_count_by_what_they_say(store: Store, tmp_path: Path) -> None:
    # .7 for m with base first; then .6 + half of the .2 that the tie has. Discrete: m both times.
    made = [judged(1, "m", 1, likely=(0.3, 0.7)),
            judged(1, "m", 0, base_first=False, likely=(0.6, 0.2))]  # fmt: skip
    (line,) = rows(store, made, tmp_path / "board.csv", pairing="baseline", baseline="base")
    assert float(line["win_rate"]) == pytest.approx(70)
    assert float(line["discrete_win_rate"]) == 100


def test_without_a_baseline_it_says_what_to_do(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"no baseline.*baseline: …"):
        rows(store, [judged(1, "m", 1)], tmp_path / "board.csv")  # either of the two could be it
    assert not (tmp_path / "board.csv").exists()


def test_pairs_without_the_baseline_and_answers_without_a_text_count_nowhere() -> None:
    between = replace(judged(1, "m", 1).ask, shown=("m", "n"))
    made = [judged(1, "m", 1), judged(2, "m", 0), Judgement(between, "ok", Verdict(0))]
    (row,) = leaderboard_rows(Study("b", baseline="base"), {"q1": ITEMS[0]}, made)
    assert (row[""], row["n_total"], row["win_rate"]) == ("m", 2, 50.0)
    assert row["avg_length"] == 4, "the text of q2 is unknown"
