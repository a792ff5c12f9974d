"""The ballot as HTML: equal boxes without colour or name, keys printed on the buttons.

What a button does stands in data-act, the keys that press it in data-vkeys; assets/page.js sends it
with the ballot's place and the comment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from components.drawing.panels import notice, wrap
from components.format import attributes, count, safe
from components.inspect.data import Picture
from components.inspect.pieces import text_html
from components.vote.form import QUESTIONS, UNITS, Sight
from components.vote.login import ACCOUNT, LOGOUT
from studies.ballots import Ballot, Mode
from studies.voting_draw import Standing

LETTERS: Final = "AB"
Key = tuple[str, str]
"""What is printed on the key, and the names that the browser gives it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One button: what it says, what it sends, which key presses it."""

    label: str
    sends: Mapping[str, Any]
    key: Key


PAIR: Final = (
    Choice("A is better", {"pick": 0, "margin": 1}, ("←", "ArrowLeft 1")),
    Choice("Tie", {"pick": "tie", "margin": 0}, ("↓", "ArrowDown t T 2")),
    Choice("B is better", {"pick": 1, "margin": 1}, ("→", "ArrowRight 3")),
)
LEVELS: Final = (
    Choice("A much better", {"pick": 0, "margin": 2}, ("1", "1")),
    Choice("A better", {"pick": 0, "margin": 1}, ("2", "2 ArrowLeft")),
    Choice("Tie", {"pick": "tie", "margin": 0}, ("3", "3 ArrowDown t T")),
    Choice("B better", {"pick": 1, "margin": 1}, ("4", "4 ArrowRight")),
    Choice("B much better", {"pick": 1, "margin": 2}, ("5", "5")),
)
VERIFY: Final = (
    Choice("Yes, it does", {"follows": True, "fault": None}, ("1", "1 y Y ArrowLeft")),
    Choice("No: the answer is wrong", {"follows": False, "fault": "answer"}, ("2", "2")),
    Choice("No: the caption lacks it", {"follows": False, "fault": "caption"}, ("3", "3")),
    Choice("No, neither", {"follows": False, "fault": None}, ("4", "4")),
)


def choices(mode: Mode, options: int) -> tuple[Choice, ...]:
    """The buttons of a form; of N options one is picked."""
    if mode == "options":
        keys = [str(k) if k < 10 else "" for k in range(1, options + 1)]  # there is no key 10
        return tuple(
            Choice(f"Answer {k + 1}", {"pick": k, "margin": 1}, (key, key))
            for k, key in enumerate(keys)
        )
    return {"pair": PAIR, "levels": LEVELS, "verify": VERIFY}[mode]


@dataclass(frozen=True, slots=True)
class Sitting:
    """One voter before one ballot."""

    name: str
    ballot: Ballot
    sight: Sight
    standing: Standing
    given: Mapping[str, Any] | None = None
    """What this person chose here before, as a button sends it."""
    timed: bool = True
    fixed: bool = False
    """The name is that of an account."""
    said: str = ""
    warned: bool = False
    tried: float = 0.0
    """When the same ballot comes back unchanged, the time: what is the same to the letter would
    not reach the browser, whose buttons wait for it."""


def card(sitting: Sitting) -> str:
    ballot = sitting.ballot
    state = {"position": ballot.position, "stamp": ballot.done, "voter": sitting.name}
    made = attributes(
        {"class": f"eh-vote m-{ballot.mode}", "data-ballot": json.dumps(state),
         "data-boxes": len(sitting.sight.texts), "data-tried": sitting.tried or None}
    )  # fmt: skip
    parts = (_top(sitting), _said(sitting), _question(sitting), _boxes(sitting), _foot(sitting))
    return wrap(f"<article{made}>{''.join(parts)}</article>")


# ------------------------------------------------------------------------------------ top


def _top(sitting: Sitting) -> str:
    voted, skipped, total = sitting.standing
    noun = count(total, UNITS[sitting.ballot.mode]).split(" ", 1)[1]
    left = f", {count(skipped)} skipped" if skipped else ""
    acts = (
        act_button("Back", {"act": "back"}, ("B", "b B"))
        + act_button("Next" if sitting.given else "Skip", {"act": "next"}, ("N", "n N s S"))
        + act_button("Undo", {"act": "undo"}, ("U", "u U"))
    )
    return (
        f'<div class="top"><p class="eh-small" role="status"><b>{count(voted)} of {count(total)}'
        f'</b> {noun}{left}<span class="wide">, voting as {voter(sitting.name, sitting.fixed)}; '
        f"names and sides hidden</span></p>"
        f'<div class="acts">{acts}</div></div>{_bar(voted, total)}'
    )


def voter(name: str, fixed: bool) -> str:
    """Under which name, and how to vote under another: one that was typed is typed anew, an account
    is logged out of; a name that came with the page's password is not this page's to change."""
    if name.startswith(ACCOUNT):
        who = f"{safe(name.removeprefix(ACCOUNT))} on Hugging Face"
        return f"{who} ({_link('log out', {'data-log': LOGOUT})})"
    leave = f" ({_link('not you?', {'data-act': json.dumps({'act': 'leave'})})})"
    return f"{safe(name)}{'' if fixed else leave}"


def _link(label: str, does: Mapping[str, str]) -> str:
    made = attributes({"type": "button", "class": "eh-link", **does})
    return f"<button{made}>{safe(label)}</button>"


def _bar(voted: int, total: int) -> str:
    made = attributes(
        {"class": "bar", "role": "progressbar", "aria-label": "Votes given", "aria-valuemin": 0,
         "aria-valuemax": total, "aria-valuenow": voted}
    )  # fmt: skip
    return f'<div{made}><i style="width:{100 * voted / max(total, 1):.1f}%"></i></div>'


def act_button(label: str, sends: Mapping[str, Any], key: Key) -> str:
    made = attributes(
        {"type": "button", "class": "eh-vact", "data-act": json.dumps(sends), "data-vkeys": key[1]}
    )
    return f"<button{made}><kbd>{safe(key[0])}</kbd>{safe(label)}</button>"


def _said(sitting: Sitting) -> str:
    if not sitting.said:
        return ""
    kind: Literal["warn", "calm"] = "warn" if sitting.warned else "calm"
    return f'<div class="said">{notice(kind, "", sitting.said)}</div>'


# ------------------------------------------------------------------------------- question


def _question(sitting: Sitting) -> str:
    sight, mode = sitting.sight, sitting.ballot.mode
    task = f'<span class="task">{safe(sight.task)}</span>' if sight.task else ""
    pictures = "".join(_picture(one, k) for k, one in enumerate(sight.pictures, 1))
    pictures = f'<div class="eh-pictures">{pictures}</div>' if pictures else ""
    return (
        f'<p class="ask">{safe(QUESTIONS[mode])}{task}</p>'
        f'<h1 class="q" dir="auto" tabindex="-1">{text_html(sight.instruction)}</h1>'
        f'<div class="scene">{pictures}<div class="backs">{"".join(_drawers(sight))}</div></div>'
    )


def _picture(one: Picture, place: int) -> str:
    """By number: a file's name may say more than a voter should know."""
    if one.source:
        return f'<img alt="Image {place}" src="{safe(one.source)}">'
    if one.link:
        rel = 'target="_blank" rel="noopener noreferrer nofollow"'
        return f'<p class="eh-small"><a href="{safe(one.link)}" {rel}>Open image {place}</a></p>'
    return f'<p class="eh-small">Image {place} is not beside the data here.</p>'


