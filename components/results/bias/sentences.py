"""What the bias panels say: who prefers a slot, where, and how sure that is, by fixed rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from components.html.format import NARROW_SPACE, count, number, share
from components.html.matrix import MIN_COLOURED_ITEMS
from components.results.bias.computed import Bias
from metrics.estimation.measures import CellKey
from metrics.position.order_tables import holm_adjust
from metrics.position.order_tests import sign_test

SIGNIFICANCE_LEVEL: Final = 0.05
"""A slot is called preferred below this p, Holm-adjusted over the rows shown."""
EVEN_ENTROPY: Final = 0.9
"""From this entropy on a histogram of slots looks even: opposite leans may hide behind it."""
ONE_WAY_SHARE: Final = 0.75
"""From this share of flips on, a judge that flips most pairs is said to decide by position."""
PREFERENCE_RULE: Final = (
    f"“Prefers” is said if an exact sign test on the flips has p < .05 after Holm's adjustment "
    f"over the rows shown; within a category also only if the 95{NARROW_SPACE}% interval of its lean "
    f"leaves out 0 and it has at least {MIN_COLOURED_ITEMS} items (Holm over the row's categories). "
    "“Decides by position”: more than half of the pairs flip beyond those that flip without any "
    "swap (the noise floor, where it was asked), three quarters of them one way."
)
_NUMBER_WORDS: Final = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
)
ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LeaningCategory:
    """A category in which a judge surely leans one way."""

    category: str
    toward: str


@dataclass(frozen=True, slots=True)
class FlipLean:
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
    leaning_categories: tuple[LeaningCategory, ...] = ()
    noise: float | None = None
    """Share that flips without any swap, where that was asked."""

    @property
    def toward(self) -> str:
        return "first" if self.first > self.second else "second"

    @property
    def is_significant(self) -> bool:
        return self.p < SIGNIFICANCE_LEVEL

    @property
    def flips_majority(self) -> bool:
        return self.flips > self.pairs / 2

    @property
    def order_decides(self) -> bool:
        """Most pairs flip, and not because the judge says something else each time it is asked."""
        return self.flips / max(self.pairs, 1) - (self.noise or 0.0) > 0.5


def flip_leans(bias: Bias) -> list[FlipLean]:
    """One for each judge and prompt, p-values adjusted by Holm's step-down."""
    return bias.memoise("leans", lambda: _compute_leans(bias))


def _compute_leans(bias: Bias) -> list[FlipLean]:
    tables = {row: bias.table(row) for row in bias.names}
    raw = [sign_test(t.toward_first, t.toward_second).p for t in tables.values()]
    entropy, noise = bias.each("entropy"), bias.each("noise_floor")
    return [
        FlipLean(
            bias.names[row[0], row[1]],
            row[0],
            row[1],
            table.pairs,
            table.flips,
            table.toward_first,
            table.toward_second,
            1.0 if p is None else p,
            entropy[row].value if row in entropy else None,
            _leaning_categories(bias, row),
            noise[row].value if row in noise else None,
        )
        for (row, table), p in zip(tables.items(), holm_adjust(raw), strict=True)
    ]


def _leaning_categories(bias: Bias, row: CellKey) -> tuple[LeaningCategory, ...]:
    """Categories in which this row prefers a slot for sure: looked at before saying «none»."""
    if len(bias.categories) < 2:
        return ()
    fairness = bias.fairness
    cells = [cell for cell in bias.tables if cell[:2] == row and cell[2] and cell in fairness]
    cells = [cell for cell in cells if fairness[cell].items >= MIN_COLOURED_ITEMS]
    tables = [bias.tables[cell] for cell in cells]
    adjusted = holm_adjust([sign_test(t.toward_first, t.toward_second).p for t in tables])
    found = []
    for cell, p in zip(cells, adjusted, strict=True):
        low, high = fairness[cell].low, fairness[cell].high
        if (
            p is not None
            and p < SIGNIFICANCE_LEVEL
            and low is not None
            and high is not None
            and low * high > 0
        ):
            found.append(LeaningCategory(cell[2], "second" if low > 0 else "first"))
    return tuple(found)


# ------------------------------------------------------------------------- one row


def flip_sentence(row: FlipLean) -> str:
    """'Prefers' only when the test says so, and only after a look at the slices."""
    if not row.pairs:
        return "No pair was read in both orders."
    if not row.flips:
        return f"All {count(row.pairs)} pairs keep their verdict."
    rate = share(row.flips / row.pairs, 0)
    directions = {each.toward for each in row.leaning_categories}
    if len(directions) == 2 and row.flips_majority and (row.entropy or 0.0) >= EVEN_ENTROPY:
        return (
            f"{rate} of pairs flip: {_category_directions(row.leaning_categories, 'toward')}. "
            f"**The two cancel in its entropy of {number(row.entropy, 2)}.**"
        )
    if not row.is_significant:
        if row.leaning_categories:
            told = f"Prefers **no slot overall**; leans {_category_directions(row.leaning_categories)}. "
            return told + f"{rate} of pairs still flip."
        return f"**No slot preferred**; {rate} of pairs still flip."
    return _lean_sentence(row, rate)


