"""The demo on Home: recorded, before and after people vote on it, and live."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import gradio as gr

from components.home.demo_panel import live_demo_html, recorded_demo_html
from components.home.paper_claims import paper_claims
from components.page.page_tab import create_page
from components.study.plan import demo_studies
from components.vote.ballot_actions import handle_ballot_action
from judges.engine.engine import Engine
from judges.planning.plan import asks_of, make_plan, save_plan
from studies.domain import Judgement, Verdict
from studies.spec.study import parse_study
from studies.store.store import Store
from tests.components.vote.test_vote_actions import state_of
from tests.components.written_replies import put
from tests.page_words import says

VOTES = 4


def cast_votes(store: Store, study: str) -> None:
    html = handle_ballot_action(store, study, {"act": "show", "voter": "ann"})
    for _ in range(VOTES):
        asked = {"act": "vote", "pick": 1, "margin": 1, "voter": "ann", "ballot": state_of(html)}
        html = handle_ballot_action(store, study, asked)


def test_votes_by_people_leave_the_demo_on_home_as_it_was(demo_store: Store) -> None:
    store = demo_store
    demo, claims = recorded_demo_html(store), paper_claims(store)
    for study in (demo_studies.PAIRS_STUDY, demo_studies.LARGER_STUDY):
        cast_votes(store, study)
        assert len(store.frame(study).query("judge == 'human:ann'")) == VOTES
    assert recorded_demo_html(store) == demo
    assert paper_claims(store) == claims


SIMULATED = "name: x\ndata: {source: probe}\njudges: [{name: sim, model: simulated}]\n"
"""A judge that needs no weights, in place of the embedded one."""
JUDGES = parse_study(SIMULATED).judges


def squares(html: str) -> list[list[str]]:
    """CSS class of each square, by row."""
    return [re.findall(r'<i class="(\w+)">', row) for row in html.split('class="r"')[1:3]]


def test_the_live_demo_fills_its_squares_as_replies_arrive(demo_store: Store) -> None:
    store, engine = demo_store, Engine()
    plan = make_plan(replace(demo_studies.live_demo_study(store), judges=JUDGES))
    save_plan(plan, store)
    title, html = live_demo_html(store, engine)
    assert says(title, "0 of 40") and says(html, "0 of 0 pairs")
    assert squares(html.split("</div></div>")[0]) == [["waiting"] * 20] * 2
    # The third item: second position in one order, first in the other; the fourth item: one order.
    # The fifth item: a tie in both orders, which is the same position in neither.
    third, fourth, fifth = (plan.items[place].id for place in (2, 3, 4))
    for planned in asks_of(plan):
        ask, is_first = planned.ask, planned.ask.shown[0] == "precise"
        if ask.item == fifth:
            put(store, [Judgement(ask, "ok", Verdict("tie"))])
        if ask.item == third or (ask.item == fourth and not is_first):
            put(store, [Judgement(ask, "ok", Verdict(1 if is_first else 0))])
    title, html = live_demo_html(store, engine)
    rows = squares(html.split("</div></div>")[0])
    assert rows[0][:5] == ["waiting", "waiting", "second", "waiting", "tie"]
    assert rows[1][:5] == ["waiting", "waiting", "first", "first", "tie"]
    assert says(html, "in 0 of 2 pairs") and 'data-demo="ended"' in html
    assert engine.start(plan, store).wait(60)
    title, html = live_demo_html(store, engine)
    engine.close()
    assert says(title, "of 20 pairs") and "waiting" not in html and 'data-tab="results"' in html


def test_home_asks_for_the_squares_only_while_the_demo_runs(demo_store: Store) -> None:
    engine: Any = Engine()
    plan = make_plan(replace(demo_studies.live_demo_study(demo_store), judges=JUDGES))
    save_plan(plan, demo_store)
    page = create_page(demo_store, engine)
    events = {getattr(one.fn, "__name__", ""): one for one in page.fns.values()}
    draw, show = events["show_running_demo"], events["show_home_or_running_demo"]
    for study, pill in ((plan.study.name, ""), ("", gr.skip())):
        timer, title, squares, last = draw.fn(study)
        assert timer.active is False and says(title, "0 of 40") and last == pill
    timer, *shown = show.fn()
    assert timer == gr.skip() and len(shown) + 1 == len(show.outputs)
    assert not says(shown[0], "0 of 40")
    engine.active_run = lambda name: name if name == plan.study.name else None
    assert draw.fn("")[0] == gr.skip()
    timer, title, squares, *others = show.fn()
    assert timer.active is True and says(title, "0 of 40") and 'data-demo="running"' in squares
    assert others == shown[2:]
    engine.close()
