"""Rating engine against its peers: python -m tests.bench.bench_ratings

Each line is a ratio of two times of this one run, beside its bar. The peers are
the two forms of FastChat's arena code, written afresh here from what they do, and evalica. Peers
too slow to run in full run few rounds and are scaled; the line says so. Times are of the processor,
one process, BLAS on one thread for everybody: whoever else uses the machine moves them little.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import evalica
import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit
from threadpoolctl import threadpool_limits

import evenhand as eh
from metrics.ratings import bradley_terry_fit
from metrics.ratings.battles import Battles, count_wins_by_pair, extract_battles
from metrics.ratings.bradley_terry import ELO_PER_LOGIT, bradley_terry_ratings
from metrics.ratings.elo_orders import battle_codes_in_item_orders, play_orders
from metrics.ratings.online_elo import EloSettings
from studies.frames.battle_frame import frame_from_battles

ROUNDS = 1000
BATTLES = 1_000_000


@dataclass(frozen=True)
class Arena:
    """The same battles as strings, as integer codes, and as our coded battles."""

    table: pd.DataFrame
    names: list[str]
    first: np.ndarray
    second: np.ndarray
    outcome: np.ndarray

    def coded(self, items: int | None = None) -> Battles:
        n = len(self.first)
        rng = np.random.default_rng(3)
        item = np.arange(n) if items is None else rng.integers(0, items, n)
        zeros = np.zeros(n, np.int64)
        return Battles(
            tuple(self.names), ("all",), self.first, self.second, self.outcome, item, zeros,
            zeros + 1, items or n,
        )  # fmt: skip


def arena(models: int, battles: int) -> Arena:
    """Strengths over two logits, a fifth of ties, every pair about equally often."""
    rng = np.random.default_rng(models)
    names = [f"model-{k:03d}" for k in range(models)]
    first = rng.integers(0, models, battles)
    second = (first + rng.integers(1, models, battles)) % models
    strength = np.linspace(-1, 1, models)
    won = rng.random(battles) < expit(strength[first] - strength[second])
    outcome = np.where(rng.random(battles) < 0.2, 0.5, won * 1.0)
    label = np.array(["model_b", "tie", "model_a"])
    word = label[(2 * outcome).astype(int)]
    text = np.array(names)
    table = pd.DataFrame({"model_a": text[first], "model_b": text[second], "winner": word})
    return Arena(table, names, first, second, outcome)


# -- peer: multinomial resampling and L-BFGS per round (FastChat since September 2024) ------------


def peer_codes(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    both, names = pd.factorize(pd.concat([table["model_a"], table["model_b"]]))
    first, second = both[: len(table)], both[len(table) :]
    outcome = np.ones(len(table), np.int32)
    outcome[(table["winner"] == "model_a").to_numpy()] = 2
    outcome[(table["winner"] == "model_b").to_numpy()] = 0
    return first, second, outcome, len(names)


def peer_bootstrap(
    first: np.ndarray, second: np.ndarray, twice: np.ndarray, models: int, rounds: int
) -> np.ndarray:
    """Distinct (first, second, outcome) rows with weights; each round is fitted from zero."""
    schedule = np.column_stack([first, second, twice]).astype(np.int32)
    distinct, weight = np.unique(schedule, axis=0, return_counts=True)
    pairs, outcome = distinct[:, :2], distinct[:, 2] / 2.0
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(len(first), weight / weight.sum(), size=rounds) / len(first)
    return np.array([peer_fit(pairs, outcome, row, models) for row in drawn])


def peer_fit(pairs: np.ndarray, outcome: np.ndarray, weight: np.ndarray, models: int) -> np.ndarray:
    sign = np.array([1.0, -1.0])

    def loss(rating: np.ndarray) -> tuple[float, np.ndarray]:
        sides = rating[pairs]
        p = expit(sides[:, 0] - sides[:, 1])
        value = -((np.log(p) * outcome + np.log(1 - p) * (1 - outcome)) * weight).sum()
        pull = -(outcome - p) * weight
        gradient = np.zeros(models)
        np.add.at(gradient, pairs, pull[:, None] * sign)
        return float(value), gradient

    found = minimize(loss, np.zeros(models), jac=True, method="L-BFGS-B", options={"gtol": 1e-6})
    return np.asarray(found.x)


# -- peer: pivot tables and scikit-learn per round (FastChat until 2024) --------------------------


def historic_round(table: pd.DataFrame, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    rows = table.sample(frac=1.0, replace=True, random_state=seed)

    def pivot(word: str) -> pd.DataFrame:
        return pd.pivot_table(
            rows[rows["winner"] == word],
            index="model_a",
            columns="model_b",
            aggfunc="size",
            fill_value=0,
        )

    ties = pivot("tie")
    ties = ties + ties.T
    wins = pivot("model_a") * 2 + pivot("model_b").T * 2 + ties
    names = list(wins.index)
    pairs = [(a, b) for a in range(len(names)) for b in range(len(names)) if a != b]
    design = np.zeros((2 * len(pairs), len(names)))
    weight, target = np.zeros(2 * len(pairs)), np.zeros(2 * len(pairs))
    for row, (a, b) in enumerate(pairs):
        for half, (won, value) in enumerate((((a, b), 1.0), ((b, a), 0.0))):
            place = 2 * row + half
            design[place, a], design[place, b] = math.log(10), -math.log(10)
            weight[place], target[place] = wins.loc[names[won[0]], names[won[1]]], value
    model = LogisticRegression(fit_intercept=False, C=np.inf, tol=1e-6)
    return model.fit(design, target, sample_weight=weight).coef_[0]


# -- peer: online Elo, vectorised over rounds (FastChat since 2024) -------------------------------


def peer_elo(
    first: np.ndarray, second: np.ndarray, outcome: np.ndarray, orders: np.ndarray, models: int
) -> np.ndarray:
    """One step per battle over all rounds; `orders` is [battle, round]."""
    slope = math.log(10) / 400
    columns = np.arange(orders.shape[1])
    rating = np.zeros((orders.shape[1], models))
    for at in orders:
        a, b = first[at], second[at]
        expected = expit(slope * (rating[columns, a] - rating[columns, b]))
        step = 4.0 * (outcome[at] - expected)
        rating[columns, a] += step
        rating[columns, b] -= step
    return rating + 1000.0


# -- our side ------------------------------------------------------------------------------------


def battles_of(table: pd.DataFrame) -> Battles:
    """Battles from strings by the way of `python -m metrics`: through a frame."""
    return extract_battles(frame_from_battles(table))


def printed_ratings(table: pd.DataFrame) -> Any:
    """The section `bradley_terry` of `python -m metrics`, with its intervals, from strings."""
    return bradley_terry_ratings(frame_from_battles(table))


def seconds(work: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    """The best of a few runs: the least disturbed by whoever else uses the machine."""
    best, result = math.inf, None
    for _ in range(times):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def line(
    what: str, ratio: float, bar: float, peer: float, own: float, *, most: bool = False
) -> bool:
    """Print a ratio and its bar: at least so many times as fast, or at most as slow."""
    met = ratio <= bar if most else ratio >= bar
    sign = "<=" if most else ">="
    verdict = "met" if met else "MISSED"
    print(f"{what:<66} {ratio:9.2f}x  bar {sign} {bar:g}x  {verdict:<6}  {peer:9.3f}s / {own:.3f}s")
    return met


def ratings_against_l_bfgs(models: int, bar: float) -> list[bool]:
    """Ratings with intervals from strings: the peer's 1,000 resamples, our sandwich by item."""
    data = arena(models, BATTLES)
    rounds = ROUNDS if models <= 20 else 100
    scale = "" if rounds == ROUNDS else f", peer {rounds} rounds scaled"
    twice = (2 * data.outcome).astype(np.int32)
    coding, _ = seconds(lambda: peer_codes(data.table))
    once, _ = seconds(lambda: peer_bootstrap(data.first, data.second, twice, models, 1), 1)
    peer, theirs = seconds(
        lambda: peer_bootstrap(data.first, data.second, twice, models, rounds), 1
    )
    peer = coding + once + (peer - once) * ROUNDS / rounds
    own, mine = seconds(lambda: printed_ratings(data.table))
    widths = [mine[name].high - mine[name].low for name in data.names]
    theirs = 2 * 1.96 * ELO_PER_LOGIT * theirs.std(axis=0)
    told = f"ratings and intervals of {models} models, 1M battles, from strings{scale}"
    met = line(told, peer / own, bar, peer, own)
    spread = theirs / np.array(widths)
    print(
        f"    (width of the peer's intervals over ours: {spread.min():.3f} to {spread.max():.3f})"
    )
    return [met]


