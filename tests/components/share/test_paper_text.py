"""Tables and methods text for a paper: numbers as on the page, escaped in LaTeX and Markdown."""

from __future__ import annotations

import re

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.results.ranking.computed import load_ranking
from components.share import paper_text
from components.share.citations import bibtex
from metrics.catalogue.records import rater_profile
from studies.spec.study import Study
from studies.store.store import Store
from tests.page_words import says
from tests.studies.small_items import ask, item
from tests.studies.small_items import judged as judgement


def scene(store: Store, **chosen: object) -> FilteredStudy:
    return FilteredStudy(store, "two judges", Filter(**chosen))  # type: ignore[arg-type]


def test_a_table_has_the_numbers_of_the_metrics(judged: Store) -> None:
    table = paper_text.paper_tables(scene(judged))["Position bias"]
    found = rater_profile(judged.frame("two judges"), ["judge", "prompt"])
    by_judge = {row[0]: row for row in table.rows}
    assert set(by_judge) == {"always first", "fair"}
    first = found["always first", "brief-letters"]
    assert by_judge["always first"][1] == f"{100 * first['consistency'].value:.1f}" == "0.0"
    assert by_judge["always first"][3] == "100.0"
    assert by_judge["fair"][1] == "100.0"
    assert by_judge["fair"][-1] == str(found["fair", "brief-letters"]["consistency"].n) == "40"


def test_a_ranking_has_ranks_as_ranges(judged: Store) -> None:
    """All items agree exactly here, so no interval can be had from them and no rank is sure."""
    table = paper_text.paper_tables(scene(judged))["Ranking"]
    assert [(row[0], row[1]) for row in table.rows] == [("1–2", "precise"), ("1–2", "flawed")]


def test_a_ranking_of_pairs_has_the_win_rates_of_pairs(store: Store) -> None:
    # x beats y in both orders: 100 %. Three times out of three the choice among options is z, which
    # is no battle: chosen 0 of 3 times, x would come down to 2 of 5.
    choices = [judgement(ask(f"o{k}", shown=shown, prompt="choose", orders=3), shown.index("z"))
               for k, shown in enumerate(("xyz", "zxy", "yzx"))]  # fmt: skip
    pairs = [judgement(ask("a"), 0), judgement(ask("b", shown="yx"), 1)]
    mixed = Study("mixed")
    store.save_study(mixed, [item("q1", "xyz")], (), recorded=pairs + choices, only_recorded=True)
    seen = FilteredStudy(store, "mixed")
    rows = {row[1]: row[4] for row in paper_text.paper_tables(seen)["Ranking"].rows}
    assert rows == {"x": "100.0", "y": "0.0"}
    assert load_ranking(seen).win_rates["x"].value == 1


def test_a_caption_says_what_the_filters_left(judged: Store) -> None:
    filtered = paper_text.paper_tables(scene(judged, judge="fair", category="maths"))[
        "Position bias"
    ]
    assert says(filtered.caption, "5", "fair, maths only")


def test_latex_escapes_what_latex_would_read(judged: Store) -> None:
    made = paper_text.latex_table(
        paper_text.PaperTable("t", "50 % of_all & more", ("Judge", "n"), (("a_b & {c}", "1"),))
    )
    assert r"a\_b \& \{c\} & 1 \\" in made
    assert r"\caption{50 \% of\_all \& more}" in made
    assert r"\begin{tabular}{lr}" in made
    assert made.count(r"\begin{") == made.count(r"\end{") == 2


def test_a_pipe_in_a_name_does_not_break_a_markdown_row() -> None:
    made = paper_text.markdown_table(
        paper_text.PaperTable("t", "caption", ("Judge", "n"), (("a|b\nc", "1"),))
    )
    line = made.splitlines()[2]
    assert line == r"| a\|b c | 1 |"
    assert len(re.findall(r"(?<!\\)\|", line)) == 3


def test_the_methods_paragraph_counts_what_was_asked(judged: Store) -> None:
    text = paper_text.methods_paragraph(scene(judged))
    frame = judged.frame("two judges")
    assert says(text, "2 judges (always", "fair")
    assert "40 items" in text
    assert f"{len(frame):,} replies" in text
    assert "both orders" in text
    assert says(text, "50", "calls", "repeated")
    assert says(text, "simulated", "known parameters")


def test_the_rule_in_force_is_in_the_words(judged: Store) -> None:
    strict = paper_text.methods_paragraph(
        scene(judged, rule="win only if both orders agree; unusable reply = tie")
    )
    assert says(strict, "wins", "both orders", "tie")
    assert "counted as ties" in strict


def test_the_command_can_be_pasted(judged: Store) -> None:
    assert paper_text.metrics_command(scene(judged), "x.db") == (
        "python -m metrics x.db --study 'two judges' --json"
    )


def test_nothing_judged_gives_no_table(store: Store) -> None:
    store.save_study(Study("none"), [], (), ())
    assert paper_text.paper_tables(FilteredStudy(store, "none")) == {}


def test_whom_to_cite_follows_the_preset() -> None:
    both = bibtex("visit-bench", pairs=True)
    assert both.count("@") == 2
    assert "VisIT-Bench" in both
    assert bibtex("", pairs=False) == ""
