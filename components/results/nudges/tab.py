"""The view Nudges of Results: properties of answers, other than quality, that move a judge."""

from dataclasses import replace
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE, number, points, share, spaced_ci
from components.html.markup import EMPTY, Markup
from components.html.pieces import LegendMark, finding_html, panel_heading
from components.results.nudges import injection_effect, length_panel, own_family_panel, twin_panels
from components.results.view.result_view import Body, Content, Panel, PanelGroup, View, fold
from metrics.catalogue.records import RECORDS
from metrics.win_rates.length_effects import length_preference
from studies.frames.frame import SUSPECT_COLUMN

NAME: Final = "Nudges"


HOW_TWINS: Final = (
    "A twin is the same answer with one change. In a duel, both orders: the share for the twin, a "
    "tie counting half, minus ½, minus the same of the floor on the same answers (`sham`: one line "
    "break more; for openings `prefix`). Intervals by item, widened by max-t for all families, "
    "judges and prompts. If no control loses, nothing is claimed."
)
HOW_STYLE: Final = (
    "`logit P(first wins) = β_first − β_second + Σ γ · (a − b)/(a + b)/sd` over words, headings, "
    "list items and bold passages, without a ridge; sandwich by items. People: the same fit on the "
    "same comparisons. γ alone is correlation: read it beside the twin of the same feature. "
    "Intervals called adjusted are widened for all judges and prompts (Bonferroni), those in the "
    "table are not."
)


LENGTH_TITLE: Final = "Does length decide?"
LENGTH_SUBTITLE: Final = (
    "% of verdicts that an answer wins, by its length relative to the other answer; "
    f"95{NARROW_SPACE}% CI"
)


def headline(filtered: FilteredStudy) -> tuple[str, str]:
    """Headline and the sentence below it: which change of an answer, other than quality,
    moves the judges most. Without twins (answers with one such change), the headline is the
    share of verdicts for the longer answer; if lengths are unknown too, that nothing can be
    measured. The sentence also gives the share of the longer answer among equally right ones,
    if known."""
    padding = length_panel.longer_of_equally_right_sentence(filtered)
    if (twins := twin_panels.twin_effects_headline(filtered)) is not None:
        return twins[0], f"{twins[1]} {padding}".strip()
    longer = length_preference(filtered.measured_judge_rows)
    if longer.value is None:
        return ("No nudge can be measured here.", length_panel.NO_LENGTHS_TEXT)
    over = number(100 * (longer.value - 0.5), 0, signed=True)
    title = (
        f"The longer answer wins {share(longer.value, 0)} of verdicts"
        f"{spaced_ci(longer, 0, scale=100)}, {points(over)} from an even share"
        f"{length_panel.not_significant_clause(longer, 0.5)}."
    )
    judges, persons = length_panel.judge_and_people_length_effects(filtered)
    lead = "" if judges is None else length_panel.length_effect_sentence(judges, persons)
    return title, f"{padding} {lead.replace('**', '')}".strip()


def has_twins(filtered: FilteredStudy) -> bool:
    return bool(twin_panels.twin_effects_by_rater(filtered))


def do_answer_lengths_differ(filtered: FilteredStudy) -> bool:
    """Whether a judge compared two answers of known, different lengths."""
    return length_preference(filtered.measured_judge_rows).value is not None


def render_length_effect(filtered: FilteredStudy) -> Content | None:
    """Render the win rate by length ratio; None if no two answers have known, different lengths."""
    figure = length_panel.win_rate_by_length_figure(filtered)
    if figure is None or not do_answer_lengths_differ(filtered):
        return None
    judges = "judge" if filtered.measured_judge_rows["judge"].nunique() == 1 else "judges"
    own, people = length_panel.judge_and_people_length_effects(filtered)
    fit = ", with fit" if own and own.odds_ratio.value else ""
    keys: list[tuple[LegendMark, str]] = [("dot", f"{judges}{fit}"), ("even", "even")]
    if people is not None:
        keys.insert(1, ("diamond", "people"))
    return Content({"length": figure}, panel_heading(LENGTH_TITLE, LENGTH_SUBTITLE, keys))


def render_length_controlled_win_rates(filtered: FilteredStudy) -> Markup | None:
    """Render win rates with length held equal; None if no two answers have known, different
    lengths."""
    if not do_answer_lengths_differ(filtered):
        return None
    return length_panel.show_length_controlled_win_rates(filtered)


def render_injection_effect(filtered: FilteredStudy) -> Markup | None:
    """Render the results with and without injection suspects; a note if the filters leave no
    suspect, None if the study has none."""
    if SUSPECT_COLUMN not in filtered.unfiltered_frame:
        return None
    return injection_effect.injection_report_section(filtered) or None


