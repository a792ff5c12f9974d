"""HTML of a ballot: answers in equal boxes without colour or name, keyboard keys printed on the
buttons.

The attribute data-act contains the action of a button, data-vkeys its keys; assets/page.js sends
the action with the number of the ballot and the comment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from components.html.format import count
from components.html.markup import EMPTY, Markup, attributes, fill, join
from components.html.panel import notice_html, wrap
from components.inspect.html_parts import text_html
from components.inspect.load_comparison import ItemImage
from components.vote.ballot_form import FORM_QUESTIONS, UNIT_NOUNS, BallotView, VoterView
from components.vote.vote_controls import ballot_button, vote_controls, voter_html
from studies.store.ballot_queries import SINGLE_MODES, BallotMode

ANSWER_LETTERS: Final = "AB"


def ballot_html(view: BallotView) -> Markup:
    ballot = view.ballot
    state = {"position": ballot.position, "stamp": ballot.done, "voter": view.name}
    made = attributes(
        {
            "class": f"eh-vote m-{ballot.mode}",
            "data-ballot": json.dumps(state),
            "data-boxes": len(view.voter_view.texts),
            "data-tried": view.retry_time or None,
        }
    )
    parts = (
        _progress_html(view),
        _notice_html(view),
        _question(view),
        _answer_boxes(view),
        vote_controls(view),
    )
    return wrap(fill("<article{}>{}</article>", made, join(parts)))


# ------------------------------------------------------------------------------------ top


def _progress_html(view: BallotView) -> Markup:
    voted, skipped, total = view.standing
    noun = count(total, UNIT_NOUNS[view.ballot.mode]).split(" ", 1)[1]
    left = f", {count(skipped)} skipped" if skipped else ""
    actions = (
        ballot_button("Back", {"act": "back"}, ("B", "b B"))
        + ballot_button("Next" if view.earlier_vote else "Skip", {"act": "next"}, ("N", "n N s S"))
        + ballot_button("Undo", {"act": "undo"}, ("U", "u U"))
    )
    return fill(
        '<div class="top"><p class="eh-small" role="status"><b>{} of {}'
        '</b> {}{}<span class="wide">, voting as '
        "{}; names hidden, order random</span></p>"
        '<div class="acts">{}</div></div>{}',
        count(voted),
        count(total),
        noun,
        left,
        voter_html(view.name, view.name_fixed),
        actions,
        _progress_bar(voted, total),
    )


def _progress_bar(voted: int, total: int) -> Markup:
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
    return fill('<div{}><i style="width:{:.1f}%"></i></div>', made, 100 * voted / max(total, 1))


def _notice_html(view: BallotView) -> Markup:
    if not view.notice_text:
        return EMPTY
    kind: Literal["warn", "calm"] = "warn" if view.is_warning else "calm"
    return fill('<div class="said">{}</div>', notice_html(kind, "", view.notice_text))


# ------------------------------------------------------------------------------- question


def _question(view: BallotView) -> Markup:
    shown_item, mode = view.voter_view, view.ballot.mode
    task = fill('<span class="task">{}</span>', shown_item.task) if shown_item.task else ""
    images = join(_image_html(one, k) for k, one in enumerate(shown_item.images, 1))
    images = fill('<div class="eh-pictures">{}</div>', images) if images else EMPTY
    drawers = join(_context_drawers(shown_item))
    return fill(
        '<p class="ask">{}{}</p>'
        '<h1 class="q" dir="auto" tabindex="-1">{}</h1>'
        '<div class="scene">{}<div class="backs">{}</div></div>',
        FORM_QUESTIONS[mode],
        task,
        text_html(shown_item.instruction),
        images,
        drawers,
    )


def _image_html(one: ItemImage, place: int) -> Markup:
    """HTML of an image labelled by its number, because a file name may reveal the model."""
    if one.source:
        return fill('<img alt="Image {}" src="{}">', place, one.source)
    if one.link:
        rel = Markup('target="_blank" rel="noopener noreferrer nofollow"')
        return fill(
            '<p class="eh-small"><a href="{}" {}>Open image {}</a></p>', one.link, rel, place
        )
    return fill('<p class="eh-small">Image {} is missing from the data.</p>', place)


def _context_drawers(shown_item: VoterView) -> Iterable[str]:
    """HTML of expandable context, criteria and reference answer; the context is closed initially if
    the item has an image."""
    has_image = any(one.source for one in shown_item.images)
    title_text = "Image description" if shown_item.images else "Context"
    for title, text, unfolded in (
        (title_text, shown_item.context, not has_image),
        ("Criteria", shown_item.criteria, True),
        ("Reference answer", shown_item.reference, False),
    ):
        if text.strip():
            made = attributes({"class": "back", "open": "open" if unfolded else None})
            body = fill('<div class="eh-txt" dir="auto" tabindex="0">{}</div>', text_html(text))
            yield fill("<details{}><summary>{}</summary>{}</details>", made, title, body)


# -------------------------------------------------------------------------------- answers


def _answer_boxes(view: BallotView) -> Markup:
    texts = view.voter_view.texts
    names = answer_labels(view.ballot.mode, len(texts))
    boxes = join(_answer_box(name, text) for name, text in zip(names, texts, strict=True))
    return fill(
        '{}<div class="boxes n{}">{}</div>', _answer_switch(names), min(len(texts), 4), boxes
    )


def answer_labels(mode: BallotMode, options: int) -> Sequence[str]:
    if mode in SINGLE_MODES:
        return ("Answer",)
    return ANSWER_LETTERS if mode != "options" else [str(k + 1) for k in range(options)]


def _answer_box(name: str, text: str) -> Markup:
    head = fill("<h2>{}</h2>", name)
    label = name if name == "Answer" else f"Answer {name}"
    made = attributes(
        {"class": "eh-txt", "dir": "auto", "tabindex": 0, "role": "region", "aria-label": label}
    )
    return fill('<section class="box">{}<div{}>{}</div></section>', head, made, text_html(text))


def _answer_switch(names: Sequence[str]) -> Markup:
    """HTML switch between the answers for phones, where only one answer is shown at a time: if one
    stood below the other, the upper one would be favoured."""
    if len(names) < 2:
        return EMPTY
    buttons = join(
        fill(
            '<button type="button" data-side="{}" aria-pressed="{}" '
            'aria-label="Read answer {}">{}</button>',
            k,
            str(k == 0).lower(),
            name,
            name,
        )
        for k, name in enumerate(names)
    )
    return fill('<div class="ab" role="group" aria-label="Which answer">{}</div>', buttons)
