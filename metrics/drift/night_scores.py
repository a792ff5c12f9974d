"""Scores of a night (a nightly run of a study) by item: quality, coverage and consistency of each
judge with each prompt.

A score is a whole number of sixtieths, so that means of up to six calls are exact integers. Higher
is better.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from metrics.catalogue import answer_records, records
from metrics.catalogue.record import BOTH_ORDERS, KNOWN_ANSWERS, MeasureRecord, Need
from metrics.estimation import measures, row_selection
from metrics.protocols.creation_levels import score_columns
from metrics.twins.twin_verdicts import DUEL, twin_verdicts
from studies.frames.frame import NO_PICK, SEP, TIE
from studies.texts.twin_families import FAMILIES

SCALE: Final = 60
Kind = str
"""Kind of a score: accuracy, agreement (with the other nights), coverage (share of usable replies),
consistency, RESISTANCE, or the key of another measure."""
RESISTANCE: Final = "resistance"
"""Kind of the score of a study's twins."""
KINDS: Final = {answer_records.UNUSABLE.key: "coverage"}
"""Key of a measure -> kind of its score in baseline files, if that is not the key."""
_CALL_SEP, _VERDICT_MARK, _NO_VERDICT = "\x1d", "\x1e", "?"
"""Characters in the text of a night's verdicts on an item: the separator of two calls, the
separator of a call and its verdict, and the mark of a missing verdict."""
CONDITIONS: Final[Mapping[Need, Callable[[pd.DataFrame], bool]]] = {
    KNOWN_ANSWERS: lambda rows: bool((rows["known_answer"] >= 0).any()),
    BOTH_ORDERS: lambda rows: bool((rows["orders"] > 1).any()),
}
"""Condition of a measure -> function that returns whether the rows of a night meet it."""


class Stream(NamedTuple):
    """One series of nights: a judge, a prompt and a kind of score, such as accuracy."""

    judge: str
    prompt: str
    kind: Kind


NightScores = Mapping[Stream, Mapping[str, str]]
"""Stream -> item -> outcome: a score in sixtieths written as text ("45") or, for the kind
"agreement", the verdicts of all calls on the item as one text."""


def night_outcomes_by_stream(
    frame: pd.DataFrame, twins: pd.DataFrame | None = None
) -> dict[Stream, dict[str, str]]:
    """Return the outcomes of one night: stream -> item -> outcome (see `NightScores`). `twins` has
    the rows that show a twin (a copy of an answer with one change), which are not in `frame`.

    Each judge with each prompt has a stream for each measure that the catalogue lists for the
    command `gate` and whose conditions the study meets: accuracy (if no better answers are known:
    agreement with the other nights), coverage (share of usable replies) and consistency. If the
    study has duels of an answer against its twin, a stream RESISTANCE has the share of their
    verdicts for the original.
    """
    machine = row_selection.select_rows(frame, ~row_selection.people_mask(frame))
    found: dict[Stream, dict[str, str]] = {}
    for judge, prompt in row_selection.observed_combinations(machine, ("judge", "prompt")):
        own = (machine["judge"] == judge) & (machine["prompt"] == prompt)
        rows = row_selection.select_rows(machine, own & ~machine["noise"])
        if not CONDITIONS[KNOWN_ANSWERS](rows):
            found[Stream(judge, prompt, "agreement")] = _verdict_text_by_item(rows)
        for record in sorted(
            records.records_listed_by("gate"), key=lambda one: one.question != "agreement"
        ):
            if all(CONDITIONS[need](rows) for need in record.needs):
                kind = KINDS.get(record.key, record.key)
                found[Stream(judge, prompt, kind)] = _scores_of_measure_by_item(record, rows)
    if twins is not None and len(twins):
        found |= _twin_duel_shares(twins, frame)
    return found


def _twin_duel_shares(twins: pd.DataFrame, frame: pd.DataFrame) -> dict[Stream, dict[str, str]]:
    """Return stream RESISTANCE of each judge and prompt -> item -> share of verdicts for the
    original in duels (an answer against its twin), in sixtieths as text. Floors (twins whose change
    cannot matter) and controls (twins with a real fault) do not count."""
    rows = twin_verdicts(twins, frame)
    moving = [one.name for one in FAMILIES.values() if one.group not in ("floor", "control")]
    rows = rows[(rows["design"] == DUEL) & rows["twin"].isin(moving) & rows["value"].notna()]
    keys = ["judge", "prompt", "name"]
    means = rows.assign(kept=1 - rows["value"]).groupby(keys)["kept"].mean().reset_index()
    found: dict[Stream, dict[str, str]] = {}
    for judge, prompt, item, mean in means.itertuples(index=False):
        stream = Stream(str(judge), str(prompt), RESISTANCE)
        found.setdefault(stream, {})[str(item)] = str(round(SCALE * mean))
    return found