LENGTH: Final = Panel(
    "length",
    render_length_effect,
    (Body("length", "eh-length", chart_height=330),),
    LENGTH_TITLE,
    LENGTH_SUBTITLE,
    how="Every verdict counts for both of its answers. About equal lengths (within a factor of "
    "1.125) are not drawn: half of these answers win by definition. "
    "`logit P(win) = β · log2(own length / other length)`; `exp(β)` is the factor on the "
    "odds of winning for twice the length; interval by the sandwich estimator, clustered by item. "
    "The factor is unknown unless 5 % of verdicts are on answers of which one is 1.4 times as long "
    "as the other. Longer answers may also be better: only the "
    "padded answers of the probe set separate length from quality.",
    needs="pairs of answers whose lengths clearly differ, with stored texts",
    json_keys=(
        "length.judges.bins.*.win_rate",
        "length.judges.odds_ratio",
        "people_length.bins.*.win_rate",
        "people_length.odds_ratio",
    ),
)
LENGTH_LATER: Final = replace(
    LENGTH,
    name="length_later",
    renderer=lambda filtered: length_panel.win_rate_by_length_figure(filtered),
    bodies=(Body("length_folded", "eh-length-folded", chart_height=330),),
    needs="",
)
"""The panel on length for studies with twins: the figure of LENGTH, hidden behind a title, because
the effects of the twins come first there."""
CONTROLLED: Final = Panel(
    "controlled",
    render_length_controlled_win_rates,
    (Body("controlled", "eh-controlled", clickable=True),),
    "Win rate with length held equal",
    "win rate as observed, and as if both answers were equally long; length need not be the "
    "cause of the difference",
    how="`logit P(preferred) = θ + φ · tanh(Δlength / sd)`: φ is the effect of length, Δlength the "
    "difference of the two lengths, sd its standard deviation. The win rate "
    "is `σ(θ)`, the win probability at equal length. This is the length-controlled win rate of "
    "AlpacaEval 2 without its term for the difficulty of the instruction. Interval by the "
    "sandwich estimator, clustered by item, not narrower than that of the observed rate. The rate "
    "is unknown if the answers of one model are hardly ever as long as the other's. The change has "
    "no interval: both rates are estimated from the same verdicts, and no estimator of their "
    "difference is used. It describes.",
    json_keys=("length.controlled.*",),
)
INJECTION: Final = Panel(
    "injection",
    render_injection_effect,
    (Body("injection", "eh-injection", clickable=True),),
    css="eh-kind",
    needs="answers or questions in which text addressed to the judge was found",
    json_keys=("without_suspects.*",),
)
FOREST: Final = Panel(
    "twins",
    twin_panels.render_twin_effects,
    (Body("twins", "eh-twins-forest"),),
    "What moves it, beyond its floor",
    "effect of a change that should not matter, minus its floor; adjusted intervals",
    how=HOW_TWINS,
    needs="twins of the answers: add twins: quick to the study file",
    in_report=lambda _: True,
    json_keys=("twins.*.*.*.adjusted", "twins.*.*.*.beyond_floor", "twins.*.*.*.floor"),
)
PAIRS: Final = Panel(
    "twin_pairs",
    twin_panels.render_twin_examples,
    (Body("twin_pairs", "eh-twin-pairs", clickable=True),),
    "The pairs behind a row",
    "click a row; added words are marked",
)
STYLE: Final = Panel(
    "style",
    twin_panels.render_style_weights,
    (Body("style", "eh-style"),),
    twin_panels.STYLE_TITLE,
    how=HOW_STYLE,
    needs="answers with stored texts that differ in style on five items or more, whose models "
    "overlap in it",
    in_report=lambda _: True,
    json_keys=("style.*.coefficients.*", "style.*.minus_people.*", "length.longer_of_equal"),
)
ALL_FAMILIES: Final = Panel(
    "all_twins",
    twin_panels.render_all_twin_effects,
    (Body("all_twins", "eh-all-twins"),),
    "All families",
    "points of the twin minus one half, of its floor, and beyond it; smallest detectable effect; "
    "answers without this twin",
    json_keys=("twins.*.*.*.preference", "twins.*.*.*.detectable", "twins.*.*.*.skipped"),
)
OWN_FAMILY: Final = Panel(
    "own_family",
    own_family_panel.render_own_family,
    (Body("own_family", "eh-own-family", clickable=True),),
    own_family_panel.TITLE,
    own_family_panel.SUBTITLE,
    how=RECORDS["own_family_outsiders"].how,
    in_report=lambda _: True,
    json_keys=("self_preference.against_outsiders.*",),
)
VIEW: Final = View(
    NAME,
    (
        PanelGroup((FOREST, PanelGroup((STYLE, PAIRS), row=False, css="eh-block"))),
        fold(ALL_FAMILIES.title, ALL_FAMILIES),
        PanelGroup((LENGTH,), False, "eh-kind", "length_first", lambda one: not has_twins(one)),
        PanelGroup((LENGTH_LATER,), False, "eh-kind", "length_later", has_twins, fold=LENGTH.title),
        fold(CONTROLLED.title, CONTROLLED),
        fold(own_family_panel.TITLE, OWN_FAMILY),
        INJECTION,
    ),
    headline,
    kpis=lambda _: EMPTY,
    report=lambda one: finding_html(*headline(one)) if do_answer_lengths_differ(one) else EMPTY,
    json_keys=(
        "twins.*.*.*.adjusted",
        "length.longer",
        "length.longer_of_equal",
        "length.judges.odds_ratio",
    ),
)
