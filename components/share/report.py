"""A study as one HTML file that opens without a server or a network: findings, charts, methods.

Charts are the same as on the page and are drawn by the same script. Numbers are those of `python -m
metrics`, which the file also contains as JSON.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
from pathlib import Path
from typing import Any, Final

import plotly

from components.filtering.filtered_study import FilteredStudy
from components.html.markup import ASSETS, Markup, fill, join, json_script, program_file
from components.share.report_sections import SECTIONS, ReportFigures
from metrics.summary.study_inputs import remedy_inputs
from metrics.summary.summary import summarise_frame
from studies.errors import write_error
from studies.people.verifications import current_checks
from studies.store.store import Store

_CONTENT_POLICY: Final = Markup(
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
"""Content security policy of the report: it may load nothing from outside."""
_DRAW_SCRIPT: Final = Markup("""
for (const box of document.querySelectorAll('[data-figure]')) {
  const value = JSON.parse(document.getElementById(box.dataset.figure).textContent);
  evenhand.plot(box, {value}, () => {}, () => {}, '');
}
for (const mark of document.querySelectorAll('[data-select]')) mark.setAttribute('tabindex', '-1');
""")


def write_report(store: Store, study: str, path: Path) -> int:
    """Write the report and return its size in bytes."""
    html = report_html(store, study)
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(html, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise write_error(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    return path.stat().st_size


def report_html(store: Store, study: str) -> Markup:
    filtered = FilteredStudy(store, study)
    page = ReportFigures()
    body = report_sections(filtered, page)
    plotly_js = program_file(Path(plotly.__path__[0]) / "package_data" / "plotly.min.js")
    return fill(
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="{}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>{} · Evenhand</title><style>{}</style>"
        "<style>{}{}</style><script>{}</script></head>"
        '<body class="gradio-container eh-report"><main>{}</main>'
        "{}{}"
        "<script>{}{}</script></body></html>\n",
        _CONTENT_POLICY,
        study,
        program_file(ASSETS / "style.css"),
        _font_faces(),
        _REPORT_CSS,
        plotly_js,
        body,
        page.figures_html(),
        json_script("metrics", report_metrics(filtered)),
        program_file(ASSETS / "page.js"),
        _DRAW_SCRIPT,
    )


def report_sections(filtered: FilteredStudy, page: ReportFigures) -> Markup:
    """HTML of the report's sections from top to bottom; their charts are added to `page`."""
    return join(section(filtered, page) for section in SECTIONS)


def report_metrics(filtered: FilteredStudy) -> dict[str, Any]:
    """The numbers that `python -m metrics --json` prints for this study."""
    combine, unreadable = filtered.rule
    planned = filtered.store.counts(filtered.name, recorded=True).get("planned")
    checks = current_checks(filtered.store, filtered.name)
    return summarise_frame(
        filtered.unfiltered_frame,
        planned=planned,
        combine=combine,
        unreadable=unreadable,
        checks=checks,
        remedies=remedy_inputs(filtered.store, filtered.name),
    )


def _font_faces() -> Markup:
    """CSS with Gradio's IBM Plex fonts embedded; empty if the font files are not found."""
    found = importlib.util.find_spec("gradio")
    folders = (found.submodule_search_locations or []) if found else []
    faces = []
    for folder in folders:
        for family, weight, name in _FONT_FILES:
            font = Path(folder) / "templates/frontend/static/fonts" / name
            if font.is_file():
                data = base64.b64encode(font.read_bytes()).decode()
                faces.append(
                    fill(
                        '@font-face{{font-family:"{}";font-weight:{};'
                        'src:url("data:font/woff2;base64,{}") format("woff2")}}',
                        family,
                        weight,
                        data,
                    )
                )
    return join(faces)


_FONT_FILES: Final = (
    ("IBM Plex Sans", 400, "IBMPlexSans/IBMPlexSans-Regular.woff2"),
    ("IBM Plex Sans", 700, "IBMPlexSans/IBMPlexSans-Bold.woff2"),
    ("IBM Plex Mono", 400, "IBMPlexMono/IBMPlexMono-Regular.woff2"),
)
_REPORT_CSS: Final = Markup("""
body.eh-report { background: var(--page); color: var(--ink); margin: 0; }
body.eh-report { font: 16px/1.5 var(--sans); }
.eh-report main { max-width: 1100px; margin: 0 auto; padding: 24px 16px 48px; }
.eh-report .eh-panel { margin: 16px 0; }
.eh-report .eh-tbl-box { overflow-x: auto; }
.eh-report .eh + .eh > .eh-tbl-box { margin-top: 20px; }
.eh-report-top { display: flex; flex-wrap: wrap; gap: 16px; }
.eh-report-top { justify-content: space-between; align-items: center; }
.eh-report main > h1 { font-size: 28px; margin: 16px 0; }
.eh-report .eh-finding { margin-bottom: 16px; }
.eh-report pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 14px/1.5 var(--mono); }
.eh-report .op { display: none; }
.eh-report [data-select] { cursor: default; pointer-events: none; }
.eh-report [data-select][data-tip] { pointer-events: auto; }
.eh-report .eh-link[data-select], .eh-report button.eh-val { text-decoration: none; }
.eh-report .eh-card.flip .eh-link { display: none; }
@media (max-width: 760px) {
  .eh-report .eh-heat col.lab { width: 68px; } .eh-report .eh-heat td b { font-size: 14px; }
  .eh-report .eh-heat th { overflow-wrap: normal; letter-spacing: -.01em; }
}
@media print { .eh-report details > * { display: block; } .eh-panel { break-inside: avoid; } }
""")
