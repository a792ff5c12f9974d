"""Actions of a voter and the screens after them, as plain functions on a real store."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest

from components.layout.header import study_size_html
from components.vote import ballot_actions, organiser
from components.vote.ballot_actions import (
    handle_ballot_action,
    show_start_screen,
    stored_voter_name,
)
from components.vote.ballot_form import load_ballot_form
from components.vote.ballot_html import answer_html, ballot_count_text, end_screen_html
from components.vote.organiser import (
    SAMPLING_CHOICES,
    VotingControls,
    controls_from_rules,
    sampling_validity_notice,
    voters_table_html,
)
from studies.domain import Ask, Item, Judgement, Verdict
from studies.people.next_ballot import VoterProgress
from studies.spec.study import Study
from studies.store.ballot_queries import VotingRules, checks_by_item, read_ballots
from studies.store.rows import PromptText
from studies.store.store import Store
from tests.page_words import says

NAMES = ("zebra-model", "quagga-model")
HOSTILE = '<img src=x onerror="alert(1)"> & `code`'


def study_of(store: Store, items: int = 8, **more: Any) -> None:
    """Two contestants, one judge that flips on the even items; its names are never to be seen."""
    made = [
        Item(f"q{k}", f"question {k} {HOSTILE}", {n: f"text {n[0]} {k}" for n in NAMES}, "cat",
             reference=f"the reference {k}", criteria={"subjective": f"criterion {k}"},
             ground_truth="the truth") for k in range(items)
    ]  # fmt: skip
    rows = []
    for k in range(items):
        for shown in (NAMES, NAMES[::-1]):
            ask = Ask(f"k{k}{shown[0]}", f"q{k}", "okapi-judge", "p", shown, ("A", "B"), orders=2)
            pick = 0 if k % 2 == 0 else shown.index(NAMES[0])
            rows.append(Judgement(ask, "ok", Verdict(pick), reply="okapi reply"))
    store.save_study(Study("s", **more), made, (), recorded=rows, only_recorded=True)


def state_of(html: str) -> dict[str, Any]:
    found = re.search(r'data-ballot="([^"]+)"', html)
    assert found, html[:300]
    return dict(json.loads(unescape(found[1])))


def press(store: Store, html: str, voter: str = "ann", **asked: Any) -> str:
    return handle_ballot_action(store, "s", {"voter": voter, "ballot": state_of(html), **asked})


def begin(store: Store, voter: str = "ann") -> str:
    return handle_ballot_action(store, "s", {"act": "show", "voter": voter})


# -------------------------------------------------------------------------------------- blind


@pytest.mark.parametrize("mode", ["pair", "levels", "options", "verify"])
def test_no_form_tells_who_wrote_what(store: Store, mode: str) -> None:
    study_of(store)
    store.set_voting_rules("s", VotingRules(mode))  # type: ignore[arg-type]
    html = begin(store)
    for press_key in ({"act": "next"}, {"act": "back"}, {"act": "undo"}, {"act": "undo"}):
        html += press(store, html, **press_key)
    said = html + show_start_screen(store, "s")
    for secret in (*NAMES, "okapi", "zebra", "quagga", "human:", "the truth"):
        assert secret not in said
    assert ("the reference" if mode == "verify" else "text z") in said


def test_after_the_vote_nothing_is_told_unless_the_rules_say_so(store: Store) -> None:
    study_of(store)
    told = press(store, begin(store), act="vote", pick=0, margin=1)
    assert not any(name in told for name in NAMES)
    store.set_voting_rules("s", VotingRules(reveal=True))
    told = press(store, told, act="vote", pick=0, margin=1)
    assert "A was" in told and all(name in told for name in NAMES)


def test_texts_of_the_data_are_inert(store: Store) -> None:
    study_of(store)
    html = begin(store)
    assert "<img src=x" not in html and "&lt;img src=x" in html
    said = press(store, html, act="vote", pick=0, margin=1, comment=HOSTILE)
    back = press(store, said, act="back")
    assert "<img src=x" not in back and back.count("&lt;img src=x") == 2  # question and comment


# --------------------------------------------------------------------------------------- acts


def test_progress_counts_votes_and_says_what_is_skipped(store: Store) -> None:
    study_of(store)
    store.set_voting_rules("s", VotingRules(repeats=0.0))
    html = begin(store)
    assert "<b>0 of 8</b> pairs" in html and "voting as ann" in html
    html = press(store, html, act="vote", pick="tie", margin=0)
    html = press(store, html, act="next")
    assert "<b>1 of 8</b> pairs, 1 skipped" in html


def test_all_done_says_thank_you_and_offers_what_was_skipped(store: Store) -> None:
    study_of(store, 2)
    html = press(store, begin(store), act="next")
    html = press(store, html, act="vote", pick=1, margin=1)
    assert says(html, "voted", "1", "skipped 1")
    html = press(store, html, act="again")
    html = press(store, html, act="vote", pick=1, margin=1)
    assert says(html, "You", "voted", "2", "thank")
    assert len(store.frame("s").query("judge == 'human:ann'")) == 2


def test_back_shows_what_was_chosen_and_lets_it_be_changed(store: Store) -> None:
    study_of(store)
    html = press(store, begin(store), act="vote", pick=1, margin=1, comment="why not")
    back = press(store, html, act="back")
    assert re.search(r'aria-pressed="true"><kbd>→</kbd>', back) and ">why not</textarea>" in back
    assert says(back, "Choose again", "change")
    press(store, back, act="vote", pick=0, margin=1)
    (vote,) = [j for j in store.judgements("s") if j.ask.judge == "human:ann"]
    assert vote.verdict == Verdict(0, 1) and vote.reply == ""


def test_undo_opens_the_last_one_again(store: Store) -> None:
    study_of(store)
    first = begin(store)
    html = press(store, first, act="vote", pick=1, margin=1)
    undone = press(store, html, act="undo")
    assert state_of(undone) == state_of(first) and "Last vote undone." in undone
    assert "<b>0 of" in undone
    assert says(press(store, undone, act="undo"), "no vote", "undo")


def test_a_second_window_is_told_and_goes_on(store: Store) -> None:
    study_of(store)
    here = begin(store)
    press(store, here, act="vote", pick=0, margin=1)
    there = press(store, here, act="vote", pick=1, margin=1)
    assert "another window" in there and state_of(there)["position"] == 1
    assert len(store.frame("s").query("judge == 'human:ann'")) == 1


def test_a_vote_never_goes_to_another_ballot_than_the_one_shown(store: Store) -> None:
    """A study chosen in the header while the ballot of the one before is still on the page; and a
    ballot that was replaced by another at its number, because the voting rules changed."""
    study_of(store)
    store.save_study(Study("other"), [Item("z", "why?", dict.fromkeys(NAMES, "text"))], ())
    shown = begin(store)
    handle_ballot_action(store, "other", {"act": "show", "voter": "ann"})
    for act in ("vote", "next"):
        asked = {"voter": "ann", "ballot": state_of(shown), "act": act, "pick": 0, "margin": 1}
        told = handle_ballot_action(store, "other", asked)
        assert says(told, "another ballot", "Nothing was saved") and "why?" in told
    (ballot,) = read_ballots(store.read_connection, "other")
    assert ballot.state == "open" and not len(store.frame("other"))
    store.set_voting_rules("s", VotingRules("levels"))
    assert state_of(begin(store))["position"] == state_of(shown)["position"]
    assert "Nothing was saved" in press(store, shown, act="vote", pick=0, margin=1)
    assert not len(store.frame("s").query("judge == 'human:ann'"))


def test_the_same_notice_twice_unlocks_the_buttons_twice(store: Store) -> None:
    """The browser unlocks them only if the HTML has changed."""
    study_of(store)
    once = press(store, begin(store), act="back")
    assert "first ballot" in once and press(store, once, act="back") != once
    bad = [handle_ballot_action(store, "s", {"act": "show", "voter": "hf:ann"}) for _ in range(2)]
    assert bad[0] != bad[1] and all('class="said"' in html for html in bad)


def test_a_study_renamed_or_deleted_meanwhile_is_said_to_the_voter(store: Store) -> None:
    study_of(store)
    html = begin(store)
    store.rename_study("s", "renamed")
    for act in ("show", "vote", "leave"):
        told = press(store, html, act=act, pick=0, margin=1)
        assert says(told, "no longer here") and "renamed" in told
    assert study_size_html(store, "s") == ""


@pytest.mark.parametrize(
    "asked",
    [
        {"act": "vote", "pick": 7, "margin": 1},
        {"act": "vote", "pick": 0, "margin": 2},  # two margins are for five levels only
        {"act": "vote", "pick": True, "margin": 1},
        {"act": "vote", "pick": "zebra-model", "margin": 1},
        {"act": "vote"},
        {"act": "check", "follows": "yes"},
        {"act": "vote", "pick": 0, "margin": 1, "ballot": {"position": "x", "stamp": "nan"}},
        {"act": "vote", "pick": 0, "margin": 1, "ballot": None},
    ],
)
def test_what_no_button_sends_is_refused_and_writes_nothing(
    store: Store, asked: dict[str, Any]
) -> None:
    study_of(store)
    state = {"voter": "ann", "ballot": state_of(begin(store))}
    assert 'class="eh-vote' in handle_ballot_action(store, "s", {**state, **asked})
    assert not any(j.ask.judge == "human:ann" for j in store.judgements("s"))
    assert all(ballot.state == "open" for ballot in read_ballots(store.read_connection, "s"))


def test_the_models_of_a_ballot_cannot_be_found_by_trying_names(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark of a ballot is the same for one server, and another for each other server."""
    study_of(store)
    mark = state_of(begin(store))["mark"]
    assert mark == state_of(begin(store))["mark"]
    monkeypatch.setattr(ballot_actions, "_HASH_KEY", b"another server")
    assert state_of(begin(store))["mark"] != mark
    stale = state_of(begin(store)) | {"mark": mark}
    vote = {"act": "vote", "voter": "ann", "pick": 0, "margin": 1, "ballot": stale}
    refused = handle_ballot_action(store, "s", vote)
    assert says(refused, "another ballot", "Nothing was saved")


