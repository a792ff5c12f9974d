"""Online Elo: ratings, their curve over the battles, and their dependence on the order of items.

Plan order is the order of the rows in the frame.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from metrics.ratings.battles import Battles, Floats, Ints, Weighting, extract_battles
from metrics.ratings.elo_last_battles import ratings_from_last_battles
from metrics.ratings.elo_orders import ItemOrder, batches_of_orders, play_orders, rows_in_plan_order
from studies.domain import Estimate

CONFIDENCE_LEVEL: Final = 0.95
OUTSIDE_INTERVAL_NOTE: Final = (
    "no interval: in plan order the last battles move the rating out of that of resampled items; "
    "use Bradley–Terry instead"
)


@dataclass(frozen=True, slots=True)
class EloSettings:
    """Settings of Elo: the K-factor `k`, the scale (a gap of `scale` points means winning odds of
    `base` to 1), and the rating `start` of all contestants before the first battle."""

    k: float = 4.0
    scale: float = 400.0
    base: float = 10.0
    start: float = 1000.0

    @property
    def slope(self) -> float:
        """Logits per rating point."""
        return math.log(self.base) / self.scale

    def expected_score(self, rating: float, opponent: float) -> float:
        """Expected score (0 to 1) of a contestant in one battle, from the ratings of both."""
        return 0.5 + 0.5 * math.tanh(0.5 * self.slope * (rating - opponent))


@dataclass(frozen=True, slots=True)
class EloRating:
    """Rating of one contestant after all battles in plan order.

    The interval of `estimate` is from the item bootstrap; there is none if it does not contain the
    rating. `order_low` to `order_high` contains 95 %
    of the ratings from the same battles in other orders of the items: variation due to the order
    alone, not a confidence interval.
    """

    estimate: Estimate
    order_low: float | None
    order_high: float | None
    matches: int

    @property
    def outside_interval(self) -> bool:
        """Whether the rating in plan order is outside the range of ratings from resampled items, so
        that it has no interval. This happens if battles come in blocks, such as one judge after the
        other: they are in plan order for the rating, but mixed for the range."""
        return self.estimate.note == OUTSIDE_INTERVAL_NOTE


@dataclass(frozen=True, eq=False)
class EloCurve:
    """Ratings during the battles: `value[p]` has the ratings of `names` after `battles[p]` battles.
    `low` to `high` contains 95 % of the ratings if items are shuffled; None if they were not."""

    names: tuple[str, ...]
    battles: Ints
    value: Floats
    low: Floats | None = None
    high: Floats | None = None

    def ratings_of(self, name: str) -> Floats:
        """Ratings of one contestant along the curve."""
        return np.asarray(self.value[:, self.names.index(name)])


@dataclass(frozen=True, eq=False)
class EloResult:
    """Table of ratings, best first, and their curve."""

    table: dict[str, EloRating]
    curve: EloCurve


def compute_elo(
    frame: pd.DataFrame | Battles,
    *,
    rng: np.random.Generator,
    settings: EloSettings | None = None,
    orders: int = 100,
    rounds: int = 200,
    points: int = 200,
    weighting: Weighting = "sign",
) -> EloResult:
    """Compute online Elo in plan order, its range over other orders of the items, and its bootstrap
    interval, from a frame or from battles that are already extracted.

    The range comes from `orders` shuffles of the items, the interval from `rounds` bootstrap
    samples of them; below two items there is neither. Battles of one item keep their order. The
    curve has up to `points` points after its start. `weighting` is that of `extract_battles`, and
    has no effect on battles that are already extracted. ValueError for battles whose outcomes are
    probabilities.
    """
    chosen = settings or EloSettings()
    data = frame if isinstance(frame, Battles) else extract_battles(frame, weighting=weighting)
    if data.items < 2:
        orders = rounds = 0
    at = _snapshot_steps(int(data.weight.sum()), points)
    final, path = (
        _elo_of_last_battles(data, rng, chosen, orders, rounds) if points <= 1 else (None, None)
    )
    if final is None or path is None:
        final, path = _elo_of_all_orders(
            data, _shuffle_then_resample_items(data, rng, orders, rounds), chosen, at, 1 + orders
        )
    return EloResult(
        _rating_table(data, final + chosen.start, orders, chosen),
        _build_curve(data.names, at, path + chosen.start),
    )


def _shuffle_then_resample_items(
    data: Battles, rng: np.random.Generator, orders: int, rounds: int
) -> Iterator[npt.NDArray[np.int32]]:
    """Yield `orders` shuffles of the items, then `rounds` bootstrap samples of the items."""
    return chain(
        (rng.permutation(np.arange(data.items, dtype=np.int32)) for _ in range(orders)),
        (rng.integers(0, data.items, data.items, np.int32) for _ in range(rounds)),
    )


def _elo_of_all_orders(
    data: Battles, item_orders: Iterator[ItemOrder], chosen: EloSettings, steps: Ints, curves: int
) -> tuple[Floats, Floats]:
    """Play the battles in plan order and in each item order; return the final ratings of every
    order, and for the first `curves` orders the ratings after each number of battles in `steps`."""
    finals, paths = [], []
    for rows in batches_of_orders(data, item_orders):
        seen = min(curves, len(rows))
        final, path = play_orders(
            data, rows, k=chosen.k, slope=chosen.slope, steps=steps, curves=seen
        )
        finals.append(final)
        paths.append(path)
        curves -= seen
    return np.concatenate(finals, axis=1), np.concatenate(paths, axis=2)


def _elo_of_last_battles(
    data: Battles, rng: np.random.Generator, chosen: EloSettings, orders: int, rounds: int
) -> tuple[Floats, Floats] | tuple[None, None]:
    """Compute the final ratings of every order from its last battles only, as earlier ones have
    almost no effect. The second array has the ratings at the start (all 0) and at the end, instead
    of a curve.

    Returns (None, None) if `ratings_from_last_battles` finds that earlier battles have an effect,
    or that there are few battles; `rng` is then as before, so that it draws the same orders again.
    """
    before = rng.bit_generator.state
    item_orders = _shuffle_then_resample_items(data, rng, orders, rounds)
    final = ratings_from_last_battles(data, item_orders, k=chosen.k, slope=chosen.slope)
    if final is None:
        rng.bit_generator.state = before  # the caller draws the same item orders again
        return None, None
    seen = final[:, : 1 + orders]
    return final, np.stack([np.zeros_like(seen), seen])


def elo_table(
    frame: pd.DataFrame | Battles,
    *,
    rng: np.random.Generator,
    k: float = 4.0,
    orders: int = 100,
    rounds: int = 200,
    weighting: Weighting = "sign",
) -> dict[str, EloRating]:
    """Return contestant -> Elo rating as by `compute_elo`, best first, without computing the curve;
    a contestant without verdicts has the rating at which all start. `k` is the K-factor."""
    settings = EloSettings(k=k)
    return compute_elo(
        frame,
        rng=rng,
        settings=settings,
        orders=orders,
        rounds=rounds,
        points=1,
        weighting=weighting,
    ).table


def _snapshot_steps(steps: int, points: int) -> Ints:
    """Return 0 and up to `points` evenly spaced numbers of battles up to `steps`."""
    return np.unique(np.linspace(0, steps, max(points, 1) + 1).round().astype(np.int64))


def _central_band(values: Floats) -> tuple[Floats, Floats]:
    """Return the bounds of the central 95 % of the values, over the last axis."""
    tail = 50 * (1 - CONFIDENCE_LEVEL)
    low, high = np.percentile(values, [tail, 100 - tail], axis=-1)
    return low, high


def _build_curve(names: tuple[str, ...], steps: Ints, path: Floats) -> EloCurve:
    """Build the curve from the ratings `path` [point, contestant, order] after the numbers of
    battles `steps`: the first order is the plan's, the others give the band."""
    shuffled = path[:, :, 1:]
    if not shuffled.shape[2]:
        return EloCurve(names, steps, path[:, :, 0])
    return EloCurve(names, steps, path[:, :, 0], *_central_band(shuffled))


