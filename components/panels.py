"""Pieces of a page as HTML: findings, KPI strips, notices, tables with a forest in each row.

Every text goes through `rich` or `safe`, so callers pass plain sentences (with **bold** and `code`)
and raw names from data. What can be clicked carries data-select; show it in a
components.plot.ClickableHTML.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from components.charts import PALETTE, contestant_dash
from components.format import (
    NARROW,
    NONE,
    attributes,
    count,
    interval,
    known,
    number,
    rich,
    safe,
    share,
)
from studies.records import STATUSES, Estimate, Status

GLYPHS: Final[Mapping[Status, str]] = {
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
KeyMark = Literal[
    "first", "second", "tie", "win", "even", "chance", "dot", "diamond", "tick", "band"
]


@dataclass(frozen=True, slots=True)
class Kpi:
    """One number of the strip: "Failures", "18", "of 8,000", and what stands under it."""

    label: str
    value: str
    unit: str = ""
    note: str = ""
    link: str = ""
    select: Any = None
    meter: tuple[float, float] | None = None
    """Share spent and share forecast, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Action:
    """A button that names what it does and its price; `select` is what a click sends."""

    label: str
    select: Any
    primary: bool = False


@dataclass(frozen=True, slots=True)
class FirstVisitRow:
    """The embedded judge under one prompt and label scheme."""

    prompt: str
    labels: str
    consistency: Estimate
    meaning: str
    select: Any = None


@dataclass(frozen=True, slots=True)
class FlipRow:
    """Flips of one judge: toward the answer shown first and toward the second."""

    judge: str
    first: int
    second: int
    finding: str
    select: Any = None


@dataclass(frozen=True, slots=True)
class LeaderRow:
    """One contestant of a leaderboard; `colour` is its place in the palette, from 0."""

    name: str
    rank: tuple[int, int]
    rating: Estimate
    win_rate: Estimate | None = None
    above_next: Estimate | None = None
    battles: int | None = None
    people: float | None = None
    colour: int = 0
    select: Any = None


@dataclass(frozen=True, slots=True)
class ReplyRow:
    """A reply as it came in: its status, the slot it picked, who was shown, how it ends."""

    status: Status
    pick: int | Literal["tie"] | None
    shown: Sequence[str]
    text: str
    select: Any = None


@dataclass(frozen=True, slots=True)
class Axis:
    """The common scale of a forest in rows."""

    low: float = 0
    high: float = 1
    ticks: Sequence[float] = (0, 0.25, 0.5, 0.75, 1)
    labels: Mapping[float, str] = field(default_factory=lambda: {0: "0", 0.5: "50", 1: "100"})
    chance: float | None = None

    def place(self, value: float) -> str:
        inside = (value - self.low) / (self.high - self.low)
        return f"{100 * min(max(inside, 0.0), 1.0):.2f}%"


# ---------------------------------------------------------------- small pieces


def wrap(*parts: str) -> str:
    """HTML of ours inside the class that carries our type and spacing."""
    return f'<div class="eh">{"".join(parts)}</div>'


def finding(title: str, lead: str = "") -> str:
    """The finding as a sentence, and one more that says how to read it."""
    below = f"<p>{rich(lead)}</p>" if lead else ""
    return wrap(f'<header class="eh-finding"><h1>{rich(title)}</h1>{below}</header>')


def key(mark: KeyMark, text: str) -> str:
    return f'<span class="eh-key"><i class="{mark}"></i>{safe(text)}</span>'


def heading(title: str, subtitle: str = "", keys: Sequence[tuple[KeyMark, str]] = ()) -> str:
    """The head of a panel: what it is; unit, n, interval; keys instead of a legend box."""
    return wrap(_heading(title, subtitle, keys))


def panel(
    title: str,
    subtitle: str,
    body: str,
    *,
    keys: Sequence[tuple[KeyMark, str]] = (),
    how_text: str = "",
) -> str:
    """A whole panel in one piece of HTML; `body` is HTML of ours."""
    foot = _how(how_text) if how_text else ""
    inner = f"{_heading(title, subtitle, keys)}{body}{foot}"
    return wrap(f'<section class="eh-panel">{inner}</section>')


