"""The comparisons of a study: which are in view, how many each filter would leave, in what order.

One comparison is some answers to one item, by one judge with one prompt; what counts as a flip is
what metrics count, so that "Open 249" opens 249.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from components.inspect.selection import FAILURES, ONLY, WITHOUT, Selection
from components.inspect.unlike import differing
from metrics.measures import order_sets
from metrics.selection import (
    COMPARISON,
    ORDER,
    Ints,
    Mask,
    complete,
    contestants,
    evidence,
    first_rows,
    group_codes,
    modal,
    people,
)
from studies.frame import NO_PICK, SEP, SUSPECT, TIE
from studies.records import EVIDENCE, STATUSES, Status

PAGE: Final = 50
Pick = int | Literal["tie"] | None
_COUNTED: Final = (*ORDER, "options", "orders", "noise", "status", "pick")
NOTHING: Final[Mapping[str, Mask]] = MappingProxyType({})
_WHERE: Final = ("judge", "prompt", "category", "item")


@dataclass(frozen=True, slots=True)
class Mark:
    """One order: the slot picked (the mode of its repeats), or why there is none."""

    shown: tuple[str, ...]
    pick: Pick
    status: Status
    scores: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One comparison in the list."""

    at: int
    seqs: tuple[int, ...]
    item: str
    category: str
    judge: str
    prompt: str
    marks: tuple[Mark, ...]
    repeats_failed: tuple[Status, ...] = ()
    """Of asks put again in the same order: marks do not show these."""

    @property
    def names(self) -> tuple[str, ...]:
        """The contestants in the order in which they were shown first."""
        return self.marks[0].shown


@dataclass(frozen=True)
class Comparisons:
    """A frame's comparisons in plan order, people's last, with what the filters ask about them."""

    frame: pd.DataFrame
    of_row: Ints
    first: Ints
    flipped: Mask
    lean: Ints
    noisy: Mask

    def __len__(self) -> int:
        return len(self.first)

    def holding(self, rows: Mask) -> Mask:
        """Comparisons with at least one of these rows."""
        return np.bincount(self.of_row[rows], minlength=len(self)) > 0


def comparisons(frame: pd.DataFrame) -> Comparisons:
    of_row, n = group_codes(frame, COMPARISON)
    of_row = _people_last(frame, of_row, n)
    flipped, lean = np.zeros(n, bool), np.zeros(n, np.int64)
    sets = order_sets(modal(complete(frame[[*_COUNTED]].assign(at=of_row))))
    at = sets["at"].to_numpy()
    flipped[at] = ~sets["consistent"].to_numpy()
    lean[at] = sets["lean"].to_numpy()
    return Comparisons(
        frame, of_row, first_rows(of_row, n), flipped, lean, _noisy(frame, of_row, n)
    )


def _people_last(frame: pd.DataFrame, of_row: Ints, n: int) -> Ints:
    """The same comparisons, those of judges first: it is they whom a reader came to see."""
    human = people(frame)
    theirs = np.zeros(n, bool)
    theirs[of_row[human]] = True
    place = np.empty(n, np.int64)
    place[np.argsort(theirs, kind="stable")] = np.arange(n)
    return place[of_row] if human.any() else of_row


def _noisy(frame: pd.DataFrame, of_row: Ints, n: int) -> Mask:
    """Comparisons of which one order, asked again, got two verdicts."""
    read = evidence(frame) & (frame["pick"] != NO_PICK).to_numpy()
    order, orders = group_codes(frame, ORDER)
    low, high = np.full(orders, 127), np.full(orders, -127)
    pick = frame["pick"].to_numpy()
    np.minimum.at(low, order[read], pick[read])
    np.maximum.at(high, order[read], pick[read])
    return np.bincount(of_row[(low < high)[order]], minlength=n) > 0


def in_view(
    all_of: Comparisons,
    selection: Selection,
    matching: Collection[int] | None = None,
    verified: Mapping[str, Mask] = NOTHING,
) -> Ints:
    """The comparisons that pass every filter, in their order. `matching` are seqs of a search,
    `verified` what people verified, by kind."""
    mask = _base(all_of, selection, matching, verified)
    if selection.flipped or selection.toward:
        mask &= _flips(all_of, selection.toward)
    if selection.status:
        mask &= _with_status(all_of, selection.status)
    if selection.noise:
        mask &= all_of.noisy
    if selection.suspect == ONLY:
        mask &= suspicious(all_of)
    return np.flatnonzero(mask)


def counts(
    all_of: Comparisons,
    selection: Selection,
    matching: Collection[int] | None = None,
    verified: Mapping[str, Mask] = NOTHING,
) -> dict[str, int]:
    """How many comparisons each pill would leave, given what the menus and the search leave."""
    base = _base(all_of, selection, matching, verified)
    found = {
        "all": base,
        "flipped": base & all_of.flipped,
        "first": base & _flips(all_of, "first"),
        "second": base & _flips(all_of, "second"),
        "noise": base & all_of.noisy,
        "suspect": base & suspicious(all_of),
        FAILURES: base & _with_status(all_of, FAILURES),
    }
    found |= {status: base & _with_status(all_of, status) for status in STATUSES}
    return {name: int(mask.sum()) for name, mask in found.items()}


def verified_counts(
    all_of: Comparisons,
    selection: Selection,
    matching: Collection[int] | None,
    verified: Mapping[str, Mask],
) -> dict[str, int]:
    """How many comparisons each kind of verification would leave beside the other menus."""
    if not verified:
        return {}
    base = _base(all_of, replace(selection, verified=""), matching, verified)
    return {kind: int((base & mask).sum()) for kind, mask in verified.items()}


