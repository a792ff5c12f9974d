"""Panels on twins (answers with one change other than quality) and on style: effects of the twins,
examples, a table of all families, and each judge's weights of style features."""

from collections.abc import Sequence
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE
from components.html.format import DASH, count, interval, join_names, number, spaced_ci
from components.html.markup import Markup
from components.html.pieces import LegendMark, panel_heading
from components.html.tables.forest_cells import Axis, fit_axis, fit_share_axis, tick_steps_from
from components.html.tables.value_table import value_table
from components.html.templates import macros
from components.results.bias.computed import load_bias
from components.results.nudges.length_panel import longer_of_equally_right_sentence
from components.results.nudges.twin_pairs import load_twin_examples
from components.results.view.result_view import Content
from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.summary.study_inputs import style_counts_of_study
from metrics.twins.style_control import style_section
from metrics.twins.twin_effects import INDIFFERENT, SHOWN, TwinEffect
from metrics.twins.twin_sentence import (
    control_sentence,
    effects_of_irrelevant_changes,
    more_than_chance_sentence,
    twin_headline,
)
from studies.domain import Estimate, Rater
from studies.texts.style_features import STYLE_FEATURES
from studies.texts.twin_families import CONTROLS, FAMILIES, SHAM

html: Final = macros("results/nudges/twins.html")
STYLE_TITLE: Final = "Style: judge against people"
STYLE_SUBTITLE: Final = (
    "log-odds per standard deviation, between equally strong models; correlation, not an effect"
)
MAX_RATERS: Final = 4
"""Maximum number of combinations of judge and prompt that are drawn; all are in the table of all
families."""


def twin_effects_by_rater(filtered: FilteredStudy) -> dict[Rater, list[TwinEffect]]:
    """(judge, prompt) -> effects of its twins, one for each family, and of its controls
    (twins with a real fault, which should lose), for the judges and prompts that pass the
    filters. Controls are measured by judge, so that each prompt of a judge has the same ones."""
    chosen = filtered.filter
    found: dict[Rater, list[TwinEffect]] = {}
    effects = filtered.twin_effects
    for one in effects:
        fits = chosen.judge in (ALL_CHOICE, one.judge) and chosen.prompt in (ALL_CHOICE, one.prompt)
        if one.prompt and fits:
            found.setdefault((one.judge, one.prompt), []).append(one)
    controls = [one for one in effects if one.family in CONTROLS]
    for (judge, _), own in found.items():
        design = own[0].design
        own += [one for one in controls if one.judge == judge and one.design == design]
    return found


def twin_effects_headline(filtered: FilteredStudy) -> tuple[str, str] | None:
    """Headline and the sentence below it on the twin with the largest effect; None without
    twins. With several judges or prompts, both texts are about the judge and prompt with the
    largest significant effect."""
    effects_by_rater = twin_effects_by_rater(filtered)
    if not effects_by_rater:
        return None

    def largest_shown_effect(rater: Rater) -> float:
        ranked = effects_of_irrelevant_changes(effects_by_rater[rater])
        shown = (abs(one.adjusted.value or 0) for one in ranked if one.finding == SHOWN)
        return next(shown, 0.0)

    judge, prompt = max(effects_by_rater, key=largest_shown_effect)
    own = effects_by_rater[judge, prompt]
    title = twin_headline(own)
    where = f"{judge}, {prompt}: " if len(effects_by_rater) > 1 else ""
    lead = "" if any(one.finding == INDIFFERENT for one in own) else control_sentence(own)
    return where + title, f"{more_than_chance_sentence(own)} {lead}".strip()


def render_twin_effects(filtered: FilteredStudy) -> Markup | None:
    """HTML forest plots, one for each judge and prompt (at most MAX_RATERS), of the effect on the
    verdicts of each kind of twin (an answer with one change other than quality); None if the study
    has no twins."""
    effects_by_rater = twin_effects_by_rater(filtered)
    if not effects_by_rater:
        return None
    drawn = []
    for number_, (rater, own) in enumerate(list(effects_by_rater.items())[:MAX_RATERS]):
        name = " · ".join(rater) if len(effects_by_rater) > 1 else ""
        drawn.append((name, _effect_forest(own, number_)))
    return html.forests(drawn, len(effects_by_rater) - len(drawn))


def _effect_forest(effects: Sequence[TwinEffect], rater_number: int) -> Markup:
    axis = _fit_effect_axis(effects)
    moving = [one for one in effects if one.family not in CONTROLS]
    moving.sort(key=lambda one: -(one.adjusted.value or 0))
    controls = [one for one in effects if one.family in CONTROLS]
    shown = [one for one in moving if one.finding == SHOWN]
    rest = [one for one in moving if one not in shown] if shown else []
    floor = next((one for one in effects if one.floor_family == SHAM), effects[0])
    parts = [
        [_forest_row(one, axis, rater_number, floor.floor_family) for one in part]
        for part in (shown or moving, controls, rest)
    ]
    dashed = any(row["own"] for row in parts[0])
    return html.forest(axis, _floor_band_css(floor, axis), dashed, *parts)