def _heading(title: str, subtitle: str, keys: Sequence[tuple[KeyMark, str]]) -> str:
    below = f"<p>{rich(subtitle)}</p>" if subtitle else ""
    row = "".join(key(mark, text) for mark, text in keys)
    aside = f'<div class="eh-row">{row}</div>' if row else ""
    return f'<header class="eh-head"><div><h2>{rich(title)}</h2>{below}</div>{aside}</header>'


def kpi_strip(kpis: Sequence[Kpi]) -> str:
    """One panel with hairlines between at most five numbers."""
    if len(kpis) > 5:
        raise ValueError(f"A KPI strip holds at most five numbers, got {len(kpis)}.")
    cells = "".join(_kpi(kpi) for kpi in kpis)
    return wrap(f'<dl class="eh-kpis" style="--n: {len(kpis)}">{cells}</dl>')


def _kpi(kpi: Kpi) -> str:
    unit = f" <small>{rich(kpi.unit)}</small>" if kpi.unit else ""
    link = _link(kpi.link, kpi.select) if kpi.link else ""
    note = "; ".join(part for part in (link, rich(kpi.note)) if part)
    return (
        f'<div class="eh-kpi"><dt>{rich(kpi.label)}</dt><dd class="v">{rich(kpi.value)}{unit}</dd>'
        f'{_meter(kpi.meter)}<dd class="n">{note}</dd></div>'
    )


def _meter(shares: tuple[float, float] | None) -> str:
    if shares is None:
        return ""
    spent, forecast = (f"{100 * min(max(value, 0.0), 1.0):.1f}%" for value in shares)
    return (
        f'<dd class="eh-meter"><i class="f" style="width:{forecast}"></i>'
        f'<i style="width:{spent}"></i></dd>'
    )


def _select(select: Any) -> dict[str, object]:
    return {"data-select": None if select is None else json.dumps(select)}


def _link(text: str, select: Any) -> str:
    if select is None:
        return rich(text)
    made = attributes({"type": "button", "class": "eh-link", **_select(select)})
    return f"<button{made}>{rich(text)}</button>"


def button(action: Action, small: bool = False) -> str:
    kind = "eh-btn" + (" primary" if action.primary else "") + (" small" if small else "")
    made = attributes({"type": "button", "class": kind, **_select(action.select)})
    return f"<button{made}>{safe(action.label)}</button>"


def status_badge(status: Status, n: int | None = None) -> str:
    """Glyph, word and colour: never colour alone."""
    number_of = f" <b>{count(n)}</b>" if n is not None else ""
    word = status.replace("_", " ")
    return f'<span class="eh-badge s-{status}"><i>{GLYPHS[status]}</i>{word}{number_of}</span>'


def tied_badge() -> str:
    return '<span class="eh-badge s-unreadable">\u2248 tied</span>'


def verdict_chip(pick: int | Literal["tie"] | None) -> str:
    """The slot picked (0-based), in its colour; no verdict is a dash."""
    if pick is None:
        return f'<span class="eh-mute">{NONE}</span>'
    if pick == "tie":
        return '<span class="eh-slot">tie</span>'
    name = ("first", "second")[pick] if pick < 2 else "later"
    suffix = ("st", "nd", "rd")[pick] if pick < 3 else "th"
    return f'<span class="eh-slot {name}">{pick + 1}{suffix}</span>'


def notice(
    kind: Literal["warn", "bad", "calm"], title: str, text: str = "", action: Action | None = None
) -> str:
    """What, how many, what it does to the numbers, one action."""
    made = button(action) if action else ""
    role = "alert" if kind == "bad" else "status"
    return wrap(
        f'<div class="eh-notice {kind}" role="{role}"><b>{rich(title)}</b>'
        f'<span class="eh-grow">{rich(text)}</span>{made}</div>'
    )


