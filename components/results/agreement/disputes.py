"""Disputed cases: judges against people or known answers, judges against judges, people against
people; and their list, with links to the replies.

A case is the set of compared answers to one item.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.raters import Raters
from components.html.format import count
from components.html.pieces import empty_state
from components.html.templates import macros
from components.results.agreement.computed import Agreement
from components.results.bias.sentences import row_noun
from metrics.agreement.majority_agreement import CASE_KEY, NO_CHOICE, majority_choices
from metrics.estimation import row_selection
from metrics.estimation.row_selection import Ints
from studies.frames.frame import NO_PICK, SEP

AGAINST_PEOPLE: Final = "Against people"
AGAINST_KNOWN: Final = "Against known answers"
JUDGES_SPLIT: Final = "Judges split"
PEOPLE_SPLIT: Final = "People split"
TIE_NAME: Final = "tie"
_CASE_COLUMNS: Final = (
    *CASE_KEY,
    "category",
    "judge",
    "shown",
    "options",
    "status",
    "noise",
    "pick",
    "known_answer",
)
"""Columns of the frame that this module reads; dropping the others saves memory."""
MAX_DISPUTES: Final = 8
KIND_TITLES: Final = {
    AGAINST_PEOPLE: ("People prefer", "{who} a different answer than people do"),
    AGAINST_KNOWN: ("Answer known to be better", "{who} a worse answer"),
    JUDGES_SPLIT: ("People prefer", "judges or prompts disagree with each other"),
    PEOPLE_SPLIT: ("People's votes", "people disagree with each other"),
}
"""Kind of dispute -> head of a column, and the kind in words ({who}: the raters with a verb)."""
REFERENCES: Final = {AGAINST_KNOWN: "known", PEOPLE_SPLIT: "votes"}
"""Kind of dispute -> "known" or "votes" (the known better answer, or people's votes), shown in its
list beside the judges' verdicts. Other kinds show the majority of people."""
html: Final = macros("results/agreement/people.html")


@dataclass(frozen=True, slots=True)
class CaseChoices:
    """One case: people's most frequent vote (`people`), the known better answer, and the number of
    people (`votes`) and of judges that chose each answer. A judge with two prompts counts as two. A
    rater (a judge with a prompt, or a person) with several verdicts counts once, with the most
    frequent one; as a tie if there are several most frequent ones."""

    item: str
    category: str
    names: tuple[str, ...]
    people: str | None
    votes: Counter[str]
    judges: Counter[str]
    known: str | None

    @property
    def judge_count(self) -> int:
        return sum(self.judges.values())

    def count_judges_against(self, winner: str | None) -> int:
        """Number of judges that prefer another answer than `winner`; judges with a tie do not
        count. 0 if `winner` is None or a tie."""
        if winner in (None, TIE_NAME):
            return 0
        return sum(n for who, n in self.judges.items() if who not in (winner, TIE_NAME))

    def informativeness_key(self, kind: str) -> tuple[float, float, int]:
        """Sort key, larger for cases that are more worth reading.

        The first number is the share of judges against people or the known better answer. If
        `kind` is disagreement among judges or among people, it is the entropy of their choices in
        bits instead. Cases with the same first number are sorted by the second, the agreement
        within the other group (1 for known answers), then by the number of voters or judges."""
        total, judges = sum(self.votes.values()), self.judge_count
        if kind == AGAINST_PEOPLE:
            certainty = self.votes[self.people or ""] / (total + 1)  # one vote is not unanimity
            return self.count_judges_against(self.people) / max(judges, 1), certainty, total
        if kind == AGAINST_KNOWN:
            return self.count_judges_against(self.known) / max(judges, 1), 1.0, judges
        if kind == JUDGES_SPLIT:
            return _entropy(self.judges), 1 - _entropy(self.votes), judges
        return _entropy(self.votes), 1 - _entropy(self.judges), total


def _entropy(counts: Counter[str]) -> float:
    values = np.array([n for n in counts.values() if n], np.float64)
    if len(values) < 2:
        return 0.0
    p = values / values.sum()
    return float(-(p * np.log2(p)).sum())


def possible_dispute_kinds(raters: Raters) -> list[str]:
    """Kinds of dispute that can occur, given the study's votes, known answers and judges."""
    possible = {
        AGAINST_PEOPLE: raters.has_people,
        AGAINST_KNOWN: raters.known_answer_source == "design"
        and bool((raters.rows["known_answer"] >= 0).any()),
        JUDGES_SPLIT: len(raters.filtered_rater_names) > 1,
        PEOPLE_SPLIT: raters.has_people,
    }
    return [kind for kind, can_occur in possible.items() if can_occur]


def list_disputes(raters: Raters, kind: str) -> list[CaseChoices]:
    """List the cases with one kind of dispute (one of `possible_dispute_kinds`), sorted by
    descending `CaseChoices.informativeness_key`."""
    found = [one for one in choices_by_case(raters) if _is_dispute_of_kind(one, kind)]
    return sorted(found, key=lambda one: one.informativeness_key(kind), reverse=True)


def _is_dispute_of_kind(dispute: CaseChoices, kind: str) -> bool:
    if kind in (AGAINST_PEOPLE, AGAINST_KNOWN):
        winner = dispute.people if kind == AGAINST_PEOPLE else dispute.known
        return 2 * dispute.count_judges_against(winner) > dispute.judge_count
    counts = dispute.judges if kind == JUDGES_SPLIT else dispute.votes
    return len(counts) > 1


def choices_by_case(raters: Raters) -> list[CaseChoices]:
    """Every case with a usable verdict or vote, disputed or not, with the numbers of judges and of
    people that chose each answer."""
    rows = row_selection.select_picks(raters.frame[list(_CASE_COLUMNS)])
    if rows.empty:
        return []
    case, cases = row_selection.group_codes(rows, CASE_KEY)
    names = row_selection.contestants(rows)
    chosen = row_selection.chosen_contestants(rows, names)
    human = row_selection.people_mask(rows)
    firsts = rows.iloc[row_selection.first_row_per_group(case, cases)]
    judged = _count_choosers_by_answer(rows, case, chosen, ~human, names, cases)
    votes = _count_choosers_by_answer(rows, case, chosen, human, names, cases)
    winner = majority_choices(case[human], chosen[human], cases)
    known = _known_winners(firsts, names)
    shown = firsts["comparison"].cat
    split = [tuple(str(text).split(SEP)) for text in shown.categories]
    places = zip(firsts["item"], firsts["category"], shown.codes.tolist(), strict=True)
    people = [_winner_name(int(code), names) for code in winner]
    counted = zip(people, votes, judged, known, strict=True)
    return [
        CaseChoices(str(item), str(category), split[code], *facts)
        for (item, category, code), facts in zip(places, counted, strict=True)
    ]


def _winner_name(code: int, names: list[str]) -> str | None:
    """Name of the answer with the index `code` in `names`; TIE_NAME if `code` stands for a tie,
    None if it is NO_CHOICE (nobody chose)."""
    if code == NO_CHOICE:
        return None
    return names[code] if code >= 0 else TIE_NAME


def _count_choosers_by_answer(
    rows: pd.DataFrame,
    case: Ints,
    chosen: Ints,
    selected: row_selection.Mask,
    names: list[str],
    cases: int,
) -> list[Counter[str]]:
    """Count the raters by chosen answer: one Counter for each case, with answer or TIE_NAME ->
    number of raters. A rater (a person, or a judge with one prompt) counts once, with the
    choice it made most often.

    Only the rows with `selected` True count. `case` and `chosen` are the codes of the case and
    of the chosen answer in each row; `names` are the answers by code; `cases` is the number
    of cases. Cases with equal counts share one Counter, to save memory."""
    own = row_selection.select_rows(rows, selected)
    rater, raters = row_selection.group_codes(own, (*CASE_KEY, "judge"))
    majority = majority_choices(rater, chosen[selected], raters)
    of_case = case[selected][row_selection.first_row_per_group(rater, raters)]
    choices = majority[np.argsort(of_case, kind="stable")].astype(np.int32)
    ends = np.cumsum(np.bincount(of_case, minlength=cases)).tolist()
    encoded, size = choices.tobytes(), choices.itemsize
    known: dict[bytes, Counter[str]] = {}
    shared: dict[tuple[tuple[str, int], ...], Counter[str]] = {}
    found, start = [], 0
    for end in ends:
        key = encoded[start * size : end * size]
        if key not in known:
            codes = choices[start:end].tolist()
            counts = Counter(_winner_name(code, names) or TIE_NAME for code in codes)
            known[key] = shared.setdefault(tuple(counts.items()), counts)
        found.append(known[key])
        start = end
    return found


def _known_winners(firsts: pd.DataFrame, names: list[str]) -> list[str | None]:
    """The known better answer of each case, taken from its first row; TIE_NAME if the answers are
    known to be equally good, None if nothing is known."""
    placed = row_selection.slot_contestants(firsts, names).tolist()
    return [
        None if slot == NO_PICK else TIE_NAME if slot < 0 else names[places[slot]]
        for places, slot in zip(placed, firsts["known_answer"].tolist(), strict=True)
    ]


def disputes_subtitle_and_html(data: Agreement, kind: str) -> tuple[str, str]:
    """Subtitle and HTML list of disputed cases of one `kind`, such as judges against people: the
    MAX_DISPUTES most informative ones; if there are none, an empty subtitle and the reason."""
    found = list_disputes(data.raters, kind)
    total = len({(one.item, one.names) for one in found})
    picking = row_selection.select_picks(data.raters.rows_of_model_judges)["judge"].astype(str)
    cells = [data.raters.names[name] for name in picking.unique()]
    noun = row_noun(cells)
    who = f"the {noun} prefers" if len(cells) == 1 else f"most {noun}s prefer"
    title, words = KIND_TITLES[kind][0], KIND_TITLES[kind][1].format(who=who)
    if not found:
        reason = f"Among the verdicts shown, there is no case in which {words}."
        if kind in (AGAINST_PEOPLE, PEOPLE_SPLIT) and not data.raters.has_people:
            reason = data.raters.missing_votes_text
        return "", empty_state("Nothing to list.", reason)
    top = found[:MAX_DISPUTES]
    filtered = data.raters.filtered
    questions = filtered.store.questions(filtered.name, {one.item for one in top})
    rows = []
    for one in top:
        select: dict[str, object] = {"item": one.item}
        if len(one.names) == 2:
            select |= {"contestant": one.names[0], "against": one.names[1]}
        rows.append((one, shorten_question(questions.get(one.item) or one.item), select))
    reference = REFERENCES.get(kind, "people")
    subtitle = f"{count(total, 'case')}: {words}; most informative first"
    return subtitle, html.disputes(title, rows, reference, TIE_NAME, noun)


def shorten_question(question: str) -> str:
    """The first 160 characters of a question, on one line."""
    return " ".join(question.split())[:160]
