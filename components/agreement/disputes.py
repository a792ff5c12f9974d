"""Where voices part: cases on which judges and people, or judges among themselves, disagree."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.voices import Voices
from metrics import selection
from metrics.agreement import CASE, UNKNOWN, majority
from metrics.selection import Ints
from studies.frame import NO_PICK, SEP

AGAINST_PEOPLE: Final = "Against people"
AGAINST_KNOWN: Final = "Against known answers"
JUDGES_SPLIT: Final = "Judges split"
PEOPLE_SPLIT: Final = "People split"
TIE_WORD: Final = "tie"
_READ: Final = (*CASE, "category", "judge", "shown", "options", "status", "noise", "pick", "truth")
"""What a case is known by: of millions of rows the other columns are most of the memory."""


@dataclass(frozen=True, slots=True)
class Dispute:
    """One case: what people (or the design) say, and how many judges say what.

    A judge's word is what it says in most orders; a split between the orders counts as a tie.
    """

    item: str
    category: str
    names: tuple[str, ...]
    people: str | None
    votes: Counter[str]
    judges: Counter[str]
    known: str | None

    @property
    def heard(self) -> int:
        return sum(self.judges.values())

    def against(self, winner: str | None) -> int:
        """Judges that name another answer; a tie names none."""
        if winner in (None, TIE_WORD):
            return 0
        return sum(n for who, n in self.judges.items() if who not in (winner, TIE_WORD))

    def informative(self, kind: str) -> tuple[float, float, int]:
        """Larger is worth reading first: how one-sided the clash, how sure the yardstick, how many.

        A case that all judges get wrong beside unanimous people says most about the judges; one
        that splits them in half says most about where they differ.
        """
        if kind == AGAINST_PEOPLE:
            total = sum(self.votes.values())
            sure = self.votes[self.people or ""] / (total + 1)  # one vote is not unanimity
            return self.against(self.people) / max(self.heard, 1), sure, total
        if kind == AGAINST_KNOWN:
            return self.against(self.known) / max(self.heard, 1), 1.0, self.heard
        if kind == JUDGES_SPLIT:
            return _entropy(self.judges), 1 - _entropy(self.votes), self.heard
        return _entropy(self.votes), 1 - _entropy(self.judges), sum(self.votes.values())


def _entropy(counts: Counter[str]) -> float:
    values = np.array([n for n in counts.values() if n], np.float64)
    if len(values) < 2:
        return 0.0
    p = values / values.sum()
    return float(-(p * np.log2(p)).sum())


def kinds(voices: Voices) -> list[str]:
    """What lists there can be."""
    found = []
    if voices.has_people:
        found += [AGAINST_PEOPLE]
    if voices.truth == "design":
        found += [AGAINST_KNOWN]
    if len(voices.heard) > 1:
        found += [JUDGES_SPLIT]
    if voices.has_people:
        found += [PEOPLE_SPLIT]
    return found


def disputes(voices: Voices, kind: str) -> list[Dispute]:
    """The cases of one list, the most informative first."""
    ranked = [(one.informative(kind), one) for one in all_cases(voices) if _belongs(one, kind)]
    return [one for _, one in sorted(ranked, key=lambda pair: pair[0], reverse=True)]


def _belongs(one: Dispute, kind: str) -> bool:
    if kind == AGAINST_PEOPLE:
        return 2 * one.against(one.people) > one.heard
    if kind == AGAINST_KNOWN:
        return 2 * one.against(one.known) > one.heard
    counts = one.judges if kind == JUDGES_SPLIT else one.votes
    return len(counts) > 1


def all_cases(voices: Voices) -> list[Dispute]:
    """Every case that judges and people have judged, with who said what."""
    rows = selection.picked(voices.frame[list(_READ)])
    if rows.empty:
        return []
    case, cases = selection.group_codes(rows, CASE)
    names = selection.contestants(rows)
    chosen = selection.chosen(rows, names)
    human = selection.people(rows)
    firsts = rows.iloc[selection.first_rows(case, cases)]
    judged = _said(rows, case, chosen, ~human, names, cases)
    votes = _said(rows, case, chosen, human, names, cases)
    winner = majority(case[human], chosen[human], cases)
    known = _known(firsts, names)
    shown = firsts["comparison"].cat
    split = [tuple(str(text).split(SEP)) for text in shown.categories]
    return [
        Dispute(
            str(item), str(category), split[code], _word(int(winner[at]), names),
            votes[at], judged[at], known[at],
        )
        for at, (item, category, code) in enumerate(
            zip(firsts["item"], firsts["category"], shown.codes.tolist(), strict=True)
        )
    ]  # fmt: skip


def _word(code: int, names: list[str]) -> str | None:
    if code == UNKNOWN:
        return None
    return names[code] if code >= 0 else TIE_WORD


def _said(
    rows: pd.DataFrame, case: Ints, chosen: Ints, kept: selection.Mask, names: list[str], cases: int
) -> list[Counter[str]]:
    """For each case: how many of those kept say what, each reduced to one word.

    Millions of cases hold few different counts: those that are alike are one and the same.
    """
    own = selection.rows_of(rows, kept)
    voice, voices = selection.group_codes(own, (*CASE, "judge"))
    said = majority(voice, chosen[kept], voices)
    of_case = case[kept][selection.first_rows(voice, voices)]
    words = said[np.argsort(of_case, kind="stable")].astype(np.int32)
    ends = np.cumsum(np.bincount(of_case, minlength=cases)).tolist()
    text, size = words.tobytes(), words.itemsize
    known: dict[bytes, Counter[str]] = {}
    alike: dict[tuple[tuple[str, int], ...], Counter[str]] = {}
    found, start = [], 0
    for end in ends:
        key = text[start * size : end * size]
        if key not in known:
            codes = words[start:end].tolist()
            counts = Counter(_word(code, names) or TIE_WORD for code in codes)
            known[key] = alike.setdefault(tuple(counts.items()), counts)
        found.append(known[key])
        start = end
    return found


def _known(firsts: pd.DataFrame, names: list[str]) -> list[str | None]:
    """The better answer by the truth of a case's first row; None where it is not known."""
    placed = selection.slots(firsts, names).tolist()
    return [
        None if slot == NO_PICK else TIE_WORD if slot < 0 else names[places[slot]]
        for places, slot in zip(placed, firsts["truth"].tolist(), strict=True)
    ]
