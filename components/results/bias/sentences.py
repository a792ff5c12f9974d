"""Sentences of the bias panels on position preferences, chosen by fixed statistical rules.

A flip is a comparison whose verdict changes with the order of the answers."""

from collections.abc import Sequence
from typing import Final

from components.html.format import (
    MIN_COLOURED_ITEMS,
    NARROW_SPACE,
    count,
    join_names,
    number,
    number_word,
    points,
    share,
    spaced_ci,
    unproven_lean_text,
)
from components.results.bias.computed import Bias
from components.results.bias.flip_leans import MOST_FLIPS, FlipLean, LeaningCategory, flip_leans
from metrics.agreement.pairwise_agreement import PEOPLE
from metrics.catalogue.position_records import CONSISTENCY, chance_consistency

NAMED_ROWS: Final = 2
"""Number of judges or prompts up to which a sentence names them instead of counting them."""
EVEN_ENTROPY: Final = 0.9
"""Position entropy from which both positions count as chosen about equally often. A sentence warns
if this hides opposite preferences in different categories."""
PREFERENCE_RULE: Final = (
    "“Prefers”: a sign test on the flips, with items as units, has p < .05. Holm's adjustment is "
    "over all rows of the study, also those that the filter hides. The test must also be "
    "significant if all pairs without a verdict in both orders had flipped the other way. Three "
    f"more conditions hold for a preference within a category. Categories of fewer than "
    f"{MIN_COLOURED_ITEMS} items are not tested. Holm's adjustment is over all rows and "
    f"categories. The 95{NARROW_SPACE}% interval of flips toward first minus flips toward second "
    "must exclude 0. “Too few items”: the test could not be significant even if all flips went one "
    "way.\n\nIf models are "
    "selected in the filter, p is also multiplied by the number of possible selections. The tests "
    "under all filters share one error rate of 5 %: each p is divided by the test's part of this "
    "rate, which is 0.79 over all categories and models, 0.1 within a category or for selected "
    "models, 0.01 if both apply.\n\n“The order changes the verdict on most pairs”: the whole "
    "interval of the order effect (disagreement between orders minus disagreement of repeats) is "
    "above 50 points. Without repeats, that of flips toward the preferred position minus flips "
    "toward the other. It is not said if at least three quarters of the verdicts are for one label."
)


NO_PREFERENCES: Final = "No reply says which answer is better, or that they are equally good."


MIN_COMPARISONS: Final = 20
"""Number of comparisons with a verdict in every order below which nothing is concluded about a
judge."""


def is_too_small(bias: Bias) -> bool:
    """Whether each judge, with each of its prompts, has verdicts in every order, but on fewer than
    MIN_COMPARISONS comparisons or MIN_COLOURED_ITEMS items: the cards then draw no conclusion."""
    found = bias.counts.rows.by_cell(CONSISTENCY.key, ("judge", "prompt")).values()
    known = [one for one in found if one.n]
    return bool(known) and all(
        one.n < MIN_COMPARISONS or one.items < MIN_COLOURED_ITEMS for one in known
    )


def missing_orders_text(orders: int) -> str:
    """Sentence on why no pair has usable verdicts in both orders. `orders`: the largest number of
    orders in which an item's answers were to be judged, 0 if the order is not recorded."""
    if orders > 1:
        return "No pair has usable verdicts in both orders."
    if orders:
        return "Each pair was judged in one order only."
    return "The data do not record in which order the answers were shown."


# ------------------------------------------------------------------------- one row


