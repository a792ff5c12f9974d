"""Sentences of the bias panels on position preferences, chosen by fixed statistical rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from components.filtering.filters import ALL_CHOICE
from components.html.format import MIN_COLOURED_ITEMS, NARROW_SPACE, count, lean_text, number, share
from components.results.bias.computed import CELL_COLUMNS, Bias
from metrics.agreement.pairwise_agreement import PEOPLE
from metrics.estimation.intervals import holm_adjust
from metrics.estimation.measures import CellKey
from metrics.position.order_tables import OrderTable, pool_order_tables
from metrics.position.order_tests import item_sign_test
from studies.domain import Estimate

SIGNIFICANCE_LEVEL: Final = 0.05
"""A preference is reported if its p-value, adjusted for everything that a reader can select, is
lower."""
EVEN_ENTROPY: Final = 0.9
"""Entropy from which the shares of the positions look even; opposite preferences may still
cancel."""
ONE_WAY_SHARE: Final = 0.75
"""Share of flips in one direction from which a judge is said to decide by position."""
MOST: Final = 0.5
PREFERENCE_RULE: Final = (
    "“Prefers”: a sign test on the flips, by items, has p < .05 after Holm's adjustment over "
    f"all rows, whatever the filter. Within a category, at least {MIN_COLOURED_ITEMS} items "
    "are needed, and Holm's adjustment is over all rows and categories. There, the "
    f"95{NARROW_SPACE}% interval of flips toward first minus flips toward second must also "
    "exclude 0. The test must also hold if all pairs without a verdict in both orders had "
    "flipped the other way. If models were selected in the filter, p is multiplied by the "
    "number of possible selections. The tests of all filters together have an error rate of 5 %: "
    "p is divided by 0.79 for whole rows, by 0.1 within a category or for selected models, and by "
    "0.01 for both. “Decides by position”: the order decides most pairs, and "
    "three quarters of the flips go one way. “The order decides most pairs”: the whole "
    "interval of the order effect (disagreement between orders minus disagreement of repeats) "
    "is above 50 points. Without repeats, the interval of flips toward first minus flips "
    "toward second is used."
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
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
)


@dataclass(frozen=True, slots=True)
class LeaningCategory:
    """A category in which a judge significantly prefers one position."""

    category: str
    toward: str


@dataclass(frozen=True, slots=True)
class FlipLean:
    """Direction of the flips of one judge and prompt (its lean), with the p-value of the sign test
    by items."""

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
    """Noise floor: share that changes on a repeat in the same order, where measured."""
    order_effect: Estimate | None = None
    """Disagreement between orders minus disagreement of repeats; None without repeats."""
    lean: Estimate | None = None
    """Recency − primacy (fairness) with its interval."""
    missing: int = 0
    """Pairs without a verdict in both orders."""
    worst_p: float | None = None
    """p-value if all missing pairs had flipped against the lean; None if none are missing."""

    @property
    def toward(self) -> str:
        return "first" if self.first > self.second else "second"

    @property
    def is_significant(self) -> bool:
        """Whether the preference is significant whatever the missing verdicts would have been."""
        return max(self.p, self.worst_p or 0.0) < SIGNIFICANCE_LEVEL

    @property
    def may_be_missing(self) -> bool:
        """Whether the preference is significant in the pairs read, but missing pairs could reverse
        it."""
        return self.p < SIGNIFICANCE_LEVEL and not self.is_significant

    @property
    def flips_majority(self) -> bool:
        return self.flips > self.pairs / 2

    @property
    def order_decides(self) -> bool:
        """Whether order decides most pairs: the whole interval of the order effect is above one
        half.

        Without repeats, flips may be noise, which has no direction. Then the lean (share of pairs
        that flip toward the second position minus share toward the first) has to be significant,
        with its whole interval above one half or below minus one half.
        """
        effect, lean = self.order_effect, self.lean
        if effect is not None and effect.low is not None:
            return effect.low > MOST
        if lean is None or lean.low is None or lean.high is None:
            return False
        return self.is_significant and (lean.low > MOST or lean.high < -MOST)

    @property
    def flips_one_way(self) -> bool:
        most = max(self.first, self.second)
        return self.is_significant and most >= ONE_WAY_SHARE * self.flips

    @property
    def may_be_noise(self) -> bool:
        """Whether most pairs flip, and no repeats were made that would separate the effect of order
        from noise."""
        return self.flips_majority and self.noise is None and not self.order_decides


def flip_leans(bias: Bias) -> list[FlipLean]:
    """Direction of the flips of each judge and prompt, with p-values adjusted by Holm's method."""
    return bias.memoise("leans", lambda: _compute_leans(bias))


