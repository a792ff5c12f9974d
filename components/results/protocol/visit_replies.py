"""VisIT-Bench: cost of comparing two models (calls, tokens, dollars), and counts of the ways in
which verdicts were read from replies."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html.format import count, dollars, join_names, number, share, spaced_ci, tokens
from components.html.markup import Markup, fill
from components.html.pieces import Kpi, empty_state, paragraph, status_badge
from components.html.tables import value_table as tables
from components.results.protocol import visit_panels
from components.results.protocol.sections import rows_by_rater
from metrics.estimation import row_selection
from metrics.protocols import visit_leaderboard as measures
from metrics.win_rates.counting_rules import NO_VERDICT_STATUSES
from studies.store.caching.frame_cache import MIN_CACHED_ROWS
from studies.store.queries.cost_queries import call_cost_table, extraction_costs

NEW_MODEL_GAMES: Final = 700
"""Number of comparisons with which VisIT-Bench assesses a new model."""
DOLLAR_STYLE: Final = tables.NumberStyle(4)


# -- cost ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HeadToHeadSpending:
    """Calls, tokens and dollars of a judge and prompt. A head-to-head is one comparison of two
    answers in all its orders. `cost`: dollars per head-to-head; `tokens_in`, `tokens_out`: mean
    tokens of a call, None if unknown."""

    judge: str
    prompt: str
    cost: measures.HeadToHeadCost
    head_to_heads: int
    calls: int
    tokens_in: float | None
    tokens_out: float | None


def _read_call_costs(filtered: FilteredStudy) -> np.ndarray:
    """Array with a row for each call whose tokens or cost are stored: sequence number, prompt
    tokens, completion tokens, dollars; sorted by sequence number."""
    table = call_cost_table(filtered.store, filtered.name)
    return table[np.argsort(table[:, 0])]


_memoised_call_costs = memoise_by_study(_read_call_costs)


def _costs_by_sequence(table: np.ndarray, seqs: np.ndarray) -> np.ndarray:
    """Array with a row for each sequence number in `seqs`: prompt tokens, completion tokens,
    dollars; nan if they are not stored. `table`: result of `_read_call_costs`."""
    found, known = np.full((len(seqs), 3), math.nan), table[:, 0].astype(np.int64)
    if len(known):
        position = np.minimum(np.searchsorted(known, seqs), len(known) - 1)
        recorded = known[position] == seqs
        found[recorded] = table[position[recorded], 1:]
    return found


def _pair_rows_without_noise_repeats(filtered: FilteredStudy) -> pd.DataFrame:
    """Verdicts on pairs without the repeats that measure noise."""
    rows = visit_panels.load_pair_rows(filtered)
    return row_selection.select_rows(rows, ~rows["noise"])


def head_to_head_spending(filtered: FilteredStudy) -> list[HeadToHeadSpending]:
    """For each judge and prompt, the calls, tokens and dollars of its verdicts on pairs, without
    the repeats that measure noise; empty if no pairs were judged. The extraction judge's
    dollars are included in proportion to the calls that pass the filters."""
    rows = _pair_rows_without_noise_repeats(filtered)
    if rows.empty or "seq" not in rows:
        return []
    whole = FilteredStudy(filtered.store, filtered.name)
    is_small = len(whole.unfiltered_frame) < MIN_CACHED_ROWS
    costs = _memoised_call_costs(whole) if is_small else _read_call_costs(whole)
    extra = extraction_costs(filtered.store, filtered.name)
    every = rows_by_rater(_pair_rows_without_noise_repeats(whole))
    calls = {(judge, prompt): len(part) for judge, prompt, part in every}
    found = []
    for judge, prompt, part in rows_by_rater(rows):
        paid = _costs_by_sequence(costs, part["seq"].to_numpy())
        _, heads = row_selection.group_codes(part, row_selection.COMPARISON_KEY)
        selected = len(part) / calls[judge, prompt]  # part of the calls that pass the filters
        reading = selected * extra.get((judge, prompt), 0.0)
        cost = measures.cost_per_head_to_head(part, paid[:, 2], reading)
        each = (_mean_of_known_values(paid[:, 0]), _mean_of_known_values(paid[:, 1]))
        found.append(HeadToHeadSpending(judge, prompt, cost, heads, len(part), *each))
    return found


def _mean_of_known_values(values: np.ndarray) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def show_cost(found: Sequence[HeadToHeadSpending]) -> Markup:
    """HTML table of calls, tokens and dollars, the most dollars per head-to-head first, with the
    projected cost of adding a model; a message without pairs."""
    if not found:
        return empty_state("No pairs were judged.", "A head-to-head is one pair in both orders.")
    heads = [
        "Judge, prompt",
        "Head-to-heads",
        "Calls per head-to-head (both orders)",
        "Input tokens per call",
        "Output tokens per call",
        "Dollars per head-to-head (both orders)",
        f"Dollars to judge a new model ({NEW_MODEL_GAMES} head-to-heads)",
    ]
    label = "Cost of judging one pair of answers in both orders (head-to-head)"
    ranked = sorted(found, key=lambda one: (-(one.cost.dollars.value or 0.0), one.judge))
    return tables.value_table(heads, [_cost_row(one) for one in ranked], label=label)


def _cost_row(spending: HeadToHeadSpending) -> list[str]:
    select = {"judge": spending.judge, "prompt": spending.prompt}
    each, who = spending.cost.dollars, f"dollars per head-to-head, {spending.judge}"
    priced = tables.value_cell(each, DOLLAR_STYLE, who=who, select=select)
    return [
        tables.name_cell(spending.judge, select, spending.prompt),
        count(spending.head_to_heads),
        number(spending.calls / max(spending.head_to_heads, 1), 1),
        tokens(spending.tokens_in),
        tokens(spending.tokens_out),
        "free" if each.value == 0 else priced,
        tables.MUTED_DASH
        if each.value is None
        else fill("<b>{}</b>", dollars(NEW_MODEL_GAMES * each.value)),
    ]


# -- extraction ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReplyCounts:
    """Numbers of calls of one judge and prompt: of all (`replies`, failed calls included), and by
    status of the reply."""

    judge: str
    prompt: str
    replies: int
    by_status: Mapping[str, int]

    @property
    def extractions(self) -> int:
        return self.by_status.get("extracted", 0)

    @property
    def without_verdict(self) -> int:
        """Number of replies without a verdict. It depends on the counting rule of the study or
        filter whether they count as ties or are left out."""
        return sum(self.by_status.get(status, 0) for status in NO_VERDICT_STATUSES)

    @property
    def failed_calls(self) -> int:
        """Number of calls without a reply; no counting rule includes them."""
        return self.replies - self.by_status.get("ok", 0) - self.extractions - self.without_verdict


def reply_counts(filtered: FilteredStudy) -> list[ReplyCounts]:
    found = []
    for judge, prompt, part in rows_by_rater(_pair_rows_without_noise_repeats(filtered)):
        statuses = part["status"].value_counts().items()
        by_status = {str(status): int(n) for status, n in statuses if n}
        found.append(ReplyCounts(judge, prompt, len(part), by_status))
    return found


def show_reply_counts(filtered: FilteredStudy) -> Markup:
    found = reply_counts(filtered)
    if not found:
        return empty_state("No pairs were judged.", "There are no replies to parse.")
    treatment = "ties" if filtered.rule[1] == "tie" else "left out"
    heads: list[tables.Head] = [
        "Judge, prompt",
        "Calls",
        "Verdicts found by the parsing rule",
        "Verdicts by extraction",
        "Replies without a verdict",
        "Such replies count as",
        ("Failed calls", "calls that returned no reply; they are left out"),
    ]
    lines = [_reply_counts_row(one, treatment) for one in found]
    summary = paragraph(extraction_sentence(filtered, found), "eh-small")
    return summary + tables.value_table(heads, lines, label="Parsing of the replies")


def _reply_counts_row(counts: ReplyCounts, treatment: str) -> list[str]:
    select = {"judge": counts.judge, "prompt": counts.prompt}
    failures = {**select, "status": "failures"}
    badge = status_badge("extracted", counts.extractions)
    opens = {**select, "status": "extracted"}
    statuses = counts.by_status.items()
    by_kind = ", ".join(f"{n} {kind}" for kind, n in statuses if kind in NO_VERDICT_STATUSES)
    return [
        tables.name_cell(counts.judge, select, counts.prompt),
        count(counts.replies),
        count(counts.by_status.get("ok", 0)),
        tables.hover_html(badge, "found by the extraction judge", opens)
        if counts.extractions
        else tables.count_cell(0),
        tables.count_cell(counts.without_verdict, by_kind, failures),
        treatment if counts.without_verdict else "–",
        tables.count_cell(counts.failed_calls, "no reply", failures),
    ]


def extraction_sentence(filtered: FilteredStudy, found: Sequence[ReplyCounts]) -> str:
    """Sentences on the number of verdicts found by the extraction judge, of replies without a
    verdict and the way these count, and of failed calls."""
    unusable, extracted, failed = (
        sum(getattr(one, part) for one in found)
        for part in ("without_verdict", "extractions", "failed_calls")
    )
    judge = filtered.study.extraction
    start = "No extraction judge is set. "
    if judge:
        start = f"The extraction judge {judge.name} found **{count(extracted)}** verdicts. "
    elif extracted:
        start = (
            f"**{count(extracted)}** verdicts were extracted from replies that no parsing rule "
            "could read. "
        )
    verb = "is" if failed == 1 else "are"
    end = f" {count(failed, 'call')} failed and {verb} left out." if failed else ""
    answered = count(sum(one.replies for one in found) - failed)
    if not unusable:
        return f"{start}All {answered} replies have a verdict.{end}"
    treatment = "**counted as ties**" if filtered.rule[1] == "tie" else "left out"
    rest = f"**{count(unusable)}** of {answered} replies have no verdict and are {treatment}."
    return f"{start}{rest}{end}"


# -- key numbers ---------------------------------------------------------------------------------


def visit_kpis(
    rows: Sequence[measures.VisitLeaderboardRow],
    spent: Sequence[HeadToHeadSpending],
    found: Sequence[ReplyCounts],
) -> list[Kpi]:
    rated = [row for row in rows if row.matches]
    if not rated:
        return []
    best, top = max(rated, key=visit_panels.elo), visit_panels.find_best_against_reference(rated)
    got = best.elo.estimate
    kpis = [Kpi("Highest Elo", number(got.value), note=f"{best.model} {tables.ELO.interval(got)}")]
    if top:
        won = top[0].against_reference
        note = f"{top[0].model}{spaced_ci(won, scale=100)}, n {count(won.n)} without ties"
        note = note if len(top) == 1 else f"{join_names([row.model for row in top])}, without ties"
        kpis.append(Kpi("Highest win rate against the reference", share(won.value), note=note))
    priced = [one for one in spent if one.cost.dollars.value is not None]
    if priced:
        cheap = min(priced, key=lambda one: one.cost.dollars.value or 0.0)
        each = cheap.cost.dollars.value
        note = (
            f"judged by {cheap.judge}; a new model needs {NEW_MODEL_GAMES} head-to-heads, which "
            f"cost {dollars(NEW_MODEL_GAMES * (each or 0))}"
        )
        price = f"${each:.4f}" if each else "free"
        kpis.append(Kpi("Cost of a head-to-head", price, note=note if each else cheap.judge))
    extracted, note = count(sum(one.extractions for one in found)), "found by the extraction judge"
    return [*kpis, Kpi("Verdicts by extraction", extracted, note=note)]
