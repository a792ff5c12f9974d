"""HTML of a ballot: answers in equal boxes without colour or name, keyboard keys printed on the
buttons; and of the screens before the first ballot, after the last, and of error screens.

The attribute data-act contains the action of a button, data-vkeys its keys; assets/page.js sends
the action with the number of the ballot and the comment.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.html.format import count
from components.html.markup import Markup, markdown_html
from components.html.pieces import empty_state, notice_html, wrap
from components.html.templates import macros
from components.inspect.html_parts import more_characters_note, text_html, truncate_text
from components.server.hf_login import ACCOUNT_PREFIX, LOGIN_PATH, LOGOUT_PATH
from components.vote.ballot_form import MODES, BallotState
from components.vote.vote_controls import vote_buttons
from judges.verdicts.point_readers import score_by_option
from studies.people.next_ballot import VoterProgress
from studies.store.ballot_queries import SINGLE_MODES, Ballot, BallotMode

html: Final = macros("vote/ballot.html")
ANSWER_LETTERS: Final = "AB"


def ballot_html(ballot: BallotState) -> Markup:
    """HTML of a ballot: progress, question with its context, answers, and buttons to vote."""
    shown, mode = ballot.content, ballot.ballot.mode
    standing = ballot.standing
    # The context is closed at first if the item has an image.
    drawers = [
        ("Image description" if shown.images else "Context", shown.context,
         not any(one.source for one in shown.images)),
        ("Criteria", shown.criteria, True),
        ("Reference answer", shown.reference, False),
    ]  # fmt: skip
    notice = notice_html("warn" if ballot.is_warning else "calm", "", ballot.notice_text)
    return html.ballot(
        ballot,
        state={
            "position": ballot.ballot.position,
            "stamp": ballot.ballot.done,
            "voter": ballot.name,
            "mark": ballot.mark,
        },
        noun=ballot_count_text(standing, mode).split(" ", 1)[1],
        voter=voter_name_html(ballot.name, ballot.name_fixed),
        notice=notice if ballot.notice_text else None,
        question=MODES[mode].question,
        instruction=text_html(shown.instruction),
        drawers=[(title, text_html(text), open) for title, text, open in drawers if text.strip()],
        answers=list(
            zip(answer_labels(mode, len(shown.texts)), map(answer_html, shown.texts), strict=True)
        ),
        buttons=vote_buttons(mode, len(ballot.ballot.shown), shown.scale),
        levels=score_by_option(tuple(shown.scale)) if mode == "rubric" else {},
        given=list((ballot.earlier_vote or {}).get("levels", ())),
        compares=mode not in SINGLE_MODES,
    )


def answer_html(text: str) -> Markup:
    """HTML of an answer, shortened if it is very long; its Markdown is rendered, in all answers
    alike."""
    return markdown_html(truncate_text(text)) + more_characters_note(text)


def ballot_count_text(standing: VoterProgress, mode: BallotMode) -> str:
    """The number of a voter's ballots in words: "3 pairs", or "880 ballots: 800 pairs, 80 of them
    twice"."""
    noun, once = MODES[mode].noun, standing.total - standing.repeats
    if not standing.repeats:
        return count(once, noun)
    again = f"{count(standing.repeats)} of them twice"
    return f"{count(standing.total, 'ballot')}: {count(once, noun)}, {again}"


def answer_labels(mode: BallotMode, options: int) -> Sequence[str]:
    if mode in SINGLE_MODES:
        return ("Answer",)
    return ANSWER_LETTERS if mode != "options" else [str(k + 1) for k in range(options)]


def voter_name_html(name: str, fixed: bool) -> Markup:
    """HTML of the voter's name with a button: to change a typed name, or to log out of a Hugging
    Face account. `fixed`: whether the name comes from a login; a name from the page's own password
    login has no button."""
    account = name.removeprefix(ACCOUNT_PREFIX) if name.startswith(ACCOUNT_PREFIX) else None
    return html.voter(name, fixed, account, LOGOUT_PATH)


# ------------------------------------------------------------------------- other screens


@dataclass(frozen=True, slots=True)
class StartScreen:
    """Texts and options of the start screen."""

    form: str
    """Name of the kind of ballot, and the reason for this kind."""
    name_error: str = ""
    login_error: str = ""
    login: bool = False


def start_screen_html(total: int, mode: BallotMode, start: StartScreen) -> Markup:
    """HTML of the start screen with the name field and, if login is possible, the login button;
    `total` is the number of ballots for one voter."""
    errors = [
        notice_html("bad", "That name cannot be used.", start.name_error)
        if start.name_error
        else "",
        notice_html("warn", "You are not logged in.", start.login_error)
        if start.login_error
        else "",
    ]
    units = count(total, MODES[mode].noun)
    return html.name_form(units, MODES[mode].task, start, errors, LOGIN_PATH, time.time())


def end_screen_html(
    name: str, progress: VoterProgress, mode: BallotMode, notice: str = "", *, fixed: bool = False
) -> Markup:
    """HTML of the screen after all ballots; `fixed`: whether the voter's name cannot be changed."""
    voted, skipped, *_ = progress
    noun = count(voted, "ballot" if progress.repeats else MODES[mode].noun)
    if not voted and not skipped:
        texts = "Nothing is left to vote on.", "All comparisons have enough votes."
    elif skipped:
        texts = f"You have voted on {noun} and skipped {count(skipped)}.", "Thank you."
    else:
        later = "You may get more ballots later if other voters skip theirs."
        texts = f"You have voted on all {noun}; thank you.", later
    state: dict[str, Any] = {"position": 10**9, "stamp": 0, "voter": name}
    told = notice_html("calm", "", notice) if notice else None
    return html.finished(state, told, texts, voter_name_html(name, fixed), voted, skipped)


def store_error_html(name: str, why: str, *, fixed: bool = False) -> Markup:
    """HTML of the error screen if the store cannot be written (`why`: the reason) and there is no
    ballot to show; `fixed`: whether the voter's name cannot be changed."""
    notice = notice_html("bad", "Voting cannot continue.", why)
    return html.write_error(time.time(), notice, voter_name_html(name, fixed))


def nothing_to_vote_html(title: str, why: str) -> Markup:
    return wrap(html.nothing(empty_state(title, why)))


def revealed_models_text(ballot: Ballot) -> str:
    """Sentence that names the models whose answers the previous ballot showed."""
    names = answer_labels(ballot.mode, len(ballot.shown))
    models = ", ".join(f"{n} was {who}" for n, who in zip(names, ballot.shown, strict=True))
    return f"Previous ballot: {models}."