def choices(all_of: Comparisons) -> dict[str, list[str]]:
    """What the menus offer."""
    frame = all_of.frame
    named = {name: frame[name].cat.remove_unused_categories() for name in ("judge", "prompt")}
    out = {name: sorted(str(v) for v in column.cat.categories) for name, column in named.items()}
    out["category"] = sorted({str(value) for value in frame["category"].unique()} - {""})
    return out | {"contestant": contestants(frame)}


def page_of(view: Sequence[int], selection: Selection, opened: int | None) -> int:
    """The page that shows what is opened, else the one asked for, within what there is."""
    if opened is not None:
        return int(np.searchsorted(view, opened)) // PAGE
    return min(max(selection.page, 0), max(len(view) - 1, 0) // PAGE)


def lines(all_of: Comparisons, wanted: Sequence[int] | Ints) -> list[Line]:
    """Some comparisons with the verdicts of their orders."""
    at = np.asarray(wanted, np.int64)
    rows = np.flatnonzero(np.isin(all_of.of_row, at))
    table = all_of.frame.iloc[rows].assign(at=all_of.of_row[rows])
    by_comparison: dict[int, list[Mapping[Any, Any]]] = {}
    for row in table.to_dict("records"):
        by_comparison.setdefault(row["at"], []).append(row)
    return [_line(int(one), by_comparison[int(one)]) for one in at]


def comparison_at(all_of: Comparisons, seq: int | None) -> int | None:
    """The comparison that holds a judgement."""
    if seq is None:
        return None
    found = np.flatnonzero(all_of.frame["seq"].to_numpy() == seq)
    return int(all_of.of_row[found[0]]) if len(found) else None


def _base(
    all_of: Comparisons,
    selection: Selection,
    matching: Collection[int] | None,
    verified: Mapping[str, Mask],
) -> Mask:
    firsts = all_of.frame.iloc[all_of.first]
    mask = np.ones(len(all_of), bool)
    for name in _WHERE:
        if wanted := getattr(selection, name):
            mask &= np.asarray(firsts[name] == wanted, bool)
    for name in (selection.contestant, selection.against):
        if name:
            mask &= _showing(firsts["comparison"], name)
    if selection.slot is not None:
        mask &= all_of.holding((all_of.frame["pick"] == selection.slot).to_numpy())
    if selection.unlike:
        mask &= differing(all_of.frame, all_of.of_row, len(all_of), selection.unlike)
    if selection.suspect == WITHOUT:
        mask &= ~suspicious(all_of)
    if selection.verified:
        mask &= verified.get(selection.verified, np.zeros(len(all_of), bool))
    if matching is not None:
        mask &= all_of.holding(np.isin(all_of.frame["seq"].to_numpy(), list(matching)))
    return mask


def suspicious(all_of: Comparisons) -> Mask:
    """Comparisons in which a text speaks to the judge."""
    if SUSPECT not in all_of.frame:
        return np.zeros(len(all_of), bool)
    return all_of.holding(all_of.frame[SUSPECT].to_numpy())


def _showing(column: pd.Series, name: str) -> Mask:
    has = np.array([name in str(joined).split(SEP) for joined in column.cat.categories], bool)
    return has[column.cat.codes.to_numpy()] if len(has) else np.zeros(len(column), bool)


def _flips(all_of: Comparisons, toward: str) -> Mask:
    if not toward:
        return all_of.flipped.copy()
    leans = {"first": all_of.lean > 0, "second": all_of.lean < 0}
    return all_of.flipped & leans.get(toward, np.zeros(len(all_of), bool))


def _with_status(all_of: Comparisons, status: str) -> Mask:
    column = all_of.frame["status"]
    failed = status == FAILURES
    rows = ~column.isin(list(EVIDENCE)) if failed else column == status
    return all_of.holding(np.asarray(rows, bool))


def _line(at: int, rows: Sequence[Mapping[str, Any]]) -> Line:
    head = rows[0]
    orders: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        orders.setdefault(str(row["shown"]), []).append(row)
    return Line(
        at=at,
        seqs=tuple(int(row["seq"]) for row in rows),
        item=str(head["item"]),
        category=str(head["category"]),
        judge=str(head["judge"]),
        prompt=str(head["prompt"]),
        marks=tuple(_mark(shown, made) for shown, made in orders.items()),
        repeats_failed=tuple(
            row["status"]
            for made in orders.values()
            for row in made
            if row["status"] not in EVIDENCE and row is not _asked(made)[0]
        ),
    )


def _asked(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The asks of an order without its noise-floor repeats."""
    return [row for row in rows if not row["noise"]] or list(rows)


def _mark(shown: str, rows: Sequence[Mapping[str, Any]]) -> Mark:
    asked = _asked(rows)
    head = next((row for row in asked if row["status"] in EVIDENCE), asked[0])
    names = tuple(shown.split(SEP))
    scores = tuple(head.get(f"score_{slot}", np.nan) for slot in range(len(names)))
    mark = Mark(names, None, head["status"])
    if head["status"] not in EVIDENCE:
        return mark
    if not any(np.isnan(score) for score in scores):
        mark = replace(mark, scores=tuple(float(score) for score in scores))
    return replace(mark, pick=_mode([int(row["pick"]) for row in asked]))


def _mode(picks: Sequence[int]) -> Pick:
    """As metrics reduce repeats: the modal verdict, and no mode is a tie."""
    most = Counter(pick for pick in picks if pick != NO_PICK).most_common(2)
    if not most:
        return None
    drawn = len(most) > 1 and most[0][1] == most[1][1]
    return "tie" if drawn or most[0][0] == TIE else most[0][0]