def _rating_table(
    data: Battles, final: Floats, orders: int, settings: EloSettings
) -> dict[str, EloRating]:
    """Return contestant -> rating, best first, from the final ratings [contestant, order]: plan
    order, then `orders` shuffles, then the bootstrap samples."""
    shuffled, resampled = final[:, 1 : 1 + orders], final[:, 1 + orders :]
    order_band = _central_band(shuffled) if shuffled.shape[1] else None
    sampling = _central_band(resampled) if resampled.shape[1] else None
    seen = items_per_contestant(data)
    rounds = f", item bootstrap, {resampled.shape[1]} rounds" if sampling else ""
    table = {}
    for row in np.argsort(-final[:, 0], kind="stable"):
        played = int(data.match_counts[row])
        inside = sampling if played else None
        outside = inside and not inside[0][row] <= final[row, 0] <= inside[1][row]
        inside = None if outside else inside
        estimate = Estimate(
            value=float(final[row, 0]),
            low=float(inside[0][row]) if inside else None,
            high=float(inside[1][row]) if inside else None,
            n=played,
            items=int(seen[row]),
            unit="Elo",
            level=CONFIDENCE_LEVEL,
            method=f"online Elo, K {settings.k:g}{rounds}",
            note=_rating_note(played, data.items) or OUTSIDE_INTERVAL_NOTE * bool(outside),
        )
        band = order_band if played else None
        table[data.names[row]] = EloRating(
            estimate,
            order_low=float(band[0][row]) if band else None,
            order_high=float(band[1][row]) if band else None,
            matches=played,
        )
    return table


