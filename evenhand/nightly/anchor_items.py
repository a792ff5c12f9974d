"""Anchor items: items with the same questions and answers every night, which tell a change of the
judge from a change of the system that it judges."""

from collections.abc import Iterable, Iterator
from typing import Final

from evenhand.nightly.gate_result import StreamCheck, score_kind_name
from evenhand.study_table import JudgedStudy
from metrics.drift.night_scores import Stream, score_night
from studies.errors import StudyError

ANCHORS: Final = " (anchors)"
"""End of the prompt's name in the streams of anchor items."""


def score_night_with_anchors(study: JudgedStudy, anchors: str = "") -> dict[Stream, dict[str, str]]:
    """Return the outcomes of one night (one run of a study): stream (judge, prompt and kind of
    score, such as accuracy) -> item -> outcome, as `score_night` returns them. If a category
    `anchors` is given, its items are scored in separate streams; StudyError if no item has it."""
    frame, twins = study.frame, study.measured.twins
    if not anchors:
        return score_night(frame, twins)
    fixed = (frame["category"].astype(str) == anchors).to_numpy()
    if not fixed.any():
        known = ", ".join(sorted(set(frame["category"].astype(str)) - {""})) or "none"
        raise StudyError(f"anchors: no item has the category {anchors!r}; categories: {known}")
    kept = {
        Stream(stream.judge, f"{stream.prompt}{ANCHORS}", stream.kind): outcomes
        for stream, outcomes in score_night(frame.loc[fixed]).items()
    }
    return {**score_night(frame.loc[~fixed], twins), **kept}


def explain_worse_scores(checks: Iterable[StreamCheck]) -> Iterator[str]:
    """Yield a sentence for each score that has anchor items and became worse, on them or on the
    other items. It states whether the judge or the system that it judges changed, or that the
    anchor items cannot tell."""
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
