"""The judgement frame of recorded verdicts that are not saved in a store.

A frame needs only numpy and pandas; saving a study would also need the packages that read YAML.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from studies.domain import BY_DESIGN, Item, Judgement
from studies.frames.frame import SEP, TIE, frame_from_rows
from studies.people.item_votes import votes_as_judgements
from studies.sources.load import LoadedSource
from studies.store.rows import item_facts


def frame_from_source(loaded: LoadedSource, study: str) -> pd.DataFrame:
    """Build the frame that a store would return for the verdicts and votes of a source."""
    asks = (judgement.ask for judgement in loaded.judgements)
    votes = votes_as_judgements(loaded.items, study, asks, loaded.judgements)
    return frame_from_judgements(loaded.items, [*loaded.judgements, *votes], study)


def frame_from_judgements(
    items: Iterable[Item], judgements: Sequence[Judgement], study: str
) -> pd.DataFrame:
    """Build the frame of the judgements, in the given order; `items` are the items judged."""
    facts = {item.id: item_facts(item) for item in items}
    return frame_from_rows(_frame_rows(judgements), facts, study=study)


def has_designed_answers(items: Iterable[Item]) -> bool:
    """Whether any item has a better answer that is known by design of the data, not from votes."""
    return any(one.judge == BY_DESIGN for item in items for one in item.human)


def _frame_rows(judgements: Sequence[Judgement]) -> Iterator[tuple[Any, ...]]:
    """Yield rows with the same columns as `Store.frame_rows`."""
    for position, one in enumerate(judgements):
        ask, verdict = one.ask, one.verdict
        pick = verdict.pick if verdict else None
        yield (
            position,
            ask.item,
            ask.judge,
            ask.prompt,
            SEP.join(ask.shown),
            SEP.join(ask.labels),
            ask.repeat,
            int(ask.noise),
            ask.orders,
            one.status,
            TIE if pick == "tie" else pick,
            verdict.margin if verdict else None,
            json.dumps(verdict.scores) if verdict and verdict.scores else None,
            json.dumps(verdict.label_probabilities)
            if verdict and verdict.label_probabilities
            else None,
            position + 1,
        )