def empty(title: str, why: str, action: Action | None = None) -> str:
    """What is missing, why it matters, one button with its cost."""
    made = f"<br>{button(action)}" if action else ""
    return wrap(f'<div class="eh-empty"><b>{rich(title)}</b>{rich(why)}{made}</div>')


def how(text: str) -> str:
    """ "How is this computed?": two sentences, the formula, the resampling."""
    return wrap(_how(text))


def _how(text: str) -> str:
    paragraphs = "".join(f"<p>{rich(part)}</p>" for part in text.split("\n\n"))
    return f'<details class="eh-how"><summary>How is this computed?</summary>{paragraphs}</details>'


def data_line(text: str) -> str:
    """The last line of a screen: what is real, what is simulated."""
    return wrap(f'<p class="eh-src"><b>Data.</b> {rich(text)}</p>')


def run_pill(text: str, kind: Literal["running", "waiting", "bad"] = "running") -> str:
    """The pill in the header; on a phone only what follows the last space ("65 %") is shown."""
    word, _, last = text.rpartition(" ")
    return wrap(
        f'<span class="eh-pill {kind}"><span class="eh-dot"></span>'
        f'<span class="eh-only-wide">{safe(word)}</span>{safe(last)}</span>'
    )


def brand() -> str:
    """Logo and name for the header; in the slot colours, so it follows the theme."""
    bar = '<rect x="2" y="{y}" width="22" height="5.5" rx="2.75" fill="var(--{colour})"/>'
    bars = bar.format(y=5.5, colour="first") + bar.format(y=15, colour="second")
    mark = f'<svg viewBox="0 0 26 26" aria-hidden="true">{bars}</svg>'
    return wrap(f'<div class="eh-brand">{mark}Evenhand</div>')


# ----------------------------------------------------------- a forest in a row


def forest_row(
    estimate: Estimate,
    axis: Axis,
    *,
    people: float | None = None,
    others: Sequence[float] = (),
    tip: str = "",
) -> str:
    """Dot and whisker in ink on a common axis; fewer than five items: hollow, no whisker."""
    marks = "".join(f'<i class="g" style="left:{axis.place(v)}"></i>' for v in axis.ticks)
    if axis.chance is not None:
        marks += f'<i class="c" style="left:{axis.place(axis.chance)}"></i>'
    marks += "".join(f'<i class="o" style="left:{axis.place(v)}"></i>' for v in others)
    if people is not None and known(people):
        marks += f'<i class="q" style="left:{axis.place(people)}"></i>'
    marks += _dot(estimate, axis)
    made = attributes({"class": "eh-forest", "data-tip": tip or None})
    return f"<div{made}>{marks}</div>"


def _dot(estimate: Estimate, axis: Axis) -> str:
    if estimate.value is None or not known(estimate.value):
        return ""
    at = axis.place(estimate.value)
    if 0 < estimate.items < 5:
        return f'<i class="p hollow" style="left:{at}"></i>'
    whisker = ""
    if estimate.low is not None and estimate.high is not None:
        left, right = axis.place(estimate.low), axis.place(estimate.high)
        width = float(right[:-1]) - float(left[:-1])
        whisker = f'<i class="w" style="left:{left};width:{width:.2f}%"></i>'
    return f'{whisker}<i class="p" style="left:{at}"></i>'


def axis_head(axis: Axis) -> str:
    spans = "".join(
        f'<span style="left:{axis.place(value)}">{safe(text)}</span>'
        for value, text in axis.labels.items()
    )
    return f'<div class="eh-axis">{spans}</div>'


def _value(value: str, bounds: str) -> str:
    return f"<b>{value}</b>" + (f' <span class="eh-ci">{bounds}</span>' if bounds else "")


# ----------------------------------------------------------------------- tables


