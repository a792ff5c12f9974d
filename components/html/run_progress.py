"""HTML of a run's progress bar and of its latest replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from components.html.format import count, share
from components.html.markup import Markup, fill, join, link
from components.html.pieces import TEMPLATE, empty_state, status_badge, verdict_chip, wrap
from components.html.templates import macros
from studies.domain import STATUSES, Status

MAX_QUESTION: Final = 200
"""Maximum characters of a question that are sent to the page; the rest is cut off."""


@dataclass(frozen=True, slots=True)
class ReplyRow:
    """One line in the list of latest replies. `pick`: the chosen position from 0, "tie", or None
    without a verdict; `shown`: the models in the order in which their answers were shown; `text`:
    the reply; `select`: filters that a click sends."""

    status: Status
    pick: int | Literal["tie"] | None
    shown: Sequence[str]
    text: str
    select: Any = None
    judge: str = ""
    """The judge's name, in a run with several judges."""
    question: str = ""


def progress_bar(counts: Mapping[Status, int], planned: int, *, waiting: int = 0) -> Markup:
    """HTML of a run's progress: a bar of its calls by status (usable black, unusable coloured,
    `waiting` calls hatched), the share done of the `planned` calls in words, and a badge for each
    status. A failed call counts as not done: it has no reply, and is made again."""
    failed = counts.get("error", 0)
    done = sum(counts.values()) - failed
    whole = max(planned, done + failed + waiting, 1)
    parts = [(f"s-{status}", counts.get(status, 0)) for status in STATUSES]
    bars = join(
        fill('<i class="{}" style="width:{:.2f}%"></i>', kind, 100 * n / whole)
        for kind, n in [*parts, ("waiting", waiting)]
        if n
    )
    words = fill("<b>{}</b> done, {} left", share(done / whole), count(whole - done))
    if done == planned > 0:
        words = fill("<b>Done:</b> all {} replies are stored", count(done))
    words += fill(", <b>{} of them failed</b>", count(failed)) if failed else ""
    words += fill(", <b>{} waiting</b>", count(waiting)) if waiting else ""
    shown = [s for s in STATUSES if counts.get(s, 0) or s == "ok"]
    badges = join(status_badge(status, counts.get(status, 0)) for status in shown)
    return macros(TEMPLATE).progress(whole, done, bars, words, badges)


def last_replies_html(rows: Sequence[ReplyRow]) -> Markup:
    """HTML list of the latest replies: verdict or status, judge, models in the order shown,
    question, end of the text. If there are no replies, a message."""
    if not rows:
        return empty_state("No replies yet.", "Replies appear here as they arrive.")
    return wrap(fill('<div class="eh-feed">{}</div>', join(_reply_html(row) for row in rows)))


def _reply_html(row: ReplyRow) -> Markup:
    read = row.status in ("ok", "extracted") and row.pick is not None
    mark = verdict_chip(row.pick) if read else status_badge(row.status)
    question = " ".join(row.question[:MAX_QUESTION].split())
    opens = link("Open", row.select) if row.select is not None else ""
    return macros(TEMPLATE).reply(row, mark, question, reply_ending(row.text), opens)


def reply_ending(text: str, max_chars: int = 140) -> str:
    """The end of a reply, where a verdict usually stands: at most `max_chars` characters, cut at a
    space if there is one."""
    words = " ".join(text.split())
    if len(words) <= max_chars:
        return words
    end = words[-max_chars:]
    return f"\u2026 {end.partition(' ')[2] or end}"
