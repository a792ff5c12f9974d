"""What there is to vote on in a study, and where its judges flip or disagree."""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from studies.domain import HUMAN_PREFIX, REFERENCE, UNRELATED, USABLE_STATUSES
from studies.frames.frame import NO_PICK, SEP, TIE
from studies.store.ballots import BallotMode, SelectionRule, VotingRules
from studies.store.store import Store

ComparisonKey = tuple[str, tuple[str, ...]]
"""An item, and the contestants compared on it in the order of their names."""
_TIE: Final = "tie"


@dataclass(frozen=True, slots=True)
class VotableComparison:
    """One thing to be voted on: `names` in alphabetical order, so that it tells no order."""

    item: str
    names: tuple[str, ...]
    weight: int = 0
    """How telling: judges that flip on it, or that are outvoted by the others."""

    @property
    def comparison(self) -> ComparisonKey:
        return (self.item, self.names)


def votable_comparisons(
    store: Store, study: str, mode: BallotMode, rules: VotingRules
) -> tuple[VotableComparison, ...]:
    """What a vote can be cast on: only where the store has the texts."""
    units = _all_votable(store, study, mode, rules.whom, store.version(study)[0])
    if rules.choose == "random" or mode == "verify":
        return units
    weights = disagreement_weights(store, study, rules.choose)
    weighed = (replace(unit, weight=weights.get(unit.comparison, 0)) for unit in units)
    return tuple(unit for unit in weighed if unit.weight)


def count_by_selection(
    store: Store, study: str, mode: BallotMode, rules: VotingRules
) -> dict[SelectionRule, int]:
    """How many comparisons each choice leaves."""
    return {
        choose: len(votable_comparisons(store, study, mode, replace(rules, choose=choose)))
        for choose in ("random", "flipped", "split")
    }


@lru_cache(maxsize=64)
def _all_votable(
    store: Store, study: str, mode: BallotMode, whom: str, version: str
) -> tuple[VotableComparison, ...]:
    answered = _contestants_by_item(store, study)
    if mode == "verify":
        return tuple(_verifiable_answers(answered, whom))
    found = _planned_comparisons(store, study, answered, mode) or _possible_comparisons(
        store, study, answered, mode
    )
    return tuple(VotableComparison(item, names) for item, names in found)


def _contestants_by_item(store: Store, study: str) -> dict[str, set[str]]:
    """Who answered each item: a text of no length is no answer."""
    return {
        item: {name for name, length in narrow["lengths"].items() if length}
        for item, narrow in store.item_facts(study).items()
    }


def _verifiable_answers(answered: Mapping[str, set[str]], whom: str) -> Iterable[VotableComparison]:
    """The references; the contestants' answers if those are asked for, or there is no reference."""
    references = any(REFERENCE in names for names in answered.values())
    for item, names in answered.items():
        for name in sorted(names):
            if (name == REFERENCE) == (references and whom == "reference"):
                yield VotableComparison(item, (name,))


def _planned_comparisons(
    store: Store, study: str, answered: Mapping[str, set[str]], mode: BallotMode
) -> list[ComparisonKey]:
    """What judges are asked about, so that a vote can be held against a verdict. An answer to
    another question is nobody's to choose: the others are voted on without it."""
    rows = store.read(
        "SELECT DISTINCT item, shown FROM plan WHERE study=(SELECT id FROM studies WHERE name=?) "
        "AND judge NOT LIKE ?",
        (study, f"{HUMAN_PREFIX}%"),
    )
    found: dict[ComparisonKey, None] = {}
    for item, shown in rows:
        names = tuple(sorted(set(shown.split(SEP)) - {UNRELATED}))
        fits = len(names) == 2 or (mode == "options" and len(names) > 2)
        if fits and set(names) <= answered.get(item, set()):
            found[item, names] = None
    many = [place for place in found if len(place[1]) > 2]
    return many or list(found) if mode == "options" else list(found)


