"""Sections pass_fail and scores of `python -m metrics`, from a table to the printed sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from metrics.__main__ import main
from metrics.labels.label_sections import PassFailResult, format_pass_shares, pass_fail_sentence
from metrics.labels.pass_fail import UNKNOWN, PassFailRows, pass_fail_rates
from metrics.labels.true_pass_rate import true_pass_rate
from tests.page_words import says

ESTIMATE_KEYS = {"value", "low", "high", "n", "items", "unit", "level", "method", "note"}


def write_table(path: Path, rows: list[tuple[str, str, int]], head: str = "verdict,label") -> Path:
    lines = [head, *(f"{verdict},{label}" for verdict, label, n in rows for _ in range(n))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def measure(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main([str(path), "--json", "--quick"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


CHECKS = [
    ("pass", "pass", 97), ("fail", "pass", 3), ("pass", "fail", 39), ("fail", "fail", 61),
    ("pass", "", 83), ("fail", "", 17), ("", "pass", 4), ("refusal", "", 2),
]  # fmt: skip


def test_a_two_column_table_gives_the_confusion_and_the_corrected_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = measure(write_table(tmp_path / "checks.csv", CHECKS), capsys)
    cell = found["pass_fail"]["judge"]["recorded"]
    assert cell["confusion"] == {"pass_good": 97, "pass_bad": 39, "fail_good": 3, "fail_bad": 61}
    assert cell["unusable"] == 6
    for name, value in {
        "sensitivity": 0.97, "specificity": 0.61, "precision": 97 / 136, "agreement": 158 / 200,
        "youden": 0.58, "base_rate": 0.5, "observed_pass_rate": 219 / 300,
    }.items():  # fmt: skip
        assert set(cell[name]) >= ESTIMATE_KEYS
        assert cell[name]["value"] == pytest.approx(value)
    corrected = (0.83 + 0.61 - 1) / 0.58
    assert cell["true_pass_rate"]["value"] == pytest.approx((104 + 100 * corrected) / 304)
    assert cell["excess"]["value"] == pytest.approx(219 / 300 - (104 + 100 * corrected) / 304)
    assert "position" in found and found["position"] == {}
    assert "ratings" not in found and "scores" not in found


def test_if_all_answers_have_labels_only_the_excess_has_an_interval(tmp_path, capsys) -> None:
    """14 false passes and 4 false fails of 200: .05, and the difference of verdict and label has
    the variance .09 − .0025, so the limits are .05 ± 1.972 · √(.0875 / 199)."""
    rows = [("pass", "pass", 96), ("fail", "pass", 4), ("pass", "fail", 14), ("fail", "fail", 86)]
    cell = measure(write_table(tmp_path / "c.csv", rows), capsys)["pass_fail"]["judge"]["recorded"]
    true, low = cell["true_pass_rate"], cell["excess"]["low"]
    assert (true["value"], true["low"]) == (0.5, None) and low == pytest.approx(0.0086, abs=2e-4)
    assert says(cell["sentence"], "by the labels", "50") and "[" not in cell["sentence"]


def test_the_tables_open_with_the_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(write_table(tmp_path / "checks.csv", CHECKS)), "--quick"]) == 0
    shown = capsys.readouterr().out
    assert says(shown, "passes 97", "good", "39", "59")
    assert "observed 73 %." in shown


def test_a_judge_that_ignores_the_answer_is_not_corrected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("pass", "pass", 60), ("fail", "pass", 40), ("pass", "fail", 58), ("fail", "fail", 42),
            ("pass", "", 50)]  # fmt: skip
    cell = measure(write_table(tmp_path / "c.csv", rows), capsys)["pass_fail"]["judge"]["recorded"]
    assert cell["true_pass_rate"]["value"] is None
    assert says(cell["true_pass_rate"]["note"], "hardly distinguishes good")
    assert "true pass rate" not in cell["sentence"]


def test_different_errors_by_contestant_carry_the_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        (f"{name},{verdict}", label, n)
        for name, counts in (("m", (95, 5, 50, 50)), ("n", (60, 40, 5, 95)))
        for (label, verdict), n in zip(
            [("pass", "pass"), ("pass", "fail"), ("fail", "pass"), ("fail", "fail")],
            counts,
            strict=True,
        )
    ]
    path = write_table(tmp_path / "c.csv", rows, "contestant,verdict,label")
    cell = measure(path, capsys)["pass_fail"]["judge"]["recorded"]
    assert cell["errors_by_contestant"]["p"] < 1e-6
    assert "reverse" in cell["errors_by_contestant"]["note"]


def test_numbers_give_score_agreement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [(1, 2), (2, 2), (3, 4), (4, 4), (5, 5), (2, 1), (3, 3), (5, 3), (4, 5), (1, 1)]
    rows = [(str(score), str(label), 1) for score, label in pairs]
    found = measure(write_table(tmp_path / "c.csv", [*rows, ("3", "", 2)]), capsys)
    cell = found["scores"]["judge"]["recorded"]
    scores, labels = zip(*pairs, strict=True)
    gaps = [score - label for score, label in pairs]
    assert cell["mae"]["value"] == pytest.approx(sum(map(abs, gaps)) / 10)
    assert cell["bias"]["value"] == pytest.approx(sum(gaps) / 10)
    assert cell["within_one"]["value"] == pytest.approx(0.9)
    assert cell["kendall"]["value"] == pytest.approx(stats.kendalltau(scores, labels).statistic)
    assert "pass_fail" not in found


def test_the_offset_from_the_labels_is_given_for_each_contestant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The judge gives b one point more than the label, and a one point less every second time."""
    rows = [("b,4", "3", 1), ("a,2", "3", 1), ("a,3", "3", 1), ("b,5", "4", 1)] * 4
    path = write_table(tmp_path / "c.csv", rows, "contestant,verdict,label")
    cell = measure(path, capsys)["scores"]["judge"]["recorded"]
    parts = cell["by_contestant"]
    assert list(parts) == ["b", "a"]
    assert [one["bias"]["value"] for one in parts.values()] == pytest.approx([1, -0.5])
    assert cell["bias"]["value"] == pytest.approx(0.25)
    assert parts["a"]["bias"]["low"] < -0.5 < parts["a"]["bias"]["high"]
    alone = write_table(tmp_path / "one.csv", [("3", "2", 9)])
    assert "by_contestant" not in measure(alone, capsys)["scores"]["judge"]["recorded"]


