"""The profile of a slice as HTML: bars, lengths on one scale, how instructions open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from components.html.format import NARROW_SPACE, count, escape, number
from components.study.file.controls import segmented_switch, subheading
from components.study.form.injection_list import suspects_list
from studies.texts.instruction_verbs import InstructionOpenings
from studies.texts.slice_statistics import LengthSummary, SliceProfile

MAX_PROFILE_ROWS: Final = 7
SMALL_CATEGORY: Final = 2
"""A category this small says nothing by itself."""


def profile_html(found: SliceProfile, *, whole: bool, slice_size: int, total: int) -> str:
    """What the items and their answers are like, before anything is asked."""
    switch = ""
    if total > slice_size:
        options = (("slice", f"These {count(slice_size)}"), ("all", f"All {count(total)}"))
        switch = '<span id="f-profile-l" hidden>Profile of</span>' + segmented_switch(
            "profile", options, "all" if whole else "slice"
        )
    told = (
        f"what the {count(found.items)} items and their answers are like, before anything is asked"
    )
    head = (
        '<header class="eh-head"><div><h2>Profile of the slice</h2>'
        f'<p>{escape(told)}</p></div><div class="eh-row">{switch}</div></header>'
    )
    parts = [
        _categories(found),
        _lengths(found),
        _instruction_openings(found.openings, found.items),
    ]
    columns = "".join(f"<div>{part}</div>" for part in parts)
    return (
        f'{head}<div class="eh-three">{columns}</div>{_profile_footer(found)}{suspects_list(found)}'
    )


def _categories(found: SliceProfile) -> str:
    named = [(name or "without a category", n) for name, n in found.categories]
    title = subheading("Items a category", count(len(named), "category"))
    most = max((n for _, n in named), default=1)
    rows = "".join(
        f"<span>{escape(name.replace('_', ' '))}</span>"
        f'<div class="tr"><i class="n" style="width:{100 * n / most:.1f}%"></i></div>'
        f"<b>{count(n)}</b>"
        for name, n in named[:MAX_PROFILE_ROWS]
    )
    return f'{title}<div class="eh-lens cat">{rows}</div>{_rest_of_categories(named[MAX_PROFILE_ROWS:])}'


def _rest_of_categories(named: Sequence[tuple[str, int]]) -> str:
    if not named:
        return ""
    few = all(n <= SMALL_CATEGORY for _, n in named)
    told = f"and {count(len(named))} more" + (
        " with one or two: too few to compare"
        if few
        else f" with {count(sum(n for _, n in named))}"
    )
    return f'<p class="hint">{escape(told)}</p>'


def _lengths(found: SliceProfile) -> str:
    title = subheading("Words", f"median, middle half, middle 80{NARROW_SPACE}%")
    lines = ([found.instructions] if found.instructions else []) + list(found.answers)
    if not lines:
        return title
    top = max(line.high for line in lines) or 1.0
    step = _tick_step(top)
    ticks = [step * k for k in range(int(top // step) + 1)]
    axis = "".join(
        f'<span style="left:{_percent_position(t, top)}">{number(t)}</span>' for t in ticks
    )
    rows = "".join(_length_bar(line, top) for line in lines[: 2 * MAX_PROFILE_ROWS])
    more = len(lines) - 2 * MAX_PROFILE_ROWS
    rest = f'<p class="hint">and {count(more)} more</p>' if more > 0 else ""
    scale = f'<span></span><div class="eh-axis">{axis}</div><span></span>'
    return f'{title}<div class="eh-lens">{rows}{scale}</div>{rest}'


def _length_bar(line: LengthSummary, top: float) -> str:
    wide = (line.low, line.high, "a"), (line.lower_quartile, line.upper_quartile, "b")
    bars = "".join(
        f'<i class="{kind}" style="left:{_percent_position(low, top)};width:{100 * (high - low) / top:.1f}%"></i>'
        for low, high, kind in wide
    )
    mark = f'<i class="m" style="left:calc({_percent_position(line.median, top)} - 1px)"></i>'
    tip = (
        f"{line.name}: {number(line.median)} words\n"
        f"half of {count(line.n)}: {number(line.lower_quartile)} to {number(line.upper_quartile)}, "
        f"80{NARROW_SPACE}%: {number(line.low)} to {number(line.high)}"
    )
    return (
        f"<span>{escape(line.name)}</span>"
        f'<div class="tr" data-tip="{escape(tip)}" tabindex="0">{bars}{mark}</div>'
        f"<b>{number(line.median)}</b>"
    )


def _percent_position(value: float, top: float) -> str:
    return f"{100 * value / top:.1f}%"


def _tick_step(top: float) -> float:
    """Ticks that leave three to five on the scale."""
    unit = 1.0
    while top / unit > 50:
        unit *= 10
    return next(unit * k for k in (1, 2, 5, 10, 20, 50) if top / (unit * k) <= 5)


def _instruction_openings(found: InstructionOpenings, items: int) -> str:
    title = subheading("How instructions open", count(items, "item"))
    rows = "".join(
        f"<span>{escape(one.verb)}</span>"
        f'<span class="eh-mute">{escape(", ".join(word for word, _ in one.objects))}</span>'
        f"<b>{count(one.count)}</b>"
        for one in found.verbs[:MAX_PROFILE_ROWS]
    )
    rare = sum(one.count for one in found.verbs[MAX_PROFILE_ROWS:])
    parts = [
        f"{count(found.questions)} with a question" if found.questions else "",
        f"{count(rare)} with rarer verbs" if rare else "",
        f"{count(found.other)} in another way" if found.other else "",
    ]
    told = ", ".join(part for part in parts if part)
    rest = f'<p class="hint">and {escape(told)}</p>' if told else ""
    return f'{title}<div class="eh-lens verbs">{rows}</div>{rest}'


def _profile_footer(found: SliceProfile) -> str:
    parts = []
    gaps = [c for c in found.coverage if c.missing or c.empty]
    if gaps:
        told = ", ".join(
            f"{c.name} lacks {count(c.missing + c.empty)} of {count(found.items)}" for c in gaps[:6]
        )
        parts.append(f"Answers: {told}.")
    elif found.coverage:
        parts.append("Every contestant answered every item.")
    else:
        parts.append("There are no answers in these records.")
    if found.images:
        some = sum(n for images, n in found.images if images)
        several = sum(n for images, n in found.images if images > 1)
        parts.append(
            f"Images: {count(some, 'item')} with one or more, {count(several)} with several; "
            f"{count(found.described)} described."
        )
    if found.judged:
        parts.append(f"{count(found.judged, 'item')} judged by people or by design.")
    return f'<p class="eh-small eh-mute">{escape(" ".join(parts))}</p>'
