"""The gate: a test of tonight's verdicts against a baseline, here the history of earlier nights.
The probability of a false alarm is limited over all nights together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import pandas as pd

from evenhand.extras import names_missing_extra
from evenhand.nightly.baseline_file import Baseline, load_baseline, save_baseline
from evenhand.nightly.gate_result import GateResult, Outcome, StreamCheck, kind_words
from evenhand.study_table import JudgedStudy, as_study
from metrics.drift.night_history import NightComparison, StreamHistory
from metrics.drift.night_scores import Stream, score_night
from metrics.position.position_measures import noise_floor
from studies.domain import Estimate
from studies.errors import StudyError

ALPHA: Final = 0.05
"""Maximum probability of any false alarm, over all nights, judges, prompts and kinds of score."""
DROP: Final = 0.10
"""Drop of a mean score (0 to 1) that tonight's interval must exclude for the outcome "ok"."""
MIN_ITEMS: Final = 10
ENOUGH_NIGHTS: Final = 5
"""Number of baseline nights (saved as good, without a test) from which a drop right after them is
found as reliably as a later one. With fewer it is found less often: after a single night, a drop
that is spread over all items is found in one series of nine (docs/coverage.md)."""


ANCHORS: Final = " (anchors)"
"""End of the prompt's name in the streams of anchor items."""


@names_missing_extra
def gate(
    data: JudgedStudy | pd.DataFrame | str | Path,
    against: str | Path,
    *,
    save: bool = False,
    record: bool = True,
    drop: float = DROP,
    alpha: float = ALPHA,
    same_version: bool = False,
    anchors: str = "",
) -> GateResult:
    """Compare tonight's verdicts with the baseline in the file `against`, item by item.

    With `save` the night is added to the file as a good night, without a test. Otherwise it is
    tested and, with `record`, added to the file as a tested night. The outcome is "ok" only if the
    interval excludes a drop of the mean score (0 to 1) by `drop`. With `same_version` it is "worse"
    if an endpoint reports another model version. `anchors` is a category of items whose questions
    and answers are the same every night: these items show a change of the judge, the others also a
    change of the system judged.
    """
    study, path = as_study(data), Path(against).expanduser()
    scores, models = score_parts(study.frame, anchors), reported_models(study)
    if save:
        known = load_baseline(path) if path.exists() else Baseline(study.name)
        longer = known.with_night(scores, models)
        save_baseline(path, longer)
        checks = tuple(
            StreamCheck(stream, "ok", f"saved as baseline{_few_nights(longer.streams[stream])}")
            for stream in scores
        )
        return GateResult(study.name, checks)
    baseline = load_baseline(path)
    result, longer = check_night(baseline, study, drop=drop, alpha=alpha, anchors=anchors)
    if record:
        save_baseline(path, longer)
    changed = tuple(_version_changes(baseline, models))
    return replace(result, versions=changed, version_fails=same_version)


def score_parts(frame: pd.DataFrame, anchors: str = "") -> dict[Stream, dict[str, str]]:
    """Score a night; with `anchors`, the items of this category in streams of their own."""
    if not anchors:
        return score_night(frame)
    fixed = (frame["category"].astype(str) == anchors).to_numpy()
    if not fixed.any():
        known = ", ".join(sorted(set(frame["category"].astype(str)) - {""})) or "none"
        raise StudyError(f"anchors: no item has the category {anchors!r}; categories: {known}")
    kept = {
        Stream(stream.judge, f"{stream.prompt}{ANCHORS}", stream.kind): outcomes
        for stream, outcomes in score_night(frame.loc[fixed]).items()
    }
    return {**score_night(frame.loc[~fixed]), **kept}


def find_causes(checks: Iterable[StreamCheck]) -> Iterator[str]:
    """Yield a sentence for each score that became worse: whether the judge or the system that it
    judges changed, by the outcome on the anchor items."""
    outcomes = {check.stream: check.outcome for check in checks}
    for stream, outcome in outcomes.items():
        if stream.prompt.endswith(ANCHORS):
            continue
        fixed = outcomes.get(stream._replace(prompt=f"{stream.prompt}{ANCHORS}"))
        who = f"{stream.judge}, {kind_words(stream.kind)}"
        if fixed == "worse":
            yield f"{who}: the judge changed; it is worse on the anchor items, which are fixed."
        elif outcome == "worse" and fixed == "ok":
            yield f"{who}: the system judged changed; the judge is as before on the anchor items."
        elif outcome == "worse" and fixed is not None:
            yield f"{who}: the anchor items cannot tell whether the judge or the system changed."


