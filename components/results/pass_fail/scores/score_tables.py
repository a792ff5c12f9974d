"""Tables of scores and rubrics, on the page and for a paper: agreement with labels and people,
contradictions with comparisons, effects of the orders."""

from collections.abc import Iterator, Mapping
from operator import attrgetter, itemgetter
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import rater_column_head, rater_names
from components.html.format import NARROW_SPACE, number
from components.html.markup import EMPTY, Markup
from components.html.pieces import wrap
from components.html.tables import typed_columns
from components.html.tables.forest_cells import value_html
from components.html.tables.typed_columns import TypedColumn, ValueRow, measure_column, page_table
from components.html.tables.value_table import PERCENT, SCORE, NumberStyle
from components.results.pass_fail.rate_tables import (
    INTERVALS_TEXT,
    ORDER_COLUMNS,
    ORDER_DEFINITIONS,
    paper_table_by_judge,
    rater_table,
)
from components.results.pass_fail.scores.computed import ScoreResults, load_scores
from components.results.view.paper_table import PaperTable, describe_items_and_filters
from components.results.view.unusable_replies import unusable_column
from metrics.catalogue.records import RECORDS
from metrics.estimation.intervals import unknown_estimate
from metrics.labels.scores.intransitive_triples import IntransitiveTriples
from metrics.labels.scores.score_agreement import ScoreAgreement
from metrics.labels.scores.score_contradictions import ScoreContradictions
from studies.domain import Estimate, Rater

SHIFT: Final = NumberStyle(2, signed=True)
NO_LABELS: Final = (
    "No answer has a score as label. Add such labels, or let people score answers in the Vote tab."
)
NO_TRIPLES: Final = "no item has three answers whose three comparisons all have a winner"
CIRCULAR_TIP: Final = (
    "Circular: of three answers to one item, a wins against b, b against c, and c against a.\nBy "
    "chance: % of circular triples if the winners of each pair of models are shuffled between items"
)
AGREEMENT_ROWS: Final = (
    ("mae", "mean |score − label|, scale points", SCORE),
    ("bias", "in scale points; above 0: the judge's scores are higher than the labels", SHIFT),
    ("within_one", "% of scores at most one step from the label", PERCENT),
    ("spearman", "rank correlation", SCORE),
    ("kendall", "rank correlation with ties", SCORE),
    ("quadratic_kappa", "agreement beyond chance", SCORE),
)
"""Rows of the table of agreement: field of ScoreAgreement, note and number format."""
MAE: Final = measure_column("scores.mae", "mae", "MAE", n=True)
BIAS: Final = measure_column("scores.bias", "bias", "Bias")
WITHIN_ONE: Final = measure_column("scores.within_one", "within_one", "Within one")
SPEARMAN: Final = measure_column("scores.spearman", "spearman", "Spearman")
CRITERION_COLUMNS: Final = (
    MAE,
    measure_column("scores.bias", "bias", style=SHIFT),
    WITHIN_ONE,
    SPEARMAN,
)
PAPER_COLUMNS: Final = (
    MAE,
    BIAS,
    WITHIN_ONE,
    SPEARMAN,
    measure_column("scores.kendall", "kendall", "Kendall"),
    measure_column("scores.quadratic_kappa", "quadratic_kappa", "Quadratic κ"),
    TypedColumn("n", attrgetter("mae.n"), paper="n", interval=False),
)
CRITERIA_ORDER_COLUMNS: Final = (
    measure_column("criteria_order.changed", "overall.changed", "Changed"),
    measure_column("criteria_order.noise_floor", "overall.noise_floor", "Noise"),
    measure_column("criteria_order.first", "first", "First", style=SCORE),
    TypedColumn("n", attrgetter("overall.changed.n"), paper="n", interval=False),
)
CRITERIA_ORDER_DEFINITIONS: Final = {
    "Changed": "% of answers with another overall score in another order of the criteria",
    "Noise": "% of scores that change when repeated in the same order",
    "First": "mean score of a criterion when listed first minus its mean score when listed later, "
    "in scale points",
}


