"""Selection of the rows of a frame that count for each kind of measure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.estimation import integer_codes
from studies.domain import ERROR_STATUSES, HUMAN_PREFIX, USABLE_STATUSES
from studies.frames.frame import NO_PICK, QUESTION_COLUMN, SEP, SUSPECT_COLUMN, TIE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
OutcomeKind = Literal["verdict", "probability"]
"""Way in which a verdict counts: as win, loss or tie, or as fractions by its label probabilities.
Fractions have no binomial variance: their variance is always estimated from the items."""

COMPARISON_KEY: Final = ("item", "comparison", "judge", "prompt")
"""Columns that identify a comparison: some answers to one item, by one judge with one prompt."""

PERSON_COLUMN: Final = "person"
"""Column with the person of each row, if people are pooled as one judge (`pool_as_one_judge`)."""

ORDER_KEY: Final = (*COMPARISON_KEY, "shown")
"""Columns that identify one order of one comparison; rows with equal values in these columns are
repeats."""

NO_SLOT: Final = -2
"""Code of a slot that does not exist, in `slot_contestants` and `chosen_contestants`."""


def select_rows(frame: pd.DataFrame, mask: Mask | pd.Series) -> pd.DataFrame:
    """Select rows by a Boolean mask with one entry per row. A mask that is true everywhere returns
    a shallow copy: a full copy of five million rows would take half a gigabyte."""
    selected = np.asarray(mask, np.bool_)
    return frame.copy(deep=False) if selected.all() else frame.loc[selected]


def count_failed_calls(frame: pd.DataFrame) -> int:
    """Count the calls that failed, so that there is no reply."""
    return int(frame["status"].isin(list(ERROR_STATUSES)).sum())


def reply_noun(frame: pd.DataFrame) -> str:
    """Return the word for the rows of a frame in a text: "reply" or, if some calls failed, "call",
    because a failed call has no reply."""
    return "call" if count_failed_calls(frame) else "reply"


def usable_status_mask(frame: pd.DataFrame) -> Mask:
    """Mask of the rows whose reply could be used (`status` in USABLE_STATUSES); calls repeated only
    to measure noise are included."""
    names, codes = integer_codes.categories_and_codes(frame["status"])
    usable = [name in USABLE_STATUSES for name in names]
    return np.array([*usable, False], np.bool_)[codes]  # code -1: no status


def select_readable_without_noise(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows with a usable status, without noise-floor repeats (calls repeated only to measure
    noise)."""
    return select_rows(frame, usable_status_mask(frame) & ~frame["noise"].to_numpy())


