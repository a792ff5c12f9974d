"""Panels of the view on scores: headline, key figures, arrangement heatmap, order effects."""

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter, itemgetter
from typing import Final

from components.filtering.filters import short_rater_names
from components.html.format import (
    NARROW_SPACE,
    count,
    decimal,
    interval,
    number,
    on_scale,
    percent,
    share,
    slot_name,
    spaced_ci,
)
from components.html.heatmap import matrix_html
from components.html.markup import EMPTY, Markup
from components.html.matrix_heads import MatrixColumn
from components.html.pieces import (
    Kpi,
    kpi_strip,
    notice_html,
    share_kpi,
    unusable_replies_kpi,
    wrap,
)
from components.html.scales import ColourScale
from components.html.tables.forest_cells import fit_axis, fit_share_axis, tick_steps_from
from components.html.tables.typed_columns import TypedColumn, ValueRow, page_table
from components.html.tables.value_table import SCORE
from components.results.pass_fail.panels import html, option_order_sentences
from components.results.pass_fail.scores.computed import ScoreResults
from components.results.pass_fail.scores.score_tables import SHIFT
from metrics.catalogue.records import RECORDS
from metrics.labels.option_order import OptionOrder
from metrics.labels.scores.score_distribution import ExpectedScores
from studies.domain import Estimate, Rater

SHARE_SCALE: Final = ColourScale("Share", "b", 0, 1, ("no colour: 0 %", "full colour: 100 %"))
MAX_ROWS: Final = 30
"""Maximum number of arrangements that the heatmap shows; it states how many are left out."""
_DIFFERENT: Final = "of answers get another score in another order of the"
SHIFT_HEAD: Final = (
    "Mean score in this order minus mean score in the other orders, scale points, "
    f"95{NARROW_SPACE}% CI"
)
ONE_ORDER: Final = (
    "No answer has usable verdicts in different orders of options or criteria. To measure their "
    "effect, set `options: rotations` or `criteria_order: rotations` in the study file."
)


def scores_headline(results: ScoreResults) -> tuple[str, str]:
    """Headline and the sentence below it on the scores of the judge and prompt shown; a message
    without scores.

    If several orders of the options were used, the headline gives the share of answers whose score
    changes with the order, or says that no effect of the order is shown; else the same for the
    order of the criteria; else the agreement with labels; else the mean score."""
    found, rater = results.distribution, results.shown_rater
    if found is None or rater is None:
        return "No usable score passes the filters.", "Remove a filter to see scores."
    order, agreement = results.order.get(rater), results.agreement.get(rater)
    who = short_rater_names(list(results.distributions))[rater]
    by = f", by {who}" if len(results.distributions) > 1 else ""
    title = f"The mean score of {who} is {number(found.mean.value, 2)}."
    mean = f"{number(found.mean.value, 2)}{spaced_ci(found.mean, 2)}{on_scale(found.mean)}"
    texts = [f"Mean score {mean}"]
    criteria = results.criteria.get(rater)
    for what, effect, is_shown in (
        ("options", order, bool(order and order.is_shown)),
        ("criteria", criteria.overall if criteria else None, bool(criteria and criteria.is_shown)),
    ):
        if effect is None or effect.changed.value is None:
            continue
        title = f"{share(effect.changed.value, 0)} {_DIFFERENT} {what}{by}."
        noise = effect.noise_floor.value
        if noise is None and not is_shown:
            texts.append("no order was repeated, so part may be noise")
        elif noise is not None and is_shown:
            texts.append(f"{share(noise, 0)} of scores change on a repeat")
        elif noise is not None:
            title = f"No effect of the order of the {what} on the scores of {who} is shown."
            changed = share(effect.changed.value, 0)
            texts = [f"{changed} of scores change in another order, {share(noise, 0)} on a repeat"]
        break
    else:
        if about_labels := label_agreement_headline(results):
            return about_labels
    if agreement is not None and agreement.bias.value is not None:
        bias = number(agreement.bias.value, 2, signed=True)
        texts.append(f"mean score − label: {bias}")
    return title, f"{'; '.join(texts)}."


def label_agreement_headline(results: ScoreResults) -> tuple[str, str] | None:
    """Headline on the agreement of scores with labels, and the sentence below it; None if the rank
    correlation is unknown."""
    rater = results.shown_rater or ("", "")
    found = results.agreement.get(rater)
    if found is None or found.spearman.value is None:
        return None
    who = short_rater_names(list(results.distributions))[rater]
    rank = f"{number(found.spearman.value, 2)}{spaced_ci(found.spearman, 2)}".strip()
    title = f"Spearman's ρ between the scores of {who} and the labels is {rank}."
    return title, (
        f"{share(found.within_one.value, 0)} of scores are at most one step from the label; the "
        f"mean of score − label is {number(found.bias.value, 2, signed=True)} scale points."
    )


