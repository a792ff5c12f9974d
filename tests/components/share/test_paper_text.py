"""Tables and methods text for a paper: numbers as on the page, escaped in LaTeX and Markdown."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter, counting_rule_text
from components.results.ranking.computed import load_ranking
from components.results.view.paper_table import PaperTable
from components.share import paper_text
from components.share.citations import bibtex
from components.share.drawer_html import methods_html
from metrics.catalogue.records import estimate_position_measures, records_listed_by
from studies.domain import JudgeSpec
from studies.frames.frame import NO_PICK
from studies.spec.study import Study
from studies.store.store import Store
from tests.metrics.frames import build, pair, rotated
from tests.page_words import says
from tests.studies.small_items import ask, item
from tests.studies.small_items import judged as judgement


def scene(store: Store, **chosen: object) -> FilteredStudy:
    return FilteredStudy(store, "two judges", Filter(**chosen))  # type: ignore[arg-type]


def test_a_table_has_the_numbers_of_the_metrics(judged: Store) -> None:
    table = paper_text.paper_tables(scene(judged))["Position bias"]
    found = estimate_position_measures(judged.frame("two judges"), ["judge", "prompt"])
    by_judge = {row[0]: row for row in table.rows}
    assert set(by_judge) == {"always first", "fair"}
    first = found["always first", "brief-letters"]
    assert by_judge["always first"][1] == f"{100 * first['consistency'].value:.1f}" == "0.0"
    assert by_judge["always first"][3] == "100.0"
    assert by_judge["fair"][1] == "100.0"
    assert by_judge["fair"][-1] == str(found["fair", "brief-letters"]["consistency"].n) == "40"


def test_a_caption_defines_only_the_columns_of_its_table(judged: Store) -> None:
    """Without repeats, the table has no noise floor: its empty column is left out."""
    heads: list[tuple[str, ...]] = []
    single = [judgement(ask("a"), 0), judgement(ask("a", shown="yx"), 1)]
    judged.save_study(Study("once"), [item("q1", "xy")], (), recorded=single, only_recorded=True)
    for filtered in (scene(judged), FilteredStudy(judged, "once")):
        table = paper_text.paper_tables(filtered)["Position bias"]
        for one in records_listed_by("paper"):
            defined = f"{one.column_head}: {one.description}" in table.caption
            assert defined is (one.column_head in table.head), one.key
        heads.append(table.head)
    assert "Noise" in heads[0] and "Noise" not in heads[1]


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
    table = paper_text.paper_tables(seen)["Ranking"]
    at = table.head.index("Win rate")
    rows = {row[1]: row[at] for row in table.rows}
    assert rows == {"x": "100.0", "y": "0.0"}
    assert load_ranking(seen).win_rates["x"].value == 1


def test_a_caption_says_what_the_filters_left(judged: Store) -> None:
    filtered = paper_text.paper_tables(scene(judged, judge="fair", category="maths"))[
        "Position bias"
    ]
    assert says(filtered.caption, "5", "fair, maths only")


def test_the_methods_paragraph_names_the_filters_and_the_study_of_several_files(
    judged: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_text, "source_name", lambda source: "3-files")
    some = scene(judged, category="maths", contestants=("precise",))
    text = paper_text.methods_paragraph(some)
    assert says(text, "two judges", "maths, precise only")
    assert "3-files" not in text
    assert says(methods_html(some), "whole study", "not apply")
    assert not says(methods_html(scene(judged)), "whole study")


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
    again = frame["noise"].sum()  # the calls that were really repeated, not the share planned
    assert again > 0 and says(text, "same order", f"{again:,}", "calls")
    assert says(text, "simulated", "known parameters")


def test_the_methods_name_the_analysis_of_the_kind_of_comparison() -> None:
    pairs, options = build(pair("q", 0, 1)), build(rotated("q", [0, 1, 2]))
    scored = pairs.assign(pick=pairs["pick"].dtype.type(NO_PICK))
    of_pairs = ("Bradley–Terry", "position term")
    of_options = ("jackknife", "conditional logit", "permutation test")
    for frame, said, unsaid in (
        (pairs, of_pairs, of_options),
        (options, of_options, of_pairs),
        (pd.concat([pairs, options]), (*of_pairs, *of_options), ()),
        (scored, ("Wilson",), (*of_pairs, *of_options)),
    ):
        text = paper_text._intervals_text(frame)
        assert all(one in text for one in said) and not any(one in text for one in unsaid)
    assert "position term" not in paper_text._intervals_text(pairs, "")
    assert "ratings" not in counting_rule_text("pooled", "exclude")


def test_the_rule_in_force_is_in_the_words(judged: Store, store: Store) -> None:
    """What becomes of replies without a verdict is said only where there are some."""
    rule = "win only if both orders agree; unusable reply = tie"
    strict = paper_text.methods_paragraph(scene(judged, rule=rule))
    assert says(strict, "wins", "both orders", "tie")
    rows = [judgement(ask("a"), 0), judgement(ask("b", shown="yx"), None)]
    store.save_study(Study("lost"), [item("q1", "xy")], (), recorded=rows, only_recorded=True)
    lost = paper_text.methods_paragraph(FilteredStudy(store, "lost", Filter(rule=rule)))
    assert "counted as ties" in lost and "counted as ties" not in strict
    omitted = paper_text.methods_paragraph(FilteredStudy(store, "lost"))
    assert says(omitted, "1 had", "left out")


def test_the_command_can_be_pasted(judged: Store) -> None:
    assert paper_text.metrics_command(scene(judged)) == (
        f"python -m metrics '{judged.path.name}' --study 'two judges' --json"
    )


def test_nothing_judged_gives_no_table(store: Store) -> None:
    store.save_study(Study("none"), [], (), ())
    assert paper_text.paper_tables(FilteredStudy(store, "none")) == {}


def test_whom_to_cite_follows_the_preset() -> None:
    both = bibtex("visit-bench", pairs=True)
    assert both.count("@") == 2
    assert "VisIT-Bench" in both
    assert bibtex("", pairs=False) == ""


# ---- pieces of the methods paragraph -------------------------------------------------------------


def planned(
    options: int = 2, statuses: tuple[str, ...] = ("ok",), again: int = 0, **study: Any
) -> Any:
    """A filtered study of which only the plan and the replies are known; the first `again` replies
    are to calls that were repeated."""
    rows = pd.DataFrame({"options": [options] * len(statuses), "status": list(statuses)})
    rows["noise"] = [place < again for place in range(len(rows))]
    fields = {"count": None, "per": None, "take": "random"}
    data = SimpleNamespace(seed=7, **{key: study.pop(key, value) for key, value in fields.items()})
    plan = {
        "repeats": 1, "pair_orders": "both", "labels": "fixed",
        "option_orders": "rotations", "data": data,
    }  # fmt: skip
    rule = study.pop("rule", "pooled")
    return SimpleNamespace(
        study=SimpleNamespace(**plan | study), measured_judge_rows=rows, rule=(rule, "omit")
    )


@pytest.mark.parametrize(
    ("study", "has", "lacks"),
    [
        ({}, ["both orders"], ["times", "epeated", "labels"]),
        ({"statuses": ()}, ["both orders"], []),
        ({"pair_orders": "one"}, ["one seeded order"], ["both"]),
        ({"labels": "crossed"}, ["both orders.", "random half", "reverse order"], []),
        ({"repeats": 2}, ["made 2 times"], ["epeated"]),
        ({"statuses": ("ok",) * 4, "again": 1}, ["Repeated", "1 call."], ["times"]),
        ({"repeats": 3, "statuses": ("ok",) * 9, "again": 2}, ["made 3 times", "2 calls"], []),
        ({"options": 3}, ["all rotations"], ["pair", "labels"]),
        ({"options": 3, "labels": "crossed"}, ["all rotations", "random half"], []),
        ({"options": 3, "option_orders": "all", "repeats": 2}, ["permutations", "2 times"], []),
        ({"options": 4, "option_orders": "williams"}, ["Williams"], []),
        ({"options": 3, "option_orders": "one"}, ["one seeded order"], []),
    ],
)
def test_the_orders_of_the_plan_are_in_the_words(
    study: dict[str, Any], has: list[str], lacks: list[str]
) -> None:
    text = paper_text._orders_text(planned(**study))
    assert [word for word in has if word not in text] == []
    assert [word for word in lacks if word in text] == []


def test_replies_without_a_verdict_are_counted_by_status() -> None:
    statuses = ("ok", "unreadable", "ok", "refusal", "unreadable")
    assert (
        paper_text._unusable_counts_text(planned(statuses=statuses)) == " (2 unreadable, 1 refusal)"
    )
    assert paper_text._unusable_counts_text(planned(statuses=("ok", "extracted"))) == ""


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        ("pooled", "separately"),
        ("strict", "tie"),
        ("majority", "one order"),
        ("graded", "mean score"),
    ],
)
def test_each_rule_of_combination_has_its_sentence(rule: str, word: str) -> None:
    assert word in paper_text._order_combination_sentence(planned(rule=rule))


def test_a_sample_names_its_seed_and_all_items_are_no_sample() -> None:
    assert paper_text._data_sample_text(planned()) == ""
    for sampled in (planned(count=5), planned(per={"category": 5})):
        assert "seed 7" in paper_text._data_sample_text(sampled)
    assert paper_text._data_sample_text(planned(count=1, take="first")) == " (the first 1 item)"
    assert "seed 7" in paper_text._data_sample_text(
        planned(per={"category": 5}, take="first", count=2)
    )
    assert paper_text._data_sample_text(planned(take="first")) == ""


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], "0 judges ()"),
        (["a"], "1 judge (a)"),
        (["human:anna", "b"], "2 judges (anna, b)"),
        (list("abcdef"), "6 judges (a, b, c, d, e, f)"),
        (list("abcdefg"), "7 judges"),
    ],
)
def test_up_to_six_names_are_listed(names: list[str], text: str) -> None:
    assert paper_text._count_and_names_text(names, "judge") == text


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("hub:owner/set", "hub:owner/set"),
        ("probe", "probe"),
        ("/data/sets/items.jsonl", "items.jsonl"),
        ("C:\\data\\items.csv", "items.csv"),
        ("folder/shards/", "shards"),
    ],
)
def test_a_source_is_named_without_its_folder(source: str, name: str) -> None:
    assert paper_text.source_name(source) == name


def test_a_column_is_numeric_if_all_its_cells_are_numbers() -> None:
    rows = (("a", "1.0", "[0.1, 0.2]", "1–2", "\u22123", ""), ("1", "x", "–", "12", "4", ""))
    table = paper_text.PaperTable("t", "c", ("n",) * 6, rows)
    assert paper_text._numeric_columns(table) == [False, False, True, True, True, True]
    assert paper_text.markdown_table(table).splitlines()[1] == "|---|---|---:|---:|---:|---:|"
    assert paper_text.markdown_table(table).splitlines()[-2:] == ["", "c"]


def test_tables_that_are_offered_have_rows_and_their_own_names(judged: Store) -> None:
    found = paper_text.paper_tables(scene(judged))
    assert set(found) <= set(paper_text.TABLE_NAMES)
    assert {"Position bias", "Ranking"} <= found.keys() and "Scores" not in found
    assert all(table.rows and table.name == name for name, table in found.items())
    assert all(len(row) == len(table.head) for table in found.values() for row in table.rows)


def test_a_quote_in_a_name_stays_in_the_command() -> None:
    assert paper_text._shell_quote("it's") == "'it'\\''s'"
    assert paper_text._shell_quote("a b") == "'a b'"


def test_one_simulated_judge_is_in_the_singular(judged: Store, store: Store) -> None:
    assert says(paper_text.methods_paragraph(scene(judged)), "2 judges (always", "are simulated")
    store.save_study(Study("bare"), [item("q1")], (), recorded=[judgement(ask("a"), 0)])
    text = paper_text.methods_paragraph(FilteredStudy(store, "bare"))
    assert "simulated" not in text and says(text, "1 judge (j)", "1 prompt (p)", "1 item")
    assert says(text, "1 reply", "1 had") and "left out" not in text


def test_greek_letters_are_written_as_latex_knows_them() -> None:
    rows = (("\u03b1 \u2264 1", "0.5"),)
    table = paper_text.PaperTable("t", "Kendall's \u03c4-b", ("Judge", "\u03ba"), rows)
    made = paper_text.latex_table(table)
    assert r"Judge & $\kappa$ \\" in made and r"$\alpha$ $\le$ 1 & 0.5 \\" in made
    assert r"\caption{Kendall's $\tau$-b}" in made and made.isascii()


def test_a_cell_that_starts_a_row_is_no_option_of_the_line_break_before_it() -> None:
    table = PaperTable("t", "c", ("Model", "n"), (("[a]", "1"), ("*b", "2"), ("c", "[3]")))
    lines = paper_text.latex_table(table).splitlines()
    assert lines[6:9] == [r"{}[a] & 1 \\", r"{}*b & 2 \\", r"c & [3] \\"]


def test_only_the_judges_of_the_text_are_called_simulated() -> None:
    study = Study("s", judges=tuple(JudgeSpec(name, "simulated") for name in ("ada", "bob")))
    assert says(paper_text._simulated_judges_text(study, ["ada", "bob"]), "2 judges", "ada, bob")
    assert says(paper_text._simulated_judges_text(study, ["bob"]), "1 judge", "bob", "simulated")
    assert paper_text._simulated_judges_text(study, ["cyd"]) == ""


def test_a_table_leaves_out_columns_without_any_value():
    rows = (("ant", "1.0", "[0, 2]", "–", ""), ("bee", "–", "", "–", ""))
    head = ("Judge", "Consistency", "95 % CI", "Noise", "95 % CI")
    kept = paper_text._without_empty_columns(PaperTable("t", "c", head, rows))
    assert kept.head == ("Judge", "Consistency", "95 % CI")
    assert kept.rows == (("ant", "1.0", "[0, 2]"), ("bee", "–", ""))