def ratings_against_history() -> list[bool]:
    data = arena(20, BATTLES)
    own, _ = seconds(lambda: printed_ratings(data.table))
    try:
        import sklearn  # noqa: F401
    except ImportError:
        print("per-round pandas pivot + scikit-learn: scikit-learn is absent, not measured")
        return []
    start = time.process_time()
    for seed in range(5):
        historic_round(data.table, seed)
    peer = (time.process_time() - start) * ROUNDS / 5
    return [
        line("the same against pivot + scikit-learn, 5 rounds scaled", peer / own, 1000, peer, own)
    ]


def elo_against_vectorised() -> list[bool]:
    data = arena(20, 100_000)
    rng = np.random.default_rng(0)
    lineups = [rng.permutation(100_000) for _ in range(100)]
    settings = EloSettings()
    coded = data.coded()

    def own_work() -> np.ndarray:
        every = battle_codes_in_item_orders(coded, lineups)[1:]
        none = np.zeros(1, np.int64)
        return play_orders(coded, every, k=4.0, slope=settings.slope, steps=none, curves=1)[0]

    columns = np.ascontiguousarray(np.array(lineups).T)
    own, mine = seconds(own_work)
    peer, theirs = seconds(lambda: peer_elo(data.first, data.second, data.outcome, columns, 20), 2)
    print(f"    (largest difference of the two: {np.abs(mine.T + 1000 - theirs).max():.2e} Elo)")
    return [line("online Elo, 100 orders x 100k battles", peer / own, 1.3, peer, own)]


