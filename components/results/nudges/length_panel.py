"""Panels on answer length: share won by length ratio, and length-controlled win rates."""

import math
from typing import Any, Final

from components.charts import figure_parts as parts
from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.filtering.raters import Raters, known_answer_source
from components.html.format import count, number, percent, share, spaced_ci
from components.html.markup import Markup, escape, escape_plot, fill
from components.html.pieces import empty_state
from components.html.tables import value_table as tables
from metrics.estimation.row_selection import people_mask, select_pairs, select_rows
from metrics.ratings.conditional_logit import largest_first_sort_key
from metrics.win_rates import length_effects
from metrics.win_rates.length_bins import LengthBin, LengthEffect, length_effect
from metrics.win_rates.win_rates import head_to_head, win_rate
from studies.domain import Estimate

MIN_ITEMS: Final = 5
NO_LENGTHS_TEXT: Final = (
    "Length effects need verdicts on pairs of answers of different lengths, with stored texts."
)


@memoise_by_study
def judge_and_people_length_effects(
    filtered: FilteredStudy,
) -> tuple[LengthEffect | None, LengthEffect | None]:
    """Effect of answer length on the judges' verdicts, and on people's votes; None for each that is
    unknown."""
    rows = Raters(filtered).rows
    human = people_mask(rows)
    persons = length_effect(select_rows(rows, human)) if human.any() else None
    return length_effect(filtered.measured_judge_rows), persons


# -- the plot ------------------------------------------------------------------------------------


def win_rate_by_length_figure(filtered: FilteredStudy) -> parts.Figure | None:
    """Figure of the share won by ratio of answer lengths: judges as dots with the fitted curve,
    people as diamonds; None if the lengths are not known, or all about equal."""
    judges, persons = judge_and_people_length_effects(filtered)
    if judges is None or not judges.bins:
        return None
    data = [_fitted_curve_trace(judges.odds_ratio)] if judges.odds_ratio.value else []
    if persons is not None:
        data.append(_length_bin_trace(persons, "people", 0.05))
    data.append(_length_bin_trace(judges, "judges", 0.0))
    layout = parts.make_layout(
        height=330,
        left=52,
        right=16,
        bottom=52,
        revision="length",
        dragmode=False,
        shapes=[parts.horizontal_line(0.5)],
        xaxis=parts.make_axis(
            "characters of the answer ÷ those of the other",
            range=[-2.9, 2.9],
            fixedrange=True,
            tickvals=[-2, -1, 0, 1, 2],
            ticktext=["¼", "½", "same", "2 ×", "4 ×"],
            showgrid=False,
        ),
        yaxis=parts.make_axis(
            range=[-0.02, 1.04],
            tickvals=[0, 0.25, 0.5, 0.75, 1],
            fixedrange=True,
            ticktext=["0", "25", "50", "75", "100\u202f%"],
        ),
    )
    narrow = {"xaxis.title.text": "length ÷ that of the other answer"}
    summary = length_effect_sentence(judges, persons).replace("**", "")
    return parts.make_figure(data, layout, summary, narrow)


def _fitted_curve_trace(odds: Estimate) -> dict[str, Any]:
    x = [-2.9 + 5.8 * i / 60 for i in range(61)]
    slope = math.log(odds.value or 1.0)
    return {
        "x": x,
        "y": [1 / (1 + math.exp(-slope * a)) for a in x],
        "mode": "lines",
        "line": {"color": "var(--ink)", "width": 2},
        "hoverinfo": "skip",
    }


def _length_bin_trace(effect: LengthEffect, who: str, shift: float) -> dict[str, Any]:
    """Plotly trace of the win rate at each length ratio; `who`: "judges" or "people"; `shift`:
    added to the x values (log2 of the ratio), so that the two traces do not cover each other."""
    bins = [b for b in effect.bins if b.win_rate.value is not None]
    person = who == "people"
    few = [0 < b.win_rate.items < MIN_ITEMS for b in bins]
    colour = "var(--ink-3)" if person else "var(--ink)"
    bars = parts.error_bars([b.win_rate for b in bins], 2, caps=0)
    return {
        "mode": "markers",
        "x": [min(max(b.ratio + shift, -2.8), 2.8) for b in bins],
        "y": [b.win_rate.value for b in bins],
        "error_y": {**bars, "color": colour},
        "marker": {
            "size": 11,
            "symbol": "diamond" if person else "circle",
            "color": ["var(--surface)" if person or thin else colour for thin in few],
            "line": {"width": 2, "color": colour},
        },
        "hovertext": [_hover_text(b, who) for b in bins],
        "hovertemplate": Markup("%{hovertext}<extra></extra>"),
    }


def _hover_text(length_bin: LengthBin, who: str) -> Markup:
    times = 2**length_bin.ratio
    words = f"{number(times, 1)} times as long" if times >= 1 else f"{share(times, 0)} as long"
    rate = length_bin.win_rate
    sizes = (count(rate.items, "item"), count(rate.n))
    values = (percent(rate, n=False), escape_plot(who), words, *sizes)
    return fill("<b>{}</b><br>{}: answers {}<br>{}, n {}", *values)


