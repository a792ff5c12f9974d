"""What the agreement panels rest on, each computed once and only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
import pandas as pd

from components.rows import Filter
from components.scene import Scene
from components.voices import Voices
from metrics import selection
from metrics.agreement import people_agreement
from metrics.alignment import Alignment, Scores
from metrics.concord import PEOPLE, AmongPeople, Concord, among_people, grid, matrix
from metrics.contrasts import Contrast, contrasts
from metrics.corrected import Corrected, corrected_win_rates
from metrics.measures import Cell as Group
from metrics.measures import Evidence
from metrics.position import ACCURACY
from metrics.replacement import Replacement, replacements
from metrics.stacking import stacked
from metrics.voters import Voter, voters, without
from metrics.wins import outcomes
from studies.records import Estimate
from studies.store import Store

SEED: Final = 20_24
KNOWN: Final = "known answers"
ONE: Final = "one"
BOTH: Final = "both"


@dataclass(frozen=True)
class Agreement:
    """The voices of a scene held against each other."""

    voices: Voices

    @cached_property
    def table(self) -> dict[str, dict[str, Concord]]:
        """Every two voices, `people` among them if there are any."""
        return matrix(self.voices.frame)

    @property
    def judges(self) -> list[str]:
        return [name for name in self.table if name != PEOPLE]

    @cached_property
    def ranked(self) -> list[str]:
        """Judges, closest to people first; without people, closest to each other first."""
        return sorted(self.judges, key=lambda name: -self._closeness(name))

    def _closeness(self, name: str) -> float:
        if self.voices.has_people:
            got = self.table[name].get(PEOPLE)
            return -1.0 if got is None or got.share.value is None else got.share.value
        shares = [got.share.value for got in self.table[name].values()]
        known = [value for value in shares if value is not None]
        return float(np.mean(known)) if known else -1.0

    def with_people(self, name: str) -> Concord | None:
        return self.table.get(name, {}).get(PEOPLE)

    @cached_property
    def persons(self) -> AmongPeople:
        return among_people(self.voices.frame)

    @cached_property
    def closest_two(self) -> tuple[str, str, Concord] | None:
        pairs = [
            (a, b, got)
            for a in self.judges
            for b, got in self.table[a].items()
            if PEOPLE not in (a, b) and a < b and got.kappa.value is not None
        ]
        return max(pairs, key=lambda pair: pair[2].kappa.value or -1.0) if pairs else None

    @cached_property
    def people_rows(self) -> pd.DataFrame:
        frame = self.voices.frame
        return selection.rows_of(frame, selection.people(frame))

    @cached_property
    def merged(self) -> pd.DataFrame:
        """Both orders as one verdict, 2–0 or a tie; only pairs that were asked in both."""
        several = selection.rows_of(self.voices.machines, self.voices.machines["orders"] > 1)
        rows = outcomes(several, "strict", "exclude")
        return rows[[*self.voices.frame.columns]]

    @cached_property
    def dual(self) -> dict[str, Contrast]:
        """voice -> both orders merged − each order by itself, against people on the same items."""
        if not self.voices.has_people or self.merged.empty:
            return {}
        parts = {ONE: self.voices.machines, BOTH: self.merged, PEOPLE: self.people_rows}
        frame = stacked(parts, "asked")
        here = set(self.merged["judge"].astype(str).unique())
        pairs = [((name, BOTH), (name, ONE)) for name in self.ranked if name in here]
        rng = np.random.default_rng(SEED)
        made = contrasts(frame, ["judge", "asked"], [people_agreement()], rng, pairs)
        return {one.left[0]: one for one in made}

    @cached_property
    def dual_shares(self) -> dict[str, Estimate]:
        """voice -> share of merged verdicts that equal the people's majority."""
        if not self.voices.has_people or self.merged.empty:
            return {}
        frame = stacked({BOTH: self.merged, PEOPLE: self.people_rows}, "asked")
        got = people_agreement().each(Evidence(frame, ["judge"]))
        return {cell[0]: e for cell, e in got.items() if e.value is not None}

    @cached_property
    def merged_with_people(self) -> dict[str, Concord]:
        """voice -> both orders as one verdict, held against the people's majority."""
        if not self.voices.has_people or self.merged.empty:
            return {}
        made = grid(stacked({BOTH: self.merged, PEOPLE: self.people_rows}, "asked"))
        return {name: made.between(PEOPLE, name) for name in made.voices if name != PEOPLE}

    @cached_property
    def scores(self) -> Scores:
        return Scores(self.voices.frame)

    def distance(self, voice: str, both: bool) -> Alignment:
        """MAE and Consistency of a voice with the mean of the people."""
        return self.scores.gaps(voice, "dual" if both else "single").aligned

    @property
    def five_levels(self) -> bool:
        return bool((self.voices.rows["margin"] == 2).any())

    @cached_property
    def stand_ins(self) -> list[Replacement]:
        if not self.voices.has_people:
            return []
        return replacements(self.voices.frame, np.random.default_rng(SEED))

    @cached_property
    def prompt_stand_ins(self) -> list[Replacement]:
        """Every prompt in a person's place, all its judges together; none where either is one."""
        heard = [self.voices.names[name] for name in self.voices.heard]
        if not self.voices.has_people or any(len({cell[k] for cell in heard}) < 2 for k in (0, 1)):
            return []
        rows = self.voices.rows
        judge = np.where(selection.people(rows), rows["judge"].astype(str),
                         rows["prompt"].astype(str))  # fmt: skip
        return replacements(rows.assign(judge=pd.Categorical(judge)), np.random.default_rng(SEED))

    # ---- the people themselves

    @cached_property
    def voters(self) -> list[Voter]:
        return voters(self.people_rows)

    @cached_property
    def flagged(self) -> list[str]:
        return [one.name for one in self.voters if one.flags]

    @cached_property
    def votes_cast(self) -> int:
        return len(self.people_rows)

    @cached_property
    def sought(self) -> int:
        """Votes on pairs that were not chosen at random."""
        return int(selection.sought(self.people_rows).sum())

    @cached_property
    def by_all_votes(self) -> dict[str, Estimate]:
        """Each judge against the majority, and two people against each other."""
        return self._same(self.voices.frame)

    @cached_property
    def without_flagged(self) -> dict[str, Estimate]:
        return self._same(without(self.voices.frame, self.flagged))

    @cached_property
    def at_random(self) -> dict[str, Estimate]:
        frame = self.voices.frame
        return self._same(selection.rows_of(frame, ~selection.sought(frame)))

    def _same(self, frame: pd.DataFrame) -> dict[str, Estimate]:
        made = grid(frame)
        held = PEOPLE in made.voices
        found = {n: made.between(PEOPLE, n).share for n in self.ranked if held and n in made.voices}
        return found | {"two people": among_people(frame).pair.share}

    @cached_property
    def corrected(self) -> dict[str, Corrected]:
        return corrected_win_rates(self.voices.frame) if self.voices.has_people else {}

    @cached_property
    def by_category(self) -> tuple[str, dict[tuple[str, str], Estimate]]:
        """(what they are held against, (voice, category) -> share; "All" is the whole slice)."""
        if self.voices.has_people:
            return PEOPLE, self._categories(people_agreement().each, self.voices.frame)
        if self.voices.truth == "design":
            return KNOWN, self._categories(ACCURACY.each, self.voices.machines)
        return "", {}

    def _categories(
        self, each: Callable[[Evidence], dict[Group, Estimate]], frame: pd.DataFrame
    ) -> dict[tuple[str, str], Estimate]:
        judges = set(self.judges)
        whole = {(cell[0], "All"): e for cell, e in each(Evidence(frame, ["judge"])).items()}
        split = each(Evidence(frame, ["judge", "category"]))
        found = whole | {(cell[0], cell[1]): e for cell, e in split.items() if cell[1]}
        return {key: e for key, e in found.items() if key[0] in judges}


def agreement_in(scene: Scene) -> Agreement:
    """What the scene shows: finding, strip and panels rest on the same counts, made once."""
    return _counted(scene.store, scene.name, scene.store.version(scene.name), scene.filter)


@lru_cache(maxsize=4)
def _counted(store: Store, name: str, version: tuple[str, int], chosen: Filter) -> Agreement:
    return Agreement(Voices(Scene(store, name, chosen)))


def as_close(data: Agreement, names: Sequence[str]) -> list[str]:
    """The first of some ranked judges, and those that cannot be told from it on the same asks."""
    if not names:
        return []
    rng = np.random.default_rng(SEED)
    pairs = [((names[0],), (name,)) for name in names[1:]]
    made = contrasts(data.voices.frame, ["judge"], [people_agreement()], rng, pairs)
    same = [
        one.right[0]
        for one in made
        if one.adjusted.low is not None and one.adjusted.low <= 0 and one.raw.value is not None
    ]
    return [names[0], *same]
