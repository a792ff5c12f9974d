"""Panels of the view Paper, and the rules that a study follows where paper and code differ. A
prompt's protocol is the kind of verdict that it asks for, such as pairwise or five-level."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import combine_rule_text, judge_rows_or_people_rows
from components.filtering.memo import memoise_by_study
from components.filtering.raters import Raters
from components.html.markup import Markup, bold_and_code_html, escape, fill
from components.html.tables import value_table as tables
from judges.rendering.prompt import load_prompt, parse_prompt
from metrics.estimation import row_selection
from studies.domain import USABLE_STATUSES
from studies.errors import EvenhandError
from studies.frames.frame import NO_PICK
from studies.spec.presets import PRESETS

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
"""Protocol of a prompt -> names of the sections (groups of panels) for its verdicts. A study shows
the sections of its preset, and those of its prompts' protocols; if the preset has one of the
sections of a protocol, the others of this protocol are not added."""


def study_sections(filtered: FilteredStudy) -> tuple[str, ...]:
    """Names of the groups of panels (sections) that the view shows, in order: those of the study's
    preset, and those for the kinds of verdicts of further prompts. The names are constants in
    studies.spec.presets."""
    preset = PRESETS.get(filtered.study.preset)
    shown = list(preset.panels) if preset else []
    for kind in study_protocols(filtered):
        panels = _PROTOCOL_SECTIONS.get(kind, ())
        if preset is None or not set(panels) & set(preset.panels):
            shown += panels  # prompts that were added to a preset have their panels too
    return tuple(dict.fromkeys(shown))


def study_protocols(filtered: FilteredStudy) -> list[str]:
    """The kinds of verdicts (such as "pairwise" or "five-level") that the prompts with judgements
    under the filters ask for, each once, in the order of the prompts."""
    return list(dict.fromkeys(protocol_by_prompt(filtered).values()))


@memoise_by_study
def protocol_by_prompt(filtered: FilteredStudy) -> dict[str, str]:
    """Name of a prompt -> kind of verdict that it asks for, such as "pairwise"; for the prompts
    with judgements under the filters."""
    names = [str(name) for name in filtered.measured_judge_rows["prompt"].unique()]
    return {name: _prompt_protocol(filtered, name) for name in names}


def protocol_rows(filtered: FilteredStudy, *protocols: str) -> pd.DataFrame:
    """Filtered judgements with a prompt that asks for one of these kinds of verdicts
    (`protocols`), such as "pairwise", and all filtered votes of people."""
    wanted = {name for name, kind in protocol_by_prompt(filtered).items() if kind in protocols}
    frame = Raters(filtered).rows
    mask = frame["prompt"].isin(wanted).to_numpy() | row_selection.people_mask(frame)
    return row_selection.select_rows(frame, mask)


def judge_rows_or_votes(filtered: FilteredStudy, *protocols: str) -> pd.DataFrame:
    """Filtered judgements with a prompt that asks for one of these kinds of verdicts
    (`protocols`); people's votes, if no judge has any."""
    return judge_rows_or_people_rows(protocol_rows(filtered, *protocols))


