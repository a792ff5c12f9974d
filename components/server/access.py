"""Limits and permissions of the page, on a private machine and in public mode.

Every difference between the two modes is a field of `Access`; `current_access()` returns the mode
in use. `python -m components access` prints the table in docs/security.md.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from components.server.fair_turns import QueueLimits
from judges.engine.public_engine import RunLimits
from studies import settings
from studies.files import read_limits
from studies.files.read_limits import MEGABYTE, ReadLimits


@dataclass(frozen=True, slots=True)
class Access:
    """Limits and permissions of one mode (private machine or public); None means no limit."""

    public: bool
    """Whether a study is visible only to its owner and through share links."""
    machine_files: bool
    """Whether a study file may name files and environment variables of the machine."""
    asks: int | None
    """Maximum calls of one study, with all its items, judges, prompts, orders and repeats."""
    studies: int | None
    """Maximum studies of one visitor."""
    upload_bytes: int | None
    """Maximum bytes of all stored uploads of one visitor."""
    temp_bytes: int | None
    """Maximum bytes of all visitors' uploads not yet stored and exports not yet downloaded."""
    visitor_bytes: int | None
    """Maximum bytes of the store and all visitors' files together."""
    caps: ReadLimits
    """Maximum bytes, rows, columns and cells of one file."""
    runs_each: int | None
    """Maximum simultaneous runs of one visitor."""
    runs_per_address: int | None
    """Maximum simultaneous runs of one network address."""
    embedded_asks: int | None
    """Maximum calls of one study to the embedded judge."""
    runs: int | None
    """Maximum simultaneous runs of all visitors."""
    concurrency: int | None
    """Maximum simultaneous calls of one run."""
    paused: int | None
    """Maximum paused runs of all visitors; beyond it, the run paused earliest is stopped."""
    pause_minutes: float | None
    """Minutes until a paused run is stopped; its replies stay stored."""
    queue: int | None
    """Maximum waiting events (clicks and other requests of open pages); further ones are refused
    with the advice to try again."""
    queue_limits: QueueLimits | None
    """Maximum events (requests of open pages) of one session and of one network address. None: no
    such limits, and events are handled in order of arrival."""
    sessions: int
    """Maximum stored sessions (one for each opened page); beyond it, the oldest is deleted."""
    rows: int
    """Maximum rows of one page of a table."""
    expiry_days: float | None
    """Days without use after which a visitor's studies and uploads are deleted."""
    open_votes: bool
    """Whether every visitor may vote on the studies that come with the page."""

    @property
    def run_limits(self) -> RunLimits:
        """The limits that the engine enforces. Where this mode has no limit, the value is 10⁹; for
        the longest pause it is None."""
        unlimited = 10**9
        return RunLimits(
            self.asks or unlimited,
            self.runs_each or unlimited,
            self.runs or unlimited,
            self.concurrency or unlimited,
            self.paused or unlimited,
            self.runs_per_address or unlimited,
            self.embedded_asks or unlimited,
            self.pause_minutes and 60.0 * self.pause_minutes,
        )


LOCAL: Final = Access(
    public=False, machine_files=True, asks=None, studies=None, upload_bytes=None, temp_bytes=None,
    visitor_bytes=None, caps=read_limits.LOCAL_LIMITS, runs_each=None, runs_per_address=None,
    embedded_asks=None, runs=None, concurrency=None, paused=None, pause_minutes=None, queue=None,
    queue_limits=None, sessions=200, rows=500, expiry_days=None, open_votes=True,
)  # fmt: skip
PUBLIC: Final = Access(
    public=True,
    machine_files=False,
    asks=5_000,
    studies=20,
    upload_bytes=200 * MEGABYTE,
    temp_bytes=2_000 * MEGABYTE,
    visitor_bytes=5_000 * MEGABYTE,
    caps=read_limits.PUBLIC_LIMITS,
    runs_each=1,
    runs_per_address=4,
    embedded_asks=1_000,
    runs=8,
    concurrency=16,
    paused=64,
    pause_minutes=30.0,
    queue=400,
    queue_limits=QueueLimits(
        waiting_per_session=32, waiting_per_address=200, running_per_session=4,
        running_per_address=8, unread_per_session=200, unread_total=2_000,
    ),
    sessions=1_000,
    rows=500,
    expiry_days=7.0,
    open_votes=False,
)  # fmt: skip


def current_access() -> Access:
    """The mode in use (private machine or public) with its limits. EVENHAND_PUBLIC sets the mode;
    if it is not set, the page is public on a Hugging Face Space. Other environment variables change
    some of the limits."""
    if not settings.is_public():
        return replace(LOCAL, caps=read_limits.current_limits())
    votes = settings.VOTES.read()
    stored = settings.VISITORS_MB.read() * MEGABYTE or PUBLIC.visitor_bytes
    caps = read_limits.current_limits()
    return replace(PUBLIC, caps=caps, open_votes=votes, visitor_bytes=stored)


