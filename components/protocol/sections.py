"""Which result panels a study calls for, and which rule is on where a paper and its code differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.drawing.grid import Head, table
from components.format import rich, safe
from components.remember import remembered
from components.scene import Scene
from components.voices import Voices
from judges.prompt import load_prompt, parse_prompt
from metrics.selection import people, rows_of
from studies.errors import EvenhandError
from studies.frame import NO_PICK
from studies.presets import PRESETS
from studies.records import EVIDENCE
from studies.study import Study

VISIT: Final = "visit-leaderboard"
GRADE: Final = "grade-heatmap"
LEVELS: Final = "creation-table"
FACTUALITY: Final = "factuality"
ALIGNMENT: Final = "alignment"
WINS: Final = "win-table"
RATINGS: Final = "ratings"

_BY_PROTOCOL: Final = {
    "pairwise": (VISIT, WINS),
    "choice": (GRADE,),
    "five-level": (LEVELS, ALIGNMENT),
    "factuality": (FACTUALITY,),
    "single": (RATINGS,),
}
"""Without a preset: what the prompts of a study ask for."""


def sections_of(scene: Scene) -> tuple[str, ...]:
    """The names of the panels to show, as studies.presets has them, in order."""
    preset = PRESETS.get(scene.study.preset)
    shown = list(preset.panels) if preset else []
    for kind in protocols_of(scene):
        panels = _BY_PROTOCOL.get(kind, ())
        if preset is None or not set(panels) & set(preset.panels):
            shown += panels  # a preset whose prompts were changed: theirs, too
    return tuple(dict.fromkeys(shown))


def protocols_of(scene: Scene) -> list[str]:
    """The protocols of the prompts in view, in plan order."""
    return list(dict.fromkeys(protocol_by_prompt(scene).values()))


@remembered
def protocol_by_prompt(scene: Scene) -> dict[str, str]:
    """Prompt -> protocol, for the prompts in view."""
    names = [str(name) for name in scene.machines["prompt"].unique()]
    return {name: _protocol(scene, name) for name in names}


def rows_of_protocol(scene: Scene, *protocols: str) -> pd.DataFrame:
    """What the filters leave of the prompts of these protocols; people are heard all the same."""
    wanted = {name for name, kind in protocol_by_prompt(scene).items() if kind in protocols}
    frame = Voices(scene).rows
    kept = frame["prompt"].isin(wanted).to_numpy() | people(frame)
    return rows_of(frame, kept)


def _protocol(scene: Scene, name: str) -> str:
    """As the prompt says; a recorded study may have prompts we do not know: as its records look."""
    try:
        text = scene.store.prompt_of(scene.name, name)
        return (parse_prompt(text, name) if text else load_prompt(name)).protocol
    except EvenhandError:
        return _as_recorded(scene.machines[scene.machines["prompt"] == name])


def _as_recorded(rows: pd.DataFrame) -> str:
    options = int(rows["options"].max())
    read = rows["status"].isin(list(EVIDENCE))
    if options == 1:
        return "single"
    if options > 2:
        return "choice"
    if read.any() and (rows.loc[read, "pick"] == NO_PICK).all():
        return "factuality"
    return "five-level" if bool(np.any(rows["margin"] > 1)) else "pairwise"


# -- rules ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """A choice on which a paper and its authors' code differ, or we and both."""

    what: str
    on: str
    other: str
    published: bool = True
    """Whether what is on is what the published numbers were made with."""


def rules_of(scene: Scene, sections: Sequence[str]) -> list[Rule]:
    """What is on for the panels shown; the filter of the page may have changed the study's."""
    study = scene.study
    found: list[Rule] = []
    if VISIT in sections:
        found += [_combination(scene), _unreadable(scene), ELO_SIGN]
    if GRADE in sections:
        found += [_reading(study), _unread_trials(), MODE_COUNT]
    if LEVELS in sections:
        found += [POOLED]
    if ALIGNMENT in sections:
        found += [POOLED_ITEMS]
    if FACTUALITY in sections:
        found += [NO_IMAGES]
    if WINS in sections and VISIT not in sections:
        found += [_games(scene)]
    return found


