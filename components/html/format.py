"""Formats of numbers, lists of names and shortened texts on the page."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from metrics.estimation.intervals import decimals_that_show_sign_of_interval
from metrics.estimation.planning.power import items_with_verdicts
from studies.domain import Estimate
from studies.texts.counts import plural

NARROW_SPACE: Final = "\u202f"
"""Narrow no-break space, written before every per cent sign."""
MINUS: Final = "\u2212"
DASH: Final = "\u2013"
"""Sign for a value that is unknown or was not measured; never 0."""

CLICK_HINT: Final = "Click to read the replies"
"""Last line of the hover card of a clickable number."""
MIN_COLOURED_ITEMS: Final = 5
"""Number of items below which a cell of a coloured table is hatched instead."""


def is_known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def number(value: float | None, decimals: int = 0, *, signed: bool = False) -> str:
    """Format a number such as 1,276 or −0.15: thousands comma, true minus sign, no minus zero; with
    `signed`, a plus sign before positive numbers. A dash if it is unknown."""
    if value is None or not math.isfinite(value):
        return DASH
    digits = f"{abs(value):,.{decimals}f}"
    if not digits.strip("0.,"):
        return digits
    return (MINUS if value < 0 else "+" if signed else "") + digits


def count(value: int | None, noun: str = "") -> str:
    """Format a count, such as 1,600; with a noun, "1 item" or "3 items". None gives a dash."""
    digits = number(value)
    if not noun:
        return digits
    return f"{digits} {noun}" if value == 1 else f"{digits} {plural(noun)}"


def share(value: float | None, decimals: int = 1, *, signed: bool = False) -> str:
    """Format a proportion as per cent: 0.691 gives "69.1 %"; with `signed`, a plus sign before
    positive ones. A dash if it is unknown."""
    if value is None or not math.isfinite(value):
        return DASH
    return f"{number(100 * value, decimals, signed=signed)}{NARROW_SPACE}%"


def rounded_shares(parts: Sequence[float]) -> list[str]:
    """Format the shares of one whole as per cent without decimals that add up to 100. The shares
    with the largest remainders are rounded up. Of shares with equal remainders, those with an odd
    whole part are rounded up first, so that a half is rounded to an even number, as `share`
    does."""
    exact = [round(100 * part, 9) for part in parts]
    down = [math.floor(one) for one in exact]
    order = sorted(range(len(down)), key=lambda k: (round(down[k] - exact[k], 9), -(down[k] % 2)))
    for place in order[: 100 - sum(down)]:
        down[place] += 1
    return [share(one / 100, 0) for one in down]


def even_share_text(options: Collection[int]) -> str:
    """Format 1/N as per cent, the share of each of N equally likely options: "25 %" for N = 4; for
    several values of N the range, such as "25 to 50 %"."""
    low, high = share(1 / max(options), 0), share(1 / min(options), 0)
    return low if low == high else f"{low.removesuffix(f'{NARROW_SPACE}%')} to {high}"


def interval(estimate: Estimate, decimals: int = 1, *, scale: float = 1) -> str:
    """Format the interval of an estimate, such as "[65.5, 72.9]", with both ends multiplied by
    `scale` (100 turns shares into per cent); empty if an end is missing. If the interval excludes 0
    but an end would be printed as 0, up to three decimals are printed; Wilson intervals, which
    belong to plain shares, always have the given `decimals`."""
    if not (is_known(estimate.low) and is_known(estimate.high)):
        return ""
    more = decimals_that_show_sign_of_interval(estimate, decimals, scale)
    decimals = more if more <= 3 and not estimate.method.startswith("Wilson") else decimals
    ends = (number(scale * end, decimals) for end in (estimate.low or 0.0, estimate.high or 0.0))
    return f"[{', '.join(ends)}]"


def points(text: str, kind: str = "") -> str:
    """A formatted number with its unit: "1 point", "−3.2 points", "279 Elo points". `kind`: word
    before "points", such as "Elo"."""
    unit = f"{kind} point".lstrip()
    return f"{text} {unit}" if text.lstrip("+−") == "1" else f"{text} {unit}s"


def spaced_ci(estimate: Estimate, decimals: int = 1, *, scale: float = 1) -> str:
    """`interval` after a space, to follow a value in a text; "" if it is unknown."""
    return f" {interval(estimate, decimals, scale=scale)}".rstrip()


def on_scale(estimate: Estimate) -> str:
    """Words on the scale of a mean score, such as " on the scale 1 to 5"; "" if it is unknown, and
    for other estimates."""
    return f" on the scale {scale}" if (scale := estimate.unit.partition(", ")[2]) else ""


def sample_size_text(estimate: Estimate) -> str:
    """Format the size of a sample, such as "40 items, n 80"; n is left out if it counts the items,
    as in a mean over items."""
    parts = [count(estimate.items, "item")] if estimate.items else []
    if estimate.n and estimate.n != estimate.items:
        parts.append(f"n {count(estimate.n)}")
    return ", ".join(parts)


def _bound_sign(estimate: Estimate) -> str:
    """ "≥ " if an estimate has only a lower bound, "≤ " if only an upper one, else "": the sign to
    write before the value."""
    if is_known(estimate.low) == is_known(estimate.high) or not is_known(estimate.value):
        return ""
    return f"≥{NARROW_SPACE}" if is_known(estimate.low) else f"≤{NARROW_SPACE}"


def _with_interval(value: str, bounds: str, n: int | None) -> str:
    if value == DASH:
        return DASH
    return (f"{value} {bounds}" if bounds else value) + (f", n {count(n)}" if n is not None else "")


def percent(estimate: Estimate, decimals: int = 1, *, n: bool = True) -> str:
    """Format a share with its interval and, with `n`, its sample size, such as "69.1 % [65.5,
    72.9], n 800". A share with only one bound begins with ≥ or ≤; an unknown one is a dash."""
    value = _bound_sign(estimate) + share(estimate.value, decimals)
    bounds = interval(estimate, decimals, scale=100)
    return _with_interval(value, bounds, estimate.n if n else None)


