"""The gate, a nightly check of a judge: tonight's verdicts are tested against the baseline, the
history of earlier nights (a night is one run of a study). The probability of any false alarm is
limited over all nights together."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pandas as pd

from evenhand.extras import report_missing_extra
from evenhand.nightly.anchor_items import ANCHORS, explain_worse_scores, score_night_with_anchors
from evenhand.nightly.baseline_file import Baseline, BaselineUnusable, load_baseline, save_baseline
from evenhand.nightly.gate_result import GateResult, Outcome, StreamCheck
from evenhand.study_table import JudgedStudy, as_study
from metrics.drift.night_history import NightComparison, StreamHistory
from metrics.drift.night_scores import Stream
from metrics.estimation import row_selection
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
that is spread over all items is found in about one of twelve series (docs/coverage.md)."""


READABLE: Final = 0.90
"""Share of a night's calls that must have a verdict for the night to be saved as a good one."""
STUDY_SUFFIXES: Final = (".yaml", ".yml")


@report_missing_extra
def gate(
    data: Any,
    against: str | Path | None = None,
    *,
    save: bool = False,
    record: bool = True,
    drop: float = DROP,
    alpha: float = ALPHA,
    same_version: bool = False,
    readable: float = READABLE,
    store: str | Path | None = None,
    anchors: str = "",
) -> GateResult:
    """Compare tonight's verdicts (those of `data`) with the baseline (earlier nights, in the file
    `against`), item by item. BaselineUnusable if the baseline cannot be read or an argument is
    out of its range.

    `data`: a study, a table, or the path of a file. A study file (YAML) is first run with new
    calls; its replies are kept in `store` (default: a new file beside it), and its default
    baseline is `NAME.baseline.json` beside it.

    `save`: add the night to the baseline as a good night, without a test. This is refused
    (BaselineUnusable) if less than the share `readable` of the calls has a verdict. Without
    `save`, the night is tested and, with `record`, added to the file as a tested night.

    `drop`: a score is "ok" only if the interval excludes that its mean (0 to 1) fell by so much.
    A lower consistency is also "ok" if verdicts change no more with the order than on a repeat.
    `alpha`: maximum probability of any false alarm, over all nights and checks together.
    `same_version`: the outcome is "worse" if an endpoint reports another model version.
    `anchors`: a category of items that are the same every night; they show a change of the
    judge, the other items also a change of the system judged."""
    path = _baseline_path(data, against)
    if not 0 < alpha < 1:
        raise BaselineUnusable(f"alpha is {alpha:g}; it is a probability above 0 and below 1")
    for name, value in (("readable", readable), ("drop", drop)):
        if not 0 <= value <= 1:
            raise BaselineUnusable(f"{name} is {value:g}; it is a share from 0 to 1")
    # before any call: a run whose result cannot be compared would be wasted
    baseline = load_baseline(path) if path.exists() or not save else Baseline()
    study = _run_tonight(Path(data), store) if is_study_file(data) else as_study(data)
    scores, models = score_night_with_anchors(study, anchors), reported_models(study)
    if save:
        _refuse_night_with_few_verdicts(study, readable)
        known = baseline if baseline.streams else replace(baseline, study=study.name)
        longer = known.with_night(scores, models)
        save_baseline(path, longer)
        checks = tuple(
            StreamCheck(
                stream, "ok", f"saved as baseline{_few_nights_warning(longer.streams[stream])}"
            )
            for stream in scores
        )
        return GateResult(study.name, checks)
    result, longer = check_night(baseline, study, drop=drop, alpha=alpha, anchors=anchors)
    if record:
        save_baseline(path, longer)
    changed = tuple(_describe_version_changes(baseline, models))
    return replace(result, versions=changed, version_fails=same_version)


def is_study_file(data: Any) -> bool:
    """Whether `data` is a path that ends with .yaml or .yml, as study files do; the file is not
    read."""
    return isinstance(data, str | Path) and Path(data).suffix.casefold() in STUDY_SUFFIXES


def _baseline_path(data: Any, against: str | Path | None) -> Path:
    if against is not None:
        return Path(against).expanduser()
    if not is_study_file(data):
        raise BaselineUnusable(
            "the baseline is not named; name its file, for example against='baseline.json'"
        )
    return Path(data).expanduser().with_suffix(".baseline.json")


