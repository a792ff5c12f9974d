"""The live demo on the Home tab: verdicts of the embedded judge as its calls return."""

from __future__ import annotations

from components.home.demo_panel import OrderPair, grid_html
from components.html.format import count
from components.html.markup import Markup, fill
from components.html.pieces import finding_html, wrap
from components.study.plan import demo_studies
from judges.engine.engine import Engine
from metrics.estimation.row_selection import select_picks
from studies.store.store import Store


def live_demo_name(store: Store) -> str:
    """Name of the current visitor's study of the live demo."""
    return store.name_for_owner(demo_studies.LIVE_STUDY)


def live_demo_parts(store: Store, engine: Engine) -> list[Markup]:
    """HTML of the demo while it runs and after its end: headline, and squares of which those
    without a reply yet are hatched."""
    name = live_demo_name(store)
    pairs, counts = _picked_positions(store, name), store.counts(name)
    planned = counts.get("planned", 0)
    done = planned - counts.get("pending", 0)
    running = engine.active_run(name) is not None
    full = [pair for pair in pairs if None not in pair]
    same = sum(one == two for one, two in full)
    told = (
        "The same colour in both rows: the same position was picked after the swap, in "
        f"{count(same)} of {count(len(full), 'pair')}{' so far' if running else ''}."
    )
    title = (
        f"Live: {count(done)} of {count(planned, 'call')} done"
        if running or not full
        else f"Live: the same position was picked after the swap in {count(same)} of "
        f"{count(len(full), 'pair')}."
    )
    lead = (
        "A small judge on this machine compares two answers to each of "
        f"{count(len(pairs), 'question')}, in both orders."
    )
    state = "running" if running else "ended"
    links = fill(
        '<p class="eh-small" data-demo="{}"><button type="button" class="eh-link" data-tab="{}">{}'
        "</button></p>",
        state,
        "run" if running else "results",
        "Follow, pause or stop the run" if running else "See the results",
    )
    return [finding_html(title, lead), grid_html(pairs, told) + wrap(links)]


def _picked_positions(store: Store, name: str) -> list[OrderPair]:
    """Position picked in the two orders of each item, in the order of the plan; None without a
    usable reply."""
    first, _ = store.study(name).contestants
    found: dict[str, list[int | None]] = {item: [None, None] for item in store.item_facts(name)}
    picks = select_picks(store.frame(name))
    for item, shown, pick in zip(picks["item"], picks["first"], picks["pick"], strict=True):
        found[str(item)][int(shown != first)] = int(pick)
    return [(one, two) for one, two in found.values()]
