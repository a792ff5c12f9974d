"""Everything at once: the object that `python -m metrics --json` prints (DESIGN.md 4.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics import labels, order_tests, position, selection, wins
from metrics.bradley_terry import leaderboard
from metrics.contrasts import Contrast, contrasts
from metrics.elo import EloRating, elo_table
from metrics.entropy import entropy_split
from metrics.intervals import joined
from metrics.leaderboard import leaderboard_rows
from metrics.measures import Cell, Evidence
from metrics.parts import PARTS
from metrics.position_term import position_term
from metrics.prompt_kinds import levelled, scoring
from metrics.rating_parts import rating_parts
from metrics.verification import verification
from studies.records import STATUSES, Check, Estimate

SEED: Final = 7
"""Where no generator is given: the same records print the same numbers."""

CONTRASTED: Final = (position.CONSISTENCY, position.FIRST_SHARE, position.ACCURACY)
ELO_ORDERS: Final = 100
ELO_ROUNDS: Final = ((20_000, 200), (math.inf, 100))
"""Bootstrap rounds of online Elo up to so many verdicts: a pass is one step per battle, so beyond
this half of them go. How many there were is said in the method of each rating."""

MOST_CONTRASTS: Final = 60
"""A family beyond this is chosen by the reader on the page, not printed whole."""

WITHOUT_SUSPECTS: Final = "without_suspects"
QUICK: Final = "quick: one pass in plan order, no band and no interval"

Json = dict[str, Any]


def measure(
    frame: pd.DataFrame,
    by: Sequence[str] = (),
    rng: np.random.Generator | None = None,
    planned: int | None = None,
    combine: wins.Combine = "pooled",
    unreadable: wins.Unreadable = "exclude",
    quick: bool = False,
    checks: Mapping[str, Sequence[Check]] | None = None,
) -> Json:
    """All measures of a frame as plain data; with `by` the same again for every cell, nested.

    Judges and prompts are pooled (people's votes apart, unless there are no others), position and
    grade are by judge and prompt. Where the study names
    a rule of its own for both orders or unreadable replies, `protocol` holds its numbers. `quick`
    plays online Elo once, in plan order: its band and interval are null, and a note says so. Where
    judgements saw an injection suspect, `without_suspects` holds the numbers without them. `checks`
    are what people verified, by item: then there is `verification`.
    """
    rng = rng or np.random.default_rng(SEED)
    result = _ruled(frame, rng, planned, combine, unreadable, quick)
    if checks:
        result["verification"] = plain(verification(checks, frame))
    if by:
        evidence = Evidence(frame, by)
        cell = evidence.frame["cell"].to_numpy()
        nested: Json = {}
        for k, key in enumerate(evidence.cells if len(frame) else []):
            _put(nested, key, _pooled(frame.loc[cell == k], rng, None, quick))
        result["by"] = nested
    suspected = selection.suspected(frame)
    if suspected.any():  # last, so that it moves no other number's draws
        rest = frame.loc[~suspected]
        result[WITHOUT_SUSPECTS] = {
            "left_out": int(suspected.sum()),
            **_ruled(rest, rng, None, combine, unreadable, quick),
        }
    return result


def _ruled(
    frame: pd.DataFrame,
    rng: np.random.Generator,
    planned: int | None,
    combine: wins.Combine,
    unreadable: wins.Unreadable,
    quick: bool,
) -> Json:
    """All measures, and those by the study's own rule where it names one."""
    result = _pooled(frame, rng, planned, quick)
    if (combine, unreadable) != wins.DEFAULTS:
        result["protocol"] = _protocol(frame, combine, unreadable, rng, quick)
    return result


def _pooled(
    frame: pd.DataFrame, rng: np.random.Generator, planned: int | None, quick: bool
) -> Json:
    judged = selection.voices(frame)  # people's votes are what judges are held against
    result: Json = {
        "elo": _elo(judged, rng, quick),
        "bradley_terry": plain(leaderboard(judged)),
        "win_rate": plain(wins.win_rate(judged)),
        "head_to_head": plain(wins.head_to_head(judged)),
        "position": _position(frame, rng),
    }
    for name, part in PARTS.items():
        value = part(frame)
        if value:
            result[name] = plain(value)
    result |= {name: plain(value) for name, value in rating_parts(judged).items() if value}
    found = _contrasts(frame, rng)
    if found:
        result["contrasts"] = [_contrast(one) for one in found]
    result["counts"] = counts(frame, planned)
    return result


def _elo(frame: pd.DataFrame, rng: np.random.Generator, quick: bool) -> Json:
    rounds = next(number for most, number in ELO_ROUNDS if len(frame) <= most)
    orders = 0 if quick else ELO_ORDERS
    table = elo_table(frame, rng=rng, orders=orders, rounds=0 if quick else rounds)
    return {name: _rated(rating, quick) for name, rating in table.items()}


def _rated(rating: EloRating, quick: bool) -> Json:
    return {
        **plain(rating.estimate),
        **({"note": joined(rating.estimate.note, QUICK)} if quick else {}),
        "order_low": plain(rating.order_low),
        "order_high": plain(rating.order_high),
        "matches": rating.matches,
    }


def _protocol(
    frame: pd.DataFrame,
    combine: wins.Combine,
    unreadable: wins.Unreadable,
    rng: np.random.Generator,
    quick: bool,
) -> Json:
    frame = selection.voices(frame)
    merged = wins.outcomes(frame, combine, unreadable)
    return {
        "combine": combine,
        "unreadable": unreadable,
        "elo": _elo(merged, rng, quick),
        "bradley_terry": plain(leaderboard(merged)),
        "win_rate": plain(wins.win_rate(frame, combine, unreadable)),
        "head_to_head": plain(wins.head_to_head(frame, combine, unreadable)),
        "leaderboard": _leaderboard(frame, combine, unreadable, rng),
    }


def _leaderboard(
    frame: pd.DataFrame,
    combine: wins.Combine,
    unreadable: wins.Unreadable,
    rng: np.random.Generator,
) -> Json:
    """model -> matches, and wins over decisive head-to-heads against the reference. Five-level
    verdicts have a table of their own, as on the page: none is in it beside pairwise ones."""
    others = selection.rows_of(frame, ~(levelled(frame) | scoring(frame)))
    frame = others if len(selection.pairs(others)) else frame
    rows = leaderboard_rows(
        frame, rng=rng, combine=combine, unreadable=unreadable, orders=0, rounds=0
    )
    return {
        row.model: {
            "elo": row.elo.estimate.value,
            **{name: getattr(row, name) for name in ("matches", "wins", "losses", "ties")},
            "against_reference": plain(row.against_reference),
            "reference_matches": row.reference_matches,
        }
        for row in rows
    }


def _position(frame: pd.DataFrame, rng: np.random.Generator) -> Json:
    """judge -> prompt -> every position measure, with the position term and the tests."""
    cells = position.profile(frame, ["judge", "prompt"]) if len(frame) else {}
    evidence = Evidence(frame, ["judge", "prompt"])
    cell = evidence.frame["cell"].to_numpy()
    nested: Json = {}
    for k, key in enumerate(cells):
        rows = frame.loc[cell == k]
        values = plain(cells[key])
        values["position_term"] = plain(position_term(rows))
        values["flips"] = position.flip_counts(rows)
        values["tests"] = plain(order_tests.flip_tests(rows) | _option_tests(rows, rng))
        values["slots"] = {str(n): position.slot_counts(rows, n) for n in _sizes(rows)}
        values |= plain(_crossed(rows)) | plain(_split(rows))
        _put(nested, key, values)
    return nested


def _sizes(rows: pd.DataFrame) -> list[int]:
    """The numbers of options there are, from two on."""
    return sorted({int(n) for n in rows["options"] if n > 1})


def _option_tests(rows: pd.DataFrame, rng: np.random.Generator) -> dict[str, order_tests.Test]:
    """The within-item permutation test for each N; for pairs the sign test is that test."""
    return {
        f"permutation_{n}": order_tests.permutation_test(rows, n, rng)
        for n in _sizes(rows)
        if n > 2
    }


def _split(rows: pd.DataFrame) -> dict[str, Estimate]:
    """H(V) = E[H(V | order)] + I(V; order), where every order was repeated."""
    parts = entropy_split(rows)
    return {f"entropy_{name}": got for name, got in parts.items() if got.value is not None}


def _crossed(rows: pd.DataFrame) -> dict[str, Estimate]:
    """Slot and label effect where labels were crossed, the logit split where there are p's."""
    effects = labels.slot_and_label(rows)
    found = {f"{name}_effect": got for name, got in effects.items() if got.value is not None}
    split = labels.probability_split(rows)
    return found | {f"logit_{name}": got for name, got in split.items() if got.value is not None}


def _put(nested: Json, key: Cell, value: Json) -> None:
    for part in key[:-1]:
        nested = nested.setdefault(part, {})
    nested[key[-1]] = value


def _contrasts(frame: pd.DataFrame, rng: np.random.Generator) -> list[Contrast]:
    """Judges against judges, and prompts against prompts, on the same items."""
    machine = frame.loc[~selection.people(frame)]
    found: list[Contrast] = []
    for by in ("judge", "prompt"):
        kinds = machine[by].astype(str).nunique()
        if kinds > 1 and kinds * (kinds - 1) // 2 * len(CONTRASTED) <= MOST_CONTRASTS:
            found += contrasts(machine, [by], CONTRASTED, rng)
    return [one for one in found if one.raw.value is not None]


def _contrast(one: Contrast) -> Json:
    return {
        "measure": one.measure,
        "left": "/".join(one.left),
        "right": "/".join(one.right),
        "left_value": plain(one.left_value),
        "right_value": plain(one.right_value),
        "raw": plain(one.raw),
        "adjusted": plain(one.adjusted),
    }


def counts(frame: pd.DataFrame, planned: int | None = None) -> Json:
    """Asks planned (as far as known) and asked, noise repeats among them, and their statuses."""
    found = frame["status"].value_counts()
    return {
        "planned": len(frame) if planned is None else planned,
        "asked": len(frame),
        "noise": int(frame["noise"].sum()),
        "items": int(frame["item"].nunique()),
        "by_status": {name: int(found.get(name, 0)) for name in STATUSES},
    }


def plain(value: Any) -> Any:
    """Estimates, tables of them and numpy numbers as JSON: what is not a number is null."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