def test_an_act_nobody_knows_shows_the_ballot(store: Store) -> None:
    study_of(store)
    assert (
        state_of(handle_ballot_action(store, "s", {"act": "dance", "voter": "ann"}))["position"]
        == 0
    )


def test_a_verification_is_kept_with_its_flag(store: Store) -> None:
    study_of(store)
    store.set_voting_rules("s", VotingRules("verify"))
    html = begin(store)
    html = press(store, html, act="check", follows=False, fault="answer", harmful=True)
    ((check,),) = checks_by_item(read_ballots(store.read_connection, "s")).values()
    assert (check.follows, check.fault, check.harmful) == (False, "answer", True)
    back = press(store, html, act="back")
    assert 'aria-pressed="true"><kbd>2</kbd>' in back and "checked" in back
    assert says(voters_table_html(store, "s"), "1 verification, 0 say", "1 say")


# --------------------------------------------------------------------------------------- names


def test_a_name_is_asked_for_first(store: Store) -> None:
    study_of(store)
    for asked in ({}, {"voter": "  "}, {"act": "leave", "voter": "ann"}):
        html = handle_ballot_action(store, "s", asked)
        assert "data-name" in html and "8 pairs" in html
    assert "cannot be used" in handle_ballot_action(store, "s", {"act": "show", "voter": "x" * 100})
    assert read_ballots(store.read_connection, "s") == []


