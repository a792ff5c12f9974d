"""Several measures of every cell of a frame, whatever its size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from metrics.cube import Cube, many
from metrics.measures import Cell, Evidence, Measure
from studies.records import Estimate


def every(
    measures: Iterable[Measure], frame: pd.DataFrame, by: Sequence[str] = ()
) -> dict[str, dict[Cell, Estimate]]:
    """Name of the measure -> cell -> estimate. Rows are counted once for all of them, and of many
    rows some items at a time: the same numbers from a part of the memory."""
    wanted = list(measures)
    if many(frame):
        cube = Cube(frame, by, wanted)
        return {measure.name: cube.each(measure.name, by) for measure in wanted}
    evidence = Evidence(frame, by)
    return {measure.name: measure.each(evidence) for measure in wanted}
