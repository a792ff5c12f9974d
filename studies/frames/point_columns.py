"""Columns of verdicts on one answer: levels of a rubric, expected score, and the right verdict."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from studies.domain import FAIL, HUMAN_PREFIX, PASS
from studies.frames.arrangement import (
    LEVEL_PREFIX,
    Arrangement,
    add_ranks_to_labels,
    parse_arrangement,
)
from studies.frames.columns import SEP, JudgementColumns

GOLD_COLUMN: Final = "gold"
"""Column: the right verdict on the one answer shown, as a score (pass 1, fail 0); NaN if it
is unknown. The frame has this column only if an answer of the study has a label or a vote."""

EXPECTED_COLUMN: Final = "expected"
"""Column: expected score of the one answer shown, from the probabilities of the options. The frame
has this column only if a verdict on one answer has probabilities."""

SPREAD_COLUMN: Final = "expected_spread"
"""Column beside `expected`: standard deviation of the score under the probabilities of the
options."""

EXPECTED_LEVEL_PREFIX: Final = "expected_level_"
LEVEL_SPREAD_PREFIX: Final = "expected_level_spread_"
"""Prefix of the columns with the standard deviation of each criterion's level, beside the columns
`expected_level_…`. The frame has these columns only if a verdict has probabilities of levels."""

CRITERION_LABEL_PREFIX: Final = "gold_level_"
"""Prefix of the columns with the right levels in a rubric; `gold_level_0` is for the criterion that
the request lists first. The right level is that of the label, else the mean of people's levels,
else NaN (always NaN in the rows of people). The frame has these columns only if a rubric has a
label or a person filled one in."""

ScaleLookup = Callable[[str], Sequence[str]]
"""Function: name of a prompt -> its options, from the lowest to the highest; empty if unknown."""


def labels_with_ranks(
    columns: JudgementColumns, scale_of: ScaleLookup | None
) -> tuple[np.ndarray, list[str]]:
    """Return (codes, names) of the column `labels` with ranks added to the options of verdicts on
    one answer: "good" -> "good:3". `scale_of` returns the options of a prompt from the lowest to
    the highest; without it, or for an unknown scale, no ranks are added.

    Ranks depend on the prompt's scale, so equal labels of two prompts may get different names.
    """
    codes, names = columns.codes("labels"), list(columns.distinct_texts("labels"))
    alone = np.asarray([SEP not in name for name in columns.distinct_texts("shown")], bool)
    single = alone[columns.codes("shown")] if len(alone) else np.zeros(len(codes), bool)
    unranked = {code for code in np.unique(codes[single]) if _has_unscored_options(names[code])}
    if scale_of is None or not unranked:
        return codes, names
    prompts, found = columns.codes("prompt"), codes.copy()
    scales = [tuple(scale_of(name)) for name in columns.distinct_texts("prompt")]
    for prompt, code in np.unique(np.stack([prompts[single], codes[single]]), axis=1).T:
        if code in unranked and scales[prompt]:
            labels = tuple(names[code].split(SEP))
            found[single & (prompts == prompt) & (codes == code)] = len(names)
            names.append(SEP.join(add_ranks_to_labels(labels, scales[prompt])))
    return found, names


def _has_unscored_options(labels: str) -> bool:
    one = arrangement_of(labels)
    return len(one.options) > 1 and not one.option_scores


def arrangement_of(labels: object) -> Arrangement:
    """Parse a value of the frame's column `labels`, for a verdict on one answer."""
    return parse_arrangement(tuple(str(labels).split(SEP)))


def add_single_answer_columns(
    frame: pd.DataFrame, columns: JudgementColumns, usable: np.ndarray
) -> None:
    """Add columns with the levels of a rubric and the expected scores, for verdicts on one
    answer.

    In these rows `score_0` is the score of the whole answer, and the columns `score_1`, … and
    all `p_…` become NaN: their numbers belong to criteria and options, not to answers.
    `usable` marks the rows with a usable reply."""
    single = (frame["options"] == 1).to_numpy()
    for prefix, first in (("score", 1), ("p", 0)):
        for name in [str(name) for name in frame if str(name).startswith(f"{prefix}_")][first:]:
            if single.any():
                frame[name] = np.where(single, np.float32(np.nan), frame[name].to_numpy())
    labels = frame["labels"].cat
    parsed = [arrangement_of(name) for name in labels.categories]
    codes = labels.codes.to_numpy()
    most = max((len(one.criteria) for one in parsed), default=0)
    levels = columns.scores.to_array(most + 1) if most else None
    if levels is not None:
        listed = np.asarray([len(one.criteria) for one in parsed], np.int16)[codes]
        for place in range(most):
            known = single & usable & (listed > place)
            frame[f"{LEVEL_PREFIX}{place}"] = np.where(known, levels[:, place + 1], np.nan)
    widest = max((len(one.options) * max(len(one.criteria), 1) for one in parsed), default=0)
    shares = columns.probabilities.to_array(widest) if single.any() else None
    if shares is not None and np.isfinite(shares[single]).any():
        known = single & usable & np.isfinite(shares[:, 0])
        _add_expected_scores(frame, shares, known, parsed)


