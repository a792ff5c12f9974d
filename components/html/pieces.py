"""Small parts of the page as HTML: findings, rows of key figures, notices, badges, buttons.

Every text is escaped here by `inline_markup` or `escape`: callers pass plain sentences (with
**bold** and `code`) and raw names from data. Clickable elements carry data-select and need
components.layout.widgets.ClickableHTML.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from components.html.format import DASH, attributes, count, escape, inline_markup
from studies.domain import Status

STATUS_GLYPHS: Final[Mapping[Status, str]] = {
    "ok": "\u2713",
    "extracted": "\u21b3",
    "unreadable": "?",
    "empty": "\u2205",
    "refusal": "\u2298",
    "filtered": "\u2297",
    "truncated": "\u2026",
    "too_long": "\u21e5",
    "unsupported": "\u2260",
    "error": "!",
}
LegendMark = Literal[
    "first",
    "second",
    "tie",
    "win",
    "even",
    "chance",
    "dot",
    "diamond",
    "tick",
    "band",
    "ring",
    "limit",
]


@dataclass(frozen=True, slots=True)
class Kpi:
    """One key figure: label ("Unusable replies"), value ("18"), unit ("of 8,000"), and the note
    below."""

    label: str
    value: str
    unit: str = ""
    note: str = ""
    link: str = ""
    select: Any = None
    meter: tuple[float, float] | None = None
    """Spent and forecast share of the budget, 0 to 1."""


def unusable_replies_kpi(
    failed: int, replies: int, note: str = "unreadable, empty or failed"
) -> Kpi:
    """The number of replies without a usable verdict, with a link to them."""
    link, select = ("Open", {"status": "failures"}) if failed else ("", None)
    return Kpi("Unusable replies", count(failed), f"of {count(replies)}", note, link, select)


@dataclass(frozen=True, slots=True)
class Action:
    """A button whose label names its effect and cost; a click sends `select`."""

    label: str
    select: Any
    primary: bool = False


def wrap(*parts: str) -> str:
    """Wrap finished HTML in the element that carries the page's fonts and spacing."""
    return f'<div class="eh">{"".join(parts)}</div>'


def finding_html(title: str, lead: str = "") -> str:
    """A finding as one sentence, and a second one on how to read it."""
    below = f"<p>{inline_markup(lead)}</p>" if lead else ""
    return wrap(f'<header class="eh-finding"><h1>{inline_markup(title)}</h1>{below}</header>')


def legend_key(mark: LegendMark, text: str) -> str:
    return f'<span class="eh-key"><i class="{mark}"></i>{escape(text)}</span>'


def panel_heading(
    title: str, subtitle: str = "", keys: Sequence[tuple[LegendMark, str]] = ()
) -> str:
    """The head of a panel: title; subtitle with unit, n and interval; legend keys."""
    return wrap(panel_head(title, subtitle, keys))


def panel_html(
    title: str,
    subtitle: str,
    body: str,
    *,
    keys: Sequence[tuple[LegendMark, str]] = (),
    how_text: str = "",
) -> str:
    """A whole panel; `body` is finished HTML."""
    foot = how_computed_details(how_text) if how_text else ""
    inner = f"{panel_head(title, subtitle, keys)}{body}{foot}"
    return wrap(f'<section class="eh-panel">{inner}</section>')


def panel_head(title: str, subtitle: str, keys: Sequence[tuple[LegendMark, str]]) -> str:
    below = f"<p>{inline_markup(subtitle)}</p>" if subtitle else ""
    row = "".join(legend_key(mark, text) for mark, text in keys)
    aside = f'<div class="eh-row">{row}</div>' if row else ""
    return (
        f'<header class="eh-head"><div><h2>{inline_markup(title)}</h2>{below}</div>{aside}</header>'
    )


def kpi_strip(kpis: Sequence[Kpi]) -> str:
    """A row of at most five key figures."""
    if len(kpis) > 5:
        raise ValueError(f"at most five key figures fit in a row, got {len(kpis)}")
    cells = "".join(_kpi_html(kpi) for kpi in kpis)
    return wrap(f'<dl class="eh-kpis" style="--n: {len(kpis)}">{cells}</dl>')


def _kpi_html(kpi: Kpi) -> str:
    unit = f" <small>{inline_markup(kpi.unit)}</small>" if kpi.unit else ""
    opens = rich_link(kpi.link, kpi.select) if kpi.link else ""
    note = "; ".join(part for part in (opens, inline_markup(kpi.note)) if part)
    return (
        f'<div class="eh-kpi"><dt>{inline_markup(kpi.label)}</dt>'
        f'<dd class="v">{inline_markup(kpi.value)}{unit}</dd>'
        f'{_meter_html(kpi.meter)}<dd class="n">{note}</dd></div>'
    )


