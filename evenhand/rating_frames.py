"""Ratings of contestants (models) from three columns, first, second and winner: online Elo and
Bradley–Terry, with confidence intervals."""

from collections.abc import Iterable
from typing import Final

import numpy as np
import pandas as pd

from metrics.ratings import battles, online_elo
from metrics.ratings.bradley_terry import ratings_from_battles
from studies import domain, errors
from studies.frames.battle_frame import encode_battles

SEED: Final = 7
COLUMNS: Final = ["rating", "low", "high", "n", "items", "note"]


def elo(
    first: Iterable[object],
    second: Iterable[object],
    winner: Iterable[object],
    *,
    item: Iterable[object] | None = None,
    k: float = 4.0,
    rounds: int = 200,
    orders: int = 100,
    intervals: bool = True,
) -> pd.DataFrame:
    """Compute online Elo ratings, one row for each contestant, the best first. Each entry of
    `first`, `second` and `winner` is one battle; `winner` is a contestant, or `first`, `second`,
    `left`, `right` or `tie`. `item` has the item of each battle (None: each is an item of its
    own). `k` is the largest change by one battle. `low` and `high` are from `rounds` bootstrap
    samples of the items.

    Online Elo depends on the order of the battles: in `orders` random orders of the items, 95 %
    of the ratings are between `order_low` and `order_high`. `intervals=False` gives the ratings
    alone, which takes far less time. SourceError for columns of different lengths or an unknown
    winner."""
    data = _battles_from_columns(first, second, winner, item)
    if not intervals:
        rounds = orders = 0
    rng = np.random.default_rng(SEED)
    table = online_elo.elo_table(data, rng=rng, k=k, orders=orders, rounds=rounds)
    rows = {
        name: {
            **_estimate_columns(got.estimate),
            "order_low": got.order_low,
            "order_high": got.order_high,
        }
        for name, got in table.items()
    }
    return _ratings_frame(rows, [*COLUMNS, "order_low", "order_high"])


def bradley_terry(
    first: Iterable[object],
    second: Iterable[object],
    winner: Iterable[object],
    *,
    item: Iterable[object] | None = None,
) -> pd.DataFrame:
    """Compute Bradley–Terry ratings on the Elo scale, one row for each contestant, the best first,
    with sandwich (robust) intervals clustered by item. Each entry of `first`, `second` and
    `winner` is one battle; `winner` is a contestant, or `first`, `second`, `left`, `right` or
    `tie`. `item` has the item of each battle (None: each is an item of its own). SourceError for
    columns of different lengths or an unknown winner."""
    data = _battles_from_columns(first, second, winner, item)
    found = ratings_from_battles(data)
    return _ratings_frame({name: _estimate_columns(got) for name, got in found.items()}, COLUMNS)


def _battles_from_columns(
    first: Iterable[object],
    second: Iterable[object],
    winner: Iterable[object],
    item: Iterable[object] | None,
) -> battles.Battles:
    columns = {"model_a": first, "model_b": second, "winner": winner}
    if item is not None:
        columns["item"] = item
    arrays = {name: pd.Series(values).array for name, values in columns.items()}
    counts = {name: len(values) for name, values in arrays.items()}
    if len({*counts.values()}) > 1:
        listed = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        raise errors.SourceError(f"the columns have different numbers of rows ({listed})")
    try:
        return battles.battles_from_codes(encode_battles(pd.DataFrame(arrays)))
    except ValueError as error:
        raise errors.SourceError(str(error)) from None


def _estimate_columns(estimate: domain.Estimate) -> dict[str, object]:
    return {
        "rating": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "items": estimate.items,
        "note": estimate.note,
    }


def _ratings_frame(rows: dict[str, dict[str, object]], columns: list[str]) -> pd.DataFrame:
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    frame.index.name = "contestant"
    numbers = [name for name in columns if name not in ("n", "items", "note")]
    return frame.astype(dict.fromkeys(numbers, np.float64))