def _possible_comparisons(
    store: Store, study: str, answered: Mapping[str, set[str]], mode: BallotMode
) -> list[ComparisonKey]:
    """Where no judge is asked in this form: the contestants of the study, all or two by two."""
    wanted = set(store.study(study).contestants)
    found: list[ComparisonKey] = []
    for item, names in answered.items():
        playing = sorted(n for n in names if (n in wanted if wanted else n != REFERENCE))
        if mode == "options":
            found += [(item, tuple(playing))] if len(playing) >= 2 else []
        else:
            found += [(item, pair) for pair in itertools.combinations(playing, 2)]
    return found


def voted_comparisons(connection: sqlite3.Connection, study: str, voter: str) -> set[ComparisonKey]:
    """What a person of this name has voted on already, here or in the file of the data."""
    rows = connection.execute(
        "SELECT item, shown FROM plan WHERE study=(SELECT id FROM studies WHERE name=?) "
        "AND judge=?",
        (study, voter),
    )
    return {(item, tuple(sorted(shown.split(SEP)))) for item, shown in rows}


# ------------------------------------------------------------------------ where judges disagree


def disagreement_weights(
    store: Store, study: str, choose: SelectionRule
) -> dict[ComparisonKey, int]:
    """flipped: how many voices (judge and prompt) change their mind with the order. split: how many
    voices are outvoted by the others. Places where it is none are left out."""
    return dict(_compute_weights(store, study, choose, _verdict_version(store, study)))


def _verdict_version(store: Store, study: str) -> tuple[str, int, int]:
    """Changes when a judge's verdict does; a vote leaves it as it is."""
    row = store.read(
        "SELECT count(*), COALESCE(max(j.seq), 0) FROM plan p JOIN judgements j USING(key) "
        "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND p.judge NOT LIKE ?",
        (study, f"{HUMAN_PREFIX}%"),
    ).fetchone()
    return (store.plan_sha(study), row[0], row[1])


@lru_cache(maxsize=16)
def _compute_weights(
    store: Store, study: str, choose: SelectionRule, judged: tuple[str, int, int]
) -> tuple[tuple[ComparisonKey, int], ...]:
    said = _picks_by_order(store, study)
    weights: Counter[ComparisonKey] = Counter()
    voices: dict[ComparisonKey, Counter[str]] = defaultdict(Counter)
    for (place, _), by_order in said.items():
        modes = {order: _most_frequent_pick(picks) for order, picks in by_order.items()}
        weights[place] += len(set(modes.values())) > 1
        voices[place][_most_frequent_pick(Counter(modes.values()))] += 1
    if choose == "split":
        weights = Counter({p: v.total() - max(v.values()) for p, v in voices.items()})
    return tuple((place, weight) for place, weight in weights.items() if weight)


def _picks_by_order(
    store: Store, study: str
) -> dict[tuple[ComparisonKey, str], dict[str, Counter[str]]]:
    """By place and voice: what was picked in each order."""
    said: dict[tuple[ComparisonKey, str], dict[str, Counter[str]]] = {}
    for row in store.frame_rows(study):
        _, item, judge, prompt, shown, _, _, noise, _, status, pick, *_ = row
        names = shown.split(SEP)
        read = status in USABLE_STATUSES and pick is not None and pick != NO_PICK
        if judge.startswith(HUMAN_PREFIX) or noise or not read or len(names) < 2:
            continue
        voice = ((item, tuple(sorted(set(names) - {UNRELATED}))), f"{judge}{SEP}{prompt}")
        by_order = said.setdefault(voice, defaultdict(Counter))
        by_order[shown][_TIE if pick == TIE else names[pick]] += 1
    return said


def _most_frequent_pick(picks: Counter[str]) -> str:
    """What was said most; as often one as the other is a tie."""
    (first, most), *rest = picks.most_common(2)
    return _TIE if rest and rest[0][1] == most else first