def scores_kpis(results: ScoreResults) -> Markup:
    found, rater = results.distribution, results.shown_rater
    if found is None or rater is None:
        return EMPTY
    order, criteria = results.order.get(rater), results.criteria.get(rater)
    agreement = results.agreement.get(rater)
    kpis = [
        Kpi("Mean score", number(found.mean.value, 2),
            note=f"{interval(found.mean, 2)}{on_scale(found.mean)}, effective number of scores "
            f"{number(found.effective_values, 1)}".lstrip(", ")),
        *([_expected_score_kpi(found.expected)] if found.expected else []),
        *([share_kpi(RECORDS["option_order.changed"].name, order.changed)]
          if order else []),
        *([share_kpi(RECORDS["criteria_order.changed"].name, criteria.overall.changed)]
          if criteria else []),
        *([share_kpi(RECORDS["scores.within_one"].name, agreement.within_one)]
          if agreement else []),
        unusable_replies_kpi(
            results.unusable.get(rater, 0),
            results.unusable.get(rater, 0) + found.mean.n,
            "replies without a score; they are left out, not counted as the lowest score",
        ),
    ]  # fmt: skip
    return kpi_strip(kpis)


def _expected_score_kpi(expected: ExpectedScores) -> Kpi:
    spread = f"standard deviation within a reply {number(expected.spread.value, 2)}"
    note = f"{interval(expected.mean, 2)}{on_scale(expected.mean)}, {spread}".lstrip(", ")
    return Kpi("Expected score", number(expected.mean.value, 2), note=note)


def score_by_arrangement_matrix(results: ScoreResults) -> Markup:
    """HTML heatmap: one row per arrangement (order of options and criteria), one column per score,
    cells with the share of verdicts (of a rubric: of the levels of all criteria). Without an order
    effect, all rows are alike. At most MAX_ROWS rows; a notice if there are too many different
    scores, empty without scores."""
    found, rater = results.distribution, results.shown_rater
    if found is None or rater is None:
        return EMPTY
    if not found.values:
        return notice_html("calm", "There are too many different scores to draw a heatmap.")
    shown = found.arrangements[:MAX_ROWS]
    columns = [MatrixColumn(f"{value:g}") for value in found.values]
    cells = {
        (one.name, f"{value:g}"): estimate
        for one in shown
        for value, estimate in one.shares.items()
    }
    select = {at: {"judge": rater[0], "prompt": rater[1]} for at in cells}
    more = {
        (one.name, f"{value:g}"): [
            f"mean score of {count(one.mean.n, 'verdict')} in this arrangement"
            f"{on_scale(one.mean)}: {decimal(one.mean, 2, n=False)}"
        ]
        for one in shown
        for value in found.values
    }
    left = len(found.arrangements) - len(shown)
    note = f"{count(left, 'arrangement')} not shown" if left > 0 else ""
    names, keys = [one.name for one in shown], ("arrangement", "score")
    scale = replace(SHARE_SCALE, name=f"Share of {found.counted}")
    return matrix_html(
        names, columns, cells, scale, keys=keys, select=select, more=more, label_width=220,
        aside=note,
    )  # fmt: skip


def expected_levels_table(results: ScoreResults) -> Markup:
    """HTML table by criterion: the mean level weighted by the probabilities that the judge gave to
    the levels, and the standard deviation within a reply; empty without probabilities."""
    levels = results.distribution.expected_levels if results.distribution else {}
    if not levels:
        return EMPTY
    columns = [
        TypedColumn(f"Expected level, 95{NARROW_SPACE}% CI", attrgetter("mean"), SCORE, n=True),
        TypedColumn("Standard deviation within a reply", attrgetter("spread"), SCORE),
    ]
    rows = [ValueRow(name, one) for name, one in levels.items()]
    return wrap(page_table("Criterion", columns, rows, "Expected level by criterion"))