def _floor_interval_around_zero(effect: TwinEffect) -> tuple[float, float] | None:
    """Ends of the interval of the floor (effect of a change that cannot matter), after subtraction
    of its value, so that the interval is around 0; None if it is unknown."""
    floor = effect.floor
    if floor.value is None or floor.low is None or floor.high is None:
        return None
    return floor.low - floor.value, floor.high - floor.value


def _floor_band_css(effect: TwinEffect, axis: Axis) -> tuple[str, str] | None:
    """CSS place and width of the band of `_floor_interval_around_zero`; None if it is unknown."""
    ends = _floor_interval_around_zero(effect)
    return None if ends is None else (axis.css_position(ends[0]), axis.css_width(*ends))


def _fit_effect_axis(effects: Sequence[TwinEffect]) -> Axis:
    estimates = [one.adjusted for one in effects]
    holds = [0.0, *(end for one in effects for end in _floor_interval_around_zero(one) or ())]
    if any(one.adjusted.unit == "score" for one in effects):
        return fit_axis(estimates, tick_steps_from(0.1), lambda tick: number(tick, 1), holds=holds)
    return fit_share_axis(estimates, signed=True, holds=holds)


def _forest_row(effect: TwinEffect, axis: Axis, rater_number: int, floor: str) -> dict[str, object]:
    """Values of one row of the forest plot, for the template. `rater_number` (index of the judge
    and prompt) is part of the id of the box with examples. `floor` is the family whose floor is
    drawn behind all rows; only a row with another floor gets a band of its own."""
    one = effect.adjusted
    return {
        "family": effect.family,
        "words": FAMILIES[effect.family].words,
        "box": _examples_box_id(effect, rater_number),
        "kind": "moved" if effect.finding == SHOWN else "hollow",
        "control": effect.family in CONTROLS,
        "estimate": one,
        "own": _floor_band_css(effect, axis) if effect.floor_family != floor else None,
        "value": _format_effect(one),
        "bounds": _format_effect_interval(one),
        "tip": f"floor: {effect.floor_family}; n {count(one.n)}, {count(one.items, 'item')}",
    }


def _examples_box_id(effect: TwinEffect, rater_number: int) -> str:
    return f"eh-twin-{rater_number}-{effect.design}-{effect.family}"


def render_twin_examples(filtered: FilteredStudy) -> Markup | None:
    """Render examples of every family, for at most MAX_RATERS judges and prompts; a click on a row
    of the forest shows the examples of its family. None without twins or without their texts."""
    effects_by_rater = twin_effects_by_rater(filtered)
    boxes = []
    for rater, own in enumerate(list(effects_by_rater.values())[:MAX_RATERS]):
        first = next(iter(effects_of_irrelevant_changes(own)), None)
        for one in own:
            pairs = load_twin_examples(filtered, one)
            opened = rater == 0 and one is first
            boxes.append((_examples_box_id(one, rater), opened, pairs))
    return html.pairs(boxes) if any(pairs.pairs for _, _, pairs in boxes) else None


def render_all_twin_effects(filtered: FilteredStudy) -> Markup | None:
    """Render the table of the effects of all families of twins, each with the smallest detectable
    effect and the number of answers without such a twin; None without twins."""
    effects_by_rater = twin_effects_by_rater(filtered)
    if not effects_by_rater:
        return None
    heads = ("Family", "Judge, prompt", "Effect", "Floor", "Adjusted", "Detectable", "Skipped")
    rows = [
        [
            one.family,
            " · ".join(part for part in (one.judge, one.prompt) if part),
            _format_effect(one.change),
            f"{_format_effect(one.floor)} ({one.floor_family})",
            f"{_format_effect(one.adjusted)} {_format_effect_interval(one.adjusted)}",
            _format_effect(Estimate(one.min_detectable, unit=one.adjusted.unit), signed=False),
            count(one.skipped),
        ]
        for one in _list_distinct_effects(effects_by_rater)
    ]
    return value_table(heads, rows, label="All families of twins")


def _list_distinct_effects(effects_by_rater: dict[Rater, list[TwinEffect]]) -> list[TwinEffect]:
    """List each effect once. The effects of a judge's controls occur several times in the
    argument, once for each prompt."""
    return list({id(one): one for own in effects_by_rater.values() for one in own}.values())


def _display_factor(estimate: Estimate) -> int:
    return 1 if estimate.unit == "score" else 100