def rows_by_rater(rows: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield (judge, prompt, their rows) for each combination of judge and prompt in `rows`."""
    for judge, prompt in row_selection.observed_combinations(rows, ("judge", "prompt")):
        mask = (rows["judge"] == judge) & (rows["prompt"] == prompt)
        yield judge, prompt, row_selection.select_rows(rows, mask)


def _prompt_protocol(filtered: FilteredStudy, name: str) -> str:
    """Kind of verdict that a prompt asks for, such as "pairwise". If the prompt's text is not
    known, as in imported data, it is inferred from the judgements."""
    try:
        text = filtered.store.planned_prompt_yaml(filtered.name, name)
        return (parse_prompt(text, name) if text else load_prompt(name)).protocol
    except EvenhandError:
        return _infer_protocol(
            filtered.measured_judge_rows[filtered.measured_judge_rows["prompt"] == name]
        )


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
    """A rule on which a paper, its authors' code and Evenhand differ; `subject`: what it is about,
    `alternatives`: other rules and notes."""

    subject: str
    in_use: str
    """The rule that this study uses."""
    alternatives: str
    published: bool = True
    """Whether the published numbers were computed with the rule that this study uses."""


_CODE: Final = "In the authors' code, a win needs both orders."
_README: Final = "In the authors' README, one win and one tie is a win."
_SEPARATE: Final = "In this app, each order counts separately."
_BOTH: Final = f"{_CODE} In their README, one win and one tie is a win."
_ORDERS_TITLE: Final = "How the two orders of a pair are combined"
_ORDERS_RULES: Final = {
    "strict": (
        "an answer wins if it wins in both orders, otherwise the pair is a tie (the authors' code)",
        f"{_README} {_SEPARATE}",
    ),
    "majority": (
        "a win in one order and a tie in the other count as a win (the authors' README)",
        f"{_CODE} {_SEPARATE}",
    ),
    "pooled": ("each order counts separately (this app)", _BOTH),
    "graded": ("the mean score of both orders decides (this app)", _BOTH),
}
"""VisIT-Bench: combination of the orders -> rule in use, and its alternatives."""
GAMES_TITLE: Final = "How the two games (orders) of a pair are combined"
_GAMES_RULES: Final = {
    "strict": "two games (orders) with different results count as a tie; pairs with an unusable "
    "reply are dropped (authors' code)",
    "majority": "a win in one order and a tie in the other count as a win (this app)",
    "pooled": "each game (order) counts separately (this app)",
    "graded": "the mean score of both games (orders) decides (this app)",
}
_UNREADABLE_TITLE: Final = "No verdict after extraction"
_UNREADABLE_TIES: Final = ProtocolRule(
    _UNREADABLE_TITLE,
    "an unusable reply counts as a tie (paper and authors' code)",
    "By default this app leaves unusable replies out and shows their number.",
)
_UNREADABLE_LEFT_OUT: Final = ProtocolRule(
    _UNREADABLE_TITLE,
    "unusable replies are left out; their number is shown (this app)",
    "The paper and its code count an unusable reply as a tie.",
    published=False,
)
_READING_TITLE: Final = "Part of a reply that is read as the choice"
_READING_GRADELAB: Final = ProtocolRule(
    _READING_TITLE,
    "the first “Option k” after the first “Selection” (authors' code)",
    "By default this app reads the last `Selection:` line, so that a heading repeated in the reply "
    "is not read as a choice.",
)
_READING_DEFAULT: Final = ProtocolRule(
    _READING_TITLE,
    "the option in the last `Selection:` line (this app)",
    "The authors' code reads the first “Option k” after the first “Selection” anywhere in the "
    "reply.",
    published=False,
)
_UNREAD_TRIALS_RULE: Final = ProtocolRule(
    "Items with an unusable reply",
    "items with an unusable reply are left out; their number is shown (this app)",
    "The authors' code scores the usable replies, divides entropy by log2 of the number of all "
    "replies, and gives 0 if no reply is usable.",
    published=False,
)
_ELO_SIGN_RULE: Final = ProtocolRule(
    "Elo's expected score",
    "`1/(1 + 10^((Rb − Ra)/400))` (authors' code)",
    "The paper's equation (1) has Ra − Rb instead of Rb − Ra, a misprint.",
)
_CHOICE_SCORE_RULE: Final = ProtocolRule(
    "Choice score",
    "share of an item's calls that chose the option chosen most often for this item (defined as in "
    "the authors' code)",
    "The paper's formula (4) uses the most chosen option itself, not the number of times it was "
    "chosen.",
)
_CONSTANT_RULES: Final = {
    LEVELS_SECTION: ProtocolRule(
        "How the two orders of an item are combined",
        "both verdicts are counted separately (paper and authors' code)",
        "An item's two verdicts are not averaged. Unusable replies are left out of the "
        "denominators.",
    ),
    ALIGNMENT_SECTION: ProtocolRule(
        "“Consistency” over several models",
        "comparisons of all models are pooled and “Consistency” is computed once (this gives the "
        "values printed in the paper)",
        "Computing “Consistency” for each model and taking the mean gives other values than the "
        "paper's.",
    ),
    FACTUALITY_SECTION: ProtocolRule(
        "Input of the judge that scores visual factuality",
        "this judge gets no images (as in the authors' code)",
        "This judge gets the criteria, and the ground truth if the item has one.",
    ),
}


def is_arena_hard(filtered: FilteredStudy) -> bool:
    """Whether the study follows Arena-Hard, whose five levels are not read as Creation-MMBench's
    Reward and win rate."""
    return filtered.study.preset == "arena-hard"


def rules_in_force(filtered: FilteredStudy, sections: Sequence[str]) -> list[ProtocolRule]:
    """The rules that apply to the panels `sections`, under the study's or the filter's settings."""
    found: list[ProtocolRule] = []
    if VISIT_SECTION in sections:
        ties = filtered.rule[1] == "tie"
        unreadable = _UNREADABLE_TIES if ties else _UNREADABLE_LEFT_OUT
        found += [_orders_rule(filtered.rule[0]), unreadable, _ELO_SIGN_RULE]
    if GRADE_SECTION in sections:
        by_authors = filtered.study.reading == "gradelab"
        reading = _READING_GRADELAB if by_authors else _READING_DEFAULT
        found += [reading, _UNREAD_TRIALS_RULE, _CHOICE_SCORE_RULE]
    skipped = LEVELS_SECTION if is_arena_hard(filtered) else ""  # it has its rule on two games
    constant = _CONSTANT_RULES.items()
    found += [rule for name, rule in constant if name in sections and name != skipped]
    if WINS_SECTION in sections and VISIT_SECTION not in sections:
        found.append(_games_rule(filtered))
    return found


def _orders_rule(combine: str) -> ProtocolRule:
    used, other = _ORDERS_RULES.get(combine) or (f"{combine_rule_text(combine)} (this app)", _BOTH)
    return ProtocolRule(_ORDERS_TITLE, used, other, combine == "strict")


def _games_rule(filtered: FilteredStudy) -> ProtocolRule:
    combine = filtered.rule[0]
    if filtered.study.preset == "arena-hard" and combine == "pooled":
        separate = "each game (order) counts separately (authors' code)"
        other = "In other protocols, two games (orders) with different results count as a tie."
        return ProtocolRule(GAMES_TITLE, separate, other)
    code = "The authors' code counts two games (orders) with different results as a tie."
    other = "To use another rule, change the filter above." if combine == "strict" else code
    used = _GAMES_RULES.get(combine) or f"{combine_rule_text(combine)} (this app)"
    return ProtocolRule(GAMES_TITLE, used, other, combine == "strict")


def rules_table(rules: Sequence[ProtocolRule]) -> Markup:
    """HTML table of the rules that the study follows, their alternatives, and whether the published
    numbers used the same rule."""
    titles = ("Rule", "In use", "Alternatives and notes", "")
    heads = [tables.ColumnHead(text, numeric=False) for text in titles]
    rows = [
        [
            escape(rule.subject),
            fill("<b>{}</b>", bold_and_code_html(rule.in_use)),
            fill('<span class="eh-mute">{}</span>', bold_and_code_html(rule.alternatives)),
            Markup('<span class="eh-badge s-ok">as published</span>')
            if rule.published
            else Markup('<span class="eh-badge s-unreadable">not as published</span>'),
        ]
        for rule in rules
    ]
    table = tables.value_table(heads, rows, label="Active rules")
    return fill('<div class="eh-rules">{}</div>', table)