def first_visit_table(
    rows: Sequence[FirstVisitRow],
    *,
    title: str = "The embedded judge on the probe set",
    subtitle: str = f"% of pairs that survive the swap, 95{NARROW}% CI; one line a prompt",
) -> str:
    """What the embedded judge did on the built-in pairs, prompt by prompt."""
    axis = Axis(chance=0.5)
    head = (
        f'<div class="eh-fv h"><span>Prompt, labels</span>{axis_head(axis)}'
        f'<span class="eh-num">Consistency</span><span>What that means</span>'
        f'<span class="op"></span></div>'
    )
    body = head + "".join(_first_visit_row(row, axis) for row in rows)
    keys: list[tuple[KeyMark, str]] = [("dot", "consistency"), ("chance", f"coin 50{NARROW}%")]
    return panel(title, subtitle, body, keys=keys)


def _first_visit_row(row: FirstVisitRow, axis: Axis) -> str:
    value = _value(share(row.consistency.value, 0), interval(row.consistency, 0, scale=100))
    opens = button(Action("Open", row.select), small=True) if row.select is not None else ""
    return (
        f'<div class="eh-fv"><span class="nm"><span class="eh-mono">{safe(row.prompt)}</span>'
        f'<span class="eh-small eh-mute">{safe(row.labels)}</span></span>'
        f'<div class="plot">{forest_row(row.consistency, axis)}</div>'
        f'<span class="eh-num eh-nw val">{value}</span>'
        f'<span class="eh-small tx">{rich(row.meaning)}</span><span class="op">{opens}</span></div>'
    )


def flips_table(rows: Sequence[FlipRow]) -> str:
    """Diverging bars from an ink zero line, on one common scale, and the finding in words."""
    most = max((max(row.first, row.second) for row in rows), default=1) or 1
    head = (
        '<div class="eh-flip h"><span>Judge</span><span>Flips</span>'
        "<span>Finding</span><span></span></div>"
    )
    return wrap(head, *(_flip_row(row, most) for row in rows))


def _flip_row(row: FlipRow, most: int) -> str:
    left, right = (f"{38 * value / most:.2f}%" for value in (row.first, row.second))
    bars = (
        f'<i class="l" style="width:{left}"></i><i class="r" style="width:{right}"></i>'
        f'<i class="z"></i><span style="right:calc(50% + {left})">{count(row.first)}</span>'
        f'<span style="left:calc(50% + {right})">{count(row.second)}</span>'
    )
    total = row.first + row.second
    select = row.select if row.select is not None else {"judge": row.judge, "flipped": True}
    opens = button(Action(f"Open {count(total)}", select)) if total else ""
    return (
        f'<div class="eh-flip"><div class="nm">{safe(row.judge)}</div>'
        f'<div class="bx"><div class="eh-div">{bars}</div></div>'
        f'<div class="tx"><p>{rich(row.finding)}</p></div><div class="op">{opens}</div></div>'
    )


