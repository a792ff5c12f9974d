"""What the bias panels say: who prefers a slot, where, and how sure that is, by fixed rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from components.bias.counts import Bias
from components.drawing.matrix import FEW_ITEMS
from components.format import NARROW, count, number, share
from metrics.measures import Cell
from metrics.order_tables import holm
from metrics.order_tests import sign

SURE: Final = 0.05
"""A slot is called preferred below this p, Holm-adjusted over the rows shown."""
CALM: Final = 0.9
"""From this entropy on a histogram of slots looks even: opposite leans may hide behind it."""
MOSTLY: Final = 0.75
"""From this share of flips on, a judge that flips most pairs is said to decide by position."""
RULE: Final = (
    f"“Prefers” is said if an exact sign test on the flips has p < .05 after Holm's adjustment "
    f"over the rows shown; within a category also only if the 95{NARROW}% interval of its lean "
    f"leaves out 0 and it has at least {FEW_ITEMS} items (Holm over the row's categories). "
    "“Decides by position”: more than half of the pairs flip beyond those that flip without any "
    "swap (the noise floor, where it was asked), three quarters of them one way."
)
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slice:
    """A category in which a judge surely leans one way."""

    category: str
    toward: str


@dataclass(frozen=True, slots=True)
class Lean:
    """Which way one row's flips go, and whether that is more than chance."""

    name: str
    judge: str
    prompt: str
    pairs: int
    flips: int
    first: int
    second: int
    p: float
    entropy: float | None = None
    slices: tuple[Slice, ...] = ()
    noise: float | None = None
    """Share that flips without any swap, where that was asked."""

    @property
    def toward(self) -> str:
        return "first" if self.first > self.second else "second"

    @property
    def sure(self) -> bool:
        return self.p < SURE

    @property
    def flips_most(self) -> bool:
        return self.flips > self.pairs / 2

    @property
    def order_decides(self) -> bool:
        """Most pairs flip, and not because the judge says something else each time it is asked."""
        return self.flips / max(self.pairs, 1) - (self.noise or 0.0) > 0.5


def leans_of(bias: Bias) -> list[Lean]:
    """One for each judge and prompt, p-values adjusted by Holm's step-down."""
    return bias.keep("leans", lambda: _leans(bias))


def _leans(bias: Bias) -> list[Lean]:
    tables = {row: bias.table(row) for row in bias.names}
    raw = [sign(t.toward_first, t.toward_second).p for t in tables.values()]
    entropy, noise = bias.each("entropy"), bias.each("noise_floor")
    return [
        Lean(
            bias.names[row[0], row[1]],
            row[0],
            row[1],
            table.pairs,
            table.flips,
            table.toward_first,
            table.toward_second,
            1.0 if p is None else p,
            entropy[row].value if row in entropy else None,
            _slices(bias, row),
            noise[row].value if row in noise else None,
        )
        for (row, table), p in zip(tables.items(), holm(raw), strict=True)
    ]


def _slices(bias: Bias, row: Cell) -> tuple[Slice, ...]:
    """Categories in which this row prefers a slot for sure: looked at before saying «none»."""
    if len(bias.categories) < 2:
        return ()
    fairness = bias.fairness
    cells = [cell for cell in bias.tables if cell[:2] == row and cell[2] and cell in fairness]
    cells = [cell for cell in cells if fairness[cell].items >= FEW_ITEMS]
    tables = [bias.tables[cell] for cell in cells]
    adjusted = holm([sign(t.toward_first, t.toward_second).p for t in tables])
    found = []
    for cell, p in zip(cells, adjusted, strict=True):
        low, high = fairness[cell].low, fairness[cell].high
        if p is not None and p < SURE and low is not None and high is not None and low * high > 0:
            found.append(Slice(cell[2], "second" if low > 0 else "first"))
    return tuple(found)


# ------------------------------------------------------------------------- one row


def flip_sentence(row: Lean) -> str:
    """'Prefers' only when the test says so, and only after a look at the slices."""
    if not row.pairs:
        return "No pair was read in both orders."
    if not row.flips:
        return f"All {count(row.pairs)} pairs keep their verdict."
    rate = share(row.flips / row.pairs, 0)
    directions = {each.toward for each in row.slices}
    if len(directions) == 2 and row.flips_most and (row.entropy or 0.0) >= CALM:
        return (
            f"{rate} of pairs flip: {_where(row.slices, 'toward')}. "
            f"**The two cancel in its entropy of {number(row.entropy, 2)}.**"
        )
    if not row.sure:
        if row.slices:
            told = f"Prefers **no slot overall**; leans {_where(row.slices)}. "
            return told + f"{rate} of pairs still flip."
        return f"**No slot preferred**; {rate} of pairs still flip."
    return _lean_sentence(row, rate)


def _lean_sentence(row: Lean, rate: str) -> str:
    most, least = max(row.first, row.second), min(row.first, row.second)
    versus = f"{count(most)} flips against {count(least)}"
    if row.order_decides and most >= MOSTLY * row.flips:
        share_of = f"{count(most)} of its {count(row.flips)}"
        return f"Decides **by position**: {share_of} flips go to the {row.toward} answer."
    if row.flips_most:
        again = f" ({share(row.noise, 0)} without any swap)" if row.noise else ""
        told = f"{rate} of pairs flip{again}, more **toward the answer shown {row.toward}**"
        return f"{told}: {versus}."
    other = [each for each in row.slices if each.toward != row.toward]
    but = f" It leans {_where(other)}." if other else ""
    return f"Wavers **toward the answer shown {row.toward}**: {versus}.{but}"