def _lean_sentence(row: FlipLean, rate: str) -> str:
    most, least = max(row.first, row.second), min(row.first, row.second)
    versus = f"{count(most)} flips against {count(least)}"
    if row.order_decides and most >= ONE_WAY_SHARE * row.flips:
        share_of = f"{count(most)} of its {count(row.flips)}"
        return f"Decides **by position**: {share_of} flips go to the {row.toward} answer."
    if row.flips_majority:
        again = f" ({share(row.noise, 0)} without any swap)" if row.noise else ""
        told = f"{rate} of pairs flip{again}, more **toward the answer shown {row.toward}**"
        return f"{told}: {versus}."
    other = [each for each in row.leaning_categories if each.toward != row.toward]
    but = f" It leans {_category_directions(other)}." if other else ""
    return f"Wavers **toward the answer shown {row.toward}**: {versus}.{but}"


def _category_directions(slices: Sequence[LeaningCategory], word: str = "") -> str:
    """ "second in writing, first in coding and maths"."""
    parts = []
    for toward in dict.fromkeys(each.toward for each in slices):
        named = [each.category for each in slices if each.toward == toward]
        parts.append(" ".join(part for part in (word, toward, "in", join_names(named)) if part))
    return ", ".join(parts)


def join_names(names: Sequence[str], most: int = 3) -> str:
    """ "a, b and c", or "a, b and 4 more"."""
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


# ---------------------------------------------------------------------- the headline


def low_consistency_warning(bias: Bias) -> str:
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


def bias_finding(bias: Bias) -> tuple[str, str]:
    """The headline and its lead: subject, direction and size."""
    if not bias.asked:
        return "Nothing has been judged yet.", "Run the study; this page fills while it runs."
    if bias.options > 2:
        return _options_finding(bias)
    rows = [row for row in flip_leans(bias) if row.pairs]
    if not rows:
        return _no_flips_finding(bias)
    lead = (
        "Swap two answers, and an even-handed judge mirrors its verdict. "
        "Blank is even-handed; more ink is more bias."
    )
    flips, pairs = sum(row.flips for row in rows), sum(row.pairs for row in rows)
    rate = share(flips / pairs, 0)
    if len(rows) == 1:
        title = f"Swap two answers, and {rows[0].judge} changes its mind on {rate} of pairs."
        return title, _category_lead(rows[0]) or lead
    most = sum(row.order_decides for row in rows)
    then = f"For {number_word(most)}, the order decides most pairs." if most else ""
    then = then or f"Swapping the answers changes {rate} of verdicts."
    return f"{_preference_sentence(rows)}. {then}", lead


def _no_flips_finding(bias: Bias) -> tuple[str, str]:
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


def _preference_sentence(rows: Sequence[FlipLean]) -> str:
    what, sure = (
        row_noun([(row.judge, row.prompt) for row in rows]),
        sum(row.is_significant for row in rows),
    )
    if sure == len(rows):
        return f"All {number_word(sure)} {what}s prefer a slot"
    if sure:
        verb = "prefers" if sure == 1 else "prefer"
        return f"{number_word(sure).capitalize()} of {number_word(len(rows))} {what}s {verb} a slot"
    sliced = sum(bool(row.leaning_categories) for row in rows)
    if sliced:
        verb = "does" if sliced == 1 else "do"
        return (
            f"No {what} prefers a slot overall, but {number_word(sliced)} {verb} in some categories"
        )
    return f"No {what} prefers a slot for sure"


def _category_lead(row: FlipLean) -> str:
    """Of one judge alone the lead says what its slices say."""
    return (
        flip_sentence(row).replace("**", "") if row.leaning_categories or row.is_significant else ""
    )


def number_word(value: int) -> str:
    """Up to nine in letters."""
    return _NUMBER_WORDS[value] if value < len(_NUMBER_WORDS) else count(value)


def row_noun(cells: Sequence[tuple[str, ...]]) -> str:
    """What a row stands for, so that the finding counts the right thing."""
    if len({cell[0] for cell in cells}) == 1:
        return "prompt" if len(cells) > 1 else "judge"
    return "judge" if len({cell[1] for cell in cells}) == 1 else "judge-prompt pair"


def _options_finding(bias: Bias) -> tuple[str, str]:
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
