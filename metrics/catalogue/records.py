"""The catalogue: all records, found by importing every module of this package, and the list of
records for each outlet (a place that lists measures, such as the cards, the library or the gate).
"""

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from metrics.catalogue.record import DECLARED, QUESTIONS, MeasureRecord, Outlet
from metrics.estimation.all_measures import estimate_all
from metrics.estimation.measures import CellKey, Measure
from studies.domain import Estimate

for _module in pkgutil.iter_modules([str(Path(__file__).parent)]):
    if _module.name != "records":
        importlib.import_module(f"{__package__}.{_module.name}")

RECORDS: Final = DECLARED


def records_listed_by(outlet: Outlet, options: int = 2) -> list[MeasureRecord]:
    """Records of the measures that an outlet lists (a place such as the cards, the library or the
    gate), for comparisons of `options` answers."""
    kind = "pairs" if options == 2 else "many"
    return [
        one for one in RECORDS.values() if outlet in one.outlets and one.options in (kind, "both")
    ]


def text_measure_records(outlet: Outlet) -> list[MeasureRecord]:
    """Records of the measures that an outlet lists and that are computed from the texts of replies,
    so that they apply to verdicts on single answers too. An outlet is a place that lists measures,
    such as the library."""
    return [
        one
        for one in records_listed_by(outlet)
        if one.measure is not None and one.measure.reads_texts
    ]


def contrast_family_names() -> list[str]:
    """Names of the families of paired differences that the catalogue declares, in the order of
    declaration. The intervals of a family are adjusted together."""
    return list(dict.fromkeys(name for one in RECORDS.values() for name in one.families))


def records_of_family(name: str) -> list[MeasureRecord]:
    """Records of the measures in one family of paired differences. The intervals of a family are
    adjusted together."""
    return [one for one in RECORDS.values() if name in one.families]


def position_measure_records() -> list[MeasureRecord]:
    """Records of the measures of position that are estimated from sums by item. The JSON has them
    by judge and prompt (section `position`) and for all judges together (section
    `position_pooled`). A measure declared with these paths is in the JSON, on the page and in the
    library without further code."""
    return [
        one
        for one in RECORDS.values()
        if one.measure is not None and f"position_pooled.{one.key}" in one.paths
    ]


def estimate_position_measures(
    frame: pd.DataFrame, by: Sequence[str] = ()
) -> dict[CellKey, dict[str, Estimate]]:
    """Estimate the measures of position (`position_measure_records`) in every cell, a combination
    of values in the columns `by`: cell -> name of the measure -> estimate."""
    measures: list[Measure] = [one.measure for one in position_measure_records() if one.measure]
    columns = estimate_all(measures, frame, by)
    cells = next(iter(columns.values()))
    return {cell: {name: columns[name][cell] for name in columns} for cell in cells}


def measure_table_lines() -> Iterator[str]:
    """Lines of the tables of measures in docs/statistics.md, one table for each question."""
    for key, question in QUESTIONS.items():
        yield from (f"### {question}", "", "| measure | definition | needs | JSON |")
        yield "|---|---|---|---|"
        for one in RECORDS.values():
            if one.question == key:
                known = f" Also: {'; '.join(one.also_known_as)}." if one.also_known_as else ""
                needs = ", ".join(need.words for need in one.needs)
                where = " ".join(f"`{path}`" for path in one.paths)
                text = f"{one.description}. {one.how}{known}".strip()
                yield f"| {one.name} | {text} | {needs} | {where} |".replace("  ", " ")
        yield ""


if __name__ == "__main__":
    print("\n".join(measure_table_lines()).strip())