def _add_expected_scores(
    frame: pd.DataFrame, shares: np.ndarray, known: np.ndarray, parsed: Sequence[Arrangement]
) -> None:
    """Add columns with the expected score and its standard deviation; for rubrics also for each
    criterion.

    Each row of `shares` has the probabilities of the options from the lowest to the highest;
    for a rubric, those of the first criterion, then of the second, …. `known` marks the rows
    that have them. `parsed[k]` has the options and criteria of the labels with code k. The
    deviation of a rubric's score treats its criteria as independent."""
    codes = frame["labels"].cat.codes.to_numpy()
    most = max((len(one.criteria) for one in parsed), default=0)
    level, deviation = (np.full((len(frame), max(most, 1)), np.nan, np.float32) for _ in range(2))
    expected, spread = (np.full(len(frame), np.nan, np.float32) for _ in range(2))
    for code in np.unique(codes[known]):
        rows = np.flatnonzero(known & (codes == code))
        options, places = len(parsed[code].options), max(len(parsed[code].criteria), 1)
        values = np.asarray(parsed[code].ascending_scores, np.float32)
        parts = shares[rows, : options * places].reshape(-1, places, options)
        mean = (parts * values).sum(axis=2)
        variance = np.maximum((parts * values**2).sum(axis=2) - mean**2, 0)
        expected[rows] = mean.mean(axis=1)
        spread[rows] = np.sqrt(variance.sum(axis=1)) / places
        level[rows, :places], deviation[rows, :places] = mean, np.sqrt(variance)
    frame[EXPECTED_COLUMN], frame[SPREAD_COLUMN] = expected, spread
    rubric = np.asarray([bool(one.criteria) for one in parsed], bool)[codes]
    for place in range(most if np.isfinite(level[rubric]).any() else 0):
        frame[f"{EXPECTED_LEVEL_PREFIX}{place}"] = np.where(rubric, level[:, place], np.nan)
        frame[f"{LEVEL_SPREAD_PREFIX}{place}"] = np.where(rubric, deviation[:, place], np.nan)


def pass_fail_mask(frame: pd.DataFrame) -> np.ndarray:
    """Return a mask of the rows with pass/fail judgements, readable or not."""
    named = frame["labels"].cat
    wanted = np.asarray([arrangement_of(name).is_pass_fail for name in named.categories], bool)
    codes = named.codes.to_numpy()
    chosen = wanted[codes] if len(wanted) else np.zeros(len(codes), bool)
    return np.asarray(chosen & (frame["options"] == 1).to_numpy())


def gold_column(frame: pd.DataFrame, labels: Sequence[Mapping[str, Any]]) -> np.ndarray | None:
    """Return the right verdict on the single answer shown in each row, as a number, NaN if unknown;
    None if no row shows a single answer, or no answer has a label or a vote.

    `labels[k]` maps contestants to labels, for item code k. An answer without a label gets the
    verdict of people (majority of pass and fail, or mean score), but not in the rows of people. A
    vote under the name of a judge's prompt counts for this prompt only, any other vote for all
    prompts. Pass/fail verdicts use only labels of pass and fail, scores only labels that are
    scores.
    """
    single = (frame["options"] == 1).to_numpy()
    if not single.any():
        return None
    passes = pass_fail_mask(frame)
    voted = single & _people_mask(frame)
    if not any(labels) and not voted.any():
        return None
    gold = np.where(single, _right_labels_of_rows(frame, labels, passes), np.nan)
    if voted.any():
        votes = _people_verdicts(frame, voted, passes)
        gold = np.where(np.isnan(gold) & single & ~voted, votes, gold)
    return gold.astype(np.float32)


def _right_labels_of_rows(
    frame: pd.DataFrame, labels: Sequence[Mapping[str, Any]], passes: np.ndarray
) -> np.ndarray:
    """Return the label of each row's answer as a number, NaN without one. `labels[k]`: contestant
    -> label, for item code k; `passes` marks the rows of pass/fail judgements, whose labels are 1
    for pass and 0 for fail; the other rows use labels that are scores."""
    first = frame["first"].cat
    column_of = {str(name): column for column, name in enumerate(first.categories)}
    shape = (len(labels), len(column_of) + 1)  # the last column is for empty slots
    pass_fail, scores = np.full(shape, np.nan, np.float32), np.full(shape, np.nan, np.float32)
    for row, known in enumerate(labels):
        for name, value in known.items():
            if (column := column_of.get(name)) is None:
                continue
            if value in (PASS, FAIL):
                pass_fail[row, column] = value == PASS
            else:
                scores[row, column] = value
    item, who = frame["item"].cat.codes.to_numpy(), first.codes.to_numpy()
    return np.where(passes, pass_fail[item, who], scores[item, who])


