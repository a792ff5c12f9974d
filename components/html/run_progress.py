"""Progress bar of a run and list of its latest replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from components.html.format import count, escape, share
from components.html.pieces import empty_state, rich_link, status_badge, verdict_chip, wrap
from studies.domain import STATUSES, Status


@dataclass(frozen=True, slots=True)
class ReplyRow:
    """A reply: status, chosen slot, models shown, text."""

    status: Status
    pick: int | Literal["tie"] | None
    shown: Sequence[str]
    text: str
    select: Any = None
    judge: str = ""
    """The judge's name, in a run with several judges."""


def progress_bar(counts: Mapping[Status, int], planned: int, *, waiting: int = 0) -> str:
    """Calls by status: usable replies in black, unusable ones coloured, waiting calls hatched."""
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
        f'<div class="eh-prog" role="progressbar" aria-label="calls done" aria-valuemin="0" '
        f'aria-valuemax="{whole}" aria-valuenow="{done}">{bars}</div>'
        f'<div class="eh-row eh-between eh-prog-text"><span class="eh-small">{words}</span>'
        f'<span class="eh-row">{badges}</span></div>'
    )


def last_replies_html(rows: Sequence[ReplyRow]) -> str:
    """The latest replies: verdict or status, judge, models in the order shown, end of the text."""
    if not rows:
        return empty_state("No replies yet.", "They appear here as they come in.")
    return wrap(f'<div class="eh-feed">{"".join(_reply_html(row) for row in rows)}</div>')


def _reply_html(row: ReplyRow) -> str:
    read = row.status in ("ok", "extracted") and row.pick is not None
    mark = verdict_chip(row.pick) if read else status_badge(row.status)
    then = ' <span class="eh-mute">then</span> '
    names = then.join(escape(name) for name in row.shown)
    if row.judge:
        names = f"<b>{escape(row.judge)}</b> {names}"
    ending = _reply_ending(row.text)
    opens = rich_link("Open", row.select) if row.select is not None else ""
    return (
        f'<div class="f"><span>{mark}</span><span class="who">{names}</span>'
        f'<p><bdi dir="ltr">{escape(ending)}</bdi></p><span>{opens}</span></div>'
    )


def _reply_ending(text: str, most: int = 140) -> str:
    """The end of a reply, where most verdicts are."""
    words = " ".join(text.split())
    if len(words) <= most:
        return words
    return "\u2026 " + words[-most:].partition(" ")[2]
