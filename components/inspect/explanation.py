"""Why a comparison is worth reading, in a sentence: flipped, not read, or consistent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from components.charts.slot_histogram import slot_name
from components.html.format import count
from components.inspect.comparison_index import OrderVerdict
from components.inspect.load_comparison import ComparisonDetail
from studies.domain import BY_DESIGN, USABLE_STATUSES, Item
from studies.frames.truth import best_answer, better_answer


@dataclass(frozen=True, slots=True)
class Explanation:
    """A notice: amber where the reader should look twice."""

    kind: Literal["warn", "bad", "calm"]
    title: str
    text: str


def explain_comparison(opened: ComparisonDetail) -> Explanation:
    """The first thing to say about a comparison, then who is said to be right."""
    made = _main_finding(opened)
    told = human_verdict_text(opened.item, opened.line.names) if opened.item else ""
    repeats = len(opened.line.failed_repeats)
    lost = f"{count(repeats, 'repeat')} of the same order gave no verdict." if repeats else ""
    text = " ".join(part for part in (made.text, lost, told) if part)
    return Explanation(made.kind, made.title, text)


def _main_finding(opened: ComparisonDetail) -> Explanation:
    marks = opened.line.verdicts
    failed = [mark for mark in marks if mark.status not in USABLE_STATUSES]
    if failed:
        return Explanation("warn", "Not evidence.", _failure_text(failed, marks))
    if opened.flipped:
        return Explanation("warn", "Flipped.", _flip_text(marks))
    if all(mark.pick is None for mark in marks):
        return Explanation("calm", "Scored.", "It gave scores and picked no answer.")
    if len(marks) == 1:
        return Explanation(
            "calm", "One order.", f"{_single_order_text(marks[0])} No other order was read."
        )
    return Explanation("calm", "Consistent.", _consistent_text(marks))


def _failure_text(failed: Sequence[OrderVerdict], marks: Sequence[OrderVerdict]) -> str:
    kinds = Counter(mark.status.replace("_", " ") for mark in failed)
    named = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
    which = "Its reply gave no verdict"
    if len(marks) > 1:
        which = f"{count(len(failed))} of its {count(len(marks), 'reply')} gave no verdict"
    return f"{which} ({named}). It is counted as a failure, never as a tie or a loss."


def _flip_text(marks: Sequence[OrderVerdict]) -> str:
    if len(marks) > 2:
        chosen = {_picked_name(mark) for mark in marks}
        return f"Over {len(marks)} orders it chose {len(chosen)} different outcomes."
    first, second = marks
    if first.pick == second.pick:
        return f"It chose {_picked_slot(first)} in both orders, whoever stood there."
    decided = first if isinstance(first.pick, int) else second
    return f"It chose {_picked_name(decided)} shown {_slot_ordinal(decided)}, and called it a tie when swapped."


def _consistent_text(marks: Sequence[OrderVerdict]) -> str:
    orders = "both orders" if len(marks) == 2 else f"all {len(marks)} orders"
    if marks[0].pick == "tie":
        return f"It called it a tie in {orders}."
    return f"It chose {_picked_name(marks[0])} in {orders}."


def _single_order_text(mark: OrderVerdict) -> str:
    if mark.pick == "tie":
        return "It called it a tie."
    return f"It chose {_picked_name(mark)}, shown {_slot_ordinal(mark)}."


def _picked_name(mark: OrderVerdict) -> str:
    return mark.shown[mark.pick] if isinstance(mark.pick, int) else "a tie"


def _picked_slot(mark: OrderVerdict) -> str:
    return f"the answer shown {_slot_ordinal(mark)}"


def _slot_ordinal(mark: OrderVerdict) -> str:
    words = ("first", "second", "third")
    slot = mark.pick if isinstance(mark.pick, int) else 0
    return words[slot] if slot < len(words) else slot_name(slot)


def human_verdict_text(item: Item | None, names: Sequence[str]) -> str:
    """What the design of the data or the people say about these answers."""
    if item is None or len(names) < 2 or not item.human:
        return ""
    design = any(p.judge == BY_DESIGN for p in item.human)
    if design or len(names) > 2:
        return _best_answer_text(item, names, "By design" if design else "By the people's votes")
    votes = (better_answer([preference], names[0], names[1]) for preference in item.human)
    said = Counter(vote for vote in votes if vote is not None)
    if not said:
        return ""
    total = sum(said.values())
    if total == 1:
        (who,) = said
        return f"The one person who voted {'called it a tie' if who == 'tie' else f'chose {who}'}."
    parts = [f"{n} for {'a tie' if who == 'tie' else who}" for who, n in said.most_common()]
    return f"{count(total)} people voted: {', '.join(parts)}."


def _best_answer_text(item: Item, names: Sequence[str], by: str) -> str:
    winner = best_answer(item.human, names)
    if winner is None:
        return ""
    if winner == "tie":
        return f"{by} {'the two are equally good' if len(names) == 2 else 'no answer is best'}."
    return f"{by} {winner} is the {'better' if len(names) == 2 else 'best'} answer."
