"""Which judgements are in view: what the filters, the address and other tabs say to Inspect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final
from urllib.parse import urlencode

FAILURES: Final = "failures"
"""As a status: every reply that is no evidence."""
ONLY: Final = "only"
WITHOUT: Final = "without"
_LONGEST: Final = 500
_YES: Final = ("1", "true", "yes", "on")


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
    of components.inspect.verified."""
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
        return {name: _text(value) for name, value in kept if value != _FIELDS[name].default}

    @property
    def filtered(self) -> bool:
        """Whether anything is left out."""
        return any(name in self.as_mapping() for name in FILTERS)

    def cleared(self) -> Selection:
        """Everything of the same study."""
        return Selection(study=self.study)


_FIELDS: Final = {field.name: field for field in fields(Selection)}
FILTERS: Final = tuple(name for name in _FIELDS if name not in ("study", "page", "key"))


def selection_from(values: Mapping[str, Any]) -> Selection:
    """From an address or from what a mark in a chart carries; other keys are not ours.

    A value nobody has (a judge that is gone) stays: it matches nothing, and the page says so.
    """
    known = {name: _read(name, values[name]) for name in _FIELDS if values.get(name) is not None}
    return Selection(**known)


def changed(selection: Selection, asked: object) -> Selection:
    """What a click or a field asks for: {"set": {…}}, {"page": 2}, {"key": "…"}, {"clear": 1}.

    It came from a browser: the study cannot be changed this way, and unknown fields are dropped.
    """
    if not isinstance(asked, Mapping):
        return selection
    if asked.get("clear"):
        return selection.cleared()
    if "key" in asked:
        return replace(selection, key=str(asked["key"])[:_LONGEST])
    if "page" in asked:
        return replace(selection, page=_whole(asked["page"]) or 0, key="")
    wanted = asked.get("set")
    if not isinstance(wanted, Mapping):
        return selection
    new = {name: _read(name, wanted[name]) for name in FILTERS if name in wanted}
    made = replace(selection, page=0, key="", **new)
    return made if made.flipped else replace(made, toward="")


def _read(name: str, value: object) -> Any:
    default = _FIELDS[name].default
    if isinstance(default, bool):
        return value is True or str(value).strip().lower() in _YES
    if name == "page":
        return max(_whole(value) or 0, 0)
    if name == "slot":
        return _whole(value)
    return "" if value is None else str(value)[:_LONGEST]


def _whole(value: object) -> int | None:
    try:
        return int(str(value))
    except ValueError:
        return None


def _text(value: object) -> str:
    return "1" if value is True else str(value)
