"""Actions of a voter, without Gradio: perform an action on the store, and return the next screen as
HTML.

The page sends the button pressed, the number of its ballot (`position`) and the voter's name. No
state is kept between requests: a reload, a second window or another device continues from the
store.
"""

import hashlib
import math
import secrets
import time
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from components.html.markup import Markup
from components.server.hf_login import ACCOUNT_PREFIX, can_log_in, has_account_prefix
from components.vote import ballot_html as ballots
from components.vote.ballot_form import (
    MODES,
    BallotForm,
    BallotState,
    build_ballot_content,
    load_ballot_form,
)
from components.vote.ballot_html import StartScreen
from components.vote.vote_controls import VoteButton, vote_buttons
from studies.domain import HUMAN_PREFIX, REFERENCE, AnswerCheck, Verdict
from studies.errors import TRY_AGAIN, EvenhandError, StoreError, StudyError, UnknownStudy
from studies.frames.frame_codes import SEP
from studies.people.votable import votable_comparisons
from studies.people.vote_session import STAMP_TOLERANCE, VoteSession, list_voters, open_vote_session
from studies.store.ballot_queries import (
    SINGLE_MODES,
    Ballot,
    BallotMode,
    read_voting_rules,
    voter_id,
)
from studies.store.store import Store


def handle_ballot_action(
    store: Store, study: str, request: Mapping[str, Any], account: str = "", login_error: str = ""
) -> Markup:
    """Do what a voter asked for on the Vote page (`request`: such as a vote, or undo), and return
    the HTML of the screen that follows: the next comparison to vote on; the end; the form that asks
    for a name, if none was accepted; or why this visitor cannot vote. `account`: name of a
    logged-in voter, used instead of a typed name. `login_error`: why a login failed."""
    name = account or str(request.get("voter") or "")
    try:
        if request.get("act") == "leave" or not name.strip():
            return show_start_screen(store, study, login_error=login_error)
        voter = (
            stored_voter_name(store, study, name)
            if account
            else stored_name_of_typed_voter(store, study, name)
        )
        session = open_vote_session(store, study, voter, load_ballot_form(store, study).mode)
    except UnknownStudy:
        return ballots.nothing_to_vote_html(
            "This study is no longer here.",
            "It was renamed or deleted. Ask the organiser for the new link.",
        )
    except StudyError as error:
        return show_start_screen(store, study, str(error))
    if not session.votable or _lacks_rubric(store, study, session.mode):
        return no_ballots_reason_html(store, study, session.mode)
    try:
        return _perform_and_render(session, request, bool(account), login_error)
    except StoreError as error:
        return _show_write_failure(session, request, str(error), bool(account))
    except EvenhandError as error:  # this visitor may not vote on the study
        return ballots.nothing_to_vote_html("You cannot vote on this study here.", str(error))


def _perform_and_render(
    session: VoteSession, request: Mapping[str, Any], fixed: bool, login_error: str
) -> Markup:
    try:
        ballot, notice = _perform_action(session, request)
    except StudyError as error:  # the ballot has changed meanwhile: show the next one
        return _show_ballot(session, session.next_ballot(), str(error), warned=True, fixed=fixed)
    return _show_ballot(
        session, ballot, login_error or notice, warned=bool(login_error), fixed=fixed
    )


def _show_write_failure(
    session: VoteSession, request: Mapping[str, Any], why: str, fixed: bool
) -> Markup:
    """HTML of the same ballot again, after the store could not be written; `why` is the reason. A
    notice says whether the vote is saved; if it is not, the typed comment is kept, so that the
    voter can vote again. If there is no ballot to show, an error screen. `fixed`: whether the
    voter's name cannot be changed."""
    position, stamp = _parse_ballot_position(request.get("ballot"))
    ballot, name = session.ballot_at(position), session.voter.removeprefix(HUMAN_PREFIX)
    if ballot is None:
        return ballots.store_error_html(name, why.replace(TRY_AGAIN, "then go on"), fixed=fixed)
    voted = request.get("act") in ("vote", "check")
    if voted and abs(ballot.done - stamp) > STAMP_TOLERANCE:
        notice = f"**Your vote is saved, but the next ballot cannot be shown:** {why}"
        notice = notice.replace(TRY_AGAIN, "then press Next")
    else:
        ballot = replace(ballot, comment=str(request.get("comment") or ""))
        notice = f"**{'Your vote is not saved' if voted else 'Not done'}:** {why}"
        notice = notice.replace(TRY_AGAIN, "then press it again")
    return _show_ballot(session, ballot, notice, warned=True, fixed=fixed, retried=True)


