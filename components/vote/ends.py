"""Before the first ballot and after the last, as HTML: the name, thanks, and nothing to vote on."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from components.drawing.panels import empty, notice, wrap
from components.format import attributes, count, rich, safe
from components.vote.card import act_button, box_names, voter
from components.vote.form import UNITS
from components.vote.login import LEAVE
from studies.ballots import Ballot, Mode
from studies.voting_draw import Standing


@dataclass(frozen=True, slots=True)
class Start:
    """What the first screen says beyond the form itself."""

    form: str
    """Its name, and where it comes from."""
    wrong: str = ""
    """With the name that was typed."""
    told: str = ""
    """Why nobody is logged in, after a login that failed."""
    login: bool = False


def name_form(total: int, mode: Mode, start: Start) -> str:
    """A name is typed once, and the browser remembers it; or an account has one."""
    error = notice("bad", "That name cannot be used.", start.wrong) if start.wrong else ""
    error += notice("warn", "You are not logged in.", start.told) if start.told else ""
    return wrap(
        '<article class="eh-vote start"><h1 class="q" tabindex="-1">Vote blind: '
        f"{count(total, UNITS[mode])}</h1><p>{rich(_what(mode))} You do not see who wrote what, "
        f"nor what any judge said. The form: {safe(start.form)}.</p>{error}"
        f"{_login() if start.login else ''}"
        "<form data-name><label>Your name, to go on later and to count your votes"
        '<input name="voter" maxlength="60" autocomplete="nickname" required></label>'
        f'<button type="submit" class="eh-btn{"" if start.login else " primary"}">Begin</button>'
        "</form></article>"
    )


def _login() -> str:
    made = attributes({"type": "button", "class": "eh-btn primary", "data-log": LEAVE})
    return (
        f'<div class="login"><button{made}>Log in with Hugging Face</button><p class="eh-small">'
        "Your votes are then kept under your account, and nobody else can vote as you. Only its "
        'name is asked for and stored.</p></div><p class="or eh-small"><span>or type a name</span>'
        "</p>"
    )


def _what(mode: Mode) -> str:
    return {
        "pair": "You read a question and two answers, and say which is better.",
        "levels": "You read a question and two answers, and say which is better and how much.",
        "options": "You read a question and several answers, and pick the best.",
        "verify": "You read a question and one answer, and say whether it does what was asked.",
    }[mode]


def done(name: str, standing: Standing, mode: Mode, said: str = "", *, fixed: bool = False) -> str:
    """Nothing left for this person."""
    voted, skipped, _ = standing
    told = notice("calm", "", said) if said else ""
    again = act_button(f"Go through the {count(skipped)} skipped", {"act": "again"}, ("N", "n N"))
    acts = (again if skipped else "") + (
        act_button("Undo the last", {"act": "undo"}, ("U", "u U"))
        + act_button("Look back", {"act": "back"}, ("B", "b B"))
        if voted or skipped
        else ""
    )
    title, why = _farewell(voted, skipped, mode)
    state = json.dumps({"position": 10**9, "stamp": 0, "voter": name})
    return wrap(
        f"<article{attributes({'class': 'eh-vote done', 'data-ballot': state})}>{told}"
        f'<div class="eh-empty"><b>{safe(title)}</b>{safe(why)} Voting as {voter(name, fixed)}.'
        "</div>"
        f'<div class="acts">{acts}</div></article>'
    )


def _farewell(voted: int, skipped: int, mode: Mode) -> tuple[str, str]:
    noun = count(voted, UNITS[mode])
    if not voted and not skipped:
        return "Nothing is left to vote on.", "All have the votes that were asked for."
    if skipped:
        rest = count(skipped)
        return f"You have voted on {noun} and skipped {rest}.", "Thank you."
    return f"You have voted on all {noun}; thank you.", "More may come when others skip some."


def held(name: str, why: str, *, fixed: bool = False) -> str:
    """The store cannot be written, and there was no ballot on the page to go back to."""
    told = notice("bad", "Voting cannot go on.", why)
    again = act_button("Try again", {"act": "show"}, ("N", "n N"))
    made = attributes({"class": "eh-vote", "data-tried": time.time()})
    return wrap(
        f'<article{made}><div class="said">{told}</div><p class="eh-under">Voting as '
        f"{voter(name, fixed)}.</p>"
        f'<div class="acts">{again}</div></article>'
    )


def nothing(title: str, why: str) -> str:
    return wrap(f'<article class="eh-vote">{empty(title, why)}</article>')


def revealed(ballot: Ballot) -> str:
    """Who it was, for those who asked to be told."""
    names = box_names(ballot.mode, len(ballot.shown))
    told = ", ".join(f"{n} was {who}" for n, who in zip(names, ballot.shown, strict=True))
    return f"The last one: {told}."
