"""Inspect as HTML: the list of comparisons, and what is said where there is none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from components.drawing.panels import Action, empty, status_badge, verdict_chip, wrap
from components.format import attributes, count, number, safe
from components.inspect.data import View
from components.inspect.filters import filter_bar
from components.inspect.opened import opened_html
from components.inspect.rows import PAGE, Line, Mark
from components.inspect.selection import FAILURES, Selection, changed, selection_from
from components.inspect.verified import ANY
from studies.records import EVIDENCE

__all__ = ["Selection", "changed", "filter_bar", "list_html", "opened_panel", "selection_from"]

_MOST_CHIPS: Final = 6
_MOST_QUESTION: Final = 160


# ------------------------------------------------------------------------- list


def list_html(view: View) -> str:
    """Question, the chips of all orders, the pair; the foot turns the page."""
    if not view.total:
        return ""
    several = _several(view)
    rows = "".join(_row(line, view, several) for line in view.lines)
    orders = max(len(line.marks) for line in view.lines)
    told = "slot picked: as asked, swapped" if orders == 2 else "slot picked, order by order"
    head = f'<div class="h"><span>{told}</span><span>{count(view.total)}</span></div>'
    address = {k: v for k, v in view.selection.as_mapping().items() if k != "study"}
    made = attributes({"class": "eh-list", "data-address": json.dumps(address)})
    return wrap(
        f'<section{made} aria-label="Comparisons in view">{head}<ol>{rows}</ol>{_foot(view)}'
        "</section>"
    )


def _several(view: View) -> tuple[str, ...]:
    """What has to be named in every line, because more than one is in view."""
    offered = view.choices or {}
    return tuple(
        name
        for name in ("judge", "prompt")
        if len(offered.get(name, ())) > 1 and not getattr(view.selection, name)
    )


def _row(line: Line, view: View, several: Sequence[str]) -> str:
    key = (view.keys or {}).get(line.at, "")
    question = (view.questions or {}).get(line.item) or line.item
    chips = "".join(_chip(mark) for mark in line.marks[:_MOST_CHIPS])
    chips += "<span>\u2026</span>" if len(line.marks) > _MOST_CHIPS else ""
    chips += "".join(status_badge(status) for status in dict.fromkeys(line.repeats_failed))
    who = " \u00b7 ".join(safe(name) for name in line.names)
    by = ", ".join(safe(getattr(line, name)) for name in several)
    made = attributes(
        {
            "type": "button",
            "data-select": json.dumps({"key": key}),
            "aria-current": "true" if key and key == view.selection.key else None,
        }
    )
    return (
        f'<li><button{made}><span class="q" dir="auto">{safe(_shortened(question))}</span>'
        f'<span class="m">{chips}<span class="w">{who}</span></span>'
        + (f'<span class="by">{by}</span>' if by else "")
        + "</button></li>"
    )


def _chip(mark: Mark) -> str:
    if mark.status not in EVIDENCE:
        return status_badge(mark.status)
    if mark.pick is None and mark.scores:
        scores = " \u00b7 ".join(number(score, 0 if score % 1 == 0 else 1) for score in mark.scores)
        return f'<span class="eh-slot">{scores}</span>'
    return verdict_chip(mark.pick)


def _foot(view: View) -> str:
    page, last = view.selection.page, (view.total - 1) // PAGE
    start = page * PAGE
    end = min(start + PAGE, view.total)
    turns = ""
    if last:
        turns = _turn("\u2039", "Previous page", page - 1, page > 0)
        turns += _turn("Next page", "Next page", page + 1, page < last)
    keys = "<kbd>j</kbd><kbd>k</kbd>" if view.total > 1 else ""
    shown = count(end) if end == start + 1 else f"{count(start + 1)}\u2013{count(end)}"
    return (
        f'<div class="f"><span>{shown} of {count(view.total)}</span>'
        f'<span class="eh-row">{keys}{turns}</span></div>'
    )


def _turn(text: str, label: str, page: int, possible: bool) -> str:
    made = attributes(
        {
            "type": "button",
            "class": "eh-btn small",
            "aria-label": label,
            "data-select": json.dumps({"page": page}),
            "disabled": None if possible else "disabled",
        }
    )
    return f"<button{made}>{text}</button>"


def _shortened(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _MOST_QUESTION else words[: _MOST_QUESTION - 1] + "\u2026"


# ----------------------------------------------------------------------- opened


def opened_panel(view: View) -> str:
    """The comparison that is opened, or what to do where there is none."""
    if view.opened is not None:
        return opened_html(view.opened, view.place, view.total, view.previous, view.next)
    return nothing(view)


def nothing(view: View) -> str:
    """Why there is nothing to read, and the way out."""
    selection = view.selection
    if view.choices is None:
        named = f"No study is named {selection.study}." if selection.study else "No study in view."
        way = "Choose one at the top of the page." if view.studies else "Make one on the Study tab."
        return empty(named, way)
    everything = (view.counts or {}).get("all", 0)
    if not selection.filtered and not everything:
        return empty(
            "No judgements yet.",
            f"{count(view.planned)} asks are planned. Start the run on the Run tab: replies can be "
            "read here as they come in."
            if view.planned
            else "This study plans no asks. Name its data, a judge and a prompt on the Study tab.",
        )
    return empty(
        "No comparison passes these filters.",
        _reason(view),
        Action("Show every comparison", {"clear": True}),
    )


def _reason(view: View) -> str:
    selection = view.selection
    if selection.text and not (view.counts or {}).get("all"):
        return f"Neither a question nor a reply holds \u201c{selection.text}\u201d here."
    if selection.flipped and not (view.counts or {}).get("flipped"):
        return (
            "No verdict in view changed with the order; a comparison counts once all its orders "
            "were read."
        )
    if selection.status == FAILURES:
        return "Every reply in view was read."
    if selection.verified and not (view.verified or {}).get(ANY):
        return "Nobody has verified an answer that is in view: people do so on the Vote tab."
    return "Take one of them away, or show everything."