def _compute_leans(bias: Bias) -> list[FlipLean]:
    tables = {row: bias.table(row) for row in bias.names}
    adjusted, worst = _row_p_values(bias), _row_p_values(bias, worst=True)
    entropy, noise = bias.each("entropy"), bias.each("noise_floor")
    effect, lean = bias.each("order_effect"), bias.each("fairness") if bias.options == 2 else {}
    return [
        FlipLean(
            bias.names[row[0], row[1]],
            row[0],
            row[1],
            table.pairs,
            table.flips,
            table.toward_first,
            table.toward_second,
            adjusted.get(row, 1.0),
            entropy[row].value if row in entropy else None,
            _leaning_categories(bias, row),
            noise[row].value if row in noise else None,
            effect[row] if row in effect and effect[row].value is not None else None,
            lean.get(row),
            table.missing,
            worst.get(row, 1.0) if table.missing else None,
        )
        for row, table in tables.items()
    ]


def _row_p_values(bias: Bias, worst: bool = False) -> dict[CellKey, float]:
    """Adjusted p-value of each (judge, prompt) under the filter; `worst`: as if all missing pairs
    contradicted the preference.

    The adjustment covers the whole study, as a reader may look at every filter: all rows, or if a
    category is selected, all rows in all categories.
    """
    category = bias.filter.category
    if category != ALL_CHOICE:
        found = _category_p_values(bias, worst)
        return {cell[:2]: p for cell, p in found.items() if cell[2] == category}
    tables = bias.counts.tables
    rows = list(dict.fromkeys(cell[:2] for cell in tables))
    pooled = [pool_order_tables(tables, [c for c in tables if c[:2] == row]) for row in rows]
    return _adjust_leans(rows, pooled, bias, False, worst)


def _category_p_values(bias: Bias, worst: bool = False) -> dict[CellKey, float]:
    """p-value of each (judge, prompt, category), adjusted over all such cells with enough items."""
    return bias.counts.memoise(
        ("category p", worst), lambda: _compute_category_p_values(bias, worst)
    )


def _compute_category_p_values(bias: Bias, worst: bool) -> dict[CellKey, float]:
    items = bias.counts.cells.by_cell("consistency", CELL_COLUMNS)
    tables = {
        cell: table
        for cell, table in bias.counts.tables.items()
        if cell in items and items[cell].items >= MIN_COLOURED_ITEMS
    }
    return _adjust_leans(list(tables), list(tables.values()), bias, True, worst)


def _adjust_leans(
    cells: Sequence[CellKey],
    tables: Sequence[OrderTable],
    bias: Bias,
    in_category: bool,
    worst: bool,
) -> dict[CellKey, float]:
    """p-value of each cell, Holm-adjusted for all cells and for all sets of models that could be
    selected, and divided by the part of the error rate that such tests may use; `worst`: as if all
    missing pairs contradicted the preference."""
    tests = [table.worst_case_lean() if worst else item_sign_test(table.item_leans)
             for table in tables]  # fmt: skip
    raw = [test.p if table.pairs else None for test, table in zip(tests, tables, strict=True)]
    known = sum(p is not None for p in raw)
    share_of_error = bias.error_share_of(in_category)
    adjusted = holm_adjust(raw, known * bias.counts.alternatives, share_of_error)
    return {cell: p for cell, p in zip(cells, adjusted, strict=True) if p is not None}


def _leaning_categories(bias: Bias, row: CellKey) -> tuple[LeaningCategory, ...]:
    """Categories in which this judge and prompt significantly prefer a position.

    They are checked before "no preference" is reported, because opposite preferences in two
    categories cancel overall.
    """
    if len(bias.categories) < 2:
        return ()
    fairness, adjusted = bias.fairness, _category_p_values(bias, worst=True)
    cells = [cell for cell in bias.tables if cell[:2] == row and cell[2] and cell in fairness]
    found = []
    for cell in cells:
        p = adjusted.get(cell)
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
    """Sentence on the flips of one judge and prompt; a preference is named only if it is
    significant."""
    if not row.pairs:
        return "No pair was judged in both orders."
    if not row.flips:
        return f"All {count(row.pairs)} pairs have the same verdict in both orders."
    rate = share(row.flips / row.pairs, 0)
    directions = {each.toward for each in row.leaning_categories}
    if len(directions) == 2 and row.flips_majority and (row.entropy or 0.0) >= EVEN_ENTROPY:
        return (
            f"{rate} of pairs flip: {_category_directions(row.leaning_categories, 'toward')}. "
            f"**The two directions cancel out: the entropy is {number(row.entropy, 2)}.**"
        )
    if row.may_be_missing:
        return _missing_sentence(row)
    if not row.is_significant:
        if row.leaning_categories:
            leans = _category_directions(row.leaning_categories)
            return (
                f"**No preference overall**, but a preferred position by category: {leans}. "
                f"{rate} of pairs flip."
            )
        return f"**No significant preference**{lean_text(row.lean)}; {rate} of pairs flip."
    return _lean_sentence(row, rate)