def _scores_of_measure_by_item(record: MeasureRecord, rows: pd.DataFrame) -> dict[str, str]:
    """Return item -> the measure's value on the item, or 1 minus this value if low values are
    good, in sixtieths as text: "30" for a half."""
    tally = record.estimator.tally(measures.GroupedFrame(rows))
    items = tally.rows["item"].astype(str).to_numpy()
    sums = pd.DataFrame({"sum": tally.sums[:, 0], "n": tally.sums[:, -1]}).groupby(items).sum()
    means = sums["sum"] / sums["n"]
    good = 1 - means if record.better == "low" else means
    return {str(item): str(round(SCALE * mean)) for item, mean in good[sums["n"] > 0].items()}


def _verdict_text_by_item(rows: pd.DataFrame) -> dict[str, str]:
    """Return item -> verdicts of the item's calls as one text, sorted by the order shown. Unusable
    replies are left out, and so are items without a usable reply."""
    found: dict[str, list[str]] = {}
    columns = (rows[name].astype(str) for name in ("item", "shown", "labels"))
    usable = row_selection.usable_status_mask(rows)[:, np.newaxis]
    scores = np.where(usable, rows[score_columns(rows)].to_numpy(np.float64), np.nan).tolist()
    numbers = (rows["repeat"].tolist(), rows["pick"].tolist(), scores)
    for item, shown, labels, repeat, pick, given in zip(*columns, *numbers, strict=True):
        call = f"{shown}{SEP}{labels}{SEP}{repeat}"
        verdict = _verdict_as_text(shown, pick, given)
        if verdict != _NO_VERDICT:
            found.setdefault(item, []).append(f"{call}{_VERDICT_MARK}{verdict}")
    return {item: _CALL_SEP.join(sorted(calls)) for item, calls in found.items()}


def _verdict_as_text(shown: str, pick: int, scores: Sequence[float]) -> str:
    """Return the verdict of one call as text: the name of the chosen contestant, "tie" or, if
    nothing was chosen, the scores without nan; _NO_VERDICT if there are none. `shown` has the names
    in the order shown, joined by SEP."""
    if pick == NO_PICK:
        return " ".join(f"{score:g}" for score in scores if not math.isnan(score)) or _NO_VERDICT
    return "tie" if pick == TIE else shown.split(SEP)[pick]


def outcome_scores(kind: Kind, outcomes: Mapping[str, int]) -> dict[str, int]:
    """Return outcome -> score in sixtieths, for all outcomes of one item (`outcomes`: outcome ->
    number of nights).

    For agreement, a night's score is the share of verdicts equal to those of another night, among
    the calls with a verdict on both, averaged over all nights that have such calls; the night
    itself is included, so that all nights are treated alike. For any other kind, the outcome is the
    score, written as text.
    """
    if kind != "agreement":
        return {outcome: int(outcome) for outcome in outcomes}
    verdicts = {outcome: _parse_verdicts_by_call(outcome) for outcome in outcomes}
    return {outcome: _agreement_score(own, verdicts, outcomes) for outcome, own in verdicts.items()}


def has_verdicts(outcome: str) -> bool:
    """Whether an outcome of the kind "agreement", the text of a night's verdicts on one item, has a
    verdict in at least one call."""
    return bool(_parse_verdicts_by_call(outcome))


def _parse_verdicts_by_call(outcome: str) -> dict[str, str]:
    """Return call -> verdict, from the text of a night. Calls without a verdict, which baseline
    files of older versions contain, are left out."""
    parted = (text.rpartition(_VERDICT_MARK) for text in outcome.split(_CALL_SEP))
    return {call: verdict for call, _, verdict in parted if verdict != _NO_VERDICT}


def _agreement_score(
    own: Mapping[str, str], verdicts: Mapping[str, Mapping[str, str]], outcomes: Mapping[str, int]
) -> int:
    """Return how far one night's verdicts on an item agree with those of all nights, in sixtieths
    (60: all verdicts equal). A night is a nightly run of the study.

    It is the share of calls with the same verdict on both nights, averaged over the nights. Only
    calls with a verdict on both nights are compared; nights without such a call are left out; 0 if
    all nights are. An outcome is the text of all verdicts of a night on the item; nights may share
    it. `own` is call -> verdict of the one night, `verdicts` is outcome -> call -> verdict,
    `outcomes` is outcome -> number of nights that have it.
    """
    total = nights = 0.0
    for outcome, count in outcomes.items():
        common = own.keys() & verdicts[outcome].keys()
        if common:
            equal = sum(own[call] == verdicts[outcome][call] for call in common)
            total, nights = total + count * equal / len(common), nights + count
    return round(SCALE * total / max(nights, 1))
