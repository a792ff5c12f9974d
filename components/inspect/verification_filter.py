"""Comparisons by what people verified about the answers shown in them, and the words on a card."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from components.html.format import count, escape
from components.inspect.comparison_index import ComparisonIndex
from metrics.estimation.row_selection import Ints, Mask, contestants, slot_contestants
from metrics.people.verification import FAULTS, VerificationArrays
from studies.domain import AnswerCheck
from studies.frames.frame import TIE
from studies.people.verifications import ChecksByItem

ANY_CHECK: Final = "any"
FOLLOWS: Final = "follows"
FAILS: Final = "fails"
NEITHER: Final = "neither"
HARMFUL: Final = "harmful"
ONE_FOLLOWS: Final = "apart"
PREFERRED_FAILS: Final = "misled"
CHECK_OUTCOMES: Final = (ANY_CHECK, FOLLOWS, FAILS, *FAULTS, NEITHER, HARMFUL)
"""What one verification says of one answer; each has a bit."""
VERIFICATION_KINDS: Final = {
    ANY_CHECK: "by anybody",
    FOLLOWS: "follows",
    FAILS: "does not follow",
    "answer": "the answer's fault",
    "caption": "the caption's fault",
    NEITHER: "neither's fault",
    HARMFUL: "harmful",
    ONE_FOLLOWS: "one follows, one does not",
    PREFERRED_FAILS: "preferred, does not follow",
}
"""The filter as it stands in an address, and as the page words it."""


def verification_masks(
    all_of: ComparisonIndex, checks: ChecksByItem, contestant: str = ""
) -> dict[str, Mask]:
    """By kind: the comparisons that show an answer of which somebody says so. Where a contestant is
    chosen it is that one's answer, so that a number about it opens what it counts.

    The last two are about pairs of which one answer stands and the other fails, as most of their
    verifiers say: all of them, and those of which some order prefers the one that fails.
    """
    if not checks or not len(all_of):
        return {}
    bits = _comparison_bits(all_of, checks, contestant)
    found: dict[str, Mask] = {kind: bits & 1 << k > 0 for k, kind in enumerate(CHECK_OUTCOMES)}
    mixed = VerificationArrays(checks).mixed_pairs(all_of.frame.assign(at=all_of.comparison_of_row))
    at, right = mixed["at"].to_numpy(), mixed["right"].to_numpy()
    for kind, rows in ((ONE_FOLLOWS, right >= TIE), (PREFERRED_FAILS, right == 0)):
        found[kind] = np.bincount(at[rows], minlength=len(all_of)) > 0
    return found


def _comparison_bits(all_of: ComparisonIndex, checks: ChecksByItem, contestant: str) -> Ints:
    """All that is said of the answers of each comparison, one bit for each of SAID."""
    firsts = all_of.frame.iloc[all_of.first]
    item, names = firsts["item"].astype("category"), contestants(firsts)
    place = {name: code for code, name in enumerate(names) if contestant in ("", name)}
    row = {str(name): code for code, name in enumerate(item.cat.categories)}
    # Two columns more than names: where there is no slot, ABSENT counts from the end.
    table = np.zeros((len(row), len(names) + 2), np.uint8)
    for name, said in checks.items():
        for check in said:
            if name in row and check.contestant in place:
                table[row[name], place[check.contestant]] |= check_bits(check)
    shown = table[item.cat.codes.to_numpy()[:, None], slot_contestants(firsts, names)]
    return np.bitwise_or.reduce(shown, axis=1).astype(np.int64)


def check_bits(check: AnswerCheck) -> int:
    """What a verification says, one bit for each of SAID."""
    return _cached_bits(check.follows, check.fault, check.harmful)


@lru_cache(maxsize=64)
def _cached_bits(follows: bool, fault: str | None, harmful: bool) -> int:
    whose = fault if fault in FAULTS else NEITHER
    said = {
        ANY_CHECK: True,
        FOLLOWS: follows,
        FAILS: not follows,
        HARMFUL: harmful,
        whose: not follows,
    }
    return sum(1 << CHECK_OUTCOMES.index(kind) for kind, holds in said.items() if holds)


# ------------------------------------------------------------------------------ on an answer


def checks_html(checks: Sequence[AnswerCheck], contestant: str) -> str:
    """Under an answer: how many say that it follows the instruction, then who says what."""
    mine = [check for check in checks if check.contestant == contestant]
    if not mine:
        return ""
    yes = sum(check.follows for check in mine)
    told = f"{count(yes)} of {count(len(mine))} say it follows the instruction"
    if len(mine) == 1:
        told = "follows the instruction" if yes else "does not follow the instruction"
    words = "".join(
        f"<li><b>{escape(one.judge)}</b> {escape(_check_text(one))}</li>" for one in mine
    )
    return f'<div class="eh-checks"><p>Verified: {told}</p><ul>{words}</ul></div>'


def _check_text(check: AnswerCheck) -> str:
    said = "yes" if check.follows else "no"
    if not check.follows:
        said += f", the {check.fault}'s fault" if check.fault in FAULTS else ", neither's fault"
    return said + (", harmful" if check.harmful else "")
