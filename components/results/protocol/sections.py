"""Panels of the Protocol view, and the rules that a study follows where paper and code differ. A
prompt's protocol is the kind of verdict that it asks for, such as pairwise or five-level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import combine_text
from components.filtering.memo import memoise_by_study
from components.filtering.raters import Raters
from components.html.markup import Markup, escape, fill, inline_markup
from components.html.tables.value_table import ColumnHead, value_table
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
"""Protocol of a prompt -> its panels. They are added to the panels of the study's preset; none is
added if the preset already has one of them."""


def study_sections(filtered: FilteredStudy) -> tuple[str, ...]:
    """Names of the panels to show, in order; the names are those in studies.spec.presets."""
    preset = PRESETS.get(filtered.study.preset)
    shown = list(preset.panels) if preset else []
    for kind in study_protocols(filtered):
        panels = _PROTOCOL_SECTIONS.get(kind, ())
        if preset is None or not set(panels) & set(preset.panels):
            shown += panels  # prompts that were added to a preset have their panels too
    return tuple(dict.fromkeys(shown))


def study_protocols(filtered: FilteredStudy) -> list[str]:
    """Protocols of the prompts with judgements that pass the filters, in plan order."""
    return list(dict.fromkeys(protocol_by_prompt(filtered).values()))


@memoise_by_study
def protocol_by_prompt(filtered: FilteredStudy) -> dict[str, str]:
    """Prompt -> protocol, for the prompts with judgements that pass the filters."""
    names = [str(name) for name in filtered.machines["prompt"].unique()]
    return {name: _prompt_protocol(filtered, name) for name in names}


def protocol_rows(filtered: FilteredStudy, *protocols: str) -> pd.DataFrame:
    """Judgements with a prompt of one of these protocols, and people's votes, under the filters."""
    wanted = {name for name, kind in protocol_by_prompt(filtered).items() if kind in protocols}
    frame = Raters(filtered).rows
    mask = frame["prompt"].isin(wanted).to_numpy() | people_mask(frame)
    return select_rows(frame, mask)


def _prompt_protocol(filtered: FilteredStudy, name: str) -> str:
    """Protocol of a prompt; for an unknown prompt of imported data, inferred from judgements."""
    try:
        text = filtered.store.prompt_of(filtered.name, name)
        return (parse_prompt(text, name) if text else load_prompt(name)).protocol
    except EvenhandError:
        return _infer_protocol(filtered.machines[filtered.machines["prompt"] == name])


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
    """A rule on which a paper, its authors' code and Evenhand differ."""

    what: str
    on: str
    """The rule that this study uses."""
    other: str
    published: bool = True
    """Whether the published numbers were computed with the rule that this study uses."""


def rules_in_force(filtered: FilteredStudy, sections: Sequence[str]) -> list[ProtocolRule]:
    """The rules that apply to the panels `sections`, under the study's or the filter's settings."""
    study = filtered.study
    found: list[ProtocolRule] = []
    if VISIT_SECTION in sections:
        found += [_combination_rule(filtered), _unreadable_rule(filtered), ELO_SIGN_RULE]
    if GRADE_SECTION in sections:
        found += [_reading_rule(study), _unread_trials_rule(), CHOICE_SCORE_RULE]
    if LEVELS_SECTION in sections:
        found += [POOLED_ORDERS_RULE]
    if ALIGNMENT_SECTION in sections:
        found += [POOLED_ITEMS_RULE]
    if FACTUALITY_SECTION in sections:
        found += [NO_IMAGES_RULE]
    if WINS_SECTION in sections and VISIT_SECTION not in sections:
        found += [_games_rule(filtered)]
    return found


def _combination_rule(filtered: FilteredStudy) -> ProtocolRule:
    on = {
        "strict": "an answer wins if it wins in both orders, otherwise the pair is a tie (the "
        "authors' code)",
        "majority": "a win in one order and a tie in the other count as a win (the authors' "
        "README)",
        "pooled": "each order counts separately (this app)",
        "graded": "the mean score of both orders decides (this app)",
    }
    others = {
        "strict": "In the authors' README, one win and one tie is a win. In this app, each order "
        "counts separately.",
        "majority": "In the authors' code, a win needs both orders. In this app, each order "
        "counts separately.",
        "pooled": "In the authors' code, a win needs both orders. In their README, one win and "
        "one tie is a win.",
        "graded": "In the authors' code, a win needs both orders. In their README, one win and "
        "one tie is a win.",
    }
    combine = filtered.rule[0]
    used = on.get(combine) or f"{combine_text(combine)} (this app)"
    other = others.get(combine, others["pooled"])
    title = "How the two orders of a pair are combined"
    return ProtocolRule(title, used, other, combine == "strict")


