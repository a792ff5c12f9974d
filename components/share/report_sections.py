"""Sections of the report, from the title to the note on the data, in the order of the file."""

import platform
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from components.charts.figure_parts import Figure
from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import known_answer_source
from components.html import pieces
from components.html.format import count, dollars, duration, tokens
from components.html.markup import EMPTY, Markup, fill, join, json_script
from components.html.pieces import panel_html, wrap
from components.html.tables.table import plain_table
from components.html.templates import macros
from components.results.agreement import tab as agreement_tab
from components.results.bias import panels as bias_view
from components.results.bias import tab as bias_tab
from components.results.bias.computed import load_bias
from components.results.nudges import tab as nudges_tab
from components.results.nudges.injection_effect import injection_report_section
from components.results.overview import tab as summary_tab
from components.results.pass_fail.scores.computed import has_only_single_answers
from components.results.ranking import tab as ranking_tab
from components.results.remedies import tab as remedies_tab
from components.results.view.result_view import Panel, ReportPanel, View
from components.results.view_drawing import VIEWS, show_data_note, view_headline
from components.share import paper_text
from judges.rendering.prompt import parse_prompt
from studies.domain import HUMAN_PREFIX
from studies.spec.study import dump_study
from studies.store.queries import cost_queries
from studies.store.store import Store

TEMPLATE: Final = "share/share.html"
REPORTED_PACKAGES: Final = ("gradio", "plotly", "pandas", "numpy", "scipy", "openai", "datasets")


class ReportFigures:
    """The figures of a report; each becomes a JSON block that the script in the file draws."""

    def __init__(self) -> None:
        self.figures: list[Figure] = []

    def add_figure(self, figure: Figure | None) -> Markup:
        """Add a figure; return the HTML of its place in the report, or a note if there is no
        figure."""
        if figure is None:
            return wrap(Markup('<p class="eh-small eh-mute">No verdicts to show.</p>'))
        self.figures.append(figure)
        return macros(TEMPLATE).figure_place(len(self.figures))

    def figures_html(self) -> Markup:
        return join(json_script(f"figure-{i}", f) for i, f in enumerate(self.figures, 1))


def _title_section(filtered: FilteredStudy, figures: ReportFigures) -> Markup:
    first, last = reply_dates(filtered.store, filtered.name)
    when = first if first == last else f"{first} to {last}"
    line = f"Replies of {when}. " if first else "The dates of the replies were not recorded. "
    line += f"Report made {_format_day(time.time())}."
    view = agreement_tab if filtered.has_only_people else summary_tab
    title, lead = view_headline(VIEWS[view.NAME], filtered)
    top = macros(TEMPLATE).report_top(pieces.brand_html(), line, filtered.name)
    return join([top, pieces.finding_html(title, lead), _title_kpis(filtered)])


def reply_dates(store: Store, study: str) -> tuple[str, str]:
    """Days of the first and the last reply of model judges; "" if no time was recorded."""
    first, last = cost_queries.first_and_last_reply_times(store, study)
    return _format_day(first), _format_day(last)


def _format_day(at: float | None) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at)) if at else ""


def _title_kpis(filtered: FilteredStudy) -> Markup:
    """HTML of the judges' key figures; empty if all verdicts are people's."""
    if filtered.has_only_people:
        return EMPTY
    if has_only_single_answers(filtered):
        figures = bias_tab.single_answers_view(filtered).kpis
        return figures(filtered) if figures else EMPTY
    bias, by_design = load_bias(filtered), known_answer_source(filtered) == "design"
    return bias_view.position_bias_kpis_html(
        bias, filtered.unusable_count, len(filtered.measured_judge_rows), by_design
    )


def _views_section(filtered: FilteredStudy, figures: ReportFigures) -> Markup:
    """HTML of the views' parts of the report, panel by panel; none if the study is empty."""
    if filtered.unfiltered_frame.empty:
        return EMPTY
    return join(
        part for one in REPORTED_VIEWS for part in _iterate_view_sections(one, filtered, figures)
    )


def _iterate_view_sections(
    view: View, filtered: FilteredStudy, figures: ReportFigures
) -> Iterator[Markup]:
    if view.report:
        yield view.report(filtered)
    controls = view.initial_values(filtered)
    for panel in view.panels_of_shown_groups(filtered):
        if panel.in_report and panel.in_report(filtered):
            yield _panel_section(panel, panel.render(filtered, controls), figures)
        made = panel.report(filtered) if panel.report else None
        if isinstance(made, Markup):
            made = ReportPanel(panel.title, panel.full_subtitle(filtered), made)
        if made is not None:
            content = made.content
            body = content if isinstance(content, Markup) else figures.add_figure(content)
            yield panel_html(made.title, made.subtitle, body)