def leaderboard(rows: Sequence[LeaderRow], axis: Axis | None = None) -> str:
    """Ranks as ranges, ratings with interval, a forest in each row, "≈ tied" where 0 is covered."""
    axis = axis or rating_axis(rows)
    heads = (
        '<th class="num">Rank</th><th>Model</th><th class="num">Rating</th>'
        f'<th class="wide">{axis_head(axis)}</th><th class="num">Win rate</th>'
        '<th class="num">Above the next by</th><th class="num">Battles</th>'
    )
    body = "".join(_leader_row(row, axis) for row in rows)
    return wrap(
        '<div class="eh-tbl-box"><table class="eh-tbl folds">'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def rating_axis(rows: Sequence[LeaderRow]) -> Axis:
    """From the lowest end to the highest, in steps of 50, 100 or 200 points."""
    ends = [
        value
        for row in rows
        for value in (row.rating.low, row.rating.high, row.rating.value, row.people)
        if value is not None and known(value)
    ]
    low, high = (min(ends), max(ends)) if ends else (900.0, 1100.0)
    pad = max(0.04 * (high - low), 10.0)
    low, high = low - pad, high + pad
    step = 50 if high - low < 300 else 100 if high - low < 800 else 200
    ticks = [float(step * i) for i in range(int(-(-low // step)), int(high // step) + 1)]
    return Axis(low, high, ticks, {tick: number(tick) for tick in ticks})


def _leader_row(row: LeaderRow, axis: Axis) -> str:
    low, high = row.rank
    rank = count(low) if low == high else f"{count(low)}\u2013{count(high)}"
    name = _link(row.name, row.select) if row.select is not None else safe(row.name)
    rating = _value(number(row.rating.value), interval(row.rating, 0))
    return (
        f'<tr><td class="num"><b>{rank}</b></td><td>{swatch(row.colour)}{name}</td>'
        f'<td class="num">{rating}</td><td>{forest_row(row.rating, axis, people=row.people)}</td>'
        f'<td class="num">{_rate(row.win_rate)}</td><td class="num">{_above(row.above_next)}</td>'
        f'<td class="num">{count(row.battles)}</td></tr>'
    )


def swatch(index: int) -> str:
    """The line of a contestant, as in the Elo curve."""
    colour = f"c{index + 1}" if index < PALETTE else "c0"
    dash = " dash" if contestant_dash(index) == "dash" else ""
    return f'<i class="eh-sw {colour}{dash}"></i>'


def _rate(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value is None:
        return f'<span class="eh-mute">{NONE}</span>'
    return _value(share(estimate.value), interval(estimate, 1, scale=100))


def _above(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value is None:
        return f'<span class="eh-mute">{NONE}</span>'
    made = _value(number(estimate.value), interval(estimate, 0))
    tied = estimate.low is not None and estimate.high is not None
    tied = tied and (estimate.low or 0.0) <= 0 <= (estimate.high or 0.0)
    return f"{made} {tied_badge()}" if tied else made


# -------------------------------------------------------------------------- run


def progress_bar(counts: Mapping[Status, int], planned: int, *, waiting: int = 0) -> str:
    """Ink for evidence, a colour only for what is not; asks that wait are hatched."""
    done = sum(counts.values())
    whole = max(planned, done + waiting, 1)
    parts = [(f"s-{status}", counts.get(status, 0)) for status in STATUSES]
    bars = "".join(
        f'<i class="{kind}" style="width:{100 * n / whole:.2f}%"></i>'
        for kind, n in [*parts, ("waiting", waiting)]
        if n
    )
    words = f"<b>{share(done / whole)}</b> done, {count(whole - done)} left"
    words += f", <b>{count(waiting)} waiting</b>" if waiting else ""
    shown = [s for s in STATUSES if counts.get(s, 0) or s == "ok"]
    badges = "".join(status_badge(status, counts.get(status, 0)) for status in shown)
    return wrap(
        f'<div class="eh-prog" role="progressbar" aria-label="asks done" aria-valuemin="0" '
        f'aria-valuemax="{whole}" aria-valuenow="{done}">{bars}</div>'
        f'<div class="eh-row eh-between eh-prog-text"><span class="eh-small">{words}</span>'
        f'<span class="eh-row">{badges}</span></div>'
    )


def last_replies(rows: Sequence[ReplyRow]) -> str:
    """The newest replies: verdict or status, who was shown in which order, how the reply ends."""
    if not rows:
        return empty("No replies yet.", "They appear here as they come in.")
    return wrap(f'<div class="eh-feed">{"".join(_reply(row) for row in rows)}</div>')


def _reply(row: ReplyRow) -> str:
    read = row.status in ("ok", "extracted") and row.pick is not None
    mark = verdict_chip(row.pick) if read else status_badge(row.status)
    then = ' <span class="eh-mute">then</span> '
    who = then.join(safe(name) for name in row.shown)
    ending = _ending(row.text)
    opens = _link("Open", row.select) if row.select is not None else ""
    return (
        f'<div class="f"><span>{mark}</span><span class="who">{who}</span>'
        f'<p><bdi dir="ltr">{safe(ending)}</bdi></p><span>{opens}</span></div>'
    )


def _ending(text: str, most: int = 140) -> str:
    """The last words: a verdict stands at the end of a reply."""
    words = " ".join(text.split())
    if len(words) <= most:
        return words
    return "\u2026 " + words[-most:].partition(" ")[2]