def test_shares_that_pass_are_named_for_the_labels_that_occur() -> None:
    assert says(format_pass_shares(0.8, 0.7), "80 %", "good", "30 %", "bad")
    assert says(format_pass_shares(0.8, None), "80 %", "good", "no verdict", "bad")
    assert says(format_pass_shares(None, 0.7), "30 %", "bad", "no verdict", "good")
    assert format_pass_shares(None, None) == ""


def test_an_unclear_word_is_a_question_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_table(tmp_path / "c.csv", [("pass", "ok-ish", 3)])
    assert main([str(path)]) != 0
    assert says(capsys.readouterr().err, "'ok-ish'", "pass", "fail")


def test_without_a_usable_verdict_the_sentence_says_so() -> None:
    rows = PassFailRows.from_values([UNKNOWN, UNKNOWN], [1, 0], [0, 1])
    true = true_pass_rate(rows)
    found = PassFailResult(pass_fail_rates(rows), true, true, None)
    assert pass_fail_sentence(found) == "No usable verdicts."


def test_labels_of_answers_without_a_verdict_are_not_denied() -> None:
    """Two answers have labels, but their replies are unusable; the only verdict is on a third."""
    rows = PassFailRows.from_values([UNKNOWN, UNKNOWN, 1], [1, 0, UNKNOWN], [0, 1, 2])
    rates = pass_fail_rates(rows)
    found = PassFailResult(rates, true_pass_rate(rows), true_pass_rate(rows), None)
    assert says(pass_fail_sentence(found), "100 %", "no verdict", "label")
    for one in (rates.sensitivity, rates.specificity, rates.youden):
        assert says(one.note, "verdict") and "no answer" not in one.note
