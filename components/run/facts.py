"""What the Run tab needs to know about a study: its run, its counts, its money, what is left."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from judges.accounts import spent_by
from judges.consents import Pair, origin_of
from judges.engine import Engine
from judges.pending import Quote, quote
from judges.runs import Run, Snapshot
from judges.vault import EXPIRED
from studies.errors import EvenhandError
from studies.journal import possibly_paid_twice
from studies.recent import Recent
from studies.records import RETRYABLE, JudgeSpec
from studies.store import PastRun, Store
from studies.study import Study

ERRORS: Final = frozenset({"error"})
"""An error satisfies no run: asking what is missing asks these too."""
REFUSED_KEY: Final = "refused the API key"
KEY_TROUBLE: Final = (REFUSED_KEY, EXPIRED)
"""Reasons of a run that ended because a key has to be typed again."""
NOTHING: Final = Quote(0, 0.0)


@dataclass(frozen=True, slots=True)
class Facts:
    """One study at one moment."""

    name: str
    counts: Mapping[str, int]
    snapshot: Snapshot | None
    """Of the run of this process, on or ended."""
    on: bool
    last: PastRun | None
    """The newest run in the store, while none is on."""
    spent: float
    """Dollars of the study, this run included."""
    budget: float | None
    doubtful: int
    """Calls that may have been paid twice."""
    missing: Quote = NOTHING
    """What Run would ask, while none is on."""
    failed: Quote = NOTHING
    """What Retry would ask."""
    keyless: tuple[str, ...] = ()
    """Judges that need a key which is not here."""
    key_origins: tuple[str, ...] = ()
    """The hosts of those judges."""
    unconfirmed: tuple[Pair, ...] = ()
    """Variables the study would send to hosts the user has not allowed."""
    mine: bool = True
    """Whoever looks may also run and steer it."""

    @property
    def planned(self) -> int:
        return self.counts.get("planned", 0)

    @property
    def done(self) -> int:
        return self.planned - self.counts.get("pending", 0)

    @property
    def recorded(self) -> bool:
        return bool(self.counts.get("recorded"))

    @property
    def paused(self) -> bool:
        return self.snapshot is not None and self.snapshot.state == "paused"

    @property
    def unasked(self) -> int:
        return self.counts.get("pending", 0)

    @property
    def offers_retry(self) -> bool:
        """Run asks errors too: while something is missing, Retry must offer more than those."""
        return self.failed.asks > (self.counts.get("error", 0) if self.unasked else 0)


class Quotes:
    """Prices of what is left, computed once for each state of a study."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: Recent[str, tuple[tuple[str, int], Quote, Quote]] = Recent(256)

    def of(self, study: str) -> tuple[Quote, Quote]:
        """What is missing, and what failed in a way that asking again may help."""
        version = self._store.version(study)
        known = self._known.get(study)
        if known is None or known[0] != version:
            missing, failed = self._quote(study, ERRORS), self._quote(study, RETRYABLE, False)
            known = self._known.put(study, (version, missing, failed))
        return known[1], known[2]

    def _quote(self, study: str, again: Collection[str], new: bool = True) -> Quote:
        try:
            return quote(self._store, study, again, pending=new)
        except EvenhandError:  # a prompt or an item is gone: Run will say which
            left = self._store.counts(study)
            asks = sum(left.get(status, 0) for status in again) + new * left.get("pending", 0)
            return Quote(asks, None)


def facts(store: Store, engine: Engine, quotes: Quotes, name: str) -> Facts:
    """While a run is on, from its snapshot alone: a look twice a second must not scan the plan."""
    run = engine.latest(name)
    snapshot = run.snapshot() if run else None
    if run is not None and snapshot is not None and not run.finished.is_set():
        return replace(_facts_of_run(run, snapshot), mine=store.owns(name))
    study, mine = store.study(name), store.owns(name)
    missing, failed = quotes.of(name)
    last = next(iter(store.runs(name)), None)
    asks = bool(missing.asks or failed.asks) and mine
    keyless = _without_key(called_judges(study), last) if missing.asks and mine else []
    return Facts(
        name=name,
        counts=store.counts(name, recorded=True),
        snapshot=snapshot,
        on=False,
        last=last,
        spent=spent_by(store, name),
        budget=study.budget_usd,
        doubtful=len(possibly_paid_twice(store, name)),
        missing=missing,
        failed=failed,
        keyless=tuple(judge.name for judge in keyless),
        key_origins=tuple(dict.fromkeys(origin_of(judge.endpoint) for judge in keyless)),
        unconfirmed=engine.consents(store).missing(called_judges(study)) if asks else (),
        mine=mine,
    )


def _facts_of_run(run: Run, snapshot: Snapshot) -> Facts:
    return Facts(
        name=run.plan.study.name,
        counts=snapshot.counts,
        snapshot=snapshot,
        on=True,
        last=None,
        spent=snapshot.spent_before + snapshot.spent,
        budget=snapshot.budget,
        doubtful=snapshot.possibly_paid_twice,
    )


def called_judges(study: Study) -> list[JudgeSpec]:
    """The judges a run may call: those of the study, and one that only extracts."""
    names = {judge.name for judge in study.judges}
    extra = study.extraction
    return [*study.judges, *([extra] if extra and extra.name not in names else [])]


def _without_key(judges: list[JudgeSpec], last: PastRun | None) -> list[JudgeSpec]:
    """Keys live in memory: after a restart they are gone."""
    refused = last is not None and any(words in last.reason for words in KEY_TROUBLE)
    return [
        judge
        for judge in judges
        if judge.kind == "endpoint"
        and (
            (judge.api_key_env and not os.environ.get(judge.api_key_env))
            or (refused and last is not None and f"{judge.name}:" in last.reason)
        )
    ]
