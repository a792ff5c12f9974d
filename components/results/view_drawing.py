"""The views of Results, and functions that draw a view (output name -> content) without Gradio."""

from __future__ import annotations

import json
import threading
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter, rule_text
from components.filtering.raters import accuracy_label
from components.filtering.related_studies import related_studies
from components.html.markup import EMPTY, Markup
from components.html.panel import data_note, finding_html, simulated_note
from components.results.agreement import tab as agreement_tab
from components.results.bias import panels as bias_view
from components.results.bias import tab as bias_tab
from components.results.bias.computed import load_bias
from components.results.cards import tab as cards_tab
from components.results.contrasts import tab as contrasts_tab
from components.results.injection.effect_on_numbers import suspects_notice
from components.results.overview import tab as overview_tab
from components.results.pass_fail import tab as pass_fail_tab
from components.results.pass_fail.scores import tab as scores_tab
from components.results.pass_fail.scores.computed import has_comparisons, verdict_kinds
from components.results.protocol import tab as protocol_tab
from components.results.ranking import tab as ranking_tab
from components.results.remedies import tab as remedies_tab
from components.results.view.result_view import PanelGroup, View
from components.results.view.unusable_replies import NO_MEASURE_TEXT, find_unusable, has_votes
from components.results.wins import tab as wins_tab
from studies.store.ballot_queries import verification_stamp
from studies.store.store import Store

INSTEAD: Final = {
    overview_tab.NAME: "the effect of option order, agreement with labels and results by model",
    bias_tab.NAME: "the effect of the order of options and criteria",
    agreement_tab.NAME: "agreement with labels and with people's verdicts",
    wins_tab.NAME: "pass rates and mean scores of the models (also in Ranking)",
    protocol_tab.NAME: "verdicts on single answers",
}
"""View on comparisons -> what a study of single answers shows in other views instead."""


def for_comparisons(view: View) -> View:
    """Copy of the view that, in a study without comparisons, hides its panels and names in its
    headline the views to open instead."""

    def finding(filtered: FilteredStudy) -> tuple[str, str]:
        if has_comparisons(filtered):
            return view.finding(filtered)
        where = " or ".join(point_views(filtered))
        return (
            f"{view.name} has nothing to show: each answer is judged alone, not compared.",
            f"For {INSTEAD[view.name]}, open {where}.",
        )

    group = PanelGroup(
        view.layout,
        row=False,
        css="eh-kind",
        name=f"{view.name} panels",
        visible=has_comparisons,
        starts_visible=True,
    )
    return replace(view, layout=(group,), finding=finding)


def point_views(filtered: FilteredStudy) -> list[str]:
    """Names of the views on single answers (pass/fail, scores) that fit the study's verdicts."""
    kinds = verdict_kinds(filtered)
    found = [pass_fail_tab.NAME] if kinds.pass_fail else []
    return found + ([scores_tab.NAME] if kinds.scores else [])


VIEWS: Final[dict[str, View]] = {
    view.name: view
    for view in (
        for_comparisons(overview_tab.VIEW),
        for_comparisons(bias_tab.VIEW),
        ranking_tab.VIEW,
        for_comparisons(agreement_tab.VIEW),
        remedies_tab.VIEW,
        for_comparisons(wins_tab.VIEW),
        contrasts_tab.VIEW,
        cards_tab.VIEW,
        for_comparisons(protocol_tab.VIEW),
        pass_fail_tab.VIEW,
        scores_tab.VIEW,
    )
}
POINT_VIEWS: Final = (pass_fail_tab.NAME, scores_tab.NAME)
"""Views of verdicts on single answers."""
PAIR_VIEWS: Final = tuple(name for name in VIEWS if name not in POINT_VIEWS)
"""Views of studies whose judges compare answers."""
SHARED_VIEWS: Final = (
    ranking_tab.NAME,
    remedies_tab.NAME,
    contrasts_tab.NAME,
    cards_tab.NAME,
)
"""Views that apply to comparisons and to verdicts on single answers."""
_DRAW_SLOTS: Final = threading.BoundedSemaphore(2)
"""Lets at most two views be drawn at once: more threads would only delay each other."""


def render_view(
    store: Store, name: str, view: str, chosen: Filter, controls: Mapping[str, Any]
) -> dict[str, Any]:
    """Draw one view of a study; `controls` are the values of the controls of all views. Return
    output name -> content."""
    mine = {control: controls[control] for control in VIEWS[view].controls}
    serialised = json.dumps(mine, default=str)
    if json.loads(serialised) != mine:  # a setting that JSON cannot hold: not cached
        return render_panels(FilteredStudy(store, name, chosen), view, mine)

    def draw() -> dict[str, Any]:
        with _DRAW_SLOTS:
            return render_panels(FilteredStudy(store, name, chosen), view, mine)

    what = _view_key(store, name, view, chosen, serialised)
    return dict(store.memoised(name, what, draw, _view_version(store, name)))


