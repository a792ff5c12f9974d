"""The view Position of Results: effects of the order of the answers, or of options and criteria."""

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE, count, slot_name
from components.html.markup import EMPTY, Markup
from components.html.pieces import LegendMark, panel_heading
from components.results.bias import bias_matrix, many_options, option_tests, pair_tests
from components.results.bias import panels as bias_view
from components.results.bias.bias_matrix import (
    BY_CATEGORY,
    BY_PROMPT,
    LAYOUTS,
    MEASURES,
    list_matrix_measures,
)
from components.results.bias.computed import Bias, load_bias
from components.results.bias.option_tests import load_option_models_of_all_raters
from components.results.bias.sentences import NO_PREFERENCES, PREFERENCE_RULE, bias_headline
from components.results.bias.unrelated_contrast import NEEDS as UNRELATED_NEEDS
from components.results.bias.unrelated_contrast import show_unrelated_option_contrast
from components.results.pass_fail import pass_fail_panels
from components.results.pass_fail.scores import score_panels
from components.results.pass_fail.scores.computed import has_comparisons, verdict_kinds
from components.results.pass_fail.scores.panels import ONE_ORDER
from components.results.view import result_view
from components.results.view.address_choices import choice_or_default
from components.results.view.result_view import (
    Body,
    Content,
    Control,
    Panel,
    PanelGroup,
    View,
    fold,
)
from metrics.catalogue.position_records import CONSISTENCY
from metrics.catalogue.record import CHANCE
from metrics.estimation.row_selection import select_picks
from metrics.position.order_tests import PERMUTATION_ROUNDS
from studies.frames.point_columns import pass_fail_mask

NAME: Final = "Position"
DEFAULT_MEASURE: Final = CONSISTENCY.name


HOW_MATRIX: Final = (
    "\n\n".join(f"{name}: {record.how}" for name, record in MEASURES.items())
    + f"\n\n{CHANCE}\n\nUnusable replies are left out and lower n.\n\n"
    + option_tests.EVENNESS_RULE
)
HOW_SLOTS: Final = (
    "Only comparisons judged in all orders count (if a judge has none, all its verdicts), and ties "
    "are left out. In all orders content cancels out: any difference from an even share is due to "
    "the position or chance. `share = verdicts for the position / verdicts without ties`."
)
HOW_FLIPS: Final = (
    "A pair flips if its outcome is not the same in both orders: another answer wins, or only one "
    "of the two verdicts is a tie.\n\n" + PREFERENCE_RULE
)
HOW_LABELS: Final = (
    "f: share of verdicts for the first position if its label is A and that of the second B. g: "
    "the same share if the first is B and the second A. `(f + g)/2` is the share of the first "
    "position, whatever its label; `(f + 1 − g)/2` is the share of label A; for both, 50 % "
    "means no preference.\n\nAmong N options: the choice model "
    "`P(position s) ∝ exp(θ_option + γ_position + λ_label)`; shown is softmax(γ), the share of "
    "each position among equally good answers. Intervals: jackknife over items for pairs, sandwich "
    "standard error over items for N options."
)


def headline(filtered: FilteredStudy) -> tuple[str, str]:
    """Headline and the sentence below it on the effect of the order. For single answers that were
    judged in only one order of options and criteria, they say that this effect is unknown."""
    if not has_comparisons(filtered):
        found = pass_fail_panels.order_headline(filtered) or score_panels.order_headline(filtered)
        if found is None and (filtered.measured_judge_rows["options"] == 1).any():
            return "The effect of the order of options or criteria is unknown.", ONE_ORDER
        return found or single_answers_view(filtered).headline(filtered)
    bias, rows = load_bias(filtered), filtered.measured_judge_rows
    if select_picks(rows).empty:
        return NO_PREFERENCES, "Position bias is measured on replies that do."
    if bias.max_options == 2:
        return bias_headline(bias)
    return many_options.position_preference_headline(
        bias, load_option_models_of_all_raters(filtered)
    )