def _where(slices: Sequence[Slice], word: str = "") -> str:
    """ "second in writing, first in coding and maths"."""
    parts = []
    for toward in dict.fromkeys(each.toward for each in slices):
        named = [each.category for each in slices if each.toward == toward]
        parts.append(" ".join(part for part in (word, toward, "in", listed(named)) if part))
    return ", ".join(parts)


def listed(names: Sequence[str], most: int = 3) -> str:
    """ "a, b and c", or "a, b and 4 more"."""
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


# ---------------------------------------------------------------------- the headline


def caution(bias: Bias) -> str:
    """For whoever is about to believe an order of contestants: what it rests on may be less steady
    than a coin. Said only where the interval is sure of it."""
    kept, coin = bias.whole("consistency"), (1 / bias.options) ** (bias.options - 1)
    if kept.value is None or kept.high is None or kept.high >= coin:
        return ""
    told = "survive a swap" if bias.options == 2 else "survive new orders"
    return (
        f"Read it with care: {share(kept.value, 0)} of these verdicts {told}, "
        f"fewer than the {share(coin, 0)} of a coin."
    )


def finding_of(bias: Bias) -> tuple[str, str]:
    """The headline and its lead: subject, direction and size."""
    if not bias.asked:
        return "Nothing has been judged yet.", "Run the study; this page fills while it runs."
    if bias.options > 2:
        return _options_alone(bias)
    rows = [row for row in leans_of(bias) if row.pairs]
    if not rows:
        return _no_flips(bias)
    lead = (
        "Swap two answers, and an even-handed judge mirrors its verdict. "
        "Blank is even-handed; more ink is more bias."
    )
    flips, pairs = sum(row.flips for row in rows), sum(row.pairs for row in rows)
    rate = share(flips / pairs, 0)
    if len(rows) == 1:
        title = f"Swap two answers, and {rows[0].judge} changes its mind on {rate} of pairs."
        return title, _slice_lead(rows[0]) or lead
    most = sum(row.order_decides for row in rows)
    then = f"For {number_word(most)}, the order decides most pairs." if most else ""
    then = then or f"Swapping the answers changes {rate} of verdicts."
    return f"{_who_prefers(rows)}. {then}", lead


def _no_flips(bias: Bias) -> tuple[str, str]:
    """Why nothing can be said of swaps: each reason has another remedy."""
    if bias.orders > 1:
        return "No pair has been read in both orders yet.", "Position bias needs both orders."
    if not bias.orders:
        return (
            "These verdicts came without the order of their answers.",
            "Who stood first is not known, so position bias cannot be measured here.",
        )
    first = bias.whole("first_share")
    told = "Each pair was shown in one order only: what a swap would change is not known."
    if first.value is None:
        return told, "Ask again with `orders: both`."
    return told, (
        f"The first slot wins {share(first.value, 0)} of decisive verdicts, which may be the "
        "judge's lean or the better answers standing there. Ask again with `orders: both`."
    )


def _who_prefers(rows: Sequence[Lean]) -> str:
    what, sure = rows_are([(row.judge, row.prompt) for row in rows]), sum(row.sure for row in rows)
    if sure == len(rows):
        return f"All {number_word(sure)} {what}s prefer a slot"
    if sure:
        verb = "prefers" if sure == 1 else "prefer"
        return f"{number_word(sure).capitalize()} of {number_word(len(rows))} {what}s {verb} a slot"
    sliced = sum(bool(row.slices) for row in rows)
    if sliced:
        verb = "does" if sliced == 1 else "do"
        return (
            f"No {what} prefers a slot overall, but {number_word(sliced)} {verb} in some categories"
        )
    return f"No {what} prefers a slot for sure"


def _slice_lead(row: Lean) -> str:
    """Of one judge alone the lead says what its slices say."""
    return flip_sentence(row).replace("**", "") if row.slices or row.sure else ""


def number_word(value: int) -> str:
    """Up to nine in letters."""
    return _NUMBERS[value] if value < len(_NUMBERS) else count(value)


def rows_are(cells: Sequence[tuple[str, ...]]) -> str:
    """What a row stands for, so that the finding counts the right thing."""
    if len({cell[0] for cell in cells}) == 1:
        return "prompt" if len(cells) > 1 else "judge"
    return "judge" if len({cell[1] for cell in cells}) == 1 else "judge-prompt pair"


def _options_alone(bias: Bias) -> tuple[str, str]:
    """N options from the counts alone: which place wins, if one does."""
    options = bias.options
    shares = [bias.whole(f"slot {slot}") for slot in range(options)]
    known = [one.value for one in shares if one.value is not None]
    if not known:
        return "No item has been read in all rotations yet.", "Slots are compared within items."
    best = max(range(options), key=lambda slot: shares[slot].value or 0.0)
    place = ORDINALS[best] if best < len(ORDINALS) else f"{best + 1}th"
    lead = f"Even is {share(1 / options, 0)}: each answer stood in each place once."
    return f"Of {options} places, the {place} wins {share(max(known), 0)} of the time.", lead
