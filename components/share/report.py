"""A study as one HTML file that opens without a server or a network: findings, charts, methods.

Charts are the same as on the page and are drawn by the same script. Numbers are those of `python -m
metrics`, which the file also contains as JSON.
"""

import contextlib
from pathlib import Path
from typing import Any

import plotly

from components.filtering.filtered_study import FilteredStudy
from components.html.fonts import page_fonts
from components.html.markup import ASSETS, Markup, join, json_script, read_program_file
from components.html.templates import macros
from components.share.report_sections import SECTIONS, TEMPLATE, ReportFigures
from metrics.summary.study_inputs import read_remedy_inputs, style_counts_of_study
from metrics.summary.summary import summarise_frame
from studies.errors import build_write_error
from studies.people.verifications import checks_of_answers
from studies.store.store import Store


def write_report(store: Store, study: str, path: Path) -> int:
    """Write the report and return its size in bytes; raise an error with the path if it cannot be
    written."""
    html = report_html(store, study)
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(html, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise build_write_error(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    return path.stat().st_size


def report_html(store: Store, study: str) -> Markup:
    filtered = FilteredStudy(store, study)
    figures = ReportFigures()
    body = report_sections(filtered, figures)
    plotly_file = Path(plotly.__path__[0]) / "package_data" / "plotly.min.js"
    files = {
        "style": read_program_file(ASSETS / "style.css"),
        "plotly": read_program_file(plotly_file),
        "page": read_program_file(ASSETS / "page.js"),
    }
    metrics, drawn = json_script("metrics", report_metrics(filtered)), figures.figures_html()
    return macros(TEMPLATE).report(study, files, page_fonts(), body, drawn, metrics)


def report_sections(filtered: FilteredStudy, figures: ReportFigures) -> Markup:
    """HTML of the report's sections from top to bottom; their charts are added to `figures`."""
    return join(section(filtered, figures) for section in SECTIONS)


def report_metrics(filtered: FilteredStudy) -> dict[str, Any]:
    """The numbers that `python -m metrics --json` prints for this study."""
    combine, unreadable = filtered.rule
    planned = filtered.store.count_asks_without_twins(filtered.name)
    checks = checks_of_answers(filtered.store, filtered.name)
    return summarise_frame(
        filtered.unfiltered_frame,
        planned=planned,
        combine=combine,
        unreadable=unreadable,
        checks=checks,
        remedies=read_remedy_inputs(filtered.store, filtered.name),
        twins=filtered.store.frame(filtered.name, "only"),
        styles=style_counts_of_study(filtered.store, filtered.name),
    )