def single_answers_view(filtered: FilteredStudy) -> View:
    """The view whose headline and key figures a study of single answers takes over. It is the view
    of scores if the study has scores and no pass/fail verdict passes the filters (if nothing passes
    them: if the study has no pass/fail verdicts); else the view of pass/fail verdicts."""
    kinds, frame = verdict_kinds(filtered), filtered.frame
    passes = kinds.pass_fail and (not len(frame) or bool(pass_fail_mask(frame).any()))
    return pass_fail_panels.VIEW if passes or not kinds.scores else score_panels.VIEW


def may_have_pass_fail(filtered: FilteredStudy) -> bool:
    """Whether the study has pass/fail verdicts or, while it has no verdicts, a prompt that asks for
    them."""
    return verdict_kinds(filtered).pass_fail


def may_have_single_answer_scores(filtered: FilteredStudy) -> bool:
    """Whether the study has scores of single answers or, while it has no verdicts, a prompt that
    asks for them."""
    return verdict_kinds(filtered).scores


def measure_menu_state(filtered: FilteredStudy, wanted: str | None) -> result_view.ControlState:
    """State of the menu of measures. It offers the measures that apply to the study's number of
    options, and selects `wanted` if it is one of them, else the first."""
    names = list_matrix_measures(load_bias(filtered).max_options)
    return result_view.ControlState(choice_or_default(wanted, names), names)


def columns_switch_state(filtered: FilteredStudy, wanted: str | None) -> result_view.ControlState:
    """State of the switch for the columns of the matrix: `wanted`, if it is one of LAYOUTS. By
    default by category; by prompt if there are several prompts and either no categories or more
    than two options."""
    bias = load_bias(filtered)
    several = len({prompt for _, prompt in bias.names}) > 1
    sliced = not several or (bool(bias.category_sizes) and bias.max_options == 2)
    default = BY_CATEGORY if sliced else BY_PROMPT
    return result_view.ControlState(choice_or_default(wanted, LAYOUTS, default))


def render_matrix(filtered: FilteredStudy, measure: str, columns: str) -> Content:
    bias = load_bias(filtered)
    names = list_matrix_measures(bias.max_options)
    measure = measure if measure in names else names[0]
    rows = "judge" if len({judge for judge, _ in bias.names}) > 1 else "prompt"
    by = "prompt" if columns != BY_CATEGORY else "category" if bias.category_sizes else rows
    title = f"{measure} by {rows} and {by}" if rows != by else f"{measure} by {by}"
    key, evenness, below = MEASURES[measure].key, None, bias_matrix.measure_subtitle(measure)
    frame = filtered.measured_judge_rows if key == "position_term" else None
    if bias.max_options > 2 and key == "entropy" and columns == BY_PROMPT:
        evenness, below = (
            option_tests.load_slot_evenness_of_all_judges(filtered),
            option_tests.ENTROPY_BAND_SUBTITLE,
        )
    if key == "entropy" and columns == BY_PROMPT and len({prompt for _, prompt in bias.names}) > 1:
        below += "; “All” pools the prompts: opposite preferences cancel"
    matrix = bias_matrix.bias_matrix_html(bias, measure, columns, frame, evenness)
    return Content({"matrix": matrix}, panel_heading(title, below))


def can_report_judge_bias(filtered: FilteredStudy) -> bool:
    """False if all verdicts are of people. As a rule, different people see the two orders of a
    pair, so that flips cannot be measured."""
    return not filtered.has_only_people


def render_position_histogram(filtered: FilteredStudy) -> Content | None:
    bias = load_bias(filtered)
    figure = bias_view.chosen_slot_histogram(bias)
    return Content({"slots": figure}, slots_heading(bias)) if figure else None


def render_flips(filtered: FilteredStudy) -> Markup | None:
    """Render the direction of flips and, where calls were repeated, the share of the verdicts'
    entropy that is due to the order; None for choices among more than two options."""
    bias = load_bias(filtered)
    if bias.max_options != 2:
        return None
    split = bias_view.load_entropy_by_cause(filtered)
    return bias_view.flip_directions_html(bias) + bias_view.order_share_of_entropy_html(bias, split)