def _run_tonight(path: Path, store: str | Path | None) -> JudgedStudy:
    """Run a study file with new calls; return the study with its verdicts. The replies are kept in
    the new file `store` (None: a file beside the study file); StudyError if it exists."""
    from evenhand.running.study_runs import run

    path = path.expanduser()
    made = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    target = Path(store).expanduser() if store else path.with_name(f"{path.stem}-gate-{made}.db")
    if target.exists():
        raise StudyError(f"{target} exists, and its replies would be used again; name a new file")
    return run(path, store=target)


def _refuse_night_with_few_verdicts(study: JudgedStudy, readable: float) -> None:
    """Raise BaselineUnusable if less than the share `readable` of the calls has a verdict, of any
    judge with a prompt or of the whole night."""
    frame = study.frame
    machine = row_selection.select_rows(frame, ~row_selection.people_mask(frame))
    usable = row_selection.usable_status_mask(machine)
    causes = failure_causes(study)
    pairs = row_selection.observed_combinations(machine, ("judge", "prompt"))
    shares = []
    for judge, prompt in pairs:
        own = ((machine["judge"] == judge) & (machine["prompt"] == prompt)).to_numpy()
        shares.append((float(usable[own].mean()), judge, f"{judge} · {prompt}"))
    planned = max(study.measured.planned or 1, len(machine))
    shares.append((float(usable.sum()) / planned, "", "the whole night"))
    share, judge, name = min(shares, key=lambda one: one[0])
    if share < readable:
        cause = causes.get(judge) or ("" if judge else next(iter(causes.values()), ""))
        why = f" ({cause})" if cause else ""
        raise BaselineUnusable(
            f"not saved as a baseline: {100 * share:.1f} % of the calls of {name} have a verdict"
            f"{why}, and a good night needs {100 * readable:g} %; save another night, or set the "
            "share (readable=, --readable)"
        )


def check_night(
    baseline: Baseline,
    study: JudgedStudy,
    *,
    drop: float = DROP,
    alpha: float = ALPHA,
    anchors: str = "",
) -> tuple[GateResult, Baseline]:
    """Test a night (one run of a study) against the baseline; return the result, and the baseline
    with this night added. `drop`: a score is "ok" only if the interval excludes that its mean (0
    to 1) fell by so much. `alpha`: maximum probability of any false alarm. `anchors`: category
    of the items that are the same every night; "" if there are none."""
    scores, causes = score_night_with_anchors(study, anchors), failure_causes(study)
    streams = dict(baseline.streams)
    judged = judges_with_verdicts(study.frame)
    checks = []
    for stream, history in baseline.streams.items():
        tonight = scores.get(stream)
        if not tonight or stream.judge not in judged:
            why = f"no verdict tonight: {causes.get(stream.judge, 'the judge is not in the run')}"
            checks.append(StreamCheck(stream, "cannot tell", why, failed=True))
            continue
        night, streams[stream] = history.compare_night(tonight)
        threshold = len(baseline.streams) / alpha
        outcome, reason = _decide_outcome(study, stream, history, night, threshold, drop)
        checks.append(StreamCheck(stream, outcome, reason, night, threshold))
    for stream in scores:
        if stream not in baseline.streams:
            why = "not in the baseline; save a good night with it (save=True, --save-baseline)"
            checks.append(StreamCheck(stream, "cannot tell", why))
    said = tuple(f"{judge}: {cause}" for judge, cause in causes.items())
    changes = tuple(explain_worse_scores(checks))
    result = GateResult(study.name, tuple(checks), causes=said, changes=changes)
    return result, replace(baseline, streams=streams)


def judges_with_verdicts(frame: pd.DataFrame) -> set[str]:
    """Return the names of the judges with at least one usable reply."""
    return set(frame["judge"][row_selection.usable_status_mask(frame)].astype(str))


