"""Sentences about twins, the same on the page, in the report and in the library."""

from collections.abc import Sequence
from typing import Final

from metrics.estimation.intervals import decimals_that_show_sign_of_interval
from metrics.twins.twin_effects import INDIFFERENT, SHOWN, UNCLEAR, TwinEffect, twins_lose
from studies.domain import Estimate
from studies.texts.twin_families import CONTROLS, FAMILIES

BLIND: Final = (
    "Indifferent, not robust: none of the controls (real faults) loses, so nothing can be said "
    "about robustness."
)
UNCLEAR_CONTROLS: Final = (
    "No control (real fault) is shown to lose, so nothing can be said about robustness."
)


def difference_with_interval_text(estimate: Estimate, digits: int = 0) -> str:
    """A difference as text, with its interval: "+25 points [19, 29]" for shares, "+0.25 [0.19,
    0.29]" for scores; "not known" without a value."""
    if estimate.value is None:
        return "not known"
    scale, unit = (100.0, " points") if estimate.unit == "share" else (1.0, "")
    digits = digits if scale == 100 else 2
    text = f"{scale * estimate.value:+.{digits}f}{unit}"
    digits = decimals_that_show_sign_of_interval(estimate, digits, scale)
    if estimate.low is not None and estimate.high is not None:
        text += f" [{scale * estimate.low:.{digits}f}, {scale * estimate.high:.{digits}f}]"
    return text.replace("-", "−")


def effects_of_irrelevant_changes(effects: Sequence[TwinEffect]) -> list[TwinEffect]:
    """Effects of changes that should not matter, largest first. Left out are controls (twins with a
    real fault) and, unless the judge prefers them, twins that should lose because they lack the
    answer's content."""
    kept = [
        one
        for one in effects
        if one.family not in CONTROLS
        and (not FAMILIES[one.family].must_lose or (one.beyond_floor.value or 0) > 0)
    ]
    return sorted(kept, key=lambda one: -abs(one.beyond_floor.value or 0))


def twin_headline(effects: Sequence[TwinEffect]) -> str:
    """Headline on how much one judge, with one prompt, is moved by changes to an answer that should
    not matter (its twins): the change with the largest effect that is more than chance.

    The effect is given less its floor, the effect of a change that cannot matter; its interval is
    adjusted for all changes tested. If no effect is more than chance, the headline gives the size
    below which effects may have been missed, or says that there are no verdicts yet. If the judge
    is not shown to react to answers with a real fault (controls), the headline says only that.
    """
    if any(one.finding == INDIFFERENT for one in effects):
        return BLIND
    if any(one.finding == UNCLEAR for one in effects):
        return UNCLEAR_CONTROLS
    shown = [one for one in effects_of_irrelevant_changes(effects) if one.finding == SHOWN]
    if shown:
        top = shown[0]
        words = FAMILIES[top.family].words
        effect = difference_with_interval_text(top.adjusted)
        return f"{top.family} ({words}) moves this judge most: {effect} beyond its floor."
    known = [one for one in effects if one.min_detectable and one.family not in CONTROLS]
    if not known:
        return "No verdicts on twins and their floors yet."
    top = max(known, key=lambda one: one.min_detectable or 0)
    size = Estimate(top.min_detectable, unit=top.adjusted.unit)
    return (
        "No change to one and the same answer is shown to have an effect beyond its floor. "
        f"Effects below {difference_with_interval_text(size).lstrip('+')} may have been missed."
    )


def more_than_chance_sentence(effects: Sequence[TwinEffect]) -> str:
    """One sentence: the largest effect is more than chance, with the number of changes tested;
    empty if no effect is shown."""
    if not any(one.finding == SHOWN for one in effects_of_irrelevant_changes(effects)):
        return ""
    return (
        "That is more than chance: the interval is adjusted for all "
        f"{len(effects)} changes tested, each made to one and the same answer."
    )


def control_sentence(effects: Sequence[TwinEffect]) -> str:
    """One sentence on the controls: those that lose, and those that were not shown to lose. Without
    controls, the sentence states this."""
    controls = [one for one in effects if one.family in CONTROLS]
    lost = [one.family for one in controls if twins_lose(one)]
    if not controls:
        return "There are no controls, so robustness is not claimed."
    if len(lost) == len(controls):
        return "The controls lose, so it does see faults."
    missed = ", ".join(one.family for one in controls if one.family not in lost)
    return f"Controls that lose: {', '.join(lost) or 'none'}; not shown to lose: {missed}."
