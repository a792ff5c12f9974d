"""Report section on injection suspects: their number, and the main results with and without them.

If no suspect was found, the section states that the texts were checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import WITHOUT_SUSPECTS, row_names
from components.html.format import DASH, NARROW_SPACE, count, percent
from components.html.markup import Markup
from components.html.panel import notice_html, panel_html
from components.html.tables.table import plain_table
from components.results.injection.effect_on_numbers import suspect_texts, suspects_text
from metrics.catalogue.position_records import CONSISTENCY, FIRST_SHARE
from metrics.estimation.measures import GroupedFrame
from metrics.win_rates.win_rates import win_rates_by_cell
from studies.domain import Estimate
from studies.frames.frame import SUSPECT_COLUMN
from studies.texts.injection import RULE_DESCRIPTIONS, find_suspects

MAX_ROWS: Final = 20
"""Maximum number of models, or of judges with a prompt, per measure; further ones are left out."""
SECTION_TITLE: Final = "Injection suspects"
COMPARED_MEASURES: Final = tuple((one.name, one.estimator) for one in (CONSISTENCY, FIRST_SHARE))


@dataclass(frozen=True, slots=True)
class SuspectComparison:
    """One measure of a model, or of a judge and prompt, with and without injection suspects."""

    measure_name: str
    subject: str
    with_suspects: Estimate | None
    without_suspects: Estimate | None

    @property
    def is_known(self) -> bool:
        return any(
            one is not None and one.value is not None
            for one in (self.with_suspects, self.without_suspects)
        )


def injection_section(filtered: FilteredStudy) -> Markup:
    text = suspects_text(filtered)
    if text is None:
        none = "No question or answer shown to a judge contains text addressed to the judge."
        return panel_html(SECTION_TITLE, "texts addressed to the judge", notice_html("calm", none))
    found = [
        (rule, RULE_DESCRIPTIONS[rule], count(n)) for rule, n in count_rules(filtered).most_common()
    ]
    numbers = [
        (
            one.measure_name,
            one.subject,
            _estimate_text(one.with_suspects),
            _estimate_text(one.without_suspects),
        )
        for one in with_and_without(filtered)
        if one.is_known
    ]
    return panel_html(
        SECTION_TITLE,
        "texts addressed to the judge; all measures of this report include them unless stated "
        f"otherwise; 95{NARROW_SPACE}% CI",
        notice_html("warn", *text)
        + plain_table(("Rule", "Matches a text that", "Number of texts"), found)
        + plain_table(
            ("Measure", "Model or judge", "With these texts", "Without these texts"), numbers
        ),
    )


def count_rules(filtered: FilteredStudy) -> Counter[str]:
    """Detection rule -> number of shown texts that match the rule."""
    rows = filtered.frame[filtered.frame[SUSPECT_COLUMN]]
    seen = suspect_texts(filtered, rows)
    items = {
        name: filtered.store.item(filtered.name, name) for name in dict.fromkeys(n for n, _ in seen)
    }
    rules = {
        (name, one.where): one.rules
        for name, item in items.items()
        if item is not None
        for one in find_suspects(item)
    }
    return Counter(rule for text in seen for rule in rules.get(text, ()))


def with_and_without(filtered: FilteredStudy) -> list[SuspectComparison]:
    """Measures with and without suspects: win rates by model, then consistency and first-position
    share by judge and prompt."""
    without = replace(filtered, filter=replace(filtered.filter, suspects=WITHOUT_SUSPECTS))
    here, there = (win_rates_by_cell(one.outcomes, ()).get((), {}) for one in (filtered, without))
    best = sorted(here, key=lambda name: (-(here[name].value or 0), name))
    made = [
        SuspectComparison("Win rate", name, here[name], there.get(name)) for name in best[:MAX_ROWS]
    ]
    names = row_names(filtered.machines)
    for what, measure in COMPARED_MEASURES:
        known, rest = (
            measure.by_cell(GroupedFrame(one.machines, ["judge", "prompt"]))
            for one in (filtered, without)
        )
        made += _compare_judges(what, names, known, rest)
    return made


def _compare_judges(
    what: str,
    names: Mapping[tuple[str, ...], str],
    known: Mapping[tuple[str, ...], Estimate],
    rest: Mapping[tuple[str, ...], Estimate],
) -> list[SuspectComparison]:
    measured = [(cell, name) for cell, name in names.items() if cell in known]
    return [
        SuspectComparison(what, name, known[cell], rest.get(cell))
        for cell, name in measured[:MAX_ROWS]
    ]


def _estimate_text(estimate: Estimate | None) -> str:
    return DASH if estimate is None else percent(estimate)
