"""Injection suspects on paper: how many, what they do, and every main number with and without them.

A report is read without the page behind it, so both numbers stand side by side, and where nothing
was found it says that it was looked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from components.drawing.panels import notice, panel
from components.drawing.plain import grid
from components.format import NARROW, NONE, count, percent
from components.rows import WITHOUT_SUSPECTS, row_names
from components.scene import Scene
from components.suspects.compared import suspects_words, suspicious_texts
from metrics.measures import Evidence
from metrics.position import CONSISTENCY, FIRST_SHARE
from metrics.wins import win_rates
from studies.frame import SUSPECT
from studies.records import Estimate
from studies.suspects import TOLD, suspects_of

MOST: Final = 20
"""Contestants, and judges with their prompts, that are compared line by line."""
TITLE: Final = "Injection suspects"
MEASURES: Final = (("Consistency", CONSISTENCY), ("First slot chosen", FIRST_SHARE))


@dataclass(frozen=True, slots=True)
class Both:
    """One number with the suspects and without them."""

    what: str
    whose: str
    with_them: Estimate | None
    without: Estimate | None

    @property
    def is_known(self) -> bool:
        return any(
            one is not None and one.value is not None for one in (self.with_them, self.without)
        )


def suspects_panel(scene: Scene) -> str:
    """The section of a report."""
    told = suspects_words(scene)
    if told is None:
        none = "No question and no answer that a judge was shown speaks to the judge."
        return panel(TITLE, "texts that speak to the judge", notice("calm", none))
    found = [(rule, TOLD[rule], count(n)) for rule, n in rules_found(scene).most_common()]
    numbers = [(one.what, one.whose, _told(one.with_them), _told(one.without))
               for one in compared(scene) if one.is_known]  # fmt: skip
    return panel(
        TITLE,
        f"texts that speak to the judge; nothing is left out unless it says so; 95{NARROW}% CI",
        notice("warn", *told)
        + grid(("Rule", "A text that", "Texts"), found)
        + grid(("Number", "Of", "With them", "Without them"), numbers),
    )


def rules_found(scene: Scene) -> Counter[str]:
    """In how many of the texts that were shown each rule found something."""
    rows = scene.frame[scene.frame[SUSPECT]]
    seen = suspicious_texts(scene, rows)
    items = {name: scene.store.item(scene.name, name) for name in dict.fromkeys(n for n, _ in seen)}
    rules = {
        (name, one.where): one.rules
        for name, item in items.items()
        if item is not None
        for one in suspects_of(item)
    }
    return Counter(rule for text in seen for rule in rules.get(text, ()))


def compared(scene: Scene) -> list[Both]:
    """Win rates by contestant, then consistency and first share by judge and prompt."""
    without = replace(scene, filter=replace(scene.filter, suspects=WITHOUT_SUSPECTS))
    here, there = (win_rates(one.outcomes, ()).get((), {}) for one in (scene, without))
    best = sorted(here, key=lambda name: (-(here[name].value or 0), name))
    made = [Both("Win rate", name, here[name], there.get(name)) for name in best[:MOST]]
    names = row_names(scene.machines)
    for what, measure in MEASURES:
        known, rest = (
            measure.each(Evidence(one.machines, ["judge", "prompt"])) for one in (scene, without)
        )
        made += _by_judge(what, names, known, rest)
    return made


def _by_judge(
    what: str,
    names: Mapping[tuple[str, str], str],
    known: Mapping[tuple[str, ...], Estimate],
    rest: Mapping[tuple[str, ...], Estimate],
) -> list[Both]:
    asked = [(cell, name) for cell, name in names.items() if cell in known]
    return [Both(what, name, known[cell], rest.get(cell)) for cell, name in asked[:MOST]]


def _told(estimate: Estimate | None) -> str:
    return NONE if estimate is None else percent(estimate)
