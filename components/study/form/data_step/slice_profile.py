"""Profile of a slice: categories, text lengths, first verbs of instructions, missing answers, and
injection suspects, before the run."""

from typing import Final

from components.html.format import NARROW_SPACE, count, number
from components.html.markup import Markup
from components.html.templates import macros
from components.inspect.injection_marks import describe_suspect, untrusted_text_html
from studies.texts.slice_statistics import LengthSummary, SliceProfile

html: Final = macros("study/form/data_step/slice_profile.html")
MAX_PROFILE_ROWS: Final = 7
SMALL_CATEGORY: Final = 2
"""Maximum items of a category that is too small to compare."""
MAX_LISTED: Final = 20


def profile_html(found: SliceProfile, *, whole: bool, slice_size: int, total: int) -> Markup:
    """HTML of the profile `found`, of the slice or, with `whole`, of all loaded items.
    `slice_size` and `total`: numbers of items of the slice, and of all loaded items."""
    lines = ([found.instructions] if found.instructions else []) + list(found.answers)
    top = max((line.high for line in lines), default=1.0) or 1.0
    step = _tick_step(top)
    ticks = [(100 * step * k / top, number(step * k)) for k in range(int(top // step) + 1)]
    named = [(name or "without a category", n) for name, n in found.categories]
    rest = named[MAX_PROFILE_ROWS:]
    suspects = [
        (one.item, describe_suspect(one), untrusted_text_html(one.quote))
        for one in found.suspects[:MAX_LISTED]
    ]
    return html.profile(
        found,
        sizes=(slice_size, total),
        whole=whole,
        categories=named,
        all_small=all(n <= SMALL_CATEGORY for _, n in rest),
        rest=sum(n for _, n in rest),
        lengths=[(line, *_length_hover_and_marks(line, top)) for line in lines],
        ticks=ticks,
        rows=MAX_PROFILE_ROWS,
        footer=_profile_footer(found),
        suspects=suspects,
        suspect_items=len({one.item for one in found.suspects}),
        percent=f"{NARROW_SPACE}%",
    )


def _length_hover_and_marks(line: LengthSummary, top: float) -> tuple[str, list[float]]:
    """Hover text for one row of text lengths, and where its five marks are drawn, in percent of the
    scale's length `top`: start and width of the middle 80 % of the texts, start and width of the
    middle half, median."""
    low, high, lower, upper = line.low, line.high, line.lower_quartile, line.upper_quartile
    tip = (
        f"{line.name}: median {number(line.median)} words\n"
        f"middle half of {count(line.n)} texts: {number(lower)} to {number(upper)}, "
        f"middle 80{NARROW_SPACE}%: {number(low)} to {number(high)}"
    )
    marks = (low, high - low, lower, upper - lower, line.median)
    return tip, [100 * value / top for value in marks]


def _tick_step(top: float) -> float:
    """Distance between ticks that divides the scale from 0 to `top` into at most five parts."""
    unit = 1.0
    while top / unit > 50:
        unit *= 10
    return next(unit * k for k in (1, 2, 5, 10, 20, 50) if top / (unit * k) <= 5)


def _profile_footer(found: SliceProfile) -> str:
    gaps = [c for c in found.coverage if c.missing or c.empty]
    if gaps:
        lacking = ", ".join(
            f"{c.name} lacks {count(c.missing + c.empty)} of {count(found.items)}" for c in gaps[:6]
        )
        parts = [f"Missing answers: {lacking}."]
    elif found.coverage:
        parts = ["Every model answered every item."]
    else:
        parts = ["These records contain no answers."]
    if found.images:
        some = sum(n for images, n in found.images if images)
        several = sum(n for images, n in found.images if images > 1)
        parts.append(
            f"{count(some, 'item')} with images ({count(several)} with more than one image). Of "
            f"the items with images, {count(found.described)} have an image description."
        )
    if found.judged:
        parts.append(
            f"The better answer of {count(found.judged, 'item')} is known, from votes or by design."
        )
    return " ".join(parts)