def _rating_note(played: int, items: int) -> str:
    if not played:
        return "no readable verdict yet: the rating is the starting value"
    return "one item: no interval and no other order" if items < 2 else ""


def items_per_contestant(data: Battles) -> Ints:
    """Number of items in which each contestant has a battle."""
    seen = np.zeros((len(data.names), data.items), bool)
    seen[data.first, data.item] = True
    seen[data.second, data.item] = True
    return np.asarray(seen.sum(axis=1))


@dataclass(frozen=True, slots=True)
class EloState:
    """State of a live rating, from which the rating is continued with the next rows: contestant ->
    rating, contestant -> number of battles, and the number of all battles."""

    ratings: Mapping[str, float] = field(default_factory=dict)
    matches: Mapping[str, int] = field(default_factory=dict)
    battles: int = 0


def advance_elo(
    state: EloState, rows: pd.DataFrame, *, settings: EloSettings | None = None
) -> tuple[EloState, EloCurve]:
    """Continue a live rating with new rows; return the new state and the curve of ratings.

    Rating a frame in several pieces gives the same result as rating it at once. New contestants
    start at `settings.start`; rows that are no battle change no rating. The first point of the
    curve is the given state, followed by one point per new battle.
    """
    chosen = settings or EloSettings()
    data = extract_battles(rows)
    names = (*state.ratings, *(name for name in data.names if name not in state.ratings))
    code = {name: place for place, name in enumerate(names)}
    local = [code[name] for name in data.names]
    rating = [state.ratings.get(name, chosen.start) for name in names]
    path = np.empty((len(data) + 1, len(names)))
    path[0] = rating
    for step, row in enumerate(rows_in_plan_order(data).tolist(), start=1):
        ours, theirs = local[int(data.first[row])], local[int(data.second[row])]
        expected = chosen.expected_score(rating[ours], rating[theirs])
        gain = chosen.k * (float(data.outcome[row]) - expected)
        rating[ours] += gain
        rating[theirs] -= gain
        path[step] = rating
    matches = {name: state.matches.get(name, 0) for name in names}
    for name, more in zip(data.names, data.match_counts.tolist(), strict=True):
        matches[name] += more
    total = state.battles + len(data)
    ratings = dict(zip(names, rating, strict=True))
    return EloState(ratings, matches, total), EloCurve(
        names, np.arange(state.battles, total + 1), path
    )
