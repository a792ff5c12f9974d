"""N options: what a place is worth among equal answers, and who prefers one."""

from __future__ import annotations

from collections.abc import Sequence

from components.charts.slot_histogram import slot_name
from components.html.format import escape, interval, number, share
from components.html.matrix import MatrixColumn, even_share_scale, matrix_html
from components.html.pieces import empty_state, wrap
from components.results.bias.computed import Bias
from components.results.bias.pair_tests import OptionModelRow, option_test_rows, sort_option_rows
from components.results.bias.sentences import ORDINALS, SIGNIFICANCE_LEVEL, number_word, row_noun
from metrics.position.order_tables import holm_adjust


def option_finding(bias: Bias, rows: Sequence[OptionModelRow]) -> tuple[str, str]:
    """Who prefers a place when the options rotate, by the permutation test; and which place."""
    options = bias.options
    tests = option_test_rows(rows, bias)
    adjusted = holm_adjust([row.tests["permutation"].p for row in tests])
    sure = [
        row
        for row, p in zip(tests, adjusted, strict=True)
        if p is not None and p < SIGNIFICANCE_LEVEL
    ]
    tested = [p for p in adjusted if p is not None]
    lead = (
        f"Each answer stood in each of {options} places once: a judge that goes by what it reads "
        f"picks every place in {share(1 / options, 0)} of trials."
    )
    if not tested:
        return "No item has been read in all rotations yet.", "Slots are compared within items."
    what = row_noun(list(bias.names))
    if not sure:
        kept = share(bias.whole("consistency").value, 0)
        return f"No {what} prefers a place for sure; {kept} of items keep one choice.", lead
    head = _preferring_judges(len(sure), len(tested), what)
    return f"{head}. {_strongest_preference(bias)}", lead


def _preferring_judges(sure: int, rows: int, what: str) -> str:
    if rows == 1:
        return f"This {what} prefers a place"
    if sure == rows:
        return f"All {number_word(sure)} {what}s prefer a place"
    verb = "prefers" if sure == 1 else "prefer"
    return f"{number_word(sure).capitalize()} of {number_word(rows)} {what}s {verb} a place"


def _strongest_preference(bias: Bias) -> str:
    """The most chosen place of any row, in words."""
    best = max(
        (
            (one.value, row, slot)
            for slot in range(bias.options)
            for row, one in bias.each(f"slot {slot}").items()
            if one.value is not None
        ),
        default=None,
    )
    if best is None:
        return ""
    value, row, slot = best
    place = ORDINALS[slot] if slot < len(ORDINALS) else slot_name(slot)
    who = bias.names[row[0], row[1]]
    return f"{who} picks the {place} of {bias.options} in {share(value, 0)} of trials."


def show_slot_effects(rows: Sequence[OptionModelRow], bias: Bias) -> str:
    """Each place's share among equal options, by the choice model; even is blank."""
    options, names = bias.options, bias.names
    scale = even_share_scale(options)
    columns = [MatrixColumn(slot_name(slot)) for slot in range(options)]
    cells, cards, selects = {}, {}, {}
    for row in sort_option_rows(rows, bias):
        name = names[row.judge, row.prompt]
        shares = row.model.share_if_equal.get(options, ())
        effects = row.model.slots.get(options, ())
        for slot, (one, effect) in enumerate(zip(shares, effects, strict=True)):
            place = (name, slot_name(slot))
            cells[place] = one
            bounds = interval(effect, 2)
            cards[place] = [f"Effect {number(effect.value, 2, signed=True)} logits {bounds}"]
            selects[place] = {"judge": row.judge, "prompt": row.prompt, "slot": slot}
    if not cells:
        why = next((row.model.note for row in rows if row.model.note), "No choice was read yet.")
        return empty_state("Places cannot be told from content.", f"{why}.")
    made = matrix_html(
        list(dict.fromkeys(row for row, _ in cells)), columns, cells, scale, label_width=168,
        keys=("row", "slot"), more=cards, select=selects,
    )  # fmt: skip
    return made + _label_effects_html(sort_option_rows(rows, bias), names)


def _label_effects_html(rows: Sequence[OptionModelRow], names: dict[tuple[str, str], str]) -> str:
    """Labels have effects of their own where their crossing lets them be told from places."""
    told = [row for row in rows if row.model.labels]
    if not told:
        note = "Labels cannot be told from places here: each label stood in few places."
        return wrap(f'<p class="eh-small eh-under">{escape(note)}</p>')
    lines = []
    for row in told:
        best = max(row.model.labels, key=lambda label: row.model.labels[label].value or 0.0)
        effect = row.model.labels[best]
        sure = effect.low is not None and effect.low > 0
        word = "is drawn to" if sure else "has no sure taste for"
        bounds = f"{number(effect.value, 2, signed=True)} {interval(effect, 2)}"
        lines.append(f"{names[row.judge, row.prompt]} {word} the label “{best}” ({bounds} logits)")
    return wrap(f'<p class="eh-small eh-under">{escape("; ".join(lines))}.</p>')