def check_night(
    baseline: Baseline,
    study: JudgedStudy,
    *,
    drop: float = DROP,
    alpha: float = ALPHA,
    anchors: str = "",
) -> tuple[GateResult, Baseline]:
    """Test a night against a baseline; return the result and the baseline with this night."""
    scores = score_parts(study.frame, anchors)
    streams = dict(baseline.streams)
    checks = []
    for stream, history in baseline.streams.items():
        tonight = scores.get(stream)
        if not tonight:
            why = "no verdict tonight; check the run"
            checks.append(StreamCheck(stream, "cannot tell", why))
            continue
        night, streams[stream] = history.compare(tonight)
        threshold = len(baseline.streams) / alpha
        outcome, reason = _decide(study, stream, history, night, threshold, drop)
        checks.append(StreamCheck(stream, outcome, reason, night, threshold))
    for stream in scores:
        if stream not in baseline.streams:
            why = "not in the baseline; add it with --save-baseline"
            checks.append(StreamCheck(stream, "cannot tell", why))
    result = GateResult(study.name, tuple(checks), causes=tuple(find_causes(checks)))
    return result, replace(baseline, streams=streams)


def _decide(
    study: JudgedStudy,
    stream: Stream,
    history: StreamHistory,
    night: NightComparison,
    threshold: float,
    drop: float,
) -> tuple[Outcome, str]:
    common = night.difference.items
    if common < MIN_ITEMS:
        return "cannot tell", f"{common} items in common with the baseline; {MIN_ITEMS} are needed"
    if night.strength >= threshold:
        if stream.kind == "consistency" and not _flips_exceed_noise(study, stream, night):
            return "ok", "more flips, but not more than repeats of the same order change"
        return "worse", f"evidence {night.strength:,.3g} is above {threshold:,.3g}"
    low = night.difference.low
    if low is None or low <= -drop:
        why = f"a drop of {100 * drop:.0f} points is neither shown nor excluded"
        return "cannot tell", why + _few_nights(history)
    return "ok", f"a drop of {100 * drop:.0f} points is excluded{_few_nights(history)}"


def _few_nights(history: StreamHistory) -> str:
    """Warning that the baseline has too few nights; empty if it has enough."""
    nights = history.baseline_nights
    if nights >= ENOUGH_NIGHTS:
        return ""
    have = "1 baseline night" if nights == 1 else f"{nights} baseline nights"
    return f"; only {have}: save {ENOUGH_NIGHTS}, or drops are often missed"


def _flips_exceed_noise(study: JudgedStudy, stream: Stream, night: NightComparison) -> bool:
    """Whether the verdicts of a stream (one judge with one prompt) change with the order more often
    than between repeats in the same order; True if there are no repeats."""
    rows = study.frame
    own = (rows["judge"] == stream.judge) & (rows["prompt"] == stream.prompt)
    floor: Estimate = noise_floor(rows.loc[own])
    if floor.value is None or night.value is None:
        return True  # without repeats there is no floor to compare with
    return 1 - night.value > floor.value


def reported_models(study: JudgedStudy) -> dict[str, tuple[str, ...]]:
    """Judge -> model versions reported by its endpoint; empty for studies without a store."""
    if study.store is None:
        return {}
    from studies.store.queries.cost_queries import reported_models as stored_models
    from studies.store.store import Store

    store = Store(study.store)
    try:
        return {judge: tuple(names) for judge, names in stored_models(store, study.name).items()}
    finally:
        store.close()


def _version_changes(baseline: Baseline, models: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for judge, names in models.items():
        known = baseline.models.get(judge)
        if known and set(names) - set(known):
            yield f"{judge}: the endpoint reports {', '.join(names)}; before: {', '.join(known)}"
