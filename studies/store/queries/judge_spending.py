"""Tokens, seconds and dollars spent on the replies of a judge."""

from dataclasses import dataclass
from statistics import fmean, median

from studies.domain import ERROR_STATUSES, USABLE_STATUSES
from studies.store.store_file import StoreFile
from studies.texts.twin_families import TWIN_SIGN


@dataclass(frozen=True, slots=True)
class JudgeSpending:
    """Tokens, dollars and seconds of one judge's replies, to one prompt or to all prompts. A value
    is None if no reply reports it.

    Of the `replies`, `timed` have a recorded time, `unusable` have no verdict, `twins` show a twin
    (a changed copy of an answer), and `repeats` are noise-floor repeats (calls repeated only to
    measure how much the judge varies) that show no twin. `failed` is the number of calls without a
    reply."""

    replies: int
    prompt_tokens: int | None
    completion_tokens: int | None
    dollars: float | None
    """Sum over all calls with a price, failed ones included; None without any."""
    dollars_per_reply: float | None
    """Mean over the replies with a price, without failed calls; None without any."""
    median_seconds: float | None
    timed: int
    unusable: int = 0
    repeats: int = 0
    twins: int = 0
    failed: int = 0


def judge_spending(store: StoreFile, study: str, judge: str, prompt: str = "") -> JudgeSpending:
    """Sum up tokens, dollars and times of all replies of a judge, readable or not, repeats
    included. With `prompt`, only replies to this prompt count. Failed calls count only for the
    dollars, and in `failed`."""
    rows = store.read(
        "SELECT j.prompt_tokens, j.completion_tokens, j.cost, j.seconds, j.status, p.noise, "
        "instr(p.shown, ?) > 0 FROM plan p JOIN judgements j USING(key) "
        "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND p.judge=? AND ? IN ('', p.prompt)",
        (TWIN_SIGN, study, judge, prompt),
    ).fetchall()
    replies = [row for row in rows if row[4] not in ERROR_STATUSES]
    sent, written = ([row[k] for row in replies] for k in range(2))
    priced = [row[2] for row in rows if row[2] is not None]
    reply_costs = [row[2] for row in replies if row[2] is not None]
    timed = [row[3] for row in replies if row[3]]
    return JudgeSpending(
        replies=len(replies),
        prompt_tokens=_sum_known(sent),
        completion_tokens=_sum_known(written),
        dollars=sum(priced) if priced else None,
        dollars_per_reply=fmean(reply_costs) if reply_costs else None,
        median_seconds=median(timed) if timed else None,
        timed=len(timed),
        unusable=sum(row[4] not in USABLE_STATUSES for row in replies),
        repeats=sum(row[5] and not row[6] for row in replies),
        twins=sum(row[6] for row in replies),
        failed=len(rows) - len(replies),
    )


def _sum_known(values: list[int | None]) -> int | None:
    """Return the sum of the values that are not None; None without any."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def mean_call_dollars(store: StoreFile, study: str) -> dict[tuple[str, str], float]:
    """Return (judge, prompt) -> mean cost in dollars of a call with a reply. A judge and prompt
    is left out if any of these replies has no known cost; failed calls do not count."""
    rows = store.read(
        "SELECT p.judge, p.prompt, avg(j.cost) FROM plan p JOIN judgements j USING(key) "
        "WHERE p.study=(SELECT id FROM studies WHERE name=?) "
        f"AND j.status NOT IN ({','.join('?' * len(ERROR_STATUSES))}) "
        "GROUP BY p.judge, p.prompt HAVING count(*) = count(j.cost)",
        (study, *ERROR_STATUSES),
    ).fetchall()
    return {(judge, prompt): float(dollars) for judge, prompt, dollars in rows}


def mean_call_tokens(store: StoreFile, study: str) -> dict[tuple[str, str], float]:
    """Return (judge, prompt) -> mean tokens of a call, prompt and reply together, over the replies
    that report both.

    A judge and prompt without such replies, or with 0 tokens in all of them, is left out.
    """
    return {cell: sum(parts) for cell, parts in mean_prompt_and_reply_tokens(store, study).items()}


def mean_prompt_and_reply_tokens(
    store: StoreFile, study: str
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return (judge, prompt) -> mean tokens of the prompt and mean tokens of the reply, over the
    replies that report both. A judge and prompt without such replies, or with 0 tokens in all of
    them, is left out."""
    rows = store.read(
        "SELECT p.judge, p.prompt, avg(j.prompt_tokens), avg(j.completion_tokens) "
        "FROM plan p JOIN judgements j USING(key) "
        "WHERE p.study=(SELECT id FROM studies WHERE name=?) "
        "AND j.prompt_tokens IS NOT NULL AND j.completion_tokens IS NOT NULL "
        "GROUP BY p.judge, p.prompt HAVING sum(j.prompt_tokens + j.completion_tokens) > 0",
        (study,),
    ).fetchall()
    return {(judge, prompt): (float(sent), float(written)) for judge, prompt, sent, written in rows}
