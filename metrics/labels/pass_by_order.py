"""Pass rates by the option that the prompt lists first: pass or fail.

Only answers judged in both orders of the options count, with the mean of their repeats in each
order, so that the difference of the two rates is the mean of the differences by answer. Calls
repeated only to measure noise are left out."""

from dataclasses import dataclass
from typing import Any, Final, Literal

import pandas as pd

from metrics.estimation import intervals, row_selection
from metrics.labels.option_order import ONE_ORDER_NOTE
from metrics.labels.point_table import ANSWER, answer_verdicts, arrangements_by_code
from studies.domain import PASS, Estimate, Rater
from studies.frames.point_columns import pass_fail_mask

GROUPS: Final[tuple[Literal["contestant", "category"], ...]] = ("contestant", "category")


@dataclass(frozen=True, slots=True)
class PassByOrder:
    """Pass rates of the same answers with "pass" listed first and with "fail" listed first."""

    pass_first: Estimate
    fail_first: Estimate
    shift: Estimate
    """`pass_first` − `fail_first`, paired by answer; 0 without an order effect."""


def pass_rates_by_order(frame: pd.DataFrame, rater: Rater) -> PassByOrder:
    """Estimate the pass rates of one judge and prompt by the option listed first; unknown if no
    answer was judged in both orders."""
    return _estimate_pass_rates(_answers_in_both_orders(frame, rater))


def group_pass_rates_by_order(
    frame: pd.DataFrame, rater: Rater, column: Literal["contestant", "category"]
) -> dict[str, PassByOrder]:
    """Return, by contestant or category, the pass rates of one judge and prompt with pass listed
    first and with fail listed first, over the answers judged in both orders. Groups without such
    answers, and answers without a category, are left out."""
    answers = _answers_in_both_orders(frame, rater)
    name = "who" if column == "contestant" else column
    return {
        str(group): _estimate_pass_rates(own)
        for group, own in answers.groupby(name, sort=True)
        if str(group)
    }


def _answers_in_both_orders(frame: pd.DataFrame, rater: Rater) -> pd.DataFrame:
    """Return one row per answer judged with pass first and with fail first (for each order of
    criteria): item, contestant, category, and the columns `pass_first` and `fail_first` with the
    mean score."""
    rows = row_selection.select_rows(frame, pass_fail_mask(frame))
    table = answer_verdicts(rows)
    table = table.assign(category=rows["category"].astype(str).to_numpy()[table["row"]])
    own = table[
        (table["judge"] == rater[0]) & (table["prompt"] == rater[1]) & ~table["noise"].astype(bool)
    ]
    first = [one.options[:1] == (PASS,) for one in arrangements_by_code(rows)]
    own = own.assign(pass_listed_first=[first[code] for code in own["labels"]])
    case = [*ANSWER, "criteria", "category"]
    means = own.groupby([*case, "pass_listed_first"])["score"].mean().unstack()
    means = means.reindex(columns=[True, False]).dropna()
    return means.rename(columns={True: "pass_first", False: "fail_first"}).reset_index()


def _estimate_pass_rates(answers: pd.DataFrame) -> PassByOrder:
    items = answers["item"].to_numpy()
    note = "" if len(answers) else ONE_ORDER_NOTE
    first, last = (answers[name].to_numpy(float) for name in ("pass_first", "fail_first"))
    return PassByOrder(
        intervals.mean_estimate(first, items, "share", (0.0, 1.0), note),
        intervals.mean_estimate(last, items, "share", (0.0, 1.0), note),
        intervals.mean_estimate(first - last, items, "difference of shares", (-1.0, 1.0), note),
    )


def pass_by_order_section(frame: pd.DataFrame) -> dict[str, Any]:
    """Build the summary's section of pass rates by the option listed first (pass or fail), as judge
    -> prompt -> estimates.

    A judge with a prompt is left out if no answer was judged both with pass first and with fail
    first. Estimates by contestant are added if there are several contestants, estimates by category
    if there are several categories.
    """
    rows = row_selection.select_rows(frame, pass_fail_mask(frame))
    nested: dict[str, Any] = {}
    for judge, prompt in _list_judges_and_prompts(rows):
        found = pass_rates_by_order(rows, (judge, prompt))
        if found.shift.value is None:
            continue
        values = _pass_by_order_as_json(found)
        for column in GROUPS:
            groups = group_pass_rates_by_order(rows, (judge, prompt), column)
            if len(groups) > 1:
                values[f"by_{column}"] = {
                    name: _pass_by_order_as_json(one) for name, one in groups.items()
                }
        nested.setdefault(judge, {})[prompt] = values
    return nested


def _list_judges_and_prompts(rows: pd.DataFrame) -> list[Rater]:
    pairs = rows[["judge", "prompt"]].astype(str).drop_duplicates()
    return sorted(zip(pairs["judge"], pairs["prompt"], strict=True))


def _pass_by_order_as_json(rates: PassByOrder) -> dict[str, Any]:
    return {name: getattr(rates, name) for name in ("pass_first", "fail_first", "shift")}