def _people_verdicts(frame: pd.DataFrame, voted: np.ndarray, passes: np.ndarray) -> np.ndarray:
    """Return people's verdict on each row's answer; NaN without votes or if pass and fail are even.
    `voted` marks the rows of people, `passes` the rows of pass/fail judgements."""
    if "score_0" not in frame:
        return np.full(len(frame), np.nan)
    prompt = frame["prompt"].cat.codes.to_numpy(np.int64) + 1
    answer = (
        frame["item"].cat.codes.to_numpy(np.int64) * (len(frame["first"].cat.categories) + 1)
        + frame["first"].cat.codes.to_numpy(np.int64)
    ) * 2 + passes
    answer *= len(frame["prompt"].cat.categories) + 1
    of_judges = prompt[(frame["options"] == 1).to_numpy() & ~voted]
    key = answer + np.where(np.isin(prompt, of_judges), prompt, 0)  # 0: a vote for all prompts
    score = frame["score_0"].to_numpy(np.float64)
    known = voted & np.isfinite(score)
    mean = pd.Series(score[known]).groupby(key[known]).mean()
    own, common = (mean.reindex(keys).to_numpy() for keys in (answer + prompt, answer))
    found = np.where(np.isnan(own), common, own)
    even = passes & (np.abs(found - 0.5) < 1e-9)
    return np.where(passes, np.where(even, np.nan, np.round(found)), found)


def _people_mask(frame: pd.DataFrame) -> np.ndarray:
    judge = frame["judge"].cat
    people = np.asarray([str(name).startswith(HUMAN_PREFIX) for name in judge.categories], bool)
    return people[judge.codes.to_numpy()] if len(people) else np.zeros(len(frame), bool)


def add_criterion_labels(
    frame: pd.DataFrame, labels: Sequence[Mapping[str, Mapping[str, float]]]
) -> None:
    """Add columns with the right level of each criterion of a rubric: its label, or people's mean
    level; NaN in the rows of people.

    `labels[k]` maps the contestants of the item with code k to criterion -> level. Nothing is added
    if no rubric has a label and no person filled one in.
    """
    single = (frame["options"] == 1).to_numpy()
    voted = single & _people_mask(frame)
    places = sum(str(name).startswith(LEVEL_PREFIX) for name in frame)
    if not places or not (voted.any() or any(labels)):
        return
    criterion, names = _criterion_codes(frame, places)
    contestants = [str(name) for name in frame["first"].cat.categories]
    item, who = frame["item"].cat.codes.to_numpy(np.int64), frame["first"].cat.codes.to_numpy()
    keys = (item * (len(contestants) + 1) + who)[:, None] * max(len(names), 1) + criterion
    levels = np.stack([frame[f"{LEVEL_PREFIX}{k}"].to_numpy(np.float64) for k in range(places)], 1)
    given = voted[:, None] & (criterion >= 0) & np.isfinite(levels)
    known = pd.Series(levels[given]).groupby(keys[given]).mean().to_dict()
    for code, by_contestant in enumerate(labels):
        for contestant, by_criterion in by_contestant.items():
            if contestant in contestants:
                answer = code * (len(contestants) + 1) + contestants.index(contestant)
                for name in by_criterion.keys() & set(names):
                    known[answer * len(names) + names.index(name)] = by_criterion[name]
    if not known:
        return
    wanted = (single & ~voted)[:, None] & (criterion >= 0)
    right = pd.Series(known, dtype=np.float64)
    for place in range(places):
        found = right.reindex(keys[:, place]).to_numpy()
        frame[f"{CRITERION_LABEL_PREFIX}{place}"] = np.where(wanted[:, place], found, np.nan)


def _criterion_codes(frame: pd.DataFrame, places: int) -> tuple[np.ndarray, list[str]]:
    """Return (codes, names): row k of `codes` has the criteria as indexes of `names`, in the order
    in which the request of row k lists them, filled up with −1 to `places` columns."""
    labels = frame["labels"].cat
    parsed = [arrangement_of(name) for name in labels.categories]
    names = sorted({name for one in parsed for name in one.criteria})
    table = np.full((len(parsed), places), -1, np.int64)
    for row, one in enumerate(parsed):
        listed = one.criteria[:places]
        table[row, : len(listed)] = [names.index(name) for name in listed]
    return table[labels.codes.to_numpy()], names