def test_who_is_logged_in_votes_under_that_name(store: Store) -> None:
    study_of(store)
    html = handle_ballot_action(
        store, "s", {"act": "show", "voter": "somebody else"}, account="hub-user"
    )
    assert "voting as hub-user" in html and "not you?" not in html
    assert {ballot.voter for ballot in read_ballots(store.read_connection, "s")} == {
        "human:hub-user"
    }


def test_ann_and_Ann_are_one_person(store: Store) -> None:
    study_of(store)
    begin(store, "Ann")
    assert (
        stored_voter_name(store, "s", "ANN") == "human:Ann"
        and stored_voter_name(store, "s", "bo") == "human:bo"
    )


# ------------------------------------------------------------------------------- empty states


def test_a_study_without_texts_says_so(store: Store) -> None:
    store.save_study(Study("s"), [Item("q", "", {})], ())
    assert says(begin(store), "no questions", "vote") and says(
        show_start_screen(store, "s"), "no questions", "vote"
    )


def test_a_study_of_one_contestant_offers_verification(store: Store) -> None:
    store.save_study(Study("s"), [Item("q", "why?", {"x": "because"})], ())
    assert "nothing to compare" in begin(store) and "Verification" in begin(store)
    store.set_voting_rules("s", VotingRules("verify"))
    assert "because" in begin(store)