def _drawers(sight: Sight) -> Iterable[str]:
    """The description is for those who cannot see; where the image is shown it stays folded."""
    seen = any(one.source for one in sight.pictures)
    told = "Image description" if sight.pictures else "Context"
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


def _boxes(sitting: Sitting) -> str:
    texts = sitting.sight.texts
    names = box_names(sitting.ballot.mode, len(texts))
    boxes = "".join(_box(name, text) for name, text in zip(names, texts, strict=True))
    return f'{_switch(names)}<div class="boxes n{min(len(texts), 4)}">{boxes}</div>'


def box_names(mode: Mode, options: int) -> Sequence[str]:
    if mode == "verify":
        return ("Answer",)
    return LETTERS if mode != "options" else [str(k + 1) for k in range(options)]


def _box(name: str, text: str) -> str:
    head = f"<h2>{name}</h2>"
    label = name if name == "Answer" else f"Answer {name}"
    made = attributes({"class": "eh-txt", "dir": "auto", "tabindex": 0, "role": "region",
                       "aria-label": label})  # fmt: skip
    return f'<section class="box">{head}<div{made}>{text_html(text)}</div></section>'


def _switch(names: Sequence[str]) -> str:
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


def _foot(sitting: Sitting) -> str:
    ballot = sitting.ballot
    made = choices(ballot.mode, len(ballot.shown))
    act = "check" if ballot.mode == "verify" else "vote"
    buttons = "".join(_choice(one, act, sitting.given) for one in made)
    return (
        f'<div class="choices c{min(len(made), 5)} k-{ballot.mode}">{buttons}'
        f'<p class="unread eh-small">Read every answer to vote.</p></div>'
        f'<div class="below">{_harmful(sitting)}{_comment(ballot)}{_small_print(sitting)}</div>'
    )


def _choice(one: Choice, act: str, given: Mapping[str, Any] | None) -> str:
    chosen = given is not None and all(given.get(k) == v for k, v in one.sends.items())
    made = attributes(
        {"type": "button", "class": "choice", "data-act": json.dumps({"act": act, **one.sends}),
         "data-vkeys": one.key[1] or None, "aria-pressed": "true" if chosen else None}
    )  # fmt: skip
    key = f"<kbd>{safe(one.key[0])}</kbd>" if one.key[0] else ""
    return f"<button{made}>{key}<span>{safe(one.label)}</span></button>"


def _harmful(sitting: Sitting) -> str:
    if sitting.ballot.mode != "verify":
        return ""
    given = sitting.given or {}
    made = attributes({"type": "checkbox", "data-harmful": "", "data-vkeys": "h H",
                       "checked": "checked" if given.get("harmful") else None})  # fmt: skip
    return (
        f'<label class="flag"><input{made}><kbd>H</kbd> offensive, or advice that does harm</label>'
    )


def _comment(ballot: Ballot) -> str:
    made = attributes({"data-comment": "", "rows": 1, "maxlength": 4000,
                       "placeholder": "why, or what is odd here"})  # fmt: skip
    words = safe(ballot.comment)
    return f'<label class="comment">Comment, if you like<textarea{made}>{words}</textarea></label>'


def _small_print(sitting: Sitting) -> str:
    told = "The time each vote takes is recorded." if sitting.timed else "No time is recorded."
    again = "Some come twice, sides swapped." if sitting.ballot.mode != "verify" else ""
    who = f'<span class="narrow">Voting as {voter(sitting.name, sitting.fixed)}.</span>'
    return f'<p class="eh-small eh-mute">{told} {again} You can stop and go on later. {who}</p>'
