"""Table of additions that would narrow the interval of a planned study: more questions, a further
judge, prompt or repeat; with their calls, cost and gain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.html.format import count, dollars, number, share
from components.html.markup import EMPTY, Markup, attributes, fill, join
from components.html.tables.table import Table, TableCell, TableRow
from components.study.file.controls import form_button
from components.study.file.lenient_study import LenientStudy, available_prompts
from components.study.steps.planned_study import PlannedStudy
from judges.planning.plan_checks import why_skipped
from judges.rendering.prompt import Prompt
from judges.rendering.prompt_library import LibraryPrompt
from metrics.estimation.planning.variance_components import ITEM, REPEAT
from metrics.win_rates.planned_width import JUDGE, ORDER, PROMPT, PlannedWidth, variance_sources
from studies.domain import Item
from studies.spec.keys import DATA, STUDY

_MIN_STEP: Final = 50
"""Minimum number of additional questions offered, unless the data have fewer."""
NEEDS_PROBABILITIES: Final = "label-probability"
"""Prompt that needs token probabilities, which many judges do not return."""
_SOURCES: Final = {
    ITEM: ("Questions", "the choice of questions"),
    ORDER: ("Order of the answers", "the order of the answers"),
    JUDGE: ("Judge", "the judge"),
    PROMPT: ("Prompt", "the prompt"),
    REPEAT: ("Single replies", "random variation between replies"),
}


@dataclass(frozen=True, slots=True)
class PurchaseOption:
    """One way to narrow the interval: text, additional calls, width of the interval afterwards, and
    the change of the form made by its button Add."""

    facet: str
    text: str
    calls: int
    width: PlannedWidth
    change: Mapping[str, Any] | None
    warning: str = ""
    assumed: bool = False
    """Whether the width is only a best case, because the variance is not measured yet."""


def purchase_options(planned: PlannedStudy, study: LenientStudy) -> list[PurchaseOption]:
    return [
        *_more_questions(planned),
        _second_judge(planned),
        *_second_prompt(planned, study),
        _further_repeat(planned),
        *_one_order(planned),
    ]


def _more_questions(planned: PlannedStudy) -> Iterator[PurchaseOption]:
    now = len(planned.plan.items)
    left = planned.available - now
    more = min(left, max(now, _MIN_STEP)) if left > 0 else now
    change = {"set": str(DATA.count), "to": str(0 if left == more else now + more)}
    yield PurchaseOption(
        ITEM,
        f"{count(more)} more questions",
        round(planned.numbers.asks * more / max(1, now)),
        planned.width(items=now + more),
        change if left > 0 else None,
        "" if left > 0 else "the data have no more questions: choose a larger file",
    )


def _second_judge(planned: PlannedStudy) -> PurchaseOption:
    judges = planned.size.judges
    return PurchaseOption(
        JUDGE,
        f"A {_ordinal(judges + 1)} judge",
        planned.numbers.asks // judges,
        planned.width(judges=judges + 1),
        {"do": "add judge"},
        "cost computed with the price of the present judges",
        assumed=planned.measured is None,
    )


def _second_prompt(planned: PlannedStudy, study: LenientStudy) -> Iterator[PurchaseOption]:
    """The option of adding a prompt from the library; none if no prompt fits the study."""
    prompts = planned.plan.prompts
    found = _further_prompt(prompts, planned.plan.items[:20], study)
    if found is None:
        return
    yield PurchaseOption(
        PROMPT,
        f"A {_ordinal(len(prompts) + 1)} prompt, {found.prompt.name}",
        planned.numbers.asks // len(prompts),
        planned.width(prompts=len(prompts) + 1),
        {"do": "prompt", "prompt": found.reference_from(study.folder), "on": True},
        assumed=planned.measured is None,
    )


def _further_prompt(
    prompts: Sequence[Prompt], items: Sequence[Item], study: LenientStudy
) -> LibraryPrompt | None:
    """A prompt of the library that the study could add; None if there is none. It has the protocol
    of the study's first prompt, is usable for all items, and needs no token probabilities. Among
    several, it is the one most like the first prompt in name and verdict format."""
    first, own = prompts[0], {prompt.name for prompt in prompts}

    def unlike(entry: LibraryPrompt) -> tuple[bool, bool]:
        family = first.name.partition("-")[0]
        return entry.prompt.name.partition("-")[0] != family, entry.prompt.verdict != first.verdict

    for entry in sorted(available_prompts(study.folder), key=unlike):
        one = entry.prompt
        if one.name in own or one.protocol != first.protocol or one.name == NEEDS_PROBABILITIES:
            continue
        if not any(why_skipped(one, item, (*prompts, one)) for item in items):
            return entry
    return None


def _further_repeat(planned: PlannedStudy) -> PurchaseOption:
    repeats = planned.plan.study.repeats
    return PurchaseOption(
        REPEAT,
        f"A {_ordinal(repeats + 1)} reply to each call",
        (planned.numbers.asks - planned.numbers.noise) // max(1, repeats),
        planned.width(repeats=repeats + 1),
        {"set": str(STUDY.repeats), "to": str(repeats + 1)},
        assumed=planned.measured is None,
    )


def _one_order(planned: PlannedStudy) -> Iterator[PurchaseOption]:
    """The option of twice the questions in one order each; none unless the study has both orders
    and the data have enough questions."""
    now = len(planned.plan.items)
    if planned.size.orders != 2 or planned.available < 2 * now or not planned.compares_pairs:
        return
    to = 0 if planned.available == 2 * now else 2 * now
    yield PurchaseOption(
        ORDER,
        "One order only, twice the questions",
        0,
        planned.width(items=2 * now, orders=1),
        {"do": "set", "values": {str(DATA.count): str(to), str(STUDY.orders): "one"}},
        "with one order, position bias cannot be measured",
    )


def _ordinal(n: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth")
    return words[n - 1] if n <= len(words) else f"{n}th"


# ---------------------------------------------------------------------------------- HTML


def purchases_html(planned: PlannedStudy, study: LenientStudy) -> Markup:
    options = purchase_options(planned, study)
    now = planned.width().half
    best = best_option(options, now)
    head: list[TableCell | str] = [
        TableCell("If you add", "nm"), "More calls", "Cost", _column_title(planned),
        "Change, points",
        TableCell(Markup('<span class="eh-vh">Add</span>'), "bt"),
    ]  # fmt: skip
    rows = [_option_row(planned, option, now, option is best) for option in options]
    return fill(
        '<h3>What to add next</h3><p class="eh-small eh-mute">{}</p>{}<p class="say">{}</p>{}',
        _sources_title(planned),
        _sources_bar(planned),
        _advice(planned, best),
        Table(head, rows, "eh-buy", "What to add next", box="").html(),
    )


def best_option(options: Sequence[PurchaseOption], now: float) -> PurchaseOption | None:
    """The option that narrows the interval most per additional call, compared with the half-width
    `now`; None if there is none. Options with an assumed width, or without additional calls, are
    left out."""
    known = [
        one
        for one in options
        if one.calls and not one.assumed and not one.width.at_best and one.width.half < now
    ]
    return max(known, key=lambda one: (now - one.width.half) / one.calls, default=None)


def _column_title(planned: PlannedStudy) -> str:
    return "Win rate interval, ± points" if planned.compares_pairs else "Share interval, ± points"


def _sources_title(planned: PlannedStudy) -> str:
    if planned.measured is None:
        return (
            "until there are replies, the variance due to questions, judges and repeats is "
            "assumed, not measured"
        )
    return f"% of the variance of the {planned.quantity}, by source"


def _sources_bar(planned: PlannedStudy) -> Markup:
    if planned.measured is None:
        return EMPTY
    parts = variance_sources(planned.components, planned.size)
    shown = [(name, parts[name]) for name in _SOURCES if parts.get(name, 0) >= 0.005]
    bar = join(
        fill(
            '<i class="{}" style="flex-grow: {:.4f}">{}</i>',
            f"s-{name}",
            part,
            number(100 * part) if part >= 0.05 else "",
        )
        for name, part in shown
    )
    keys = join(
        fill('<span><i class="{}"></i>{}</span>', f"s-{name}", _SOURCES[name][0])
        for name, _ in shown
    )
    label = ", ".join(f"{_SOURCES[name][0]} {number(100 * part)} %" for name, part in shown)
    return fill(
        '<div class="eh-srcbar" role="img" aria-label="{}">{}</div>'
        '<div class="eh-srckeys">{}</div>',
        label,
        bar,
        keys,
    )


def _advice(planned: PlannedStudy, best: PurchaseOption | None) -> Markup:
    if best is None:
        text = (
            f"None of these additions is certain to narrow the interval of the {planned.quantity}; "
            "the changes above are the best case."
        )
        return fill("{}", text)
    noun = {ITEM: "questions", JUDGE: "another judge", PROMPT: "another prompt", REPEAT: "repeats"}
    first = fill("<b>{}</b> ", f"Add {noun[best.facet]} first.")
    if planned.measured is None:
        return (
            first
            + "More questions narrow the interval; the effect of another judge, prompt or repeat "
            "becomes known with the first run."
        )
    parts = variance_sources(planned.components, planned.size)
    largest = max(parts, key=lambda name: parts[name])
    part, source = share(parts[largest], 0), _SOURCES[largest][1]
    words = f"{part} of the variance of the {planned.quantity} is due to {source}."
    return first + words


def _option_row(planned: PlannedStudy, option: PurchaseOption, now: float, best: bool) -> TableRow:
    limit = option.assumed or option.width.at_best
    after = f"{'at best ' if limit else ''}±\u00a0{number(100 * option.width.half, 1)}"
    gain = number(100 * (option.width.half - now), 1, signed=True)
    name = fill("<b>{}</b>{}", option.text, _warning(option))
    return TableRow(
        [
            TableCell(name, "nm"),
            count(option.calls, "call"),
            dollars(planned.cost_of(option.calls)) if option.calls else dollars(0),
            fill("<b>{}</b>", after),
            gain,
            TableCell(_add_button(option), "bt"),
        ],
        kind="best" if best else "",
    )


def _warning(option: PurchaseOption) -> Markup:
    kind = "w" if option.facet == ORDER else "n"
    return fill('<small class="{}">{}</small>', kind, option.warning) if option.warning else EMPTY


def _add_button(option: PurchaseOption) -> Markup:
    if option.change is not None:
        return form_button("Add", option.change, kind="small", label=f"Add: {option.text}")
    made = attributes({"type": "button", "class": "eh-btn small", "data-press": "#eh-upload"})
    return fill("<button{}>Choose</button>", made)
