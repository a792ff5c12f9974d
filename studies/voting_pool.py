"""What there is to vote on in a study, and where its judges flip or disagree."""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from studies.ballots import Choice, Mode, Voting
from studies.frame import NO_PICK, SEP, TIE
from studies.records import EVIDENCE, HUMAN_PREFIX, REFERENCE, UNRELATED
from studies.store import Store

Place = tuple[str, tuple[str, ...]]
"""An item, and the contestants compared on it in the order of their names."""
_TIED: Final = "tie"


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing to be voted on: `names` in alphabetical order, so that it tells no order."""

    item: str
    names: tuple[str, ...]
    weight: int = 0
    """How telling: judges that flip on it, or that are outvoted by the others."""

    @property
    def place(self) -> Place:
        return (self.item, self.names)


def pool(store: Store, study: str, mode: Mode, rules: Voting) -> tuple[Unit, ...]:
    """What a vote can be cast on: only where the store has the texts."""
    units = _units(store, study, mode, rules.whom, store.version(study)[0])
    if rules.choose == "random" or mode == "verify":
        return units
    weights = telling(store, study, rules.choose)
    weighed = (replace(unit, weight=weights.get(unit.place, 0)) for unit in units)
    return tuple(unit for unit in weighed if unit.weight)


def count_choices(store: Store, study: str, mode: Mode, rules: Voting) -> dict[Choice, int]:
    """How many comparisons each choice leaves."""
    return {
        choose: len(pool(store, study, mode, replace(rules, choose=choose)))
        for choose in ("random", "flipped", "split")
    }


@lru_cache(maxsize=64)
def _units(store: Store, study: str, mode: Mode, whom: str, version: str) -> tuple[Unit, ...]:
    answered = _answered(store, study)
    if mode == "verify":
        return tuple(_to_verify(answered, whom))
    found = _compared(store, study, answered, mode) or _every(store, study, answered, mode)
    return tuple(Unit(item, names) for item, names in found)


def _answered(store: Store, study: str) -> dict[str, set[str]]:
    """Who answered each item: a text of no length is no answer."""
    return {
        item: {name for name, length in narrow["lengths"].items() if length}
        for item, narrow in store.narrow_items(study).items()
    }


def _to_verify(answered: Mapping[str, set[str]], whom: str) -> Iterable[Unit]:
    """The references; the contestants' answers if those are asked for, or there is no reference."""
    references = any(REFERENCE in names for names in answered.values())
    for item, names in answered.items():
        for name in sorted(names):
            if (name == REFERENCE) == (references and whom == "reference"):
                yield Unit(item, (name,))


def _compared(
    store: Store, study: str, answered: Mapping[str, set[str]], mode: Mode
) -> list[Place]:
    """What judges are asked about, so that a vote can be held against a verdict. An answer to
    another question is nobody's to choose: the others are voted on without it."""
    rows = store.read(
        "SELECT DISTINCT item, shown FROM plan WHERE study=(SELECT id FROM studies WHERE name=?) "
        "AND judge NOT LIKE ?",
        (study, f"{HUMAN_PREFIX}%"),
    )
    found: dict[Place, None] = {}
    for item, shown in rows:
        names = tuple(sorted(set(shown.split(SEP)) - {UNRELATED}))
        fits = len(names) == 2 or (mode == "options" and len(names) > 2)
        if fits and set(names) <= answered.get(item, set()):
            found[item, names] = None
    many = [place for place in found if len(place[1]) > 2]
    return many or list(found) if mode == "options" else list(found)


def _every(store: Store, study: str, answered: Mapping[str, set[str]], mode: Mode) -> list[Place]:
    """Where no judge is asked in this form: the contestants of the study, all or two by two."""
    wanted = set(store.study(study).contestants)
    found: list[Place] = []
    for item, names in answered.items():
        playing = sorted(n for n in names if (n in wanted if wanted else n != REFERENCE))
        if mode == "options":
            found += [(item, tuple(playing))] if len(playing) >= 2 else []
        else:
            found += [(item, pair) for pair in itertools.combinations(playing, 2)]
    return found


def voted_before(connection: sqlite3.Connection, study: str, voter: str) -> set[Place]:
    """What a person of this name has voted on already, here or in the file of the data."""
    rows = connection.execute(
        "SELECT item, shown FROM plan WHERE study=(SELECT id FROM studies WHERE name=?) "
        "AND judge=?",
        (study, voter),
    )
    return {(item, tuple(sorted(shown.split(SEP)))) for item, shown in rows}


# ------------------------------------------------------------------------ where judges disagree


def telling(store: Store, study: str, choose: Choice) -> dict[Place, int]:
    """flipped: how many voices (judge and prompt) change their mind with the order. split: how many
    voices are outvoted by the others. Places where it is none are left out."""
    return dict(_telling(store, study, choose, _judged(store, study)))


def _judged(store: Store, study: str) -> tuple[str, int, int]:
    """Changes when a judge's verdict does; a vote leaves it as it is."""
    row = store.read(
        "SELECT count(*), COALESCE(max(j.seq), 0) FROM plan p JOIN judgements j USING(key) "
        "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND p.judge NOT LIKE ?",
        (study, f"{HUMAN_PREFIX}%"),
    ).fetchone()
    return (store.plan_sha(study), row[0], row[1])


@lru_cache(maxsize=16)
def _telling(
    store: Store, study: str, choose: Choice, judged: tuple[str, int, int]
) -> tuple[tuple[Place, int], ...]:
    said = _picks(store, study)
    weights: Counter[Place] = Counter()
    voices: dict[Place, Counter[str]] = defaultdict(Counter)
    for (place, _), by_order in said.items():
        modes = {order: _mode(picks) for order, picks in by_order.items()}
        weights[place] += len(set(modes.values())) > 1
        voices[place][_mode(Counter(modes.values()))] += 1
    if choose == "split":
        weights = Counter({p: v.total() - max(v.values()) for p, v in voices.items()})
    return tuple((place, weight) for place, weight in weights.items() if weight)


def _picks(store: Store, study: str) -> dict[tuple[Place, str], dict[str, Counter[str]]]:
    """By place and voice: what was picked in each order."""
    said: dict[tuple[Place, str], dict[str, Counter[str]]] = {}
    for row in store.narrow_rows(study):
        _, item, judge, prompt, shown, _, _, noise, _, status, pick, *_ = row
        names = shown.split(SEP)
        read = status in EVIDENCE and pick is not None and pick != NO_PICK
        if judge.startswith(HUMAN_PREFIX) or noise or not read or len(names) < 2:
            continue
        voice = ((item, tuple(sorted(set(names) - {UNRELATED}))), f"{judge}{SEP}{prompt}")
        by_order = said.setdefault(voice, defaultdict(Counter))
        by_order[shown][_TIED if pick == TIE else names[pick]] += 1
    return said


def _mode(picks: Counter[str]) -> str:
    """What was said most; as often one as the other is a tie."""
    (first, most), *rest = picks.most_common(2)
    return _TIED if rest and rest[0][1] == most else first
