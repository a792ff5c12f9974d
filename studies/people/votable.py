"""Comparisons of a study that people can vote on.

A comparison has a weight: the number of raters (a rater is a judge with a prompt) whose pick
changes with the order of the answers, or the number that disagree with the other raters."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from studies.domain import HUMAN_PREFIX, REFERENCE, UNRELATED, USABLE_STATUSES
from studies.frames.frame_codes import NO_PICK, SEP, TIE
from studies.store.ballot_queries import SINGLE_MODES, BallotMode, SelectionRule, VotingRules
from studies.store.queries import plan_queries
from studies.store.store import Store

ComparisonKey = tuple[str, tuple[str, ...]]
"""(item, contestants compared, in alphabetical order)."""
_TIE: Final = "tie"


@dataclass(frozen=True, slots=True)
class VotableComparison:
    """A comparison that people can vote on; `names` are the contestants in alphabetical order."""

    item: str
    names: tuple[str, ...]
    weight: int = 0
    """Number of raters (judge and prompt) whose pick changes with the order (selection rule
    `flipped`) or who are outvoted by the other raters (`split`); 0 for random selection."""

    @property
    def comparison(self) -> ComparisonKey:
        return (self.item, self.names)


def votable_comparisons(
    store: Store, study: str, mode: BallotMode, rules: VotingRules
) -> tuple[VotableComparison, ...]:
    """List the comparisons whose texts are in the store and that the voting rules select. In
    voting modes that show one answer at a time, all answers are selected, whatever
    `rules.choose` is."""
    units = store.memoised(
        study,
        ("votable", mode, rules.whom),
        lambda: _list_all_votable(store, study, mode, rules.whom),
        store.version(study)[0],
    )
    if rules.choose == "random" or mode in SINGLE_MODES:
        return units
    weights = disagreement_weights(store, study, rules.choose)
    weighed = (replace(unit, weight=weights.get(unit.comparison, 0)) for unit in units)
    return tuple(unit for unit in weighed if unit.weight)


def count_comparisons_by_rule(
    store: Store, study: str, mode: BallotMode, rules: VotingRules
) -> dict[SelectionRule, int]:
    """Return selection rule -> number of comparisons that it selects in a voting mode."""
    return {
        choose: len(votable_comparisons(store, study, mode, replace(rules, choose=choose)))
        for choose in ("random", "flipped", "split")
    }


def _list_all_votable(
    store: Store, study: str, mode: BallotMode, whom: str
) -> tuple[VotableComparison, ...]:
    """List all comparisons (or single answers) that people can vote on in a voting mode, without
    weights. `whom` ("reference" or "answers") has an effect only in the mode "verify": it selects
    the reference answers or those of the contestants."""
    answered = _contestants_by_item(store, study)
    if mode == "verify":
        return tuple(_verifiable_answers(answered, whom))
    if mode in SINGLE_MODES:
        return tuple(_single_answers(answered, set(store.study(study).contestants)))
    found = _planned_comparisons(store, study, answered, mode) or _possible_comparisons(
        store, study, answered, mode
    )
    return tuple(VotableComparison(item, names) for item, names in found)


def _contestants_by_item(store: Store, study: str) -> dict[str, set[str]]:
    """Return item -> contestants with a non-empty answer."""
    return {
        item: {name for name, length in narrow["lengths"].items() if length}
        for item, narrow in store.item_facts(study).items()
    }


def _verifiable_answers(answered: Mapping[str, set[str]], whom: str) -> Iterable[VotableComparison]:
    """Yield the answers to verify: the references if `whom` is "reference" and any item has one,
    else the contestants' answers. `answered`: item -> contestants with an answer."""
    references = any(REFERENCE in names for names in answered.values())
    for item, names in answered.items():
        for name in sorted(names):
            if (name == REFERENCE) == (references and whom == "reference"):
                yield VotableComparison(item, (name,))


def _single_answers(
    answered: Mapping[str, set[str]], contestants: set[str]
) -> Iterable[VotableComparison]:
    """Yield the answers that voters pass, fail or score: those of the study's contestants, or of
    all if the study names none. `answered`: item -> contestants with an answer."""
    for item, names in answered.items():
        for name in sorted(names - {REFERENCE}):
            if not contestants or name in contestants:
                yield VotableComparison(item, (name,))


