"""Costs and failures of a study's replies, for its report and its cost tables."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from studies.domain import HUMAN_PREFIX, USABLE_STATUSES
from studies.store.rows import STUDY_ID
from studies.store.store_file import StoreFile

_ROWS_PER_BATCH: Final = 50_000


@dataclass(frozen=True, slots=True)
class JudgeCost:
    """Totals of one judge's calls: number of replies (a failed call has none), tokens, dollars
    (None if no call has a price) and seconds. A call that does not report one of these values adds
    nothing to its total."""

    judge: str
    replies: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Number (`n`) of unusable replies of one judge with one status. `example` is the beginning
    of one of their error messages or, without a message, of the reply."""

    status: str
    judge: str
    n: int
    example: str


def judge_costs(store: StoreFile, study: str) -> list[JudgeCost]:
    rows = store.read(
        "SELECT p.judge, sum(j.status != 'error'), sum(coalesce(j.prompt_tokens, 0)), "
        "sum(coalesce(j.completion_tokens, 0)), sum(j.cost), sum(j.seconds) "
        f"FROM plan p JOIN judgements j USING(key) WHERE p.study={STUDY_ID} GROUP BY p.judge "
        "ORDER BY p.judge",
        (study,),
    )
    return [JudgeCost(*row) for row in rows]


def failure_counts(store: StoreFile, study: str) -> list[FailureCount]:
    """Count unusable replies by judge and status, the most frequent first."""
    readable = ",".join(f"'{status}'" for status in sorted(USABLE_STATUSES))
    rows = store.read(
        "SELECT j.status, p.judge, count(*), max(substr(CASE WHEN r.detail != '' THEN r.detail "
        "ELSE r.reply END, 1, 200)) FROM plan p JOIN judgements j USING(key) "
        f"JOIN replies r USING(key) WHERE p.study={STUDY_ID} AND j.status NOT IN ({readable}) "
        "GROUP BY j.status, p.judge ORDER BY count(*) DESC",
        (study,),
    )
    return [FailureCount(*row) for row in rows]


def first_and_last_reply_times(store: StoreFile, study: str) -> tuple[float | None, float | None]:
    """Return the times, in seconds since 1970, of the first and the last judgement by judges other
    than people. Times after the year 5000 count as invalid and are left out. If no time is
    recorded, the first is None and the last None or 0."""
    first, last = store.read(
        "SELECT min(nullif(j.time, 0)), max(j.time) FROM plan p JOIN judgements j USING(key) "
        f"WHERE p.study={STUDY_ID} AND substr(p.judge, 1, ?) != ? AND j.time < 1e11",
        (study, len(HUMAN_PREFIX), HUMAN_PREFIX),
    ).fetchone()
    return first, last


def reported_models(store: StoreFile, study: str) -> dict[str, list[str]]:
    """Return judge -> model identifiers that the judge's replies report."""
    rows = store.read(
        f"SELECT DISTINCT p.judge, j.model FROM plan p JOIN judgements j USING(key) "
        f"WHERE p.study={STUDY_ID} AND j.model != '' ORDER BY p.judge, j.model",
        (study,),
    )
    found: dict[str, list[str]] = {}
    for judge, model in rows:
        found.setdefault(judge, []).append(model)
    return found


def call_cost_table(store: StoreFile, study: str) -> np.ndarray:
    """Return an array with one row for each judgement whose tokens or cost are known. Its columns
    are the sequence number (`seq` in the frame), prompt tokens, completion tokens and dollars;
    NaN where unknown."""
    cursor = store.read(
        "SELECT j.seq, j.prompt_tokens, j.completion_tokens, j.cost FROM plan p "
        f"JOIN judgements j USING(key) WHERE p.study={STUDY_ID} AND "
        "(j.prompt_tokens IS NOT NULL OR j.completion_tokens IS NOT NULL OR j.cost IS NOT NULL)",
        (study,),
    )
    parts = [np.zeros((0, 4))]  # in batches: a million Python rows would take half a GB
    while batch := cursor.fetchmany(_ROWS_PER_BATCH):
        parts.append(np.array(batch, np.float64))
    return np.concatenate(parts)


def extraction_costs(store: StoreFile, study: str) -> dict[tuple[str, str], float]:
    """Return (judge, prompt) -> dollars spent on extracting verdicts from the replies of this judge
    to this prompt."""
    found = store.read(
        "SELECT p.judge, p.prompt, COALESCE(sum(x.cost), 0) FROM extractions e "
        "JOIN judgements x ON x.key=e.key JOIN plan p ON p.key=e.reads "
        f"WHERE p.study={STUDY_ID} GROUP BY 1, 2",
        (study,),
    )
    return {(judge, prompt): float(cost) for judge, prompt, cost in found}
