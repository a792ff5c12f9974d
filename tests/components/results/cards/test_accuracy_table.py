"""Table of printed accuracies on a report card."""

from __future__ import annotations

import json
from pathlib import Path

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters
from components.results.cards.card_html import show_card
from metrics.catalogue.records import RECORDS
from studies.exchange.recorded_studies import import_verdicts
from studies.store.store import Store

MEAN_OF_ORDERS = RECORDS["average_of_orders"].name
MAPPING = {"q": "instruction", "one": "first", "two": "second", "won": "winner"}


def card_html(store: Store, path: Path, mapping: dict[str, str]) -> str:
    rows = [
        {"q": f"question {k}", "one": one, "two": two, "won": "first", "best": "x"}
        for k in range(6)
        for one, two in (("x", "y"), ("y", "x"))
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")
    import_verdicts(store, path, path.stem, mapping=mapping)
    return str(show_card(Raters(FilteredStudy(store, path.stem)), "recorded"))


def test_a_card_shows_the_accuracies_of_papers_where_the_truth_is_known(
    store: Store, tmp_path: Path
) -> None:
    html = card_html(store, tmp_path / "known.json", {**MAPPING, "best": "gold"})
    assert "Accuracy in both orders</td><td>0.0" in html  # always the first answer: never both
    assert f"{MEAN_OF_ORDERS}</td><td>50.0" in html
    assert "JudgeBench" in html and "RewardBench" in html
    unknown = card_html(store, tmp_path / "unknown.json", MAPPING)
    assert "JudgeBench" not in unknown
