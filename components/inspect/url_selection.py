"""The selection of comparisons in the Inspect tab, read from URLs, clicks and other tabs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from studies.frames.frame import TIE

FAILURES: Final = "failures"
"""Value of `status` that selects all unusable replies."""
ONLY_SUSPECTS: Final = "only"
NO_SUSPECTS: Final = "without"
_MAX_VALUE_LENGTH: Final = 500
_TRUE_WORDS: Final = ("1", "true", "yes", "on")


@dataclass(frozen=True, slots=True)
class Selection:
    """Filters on a study's comparisons, and the opened comparison; an empty filter selects all."""

    study: str = ""
    judge: str = ""
    prompt: str = ""
    category: str = ""
    contestant: str = ""
    against: str = ""
    """The model compared with `contestant`."""
    item: str = ""
    status: str = ""
    """Status that a reply must have; "failures": any status of unusable replies."""
    flipped: bool = False
    toward: str = ""
    """Only flips toward this position, "first" or "second": it was picked more often over both
    orders."""
    noise: bool = False
    """Only comparisons in which repeats of the same order got different verdicts."""
    slot: int | None = None
    """Position that at least one verdict of the comparison chose, from 0; -1 is a tie."""
    unlike: str = ""
    """Only comparisons on which this rater (a judge with a prompt, named as in the results, or
    "people") and the comparison's judge disagree in at least one order."""
    suspect: str = ""
    """Comparisons with an injection suspect ("only"), or comparisons with none ("without")."""
    no_twins: bool = False
    """Only comparisons that show no twin (a copy of an answer with one change); the numbers of
    Results count only these."""
    verified: str = ""
    """Only comparisons with an answer (of `contestant`, if set) that got this kind of verification,
    such as "harmful" (a key of `verification_filter.VERIFICATION_KINDS`)."""
    rule: str = ""
    """Only comparisons of `judge` that this remedy (named by its key) decides with another
    credit (right 1, undecided ½, wrong 0) than a single call."""
    checked: str = ""
    """Only verdicts on single answers with this outcome: "pass_good", "pass_bad" (a bad answer
    passed), "fail_good" or "fail_bad"."""
    text: str = ""
    """Text to find in the question or in a reply."""
    page: int = 0
    key: str = ""
    """Key of the opened judgement."""

    def non_default_fields(self) -> dict[str, str]:
        """Fields that differ from their default, with their values as text."""
        values = ((name, getattr(self, name)) for name in _FIELDS)
        return {name: _url_value(value) for name, value in values if value != _FIELDS[name].default}

    @property
    def has_filters(self) -> bool:
        return any(name in self.non_default_fields() for name in FILTERS)

    def without_filters(self) -> Selection:
        return Selection(study=self.study)


_FIELDS: Final = {field.name: field for field in fields(Selection)}
FILTERS: Final = tuple(name for name in _FIELDS if name not in ("study", "page", "key"))


def parse_selection(values: Mapping[str, Any]) -> Selection:
    """Make a selection from the parameters of a page address, or from the data of a clicked point
    or bar. Unknown keys are ignored, and so is a position, page or yes/no value that cannot be
    read. Any other value is kept, shortened: if it is unknown, such as the name of a deleted judge,
    it matches no comparison."""
    known = {
        name: _parse_field_value(name, values[name])
        for name in _FIELDS
        if values.get(name) is not None
    }
    return Selection(**known)


def apply_click(selection: Selection, event: object) -> Selection:
    """Return the selection after a click or an edited field, which the browser sends as {"set":
    {…}}, {"page": 2}, {"key": "…"} or {"clear": 1}. Unknown fields are ignored; the study
    stays the same."""
    if not isinstance(event, Mapping):
        return selection
    if event.get("clear"):
        return selection.without_filters()
    if "key" in event:
        return replace(selection, key=str(event["key"])[:_MAX_VALUE_LENGTH])
    if "page" in event:
        return replace(selection, page=_parse_integer(event["page"]) or 0, key="")
    wanted = event.get("set")
    if not isinstance(wanted, Mapping):
        return selection
    new = {name: _parse_field_value(name, wanted[name]) for name in FILTERS if name in wanted}
    changed = replace(selection, page=0, key="", **new)
    return changed if changed.flipped else replace(changed, toward="")


def _parse_field_value(name: str, value: object) -> Any:
    default = _FIELDS[name].default
    if isinstance(default, bool):
        return value is True or str(value).strip().lower() in _TRUE_WORDS
    if name == "page":
        return max(_parse_integer(value) or 0, 0)
    if name == "slot":
        slot = _parse_integer(value)
        return slot if slot is not None and slot >= TIE else None
    return "" if value is None else str(value)[:_MAX_VALUE_LENGTH]


def _parse_integer(value: object) -> int | None:
    try:
        return int(str(value))
    except ValueError:
        return None


def _url_value(value: object) -> str:
    return "1" if value is True else str(value)
