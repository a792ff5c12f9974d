"""Scores of a night (a nightly run of a study) by item: quality, coverage and consistency of each
judge with each prompt.

A score is a whole number of sixtieths, so that means of up to six calls are exact integers. Higher
is better.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.measures import GroupedFrame
from studies.frames.frame import NO_PICK, SEP, TIE

SCALE: Final = 60
Kind = Literal["accuracy", "agreement", "coverage", "consistency"]


class Stream(NamedTuple):
    """One series of nights: a judge, a prompt and a kind of score (accuracy, agreement with the
    other nights, coverage or consistency)."""

    judge: str
    prompt: str
    kind: Kind


NightScores = Mapping[Stream, Mapping[str, str]]
"""Stream -> item -> outcome: a score in sixtieths written as text ("45") or, for the kind
"agreement", the verdicts of all calls on the item as one text."""


def score_night(frame: pd.DataFrame) -> dict[Stream, dict[str, str]]:
    """Return the outcomes of one night: stream -> item -> outcome (see `NightScores`).

    Each judge with each prompt has a stream of accuracy (if no better answers are known: of
    agreement with the other nights), one of coverage (share of usable replies) and, if comparisons
    were made in several orders, one of consistency.
    """
    machine = row_selection.select_rows(frame, ~row_selection.people_mask(frame))
    found: dict[Stream, dict[str, str]] = {}
    for judge, prompt in row_selection.observed_combinations(machine, ("judge", "prompt")):
        own = (machine["judge"] == judge) & (machine["prompt"] == prompt)
        rows = row_selection.select_rows(machine, own & ~machine["noise"])
        picks = row_selection.select_picks(rows)
        known = row_selection.select_rows(picks, picks["truth"] >= 0)
        if (rows["truth"] >= 0).any():
            right = (known["pick"] == known["truth"]).to_numpy()
            found[Stream(judge, prompt, "accuracy")] = _mean_scores(known, right)
        else:
            found[Stream(judge, prompt, "agreement")] = _verdict_texts(rows)
        usable = row_selection.evidence_mask(rows)
        found[Stream(judge, prompt, "coverage")] = _mean_scores(rows, usable)
        sets = GroupedFrame(rows).order_sets
        if (rows["orders"] > 1).any():
            same = sets["consistent"].to_numpy(bool)
            found[Stream(judge, prompt, "consistency")] = _mean_scores(sets, same)
    return found


def _mean_scores(rows: pd.DataFrame, good: np.ndarray) -> dict[str, str]:
    """Return item -> share of the item's rows that are `good`, in sixtieths as text: "30" for a
    half."""
    values = pd.Series(np.asarray(good, float)).groupby(rows["item"].astype(str).to_numpy()).mean()
    return {str(item): str(round(SCALE * mean)) for item, mean in values.items()}


def _verdict_texts(rows: pd.DataFrame) -> dict[str, str]:
    """Return item -> verdicts of the item's calls, sorted by the order shown, as one text."""
    found: dict[str, list[str]] = {}
    columns = (rows[name].astype(str) for name in ("item", "shown", "labels"))
    for item, shown, labels, repeat, pick in zip(
        *columns, rows["repeat"].tolist(), rows["pick"].tolist(), strict=True
    ):
        call = f"{shown}{SEP}{labels}{SEP}{repeat}"
        found.setdefault(item, []).append(f"{call}\x1e{_verdict(shown, pick)}")
    return {item: "\x1d".join(sorted(calls)) for item, calls in found.items()}


def _verdict(shown: str, pick: int) -> str:
    if pick == NO_PICK:
        return "?"
    return "tie" if pick == TIE else shown.split(SEP)[pick]


def outcome_scores(kind: Kind, bag: Mapping[str, int]) -> dict[str, int]:
    """Return outcome -> score in sixtieths, for all outcomes (`bag`: outcome -> nights) of one
    item.

    For agreement, a night's score is the share of verdicts equal to those of another night,
    averaged over all nights of the item; the night itself is included, so that all nights are
    treated alike.
    """
    if kind != "agreement":
        return {outcome: int(outcome) for outcome in bag}
    nights = sum(bag.values())
    calls = {outcome: frozenset(outcome.split("\x1d")) for outcome in bag}
    return {
        outcome: round(
            SCALE
            * sum(count * _overlap(own, calls[other]) for other, count in bag.items())
            / nights
        )
        for outcome, own in calls.items()
    }


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one), len(other), 1)
