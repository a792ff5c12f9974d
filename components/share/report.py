"""A study as one HTML file that opens without a server or a network: findings, charts, methods.

Charts are the same as on the page and are drawn by the same script. Numbers are those of `python -m
metrics`, which the file also contains as JSON.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import plotly

from components.charts.figures import Figure
from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters, accuracy_label
from components.html.format import NARROW_SPACE, count, dollars, duration, tokens
from components.html.markup import EMPTY, Markup, fill, join, json_script, program_file
from components.html.panel import brand_html, data_note, finding_html, notice_html, panel_html, wrap
from components.html.table import plain_table
from components.results.agreement import panels as agreement_view
from components.results.agreement import verification_panel
from components.results.agreement.computed import load_agreement
from components.results.agreement.people_tables import show_coefficients, show_corrected_rates
from components.results.agreement.voters_panel import show_voters, voters_subtitle
from components.results.bias import panels as bias_view
from components.results.cards.card_html import show_card
from components.results.injection.report_section import injection_section
from components.results.pass_fail import panels as pass_fail_view
from components.results.pass_fail.computed import has_pass_fail, load_pass_fail
from components.results.pass_fail.scores import panels as scores_view
from components.results.pass_fail.scores.computed import has_only_points, has_scores, load_scores
from components.results.ranking import panels as ranking_view
from components.results.remedies.remedies_report import remedies_report
from components.share import paper_text, report_facts
from metrics.labels.label_sections import pass_fail_sentence
from metrics.summary.study_inputs import remedy_inputs
from metrics.summary.summary import summarise_frame
from studies.domain import HUMAN_PREFIX
from studies.errors import write_error
from studies.people.verifications import current_checks
from studies.spec.study import dump_study
from studies.store.queries import cost_queries
from studies.store.store import Store

ASSETS: Final = Path(__file__).resolve().parents[2] / "assets"
_CONTENT_POLICY: Final = Markup(
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
"""Content security policy: the file may load nothing from outside."""
MAX_CARDS: Final = 12
"""Most report cards in one file."""

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
    """The whole report as HTML."""
    view = FilteredStudy(store, study)
    page = _ReportFigures()
    left_out = PAIR_SECTIONS if has_only_points(view) else ()
    body = join(section(view, page) for section in SECTIONS if section not in left_out)
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
        json_script("metrics", report_metrics(view)),
        program_file(ASSETS / "page.js"),
        _DRAW_SCRIPT,
    )


def report_metrics(view: FilteredStudy) -> dict[str, Any]:
    """The numbers that `python -m metrics --json` prints for this study."""
    combine, unreadable = view.rule
    planned = view.store.counts(view.name, recorded=True).get("planned")
    checks = current_checks(view.store, view.name)
    return summarise_frame(
        view.unfiltered_frame,
        planned=planned,
        combine=combine,
        unreadable=unreadable,
        checks=checks,
        remedies=remedy_inputs(view.store, view.name),
    )


class _ReportFigures:
    """The figures of a report; each becomes a JSON block that the script in the file draws."""

    def __init__(self) -> None:
        self.figures: list[Figure] = []

    def add_figure(self, figure: Figure | None) -> Markup:
        if figure is None:
            return wrap(Markup('<p class="eh-small eh-mute">No verdicts to show.</p>'))
        self.figures.append(figure)
        return fill(
            '<div data-figure="figure-{}"><div class="eh-plot" role="img"></div></div>',
            len(self.figures),
        )

    def figures_html(self) -> Markup:
        return join(json_script(f"figure-{i}", f) for i, f in enumerate(self.figures, 1))


# ----------------------------------------------------------------------------------- sections


def _title_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    first, last = report_facts.reply_dates(view.store, view.name)
    made = time.strftime("%Y-%m-%d", time.gmtime())
    when = first if first == last else f"{first} to {last}"
    line = f"Replies of {when}. " if first else "The dates of the replies were not recorded. "
    line += f"Report made {made}."
    if view.has_only_people:
        title, lead = agreement_view.agreement_finding(load_agreement(view))
    elif has_only_points(view):
        title, lead = _points_finding(view)
    else:
        title, lead = bias_view.show_finding(view.frame)
    return (
        fill(
            '<header class="eh-report-top">{}'
            '<p class="eh-small eh-mute">{}</p></header><h1>{}</h1>',
            brand_html(),
            line,
            view.name,
        )
        + finding_html(title, lead)
        + _title_kpis(view)
    )


def _points_finding(view: FilteredStudy) -> tuple[str, str]:
    if has_pass_fail(view):
        return pass_fail_view.pass_fail_finding(load_pass_fail(view))
    return scores_view.scores_finding(load_scores(view))


def _title_kpis(view: FilteredStudy) -> Markup:
    """HTML of the judges' key figures; empty for a study of people only, which reports their
    agreement instead."""
    if view.has_only_people:
        return EMPTY
    if has_only_points(view):
        if has_pass_fail(view):
            return pass_fail_view.pass_fail_kpis(load_pass_fail(view))
        return scores_view.scores_kpis(load_scores(view))
    return bias_view.show_kpis(view.frame, view.failed, len(view.machines), accuracy_label(view))


def _bias_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    frame = view.frame
    if view.has_only_people:  # different people in different orders are not one judge that flips
        return panel_html(
            "Chosen slots",
            "% of decisive votes, 95 % CI",
            page.add_figure(bias_view.show_slots(frame)),
        )
    return (
        panel_html(
            f"Consistency by {_row_noun(view)} and category",
            bias_view.SUBTITLES["Consistency"],
            bias_view.show_matrix(frame, "Consistency"),
        )
        + panel_html(
            "Chosen slots",
            "% of decisive verdicts, 95 % CI",
            page.add_figure(bias_view.show_slots(frame)),
        )
        + panel_html(
            "Direction of flips",
            "pairs whose verdict changes when swapped",
            bias_view.show_flips(frame),
        )
    )


def _pass_fail_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    """Report section on verdicts on single answers against their labels, by judge and prompt."""
    found = load_pass_fail(view)
    if found.shown is None:
        return EMPTY
    areas = panel_html(
        "Where it is wrong", "area = number of answers", pass_fail_view.confusion_areas(found)
    )
    texts = join(
        fill(
            "<p><b>{} · {}</b>: {} {}</p>",
            judge,
            prompt,
            pass_fail_sentence(one),
            pass_fail_view.report_lines(one),
        )
        for (judge, prompt), one in found.results.items()
    )
    subtitle = f"against labels; 95{NARROW_SPACE}% CI by item"
    rates = panel_html("Pass or fail", subtitle, pass_fail_view.rates_table(found) + wrap(texts))
    return areas + rates


def _scores_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    """Report section on scores of single answers: arrangements, order effects, agreement."""
    found = load_scores(view) if has_scores(view) else None
    if found is None or found.shown is None:
        return EMPTY
    texts = join(
        fill("<p><b>{}</b>: {}</p>", " · ".join(cell), scores_view.score_report_lines(cell, found))
        for cell in found.distributions
    )
    subtitle = f"% of verdicts by order of options and criteria; 95{NARROW_SPACE}% CI by item"
    made = panel_html(
        "Scores by arrangement", subtitle, scores_view.arrangement_matrix(found) + wrap(texts)
    ) + panel_html("Does the order matter?", "", scores_view.order_tables(found))
    made += panel_html("Agreement with labels", "", scores_view.agreement_table(found))
    if found.contradictions:
        title, subtitle = "Scores against comparisons", "pairs whose lower-scored answer won"
        made += panel_html(title, subtitle, scores_view.contradictions_table(found))
    return made


def _row_noun(view: FilteredStudy) -> str:
    return "judge" if view.machines["judge"].nunique() > 1 else "prompt"


def _ranking_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    rows = view.outcomes
    if not (rows["options"] == 2).any():
        return EMPTY
    return (
        finding_html(*ranking_view.show_ranking_finding(rows))
        + panel_html(
            "Leaderboard",
            "Bradley–Terry on the Elo scale, ties as half a win; 95 % CI",
            ranking_view.show_leaderboard(rows),
        )
        + panel_html(
            "Elo as battles come in",
            "one order; band: 95 % of shuffled orders; dotted: Bradley–Terry; K 4",
            page.add_figure(ranking_view.show_elo(rows)),
        )
        + panel_html(
            "Head-to-head",
            "row beats column, %, ties as half",
            ranking_view.show_head_to_head(rows),
        )
    )


def _agreement_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    """Report section on agreement between judges and, if people voted, with people."""
    data = load_agreement(view)
    people = data.raters.has_people
    if view.has_only_people:
        return _people_agreement(view)
    if not data.judges or (len(data.judges) < 2 and not people):
        return EMPTY
    made = finding_html(*agreement_view.agreement_finding(data))
    subtitle = f"Cohen's κ over first, second, tie; 95{NARROW_SPACE}% CI"
    made += panel_html("Who agrees with whom", subtitle, agreement_view.show_matrix(data, "κ"))
    if people:
        subtitle = f"each judge against the people's majority; 95{NARROW_SPACE}% CI"
        made += panel_html("Agreement with people", subtitle, show_coefficients(data))
        subtitle = f"judges' verdicts corrected with people's votes; %, 95{NARROW_SPACE}% CI"
        made += panel_html("Win rates, corrected by people", subtitle, show_corrected_rates(data))
    return made


def _people_agreement(view: FilteredStudy) -> Markup:
    """Report section for a study without model judges: agreement among people, and the list of
    voters."""
    data, table = load_agreement(view), paper_text.people_table(view)
    made = EMPTY
    if table is not None and table.rows:
        subtitle = f"votes on the same two answers; 95{NARROW_SPACE}% CI"
        made = panel_html("Agreement among people", subtitle, plain_table(table.head, table.rows))
    return made + panel_html("People", voters_subtitle(data), show_voters(data))


def _remedies_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    """Report section on remedies for the judge that agrees most with the known better answers;
    empty if none are known."""
    return remedies_report(view)


def _verification_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    """Report section on people's verifications of answers; empty if there are none."""
    found = verification_panel.load_verification(load_agreement(view))
    if not found.has_checks:
        return EMPTY
    return panel_html(
        "Verified answers",
        verification_panel.verification_subtitle(found),
        verification_panel.show_verification(found),
    )