def _missing_sentence(row: FlipLean) -> str:
    """Sentence on a preference that the pairs without both verdicts could reverse."""
    return (
        f"More pairs flip **toward the answer shown {row.toward}**, but the "
        f"{count(row.missing, 'pair')} without verdicts in both orders could reverse the "
        "direction."
    )


def _lean_sentence(row: FlipLean, rate: str) -> str:
    most, least = max(row.first, row.second), min(row.first, row.second)
    versus = f"{count(most)} flips against {count(least)}"
    if row.order_decides and most >= ONE_WAY_SHARE * row.flips:
        share_of = f"{count(most)} of its {count(row.flips)}"
        return (
            f"The judge decides **by position**: {share_of} flips go to the answer shown "
            f"{row.toward}."
        )
    if row.flips_majority:
        floor = f" ({share(row.noise, 0)} on a repeat)" if row.noise else ""
        direction = f"more **toward the answer shown {row.toward}**"
        return f"{rate} of pairs flip{floor}, {direction}: {versus}."
    other = [each for each in row.leaning_categories if each.toward != row.toward]
    but = (
        f" In some categories the direction differs: {_category_directions(other)}."
        if other
        else ""
    )
    return f"Most flips go **toward the answer shown {row.toward}**: {versus}.{but}"


def _category_directions(slices: Sequence[LeaningCategory], word: str = "") -> str:
    """Text on the position preferred in each category, such as "second in writing, first in coding
    and maths"."""
    parts = []
    for toward in dict.fromkeys(each.toward for each in slices):
        named = [each.category for each in slices if each.toward == toward]
        parts.append(" ".join(part for part in (word, toward, "in", join_names(named)) if part))
    return ", ".join(parts)


def join_names(names: Sequence[str], most: int = 3) -> str:
    """Join names as "a, b and c", or "a, b and 4 more" if there are more than `most`."""
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


# ---------------------------------------------------------------------- the headline


def random_consistency(bias: Bias) -> float:
    """Consistency of random choices among N options, given the observed share of ties t.

    It is tᴺ + N·((1 − t)/N)ᴺ. Without ties this is 1/2 for pairs; some ties lower it, because two
    random choices then agree less often.
    """
    options, ties = bias.options, bias.whole("tie_rate").value or 0.0
    return float(ties**options + options * ((1 - ties) / options) ** options)


def low_consistency_warning(bias: Bias) -> str:
    """Warning for ratings and win rates if the verdicts are less consistent than chance.

    Empty unless the whole interval of the consistency is below chance.
    """
    same, chance = bias.whole("consistency"), random_consistency(bias)
    if same.value is None or same.high is None or same.high >= chance:
        return ""
    when = "after a swap" if bias.options == 2 else "in every order"
    return (
        f"Low consistency: {share(same.value, 0)} of comparisons have the same verdict {when}; "
        f"chance gives {share(chance, 0)}."
    )


def bias_finding(bias: Bias) -> tuple[str, str]:
    """Headline and the sentence below it: which judges prefer a position, which one, and how
    strongly."""
    if not bias.calls:
        return "There are no verdicts yet.", "Run the study; results appear here while it runs."
    if bias.options > 2:
        return _options_finding(bias)
    rows = [row for row in flip_leans(bias) if row.pairs]
    if not rows:
        return _no_flips_finding(bias)
    lead = (
        "If two answers are swapped, an unbiased judge still prefers the same answer. "
        "Blank cells: no bias; darker cells: more bias."
    )
    flips, pairs = sum(row.flips for row in rows), sum(row.pairs for row in rows)
    rate = share(flips / pairs, 0)
    if len(rows) == 1 and rows[0].judge == PEOPLE and pairs < MIN_COLOURED_ITEMS:
        return (
            f"Only {count(pairs, 'pair')} had both orders seen by one person: too few to "
            "measure position bias.",
            "To measure position bias, one person or judge must see both orders of many pairs.",
        )
    if len(rows) == 1:
        chance = share(1 - random_consistency(bias), 0)
        title = (
            f"{rows[0].judge}: verdicts differ between the orders on {rate} of pairs "
            f"(random choices: {chance})."
        )
        return title, _category_lead(rows[0]) or lead
    most = sum(row.order_decides for row in rows)
    which = "all" if most == len(rows) else number_word(most)
    effect = f"For {which} of them, the order decides most pairs." if most else ""
    effect = effect or _noise_sentence(sum(row.may_be_noise for row in rows))
    effect = effect or f"Verdicts differ between the orders on {rate} of pairs."
    return f"{_preference_sentence(rows)}. {effect}", lead