def _unreadable_rule(filtered: FilteredStudy) -> ProtocolRule:
    if filtered.rule[1] == "tie":
        on = "an unusable reply counts as a tie (paper and authors' code)"
        other = "By default this app leaves unusable replies out and shows their number."
        return ProtocolRule("No verdict after extraction", on, other)
    on = "unusable replies are left out; their number is shown (this app)"
    other = "The paper and its code count an unusable reply as a tie."
    return ProtocolRule("No verdict after extraction", on, other, published=False)


ELO_SIGN_RULE: Final = ProtocolRule(
    "Elo's expected score",
    "`1/(1 + 10^((Rb − Ra)/400))` (authors' code)",
    "The paper's equation (1) has Ra − Rb instead of Rb − Ra, a misprint.",
)


def _reading_rule(study: Study) -> ProtocolRule:
    if study.reading == "gradelab":
        return ProtocolRule(
            "Part of a reply that is read as the choice",
            "the first “Option k” after the first “Selection” (authors' code)",
            "By default this app reads the last `Selection:` line, so that a heading repeated "
            "in the reply is not read as a choice.",
        )
    return ProtocolRule(
        "Part of a reply that is read as the choice",
        "the option in the last `Selection:` line (this app)",
        "The authors' code reads the first “Option k” after the first “Selection” anywhere in "
        "the reply.",
        published=False,
    )


def _unread_trials_rule() -> ProtocolRule:
    return ProtocolRule(
        "Items with an unusable reply",
        "items with an unusable reply are left out; their number is shown (this app)",
        "The authors' code scores the usable replies, divides entropy by log2 of the number of "
        "all replies, and gives 0 if no reply is usable.",
        published=False,
    )


CHOICE_SCORE_RULE: Final = ProtocolRule(
    "Choice score",
    "share of an item's calls that chose the option chosen most often for this item (defined as in "
    "the authors' code)",
    "The paper's formula (4) uses the most chosen option itself, not the number of times it was "
    "chosen.",
)
POOLED_ORDERS_RULE: Final = ProtocolRule(
    "How the two orders of an item are combined",
    "both verdicts are counted separately (paper and authors' code)",
    "An item's two verdicts are not averaged. Unusable replies are left out of the denominators.",
)
POOLED_ITEMS_RULE: Final = ProtocolRule(
    "“Consistency” over several models",
    "comparisons of all models are pooled and “Consistency” is computed once (this gives the "
    "values printed in the paper)",
    "Computing “Consistency” for each model and taking the mean gives other values than the "
    "paper's.",
)
NO_IMAGES_RULE: Final = ProtocolRule(
    "Input of the judge that scores visual factuality",
    "this judge gets no images (as in the authors' code)",
    "This judge gets the criteria, and the ground truth if the item has one.",
)


GAMES_TITLE: Final = "How the two games (orders) of a pair are combined"


def _games_rule(filtered: FilteredStudy) -> ProtocolRule:
    if filtered.study.preset == "arena-hard" and filtered.rule[0] == "pooled":
        separate = "each game (order) counts separately (authors' code)"
        other = "In other protocols, two games (orders) with different results count as a tie."
        return ProtocolRule(GAMES_TITLE, separate, other)
    on = {
        "strict": "two games (orders) with different results count as a tie; pairs with an "
        "unusable reply are dropped (authors' code)",
        "majority": "a win in one order and a tie in the other count as a win (this app)",
        "pooled": "each game (order) counts separately (this app)",
        "graded": "the mean score of both games (orders) decides (this app)",
    }
    combine = filtered.rule[0]
    code = "The authors' code counts two games (orders) with different results as a tie."
    other = "To use another rule, change the filter above." if combine == "strict" else code
    used = on.get(combine) or f"{combine_text(combine)} (this app)"
    return ProtocolRule(GAMES_TITLE, used, other, combine == "strict")


def rules_table(rules: Sequence[ProtocolRule]) -> Markup:
    """HTML table of the rules that the study follows, their alternatives, and whether the published
    numbers used the same rule."""
    titles = ("Rule", "In use", "Alternatives and notes", "")
    heads = [ColumnHead(text, numeric=False) for text in titles]
    rows = [
        [
            escape(rule.what),
            fill("<b>{}</b>", inline_markup(rule.on)),
            fill('<span class="eh-mute">{}</span>', inline_markup(rule.other)),
            fill(
                '<span class="eh-badge {}">{}</span>',
                "s-ok" if rule.published else "s-unreadable",
                "as published" if rule.published else "not as published",
            ),
        ]
        for rule in rules
    ]
    return fill('<div class="eh-rules">{}</div>', value_table(heads, rows, label="Active rules"))
