"""Ranking by verdicts on single answers: models by pass rate or mean score, with intervals."""

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import cache_in_filtered_study
from components.html.format import NARROW_SPACE, count, number, on_scale, share, spaced_ci
from components.html.markup import EMPTY, Markup, fill, join
from components.html.pieces import empty_state, notice_html, wrap
from components.html.tables import value_table as tables
from components.html.tables.forest_cells import fit_axis, fit_share_axis, tick_steps_from
from components.results.view.paper_table import rank_cell
from components.results.view.unusable_replies import load_unusable_shares
from metrics.labels.point_ranking import PointRanking, RankedModel, model_rankings_by_rater
from studies.domain import Estimate, Rater

MAX_TABLES: Final = 6
"""Maximum number of tables, one per judge and prompt; readers see the others by filtering."""
TITLE: Final = "Models by verdicts on single answers"
SUBTITLE: Final = (
    f"95{NARROW_SPACE}% CI by item; a rank is the range of places that the differences allow"
)
REVERSED: Final = (
    "The judge's error rates differ between models, so the pass rate of each model is corrected "
    "with its own labels."
)
UNCORRECTED: Final = (
    "The judge's error rates differ between models, and some pass rates cannot be corrected: "
    "this ranking may be wrong. Label more answers of each model."
)
HOW_POINTS: Final = (
    "Pass/fail: models are ranked by their labels if every answer has one; else by the true pass "
    "rate if it can be estimated for all, or by the observed one. The judge's error rates are "
    "estimated from the labels of all models together. If they differ between models (p < .05), "
    "each model is corrected with the error "
    "rates on its own labels, because a common correction could reverse the ranking. Scores: "
    "models are ranked by the mean score over all arrangements. Differences of mean scores and of "
    "observed rates are paired by item. Differences of true rates treat the two rates as "
    "independent, which makes their intervals rather too wide. Ranks use intervals that hold for "
    "all pairs together (Bonferroni)."
)


@cache_in_filtered_study
def load_single_answer_rankings(filtered: FilteredStudy) -> dict[Rater, PointRanking]:
    """(judge, prompt) with verdicts on single answers -> ranking; the most verdicts first."""
    found = model_rankings_by_rater(filtered.measured_judge_rows)
    sizes = {rater: sum(one.value.n for one in ranking.models) for rater, ranking in found.items()}
    return dict(sorted(found.items(), key=lambda pair: -sizes[pair[0]]))


def too_few_models_text(filtered: FilteredStudy) -> str:
    """Sentence on why no judge and prompt rank two models."""
    shown, whole = (
        rows.loc[rows["options"] == 1, "first"].nunique()
        for rows in (filtered.measured_judge_rows, filtered.unfiltered_frame)
    )
    if shown > 1:
        return "No judge and prompt have usable verdicts on two models, so there is no ranking."
    where = "pass the filters" if whole > 1 else "were judged"
    return f"Only the answers of one model {where}, so there is no ranking."


def single_answer_ranking_headline(filtered: FilteredStudy) -> tuple[str, str]:
    """Return a headline and the sentence below it, by the judge and prompt with the most verdicts
    among those that rank several models. The headline tells whether the first model is
    significantly ahead of the second, by intervals that hold for all pairs of models together, as
    the ranks are; or that there is no ranking. The sentence has the values of both."""
    found = load_single_answer_rankings(filtered)
    if not found:
        return "No ranking yet.", "No usable verdict on an answer passes the filters."
    several = ((rater, one) for rater, one in found.items() if len(one.models) > 1)
    rater, ranking = next(several, (None, None))
    if rater is None or ranking is None:
        return too_few_models_text(filtered), ""
    first, second = ranking.models[:2]
    values = ", ".join(
        f"{one.name} {_format_ranked_value(ranking, one)}" for one in (first, second)
    )
    by = "" if ranking.is_by_labels else f" by {rater[0]} ({rater[1]})"
    lead = f"{ranking.basis.capitalize()}{on_scale(first.value)}{by}: {values}."
    if first.ranks[1] < second.ranks[0]:
        return f"{first.name} is significantly ahead of {second.name}.", lead
    if second.lead is not None and (second.lead.low or 0.0) > 0:
        adjusted = "The lead is not significant after adjustment for all pairs of models."
        return f"{first.name} leads {second.name}.", f"{lead} {adjusted}"
    return f"No significant difference between {first.name} and {second.name}.", lead


