"""HTML profile of a slice: categories, text lengths, instructions' first verbs, missing answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from components.html.format import NARROW_SPACE, count, number
from components.html.markup import EMPTY, Markup, fill, join
from components.study.file.controls import segmented_switch, subheading
from components.study.form.injection_list import suspects_list
from studies.texts.instruction_verbs import InstructionOpenings
from studies.texts.slice_statistics import LengthSummary, SliceProfile

MAX_PROFILE_ROWS: Final = 7
SMALL_CATEGORY: Final = 2
"""Maximum items of a category that is too small to compare."""


def profile_html(found: SliceProfile, *, whole: bool, slice_size: int, total: int) -> Markup:
    """HTML profile of the slice; with `whole`, of all loaded items."""
    switch = ""
    if total > slice_size:
        options = (("slice", f"These {count(slice_size)}"), ("all", f"All {count(total)}"))
        switch = Markup('<span id="f-profile-l" hidden>Profile of</span>') + segmented_switch(
            "profile", options, "all" if whole else "slice"
        )
    subtitle = f"the {count(found.items)} items and their answers at a glance, before any call"
    parts = [
        _categories(found),
        _lengths(found),
        _instruction_openings(found.openings, found.items),
    ]
    columns = join(fill("<div>{}</div>", part) for part in parts)
    return fill(
        '<details class="eh-fold" data-keep="profile"><summary><b>Your sample at a glance</b>'
        '<span class="eh-small">{}</span></summary>{}<div class="eh-three">{}</div>{}{}</details>',
        subtitle,
        switch,
        columns,
        _profile_footer(found),
        suspects_list(found),
    )


def _categories(found: SliceProfile) -> Markup:
    named = [(name or "without a category", n) for name, n in found.categories]
    title = subheading("Items per category", count(len(named), "category"))
    most = max((n for _, n in named), default=1)
    rows = join(
        fill(
            '<span>{}</span><div class="tr"><i class="n" style="width:{:.1f}%"></i></div><b>{}</b>',
            name.replace("_", " "),
            100 * n / most,
            count(n),
        )
        for name, n in named[:MAX_PROFILE_ROWS]
    )
    rest = _rest_of_categories(named[MAX_PROFILE_ROWS:])
    return fill('{}<div class="eh-lens cat">{}</div>{}', title, rows, rest)


def _rest_of_categories(named: Sequence[tuple[str, int]]) -> Markup:
    if not named:
        return EMPTY
    all_small = all(n <= SMALL_CATEGORY for _, n in named)
    text = f"and {count(len(named))} more" + (
        " categories with one or two items each, too few to compare"
        if all_small
        else f" with {count(sum(n for _, n in named), 'item')}"
    )
    return fill('<p class="hint">{}</p>', text)


def _lengths(found: SliceProfile) -> Markup:
    title = subheading("Words", f"median, middle half, middle 80{NARROW_SPACE}%")
    lines = ([found.instructions] if found.instructions else []) + list(found.answers)
    if not lines:
        return title
    top = max(line.high for line in lines) or 1.0
    step = _tick_step(top)
    ticks = [step * k for k in range(int(top // step) + 1)]
    axis = join(
        fill('<span style="left:{}">{}</span>', _percent_position(t, top), number(t)) for t in ticks
    )
    rows = join(_length_bar(line, top) for line in lines[: 2 * MAX_PROFILE_ROWS])
    more = len(lines) - 2 * MAX_PROFILE_ROWS
    rest = fill('<p class="hint">and {} more</p>', count(more)) if more > 0 else ""
    scale = fill('<span></span><div class="eh-axis">{}</div><span></span>', axis)
    return fill('{}<div class="eh-lens">{}{}</div>{}', title, rows, scale, rest)


def _length_bar(line: LengthSummary, top: float) -> Markup:
    wide = (line.low, line.high, "a"), (line.lower_quartile, line.upper_quartile, "b")
    bars = join(
        fill(
            '<i class="{}" style="left:{};width:{}"></i>',
            kind,
            _percent_position(low, top),
            _percent_position(high - low, top),
        )
        for low, high, kind in wide
    )
    mark = fill(
        '<i class="m" style="left:calc({} - 1px)"></i>', _percent_position(line.median, top)
    )
    tip = (
        f"{line.name}: median {number(line.median)} words\n"
        f"middle half of {count(line.n)} texts: "
        f"{number(line.lower_quartile)} to {number(line.upper_quartile)}, "
        f"middle 80{NARROW_SPACE}%: {number(line.low)} to {number(line.high)}"
    )
    return fill(
        '<span>{}</span><div class="tr" data-tip="{}" tabindex="0">{}{}</div><b>{}</b>',
        line.name,
        tip,
        bars,
        mark,
        number(line.median),
    )


def _percent_position(value: float, top: float) -> str:
    return f"{100 * value / top:.1f}%"


def _tick_step(top: float) -> float:
    """Distance between ticks that divides the scale into at most five parts."""
    unit = 1.0
    while top / unit > 50:
        unit *= 10
    return next(unit * k for k in (1, 2, 5, 10, 20, 50) if top / (unit * k) <= 5)


def _instruction_openings(found: InstructionOpenings, items: int) -> Markup:
    title = subheading("First verb of instructions", count(items, "item"))
    rows = join(
        fill(
            '<span>{}</span><span class="eh-mute">{}</span><b>{}</b>',
            one.verb,
            ", ".join(word for word, _ in one.objects),
            count(one.count),
        )
        for one in found.verbs[:MAX_PROFILE_ROWS]
    )
    rare = sum(one.count for one in found.verbs[MAX_PROFILE_ROWS:])
    parts = [
        f"{count(found.questions)} start with a question" if found.questions else "",
        f"{count(rare)} with a rarer verb" if rare else "",
        f"{count(found.other)} start in another way" if found.other else "",
    ]
    others = ", ".join(part for part in parts if part)
    rest = fill('<p class="hint">and {}</p>', others) if others else ""
    return fill('{}<div class="eh-lens verbs">{}</div>{}', title, rows, rest)


def _profile_footer(found: SliceProfile) -> Markup:
    parts = []
    gaps = [c for c in found.coverage if c.missing or c.empty]
    if gaps:
        lacking = ", ".join(
            f"{c.name} lacks {count(c.missing + c.empty)} of {count(found.items)}" for c in gaps[:6]
        )
        parts.append(f"Missing answers: {lacking}.")
    elif found.coverage:
        parts.append("Every model answered every item.")
    else:
        parts.append("These records contain no answers.")
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
    return fill('<p class="eh-small eh-mute">{}</p>', " ".join(parts))