def decimal(estimate: Estimate, decimals: int = 2, *, n: bool = True) -> str:
    """Format a decimal estimate (entropy, kappa, score) with its interval and, with `n`, its sample
    size: "0.96 [0.94, 0.97], n 800"; a dash if it is unknown."""
    value = _bound_sign(estimate) + number(estimate.value, decimals)
    return _with_interval(value, interval(estimate, decimals), estimate.n if n else None)


def rating(estimate: Estimate, *, n: bool = False) -> str:
    """Format a rating without decimals, with its interval and, with `n`, its number of battles:
    "1,276 [1,231, 1,330]"."""
    return decimal(estimate, 0, n=n)


def dollars(value: float | None) -> str:
    """Format an amount, such as "$1.28" or, below half a cent, "under $0.01"; None gives "price
    unknown", 0 gives "free"."""
    if value is None or not math.isfinite(value):
        return "price unknown"
    if value == 0:
        return "free"
    return f"${value:,.2f}" if value >= 0.005 else "under $0.01"


def duration(seconds: float | None) -> str:
    """Format a duration, such as "0.4 s", "38 s", "1 min 16 s" or "2 h 5 min"; a dash if it is
    unknown."""
    if seconds is None or not math.isfinite(seconds):
        return DASH
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, left = divmod(minutes, 60)
    if hours:
        return f"{count(hours)} h {left} min" if left else f"{count(hours)} h"
    if minutes:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{rest} s"


def file_size(size: int) -> str:
    """Format a number of bytes: "84 kB", "30 MB", "1.2 GB"."""
    for unit, limit in (("kB", 1e6), ("MB", 1e9)):
        if size < limit:
            return f"{max(1, round(size / limit * 1000))} {unit}"
    return f"{size / 1e9:,.1f} GB"


