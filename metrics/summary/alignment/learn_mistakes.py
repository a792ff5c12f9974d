"""Mistakes of a judge on labelled cases (comparisons or single answers with a known right verdict):
in all, by category, and by the position of the better answer or by label. They are shown before a
prompt is changed, because often the labels are at fault."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from metrics.estimation import intervals, row_selection, score_scale
from metrics.labels.labelled_rows import scores_or_nan_if_unusable
from studies.domain import FAIL, PASS, Estimate
from studies.frames.frame_codes import NO_PICK, SEP
from studies.people.study_labels import PAIRS, PASS_FAIL, StudyLabels


@dataclass(frozen=True)
class JudgeMistakes:
    """Shares of a judge's verdicts that contradict the labels: of all verdicts, by category, and,
    for comparisons, by the position in which the better answer was shown (first, second), for
    single answers by label. A score is a mistake if it is more than one step (the smallest distance
    between two scores of the scale) from the label."""

    all: Estimate
    by_category: Mapping[str, Estimate]
    by_position: Mapping[str, Estimate] = field(default_factory=dict)
    by_label: Mapping[str, Estimate] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """Return the shares for the JSON, without those by position for single answers, and without
        those by label for comparisons."""
        parts = {"by_position": self.by_position, "by_label": self.by_label}
        kept = {name: part for name, part in parts.items() if part}
        return {"all": self.all, "by_category": self.by_category, **kept}


def select_and_mark_labelled_rows(frame: pd.DataFrame, labels: StudyLabels) -> pd.DataFrame:
    """Return the rows on labelled comparisons; their column `known_answer` is the slot of the
    answer that the label names as better."""
    winners = {
        (one.item, SEP.join((one.first, one.second))): one.winner for one in labels.comparisons
    }
    keys = zip(frame["item"].astype(str), frame["comparison"].astype(str), strict=True)
    winner = [winners.get(key, "") for key in keys]
    known_answer = [
        NO_PICK if not name else shown.split(SEP).index(name)
        for name, shown in zip(winner, frame["shown"].astype(str), strict=True)
    ]
    marked = frame.assign(known_answer=np.array(known_answer, np.int8))
    return row_selection.select_rows(marked, np.array(known_answer) != NO_PICK)


def judge_mistakes(
    frame: pd.DataFrame, judge: str, prompt: str, labels: StudyLabels
) -> JudgeMistakes | None:
    """Estimate the shares of a judge's verdicts that contradict the labels; None if it has no
    usable verdict on labelled cases. A tie is a mistake: the label names a better answer."""
    own = (frame["judge"].astype(str) == judge) & (frame["prompt"].astype(str) == prompt)
    rows = row_selection.select_rows(frame, own)
    if labels.kind != PAIRS:
        return _answer_mistakes(row_selection.select_readable_without_noise(rows), labels)
    rows = select_and_mark_labelled_rows(row_selection.select_picks(rows), labels)
    if not len(rows):
        return None
    known_answer = rows["known_answer"].to_numpy()
    wrong = rows["pick"].to_numpy() != known_answer
    by_position = {
        name: _mistake_share(rows, wrong, known_answer == slot)
        for slot, name in enumerate(("first", "second"))
    }
    return _mistake_shares(
        rows, wrong, by_position={k: one for k, one in by_position.items() if one.n}
    )


def _answer_mistakes(rows: pd.DataFrame, labels: StudyLabels) -> JudgeMistakes | None:
    """Estimate the shares of verdicts on single answers that contradict the labels (for scores:
    that are more than one step of the scale from the label); None without a usable verdict on a
    labelled answer."""
    known = {one.key: one.value for one in labels.answers}
    keys = zip(rows["item"].astype(str), rows["shown"].astype(str), strict=True)
    label = np.array([known.get(key, np.nan) for key in keys], np.float64)
    score = scores_or_nan_if_unusable(rows)
    used = np.isfinite(label) & np.isfinite(score)
    rows, label, score = row_selection.select_rows(rows, used), label[used], score[used]
    if not len(rows):
        return None
    passes = labels.kind == PASS_FAIL
    scale = score_scale.score_scale_of_rows(rows)
    near = scale.within_one_step(score - label)
    wrong = (score >= 0.5) != (label >= 0.5) if passes else ~near
    level = scale.nearest_level(label)
    names = {1.0: PASS, 0.0: FAIL} if passes else {float(k): f"{k:g}" for k in np.unique(level)}
    by_label = {name: _mistake_share(rows, wrong, level == value) for value, name in names.items()}
    return _mistake_shares(
        rows, wrong, by_label={name: one for name, one in by_label.items() if one.n}
    )


def _mistake_shares(
    rows: pd.DataFrame, wrong: row_selection.Mask, **parts: Mapping[str, Estimate]
) -> JudgeMistakes:
    """Estimate the share of wrong verdicts (mask `wrong`) in all and by category; `parts` are the
    shares by position or by label."""
    category = rows["category"].astype(str).to_numpy()
    names = [name for name in sorted(set(category)) if name]
    named = {str(name): _mistake_share(rows, wrong, category == name) for name in names}
    return JudgeMistakes(_mistake_share(rows, wrong, np.ones(len(rows), np.bool_)), named, **parts)


def _mistake_share(
    rows: pd.DataFrame, wrong: row_selection.Mask, keep: row_selection.Mask
) -> Estimate:
    """Estimate the share of wrong verdicts among the rows that `keep` selects."""
    part = row_selection.select_rows(rows, keep)
    return intervals.proportion(wrong[keep].astype(np.float64), row_selection.item_codes(part))
