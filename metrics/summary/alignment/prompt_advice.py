"""The recommendation of a comparison of prompts: adopt, do not adopt, or not enough labels.

Candidates (new versions of today's prompt) are compared with it on the hold-out: labelled items
that no candidate was made from.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

from metrics.estimation.intervals import student_t_quantile
from metrics.remedies.recommendation import format_points, gain_text
from metrics.summary.alignment.candidate_table import CandidateLine, CandidateTable
from metrics.summary.alignment.side_effects import TWIN_KEY
from studies.domain import Estimate
from studies.people.label_split import LEAST_HOLD_OUT

POWER_QUANTILE: Final = 0.8416
"""Normal quantile of the probability, 80 %, with which a gain should be found."""
SMALL_GAIN: Final = 0.05
"""Smallest gain for which the number of labelled items needed is stated."""
Advice = Literal["adopt", "do not adopt", "not enough labels"]


@dataclass(frozen=True, slots=True)
class PromptAdvice:
    """A recommendation (`advice`). `prompt` is the candidate that it is about; None if it is about
    no single one. `sentence` is the recommendation in words, `others` a sentence on the other
    candidates (empty without others). `needed` is the number of labelled items that the hold-out
    needs for a recommendation, None if not stated."""

    advice: Advice
    prompt: str | None
    sentence: str
    others: str = ""
    needed: int | None = None


def advise(table: CandidateTable) -> PromptAdvice:
    """Recommend to adopt the candidate with the largest shown gain that adds no bias. Without such
    a candidate, recommend to adopt none if each one loses, adds bias or has too few replies, else
    to collect more labels. Below LEAST_HOLD_OUT items, always recommend to collect more labels."""
    if table.items < LEAST_HOLD_OUT:
        return advice_for_few_labels(table.items)
    gaining = [one for one in table.candidates if one.status == "gains"]
    if gaining:
        best = max(gaining, key=_gain_for_sorting)
        return PromptAdvice(
            "adopt",
            best.prompt,
            _adopt_sentence(best, table),
            _other_candidates_sentence(table, best),
        )
    bad = [one for one in table.candidates if one.status in ("adds bias", "loses", "no replies")]
    open_ones = [one for one in table.candidates if one.status == "not shown"]
    if bad and not open_ones:
        worst = max(bad, key=_gain_for_sorting)
        sentence = f"Do not adopt {_describe_candidate(worst, table)}."
        return PromptAdvice(
            "do not adopt", worst.prompt, sentence, _other_candidates_sentence(table, worst)
        )
    return _advice_without_gain(table, open_ones)


def advice_for_few_labels(items: int) -> PromptAdvice:
    """Advice for a hold-out with fewer than LEAST_HOLD_OUT items."""
    missing = LEAST_HOLD_OUT - items
    sentence = (
        f"Not enough labels: the hold-out has {items} items with a usable label, {missing} fewer "
        f"than the {LEAST_HOLD_OUT} that a recommendation needs."
    )
    return PromptAdvice("not enough labels", None, sentence, needed=LEAST_HOLD_OUT)


def _gain_for_sorting(line: CandidateLine) -> float:
    """Agreement of a candidate minus that of today's prompt; −1 if unknown."""
    value = line.difference.value if line.difference else None
    return -1.0 if value is None else value


def _adopt_sentence(best: CandidateLine, table: CandidateTable) -> str:
    assert best.difference is not None
    also = " and ".join(_describe_improvement(key, table) for key in best.improved_effects)
    more = f", with {also}" if also else ""
    return f"Adopt {best.prompt}: {gain_text(best.difference)} on items it has not seen{more}."


def _other_candidates_sentence(table: CandidateTable, chosen: CandidateLine) -> str:
    """Sentence on the candidates besides the chosen one; empty if there are none."""
    rest = [one for one in table.candidates if one is not chosen]
    parts = [_describe_candidate(one, table) for one in rest if one.status != "not shown"]
    same = [one.prompt for one in rest if one.status == "not shown"]
    parts += [f"{' and '.join(same)}: no gain shown"] if same else []
    return f"{'; '.join(parts)}." if parts else ""


def _describe_candidate(line: CandidateLine, table: CandidateTable) -> str:
    """Name a candidate with its gain or loss and the bias that it adds; with a note instead if it
    has too few replies."""
    if line.status == "no replies" or line.difference is None:
        return f"{line.prompt}: {line.agreement.note}"
    named = [_describe_worsening(key, line, table) for key in line.worsened_effects]
    gain = gain_text(line.difference)
    if not named:
        return f"{line.prompt}: {gain}"
    if line.status == "loses":
        return f"{line.prompt}: {gain}, and {' and '.join(named)}"
    start = gain if (line.difference.low or 0.0) > 0 else "no gain shown"
    return f"{line.prompt}: {start}, but {' and '.join(named)}"


def _describe_improvement(key: str, table: CandidateTable) -> str:
    if key.startswith(TWIN_KEY):
        return f"a smaller effect of the twin {key.removeprefix(TWIN_KEY)}"
    return next(one.better for one in table.effects if one.key == key)


def _describe_worsening(key: str, line: CandidateLine, table: CandidateTable) -> str:
    """Words for a side effect that became worse: "it flips 37 % instead of 22 %"."""
    one = line.changes[key]
    if key.startswith(TWIN_KEY):
        now, was = (_twin_effect_text(value or 0.0, one.change) for value in (one.now, one.was))
        return f"the twin {key.removeprefix(TWIN_KEY)} moves it by {now} instead of {was}"
    effect = next(one for one in table.effects if one.key == key)
    values = (line.effects[key].value or 0.0, table.today.effects[key].value or 0.0)
    return effect.worse.format(*map(effect.format_value, values))


def _twin_effect_text(value: float, change: Estimate) -> str:
    text = format_points(value, 0)
    unit = "point" if text.lstrip("+−") == "1" else "points"
    return f"{text} {unit}" if change.unit == "share" else f"{value:+.2f}"


def _advice_without_gain(table: CandidateTable, lines: list[CandidateLine]) -> PromptAdvice:
    """Advice to collect more labels, with the number of labelled items needed if it can be
    computed; `lines` are the candidates that were shown neither to gain nor to lose."""
    best = max(lines, key=_gain_for_sorting, default=None)
    start = "Not enough labels: no candidate was shown to gain"
    if best is None or best.difference is None:
        return PromptAdvice("not enough labels", None, f"{start}.")
    gain = max(_gain_for_sorting(best), SMALL_GAIN)
    needed = items_needed(best.difference, gain)
    if needed is None:
        return PromptAdvice(
            "not enough labels", None, f"{start}.", _other_candidates_sentence(table, best)
        )
    more = max(needed - table.items, 0)
    sentence = (
        f"{start}. To find a gain of {100 * gain:.0f} points, the hold-out needs about {needed:,} "
        f"labelled items, {more:,} more than today."
    )
    return PromptAdvice(
        "not enough labels", None, sentence, _other_candidates_sentence(table, best), needed
    )


def items_needed(difference: Estimate, gain: float) -> int | None:
    """Number of items, at least LEAST_HOLD_OUT, with which a true gain of `gain` would be shown
    with probability 80 %, if intervals shrink with the root of the number of items; None without
    an interval."""
    if difference.value is None or difference.low is None or difference.items < 2:
        return None
    reach = difference.value - difference.low
    error = reach / float(student_t_quantile(difference.items))
    needed = difference.items * ((reach + POWER_QUANTILE * error) / gain) ** 2
    return max(math.ceil(needed), LEAST_HOLD_OUT)