def _combination(scene: Scene) -> Rule:
    on = {
        "strict": "2–0 wins, anything else is a tie (the authors' code)",
        "majority": "one win and one tie is a win (the authors' README)",
        "pooled": "each order counts by itself (ours)",
    }
    others = {
        "strict": "README: one win and one tie is a win. Ours: each order counts.",
        "majority": "Code: 2–0 wins, anything else is a tie. Ours: each order counts.",
        "pooled": "Code: 2–0 wins, anything else is a tie. README: a win and a tie is a win.",
    }
    combine = scene.rule[0]
    return Rule("Two orders of a pair", on[combine], others[combine], combine == "strict")


def _unreadable(scene: Scene) -> Rule:
    if scene.rule[1] == "tie":
        on, other = "a tie (paper and code)", "Ours: left out and counted; it says nothing."
        return Rule("No verdict after extraction", on, other)
    on, other = "left out and counted (ours)", "Paper and code: a tie."
    return Rule("No verdict after extraction", on, other, published=False)


ELO_SIGN: Final = Rule(
    "Elo's expected score",
    "`1/(1 + 10^((Rb − Ra)/400))` (code)",
    "Paper, equation (1): the same with the sign of the difference turned round; a slip.",
)


def _reading(study: Study) -> Rule:
    if study.reading == "gradelab":
        return Rule(
            "Which words are the choice",
            "the first “Selection”, then the first “Option k” (code)",
            "Ours: the last `Selection:` line; an echoed heading is no choice.",
        )
    return Rule(
        "Which words are the choice",
        "the last `Selection:` line (ours)",
        "Code: the first “Selection” anywhere, then the first “Option k” after it.",
        published=False,
    )


def _unread_trials() -> Rule:
    return Rule(
        "Items with an unreadable trial",
        "left out and counted (ours)",
        "Code: scored over the readable trials, entropy over log2 of all; none readable is 0.",
        published=False,
    )


MODE_COUNT: Final = Rule(
    "Choice score",
    "how often the most chosen option was chosen, of all trials (code)",
    "Paper, formula (4): writes the mode itself instead of its count.",
)
POOLED: Final = Rule(
    "Two orders of an item",
    "both verdicts pooled (paper and code)",
    "Not averaged per item; a failed reply is in no denominator.",
)
POOLED_ITEMS: Final = Rule(
    "Consistency over several models",
    "items pooled (what the printed values follow)",
    "The mean of the models' values does not reproduce the paper's table.",
)
NO_IMAGES: Final = Rule(
    "What the factuality judge is given",
    "no images, as the authors do",
    "Criteria, and the ground truth where an item has one.",
)


def _games(scene: Scene) -> Rule:
    if scene.study.preset == "arena-hard" and scene.rule[0] == "pooled":
        on, other = "each game counts by itself (code)", "Elsewhere unequal games are a tie."
        return Rule("Two games of a pair", on, other)
    on = {
        "strict": "unequal games are a tie, errors dropped (code)",
        "majority": "one win and one tie is a win",
        "pooled": "each game counts by itself (ours)",
    }
    combine = scene.rule[0]
    other = "Other rules: the filter above." if combine == "strict" else "Code: unequal is a tie."
    return Rule("Two games of a pair", on[combine], other, combine == "strict")


def rules_table(rules: Sequence[Rule]) -> str:
    """What is on, what is not, and whether the published numbers were made that way."""
    heads = [Head(text, numeric=False) for text in ("Where they differ", "On", "Not on", "")]
    rows = [
        [
            safe(rule.what),
            f"<b>{rich(rule.on)}</b>",
            f'<span class="eh-mute">{rich(rule.other)}</span>',
            f'<span class="eh-badge {"s-ok" if rule.published else "s-unreadable"}">'
            f"{'as published' if rule.published else 'not as published'}</span>",
        ]
        for rule in rules
    ]
    return f'<div class="eh-rules">{table(heads, rows, label="Rules in force")}</div>'
