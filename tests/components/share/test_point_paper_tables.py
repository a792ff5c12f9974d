"""Tables for a paper on single answers: the numbers of the JSON, and no tables of comparisons."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results.pass_fail.rate_tables import ORDER_DEFINITIONS, RATE_DEFINITIONS
from components.results.view.paper_table import PaperTable
from components.share import paper_text
from components.share.report import ReportFigures, report_sections
from studies.domain import JudgeSpec
from studies.exchange.recorded_studies import import_verdicts
from studies.store.store import Store
from tests.components.written_replies import write_items
from tests.judges.small_studies import run_text
from tests.metrics.frames import json_sections
from tests.page_words import says
from tests.samples import sample

JUDGES = """judges:
  - {name: strict, model: simulated, seed: 3, sensitivity: 0.8, specificity: 0.9, first_bias: 0.2,
     score_noise: 0.4, severity: 0.5}
  - {name: lenient, model: simulated, seed: 4, sensitivity: 0.95, specificity: 0.6, first_bias: 0.3,
     score_noise: 0.6}
"""
ITEMS = 12
STUDIES = {
    "checked": ("items_pass.jsonl", "pass-fail", "options: rotations\nnoise_floor: 0.5\n"),
    "scored": ("items_score.jsonl", "score-scale", "options: rotations\n"),
    "rubrics": ("items_level.jsonl", "rubric", "options: rotations\ncriteria_order: rotations\n"),
    "both kinds": ("items_score.jsonl", "score-scale, brief-letters", ""),
}


def item_lines(values: list[Any]) -> list[dict[str, Any]]:
    return [
        {"id": f"q{k}", "instruction": f"question {k}",
         "responses": {"m": f"answer {k}", "n": f"other {k}"},
         "labels": [{"contestant": who, "value": values[(k + shift) % len(values)]}
                    for shift, who in enumerate("mn")]}
        for k in range(ITEMS)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def store(module_store: Store) -> Iterator[Store]:
    folder = module_store.path.parent
    write_items(folder / "items_pass.jsonl", item_lines(["pass", "fail", "pass"]))
    write_items(folder / "items_score.jsonl", item_lines([1, 2, 3, 4, 5]))
    write_items(folder / "items_level.jsonl", item_lines([1, 2, 3]))
    for name, (items, prompts, more) in STUDIES.items():
        head = f"name: {name}\ndata: {{source: {items}}}\n{JUDGES}prompts: [{prompts}]\n{more}"
        run_text(module_store, head, folder)
    yield module_store
    for cached in (tables_of, json_of):
        cached.cache_clear()


@cache
def tables_of(store: Store, name: str) -> dict[str, PaperTable]:
    return paper_text.paper_tables(FilteredStudy(store, name))


@cache
def json_of(store: Store, name: str) -> dict[str, Any]:
    names = ("pass_fail", "option_order", "scores", "criteria_order")
    return json_sections(store.frame(name), *names)


def text_of(value: float, scale: float, decimals: int) -> str:
    return f"{scale * value:,.{decimals}f}".replace("-", "\u2212")


def assert_cells(table: PaperTable, row: str, column: str, found: Any, percent: bool) -> None:
    """Compare a number and the interval beside it with an estimate of the JSON."""
    (cells,) = [cells for cells in table.rows if cells[0] == row]
    place = table.head.index(column)
    scale, decimals = (100, 1) if percent else (1, 2)
    if found["value"] is None:
        assert cells[place] == "–"
        return
    assert cells[place] == text_of(found["value"], scale, decimals), (row, column)
    if place + 1 < len(table.head) and table.head[place + 1] == "95 % CI":
        ends = [text_of(found[end], scale, decimals) for end in ("low", "high")]
        assert cells[place + 1] == f"[{', '.join(ends)}]", (row, column)


def test_the_methods_name_repeats_and_have_no_gap(store: Store, tmp_path: Path) -> None:
    """`checked` repeats half of its calls; judges that are not simulated leave no gap."""
    whole = FilteredStudy(store, "checked")
    again = int(whole.measured_judge_rows["noise"].sum())
    assert again and says(paper_text.methods_paragraph(whole), "Repeated", f"{again} calls")
    url = "http://127.0.0.1:9/v1"
    real = tuple(JudgeSpec(judge.name, judge.name, url) for judge in whole.study.judges)
    whole.__dict__["study"] = replace(whole.study, judges=real, repeats=3)
    text = paper_text.methods_paragraph(whole)
    assert says(text, "made 3 times") and "simulated" not in text and "  " not in text


def test_pass_or_fail_has_the_numbers_of_the_json(store: Store) -> None:
    tables, found = tables_of(store, "checked"), json_of(store, "checked")
    assert list(tables) == ["Pass/fail order", "Confusion", "Pass or fail"]
    for judge in ("strict", "lenient"):
        section = found["pass_fail"][judge]["pass-fail"]
        counts = section["confusion"]
        (row,) = [row for row in tables["Confusion"].rows if row[0] == judge]
        listed = [counts[name] for name in ("pass_good", "fail_good", "pass_bad", "fail_bad")]
        assert row[1:] == tuple(map(str, [*listed, section["unusable"]]))
        rates = tables["Pass or fail"]
        for column, key in (("Sensitivity", "sensitivity"), ("Specificity", "specificity"),
                            ("Base", "base_rate"), ("Observed", "observed_pass_rate"),
                            ("True", "true_pass_rate")):  # fmt: skip
            assert_cells(rates, judge, column, section[key], percent=True)
        assert_cells(rates, judge, "J", section["youden"], percent=False)
        assert_cells(rates, judge, "κ", section["kappa"], percent=False)
        order = found["option_order"][judge]["pass-fail"]
        for column, key in (("Changed", "changed"), ("Noise", "noise_floor"),
                            ("First", "first_place"), ("Expected", "expected_first")):  # fmt: skip
            assert_cells(tables["Pass/fail order"], judge, column, order[key], percent=True)


@pytest.mark.parametrize(
    ("name", "prompt"),
    sample([("scored", "score-scale"), ("rubrics", "rubric")], ("rubrics", "rubric")),
)
def test_scores_have_the_numbers_of_the_json(store: Store, name: str, prompt: str) -> None:
    tables, found = tables_of(store, name), json_of(store, name)
    for judge in ("strict", "lenient"):
        section, order = found["scores"][judge][prompt], found["option_order"][judge][prompt]
        for column, key in (("MAE", "mae"), ("Bias", "bias"), ("Spearman", "spearman"),
                            ("Kendall", "kendall"),
                            ("Quadratic κ", "quadratic_kappa")):  # fmt: skip
            assert_cells(tables["Scores"], judge, column, section[key], percent=False)
        assert_cells(tables["Scores"], judge, "Within one", section["within_one"], percent=True)
        assert_cells(tables["Score order"], judge, "Changed", order["changed"], percent=True)
        assert_cells(tables["Score order"], judge, "First", order["first_place"], percent=True)
    assert ("Criteria order" in tables) == (name == "rubrics")
    if name == "rubrics":
        criteria = found["criteria_order"]["strict"]["rubric"]
        table = tables["Criteria order"]
        assert_cells(table, "strict", "Changed", criteria["changed"], percent=True)
        assert_cells(table, "strict", "First", criteria["first"], percent=False)


def test_single_answers_get_no_table_of_comparisons(store: Store) -> None:
    for name in ("checked", "scored", "rubrics"):
        made = set(tables_of(store, name))
        assert made and not made & {"Position bias", "Ranking", "Win rates", "Remedies"}
    both = set(tables_of(store, "both kinds"))
    assert {"Position bias", "Ranking", "Scores"} <= both
    assert set(paper_text.TABLE_NAMES) >= both


def test_the_methods_paragraph_is_on_single_answers(store: Store) -> None:
    text = paper_text.methods_paragraph(FilteredStudy(store, "checked"))
    assert says(text, "2 judges", "lenient", "strict", "single answers", f"{ITEMS} items")
    assert says(text, "Every answer has", "the labels") and not re.search("Rogan|pair", text)
    scores = paper_text.methods_paragraph(FilteredStudy(store, "scored"))
    assert "Arrangements" in scores and "Rogan" not in scores
    lost = FilteredStudy(store, "checked")
    assert lost.unusable_count == 0 and "not counted" not in text
    lost.__dict__["unusable_count"] = 1
    assert says(paper_text.methods_paragraph(lost), "other replies", "not counted")
    assert "are simulated" in text and "simulated" in scores


@pytest.mark.extra
def test_the_report_has_the_tables_with_their_latex(store: Store) -> None:
    text = str(report_sections(FilteredStudy(store, "checked"), ReportFigures()))
    (row,) = [row for row in tables_of(store, "checked")["Confusion"].rows if row[0] == "strict"]
    assert f"strict &amp; {' &amp; '.join(row[1:])} \\\\" in text


def test_a_table_of_verdicts_and_labels_gives_one_row(tmp_path: Path, store: Store) -> None:
    lines = ["verdict,label"] + ["pass,pass"] * 30 + ["pass,fail"] * 6 + ["fail,fail"] * 24
    path = tmp_path / "two.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    import_verdicts(store, path, "two columns")
    tables = tables_of(store, "two columns")
    assert tables["Confusion"].rows == (("judge", "30", "0", "6", "24", "0"),)
    assert tables["Pass or fail"].rows[0][:2] == ("judge", "100.0")
    assert "Pass/fail order" not in tables


def test_a_table_about_labels_counts_the_items_with_labels(store: Store) -> None:
    """Of four items two have a label."""
    lines = ["question,answer,verdict,label", *(f"Is {n} odd?,Yes.,pass,pass" for n in (3, 5))]
    lines += [f"Is {n} odd?,Yes.,fail," for n in (4, 6)]
    path = store.path.with_name("half.csv")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    import_verdicts(store, path, "half labelled")
    tables = tables_of(store, "half labelled")
    assert says(tables["Confusion"].caption, "2 items.")
    assert says(tables["Pass or fail"].caption, "4 items.")


def test_a_caption_defines_the_columns_that_its_table_has(store: Store) -> None:
    """`checked` has repeats, `scored` has none; without labels there is no true pass rate."""
    path = store.path.with_name("bare.csv")
    lines = ["question,answer,verdict,label", "Is 2 odd?,No.,pass,pass", "Is 3 odd?,No.,fail,"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    import_verdicts(store, path, "bare")
    order, scores = tables_of(store, "checked")["Pass/fail order"], tables_of(store, "scored")
    without = {"Score order": "Noise", "Pass or fail": "True"}
    for table in (order, scores["Score order"], tables_of(store, "bare")["Pass or fail"]):
        heads = [head for head in table.head if head not in ("Judge", "95 % CI", "n")]
        assert heads and without.get(table.name) not in heads
        for name in {**ORDER_DEFINITIONS, **RATE_DEFINITIONS}:
            assert (f"{name}: " in table.caption) is (name in heads), (table.name, name)