def _limit_text(value: float | None, unit: str = "") -> str:
    return "no limit" if value is None else f"{value:,.10g} {unit}".strip()


def _megabytes_text(value: int | None) -> str:
    return "no limit" if value is None else f"{value // MEGABYTE:,} MB"


def _public_or_local_text(public: str, local: str) -> Callable[[Access], str]:
    return lambda access: public if access.public else local


ACCESS_TABLE_ROWS: Final[tuple[tuple[str, Callable[[Access], str]], ...]] = (
    (
        "who sees a study",
        _public_or_local_text("its owner, and visitors with a link made by Share", "every visitor"),
    ),
    ("who runs or changes a study", _public_or_local_text("its owner", "every visitor")),
    (
        "the studies the page came with",
        _public_or_local_text("read by all visitors; editing makes a copy", "edited like others"),
    ),
    (
        "a study may read the server's files and environment variables",
        lambda a: (
            "yes"
            if a.machine_files
            else "no; data only from uploads, the built-in set, the Hub, records opened by the "
            "operator of the server"
        ),
    ),
    (
        "host names at which the page can be opened (others are refused)",
        _public_or_local_text(
            "the Space's own, IP addresses, names in `EVENHAND_HOSTS`",
            "127.0.0.1, localhost, `--host`, names in `EVENHAND_HOSTS`",
        ),
    ),
    (
        "endpoints",
        _public_or_local_text(
            "hosts in `judges/providers.yaml` and `EVENHAND_ENDPOINTS`, with https only",
            "any, this machine's too",
        ),
    ),
    (
        "keys",
        _public_or_local_text(
            "typed and held in memory; also this Space's key, if `EVENHAND_HOUSE_KEY_ENV` names it",
            "typed, for one host; or an environment variable that the study names, for "
            "hosts you allowed",
        ),
    ),
    ("calls of one study", lambda a: _limit_text(a.asks)),
    ("calls of one study to the embedded judge", lambda a: _limit_text(a.embedded_asks)),
    ("studies of one visitor", lambda a: _limit_text(a.studies)),
    (
        "one file: size, rows, columns",
        lambda a: (
            f"{_megabytes_text(a.caps.file_bytes)}, "
            f"{_limit_text(a.caps.rows)}, {_limit_text(a.caps.columns)}"
        ),
    ),
    (
        "one study: models, judges with their prompts",
        lambda a: f"{_limit_text(a.caps.contestants)}, {_limit_text(a.caps.judges)}",
    ),
    ("all uploads of a visitor", lambda a: _megabytes_text(a.upload_bytes)),
    ("temporary files (uploads, exports) of all visitors", lambda a: _megabytes_text(a.temp_bytes)),
    (
        "the store with all visitors' studies and files; beyond it the longest unused go",
        lambda a: _megabytes_text(a.visitor_bytes),
    ),
    (
        "runs at a time: of one visitor, of one network address, of all visitors",
        lambda a: (
            "no limit"
            if a.runs is None
            else f"{_limit_text(a.runs_each)}, {_limit_text(a.runs_per_address)}, "
            f"{_limit_text(a.runs)}"
        ),
    ),
    (
        "paused runs of all visitors; time after which a paused run is stopped",
        lambda a: (
            "no limit, never"
            if a.pause_minutes is None
            else f"{_limit_text(a.paused)}, {_limit_text(a.pause_minutes, 'minutes')}"
        ),
    ),
    (
        "simultaneous calls of one run",
        lambda a: (
            "as set in the study"
            if a.concurrency is None
            else f"at most {_limit_text(a.concurrency)}"
        ),
    ),
    (
        "waiting requests: of one page, of one network address, of all",
        lambda a: (
            _limit_text(a.queue)
            if a.queue_limits is None
            else f"{_limit_text(a.queue_limits.waiting_per_session)}, "
            f"{_limit_text(a.queue_limits.waiting_per_address)}, {_limit_text(a.queue)}"
        ),
    ),
    ("stored sessions", lambda a: _limit_text(a.sessions)),
    ("rows of a table shown at once", lambda a: f"at most {_limit_text(a.rows)}"),
    (
        "votes on the studies the page came with",
        lambda a: "yes" if a.open_votes else "with `EVENHAND_VOTES=open`",
    ),
    (
        "time after which a study not saved, run or voted on is deleted",
        lambda a: "never" if a.expiry_days is None else _limit_text(a.expiry_days, "days"),
    ),
)


def access_table() -> str:
    """The table of limits in docs/security.md, made from LOCAL and PUBLIC; limits that environment
    variables change have their default."""
    head = "| | on your machine | public (`EVENHAND_PUBLIC=1`, default on a Space) |\n|---|---|---|"
    return "\n".join(
        [head, *(f"| {name} | {f(LOCAL)} | {f(PUBLIC)} |" for name, f in ACCESS_TABLE_ROWS)]
    )