def test_only_rules_that_look_for_flips_are_said_to_find_none(store: Store) -> None:
    store.save_study(Study("s"), [Item("q", "why?", {}, reference="because")], ())
    store.set_voting_rules("s", VotingRules("pass"))
    assert "another form" in begin(store) and "flip" not in begin(store)


def test_no_judge_disagrees(store: Store) -> None:
    study_of(store)
    store.set_voting_rules("s", VotingRules(choose="split"))
    assert says(begin(store), "voting rules", "no comparison")


# ------------------------------------------------------------------- what the protocol shows


PROMPT = """
name: with-reference
version: 1
source: ours
protocol: pairwise
messages:
  - user: "$instruction $reference $first $second $closing"
verdict: overall-response
"""


def with_prompt(store: Store, verdict: str = "overall-response", **more: Any) -> None:
    from judges.rendering.prompt import parse_prompt
    from studies.store.rows import RequestRecord

    prompt = parse_prompt(PROMPT.replace("overall-response", verdict))
    item = Item("q", "why?", dict.fromkeys(NAMES, "a"), reference="the reference",
                ground_truth="the truth")  # fmt: skip
    ask = Ask("k", "q", "okapi-judge", prompt.name, NAMES, ("A", "B"))
    texts = [PromptText(prompt.sha, prompt.name, prompt.version, prompt.yaml)]
    request = RequestRecord("k", "e", "m", prompt.sha, "{}")
    store.save_study(Study("s", prompts=(prompt.name,), **more), [item], [(ask, request)], texts)


def test_people_read_the_reference_only_where_no_published_form_hides_it(store: Store) -> None:
    with_prompt(store)
    assert "the reference" in begin(store) and "the truth" not in begin(store)
    with_prompt(store, preset="visit-bench")
    assert "the reference" not in begin(store)


@pytest.mark.parametrize(
    ("preset", "mode"),
    [("visit-bench", "pair"), ("creation-mmbench", "levels"), ("grade-score", "options"),
     ("mt-bench", "pair"), ("arena-hard", "levels")],
)  # fmt: skip
def test_the_form_follows_the_protocol(store: Store, preset: str, mode: str) -> None:
    from studies.spec.study import parse_study

    baseline = "baseline: x\n" if preset in ("arena-hard", "creation-mmbench") else ""
    study = parse_study(f"name: s\npreset: {preset}\ndata: {{source: other.jsonl}}\n{baseline}")
    store.save_study(study, [Item("q", "why?", {"x": "a", "y": "b"})], ())
    form = load_ballot_form(store, "s")
    assert form.mode == mode and not form.reference and "asks people" in form.origin


@pytest.mark.parametrize(
    ("verdict", "told"), [("overall-response", "do not offer"), ("mt-bench", "same kind of")]
)
def test_voters_read_whether_the_prompts_offer_the_tie_that_they_may_choose(
    store: Store, verdict: str, told: str
) -> None:
    with_prompt(store, verdict)
    assert told in load_ballot_form(store, "s").origin


def test_recorded_verdicts_say_which_form_they_are(store: Store) -> None:
    study_of(store)
    assert load_ballot_form(store, "s").mode == "pair"
    ask = Ask("k", "q", "j", "p", ("x", "y"), ("A", "B"))
    items = [Item("q", "why?", {"x": "a", "y": "b", "z": "c"})]
    strong = [Judgement(ask, "ok", Verdict(0, 2))]
    store.save_study(Study("s"), items, (), plan_sha="5", recorded=strong, only_recorded=True)
    assert load_ballot_form(store, "s").mode == "levels"
    three = [Judgement(Ask("l", "q", "j", "p", ("x", "y", "z"), ("1", "2", "3")), "ok", Verdict(2))]
    store.save_study(Study("s"), items, (), plan_sha="3", recorded=three, only_recorded=True)
    assert load_ballot_form(store, "s").mode == "options"


