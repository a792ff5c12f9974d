"""Tables published in the papers, read from assets/published, and cautions on using them.

The cautions are computed from the printed numbers; only statements from a paper's text are
constants.
"""

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from metrics.estimation.intervals import student_t_quantile, wilson_bounds
from metrics.protocols.creation_levels import LEVEL_POINTS, LEVELS, reward_and_win_rate_from_counts
from studies.domain import Estimate

PUBLISHED_FOLDER: Final = Path(__file__).resolve().parents[3] / "assets" / "published"
GRADE_PROMPTS: Final = ("grade-simple", "grade-criteria", "grade-debias", "grade-points")
"""Evenhand's names of prompts 1 to 4 of Grade Score."""
ORDERS_PER_ITEM: Final = 2
"""Number of verdicts per item in the counts of Creation-MMBench's Table 5, one in each order; the
intervals count them as one observation."""
PUBLISHED_BASELINE: Final = "GPT-4o-1120"
ROUNDING_ERROR: Final = 5e-5
"""Largest rounding error of a printed number: half a unit of its last digit."""


def _read_csv(name: str) -> list[dict[str, str]]:
    with (PUBLISHED_FOLDER / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def visit_bench_skills() -> tuple[str, ...]:
    """VisIT-Bench's instruction categories, in the paper's order."""
    return tuple(row["skill"] for row in _read_csv("visit_bench_skills.csv"))


# -- Grade Score, tables 1 to 3 ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PublishedGrade:
    """One cell of Grade Score's Tables 1 to 3: printed means over items of position entropy, choice
    value (share of the most chosen option) and grade (harmonic mean of the two, per item)."""

    grade: float
    entropy: float
    choice: float

    @property
    def max_grade(self) -> float:
        """Highest grade possible with the printed entropy and choice value. The harmonic mean is
        concave, so that a mean of harmonic means cannot exceed the harmonic mean of the means."""
        return 2 * self.entropy * self.choice / (self.entropy + self.choice)

    @property
    def doubt_level(self) -> int:
        """Degree to which the printed grade is impossible. 0: possible; 1: above `max_grade`; 2:
        even above both the entropy and the choice value."""
        if self.grade <= self.max_grade + ROUNDING_ERROR:
            return 0
        return 2 if self.grade > max(self.entropy, self.choice) + ROUNDING_ERROR else 1


GradeKey = tuple[str, str, int]
"""(model, Evenhand's name of the prompt, 1 with or 0 without the unrelated option)"""


@cache
def published_grades() -> Mapping[GradeKey, PublishedGrade]:
    parts: dict[GradeKey, dict[str, float]] = {}
    for row in _read_csv("grade_score_tables.csv"):
        key = (row["model"], GRADE_PROMPTS[int(row["prompt"]) - 1], int(row["unrelated_option"]))
        parts.setdefault(key, {})[row["metric"]] = float(row["value"])
    return {key: PublishedGrade(**found) for key, found in parts.items()}


def doubtful_grades() -> list[tuple[GradeKey, PublishedGrade]]:
    """Published grades above their highest possible value (`max_grade`), the largest excess
    first."""
    found = [(key, cell) for key, cell in published_grades().items() if cell.doubt_level]
    return sorted(found, key=lambda pair: pair[1].max_grade - pair[1].grade)


def models_by_grade() -> list[str]:
    """Models of Grade Score's published tables, the highest mean grade first. The mean is over the
    prompts without the unrelated option (an answer to another question)."""
    means: dict[str, list[float]] = {}
    for (model, _, added), cell in published_grades().items():
        if not added:
            means.setdefault(model, []).append(cell.grade)
    return sorted(means, key=lambda model: -float(np.mean(means[model])))


@dataclass(frozen=True, slots=True)
class GradeCaveat:
    """Counts that show why the printed Grade Score tables are not a reliable standard.

    Of `cells` printed grades, `above_parts` exceed their `max_grade`, and `above_both` exceed even
    both the entropy and the choice value; `worst` has the largest excess. Of `pairs` combinations
    of model and prompt, `grade_rises` have a higher grade with the unrelated option, and
    `choice_falls` a lower choice value.
    """

    cells: int
    above_parts: int
    above_both: int
    worst: tuple[GradeKey, PublishedGrade]
    pairs: int
    grade_rises: int
    choice_falls: int
    leaders: int
    """Number of different models that have the highest grade in a column; there are eight columns,
    four prompts with and without the unrelated option."""


def compute_grade_caveat() -> GradeCaveat:
    tables, found = published_grades(), doubtful_grades()
    pairs = [(cell, tables[m, p, 1]) for (m, p, added), cell in tables.items() if not added]
    columns: dict[tuple[str, int], list[tuple[float, str]]] = {}
    for (model, prompt, added), cell in tables.items():
        columns.setdefault((prompt, added), []).append((cell.grade, model))
    return GradeCaveat(
        cells=len(tables),
        above_parts=len(found),
        above_both=sum(cell.doubt_level > 1 for _, cell in found),
        worst=found[0],
        pairs=len(pairs),
        grade_rises=sum(added.grade > without.grade for without, added in pairs),
        choice_falls=sum(added.choice < without.choice for without, added in pairs),
        leaders=len({max(column)[1] for column in columns.values()}),
    )


def model_name_without_date(name: str) -> str:
    """The name without a date at its end, such as "gpt-4o" for "gpt-4o-2024-05-13"."""
    return re.sub(r"-(\d{8}|\d{4}-\d{2}-\d{2})$", "", name)


# -- Creation-MMBench, tables 5 to 7 -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PublishedLevels:
    """One row of Creation-MMBench's Table 5: the printed counts and measures of a model. The
    intervals are computed from the counts, because the paper prints none."""

    model: str
    group: str
    counts: Mapping[str, int]
    fail: int
    vfs: float
    printed_reward: float
    printed_win_rate: float
    reward: Estimate
    win_rate: Estimate


@cache
def read_creation_levels() -> tuple[PublishedLevels, ...]:
    """Creation-MMBench's Table 5, the highest Reward first, without rows that print no counts. For
    the intervals, the two orders of an item count as one observation."""
    rows = _read_csv("creation_mmbench_table5.csv")
    made = [_parse_levels_row(row) for row in rows if row["fail"]]
    return tuple(sorted(made, key=lambda row: -(row.reward.value or 0.0)))


def _parse_levels_row(row: Mapping[str, str]) -> PublishedLevels:
    counts = {level: int(row[level]) for level in LEVELS}
    reward, rate = reward_and_win_rate_from_counts(counts)
    readable = sum(counts.values())
    items = readable // ORDERS_PER_ITEM
    mean, wins = reward or 0.0, (rate or 0.0) / 100
    spread = sum(n * (LEVEL_POINTS[level] - mean) ** 2 for level, n in counts.items()) / readable
    half = float(student_t_quantile(items)) * math.sqrt(spread / items)
    end = "interval; the two orders of an item are one observation"
    bounds = (mean - half, mean + half)
    score = Estimate(mean, *bounds, readable, items, "reward", method=f"t {end}")
    printed = (float(row["vfs"]), float(row["reward"]), float(row["win_rate"]))
    estimates = (score, _wilson_share(wins, readable, items, f"Wilson {end}"))
    own = (row["model"], row["group"], counts, int(row["fail"]))
    return PublishedLevels(*own, *printed, *estimates)


def _wilson_share(value: float, n: int, items: int, method: str) -> Estimate:
    low, high = wilson_bounds(value * items, items)
    return Estimate(value, float(low), float(high), n, items, "share", method=method)


def reproduction_error() -> tuple[float, float]:
    """Check of the formulas against Creation-MMBench's Table 5: the largest absolute differences
    between a printed value and the value computed from the printed counts, as (Reward, win rate
    in percentage points)."""
    rows = read_creation_levels()
    return (
        max(abs((row.reward.value or 0.0) - row.printed_reward) for row in rows),
        max(abs(100 * (row.win_rate.value or 0.0) - row.printed_win_rate) for row in rows),
    )


@cache
def read_creation_descriptions() -> dict[str, dict[str, tuple[float, float]]]:
    """Creation-MMBench's Table 6, on models that see descriptions instead of images: model -> kind
    of description -> (visual factuality score, Reward)."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in _read_csv("creation_mmbench_table6.csv"):
        scores = (float(row["vfs"]), float(row["reward"]))
        found.setdefault(row["model"], {})[row["description"]] = scores
    return found


@dataclass(frozen=True, slots=True)
class PublishedAlignment:
    """One row of Creation-MMBench's Table 7: agreement of one judge with people, on the items of
    one model or of all models (`model` is "overall")."""

    sees: str
    """Input of the judge: "images" or "description"; "people" for a row on human raters."""
    judge: str
    model: str
    dual: bool
    """Whether the judge's scores are means over both orders."""
    mae: float
    consistency: Estimate
    n: int


_JUDGE_SEES: Final = {
    "LLM-as-a-judge": "description",
    "MLLM-as-a-judge": "images",
    "Human-as-a-judge": "people",
}


@cache
def read_creation_alignment() -> tuple[PublishedAlignment, ...]:
    return tuple(_parse_alignment_row(row) for row in _read_csv("creation_mmbench_table7.csv"))


def _parse_alignment_row(row: Mapping[str, str]) -> PublishedAlignment:
    n = int(row["n"])
    within = _wilson_share(float(row["consistency"]) / 100, n, n, "Wilson interval over items")
    judged = (_JUDGE_SEES[row["method"]], row["judge"], row["model"], row["dual"] == "1")
    return PublishedAlignment(*judged, float(row["mae"]), within, n)


def count_values_no_better_with_images() -> tuple[int, int]:
    """Compare judges with images and with descriptions in Creation-MMBench's Table 7, over all
    models: MAE and Consistency of each judge, in one order and in both. Return the number of values
    that are no better with images, and the number of values compared."""
    overall = {
        (row.judge, row.dual, row.sees): row
        for row in read_creation_alignment()
        if row.model == "overall" and row.sees != "people"
    }
    worse = cells = 0
    for (judge, dual, sees), seen in overall.items():
        if sees == "images":
            read = overall[judge, dual, "description"]
            worse += seen.mae >= read.mae
            worse += (seen.consistency.value or 0.0) <= (read.consistency.value or 0.0)
            cells += 2
    return worse, cells
