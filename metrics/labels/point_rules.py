"""Remedies for verdicts on single answers, computed from stored verdicts and labels.

A rule combines the stored verdicts on one answer. A pass/fail verdict has a credit (right 1,
undecided ½, wrong 0); a score has a loss, its distance to the label. Every rule is compared with
the rule "one call" (the verdict of a single call) on the same answers, paired by item.

An arrangement is an order of the options and criteria in the prompt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from metrics.estimation.intervals import Floats, Ints, mean_estimate, rare_proportion, sum_by_item
from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.labels.option_order import rows_by_rater
from metrics.labels.point_table import ANSWER, answer_verdicts, arrangements_by_code, table_scale
from metrics.labels.scores.score_agreement import score_agreement
from metrics.remedies.recommendation import gains_by_price, random_halves
from studies.domain import Estimate, Rater

SEED: Final = 7
MIN_REPEATS: Final = 3
"""Smallest number of calls in one arrangement for which a majority of repeats is computed."""
MIN_VALUES: Final = 3
"""Smallest number of different shares of passes (or probabilities of a pass) for which a threshold
other than ½ is tried."""
MAX_THRESHOLDS: Final = 50
MIN_COMPLETE: Final = 0.5
"""Share of the labelled answers that must have verdicts in all arrangements; otherwise the rules
that combine arrangements are not computed."""
SINGLE: Final = "single"
ADVICE_FIELDS: Final = ("rule", "calls", "fitted", "gain")
Kind = Literal["pass", "score"]
MISSING: Final[Mapping[str, str]] = {
    "arrangements": "the options and criteria were listed in one order only",
    "expected": "no probabilities of the options are stored",
    "expected-arrangements": "needs probabilities of the options in several orders",
    "repeats": f"no answer was judged {MIN_REPEATS} times in the same order",
    "threshold": "needs probabilities of the options, or answers with different verdicts",
}
"""Id of a rule -> reason why the rule cannot be computed."""


@dataclass(frozen=True, slots=True)
class PointRule:
    """Estimates of one rule (remedy for verdicts on single answers).

    `calls` is the mean number of calls per answer, `value` the agreement with labels, or the mean
    distance of scores to the labels. `gain` is the improvement over one call (positive is better);
    `adjusted` is the same gain with an interval that holds for all rules together. `gain` and
    `adjusted` are None for the rule "one call".
    """

    id: str
    calls: float
    value: Estimate
    gain: Estimate | None = None
    adjusted: Estimate | None = None


@dataclass(frozen=True, slots=True)
class PointAdvice:
    """Recommended rule: the one with the fewest calls among those with a significant gain on items
    that were not used to choose it. `fitted` is its pass threshold, or the constant that it adds to
    scores, fitted on all labels; None for other rules."""

    rule: str
    calls: float
    gain: Estimate
    fitted: float | None = None


@dataclass(frozen=True, slots=True)
class PointRemedies:
    """Results of the rules for the verdicts of one judge and prompt on labelled answers; the first
    rule is "one call". `advice` is the recommended rule, None if none was shown to help;
    `no_signal` is true if a rule is nearer to the labels than one call, but the verdicts were not
    shown to tell good answers from bad ones."""

    kind: Kind
    rules: tuple[PointRule, ...]
    missing: Mapping[str, str]
    """Id of a rule that cannot be computed -> reason."""
    advice: PointAdvice | None
    no_signal: bool = False
    verdicts: int = 0
    """Number of usable verdicts on the answers on which the rules are compared."""


def compare_single_answer_rules_with_one_call(frame: pd.DataFrame) -> dict[Rater, PointRemedies]:
    """Return (judge, prompt) -> comparison of the rules with one call, for judges and prompts with
    verdicts on labelled answers; empty without such verdicts."""
    if not (frame["options"] == 1).any():
        return {}
    table = answer_verdicts(frame)
    table = table[table["label"].notna()]
    passes = np.asarray([one.is_pass_fail for one in arrangements_by_code(frame)], bool)
    found: dict[Rater, PointRemedies] = {}
    for rater, own in rows_by_rater(table):
        if (~own["noise"]).any():
            kind: Kind = "pass" if passes[own["labels"].to_numpy()].all() else "score"
            found[rater] = _compare_rules_with_one_call(_RaterVerdicts(own, kind))
    return found


class _RaterVerdicts:
    """Verdicts of one judge and prompt on labelled answers, as one table row per answer and
    arrangement (order in which the prompt lists options and criteria)."""

    def __init__(self, rows: pd.DataFrame, kind: Kind) -> None:
        self.kind = kind
        self.rows = rows
        self.scale = table_scale(rows)
        keys = [*ANSWER, "options", "criteria"]
        main = rows[~rows["noise"]]
        grouped = main.groupby(keys)
        cells = grouped.agg(
            score=("score", "mean"), expected=("expected", "mean"), label=("label", "first"),
            calls=("score", "size"),
        )  # fmt: skip
        cells["loss"] = self.loss(main["score"], main["label"]).groupby(
            [main[key] for key in keys]
        ).mean()  # fmt: skip
        cells["expected_loss"] = self.loss(main["expected"], main["label"]).groupby(
            [main[key] for key in keys]
        ).mean()  # fmt: skip
        self.orders = len(main[["options", "criteria"]].drop_duplicates())
        self.cells = self._set_orders_and_select_answers(cells)

    def _set_orders_and_select_answers(self, cells: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of the answers that were judged in every arrangement.

        If these are less than the share MIN_COMPLETE of all answers, all rows are returned, and
        `orders` is set to 1: arrangements are then not combined.
        """
        sizes = cells.groupby(list(ANSWER))["score"].transform("size")
        whole = (sizes == self.orders).to_numpy()
        if self.orders == 1 or whole.all():
            return cells
        answers = cells[whole].groupby(list(ANSWER)).ngroups
        if answers >= MIN_COMPLETE * cells.groupby(list(ANSWER)).ngroups:
            return cells[whole]
        self.orders = 1
        return cells

    def loss(self, value: pd.Series, label: pd.Series) -> pd.Series:
        """Loss of each verdict: for pass/fail 1 − credit (0 right, ½ if the value is ½, 1 wrong),
        for a score the distance to the label; nan without a value."""
        if self.kind == "score":
            distance: pd.Series = (value - label).abs()
            return distance
        decided = np.sign(value.round(9) - 0.5)
        right = np.where(label >= 0.5, 1.0, -1.0)
        lost: pd.Series = ((1 - decided * right) / 2).where(value.notna())
        return lost

    @property
    def answers(self) -> pd.DataFrame:
        """One row for each answer, with the means over its arrangements."""
        columns = ["score", "expected", "label", "loss", "expected_loss"]
        return self.cells.groupby(list(ANSWER))[columns].mean()

    @property
    def calls_per_answer(self) -> float:
        """Mean number of calls per answer, in all its arrangements together."""
        return float(self.cells.groupby(list(ANSWER))["calls"].sum().mean())