_MISFIT: Final = "this {} does not fit the ballot shown; nothing was saved. Reload the page"
COLONS: Final = (
    ":\u02d0\u02d1\u02f8\u0589\u05c3\u0703\u0704\u16ec\u1803\u205a\u205d\u2236\ua4fd\ua789"
)
"""The colon and characters that look like one."""


def stored_name_of_typed_voter(store: Store, study: str, name: str) -> str:
    """The name under which votes of this typed `name` are stored (see `stored_voter_name`);
    StudyError if it is malformed, or looks like the name of a logged-in account."""
    wanted = stored_voter_name(store, study, name)
    if has_account_prefix(wanted) or imitates_account(wanted):
        raise StudyError(
            f"names that begin with {ACCOUNT_PREFIX} are reserved for Hugging Face accounts; "
            + ("log in" if can_log_in() else "type another name, as this page has no login")
        )
    return wanted


def stored_voter_name(store: Store, study: str, name: str) -> str:
    """The name under which a voter's votes are stored. If there is a voter whose name differs only
    in case or in the form of letters ("ann" and "Ann" are one person), that name; else the given
    one. StudyError for a malformed name."""
    wanted = voter_id(name)
    for line in list_voters(store, study):
        if _normalised_name(line.voter) == _normalised_name(wanted):
            return line.voter
    return wanted


def imitates_account(voter: str) -> bool:
    """Whether a name begins with an imitation of "hf:", the prefix of logged-in accounts: two
    characters, each the letter of the prefix or one outside ASCII, then a kind of colon."""
    parts = unicodedata.normalize("NFKD", voter.removeprefix(HUMAN_PREFIX)).casefold()
    shown = (c for c in parts if not unicodedata.combining(c) and not c.isspace())
    start = "".join(islice(shown, len(ACCOUNT_PREFIX)))
    letters = zip(start[:-1], ACCOUNT_PREFIX[:-1], strict=False)
    return (
        len(start) == len(ACCOUNT_PREFIX)
        and start[-1] in COLONS
        and all(mine == one or not mine.isascii() for mine, one in letters)
    )


def _normalised_name(name: str) -> str:
    """Return the same text for names that differ only in case or in the form of letters, such as
    full-width ones."""
    return unicodedata.normalize("NFKC", name).casefold()


def show_start_screen(
    store: Store, study: str, name_error: str = "", login_error: str = ""
) -> Markup:
    """HTML of the start screen with the name field, or of the reason why there is nothing to vote
    on. `name_error`, `login_error`: why a name or a login was refused."""
    form, rules = load_ballot_form(store, study), read_voting_rules(store.read_connection, study)
    mode = rules.mode or form.mode
    units = votable_comparisons(store, study, mode, rules)
    if not units or _lacks_rubric(store, study, mode):
        return no_ballots_reason_html(store, study, mode)
    origin = form.origin if mode == form.mode else "as the organiser chose"
    start = StartScreen(f"{MODES[mode].name}, {origin}", name_error, login_error, can_log_in())
    most = min(rules.each, len(units)) if rules.each else len(units)
    return ballots.start_screen_html(most, mode, start)


def _lacks_rubric(store: Store, study: str, mode: BallotMode) -> bool:
    return mode == "rubric" and not load_ballot_form(store, study).rubric


def no_ballots_reason_html(store: Store, study: str, mode: BallotMode) -> Markup:
    """HTML with the reason why a study has nothing to vote on, and what to do."""
    facts = store.item_facts(study).values()
    lengths = [{n for n, size in one["lengths"].items() if size} for one in facts]
    if not any(lengths):
        return ballots.nothing_to_vote_html(
            "This study has no questions and answers to vote on.",
            "The study has verdicts without questions and answers. Open the verdicts together "
            "with their items.",
        )
    if _lacks_rubric(store, study, mode):
        return ballots.nothing_to_vote_html(
            "This study has no rubric.",
            "No prompt of the study lists criteria. Choose Score in the voting rules, or add the "
            "prompt named “rubric” to the study.",
        )
    compares = mode not in SINGLE_MODES
    if compares and not any(len(names - {REFERENCE}) > 1 for names in lengths):
        return ballots.nothing_to_vote_html(
            "There is nothing to compare here.",
            "No item has answers of two models. Choose Verification in the voting rules: it needs "
            "only one answer per item.",
        )
    if not compares or read_voting_rules(store.read_connection, study).choose == "random":
        return ballots.nothing_to_vote_html(
            "There is nothing to vote on here.",
            "No item has answers of the study's models that fit this form. Choose another form in "
            "the voting rules.",
        )
    return ballots.nothing_to_vote_html(
        "The voting rules select no comparison.",
        "The rules select pairs on which verdicts flip or judges disagree; this study has no "
        "such pair. Choose “At random” in the voting rules.",
    )


