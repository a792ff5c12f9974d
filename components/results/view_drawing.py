"""The views of Results, and functions that draw a view (output name -> content) without Gradio."""

import json
import threading
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter, counting_rule_text
from components.filtering.related_studies import studies_with_same_data_source
from components.html.format import count
from components.html.markup import EMPTY, Markup
from components.html.pieces import data_note, finding_html, how_computed, simulated_note
from components.html.templates import macros
from components.results.agreement import tab as agreement_tab
from components.results.bias import tab as bias_tab
from components.results.contrasts import comparison
from components.results.nudges import tab as nudges_tab
from components.results.nudges.injection_effect import suspects_notice
from components.results.overview import tab as summary_tab
from components.results.pass_fail.scores.computed import verdict_kinds
from components.results.protocol import tab as protocol_tab
from components.results.ranking import tab as ranking_tab
from components.results.remedies import tab as remedies_tab
from components.results.view import unusable_replies
from components.results.view.result_view import View
from components.results.view.view_html import view_html
from judges.rendering.prompt_library import prompts_folder
from metrics.estimation.row_selection import count_failed_calls, people_mask
from studies.store.ballot_queries import verification_stamp
from studies.store.store import Store

VIEWS: Final[dict[str, View]] = {
    view.name: view
    for view in (
        summary_tab.VIEW,
        bias_tab.VIEW,
        nudges_tab.VIEW,
        agreement_tab.VIEW,
        ranking_tab.VIEW,
        remedies_tab.VIEW,
        protocol_tab.VIEW,
    )
}
PAIR_VIEWS: Final = (nudges_tab.NAME,)
"""Views that are offered only if judges compare answers."""
VIEW_PARTS: Final = macros("results/view/view.html")
_DRAW_SLOTS: Final = threading.BoundedSemaphore(2)
"""Lets at most two views be drawn at once: more threads would only delay each other."""


def render_view(
    store: Store, name: str, view: str, chosen: Filter, controls: Mapping[str, Any]
) -> dict[str, Any]:
    """Render the view named `view` of a study; return output name -> content. `controls`: control
    name -> value, at least for the controls of this view. The result is cached, unless a
    control has a value that JSON cannot hold."""
    mine = {control: controls[control] for control in VIEWS[view].controls}
    if controls.get(comparison.CONTROL):
        mine[comparison.CONTROL] = controls[comparison.CONTROL]
    serialised = json.dumps(mine, default=str)
    if json.loads(serialised) != mine:  # a setting that JSON cannot hold: not cached
        return render_view_uncached(FilteredStudy(store, name, chosen), view, mine)

    def render() -> dict[str, Any]:
        with _DRAW_SLOTS:
            return render_view_uncached(FilteredStudy(store, name, chosen), view, mine)

    what = _view_key(store, name, view, chosen, serialised)
    return dict(store.memoised(name, what, render, _view_version(store, name)))


def find_stored_view(store: Store, name: str, view: str) -> dict[str, Any] | None:
    """The cached content of a view, as `render_view` drew it without filters and controls; None if
    it is out of date or was not drawn. This function draws nothing."""
    what = _view_key(store, name, view, Filter(), json.dumps({}))
    found: dict[str, Any] | None = store.find_memoised(name, what, _view_version(store, name))
    return found


def _view_key(
    store: Store, name: str, view: str, chosen: Filter, serialised: str
) -> tuple[Hashable, ...]:
    """Cache key of a view with these filters (`chosen`) and control values (`serialised`,
    JSON). The owner of a study and its readers have different keys, because the owner is
    offered more actions."""
    return ("view", view, chosen, serialised, store.owns(name))


def _view_version(store: Store, name: str) -> Hashable:
    """Value that changes whenever anything changes on which a view of the study depends."""
    context = (
        studies_with_same_data_source(store, name),
        verification_stamp(store.read_connection, name),
    )
    saved = prompts_folder(store.folder / "store").glob("*.yaml")  # an adopted prompt is a new file
    failed = [run.id for run in store.runs(name)[:1] if run.state == "failed"]
    return store.version(name), context, tuple(sorted(path.name for path in saved)), *failed


def render_view_uncached(
    filtered: FilteredStudy, view: str, controls: Mapping[str, Any]
) -> dict[str, Any]:
    """Render the view named `view` without the cache: output name -> content of headline, key
    numbers, each panel (none without verdicts that pass the filters), list of absent panels, and
    data note. `controls`: control name -> value."""
    one, other = VIEWS[view], controls.get(comparison.CONTROL)
    # Without verdicts, what a panel says that it needs would not be the reason.
    panels = one.render(filtered, controls) if len(filtered.measured_judge_rows) else {}
    whole = FilteredStudy(filtered.store, filtered.name)
    states = {
        name: control.initial_state(whole, controls.get(name))
        for name, control in one.controls.items()
        if control.kind != "session"
    }
    title, lead = view_headline(one, filtered)
    top = one.kpis(filtered) if one.kpis and panels else EMPTY
    if other:
        title, lead = comparison.comparison_headline(filtered, other, view)
        top = comparison.comparison_html(filtered, other, view)
    return {
        "finding": finding_html(title, lead) if title else EMPTY,
        "kpis": suspects_notice(filtered) + top,
        **panels,
        "panels": view_html(one, panels, states),
        "absent": VIEW_PARTS.missing(
            one.missing_panels(filtered, panels),
            "Not in this study" if filtered.filter == Filter() else "Not with these filters",
        ),
        "data": show_data_note(
            filtered, [*one.json_keys, *_json_keys_of_shown_panels(one, panels)], other
        ),
    }