def _format_ranked_value(ranking: PointRanking, model: RankedModel) -> str:
    used = _value_ranked_by(ranking, model)
    if ranking.basis == "mean score":
        return f"{number(used.value, 2)}{spaced_ci(used, 2)}"
    return f"{share(used.value, 0)}{spaced_ci(used, 0, scale=100)}"


def _value_ranked_by(ranking: PointRanking, model: RankedModel) -> Estimate:
    by_observed = ranking.basis in ("observed pass rate", "mean score")
    return model.value if by_observed or model.true_rate is None else model.true_rate


def single_answer_ranking_html(filtered: FilteredStudy) -> Markup | None:
    """HTML tables of the rankings, at most MAX_TABLES; a message if none has two models, None
    without verdicts on single answers."""
    found = load_single_answer_rankings(filtered)
    if not found:
        return None
    several = {rater: one for rater, one in found.items() if len(one.models) > 1}
    if not several:
        return empty_state(too_few_models_text(filtered), "See the view “Agreement”.")
    shown = list(several.items())[:MAX_TABLES]
    unusable = load_unusable_shares(filtered)
    tables_html = join(_model_ranking_table(rater, one, unusable[rater]) for rater, one in shown)
    warnings = {
        REVERSED if one.basis == "true pass rate" else UNCORRECTED
        for _, one in shown
        if one.may_reverse_ranking and not one.is_by_labels
    }
    tables_html += join(notice_html("warn", text) for text in sorted(warnings))
    left = len(several) - len(shown)
    text = f"{count(left, 'more table')} not shown; filter by judge or prompt to see them."
    return wrap(tables_html, fill("<p>{}</p>", text) if left else EMPTY)


def _model_ranking_table(rater: Rater, ranking: PointRanking, unusable: Estimate) -> Markup:
    passes = ranking.basis != "mean score"
    style = tables.PERCENT if passes else tables.SCORE
    values = [_value_ranked_by(ranking, one) for one in ranking.models]
    if passes:
        axis = fit_share_axis(values, bounds=(0, 1))
        rate = ranking.basis if ranking.is_by_labels else "true pass rate"
        heads = [f"{rate.capitalize()}, %", "Observed pass rate, %", "Behind the first, points"]
    else:
        axis = fit_axis(values, tick_steps_from(0.1), lambda tick: number(tick, 1))
        behind = "Behind the first on the same items, scale points"
        heads = [f"Mean score{on_scale(values[0])}", behind]
    rows = []
    for one, used in zip(ranking.models, values, strict=True):
        select = {"judge": rater[0], "prompt": rater[1], "contestant": one.name}
        true = tables.value_cell(one.true_rate, tables.PERCENT, who=one.name)
        rows.append(
            [
                tables.name_cell(one.name, select),
                fill("{}", rank_cell(*one.ranks)),
                *([true] if one.true_rate else []),
                tables.value_cell(one.value, style, who=one.name, n=True),
                tables.value_cell(one.lead, style, who=one.name) if one.lead else fill("–"),
                EMPTY if used.value is None else tables.forest_cell(used, axis, style, one.name),
            ]
        )
    name = " · ".join(rater)
    title = fill('<h3 class="eh-under">{}: ranked by {}</h3>', name, ranking.basis)
    table = tables.value_table(["Model", "Rank", *heads, axis], rows, label=f"Models by {name}")
    text = f"{share(unusable.value, 0)} of the replies have no usable verdict and are left out."
    note = EMPTY
    if unusable.value and round(unusable.value, 2):
        note = fill('<p class="eh-small eh-mute eh-under">{}</p>', text)
    return title + table + note