def _cards_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    """Report section with one report card per judge and prompt, as on the page."""
    raters = Raters(view)
    names = list(raters.in_view)
    cards = join(
        fill('<section class="eh-panel eh-sheet">{}</section>', show_card(raters, name))
        for name in names[:MAX_CARDS]
    )
    left = len(names) - MAX_CARDS
    more = wrap(fill("<p>The page has {}.</p>", count(left, "more card"))) if left > 0 else ""
    return cards + more


def _tables_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    made = []
    for table in paper_text.paper_tables(view).values():
        copies = _text_drawer("LaTeX", paper_text.latex_table(table)) + _text_drawer(
            "Markdown", paper_text.markdown_table(table)
        )
        made.append(
            panel_html(table.name, table.caption, plain_table(table.head, table.rows) + copies)
        )
    return join(made)


def _method_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    only_points = has_only_points(view)
    words = _points_method(view) if only_points else paper_text.methods_paragraph(view)
    text = wrap(fill("<p>{}</p>", words))
    command = _text_drawer("Command for the same numbers", paper_text.metrics_command(view))
    return panel_html("Method", "generated from the study and its replies", text + command)


def _points_method(view: FilteredStudy) -> str:
    """Methods text for a study whose judges pass, fail or score single answers."""
    rows = view.machines
    usable = len(rows) - view.failed
    start = (
        f"{count(rows['judge'].nunique(), 'judge')} judged single answers to "
        f"{count(rows['item'].nunique(), 'item')}. Of {count(len(rows), 'reply')}, "
        f"{count(usable)} had a readable verdict; the others enter no rate. Intervals are "
        f"95{NARROW_SPACE}% and treat items as clusters."
    )
    if not has_pass_fail(view):
        return f"{start} Arrangements are compared on the same answers."
    return (
        f"{start} The true pass rate uses labels where "
        "there are some, elsewhere the estimate of Rogan and Gladen with the limits of Lang and "
        "Reiczigel, which assumes equal error rates on labelled and unlabelled answers."
    )


