"""Battles for tests: frames from counts, random battles, evalica's golden files."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from studies.domain import STATUSES
from studies.frames.battle_frame import frame_from_battles
from studies.frames.frame import NO_PICK, SEP, TIE
from tests.metrics.frames import records

Counts = tuple[Any, ...]
"""(first, second, first wins, second wins[, ties])"""

WORDS = {"left": "model_a", "right": "model_b", "tie": "tie"}


def duels(counts: list[Counts], *, judge: str = "all") -> pd.DataFrame:
    """Each verdict is an item of its own."""
    rows: list[tuple[str, str, str, str]] = []
    for first, second, won, lost, *ties in counts:
        rows += [(first, second, "model_a", judge)] * won
        rows += [(first, second, "model_b", judge)] * lost
        rows += [(first, second, "tie", judge)] * (ties[0] if ties else 0)
    return frame_from_battles(pd.DataFrame(rows, columns=["model_a", "model_b", "winner", "judge"]))


Battle = tuple[int, str, str, Any]
"""(item, first, second, pick)"""


def fought(battles: list[Battle]) -> pd.DataFrame:
    """The frame of these battles, put together from codes: laws build thousands of them."""
    names = sorted({name for _, *pair, _ in battles for name in pair})
    pick = [NO_PICK if p is None else TIE if p == "tie" else p for *_, p in battles]
    n = len(battles)
    return pd.DataFrame(
        {
            "item": pd.Categorical([str(item) for item, *_ in battles]),
            "judge": pd.Categorical(["j"] * n),
            "prompt": pd.Categorical(["p"] * n),
            "shown": pd.Categorical([SEP.join(pair) for _, *pair, _ in battles]),
            "labels": pd.Categorical([f"A{SEP}B"] * n),
            "options": np.full(n, 2, np.int8),
            "noise": np.zeros(n, bool),
            "status": pd.Categorical(
                ["unreadable" if p is None else "ok" for *_, p in battles], list(STATUSES)
            ),
            "pick": np.array(pick, np.int8),
            "margin": (np.array(pick) >= 0).astype(np.int8),
            "first": pd.Categorical([first for _, first, _, _ in battles], names),
            "second": pd.Categorical([second for _, _, second, _ in battles], names),
        }
    )


def some_battles(least: int = 1, readable: bool = False) -> st.SearchStrategy[list[Battle]]:
    """Battles among four contestants on five items; some unreadable unless told otherwise."""
    picks = [0, 1, "tie"] if readable else [0, 1, "tie", None]
    pairs = st.permutations(["a", "b", "c", "d"]).map(lambda names: names[:2])
    one = st.tuples(st.integers(0, 4), pairs, st.sampled_from(picks))
    battle = one.map(lambda drawn: (drawn[0], *drawn[1], drawn[2]))
    return st.lists(battle, min_size=least, max_size=40)


def golden(name: str, algorithm: str) -> tuple[pd.DataFrame, pd.Series]:
    """Evalica's battles in file order, and the scores it published for them."""
    table = pd.read_csv(records("evalica", f"{name}.csv"), dtype={"left": str, "right": str})
    scores = pd.read_csv(records("evalica", f"{name}-golden.csv"), dtype={"item": str})
    chosen = scores[scores["algorithm"] == algorithm].set_index("item")["score"]
    winner = table["winner"].map(WORDS)
    arena = pd.DataFrame({"model_a": table.left, "model_b": table.right, "winner": winner})
    return frame_from_battles(arena), chosen


def simulated(
    rng: np.random.Generator, items: int, *, spread: float = 0.7, bias: float = 0.4
) -> pd.DataFrame:
    """Four contestants, all pairs in both orders per item, with item effects, bias and ties."""
    names = ("a", "b", "c", "d")
    strength = np.array([0.8, 0.3, -0.3, -0.8])
    rows = []
    for item in range(items):
        here = strength + rng.normal(0, spread, 4)
        for i in range(4):
            for j in range(4):
                if i == j:
                    continue
                p = 1 / (1 + math.exp(here[j] - here[i] - bias))
                pick: Any = "tie" if rng.random() < 0.15 else int(rng.random() > p)
                rows.append((item, names[i], names[j], pick))
    return fought(rows)


def numbers(result: Any) -> list[float]:
    """Every number in a result, however deep."""
    if isinstance(result, float | int) and not isinstance(result, bool):
        return [float(result)]
    if isinstance(result, np.ndarray):
        return [float(x) for x in result.ravel()]
    if isinstance(result, dict):
        return [x for value in result.values() for x in numbers(value)]
    if isinstance(result, list | tuple):
        return [x for value in result for x in numbers(value)]
    if is_dataclass(result):
        return [x for part in fields(result) for x in numbers(getattr(result, part.name))]
    return []


def all_finite(result: Any) -> bool:
    return all(math.isfinite(x) for x in numbers(result))
