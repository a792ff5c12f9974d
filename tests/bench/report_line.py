"""A figure of a benchmark beside the bar it has to meet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    work: str
    value: float
    bar: float
    at_least: bool = True
    note: str = ""

    @property
    def met(self) -> bool:
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        verdict = "ok  " if self.met else "MISS"
        bar = f"bar {sign} {self.bar:,g}"
        return f"{verdict} {self.work:<58} {self.value:>10,.2f}   {bar:<14} {self.note}"


def print_lines(lines: Iterable[Line]) -> int:
    """Print each line as soon as it is measured; return 1 if one misses its bar, else 0."""
    missed = 0
    for line in lines:
        print(line, flush=True)
        missed |= not line.met
    return int(missed)