def label_agreement_table(results: ScoreResults) -> Markup:
    """HTML tables for the judge and prompt shown: agreement of its scores with the labels, with a
    second column for expected scores (means weighted by the judge's probabilities); agreement
    with people by criterion; mean label by score. There must be labels."""
    rater = results.shown_rater or ("", "")
    found, expected = results.agreement[rater], results.expected.get(rater)
    given = f"Computed from the scores that the judge gave, 95{NARROW_SPACE}% CI"
    weighted = "Computed from expected scores (means weighted by the judge's probabilities)"
    columns = [
        _agreement_column(head, one, n=one is found)
        for head, one in ((given, found), (weighted, expected))
        if one is not None
    ]
    rows = [
        ValueRow(RECORDS[f"scores.{field}"].name, (field, style), note=note)
        for field, note, style in AGREEMENT_ROWS
    ]
    return wrap(
        page_table("Measure", columns, rows, "Agreement with labels"),
        _agreement_by_criterion_table(results),
        _reliability_table(results),
    )


def _agreement_column(head: str, found: ScoreAgreement, n: bool) -> TypedColumn:
    """Column with the heading `head` that shows values of `found`. A row has as its value a pair:
    the name of the field of `found` to show, and its number format. `n`: whether to show the
    sample size."""
    return TypedColumn(head, lambda row: getattr(found, row[0]), itemgetter(1), n=n)


def _agreement_by_criterion_table(results: ScoreResults) -> Markup:
    """HTML table by criterion of the rubric: agreement of the judge's scores with people's scores;
    empty if no person filled in the rubric."""
    found = results.by_criterion.get(results.shown_rater or ("", ""), {})
    rows = [ValueRow(name, one) for name, one in found.items()]
    label = "Agreement with people by criterion"
    return page_table("Criterion", CRITERION_COLUMNS, rows, label) if rows else EMPTY


def _reliability_table(results: ScoreResults) -> Markup:
    points = results.reliability.get(results.shown_rater or ("", ""), ())
    columns = [TypedColumn("Mean label", attrgetter("label"), SCORE, n=True)]
    rows = [ValueRow(f"score {one.value:.3g}", one) for one in points]
    label = "Mean label by score"
    return page_table("Score given", columns, rows, label, named=False) if rows else EMPTY


def scores_against_comparisons_table(results: ScoreResults) -> Markup | None:
    """HTML table by judge: how often its comparison of two answers prefers the one to which it gave
    the lower score. None if no judge both scored and compared."""
    rows = [ValueRow(name, one, {"judge": name}) for name, one in results.contradictions.items()]
    label = "Scores against comparisons"
    return wrap(page_table("Judge", CONTRADICTION_COLUMNS, rows, label)) if rows else None


def _circular_triple_share(found: ScoreContradictions) -> Estimate:
    return found.triples.share if found.triples else unknown_estimate(NO_TRIPLES)


def _circular_share_by_chance(found: ScoreContradictions) -> Estimate | Markup:
    triples: IntransitiveTriples | None = found.triples
    if triples is None:
        return unknown_estimate(NO_TRIPLES)
    low, high = (number(100 * end, 1) for end in (triples.expected_low, triples.expected_high))
    return value_html(number(100 * triples.expected, 1), f"[{low}, {high}]")


CONTRADICTION_COLUMNS: Final = (
    TypedColumn("Pairs contradicted, %", attrgetter("share"), n=True),
    TypedColumn("Pairs with equal scores", attrgetter("equal_scores")),
    TypedColumn("Tied or flipped", attrgetter("ties")),
    TypedColumn("Circular triples, %", _circular_triple_share, n=True, tip=CIRCULAR_TIP),
    TypedColumn("Circular triples by chance, %", _circular_share_by_chance),
)


