"""Why a comparison is worth reading, in a sentence: flipped, not read, or consistent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from components.drawing.slots import slot_name
from components.format import count
from components.inspect.data import Opened
from components.inspect.rows import Mark
from studies.records import BY_DESIGN, EVIDENCE, Item
from studies.truth import best, better


@dataclass(frozen=True, slots=True)
class Why:
    """A notice: amber where the reader should look twice."""

    kind: Literal["warn", "bad", "calm"]
    title: str
    text: str


def why(opened: Opened) -> Why:
    """The first thing to say about a comparison, then who is said to be right."""
    made = _first_thing(opened)
    told = people(opened.item, opened.line.names) if opened.item else ""
    repeats = len(opened.line.repeats_failed)
    lost = f"{count(repeats, 'repeat')} of the same order gave no verdict." if repeats else ""
    text = " ".join(part for part in (made.text, lost, told) if part)
    return Why(made.kind, made.title, text)


def _first_thing(opened: Opened) -> Why:
    marks = opened.line.marks
    failed = [mark for mark in marks if mark.status not in EVIDENCE]
    if failed:
        return Why("warn", "Not evidence.", _failed(failed, marks))
    if opened.flipped:
        return Why("warn", "Flipped.", _flipped(marks))
    if all(mark.pick is None for mark in marks):
        return Why("calm", "Scored.", "It gave scores and picked no answer.")
    if len(marks) == 1:
        return Why("calm", "One order.", f"{_said(marks[0])} No other order was read.")
    return Why("calm", "Consistent.", _kept(marks))


def _failed(failed: Sequence[Mark], marks: Sequence[Mark]) -> str:
    kinds = Counter(mark.status.replace("_", " ") for mark in failed)
    named = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
    which = "Its reply gave no verdict"
    if len(marks) > 1:
        which = f"{count(len(failed))} of its {count(len(marks), 'reply')} gave no verdict"
    return f"{which} ({named}). It is counted as a failure, never as a tie or a loss."


def _flipped(marks: Sequence[Mark]) -> str:
    if len(marks) > 2:
        chosen = {_chosen(mark) for mark in marks}
        return f"Over {len(marks)} orders it chose {len(chosen)} different outcomes."
    first, second = marks
    if first.pick == second.pick:
        return f"It chose {_place(first)} in both orders, whoever stood there."
    decided = first if isinstance(first.pick, int) else second
    return (
        f"It chose {_chosen(decided)} shown {_ordinal(decided)}, and called it a tie when swapped."
    )


def _kept(marks: Sequence[Mark]) -> str:
    orders = "both orders" if len(marks) == 2 else f"all {len(marks)} orders"
    if marks[0].pick == "tie":
        return f"It called it a tie in {orders}."
    return f"It chose {_chosen(marks[0])} in {orders}."


def _said(mark: Mark) -> str:
    if mark.pick == "tie":
        return "It called it a tie."
    return f"It chose {_chosen(mark)}, shown {_ordinal(mark)}."


def _chosen(mark: Mark) -> str:
    return mark.shown[mark.pick] if isinstance(mark.pick, int) else "a tie"


def _place(mark: Mark) -> str:
    return f"the answer shown {_ordinal(mark)}"


def _ordinal(mark: Mark) -> str:
    words = ("first", "second", "third")
    slot = mark.pick if isinstance(mark.pick, int) else 0
    return words[slot] if slot < len(words) else slot_name(slot)


def people(item: Item | None, names: Sequence[str]) -> str:
    """What the design of the data or the people say about these answers."""
    if item is None or len(names) < 2 or not item.human:
        return ""
    design = any(p.judge == BY_DESIGN for p in item.human)
    if design or len(names) > 2:
        return _best(item, names, "By design" if design else "By the people's votes")
    votes = (better([preference], names[0], names[1]) for preference in item.human)
    said = Counter(vote for vote in votes if vote is not None)
    if not said:
        return ""
    total = sum(said.values())
    if total == 1:
        (who,) = said
        return f"The one person who voted {'called it a tie' if who == 'tie' else f'chose {who}'}."
    parts = [f"{n} for {'a tie' if who == 'tie' else who}" for who, n in said.most_common()]
    return f"{count(total)} people voted: {', '.join(parts)}."


def _best(item: Item, names: Sequence[str], by: str) -> str:
    winner = best(item.human, names)
    if winner is None:
        return ""
    if winner == "tie":
        return f"{by} {'the two are equally good' if len(names) == 2 else 'no answer is best'}."
    return f"{by} {winner} is the {'better' if len(names) == 2 else 'best'} answer."
