"""Panels on the cost of comparing two models (calls, tokens, dollars), and on how verdicts were
read from replies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html.format import count, dollars, number, share, tokens
from components.html.markup import Markup, fill, inline_markup
from components.html.panel import Kpi, empty_state, status_badge, wrap
from components.html.tables.value_table import (
    ELO,
    PERCENT,
    ColumnHead,
    NumberStyle,
    count_cell,
    hover_html,
    name_cell,
    value_cell,
    value_table,
)
from components.results.protocol.visit.leaderboard import load_pair_rows
from metrics.estimation.row_selection import (
    COMPARISON_KEY,
    group_codes,
    observed_combinations,
    select_rows,
)
from metrics.protocols.visit_leaderboard import (
    HeadToHeadCost,
    VisitLeaderboardRow,
    cost_per_head_to_head,
)
from metrics.win_rates.counting_rules import NO_VERDICT_STATUSES
from studies.domain import Status
from studies.store.caching.frame_cache import MIN_CACHED_ROWS
from studies.store.queries.cost_queries import call_cost_table, extraction_costs

NEW_MODEL_GAMES: Final = 700
"""Number of comparisons with which VisIT-Bench assesses a new model."""
DOLLAR_STYLE: Final = NumberStyle(4)


@dataclass(frozen=True, slots=True)
class HeadToHeadSpending:
    """Spending of a judge and prompt: number of head-to-heads (comparisons in all their orders) and
    of calls, dollars per head-to-head, mean tokens per call."""

    judge: str
    prompt: str
    cost: HeadToHeadCost
    head_to_heads: int
    calls: int
    tokens_in: float | None
    tokens_out: float | None


def head_to_head_spending(filtered: FilteredStudy) -> list[HeadToHeadSpending]:
    """HeadToHeadSpending of each judge and prompt, from the stored costs of the calls."""
    rows = load_pair_rows(filtered)
    rows = select_rows(rows, ~rows["noise"])
    if rows.empty or "seq" not in rows:
        return []
    whole = FilteredStudy(filtered.store, filtered.name)
    costs = (
        _memoised_call_costs(whole)
        if len(whole.unfiltered_frame) < MIN_CACHED_ROWS
        else read_call_costs(whole)
    )
    extra = extraction_costs(filtered.store, filtered.name)
    found = []
    for judge, prompt in observed_combinations(rows, ("judge", "prompt")):
        part = select_rows(rows, (rows["judge"] == judge) & (rows["prompt"] == prompt))
        paid = costs.of(part["seq"].to_numpy())
        _, heads = group_codes(part, COMPARISON_KEY)
        found.append(
            HeadToHeadSpending(
                judge=str(judge),
                prompt=str(prompt),
                cost=cost_per_head_to_head(part, paid[:, 2], extra.get((judge, prompt), 0.0)),
                head_to_heads=heads,
                calls=len(part),
                tokens_in=_known_mean(paid[:, 0]),
                tokens_out=_known_mean(paid[:, 1]),
            )
        )
    return found


def _known_mean(values: np.ndarray) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


@dataclass(frozen=True, eq=False)
class CallCosts:
    """Prompt tokens, completion tokens and dollars of each call with a recorded cost."""

    seq: np.ndarray
    """Sequence numbers of the calls, sorted."""
    table: np.ndarray
    """One row per call: prompt tokens, completion tokens, dollars."""

    def of(self, seqs: np.ndarray) -> np.ndarray:
        """Tokens and dollars, one row per sequence number in `seqs`; nan if not recorded."""
        found = np.full((len(seqs), 3), math.nan)
        if len(self.seq):
            position = np.minimum(np.searchsorted(self.seq, seqs), len(self.seq) - 1)
            known = self.seq[position] == seqs
            found[known] = self.table[position[known]]
        return found


def read_call_costs(filtered: FilteredStudy) -> CallCosts:
    """Costs of all calls of the study, by sequence number."""
    table = call_cost_table(filtered.store, filtered.name)
    order = np.argsort(table[:, 0])
    return CallCosts(table[order, 0].astype(np.int64), table[order, 1:])


_memoised_call_costs = memoise_by_study(read_call_costs)


def show_cost(found: Sequence[HeadToHeadSpending]) -> Markup:
    """HTML table of calls, tokens and dollars, with the projected cost of adding a model."""
    if not found:
        return empty_state("No pairs were judged.", "A head-to-head is one pair in both orders.")
    heads = [
        ColumnHead("Judge, prompt", numeric=False),
        ColumnHead("Head-to-heads"),
        ColumnHead("Calls per head-to-head (both orders)"),
        ColumnHead("Input tokens per call"),
        ColumnHead("Output tokens per call"),
        ColumnHead("Dollars per head-to-head (both orders)"),
        ColumnHead(f"Dollars to judge a new model ({NEW_MODEL_GAMES} head-to-heads)"),
    ]
    label = "Cost of judging one pair of answers in both orders (head-to-head)"
    return value_table(heads, [_cost_row(one) for one in found], label=label)


def _cost_row(one: HeadToHeadSpending) -> list[str]:
    select = {"judge": one.judge, "prompt": one.prompt}
    each = one.cost.dollars
    whole = None if each.value is None else NEW_MODEL_GAMES * each.value
    return [
        name_cell(one.judge, select, one.prompt),
        count(one.head_to_heads),
        number(one.calls / max(one.head_to_heads, 1), 1),
        tokens(one.tokens_in),
        tokens(one.tokens_out),
        "free"
        if each.value == 0
        else value_cell(
            each, DOLLAR_STYLE, who=f"dollars per head-to-head, {one.judge}", select=select
        ),
        fill("<b>{}</b>", dollars(whole))
        if whole is not None
        else Markup('<span class="eh-mute">–</span>'),
    ]


# -- extraction ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReplyCounts:
    """Number of calls of one judge and prompt (`replies`), and by status of the reply."""

    judge: str
    prompt: str
    replies: int
    by_status: Mapping[str, int]

    @property
    def extracted(self) -> int:
        return self.by_status.get("extracted", 0)

    @property
    def without_verdict(self) -> int:
        """Number of replies without a verdict: ties or left out, depending on the counting rule."""
        return sum(self.by_status.get(status, 0) for status in NO_VERDICT_STATUSES)

    @property
    def failed(self) -> int:
        """Number of calls without a reply; no counting rule includes them."""
        return self.replies - self.by_status.get("ok", 0) - self.extracted - self.without_verdict


def reply_counts(filtered: FilteredStudy) -> list[ReplyCounts]:
    rows = load_pair_rows(filtered)
    rows = select_rows(rows, ~rows["noise"])
    found = []
    for judge, prompt in observed_combinations(rows, ("judge", "prompt")):
        part = select_rows(rows, (rows["judge"] == judge) & (rows["prompt"] == prompt))
        statuses = part["status"].value_counts()
        by_status = {str(status): int(n) for status, n in statuses.items() if n}
        found.append(ReplyCounts(str(judge), str(prompt), len(part), by_status))
    return found


def show_extraction(filtered: FilteredStudy, found: Sequence[ReplyCounts]) -> Markup:
    if not found:
        return empty_state("No pairs were judged.", "There are no replies to parse.")
    tied = filtered.rule[1] == "tie"
    heads = [
        ColumnHead("Judge, prompt", numeric=False),
        ColumnHead("Calls"),
        ColumnHead("Verdicts found by the parsing rule"),
        ColumnHead("Verdicts by extraction"),
        ColumnHead("Replies without a verdict"),
        ColumnHead("Such replies count as"),
        ColumnHead("Failed calls", tip="calls that returned no reply; they are left out"),
    ]
    summary = fill(
        '<p class="eh-small">{}</p>', inline_markup(extraction_sentence(filtered, found))
    )
    rows = [_reply_row(one, tied) for one in found]
    return wrap(summary) + value_table(heads, rows, label="Parsing of the replies")


def _reply_row(one: ReplyCounts, tied: bool) -> list[str]:
    select = {"judge": one.judge, "prompt": one.prompt}
    shown: Status = "extracted"
    badge = hover_html(
        status_badge(shown, one.extracted),
        "found by the extraction judge",
        {**select, "status": "extracted"},
    )
    by_kind = ", ".join(
        f"{n} {kind}" for kind, n in one.by_status.items() if kind in NO_VERDICT_STATUSES
    )
    return [
        name_cell(one.judge, select, one.prompt),
        count(one.replies),
        f"{count(one.by_status.get('ok', 0))}",
        badge if one.extracted else count_cell(0),
        count_cell(one.without_verdict, by_kind, {**select, "status": "failures"}),
        ("ties" if tied else "left out") if one.without_verdict else "–",
        count_cell(one.failed, "no reply", {**select, "status": "failures"}),
    ]


def extraction_sentence(filtered: FilteredStudy, found: Sequence[ReplyCounts]) -> str:
    """Sentence on the number of verdicts found by the extraction judge and of replies without a
    verdict, and on how the latter count."""
    unusable = sum(one.without_verdict for one in found)
    extracted = sum(one.extracted for one in found)
    replies = sum(one.replies for one in found)
    judge = filtered.study.extraction
    start = (
        f"The extraction judge {judge.name} found **{count(extracted)}** verdicts. "
        if judge
        else ""
    )
    if not judge and extracted:
        start = (
            f"**{count(extracted)}** verdicts were extracted from replies that no parsing rule "
            "could read. "
        )
    if not judge and not extracted:
        start = "No extraction judge is set. "
    failed = sum(one.failed for one in found)
    verb = "is" if failed == 1 else "are"
    end = f" {count(failed, 'call')} failed and {verb} left out." if failed else ""
    answered = replies - failed
    if not unusable:
        return f"{start}All {count(answered)} replies have a verdict.{end}"
    treatment = "**counted as ties**" if filtered.rule[1] == "tie" else "left out"
    rest = (
        f"**{count(unusable)}** of {count(answered)} replies have no verdict and are {treatment}."
    )
    return f"{start}{rest}{end}"


# -- headline and key numbers --------------------------------------------------------------------


def visit_kpis(
    rows: Sequence[VisitLeaderboardRow],
    spent: Sequence[HeadToHeadSpending],
    found: Sequence[ReplyCounts],
) -> list[Kpi]:
    rated = [row for row in rows if row.matches]
    if not rated:
        return []
    best = max(rated, key=lambda row: row.elo.estimate.value or 0.0)
    got = best.elo.estimate
    kpis = [Kpi("Highest Elo", number(got.value), note=f"{best.model} {ELO.bounds(got)}")]
    met = [row for row in rated if row.against_reference.value is not None]
    if met:
        top = max(met, key=lambda row: row.against_reference.value or 0.0)
        won = top.against_reference
        note = f"{top.model} {PERCENT.bounds(won)}, n {count(won.n)} without ties"
        kpis.append(Kpi("Highest win rate against the reference", share(won.value), note=note))
    priced = [one for one in spent if one.cost.dollars.value is not None]
    if priced:
        cheap = min(priced, key=lambda one: one.cost.dollars.value or 0.0)
        each = cheap.cost.dollars
        whole = dollars(NEW_MODEL_GAMES * (each.value or 0))
        note = (
            f"judged by {cheap.judge}; a new model needs {NEW_MODEL_GAMES} head-to-heads, which "
            f"cost {whole}"
        )
        price = f"${each.value:.4f}" if each.value else "free"
        kpis.append(Kpi("Cost of a head-to-head", price, note=note if each.value else cheap.judge))
    extracted = sum(one.extracted for one in found)
    kpis.append(
        Kpi("Verdicts by extraction", count(extracted), note="found by the extraction judge")
    )
    return kpis
