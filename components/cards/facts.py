"""The numbers of a report card: one judge with one prompt, beside the others and the people."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd

from components.drawing.slots import slot_name
from components.voices import Voices
from metrics import selection
from metrics.choice import ChoiceModel, choice_model
from metrics.concord import PEOPLE, AmongPeople, Grid, among_people, grid
from metrics.every import every
from metrics.intervals import item_sums, proportion, proportions, unknown
from metrics.labels import slot_and_label
from metrics.length import LONGER
from metrics.measures import Evidence
from metrics.order_tests import sign
from metrics.position import CONSISTENCY, flip_counts, profile, slot_shares, tie_rate
from metrics.position_term import PositionModel, position_model
from metrics.replacement import Replacement, replacements
from metrics.wins import appearances
from studies.frame import SEP
from studies.records import Estimate
from studies.spending import Spending, spending

SEED: Final = 20_24
NO_FAMILY: Final = "no answer of its own family"


@dataclass(frozen=True)
class Card:
    """Everything a card shows of one voice, computed when asked for."""

    voices: Voices
    voice: str

    @property
    def judge(self) -> str:
        return self.voices.names[self.voice][0]

    @property
    def prompt(self) -> str:
        return self.voices.names[self.voice][1]

    @cached_property
    def rows(self) -> pd.DataFrame:
        return self.voices.of(self.voice)

    @cached_property
    def asked(self) -> pd.DataFrame:
        """Without noise-floor repeats."""
        return selection.rows_of(self.rows, ~self.rows["noise"])

    @cached_property
    def options(self) -> int:
        return int(self.rows["options"].max()) if len(self.rows) else 2

    @property
    def pairs(self) -> bool:
        return self.options <= 2

    @cached_property
    def everyone(self) -> dict[str, dict[str, Estimate]]:
        """voice -> measure -> estimate, for the grey ticks of the others."""
        return {cell[0]: got for cell, got in profile(self.voices.machines, ["judge"]).items()}

    @cached_property
    def measures(self) -> dict[str, Estimate]:
        return self.everyone.get(self.voice) or profile(self.rows)[()]

    def others(self, measure: str) -> list[float]:
        found = (got[measure].value for name, got in self.everyone.items() if name != self.voice)
        return [value for value in found if value is not None]

    @cached_property
    def flips(self) -> dict[str, int]:
        return flip_counts(self.rows)

    @cached_property
    def slots(self) -> list[Estimate]:
        return slot_shares(self.rows, self.options)

    @cached_property
    def ties(self) -> Estimate:
        return tie_rate(self.rows)

    @cached_property
    def position(self) -> PositionModel:
        own = self.rows.assign(judge=pd.Categorical([self.voice] * len(self.rows)))
        return position_model(own)

    @cached_property
    def choice(self) -> ChoiceModel:
        return choice_model(self.rows, least=self.options)

    @cached_property
    def term(self) -> tuple[Estimate, Estimate, float | None, str]:
        """(term in logits, share of the favoured place among equals, p, which place)."""
        if self.pairs:
            gamma = self.position.gamma.get(self.voice, unknown("no readable verdict", "logit"))
            equal = self.position.first_if_equal.get(self.voice, unknown(gamma.note, "share"))
            p = self.position.test.p if self.position.test else None
            return gamma, equal, p, "first"
        places = self.choice.slots.get(self.options, ())
        if not places:
            none = unknown(self.choice.note or "places cannot be told from answers", "logit")
            return none, none, None, "first"
        top = max(range(len(places)), key=lambda slot: places[slot].value or 0.0)
        p = self.choice.slot_test.p if self.choice.slot_test else None
        return places[top], self.choice.share_if_equal[self.options][top], p, ordinal(top)

    @cached_property
    def longer(self) -> dict[str, Estimate]:
        return _by_voice(every([LONGER], self.voices.machines, ["judge"])[LONGER.name])

    @cached_property
    def unreadable(self) -> Estimate:
        failed = ~selection.evidence(self.asked)
        return proportion(failed, selection.item_codes(self.asked))

    @cached_property
    def grid(self) -> Grid:
        return grid(self.voices.frame)

    @cached_property
    def people(self) -> Estimate:
        return self.with_people(self.voice)

    def with_people(self, voice: str) -> Estimate:
        if PEOPLE not in self.grid.voices or voice not in self.grid.voices:
            return unknown("nobody has voted", "share")
        return self.grid.between(voice, PEOPLE).share

    @cached_property
    def persons(self) -> AmongPeople:
        return among_people(self.voices.frame)

    @cached_property
    def stand_in(self) -> Replacement | None:
        if not self.voices.has_people:
            return None
        found = replacements(self.voices.frame, np.random.default_rng(SEED), rounds=1)
        return next((one for one in found if one.judge == self.voice), None)

    @cached_property
    def same_as_others(self) -> Estimate:
        """Share of equal verdicts with each other voice on the same asks, all pooled."""
        names = [name for name in self.grid.voices if name not in (PEOPLE, self.voice)]
        if self.voice not in self.grid.voices or not names:
            return unknown("no other judge or prompt in view", "share")
        mine = self.grid.said[self.grid.voices.index(self.voice)]
        theirs = self.grid.said[[self.grid.voices.index(name) for name in names]]
        both = (mine >= -1) & (theirs >= -1)
        counts = np.stack([((theirs == mine) & both).sum(axis=0), both.sum(axis=0)], axis=1)
        _, sums = item_sums(counts.astype(np.float64), self.grid.item)
        note = "" if both.any() else "nothing that another one judged too"
        one = np.zeros(len(sums), np.int64)
        return proportions(sums[:, 0], sums[:, 1], one, 1, note=note)[0]

    @cached_property
    def own_family(self) -> tuple[Estimate, Estimate, list[str]]:
        """(win rate it gives answers of its family against others, people's rate, whose)."""
        if "family" not in self.rows or not len(self.rows):
            return unknown(NO_FAMILY, "share"), unknown(NO_FAMILY, "share"), []
        families = self.voices.scene.study.families
        mine = str(self.rows["family"].iloc[0])
        names = sorted(name for name, family in families.items() if mine and family == mine)
        people = selection.rows_of(self.voices.frame, selection.people(self.voices.frame))
        return own_rate(self.rows, names), own_rate(people, names), names

    @cached_property
    def categories(self) -> dict[str, Estimate]:
        got = CONSISTENCY.each(Evidence(self.rows, ["category"]))
        return {cell[0]: estimate for cell, estimate in got.items() if cell[0]}

    @cached_property
    def spent(self) -> Spending:
        scene = self.voices.scene
        return spending(scene.store, scene.name, self.judge, self.prompt)

    # -------------------------------------------------------------------- for the rules

    @property
    def toward(self) -> str:
        if not self.pairs:
            return f"{self.term[3]} place"  # among N there is no other side
        return "first" if self.flips["toward_first"] >= self.flips["toward_second"] else "second"

    @cached_property
    def facts(self) -> dict[str, float | None]:
        """What components.cards.rules speaks from."""
        measures, flips = self.measures, self.measures["conflict"].value
        noise = measures["noise_floor"].value
        known = measures["accuracy"].value if self.voices.truth == "design" else None
        stand = self.stand_in.advantage if self.stand_in else Estimate(None)
        longer = self.longer.get(self.voice, Estimate(None))
        p, lopsided = self._lean()
        slot, label = self._pulls()
        return {
            "asked": len(self.asked),
            "read": len(selection.picked(self.rows)),
            "items": selection.picked(self.rows)["item"].nunique(),
            "orders": int(self.asked["orders"].max()) if len(self.asked) else 0,
            "sets": measures["consistency"].n,
            "flips": flips,
            "noise": noise,
            "above_noise": None if flips is None or noise is None else flips - noise,
            "lean_p": p,
            "lopsided": lopsided,
            "label_pull": label,
            "label_lead": None if label is None or slot is None else label - slot,
            "own_kappa": measures["kappa"].value,
            "unreadable": self.unreadable.value,
            "known": known,
            "known_gain": None if known is None else known - 1 / self.options,
            "people": self.people.value,
            "stand_in_low": stand.low,
            "stand_in_high": stand.high,
            "longer": longer.value,
            "longer_low": longer.low,
            "others": self.same_as_others.value,
        }

    @cached_property
    def _effects(self) -> dict[str, Estimate]:
        return slot_and_label(self.rows)

    def _pulls(self) -> tuple[float | None, float | None]:
        """How far from even the place and the label are chosen, where labels were crossed."""
        slot, label = (self._effects[name].value for name in ("slot", "label"))
        return (
            None if slot is None else abs(slot - 0.5), None if label is None else abs(label - 0.5)
        )  # fmt: skip

    @property
    def words(self) -> dict[str, str]:
        """What the sentences name besides numbers."""
        names = sorted({n for text in self.rows["labels"].unique() for n in str(text).split(SEP)})
        label = self._effects["label"].value
        return {
            "swapping": "Swapping the answers" if self.pairs else "A new order",
            "toward": self.toward,
            "label": "" if label is None or not names else names[0] if label > 0.5 else names[-1],
        }

    def _lean(self) -> tuple[float | None, float | None]:
        """(p that no place is preferred, share of the preferred one)."""
        if not self.pairs:
            return self.term[2], self.term[1].value
        first, second = self.flips["toward_first"], self.flips["toward_second"]
        total = first + second
        return sign(first, second).p, max(first, second) / total if total else None


def ordinal(slot: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
    return words[slot] if slot < len(words) else slot_name(slot)


def _by_voice(got: dict[tuple[str, ...], Estimate]) -> dict[str, Estimate]:
    return {cell[0]: estimate for cell, estimate in got.items()}


def own_rate(frame: pd.DataFrame, names: list[str]) -> Estimate:
    """Win rate of some contestants against the others, pairs with exactly one of them."""
    rows = selection.pairs(selection.picked(frame))
    own = rows["first"].isin(names) ^ rows["second"].isin(names)
    rows = selection.rows_of(rows, own)
    if rows.empty:
        return unknown(NO_FAMILY, "share")
    known = selection.contestants(rows)
    row, who, points = appearances(rows, known)
    mine = np.isin(who, [known.index(name) for name in names if name in known])
    return proportion(points[mine], selection.item_codes(rows)[row[mine]])
