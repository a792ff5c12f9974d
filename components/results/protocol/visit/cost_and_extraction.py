"""What a head-to-head takes (calls, tokens, dollars) and how its verdicts were read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html.format import count, dollars, inline_markup, number, share, tokens
from components.html.panel import Kpi, empty_state, status_badge, wrap
from components.html.value_table import (
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
from metrics.win_rates.win_rates import NO_VERDICT_STATUSES
from studies.domain import Status
from studies.store.frame_cache import MIN_CACHED_ROWS

NEW_MODEL_GAMES: Final = 700
"""Head-to-heads with which VisIT-Bench assesses a new model."""
DOLLAR_STYLE: Final = NumberStyle(4)


@dataclass(frozen=True, slots=True)
class HeadToHeadSpending:
    """What comparing two answers took with one judge and prompt."""

    judge: str
    prompt: str
    cost: HeadToHeadCost
    head_to_heads: int
    calls: int
    tokens_in: float | None
    tokens_out: float | None


def head_to_head_spending(scene: FilteredStudy) -> list[HeadToHeadSpending]:
    """By judge and prompt, from what the store holds of each call."""
    rows = load_pair_rows(scene)
    rows = select_rows(rows, ~rows["noise"])
    if rows.empty or "seq" not in rows:
        return []
    whole = FilteredStudy(scene.store, scene.name)
    bills = (
        _memoised_call_costs(whole)
        if len(whole.unfiltered_frame) < MIN_CACHED_ROWS
        else read_call_costs(whole)
    )
    extra = extraction_cost(scene)
    found = []
    for judge, prompt in observed_combinations(rows, ("judge", "prompt")):
        part = select_rows(rows, (rows["judge"] == judge) & (rows["prompt"] == prompt))
        paid = bills.of(part["seq"].to_numpy())
        _, heads = group_codes(part, COMPARISON_KEY)
        found.append(
            HeadToHeadSpending(
                str(judge), str(prompt),
                cost_per_head_to_head(part, paid[:, 2], extra.get((judge, prompt), 0.0)),
                heads, len(part), _known_mean(paid[:, 0]), _known_mean(paid[:, 1]),
            )
        )  # fmt: skip
    return found


def _known_mean(values: np.ndarray) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


@dataclass(frozen=True, eq=False)
class CallCosts:
    """Prompt tokens, completion tokens and dollars of every call of which somebody said any."""

    seq: np.ndarray
    """Sorted."""
    table: np.ndarray

    def of(self, seqs: np.ndarray) -> np.ndarray:
        """A row for each of these calls; nan where nobody said."""
        found = np.full((len(seqs), 3), math.nan)
        if len(self.seq):
            place = np.minimum(np.searchsorted(self.seq, seqs), len(self.seq) - 1)
            known = self.seq[place] == seqs
            found[known] = self.table[place[known]]
        return found


def read_call_costs(scene: FilteredStudy) -> CallCosts:
    """Some thousand at a time: a million of them as Python's numbers would be half a gigabyte."""
    cursor = scene.store.read(
        "SELECT j.seq, j.prompt_tokens, j.completion_tokens, j.cost FROM plan p "
        "JOIN judgements j USING(key) WHERE p.study=(SELECT id FROM studies WHERE name=?) AND "
        "(j.prompt_tokens IS NOT NULL OR j.completion_tokens IS NOT NULL OR j.cost IS NOT NULL)",
        (scene.name,),
    )
    parts = [np.zeros((0, 4))]
    while some := cursor.fetchmany(50_000):
        parts.append(np.array(some, np.float64))
    table = np.concatenate(parts)
    order = np.argsort(table[:, 0])
    return CallCosts(table[order, 0].astype(np.int64), table[order, 1:])


_memoised_call_costs = memoise_by_study(read_call_costs)


def extraction_cost(scene: FilteredStudy) -> dict[tuple[str, str], float]:
    """Dollars that extraction took, by the judge and prompt whose replies were read."""
    found = scene.store.read(
        "SELECT p.judge, p.prompt, COALESCE(sum(x.cost), 0) FROM extractions e "
        "JOIN judgements x ON x.key=e.key JOIN plan p ON p.key=e.reads "
        "WHERE p.study=(SELECT id FROM studies WHERE name=?) GROUP BY 1, 2",
        (scene.name,),
    )
    return {(judge, prompt): float(cost) for judge, prompt, cost in found}


def show_cost(found: Sequence[HeadToHeadSpending]) -> str:
    """Calls, tokens in and out, dollars; and what a new model would cost at this rate."""
    if not found:
        return empty_state(
            "Nothing was asked in pairs.", "A head-to-head is one pair in both orders."
        )
    heads = [
        ColumnHead("Judge, prompt", numeric=False),
        ColumnHead("Head-to-heads"),
        ColumnHead("Calls each"),
        ColumnHead("Tokens in, a call"),
        ColumnHead("Tokens out"),
        ColumnHead("Dollars each"),
        ColumnHead(f"A new model, {NEW_MODEL_GAMES}"),
    ]
    return value_table(heads, [_cost_row(one) for one in found], label="Cost per head-to-head")


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
        f"<b>{dollars(whole)}</b>" if whole is not None else '<span class="eh-mute">–</span>',
    ]


