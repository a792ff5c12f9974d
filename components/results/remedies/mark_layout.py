"""Layout of marks and names in the frontier chart, so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from components.charts.svg_pieces import CHARACTER_WIDTH, LEFT, RIGHT, Canvas, Point

RADIUS: Final = 11.0
TEXT_HEIGHT: Final = 15.0
WHISKER_GAP: Final = 8.0
"""Smallest horizontal distance, in pixels, between two interval lines that are to look separate."""
STEP: Final = 4.0


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def place_marks(marks: Sequence[Point], kept: Sequence[bool], canvas: Canvas) -> list[Point]:
    """Move marks to the right (at the edge of the drawing, to the left) until neither circles nor
    intervals cover each other; `kept`: whether each mark stays in its place."""
    taken = [mark for mark, stays in zip(marks, kept, strict=True) if stays]
    found = []
    for mark, stays in zip(marks, kept, strict=True):
        place = mark if stays else _free_place(mark, taken, canvas.width - RADIUS)
        if not stays:
            taken.append(place)
        found.append(place)
    return found


def _free_place(mark: Point, taken: Sequence[Point], limit: float) -> Point:
    x, y = mark
    for step in range(1, 200):
        if not any(_covers((x, y), other) for other in taken):
            break
        right = mark[0] + STEP * step
        x = right if right <= limit else mark[0] - (right - limit)
    return x, y


def _covers(one: Point, other: Point) -> bool:
    across, down = abs(one[0] - other[0]), abs(one[1] - other[1])
    return across < WHISKER_GAP or (across < 2 * RADIUS + 3 and down < 2 * RADIUS + 3)


@dataclass(frozen=True)
class NamePlace:
    """Coordinates of a text, and whether its start or its end is at `x`."""

    x: float
    y: float
    anchor: str


def place_name(
    text: str, mark: Point, ends: tuple[float, float], taken: list[Box], canvas: Canvas
) -> NamePlace | None:
    """Find room for the name of a mark above or below its interval; None if there is no room.
    `ends`: y coordinates of the upper and lower end of the interval. `taken`: boxes of marks and
    names already placed; the box of this name is added."""
    width = CHARACTER_WIDTH * len(text)
    x, _ = mark
    right = x - RADIUS + width > canvas.width - RIGHT
    left = x + RADIUS - width if right else max(x - RADIUS, LEFT)
    upper, lower = ends
    for line in (upper - 8, lower + 18, upper - 24, lower + 34, upper - 40):
        box = Box(left, line - TEXT_HEIGHT + 3, left + width, line + 3)
        inside = box.top >= 0 and box.bottom <= canvas.floor
        if inside and not any(box.overlaps(other) for other in taken):
            taken.append(box)
            return NamePlace(left + width if right else left, line, "end" if right else "start")
    return None


def circle_box(mark: Point) -> Box:
    x, y = mark
    return Box(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS)