def flip_sentence(row: FlipLean) -> str:
    """Sentence on the flips of one judge and prompt; a preference that is not significant is stated
    as such."""
    if not row.pairs:
        return f"None of {count(row.missing, 'pair')} has a verdict in both orders."
    if not row.flips:
        return f"No flip in {count(row.pairs, 'comparison')}."
    floor = "" if row.noise is None else f" ({share(row.noise, 0)} change on a repeat)"
    flip = f"{share(row.flips / row.pairs, 0)} of comparisons flip{floor}"
    directions = {each.direction for each in row.leaning_categories}
    if len(directions) == 2 and row.flips_most_pairs and (row.entropy or 0.0) >= EVEN_ENTROPY:
        return (
            f"{flip}: {_category_directions_text(row.leaning_categories, 'toward')}. "
            "**The two directions cancel out, so the position entropy is close to 1 "
            f"(even): {number(row.entropy, 2)}.**"
        )
    if row.hinges_on_missing_verdicts:
        return (
            f"More pairs flip **toward the answer shown {row.direction}**, but the "
            f"{count(row.missing, 'pair')} without verdicts in both orders could make this "
            "difference not significant."
        )
    if not row.is_significant:
        if row.leaning_categories:
            leans = _category_directions_text(row.leaning_categories)
            return (
                f"**No significant preference overall**, but one in some categories: {leans}. "
                f"{flip}."
            )
        few = "Too few items to show a preference"
        told = few if row.has_too_few_items else "No significant preference"
        return f"**{told}**{unproven_lean_text(row.lean)}; {flip}."
    return _lean_sentence(row, flip)


def _lean_sentence(row: FlipLean, flip: str) -> str:
    """Sentence on a significant preference; `flip`: share of pairs that flip, in words."""
    most, least = max(row.first, row.second), min(row.first, row.second)
    versus = f"{count(most)} flips against {count(least)}"
    some = "Most" if most >= MOST_FLIPS * row.flips else "More"
    often = f"{flip}. " if row.flips_most_pairs else ""
    told = f"{often}{some} flips go **toward the answer shown {row.direction}**: {versus}."
    return f"{told} {_category_exceptions_sentence(row)}".strip()


def _category_exceptions_sentence(row: FlipLean) -> str:
    """Sentence on the categories in which the preferred position is the opposite of the overall
    one; "" if there are none."""
    other = [each for each in row.leaning_categories if each.direction != row.direction]
    differs = f"In some categories the direction differs: {_category_directions_text(other)}."
    return differs if other else ""


def _category_directions_text(categories: Sequence[LeaningCategory], word: str = "") -> str:
    """Text on the position preferred in each category, such as "second in writing, first in coding
    and maths"; `word` is put before each position."""
    parts = []
    for toward in dict.fromkeys(each.direction for each in categories):
        named = [each.category for each in categories if each.direction == toward]
        parts.append(" ".join(part for part in (word, toward, "in", join_names(named)) if part))
    return ", ".join(parts)


# ---------------------------------------------------------------------- the headline


def consistency_by_chance(bias: Bias) -> float:
    """Consistency of a judge that chooses at random, with the observed share of ties."""
    return chance_consistency(bias.max_options, bias.overall("tie_rate").value or 0.0)


def low_consistency_warning(bias: Bias) -> str:
    """Warning that the verdicts are less consistent than random ones; empty unless the whole
    interval of the consistency is below chance."""
    same, chance = bias.overall("consistency"), consistency_by_chance(bias)
    if same.value is None or same.high is None or same.high >= chance:
        return ""
    return f"Low consistency: {share(same.value, 0)}; chance gives {share(chance, 0)}."


def bias_headline(bias: Bias) -> tuple[str, str]:
    """Headline and the sentence below it: the share of comparisons that a swap flips, and how many
    judges prefer a position; a message if there is nothing to measure."""
    rows = [row for row in flip_leans(bias) if row.pairs]
    if not rows:
        return _unmeasured_flips_headline(bias)
    pairs = sum(row.pairs for row in rows)
    if len(rows) == 1 and rows[0].judge == PEOPLE and pairs < MIN_COLOURED_ITEMS:
        return (
            f"One person saw only {count(pairs, 'pair')} in both orders: too few to measure "
            "position bias.",
            "To measure position bias, one person or judge must see many pairs in both orders.",
        )
    noun = row_noun([(row.judge, row.prompt) for row in rows])
    told = [_order_decides_sentence(rows, noun), _label_causes_flips_sentence(rows, noun)]
    if len(rows) == 1 and rows[0].is_significant:
        told.append(_category_exceptions_sentence(rows[0]))
    elif len(rows) == 1 and rows[0].leaning_categories:
        told = [flip_sentence(rows[0]).replace("**", ""), _label_causes_flips_sentence(rows, noun)]
    lead = " ".join(filter(None, [*told, _noise_sentence(rows, noun)]))
    return f"{_flips_clause(bias)}; {_direction_clause(rows, noun)}.", lead


