"""The card "Improve the prompt": from the split to an adopted version, without the page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.html.templates import macros
from components.results.bias.computed import load_bias
from components.results.overview.run_outcome import next_steps
from components.results.remedies import improve_actions
from components.results.remedies.improve_actions import perform_improve_action
from components.results.remedies.improve_panel import (
    TEMPLATE,
    build_improve_card_and_table,
    render_improve_prompt_card,
)
from components.results.remedies.tab import IMPROVED, NAME, VIEW
from components.results.view.next_step_rows import NextStep
from components.results.view_drawing import render_view
from judges.judge_errors import PlanError
from judges.planning.plan import load_stored_plan
from judges.rendering.prompt import load_prompt
from metrics.estimation.intervals import proportion
from metrics.summary.alignment.alignment_section import read_alignment_inputs
from metrics.summary.alignment.prompt_advice import advice_for_few_labels
from studies.errors import StudyError
from studies.people.label_split import stored_split
from studies.store.store import Store
from tests.judge_server import JudgeServer
from tests.judges.operations.test_align import WeakJudge, run_first, write_study
from tests.judges.operations.test_align_answers import LenientJudge, passes
from tests.judges.operations.test_align_answers import write_study as write_answers
from tests.judges.small_studies import run_through
from tests.page_words import says, text_of
from tests.voted_studies import Sheet


@pytest.fixture
def weak_store(tmp_path: Path) -> Iterator[Store]:
    """A run study of 60 labelled items whose judge chooses the first answer unless it has rules."""
    with JudgeServer(behaviour=WeakJudge()) as server:
        run_first(write_study(tmp_path, server.base_url))
        store = Store(tmp_path / "e.db")
        yield store
        store.close()


def steps_after(store: Store, name: str) -> list[NextStep]:
    """Next steps that are offered when the run of a study has ended."""
    shown = FilteredStudy(store, name)
    return next_steps(shown, load_bias(shown))


def test_a_share_of_one_item_says_that_it_has_no_interval() -> None:
    one, four = (proportion(np.tile([1.0, 0.0], n), np.repeat(np.arange(n), 2)) for n in (1, 4))
    card = SimpleNamespace(mistakes=[("rare", one), ("usual", four)], disputed=())
    told = text_of(str(macros("results/remedies/improve.html").mistakes(card)))
    rare, usual = told.split("usual")
    assert says(rare, "no interval", "1 item", "n 2") and "no interval" not in usual
    assert f"[{100 * four.low:.1f}, {100 * four.high:.1f}], n 8" in usual


def test_from_the_card_to_an_adopted_version(weak_store: Store, tmp_path: Path) -> None:
    shown = FilteredStudy(weak_store, "small")
    card = str(render_improve_prompt_card(shown))
    assert says(card, "learn</b> 30 items", "hold-out</b> 30 items")
    assert says(card, "shown second", "100.0")  # mistakes before anything is tried
    assert stored_split(weak_store, "small") is None, "drawing stores nothing"

    writer, _ = perform_improve_action(shown, {"improve": "write"})
    run_through(load_stored_plan(weak_store, writer), weak_store)
    assert "A higher number" in str(render_improve_prompt_card(shown))
    back = {"data-go": json.dumps({"study": "small", "view": "Remedies"}), "data-to": IMPROVED}
    assert [dict(step.opens) for step in steps_after(weak_store, writer)] == [back]

    fields = {"rules": "- A higher number of q is better.", "criteria": ""}
    perform_improve_action(shown, {"improve": "try", "fields": {**fields, "criteria": "Short."}})
    name, _ = perform_improve_action(shown, {"improve": "try", "fields": fields})
    split = stored_split(weak_store, "small")
    assert split is not None and len(split.looks) == 1, "a look without replies is replaced"
    run_through(load_stored_plan(weak_store, name), weak_store)
    assert [dict(step.opens) for step in steps_after(weak_store, name)] == [back]
    assert back not in [dict(step.opens) for step in steps_after(weak_store, "small")]
    drawn = str(render_improve_prompt_card(shown))
    assert says(drawn, "Adopt brief-letters+", "+50.0 points")
    assert "Adopt as brief-letters@2" in drawn and "looked at <b>once" in drawn
    inputs = read_alignment_inputs(weak_store, "small")
    assert inputs is not None and "Twins" not in drawn
    tokens = [inputs.results[0].call_tokens(f"brief-letters{more}") for more in ("", "+both")]
    assert tokens[0] is not None and tokens[1] is not None and 0 < tokens[0] < tokens[1]
    assert f"{round(tokens[0])}</td>" in drawn and f"{round(tokens[1])}</td>" in drawn

    def view() -> str:
        return str(render_view(weak_store, "small", NAME, Filter(), VIEW.start_values)["improve"])

    assert "Adopt as brief-letters@2" in view()
    kind = "rules" if '"kind": "rules"' in drawn.replace("&#34;", '"') else "both"
    _, told = perform_improve_action(shown, {"improve": "adopt", "kind": kind})
    assert "brief-letters@2" in told
    versions = [tmp_path / "prompts" / f"brief-letters-v{n}.yaml" for n in (2, 3)]
    assert versions[0].exists()
    drawn = view()
    assert says(drawn, "Adopted as", "@2") and says(drawn, "earlier text", "brief-letters@3")
    _, told = perform_improve_action(shown, {"improve": "undo", "kind": kind})
    assert "brief-letters@3" in told
    assert load_prompt(str(versions[1])).messages == load_prompt("brief-letters").messages
    assert versions[0].exists() and "Adopt as brief-letters@4" in view()
    with pytest.raises(PlanError, match="nothing to undo"):
        perform_improve_action(shown, {"improve": "undo", "kind": kind})


def test_the_card_counts_known_answers_and_majorities_apart(weak_store: Store) -> None:
    found = build_improve_card_and_table(FilteredStudy(weak_store, "small"))
    assert found is not None
    card = found[0]
    assert "people" not in card.label_noun + card.agreement_definition
    first, *others = card.labels.cases
    for kind in ("pairs", "pass"):
        labels = replace(card.labels, cases=(replace(first, votes=5), *others), kind=kind)
        mixed = replace(card, labels=labels)
        assert says(mixed.label_noun, "(59)", "people", "(1)")
        everyone = replace(labels, cases=tuple(replace(one, votes=5) for one in labels.cases))
        voted = replace(card, labels=everyone)
        assert "people" in voted.label_noun and "known" not in voted.label_noun
    pairs = replace(mixed, labels=replace(mixed.labels, kind="pairs"))
    assert says(pairs.agreement_definition, "known", "people")


def test_the_card_says_the_sizes_of_both_parts(weak_store: Store) -> None:
    found = build_improve_card_and_table(FilteredStudy(weak_store, "small"))
    assert found is not None
    split = replace(found[0].split, learn=found[0].split.learn[:20])
    told = text_of(str(macros(TEMPLATE).improve(replace(found[0], split=split))))
    assert says(told, "20 items", "new prompts", "30 items") and "half" not in told.lower()


def test_disputed_labels_can_be_opened(weak_store: Store) -> None:
    shown = FilteredStudy(weak_store, "small")
    assert "neither part" not in str(render_improve_prompt_card(shown))
    cards = build_improve_card_and_table(shown)
    assert cards is not None
    drawn = str(macros(TEMPLATE).improve(replace(cards[0], disputed=(("i<3", "x", "y"),))))
    assert says(drawn, "1 comparison", "more than half", "votes", "neither part")
    assert "settle" not in drawn and "isputed" not in text_of(drawn)
    (link,) = re.findall(r'data-go="([^"]*)"', drawn)
    assert json.loads(unescape(link)) == {
        "tab": "inspect", "item": "i<3", "contestant": "x", "against": "y",
    }  # fmt: skip


def test_texts_of_the_form_are_escaped(weak_store: Store) -> None:
    shown = FilteredStudy(weak_store, "small")
    rules = "<script>alert(1)</script> is never better."
    perform_improve_action(shown, {"improve": "try", "fields": {"rules": rules}})
    assert "<script>" not in str(render_improve_prompt_card(shown))
    with pytest.raises(PlanError, match="not asked"):
        perform_improve_action(shown, {"improve": "adopt", "kind": "magic"})


@pytest.fixture
def lenient_store(tmp_path: Path) -> Iterator[Store]:
    """A run study of 60 labelled answers whose judge passes everything unless it has rules."""
    with JudgeServer(behaviour=LenientJudge()) as server:
        run_first(write_answers(tmp_path, server.base_url, passes))
        store = Store(tmp_path / "e.db")
        yield store
        store.close()


def test_single_answers_from_the_card_to_an_adopted_version(
    lenient_store: Store, tmp_path: Path
) -> None:
    shown = FilteredStudy(lenient_store, "small")
    card = str(render_improve_prompt_card(shown))
    assert says(card, "60 answers", "have a label")
    assert says(card, "label fail: 100.0") and "30 calls for each;" in card  # no orders
    fields = {"rules": "A number of q below five is not good enough.", "criteria": ""}
    name, _ = perform_improve_action(shown, {"improve": "try", "fields": fields})
    run_through(load_stored_plan(lenient_store, name), lenient_store)
    drawn = str(render_view(lenient_store, "small", NAME, Filter(), VIEW.start_values)["improve"])
    assert says(drawn, "Adopt pass-fail+", "points") and says(drawn, "agreement", "labels")
    assert "Length, points" in drawn and "Flips" not in drawn and "First position" not in drawn
    kind = re.findall(r"Adopt pass-fail\+(\w+)", drawn)[0]
    _, told = perform_improve_action(shown, {"improve": "adopt", "kind": kind})
    assert "pass-fail@2" in told and (tmp_path / "prompts" / "pass-fail-v2.yaml").exists()
    _, told = perform_improve_action(shown, {"improve": "undo", "kind": kind})
    assert "pass-fail@3" in told


def test_disputed_labels_of_answers_open_the_answer(lenient_store: Store) -> None:
    found = build_improve_card_and_table(FilteredStudy(lenient_store, "small"))
    assert found is not None
    drawn = str(macros(TEMPLATE).improve(replace(found[0], disputed=(("i3", "x"),))))
    (link,) = re.findall(r'data-go="([^"]*)"', drawn)
    assert json.loads(unescape(link)) == {"tab": "inspect", "item": "i3", "contestant": "x"}
    assert says(drawn, "1 answer", "half pass", "half fail")


def test_trying_candidates_is_the_main_action_until_there_is_advice(lenient_store: Store) -> None:
    found = build_improve_card_and_table(FilteredStudy(lenient_store, "small"))
    assert found is not None
    untried = replace(found[0], owned=True, blocked="", advice=None)
    tried = replace(untried, advice=advice_for_few_labels(0))
    drawn, again = (str(macros(TEMPLATE).improve(one)) for one in (untried, tried))
    assert "Try candidates" in drawn and "eh-btn primary" in drawn
    assert "Try candidates" in again and "primary" not in again


def test_rules_are_written_only_from_mistakes(store: Store) -> None:
    """40 comparisons in both orders: x is better, and the judge says so in both orders, in one
    order, in none, or has no usable reply to those that are learned from."""
    for name, said in (("right", "xx"), ("first", "xy"), ("wrong", "yy")):
        sheet = Sheet(name)
        for k in range(40):
            sheet.both(f"q{k}", "ada", said)
        sheet.save(store, design={f"q{k}": "x" for k in range(40)})
        found = build_improve_card_and_table(FilteredStudy(store, name))
        assert found is not None
        card, learned = found[0], len(found[0].labels.select_items(found[0].split.learn).cases)
        assert learned == 10  # 30 are held out
        assert card.calls == 2 * 30 and (card.rules, card.writer, card.blocked) == ("", "", "")
        assert card.mistaken == learned * said.count("y")
        assert ("Write rules from" in str(macros(TEMPLATE).improve(card))) == ("y" in said)
    filtered = FilteredStudy(store, "wrong", Filter(contestants=("x",)))
    for shown, ignored in ((filtered, True), (FilteredStudy(store, "wrong"), False)):
        assert says(str(render_improve_prompt_card(shown)), "do not apply") is ignored
    unread = Sheet("unread")
    for k in range(40):
        unread.both(f"q{k}", "ada", "??" if f"q{k}" in card.split.learn else "yy")
    unread.save(store, design={f"q{k}": "x" for k in range(40)})
    found = build_improve_card_and_table(FilteredStudy(store, "unread"))
    assert found is not None and found[0].split.learn == card.split.learn
    assert found[0].mistaken == 0 and found[0].mistakes == []


def test_only_the_owner_may_improve_and_only_with_labels(
    weak_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = FilteredStudy(weak_store, "small")
    before = set(weak_store.study_file_texts())
    assert perform_improve_action(shown, {"improve": "unknown"}) == ("", "")
    assert perform_improve_action(shown, {}) == ("", "")
    assert set(weak_store.study_file_texts()) == before
    with monkeypatch.context() as patch:
        patch.setattr(improve_actions, "judge_and_prompt_to_improve", lambda _: None)
        with pytest.raises(StudyError, match="no labels"):
            perform_improve_action(shown, {"improve": "write"})
    for name, value in (("owns", lambda *_: False), ("read_only", True)):
        with monkeypatch.context() as patch:
            patch.setattr(type(weak_store), name, value)
            with pytest.raises(StudyError, match="only the owner"):
                perform_improve_action(shown, {"improve": "write"})


def test_rules_are_those_of_the_writers_first_reply(weak_store: Store) -> None:
    shown = FilteredStudy(weak_store, "small")
    judge, prompt = improve_actions.judge_and_prompt_to_improve(shown)
    assert improve_actions.written_rules_and_problem(weak_store, "small", judge, prompt) == ((), "")
    perform_improve_action(shown, {"improve": "write"})
    assert improve_actions.written_rules_and_problem(weak_store, "small", judge, prompt) == ((), "")
    failed = SimpleNamespace(status="error", detail="timeout", reply="")
    stub = SimpleNamespace(
        study_file_texts=weak_store.study_file_texts, items=weak_store.items,
        judgements=lambda _: [failed],
    )  # fmt: skip
    rules, problem = improve_actions.written_rules_and_problem(stub, "small", judge, prompt)
    assert rules == () and says(problem, judge, "wrote no rules:", "timeout")
    failed.detail = ""
    assert improve_actions.written_rules_and_problem(stub, "small", judge, prompt)[1].endswith(
        ": error"
    )


def test_a_look_whose_study_was_removed_has_no_reply(weak_store: Store) -> None:
    shown = FilteredStudy(weak_store, "small")
    judge, prompt = improve_actions.judge_and_prompt_to_improve(shown)
    task = SimpleNamespace(judge=SimpleNamespace(name=judge), prompt=SimpleNamespace(name=prompt))
    assert not improve_actions._no_candidate_has_reply(weak_store, "small", task)
    perform_improve_action(shown, {"improve": "try", "fields": {"rules": "- Be strict."}})
    assert improve_actions._no_candidate_has_reply(weak_store, "small", task)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(weak_store), "study_file_texts", lambda _: {})
        assert improve_actions._no_candidate_has_reply(weak_store, "small", task)
