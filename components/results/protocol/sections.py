"""Which result panels a study calls for, and which rule is on where a paper and its code differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.filtering.raters import Raters
from components.html.format import escape, inline_markup
from components.html.value_table import ColumnHead, value_table
from judges.rendering.prompt import load_prompt, parse_prompt
from metrics.estimation.row_selection import people_mask, select_rows
from studies.domain import USABLE_STATUSES
from studies.errors import EvenhandError
from studies.frames.frame import NO_PICK
from studies.spec.presets import PRESETS
from studies.spec.study import Study

VISIT_SECTION: Final = "visit-leaderboard"
GRADE_SECTION: Final = "grade-heatmap"
LEVELS_SECTION: Final = "creation-table"
FACTUALITY_SECTION: Final = "factuality"
ALIGNMENT_SECTION: Final = "alignment"
WINS_SECTION: Final = "win-table"
RATINGS_SECTION: Final = "ratings"

_PROTOCOL_SECTIONS: Final = {
    "pairwise": (VISIT_SECTION, WINS_SECTION),
    "choice": (GRADE_SECTION,),
    "five-level": (LEVELS_SECTION, ALIGNMENT_SECTION),
    "factuality": (FACTUALITY_SECTION,),
    "single": (RATINGS_SECTION,),
}
"""Without a preset: what the prompts of a study ask for."""


def study_sections(scene: FilteredStudy) -> tuple[str, ...]:
    """The names of the panels to show, as studies.spec.presets has them, in order."""
    preset = PRESETS.get(scene.study.preset)
    shown = list(preset.panels) if preset else []
    for kind in study_protocols(scene):
        panels = _PROTOCOL_SECTIONS.get(kind, ())
        if preset is None or not set(panels) & set(preset.panels):
            shown += panels  # a preset whose prompts were changed: theirs, too
    return tuple(dict.fromkeys(shown))


def study_protocols(scene: FilteredStudy) -> list[str]:
    """The protocols of the prompts in view, in plan order."""
    return list(dict.fromkeys(protocol_by_prompt(scene).values()))


@memoise_by_study
def protocol_by_prompt(scene: FilteredStudy) -> dict[str, str]:
    """Prompt -> protocol, for the prompts in view."""
    names = [str(name) for name in scene.machines["prompt"].unique()]
    return {name: _prompt_protocol(scene, name) for name in names}


def protocol_rows(scene: FilteredStudy, *protocols: str) -> pd.DataFrame:
    """What the filters leave of the prompts of these protocols; people are heard all the same."""
    wanted = {name for name, kind in protocol_by_prompt(scene).items() if kind in protocols}
    frame = Raters(scene).rows
    kept = frame["prompt"].isin(wanted).to_numpy() | people_mask(frame)
    return select_rows(frame, kept)


def _prompt_protocol(scene: FilteredStudy, name: str) -> str:
    """As the prompt says; a recorded study may have prompts we do not know: as its records look."""
    try:
        text = scene.store.prompt_of(scene.name, name)
        return (parse_prompt(text, name) if text else load_prompt(name)).protocol
    except EvenhandError:
        return _infer_protocol(scene.machines[scene.machines["prompt"] == name])


def _infer_protocol(rows: pd.DataFrame) -> str:
    options = int(rows["options"].max())
    read = rows["status"].isin(list(USABLE_STATUSES))
    if options == 1:
        return "single"
    if options > 2:
        return "choice"
    if read.any() and (rows.loc[read, "pick"] == NO_PICK).all():
        return "factuality"
    return "five-level" if bool(np.any(rows["margin"] > 1)) else "pairwise"


# -- rules ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProtocolRule:
    """A choice on which a paper and its authors' code differ, or we and both."""

    what: str
    on: str
    other: str
    published: bool = True
    """Whether what is on is what the published numbers were made with."""