def render_unrelated_option(filtered: FilteredStudy) -> Markup | None:
    """Render how choices change with an unrelated option (an answer to another item). This needs a
    second study of the same data: one without such an option if this study has one, or the
    reverse. None without a second study, and for pairs."""
    pairs = load_bias(filtered).max_options == 2
    return None if pairs else show_unrelated_option_contrast(filtered)


def slots_heading(bias: Bias) -> Markup:
    keys: list[tuple[LegendMark, str]] = [("first", "1st"), ("second", "2nd")]
    if bias.max_options > 2:
        last = f"3rd to {slot_name(bias.max_options - 1)}" if bias.max_options > 3 else "3rd"
        keys.append(("tie", last))
    keys.append(("even", f"1/{bias.max_options}" if bias.max_options > 2 else "even"))
    verdicts = count(bias.overall("slot 0").n, "verdict")
    subtitle = (
        "% of verdicts for each position, ties and incomplete comparisons left out: "
        f"{verdicts}; 95{NARROW_SPACE}% CI"
    )
    subtitle += "; prompts pooled" if bias_view.pools_prompts_in_histogram(bias) else ""
    return panel_heading("Which position is chosen", subtitle, keys)


def render_slot_and_label_effects(filtered: FilteredStudy) -> Content | None:
    """Render effects of position and label: two shares for pairs (None if their labels were not
    crossed with positions), the choice model for N options."""
    bias = load_bias(filtered)
    if bias.max_options == 2:
        made, title = bias_view.show_slot_and_label_shares(bias), "Position or label?"
        subtitle = (
            "% of verdicts for the first position and for the first label, each the mean over "
            f"both ways to label the answers; ties left out, 95{NARROW_SPACE}% CI"
        )
    else:
        made = many_options.show_slot_effects(load_option_models_of_all_raters(filtered), bias)
        title = "Effect of the position"
        subtitle = (
            "% of choices that each position would get if all answers were equally good, "
            f"95{NARROW_SPACE}% CI"
        )
    return None if made is None else Content({"labels": made}, panel_heading(title, subtitle))


def render_order_tests(filtered: FilteredStudy) -> Markup:
    bias = load_bias(filtered)
    if bias.max_options == 2:
        rows, names = pair_tests.pair_test_rows(bias), pair_tests.PAIR_TEST_NAMES
        between, unit = "Flips toward first : second", "Pairs"
    else:
        rows = pair_tests.option_test_rows(load_option_models_of_all_raters(filtered), bias)
        names = pair_tests.OPTION_TEST_NAMES
        between, unit = pair_tests.ENTROPY_BAND_HEAD, "Comparisons"
    return pair_tests.order_tests_html(rows, names, between, unit)


