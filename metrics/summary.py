"""Everything at once: the object that `python -m metrics --json` prints (DESIGN.md 4.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics import (
    agreement,
    grade,
    jury,
    labels,
    length,
    order_tests,
    position,
    preference,
    selection,
    self_preference,
    wins,
)
from metrics.bradley_terry import leaderboard
from metrics.choice import choice_model
from metrics.contrasts import Contrast, contrasts
from metrics.elo import elo_table
from metrics.entropy import entropy_split
from metrics.intervals import joined
from metrics.measures import Cell, Evidence
from metrics.position_term import position_term
from metrics.rating_parts import rating_parts
from studies.records import STATUSES, Estimate

SEED: Final = 7
"""Where no generator is given: the same records print the same numbers."""

CONTRASTED: Final = (position.CONSISTENCY, position.FIRST_SHARE, position.ACCURACY)
ELO_ORDERS: Final = 100
ELO_ROUNDS: Final = ((20_000, 200), (math.inf, 100))
"""Bootstrap rounds of online Elo up to so many verdicts: a pass is one step per battle, so beyond
this half of them go. How many there were is said in the method of each rating."""

MOST_CONTRASTS: Final = 60
"""A family beyond this is chosen by the reader on the page, not printed whole."""

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
) -> Json:
    """All measures of a frame as plain data; with `by` the same again for every cell, nested.

    Judges and prompts are pooled, position and grade are by judge and prompt. Where the study names
    a rule of its own for both orders or unreadable replies, `protocol` holds its numbers. `quick`
    plays online Elo once, in plan order: its band and interval are null, and a note says so.
    """
    rng = rng or np.random.default_rng(SEED)
    result = _pooled(frame, rng, planned, quick)
    if (combine, unreadable) != wins.DEFAULTS:
        result["protocol"] = _protocol(frame, combine, unreadable, rng, quick)
    if by:
        evidence = Evidence(frame, by)
        cell = evidence.frame["cell"].to_numpy()
        nested: Json = {}
        for k, key in enumerate(evidence.cells if len(frame) else []):
            _put(nested, key, _pooled(frame.loc[cell == k], rng, None, quick))
        result["by"] = nested
    return result


def _pooled(
    frame: pd.DataFrame, rng: np.random.Generator, planned: int | None, quick: bool
) -> Json:
    result: Json = {
        "elo": _elo(frame, rng, quick),
        "bradley_terry": plain(leaderboard(frame)),
        "win_rate": plain(wins.win_rate(frame)),
        "head_to_head": plain(wins.head_to_head(frame)),
        "position": _position(frame, rng),
    }
    for name, part in PARTS.items():
        value = part(frame)
        if value:
            result[name] = plain(value)
    result |= {name: plain(value) for name, value in rating_parts(frame).items() if value}
    found = _contrasts(frame, rng)
    if found:
        result["contrasts"] = [_contrast(one) for one in found]
    result["counts"] = counts(frame, planned)
    return result


def _elo(frame: pd.DataFrame, rng: np.random.Generator, quick: bool) -> Json:
    rounds = next(number for most, number in ELO_ROUNDS if len(frame) <= most)
    orders = 0 if quick else ELO_ORDERS
    table = elo_table(frame, rng=rng, orders=orders, rounds=0 if quick else rounds)
    return {
        name: {
            **plain(rating.estimate),
            **({"note": joined(rating.estimate.note, QUICK)} if quick else {}),
            "order_low": plain(rating.order_low),
            "order_high": plain(rating.order_high),
            "matches": rating.matches,
        }
        for name, rating in table.items()
    }


def _protocol(
    frame: pd.DataFrame,
    combine: wins.Combine,
    unreadable: wins.Unreadable,
    rng: np.random.Generator,
    quick: bool,
) -> Json:
    merged = wins.outcomes(frame, combine, unreadable)
    return {
        "combine": combine,
        "unreadable": unreadable,
        "elo": _elo(merged, rng, quick),
        "bradley_terry": plain(leaderboard(merged)),
        "win_rate": plain(wins.win_rate(frame, combine, unreadable)),
        "head_to_head": plain(wins.head_to_head(frame, combine, unreadable)),
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


# -- what only some records allow ----------------------------------------------------------------


def _grade(frame: pd.DataFrame) -> Json:
    """judge -> prompt -> Grade Score, for prompts that choose among options."""
    chooses = (frame["options"] > 2) | frame["prompt"].astype(str).str.startswith("grade-")
    prompts = set(frame["prompt"].astype(str)[chooses.to_numpy(bool)])
    rows = selection.rows_of(frame, frame["prompt"].astype(str).isin(prompts))
    nested: Json = {}
    for key, parts in grade.grades(rows, ["judge", "prompt"]).items() if len(rows) else ():
        _put(nested, key, parts)
    return nested


def _strength(frame: pd.DataFrame) -> Mapping[str, Estimate]:
    return choice_model(frame, least=3).strength if (frame["options"] > 2).any() else {}


def _places(frame: pd.DataFrame) -> Json:
    """N -> effect of each place and each label, from the same conditional logit."""
    if not (frame["options"] > 2).any():
        return {}
    model = choice_model(frame, least=3)
    return {str(n): list(effects) for n, effects in model.slots.items()} | (
        {"labels": model.labels} if model.labels else {}
    )


def _reward(frame: pd.DataFrame) -> Mapping[str, Estimate]:
    return preference.reward(frame, baseline_of(frame)) if (frame["margin"] == 2).any() else {}


def _levels(frame: pd.DataFrame) -> Json:
    return preference.five_levels(frame, baseline_of(frame)) if (frame["margin"] == 2).any() else {}


def baseline_of(frame: pd.DataFrame) -> str | None:
    """The contestant that plays in every pair, where there are at least two others."""
    rows = selection.pairs(frame)
    names = selection.contestants(rows)
    everywhere = [
        name for name in names if ((rows["first"] == name) | (rows["second"] == name)).all()
    ]
    return everywhere[0] if len(names) > 2 and everywhere else None


def _factuality(frame: pd.DataFrame) -> Mapping[str, Estimate]:
    return preference.factuality(frame, baseline_of(frame))


def _agreement(frame: pd.DataFrame) -> Json:
    """people -> judge -> …, and judges -> a -> b -> share of equal verdicts."""
    result: Json = {}
    human = selection.people(frame)
    if human.any():
        result["people"] = {
            judge: {**parts, **_aligned(frame, judge)}
            for (judge,), parts in agreement.people_table(frame).items()
        }
        result["always_tie"] = asdict(agreement.always_tie(frame))
    machines = {str(name) for name in frame["judge"][~human]}
    if len(machines) > 1:
        result["judges"] = agreement.judge_matrix(frame)
    return result


def _aligned(frame: pd.DataFrame, judge: str) -> dict[str, Estimate]:
    got = agreement.alignment(frame, judge)
    return {"mae": got.mae, "within_one": got.consistency}


def _length(frame: pd.DataFrame) -> Mapping[str, Any]:
    longer = length.length_preference(frame)
    if longer.value is None:
        return {}
    baseline = baseline_of(frame)
    controlled = length.length_controlled(frame, baseline) if baseline else {}
    return {"longer": longer, "controlled": controlled}


def _own_family(frame: pd.DataFrame) -> Mapping[str, Any]:
    if "family" not in frame:
        return {}
    return {
        "against_people": self_preference.self_preference(frame),
        "term": self_preference.self_term(frame),
    }


def _jury(frame: pd.DataFrame) -> Mapping[str, Any]:
    machine = frame.loc[~selection.people(frame)]
    if machine["judge"].astype(str).nunique() < 3:
        return {}
    got = jury.jury(machine)
    return {
        "panel": list(got.panel),
        "coverage": got.coverage,
        "win_rate": got.win_rate,
        "bounds": got.bounds,
    }


def _bounds(frame: pd.DataFrame) -> Mapping[str, Estimate]:
    return wins.manski(frame) if not selection.evidence(frame).all() else {}


PARTS: Final[dict[str, Callable[[pd.DataFrame], Mapping[str, Any]]]] = {
    "grade": _grade,
    "strength": _strength,
    "places": _places,
    "reward": _reward,
    "levels": _levels,
    "factuality": _factuality,
    "ratings": preference.ratings,
    "agreement": _agreement,
    "jury": _jury,
    "bounds": _bounds,
    "length": _length,
    "self_preference": _own_family,
}


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
    if isinstance(value, Estimate | order_tests.Test):
        return {key: plain(one) for key, one in asdict(value).items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
