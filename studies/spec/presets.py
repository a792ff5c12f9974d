"""Published protocols as one word in a study file: what each sets, and what its paper shows.

A preset is a layer of study values under the keys that a file writes itself, so that every part can
be changed, and the page can say what was. Where a paper and its authors' code differ, the code's
rule is on; the note says which is which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

PAPER_PANELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "visit-leaderboard": "Elo, matches, win rate against the reference, cost of a head-to-head",
        "grade-heatmap": "grade, entropy and choice by judge, prompt and unrelated option",
        "creation-table": "Reward, Win Rate and the counts of the five levels",
        "factuality": "visual factuality scores of each model, over both orders",
        "alignment": "MAE and Consistency with people, beside the always-tie judge",
        "win-table": "wins, losses, ties and the adjusted win rate of each model",
        "ratings": "mean single ratings of each model, by category",
    }
)
"""The result panels that papers print, by name."""

PROBE_SOURCE: Final = "probe"
"""The built-in set: four answers an item, no human checks, criteria in its visual items only."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One protocol: study values as a file would write them, and the names of its panels."""

    name: str
    title: str
    source: str
    values: Mapping[str, Any]
    panels: tuple[str, ...]
    notes: tuple[str, ...]
    """Where paper and code differ and which is on; what a reader must still choose."""
    probe_values: Mapping[str, Any] = field(default_factory=dict)
    """What is otherwise on the built-in set, which was not made for this protocol."""

    def values_for(self, source: str) -> dict[str, Any]:
        """The values for records from `source`; `data` is a mapping of its own."""
        return (
            merge_values(self.values, self.probe_values)
            if source == PROBE_SOURCE
            else merge_values(self.values, {})
        )


def merge_values(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Values under others: what is written (and not empty) above wins, inside `data` key by key."""
    values = {**below, **{key: value for key, value in above.items() if value is not None}}
    lower, upper = below.get("data"), above.get("data")
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
        "Two orders of a pair: 2-0 is a win, anything else a tie, as in the code. The authors' "
        "README counts one win and one tie as a win: combine: majority.",
        "A reply without a verdict, after extraction, is a tie, as in the code; elsewhere such "
        "replies are left out: unreadable: exclude.",
        "Elo is one online pass with K 4. The paper's equation (1) prints the sign of the expected "
        "score the wrong way round; the code's is on.",
        "Only items whose reference people found correct (its caption is then not at fault), as in "
        "the paper; items nobody checked are kept. data.where: {} takes all.",
        "The extraction judge needs a model of its own: extraction: {judge: …}.",
        "To rate a new contestant: pairing: new, new: its name, baseline: '@reference'.",
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
        "The last 'Selection:' line binds. The authors take the first 'Selection' anywhere, which "
        "reads an echoed heading as a choice: reading: gradelab.",
        "Items with an unreadable trial are left out and counted. The authors' code divides by all "
        "trials and scores an item without any as 0; where there are such items, both are shown.",
        "The paper puts an answer to another item in front as one more option: unrelated: add. "
        "Only unrelated: replace keeps N, and scores at different N cannot be compared.",
        "N is 3, what most of the OpenAssistant prompts have (4 on the built-in set).",
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
        "The baseline is A in the first run and B in the second; both runs are pooled, as in paper "
        "and code, not averaged per item.",
        "Judges with vision: true see the images, others read their descriptions; judge_sees: "
        "context gives everybody the description.",
        "Visual factuality is scored without images, as the authors do, and with the ground truth "
        "where an item has one. Items without factuality criteria are skipped.",
        "The baseline is the reference answer of each item; baseline: names a contestant instead.",
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
        "Two games that differ are a tie, errors are dropped, as in the code.",
        "Pairs and single ratings are both asked; protocol: pairwise (or single) keeps one.",
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
        "Everybody meets the baseline, which is A in the first game: baseline: must name it.",
        "The authors' code counts a verdict of >> three times when it fits ratings; here each "
        "verdict counts once, and the margins are shown.",
    ),
)

PRESETS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        preset.name: preset
        for preset in (VISIT_BENCH, GRADE_SCORE, CREATION_MMBENCH, MT_BENCH, ARENA_HARD)
    }
)