def _compare_rules_with_one_call(verdicts: _RaterVerdicts) -> PointRemedies:
    answers = verdicts.answers
    item = _item_codes_of_answers(answers)
    losses: dict[str, tuple[float, Floats]] = {SINGLE: (1.0, answers["loss"].to_numpy(np.float64))}
    probable = bool(answers["expected"].notna().all())
    orders, calls = verdicts.orders, verdicts.calls_per_answer
    if orders > 1:
        losses["arrangements"] = (calls, _losses_of_column(verdicts, answers, "score"))
    if probable and verdicts.kind == "score":
        losses["expected"] = (1.0, answers["expected_loss"].to_numpy(np.float64))
    if probable and orders > 1:
        losses["expected-arrangements"] = (calls, _losses_of_column(verdicts, answers, "expected"))
    moved = _losses_with_held_out_threshold(verdicts, answers, item, probable)
    if moved is not None:
        losses["threshold" if verdicts.kind == "pass" else "shift"] = (calls, moved[0])
    repeats = _repeat_losses(verdicts)
    tests = len(losses) - 1 + (repeats is not None)
    rules = [
        _estimate_point_rule(verdicts, id, calls, loss, losses[SINGLE][1], item, tests)
        for id, (calls, loss) in losses.items()
    ]
    if repeats is not None:
        calls, loss, single, part = repeats
        rules.append(_estimate_point_rule(verdicts, "repeats", calls, loss, single, part, tests))
    known = {rule.id for rule in rules}
    expected = ("expected",) if verdicts.kind == "score" else ()
    asked = ("arrangements", *expected, "expected-arrangements", "repeats")
    asked += ("threshold",) if verdicts.kind == "pass" else ()
    missing = {id: MISSING[id] for id in asked if id not in known}
    span = verdicts.scale.span or 1.0
    advice = _recommend_rule(losses, item, rules, span)
    if advice is not None and moved is not None and advice.rule in ("threshold", "shift"):
        advice = replace(advice, fitted=moved[1])
    useful = advice is None or _verdicts_follow_labels(
        verdicts.kind, answers, losses[advice.rule][1], item, span
    )
    return PointRemedies(
        verdicts.kind,
        tuple(rules),
        missing,
        advice if useful else None,
        not useful,
        int(verdicts.cells["calls"].sum()),
    )