def order_effects_html(results: ScoreResults) -> Markup:
    """HTML on the effects of the order of options and criteria, and of repeats, with intervals; a
    notice if there was one order and no repeat."""
    rater = results.shown_rater or ("", "")
    order, criteria = results.order.get(rater), results.criteria.get(rater)
    repeats = results.repeats.get(rater)
    if order is None and criteria is None and repeats is None:
        return notice_html("calm", ONE_ORDER)
    parts = [EMPTY]
    if repeats is not None:
        cases = count(repeats.several.n, "answer")
        if order is not None or criteria is not None:  # an answer counts once in each order
            cases = f"{count(repeats.several.n, 'combination')} of answer and order"
        text = (
            f"{percent(repeats.several, n=False)} of {cases} get different scores on "
            "repeats in the same order; mean standard deviation of the scores of one answer: "
            f"{decimal(repeats.deviation, 2)}."
        )
        parts.append(html.paragraphs([text]))
    if order is not None:
        texts = option_order_sentences(order, "score")
        if order.place_entropy is not None:
            texts.append(
                f"Entropy of the chosen positions: {number(order.place_entropy, 2)} (1: all "
                "positions chosen equally often, 0: always the same position)."
            )
        parts += [
            html.paragraphs(texts),
            option_position_table(order),
            score_shift_table("Options in the order", order.shift),
        ]
    if criteria is not None:
        texts = [
            "Answers with another score in another order of the criteria: "
            f"{percent(criteria.overall.changed)}.",
            "Mean score of a criterion when listed first minus its mean score when listed later: "
            f"{decimal(criteria.first, 2)} scale points.",
        ]
        parts += [
            html.paragraphs(texts),
            score_shift_table("Criteria in the order", criteria.overall.shift),
            _criterion_place_table(criteria.by_place),
        ]
    return wrap(*parts)


def option_position_table(order: OptionOrder) -> Markup:
    """HTML table of the share of verdicts for the option listed first, second, …, with the share
    expected without an order effect; empty if the positions are unknown."""
    if not order.places:
        return EMPTY
    axis = fit_share_axis([one.share for one in order.places], holds=(0.0,), bounds=(0, 1))
    columns = [
        TypedColumn(f"Chosen, %, 95{NARROW_SPACE}% CI", attrgetter("share"), n=True),
        TypedColumn(
            "% of verdicts expected for this position without an order effect",
            lambda one: number(100 * (one.expected.value or 0.0), 1),
        ),
        TypedColumn("", attrgetter("share"), axis=axis, chance=attrgetter("expected.value")),
    ]
    rows = [ValueRow(slot_name(slot), one) for slot, one in enumerate(order.places)]
    return page_table("Position of the option", columns, rows, "Options chosen by position")


def score_shift_table(head: str, shifts: Mapping[str, Estimate], text: str = SHIFT_HEAD) -> Markup:
    """HTML table and plot of differences of scores (`shifts`), by name. `head`: heading of the
    names; `text`: heading of the differences."""
    steps = tick_steps_from(0.1)
    axis = fit_axis(shifts.values(), steps, lambda tick: number(tick, 1), holds=(0.0,))
    columns = [
        TypedColumn(text, lambda one: one, SHIFT, n=True),
        TypedColumn("", lambda one: one, SHIFT, axis=replace(axis, chance=0.0)),
    ]
    return page_table(head, columns, [ValueRow(*one) for one in shifts.items()], head)


def _criterion_place_table(by_place: Mapping[str, tuple[Estimate, ...]]) -> Markup:
    """HTML table with one row per criterion and one column per place in the rubric: mean score of
    the criterion when it is listed at this place, minus its mean score at the other places."""
    columns = [
        TypedColumn(
            f"Mean score of the criterion when listed {slot_name(slot)} minus its mean score in "
            "the other positions",
            itemgetter(slot),
            SHIFT,
        )
        for slot in range(max(map(len, by_place.values()), default=0))
    ]
    rows = [ValueRow(*one) for one in by_place.items()]
    return page_table("Criterion", columns, rows, "Criteria by position")


def score_report_sentence(rater: Rater, results: ScoreResults) -> str:
    """Text on one judge's scores, for the report."""
    mean = results.distributions[rater].mean
    parts = [f"mean score{on_scale(mean)}: {decimal(mean, 2)}"]
    if order := results.order.get(rater):
        parts.append(f"{percent(order.changed)} {_DIFFERENT} options")
    if criteria := results.criteria.get(rater):
        parts.append(f"{percent(criteria.overall.changed)} {_DIFFERENT} criteria")
    if found := results.agreement.get(rater):
        parts.append(
            f"{RECORDS['scores.mae'].name} {decimal(found.mae, 2)}, {RECORDS['scores.bias'].name} "
            f"{decimal(found.bias, 2)}, {RECORDS['scores.spearman'].name} "
            f"{decimal(found.spearman, 2)}"
        )
    parts.append(count(results.unusable.get(rater, 0), "unusable reply"))
    return f"{'; '.join(parts)}."