def _format_odds_ratio(odds: Estimate) -> tuple[str, str]:
    """Odds ratio and its interval as texts with one decimal; with two decimals if the ratio or its
    lower limit is below 1."""
    ends = [end for end in (odds.low, odds.value) if end is not None]
    style = tables.NumberStyle(2 if min(ends, default=1.0) < 1 else 1)
    return style.text(odds.value), style.interval(odds)


def not_significant_clause(estimate: Estimate, neutral: float) -> str:
    """Clause that the difference of an estimate from `neutral`, its value without an effect, is not
    significant; "" if the interval excludes this value or is unknown."""
    if estimate.low is None or estimate.high is None:
        return ""
    return ", not significant" * (estimate.low <= neutral <= estimate.high)


def length_effect_sentence(judges: LengthEffect, persons: LengthEffect | None) -> str:
    """Sentence on the odds ratio of a win for an answer twice as long, described as not causal; if
    it cannot be estimated, the reason."""
    odds = judges.odds_ratio
    if odds.value is None:
        return f"{odds.note.capitalize()}: the effect of twice the length cannot be estimated."
    times, bounds = _format_odds_ratio(odds)
    text = f"Twice the length multiplies the odds of winning by **{times}** {bounds}".rstrip()
    text += not_significant_clause(odds, 1.0)
    if persons is not None and persons.odds_ratio.value is not None:
        by_people = " ".join(_format_odds_ratio(persons.odds_ratio)).rstrip()
        unsure = not_significant_clause(persons.odds_ratio, 1.0)
        text += f"; in people's votes by {by_people}{unsure}"
    return f"{text}. This describes the verdicts; length need not be the cause of winning."


def longer_of_equally_right_sentence(filtered: FilteredStudy) -> str:
    """Sentence on the share of verdicts for the longer of two equally right answers; empty if the
    study's design has no such pairs."""
    if known_answer_source(filtered) != "design":
        return ""
    found = length_effects.length_preference_at_equal_quality(filtered.measured_judge_rows)
    if found.value is None:
        return ""
    text = f"{share(found.value, 0)} of verdicts{spaced_ci(found, 0, scale=100)}"
    text += not_significant_clause(found, 0.5)
    longer = f"Of two different but equally right answers, the longer one wins {text}."
    return f"{longer} They differ in more than their length."


# -- length held equal ---------------------------------------------------------------------------


def length_control_opponent(filtered: FilteredStudy) -> str | None:
    """Model against which length-controlled win rates are computed: the baseline if the study
    compares all models with one, else the model with the highest win rate. None without
    verdicts."""
    if filtered.study.pairing in ("baseline", "new") and filtered.study.baseline:
        return filtered.study.baseline
    rows = filtered.measured_judge_rows
    return next(iter(win_rate(select_pairs(rows))), None) if len(rows) else None


def _is_interval_wide(estimate: Estimate | None) -> bool:
    """Whether an interval of a win rate is wider than 0.5; the change of such a rate is not
    shown."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return False
    return estimate.high - estimate.low > 0.5


def show_length_controlled_win_rates(filtered: FilteredStudy) -> Markup:
    """HTML table of raw and length-controlled win rates against one opponent
    (`length_control_opponent`); a message without pairs whose lengths are known."""
    rows = select_pairs(filtered.measured_judge_rows)
    opponent = length_control_opponent(filtered)
    if rows.empty or opponent is None or "length_0" not in rows:
        return empty_state("No lengths here.", NO_LENGTHS_TEXT)
    raw = head_to_head(rows)
    found = length_effects.length_controlled_win_rates(rows, opponent)
    lines = []
    for model, held in sorted(found.items(), key=largest_first_sort_key):
        plain = raw.get(model, {}).get(opponent)
        select, who = {"contestant": model, "opponent": opponent}, f"{model} against {opponent}"
        known = plain is not None and plain.value is not None and held.value is not None
        known = known and not any(map(_is_interval_wide, (plain, held)))
        change = 100 * ((held.value or 0) - (plain.value or 0)) if plain and known else None
        cells = [
            tables.value_cell(one, tables.PERCENT, who=f"{who}{how}", select=select)
            for one, how in ((plain, ""), (held, ", length held equal"))
        ]
        gap = escape(number(change, 1, signed=True)) if known else tables.MUTED_DASH
        name = tables.name_cell(model, select, note=f"against {opponent}")
        lines.append([name, *cells, gap])
    if not lines:
        return empty_state("No comparisons.", f"No model was compared with {opponent}.")
    rates = ("Win rate, %", "Win rate with length held equal, %")
    heads = ["Model", *rates, "Change, points"]
    return tables.value_table(heads, lines, label="Length-controlled win rates")
