"""Draws the eight pictures of the probe set: python assets/probe/draw.py [folder].

Without a folder the pictures go to images/ beside this file. The same version of Pillow gives the
same bytes every time.
"""

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 320, 240
SCALE = 3  # everything is drawn three times as large and then reduced, which smooths the edges

INK, FAINT, PAPER = "#222222", "#d0d0d0", "#ffffff"
RED, BLUE, GREEN, YELLOW, ORANGE = "#cc2936", "#2f6db5", "#3a8f4d", "#f2c230", "#e07b28"

Point = tuple[float, float]


class Canvas:
    """A white sheet of 320 x 240 units, with the few strokes that the pictures need."""

    def __init__(self) -> None:
        self.image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), PAPER)
        self.pen = ImageDraw.Draw(self.image)

    def line(self, points: Sequence[Point], colour: str = INK, width: float = 1) -> None:
        self.pen.line(scaled(points), fill=colour, width=round(width * SCALE), joint="curve")

    def box(self, corner: Point, opposite: Point, fill: str, edge: str | None = None) -> None:
        self.pen.rectangle(scaled([corner, opposite]), fill=fill, outline=edge, width=SCALE)

    def disc(self, centre: Point, radius: float, fill: str, edge: str | None = None) -> None:
        self.pen.ellipse(around(centre, radius), fill=fill, outline=edge, width=2 * SCALE)

    def slice(self, centre: Point, radius: float, start: float, end: float, fill: str) -> None:
        self.pen.pieslice(around(centre, radius), start, end, fill=fill, outline=PAPER, width=SCALE)

    def polygon(self, points: Sequence[Point], fill: str) -> None:
        self.pen.polygon(scaled(points), fill=fill)

    def text(self, at: Point, words: str, size: int = 12, anchor: str = "mm") -> None:
        font = ImageFont.load_default(size=size * SCALE)
        self.pen.text(scaled([at])[0], words, fill=INK, font=font, anchor=anchor)

    def save(self, path: Path) -> None:
        small = self.image.resize((WIDTH, HEIGHT), Image.Resampling.BOX)
        small.quantize(64, dither=Image.Dither.NONE).save(path, format="PNG", optimize=True)


def scaled(points: Sequence[Point]) -> list[Point]:
    return [(x * SCALE, y * SCALE) for x, y in points]


def around(centre: Point, radius: float) -> list[Point]:
    x, y = centre
    return scaled([(x - radius, y - radius), (x + radius, y + radius)])


def on_dial(centre: Point, radius: float, turn: float) -> Point:
    """The point reached after this share of a full clockwise turn from twelve o'clock."""
    angle = 2 * math.pi * turn
    return centre[0] + radius * math.sin(angle), centre[1] - radius * math.cos(angle)


def axes(canvas: Canvas, title: str, top: int, step: int) -> Callable[[float], float]:
    """Draws title, axes and grid lines; returns where a value lies on the sheet."""

    def height_of(value: float) -> float:
        return 205 - value / top * 160

    canvas.text((160, 18), title, 14)
    for value in range(0, top + 1, step):
        canvas.line([(40, height_of(value)), (305, height_of(value))], FAINT)
        canvas.text((33, height_of(value)), str(value), 11, "rm")
    canvas.line([(40, 40), (40, 205), (305, 205)])
    return height_of


def bar_chart(canvas: Canvas) -> None:
    height_of = axes(canvas, "Books lent per day", top=25, step=5)
    lent = {"Mon": 12, "Tue": 18, "Wed": 9, "Thu": 15, "Fri": 21}
    for place, (day, books) in enumerate(lent.items()):
        x = 68 + 52 * place
        canvas.box((x - 16, height_of(books)), (x + 16, 204), BLUE)
        canvas.text((x, height_of(books) - 8), str(books))
        canvas.text((x, 219), day)


def line_chart(canvas: Canvas) -> None:
    height_of = axes(canvas, "Temperature (°C)", top=20, step=5)
    readings = {"6:00": 8, "9:00": 12, "12:00": 17, "15:00": 19, "18:00": 14}
    points = [
        (68 + 52 * place, height_of(degrees)) for place, degrees in enumerate(readings.values())
    ]
    canvas.line(points, RED, 2)
    for (x, y), (hour, degrees) in zip(points, readings.items(), strict=True):
        canvas.disc((x, y), 4, RED)
        canvas.text((x + 2, y + 14), str(degrees))
        canvas.text((x, 219), hour)


