"""The view Summary of Results: the judges in one table, or the card of the judge that is chosen."""

from collections.abc import Mapping
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE
from components.filtering.raters import Raters
from components.html.format import NARROW_SPACE, count, share
from components.html.markup import EMPTY, Markup, fill, join
from components.html.pieces import panel_heading, unwrapped_panel_heading, wrap
from components.results.bias import tab as bias_tab
from components.results.bias.bias_matrix import BY_PROMPT
from components.results.bias.computed import load_bias
from components.results.bias.option_tests import EVENNESS_RULE
from components.results.bias.sentences import MIN_COMPARISONS, is_too_small
from components.results.cards.card_html import report_cards_html, show_card
from components.results.cards.card_measures import MAX_ADVICE_ROWS
from components.results.nudges import own_family_panel
from components.results.nudges import tab as nudges_tab
from components.results.nudges.length_panel import longer_of_equally_right_sentence
from components.results.overview import panels
from components.results.pass_fail import pass_fail_panels, reply_texts
from components.results.pass_fail.scores import score_panels
from components.results.pass_fail.scores.computed import can_have_ratings, has_comparisons
from components.results.ranking import tab as ranking_tab
from components.results.ranking.computed import load_ranking
from components.results.ranking.ranking_stability import HOLD_RULE, does_ranking_hold
from components.results.remedies import tab as remedies_tab
from components.results.view import next_step_rows, unreadable_share, unusable_replies
from components.results.view.result_view import Body, Content, Panel, View
from metrics.catalogue.position_records import ENTROPY
from metrics.estimation.row_selection import count_failed_calls, people_mask
from metrics.remedies.remedy_study import COMPARED_PART
from studies.frames.point_columns import GOLD_COLUMN

NAME: Final = "Summary"
ADDRESS_NAMES: Final = frozenset(("study", "tab", "view", "__theme"))
"""The only query parameters that the address of a Summary without filters may have."""
GENERAL_ADVICE: Final = (
    "More calls per comparison (both orders, repeats or several judges) can make verdicts right "
    "more often."
)
ADVICE_ON_SINGLE_ANSWERS: Final = (
    "More calls per answer (several orders of the options, or repeats) can bring verdicts closer "
    "to the labels."
)
MORE_COMPARISONS: Final = (
    f"Compare answers to more items: fewer than {MIN_COMPARISONS} comparisons in every order are "
    "too few for advice."
)
POINT_JUDGES: Final = (
    "for a card, choose a judge, and under Filter a prompt; rates in % and mean scores, "
    f"95{NARROW_SPACE}% CI by item"
)
HOW_JUDGES: Final = (
    "Flips: comparisons whose outcome is not the same in both orders. Leans to: a sign test on the "
    "flips by item, adjusted for all judges and prompts. “Not shown”: the test finds no preferred "
    "position, or a few missing verdicts could undo its result; there may still be one. “Too few "
    "items”: the test could find none even if all flips went one way. Agreement: with the majority "
    "of people (or the known better answer), one call, undecided counts half, on the comparisons "
    f"{COMPARED_PART}. One person: a vote against the majority of at least two others.\n\n"
    + HOLD_RULE
)


def headline(filtered: FilteredStudy) -> tuple[str, str]:
    """Headline and the sentence below it: those of the view Position or, for a study of single
    answers, those of the view Agreement. The share of unusable replies is added to the sentence
    if it is large, unless a report card is shown, which has it."""
    alone = not has_comparisons(filtered)
    title, lead = (bias_tab.single_answers_view(filtered) if alone else bias_tab).headline(filtered)
    rows = filtered.measured_judge_rows
    unusable = unusable_replies.unusable_share(rows)
    if unusable >= unreadable_share.MANY_UNUSABLE and not rater_of_shown_card(filtered):
        failed = count_failed_calls(rows)
        none = f"calls gave no usable verdict; {count(failed)} failed"
        told = none if failed else "replies are unusable"
        lead += f" {share(unusable, 0)} of the judges' {told}."
    return title, lead.lstrip()


def rater_of_shown_card(filtered: FilteredStudy) -> str | None:
    """Name of the judge (with its prompt) whose report card is shown instead of all judges. A card
    is shown if exactly one judge with one prompt passes the filters, and either a filter on judge
    or prompt is set or the study has only this one. None otherwise."""
    raters = Raters(filtered)
    picked = filtered.filter.judge != ALL_CHOICE or filtered.filter.prompt != ALL_CHOICE
    alone = len(raters.filtered_rater_names) == 1 and (picked or len(raters.names) == 1)
    return raters.filtered_rater_names[0] if alone else None


