"""Index of a study's comparisons: filters, the number of matches of each filter, and pages of the
list.

A comparison is a set of answers to one item, judged by one judge with one prompt. Flips (verdicts
that change with the order) are computed by `metrics`, so a link "Open 249" in Results lists exactly
249 comparisons."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from components.inspect.disagreements import disagreement_mask
from components.inspect.url_selection import FAILURES, NO_SUSPECTS, ONLY_SUSPECTS, Selection
from metrics.estimation.measures import order_set_flips
from metrics.estimation.row_selection import (
    COMPARISON_KEY,
    ORDER_KEY,
    Ints,
    Mask,
    contestants,
    first_row_per_group,
    group_codes,
    modal_verdicts,
    people_mask,
    select_picks_of_complete_sets,
    usable_status_mask,
    used_categories,
)
from metrics.labels.labelled_rows import confusion_cell_mask
from metrics.remedies.changed_comparisons import rows_changed_by_rule_mask
from studies.domain import STATUSES, USABLE_STATUSES, Status
from studies.frames.frame import NO_PICK, SEP, SUSPECT_COLUMN, TIE
from studies.texts.twin_families import is_twin

PAGE_SIZE: Final = 50
Pick = int | Literal["tie"] | None
_FLIP_COLUMNS: Final = (*ORDER_KEY, "options", "orders", "noise", "status", "pick")
NO_VERIFICATIONS: Final[Mapping[str, Mask]] = MappingProxyType({})
_EXACT_FILTERS: Final = ("judge", "prompt", "category", "item")


@dataclass(frozen=True, slots=True)
class OrderVerdict:
    """Verdict of one comparison in one order: the most frequent verdict among the repeats, a
    position or a tie. `pick` is None if the judge gave scores only, if no verdict is most frequent
    (`is_divided`), or if no reply is usable; in the last case `status` says why. `shown`: the
    models in this order."""

    shown: tuple[str, ...]
    pick: Pick
    status: Status
    scores: tuple[float, ...] = ()
    is_divided: bool = False
    """Whether repeats of this order disagree and no verdict is most frequent; measures count such
    an order as a tie."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One comparison in the list. `at`: its number in the ComparisonIndex, from 0; `seqs`: the
    numbers of its judgements in the store."""

    at: int
    seqs: tuple[int, ...]
    item: str
    category: str
    judge: str
    prompt: str
    verdicts: tuple[OrderVerdict, ...]
    failed_repeats: tuple[Status, ...] = ()
    """Statuses of the unusable replies, except those that `verdicts` already contains."""
    label: float | None = None
    """Right verdict on a single answer, by the data or by people: its score, or 1 for pass and 0
    for fail; None for several answers, or if unknown."""

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models, in the order of the comparison's first call."""
        return self.verdicts[0].shown


@dataclass(frozen=True)
class ComparisonIndex:
    """All comparisons of a frame, numbered from 0: first those of judges in plan order, then those
    of people. `comparison_of_row`: for each row of the frame, the number of its comparison."""

    frame: pd.DataFrame
    comparison_of_row: Ints
    first: Ints
    """For each comparison, the number of its first row in the frame."""
    flipped: Mask
    lean: Ints
    """For each comparison, picks of the first position minus picks of the second."""
    noisy: Mask
    """For each comparison, whether repeats in the same order got different verdicts."""

    def __len__(self) -> int:
        return len(self.first)

    def mask_with_any_row(self, rows: Mask) -> Mask:
        """For each comparison, whether it contains at least one of the rows that the mask `rows`
        selects."""
        return np.bincount(self.comparison_of_row[rows], minlength=len(self)) > 0


