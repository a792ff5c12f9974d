"""The one narrow table that metrics read: integer codes and categoricals, no texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from studies.records import EVIDENCE, STATUSES, Preference
from studies.truth import best

TIE: Final = -1
NO_PICK: Final = -2
SEP: Final = "\x1f"
"""Joins contestants (or labels) into one category; a control character no name may contain."""

_BATTLE_PICKS: Final = {
    "model_a": 0,
    "model_b": 1,
    "tie": TIE,
    "tie (bothbad)": TIE,
    "both_bad": TIE,
}


def frame_from_battles(table: pd.DataFrame) -> pd.DataFrame:
    """Arena battles (`model_a` shown first) as a frame; without an item column a row is an item.

    A winner outside the known words is an error that names its row: a guess would be evidence.
    """
    missing = {"model_a", "model_b", "winner"} - set(table.columns)
    if missing:
        raise ValueError(
            f"battles need the columns model_a, model_b, winner; missing: {', '.join(sorted(missing))}"
        )
    pick = table["winner"].map(_BATTLE_PICKS)
    if pick.isna().any():
        row = int(np.flatnonzero(pick.isna().to_numpy())[0])
        raise ValueError(
            f"row {row + 1}: winner is {table['winner'].iloc[row]!r}; "
            f"known: {', '.join(_BATTLE_PICKS)}"
        )
    n = len(table)
    first, second = table["model_a"].astype(str), table["model_b"].astype(str)
    names = sorted(set(first) | set(second))
    swapped = (first > second).to_numpy()
    low = np.where(swapped, second, first)
    high = np.where(swapped, first, second)

    def column(name: str, default: str) -> pd.Series:
        values = table[name].astype(str) if name in table else pd.Series([default] * n)
        return values.astype("category").reset_index(drop=True)

    item = table["item"].astype(str) if "item" in table else pd.Series(np.arange(n)).astype(str)
    frame = pd.DataFrame(
        {
            "study": pd.Categorical(["battles"] * n),
            "item": item.astype("category").reset_index(drop=True),
            "category": column("category", ""),
            "judge": column("judge", "all"),
            "prompt": column("prompt", "all"),
            "shown": pd.Categorical(first.str.cat(second, sep=SEP)),
            "labels": pd.Categorical([f"A{SEP}B"] * n),
            "comparison": pd.Categorical(
                [SEP.join(names) for names in zip(low, high, strict=True)]
            ),
            "options": np.full(n, 2, np.int8),
            "repeat": np.zeros(n, np.int16),
            "noise": np.zeros(n, bool),
            "status": pd.Categorical(["ok"] * n, categories=list(STATUSES)),
            "pick": pick.to_numpy(np.int8),
            "margin": (pick.to_numpy() >= 0).astype(np.int8),
            "truth": np.full(n, NO_PICK, np.int8),
            "first": pd.Categorical(first, categories=names),
            "second": pd.Categorical(second, categories=names),
        }
    )
    keys = ["item", "comparison", "judge", "prompt"]
    orders = frame.groupby(keys, observed=True)["shown"].transform("nunique")
    frame.insert(9, "orders", orders.astype(np.int16))
    seen = frame.groupby([*keys, "shown"], observed=True).cumcount()
    frame["repeat"] = seen.astype(np.int16)
    return frame


def frame_from_rows(
    rows: Sequence[tuple[Any, ...]],
    items: Mapping[str, Mapping[str, Any]],
    *,
    study: str,
    families: Mapping[str, str] | None = None,
    judge_families: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """The frame of a study from `Store.narrow_rows` and `Store.narrow_items`.

    This is the one place where a slot becomes a contestant: `first`, `second`, `truth`.
    """
    columns = list(zip(*rows, strict=True)) if rows else [()] * 15
    (_, item, judge, prompt, shown, labels, repeat, noise, orders, status, pick, margin, scores,
     probabilities, seq) = columns  # fmt: skip
    shown_codes, arrangements = pd.factorize(np.asarray(shown, dtype=object))
    parts = [tuple(str(text).split(SEP)) for text in arrangements]
    item_codes, item_names = pd.factorize(np.asarray(item, dtype=object))
    facts = _item_facts(item_codes, item_names, shown_codes, parts, items)
    frame = pd.DataFrame(
        {
            "study": _coded(np.zeros(len(rows), np.int8), [study]),
            "item": _coded(item_codes, [str(name) for name in item_names]),
            "category": _categories(item_codes, item_names, items),
            "judge": pd.Categorical(judge),
            "prompt": pd.Categorical(prompt),
            "shown": _coded(shown_codes, [str(text) for text in arrangements]),
            "labels": pd.Categorical(labels),
            "comparison": _sorted_names(shown_codes, parts),
            "options": _of(shown_codes, [len(names) for names in parts], np.int8),
            "orders": np.asarray(orders, np.int16),
            "repeat": np.asarray(repeat, np.int16),
            "noise": np.asarray(noise, bool),
            "status": pd.Categorical(status, categories=list(STATUSES)),
            "pick": _whole(pick, NO_PICK),
            "margin": _whole(margin, 0),
            "truth": facts["truth"],
            "seq": np.asarray(seq, np.int64),
        }
    )
    frame.loc[~frame["status"].isin(list(EVIDENCE)), ["pick", "margin"]] = (NO_PICK, 0)
    _add_contestants(frame, shown_codes, parts)
    _add_numbers(frame, "score", scores, parts)
    _add_numbers(frame, "p", probabilities, parts)
    for name, values in facts.items():
        if name != "truth":
            frame[name] = values
    _add_families(frame, shown_codes, parts, families or {}, judge_families or {})
    return frame


def _coded(codes: np.ndarray, names: Sequence[str]) -> pd.Categorical[str]:
    return pd.Categorical.from_codes(codes, pd.Index(list(names), dtype=object))


def _of(codes: np.ndarray, values: Sequence[Any], dtype: Any) -> np.ndarray:
    return np.asarray(values, dtype)[codes] if len(values) else np.zeros(len(codes), dtype)


def _whole(values: Sequence[int | None], default: int) -> np.ndarray:
    return np.asarray([default if value is None else value for value in values], np.int8)


def _categories(
    codes: np.ndarray, names: np.ndarray, items: Mapping[str, Mapping[str, Any]]
) -> pd.Categorical[str]:
    of_item = [str(items.get(str(name), {}).get("category", "")) for name in names]
    known = sorted(set(of_item))
    return _coded(_of(codes, [known.index(c) for c in of_item], np.int32), known)


def _sorted_names(codes: np.ndarray, parts: Sequence[tuple[str, ...]]) -> pd.Categorical[str]:
    names = [SEP.join(sorted(part)) for part in parts]
    known = sorted(set(names))
    return _coded(_of(codes, [known.index(n) for n in names], np.int32), known)


def _add_contestants(
    frame: pd.DataFrame, codes: np.ndarray, parts: Sequence[tuple[str, ...]]
) -> None:
    known = sorted({name for part in parts for name in part})
    for slot, column in enumerate(("first", "second")):
        of_shown = [known.index(p[slot]) if len(p) > slot else -1 for p in parts]
        frame[column] = _coded(_of(codes, of_shown, np.int32), known)


def _add_numbers(
    frame: pd.DataFrame, prefix: str, texts: Sequence[str | None], parts: Sequence[tuple[str, ...]]
) -> None:
    """Scores or probabilities in shown order, one column a slot; no column if nobody has any."""
    if not any(texts):
        return
    width = max(len(part) for part in parts)
    table = np.full((len(texts), width), np.nan, np.float32)
    for row, text in enumerate(texts):
        if text:
            values = json.loads(text)[:width]
            table[row, : len(values)] = values
    for slot in range(width):
        frame[f"{prefix}_{slot}"] = table[:, slot]


def _item_facts(
    item_codes: np.ndarray,
    item_names: np.ndarray,
    shown_codes: np.ndarray,
    parts: Sequence[tuple[str, ...]],
    items: Mapping[str, Mapping[str, Any]],
) -> dict[str, np.ndarray]:
    """Truth and answer lengths, computed once for each (item, arrangement) and spread over rows."""
    if not len(item_codes):
        return {"truth": np.zeros(0, np.int8)}
    pairs = item_codes.astype(np.int64) * len(parts) + shown_codes
    unique, inverse = np.unique(pairs, return_inverse=True)
    width = max(len(part) for part in parts)
    truth = np.full(len(unique), NO_PICK, np.int8)
    lengths = np.full((len(unique), width), -1, np.int32)
    for row, code in enumerate(unique):
        narrow = items.get(str(item_names[code // len(parts)]), {})
        part = parts[code % len(parts)]
        truth[row] = _truth_slot(narrow.get("human") or (), part)
        known = narrow.get("lengths") or {}
        lengths[row, : len(part)] = [known.get(name, -1) for name in part]
    facts = {"truth": truth[inverse]}
    if (lengths >= 0).any():
        facts |= {f"length_{slot}": lengths[inverse, slot] for slot in range(width)}
    return facts


def _truth_slot(human: Sequence[Sequence[Any]], shown: tuple[str, ...]) -> int:
    if not human or len(shown) < 2:
        return NO_PICK
    preferences = [
        Preference(judge, tuple(pair) if pair else None, picked, ranks=ranks)
        for judge, pair, picked, ranks in human
    ]
    winner = best(preferences, shown)
    return NO_PICK if winner is None else TIE if winner == "tie" else shown.index(winner)


def _add_families(
    frame: pd.DataFrame,
    codes: np.ndarray,
    parts: Sequence[tuple[str, ...]],
    families: Mapping[str, str],
    judge_families: Mapping[str, str],
) -> None:
    if not families or not any(judge_families.values()):
        return
    frame["family"] = (
        frame["judge"].map(lambda name: judge_families.get(name, "")).astype("category")
    )
    width = max((len(part) for part in parts), default=0)
    for slot in range(width):
        of_shown = [families.get(p[slot], "") if len(p) > slot else "" for p in parts]
        frame[f"family_{slot}"] = pd.Categorical(_of(codes, of_shown, object))