def render_unusable_replies(filtered: FilteredStudy) -> Markup | None:
    """HTML panel for a study in which no reply has a usable verdict, with actions; None if at least
    one verdict is usable. Readers who may not run the study, and readers of a read-only page, get
    only the button that shows the replies."""
    unusable = unusable_replies.find_if_all_unusable(filtered)
    if unusable is None:
        return None
    may_run = filtered.store.owns(filtered.name)
    steps = unusable_replies.repair_steps(filtered, unusable, on_run=False, may_run=may_run)
    body = unusable_replies.explanation_html(filtered) + next_step_rows.next_step_rows_html(steps)
    head = unwrapped_panel_heading(unusable_replies.EXPLANATION_TITLE, "", ())
    return wrap(fill("<section>{}{}</section>", head, body))


def render_judges(filtered: FilteredStudy) -> Content | None:
    """Render the table of judges of a study of pairs. None if a report card is shown instead, if no
    pair was judged in both orders, and for other studies (of single answers, or of choices among
    more than two options)."""
    if rater_of_shown_card(filtered) or not has_comparisons(filtered):
        return None
    told = f"Click a name for the judge's card. 95{NARROW_SPACE}% CI by item"
    heading = panel_heading(f"The {Raters(filtered).column_head.lower()}s", told, panels.FLIP_KEYS)
    table = panels.judges_html(filtered)
    return Content({"judges": table}, heading) if table else None


def render_entropy(filtered: FilteredStudy) -> Content | None:
    """Render the matrix of position entropy of a study of choices among more than two options. None
    for other studies, and if a report card is shown instead."""
    if rater_of_shown_card(filtered) or not has_comparisons(filtered):
        return None
    if load_bias(filtered).max_options <= 2:
        return None
    drawn = bias_tab.render_matrix(filtered, ENTROPY.name, BY_PROMPT)
    return Content({"entropy": drawn.bodies["matrix"]}, drawn.heading)


def render_card_or_judge_tables(filtered: FilteredStudy) -> Markup | None:
    """Render the report card of the chosen judge, beside the values of all judges; for a study of
    single answers without a chosen judge, the tables of its judges, or their cards if there is no
    table. None if the table of judges is shown, or if there is no judge."""
    raters, name = Raters(filtered), rater_of_shown_card(filtered)
    if name is None and has_comparisons(filtered):
        return None
    tables = [
        pass_fail_panels.render_judges(filtered),
        score_panels.render_judges(filtered),
        reply_texts.reply_text_measures_table(filtered),
    ]
    if name is None and any(tables):
        return panel_heading("The judges", POINT_JUDGES) + join(one for one in tables if one)
    names = [name] if name else raters.filtered_rater_names[: panels.MAX_ROWS]
    beside = Raters(filtered.of_all_raters)
    return join(show_card(beside, one) for one in names) or None


def render_rank_stability(filtered: FilteredStudy) -> Any:
    """Render the line on whether the ranking holds; None without a ranking."""
    ranking = load_ranking(filtered) if has_comparisons(filtered) else None
    if ranking is None or ranking.largest_group_leaderboard is None:
        return None
    told, opens = does_ranking_hold(filtered).sentence, {"data-view": ranking_tab.NAME}
    return panels.OVERVIEW.action("Does the ranking hold?", told, opens, "Ranking", "eh-claim")


def render_longer_answer_line(filtered: FilteredStudy) -> Any:
    """Render the line on the longer of two equally right answers; None without such pairs."""
    told = longer_of_equally_right_sentence(filtered) if has_comparisons(filtered) else ""
    opens = {"data-view": nudges_tab.NAME}
    line = panels.OVERVIEW.action("Does the longer answer win?", told, opens, "Nudges", "eh-claim")
    return line if told else None


def render_own_family_line(filtered: FilteredStudy) -> Any:
    """Render the line on judges that prefer their own family; None if no family is known."""
    told = own_family_panel.own_family_sentence(filtered) if has_comparisons(filtered) else ""
    opens = {"data-view": nudges_tab.NAME, "data-to": "#eh-own-family"}
    line = panels.OVERVIEW.action(own_family_panel.TITLE, told, opens, "Nudges", "eh-claim")
    return line if told else None


def can_compare_remedies(filtered: FilteredStudy) -> bool:
    """Whether remedies, which are rules that decide a comparison from several stored verdicts, can
    be compared. This needs pairs with a known better answer or with votes of people; in a study
    of single answers, it needs labels."""
    rows = filtered.measured_judge_rows
    if (rows["options"] == 1).all():
        return GOLD_COLUMN in rows and bool(rows[GOLD_COLUMN].notna().any())
    pairs = (rows["options"] == 2) & (rows["known_answer"] >= 0)
    votes = people_mask(filtered.frame) & (filtered.frame["options"] == 2)
    return bool(pairs.any()) or (bool(votes.any()) and bool((rows["options"] == 2).any()))


