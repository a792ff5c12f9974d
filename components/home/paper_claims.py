"""Questions of three papers as cards on the Home tab: the paper's printed numbers, Evenhand's
numbers, and why the paper's answer is doubtful.

Numbers are computed from the tables in assets/published and from the recorded demo; only statements
of a paper's text are constants.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filters import judge_rows_or_people_rows
from components.html.format import count, number, share
from components.html.markup import Markup
from components.html.pieces import panel_html, wrap
from components.html.templates import macros
from components.results.protocol import paper_tables
from components.study.plan import demo_studies
from metrics.estimation.intervals import wilson_bounds
from metrics.position import order_tables, position_measures
from metrics.protocols.grade_score import RANDOM_GRADE
from metrics.remedies.decision_rules import decide_by_one_call, decide_if_both_orders_agree
from metrics.remedies.order_grid import build_order_grid
from studies.store.store import Store

html: Final = macros("home/home.html")
SMALL_JUDGE: Final = "SmolLM2-135M"
LARGER_JUDGE: Final = "Qwen 1.5B"
"""SMALL_JUDGE and LARGER_JUDGE name the judges of the two recorded demo studies that the cards
cite."""
PLAIN_PROMPT, WARNING_PROMPT = "brief-letters", "brief-warning"
"""Prompts of the recorded demo: without and with a warning against position bias."""
MAX_REPEAT_DIFFERENCE: Final = 0.12
"""Largest difference of a model's scores between two repeats, as the Grade Score paper reports."""
VISIT_COMPARISONS: Final = 700
"""Number of comparisons with which VisIT-Bench assesses a new model."""


@dataclass(frozen=True, slots=True)
class PaperClaim:
    """A question that a paper answers: the paper's printed numbers, Evenhand's numbers, and the
    reason to doubt the paper's answer."""

    paper: str
    question: str
    printed: str
    ours: str
    doubt: str
    opens: str
    """Label of the card's button."""
    action: str
    """"example" opens the example file named `study` as a new study; "open" opens the stored study
    of this name."""
    study: str


@dataclass(frozen=True, slots=True)
class OneAndBothOrderRates:
    """Three shares, from 0 to 1, that compare judging in one order with judging in both orders,
    from recorded verdicts. `right_when_decided`: share of right winners among the comparisons that
    have the same winner in both orders."""

    right: float
    """Share of right verdicts with one call per comparison, in a random order, where the better
    answer is known."""
    decided: float
    """Share of comparisons with the same winner in both orders."""
    right_when_decided: float


def one_and_both_order_rates(frame: pd.DataFrame) -> OneAndBothOrderRates:
    """Compute the OneAndBothOrderRates of a frame, with all its model judges and prompts pooled."""
    frame = judge_rows_or_people_rows(frame)
    tables = order_tables.build_order_tables(frame, ("judge", "prompt"))
    table = order_tables.pool_order_tables(tables, tables)
    grid = build_order_grid(frame)
    known = grid.select(grid.known_winner != 0)
    rules = [
        (decide_if_both_orders_agree(cell), decide_by_one_call(cell)) for cell in known.verdicts
    ]
    decided = np.concatenate([both.probability_decided for both, _ in rules])
    right = np.concatenate([both.probability_right(known.known_winner) for both, _ in rules])
    one = np.concatenate([call.probability_right(known.known_winner) for _, call in rules])
    return OneAndBothOrderRates(
        float(np.nanmean(one)),
        int(table.counts[0, 0] + table.counts[2, 2]) / max(1, table.pairs),
        float(np.nansum(right) / np.nansum(decided)),
    )


def paper_claims(store: Store) -> list[PaperClaim]:
    """Claims of papers, one for each card of Home; if the store has no recorded demo, only those
    that do not cite the demo."""
    present = {line.name for line in store.studies()}
    cards = [_unrelated_option_claim()]
    if {demo_studies.PAIRS_STUDY, demo_studies.LARGER_STUDY} <= present:
        small, larger = (
            _memoised_one_and_both_order_rates(store, name)
            for name in (demo_studies.PAIRS_STUDY, demo_studies.LARGER_STUDY)
        )
        cards += [
            _prompt_warning_claim(store),
            _ties_claim(small, larger),
            _sample_size_claim(larger),
            _two_orders_claim(larger),
        ]
    return [*cards, _seeing_images_claim()]


def _memoised_one_and_both_order_rates(store: Store, study: str) -> OneAndBothOrderRates:
    return store.memoised(
        study, ("recorded rates",), lambda: one_and_both_order_rates(store.frame(study))
    )