def index_comparisons(frame: pd.DataFrame) -> ComparisonIndex:
    of_row, n = group_codes(frame, COMPARISON_KEY)
    of_row = _renumber_people_last(frame, of_row, n)
    flipped, lean = np.zeros(n, bool), np.zeros(n, np.int64)
    sets = order_set_flips(
        modal_verdicts(select_picks_of_complete_sets(frame[[*_FLIP_COLUMNS]].assign(at=of_row)))
    )
    at = sets["at"].to_numpy()
    flipped[at] = ~sets["consistent"].to_numpy()
    lean[at] = sets["lean"].to_numpy()
    return ComparisonIndex(
        frame,
        of_row,
        first_row_per_group(of_row, n),
        flipped,
        lean,
        _noisy_repeats_mask(frame, of_row, n),
    )


def _renumber_people_last(frame: pd.DataFrame, of_row: Ints, n: int) -> Ints:
    """Renumber the comparisons so that those of judges come before those of people. `of_row`: for
    each row, the present number of its comparison; `n`: number of comparisons. Return the new
    number for each row."""
    human = people_mask(frame)
    theirs = np.zeros(n, bool)
    theirs[of_row[human]] = True
    place = np.empty(n, np.int64)
    place[np.argsort(theirs, kind="stable")] = np.arange(n)
    return place[of_row] if human.any() else of_row


def _noisy_repeats_mask(frame: pd.DataFrame, of_row: Ints, n: int) -> Mask:
    """For each of the `n` comparisons, whether repeats of the same order got different verdicts.
    `of_row`: for each row of the frame, the number of its comparison."""
    read = usable_status_mask(frame) & (frame["pick"] != NO_PICK).to_numpy()
    order, orders = group_codes(frame, ORDER_KEY)
    low, high = np.full(orders, 127), np.full(orders, -127)
    pick = frame["pick"].to_numpy()
    np.minimum.at(low, order[read], pick[read])
    np.maximum.at(high, order[read], pick[read])
    return np.isin(np.arange(n), of_row[(low < high)[order]])


def filter_comparisons(
    index: ComparisonIndex,
    selection: Selection,
    matching: Collection[int] | None = None,
    verified: Mapping[str, Mask] = NO_VERIFICATIONS,
) -> Ints:
    """Numbers, in the index, of the comparisons that pass all filters. `matching`: numbers (`seq`)
    of the judgements that the text search found; None without a search. `verified`: kind of
    verification (such as "does not follow the instruction") -> mask of the comparisons with it."""
    mask = _mask_without_button_filters(index, selection, matching, verified)
    if selection.flipped or selection.toward:
        mask &= _flip_mask(index, selection.toward)
    if selection.status:
        mask &= _status_mask(index, selection.status)
    if selection.noise:
        mask &= index.noisy
    if selection.suspect == ONLY_SUSPECTS:
        mask &= suspect_mask(index)
    return np.flatnonzero(mask)


def count_by_filter(
    index: ComparisonIndex,
    selection: Selection,
    matching: Collection[int] | None = None,
    verified: Mapping[str, Mask] = NO_VERIFICATIONS,
) -> dict[str, int]:
    """Filter button -> number of comparisons that a click on it would list. The present values of
    the menus, of the text search, and of filters without a button (set by a link from Results, such
    as the chosen position) apply; those of the other buttons do not. Parameters as for
    `filter_comparisons`."""
    base = _mask_without_button_filters(index, selection, matching, verified)
    found = {
        "all": base,
        "flipped": base & index.flipped,
        "first": base & _flip_mask(index, "first"),
        "second": base & _flip_mask(index, "second"),
        "noise": base & index.noisy,
        "suspect": base & suspect_mask(index),
        FAILURES: base & _status_mask(index, FAILURES),
    }
    found |= {status: base & _status_mask(index, status) for status in STATUSES}
    if (index.frame["options"] == 1).all():  # single answers have no flips
        del found["flipped"]
    return {name: int(mask.sum()) for name, mask in found.items()}


def count_by_verification(
    index: ComparisonIndex,
    selection: Selection,
    matching: Collection[int] | None,
    verified: Mapping[str, Mask],
) -> dict[str, int]:
    """Kind of verification (such as "does not follow the instruction") -> number of comparisons
    with it, given all other menus and the search text; {} without verifications. Parameters as for
    `filter_comparisons`."""
    if not verified:
        return {}
    base = _mask_without_button_filters(index, replace(selection, verified=""), matching, verified)
    return {kind: int((base & mask).sum()) for kind, mask in verified.items()}


