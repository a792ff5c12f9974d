"""Work done when a browser requests the page, before the page sends its first event."""

import contextlib
import threading
from collections.abc import Callable, Mapping

from components.filtering.filtered_study import FilteredStudy
from components.home import tab as home_tab
from components.layout.loading_screen import FirstContent
from components.results import results_tab, view_drawing
from components.results.overview import tab as overview_tab
from judges.engine.engine import Engine
from studies.errors import EvenhandError
from studies.sharing.visitor_store import VisitorStore
from studies.store.store import Store


def compute_summary_ahead(store: Store, requested: Mapping[str, str]) -> None:
    """Start to compute the view Summary before the page asks for it, if the page with the query
    parameters `requested` opens with this view.

    The work is done in two threads while the browser loads the page's code. In public mode nothing
    is computed ahead, because there the store must know which visitor asks."""
    name = requested.get("study", "")
    if not name or requested.get("tab") != "results" or isinstance(store, VisitorStore):
        return
    whole = FilteredStudy(store, name)

    def opens_with_summary() -> bool:
        return results_tab.choose_first_view(whole, requested) == overview_tab.NAME

    def draw_summary() -> None:
        if opens_with_summary():
            view_drawing.render_view(store, name, overview_tab.NAME, whole.filter, {})

    def compute_ranking_and_remedies() -> None:
        """Compute the ranking and the remedies while `draw_summary` computes the position bias."""
        store.prepare_frame_without_rows(name)
        if opens_with_summary():
            overview_tab.render_rank_stability(whole)
            overview_tab.render_advice(whole)

    for work in (draw_summary, compute_ranking_and_remedies):
        threading.Thread(
            target=_run_ignoring_evenhand_errors, args=(work,), name="read ahead", daemon=True
        ).start()


def loading_screen_content(
    store: Store, engine: Engine | None, requested: Mapping[str, str]
) -> FirstContent | None:
    """The contents of a page with the query parameters `requested` while it loads: Home; or the
    Summary of a study's results, if a drawing of it is stored and no run of the study is active.
    None in public mode and in all other cases, such as a page that opens with another tab."""
    if isinstance(store, VisitorStore):
        return None
    if engine is not None and home_tab.opens_home(requested):
        return home_tab.first_content_of_home(store, engine)
    if not overview_tab.opens_summary(requested):
        return None
    name = requested["study"]
    run = engine.latest_run(name) if engine else None
    if run is not None and not run.finished.is_set():
        return None
    drawn = view_drawing.find_stored_view(store, name, overview_tab.NAME)
    return FirstContent(overview_tab.summary_preview_html(drawn), {}) if drawn else None


def _run_ignoring_evenhand_errors(work: Callable[[], object]) -> None:
    with contextlib.suppress(EvenhandError):  # the event that needs the result reports it
        work()