def items_against_plain() -> list[bool]:
    """The cost of intervals by item, for 1,000 items, against one item for each battle."""
    data = arena(20, BATTLES)

    def fit(coded: Battles) -> Any:
        counts = count_wins_by_pair(coded)
        theta = bradley_terry_fit.fit_strengths(counts)
        return bradley_terry_fit.strength_covariance(counts, theta)

    plain, by_item = data.coded(), data.coded(1000)
    once, _ = seconds(lambda: fit(plain), 5)
    item, _ = seconds(lambda: fit(by_item), 5)
    return [line("intervals by item (1000 items) against plain", item / once, 3, item, once,
                 most=True)]  # fmt: skip


def agreement_with_evalica() -> list[bool]:
    data = arena(20, 100_000)
    winners = np.array([evalica.Winner.Y, evalica.Winner.Draw, evalica.Winner.X])
    words = winners[(2 * data.outcome).astype(int)].tolist()
    firsts, seconds_ = data.table["model_a"].tolist(), data.table["model_b"].tolist()
    peer, theirs = seconds(
        lambda: evalica.bradley_terry(firsts, seconds_, words, tolerance=1e-14, limit=10_000), 1
    )
    own, mine = seconds(
        lambda: bradley_terry_fit.fit_strengths(count_wins_by_pair(battles_of(data.table)))
    )
    log = np.log(theirs.scores[data.names].to_numpy())
    gap = float(np.abs((log - log.mean()) - mine).max()) * ELO_PER_LOGIT
    print(f"evalica, 100k battles: fit {peer:.3f}s, ours {own:.3f}s, from strings")
    print(f"Bradley–Terry: largest difference {gap:.1e} Elo, bar <= 1e-6")
    their_elo = evalica.elo(firsts, seconds_, words).scores[data.names].to_numpy()
    coded = data.coded()
    at, plan = np.zeros(1, np.int64), battle_codes_in_item_orders(coded, [])
    slope = EloSettings().slope
    elo_time, (final, _) = seconds(
        lambda: play_orders(coded, plan, k=4.0, slope=slope, steps=at, curves=1), 1
    )
    difference = float(np.abs(final[:, 0] + 1000 - their_elo).max())
    print(
        f"online Elo: largest difference {difference:.1e} Elo, bar <= 1e-9 "
        f"({elo_time:.2f}s for one order)"
    )
    return [gap <= 1e-6, difference <= 1e-9]


