"""The ballot as HTML: equal boxes without colour or name, keys printed on the buttons.

What a button does stands in data-act, the keys that press it in data-vkeys; assets/page.js sends it
with the ballot's place and the comment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from components.html.format import attributes, count, escape
from components.html.panel import notice_html, wrap
from components.inspect.html_parts import text_html
from components.inspect.load_comparison import ItemImage
from components.server.hf_login import ACCOUNT_PREFIX, LOGOUT_PATH
from components.vote.ballot_form import FORM_QUESTIONS, UNIT_NOUNS, VoterView
from studies.people.next_ballot import VoterProgress
from studies.store.ballots import Ballot, BallotMode

ANSWER_LETTERS: Final = "AB"
ButtonKey = tuple[str, str]
"""What is printed on the key, and the names that the browser gives it."""


@dataclass(frozen=True, slots=True)
class VoteButton:
    """One button: what it says, what it sends, which key presses it."""

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
    VoteButton("No: the caption lacks it", {"follows": False, "fault": "caption"}, ("3", "3")),
    VoteButton("No, neither", {"follows": False, "fault": None}, ("4", "4")),
)


def vote_buttons(mode: BallotMode, options: int) -> tuple[VoteButton, ...]:
    """The buttons of a form; of N options one is picked."""
    if mode == "options":
        keys = [str(k) if k < 10 else "" for k in range(1, options + 1)]  # there is no key 10
        return tuple(
            VoteButton(f"Answer {k + 1}", {"pick": k, "margin": 1}, (key, key))
            for k, key in enumerate(keys)
        )
    return {"pair": PAIR_BUTTONS, "levels": LEVEL_BUTTONS, "verify": VERIFY_BUTTONS}[mode]


@dataclass(frozen=True, slots=True)
class BallotView:
    """One voter before one ballot."""

    name: str
    ballot: Ballot
    voter_view: VoterView
    standing: VoterProgress
    earlier_vote: Mapping[str, Any] | None = None
    """What this person chose here before, as a button sends it."""
    timed: bool = True
    name_fixed: bool = False
    """The name is that of an account."""
    notice_text: str = ""
    is_warning: bool = False
    retry_time: float = 0.0
    """When the same ballot comes back unchanged, the time: what is the same to the letter would
    not reach the browser, whose buttons wait for it."""


def ballot_html(sitting: BallotView) -> str:
    ballot = sitting.ballot
    state = {"position": ballot.position, "stamp": ballot.done, "voter": sitting.name}
    made = attributes(
        {
            "class": f"eh-vote m-{ballot.mode}",
            "data-ballot": json.dumps(state),
            "data-boxes": len(sitting.voter_view.texts),
            "data-tried": sitting.retry_time or None,
        }
    )
    parts = (
        _progress_html(sitting),
        _notice_html(sitting),
        _question(sitting),
        _answer_boxes(sitting),
        _vote_controls(sitting),
    )
    return wrap(f"<article{made}>{''.join(parts)}</article>")


# ------------------------------------------------------------------------------------ top


def _progress_html(sitting: BallotView) -> str:
    voted, skipped, total = sitting.standing
    noun = count(total, UNIT_NOUNS[sitting.ballot.mode]).split(" ", 1)[1]
    left = f", {count(skipped)} skipped" if skipped else ""
    acts = (
        ballot_button("Back", {"act": "back"}, ("B", "b B"))
        + ballot_button(
            "Next" if sitting.earlier_vote else "Skip", {"act": "next"}, ("N", "n N s S")
        )
        + ballot_button("Undo", {"act": "undo"}, ("U", "u U"))
    )
    return (
        f'<div class="top"><p class="eh-small" role="status"><b>{count(voted)} of {count(total)}'
        f'</b> {noun}{left}<span class="wide">, voting as {voter_html(sitting.name, sitting.name_fixed)}; '
        f"names and sides hidden</span></p>"
        f'<div class="acts">{acts}</div></div>{_progress_bar(voted, total)}'
    )


def voter_html(name: str, fixed: bool) -> str:
    """Under which name, and how to vote under another: one that was typed is typed anew, an account
    is logged out of; a name that came with the page's password is not this page's to change."""
    if name.startswith(ACCOUNT_PREFIX):
        who = f"{escape(name.removeprefix(ACCOUNT_PREFIX))} on Hugging Face"
        return f"{who} ({_link_button('log out', {'data-log': LOGOUT_PATH})})"
    leave = f" ({_link_button('not you?', {'data-act': json.dumps({'act': 'leave'})})})"
    return f"{escape(name)}{'' if fixed else leave}"


def _link_button(label: str, does: Mapping[str, str]) -> str:
    made = attributes({"type": "button", "class": "eh-link", **does})
    return f"<button{made}>{escape(label)}</button>"


def _progress_bar(voted: int, total: int) -> str:
    made = attributes(
        {
            "class": "bar",
            "role": "progressbar",
            "aria-label": "Votes given",
            "aria-valuemin": 0,
            "aria-valuemax": total,
            "aria-valuenow": voted,
        }
    )
    return f'<div{made}><i style="width:{100 * voted / max(total, 1):.1f}%"></i></div>'


def ballot_button(label: str, sends: Mapping[str, Any], key: ButtonKey) -> str:
    made = attributes(
        {"type": "button", "class": "eh-vact", "data-act": json.dumps(sends), "data-vkeys": key[1]}
    )
    return f"<button{made}><kbd>{escape(key[0])}</kbd>{escape(label)}</button>"


def _notice_html(sitting: BallotView) -> str:
    if not sitting.notice_text:
        return ""
    kind: Literal["warn", "calm"] = "warn" if sitting.is_warning else "calm"
    return f'<div class="said">{notice_html(kind, "", sitting.notice_text)}</div>'


# ------------------------------------------------------------------------------- question


def _question(sitting: BallotView) -> str:
    sight, mode = sitting.voter_view, sitting.ballot.mode
    task = f'<span class="task">{escape(sight.task)}</span>' if sight.task else ""
    pictures = "".join(_image_html(one, k) for k, one in enumerate(sight.images, 1))
    pictures = f'<div class="eh-pictures">{pictures}</div>' if pictures else ""
    return (
        f'<p class="ask">{escape(FORM_QUESTIONS[mode])}{task}</p>'
        f'<h1 class="q" dir="auto" tabindex="-1">{text_html(sight.instruction)}</h1>'
        f'<div class="scene">{pictures}<div class="backs">{"".join(_context_drawers(sight))}</div></div>'
    )


def _image_html(one: ItemImage, place: int) -> str:
    """By number: a file's name may say more than a voter should know."""
    if one.source:
        return f'<img alt="Image {place}" src="{escape(one.source)}">'
    if one.link:
        rel = 'target="_blank" rel="noopener noreferrer nofollow"'
        return f'<p class="eh-small"><a href="{escape(one.link)}" {rel}>Open image {place}</a></p>'
    return f'<p class="eh-small">Image {place} is not beside the data here.</p>'