def find_drawn(store: Store, name: str, view: str) -> dict[str, Any] | None:
    """Return the stored content of a view that has no controls, as `render_view` drew it without
    filters; None if it is outdated or not drawn yet."""
    what = _view_key(store, name, view, Filter(), json.dumps({}))
    found: dict[str, Any] | None = store.find_memoised(name, what, _view_version(store, name))
    return found


def _view_key(
    store: Store, name: str, view: str, chosen: Filter, serialised: str
) -> tuple[Hashable, ...]:
    """Key of a drawn view; owners of a study are offered more actions than its readers."""
    return ("view", view, chosen, serialised, store.owns(name))


def _view_version(store: Store, name: str) -> Hashable:
    """Value that changes with everything that a view of a study depends on."""
    context = (related_studies(store, name), verification_stamp(store.read_connection, name))
    return store.version(name), context


def render_panels(
    filtered: FilteredStudy, view: str, controls: Mapping[str, Any]
) -> dict[str, Any]:
    """Output name -> content of headline, key numbers, panels and data note of a view."""
    one = VIEWS[view]
    panels = one.render(filtered, controls)
    title, lead = view_headline(one, filtered)
    kpis = _view_kpis(one, filtered)
    return {
        "finding": finding_html(title, lead) if title else EMPTY,
        "kpis": suspects_notice(filtered) + kpis,
        **panels,
        "data": show_data_note(filtered, one.json_keys),
    }


def _view_kpis(one: View, filtered: FilteredStudy) -> Markup:
    """HTML of the key numbers above a view. In a study of single answers, views on comparisons have
    none, and views in SHARED_VIEWS without own key numbers have those of the study's first view."""
    if one.name in POINT_VIEWS or has_comparisons(filtered):
        return (one.kpis or default_kpis)(filtered)
    if one.name not in SHARED_VIEWS or one.kpis:
        return EMPTY
    first = VIEWS[point_views(filtered)[0]]
    return first.kpis(filtered) if first.kpis else EMPTY


def study_finding(store: Store, name: str) -> str:
    """Headline of a study without filters, which is the headline of its first view."""
    whole = FilteredStudy(store, name)
    return view_headline(VIEWS[offered_views(whole)[0]], whole)[0]


def view_headline(view: View, filtered: FilteredStudy) -> tuple[str, str]:
    """Headline of a view and the sentence below it. If no reply is usable, the headline of every
    view says so, except of the view People if people voted."""
    unusable = find_unusable(filtered)
    if unusable is None or (view.name == agreement_tab.NAME and has_votes(filtered)):
        return view.finding(filtered)
    return unusable.sentence, NO_MEASURE_TEXT


def default_kpis(filtered: FilteredStudy) -> Markup:
    return bias_view.default_kpis_html(load_bias(filtered), right=accuracy_label(filtered))


def offered_views(whole: FilteredStudy, asked: str | None = None) -> list[str]:
    """Names of the views that can show the study's verdicts: comparisons, single answers or both.

    In a study of single answers, a view on comparisons is offered only if the address names it
    (`asked`); it names the views to open instead. In other studies, Protocol is offered only with a
    preset, or if the address names it.
    """
    points = point_views(whole)
    if verdict_kinds(whole).only_points:
        addressed = [asked] if asked in INSTEAD else []
        return [*points, *SHARED_VIEWS, *addressed]
    protocol = bool(whole.study.preset) or asked == protocol_tab.NAME
    pairs = [name for name in PAIR_VIEWS if name != protocol_tab.NAME or protocol]
    return [*pairs, *points]


def show_data_note(filtered: FilteredStudy, json_keys: Sequence[str] = ()) -> Markup:
    """HTML note on the data: number of judgements, real and simulated judges, counting rule, and
    the JSON keys of the headline and the key figures."""
    simulated = [judge.name for judge in filtered.study.judges if judge.kind == "simulated"]
    real = [judge.name for judge in filtered.study.judges if judge.kind != "simulated"]
    parts = [f"{load_bias(filtered).calls:,} judgements of the study “{filtered.name}”."]
    if real:
        parts.append(f"Judges with real (not simulated) replies: {', '.join(real)}.")
    if simulated:
        parts.append(simulated_note(simulated))
    if filtered.rule != ("pooled", "exclude"):
        parts.append(rule_text(*filtered.rule))
    if json_keys:
        keys = ", ".join(f"`{key}`" for key in json_keys)
        parts.append(
            "In the JSON of the results, the headline and the figures below it have the keys "
            f"{keys}."
        )
    return data_note(" ".join(parts))