def _unrelated_option_claim() -> PaperClaim:
    known = paper_tables.compute_grade_caveat()
    random = {options: number(RANDOM_GRADE[options], 2) for options in (2, 3, 5)}
    return PaperClaim(
        "Grade Score (2024), Tables 1 to 3",
        "Does an unrelated option make a judge more even-handed?",
        "The paper's Grade Score (0 to 1; higher: more even-handed) is higher with an unrelated "
        f"option for {known.grade_rises} of {known.pairs} combinations of model and prompt.",
        f"A judge choosing at random has a Grade Score of {random[2]} with two options, "
        f"{random[3]} with three and {random[5]} with five. Scores with different numbers of "
        "options are not comparable.",
        "With the unrelated option, the most chosen answer's share falls for "
        f"{known.choice_falls} of {known.pairs} model–prompt combinations. {known.above_parts} of "
        f"{known.cells} Grade Scores exceed the maximum that their entropy and share allow.",
        "Open a study with an unrelated option",
        "example",
        "grade-score-probe-unrelated",
    )


def _prompt_warning_claim(store: Store) -> PaperClaim:
    differences = _published_entropy_differences()
    plain, warned = (
        _flip_share_in_demo(store, prompt) for prompt in (PLAIN_PROMPT, WARNING_PROMPT)
    )
    within = sum(abs(one) <= MAX_REPEAT_DIFFERENCE for one in differences)
    return PaperClaim(
        "Grade Score (2024), Tables 1 to 3",
        "Does a warning against position bias help?",
        "With the paper's prompt 3, which warns of position bias, position entropy is higher (more "
        f"even) than with its prompt 1 for {sum(one > 0 for one in differences)} of "
        f"{len(differences)} models.",
        f"When the answers are swapped, {SMALL_JUDGE} changes its verdict in {share(plain, 0)} of "
        f"comparisons with a prompt without a warning, and in {share(warned, 0)} with a warning.",
        f"The authors report Grade Score differences up to {number(MAX_REPEAT_DIFFERENCE, 2)} "
        f"between repeats. For {within} of {len(differences)} models, the position entropies with "
        "prompts 1 and 3 differ by no more than that.",
        "Open the recorded study",
        "open",
        demo_studies.PAIRS_STUDY,
    )


def _published_entropy_differences() -> list[float]:
    """For each model in the Grade Score paper, its published position entropy with the paper's
    third prompt minus that with the first."""
    grades = paper_tables.published_grades()
    simple, debias = paper_tables.GRADE_PROMPTS[0], paper_tables.GRADE_PROMPTS[2]
    return [
        grades[model, debias, 0].entropy - cell.entropy
        for (model, prompt, added), cell in grades.items()
        if prompt == simple and not added
    ]


def _flip_share_in_demo(store: Store, prompt: str) -> float | None:
    """Share of the demo's comparisons with this prompt whose verdict changes with the order; None
    if no comparison has a verdict in both orders."""
    study = demo_studies.PAIRS_STUDY

    def compute() -> float | None:
        frame = store.frame(study)
        same = position_measures.consistency(frame[frame["prompt"] == prompt]).value
        return None if same is None else 1 - same

    return store.memoised(study, ("changed by prompt", prompt), compute)


def _ties_claim(small: OneAndBothOrderRates, larger: OneAndBothOrderRates) -> PaperClaim:
    return PaperClaim(
        "VisIT-Bench (2023), appendix",
        "How much does a win rate change if ties are left out?",
        "A model wins if the judge chooses it in both orders; otherwise the result is a "
        "tie. The paper's win rate against the reference answers leaves ties out.",
        f"{LARGER_JUDGE} chooses the same model in both orders in {share(larger.decided, 0)} of "
        f"its recorded comparisons, {SMALL_JUDGE} in {share(small.decided, 0)}.",
        "A win rate without ties describes only the comparisons that have a winner. Besides, the "
        "paper's Elo equation (1) has a wrong sign; the authors' code is right.",
        "Open as a study",
        "example",
        "visit-bench-probe",
    )


def _sample_size_claim(larger: OneAndBothOrderRates) -> PaperClaim:
    whole, decided = (
        number(100 * _win_rate_half_width(size), 1)
        for size in (VISIT_COMPARISONS, VISIT_COMPARISONS * larger.decided)
    )
    return PaperClaim(
        "VisIT-Bench (2023), appendix",
        "Are 700 comparisons enough for a new model?",
        f"In the paper, a new model is assessed with {VISIT_COMPARISONS} comparisons, each in both "
        "orders.",
        f"With {VISIT_COMPARISONS} comparisons, a win rate of {share(0.5, 0)} has a "
        f"{share(0.95, 0)} interval of ± {whole} points. Without ties "
        f"({share(1 - larger.decided, 0)} for {LARGER_JUDGE}), it is ± {decided} points.",
        "This assumes independent comparisons. Several comparisons on one question are not "
        "independent, so the true interval is wider.",
        "Open as a study",
        "example",
        "visit-bench-probe",
    )


