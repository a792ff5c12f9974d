"""A study as one HTML file that opens without a server or a network: findings, charts, method.

The charts are the page's own figures drawn by the page's own script; the numbers are those of
`python -m metrics`, which stand in the file as JSON too.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import plotly

from components.charts.figures import Figure
from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters, accuracy_label
from components.html.format import NARROW_SPACE, count, dollars, duration, escape, tokens
from components.html.panel import brand_html, data_note, finding_html, notice_html, panel_html, wrap
from components.html.plain_table import plain_table
from components.results.agreement import panels as agreement_view
from components.results.agreement import verification_panel
from components.results.agreement.computed import load_agreement
from components.results.agreement.people_tables import show_coefficients, show_corrected_rates
from components.results.bias import panels as bias_view
from components.results.cards.card_html import show_card
from components.results.injection.report_section import injection_section
from components.results.ranking import panels as ranking_view
from components.share import paper_text, report_facts
from metrics.summary.summary import summarise_frame
from studies.domain import HUMAN_PREFIX
from studies.errors import write_error
from studies.people.verifications import current_checks
from studies.spec.study import dump_study
from studies.store.store import Store

ASSETS: Final = Path(__file__).resolve().parents[2] / "assets"
_CONTENT_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
"""The file may load nothing: what it shows is in it."""
MAX_CARDS: Final = 12
"""Report cards in one file: a study of more judges is read on the page."""

_DRAW_SCRIPT: Final = """
for (const box of document.querySelectorAll('[data-figure]')) {
  const value = JSON.parse(document.getElementById(box.dataset.figure).textContent);
  evenhand.plot(box, {value}, () => {}, () => {}, '');
}
for (const mark of document.querySelectorAll('[data-select]')) mark.setAttribute('tabindex', '-1');
"""


def write_report(store: Store, study: str, path: Path) -> int:
    """Writes the report; returns its size in bytes."""
    html = report_html(store, study)
    half = path.with_name(path.name + ".part")
    try:
        half.write_text(html, encoding="utf-8")
        half.replace(path)
    except OSError as error:
        raise write_error(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            half.unlink()
    return path.stat().st_size


def report_html(store: Store, study: str) -> str:
    """The whole file."""
    scene = FilteredStudy(store, study)
    page = _ReportFigures()
    body = "".join(section(scene, page) for section in SECTIONS)
    plotly_js = (Path(plotly.__path__[0]) / "package_data" / "plotly.min.js").read_text("utf-8")
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_CONTENT_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(study)} · Evenhand</title><style>{_read_asset('style.css')}</style>"
        f"<style>{_font_faces()}{_REPORT_CSS}</style><script>{plotly_js}</script></head>"
        f'<body class="gradio-container eh-report"><main>{body}</main>'
        f"{page.figures_html()}{_json_tag('metrics', report_metrics(scene))}"
        f"<script>{_read_asset('page.js')}{_DRAW_SCRIPT}</script></body></html>\n"
    )


def report_metrics(scene: FilteredStudy) -> dict[str, Any]:
    """What `python -m metrics --json` prints for this study."""
    combine, unreadable = scene.rule
    planned = scene.store.counts(scene.name, recorded=True).get("planned")
    checks = current_checks(scene.store, scene.name)
    return summarise_frame(
        scene.unfiltered_frame,
        planned=planned,
        combine=combine,
        unreadable=unreadable,
        checks=checks,
    )


class _ReportFigures:
    """Collects the figures, so that each is one JSON block that the script draws."""

    def __init__(self) -> None:
        self.figures: list[Figure] = []

    def add_figure(self, figure: Figure | None) -> str:
        if figure is None:
            return wrap('<p class="eh-small eh-mute">No verdicts to draw.</p>')
        self.figures.append(figure)
        return (
            f'<div data-figure="figure-{len(self.figures)}">'
            '<div class="eh-plot" role="img"></div></div>'
        )

    def figures_html(self) -> str:
        return "".join(_json_tag(f"figure-{i}", f) for i, f in enumerate(self.figures, 1))


def _json_tag(name: str, value: Any) -> str:
    """JSON in a page: "<" is written as an escape, so that no text can close the tag."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


# ----------------------------------------------------------------------------------- sections