def select_picks(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows with a usable verdict for a slot or a tie. Left out are noise-floor repeats (calls
    repeated only to measure noise), and rows that have scores only."""
    rows = select_readable_without_noise(frame)
    return select_rows(rows, rows["pick"] != NO_PICK)


def select_pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows that show two answers."""
    return select_rows(frame, frame["options"] == 2)


def select_known_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows for which the order of the answers shown is known; imported files may lack it."""
    if "orders" not in frame:  # tables of battles: their two model columns give the order
        return frame
    known = (frame["orders"] != 0).to_numpy()
    return frame if known.all() else select_rows(frame, known)


def people_mask(frame: pd.DataFrame) -> Mask:
    """Mask of the rows judged by a person."""
    names, codes = integer_codes.categories_and_codes(frame["judge"])
    human = np.array([str(name).startswith(HUMAN_PREFIX) for name in names], bool)
    return human[codes] if len(human) else np.zeros(len(frame), bool)


def suspected_injection_mask(frame: pd.DataFrame) -> Mask:
    """Mask of the rows with a suspected prompt injection; all false if this is not recorded."""
    return (
        np.asarray(frame[SUSPECT_COLUMN], np.bool_)
        if SUSPECT_COLUMN in frame
        else np.zeros(len(frame), bool)
    )


def keep_first_votes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with only the first vote of each person on each case (the same answers to
    one item), because a repeated vote is not a second person; rows of judges are all kept."""
    human = people_mask(frame)
    if not human.any():
        return frame
    votes = select_rows(frame, human)
    group, groups = group_codes(votes, (*COMPARISON_KEY[:2], "judge"))
    if groups == len(votes):
        return frame
    selected = ~human
    selected[np.flatnonzero(human)[first_row_per_group(group, groups)]] = True
    return select_rows(frame, selected)


def disputed_case_vote_mask(frame: pd.DataFrame) -> Mask:
    """Mask of the votes on cases (sets of answers to one item) selected because judges flip or
    disagree there. Such votes help to find faults, but they are not a random sample of all cases.
    """
    if "chosen" not in frame:
        return np.zeros(len(frame), bool)
    return people_mask(frame) & frame["chosen"].isin(["flipped", "split"]).to_numpy()


def keep_random_votes(rows: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return `rows` without repeated votes of a person on a case and without votes on cases that
    were not chosen at random, and how many of the latter there were; judges' rows are all kept."""
    rows = keep_first_votes(rows)
    targeted = disputed_case_vote_mask(rows)
    return select_rows(rows, ~targeted), int(targeted.sum())


def mean_votes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each pair of answers that people voted on, with the mean of its votes as
    the probabilities `p_0` and `p_1` of the answers in the order shown there; a tie is half.

    Every comparison of people counts once, however many votes it has: otherwise the pairs of models
    with more votes would decide a ranking. Votes are chosen as by `keep_random_votes`."""
    votes, _ = keep_random_votes(select_pairs(select_picks(select_rows(frame, people_mask(frame)))))
    case, cases = group_codes(votes, COMPARISON_KEY[:2])
    place = first_row_per_group(case, cases)
    left = slot_contestants(votes, contestants(votes))[:, :1].sum(axis=1)  # no column without votes
    turned = left != left[place][case]
    pick = votes["pick"].to_numpy()
    won = np.where(pick == TIE, 0.5, (pick == 0) != turned)
    mean = np.bincount(case, won, minlength=cases) / np.bincount(case, minlength=cases)
    return votes.iloc[place].assign(p_0=mean, p_1=1 - mean)


def select_judges(frame: pd.DataFrame, judges: Sequence[str] | None = None) -> pd.DataFrame:
    """Return the rows of the given judges. Without a list of judges: of all judges that are not
    people, or of people if there are no others."""
    if judges is not None:
        return select_rows(frame, frame["judge"].astype(str).isin(list(judges)))
    human = people_mask(frame)
    return frame if human.all() else select_rows(frame, ~human)


def pool_as_one_judge(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the frame with the judge `name` in all rows, and the former judges in the column
    `person`."""
    codes = np.zeros(len(frame), np.int8)
    pooled = pd.Categorical.from_codes(codes, pd.Index([name], dtype="str"))
    return frame.assign(judge=pooled, **{PERSON_COLUMN: frame["judge"]})


def columns_with_person_and_question(frame: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Return `columns`, plus `person` and `question` if the frame has them."""
    return [*columns, *(name for name in (PERSON_COLUMN, QUESTION_COLUMN) if name in frame)]


def add_column_by_item(
    frame: pd.DataFrame, column: str, values: Mapping[str, str], default: str = ""
) -> pd.DataFrame:
    """Return the frame with a categorical column to group by (such as the task), from a mapping
    item -> value; items outside the mapping get the value `default`."""
    item = frame["item"].astype("category")
    names = [str(values.get(str(name), default)) for name in item.cat.categories]
    known = sorted(set(names))
    code_of = {name: code for code, name in enumerate(known)}
    table = np.array([code_of[name] for name in names], np.int64)
    codes = table[item.cat.codes.to_numpy()] if len(table) else np.zeros(0, np.int64)
    return frame.assign(**{column: pd.Categorical.from_codes(codes, pd.Index(known, dtype="str"))})


def points_from_probabilities(frame: pd.DataFrame) -> Floats:
    """Return the points of each answer from the label probabilities, as [row, slot]: the
    probability of its slot, plus an equal part of the probability of a tie.

    The probability of a tie is 1 minus the sum over the slots. nan without label probabilities.
    """
    width = int(frame["options"].to_numpy().max(initial=0))
    columns = [f"p_{slot}" for slot in range(width)]
    if not columns or not set(columns) <= set(frame.columns):
        return np.full((len(frame), width), np.nan)
    shares = frame[columns].to_numpy(np.float64)
    options = frame["options"].to_numpy()[:, None]
    here = np.arange(width) < options
    whole = (np.isfinite(shares) | ~here).all(axis=1, keepdims=True)
    tied = np.clip(1 - np.where(here & whole, shares, 0.0).sum(axis=1, keepdims=True), 0, 1)
    return np.where(here & whole, shares + tied / options, np.nan)


def used_categories(column: pd.Series) -> list[Any]:
    """Values that occur in a column of categories, in the order of the categories.

    Counting the codes is faster than `unique`, which sorts or hashes all rows.
    """
    names, codes = integer_codes.categories_and_codes(column)
    counts = np.bincount(np.add(codes, 1, dtype=np.int64), minlength=len(names) + 1)
    return [names[place] for place in np.flatnonzero(counts[1:])]


def column_codes(column: pd.Series) -> tuple[Ints, int]:
    """Integer codes of a column and the number of possible codes; a missing value has its own
    code."""
    codes, shift, count = integer_codes.codes_offset_and_size(column)
    return np.add(codes, shift, dtype=np.int64), count


def group_codes(frame: pd.DataFrame, columns: Sequence[str]) -> tuple[Ints, int]:
    """Number the combinations of values in `columns` from 0, in order of appearance; return the
    number of each row's combination, and how many combinations there are.

    If people are pooled as one judge and `columns` has "judge" and "comparison", rows of different
    people still have different numbers.
    """
    by_person = {"judge", "comparison"} <= set(columns) and PERSON_COLUMN in frame
    names = (*columns, PERSON_COLUMN) if by_person else columns
    key, size = integer_codes.combined_codes((frame[name] for name in names), len(frame))
    codes, count = integer_codes.codes_by_appearance(key, size)
    return codes.astype(np.int64), count


def observed_combinations(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """List the combinations of values that occur in some categorical columns, in category order."""
    code, count = group_codes(frame, columns)
    first = first_row_per_group(code, count)
    known = [frame[name].cat for name in columns]
    found = sorted(zip(*(one.codes.to_numpy()[first].tolist() for one in known), strict=True))
    return [
        tuple(str(one.categories[place]) for one, place in zip(known, places, strict=True))
        for places in found
        if min(places, default=0) >= 0
    ]


def count_items_by(frame: pd.DataFrame, column: str) -> dict[str, int]:
    """Count the items (or questions, see `resampling_unit`) for each value that occurs in a
    categorical column, in category order."""
    group, groups = column_codes(frame[column])
    item, items = column_codes(resampling_unit(frame))
    both, _ = integer_codes.unique_codes(group * items + item)
    counts = np.bincount(both // max(items, 1), minlength=groups)[1:]
    names = frame[column].cat.categories
    return {str(name): int(n) for name, n in zip(names, counts, strict=True) if n}


def resampling_unit(frame: pd.DataFrame) -> pd.Series:
    """Return the column of the unit that intervals resample: `question` if the frame has this
    column (several items share a question), else `item`."""
    return frame[QUESTION_COLUMN] if QUESTION_COLUMN in frame else frame["item"]


def item_codes(frame: pd.DataFrame) -> Ints:
    """Code of each row's resampling unit (item or question)."""
    return column_codes(resampling_unit(frame))[0]


def modal_verdicts(frame: pd.DataFrame) -> pd.DataFrame:
    """Reduce repeats to one row per order with the most frequent verdict; a tie if several verdicts
    are most frequent."""
    group, groups = group_codes(frame, ORDER_KEY)
    if groups == len(frame):
        return frame
    counts = count_picks(frame, group, groups)
    mode = counts.argmax(axis=1) + TIE
    mode[(counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1] = TIE
    return frame.iloc[first_row_per_group(group, groups)].assign(pick=mode.astype(np.int8))


def count_picks(rows: pd.DataFrame, group: Ints, groups: int) -> Ints:
    """Count the ties (column 0) and the picks of slot 0, slot 1, … in each group."""
    width = int(rows["options"].max()) + 1 if len(rows) else 1
    flat = np.bincount(group * width + rows["pick"].to_numpy() - TIE, minlength=groups * width)
    return flat.reshape(groups, width).astype(np.int64)


def first_listed_orders(pairs: pd.DataFrame) -> pd.Series:
    """Return, for each pair of models, the order (text of the column `shown`) that comes first in
    the frame. It is the order that the plan lists first, because frames keep the sequence of the
    plan."""
    case, cases = group_codes(pairs, ["comparison"])
    return pairs["shown"].iloc[first_row_per_group(case, cases)]


def first_row_per_group(group: Ints, groups: int) -> Ints:
    """Row number of the first row of each group. `group` is the group of each row; every number
    from 0 to `groups` − 1 must occur."""
    first = np.zeros(groups, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    return first


def complete_set_mask(rows: pd.DataFrame) -> Mask:
    """Mask of the rows that belong to complete order sets, that is, comparisons planned in two or
    more orders, with a row in each of them. `rows` must contain readable verdicts only."""
    comparison, count = group_codes(rows, COMPARISON_KEY)
    order, orders = group_codes(rows, ORDER_KEY)
    read = np.bincount(comparison[first_row_per_group(order, orders)], minlength=count)
    planned = rows["orders"].to_numpy()
    return (planned > 1) & (read[comparison] >= planned)


def select_picks_of_complete_sets(frame: pd.DataFrame) -> pd.DataFrame:
    """Picks of complete order sets: comparisons in which every planned order was read."""
    rows = select_picks(frame)
    return select_rows(rows, complete_set_mask(rows))


def contestants(frame: pd.DataFrame) -> list[str]:
    """Names of all contestants shown in these rows, sorted."""
    return sorted(
        {name for text in used_categories(frame["shown"]) for name in str(text).split(SEP)}
    )


def slot_contestants(frame: pd.DataFrame, names: Sequence[str]) -> Ints:
    """Contestant in each slot as an index into `names`, [row, slot]; NO_SLOT where a row has fewer
    slots."""
    codes, table = _slot_table(frame, names)
    return table[codes]


def _slot_table(frame: pd.DataFrame, names: Sequence[str]) -> tuple[integer_codes.Codes, Ints]:
    """Return a code for each row's list of contestants in the order shown, and the table of these
    lists: [code, slot] of indices into `names`."""
    shown, codes = integer_codes.categories_and_codes(frame["shown"])
    index = {name: code for code, name in enumerate(names)}
    width = int(frame["options"].to_numpy().max(initial=0))
    table = np.full((len(shown), width), NO_SLOT, np.int64)
    for code in np.unique(codes):
        for slot, name in enumerate(str(shown[code]).split(SEP)):
            table[code, slot] = index[name]
    return codes, table


def chosen_contestants(frame: pd.DataFrame, names: Sequence[str]) -> Ints:
    """The contestant picked in each row as an index into `names`; rows with a tie or without a pick
    keep their negative code (TIE, NO_PICK)."""
    pick = frame["pick"].to_numpy()
    codes, table = _slot_table(frame, names)
    who = table[codes, np.maximum(pick, 0)]
    return np.where(pick >= 0, who, pick)
