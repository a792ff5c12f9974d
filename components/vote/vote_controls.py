"""Controls of a ballot: vote buttons with their keys, rubric levels, comment and footnote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.html.markup import EMPTY, Markup, attributes, escape, fill, join, link_button
from components.server.hf_login import ACCOUNT_PREFIX, LOGOUT_PATH
from components.vote.ballot_form import BallotView
from judges.verdicts.point_readers import option_values
from studies.store.ballot_queries import SINGLE_MODES, Ballot, BallotMode

ButtonKey = tuple[str, str]
"""(key symbol printed on the button, names of the keys in browser events separated by spaces)."""


@dataclass(frozen=True, slots=True)
class VoteButton:
    """A button for one vote: its label, the data it sends, and its keyboard key."""

    label: str
    payload: Mapping[str, Any]
    key: ButtonKey


PAIR_BUTTONS: Final = (
    VoteButton("A is better", {"pick": 0, "margin": 1}, ("←", "ArrowLeft 1")),
    VoteButton("Tie", {"pick": "tie", "margin": 0}, ("↓", "ArrowDown t T 2")),
    VoteButton("B is better", {"pick": 1, "margin": 1}, ("→", "ArrowRight 3")),
)
LEVEL_BUTTONS: Final = (
    VoteButton("A much better", {"pick": 0, "margin": 2}, ("1", "1")),
    VoteButton("A better", {"pick": 0, "margin": 1}, ("2", "2 ArrowLeft")),
    VoteButton("Tie", {"pick": "tie", "margin": 0}, ("3", "3 ArrowDown t T")),
    VoteButton("B better", {"pick": 1, "margin": 1}, ("4", "4 ArrowRight")),
    VoteButton("B much better", {"pick": 1, "margin": 2}, ("5", "5")),
)
VERIFY_BUTTONS: Final = (
    VoteButton("Yes, it does", {"follows": True, "fault": None}, ("1", "1 y Y ArrowLeft")),
    VoteButton("No: the answer is wrong", {"follows": False, "fault": "answer"}, ("2", "2")),
    VoteButton("No: the caption is incomplete", {"follows": False, "fault": "caption"}, ("3", "3")),
    VoteButton("No: another reason", {"follows": False, "fault": None}, ("4", "4")),
)
PASS_BUTTONS: Final = (
    VoteButton("Pass", {"score": 1.0}, ("1", "1 p P ArrowLeft")),
    VoteButton("Fail", {"score": 0.0}, ("2", "2 f F ArrowRight")),
)


def vote_buttons(
    mode: BallotMode, options: int, scale: Sequence[str] = ()
) -> tuple[VoteButton, ...]:
    """The vote buttons of a ballot; for a choice among N options, one per answer; for a score, one
    per option of the scale."""
    if mode == "score":
        keys = [str(k) if k < 10 else "" for k in range(1, len(scale) + 1)]
        return tuple(
            VoteButton(name, {"score": value}, (key, key))
            for key, (name, value) in zip(keys, option_values(tuple(scale)).items(), strict=False)
        )
    if mode == "options":
        keys = [str(k) if k < 10 else "" for k in range(1, options + 1)]  # there is no key 10
        return tuple(
            VoteButton(f"Answer {k + 1}", {"pick": k, "margin": 1}, (key, key))
            for k, key in enumerate(keys)
        )
    return {
        "pair": PAIR_BUTTONS,
        "levels": LEVEL_BUTTONS,
        "verify": VERIFY_BUTTONS,
        "pass": PASS_BUTTONS,
    }[mode]


def voter_html(name: str, fixed: bool) -> str:
    """HTML of the voter's name, with a button to change it. A typed name can be replaced and a
    Hugging Face account logged out; a name from the page's password login is fixed."""
    if name.startswith(ACCOUNT_PREFIX):
        out = link_button("log out", {"data-log": LOGOUT_PATH})
        return fill("{} on Hugging Face ({})", name.removeprefix(ACCOUNT_PREFIX), out)
    if fixed:
        return escape(name)
    leave = link_button("not you?", {"data-act": json.dumps({"act": "leave"})})
    return fill("{} ({})", name, leave)


def ballot_button(label: str, sends: Mapping[str, Any], key: ButtonKey) -> Markup:
    made = attributes(
        {"type": "button", "class": "eh-vact", "data-act": json.dumps(sends), "data-vkeys": key[1]}
    )
    return fill("<button{}><kbd>{}</kbd>{}</button>", made, key[0], label)


