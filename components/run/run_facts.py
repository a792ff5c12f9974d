"""State of a study for the Run tab: its run, calls by status, costs, and calls to be made."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from judges.engine.engine import Engine
from judges.engine.pending_asks import CostQuote, QuoteCache, statuses_to_retry
from judges.engine.run import Run
from judges.engine.snapshot import RunSnapshot
from judges.security.key_consents import KeyDestination, origin_of
from judges.security.key_store import EXPIRED_MESSAGE
from studies import domain, settings
from studies.domain import JudgeSpec, Status
from studies.spec.study import Study
from studies.store.queries.run_costs import RunSpending, spending_by_run, study_spending
from studies.store.run_journal import list_possibly_paid_calls
from studies.store.store import Store, StoredRun

KEY_REFUSED_REASON: Final = "refused the API key"
KEY_REASONS: Final = (KEY_REFUSED_REASON, EXPIRED_MESSAGE)
"""Reasons for the end of a run after which a key must be typed again."""
NO_ASKS: Final = CostQuote(0, 0.0)
NO_CALLS: Final = RunSpending(0, 0.0, 0)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """State of a study as the Run tab shows it."""

    name: str
    counts: Mapping[str, int]
    snapshot: RunSnapshot | None
    """Snapshot of the latest run in this process, active or ended."""
    running: bool
    last: StoredRun | None
    """The newest run in the store; None while a run is active."""
    spent: float
    """Dollars spent on the study, the active run included."""
    budget: float | None
    maybe_paid_twice: int
    """Number of calls that may have been paid twice."""
    unpriced: int = 0
    """Number of calls of unknown price, whose cost is not in `spent`."""
    missing: CostQuote = NO_ASKS
    """Number and cost of the calls that the button Run would make; not computed during a run."""
    failed: CostQuote = NO_ASKS
    """Number and cost of the calls that the button Retry would make."""
    judges_without_key: tuple[str, ...] = ()
    key_origins: tuple[str, ...] = ()
    """Origins to which the missing keys would be sent."""
    unconfirmed: tuple[KeyDestination, ...] = ()
    """Pairs (environment variable, origin): keys that may not be sent until the user consents."""
    owned: bool = True
    """Whether the current visitor may run and control the study."""
    made: RunSpending = NO_CALLS
    """Calls, dollars and tokens of all runs of the study; not computed during a run."""
    forecast: CostQuote | None = None
    """Forecast number and cost of all calls; None if unknown, or while calls are missing."""

    @property
    def planned(self) -> int:
        return self.counts.get("planned", 0)

    @property
    def reply_count(self) -> int:
        """Number of calls with a stored reply; a failed call has none and is made again by the next
        run."""
        return domain.count_stored_replies(self.counts)

    @property
    def calls_made(self) -> int:
        """Number of planned calls that are not pending, so also those that failed; in a study of
        recorded verdicts, the number of these verdicts."""
        return self.planned - self.pending

    @property
    def has_recorded_verdicts(self) -> bool:
        """Whether the study has recorded verdicts, which need no calls."""
        return bool(self.counts.get("recorded"))

    @property
    def paused(self) -> bool:
        return self.snapshot is not None and self.snapshot.state == "paused"

    @property
    def pending(self) -> int:
        return self.counts.get("pending", 0)

    @property
    def complete(self) -> bool:
        """Whether no planned call is pending and no run is active; calls that failed count as made.
        False without planned calls, and for recorded verdicts."""
        return (
            bool(self.planned)
            and not self.pending
            and not self.running
            and not self.has_recorded_verdicts
        )

    @property
    def retry_statuses(self) -> frozenset[Status]:
        """Statuses of the calls that the button Retry makes again."""
        return statuses_to_retry(self.counts)

    @property
    def retry_includes_unreadable(self) -> bool:
        """Whether Retry also repeats calls whose replies contain no readable verdict."""
        more = self.retry_statuses - domain.RETRYABLE_STATUSES
        return any(self.counts.get(status) for status in more)

    @property
    def offers_retry(self) -> bool:
        """Whether the button Retry is useful. While calls are pending, the button Run also repeats
        the calls that failed, so Retry is offered only for other calls, such as those with an
        unreadable reply."""
        return self.failed.asks > (self.counts.get("error", 0) if self.pending else 0)


def load_run_facts(store: Store, engine: Engine, quotes: QuoteCache, name: str) -> RunFacts:
    """Load the state of a study for the Run tab. While a run is active, everything comes from the
    run's snapshot and nothing is read from the replies, since the page asks twice a second; fields
    that the snapshot lacks keep their defaults. `quotes`: cached numbers and costs of the calls
    that Run and Retry would make."""
    run = engine.latest_run(name)
    snapshot = run.snapshot() if run else None
    if run is not None and snapshot is not None and not run.finished.is_set():
        return replace(_live_run_facts(run, snapshot), owned=store.owns(name))
    study, owned = store.study(name), store.owns(name)
    missing, failed = quotes.quotes_for_run_and_retry(name)
    runs = store.runs(name)
    last = next(iter(runs), None)
    asks = bool(missing.asks or failed.asks) and owned
    keyless = _judges_without_key(judges_to_call(study), last) if missing.asks and owned else []
    made = _total_spending(store, [run.owner for run in runs if run.owner])
    facts = RunFacts(
        name=name,
        counts=store.status_counts(name, recorded=True),
        snapshot=snapshot,
        running=False,
        last=last,
        spent=study_spending(store, name),
        budget=study.budget_usd,
        maybe_paid_twice=len(list_possibly_paid_calls(store, name)),
        unpriced=made.unknown,
        missing=missing,
        failed=failed,
        judges_without_key=tuple(judge.name for judge in keyless),
        key_origins=tuple(dict.fromkeys(origin_of(judge.endpoint) for judge in keyless)),
        unconfirmed=engine.consents(store).destinations_without_consent(judges_to_call(study))
        if asks
        else (),
        owned=owned,
        made=made,
    )
    return replace(facts, forecast=quotes.whole_study_quote(name)) if facts.complete else facts


def _live_run_facts(run: Run, snapshot: RunSnapshot) -> RunFacts:
    return RunFacts(
        name=run.plan.study.name,
        counts=snapshot.counts,
        snapshot=snapshot,
        running=True,
        last=None,
        spent=snapshot.spent_before + snapshot.spent,
        budget=snapshot.budget,
        maybe_paid_twice=snapshot.possibly_paid_twice,
        unpriced=snapshot.unpriced,
    )


def _total_spending(store: Store, owners: list[str]) -> RunSpending:
    found = list(spending_by_run(store, owners).values())
    return RunSpending(
        sum(one.calls for one in found),
        sum(one.cost for one in found),
        sum(one.unknown for one in found),
        sum(one.tokens for one in found),
    )


def judges_to_call(study: Study) -> list[JudgeSpec]:
    """The judges that a run may call: those of the study, and its extraction judge."""
    names = {judge.name for judge in study.judges}
    extra = study.extraction
    return [*study.judges, *([extra] if extra and extra.name not in names else [])]


def _judges_without_key(judges: list[JudgeSpec], last: StoredRun | None) -> list[JudgeSpec]:
    """Those of the judges called over an endpoint whose key is missing: the environment variable
    for it is not set, or the key was refused or had expired in the run `last`."""
    refused = last is not None and any(words in last.reason for words in KEY_REASONS)
    return [
        judge
        for judge in judges
        if judge.kind == "endpoint"
        and (
            (judge.api_key_env and not settings.secret_value(judge.api_key_env))
            or (refused and last is not None and f"{judge.name}:" in last.reason)
        )
    ]
