"""The demo on the Home tab: the recorded verdicts of a small judge on twenty pairs of answers, each
judged in both orders; and the verdicts of the embedded judge (a model that runs on this machine),
shown as they arrive."""

from collections.abc import Sequence
from typing import Final

import pandas as pd

from components.filtering.filters import judge_rows_or_people_rows
from components.html.format import count, share
from components.html.markup import Markup
from components.html.pieces import empty_state, finding_html, legend_entry
from components.html.templates import macros
from components.results.bias.computed import bias_from_frame
from components.results.bias.flip_leans import flip_leans
from components.study.plan import demo_studies
from judges.engine.engine import Engine
from metrics.estimation.row_selection import select_picks
from studies.frames.frame import TIE
from studies.store.store import Store

html: Final = macros("home/home.html")
SHOWN_PAIRS: Final = 20


def recorded_demo_html(store: Store) -> list[Markup]:
    """HTML of the recorded demo: headline and coloured squares, computed once for all visitors and
    without people's votes; two notices if the store has no demo."""
    study = demo_studies.PAIRS_STUDY
    if study not in {line.name for line in store.studies()}:
        missing = finding_html(
            "Is your judge even-handed?", "This store contains no recorded demo."
        )
        return [missing, empty_state("Nothing is recorded here.", "Open your data below.")]

    def compute() -> list[Markup]:
        frame = judge_rows_or_people_rows(store.frame(study))
        return [finding_html(*_demo_headline_and_lead(frame)), recorded_verdict_squares_html(frame)]

    return store.memoised(study, ("home demo",), compute)


def _demo_headline_and_lead(frame: pd.DataFrame) -> tuple[str, str]:
    pairs = flip_leans(bias_from_frame(frame))
    flips, asked = sum(row.flips for row in pairs), sum(row.pairs for row in pairs)
    rate = share(flips / max(1, asked), 0)
    each = count(asked // max(1, frame["prompt"].nunique()), "pair")
    return (
        f"When the two answers are swapped, this judge changes its verdict on {rate} of pairs.",
        f"A small judge on this machine, {each}, recorded.",
    )


OrderPair = tuple[int | None, int | None]
"""Position picked in each of the two orders of a pair: 0 first, 1 second, -1 tie, None without a
usable reply."""


def recorded_verdict_squares_html(frame: pd.DataFrame) -> Markup:
    """HTML of recorded verdicts as coloured squares, two for each pair (one for each order): the
    first SHOWN_PAIRS pairs that were judged in both orders, with the first prompt."""
    picks = select_picks(frame)
    picks = picks[(picks["prompt"] == picks["prompt"].iloc[0]) & ~picks["noise"]]
    orders: list[OrderPair] = [
        (rows["pick"].iloc[0], rows["pick"].iloc[1])
        for _, rows in picks.groupby(["item", "comparison"], observed=True, sort=False)
        if len(rows) >= 2
    ][:SHOWN_PAIRS]
    same = _count_same_position_in_both_orders(orders)
    told = (
        f"The same colour twice, in {same} of these {count(len(orders), 'pair')}: only the "
        "position decided."
    )
    return picked_positions_html(orders, told)


def _count_same_position_in_both_orders(pairs: Sequence[OrderPair]) -> int:
    """Number of pairs for which the same position was picked in both orders; two ties do not
    count."""
    return sum(one == two != TIE for one, two in pairs)


def picked_positions_html(pairs: Sequence[OrderPair], finding: str) -> Markup:
    """HTML of coloured squares, one column per pair: the position picked in each of the two orders.
    The same colour twice means that the same position was picked after the swap. `finding`:
    the result in words, also for screen readers."""
    colours: dict[int | None, str] = {None: "waiting", 0: "first", 1: "second"}
    rows = [[colours.get(pair[at], "tie") for pair in pairs] for at in (0, 1)]
    keys = [legend_entry("first", "picked the first"), legend_entry("second", "picked the second")]
    if any(None in pair for pair in pairs):
        keys.append(legend_entry("waiting", "no verdict"))
    return html.squares(rows, keys, finding)


# ---------------------------------------------------------------------------------- live


def live_demo_study_name(store: Store) -> str:
    """Name of the current visitor's study of the live demo."""
    return store.name_to_save_under(demo_studies.LIVE_STUDY)


def live_demo_html(store: Store, engine: Engine) -> list[Markup]:
    """HTML of the live demo, while it runs and after its end: a headline, and coloured squares, two
    for each question (one for each order). A square without a usable reply is hatched."""
    name = live_demo_study_name(store)
    pairs, counts = _picked_positions_in_both_orders(store, name), store.status_counts(name)
    planned = counts.get("planned", 0)
    done = planned - counts.get("pending", 0)
    running = engine.active_run(name) is not None
    full = [pair for pair in pairs if None not in pair]
    same = _count_same_position_in_both_orders(full)
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
    return [finding_html(title, lead), picked_positions_html(pairs, told) + html.live_link(running)]


def _picked_positions_in_both_orders(store: Store, name: str) -> list[OrderPair]:
    """For each item, the position picked in each of its two orders: 0 first, 1 second, -1 tie, None
    without a usable reply. Items are in the order of the plan."""
    first, _ = store.study(name).contestants
    found: dict[str, list[int | None]] = {item: [None, None] for item in store.item_facts(name)}
    picks = select_picks(store.frame(name))
    for item, shown, pick in zip(picks["item"], picks["first"], picks["pick"], strict=True):
        found[str(item)][int(shown != first)] = int(pick)
    return [(one, two) for one, two in found.values()]
