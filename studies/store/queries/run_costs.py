"""Attempts of calls and their costs: by judge and outcome, by run, by study."""

import sqlite3
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from studies.domain import USABLE_STATUSES, Judgement, Usage
from studies.store.rows import STUDY_ID
from studies.store.store_file import StoreFile


class AttemptTotals(NamedTuple):
    """Totals of all attempts of one judge with the same outcome; `calls` is their number."""

    judge: str
    outcome: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost: float
    unknown: int
    """Number of attempts that may have been billed at an unknown cost."""
    reasoning_tokens: int
    """Completion tokens of the reasoning before the answers."""


REFUSED_SQL: Final = (
    "(a.outcome LIKE 'HTTP %' OR a.outcome LIKE 'no %' OR a.outcome IN "
    "('rate limit', 'unreachable', 'too_long', 'unsupported', 'stopped'))"
)
"""SQL condition for an attempt that the endpoint refused or that did not reach the endpoint."""
UNKNOWN_USAGE_SQL: Final = f"sum(a.cost IS NULL AND (a.outcome IS NULL OR NOT {REFUSED_SQL}))"
"""SQL expression for the number of attempts that may have been billed at an unknown cost; refused
attempts are not billed."""


def attempt_totals(store: StoreFile, study: str) -> list[AttemptTotals]:
    """Sum up, by judge and outcome, all attempts at the calls in a study's plan, and at the
    extractions of verdicts from their replies. Attempts by runs of other studies count too."""
    rows = store.read(
        "WITH mine(key, judge) AS ("
        "SELECT DISTINCT key, judge FROM plan WHERE origin='live' "
        f"AND study={STUDY_ID} "
        "UNION SELECT e.key, e.judge FROM extractions e JOIN plan p ON p.key=e.reads "
        f"WHERE p.study={STUDY_ID}) "
        "SELECT mine.judge, COALESCE(a.outcome, 'unknown'), count(*), "
        "COALESCE(sum(a.prompt_tokens), 0), COALESCE(sum(a.completion_tokens), 0), "
        "COALESCE(sum(a.cached_tokens), 0), COALESCE(sum(a.cost), 0.0), "
        f"{UNKNOWN_USAGE_SQL}, COALESCE(sum(a.reasoning_tokens), 0) "
        "FROM attempts a JOIN mine USING(key) GROUP BY 1, 2 ORDER BY 1, 2",
        (study, study),
    )
    return [AttemptTotals(*row) for row in rows]


def attempt_totals_of_run(store: StoreFile, owner: str, study: str) -> list[AttemptTotals]:
    """Sum the attempts of one run by judge and outcome; `owner` identifies the run (see StoredRun).
    The judge is "" for attempts at calls that are no longer in the plan of `study`."""
    rows = store.read(
        "WITH mine(key, judge) AS ("
        f"SELECT DISTINCT key, judge FROM plan WHERE study={STUDY_ID} "
        "UNION SELECT e.key, e.judge FROM extractions e JOIN plan p ON p.key=e.reads "
        f"WHERE p.study={STUDY_ID}) "
        "SELECT COALESCE(mine.judge, ''), COALESCE(a.outcome, 'unknown'), count(*), "
        "COALESCE(sum(a.prompt_tokens), 0), COALESCE(sum(a.completion_tokens), 0), "
        f"COALESCE(sum(a.cached_tokens), 0), COALESCE(sum(a.cost), 0.0), {UNKNOWN_USAGE_SQL}, "
        "COALESCE(sum(a.reasoning_tokens), 0) "
        "FROM attempts a LEFT JOIN mine USING(key) WHERE a.owner=? GROUP BY 1, 2 ORDER BY 1, 2",
        (study, study, owner),
    )
    return [AttemptTotals(*row) for row in rows]


class RunSpending(NamedTuple):
    """Number of attempts (`calls`) and dollars of one run; `unknown` is the number of attempts that
    may have been billed at an unknown cost."""

    calls: int
    cost: float
    unknown: int
    tokens: int = 0
    """Prompt and completion tokens."""


def spending_by_run(store: StoreFile, owners: Collection[str]) -> dict[str, RunSpending]:
    """Return owner -> attempts, dollars and tokens of the run that `owner` identifies, for several
    runs in one query; runs without attempts are left out."""
    marks = ",".join("?" * len(owners))
    rows = store.read(
        f"SELECT owner, count(*), COALESCE(sum(cost), 0.0), {UNKNOWN_USAGE_SQL}, "
        "COALESCE(sum(prompt_tokens), 0) + COALESCE(sum(completion_tokens), 0) FROM attempts a "
        f"WHERE owner IN ({marks}) GROUP BY owner",
        list(owners),
    )
    return {owner: RunSpending(*rest) for owner, *rest in rows}


