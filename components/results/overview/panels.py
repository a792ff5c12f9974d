"""Contents of the Summary: the table of judges, and bars of flips by direction."""

import json
from dataclasses import dataclass
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import (
    Raters,
    is_agreement_with_people,
    one_call_agreement_of_all_raters,
)
from components.html.format import count
from components.html.markup import EMPTY, Markup
from components.html.pieces import LegendMark
from components.html.templates import macros
from components.results.agreement.computed import load_agreement
from components.results.bias.computed import Bias, load_bias
from components.results.bias.flip_leans import FlipLean, flip_leans
from metrics.position.position_measures import flip_share_from_consistency
from studies.domain import Estimate

MAX_ROWS: Final = 12
"""Maximum rows of a small chart and of the table of judges; other views show all."""
OVERVIEW: Final = macros("results/overview/overview.html")
FLIP_KEYS: Final[tuple[tuple[LegendMark, str], ...]] = (
    ("first", "flips toward the first"),
    ("second", "toward the second"),
)


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A row of the table of judges, for one judge with one prompt: direction of its flips
    (`lean`), share of pairs that flip (`flips`), share of verdicts that change on a repeat
    (`repeats`), and agreement of a single call with people or known answers."""

    lean: FlipLean
    flips: Estimate
    repeats: Estimate | None
    agreement: Estimate | None
    card: str
    """Query parameters, as JSON, of the page with the judge's card."""

    @property
    def preferred_position(self) -> str:
        """The position toward which the judge flips significantly more often; "" for none."""
        return self.lean.direction if self.lean.is_significant else ""

    @property
    def leans_to(self) -> str:
        """The preferred position, such as "the first". If no preference is significant: "too few
        items" if none could be with so few items, else "not shown"."""
        if self.preferred_position:
            return f"the {self.preferred_position}"
        return "too few items" if self.lean.has_too_few_items else "not shown"


def list_flips_of_pairs(bias: Bias) -> list[FlipLean]:
    """One entry for each judge and prompt with pairs judged in both orders: how many of its pairs
    got another verdict when the answers were swapped, and which way. Empty for studies with more
    than two answers in a comparison."""
    return [row for row in flip_leans(bias) if row.pairs] if bias.max_options == 2 else []


def judge_rows(filtered: FilteredStudy) -> list[JudgeRow]:
    """Rows of the table of judges: the fewest flips first."""
    bias, agreement = load_bias(filtered), one_call_agreement_of_all_raters(filtered)
    same, noise = bias.by_rater("consistency"), bias.by_rater("noise_floor")
    several = len({row.prompt for row in list_flips_of_pairs(bias)}) > 1
    rows = []
    for one in list_flips_of_pairs(bias):
        rater = (one.judge, one.prompt)
        flips, repeats = flip_share_from_consistency(same[rater]), noise.get(rater)
        repeats = repeats if repeats is not None and repeats.value is not None else None
        chosen = {"view": "Summary", "judge": one.judge}
        card = json.dumps(chosen | ({"prompt": one.prompt} if several else {}), ensure_ascii=False)
        rows.append(JudgeRow(one, flips, repeats, agreement.get(rater), card))
    return sorted(rows, key=lambda row: row.flips.value or 0.0)


def judges_html(filtered: FilteredStudy) -> Markup:
    """HTML table of at most MAX_ROWS judges; with votes, the last row is one person, whose
    agreement with the other people shows what a judge can reach. Empty if no pair was judged in
    both orders."""
    rows = judge_rows(filtered)
    if not rows:
        return EMPTY
    shown, raters = rows[:MAX_ROWS], Raters(filtered)
    person = load_agreement(filtered).voter_agreement.one_person if raters.has_people else None
    most = max(max(row.lean.first, row.lean.second) for row in shown) or 1
    pairs = {row.lean.pairs for row in shown}
    each = f", {count(pairs.pop())} each" if len(pairs) == 1 else ""
    known = any(row.agreement and row.agreement.value is not None for row in shown)
    words = "people" if is_agreement_with_people(filtered) else "known answers"
    heads = (raters.column_head, f"Flips{each}", f"Agreement with {words}" if known else "")
    person = person if person is not None and person.value is not None and known else None
    return OVERVIEW.judges(shown, heads, most, person, len(rows) - len(shown))


def flip_direction_chart(bias: Bias) -> Any:
    """HTML bars of flips toward the first and toward the second position, for the MAX_ROWS judges
    and prompts with the most flips; empty if no pair was judged in both orders."""
    rows = list_flips_of_pairs(bias)
    if not rows:
        return EMPTY
    most = max(max(row.first, row.second) for row in rows) or 1
    shown = sorted(rows, key=lambda row: row.flips)[-MAX_ROWS:]
    return OVERVIEW.swaps(FLIP_KEYS, shown, most, len(rows) - len(shown))
