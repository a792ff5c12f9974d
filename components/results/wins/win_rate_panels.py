"""Panels of win rates in the view Ranking: by model, category, judge and prompt; ties, jury."""

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import counting_rule_text
from components.html.format import NARROW_SPACE, count
from components.html.pieces import panel_heading
from components.results.view.address_choices import choice_or_default
from components.results.view.paper_table import (
    PaperTable,
    describe_items_and_filters,
    percent_cells,
)
from components.results.view.result_view import Body, Content, Control, ControlState, Panel
from components.results.wins import panels, precision_panel
from metrics.win_rates.win_rates import win_rate

HOW_WINS: Final = (
    "`(wins + ties/2) / usable verdicts`. With N options, an answer wins if it is chosen, a tie "
    "counts 1/N, and an even share is 1/N. Wilson intervals at the effective n, items as clusters. "
    "The grey span behind a dot is the range if all missing verdicts were lost or all won (Manski "
    "bounds, without sampling error)."
)
HOW_MATRIX: Final = (
    "Win rates by category, judge or prompt. People: each pair of answers to an item counts once, "
    "with the mean of its votes. Difference: judges − people on the pairs that both judged; t "
    "interval, items as clusters."
)


def matrix_columns_menu_state(filtered: FilteredStudy, wanted: str | None) -> ControlState:
    names = list(panels.SPLIT_COLUMNS)
    return ControlState(choice_or_default(wanted, names, panels.default_matrix_columns(filtered)))


def render_matrix(filtered: FilteredStudy, by: str, voice: str) -> Content:
    """Render the matrix of win rates; `by`: a key of `panels.SPLIT_COLUMNS`, `voice`: the raters,
    one of `panels.RATER_CHOICES`."""
    what = "Judges − people" if voice == "Difference" else "Win rate"
    of = "" if voice == "Judges" else " by people" if voice == "People" else ""
    split = by.lower() if voice == "Judges" else "category"
    subtitle = f"win rate in %; 95{NARROW_SPACE}% CI; no colour below an even share"
    if voice == "Difference":
        subtitle = (
            f"win rate by judges minus win rate by people, in points, on the same pairs; "
            f"95{NARROW_SPACE}% CI"
        )
    heading = panel_heading(f"{what}{of} by {split}", subtitle)
    return Content({"rate_matrix": panels.show_matrix(filtered, by, voice)}, heading)


def win_rates_paper_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of the models' win rates, from pairs and from choices among several options; None
    without verdicts."""
    if filtered.measured_judge_rows.empty:
        return None
    rates = win_rate(filtered.measured_judge_rows, *filtered.rule)
    ties = "ties/2" if filtered.measured_judge_rows["options"].max() == 2 else "ties/N"
    rows = tuple((name, *percent_cells(e), count(e.n)) for name, e in rates.items() if e.n)
    caption = (
        f"Win rates on {filtered.name}: (wins + {ties}) / usable verdicts, 95 % Wilson intervals "
        f"at the effective n. {counting_rule_text(*filtered.rule)} "
        f"{describe_items_and_filters(filtered)}"
    )
    return PaperTable("Win rates", caption, ("Model", "Win rate", "95 % CI", "n"), rows)


RATES: Final = Panel(
    "rates",
    panels.show_win_rates,
    (Body("rates", "eh-rates", clickable=True),),
    "Win rate by model",
    f"% that a model wins, ties count half; 95{NARROW_SPACE}% CI by items; grey: "
    "range if all missing verdicts were lost, or all won",
    how=HOW_WINS,
    table=win_rates_paper_table,
    json_keys=("win_rate.*", "bounds.*", "protocol.win_rate.*"),
)
MATRIX: Final = Panel(
    "rate_matrix",
    render_matrix,
    (Body("rate_matrix", "eh-rate-matrix", clickable=True),),
    "Win rate by category",
    controls=(
        Control("by", "Split by", list(panels.SPLIT_COLUMNS), state=matrix_columns_menu_state),
        Control("voice", "Whose verdicts", list(panels.RATER_CHOICES)),
    ),
    how=HOW_MATRIX,
    scale=19,
    json_keys=("--by category: by.*.win_rate.*", "corrected.*.bias"),
)
TIES: Final = Panel(
    "ties",
    lambda filtered: panels.show_tie_rates(filtered) or None,
    (Body("ties", "eh-ties", clickable=True),),
    "Ties",
    f"% of verdicts that are ties, 95{NARROW_SPACE}% CI by items",
    json_keys=("position.*.*.tie_rate",),
)
LEVELS: Final = Panel(
    "levels",
    lambda filtered: panels.show_five_levels(filtered) or None,
    (Body("levels", "eh-levels", clickable=True),),
    css="eh-kind",
    json_keys=("levels.*.*",),
)
PRECISION: Final = Panel(
    "precision",
    lambda filtered: precision_panel.show_leader_precision(filtered) or None,
    (Body("precision", "eh-precision"),),
    "How to narrow the interval of a win rate",
    "how much narrower the interval of the highest win rate would be with twice the items, "
    "judges, prompts or repeats",
    how="A generalizability study: a balanced analysis of variance of the verdicts on the model "
    "with the highest win rate (win 1, tie ½, loss 0). Its factors are item, judge, prompt and "
    "position; items without a reply for every combination are left out. `variance of the mean "
    "= σ²_item/n_items + σ²_item×judge/(n_items·n_judges) + …`: twice as many judges halve the "
    "terms that are divided by n_judges. Only terms with items count: the interval is for new "
    "items and the same judges, prompts and orders.",
    json_keys=("precision.*.variance_shares.*", "precision.*.narrowing.*"),
)
JURY: Final = Panel(
    "jury",
    lambda filtered: precision_panel.show_jury_win_rates(filtered) or None,
    (Body("jury", "eh-jury"),),
    "Jury",
    "win rates by the majority of judges",
    how="Each judge's orders are combined into one verdict, then the strict majority of all "
    "judges decides; undecided cases count as missing. K judges are worth `K / (1 + (K − 1)·r)` "
    "independent judges, r the mean correlation of two judges' errors, where the better answers "
    "are known. Without them only the correlation of verdicts is stated: judges that are mostly "
    "right agree without sharing errors.",
    json_keys=(
        "jury.win_rate.*",
        "jury.bounds.*",
        "jury.coverage",
        "jury.effective_judges",
        "jury.verdict_correlation",
    ),
)
TIE_MODELS: Final = Panel(
    "tie_models",
    lambda filtered: precision_panel.show_tie_models(filtered) or None,
    (Body("tie_models", "eh-tie-models"),),
    "Tie models",
    "ratings with ties as a third outcome",
    how="Davidson: `P(tie) = ν√(αβ)/Z`; Rao–Kupper: `P(win) = α/(α + κβ)`. α and β are the "
    "strengths of the two models, ν and κ the tie parameters, Z the normalising constant. Both "
    "give the order of Bradley–Terry on other scales.",
    json_keys=("tie_models.*.strength.*",),
)