def library_against_evalica() -> list[bool]:
    """`eh.elo` and `eh.bradley_terry` from columns of texts, 100,000 rows; evalica gets lists and
    its own winners. Bradley–Terry has its intervals, Elo the ratings alone."""
    data = arena(20, 100_000)
    columns = (data.table["model_a"], data.table["model_b"], data.table["winner"])
    winners = np.array([evalica.Winner.Y, evalica.Winner.Draw, evalica.Winner.X])
    words = winners[(2 * data.outcome).astype(int)].tolist()
    lists = (columns[0].tolist(), columns[1].tolist(), words)
    met = []
    for name, own_work, peer_work in (
        ("eh.elo, ratings alone", lambda: eh.elo(*columns, intervals=False), evalica.elo),
        ("eh.bradley_terry", lambda: eh.bradley_terry(*columns), evalica.bradley_terry),
    ):
        own, mine = seconds(own_work, 5)
        peer, theirs = seconds(lambda work=peer_work: work(*lists), 5)
        what = f"{name}, 100k rows, time over evalica's"
        met.append(line(what, own / peer, 2, peer, own, most=True))
        assert len(mine) == len(theirs.scores)
    return met


def library_memory() -> list[bool]:
    """Most memory of a process that rates 1,000,000 rows with the library."""
    code = (
        "import resource, evenhand as eh; from tests.bench.bench_ratings import arena, BATTLES; "
        "t = arena(20, BATTLES).table; c = (t.model_a, t.model_b, t.winner); "
        "assert len(eh.bradley_terry(*c)) == len(eh.elo(*c, intervals=False)) == 20; "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    memory = float(done.stdout)
    print(f"eh.elo and eh.bradley_terry on 1M rows: {memory:,.0f} MB at most, bar < 2,000 MB")
    return [memory < 2000]


def everything_from_a_file() -> list[bool]:
    """1M battles read, coded, fitted and bootstrapped in one go: `python -m metrics FILE`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "battles.csv"
        data = arena(20, BATTLES)
        item = np.random.default_rng(3).integers(0, 1000, BATTLES)
        data.table.assign(item=item).to_csv(path, index=False)
        started = time.perf_counter()
        command = [sys.executable, "-m", "metrics", str(path), "--json"]
        done = subprocess.run(command, capture_output=True, check=True)
        wall = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    ratings = json.loads(done.stdout)["bradley_terry"]
    memory = used.ru_maxrss / 1024
    print(
        f"python -m metrics on 1M battles of 1,000 items: {memory:,.0f} MB at most, "
        f"bar < 2,000 MB; {used.ru_utime:.0f} s of CPU, {wall:.0f} s"
    )
    return [memory < 2000 and len(ratings) == 20]


def main() -> int:
    """Print everything; the exit code says whether every bar was met."""
    print("work" + " " * 67 + "ratio   bar            peer / ours")
    met: list[bool] = []
    with threadpool_limits(limits=1, user_api="blas"):
        met += ratings_against_l_bfgs(20, 6)
        met += ratings_against_l_bfgs(100, 6)
        met += ratings_against_history()
        met += elo_against_vectorised()
        met += items_against_plain()
        met += agreement_with_evalica()
        met += library_against_evalica()
    met += library_memory()
    met += everything_from_a_file()
    print(f"{sum(met)} of {len(met)} bars met")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