def _title_section(scene: FilteredStudy, page: _ReportFigures) -> str:
    first, last = report_facts.reply_dates(scene.store, scene.name)
    made = time.strftime("%Y-%m-%d", time.gmtime())
    when = first if first == last else f"{first} to {last}"
    line = f"Replies of {when}. " if first else "When the replies came was not recorded. "
    line += f"Report made {made}."
    title, lead = bias_view.show_finding(scene.frame)
    return (
        f'<header class="eh-report-top">{brand_html()}<p class="eh-small eh-mute">{escape(line)}</p>'
        f"</header><h1>{escape(scene.name)}</h1>"
        + finding_html(title, lead)
        + bias_view.show_kpis(scene.frame, scene.failed, len(scene.machines), accuracy_label(scene))
    )


def _bias_section(scene: FilteredStudy, page: _ReportFigures) -> str:
    frame = scene.frame
    return (
        panel_html(
            f"Consistency by {_row_noun(scene)} and category",
            bias_view.SUBTITLES["Consistency"],
            bias_view.show_matrix(frame, "Consistency"),
        )
        + panel_html(
            "Which slot is chosen",
            "% of decisive verdicts, 95 % CI",
            page.add_figure(bias_view.show_slots(frame)),
        )
        + panel_html(
            "Which way verdicts flip",
            "pairs whose verdict changed with the order",
            bias_view.show_flips(frame),
        )
    )


def _row_noun(scene: FilteredStudy) -> str:
    return "judge" if scene.machines["judge"].nunique() > 1 else "prompt"


def _ranking_section(scene: FilteredStudy, page: _ReportFigures) -> str:
    rows = scene.outcomes
    if not (rows["options"] == 2).any():
        return ""
    return (
        finding_html(*ranking_view.show_ranking_finding(rows))
        + panel_html("Leaderboard", "Bradley–Terry on the Elo scale, ties as half a win; 95 % CI",
                 ranking_view.show_leaderboard(rows))
        + panel_html("Elo as battles come in", "one order; band: 95 % of shuffled orders; dotted: "
                 "Bradley–Terry; K 4",
                 page.add_figure(ranking_view.show_elo(rows)))
        + panel_html("Head-to-head", "row beats column, %, ties as half",
                 ranking_view.show_head_to_head(rows))
    )  # fmt: skip


def _agreement_section(scene: FilteredStudy, page: _ReportFigures) -> str:
    """Who agrees with whom; where people voted, how far judges side with them."""
    data = load_agreement(scene)
    people = data.raters.has_people
    if not data.judges or (len(data.judges) < 2 and not people):
        return ""
    made = finding_html(*agreement_view.agreement_finding(data))
    told = f"Cohen's κ over first, second, tie; 95{NARROW_SPACE}% CI"
    made += panel_html("Who agrees with whom", told, agreement_view.show_matrix(data, "κ"))
    if people:
        told = f"each judge against the people's majority; 95{NARROW_SPACE}% CI"
        made += panel_html("Agreement with people", told, show_coefficients(data))
        told = f"%, 95{NARROW_SPACE}% CI by items; many verdicts, few votes"
        made += panel_html("Win rates, corrected by people", told, show_corrected_rates(data))
    return made


def _verification_section(scene: FilteredStudy, page: _ReportFigures) -> str:
    """What people verified, where they did."""
    found = verification_panel.load_verification(load_agreement(scene))
    if not found.has_checks:
        return ""
    return panel_html(
        "Verified answers",
        verification_panel.verification_subtitle(found),
        verification_panel.show_verification(found),
    )


def _cards_section(scene: FilteredStudy, page: _ReportFigures) -> str:
    """One card a judge and prompt, as on the page."""
    voices = Raters(scene)
    heard = list(voices.in_view)
    cards = "".join(
        f'<section class="eh-panel eh-sheet">{show_card(voices, name)}</section>'
        for name in heard[:MAX_CARDS]
    )
    left = len(heard) - MAX_CARDS
    more = wrap(f"<p>{count(left, 'card')} more on the page.</p>") if left > 0 else ""
    return cards + more


def _tables_section(scene: FilteredStudy, page: _ReportFigures) -> str:
    made = []
    for table in paper_text.paper_tables(scene).values():
        copies = _text_drawer("LaTeX", paper_text.latex_table(table)) + _text_drawer(
            "Markdown", paper_text.markdown_table(table)
        )
        made.append(
            panel_html(table.name, table.caption, plain_table(table.head, table.rows) + copies)
        )
    return "".join(made)


