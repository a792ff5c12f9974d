"""Presets: published protocols as default values of a study, and the result panels of each paper.

Keys of the study file override a preset, and the page lists the differences. If a paper and its
authors' code differ, the preset follows the code; a note states both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

PROBE_SOURCE: Final = "probe"
"""Name of the probe set as a data source. Its items have four answers and no human checks; only
visual items have criteria."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A published protocol: its study values, its result panels and notes for the page."""

    name: str
    title: str
    source: str
    values: Mapping[str, Any]
    panels: tuple[str, ...]
    notes: tuple[str, ...]
    """Differences between paper and code, and the settings that are left to the user."""
    probe_values: Mapping[str, Any] = field(default_factory=dict)
    """Values that replace those of the preset for the probe set, which was not made for the
    protocol."""

    def values_for(self, source: str) -> dict[str, Any]:
        """Return the values that the preset gives to keys of a study whose data source is `source`.
        They differ only for the built-in probe set."""
        return (
            merge_study_values(self.values, self.probe_values)
            if source == PROBE_SOURCE
            else merge_study_values(self.values, {})
        )


def merge_study_values(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Merge study values: values of `overrides` that are not null replace those of `base`; within
    `data`, each key is replaced separately."""
    values = {**base, **{key: value for key, value in overrides.items() if value is not None}}
    lower, upper = base.get("data"), overrides.get("data")
    if isinstance(lower, Mapping) and isinstance(upper, Mapping):
        values["data"] = {**lower, **{k: v for k, v in upper.items() if v is not None}}
    elif isinstance(lower, Mapping) and upper is None:
        values["data"] = dict(lower)
    return values


VISIT_BENCH: Final = Preset(
    name="visit-bench",
    title="VisIT-Bench",
    source="VisIT-Bench (Bitton et al., 2023), appendix",
    values={
        "data": {"where": {"checks.follows": [True, "unchecked"]}},
        "prompts": ["visit-reference-free"],
        "pairing": "all",
        "orders": "both",
        "judge_sees": "context",
        "combine": "strict",
        "unreadable": "tie",
    },
    probe_values={"data": {"categories": ["visual"]}},
    panels=("visit-leaderboard",),
    notes=(
        "Over the two orders of a pair, 2-0 is a win and anything else a tie, as in the code. The "
        "authors' README counts one win and one tie as a win: set combine: majority.",
        "A reply without a verdict, after extraction, counts as a tie, as in the code. Other "
        "protocols exclude such replies: set unreadable: exclude.",
        "Elo is one online pass with K = 4. The paper's equation (1) has the sign of the expected "
        "score reversed; this preset uses the code's sign.",
        "As in the paper, only items are used whose reference people found correct (so the caption "
        "is not at fault). Items without a check are kept. For all items, set data.where: {}.",
        "Extraction needs a judge: set extraction: {judge: …}.",
        "To rate a new model: pairing: new, new: its name, baseline: '@reference'.",
    ),
)

GRADE_SCORE: Final = Preset(
    name="grade-score",
    title="Grade Score",
    source="Grade Score (Iourovitski, 2024)",
    values={
        "data": {"options": 3},
        "prompts": ["grade-simple", "grade-criteria", "grade-debias", "grade-points"],
        "orders": "rotations",
        "unrelated": "none",
    },
    probe_values={"data": {"options": 4}},
    panels=("grade-heatmap",),
    notes=(
        "The last 'Selection:' line is the verdict. The authors take the first 'Selection' "
        "anywhere, so an echoed heading counts as a choice: set reading: gradelab.",
        "Items with an unusable reply are excluded and counted. The authors' code divides by all "
        "calls of an item and scores an item without usable replies as 0. With such items, both "
        "values are shown.",
        "The paper adds an answer to another item as the first option: set unrelated: add. "
        "Scores at different N cannot be compared; unrelated: replace keeps N.",
        "The number of options N is 3, as for most OpenAssistant prompts (4 for the built-in "
        "items).",
    ),
)

CREATION_MMBENCH: Final = Preset(
    name="creation-mmbench",
    title="Creation-MMBench",
    source="Creation-MMBench (Fang et al., 2025), supplement",
    values={
        "prompts": ["creation-subjective", "creation-factuality", "creation-factuality-truth"],
        "pairing": "baseline",
        "baseline": "@reference",
        "orders": "both",
        "judge_sees": "images",
        "combine": "pooled",
    },
    probe_values={"data": {"categories": ["visual"]}, "baseline": "precise"},
    panels=("creation-table", "factuality", "alignment"),
    notes=(
        "The baseline is A in the first order and B in the second. As in the paper and the "
        "authors' code, both orders are pooled, not averaged per item.",
        "Judges with vision: true are shown the images, others their descriptions. With "
        "judge_sees: context, all judges get the descriptions.",
        "Visual factuality is scored without images, as by the authors, and with the ground truth "
        "if an item has one. Items without factuality criteria are skipped.",
        "The baseline is the reference answer of each item; to use a model instead, set baseline.",
    ),
)

MT_BENCH: Final = Preset(
    name="mt-bench",
    title="MT-Bench",
    source="MT-Bench (Zheng et al., 2023)",
    values={
        "prompts": ["mt-bench-pair", "mt-bench-single"],
        "pairing": "all",
        "orders": "both",
        "combine": "strict",
        "unreadable": "exclude",
    },
    panels=("win-table", "ratings"),
    notes=(
        "As in the code, two orders with different winners count as a tie, and errors are dropped.",
        "Pairs and single ratings are both run; to run one, set protocol: pairwise or single.",
    ),
)

ARENA_HARD: Final = Preset(
    name="arena-hard",
    title="Arena-Hard",
    source="Arena-Hard (Li et al., 2024)",
    values={
        "prompts": ["arena-hard"],
        "pairing": "baseline",
        "orders": "both",
        "combine": "pooled",
    },
    probe_values={"baseline": "precise"},
    panels=("creation-table", "win-table"),
    notes=(
        "Every model is compared with the baseline, which is A in the first game. Set baseline.",
        "The authors' code counts a verdict 'much better' (>>) three times when it fits ratings. "
        "Here each "
        "verdict counts once, and the margins are shown.",
    ),
)

PRESETS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        preset.name: preset
        for preset in (VISIT_BENCH, GRADE_SCORE, CREATION_MMBENCH, MT_BENCH, ARENA_HARD)
    }
)