def slot_name(slot: int) -> str:
    """The ordinal of a position that is counted from 0: 1st, 2nd, 3rd, 4th, … 11th, … 21st."""
    number = slot + 1
    teen = number // 10 % 10 == 1
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def tokens(value: float | None) -> str:
    """Format a forecast number of tokens, rounded: "9,340", "147,000", "1.72 million"; a dash if it
    is unknown."""
    if value is None or not math.isfinite(value):
        return DASH
    if value >= 999_500:
        return f"{value / 1e6:,.2f} million"
    rounded = round(value, -3) if value >= 20_000 else round(value)
    return count(int(rounded))


def approximate_count(value: int, noun: str = "") -> str:
    """Format a forecast count, rounded to two significant digits: 1,200 for 1,234; with a noun as
    `count` does."""
    step = 10 ** max(len(str(value)) - 2, 0)
    return count(round(value / step) * step, noun)


def more_items_text(battles: int, gap: Estimate) -> str:
    """Text on about how much more data would make the gap between two ratings significant, such as
    "1,000 more items, 2,400 battles of either model". `battles`: the further battles needed. `gap`:
    the estimate of the gap; if it counts no items or no battles, the text is only "2,400 more
    battles"."""
    items = items_with_verdicts(battles, gap)
    if items is None:
        return approximate_count(battles, "more battle")
    more = approximate_count(items, "more item")
    return f"{more}, {approximate_count(battles, 'battle')} of either model"


def truncate(text: str, max_chars: int) -> str:
    """Put a text on one line; after `max_chars` characters the rest is replaced by an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= max_chars else line[:max_chars].rstrip() + " …"


def unproven_lean_text(lean: Estimate | None) -> str:
    """Text on a preference for one position that is not significant, to be added to a statement:
    its size over all pairs, with the interval of this size. Empty without an interval.

    `lean`: preference from −1 (first position) to 1 (second), with its interval. This interval is
    not adjusted for several tests, and is not that of the sign test, which decides on significance:
    the text says so, and names the test if the interval excludes 0 all the same."""
    if lean is None or lean.value is None or lean.low is None or lean.high is None:
        return ""
    sign = 1 if lean.value >= 0 else -1
    toward = "neither position" if not lean.value else "second" if sign > 0 else "first"
    low, high = sorted(100 * sign * end for end in (lean.low, lean.high))
    size = f"{points(number(100 * sign * lean.value, 1))} toward {toward}"
    bounds = interval(Estimate(None, low, high))
    test = " in the sign test by item, adjusted for several tests" if low > 0 else ""
    return f"{test} (over all pairs {size}; interval of this size, not adjusted: {bounds})"


_NUMBER_WORDS: Final = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"
)  # fmt: skip
ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"
)  # fmt: skip


def slot_ordinal(slot: int) -> str:
    """Name of a position, from 0, in words up to the ninth: "first", "second", …, "10th"."""
    return ORDINALS[slot] if slot < len(ORDINALS) else slot_name(slot)


def join_names(names: Sequence[str], max_names: int = 3) -> str:
    """Join names as "a, b and c", or "a, b and 4 more" if there are more than `max_names`."""
    if len(names) > max_names:
        names = [*names[: max_names - 1], f"{len(names) - max_names + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def overlap_clause(best: str, found: Mapping[str, Estimate]) -> str:
    """Clause such as "; its interval overlaps that of a and b". It names those in `found` (name ->
    estimate) whose interval reaches the lower end of the interval of `best`, the name with the
    highest value; "" if there are none."""
    if (low := found[best].low) is None:
        return ""
    highs = {name: one.high for name, one in found.items() if name != best}
    near = [name for name, high in highs.items() if high is not None and high >= low]
    return f"; its interval overlaps that of {join_names(near)}" if near else ""


def number_word(value: int) -> str:
    """A count in words up to nine, in digits from ten."""
    return _NUMBER_WORDS[value] if value < len(_NUMBER_WORDS) else count(value)
