"""Facts about a stored study that its remedies need: order of judges, source of truth, prices."""

from __future__ import annotations

from collections.abc import Sequence

from metrics.remedies.known_winners import DESIGN, PEOPLE, TruthSource
from metrics.summary.remedy_section import RemedyInputs
from studies.domain import BY_DESIGN
from studies.store.queries.judge_spending import mean_call_dollars, mean_call_tokens
from studies.store.store import Store


def remedy_inputs(store: Store, name: str, juries: Sequence[tuple[str, ...]] = ()) -> RemedyInputs:
    """Read the inputs of the remedies of a study from its store."""
    judges = tuple(judge.name for judge in store.study(name).judges)
    return RemedyInputs(
        judges,
        stored_truth_source(store, name),
        tuple(juries),
        mean_call_dollars(store, name),
        mean_call_tokens(store, name),
    )


def stored_truth_source(store: Store, name: str) -> TruthSource | None:
    """Return whether better answers are known by design or from people; None if the items have
    none."""
    items = store.item_facts(name).values()
    sources = {judge for facts in items for judge, *_ in facts["human"]}
    if not sources:
        return None
    return DESIGN if BY_DESIGN in sources else PEOPLE