def _method_section(scene: FilteredStudy, page: _ReportFigures) -> str:
    text = wrap(f"<p>{escape(paper_text.methods_paragraph(scene))}</p>")
    again = _text_drawer("The same numbers again", paper_text.metrics_command(scene))
    return panel_html("Method", "generated from the study and its replies", text + again)


def _replies_section(scene: FilteredStudy, page: _ReportFigures) -> str:
    """What failed, what it cost: on paper as on screen."""
    store, name = scene.store, scene.name
    bad = report_facts.failure_counts(store, name)
    lost = plain_table(
        ("Status", "Judge", "n", "For example"),
        [(f.status, f.judge, count(f.n), f.example) for f in bad],
    )
    models = report_facts.reported_models(store, name)
    cost = plain_table(
        ("Judge", "Model as reported", "Replies", "Tokens in", "Tokens out", "Dollars", "Time"),
        [
            (s.judge, ", ".join(models.get(s.judge, [])), count(s.replies),
             _recorded_text(s.prompt_tokens, tokens), _recorded_text(s.completion_tokens, tokens),
             "not recorded" if s.dollars is None else dollars(s.dollars),
             _recorded_text(s.seconds, duration))
            for s in report_facts.judge_costs(store, name)
            if not s.judge.startswith(HUMAN_PREFIX)
        ],
    )  # fmt: skip
    none = notice_html("calm", "Every reply could be read.")
    return panel_html("Replies that are no evidence", "kept and counted, never scored",
                  lost if bad else none) + panel_html("What it cost", "", cost)  # fmt: skip


def _recorded_text(value: float, words: Callable[[float], str]) -> str:
    return words(value) if value else "not recorded"


def _injection_section(scene: FilteredStudy, page: _ReportFigures) -> str:
    return injection_section(scene)


def _study_section(scene: FilteredStudy, page: _ReportFigures) -> str:
    drawers = [_text_drawer("study.yaml", dump_study(scene.study))]
    for prompt in report_facts.prompt_records(scene.store, scene.name):
        told = f"{prompt.name}, version {prompt.version}, sha {prompt.sha[:12]}"
        text = prompt.yaml or "The words of this prompt were not recorded."
        drawers.append(_text_drawer(told if prompt.yaml else prompt.name, text))
    made_with = ", ".join(
        f"{name} {text}" for name, text in report_facts.package_versions().items()
    )
    drawers.append(_text_drawer("Versions", made_with))
    return panel_html("Study file, prompts, versions", "what to keep beside the numbers",
                  "".join(drawers))  # fmt: skip


def _data_section(scene: FilteredStudy, page: _ReportFigures) -> str:
    simulated = [judge.name for judge in scene.study.judges if judge.kind == "simulated"]
    told = f"{len(scene.frame):,} judgements of {scene.name}."
    if simulated:
        told += f" Simulated judges, with known parameters: {', '.join(simulated)}."
    return data_note(told)


SECTIONS: Final[tuple[Callable[[FilteredStudy, _ReportFigures], str], ...]] = (
    _title_section,
    _bias_section,
    _ranking_section,
    _agreement_section,
    _verification_section,
    _cards_section,
    _tables_section,
    _method_section,
    _injection_section,
    _replies_section,
    _study_section,
    _data_section,
)


def _text_drawer(title: str, text: str) -> str:
    return wrap(
        f'<details class="eh-how"><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>'
    )


def _font_faces() -> str:
    """Plex as Gradio ships it, inside the file; where it is not there, the reader's own font."""
    found = importlib.util.find_spec("gradio")
    folders = (found.submodule_search_locations or []) if found else []
    faces = []
    for folder in folders:
        for family, weight, name in _FONT_FILES:
            font = Path(folder) / "templates/frontend/static/fonts" / name
            if font.is_file():
                data = base64.b64encode(font.read_bytes()).decode()
                faces.append(
                    f'@font-face{{font-family:"{family}";font-weight:{weight};'
                    f'src:url("data:font/woff2;base64,{data}") format("woff2")}}'
                )
    return "".join(faces)


_FONT_FILES: Final = (
    ("IBM Plex Sans", 400, "IBMPlexSans/IBMPlexSans-Regular.woff2"),
    ("IBM Plex Sans", 700, "IBMPlexSans/IBMPlexSans-Bold.woff2"),
    ("IBM Plex Mono", 400, "IBMPlexMono/IBMPlexMono-Regular.woff2"),
)


def _read_asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


_REPORT_CSS: Final = """
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
"""