# ---------------------------------------------------------------------------------- actions


def _perform_action(session: VoteSession, request: Mapping[str, Any]) -> tuple[Ballot | None, str]:
    """Do what the voter asked for; return the next ballot (None at the end) and a notice, which may
    be "". If the page showed another ballot than the store has now, StudyError is raised and
    nothing is saved."""
    what = request.get("act", "show")
    if what != "show":
        _require_current_ballot(session, request.get("ballot"))
    position, stamp = _parse_ballot_position(request.get("ballot"))
    comment = str(request.get("comment") or "")
    if what == "vote":
        ballot, form = session.ballot_at(position), _ballot_form(session)
        verdict = _parse_verdict(request, ballot, form)
        rubric = form.rubric if ballot and ballot.mode == "rubric" else ()
        criteria = tuple(name for name, _ in rubric)
        cast = session.vote(position, stamp, verdict, comment, criteria)
        return _next_ballot(session, position, stamp), ballots.revealed_models_text(
            cast
        ) if session.rules.reveal else ""
    if what == "check":
        session.store_verification(position, stamp, _parse_verification(request), comment)
        return _next_ballot(session, position, stamp), ""
    if what == "next":
        if not stamp:  # an open ballot is skipped
            session.skip(position, stamp, comment)
        return _next_ballot(session, position, stamp), ""
    if what == "back":
        back = session.show_previous_ballot(position)
        return (back, "") if back else (session.next_ballot(), "This is the first ballot.")
    if what == "undo":
        opened = session.undo()
        return (
            (opened, "Last vote undone.")
            if opened
            else (session.next_ballot(), "There is no vote to undo.")
        )
    if what == "again":
        session.reopen_skipped()
    return session.next_ballot(), ""


def _require_current_ballot(session: VoteSession, ballot: Any) -> None:
    """Raise StudyError if the ballot that the page sent is not the voter's ballot of this number:
    it was shown to another voter (a login ended, or the name changed), or the number now belongs to
    another ballot (another study was chosen, or the study has changed)."""
    sent = ballot if isinstance(ballot, Mapping) else {}
    shown, mine = sent.get("voter"), session.voter.removeprefix(HUMAN_PREFIX)
    if shown is not None and shown != mine:
        raise StudyError(
            f"this page was opened as {shown}, but you now vote as {mine}. Nothing was saved. "
            f"The ballot shown now is for {mine}"
        )
    stored = session.ballot_at(_parse_ballot_position(ballot)[0])
    if stored and sent.get("mark") not in (None, _ballot_hash(session.study, stored)):
        raise StudyError("the page showed another ballot than this. Nothing was saved")


_HASH_KEY: Final = secrets.token_bytes(16)


def _ballot_hash(study: str, ballot: Ballot) -> str:
    """Short hash of study, item, kind of ballot and models shown, by which the server checks that
    the page shows the ballot it acts on. It is made with a secret key, so that a voter cannot find
    the models by hashing guesses."""
    parts = SEP.join((study, ballot.item, ballot.mode, *ballot.shown))
    return hashlib.blake2b(parts.encode(), digest_size=8, key=_HASH_KEY).hexdigest()


def _next_ballot(session: VoteSession, position: int, stamp: float) -> Ballot | None:
    """The ballot to show after an action on ballot number `position`; None if nothing is left.
    `stamp`: time at which that ballot was done before the action, 0 if it was open. If it was done
    and the voter's following ballot is done too, this is the following ballot; otherwise it is the
    next one without a vote."""
    return (
        session.show_following_done_ballot(position) if stamp else None
    ) or session.next_ballot()


