"""Panels for choices among N options: effect of each position, judges that prefer a position."""

from collections.abc import Mapping, Sequence

from components.html.format import number, share, slot_name, slot_ordinal, spaced_ci
from components.html.heatmap import matrix_html
from components.html.markup import Markup
from components.html.matrix_heads import MatrixColumn
from components.html.pieces import empty_state
from components.html.scales import even_share_scale
from components.results.bias import panels, sentences
from components.results.bias.computed import Bias
from components.results.bias.flip_leans import SIGNIFICANCE_LEVEL
from components.results.bias.option_tests import OptionModelRow, adjusted_option_p_values
from components.results.bias.pair_tests import p_value_clause, select_option_models
from metrics.ratings.conditional_logit import largest_first_sort_key


def position_preference_headline(bias: Bias, rows: Sequence[OptionModelRow]) -> tuple[str, str]:
    """Headline and the sentence below it: judges with a significant position preference by
    permutation test, or that there are none; a message if no item has verdicts in all rotations."""
    options = bias.max_options
    adjusted = {
        cell: p for cell, p in adjusted_option_p_values(bias, rows).items() if cell in bias.names
    }
    significant = {
        bias.names[cell[0], cell[1]]: p for cell, p in adjusted.items() if p < SIGNIFICANCE_LEVEL
    }
    lead = (
        f"Each answer was shown equally often in each of {options} positions. A judge without "
        f"position bias picks every position in {share(1 / options, 0)} of its choices."
    )
    if not adjusted:
        return (
            "No item has usable verdicts in all rotations yet.",
            "Positions can be compared once an item has a verdict in every rotation.",
        )
    what = sentences.row_noun(list(bias.names))
    if not significant:
        same = share(bias.overall("consistency").value, 0)
        least = adjusted_option_p_values(bias, rows, least=True)
        few = sum(min(p, least[cell]) >= SIGNIFICANCE_LEVEL for cell, p in adjusted.items())
        none = sentences.none_significant_clause(len(bias.names), what, few).capitalize()
        return f"{none}; consistency is {same}.", lead
    head = sentences.preferring_rows_clause(len(significant), len(adjusted), what)
    return f"{head}. {_strongest_preference_sentence(bias, rows, significant)}", lead


def _strongest_preference_sentence(
    bias: Bias, rows: Sequence[OptionModelRow], significant: Mapping[str, float]
) -> str:
    """Sentence on the judge and prompt in `significant` (name -> p-value) that choose one position
    most often: this position, its share of their choices, and the p-value."""
    value, row, slot = max(
        (one.value, row, slot)
        for slot in range(bias.max_options)
        for row, one in bias.by_rater(f"slot {slot}").items()
        if one.value is not None and bias.names[row[0], row[1]] in significant
    )
    who = bias.names[row[0], row[1]]
    bound = any(one.permutation.p_is_bound for one in rows if (one.judge, one.prompt) == row)
    p_text = f"{p_value_clause(significant[who], bound)}, adjusted"
    picks = (
        f"{who} picks the {slot_ordinal(slot)} of {bias.max_options} positions in {share(value, 0)}"
    )
    return f"{picks} of its choices ({p_text}, permutation test of all positions)."


def show_slot_effects(rows: Sequence[OptionModelRow], bias: Bias) -> Markup:
    """HTML matrix of the share that each position would get among equally good options, estimated
    by the choice model, with sentences on label effects below; a message if nothing can be
    estimated."""
    options, names = bias.max_options, bias.names
    scale = even_share_scale(options)
    columns = [MatrixColumn(slot_name(slot)) for slot in range(options)]
    cells, cards, selects = {}, {}, {}
    for row in select_option_models(rows, bias):
        name = names[row.judge, row.prompt]
        shares = row.model.share_if_equal.get(options, ())
        effects = row.model.slots.get(options, ())
        for slot, (one, effect) in enumerate(zip(shares, effects, strict=True)):
            place = (name, slot_name(slot))
            cells[place] = one
            size = f"{number(effect.value, 2, signed=True)} logits{spaced_ci(effect, 2)}"
            told = f"Effect of this position {size}, compared with the mean of all positions"
            cards[place] = [told]
            selects[place] = {"judge": row.judge, "prompt": row.prompt, "slot": slot}
    if not cells:
        notes = (row.model.note for row in rows if row.model.note)
        why = next(notes, "no stored reply chooses an option yet")
        told = f"{why[:1].upper()}{why[1:]}."
        return empty_state("The effect of an option's position cannot be estimated.", told)
    judges, keys = list(dict.fromkeys(row for row, _ in cells)), ("row", "slot")
    made = matrix_html(
        judges, columns, cells, scale, label_width=168, keys=keys, more=cards, select=selects
    )
    return made + _label_effects_html(select_option_models(rows, bias), names)


def _label_effects_html(
    rows: Sequence[OptionModelRow], names: Mapping[tuple[str, ...], str]
) -> Markup:
    """HTML sentences on the label that each judge prefers, such as "A". A note instead, if each
    label was used in too few positions to separate the effects of label and position."""
    labelled = [row for row in rows if row.model.labels]
    if not labelled:
        return panels.BIAS.note(
            "Label and position effects cannot be separated here: each label was used in too few "
            "positions."
        )
    lines = []
    for row in labelled:
        best, effect = min(row.model.labels.items(), key=largest_first_sort_key)
        significant = effect.low is not None and effect.low > 0
        word = "prefers" if significant else "does not significantly prefer"
        bounds = f"{number(effect.value, 2, signed=True)}{spaced_ci(effect, 2)}"
        lines.append(f"{names[row.judge, row.prompt]} {word} the label “{best}” ({bounds} logits)")
    return panels.BIAS.note(f"{'; '.join(lines)}.")
