"""The contents of uploaded files, as Home states them before anything is saved."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from components.home import uploaded_data
from components.home.uploaded_data import (
    ANSWERS,
    KINDS,
    PASS_FAIL,
    SCORES,
    UNKNOWN,
    VERDICTS,
    store_and_read_uploads,
    uploads_html,
)
from components.study import jobs
from metrics.summary.measured_study import read_stored_study
from studies.domain import Ask, Item, Judgement, Verdict
from studies.errors import EvenhandError
from studies.frames.point_columns import GOLD_COLUMN
from studies.sources.load import LoadedSource
from studies.store.store import Store
from tests.page_words import says

PAIRS = """question,model_a,model_b,winner,judge
Q1,x,y,model_a,gpt
Q1,y,x,model_a,gpt
Q2,x,y,tie,gpt
"""
ANSWER_TABLE = "question,gpt_response,llama_response\nWhat is up?,The sky,The floor\nWho?,Me,You\n"
PASSES = "verdict,label\npass,pass\nfail,pass\npass,\n"
RATED = """question,answer,model,judge,score,human_score
Why?,Because.,a,gpt,4,5
Why?,No idea.,b,gpt,2,1
How?,Slowly.,a,gpt,3,
"""


def see(folder: Path, text: str, name: str = "table.csv"):
    path = folder / name
    path.write_text(text)
    return store_and_read_uploads([path], folder)


@pytest.mark.parametrize(
    ("text", "kind", "fact", "opens"),
    [
        (PAIRS, VERDICTS, "2 comparisons, 1 in both orders, 1 judge", "Show results"),
        (ANSWER_TABLE, ANSWERS, "2 questions, 2 models", "Choose a judge"),
        (PASSES, PASS_FAIL, "3 verdicts, 1 judge, 2 labels", "Show results"),
        (RATED, SCORES, "3 scores, 1 judge, 2 labels", "Show results"),
    ],
)
def test_each_kind_is_recognised_with_its_size_and_its_next_step(tmp_path, text, kind, fact, opens):
    start = time.monotonic()
    seen = see(tmp_path, text)
    assert 0 < seen.seconds <= time.monotonic() - start
    assert (seen.kind, seen.facts[kind]) == (kind, fact)
    verdicts = "0 recorded verdicts" if kind == ANSWERS else "3 recorded verdicts"
    assert says(uploads_html(seen), verdicts) and not says(uploads_html(seen), "rows")
    html = uploads_html(seen)
    assert opens in html and html.count('aria-pressed="true"') == 1
    assert says(html, "No call") == (kind != ANSWERS)


def test_comparisons_in_both_orders_are_counted_by_judge(tmp_path):
    """Two judges that saw one order each have not judged both."""
    apart = PAIRS.replace("Q1,y,x,model_a,gpt", "Q1,y,x,model_a,other")
    assert says(see(tmp_path, apart).facts[VERDICTS], "2 comparisons", "one order", "2 judges")
    both = see(tmp_path, PAIRS + "Q2,y,x,tie,gpt\n").facts[VERDICTS]
    assert says(both, "2 comparisons", "both orders") and "in both" not in both


def test_answers_name_the_number_of_calls(tmp_path):
    seen = see(tmp_path, ANSWER_TABLE)
    assert seen.calls and says(uploads_html(seen), f"{seen.calls} calls")


def test_a_judge_can_be_chosen_only_for_answers_whose_calls_can_be_counted(tmp_path):
    """Answers of two models with verdicts on some: both kinds, and calls for the answers."""
    seen = replace(see(tmp_path, ANSWER_TABLE), facts={VERDICTS: "2", ANSWERS: "2"}, calls=8)
    for kind, button in ((VERDICTS, "Show results"), (ANSWERS, "Choose a judge"),
                         (SCORES, "Name the columns")):  # fmt: skip
        assert button in uploads_html(replace(seen, chosen=kind))
    for calls in (0, None):
        assert "Name the columns" in uploads_html(replace(seen, chosen=ANSWERS, calls=calls))


def test_an_unnamed_judge_is_asked_for_and_a_named_one_is_not(tmp_path):
    assert see(tmp_path, PASSES).judge_unnamed
    assert not see(tmp_path, RATED).judge_unnamed


def test_another_kind_can_be_chosen_and_taken_back(tmp_path):
    seen = see(tmp_path, PAIRS)
    other = replace(seen, chosen=SCORES)
    assert "Name the columns" in uploads_html(other) and not other.opens_results
    assert uploads_html(replace(other, chosen=VERDICTS)) == uploads_html(seen)


def test_a_table_of_unknown_columns_offers_to_name_them(tmp_path):
    seen = see(tmp_path, "x,y\n1,2\n3,4\n")
    html = uploads_html(seen)
    assert says(html, "2 rows")
    assert not seen.facts and html.count(UNKNOWN) == len(KINDS) and "Name the columns" in html


@pytest.mark.parametrize(
    "text", ["", "question,answer,winner\n", "\x00\x01garbage without columns\n", "one\ntwo\n"]
)
def test_a_file_without_rows_or_columns_is_refused_and_leaves_no_study(tmp_path, text):
    store = Store(tmp_path / "s.db")
    with pytest.raises(EvenhandError, match=r"table\.csv"):
        see(store.folder, text)
    assert not store.studies()
    store.close()


def test_recorded_scores_and_human_scores_are_kept(tmp_path):
    """A table of question, answer, model, judge, score and human score: one item for each question,
    scores as given, human scores as labels."""
    store = Store(tmp_path / "s.db")
    name = jobs.import_recorded_verdicts(see(store.folder, RATED).text, store)
    frame = store.frame(name)
    assert frame["item"].nunique() == 2 and set(frame["judge"]) == {"gpt"}
    assert sorted(frame["score_0"]) == [2, 3, 4]
    assert sorted(frame[GOLD_COLUMN].dropna()) == [1, 5]
    store.close()


@pytest.mark.parametrize(
    ("answers", "judged", "listed"),
    [({}, False, False), ({"x": "a"}, False, True), ({"x": "a"}, True, True),
     ({"x": "a", "y": "b"}, True, True), ({"x": "", "y": ""}, False, False)],
)  # fmt: skip
def test_answers_are_listed_if_there_are_any(answers, judged, listed):
    ask = Ask("", "q", "j", "p", ("x", "y"), ("A", "B"))
    made = [Judgement(ask, "ok", Verdict(0))] if judged else []
    found = LoadedSource([Item("q", "?", answers)], made, "table", "")
    assert (ANSWERS in uploaded_data._describe_contents_by_kind(found)) == listed


def test_no_kind_is_called_absent_before_the_columns_are_named(tmp_path):
    """A table of answers whose winners have no meaning yet, and one without winners."""
    winners = "question,answer_a,answer_b,winner\nQ1,x,y,a\nQ2,x,y,b\n"
    seen = see(tmp_path, winners)
    assert (seen.kind, seen.unread_column) == (ANSWERS, "winner")
    assert uploads_html(seen).count("not seen") == 2, "pass or fail, and scores"
    assert uploads_html(see(tmp_path, ANSWER_TABLE)).count("not seen") == 3


def test_votes_and_unused_columns_are_said_before_anything_is_saved(tmp_path):
    voted = PAIRS.replace("judge\n", "judge,human,seed\n").replace(",gpt\n", ",gpt,model_a,7\n")
    seen = see(tmp_path, voted)
    assert says(seen.facts[VERDICTS], "2 votes by people")
    html = uploads_html(seen)
    assert says(html, "not used: seed;") and not says(html, "not used: human")
    assert not says(uploads_html(see(tmp_path, PAIRS)), "not used")


def test_a_row_that_was_left_out_is_said_before_anything_is_saved(tmp_path):
    """Four rows, one of them a model against itself: three verdicts, and the row by its line."""
    html = uploads_html(see(tmp_path, PAIRS + "Q3,z,z,tie,gpt\n"))
    assert says(html, "3 recorded verdicts") and says(html, "1 row left", "itself", "line 5")
    assert not re.search("[0-9a-f]{8}-", html), "the file has its own name, not that of its copy"


def test_the_answers_of_one_model_beside_its_scores_are_seen_and_intervals_stay_on_the_scale(store):
    """Inspect shows these answers. Labels from 1 to 5, most of them 5."""
    rows = "".join(f"Q{k},Answer {k},a,{4 + k % 2},{5 - (k % 7 == 3)}\n" for k in range(9))
    seen = see(store.folder, "question,answer,model,score,human_score\n" + rows + "Q,A,a,1,1\n")
    assert (seen.kind, seen.facts[ANSWERS]) == (SCORES, "10 questions, 1 model, 10 labels")
    name = jobs.import_recorded_verdicts(seen.text, store)
    found = read_stored_study(store.path, name).summarise(quick=True)
    (curves,) = (by for prompts in found["reliability"].values() for by in prompts.values())
    bounded = [one for one in curves.values() if one["high"] is not None]
    assert bounded and all(1 <= one["low"] <= one["high"] <= 5 for one in bounded)