def menu_choices(index: ComparisonIndex) -> dict[str, list[str]]:
    """Name of a filter menu ("judge", "prompt", "category", "contestant") -> its choices."""
    frame = index.frame
    fields = ("judge", "prompt", "category")
    out = {name: sorted({str(v) for v in used_categories(frame[name])} - {""}) for name in fields}
    return out | {"contestant": contestants(frame)}


def page_number(matching: Ints, selection: Selection, opened: int | None) -> int:
    """Number, from 0, of the page to show: the page with the comparison `opened`; if that is None,
    the requested page or, if there is no such page, the nearest one. `matching`: numbers of the
    comparisons in the list, in order."""
    if opened is not None:
        return int(np.searchsorted(matching, opened)) // PAGE_SIZE
    return min(max(selection.page, 0), max(len(matching) - 1, 0) // PAGE_SIZE)


def comparison_rows(index: ComparisonIndex, wanted: Sequence[int] | Ints) -> list[ComparisonRow]:
    """Rows of the list in Inspect for the comparisons whose numbers in the index are `wanted`, in
    this order."""
    at = np.asarray(wanted, np.int64)
    rows = np.flatnonzero(np.isin(index.comparison_of_row, at))
    table = index.frame.iloc[rows].assign(at=index.comparison_of_row[rows])
    by_comparison: dict[int, list[Mapping[Any, Any]]] = {}
    for row in table.to_dict("records"):
        by_comparison.setdefault(row["at"], []).append(row)
    return [_comparison_row(int(one), by_comparison[int(one)]) for one in at]


def find_comparison(index: ComparisonIndex, seq: int | None) -> int | None:
    """Number, in the index, of the comparison that contains judgement number `seq`; None if there
    is none."""
    if seq is None:
        return None
    found = np.flatnonzero(index.frame["seq"].to_numpy() == seq)
    return int(index.comparison_of_row[found[0]]) if len(found) else None


def _mask_without_button_filters(
    index: ComparisonIndex,
    selection: Selection,
    matching: Collection[int] | None,
    verified: Mapping[str, Mask],
) -> Mask:
    """For each comparison, whether it passes all filters except those that have a button with a
    count: flips, status, changes on a repeat, and "injection suspects only". Parameters as for
    `filter_comparisons`."""
    firsts = index.frame.iloc[index.first]
    mask = np.ones(len(index), bool)
    for name in _EXACT_FILTERS:
        if wanted := getattr(selection, name):
            mask &= np.asarray(firsts[name] == wanted, bool)
    for name in (selection.contestant, selection.against):
        if name:
            mask &= _mask_showing_model(firsts["comparison"], name.__eq__)
    if selection.no_twins:
        mask &= ~_mask_showing_model(firsts["comparison"], is_twin)
    if selection.slot is not None:
        mask &= index.mask_with_any_row((index.frame["pick"] == selection.slot).to_numpy())
    if selection.unlike:
        mask &= disagreement_mask(
            index.frame, index.comparison_of_row, len(index), selection.unlike
        )
    if selection.rule:
        rows = rows_changed_by_rule_mask(
            index.frame, selection.judge, selection.prompt, selection.rule
        )
        mask &= index.mask_with_any_row(rows)
    if selection.checked:
        mask &= index.mask_with_any_row(confusion_cell_mask(index.frame, selection.checked))
    if selection.suspect == NO_SUSPECTS:
        mask &= ~suspect_mask(index)
    if selection.verified:
        mask &= verified.get(selection.verified, np.zeros(len(index), bool))
    if matching is not None:
        mask &= index.mask_with_any_row(np.isin(index.frame["seq"].to_numpy(), list(matching)))
    return mask


def suspect_mask(index: ComparisonIndex) -> Mask:
    """Mask of the comparisons with a text flagged as a possible prompt injection."""
    if SUSPECT_COLUMN not in index.frame:
        return np.zeros(len(index), bool)
    return index.mask_with_any_row(index.frame[SUSPECT_COLUMN].to_numpy())


def _mask_showing_model(column: pd.Series, fits: Callable[[str], bool]) -> Mask:
    """For each value of `column`, names of models joined by SEP, whether `fits` is true for one of
    them."""
    has = np.array([any(map(fits, str(one).split(SEP))) for one in column.cat.categories], bool)
    return has[column.cat.codes.to_numpy()] if len(has) else np.zeros(len(column), bool)


def _flip_mask(index: ComparisonIndex, toward: str) -> Mask:
    if not toward:
        return index.flipped.copy()
    leans = {"first": index.lean > 0, "second": index.lean < 0}
    return index.flipped & leans.get(toward, np.zeros(len(index), bool))


def _status_mask(index: ComparisonIndex, status: str) -> Mask:
    return index.mask_with_any_row(rows_with_status_mask(index, status))


def rows_with_status_mask(index: ComparisonIndex, status: str) -> Mask:
    """For each row of the frame, whether its reply has this status; with the status FAILURES,
    whether its reply is unusable."""
    column = index.frame["status"]
    failed = status == FAILURES
    return np.asarray(~column.isin(list(USABLE_STATUSES)) if failed else column == status, bool)


def _comparison_row(at: int, rows: Sequence[Mapping[str, Any]]) -> ComparisonRow:
    head = rows[0]
    label = head.get("gold", np.nan)
    orders: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        orders.setdefault(str(row["shown"]), []).append(row)
    return ComparisonRow(
        at=at,
        seqs=tuple(int(row["seq"]) for row in rows),
        item=str(head["item"]),
        category=str(head["category"]),
        judge=str(head["judge"]),
        prompt=str(head["prompt"]),
        verdicts=tuple(_order_verdict(shown, made) for shown, made in orders.items()),
        failed_repeats=tuple(
            row["status"]
            for made in orders.values()
            for row in made
            if row["status"] not in USABLE_STATUSES and row is not _row_that_gives_status(made)
        ),
        label=None if SEP in str(head["shown"]) or np.isnan(label) else float(label),
    )


def _without_noise_repeats(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows of one order without noise-floor repeats (calls repeated only to measure how often
    verdicts change by chance); all rows if there are no others."""
    return [row for row in rows if not row["noise"]] or list(rows)


def _row_that_gives_status(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The row whose status stands for one order: the first with a usable reply, else the first.
    Calls repeated only to measure the noise floor are used only if there are no other rows."""
    planned = _without_noise_repeats(rows)
    return next((row for row in planned if row["status"] in USABLE_STATUSES), planned[0])


def _order_verdict(shown: str, rows: Sequence[Mapping[str, Any]]) -> OrderVerdict:
    planned, head = _without_noise_repeats(rows), _row_that_gives_status(rows)
    names = tuple(shown.split(SEP))
    scores = tuple(head.get(f"score_{slot}", np.nan) for slot in range(len(names)))
    mark = OrderVerdict(names, None, head["status"])
    if head["status"] not in USABLE_STATUSES:
        return mark
    if not any(np.isnan(score) for score in scores):
        mark = replace(mark, scores=tuple(float(score) for score in scores))
    picks = [int(row["pick"]) for row in planned if int(row["pick"]) != NO_PICK]
    pick = _modal_pick(picks)
    return replace(mark, pick=pick, is_divided=bool(picks) and pick is None)


def _modal_pick(picks: Sequence[int]) -> Pick:
    """Most frequent verdict among repeats; None without any, or if two are equally frequent.
    `picks`: positions from 0, -1 for a tie, -2 without a verdict."""
    most = Counter(pick for pick in picks if pick != NO_PICK).most_common(2)
    if not most or (len(most) > 1 and most[0][1] == most[1][1]):
        return None
    return "tie" if most[0][0] == TIE else most[0][0]