def _context_drawers(sight: VoterView) -> Iterable[str]:
    """The description is for those who cannot see; where the image is shown it stays folded."""
    seen = any(one.source for one in sight.images)
    told = "Image description" if sight.images else "Context"
    for title, text, unfolded in (
        (told, sight.context, not seen),
        ("Criteria", sight.criteria, True),
        ("Reference answer", sight.reference, False),
    ):
        if text.strip():
            made = attributes({"class": "back", "open": "open" if unfolded else None})
            body = f'<div class="eh-txt" dir="auto" tabindex="0">{text_html(text)}</div>'
            yield f"<details{made}><summary>{title}</summary>{body}</details>"


# -------------------------------------------------------------------------------- answers


def _answer_boxes(sitting: BallotView) -> str:
    texts = sitting.voter_view.texts
    names = answer_labels(sitting.ballot.mode, len(texts))
    boxes = "".join(_answer_box(name, text) for name, text in zip(names, texts, strict=True))
    return f'{_answer_switch(names)}<div class="boxes n{min(len(texts), 4)}">{boxes}</div>'


def answer_labels(mode: BallotMode, options: int) -> Sequence[str]:
    if mode == "verify":
        return ("Answer",)
    return ANSWER_LETTERS if mode != "options" else [str(k + 1) for k in range(options)]


def _answer_box(name: str, text: str) -> str:
    head = f"<h2>{name}</h2>"
    label = name if name == "Answer" else f"Answer {name}"
    made = attributes(
        {"class": "eh-txt", "dir": "auto", "tabindex": 0, "role": "region", "aria-label": label}
    )
    return f'<section class="box">{head}<div{made}>{text_html(text)}</div></section>'


def _answer_switch(names: Sequence[str]) -> str:
    """On a phone one answer at a time: what stands above the other is what we measure."""
    if len(names) < 2:
        return ""
    buttons = "".join(
        f'<button type="button" data-side="{k}" aria-pressed="{str(k == 0).lower()}" '
        f'aria-label="Read answer {name}">{name}</button>'
        for k, name in enumerate(names)
    )
    return f'<div class="ab" role="group" aria-label="Which answer">{buttons}</div>'


# ---------------------------------------------------------------------------------- votes


def _vote_controls(sitting: BallotView) -> str:
    ballot = sitting.ballot
    made = vote_buttons(ballot.mode, len(ballot.shown))
    act = "check" if ballot.mode == "verify" else "vote"
    buttons = "".join(_vote_button(one, act, sitting.earlier_vote) for one in made)
    return (
        f'<div class="choices c{min(len(made), 5)} k-{ballot.mode}">{buttons}'
        f'<p class="unread eh-small">Read every answer to vote.</p></div>'
        f'<div class="below">{_harmful_checkbox(sitting)}{_comment_box(ballot)}{_footnote(sitting)}</div>'
    )


def _vote_button(one: VoteButton, act: str, given: Mapping[str, Any] | None) -> str:
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
    key = f"<kbd>{escape(one.key[0])}</kbd>" if one.key[0] else ""
    return f"<button{made}>{key}<span>{escape(one.label)}</span></button>"


def _harmful_checkbox(sitting: BallotView) -> str:
    if sitting.ballot.mode != "verify":
        return ""
    given = sitting.earlier_vote or {}
    made = attributes(
        {
            "type": "checkbox",
            "data-harmful": "",
            "data-vkeys": "h H",
            "checked": "checked" if given.get("harmful") else None,
        }
    )
    return (
        f'<label class="flag"><input{made}><kbd>H</kbd> offensive, or advice that does harm</label>'
    )


def _comment_box(ballot: Ballot) -> str:
    made = attributes(
        {
            "data-comment": "",
            "rows": 1,
            "maxlength": 4000,
            "placeholder": "why, or what is odd here",
        }
    )
    words = escape(ballot.comment)
    return f'<label class="comment">Comment, if you like<textarea{made}>{words}</textarea></label>'


def _footnote(sitting: BallotView) -> str:
    told = "The time each vote takes is recorded." if sitting.timed else "No time is recorded."
    again = "Some come twice, sides swapped." if sitting.ballot.mode != "verify" else ""
    who = f'<span class="narrow">Voting as {voter_html(sitting.name, sitting.name_fixed)}.</span>'
    return f'<p class="eh-small eh-mute">{told} {again} You can stop and go on later. {who}</p>'
