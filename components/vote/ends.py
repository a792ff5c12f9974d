"""Before the first ballot and after the last, as HTML: the name, thanks, and nothing to vote on."""

from __future__ import annotations

import json

from components.drawing.panels import empty, notice, wrap
from components.format import attributes, count, rich, safe
from components.vote.card import act_button, box_names, leave_button
from components.vote.form import UNITS
from studies.ballots import Ballot, Mode
from studies.voting_draw import Standing


def name_form(total: int, mode: Mode, told: str, wrong: str = "") -> str:
    """A name is typed once; the browser remembers it."""
    noun = count(total, UNITS[mode])
    error = notice("bad", "That name cannot be used.", wrong) if wrong else ""
    return wrap(
        '<article class="eh-vote start"><h1 class="q" tabindex="-1">Vote blind: '
        f"{noun}</h1><p>{rich(_what(mode))} You do not see who wrote what, nor what any judge "
        f"said. The form: {safe(told)}.</p>{error}"
        "<form data-name><label>Your name, to go on later and to count your votes"
        '<input name="voter" maxlength="60" autocomplete="nickname" required></label>'
        '<button type="submit" class="eh-btn primary">Begin</button></form></article>'
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
    state = json.dumps({"position": 10**9, "stamp": 0})
    return wrap(
        f"<article{attributes({'class': 'eh-vote done', 'data-ballot': state})}>{told}"
        f'<div class="eh-empty"><b>{safe(title)}</b>{safe(why)} Voting as {safe(name)}'
        f"{leave_button(fixed)}.</div>"
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


def nothing(title: str, why: str) -> str:
    return wrap(f'<article class="eh-vote">{empty(title, why)}</article>')


def revealed(ballot: Ballot) -> str:
    """Who it was, for those who asked to be told."""
    names = box_names(ballot.mode, len(ballot.shown))
    told = ", ".join(f"{n} was {who}" for n, who in zip(names, ballot.shown, strict=True))
    return f"The last one: {told}."