def _replies_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    """Report section on unusable replies, and on the cost by judge."""
    store, name = view.store, view.name
    bad = cost_queries.failure_counts(store, name)
    failures = plain_table(
        ("Status", "Judge", "n", "Example"),
        [(f.status, f.judge, count(f.n), f.example) for f in bad],
    )
    models = cost_queries.reported_models(store, name)
    cost = plain_table(
        ("Judge", "Model as reported", "Replies", "Tokens in", "Tokens out", "Dollars", "Time"),
        [
            (
                s.judge,
                ", ".join(models.get(s.judge, [])),
                count(s.replies),
                _recorded_text(s.prompt_tokens, tokens),
                _recorded_text(s.completion_tokens, tokens),
                "not recorded" if s.dollars is None else dollars(s.dollars),
                _recorded_text(s.seconds, duration),
            )
            for s in cost_queries.judge_costs(store, name)
            if not s.judge.startswith(HUMAN_PREFIX)
        ],
    )
    none = notice_html("calm", "Every reply has a readable verdict.")
    return panel_html(
        "Unusable replies", "stored and counted, not scored", failures if bad else none
    ) + panel_html("Costs", "", cost)


def _recorded_text(value: float, words: Callable[[float], str]) -> str:
    return words(value) if value else "not recorded"


