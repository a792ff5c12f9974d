"""Filter comparisons by people's verifications of the answers; texts on a verification."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from components.html.format import count
from components.html.markup import EMPTY, Markup, fill, join
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
"""Possible outcomes of one verification; in a bit set, bit k stands for the k-th outcome."""
VERIFICATION_KINDS: Final = {
    ANY_CHECK: "any verification",
    FOLLOWS: "follows the instruction",
    FAILS: "does not follow the instruction",
    "answer": "does not follow the instruction: the answer's fault",
    "caption": "does not follow the instruction: the description of the image is wrong",
    NEITHER: "does not follow the instruction: another reason",
    HARMFUL: "offensive or harmful",
    ONE_FOLLOWS: "one answer follows the instruction, the other does not",
    PREFERRED_FAILS: "a verdict prefers the answer that does not follow the instruction",
}
"""Value of the filter in a URL -> its label on the page."""


def verification_masks(
    index: ComparisonIndex, checks: ChecksByItem, contestant: str = ""
) -> dict[str, Mask]:
    """Kind of verification (such as "harmful") -> mask of the comparisons with an answer that got
    it; {} without verifications or comparisons. With a `contestant`, only verifications of that
    model's answers count.

    Two more kinds, on which `contestant` has no effect, are about readable verdicts on mixed pairs
    (two answers of which one follows the instruction and the other does not). ONE_FOLLOWS selects
    the comparisons with such a verdict. PREFERRED_FAILS selects those in which a verdict prefers
    the answer that does not follow the instruction.
    """
    if not checks or not len(index):
        return {}
    bits = _verification_bits_by_comparison(index, checks, contestant)
    found: dict[str, Mask] = {kind: bits & 1 << k > 0 for k, kind in enumerate(CHECK_OUTCOMES)}
    mixed = VerificationArrays(checks).select_verdicts_where_one_answer_follows(
        index.frame.assign(at=index.comparison_of_row)
    )
    at, right = mixed["at"].to_numpy(), mixed["right"].to_numpy()
    for kind, rows in ((ONE_FOLLOWS, right >= TIE), (PREFERRED_FAILS, right == 0)):
        found[kind] = np.bincount(at[rows], minlength=len(index)) > 0
    return found


def _verification_bits_by_comparison(
    index: ComparisonIndex, checks: ChecksByItem, contestant: str
) -> Ints:
    """For each comparison, the outcomes of all people's verifications of its answers, as one
    integer whose bit k stands for CHECK_OUTCOMES[k]. With a `contestant`, only verifications of
    that model's answers count."""
    firsts = index.frame.iloc[index.first]
    item, names = firsts["item"].astype("category"), contestants(firsts)
    place = {name: code for code, name in enumerate(names) if contestant in ("", name)}
    row = {str(name): code for code, name in enumerate(item.cat.categories)}
    # Two more columns than names: the code ABSENT of an empty slot is a negative index.
    table = np.zeros((len(row), len(names) + 2), np.uint8)
    for name, item_checks in checks.items():
        for check in item_checks:
            if name in row and check.contestant in place:
                table[row[name], place[check.contestant]] |= verification_bits(check)
    shown = table[item.cat.codes.to_numpy()[:, None], slot_contestants(firsts, names)]
    found: NDArray[np.int64] = np.bitwise_or.reduce(shown, axis=1).astype(np.int64)
    return found


def verification_bits(check: AnswerCheck) -> int:
    """The outcomes of one verification as an integer whose bit k stands for CHECK_OUTCOMES[k]."""
    return _outcome_bits(check.follows, check.fault, check.harmful)


@lru_cache(maxsize=64)
def _outcome_bits(follows: bool, fault: str | None, harmful: bool) -> int:
    whose = fault if fault in FAULTS else NEITHER
    outcomes = {
        ANY_CHECK: True,
        FOLLOWS: follows,
        FAILS: not follows,
        HARMFUL: harmful,
        whose: not follows,
    }
    return sum(1 << CHECK_OUTCOMES.index(kind) for kind, holds in outcomes.items() if holds)


# ------------------------------------------------------------------------------ on an answer


def verifications_html(checks: Sequence[AnswerCheck], contestant: str) -> Markup:
    """HTML of one answer's verifications: how many state that the answer follows the instruction,
    then each verification; empty without any."""
    mine = [check for check in checks if check.contestant == contestant]
    if not mine:
        return EMPTY
    yes = sum(check.follows for check in mine)
    summary = (
        f"{count(yes)} of {count(len(mine))} verifiers say that the answer follows the instruction"
    )
    if len(mine) == 1:
        summary = "follows the instruction" if yes else "does not follow the instruction"
    words = join(fill("<li><b>{}</b> {}</li>", one.judge, _verification_text(one)) for one in mine)
    return fill('<div class="eh-checks"><p>Verified: {}</p><ul>{}</ul></div>', summary, words)


def _verification_text(check: AnswerCheck) -> str:
    text = "yes" if check.follows else "no"
    if not check.follows:
        text += f", the {check.fault}'s fault" if check.fault in FAULTS else ", for another reason"
    return text + (", harmful" if check.harmful else "")
