"""HTML of the screens before the first ballot and after the last, and of error screens."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from components.html.format import count
from components.html.markup import Markup, attributes, fill, inline_markup
from components.html.panel import empty_state, notice_html, wrap
from components.server.hf_login import LOGIN_PATH
from components.vote.ballot_form import UNIT_NOUNS
from components.vote.ballot_html import answer_labels
from components.vote.vote_controls import ballot_button, voter_html
from studies.people.next_ballot import VoterProgress
from studies.store.ballot_queries import Ballot, BallotMode


@dataclass(frozen=True, slots=True)
class StartScreen:
    """Texts and options of the start screen."""

    form: str
    """Name of the kind of ballot, and the reason for this kind."""
    name_error: str = ""
    login_error: str = ""
    login: bool = False


def name_form(total: int, mode: BallotMode, start: StartScreen) -> Markup:
    """HTML of the start screen with the name field and, if login is possible, the login button."""
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
        fill(
            '<article class="eh-vote start"><h1 class="q" tabindex="-1">Vote blind: '
            "{}</h1><p>{} The authors of "
            "the answers and the verdicts of judges are hidden. "
            "The form: {}.</p>{}"
            "{}"
            "<form data-name><label>Your name, to continue later and to count your votes"
            '<input name="voter" maxlength="60" autocomplete="nickname" required></label>'
            '<button type="submit" class="eh-btn{}">Begin</button>'
            "</form></article>",
            count(total, UNIT_NOUNS[mode]),
            inline_markup(_task_text(mode)),
            start.form,
            error,
            _login_button() if start.login else "",
            "" if start.login else " primary",
        )
    )


def _login_button() -> Markup:
    made = attributes({"type": "button", "class": "eh-btn primary", "data-log": LOGIN_PATH})
    return fill(
        '<div class="login"><button{}>Log in with Hugging Face</button><p class="eh-small">'
        "Your votes are stored under your account name, which only you can use. No other account "
        'data are requested or stored.</p></div><p class="or eh-small"><span>or type a name</span>'
        "</p>",
        made,
    )


def _task_text(mode: BallotMode) -> str:
    return {
        "pair": "You read a question and two answers, and say which is better.",
        "levels": "You read a question and two answers, and say which is better and by how much.",
        "options": "You read a question and several answers, and pick the best.",
        "verify": "You read a question and one answer, and say whether it follows the instruction.",
        "pass": "You read a question and one answer, and say whether it is good enough.",
        "score": "You read a question and one answer, and give it a score.",
        "rubric": "You read a question and one answer, and give it a level on each criterion.",
    }[mode]


def finished_html(
    name: str, progress: VoterProgress, mode: BallotMode, notice: str = "", *, fixed: bool = False
) -> Markup:
    """HTML of the screen after all ballots; `fixed`: whether the voter's name cannot be changed."""
    voted, skipped, _ = progress
    notice_part = notice_html("calm", "", notice) if notice else ""
    again = ballot_button(
        f"Go through the {count(skipped)} skipped", {"act": "again"}, ("N", "n N")
    )
    actions = (again if skipped else "") + (
        ballot_button("Undo the last vote", {"act": "undo"}, ("U", "u U"))
        + ballot_button("Previous ballot", {"act": "back"}, ("B", "b B"))
        if voted or skipped
        else ""
    )
    title, why = _finished_text(voted, skipped, mode)
    state = json.dumps({"position": 10**9, "stamp": 0, "voter": name})
    return wrap(
        fill(
            "<article{}>{}"
            '<div class="eh-empty"><b>{}</b>{} '
            "Voting as {}.</div>"
            '<div class="acts">{}</div></article>',
            attributes({"class": "eh-vote done", "data-ballot": state}),
            notice_part,
            title,
            why,
            voter_html(name, fixed),
            actions,
        )
    )


def _finished_text(voted: int, skipped: int, mode: BallotMode) -> tuple[str, str]:
    noun = count(voted, UNIT_NOUNS[mode])
    if not voted and not skipped:
        return "Nothing is left to vote on.", "All comparisons have enough votes."
    if skipped:
        rest = count(skipped)
        return f"You have voted on {noun} and skipped {rest}.", "Thank you."
    return (
        f"You have voted on all {noun}; thank you.",
        "You may get more ballots later if other voters skip theirs.",
    )


def write_error_html(name: str, why: str, *, fixed: bool = False) -> Markup:
    """HTML of the error screen if the store cannot be written and there is no ballot to show;
    `fixed`: whether the voter's name cannot be changed."""
    notice = notice_html("bad", "Voting cannot continue.", why)
    again = ballot_button("Try again", {"act": "show"}, ("N", "n N"))
    made = attributes({"class": "eh-vote", "data-tried": time.time()})
    return wrap(
        fill(
            '<article{}><div class="said">{}</div><p class="eh-under">Voting as '
            "{}.</p>"
            '<div class="acts">{}</div></article>',
            made,
            notice,
            voter_html(name, fixed),
            again,
        )
    )


def nothing_to_vote_html(title: str, why: str) -> Markup:
    return wrap(fill('<article class="eh-vote">{}</article>', empty_state(title, why)))


def reveal_text(ballot: Ballot) -> str:
    """Sentence that names the models whose answers the previous ballot showed."""
    names = answer_labels(ballot.mode, len(ballot.shown))
    models = ", ".join(f"{n} was {who}" for n, who in zip(names, ballot.shown, strict=True))
    return f"Previous ballot: {models}."
