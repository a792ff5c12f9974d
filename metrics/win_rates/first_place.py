"""Stability of a ranking of models: cycles, random halves of the items, the fewest verdicts that
decide first place, and the places of each model under other choices of analysis (the multiverse).

Models are ranked by their win rate in pairs, ties counted half. If one model, the baseline, is in
every pair, the others are ranked by their win rate against it, and the baseline's own score is ½: a
model is then placed above the baseline exactly if it wins more than half.

The counting rule states how the verdicts in both orders become one outcome, and whether unusable
replies count as ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.integer_codes import unique_codes
from metrics.estimation.intervals import Floats, Ints, safe_divide
from metrics.win_rates.counting_rules import CombineRule, UnreadableRule, outcome_rows
from studies.frames.frame import TIE

HALVES: Final = 50
SEED: Final = 50
MAX_MODELS: Final = 60
"""Number of models above which cycles and other choices are not computed."""
EVERY: Final = "all"
ORDER_CHOICES: Final = (EVERY, "one order", "the other order", "flips as ties")
TIE_CHOICES: Final = ("half", "drop")
_EQUAL: Final = 1e-9


@dataclass(frozen=True, slots=True)
class PairVerdicts:
    """Usable verdicts on two different models. `low` and `high` are the codes of the two models,
    the lower code first; `points` (1, ½ or 0) are those of `low`. `listed_first` is 1 for a verdict
    in the order that the plan lists first for the two models, else 0."""

    names: list[str]
    item: Ints
    prompt: Ints
    low: Ints
    high: Ints
    listed_first: Ints
    points: Floats

    @property
    def baseline_code(self) -> int:
        """Code of the model that is in every pair, if there are three or more models; −1 if no
        model is."""
        if len(self.names) < 3 or not len(self.low):
            return -1
        for code in range(len(self.names)):
            if ((self.low == code) | (self.high == code)).all():
                return code
        return -1


def pair_verdicts(
    frame: pd.DataFrame, combine: CombineRule = "pooled", unreadable: UnreadableRule = "exclude"
) -> PairVerdicts:
    """Extract the outcomes of pairs by a counting rule (`outcome_rows`); with `combine="strict"` a
    comparison counts once, and a flip is a tie."""
    pairs = row_selection.select_pairs(frame)
    rows = row_selection.select_pairs(outcome_rows(pairs, combine, unreadable))
    names = row_selection.contestants(rows) if len(rows) else []
    if not names:
        none = np.zeros(0, np.int64)
        return PairVerdicts([], none, none, none, none, none, np.zeros(0))
    shown = row_selection.slot_contestants(rows, names)[:, :2]
    kept = shown[:, 0] != shown[:, 1]
    low, high = shown.min(axis=1), shown.max(axis=1)
    pick = rows["pick"].to_numpy()
    points = np.where(pick == TIE, 0.5, shown[np.arange(len(rows)), np.maximum(pick, 0)] == low)
    codes = (row_selection.item_codes(rows), row_selection.column_codes(rows["prompt"])[0])
    listed = row_selection.first_listed_orders(pairs)
    first = rows["shown"].isin(listed).to_numpy().astype(np.int64)
    item, prompt, low, high, first = (one[kept] for one in (*codes, low, high, first))
    return PairVerdicts(names, item, prompt, low, high, first, points[kept].astype(np.float64))


def model_scores(data: PairVerdicts, weight: Floats | None = None) -> Floats:
    """Scores of the models as an array [round, model]: the win rate, or ½ for the baseline; nan
    without a verdict. `weight` [round, item code] is the number of times that an item counts in a
    round (default: one round, every item once)."""
    models = len(data.names)
    items = int(data.item.max(initial=-1)) + 1
    if weight is None:
        weight = np.ones((1, items))
    who = np.concatenate([data.low, data.high])
    points = np.concatenate([data.points, 1 - data.points])
    code = np.tile(data.item, 2) * models + who
    won, n = (
        np.bincount(code, value, minlength=items * models).reshape(items, models)
        for value in (points, np.ones(len(points)))
    )
    scores = safe_divide(weight @ won, weight @ n)
    if data.baseline_code >= 0:
        scores[:, data.baseline_code] = 0.5
    return scores


@dataclass(frozen=True, slots=True)
class Cycles:
    """Triples of models (a, b, c) in which a mostly beats b, b beats c, and c beats a."""

    found: tuple[tuple[str, str, str], ...]
    triples: int
    """Number of triples of which all three pairs were compared."""


def find_cycles(data: PairVerdicts) -> Cycles:
    """Find the cycles of three models in the head-to-head majorities. Three models of which two won
    equally often against each other are no cycle."""
    models = len(data.names)
    code = data.low * models + data.high
    n = np.bincount(code, minlength=models * models).reshape(models, models)
    won = np.bincount(code, data.points, minlength=models * models).reshape(models, models)
    met = (n + n.T) > 0
    lead = np.sign(np.where(n > 0, 2 * won - n, 0.0))
    lead = lead - lead.T
    found, triples = [], 0
    for a, b, c in combinations(range(models), 3):
        triples += bool(met[a, b] and met[b, c] and met[a, c])
        if lead[a, b] and lead[a, b] == lead[b, c] == lead[c, a]:
            order = (a, b, c) if lead[a, b] > 0 else (a, c, b)
            found.append((data.names[order[0]], data.names[order[1]], data.names[order[2]]))
    return Cycles(tuple(found), triples)


@dataclass(frozen=True, slots=True)
class FirstPlace:
    """The model in first place, and the stability of this place."""

    leader: str
    halves_first: int
    """Number of random halves of the items in which the leader alone is first."""
    halves: int
    challenger: str
    """The model that needs the fewest changed verdicts to pass the leader; empty if none can."""
    verdicts: int | None
    """Fewest verdicts whose change puts the challenger above the leader; None if no model can pass
    the leader."""
    of: int
    """Number of verdicts."""


def first_place(data: PairVerdicts, halves: int = HALVES, seed: int = SEED) -> FirstPlace | None:
    """Find the model in first place and the stability of this place; None without a sole leader, or
    if a model has no verdict. `halves` is the number of random halves of the items drawn."""
    scores = model_scores(data)[0] if data.names else np.zeros(0)
    if len(scores) < 2 or not np.isfinite(scores).all():
        return None
    leader = int(scores.argmax())
    if (scores > scores[leader] - _EQUAL).sum() > 1:
        return None
    items = np.unique(data.item)
    rng = np.random.default_rng(seed)
    weight = np.zeros((halves, int(items.max()) + 1))
    for row in weight:
        row[rng.permutation(items)[: (len(items) + 1) // 2]] = 1
    drawn = model_scores(data, weight)
    others = np.delete(np.nan_to_num(drawn, nan=-1.0), leader, axis=1)
    first = int((drawn[:, leader] > others.max(axis=1) + _EQUAL).sum())
    needed = {
        name: count
        for code, name in enumerate(data.names)
        if code != leader and (count := _changes_needed(data, scores, leader, code)) is not None
    }
    challenger = min(needed, key=lambda name: (needed[name], name), default="")
    return FirstPlace(
        data.names[leader], first, halves, challenger, needed.get(challenger), len(data.low)
    )


def _changes_needed(data: PairVerdicts, scores: Floats, leader: int, challenger: int) -> int | None:
    """Fewest verdicts whose change puts `challenger` above `leader`; None if no change does.

    Changing a verdict closes a part of the gap that does not depend on the other verdicts, so the
    verdicts that close the largest parts are changed first.
    """
    gain = np.zeros(len(data.low))
    for side, points in ((data.low, data.points), (data.high, 1 - data.points)):
        for code, lost in ((leader, points), (challenger, 1 - points)):
            if code != data.baseline_code:
                mine = ((data.low == code) | (data.high == code)).sum()
                gain += np.where(side == code, lost / mine, 0.0)
    reached = np.cumsum(np.sort(gain)[::-1]) > scores[leader] - scores[challenger] + _EQUAL
    return int(reached.argmax()) + 1 if reached.any() else None


# ---- other choices of analysis -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Analysis:
    """One choice of tie rule, order, prompt and baseline, and the place of each model under it."""

    ties: str
    order: str
    prompt: str
    baseline: str
    places: dict[str, int]


def ranks_under_all_analyses(
    frame: pd.DataFrame, combine: CombineRule = "pooled", unreadable: UnreadableRule = "exclude"
) -> list[Analysis]:
    """Rank the models under every combination of tie rule, order, prompt and opponent; the first is
    the default: all outcomes by the counting rule (`combine`, `unreadable`), ties counted half.
    Combinations that leave a model without a verdict are left out. Empty for fewer than three or
    more than MAX_MODELS models."""
    rules = dict(zip(ORDER_CHOICES, (combine, "pooled", "pooled", "strict"), strict=True))
    if combine == "strict":  # flips are ties by default
        del rules[ORDER_CHOICES[-1]]
    verdicts = {rule: pair_verdicts(frame, rule, unreadable) for rule in set(rules.values())}
    usual = verdicts[combine]
    if not 2 < len(usual.names) <= MAX_MODELS:
        return []
    prompts = _prompt_codes_if_several(frame)
    opponents = [EVERY] if usual.baseline_code >= 0 else [EVERY, *usual.names]
    counted = {rule: _CountedPairs.from_verdicts(one) for rule, one in verdicts.items()}
    chosen = product(TIE_CHOICES, rules, [EVERY, *prompts], opponents)
    found = []
    for ties, order, prompt, baseline in chosen:
        table = counted[rules[order]]
        code = prompts.get(prompt, -1)
        places = table.places_of_models(ties, ORDER_CHOICES.index(order), code, baseline)
        if places and len(places) == len(usual.names):
            found.append(Analysis(ties, order, prompt, baseline, places))
    return found


def _prompt_codes_if_several(frame: pd.DataFrame) -> dict[str, int]:
    """Return prompt -> code, if the frame has several prompts; else an empty dictionary."""
    codes, _ = row_selection.column_codes(frame["prompt"])
    names = sorted(map(str, row_selection.used_categories(frame["prompt"])))
    found = {name: int(codes[(frame["prompt"] == name).to_numpy().argmax()]) for name in names}
    return found if len(found) > 1 else {}


@dataclass(frozen=True, slots=True)
class _CountedPairs:
    """Verdicts counted by prompt, order and pair of models: `counts` has, for each combination, the
    numbers of verdicts that gave the model `low` 0, ½ and 1 points."""

    data: PairVerdicts
    prompt: Ints
    listed_first: Ints
    low: Ints
    high: Ints
    counts: Floats

    @classmethod
    def from_verdicts(cls, data: PairVerdicts) -> _CountedPairs:
        models = len(data.names)
        pair = data.low * models + data.high
        kinds, code = unique_codes((data.prompt * 2 + data.listed_first) * models**2 + pair)
        level = np.round(2 * data.points).astype(np.int64)
        counts = np.bincount(code * 3 + level, minlength=3 * len(kinds)).reshape(-1, 3)
        rest, pair = kinds // models**2, kinds % models**2
        sides = (pair // models, pair % models)
        return cls(data, rest // 2, rest % 2, *sides, counts.astype(np.float64))

    def places_of_models(self, ties: str, order: int, prompt: int, baseline: str) -> dict[str, int]:
        """Place of each model under these choices; empty if a model has no verdict left. `ties` is
        one of TIE_CHOICES, `order` an index of ORDER_CHOICES, `prompt` a code (−1: all prompts),
        `baseline` the only opponent that counts, or EVERY."""
        names = self.data.names
        if baseline not in (EVERY, *names):
            return {}
        only = names.index(baseline) if baseline != EVERY else self.data.baseline_code
        kept = np.ones(len(self.low), bool)
        if order in (1, 2):
            kept &= self.listed_first == (order == 1)
        if prompt >= 0:
            kept &= self.prompt == prompt
        if only >= 0:
            kept &= (self.low == only) | (self.high == only)
        lost, tied, won = np.where(kept, self.counts.T, 0.0)
        half = tied / 2 if ties == "half" else 0.0
        total = lost + won + (tied if ties == "half" else 0.0)
        size = len(names)
        points = np.bincount(self.low, won + half, size) + np.bincount(self.high, lost + half, size)
        n = np.bincount(self.low, total, size) + np.bincount(self.high, total, size)
        scores = safe_divide(points, n)
        if only >= 0:
            scores[only] = 0.5
        if not np.isfinite(scores).all():
            return {}
        above = (scores[None, :] > scores[:, None] + _EQUAL).sum(axis=1)
        return {name: int(place) + 1 for name, place in zip(names, above, strict=True)}


def place_ranges(analyses: Sequence[Analysis]) -> dict[str, dict[str, Any]]:
    """Return model -> its place by default (in the first of the `analyses`), its best and worst
    place, the number of analyses that put it first, and the number of all analyses; models in the
    order of the default places. Empty without analyses."""
    if not analyses:
        return {}
    default = analyses[0].places
    found = {}
    for name in sorted(default, key=lambda one: (default[one], one)):
        places = [one.places[name] for one in analyses]
        found[name] = {
            "place": default[name], "best": min(places), "worst": max(places),
            "first_in": places.count(1), "analyses": len(places),
        }  # fmt: skip
    return found


def ranking_stability_section(
    frame: pd.DataFrame, combine: CombineRule = "pooled", unreadable: UnreadableRule = "exclude"
) -> dict[str, Any]:
    """Return cycles, first place (None without a sole leader), and the places under other choices,
    by a counting rule; empty for fewer than three or more than MAX_MODELS models."""
    data = pair_verdicts(frame, combine, unreadable)
    if not 2 < len(data.names) <= MAX_MODELS:
        return {}
    cycles = find_cycles(data)
    return {
        "cycles": [list(one) for one in cycles.found],
        "triples": cycles.triples,
        "first": first_place(data),
        "multiverse": place_ranges(ranks_under_all_analyses(frame, combine, unreadable)),
    }