def _item_codes_of_answers(answers: pd.DataFrame) -> Ints:
    return np.asarray(answers.index.get_level_values("item").to_numpy(np.int64))


def _losses_of_column(verdicts: _RaterVerdicts, answers: pd.DataFrame, column: str) -> Floats:
    """Return the loss of each answer if its verdict is the value in `column`."""
    return np.asarray(verdicts.loss(answers[column], answers["label"]).to_numpy(np.float64))


def _estimate_point_rule(
    verdicts: _RaterVerdicts,
    rule: str,
    calls: float,
    loss: Floats,
    one_call: Floats,
    item: Ints,
    tests: int,
) -> PointRule:
    """Estimate a rule from its loss on each answer, and its gain over one call, whose losses are
    `one_call`; `tests` is the number of rules that the adjusted interval allows for."""
    kind = verdicts.kind
    value = (
        rare_proportion(1 - loss, item)
        if kind == "pass"
        else verdicts.scale.mean_distance(loss, item)
    )
    if rule == SINGLE:
        return PointRule(rule, calls, value)
    if kind == "score":
        gain = verdicts.scale.mean_difference(one_call - loss, item)
    else:
        # Two hard verdicts earn on average exactly what one does, so their gain has no error.
        exact = rule == "arrangements" and calls == 2
        bounds = (0.0, 0.0) if exact else (-1.0, 1.0)
        gain = mean_estimate(one_call - loss, item, "share", bounds)
    limits = (-1.0, 1.0) if kind == "pass" else (-math.inf, math.inf)
    return PointRule(
        rule, calls, value, gain, simultaneous_interval(gain, max(tests, 1), bounds=limits)
    )


def _repeat_losses(verdicts: _RaterVerdicts) -> tuple[float, Floats, Floats, Ints] | None:
    """Return the mean number of calls per answer in one arrangement, and three arrays by answer:
    the loss of the combined repeats and the mean loss of one call, both as means over its
    arrangements, and the item. Calls repeated only to measure noise are included.

    Only arrangements of an answer with at least MIN_REPEATS calls are used; None if they are from
    fewer than two items.
    """
    rows = verdicts.rows.assign(loss=verdicts.loss(verdicts.rows["score"], verdicts.rows["label"]))
    grouped = rows.groupby([*ANSWER, "options", "criteria"])
    table = grouped.agg(
        score=("score", "mean"), label=("label", "first"), loss=("loss", "mean"),
        calls=("score", "size"),
    )  # fmt: skip
    table = table[table["calls"] >= MIN_REPEATS]
    if table.index.get_level_values("item").nunique() < 2:
        return None
    table["combined"] = verdicts.loss(table["score"], table["label"])
    answers = table.groupby(list(ANSWER))[["combined", "loss", "calls"]].mean()
    return (
        float(answers["calls"].mean()),
        answers["combined"].to_numpy(np.float64),
        answers["loss"].to_numpy(np.float64),
        _item_codes_of_answers(answers),
    )


# ------------------------------------------------------------------ rules fitted on half the labels


def _losses_with_held_out_threshold(
    verdicts: _RaterVerdicts, answers: pd.DataFrame, item: Ints, probable: bool
) -> tuple[Floats, float] | None:
    """Return the loss of each answer with a pass threshold (for scores: a constant added to all
    scores) that was fitted on other items, mean over several random halves of the items; and the
    threshold or constant fitted on all items.

    The pass probability is the share of passes or, with `probable`, comes from the probabilities of
    the options. None with fewer than four items or, for pass/fail, fewer than MIN_VALUES different
    probabilities.
    """
    units, code = np.unique(item, return_inverse=True)
    if len(units) < 4:
        return None
    halves = random_halves(len(units), np.random.default_rng(SEED))[:, code] > 0
    label = answers["label"].to_numpy(np.float64)
    if verdicts.kind == "score":
        score = answers["score"].to_numpy(np.float64)
        held_out = _mean_held_out_loss(
            halves, lambda fit: np.abs(score + np.median((label - score)[fit]) - label)
        )
        return held_out, float(np.median(label - score))
    value = answers["expected" if probable else "score"].to_numpy(np.float64)
    if len(np.unique(value.round(6))) < MIN_VALUES:
        return None
    cuts = np.unique(np.quantile(value, np.linspace(0, 1, MAX_THRESHOLDS + 1)[1:-1]).round(9))
    cuts = np.unique(np.append(cuts, 0.5))
    wrong = (value[:, None] >= cuts) != (label >= 0.5)[:, None]
    nearest = np.argsort(np.abs(cuts - 0.5), kind="stable")  # of equally good cuts, that near ½

    def best_cut(errors: np.ndarray) -> int:
        return int(nearest[int(errors.sum(axis=0)[nearest].argmin())])

    held_out = _mean_held_out_loss(halves, lambda fit: wrong[:, best_cut(wrong[fit])])
    return held_out, float(cuts[best_cut(wrong)])