def _json_keys_of_shown_panels(view: View, contents: Mapping[str, Any]) -> list[str]:
    """Paths in the JSON output of the numbers of the panels shown, except those that
    `view.json_keys` already has."""
    shown = (panel for panel in view.panels if any(body.name in contents for body in panel.bodies))
    keys = (key for panel in shown for key in panel.json_keys)
    return [key for key in dict.fromkeys(keys) if key not in view.json_keys]


def study_headline(store: Store, name: str) -> str:
    """Headline of a study without filters, which is the headline of its first view."""
    whole = FilteredStudy(store, name)
    return view_headline(VIEWS[offered_views(whole)[0]], whole)[0]


def view_headline(view: View, filtered: FilteredStudy) -> tuple[str, str]:
    """Headline of a view and the sentence below it. If the study has no judgements, if none passes
    the filters, or if no reply is usable, the headline says so in every view; with votes, Agreement
    keeps its own headline if no reply is usable. If there are no judgements because the last run
    failed, the headline names that run, and the sentence its reason."""
    runs = filtered.store.runs(filtered.name) if filtered.unfiltered_frame.empty else ()
    if runs and runs[0].state == "failed":
        return "No call got a reply: the last run failed.", runs[0].reason
    if filtered.measured_judge_rows.empty:
        whole = len(filtered.unfiltered_frame)
        return unusable_replies.EMPTY_FILTERS if whole else unusable_replies.EMPTY_STUDY
    unusable = unusable_replies.find_if_all_unusable(filtered)
    votes = view.name == agreement_tab.NAME and unusable_replies.has_votes(filtered)
    if unusable is None or votes:
        return view.headline(filtered)
    return unusable.sentence, unusable.consequence


def offered_views(whole: FilteredStudy, asked: str | None = None) -> list[str]:
    """Names of the views that can show the study's verdicts. Nudges needs comparisons; Paper is
    offered only with a preset, or if the address names it (`asked`)."""
    paper = bool(whole.study.preset) or asked == protocol_tab.NAME
    hidden = () if paper else (protocol_tab.NAME,)
    if verdict_kinds(whole).only_points:
        hidden = (*hidden, *PAIR_VIEWS)
    return [name for name in VIEWS if name not in hidden]


def show_data_note(
    filtered: FilteredStudy, json_keys: Sequence[str] = (), other: str | None = None
) -> Markup:
    """HTML note on the data: numbers of judgements, votes and judgements on twins (changed copies
    of answers), real and simulated judges, and the counting rule (how verdicts in both orders and
    unusable replies count) if it is not the default; then, folded, `json_keys` (where `python -m
    metrics --json` has the same numbers). `other`: side compared with."""
    simulated = [judge.name for judge in filtered.study.judges if judge.kind == "simulated"]
    real = [judge.name for judge in filtered.study.judges if judge.kind != "simulated"]
    rows = filtered.measured_judge_rows  # of people, if no other row is left
    failed = count_failed_calls(rows)
    calls = 0 if filtered.has_only_people else int((~people_mask(rows)).sum()) - failed
    added, source = (
        comparison.count_judgements_beyond_filters(filtered, other) if other else (0, "")
    )
    calls += 0 if source else added
    sizes = [count(calls, "judgement")] if calls else []
    everyone = filtered.of_all_raters.frame_by_person
    if votes := int(people_mask(everyone).sum()):
        sizes.append(f"{count(votes, 'vote')} of people")
    where = f"in the study “{filtered.name}”"
    parts = [f"{' and '.join(sizes) or 'No judgements'} {where}."]
    if not sizes and not failed and len(filtered.unfiltered_frame):
        parts = [f"No judgement {where} passes the filters."]
    if failed:
        parts.append(f"{count(failed, 'call')} failed.")
    if source:
        parts.append(f"{count(added, 'judgement')} compared with them: study “{source}”.")
    if twins := len(filtered.store.frame(filtered.name, "only")):
        parts.append(f"{twins:,} more are on twins of answers (Nudges).")
    if real and calls:
        parts.append(f"Judges with real (not simulated) replies: {', '.join(real)}.")
    if simulated and calls:
        parts.append(simulated_note(simulated))
    if filtered.rule != ("pooled", "exclude"):
        parts.append(counting_rule_text(*filtered.rule))
    keys = how_computed("", json_keys) if json_keys else EMPTY
    return data_note(" ".join(parts)) + keys