def vote_controls(view: BallotView) -> Markup:
    ballot = view.ballot
    if ballot.mode == "rubric":
        return _rubric_controls(view)
    made = vote_buttons(ballot.mode, len(ballot.shown), view.voter_view.scale)
    act = "check" if ballot.mode == "verify" else "vote"
    buttons = join(_vote_button(one, act, view.earlier_vote) for one in made)
    return fill(
        '<div class="choices c{} k-{}">{}'
        '<p class="unread eh-small">Read every answer to vote.</p></div>'
        '<div class="below">{}{}{}</div>',
        min(len(made), 5),
        ballot.mode,
        buttons,
        _harmful_checkbox(view),
        _comment_box(ballot),
        _footnote(view),
    )


def _rubric_controls(view: BallotView) -> Markup:
    """HTML with one row of levels for each criterion, and the button that saves all levels. A digit
    key chooses the level of the first criterion that has none."""
    values = option_values(tuple(view.voter_view.scale))
    given = list((view.earlier_vote or {}).get("levels", ()))
    rows = join(
        _criterion_row(place, name, text, values, given[place] if place < len(given) else None)
        for place, (name, text) in enumerate(view.voter_view.rubric)
    )
    save = attributes(
        {
            "type": "button",
            "class": "choice",
            "data-act": json.dumps({"act": "vote"}),
            "data-vkeys": "Enter",
            "data-needs-levels": "",
        }
    )
    lowest, *_, highest = values
    return fill(
        '<p class="eh-small eh-mute">{} is the lowest level, {} the highest.</p>'
        '<div class="rubric">{}</div><div class="choices c1 k-rubric">'
        "<button{}><kbd>Enter</kbd><span>Save these levels</span></button>"
        '<p class="unread eh-small">Choose a level for each criterion.</p></div>'
        '<div class="below">{}{}</div>',
        lowest,
        highest,
        rows,
        save,
        _comment_box(view.ballot),
        _footnote(view),
    )


def _criterion_row(
    place: int, name: str, text: str, values: Mapping[str, float], given: float | None
) -> Markup:
    buttons = []
    for key, (level, value) in enumerate(values.items(), start=1):
        made = attributes(
            {
                "type": "button",
                "class": "level",
                "data-criterion": place,
                "data-level": value,
                "data-key": str(key) if key < 10 else None,
                "data-given": "true" if value == given else None,
                "aria-pressed": "true" if value == given else "false",
                "aria-label": f"{name}: {level}",
            }
        )
        buttons.append(fill("<button{}>{}</button>", made, level))
    return fill(
        '<div class="criterion" role="group" aria-label="{}"><div><b>{}</b>'
        '<p class="eh-small">{}</p></div><div class="levels">{}</div></div>',
        name,
        name,
        text,
        join(buttons),
    )


def _vote_button(one: VoteButton, act: str, given: Mapping[str, Any] | None) -> Markup:
    chosen = given is not None and all(given.get(k) == v for k, v in one.payload.items())
    made = attributes(
        {
            "type": "button",
            "class": "choice",
            "data-act": json.dumps({"act": act, **one.payload}),
            "data-vkeys": one.key[1] or None,
            "aria-pressed": "true" if chosen else None,
        }
    )
    key = fill("<kbd>{}</kbd>", one.key[0]) if one.key[0] else ""
    return fill("<button{}>{}<span>{}</span></button>", made, key, one.label)


def _harmful_checkbox(view: BallotView) -> Markup:
    if view.ballot.mode != "verify":
        return EMPTY
    given = view.earlier_vote or {}
    made = attributes(
        {
            "type": "checkbox",
            "data-harmful": "",
            "data-vkeys": "h H",
            "checked": "checked" if given.get("harmful") else None,
        }
    )
    return fill('<label class="flag"><input{}><kbd>H</kbd> offensive or harmful</label>', made)


def _comment_box(ballot: Ballot) -> Markup:
    made = attributes(
        {
            "data-comment": "",
            "rows": 1,
            "maxlength": 4000,
            "placeholder": "the reason for your vote, or a problem with this item",
        }
    )
    words = escape(ballot.comment)
    return fill(
        '<label class="comment">Comment (optional)<textarea{}>{}</textarea></label>', made, words
    )


def _footnote(view: BallotView) -> Markup:
    timing = "The time each vote takes is recorded." if view.timed else "No time is recorded."
    compares = view.ballot.mode not in SINGLE_MODES
    repeats = "Some pairs are shown twice, with the answers swapped." if compares else ""
    who = fill('<span class="narrow">Voting as {}.</span>', voter_html(view.name, view.name_fixed))
    return fill(
        '<p class="eh-small eh-mute">{} {} You can stop and continue later. {}</p>',
        timing,
        repeats,
        who,
    )