def _planned_comparisons(
    store: Store, study: str, answered: Mapping[str, set[str]], mode: BallotMode
) -> list[ComparisonKey]:
    """List the comparisons in the judges' plan that fit the voting mode, so that votes can be
    compared with verdicts; answers to another question (`@unrelated`) are removed from them. In
    the mode "options", pairs are listed only if the plan has no larger comparison. `answered`: item
    -> contestants with an answer."""
    found: dict[ComparisonKey, None] = {}
    for item, shown in plan_queries.comparisons_not_by_people(store, study):
        names = tuple(sorted(set(shown.split(SEP)) - {UNRELATED}))
        fits = len(names) == 2 or (mode == "options" and len(names) > 2)
        if fits and set(names) <= answered.get(item, set()):
            found[item, names] = None
    many = [comparison for comparison in found if len(comparison[1]) > 2]
    return many or list(found) if mode == "options" else list(found)


def _possible_comparisons(
    store: Store, study: str, answered: Mapping[str, set[str]], mode: BallotMode
) -> list[ComparisonKey]:
    """List all comparisons of the study's contestants: in the mode "options" one per item, of all
    answers, else all pairs. Used if no planned comparison fits the voting mode. `answered`: item ->
    contestants with an answer."""
    wanted = set(store.study(study).contestants)
    found: list[ComparisonKey] = []
    for item, names in answered.items():
        shown = sorted(n for n in names if (n in wanted if wanted else n != REFERENCE))
        if mode == "options":
            found += [(item, tuple(shown))] if len(shown) >= 2 else []
        else:
            found += [(item, pair) for pair in itertools.combinations(shown, 2)]
    return found


# ------------------------------------------------------------------------ where judges disagree


def disagreement_weights(
    store: Store, study: str, choose: SelectionRule
) -> dict[ComparisonKey, int]:
    """Return comparison -> weight; comparisons of weight 0 are left out.

    For `choose="flipped"`, the weight is the number of raters (a rater is a judge with a
    prompt) whose pick changes with the order of the answers; for "split", the number of raters
    whose pick is not the most frequent one."""
    # Human votes do not change the weights, so the version is that of the judges' verdicts.
    judged = (store.plan_sha(study), *plan_queries.stamp_of_verdicts_not_by_people(store, study))
    return dict(
        store.memoised(
            study, ("vote weights", choose), lambda: _compute_weights(store, study, choose), judged
        )
    )


def _compute_weights(
    store: Store, study: str, choose: SelectionRule
) -> tuple[tuple[ComparisonKey, int], ...]:
    """Return the result of `disagreement_weights` as pairs (comparison, weight), which can be
    cached because they cannot be changed."""
    weights: Counter[ComparisonKey] = Counter()
    picks_by_rater: dict[ComparisonKey, Counter[str]] = defaultdict(Counter)
    for (comparison, _), by_order in _judge_picks_by_rater_and_order(store, study).items():
        modes = {order: _most_frequent_pick(picks) for order, picks in by_order.items()}
        weights[comparison] += len(set(modes.values())) > 1
        picks_by_rater[comparison][_most_frequent_pick(Counter(modes.values()))] += 1
    if choose == "split":
        weights = Counter({c: p.total() - max(p.values()) for c, p in picks_by_rater.items()})
    return tuple((comparison, weight) for comparison, weight in weights.items() if weight)


def _judge_picks_by_rater_and_order(
    store: Store, study: str
) -> dict[tuple[ComparisonKey, str], dict[str, Counter[str]]]:
    """Return (comparison, rater) -> order of the answers -> how often each contestant was picked.
    A rater is a judge with a prompt; people and noise-floor repeats are left out."""
    found: dict[tuple[ComparisonKey, str], dict[str, Counter[str]]] = {}
    for row in store.frame_rows(study):
        _, item, judge, prompt, shown, _, _, noise, _, status, pick, *_ = row
        names = shown.split(SEP)
        usable = status in USABLE_STATUSES and pick is not None and pick != NO_PICK
        if judge.startswith(HUMAN_PREFIX) or noise or not usable or len(names) < 2:
            continue
        rater = ((item, tuple(sorted(set(names) - {UNRELATED}))), f"{judge}{SEP}{prompt}")
        by_order = found.setdefault(rater, defaultdict(Counter))
        by_order[shown][_TIE if pick == TIE else names[pick]] += 1
    return found


def _most_frequent_pick(picks: Counter[str]) -> str:
    """Return the most frequent pick; "tie" if two picks are equally frequent."""
    (first, most), *rest = picks.most_common(2)
    return _TIE if rest and rest[0][1] == most else first