def render_advice(filtered: FilteredStudy) -> Any:
    """HTML line with the recommended remedy, or with general advice in a study of more than
    MAX_ADVICE_ROWS verdicts; None if neither better answers nor labels are known."""
    if not can_compare_remedies(filtered):
        return None
    single = bool((filtered.measured_judge_rows["options"] == 1).all())
    sentence = ADVICE_ON_SINGLE_ANSWERS if single else GENERAL_ADVICE
    if len(filtered.measured_judge_rows) <= MAX_ADVICE_ROWS:
        sentence = remedies_tab.headline(filtered)[0]
    if not single and is_too_small(load_bias(filtered)):
        sentence = MORE_COMPARISONS
    opens, title = {"data-view": remedies_tab.NAME}, "What to do"
    return panels.OVERVIEW.action(title, sentence, opens, "Remedies", "eh-claim")


# ------------------------------------------------------ the Summary on the loading screen


def opens_summary(address: Mapping[str, str]) -> bool:
    """Whether a page address with these query parameters opens the Summary of a study without
    filters."""
    return (
        bool(address.get("study"))
        and address.get("tab") == "results"
        and address.get("view", NAME) in (NAME, "Overview")
        and set(address) <= ADDRESS_NAMES
    )


def summary_preview_html(outputs: Mapping[str, Any]) -> Markup:
    """HTML of the Summary that is shown until the page's controls have loaded: headline, key
    figures, table of judges, matrix of entropy or card, advice, ranking. `outputs`: output name ->
    content."""
    names = ("judges", "entropy", "card", "advice", "ranking")
    shown = [outputs[name] for name in names if outputs.get(name)]
    cards = join(fill('<div class="eh-panel">{}</div>', one) for one in shown)
    return EMPTY.join((outputs["finding"], outputs["kpis"], cards))


UNUSABLE: Final = Panel(
    "unusable",
    render_unusable_replies,
    (Body("unusable", "eh-over-unusable", clickable=True),),
    json_keys=("counts.by_status",),
)
JUDGES: Final = Panel(
    "judges",
    render_judges,
    (Body("judges", "eh-over-judges", clickable=True),),
    how=HOW_JUDGES,
    json_keys=(
        "position.*.*.flips.toward_first",
        "position.*.*.flips.toward_second",
        "position.*.*.consistency",
        "remedies.rules.*.*.single.agreement",
        "agreement.among_people.one_person",
    ),
)
OPTIONS: Final = Panel(
    "entropy",
    render_entropy,
    (Body("entropy", "eh-over-entropy", clickable=True),),
    how=f"{ENTROPY.name}: {ENTROPY.how}\n\n{EVENNESS_RULE}",
    json_keys=("position.*.*.entropy", "position.*.*.tests.*.adjusted"),
)
CARD: Final = Panel(
    "card",
    render_card_or_judge_tables,
    (Body("card", "eh-card", clickable=True),),
    css="eh-panel eh-sheet",
    table=reply_texts.reply_text_measures_paper_table,
    json_keys=(
        "position.*.*.consistency",
        "position.*.*.first_share",
        "position.*.*.position_term",
        "remedies.rules.*.*.single.agreement",
        "agreement.judges.*.*",
        "position.*.*.accuracy",
        "--by judge: by.*.length.longer",
        "self_preference.against_outsiders.*.excess",
    ),
)
ADVICE: Final = Panel(
    "remedies",
    render_advice,
    (Body("advice", "eh-over-advice"),),
    css="eh-panel eh-line",
    applies=can_have_ratings,
    needs="votes of people, known better answers or labels: then remedies are compared",
)
RANKING: Final = Panel(
    "ranking", render_rank_stability, (Body("ranking", "eh-over-ranking"),), css="eh-panel eh-line"
)
PADDING: Final = Panel(
    "padding",
    render_longer_answer_line,
    (Body("padding", "eh-over-padding"),),
    css="eh-panel eh-line",
    json_keys=("length.longer_of_equal",),
)
OWN_FAMILY: Final = Panel(
    "own_family_line",
    render_own_family_line,
    (Body("own_family_line", "eh-over-family"),),
    css="eh-panel eh-line",
    json_keys=("self_preference.against_outsiders.*.excess",),
)
VIEW: Final = View(
    NAME,
    (UNUSABLE, JUDGES, OPTIONS, CARD, ADVICE, RANKING, PADDING, OWN_FAMILY),
    headline,
    kpis=lambda _: EMPTY,
    report=report_cards_html,
    json_keys=bias_tab.VIEW.json_keys,  # of the same headline
)
