"""The profile of a slice as HTML: bars, lengths on one scale, how instructions open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from components.format import NARROW, count, number, safe
from components.study.fields import seg, sub_head
from components.suspects.listed import suspects_drawer
from studies.openings import Openings
from studies.profile import Lengths, Profile

MOST: Final = 7
FEW: Final = 2
"""A category this small says nothing by itself."""


def profile_html(found: Profile, *, whole: bool, slice_size: int, total: int) -> str:
    """What the items and their answers are like, before anything is asked."""
    switch = ""
    if total > slice_size:
        options = (("slice", f"These {count(slice_size)}"), ("all", f"All {count(total)}"))
        switch = '<span id="f-profile-l" hidden>Profile of</span>' + seg(
            "profile", options, "all" if whole else "slice"
        )
    told = (
        f"what the {count(found.items)} items and their answers are like, before anything is asked"
    )
    head = (
        '<header class="eh-head"><div><h2>Profile of the slice</h2>'
        f'<p>{safe(told)}</p></div><div class="eh-row">{switch}</div></header>'
    )
    parts = [_categories(found), _lengths(found), _openings(found.openings, found.items)]
    columns = "".join(f"<div>{part}</div>" for part in parts)
    return f'{head}<div class="eh-three">{columns}</div>{_foot(found)}{suspects_drawer(found)}'


def _categories(found: Profile) -> str:
    named = [(name or "without a category", n) for name, n in found.categories]
    title = sub_head("Items a category", count(len(named), "category"))
    most = max((n for _, n in named), default=1)
    rows = "".join(
        f"<span>{safe(name.replace('_', ' '))}</span>"
        f'<div class="tr"><i class="n" style="width:{100 * n / most:.1f}%"></i></div>'
        f"<b>{count(n)}</b>"
        for name, n in named[:MOST]
    )
    return f'{title}<div class="eh-lens cat">{rows}</div>{_rest(named[MOST:])}'


def _rest(named: Sequence[tuple[str, int]]) -> str:
    if not named:
        return ""
    few = all(n <= FEW for _, n in named)
    told = f"and {count(len(named))} more" + (
        " with one or two: too few to compare"
        if few
        else f" with {count(sum(n for _, n in named))}"
    )
    return f'<p class="hint">{safe(told)}</p>'


def _lengths(found: Profile) -> str:
    title = sub_head("Words", f"median, middle half, middle 80{NARROW}%")
    lines = ([found.instructions] if found.instructions else []) + list(found.answers)
    if not lines:
        return title
    top = max(line.high for line in lines) or 1.0
    step = _step(top)
    ticks = [step * k for k in range(int(top // step) + 1)]
    axis = "".join(f'<span style="left:{_at(t, top)}">{number(t)}</span>' for t in ticks)
    rows = "".join(_line(line, top) for line in lines[: 2 * MOST])
    more = len(lines) - 2 * MOST
    rest = f'<p class="hint">and {count(more)} more</p>' if more > 0 else ""
    scale = f'<span></span><div class="eh-axis">{axis}</div><span></span>'
    return f'{title}<div class="eh-lens">{rows}{scale}</div>{rest}'


def _line(line: Lengths, top: float) -> str:
    wide = (line.low, line.high, "a"), (line.quarter, line.three_quarters, "b")
    bars = "".join(
        f'<i class="{kind}" style="left:{_at(low, top)};width:{100 * (high - low) / top:.1f}%"></i>'
        for low, high, kind in wide
    )
    mark = f'<i class="m" style="left:calc({_at(line.median, top)} - 1px)"></i>'
    tip = (
        f"{line.name}: {number(line.median)} words\n"
        f"half of {count(line.n)}: {number(line.quarter)} to {number(line.three_quarters)}, "
        f"80{NARROW}%: {number(line.low)} to {number(line.high)}"
    )
    return (
        f"<span>{safe(line.name)}</span>"
        f'<div class="tr" data-tip="{safe(tip)}" tabindex="0">{bars}{mark}</div>'
        f"<b>{number(line.median)}</b>"
    )


def _at(value: float, top: float) -> str:
    return f"{100 * value / top:.1f}%"


def _step(top: float) -> float:
    """Ticks that leave three to five on the scale."""
    unit = 1.0
    while top / unit > 50:
        unit *= 10
    return next(unit * k for k in (1, 2, 5, 10, 20, 50) if top / (unit * k) <= 5)


def _openings(found: Openings, items: int) -> str:
    title = sub_head("How instructions open", count(items, "item"))
    rows = "".join(
        f"<span>{safe(one.verb)}</span>"
        f'<span class="eh-mute">{safe(", ".join(word for word, _ in one.objects))}</span>'
        f"<b>{count(one.count)}</b>"
        for one in found.verbs[:MOST]
    )
    rare = sum(one.count for one in found.verbs[MOST:])
    parts = [
        f"{count(found.questions)} with a question" if found.questions else "",
        f"{count(rare)} with rarer verbs" if rare else "",
        f"{count(found.other)} in another way" if found.other else "",
    ]
    told = ", ".join(part for part in parts if part)
    rest = f'<p class="hint">and {safe(told)}</p>' if told else ""
    return f'{title}<div class="eh-lens verbs">{rows}</div>{rest}'


def _foot(found: Profile) -> str:
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
    return f'<p class="eh-small eh-mute">{safe(" ".join(parts))}</p>'
