"""The selection of comparisons in the Inspect tab, read from URLs, clicks and other tabs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final
from urllib.parse import urlencode

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
    """Direction of the flips: toward the answer shown "first" or "second"."""
    noise: bool = False
    """Only comparisons where a repeat of the same order got another verdict."""
    slot: int | None = None
    """Slot picked in at least one order, from 0; -1 is a tie."""
    unlike: str = ""
    """A rater (a judge or prompt of the results, or "people"): selects the comparisons on which
    this rater gave another verdict than the comparison's judge, in at least one order."""
    suspect: str = ""
    """Injection suspects: "only" selects comparisons with a suspect, "without" selects comparisons
    with no suspect."""
    verified: str = ""
    """Kind of verification (`verification_filter.VERIFICATION_KINDS`) that an answer must have: any
    answer shown, or the answer of `contestant` if that is set."""
    rule: str = ""
    """A remedy (`metrics.remedies.changed_comparisons.rule_key`): selects the comparisons of
    `judge` that the remedy decides differently from a single call."""
    checked: str = ""
    """Verdict and label: "pass_good", "pass_bad" (false pass), "fail_good" or "fail_bad"."""
    text: str = ""
    """Text to find in the question or in a reply."""
    page: int = 0
    key: str = ""
    """Key of the opened judgement."""

    def to_query(self) -> str:
        """URL query of the fields that are set, in order of declaration, without "?"."""
        return urlencode(self.as_mapping())

    def as_mapping(self) -> dict[str, str]:
        """Fields that differ from their default, with their values as text."""
        values = ((name, getattr(self, name)) for name in _FIELDS)
        return {
            name: _query_text(value) for name, value in values if value != _FIELDS[name].default
        }

    @property
    def has_filters(self) -> bool:
        return any(name in self.as_mapping() for name in FILTERS)

    def without_filters(self) -> Selection:
        return Selection(study=self.study)


_FIELDS: Final = {field.name: field for field in fields(Selection)}
FILTERS: Final = tuple(name for name in _FIELDS if name not in ("study", "page", "key"))


def parse_selection(values: Mapping[str, Any]) -> Selection:
    """Read a selection from a URL query or from the data of a clicked point or bar of a chart;
    unknown keys are ignored. Values that do not exist (such as a deleted judge) are kept: they
    match nothing, and the page reports this."""
    known = {
        name: _parse_value(name, values[name]) for name in _FIELDS if values.get(name) is not None
    }
    return Selection(**known)


def apply_click(selection: Selection, event: object) -> Selection:
    """Return the selection changed by a click or field: {"set": {…}}, {"page": 2}, {"key": "…"} or
    {"clear": 1}. The event comes from the browser, so it cannot change the study, and unknown
    fields are ignored."""
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
    new = {name: _parse_value(name, wanted[name]) for name in FILTERS if name in wanted}
    changed = replace(selection, page=0, key="", **new)
    return changed if changed.flipped else replace(changed, toward="")


def _parse_value(name: str, value: object) -> Any:
    default = _FIELDS[name].default
    if isinstance(default, bool):
        return value is True or str(value).strip().lower() in _TRUE_WORDS
    if name == "page":
        return max(_parse_integer(value) or 0, 0)
    if name == "slot":
        return _parse_integer(value)
    return "" if value is None else str(value)[:_MAX_VALUE_LENGTH]


def _parse_integer(value: object) -> int | None:
    try:
        return int(str(value))
    except ValueError:
        return None


def _query_text(value: object) -> str:
    return "1" if value is True else str(value)