def _injection_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    return injection_section(view)


def _study_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    drawers = [_text_drawer("study.yaml", dump_study(view.study))]
    for prompt in report_facts.prompt_records(view.store, view.name):
        title = f"{prompt.name}, version {prompt.version}, sha {prompt.sha[:12]}"
        text = prompt.yaml or "The text of this prompt was not recorded."
        drawers.append(_text_drawer(title if prompt.yaml else prompt.name, text))
    versions = ", ".join(f"{name} {text}" for name, text in report_facts.package_versions().items())
    drawers.append(_text_drawer("Versions", versions))
    return panel_html(
        "Study file, prompts, versions", "needed to reproduce the numbers", join(drawers)
    )


def _data_section(view: FilteredStudy, page: _ReportFigures) -> Markup:
    simulated = [judge.name for judge in view.study.judges if judge.kind == "simulated"]
    note = f"{len(view.frame):,} judgements of {view.name}."
    if simulated:
        note += f" Simulated judges, with known parameters: {', '.join(simulated)}."
    return data_note(note)


SECTIONS: Final[tuple[Callable[[FilteredStudy, _ReportFigures], str], ...]] = (
    _title_section,
    _pass_fail_section,
    _scores_section,
    _bias_section,
    _ranking_section,
    _agreement_section,
    _verification_section,
    _remedies_section,
    _cards_section,
    _tables_section,
    _method_section,
    _injection_section,
    _replies_section,
    _study_section,
    _data_section,
)


PAIR_SECTIONS: Final = (
    _bias_section,
    _ranking_section,
    _agreement_section,
    _remedies_section,
    _cards_section,
    _tables_section,
)
"""Sections that need comparisons of answers."""


def _text_drawer(title: str, text: str) -> Markup:
    return wrap(
        fill('<details class="eh-how"><summary>{}</summary><pre>{}</pre></details>', title, text)
    )


def _font_faces() -> Markup:
    """CSS with Gradio's IBM Plex fonts embedded; without it, the reader's own fonts are used."""
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
