"""Before the first ballot and after the last, as HTML: the name, thanks, and nothing to vote on."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from components.html.format import attributes, count, escape, inline_markup
from components.html.panel import empty_state, notice_html, wrap
from components.server.hf_login import LOGIN_PATH
from components.vote.ballot_form import UNIT_NOUNS
from components.vote.ballot_html import answer_labels, ballot_button, voter_html
from studies.people.next_ballot import VoterProgress
from studies.store.ballots import Ballot, BallotMode


@dataclass(frozen=True, slots=True)
class StartScreen:
    """What the first screen says beyond the form itself."""

    form: str
    """Its name, and where it comes from."""
    name_error: str = ""
    """With the name that was typed."""
    login_error: str = ""
    """Why nobody is logged in, after a login that failed."""
    login: bool = False


def name_form(total: int, mode: BallotMode, start: StartScreen) -> str:
    """A name is typed once, and the browser remembers it; or an account has one."""
    error = (
        notice_html("bad", "That name cannot be used.", start.name_error)
        if start.name_error
        else ""
    )
    error += (
        notice_html("warn", "You are not logged in.", start.login_error)
        if start.login_error
        else ""
    )
    return wrap(
        '<article class="eh-vote start"><h1 class="q" tabindex="-1">Vote blind: '
        f"{count(total, UNIT_NOUNS[mode])}</h1><p>{inline_markup(_task_text(mode))} You do not see who wrote what, "
        f"nor what any judge said. The form: {escape(start.form)}.</p>{error}"
        f"{_login_button() if start.login else ''}"
        "<form data-name><label>Your name, to go on later and to count your votes"
        '<input name="voter" maxlength="60" autocomplete="nickname" required></label>'
        f'<button type="submit" class="eh-btn{"" if start.login else " primary"}">Begin</button>'
        "</form></article>"
    )


def _login_button() -> str:
    made = attributes({"type": "button", "class": "eh-btn primary", "data-log": LOGIN_PATH})
    return (
        f'<div class="login"><button{made}>Log in with Hugging Face</button><p class="eh-small">'
        "Your votes are then kept under your account, and nobody else can vote as you. Only its "
        'name is asked for and stored.</p></div><p class="or eh-small"><span>or type a name</span>'
        "</p>"
    )


def _task_text(mode: BallotMode) -> str:
    return {
        "pair": "You read a question and two answers, and say which is better.",
        "levels": "You read a question and two answers, and say which is better and how much.",
        "options": "You read a question and several answers, and pick the best.",
        "verify": "You read a question and one answer, and say whether it does what was asked.",
    }[mode]


def finished_html(
    name: str, standing: VoterProgress, mode: BallotMode, said: str = "", *, fixed: bool = False
) -> str:
    """Nothing left for this person."""
    voted, skipped, _ = standing
    told = notice_html("calm", "", said) if said else ""
    again = ballot_button(
        f"Go through the {count(skipped)} skipped", {"act": "again"}, ("N", "n N")
    )
    acts = (again if skipped else "") + (
        ballot_button("Undo the last", {"act": "undo"}, ("U", "u U"))
        + ballot_button("Look back", {"act": "back"}, ("B", "b B"))
        if voted or skipped
        else ""
    )
    title, why = _finished_text(voted, skipped, mode)
    state = json.dumps({"position": 10**9, "stamp": 0, "voter": name})
    return wrap(
        f"<article{attributes({'class': 'eh-vote done', 'data-ballot': state})}>{told}"
        f'<div class="eh-empty"><b>{escape(title)}</b>{escape(why)} Voting as {voter_html(name, fixed)}.'
        "</div>"
        f'<div class="acts">{acts}</div></article>'
    )


def _finished_text(voted: int, skipped: int, mode: BallotMode) -> tuple[str, str]:
    noun = count(voted, UNIT_NOUNS[mode])
    if not voted and not skipped:
        return "Nothing is left to vote on.", "All have the votes that were asked for."
    if skipped:
        rest = count(skipped)
        return f"You have voted on {noun} and skipped {rest}.", "Thank you."
    return f"You have voted on all {noun}; thank you.", "More may come when others skip some."


def write_error_html(name: str, why: str, *, fixed: bool = False) -> str:
    """The store cannot be written, and there was no ballot on the page to go back to."""
    told = notice_html("bad", "Voting cannot go on.", why)
    again = ballot_button("Try again", {"act": "show"}, ("N", "n N"))
    made = attributes({"class": "eh-vote", "data-tried": time.time()})
    return wrap(
        f'<article{made}><div class="said">{told}</div><p class="eh-under">Voting as '
        f"{voter_html(name, fixed)}.</p>"
        f'<div class="acts">{again}</div></article>'
    )


def nothing_to_vote_html(title: str, why: str) -> str:
    return wrap(f'<article class="eh-vote">{empty_state(title, why)}</article>')


def reveal_text(ballot: Ballot) -> str:
    """Who it was, for those who asked to be told."""
    names = answer_labels(ballot.mode, len(ballot.shown))
    told = ", ".join(f"{n} was {who}" for n, who in zip(names, ballot.shown, strict=True))
    return f"The last one: {told}."