def _win_rate_half_width(comparisons: float) -> float:
    """Half the width, from 0 to 1, of the 95 % Wilson interval of a win rate of 50 % that was
    measured on this number of comparisons."""
    low, high = wilson_bounds(comparisons / 2, comparisons)
    return float(high - low) / 2


def _two_orders_claim(larger: OneAndBothOrderRates) -> PaperClaim:
    pairs = _published_row_pairs_differing_in("dual")
    better = sum(both.mae < one.mae for one, both in pairs)
    higher = sum(_consistency_or_nan(both) > _consistency_or_nan(one) for one, both in pairs)
    return PaperClaim(
        "Creation-MMBench (2025), Table 7",
        "Do verdicts from both orders agree more with people?",
        "With both orders, the mean absolute error against people's scores falls for "
        f"{better} of {len(pairs)} judge settings. The paper's “Consistency” (% within 1 of "
        f"people's scores) is higher for {higher}.",
        f"One call of {LARGER_JUDGE} finds the better answer in {share(larger.right, 0)} of "
        f"comparisons. In {share(larger.decided, 0)}, both orders choose the same answer; "
        f"{share(larger.right_when_decided, 0)} of these choices are right.",
        "Intervals of the paper's “Consistency” (% within 1 of people's scores), computed here, "
        f"overlap between one and both orders for {count_overlapping_intervals(pairs)} of "
        f"{len(pairs)} settings. Both orders need twice the calls.",
        "Open the recorded study",
        "open",
        demo_studies.LARGER_STUDY,
    )


def _seeing_images_claim() -> PaperClaim:
    unhelpful, cells = paper_tables.count_values_no_better_with_images()
    pairs = _published_row_pairs_differing_in("sees")
    return PaperClaim(
        "Creation-MMBench (2025), Table 7",
        "Must the judge see the images?",
        "According to the paper, a judge that sees the images always agrees more with people.",
        f"In {unhelpful} of {cells} pairs of values in the paper's table (mean absolute error or "
        "“Consistency”), the judge is no closer to people's scores with images than with image "
        "descriptions.",
        f"The {share(0.95, 0)} intervals of the paper's “Consistency” (% of scores within 1 of "
        "people's) with images and with image descriptions overlap for "
        f"{count_overlapping_intervals(pairs)} of {len(pairs)} settings.",
        "Open as a study",
        "example",
        "creation-mmbench-probe",
    )


AlignmentPair = tuple[paper_tables.PublishedAlignment, paper_tables.PublishedAlignment]


def _published_row_pairs_differing_in(by: str) -> list[AlignmentPair]:
    """Pairs of rows of Creation-MMBench's Table 7 that differ in one setting only, for all models
    together ("overall"). `by` is "dual" for pairs (one order, both orders), or "sees" for pairs
    (judge reads image descriptions, judge sees images)."""
    rows = {
        (row.judge, row.dual, row.sees): row
        for row in paper_tables.read_creation_alignment()
        if row.model == "overall" and row.sees != "people"
    }
    if by == "dual":
        return [
            (row, rows[judge, True, sees]) for (judge, dual, sees), row in rows.items() if not dual
        ]
    return [
        (row, rows[judge, dual, "images"])
        for (judge, dual, sees), row in rows.items()
        if sees == "description"
    ]


def _consistency_or_nan(row: paper_tables.PublishedAlignment) -> float:
    return row.consistency.value if row.consistency.value is not None else math.nan


def count_overlapping_intervals(pairs: Sequence[AlignmentPair]) -> int:
    """Number of pairs in which the two rows' intervals of the measure that the paper calls
    "Consistency" overlap."""
    bounds = [[(row.consistency.low, row.consistency.high) for row in pair] for pair in pairs]
    return sum(
        (one[0] or 0.0) <= (two[1] or 0.0) and (two[0] or 0.0) <= (one[1] or 0.0)
        for one, two in bounds
    )


def claims_html(store: Store) -> Markup:
    """HTML panel of the papers' claims as cards: question, the paper's numbers, Evenhand's, doubts,
    and a button."""
    cards = paper_claims(store)
    told = (
        f"{count(len(cards), 'question')}; numbers from the printed tables and from the recorded "
        "studies of this page"
    )
    return wrap(panel_html("Claims of three papers, checked", told, html.claims(cards)))