def rules_in_force(scene: FilteredStudy, sections: Sequence[str]) -> list[ProtocolRule]:
    """What is on for the panels shown; the filter of the page may have changed the study's."""
    study = scene.study
    found: list[ProtocolRule] = []
    if VISIT_SECTION in sections:
        found += [_combination_rule(scene), _unreadable_rule(scene), ELO_SIGN_RULE]
    if GRADE_SECTION in sections:
        found += [_reading_rule(study), _unread_trials_rule(), CHOICE_SCORE_RULE]
    if LEVELS_SECTION in sections:
        found += [POOLED_ORDERS_RULE]
    if ALIGNMENT_SECTION in sections:
        found += [POOLED_ITEMS_RULE]
    if FACTUALITY_SECTION in sections:
        found += [NO_IMAGES_RULE]
    if WINS_SECTION in sections and VISIT_SECTION not in sections:
        found += [_games_rule(scene)]
    return found


def _combination_rule(scene: FilteredStudy) -> ProtocolRule:
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
    return ProtocolRule("Two orders of a pair", on[combine], others[combine], combine == "strict")


def _unreadable_rule(scene: FilteredStudy) -> ProtocolRule:
    if scene.rule[1] == "tie":
        on, other = "a tie (paper and code)", "Ours: left out and counted; it says nothing."
        return ProtocolRule("No verdict after extraction", on, other)
    on, other = "left out and counted (ours)", "Paper and code: a tie."
    return ProtocolRule("No verdict after extraction", on, other, published=False)


ELO_SIGN_RULE: Final = ProtocolRule(
    "Elo's expected score",
    "`1/(1 + 10^((Rb − Ra)/400))` (code)",
    "Paper, equation (1): the same with the sign of the difference turned round; a slip.",
)


def _reading_rule(study: Study) -> ProtocolRule:
    if study.reading == "gradelab":
        return ProtocolRule(
            "Which words are the choice",
            "the first “Selection”, then the first “Option k” (code)",
            "Ours: the last `Selection:` line; an echoed heading is no choice.",
        )
    return ProtocolRule(
        "Which words are the choice",
        "the last `Selection:` line (ours)",
        "Code: the first “Selection” anywhere, then the first “Option k” after it.",
        published=False,
    )


def _unread_trials_rule() -> ProtocolRule:
    return ProtocolRule(
        "Items with an unreadable trial",
        "left out and counted (ours)",
        "Code: scored over the readable trials, entropy over log2 of all; none readable is 0.",
        published=False,
    )


CHOICE_SCORE_RULE: Final = ProtocolRule(
    "Choice score",
    "how often the most chosen option was chosen, of all trials (code)",
    "Paper, formula (4): writes the mode itself instead of its count.",
)
POOLED_ORDERS_RULE: Final = ProtocolRule(
    "Two orders of an item",
    "both verdicts pooled (paper and code)",
    "Not averaged per item; a failed reply is in no denominator.",
)
POOLED_ITEMS_RULE: Final = ProtocolRule(
    "Consistency over several models",
    "items pooled (what the printed values follow)",
    "The mean of the models' values does not reproduce the paper's table.",
)
NO_IMAGES_RULE: Final = ProtocolRule(
    "What the factuality judge is given",
    "no images, as the authors do",
    "Criteria, and the ground truth where an item has one.",
)


def _games_rule(scene: FilteredStudy) -> ProtocolRule:
    if scene.study.preset == "arena-hard" and scene.rule[0] == "pooled":
        on, other = "each game counts by itself (code)", "Elsewhere unequal games are a tie."
        return ProtocolRule("Two games of a pair", on, other)
    on = {
        "strict": "unequal games are a tie, errors dropped (code)",
        "majority": "one win and one tie is a win",
        "pooled": "each game counts by itself (ours)",
    }
    combine = scene.rule[0]
    other = "Other rules: the filter above." if combine == "strict" else "Code: unequal is a tie."
    return ProtocolRule("Two games of a pair", on[combine], other, combine == "strict")


def rules_table(rules: Sequence[ProtocolRule]) -> str:
    """What is on, what is not, and whether the published numbers were made that way."""
    heads = [ColumnHead(text, numeric=False) for text in ("Where they differ", "On", "Not on", "")]
    rows = [
        [
            escape(rule.what),
            f"<b>{inline_markup(rule.on)}</b>",
            f'<span class="eh-mute">{inline_markup(rule.other)}</span>',
            f'<span class="eh-badge {"s-ok" if rule.published else "s-unreadable"}">'
            f"{'as published' if rule.published else 'not as published'}</span>",
        ]
        for rule in rules
    ]
    return f'<div class="eh-rules">{value_table(heads, rows, label="Rules in force")}</div>'
