"""Estimate several measures in every cell of a frame, in blocks of items if the frame is large."""

from collections.abc import Iterable, Sequence

import pandas as pd

from metrics.estimation.measure_cube import MeasureCube, is_counted_in_blocks
from metrics.estimation.measures import CellKey, GroupedFrame, Measure
from studies.domain import Estimate


def estimate_all(
    measures: Iterable[Measure], frame: pd.DataFrame, by: Sequence[str] = ()
) -> dict[str, dict[CellKey, Estimate]]:
    """Estimate the measures in every cell (combination of values in the columns `by`); returns
    measure name -> cell -> estimate.

    The rows are grouped once for all measures. A large frame is counted in blocks of items, which
    gives the same numbers with less memory.
    """
    wanted = list(measures)
    if is_counted_in_blocks(frame):
        cube = MeasureCube(frame, by, wanted)
        return {measure.name: cube.by_cell(measure.name, by) for measure in wanted}
    evidence = GroupedFrame(frame, by)
    return {measure.name: measure.by_cell(evidence) for measure in wanted}