# -- extraction ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReplyCounts:
    """What became of the replies of one judge and prompt."""

    judge: str
    prompt: str
    replies: int
    by_status: Mapping[str, int]

    @property
    def extracted(self) -> int:
        return self.by_status.get("extracted", 0)

    @property
    def without_verdict(self) -> int:
        """Replies without a verdict: what "unreadable is a tie" turns into ties."""
        return sum(self.by_status.get(status, 0) for status in NO_VERDICT_STATUSES)

    @property
    def failed(self) -> int:
        """Asks that failed on the way: nobody answered, so no rule makes anything of them."""
        return self.replies - self.by_status.get("ok", 0) - self.extracted - self.without_verdict


def reply_counts(scene: FilteredStudy) -> list[ReplyCounts]:
    rows = load_pair_rows(scene)
    rows = select_rows(rows, ~rows["noise"])
    found = []
    for judge, prompt in observed_combinations(rows, ("judge", "prompt")):
        part = select_rows(rows, (rows["judge"] == judge) & (rows["prompt"] == prompt))
        statuses = part["status"].value_counts()
        by_status = {str(status): int(n) for status, n in statuses.items() if n}
        found.append(ReplyCounts(str(judge), str(prompt), len(part), by_status))
    return found


def show_extraction(scene: FilteredStudy, found: Sequence[ReplyCounts]) -> str:
    if not found:
        return empty_state("Nothing was asked in pairs.", "There is nothing to read.")
    tied = scene.rule[1] == "tie"
    heads = [
        ColumnHead("Judge, prompt", numeric=False),
        ColumnHead("Asked"),
        ColumnHead("Read by the rule"),
        ColumnHead("Extracted"),
        ColumnHead("No verdict"),
        ColumnHead("Counted as"),
        ColumnHead("Failed", tip="asks that nobody answered: they count for nothing"),
    ]
    said = f'<p class="eh-small">{inline_markup(extraction_sentence(scene, found))}</p>'
    return wrap(said) + value_table(
        heads, [_reply_row(one, tied) for one in found], label="Reading"
    )


def _reply_row(one: ReplyCounts, tied: bool) -> list[str]:
    select = {"judge": one.judge, "prompt": one.prompt}
    shown: Status = "extracted"
    badge = hover_html(
        status_badge(shown, one.extracted), "verdicts that the extraction judge found",
        {**select, "status": "extracted"},
    )  # fmt: skip
    by_kind = ", ".join(
        f"{n} {kind}" for kind, n in one.by_status.items() if kind in NO_VERDICT_STATUSES
    )
    return [
        name_cell(one.judge, select, one.prompt),
        count(one.replies),
        f"{count(one.by_status.get('ok', 0))}",
        badge if one.extracted else count_cell(0),
        count_cell(one.without_verdict, by_kind, {**select, "status": "failures"}),
        ("ties" if tied else "nothing") if one.without_verdict else "–",
        count_cell(one.failed, "nobody answered", {**select, "status": "failures"}),
    ]


def extraction_sentence(scene: FilteredStudy, found: Sequence[ReplyCounts]) -> str:
    """How many verdicts the rule about unreadable replies concerns, and what it makes of them."""
    silent, extracted = (
        sum(one.without_verdict for one in found),
        sum(one.extracted for one in found),
    )
    replies = sum(one.replies for one in found)
    judge = scene.study.extraction
    start = (
        f"{judge.name} extracts: **{count(extracted)}** verdicts came that way. " if judge else ""
    )
    if not judge and extracted:
        start = f"**{count(extracted)}** verdicts were extracted from replies. "
    if not judge and not extracted:
        start = "No extraction judge is set. "
    failed = sum(one.failed for one in found)
    end = f" {count(failed)} asks failed on the way and count for nothing." if failed else ""
    answered = replies - failed
    if not silent:
        return f"{start}Every one of {count(answered)} replies has a verdict.{end}"
    made = "**counted as ties**" if scene.rule[1] == "tie" else "left out"
    told = f"**{count(silent)}** of {count(answered)} replies have none and are {made}."
    return f"{start}{told}{end}"


# -- words ---------------------------------------------------------------------------------------


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
        note = f"{top.model} {PERCENT.bounds(won)}, n {count(won.n)} decisive"
        kpis.append(Kpi("Against the reference", share(won.value), note=note))
    priced = [one for one in spent if one.cost.dollars.value is not None]
    if priced:
        cheap = min(priced, key=lambda one: one.cost.dollars.value or 0.0)
        each = cheap.cost.dollars
        note = f"{cheap.judge}; {NEW_MODEL_GAMES} of them: {dollars(NEW_MODEL_GAMES * (each.value or 0))}"
        told = f"${each.value:.4f}" if each.value else "free"
        kpis.append(Kpi("A head-to-head", told, note=note if each.value else cheap.judge))
    extracted = sum(one.extracted for one in found)
    kpis.append(Kpi("Verdicts by extraction", count(extracted), note="read by a second judge"))
    return kpis
