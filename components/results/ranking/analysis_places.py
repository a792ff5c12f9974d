"""Table of the models' places in the ranking under other choices of analysis: a row for each model,
a column for each choice; a cell has a number only where the place differs from the default
analysis.

The baseline is the model with which all others are compared, if there is one."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import STRICT_RULE, Filter
from components.html.format import count
from components.html.markup import EMPTY, Markup, tag
from components.html.pieces import paragraph
from components.html.tables.table import Table, TableCell, TableRow
from components.results.view.paper_table import rank_cell
from metrics.win_rates.first_place import (
    EVERY,
    MAX_MODELS,
    ORDER_CHOICES,
    Analysis,
    FirstPlace,
    find_cycles,
    first_place,
    pair_verdicts,
    place_ranges,
    ranks_under_all_analyses,
)

MAX_CHOICES: Final = 12
"""Maximum number of columns for choices of analysis. Further choices (prompts and baselines) count
only in the range of places."""
TITLE: Final = "Does it hold under other choices?"
SUBTITLE: Final = (
    "place by win rate, a baseline in every pair counted as ½; dot: the same place; range: over "
    "all combinations of choices"
)
ORDERS_FOLD: Final = "[data-keep=fold_orders]"
"""CSS selector of the fold with the ratings from each order alone."""
HOW_CHOICES: Final = (
    "Models are placed by win rate, by the study's counting rule, ties counted half; against a "
    "baseline that is in every pair, the baseline counts as ½. Each column changes one choice: "
    "one order alone, flips counted as ties, ties left out, one prompt, or one opponent alone. "
    "The range is the best and the worst place over all combinations of these choices. It is no "
    "interval: it says how much the ranking depends on the analysis.\n\nHalves: 50 random halves "
    "of the items, in which the leading model alone must be first. Deciding verdicts: the fewest "
    "whose change puts another model above the leading one; if the study combines the two orders, "
    "a combined verdict is one. A cycle is a triple of models of which each beats the next more "
    "often than not."
)


def places_by_analysis_html(filtered: FilteredStudy) -> Markup:
    """HTML table of each model's place in the ranking: by the default analysis; after a change
    of one choice (order, tie rule, prompt or baseline); and the best and worst place over all
    combinations of choices. A sentence on first place follows. Only a note with fewer than
    three models, or more than MAX_MODELS."""
    analyses = ranks_under_all_analyses(filtered.measured_judge_rows, *filtered.rule)
    if not analyses:
        needs = f"Needs comparisons of three models or more, at most {MAX_MODELS}."
        return paragraph(needs, "eh-small")
    shown = analyses_with_one_change(analyses)[:MAX_CHOICES]
    names = [_analysis_name(one, analyses[0]) for one in shown]
    heads = [TableCell("Model", "nm"), TableCell("Place")]
    heads += [
        TableCell(_analysis_column_head(one, name, filtered.filter), _column_css_class(one))
        for one, name in zip(shown, names, strict=True)
    ]
    heads.append(TableCell("Range", tip=f"best and worst place of {len(analyses)} combinations"))
    rows = [
        TableRow(
            [
                TableCell(name, "nm"),
                str(facts["place"]),
                *(_place_cell(one, name, facts["place"], analyses[0]) for one in shown),
                rank_cell(facts["best"], facts["worst"]),
            ]
        )
        for name, facts in place_ranges(analyses).items()
    ]
    table = Table(heads, rows, "eh-tbl dense eh-choices", TITLE).wrapped_html()
    return table + first_place_and_cycles_text(filtered)


def analyses_with_one_change(analyses: Sequence[Analysis]) -> list[Analysis]:
    """The analyses that differ from the default (the first of `analyses`) in exactly one choice,
    sorted by this choice: order, tie rule, prompt, baseline."""
    found = [(one, _flag_changed_choices(one, analyses[0])) for one in analyses]
    alone = [(one, changes.index(True)) for one, changes in found if sum(changes) == 1]
    return [one for one, _ in sorted(alone, key=lambda pair: pair[1])]


def _flag_changed_choices(analysis: Analysis, default: Analysis) -> list[bool]:
    """Four booleans: whether order, tie rule, prompt and baseline of the analysis differ from
    those of the default."""
    names = ("order", "ties", "prompt", "baseline")
    return [getattr(analysis, name) != getattr(default, name) for name in names]


def _analysis_name(analysis: Analysis, default: Analysis) -> str:
    if analysis.ties != default.ties:
        return "ties left out"
    if analysis.order != default.order:
        return analysis.order
    return analysis.prompt if analysis.prompt != EVERY else f"against {analysis.baseline}"


def _analysis_column_head(analysis: Analysis, name: str, chosen: Filter) -> str | Markup:
    """Head of the column of an analysis: its `name`, as a button if the page can show this
    analysis. For a prompt, one opponent, or flips counted as ties, the button sets this filter and
    keeps the other filters (`chosen`); for a single order, it opens the ratings by order. An
    analysis that the page cannot show, "ties left out", has plain text."""
    if analysis.prompt != EVERY:
        chosen = replace(chosen, prompt=analysis.prompt)
    elif analysis.baseline != EVERY:
        chosen = replace(chosen, contestants=(analysis.baseline,))
    elif analysis.order == ORDER_CHOICES[-1]:
        chosen = replace(chosen, rule=STRICT_RULE)
    elif analysis.order != EVERY:
        to = {"data_unfold": ORDERS_FOLD, "data_focus": f"{ORDERS_FOLD} > summary"}
        return tag("button", name, type="button", class_="eh-link", **to)
    else:
        return name
    usual = Filter()
    go = {"view": "Ranking"} | {
        field: ",".join(value) if isinstance(value, tuple) else value
        for field, value in asdict(chosen).items()
        if value != getattr(usual, field)
    }
    return tag("button", name, type="button", class_="eh-link", data_go=json.dumps(go))


def _column_css_class(analysis: Analysis) -> str:
    """CSS class of an analysis's column; a column of verdicts against a single opponent has the
    class `own`, which is hidden on phones."""
    return "num own" if analysis.baseline != EVERY else "num"


def _place_cell(analysis: Analysis, name: str, usual: int, default: Analysis) -> TableCell:
    """Cell with the place of the model `name` in an analysis, or with a dot if this place is
    `usual`, the model's place in the analysis `default`."""
    place = analysis.places[name]
    head, kind = _analysis_name(analysis, default), _column_css_class(analysis)
    if place == usual:
        return TableCell("·", kind, f"{name}: place {place}, unchanged", head)
    moved = min(4 + 4 * abs(place - usual), 20)
    mark = tag("b", str(place), class_=f"eh-moved b{moved}")
    return TableCell(mark, kind, f"{name}: place {place}; otherwise {usual}", head)


def first_place_and_cycles_text(filtered: FilteredStudy) -> Markup:
    """Sentences on how certain the first place is, and on cycles (A beats B, B beats C, C beats
    A); empty if no model is alone in first place and there are no cycles."""
    data = pair_verdicts(filtered.measured_judge_rows, *filtered.rule)
    found, cycles = first_place(data), find_cycles(data)
    words = [] if found is None else [_first_place_sentence(found, filtered.rule[0])]
    if cycles.found:
        example = " > ".join((*cycles.found[0], cycles.found[0][0]))
        words.append(f"{count(len(cycles.found), 'cycle')} among models, such as {example}.")
    return paragraph(" ".join(words), "eh-under") if words else EMPTY


def _first_place_sentence(found: FirstPlace, combine: str) -> str:
    what = "changed verdict" if combine == "pooled" else "changed combined verdict"
    text = (
        f"**{found.leader}** is first, alone in {found.halves_first} of {found.halves} random "
        "halves of the items"
    )
    if found.verdicts is None:
        return f"{text}; no change of verdicts puts another model above it."
    return (
        f"{text}; {count(found.verdicts, what)} of {count(found.of)} would put "
        f"{found.challenger} above it."
    )