def _mean_held_out_loss(halves: np.ndarray, loss: Any) -> Floats:
    """Return the mean loss of each answer over the random halves that do not contain it. `loss`
    takes the mask of a half, fits the rule on this half and returns the losses of all answers."""
    total, count = np.zeros(halves.shape[1]), np.zeros(halves.shape[1])
    for half in halves:
        for fit in (half, ~half):
            total += np.where(fit, 0.0, loss(fit))
            count += ~fit
    return np.asarray(total / count, np.float64)


def _recommend_rule(
    losses: Mapping[str, tuple[float, Floats]], item: Ints, rules: list[PointRule], span: float
) -> PointAdvice | None:
    """Recommend a rule instead of one call; None if none is shown to help.

    For each number of calls, from the lowest, the best rule that needs no more calls is taken. The
    first of these rules with a significant gain over one call, on items that were not used to
    choose it, is returned. None also if no rule in `rules` has a significant `adjusted` gain.
    `losses`: id of a rule -> (calls per answer, loss on each answer), "one call" first; `item`:
    item of each answer; `span`: the largest possible gain."""
    helped = any(
        one.adjusted is not None and one.adjusted.low is not None and one.adjusted.low > 0
        for one in rules
    )
    if not helped or len(losses) < 2:
        return None
    ids = list(losses)
    columns = np.stack([-losses[id][1] for id in ids] + [np.ones(len(item))], axis=1)
    _, sums = sum_by_item(columns, item)
    prices = [losses[id][0] for id in ids]
    rng = np.random.default_rng(SEED)
    found = gains_by_price(sums[:, :-1], sums[:, -1], prices, rng, "", (-span, span))
    for price, place, gain, _ in found:
        if place and gain.low is not None and gain.low > 0:
            return PointAdvice(ids[place], price, gain)
    return None


def _verdicts_follow_labels(
    kind: Kind, answers: pd.DataFrame, loss: Floats, item: Ints, span: float
) -> bool:
    """Whether verdicts and labels correlate significantly (Spearman's ρ above zero), and a rule's
    loss is significantly below that of the best constant (the same verdict on every answer, fitted
    on other items).

    Without this check, averages of random scores would count as a remedy, because they are nearer
    to the labels than one random score.
    """
    label = answers["label"].to_numpy(np.float64)
    verdict = answers["expected" if answers["expected"].notna().all() else "score"]
    rho = score_agreement(verdict, label, item).spearman
    if rho.low is None or rho.low <= 0:
        return False
    units, code = np.unique(item, return_inverse=True)
    halves = random_halves(len(units), np.random.default_rng(SEED))[:, code] > 0
    target = label if kind == "score" else (label >= 0.5).astype(np.float64)
    constant = _mean_held_out_loss(halves, lambda fit: np.abs(target - np.median(target[fit])))
    lead = mean_estimate(constant - loss, item, bounds=(-span, span))
    return lead.low is not None and lead.low > 0


def single_answer_rules_section(frame: pd.DataFrame) -> dict[str, Any]:
    """Build the summary's section on remedies for verdicts on single answers, as judge -> prompt ->
    {"rules": estimates, "missing": rules that cannot be computed, "recommendation": the recommended
    rule, or {"rule": null}}."""
    nested: dict[str, Any] = {}
    for (judge, prompt), found in compare_single_answer_rules_with_one_call(frame).items():
        name = "agreement" if found.kind == "pass" else "mae"
        advice = found.advice
        nested.setdefault(judge, {})[prompt] = {
            "rules": {one.id: _point_rule_as_json(one, name) for one in found.rules},
            "missing": dict(found.missing),
            "recommendation": {name: getattr(advice, name) for name in ADVICE_FIELDS}
            if advice
            else {"rule": None},
        }
    return nested


def _point_rule_as_json(rule: PointRule, name: str) -> dict[str, Any]:
    values: dict[str, Any] = {"calls": round(rule.calls, 4), name: rule.value}
    if rule.gain is not None and rule.adjusted is not None:
        values |= {"gain": rule.gain, "adjusted": rule.adjusted}
    return values
