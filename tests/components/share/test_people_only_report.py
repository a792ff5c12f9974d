"""Report on people alone: different people who disagree are not one judge who changes."""

from __future__ import annotations

import json
from pathlib import Path

from components.filtering.filtered_study import FilteredStudy
from components.results.agreement.people_tables import people_agreement_paper_table
from components.results.bias import panels
from components.results.bias.bias_matrix import position_paper_table
from components.results.bias.computed import load_bias
from components.results.bias.sentences import bias_headline
from components.share.paper_text import latex_table, methods_paragraph, paper_tables
from components.share.report import ReportFigures, report_sections
from metrics.position.position_measures import consistency, noise_floor
from studies.exchange.recorded_studies import import_verdicts
from studies.store.store import Store
from tests.page_words import says


def vote(question: int, person: str, first: str, second: str, winner: str) -> dict[str, str]:
    return {"question_id": f"q{question}", "question": f"question {question}", "annotator": person,
            "model_a": first, "model_b": second, "winner": winner}  # fmt: skip


def view_of(tmp_path: Path, votes: list[dict[str, str]]) -> FilteredStudy:
    path = tmp_path / "votes.json"
    path.write_text(json.dumps(votes), encoding="utf-8")
    store = Store(tmp_path / "s.db")
    import_verdicts(store, path, "votes")
    return FilteredStudy(store, "votes")


def test_two_people_who_differ_are_neither_a_noise_floor_nor_a_flip(tmp_path: Path) -> None:
    votes = []
    for k in range(6):
        votes += [vote(k, "ann", "x", "y", "model_a"), vote(k, "bob", "x", "y", "model_b"),
                  vote(k, "cid", "y", "x", "model_a")]  # fmt: skip
    view = view_of(tmp_path, votes)
    assert noise_floor(view.measured_judge_rows).n == 0
    assert consistency(view.measured_judge_rows).n == 0
    assert position_paper_table(view) is None
    kpis = panels.position_bias_kpis_html(
        load_bias(view), view.unusable_count, len(view.measured_judge_rows)
    )
    assert says(kpis, "Changes", "repeat") and "one order; [" not in kpis


def test_one_person_who_saw_both_orders_is_measured(tmp_path: Path) -> None:
    votes = [
        vote(k, "ann", *pair, "model_a") for k in range(4) for pair in (("x", "y"), ("y", "x"))
    ]
    votes += [vote(k, "bob", "x", "y", "model_a") for k in range(4)]
    found = consistency(view_of(tmp_path, votes).measured_judge_rows)
    assert (found.value, found.n) == (0.0, 4)


def test_a_report_on_people_alone_tells_their_agreement_and_no_noise_floor(tmp_path: Path) -> None:
    votes = []
    for k in range(6):
        bob = "model_b" if k < 3 else "model_a"
        votes += [vote(k, "ann", "x", "y", "model_a"), vote(k, "bob", "x", "y", bob)]
    votes.append(vote(0, "ann", "y", "x", "model_a"))
    view = view_of(tmp_path, votes)
    told = report_sections(view, ReportFigures())
    assert says(told, "people agree", "50.0") and "Agreement among people" in told
    assert "noise" not in told.lower() and "comparisons flip" not in told
    assert says(told, "2", "cast 13 votes", "6")
    table = people_agreement_paper_table(view)
    assert table is not None
    assert table.rows[0][:2] == ("Two people agree", "50.0") and table.rows[0][-1] == "6"
    latex = "".join(latex_table(one) for one in paper_tables(view).values())
    assert "Two people agree" in latex and "oise" not in latex
    title, _ = bias_headline(load_bias(view))
    assert says(title, "person", "only 1 pair")


def test_the_paper_tables_of_people_alone_have_their_numbers(tmp_path: Path) -> None:
    """Ann prefers x in all six comparisons, Bob in three: x wins 9 of 12 votes."""
    votes = []
    for k in range(6):
        votes += [vote(k, "ann", "x", "y", "model_a"),
                  vote(k, "bob", "x", "y", "model_a" if k < 3 else "model_b")]  # fmt: skip
    found = paper_tables(view_of(tmp_path, votes))
    assert found and all(table.rows for table in found.values())
    texts = [[str(cell) for row in table.rows for cell in row] for table in found.values()]
    assert any("x" in cells and any("75" in cell for cell in cells) for cells in texts), texts
    alone = view_of(tmp_path, votes[::2])
    assert says(methods_paragraph(alone), "1 person cast 6 votes")
    table = people_agreement_paper_table(alone)
    assert table is not None and "1 person." in table.caption
