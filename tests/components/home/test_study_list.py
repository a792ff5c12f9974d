"""The list of studies on Home: states, rename, delete."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from html import unescape

import pytest

from components.home.study_list import (
    EXAMPLES,
    MAX_ROWS,
    day_text,
    delete_study,
    examples_html,
    rename_study,
    running_study_names,
    studies_html,
    study_state,
)
from components.html.format import MIN_COLOURED_ITEMS
from components.html.markup import escape
from components.study.file.yaml_edit import parse_yaml
from components.study.plan import demo_studies
from components.study.plan.example_files import example_names, example_text, example_title
from judges.engine.engine import Engine
from judges.planning.plan import load_stored_plan, make_plan, save_plan
from studies.domain import Verdict
from studies.errors import StudyError
from studies.people.vote_session import open_vote_session
from studies.spec.study import parse_study
from studies.store.ballot_queries import voter_id
from studies.store.queries.run_queries import StoredRun, put_run
from tests.page_words import says
from tests.voted_studies import six_items

TEXT = """
name: {name}
data: {{source: probe, count: 3}}
contestants: [precise, flawed]
judges: [{{name: fair, model: simulated, accuracy: 1}}]
prompts: [brief-letters]
"""


def plan_study(store, name: str) -> None:
    save_plan(make_plan(parse_study(TEXT.format(name=name))), store)


def run_study(store, engine: Engine, name: str) -> None:
    engine.start(load_stored_plan(store, name), store).finished.wait(60)


def state_of(store, name: str):
    return study_state(next(line for line in store.studies() if line.name == name), [])


def test_a_study_opens_where_it_stands(store):
    plan_study(store, "Mine")
    assert state_of(store, "Mine").tab == "study"
    run_study(store, Engine(), "Mine")
    assert (state_of(store, "Mine").text, state_of(store, "Mine").tab) == ("Done", "results")


def test_a_dot_and_a_text_tell_the_state(store):
    plan_study(store, "Mine")
    (line,) = store.studies()
    ready = study_state(line, [])
    running = study_state(line, ["Mine"])
    left = line.planned - 2
    some = study_state(replace(line, _count=lambda: Counter(ok=2, pending=left)), [])
    mostly = Counter(ok=line.planned - 3, unreadable=3)
    done = study_state(replace(line, _count=lambda: mostly), [])
    states = [(one.dot, one.text) for one in (ready, running, some, done)]
    assert [dot for dot, _ in states] == ["ready", "running", "unfinished", "done"]
    assert done.text == "Done, 3 unusable" and some.text == f"{line.planned - 2} calls left"
    assert '<i class="eh-state ready"></i>' in studies_html(store, [])


def test_a_study_whose_run_failed_without_a_reply_is_not_called_ready(store):
    """Only the last run counts: a failed one before it does not."""
    plan_study(store, "Mine")
    plan_study(store, "Other")
    (line,) = [one for one in store.studies() if one.name == "Mine"]
    failed = study_state(line, [], run_failed=True)
    assert says(failed.text, "Failed", f"{line.planned} calls") and failed.tab == "run"
    assert study_state(line, ["Mine"], run_failed=True).dot == "running"
    for started, state, failures in ((1.0, "failed", 1), (2.0, "stopped", 0), (3.0, "failed", 1)):
        run = StoredRun(f"run {started}", "Mine", state, "", started, started + 0.5)
        store.writer.run(partial(put_run, run=run))
        html = studies_html(store, [])
        assert ("Failed: " in html) is bool(failures) and "Ready: " in html


def test_unusable_replies_stand_beside_done(store):
    plan = make_plan(parse_study(TEXT.format(name="Mumbling").replace(
        "accuracy: 1", "unreadable_rate: 1")))  # fmt: skip
    save_plan(plan, store)
    run_study(store, Engine(), "Mumbling")
    calls = store.status_counts("Mumbling")["unreadable"]
    assert f"Done, {calls} unusable" in studies_html(store, [])


def test_a_long_list_shows_its_first_rows_and_a_button_for_all(store):
    for place in range(MAX_ROWS):
        plan_study(store, f"Study {place}")
    assert "data-more" not in studies_html(store, [])
    plan_study(store, "One more")
    html = studies_html(store, [])
    assert html.count("data-more") == 1 and f"All {MAX_ROWS + 1} studies" in html
    last = store.studies()[-1].name
    asked = studies_html(store, [], question="rename", asked=last)
    assert "data-more" not in asked  # the row that asks something is never hidden


def test_all_examples_are_listed_by_the_name_of_their_study(store):
    html = examples_html(store)
    names = example_names()
    assert f">All {len(names)}</button>" in html
    listed = html[html.index('id="eh-all-examples"') :]
    for name in names:
        assert str(parse_yaml(example_text(name))["name"]) == example_title(name)
        assert str(escape(example_title(name))) in listed


def test_a_line_names_the_judge_or_counts_the_judges(store):
    plan_study(store, "Mine")
    assert "<td>fair</td>" in studies_html(store, [])
    six_items("Voted").save(store)
    judges = {
        one
        for one, *_ in store.ask_counts_by_rater_and_status("Voted")
        if not one.startswith("human:")
    }
    assert f"<td>{len(judges)} judges</td>" in studies_html(store, [])  # people are none


def test_every_example_is_a_recorded_study_with_a_drawing_and_needs_no_call(recorded_demos):
    store = recorded_demos
    html = examples_html(store)
    assert html.count('<svg class="eh-thumb"') == html.count("eh-lead") == len(EXAMPLES) == 5
    assert {name for name, *_ in EXAMPLES} == demo_studies.DEMO_STUDIES
    for name, _, text, _ in EXAMPLES:
        assert not store.status_counts(name).get("pending")
        assert text.startswith(f"{len(store.frame(name, 'with')):,} real calls")


def test_no_example_opens_with_a_mostly_hatched_matrix(recorded_demos):
    """A cell is coloured from MIN_COLOURED_ITEMS items on; a matrix has a row for each prompt and a
    column for each category."""
    for name in demo_studies.DEMO_STUDIES:
        frame = recorded_demos.frame(name)
        read = frame[frame["status"] == "ok"]
        items = read.groupby(["prompt", "category"], observed=True)["item"].nunique()
        assert (items >= MIN_COLOURED_ITEMS).mean() > 0.9, name


def test_a_renamed_study_keeps_replies_runs_and_makes_no_call_again(store):
    engine = Engine()
    plan_study(store, "Old")
    run_study(store, engine, "Old")
    counts = store.status_counts("Old")
    assert rename_study(store, engine, "Old", "  New   name ") == "New name"
    assert store.status_counts("New name") == counts and not counts.get("pending")
    assert store.study("New name").name == "New name"
    assert [run.study for run in store.runs("New name")] == ["New name"]
    plan_study(store, "New name")
    assert not store.status_counts("New name").get("pending")
    assert len(store.frame("New name")) == counts["planned"]


def test_a_taken_or_empty_name_is_refused(store):
    plan_study(store, "One")
    plan_study(store, "Two")
    for wanted, told in (("Two", "exists"), (" ", "1 to 120"), ("x" * 121, "1 to 120")):
        with pytest.raises(StudyError, match=told):
            rename_study(store, Engine(), "One", wanted)
    assert {line.name for line in store.studies()} == {"One", "Two"}


def test_deleting_says_how_many_replies_go_and_demos_stay(demo_store):
    store, engine = demo_store, Engine()
    plan_study(store, "Mine")
    run_study(store, engine, "Mine")
    assert delete_study(store, engine, "Mine") == 6
    assert not running_study_names(store, engine)
    with pytest.raises(StudyError, match="demo"):
        delete_study(store, engine, demo_studies.PAIRS_STUDY)
    assert set(actions(studies_html(store, []))) == {"open", "duplicate"}


def actions(html: str) -> list[str]:
    """The actions of all buttons in the list, without those of the names."""
    sent = [json.loads(unescape(text)) for text in re.findall(r'data-select="([^"]+)"', html)]
    return [one["do"] for one in sent]


def test_a_row_has_one_menu_with_its_actions(store):
    plan_study(store, "Mine")
    html = studies_html(store, [])
    menu = html.split('aria-label="Actions for Mine"')[1]
    assert actions(menu) == ["open", "rename", "duplicate", "delete"]
    assert html.count("<details") == 1


def test_a_row_is_found_by_its_name_its_judge_and_its_state(store):
    plan_study(store, "Mine & yours")
    found = re.findall(r'data-find="([^"]+)"', studies_html(store, []))
    assert [unescape(one) for one in found] == [
        f"Mine & yours fair {state_of(store, 'Mine & yours').text}"
    ]


def test_a_question_can_be_cancelled_and_names_what_is_lost(store):
    plan_study(store, "Mine")
    run_study(store, Engine(), "Mine")
    delete = studies_html(store, [], "delete", "Mine")
    assert "up to 6 replies" in delete and actions(delete) == ["open", "delete now", "show"]
    rename = studies_html(store, [], "rename", "Mine")
    assert actions(rename) == ["show"] and 'data-field="Mine"' in rename


def test_names_from_data_are_escaped(store):
    plan_study(store, '"<img src=x onerror=alert(1)>"')
    html = studies_html(store, [], "rename", "<img src=x onerror=alert(1)>")
    assert "<img" not in html


def test_days_are_relative():
    now = time.mktime((2026, 11, 16, 12, 0, 0, 0, 0, -1))
    assert day_text(now - 3_600, now) == "today, 11:00"
    assert day_text(now - 86_400, now) == "yesterday"
    assert day_text(now - 7 * 86_400, now) == "9 Nov"
    assert day_text(now - 400 * 86_400, now).endswith("2025")


def test_votes_of_people_are_counted_apart_from_the_calls(store):
    six_items().save(store)
    frame = store.frame("voted", "with")
    votes = int(frame["judge"].str.startswith("human:").sum())
    assert votes and says(studies_html(store, []), f"{len(frame) - votes} + {votes} votes")


def test_votes_on_a_study_that_makes_calls_are_none_of_its_calls(store):
    """A person votes on three ballots of a study whose calls are all done."""
    plan_study(store, "Mine")
    run_study(store, Engine(), "Mine")
    (line,) = store.studies()
    ann = open_vote_session(store, "Mine", voter_id("ann"), "pair")
    for _ in range(3):
        ballot = ann.next_ballot()
        assert ballot is not None
        ann.vote(ballot.position, ballot.done, Verdict(0))
    assert says(studies_html(store, []), f"{line.planned} + 3 votes")