def _panel_section(panel: Panel, drawn: Mapping[str, Any], figures: ReportFigures) -> Markup:
    """HTML of a panel, drawn as on the page; empty if the page hides it. `drawn`: outputs of the
    panel by name; its charts are added to `figures`."""
    if drawn.get(panel.visibility_output) is False:
        return EMPTY
    usual = pieces.panel_heading(panel.title, panel.subtitle, panel.keys)
    heading = drawn.get(panel.heading_output, usual)
    contents = (drawn[body.name] for body in panel.bodies)
    bodies = (one if isinstance(one, Markup) else figures.add_figure(one) for one in contents)
    body = join([heading, panel.legend, *bodies])
    return wrap(fill('<section class="eh-panel">{}</section>', body))


def _tables_section(filtered: FilteredStudy, figures: ReportFigures) -> Markup:
    made = []
    for table in paper_text.paper_tables(filtered).values():
        latex = _text_drawer("LaTeX", paper_text.latex_table(table))
        markdown = _text_drawer("Markdown", paper_text.markdown_table(table))
        body = plain_table(table.head, table.rows) + latex + markdown
        made.append(panel_html(table.name, table.caption, body))
    return join(made)


def _method_section(filtered: FilteredStudy, figures: ReportFigures) -> Markup:
    text = wrap(fill("<p>{}</p>", paper_text.methods_paragraph(filtered)))
    title = paper_text.metrics_command_title(filtered, "these numbers")
    body = text + _text_drawer(title, paper_text.metrics_command(filtered))
    return panel_html("Method", "text generated from the study file and its replies", body)


def _unusable_replies_and_costs_section(filtered: FilteredStudy, figures: ReportFigures) -> Markup:
    """HTML report section on unusable replies, and on the cost by judge."""
    store, name = filtered.store, filtered.name
    bad = cost_queries.failure_counts(store, name)
    rows = [(f.status, f.judge, count(f.n), f.example) for f in bad]
    failures = plain_table(("Status", "Judge", "n", "Example"), rows)
    models = cost_queries.reported_models(store, name)
    head = ("Judge", "Model as reported", "Replies", "Tokens in", "Tokens out", "Dollars", "Time")
    costs = [
        (
            s.judge,
            ", ".join(models.get(s.judge, [])),
            count(s.replies),
            _format_if_recorded(s.prompt_tokens, tokens),
            _format_if_recorded(s.completion_tokens, tokens),
            "not recorded" if s.dollars is None else dollars(s.dollars),
            _format_if_recorded(s.seconds, duration),
        )
        for s in cost_queries.judge_costs(store, name)
        if not s.judge.startswith(HUMAN_PREFIX)
    ]
    title = pieces.failures_title({f.status for f in bad})
    none = "Every reply has a verdict." if costs else "There are no replies."
    unusable = panel_html(
        title, pieces.UNUSABLE_RULE, failures if bad else pieces.notice_html("calm", none)
    )
    return unusable + panel_html("Costs", "", plain_table(head, costs))


def _format_if_recorded(value: float, words: Callable[[float], str]) -> str:
    return words(value) if value else "not recorded"


def _study_section(filtered: FilteredStudy, figures: ReportFigures) -> Markup:
    drawers = [_text_drawer("study.yaml", dump_study(filtered.study))]
    store, study = filtered.store, filtered.name
    # A study file may name a prompt by its path, so the prompts of the calls are listed.
    found: dict[str, str | None] = {text: text for text in store.planned_prompt_texts(study)}
    found = found or {one: store.yaml_of_only_version(study, one) for one in filtered.study.prompts}
    for name, text in found.items():
        title = name
        if text:
            prompt = parse_prompt(text, study)
            title = f"{prompt.name}, version {prompt.version}, sha {prompt.sha[:12]}"
        drawers.append(_text_drawer(title, text or "The text of this prompt was not recorded."))
    drawers.append(_text_drawer("Versions", ", ".join(map(" ".join, package_versions().items()))))
    return panel_html(
        "Study file, prompts, versions", "settings needed to reproduce the numbers", join(drawers)
    )


def package_versions() -> dict[str, str]:
    """Package -> version, for Python and REPORTED_PACKAGES; "not installed" for a missing one."""
    found = {"python": platform.python_version()}
    for package in REPORTED_PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _data_section(filtered: FilteredStudy, figures: ReportFigures) -> Markup:
    return show_data_note(filtered)


REPORTED_VIEWS: Final = (
    bias_tab.VIEW, nudges_tab.VIEW, agreement_tab.VIEW, ranking_tab.VIEW, remedies_tab.VIEW,
    summary_tab.VIEW,
)  # fmt: skip
"""Views in the order of the page; the Summary, which has the judges' cards here, comes last."""
SECTIONS: Final[tuple[Callable[[FilteredStudy, ReportFigures], Markup], ...]] = (
    _title_section, _views_section, _tables_section, _method_section,
    lambda filtered, _: injection_report_section(filtered), _unusable_replies_and_costs_section,
    _study_section, _data_section,
)  # fmt: skip


def _text_drawer(title: str, text: str) -> Markup:
    return wrap(macros(TEMPLATE).text_drawer(title, text))