def _meter_html(shares: tuple[float, float] | None) -> str:
    if shares is None:
        return ""
    spent, forecast = (f"{100 * min(max(value, 0.0), 1.0):.1f}%" for value in shares)
    return (
        f'<dd class="eh-meter"><i class="f" style="width:{forecast}"></i>'
        f'<i style="width:{spent}"></i></dd>'
    )


def _select_attribute(select: Any) -> dict[str, object]:
    return {"data-select": None if select is None else json.dumps(select)}


def rich_link(text: str, select: Any) -> str:
    if select is None:
        return inline_markup(text)
    made = attributes({"type": "button", "class": "eh-link", **_select_attribute(select)})
    return f"<button{made}>{inline_markup(text)}</button>"


def button_html(action: Action, small: bool = False) -> str:
    kind = "eh-btn" + (" primary" if action.primary else "") + (" small" if small else "")
    made = attributes({"type": "button", "class": kind, **_select_attribute(action.select)})
    return f"<button{made}>{escape(action.label)}</button>"


def status_badge(status: Status, n: int | None = None) -> str:
    """A reply's status as sign, word and colour, so that it is readable without colour."""
    number_of = f" <b>{count(n)}</b>" if n is not None else ""
    word = status.replace("_", " ")
    return (
        f'<span class="eh-badge s-{status}"><i>{STATUS_GLYPHS[status]}</i>{word}{number_of}</span>'
    )


def no_difference_badge() -> str:
    """The badge of a difference whose interval covers 0; it does not mean that both are equal."""
    return '<span class="eh-badge s-unreadable">no significant difference</span>'


def verdict_chip(pick: int | Literal["tie"] | None) -> str:
    """A verdict: the chosen slot (0-based) in its colour, "tie", or a dash without a verdict."""
    if pick is None:
        return f'<span class="eh-mute">{DASH}</span>'
    if pick == "tie":
        return '<span class="eh-slot">tie</span>'
    name = ("first", "second")[pick] if pick < 2 else "later"
    suffix = ("st", "nd", "rd")[pick] if pick < 3 else "th"
    return f'<span class="eh-slot {name}">{pick + 1}{suffix}</span>'


def notice_html(
    kind: Literal["warn", "bad", "calm"], title: str, text: str = "", action: Action | None = None
) -> str:
    """A notice: what happened, how often, its effect on the numbers, and at most one action."""
    made = button_html(action) if action else ""
    role = "alert" if kind == "bad" else "status"
    return wrap(
        f'<div class="eh-notice {kind}" role="{role}"><b>{inline_markup(title)}</b>'
        f'<span class="eh-grow">{inline_markup(text)}</span>{made}</div>'
    )


def empty_state(title: str, why: str, action: Action | None = None) -> str:
    """A placeholder for missing data: what is missing, why, and a button to get it."""
    made = f"<br>{button_html(action)}" if action else ""
    return wrap(
        f'<div class="eh-empty"><b>{inline_markup(title)}</b>{inline_markup(why)}{made}</div>'
    )


def how_computed(text: str) -> str:
    """The expandable text "How is this computed?" with formula and resampling."""
    return wrap(how_computed_details(text))


def how_computed_details(text: str) -> str:
    paragraphs = "".join(f"<p>{inline_markup(part)}</p>" for part in text.split("\n\n"))
    return f'<details class="eh-how"><summary>How is this computed?</summary>{paragraphs}</details>'


def data_note(text: str) -> str:
    """The last line of a view: which data are real and which simulated."""
    return wrap(f'<p class="eh-src"><b>Data.</b> {inline_markup(text)}</p>')


def run_pill(text: str, kind: Literal["running", "waiting", "bad"] = "running") -> str:
    """The run's state in the header; a phone shows only the text after the last space ("65 %")."""
    word, _, last = text.rpartition(" ")
    return wrap(
        f'<span class="eh-pill {kind}"><span class="eh-dot"></span>'
        f'<span class="eh-only-wide">{escape(word)}</span>{escape(last)}</span>'
    )


def brand_html() -> str:
    """Logo and name for the header, in the colours of the first and second slot."""
    bar = '<rect x="2" y="{y}" width="22" height="5.5" rx="2.75" fill="var(--{colour})"/>'
    bars = bar.format(y=5.5, colour="first") + bar.format(y=15, colour="second")
    mark = f'<svg viewBox="0 0 26 26" aria-hidden="true">{bars}</svg>'
    return wrap(f'<div class="eh-brand">{mark}Evenhand</div>')