def _noise_sentence(unclear: int) -> str:
    """Sentence on the number of rows that flip most pairs without repeats to compare with; empty
    for 0."""
    if not unclear:
        return ""
    verb = "changes its verdict" if unclear == 1 else "change their verdict"
    return (
        f"{number_word(unclear).capitalize()} of them {verb} on most pairs when swapped; "
        "without repeats in the same order, this may be noise."
    )


def _no_flips_finding(bias: Bias) -> tuple[str, str]:
    """Headline and the sentence below it if flips cannot be measured: the reason, and what to
    do."""
    if bias.orders > 1:
        return (
            "No pair has been judged in both orders yet.",
            "To measure position bias, pairs must be judged in both orders.",
        )
    if not bias.orders:
        return (
            "These verdicts do not record the order of the answers.",
            "Without the order, position bias cannot be measured.",
        )
    first = bias.whole("first_share")
    title = "Each pair was shown in one order only, so the effect of a swap is unknown."
    if first.value is None:
        return title, "Run the study again with `orders: both`."
    return title, (
        f"With ties left out, the first position wins {share(first.value, 0)} of verdicts. "
        "This may be position bias, or better answers shown first. Run again with `orders: "
        "both`."
    )


def _preference_sentence(rows: Sequence[FlipLean]) -> str:
    what = row_noun([(row.judge, row.prompt) for row in rows])
    significant = sum(row.is_significant for row in rows)
    if significant == len(rows):
        every = "Both" if significant == 2 else f"All {number_word(significant)}"
        return f"{every} {what}s prefer a position"
    if significant:
        verb = "prefers" if significant == 1 else "prefer"
        some = number_word(significant).capitalize()
        return f"{some} of {number_word(len(rows))} {what}s {verb} a position"
    sliced = sum(bool(row.leaning_categories) for row in rows)
    if sliced:
        verb = "does" if sliced == 1 else "do"
        some = f"{number_word(sliced)} {verb} in some categories"
        return f"No {what} prefers a position overall, but {some}"
    return f"No {what} significantly prefers a position"


def _category_lead(row: FlipLean) -> str:
    """Sentence below the headline for a single judge: its flip sentence if a preference is
    significant, else empty."""
    return (
        flip_sentence(row).replace("**", "") if row.leaning_categories or row.is_significant else ""
    )


def number_word(value: int) -> str:
    """A count in words up to nine, in digits from ten."""
    return _NUMBER_WORDS[value] if value < len(_NUMBER_WORDS) else count(value)


def row_noun(cells: Sequence[tuple[str, ...]]) -> str:
    """Noun for the rows in a headline: prompt, judge or judge-prompt pair."""
    if len({cell[0] for cell in cells}) == 1:
        return "prompt" if len(cells) > 1 else "judge"
    return "judge" if len({cell[1] for cell in cells}) == 1 else "judge-prompt pair"


def _options_finding(bias: Bias) -> tuple[str, str]:
    """Headline and the sentence below it for N options: the position chosen most often, without a
    test."""
    options = bias.options
    shares = [bias.whole(f"slot {slot}") for slot in range(options)]
    known = [one.value for one in shares if one.value is not None]
    if not known:
        return (
            "No item has been judged in all rotations yet.",
            "Positions can be compared once an item has a verdict in every rotation.",
        )
    best = max(range(options), key=lambda slot: shares[slot].value or 0.0)
    ordinal = ORDINALS[best] if best < len(ORDINALS) else f"{best + 1}th"
    lead = (
        f"Without a preference, each position wins {share(1 / options, 0)} of choices; each "
        "answer was shown in each position once."
    )
    title = f"Of {options} positions, the {ordinal} wins {share(max(known), 0)} of choices."
    return title, lead