def _flips_clause(bias: Bias) -> str:
    """Clause on the share of comparisons that flip when the answers are swapped, with its
    interval. If calls were repeated, the share of changes on a repeat and the order effect,
    with the interval of the latter, replace this interval."""
    same, noise, effect = (
        bias.overall(key) for key in ("consistency", "noise_floor", "order_effect")
    )
    rate = share(1 - (same.value or 0.0), 0)
    if noise.value is not None and effect.value is not None:
        added = f"{points(number(100 * effect.value, 0))}{spaced_ci(effect, 0, scale=100)}"
        unsure = effect.low is None or effect.high is None or effect.low <= 0 <= effect.high
        adds = f"adds {added}, provided that repeats are independent"
        adds = f"is not shown to add anything ({added})" if unsure else adds
        asked = f"On {count(effect.items, 'item')} asked again"
        return (
            f"Swapping the answers flips {rate} of all comparisons. {asked}, a mere repeat changes "
            f"{share(noise.value, 0)}, and the order {adds}"
        )
    if same.low is None or same.high is None:
        return f"Swapping the answers flips {rate} of comparisons"
    ends = f"[{number(100 * (1 - same.high))}, {number(100 * (1 - same.low))}]"
    return f"Swapping the answers flips {rate} of comparisons {ends}"


def _direction_clause(rows: Sequence[FlipLean], noun: str) -> str:
    """Clause on the position toward which flips significantly go, or that there is none. For a
    single row (a judge with a prompt), it gives the number of these flips; for several, how many
    rows lean to the first and to the second position. `noun`: word for a row, such as "judge"."""
    leaning = [row for row in rows if row.is_significant]
    if not leaning:
        return _no_preference_clause(rows, noun)
    if len(rows) == 1:
        most, flips = count(max(rows[0].first, rows[0].second)), count(rows[0].flips)
        return f"{most} of {flips} flips go toward the answer shown {rows[0].direction}"
    toward = {side: [r for r in leaning if r.direction == side] for side in ("first", "second")}
    parts: list[str] = []
    for side, found in toward.items():
        if found and parts:
            parts.append(f"{number_word(len(found))} to the {side}")
        elif found:
            some = _some_of_total_text(len(found), len(rows), noun)
            parts.append(f"{some} {'leans' if len(found) == 1 else 'lean'} to the {side}")
    return ", ".join(parts)


def _order_decides_sentence(rows: Sequence[FlipLean], noun: str) -> str:
    """Sentence on the rows (judges with their prompts) for which the order decides most pairs; ""
    if there are none. Without repeats, only a surplus of flips in one direction shows that the
    order, and not noise, is the cause."""
    decided = [row for row in rows if row.order_decides_most_pairs]
    who = _names_or_count(decided, len(rows), noun)
    why = " (flips one way exceed the others by over 50 points)"
    why = why if any(row.order_effect is None for row in decided) else ""
    # Of the others that flip most pairs, this is not shown, which is no sign that it is not so.
    open_rows = [row for row in rows if row.flips_most_pairs and not row.label]
    start = "At least for" if len(open_rows) > len(decided) else "For"
    return f"{start} {who}, the order changes the verdict on most pairs{why}." if decided else ""


def _label_causes_flips_sentence(rows: Sequence[FlipLean], noun: str) -> str:
    """Sentence on the rows (judges with their prompts) that flip most pairs because most verdicts
    are for one label, with the shares of these labels; "" if there are none."""
    found = [row for row in rows if row.label and row.flips_most_pairs]
    who = _names_or_count(found, len(rows), noun)
    each = "the label" if len(found) == 1 else "one label each:"
    labels = join_names([row.label_text for row in found])
    return f"Most verdicts of {who} are for {each} {labels}." if found else ""


def _noise_sentence(rows: Sequence[FlipLean], noun: str) -> str:
    """Sentence that flips may be noise because no call was repeated; "" if this holds for no row.
    If `may_be_noise` is True for each row that it holds for, the sentence names or counts these
    rows; it then speaks of part of their flips if one of them significantly prefers a position.
    Otherwise it speaks of "part of the flips" and names no row."""
    found = [row for row in rows if row.flips and row.noise is None and not row.flips_one_way]
    what = "part of the flips"
    if all(row.may_be_noise for row in found):
        leaning = any(row.is_significant or row.leaning_categories for row in found)
        what = f"{'part of ' * leaning}the flips of {_names_or_count(found, len(rows), noun)}"
    return f"Without repeats in the same order, {what} may be noise." if found else ""


