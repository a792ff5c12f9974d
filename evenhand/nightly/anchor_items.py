"""Anchor items: items whose questions and answers are the same every night (in every run). If the
scores on them change, the judge has changed; if only the other scores change, the system that it
judges has changed."""

from collections.abc import Iterable, Iterator
from typing import Final

from evenhand.nightly.gate_result import StreamCheck, score_kind_name
from evenhand.study_table import JudgedStudy
from metrics.drift.night_scores import Stream, night_outcomes_by_stream
from studies.errors import StudyError

ANCHORS: Final = " (anchors)"
"""End of the prompt's name in the streams of anchor items."""


def score_night_with_anchors(study: JudgedStudy, anchors: str = "") -> dict[Stream, dict[str, str]]:
    """Return the outcomes of one night (one run of a study) on each item: stream -> item ->
    outcome. A stream is a judge, a prompt and a kind of score, such as accuracy. An outcome is a
    score in sixtieths as text or, for the kind "agreement", the verdicts on the item as one text.
    If `anchors` names a category, its items form streams of their own; StudyError if no item has
    this category."""
    frame, twins = study.frame, study.measured.twins
    if not anchors:
        return night_outcomes_by_stream(frame, twins)
    fixed = (frame["category"].astype(str) == anchors).to_numpy()
    if not fixed.any():
        known = ", ".join(sorted(set(frame["category"].astype(str)) - {""})) or "none"
        raise StudyError(f"anchors: no item has the category {anchors!r}; categories: {known}")
    kept = {
        Stream(stream.judge, f"{stream.prompt}{ANCHORS}", stream.kind): outcomes
        for stream, outcomes in night_outcomes_by_stream(frame.loc[fixed]).items()
    }
    return {**night_outcomes_by_stream(frame.loc[~fixed], twins), **kept}


def explain_worse_scores(checks: Iterable[StreamCheck]) -> Iterator[str]:
    """Yield a sentence for each score that became worse, if it was also measured on anchor items
    (items that are the same every night). The sentence states whether the judge changed, or the
    system that it judges, or that this cannot be told."""
    outcomes = {check.stream: check.outcome for check in checks}
    for stream, outcome in outcomes.items():
        if stream.prompt.endswith(ANCHORS):
            continue
        fixed = outcomes.get(stream._replace(prompt=f"{stream.prompt}{ANCHORS}"))
        who = f"{stream.judge}, {score_kind_name(stream.kind)}"
        if fixed == "worse":
            yield f"{who}: the judge changed; it is worse on the anchor items, which are fixed."
        elif outcome == "worse" and fixed == "ok":
            yield f"{who}: the system judged changed; the judge is as before on the anchor items."
        elif outcome == "worse" and fixed is not None:
            yield f"{who}: the anchor items cannot tell whether the judge or the system changed."
