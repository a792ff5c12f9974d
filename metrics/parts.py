"""What only some records allow: parts of the summary that are left out where there is nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

import pandas as pd

from metrics import (
    agreement,
    alignment,
    corrected,
    grade,
    grade_panel,
    jury,
    length,
    preference,
    selection,
    self_preference,
    wins,
)
from metrics.alignment_table import alignment_table
from metrics.bradley_terry import leaderboard
from metrics.choice import choice_model
from metrics.creation import creation_table
from metrics.position import ACCURACY, ENTROPY
from metrics.prompt_kinds import levelled, scoring
from metrics.voters import voters
from studies.records import Estimate

Json = dict[str, Any]


def _grade(frame: pd.DataFrame) -> Json:
    """judge -> prompt -> Grade Score and what stands beside it, for prompts that choose."""
    chooses = (frame["options"] > 2) | frame["prompt"].astype(str).str.startswith("grade-")
    prompts = set(frame["prompt"].astype(str)[chooses.to_numpy(bool)])
    rows = selection.rows_of(frame, frame["prompt"].astype(str).isin(prompts))
    nested: Json = {}
    cells = grade.grades(rows, ["judge", "prompt"]) if len(rows) else {}
    for (judge, prompt), parts in cells.items():
        own = (rows["judge"].astype(str) == judge) & (rows["prompt"].astype(str) == prompt)
        nested.setdefault(judge, {})[prompt] = parts | _beside(selection.rows_of(rows, own))
    return nested


def _beside(rows: pd.DataFrame) -> Json:
    """Pooled entropy, accuracy against ranks, contradictions, the unrelated option, if any."""
    found = {
        "pooled_entropy": ENTROPY.of(rows),
        "accuracy": ACCURACY.of(rows),
        "contradictions": grade_panel.contradictions(rows),
        "unrelated_share": grade_panel.unrelated_share(rows),
        **_by_the_authors(rows),
    }
    return {name: got for name, got in found.items() if got.value is not None}


def _by_the_authors(rows: pd.DataFrame) -> dict[str, Estimate]:
    """The three scores by the rule of the authors' code, where it counts items that ours does not:
    those with an unread trial."""
    if not grade.grade_table(rows).attrs["left_out"]:
        return {}
    got = grade.grade(rows, "gradelab")
    return {f"{name}_gradelab": got[name] for name in ("grade", "entropy", "choice")}


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


def _in_levels(frame: pd.DataFrame) -> pd.DataFrame:
    """The five-level verdicts: those of other prompts know no "much better"."""
    return selection.rows_of(frame, levelled(frame))


def _reward(frame: pd.DataFrame) -> Mapping[str, Estimate]:
    rows = _in_levels(frame)
    return preference.reward(rows, baseline_of(rows)) if len(rows) else {}


def _levels(frame: pd.DataFrame) -> Json:
    rows = _in_levels(frame)
    return preference.five_levels(rows, baseline_of(rows)) if len(rows) else {}


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
    """people -> judge -> …, voters -> person -> …, judges -> a -> b -> share of equal verdicts."""
    result: Json = {}
    human = selection.people(frame)
    if human.any():
        result["people"] = {
            judge: {**parts, **_aligned(frame, judge)}
            for (judge,), parts in agreement.people_table(frame).items()
        }
        result["always_tie"] = asdict(alignment.always_tie(frame))
        result["voters"] = {one.name: asdict(one) for one in voters(frame)}
        if (frame["margin"] == 2).any():
            result["alignment"] = _alignment(frame)
    machines = {str(name) for name in frame["judge"][~human]}
    if len(machines) > 1:
        result["judges"] = agreement.judge_matrix(frame)
    return result


def _aligned(frame: pd.DataFrame, judge: str) -> dict[str, Estimate]:
    got = alignment.alignment(frame, judge)
    return {"mae": got.mae, "within_one": got.consistency}


def _alignment(frame: pd.DataFrame) -> Json:
    """judge or person -> run -> model -> MAE and Consistency, as Creation-MMBench prints them."""
    human, levels = selection.people(frame), levelled(frame)
    if (levels & ~human).any():  # else all there is: the judge's levels are three
        frame = selection.rows_of(frame, human | levels)
    table = alignment_table(frame, baseline_of(frame))
    nested: Json = {}
    for row in [*table.rows, *table.people, *table.always_tie]:
        runs = nested.setdefault(row.judge, {}).setdefault(row.run, {})
        runs[row.model] = {"mae": row.mae, "consistency": row.consistency}
    return nested


def _creation(frame: pd.DataFrame) -> Json:
    """category -> model -> VFS, Reward, Win Rate and counts, where there are several categories."""
    rows = selection.rows_of(frame, levelled(frame) | scoring(frame))
    table = creation_table(rows, baseline_of(rows), ["category"])
    return {
        category: {row.model: {name: getattr(row, name) for name in CREATION} for row in rows}
        for (category,), rows in table.items()
        if len(table) > 1
    }


CREATION: Final = ("vfs", "baseline_vfs", "reward", "win_rate", "counts", "fail", "vfs_fail")


def _corrected(frame: pd.DataFrame) -> Json:
    """contestant -> people's win rate with the judges' help, where people voted on some pairs."""
    human = selection.people(frame)
    if not human.any() or human.all():
        return {}
    found = corrected.corrected_win_rates(frame)
    return {name: asdict(got) for name, got in found.items() if got.people.value is not None}


def _probability(frame: pd.DataFrame) -> Json:
    """Win rates and ratings by label probabilities, where a judge was read that way."""
    if "p_0" not in frame or not frame["p_0"].notna().any():
        return {}
    return {
        "win_rate": wins.win_rate(frame, outcome="probability"),
        "bradley_terry": leaderboard(frame, outcome="probability"),
    }


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


Part = Callable[[pd.DataFrame], Mapping[str, Any]]


def _judged(part: Part) -> Part:
    """Without the people's votes, which are what judges are held against."""
    return lambda frame: part(selection.voices(frame))


PARTS: Final[dict[str, Part]] = {
    "grade": _judged(_grade),
    "strength": _judged(_strength),
    "places": _judged(_places),
    "reward": _judged(_reward),
    "levels": _judged(_levels),
    "factuality": _judged(_factuality),
    "ratings": _judged(preference.ratings),
    "creation": _judged(_creation),
    "agreement": _agreement,
    "corrected": _corrected,
    "probability": _judged(_probability),
    "jury": _jury,
    "bounds": _judged(_bounds),
    "length": _judged(_length),
    "self_preference": _own_family,
}