def _parse_ballot_position(value: Any) -> tuple[int, float]:
    """Number of the ballot in a request, and its stamp: the time at which the ballot was done, 0
    while it is open. (-1, 0.0) if the request is malformed."""
    try:
        position, stamp = int(value["position"]), float(value["stamp"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return -1, 0.0
    return (position, stamp) if math.isfinite(stamp) else (-1, 0.0)


def _parse_verdict(request: Mapping[str, Any], ballot: Ballot | None, form: BallotForm) -> Verdict:
    """The verdict in a request; raise StudyError for a value that no button of this ballot
    sends."""
    mode = ballot.mode if ballot else "verify"
    if mode == "rubric":
        return _parse_rubric_levels(request.get("levels"), form)
    if mode in ("pass", "score"):
        return _parse_score(request.get("score"), vote_buttons(mode, 1, form.scale))
    pick, margin = request.get("pick"), request.get("margin")
    if pick == "tie" and mode in ("pair", "levels"):
        return Verdict("tie", 0)
    most = 2 if mode == "levels" else 1
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in (pick, margin))
    if mode == "verify" or not whole or not 1 <= margin <= most:  # type: ignore[operator]
        raise StudyError(_MISFIT.format("vote"))
    return Verdict(pick, margin)  # type: ignore[arg-type]


def _parse_rubric_levels(levels: Any, form: BallotForm) -> Verdict:
    """Verdict of a rubric: its scores are the mean level, then the level of each criterion.
    StudyError if a level is missing or not on the scale."""
    if not isinstance(levels, list) or len(levels) != len(form.rubric) or not levels:
        raise StudyError("choose a level for each criterion; nothing was saved")
    buttons = vote_buttons("score", 1, form.scale)
    given = [_parse_score(level, buttons).scores[0] for level in levels]
    return Verdict(scores=(sum(given) / len(given), *given))


def _parse_score(score: Any, buttons: Sequence[VoteButton]) -> Verdict:
    number = isinstance(score, int | float) and not isinstance(score, bool)
    if not number or float(score) not in [button.payload["score"] for button in buttons]:
        raise StudyError(_MISFIT.format("score"))
    return Verdict(scores=(float(score),))


def _parse_verification(request: Mapping[str, Any]) -> AnswerCheck:
    follows, fault = request.get("follows"), request.get("fault")
    if not isinstance(follows, bool) or fault not in (None, "answer", "caption"):
        raise StudyError(_MISFIT.format("vote"))
    return AnswerCheck("", "", follows, None if follows else fault, request.get("harmful") is True)


# ---------------------------------------------------------------------------------- screens


def _show_ballot(
    session: VoteSession,
    ballot: Ballot | None,
    notice: str = "",
    *,
    warned: bool = False,
    fixed: bool = False,
    retried: bool = False,
) -> Markup:
    """HTML of a ballot; of the end screen if `ballot` is None or its item is missing; or why the
    study has nothing to vote on. `warned`: show the notice as a warning; `fixed`: the voter's name
    cannot be changed; `retried`: an action failed, so that the buttons must be unlocked."""
    name, progress = session.voter.removeprefix(HUMAN_PREFIX), session.progress()
    item = session.store.item(session.study, ballot.item) if ballot else None
    if ballot is None or item is None:
        if not progress.voted and not progress.skipped and not session.pool:
            return no_ballots_reason_html(session.store, session.study, session.mode)
        return ballots.end_screen_html(name, progress, session.mode, notice, fixed=fixed)
    content = build_ballot_content(
        session.store, session.study, _ballot_form(session), ballot, item
    )
    earlier = _earlier_vote_as_button_data(session, ballot)
    if earlier is not None and not notice:
        notice = (
            "You have already voted on this comparison. Choose again to change your vote, or "
            "press Next."
        )
    return ballots.ballot_html(
        BallotState(
            name,
            ballot,
            content,
            progress,
            earlier,
            session.rules.timed,
            fixed,
            notice,
            warned,
            time.time() if retried or notice else 0.0,
            _ballot_hash(session.study, ballot),
        )
    )


def _ballot_form(session: VoteSession) -> BallotForm:
    return load_ballot_form(session.store, session.study)


def _earlier_vote_as_button_data(session: VoteSession, ballot: Ballot) -> dict[str, Any] | None:
    """The voter's own vote on this ballot, as the data that the vote button would send; None
    without a vote."""
    if ballot.state != "voted":
        return None
    if ballot.answer is not None:
        answer = ballot.answer
        return {"follows": answer.follows, "fault": answer.fault, "harmful": answer.harmful}
    cast = session.store.judgement(session.study, ballot.key)
    if cast is None or cast.verdict is None:
        return None
    if ballot.mode == "rubric":
        return {"levels": cast.verdict.scores[1:]}
    if ballot.mode in ("pass", "score"):
        return {"score": cast.verdict.scores[0]} if cast.verdict.scores else None
    return {"pick": cast.verdict.pick, "margin": cast.verdict.margin}
