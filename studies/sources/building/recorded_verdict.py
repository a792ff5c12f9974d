"""Recorded verdicts: slot labels, status of failures, and conversion of a pick to another order of
the answers."""

from dataclasses import dataclass, replace
from typing import Final, Literal

from studies.domain import HUMAN_PREFIX, Ask, Judgement, Status, Verdict

Pick = int | Literal["tie"] | None
ORDER_NOT_RECORDED: Final = "the file does not record which answer was shown first"
ORDER_UNKNOWN: Final = 0
"""Value of `Ask.orders` for a verdict without a recorded order; position measures exclude it."""
VOTE_PROMPT: Final = "vote"
"""Prompt name of human judgements, which are made on a form without a prompt."""
POSITION_METRICS: Final = (
    "first_share", "entropy", "consistency", "conflict", "hard_flips", "soft_flips",
    "expected_consistency", "kappa", "primacy", "recency", "fairness", "position_term",
    "noise_floor", "stability", "grade",
)  # fmt: skip
"""Measures that need the order in which the answers were shown."""


@dataclass(frozen=True, slots=True)
class VerdictReading:
    """Result of reading a reply: the verdict or, if none was found, the `reason`. Slot 0 of the
    verdict is the answer with the first label, such as A. `rule` names the rule that found it."""

    verdict: Verdict | None
    rule: str
    reason: str = ""


@dataclass(slots=True)
class RereadCounts:
    """Number of replies that were read again, and how many of them contain a verdict (`read`)."""

    replies: int = 0
    read: int = 0
    changed: int = 0
    """Number of verdicts in the file that differ from the verdict read from the reply, or whose
    reply is unreadable."""


def failure_status(usable: bool, reply: object) -> Status | None:
    """Return None for a `usable` verdict; else "unreadable" if there is a reply, or "error" if
    there is none."""
    return None if usable else "unreadable" if reply else "error"


def has_judge_reply(judgement: Judgement) -> bool:
    return bool(judgement.reply.strip()) and not judgement.ask.judge.startswith(HUMAN_PREFIX)


def reorder_verdict(verdict: Verdict | None, listed: tuple[str, ...], ask: Ask) -> Verdict | None:
    """Convert a verdict from the order in which the file lists the answers (`listed`) to the order
    in `ask.shown`. None without a verdict, or if it has neither a pick nor a score for each
    answer."""
    if verdict is None or (verdict.pick is None and len(verdict.scores) != len(listed)):
        return None
    if listed == ask.shown:
        return verdict
    _, pick, scores = sort_by_name(listed, verdict.pick, verdict.scores)
    return replace(verdict, pick=pick, scores=scores)


def sort_by_name(
    names: tuple[str, ...], pick: Pick, scores: tuple[float, ...]
) -> tuple[tuple[str, ...], Pick, tuple[float, ...]]:
    """Return (names, pick, scores) with the contestants sorted by name, for verdicts of unknown
    order: ("b", "a"), 0, (5, 3) -> ("a", "b"), 1, (3, 5). A pick that is "tie" or None is
    unchanged, and so are scores that are not one for each contestant."""
    order = sorted(range(len(names)), key=lambda k: names[k])
    new_pick = order.index(pick) if isinstance(pick, int) else pick
    new_scores = tuple(scores[k] for k in order) if len(scores) == len(names) else scores
    return tuple(names[k] for k in order), new_pick, new_scores


def slot_labels(count: int) -> tuple[str, ...]:
    """Return the labels of `count` slots: A for one, A and B for two, numbers from 1 for more."""
    return tuple("AB"[:count]) if count <= 2 else tuple(str(k) for k in range(1, count + 1))
