"""What a voter does on the page, done; what the voter sees then. Plain Python, no gradio.

The page sends what was pressed, the place of the ballot it was pressed on and the voter's name;
nothing is kept in between, so that a reload, a second window or another device goes on where the
store is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from components.server.hf_login import ACCOUNT_PREFIX, can_log_in, is_account
from components.vote.ballot_form import FORM_NAMES, BallotForm, build_voter_view, load_ballot_form
from components.vote.ballot_html import BallotView, ballot_html
from components.vote.start_and_end import (
    StartScreen,
    finished_html,
    name_form,
    nothing_to_vote_html,
    reveal_text,
    write_error_html,
)
from studies.domain import HUMAN_PREFIX, REFERENCE, AnswerCheck, Verdict
from studies.errors import EvenhandError, StoreError, StudyError
from studies.people.votable import votable_comparisons
from studies.people.vote_session import STAMP_TOLERANCE, VoteSession, list_voters, open_vote_session
from studies.store.ballots import Ballot, BallotMode, voter_id
from studies.store.store import Store

ACTIONS: Final = ("show", "vote", "check", "next", "back", "undo", "again", "leave")


def handle_action(
    store: Store, study: str, asked: Mapping[str, Any], account: str = "", told: str = ""
) -> str:
    """Does what was asked and shows what comes next. `account`: who is logged in, whose name then
    stands whatever was typed. `told`: why nobody is, after a login that failed."""
    name = account or str(asked.get("voter") or "")
    if asked.get("act") == "leave" or not name.strip():
        return show_start(store, study, told=told)
    try:
        voter = find_voter(store, study, name) if account else voter_from_name(store, study, name)
        at = open_vote_session(store, study, voter, load_ballot_form(store, study).mode)
    except StudyError as error:
        return show_start(store, study, str(error))
    if not at.votable:
        return show_nothing(store, study, at.mode)
    try:
        return _respond(at, asked, bool(account), told)
    except StoreError as error:
        return _write_failure(at, asked, str(error), bool(account))
    except EvenhandError as error:  # not this visitor's to vote on
        return nothing_to_vote_html("You cannot vote on this study here.", str(error))


def _respond(at: VoteSession, asked: Mapping[str, Any], fixed: bool, told: str) -> str:
    try:
        ballot, said = _perform_action(at, asked)
    except StudyError as error:  # a ballot that is no longer as it was: the next one is shown
        return _show_ballot(at, at.next(), str(error), warned=True, fixed=fixed)
    return _show_ballot(at, ballot, told or said, warned=bool(told), fixed=fixed)


def _write_failure(at: VoteSession, asked: Mapping[str, Any], why: str, fixed: bool) -> str:
    """The store cannot be written now (a full disk): the same ballot again, with what was typed,
    so that whoever waits until it can be goes on from this very page."""
    position, stamp = _ballot_position(asked.get("ballot"))
    ballot, name = at.ballot_at(position), at.voter.removeprefix(HUMAN_PREFIX)
    if ballot is None:
        return write_error_html(name, why.replace("then resume", "then go on"), fixed=fixed)
    voted = asked.get("act") in ("vote", "check")
    if voted and abs(ballot.done - stamp) > STAMP_TOLERANCE:
        said = f"**Your vote is saved, but what comes next cannot be shown:** {why}"
        return _show_ballot(
            at,
            ballot,
            said.replace("then resume", "then press Next"),
            warned=True,
            fixed=fixed,
            retried=True,
        )
    ballot = replace(ballot, comment=str(asked.get("comment") or ""))
    said = f"**{'Your vote is not saved' if voted else 'Not done'}:** {why}"
    return _show_ballot(
        at,
        ballot,
        said.replace("then resume", "then press it again"),
        warned=True,
        fixed=fixed,
        retried=True,
    )


def voter_from_name(store: Store, study: str, name: str) -> str:
    """The voter of a typed name, which is never that of an account: only a login says so."""
    wanted = find_voter(store, study, name)
    if is_account(wanted):
        raise StudyError(
            f"names that begin with {ACCOUNT_PREFIX} are those of Hugging Face accounts; log in"
            if can_log_in()
            else f"names that begin with {ACCOUNT_PREFIX} are those of Hugging Face accounts, and nobody "
            "can log in here; type another"
        )
    return wanted


def find_voter(store: Store, study: str, name: str) -> str:
    """The voter of that name; who voted as "ann" before is not another person as "Ann"."""
    wanted = voter_id(name)
    for line in list_voters(store, study):
        if line.voter.casefold() == wanted.casefold():
            return line.voter
    return wanted


def show_start(store: Store, study: str, wrong: str = "", told: str = "") -> str:
    """Where a name is typed; or why there is nothing to vote on."""
    form, rules = load_ballot_form(store, study), store.voting_rules(study)
    mode = rules.mode or form.mode
    units = votable_comparisons(store, study, mode, rules)
    if not units:
        return show_nothing(store, study, mode)
    form_is = f", {form.origin}" if mode == form.mode else ", as the people who ask you chose"
    start = StartScreen(FORM_NAMES[mode] + form_is, wrong, told, can_log_in())
    return name_form(rules.each or len(units), mode, start)


def show_nothing(store: Store, study: str, mode: BallotMode) -> str:
    """Why a study has nothing to vote on, in one sentence, and what would change it."""
    narrow = store.item_facts(study).values()
    lengths = [{n for n, size in one["lengths"].items() if size} for one in narrow]
    if not any(lengths):
        return nothing_to_vote_html(
            "This study has no texts to vote on.",
            "It holds verdicts without their questions and answers: open them together with their "
            "items.",
        )
    if mode != "verify" and not any(len(names - {REFERENCE}) > 1 for names in lengths):
        return nothing_to_vote_html(
            "There is nothing to compare here.",
            "No item has answers of two contestants. Verification asks about one answer at a time: "
            "choose it in the rules of voting.",
        )
    return nothing_to_vote_html(
        "No comparison is chosen by these rules.",
        "No judge flips, or none disagrees with another, on any pair of this study. Choose at "
        "random in the rules of voting.",
    )


# ------------------------------------------------------------------------------------- acts


def _perform_action(at: VoteSession, asked: Mapping[str, Any]) -> tuple[Ballot | None, str]:
    """The ballot to show after an act, and what to say about it."""
    what = asked.get("act", "show")
    if what != "show":
        _check_voter(at, asked.get("ballot"))
    position, stamp = _ballot_position(asked.get("ballot"))
    comment = str(asked.get("comment") or "")
    if what == "vote":
        cast = at.vote(position, stamp, _parse_verdict(asked, at.ballot_at(position)), comment)
        return _next_ballot(at, position, stamp), reveal_text(cast) if at.rules.reveal else ""
    if what == "check":
        at.check(position, stamp, _parse_check(asked), comment)
        return _next_ballot(at, position, stamp), ""
    if what == "next":
        if not stamp:  # an open one: it is skipped
            at.skip(position, stamp, comment)
        return _next_ballot(at, position, stamp), ""
    if what == "back":
        back = at.previous_ballot(position)
        return (back, "") if back else (at.next(), "This is the first one.")
    if what == "undo":
        opened = at.undo()
        return (opened, "Taken back.") if opened else (at.next(), "There is nothing to take back.")
    if what == "again":
        at.reopen_skipped()
    return at.next(), ""


def _check_voter(at: VoteSession, ballot: Any) -> None:
    """A login that ended, or a name changed in another window: what one person is shown, nobody
    else votes on."""
    shown = ballot.get("voter") if isinstance(ballot, Mapping) else None
    mine = at.voter.removeprefix(HUMAN_PREFIX)
    if shown is not None and shown != mine:
        raise StudyError(
            f"the page was {shown}'s, and you vote as {mine} now: nothing was written. This one is "
            "yours"
        )


def _next_ballot(at: VoteSession, position: int, stamp: float) -> Ballot | None:
    """After an open ballot what is open next; who looks back goes on to what was seen after it."""
    return (at.following_ballot(position) if stamp else None) or at.next()


def _ballot_position(value: Any) -> tuple[int, float]:
    try:
        position, stamp = int(value["position"]), float(value["stamp"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return -1, 0.0
    return (position, stamp) if math.isfinite(stamp) else (-1, 0.0)


def _parse_verdict(asked: Mapping[str, Any], ballot: Ballot | None) -> Verdict:
    """What a button of this form can send; anything else is refused, for it would be evidence."""
    mode = ballot.mode if ballot else "verify"
    pick, margin = asked.get("pick"), asked.get("margin")
    if pick == "tie" and mode in ("pair", "levels"):
        return Verdict("tie", 0)
    most = 2 if mode == "levels" else 1
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in (pick, margin))
    if mode == "verify" or not whole or not 1 <= margin <= most:  # type: ignore[operator]
        raise StudyError("that is not a vote of this form; nothing was written")
    return Verdict(pick, margin)  # type: ignore[arg-type]


def _parse_check(asked: Mapping[str, Any]) -> AnswerCheck:
    follows, fault = asked.get("follows"), asked.get("fault")
    if not isinstance(follows, bool) or fault not in (None, "answer", "caption"):
        raise StudyError("that is not an answer of this form; nothing was written")
    return AnswerCheck("", "", follows, None if follows else fault, asked.get("harmful") is True)


# ------------------------------------------------------------------------------------- views


def _show_ballot(
    at: VoteSession,
    ballot: Ballot | None,
    said: str = "",
    *,
    warned: bool = False,
    fixed: bool = False,
    retried: bool = False,
) -> str:
    name, standing = at.voter.removeprefix(HUMAN_PREFIX), at.progress()
    item = at.store.item(at.study, ballot.item) if ballot else None
    if ballot is None or item is None:
        if not standing.voted and not standing.skipped and not at.pool:
            return show_nothing(at.store, at.study, at.mode)
        return finished_html(name, standing, at.mode, said, fixed=fixed)
    sight = build_voter_view(at.store, at.study, _ballot_form(at), ballot, item)
    given = _earlier_vote(at, ballot)
    if given is not None and not said:
        said = "You have voted on this one. Choose again to change it, or go on."
    return ballot_html(
        BallotView(
            name,
            ballot,
            sight,
            standing,
            given,
            at.rules.timed,
            fixed,
            said,
            warned,
            time.time() if retried else 0.0,
        )
    )


def _ballot_form(at: VoteSession) -> BallotForm:
    return load_ballot_form(at.store, at.study)


def _earlier_vote(at: VoteSession, ballot: Ballot) -> dict[str, Any] | None:
    """The earlier vote on this ballot as its button sends it."""
    if ballot.state != "voted":
        return None
    if ballot.answer is not None:
        answer = ballot.answer
        return {"follows": answer.follows, "fault": answer.fault, "harmful": answer.harmful}
    cast = at.store.judgement(at.study, ballot.key)
    if cast is None or cast.verdict is None:
        return None
    return {"pick": cast.verdict.pick, "margin": cast.verdict.margin}
