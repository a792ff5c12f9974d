"""The audit of a study: cards of its judges as text or HTML, and all numbers as a table."""

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from components.html.format import count
from evenhand.audit_cards import JudgeCard, judge_cards
from evenhand.auditing.audit_html import audit_html, card_html
from evenhand.auditing.audit_table import summary_table
from evenhand.extras import report_missing_extra
from evenhand.study_table import JudgedStudy, as_study
from metrics.__main__ import format_estimate
from metrics.summary.summary import to_plain_data
from studies.lazy_values import cached_property
from studies.terminal import escape_control

MAX_CARDS: Final = 12
"""Maximum number of cards that are printed; the table contains all judges and prompts."""
NAME_WIDTH: Final = 47


@dataclass(frozen=True, eq=False)
class JudgeAudit:
    """Measures of the judges of a study. Printed as text; shown as HTML in a notebook."""

    study: JudgedStudy

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The object that `evenhand metrics --json` prints for this study."""
        return self.study.measured.summarise()

    @cached_property
    def table(self) -> pd.DataFrame:
        """Table of all numbers, with the columns judge, prompt, measure, value, low, high, n, items
        and note."""
        return summary_table(self.summary)

    @cached_property
    def cards(self) -> tuple[JudgeCard, ...]:
        """Card of each judge with each prompt, people left out: its sentences and measures."""
        return tuple(judge_cards(self.study))

    def __str__(self) -> str:
        blocks = [_card_text(card) for card in self.cards[:MAX_CARDS]]
        if not blocks:
            blocks = [f"{self.study.name}: no verdict of a model judge."]
        if len(self.cards) > MAX_CARDS:
            blocks.append(f"{count(len(self.cards) - MAX_CARDS, 'more card')}; see .table")
        blocks += [f"Note: {note}" for note in self.study.notes]
        return escape_control("\n\n".join(blocks))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the audit as HTML, in which every name and sentence is escaped, so that no text of
        a study is run as code."""
        cards = [card_html(_card_title(card), card) for card in self.cards[:MAX_CARDS]]
        more = len(self.cards) - MAX_CARDS
        if more > 0:
            cards.append(f"<p>{count(more, 'more card')}; see <code>.table</code></p>")
        return audit_html(self.study.name, cards, [*self.study.notes])


@report_missing_extra
def audit(data: Any) -> JudgeAudit:
    """Measure the judges of a study, of a table with one verdict in each row, or of a file: biases,
    consistency and, where the better answers are known, accuracy."""
    return JudgeAudit(as_study(data))


def _card_text(card: JudgeCard) -> str:
    lines = [_card_title(card), *(f"  {sentence}" for sentence in card.sentences), ""]
    for label, got in card.measures.items():
        lines.append(f"  {label:<{NAME_WIDTH}} {format_estimate(to_plain_data(got))}")
    return "\n".join(lines)


def _card_title(card: JudgeCard) -> str:
    return card.judge if card.prompt in ("", "all") else f"{card.judge} · {card.prompt}"