def study_spending(store: StoreFile, study: str) -> float:
    """Return the dollars spent by the runs of a study; judgements reused from another study cost
    nothing."""
    row = store.read(
        "SELECT COALESCE(sum(a.cost), 0.0) FROM runs r JOIN attempts a ON a.owner=r.owner "
        "WHERE r.study=? AND r.owner!=''",
        (study,),
    ).fetchone()
    return float(row[0])


class RunFailureCount(NamedTuple):
    """Number of unusable replies of one run with the same status."""

    status: str
    asks: int
    key: str
    """Key of the last call with such a reply, as an example."""


def failures_of_run(store: StoreFile, owner: str) -> list[RunFailureCount]:
    """Count, by status, the unusable replies of a run. `owner` is the id under which the run
    recorded its attempts (`StoredRun.owner`). Replies that a later run has replaced are not
    counted."""
    marks = ",".join("?" * len(USABLE_STATUSES))
    rows = store.read(
        "SELECT j.status, count(DISTINCT j.key), j.key, max(j.seq) FROM attempts a "
        "JOIN judgements j ON j.key=a.key AND j.status=a.outcome "
        f"WHERE a.owner=? AND j.status NOT IN ({marks}) AND NOT EXISTS (SELECT 1 FROM attempts b "
        "WHERE b.key=a.key AND b.outcome=a.outcome AND b.owner!=a.owner AND b.id>a.id) "
        "GROUP BY j.status",
        (owner, *USABLE_STATUSES),
    )
    return [RunFailureCount(*row[:3]) for row in rows]


class OtherRunSpending(NamedTuple):
    """Spending of another run of the same study on judges that are not free, in dollars.
    `highest` is the cost of its dearest attempt, `in_flight` the number of attempts that have
    not ended."""

    owner: str
    dollars: float
    highest: float
    unknown: int
    """Number of ended attempts that may have been billed at an unknown cost."""
    in_flight: int


def spending_of_other_runs(
    connection: sqlite3.Connection, study: str, owner: str, free_judges: Sequence[str]
) -> list[OtherRunSpending]:
    """Return the spending of each run of a study except the run `owner` (`StoredRun.owner`).
    Attempts of `free_judges` do not count, and a run with only such attempts is left out."""
    marks = ",".join("?" * len(free_judges))
    rows = connection.execute(
        "SELECT a.owner, COALESCE(sum(a.cost), 0.0), COALESCE(max(a.cost), 0.0), "
        f"sum(a.cost IS NULL AND a.ended IS NOT NULL AND NOT {REFUSED_SQL}), "
        "sum(a.ended IS NULL) FROM attempts a WHERE a.owner IN "
        "(SELECT owner FROM runs WHERE study=? AND owner NOT IN ('', ?)) AND NOT EXISTS "
        f"(SELECT 1 FROM plan p WHERE p.key=a.key AND p.judge IN ({marks})) GROUP BY 1",
        (study, owner, *free_judges),
    )
    return [OtherRunSpending(*row) for row in rows]


def put_attempt_made_outside_store(
    connection: sqlite3.Connection,
    judgement: Judgement,
    owner: str,
    usage: Usage,
    cost: float | None,
) -> None:
    """Store the attempt at a call that was made outside this store; its outcome is the status of
    the judgement. Nothing is stored if the run `owner` already has an attempt at this call
    that got a reply. `cost` is in dollars (None if unknown)."""
    connection.execute(
        "INSERT INTO attempts(key, owner, started, ended, outcome, prompt_tokens, "
        "completion_tokens, cached_tokens, cache_write, cost, reasoning_tokens) "
        "SELECT ?,?,?,?,?,?,?,?,?,?,? WHERE NOT EXISTS "
        "(SELECT 1 FROM attempts WHERE key=? AND owner=? AND outcome!='error')",
        (judgement.ask.key, owner, judgement.time, judgement.time, judgement.status, usage.prompt,
         usage.completion, usage.cached, usage.cache_write, cost,
         usage.reasoning_tokens, judgement.ask.key, owner),
    )  # fmt: skip