def test_five_levels_show_the_criteria_and_keep_the_margin(store: Store) -> None:
    study_of(store)
    store.set_voting_rules("s", VotingRules("levels"))
    html = begin(store)
    assert "criterion" in html and html.count('class="choice"') == 5
    press(store, html, act="vote", pick=1, margin=2)
    (vote,) = [j for j in store.judgements("s") if j.ask.judge == "human:ann"]
    assert vote.verdict == Verdict(1, 2)


# ----------------------------------------------------------------------------------- the desk


def test_rules_go_through_the_controls_unchanged() -> None:
    for rules in (
        VotingRules(),
        VotingRules("verify", "flipped", 5, 0.25, 40, False, True, "answers"),
    ):
        assert controls_from_rules(rules).to_voting_rules() == rules
    assert isinstance(controls_from_rules(VotingRules()), VotingControls)


def test_each_choice_says_which_estimates_stay_valid(store: Store) -> None:
    study_of(store)
    told = {name: sampling_validity_notice(store, "s", name) for name in SAMPLING_CHOICES}
    assert "unbiased" in told["At random"] and "8 pairs of 8" in told["At random"]
    assert "4 pairs of 8" in told["Where orders flip"]
    assert says(told["Where orders flip"], "votes cannot", "win rates")
    assert says(told["Where judges disagree"], "not describe", "pairs")
    store.set_voting_rules("s", VotingRules(choose="flipped"))
    press(store, begin(store), act="vote", pick=0, margin=1)
    assert says(sampling_validity_notice(store, "s", "At random"), "1", "1", "not", "at random")


def test_who_has_voted_is_listed(store: Store) -> None:
    study_of(store)
    assert says(voters_table_html(store, "s"), "No votes", "page yet")
    press(store, begin(store, "<b>ann"), voter="<b>ann", act="vote", pick=0, margin=1)
    html = voters_table_html(store, "s")
    assert "&lt;b&gt;ann" in html and "<b>ann" not in html
    store.set_voting_rules("s", VotingRules(votes=100))
    for k in range(organiser.MAX_LISTED_VOTERS):
        begin(store, f"voter {k}")
    assert "and 1 more" in voters_table_html(store, "s")


def test_ballots_that_come_twice_are_counted_apart_from_pairs() -> None:
    """A tenth of 800 pairs is repeated: the start names 800 pairs, the ballot both numbers."""
    assert ballot_count_text(VoterProgress(0, 0, 880, 80), "pair") == (
        "880 ballots: 800 pairs, 80 of them twice"
    )
    assert ballot_count_text(VoterProgress(0, 0, 3), "pair") == "3 pairs"
    assert "all 880 ballots" in end_screen_html("ann", VoterProgress(880, 0, 880, 80), "pair")
    assert "all 3 pairs" in end_screen_html("ann", VoterProgress(3, 0, 3), "pair")


def test_the_start_names_no_more_pairs_than_there_are(store: Store) -> None:
    study_of(store, 4)
    for each, pairs in ((0, 4), (3, 3), (100, 4)):
        store.set_voting_rules("s", VotingRules(each=each, repeats=0.0))
        assert f"Vote blind: {pairs} pairs" in show_start_screen(store, "s")


def test_markdown_of_an_answer_is_shown_as_meant_and_stays_harmless() -> None:
    text = "# Plan\n- **one** and *two*\n```py\na * b * c\n```\nuse `x*y*z`, 2 * 3 * 4 <img src=x>"
    assert str(answer_html(text)) == (
        "<b>Plan</b>\n• <b>one</b> and <i>two</i>\n<code>a * b * c</code>\n"
        "use <code>x*y*z</code>, 2 * 3 * 4 &lt;img src=x&gt;"
    )
    assert str(answer_html("[a](javascript:x) snake_case_name")) == (
        "[a](javascript:x) snake_case_name"
    )