FLIP_KEYS: Final[tuple[tuple[LegendMark, str], ...]] = (
    ("first", "toward the first"),
    ("second", "toward the second"),
)
MATRIX: Final = Panel(
    "matrix",
    render_matrix,
    (Body("matrix", "eh-matrix", clickable=True),),
    DEFAULT_MEASURE,
    bias_matrix.measure_subtitle(DEFAULT_MEASURE),
    controls=(
        Control(
            "measure",
            "Measure",
            list_matrix_measures(2),
            elem_id="eh-measure",
            below=True,
            state=measure_menu_state,
        ),
        Control("columns", "Columns", LAYOUTS, elem_id="eh-columns", state=columns_switch_state),
    ),
    how=HOW_MATRIX,
    scale=19,
    in_report=can_report_judge_bias,
    table=bias_matrix.position_paper_table,
    json_keys=(
        "position.*.*.consistency",
        "position.*.*.entropy",
        "position.*.*.fairness",
        "position.*.*.first_share",
        "position.*.*.position_term",
        "position.*.*.accuracy",
        "grade.*.*.grade",
        "grade.*.*.choice",
        "--by judge,prompt,category: by.*.*.*.position.*.*.consistency",
    ),
)
SLOTS: Final = Panel(
    "slots",
    render_position_histogram,
    (Body("slots", "eh-slots", chart_height=300, clickable=True),),
    "Which position is chosen",
    how=HOW_SLOTS,
    scale=10,
    in_report=lambda _: True,
    json_keys=("position.*.*.first_share", "position.*.*.slots"),
)
FLIPS: Final = Panel(
    "flips",
    render_flips,
    (Body("flips", "eh-flips", clickable=True),),
    "Which way verdicts flip",
    "pairs that flip, by direction",
    FLIP_KEYS,
    how=HOW_FLIPS,
    in_report=can_report_judge_bias,
    json_keys=(
        "position.*.*.flips.toward_first",
        "position.*.*.flips.toward_second",
        "position.*.*.fairness",
        "position.*.*.order_effect",
        "position.*.*.entropy_noise",
        "position.*.*.entropy_order",
    ),
)
TESTS: Final = Panel(
    "tests",
    render_order_tests,
    (Body("tests", "eh-order-tests"),),
    "Could this be chance?",
    "p-values of tests for an effect of the order, adjusted by Holm's method over all rows, also "
    "those that the filter hides, and for all filters (without one: divided by 0.79)",
    how="Null hypothesis: verdicts depend on content only. Sign: flips toward the first answer are "
    "as likely as toward the second (exact binomial test). McNemar: the same hypothesis by a χ² "
    "test. Stuart–Maxwell: win, tie and loss of one answer have the same shares in both orders. "
    "Permutation: the choices of a comparison are exchanged over its orders, which has no "
    "effect if only content counts; exact for pairs; among N options, if "
    f"there are too many to list, {PERMUTATION_ROUNDS:,} draws: “≤” if none is as uneven. Repeated "
    "replies count once, by the most frequent choice. Among N options the modal entropy is shown "
    "with the middle 95 % of its permutation values.\n\nEach p is adjusted by Holm's method over "
    "the rows of its column. All filters share the 5 % error rate: p is also divided by the share "
    "that the present filter gets.",
    json_keys=("position.*.*.tests.*.adjusted", "position.*.*.tests.*.p"),
)
LABELS: Final = Panel(
    "labels",
    render_slot_and_label_effects,
    (Body("labels", "eh-slot-or-label", clickable=True),),
    "Position or label?",
    how=HOW_LABELS,
    needs=bias_view.LABELS_NOT_CROSSED,
    json_keys=("position.*.*.slot_effect", "position.*.*.label_effect", "places.*.*"),
)
UNRELATED: Final = Panel(
    "unrelated",
    render_unrelated_option,
    (Body("unrelated", "eh-unrelated"),),
    "Unrelated option",
    "Grade Score with the unrelated option minus Grade Score without it, same items",
    how="The unrelated option is an answer to another item. Adding it increases the number of "
    "options N, and the Grade Score of random choices changes with N; replacing the "
    "worst-ranked answer by it keeps N. Differences are paired by item; intervals are adjusted "
    "for all rows at once (max-t, bootstrap over items).",
    needs=UNRELATED_NEEDS,
    json_keys=("grade.*.*.grade",),
)
VIEW: Final = View(
    NAME,
    (
        PanelGroup(
            (
                MATRIX,
                FLIPS,
                fold("Tests", TESTS),
                fold("Which position is chosen", SLOTS),
                fold("Position or label?", LABELS),
                UNRELATED,
            ),
            row=False,
            css="eh-kind",
            name="position_of_pairs",
            visible=has_comparisons,
        ),
        PanelGroup(
            (pass_fail_panels.ORDER,),
            css="eh-kind",
            name="position_of_passes",
            visible=may_have_pass_fail,
        ),
        PanelGroup(
            (score_panels.MATRIX, score_panels.ORDER),
            row=False,
            css="eh-kind",
            name="position_of_scores",
            visible=may_have_single_answer_scores,
        ),
    ),
    headline,
    kpis=lambda _: EMPTY,
    json_keys=(
        "position_pooled.consistency",
        "position_pooled.noise_floor",
        "position_pooled.order_effect",
        "position.*.*.fairness",
        "position.*.*.label_effect",
        "position.*.*.accuracy",
        "counts.by_status",
    ),
)