def _decide_outcome(
    study: JudgedStudy,
    stream: Stream,
    history: StreamHistory,
    night: NightComparison,
    threshold: float,
    drop: float,
) -> tuple[Outcome, str]:
    """Return the outcome for one stream (a judge, a prompt and a kind of score) and the reason in
    words. `history` has the earlier nights, `night` the comparison of tonight with them.

    - "cannot tell": fewer than MIN_ITEMS items in common, or neither of the following is shown.
    - "worse": the evidence for a drop is at least `threshold`. For consistency, verdicts must
      also change more with the order than on a repeat; otherwise the outcome is "ok".
    - "ok": the interval excludes a fall of the mean score (0 to 1) by `drop`."""
    common = night.difference.items
    if common < MIN_ITEMS:
        return "cannot tell", f"items in common with the baseline: {common}; it needs {MIN_ITEMS}"
    if night.strength >= threshold:
        if stream.kind == "consistency" and not _flips_exceed_noise(study, stream, night):
            return "ok", "more flips, but not more than repeats of the same order change"
        return "worse", f"evidence {night.strength:,.3g} is above {threshold:,.3g}"
    low = night.difference.low
    if low is None or low <= -drop:
        why = f"a drop of {100 * drop:.0f} points is neither shown nor excluded"
        return "cannot tell", why + _few_nights_warning(history)
    return "ok", f"a drop of {100 * drop:.0f} points is excluded{_few_nights_warning(history)}"


def _few_nights_warning(history: StreamHistory) -> str:
    """Return a warning to append to a reason, if the baseline has too few nights of this judge,
    prompt and kind of score for small drops to be noticed; "" if it has enough."""
    nights = history.baseline_nights
    if nights >= ENOUGH_NIGHTS:
        return ""
    have = "1 baseline night" if nights == 1 else f"{nights} baseline nights"
    return f"; only {have}: save {ENOUGH_NIGHTS}, or drops are often missed"


def _flips_exceed_noise(study: JudgedStudy, stream: Stream, night: NightComparison) -> bool:
    """Return whether tonight the verdicts of one judge with one prompt change more often with the
    order of the answers than on a repeat in the same order; True if there are no repeats."""
    rows = study.frame
    prompt = stream.prompt.removesuffix(ANCHORS)
    own = (rows["judge"] == stream.judge) & (rows["prompt"] == prompt)
    floor: Estimate = noise_floor(rows.loc[own])
    if floor.value is None or night.value is None:
        return True  # without repeats there is no floor to compare with
    return 1 - night.value > floor.value


def failure_causes(study: JudgedStudy) -> dict[str, str]:
    """Return judge -> text, for each judge with failed calls or without any verdict. If calls
    failed, the text has their most frequent status with an example. Otherwise it is the reason why
    the run stopped, if one is stored, or a note that none of the judge's replies has a verdict."""
    found: dict[str, str] = {}
    if study.store is not None:
        from studies.store.queries.cost_queries import failure_counts
        from studies.store.store import Store

        store = Store(study.store)
        try:
            for one in failure_counts(store, study.name):
                example = " ".join(one.example.split())
                found.setdefault(one.judge, f"calls that end as {one.status}: {one.n:,}; {example}")
            stopped = [one.reason for one in store.runs(study.name) if one.reason]
            if stopped:  # an endpoint that cannot be reached ends a run before a call has a reply
                asked = {ask.judge for ask in store.asks(study.name)}
                for judge in sorted(asked - judges_with_verdicts(study.frame)):
                    found.setdefault(judge, stopped[0].removeprefix(f"{judge}: "))
        finally:
            store.close()
    for judge in set(study.judges) - judges_with_verdicts(study.frame):
        found.setdefault(judge, "none of its replies has a verdict")
    return found


def reported_models(study: JudgedStudy) -> dict[str, tuple[str, ...]]:
    """Return judge -> model versions reported by its endpoint; empty for studies without a
    store."""
    if study.store is None:
        return {}
    from studies.store.queries.cost_queries import reported_models as stored_models
    from studies.store.store import Store

    store = Store(study.store)
    try:
        return {judge: tuple(names) for judge, names in stored_models(store, study.name).items()}
    finally:
        store.close()


def _describe_version_changes(
    baseline: Baseline, models: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    """Yield a sentence for each judge whose endpoint reports another model version than in the
    baseline. `models`: judge -> versions reported tonight. Judges without a version in the
    baseline are left out."""
    for judge, names in models.items():
        known = baseline.models.get(judge)
        if known and set(names) - set(known):
            yield f"{judge}: the endpoint reports {', '.join(names)}; before: {', '.join(known)}"