def pie_chart(canvas: Canvas) -> None:
    canvas.text((160, 18), "Energy use at home", 14)
    shares = [
        ("Heating", 50, ORANGE, (266, 130)),
        ("Hot water", 25, BLUE, (46, 192)),
        ("Appliances", 15, GREEN, (40, 106)),
        ("Lighting", 10, YELLOW, (84, 52)),
    ]
    start = -90.0  # Pillow measures clockwise from three o'clock, so this is the top
    for name, percent, colour, (x, y) in shares:
        end = start + 3.6 * percent
        canvas.slice((155, 132), 80, start, end, colour)
        canvas.text((x, y - 7), name)
        canvas.text((x, y + 8), f"{percent} %")
        start = end


def road_sign(canvas: Canvas) -> None:
    canvas.box((156, 120), (164, 240), "#8a8f94")
    canvas.disc((160, 86), 76, RED)
    canvas.disc((160, 86), 60, PAPER)
    canvas.text((160, 86), "30", 62)
    canvas.box((108, 172), (212, 206), PAPER, INK)
    canvas.text((160, 189), "7 - 17 h", 20)


def shapes(canvas: Canvas) -> None:
    canvas.polygon([(100, 22), (140, 62), (100, 102), (60, 62)], YELLOW)
    canvas.polygon([(220, 24), (262, 100), (178, 100)], GREEN)
    canvas.disc((100, 176), 38, RED)
    canvas.box((183, 139), (257, 213), BLUE)


def clock(canvas: Canvas) -> None:
    centre, hour, minute = (160.0, 120.0), 4, 35
    canvas.disc(centre, 108, PAPER, INK)
    for tick in range(60):
        inner = 98 if tick % 5 == 0 else 102
        ends = [on_dial(centre, radius, tick / 60) for radius in (inner, 106)]
        canvas.line(ends, width=2 if tick % 5 == 0 else 1)
    for number in range(1, 13):
        canvas.text(on_dial(centre, 84, number / 12), str(number), 17)
    canvas.line([centre, on_dial(centre, 50, (hour + minute / 60) / 12)], width=6)
    canvas.line([centre, on_dial(centre, 72, minute / 60)], width=3)
    canvas.disc(centre, 6, INK)


def thermometer(canvas: Canvas) -> None:
    def height_of(degrees: float) -> float:
        return 180 - (degrees + 20) * 3.2

    canvas.disc((160, 208), 20, RED, INK)
    canvas.box((152, 14), (168, 196), PAPER, INK)
    canvas.box((153, height_of(-5)), (167, 204), RED)
    for degrees in range(-20, 31, 5):
        labelled = degrees % 10 == 0
        canvas.line([(169, height_of(degrees)), (182 if labelled else 176, height_of(degrees))])
        if labelled:
            canvas.text((206, height_of(degrees)), str(degrees), 13, "rm")
    canvas.text((230, 20), "°C", 13)


def floor_plan(canvas: Canvas) -> None:
    canvas.line([(40, 20), (270, 20), (270, 205), (40, 205), (40, 20), (60, 20)], width=4)
    canvas.line([(155, 20), (155, 205)], width=4)
    canvas.line([(40, 112), (270, 112)], width=4)
    doors = [
        [(80, 205), (114, 205)],  # front door
        [(80, 112), (114, 112)],  # living room to kitchen
        [(155, 50), (155, 84)],  # kitchen to bedroom
        [(196, 112), (230, 112)],  # bedroom to bath
    ]
    for door in doors:
        canvas.line(door, PAPER, 6)
    rooms = {
        "Kitchen": (97, 66),
        "Bedroom": (213, 66),
        "Living room": (97, 158),
        "Bath": (213, 158),
    }
    for name, at in rooms.items():
        canvas.text(at, name, 14)
    canvas.text((97, 220), "Front door")
    canvas.line([(295, 84), (295, 46)], width=2)
    canvas.polygon([(295, 38), (301, 52), (289, 52)], INK)
    canvas.text((295, 26), "N", 14)


PICTURES: dict[str, Callable[[Canvas], None]] = {
    "visual-01.png": bar_chart,
    "visual-02.png": line_chart,
    "visual-03.png": pie_chart,
    "visual-04.png": road_sign,
    "visual-05.png": shapes,
    "visual-06.png": clock,
    "visual-07.png": thermometer,
    "visual-08.png": floor_plan,
}


def draw_all(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        canvas = Canvas()
        draw(canvas)
        canvas.save(folder / name)


if __name__ == "__main__":
    draw_all(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images")