def _names_or_count(some: Sequence[FlipLean], total: int, noun: str) -> str:
    """Names of up to NAMED_ROWS rows; of more rows, their number out of `total`."""
    if len(some) <= NAMED_ROWS:
        return join_names([row.name for row in some])
    return _some_of_total_text(len(some), total, noun)


def _some_of_total_text(some: int, total: int, noun: str) -> str:
    """`some` of `total` in words, followed by `noun`: for "judge", "both judges", "all three
    judges" or "one of the two judges"."""
    if some == total:
        return f"both {noun}s" if total == 2 else f"all {number_word(total)} {noun}s"
    return f"{number_word(some)} of the {number_word(total)} {noun}s"


def _unmeasured_flips_headline(bias: Bias) -> tuple[str, str]:
    """Headline and the sentence below if flips cannot be measured: the reason, and what to do."""
    title = missing_orders_text(bias.max_orders)
    if bias.max_orders != 1:
        return title, "Position bias is measured on pairs with a verdict in each of two orders."
    first = bias.overall("first_share")
    if first.value is None:
        return title, "Run the study again with `orders: both`."
    return title, (
        f"With ties left out, the first position wins {share(first.value, 0)} of verdicts. This "
        "may be position bias, or better answers shown first. Run again with `orders: both`."
    )


def preferring_rows_clause(significant: int, total: int, noun: str) -> str:
    """Clause that `significant` of `total` rows prefer a position, such as "Two of three judges
    prefer a position"; `noun`: word for a row, such as "judge"."""
    if total == 1:
        return f"This {noun} prefers a position"
    if significant == total:
        every = _some_of_total_text(significant, total, noun)
        return f"{every[0].upper()}{every[1:]} prefer a position"
    verb = "prefers" if significant == 1 else "prefer"
    some = number_word(significant).capitalize()
    return f"{some} of {number_word(total)} {noun}s {verb} a position"


def _no_preference_clause(rows: Sequence[FlipLean], noun: str) -> str:
    """Clause that no row significantly prefers a position, with its limits: preferences in single
    categories, pairs without verdicts in both orders, too few items. `noun`: word for a row."""
    total, alone = len(rows), len(rows) == 1
    if sliced := sum(bool(row.leaning_categories) for row in rows):
        who = f"this {noun}" if alone else _some_of_total_text(sliced, total, noun)
        who += " prefers" if sliced == 1 else " prefer"
        return f"no position is significantly preferred overall, but {who} one in some categories"
    if hinging := sum(row.hinges_on_missing_verdicts for row in rows):
        who = f"this {noun}" if alone else _some_of_total_text(hinging, total, noun)
        return (
            f"{who} significantly {'prefers' if hinging == 1 else 'prefer'} a position, but only "
            "if pairs without verdicts in both orders are left out"
        )
    return none_significant_clause(total, noun, sum(row.has_too_few_items for row in rows))


def none_significant_clause(total: int, noun: str, few: int) -> str:
    """Clause that none of `total` rows significantly prefers a position, `few` of them because they
    have too few items."""
    if few == total:
        return "there are too few items to test for a preferred position"
    limit = f"; {number_word(few)} {'has' if few == 1 else 'have'} too few items for a test"
    none = f"no {noun} significantly prefers a position{limit if few else ''}"
    return none if total > 1 else f"this {noun} does not significantly prefer a position"


def row_noun(cells: Sequence[tuple[str, ...]]) -> str:
    """Noun for the rows in a headline: "prompt", if one judge has several prompts; "judge", if all
    rows have the same prompt or there is at most one row; else "judge-prompt pair". `cells`:
    (judge, prompt) of each row."""
    if not cells:
        return "judge"
    if len({cell[0] for cell in cells}) == 1:
        return "prompt" if len(cells) > 1 else "judge"
    return "judge" if len({cell[1] for cell in cells}) == 1 else "judge-prompt pair"