def _format_effect_interval(estimate: Estimate) -> str:
    scale = _display_factor(estimate)
    return interval(estimate, 0 if scale == 100 else 2, scale=scale)


def _format_effect(estimate: Estimate, signed: bool = True) -> str:
    if estimate.value is None:
        return DASH
    scale = _display_factor(estimate)
    return number(scale * estimate.value, 0 if scale == 100 else 2, signed=signed)


def render_style_weights(filtered: FilteredStudy) -> Content | None:
    """Render each judge's weights of style features. With several judges, the weights of length
    come first and those of the other features are folded. None if no weights can be fitted."""
    found = filtered.memoise(
        ("style", filtered.filter),
        lambda: style_section(filtered.frame, style_counts_of_study(filtered.store, filtered.name)),
    )
    rows = []
    for judge, part in found.items():
        known = {name: one for name, one in part["coefficients"].items() if one.value is not None}
        rows += [(judge, name, known[name], part) for name in STYLE_FEATURES if name in known]
    if not rows:
        return None
    several = len(found) > 1
    lines = [
        (judge if several else "", name, one, _people_style_weight(part, name))
        for judge, name, one, part in rows
    ]
    holds = [0.0, *(people for *_, people in lines if people is not None)]
    drawn = [one for _, _, one, _ in lines]
    axis = fit_axis(drawn, tick_steps_from(0.1), lambda t: number(t, 1), holds=holds)
    shown = [line for line in lines if line[1] == "length"] if several else lines
    folded = [line for line in lines if line not in shown]
    bias = load_bias(filtered)
    tests = bias.bonferroni_factor if bias.order_test_count > 1 else 1
    sentences = [_length_weight_text(judge, part, several, tests) for judge, part in found.items()]
    if any(sentences) and (longer := longer_of_equally_right_sentence(filtered)):
        sentences.append(f"This weight holds models' ratings equal, not correctness. {longer}")
    unknown = set(STYLE_FEATURES) - {name for _, name, _, _ in rows}
    without: dict[tuple[str, str], list[str]] = {}
    for judge, part in found.items():
        for name in [one for one in part["coefficients"] if one in unknown]:
            without.setdefault((name, part["coefficients"][name].note), []).append(judge)
    for (name, why), judges in without.items():
        whose = "" if len(judges) == len(found) else f" for {join_names(judges)}"
        sentences.append(f"No weight of {name}{whose}: {why}.")
    made: Markup = html.style(axis, shown, folded, " ".join(text for text in sentences if text))
    voted = any(people is not None for *_, people in lines)
    keys: list[tuple[LegendMark, str]] = [("dot", "judge"), ("diamond", "people")]
    title = STYLE_TITLE if voted else "Style of the judge"
    heading = panel_heading(title, STYLE_SUBTITLE, keys if voted else ())
    return Content({"style": made}, heading)


def _people_style_weight(weights: dict[str, dict[str, Estimate]], name: str) -> float | None:
    """Weight that people give to the style feature `name`, None if unknown. It is computed from
    the judge's weight (`weights["coefficients"]`) and the difference of judge and people
    (`weights["minus_people"]`)."""
    minus = weights.get("minus_people", {}).get(name)
    own = weights["coefficients"][name].value
    return None if minus is None or minus.value is None or own is None else own - minus.value


def _length_weight_text(
    judge: str, weights: dict[str, dict[str, Estimate]], named: bool, tests: float
) -> str:
    """Sentence on the weight that a judge gives to length, compared with people if they voted;
    empty if it is unknown. `weights`: as in `_people_style_weight`; `named`: whether
    the sentence names the judge; `tests`: number of tests for which the interval is widened; if it
    is above 1, the sentence calls the interval adjusted."""
    who, whose = (judge, f" for {judge}") if named else ("It", "")
    unknown = Estimate(None)
    minus, own = (
        simultaneous_interval(weights.get(key, {}).get("length", unknown), tests)
        for key in ("minus_people", "coefficients")
    )
    gap, ends = (
        f"{', adjusted CI' if tests > 1 else ''}{spaced_ci(one, 2)}" for one in (minus, own)
    )
    if minus.value is not None and minus.low is not None:
        if minus.low > 0 or (minus.high or 0) < 0:
            more = "more" if minus.value > 0 else "less"
            size = number(abs(minus.value), 2)
            return f"{who} weighs length {size} {more} than people do{gap}."
        return f"No difference to people in the weight of length is shown{whose}{gap}."
    if own.value is None or own.low is None or own.high is None:
        return ""
    if own.low <= 0 <= own.high:
        return f"No weight of length is shown between equally strong models{whose}{ends}."
    return f"{who} weighs length {number(own.value, 2, signed=True)}{ends}."
