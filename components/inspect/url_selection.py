"""Which judgements are in view: what the filters, the address and other tabs say to Inspect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final
from urllib.parse import urlencode

FAILURES: Final = "failures"
"""As a status: every reply that is no evidence."""
ONLY_SUSPECTS: Final = "only"
NO_SUSPECTS: Final = "without"
_MAX_VALUE_LENGTH: Final = 500
_TRUE_WORDS: Final = ("1", "true", "yes", "on")


@dataclass(frozen=True, slots=True)
class Selection:
    """Filters over the comparisons of a study, and the one that is opened. Empty means all."""

    study: str = ""
    judge: str = ""
    prompt: str = ""
    category: str = ""
    contestant: str = ""
    against: str = ""
    """The other side of a pair, with `contestant`."""
    item: str = ""
    status: str = ""
    """A status, or "failures"."""
    flipped: bool = False
    toward: str = ""
    """Flips that lean to the answer shown "first" or "second"."""
    noise: bool = False
    """The same order, asked again, got another verdict."""
    slot: int | None = None
    """Picked in some order; from 0, a tie is -1."""
    unlike: str = ""
    """Some order got another verdict than this voice's: a row of the results, or "people"."""
    suspect: str = ""
    """Comparisons with a text that speaks to the judge: "only" those, or all "without" them."""
    verified: str = ""
    """What somebody verified about an answer shown (of `contestant`, where there is one): a kind
    of components.inspect.verification_filter."""
    text: str = ""
    """In the question or in a reply."""
    page: int = 0
    key: str = ""
    """Of the judgement that is opened."""

    def to_query(self) -> str:
        """For the address: what is set, in the order above, without a question mark."""
        return urlencode(self.as_mapping())

    def as_mapping(self) -> dict[str, str]:
        """What differs from a selection of everything, as text."""
        kept = ((name, getattr(self, name)) for name in _FIELDS)
        return {name: _query_text(value) for name, value in kept if value != _FIELDS[name].default}

    @property
    def has_filters(self) -> bool:
        """Whether anything is left out."""
        return any(name in self.as_mapping() for name in FILTERS)

    def without_filters(self) -> Selection:
        """Everything of the same study."""
        return Selection(study=self.study)


_FIELDS: Final = {field.name: field for field in fields(Selection)}
FILTERS: Final = tuple(name for name in _FIELDS if name not in ("study", "page", "key"))


def parse_selection(values: Mapping[str, Any]) -> Selection:
    """From an address or from what a mark in a chart carries; other keys are not ours.

    A value nobody has (a judge that is gone) stays: it matches nothing, and the page says so.
    """
    known = {
        name: _parse_value(name, values[name]) for name in _FIELDS if values.get(name) is not None
    }
    return Selection(**known)


def apply_click(selection: Selection, asked: object) -> Selection:
    """What a click or a field asks for: {"set": {…}}, {"page": 2}, {"key": "…"}, {"clear": 1}.

    It came from a browser: the study cannot be changed this way, and unknown fields are dropped.
    """
    if not isinstance(asked, Mapping):
        return selection
    if asked.get("clear"):
        return selection.without_filters()
    if "key" in asked:
        return replace(selection, key=str(asked["key"])[:_MAX_VALUE_LENGTH])
    if "page" in asked:
        return replace(selection, page=_parse_integer(asked["page"]) or 0, key="")
    wanted = asked.get("set")
    if not isinstance(wanted, Mapping):
        return selection
    new = {name: _parse_value(name, wanted[name]) for name in FILTERS if name in wanted}
    made = replace(selection, page=0, key="", **new)
    return made if made.flipped else replace(made, toward="")


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
