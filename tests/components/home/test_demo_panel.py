"""The recorded demo on Home, before and after people vote on it."""

from __future__ import annotations

from components.home.demo_panel import demo_parts
from components.home.paper_claims import paper_claims
from components.study.plan import demo_studies
from components.vote.ballot_actions import handle_action
from studies.store.store import Store
from tests.components.vote.test_vote_actions import state_of

VOTES = 4


def cast_votes(store: Store, study: str) -> None:
    html = handle_action(store, study, {"act": "show", "voter": "ann"})
    for _ in range(VOTES):
        asked = {"act": "vote", "pick": 1, "margin": 1, "voter": "ann", "ballot": state_of(html)}
        html = handle_action(store, study, asked)


def test_votes_by_people_leave_the_demo_on_home_as_it_was(store: Store) -> None:
    demo_studies.open_demo(store)
    demo, claims = demo_parts(store), paper_claims(store)
    for study in (demo_studies.PAIRS_STUDY, demo_studies.LARGER_STUDY):
        cast_votes(store, study)
        assert len(store.frame(study).query("judge == 'human:ann'")) == VOTES
    assert demo_parts(store) == demo
    assert paper_claims(store) == claims
