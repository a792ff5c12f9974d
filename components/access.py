"""What the page allows: on one's own machine, and where strangers use it. One table.

Everything that differs between the two is a field of `Access`; whoever needs to know asks `mode()`.
`python -m components access` prints the table for the README.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from components.turns import Crowd
from judges.shared import RunLimits
from studies.mode import is_public
from studies.sources import caps
from studies.sources.caps import MEGABYTE, Caps


@dataclass(frozen=True, slots=True)
class Access:
    """None: no limit but the machine's."""

    public: bool
    """Studies are their makers', read through a link that Share makes; else everybody's."""
    machine: bool
    """A study file may name files and variables of the machine."""
    asks: int | None
    """Items x judges x prompts x orders x repeats of one study."""
    studies: int | None
    """That one visitor keeps."""
    uploads: int | None
    """Bytes that one visitor keeps."""
    passing: int | None
    """Bytes of uploads and exports of all visitors that wait to be taken in, or fetched."""
    caps: Caps
    """Of one file that is read: bytes, rows, columns, cells."""
    runs_each: int | None
    """At a time."""
    runs: int | None
    """Of all visitors together."""
    concurrency: int | None
    """Calls of one run in flight."""
    paused: int | None
    """Paused runs of all visitors; at more, the one paused longest is stopped."""
    pause_minutes: float | None
    """Until a paused run is stopped; what it asked stays."""
    queue: int | None
    """Events that wait; the next one is told to come again."""
    crowd: Crowd | None
    """How much of the queue one page, and one address, may take. None: first come, first served."""
    sessions: int
    """Whose state is kept; the oldest goes first."""
    rows: int
    """Of one page of a table."""
    kept_days: float | None
    """Until a visitor's study that nobody ran is removed, with its uploads."""
    open_votes: bool
    """Anybody may vote on the studies of the house."""

    @property
    def run_limits(self) -> RunLimits:
        many = 10**9
        return RunLimits(
            self.asks or many, self.runs_each or many, self.runs or many, self.concurrency or many,
            self.paused or many, self.pause_minutes and 60.0 * self.pause_minutes,
        )  # fmt: skip


LOCAL: Final = Access(
    public=False, machine=True, asks=None, studies=None, uploads=None, passing=None,
    caps=caps.LOCAL,
    runs_each=None, runs=None, concurrency=None, paused=None, pause_minutes=None,
    queue=None, crowd=None, sessions=200, rows=500, kept_days=None, open_votes=True,
)  # fmt: skip
PUBLIC: Final = Access(
    public=True, machine=False, asks=5_000, studies=20, uploads=200 * MEGABYTE,
    passing=2_000 * MEGABYTE, caps=caps.PUBLIC,
    runs_each=1, runs=8, concurrency=16, paused=64, pause_minutes=30.0, queue=400,
    crowd=Crowd(waiting_each=32, waiting_from=200, running_each=4, running_from=8,
                unread_each=200, unread=2_000),
    sessions=1_000, rows=500, kept_days=7.0, open_votes=False,
)  # fmt: skip


def mode() -> Access:
    """As the environment says: EVENHAND_PUBLIC, by default where SPACE_ID is set."""
    if not is_public():
        return replace(LOCAL, caps=caps.caps_now())
    votes = os.environ.get("EVENHAND_VOTES", "") == "open"
    return replace(PUBLIC, caps=caps.caps_now(), open_votes=votes)


def _number(value: float | None, unit: str = "") -> str:
    return "no limit" if value is None else f"{value:,.10g} {unit}".strip()


def _mb(value: int | None) -> str:
    return "no limit" if value is None else f"{value // MEGABYTE:,} MB"


ROWS: Final[tuple[tuple[str, Callable[[Access], str]], ...]] = (
    ("who sees a study", lambda a: "its maker, and who has the link of Share"
     if a.public else "whoever opens the page"),
    ("who runs or changes it", lambda a: "its maker" if a.public else "whoever opens the page"),
    ("the studies the page came with", lambda a: "looked at by all; editing makes a copy"
     if a.public else "edited like others"),
    ("files and variables of the machine in a study", lambda a: "yes" if a.machine else
     "no: uploads, the built-in set, the Hub, the records the owner opened"),
    ("hosts it is opened at (others are refused)", lambda a:
     "the Space's own, IP addresses, names in `EVENHAND_HOSTS`" if a.public else
     "127.0.0.1, localhost, `--host`, names in `EVENHAND_HOSTS`"),
    ("endpoints", lambda a: "hosts in `judges/providers.yaml` and `EVENHAND_ENDPOINTS`, https"
     if a.public else "any, this machine's too"),
    ("keys", lambda a: "typed, in memory; the house's only where `EVENHAND_HOUSE_KEY_ENV` lends it"
     if a.public else "typed, for one host; or a variable the study names, for hosts you allowed"),
    ("asks of one study", lambda a: _number(a.asks)),
    ("studies of one visitor", lambda a: _number(a.studies)),
    ("one file: size, rows, columns", lambda a: f"{_mb(a.caps.file_bytes)}, "
     f"{_number(a.caps.rows)}, {_number(a.caps.columns)}"),
    ("one study: contestants, judges with their prompts", lambda a:
     f"{_number(a.caps.contestants)}, {_number(a.caps.judges)}"),
    ("all uploads of a visitor", lambda a: _mb(a.uploads)),
    ("files on their way in or out, of all visitors", lambda a: _mb(a.passing)),
    ("runs at a time: of one visitor, of all", lambda a: "no limit" if a.runs is None
     else f"{_number(a.runs_each)}, {_number(a.runs)}"),
    ("paused runs of all; a paused run is stopped after", lambda a: "no limit, never"
     if a.pause_minutes is None
     else f"{_number(a.paused)}, {_number(a.pause_minutes, 'minutes')}"),
    ("calls of one run in flight", lambda a: "as the study says" if a.concurrency is None
     else f"at most {_number(a.concurrency)}"),
    ("events that wait: of one page, of one address, of all", lambda a: _number(a.queue)
     if a.crowd is None else
     f"{_number(a.crowd.waiting_each)}, {_number(a.crowd.waiting_from)}, {_number(a.queue)}"),
    ("sessions whose state is kept", lambda a: _number(a.sessions)),
    ("rows of a table at once", lambda a: f"at most {_number(a.rows)}"),
    ("votes on the studies the page came with", lambda a: "yes" if a.open_votes
     else "with `EVENHAND_VOTES=open`"),
    ("a study that nobody ran is removed after", lambda a: "never" if a.kept_days is None
     else _number(a.kept_days, "days")),
)  # fmt: skip


def markdown() -> str:
    """The table of the README, from the values that hold."""
    head = "| | on your machine | public (`EVENHAND_PUBLIC=1`, default on a Space) |\n|---|---|---|"
    return "\n".join([head, *(f"| {what} | {f(LOCAL)} | {f(PUBLIC)} |" for what, f in ROWS)])