def score_judges_table(results: ScoreResults, unusable: Mapping[Rater, Estimate]) -> Markup | None:
    """HTML table of the scores and the share of unusable replies (`unusable`) by judge and prompt;
    None if there would be only one row."""
    if len(results.unusable) < 2:
        return None

    def agreement_field(rater: tuple[str, str], name: str) -> Estimate | None:
        found: Estimate | None = getattr(results.agreement.get(rater), name, None)
        return found

    changed = RECORDS["option_order.changed"].name
    columns = [
        TypedColumn(
            "Mean score",
            lambda rater: found.mean if (found := results.distributions.get(rater)) else None,
            SCORE,
        ),
        TypedColumn(
            f"{changed}, %",
            lambda rater: results.order[rater].changed if rater in results.order else None,
        ),
        TypedColumn(BIAS.head, lambda rater: agreement_field(rater, "bias"), SHIFT),
        TypedColumn(SPEARMAN.head, lambda rater: agreement_field(rater, "spearman"), SCORE),
        unusable_column(unusable),
    ]
    return wrap(rater_table(columns, results.unusable, "Judges that score"))


# -- tables for a paper ----------------------------------------------------------------------------


def score_agreement_paper_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table for a paper: how scores, expected scores and the scores by criterion agree with the
    labels; None without model judges."""
    if filtered.measured_judge_rows.empty or filtered.has_only_people:
        return None
    caption = (
        f"Scores on {filtered.name} against labels. MAE: mean |score − label|; bias: mean of score "
        "− label; within one: % of scores at most one step from the label; rank correlations "
        "(Spearman, Kendall's τ-b); quadratic κ. "
        f"{describe_items_and_filters(filtered, labelled=True)} "
        "95 % intervals over items; n: labelled scores."
    )
    rows = [ValueRow(name, one) for name, one in _agreement_rows(filtered, load_scores(filtered))]
    names = rater_names(filtered.measured_judge_rows)
    head = typed_columns.paper_head(rater_column_head(names), PAPER_COLUMNS)
    return PaperTable("Scores", caption, head, typed_columns.paper_rows(PAPER_COLUMNS, rows))


def _agreement_rows(
    filtered: FilteredStudy, found: ScoreResults
) -> Iterator[tuple[str, ScoreAgreement]]:
    """Yield (name of a row, agreement) for each judge and prompt: agreement of its scores with
    the labels, of its expected scores with the labels, and of its level on each criterion with
    people's."""
    names = rater_names(filtered.measured_judge_rows)
    for rater, one in found.agreement.items():
        yield names[rater], one
        if rater in found.expected:
            yield f"{names[rater]}, expected score", found.expected[rater]
    for rater, by_criterion in found.by_criterion.items():
        for criterion, one in by_criterion.items():
            yield f"{names[rater]}, {criterion}", one


def option_order_paper_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of the effect of the options' order on scores, one row for each judge and prompt that
    saw several orders; None without model judges."""
    title = f"Order of the score options on {filtered.name}."
    items = describe_items_and_filters(filtered)
    end = f"{items} {INTERVALS_TEXT}; n: answers judged in several orders."
    found = load_scores(filtered).order
    return paper_table_by_judge(
        filtered, "Score order", title, ORDER_COLUMNS, found, end, ORDER_DEFINITIONS
    )


def criteria_order_paper_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of the effect of the criteria's order in rubrics, one row for each judge and prompt
    that saw several orders; None without model judges."""
    title = f"Order of the criteria on {filtered.name}."
    items = describe_items_and_filters(filtered)
    end = f"{items} {INTERVALS_TEXT}; n: answers judged in several orders."
    columns, definitions = CRITERIA_ORDER_COLUMNS, CRITERIA_ORDER_DEFINITIONS
    found = load_scores(filtered).criteria
    return paper_table_by_judge(filtered, "Criteria order", title, columns, found, end, definitions)
