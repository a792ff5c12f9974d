"""Panel on judges that prefer the models of their own family (a group of related models)."""

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html.format import join_names, number, points, spaced_ci
from components.html.markup import Markup
from components.html.tables.typed_columns import TypedColumn, ValueRow, measure_column, page_table
from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.estimation.row_selection import people_mask, select_rows
from metrics.win_rates.own_family_excess import OwnFamilyExcess, own_family_excess

TITLE: Final = "Does a judge prefer its own family?"
SUBTITLE: Final = (
    "win rate of the models of the judge's own family, by this judge and by judges of other "
    "families, which measure how good these models are; on the same items"
)
COLUMNS: Final = (
    TypedColumn("By the judge, %", lambda one: one.own),
    TypedColumn("By the others, %", lambda one: one.others),
    measure_column("own_family_outsiders", "excess"),
)


@memoise_by_study
def _excess_of_all_judges(filtered: FilteredStudy) -> dict[str, OwnFamilyExcess]:
    """Judge -> its excess, whatever the filters on judge and prompt are: without them, the other
    judges are there to compare with."""
    rows = filtered.of_all_raters.measured_judge_rows
    found = own_family_excess(select_rows(rows, ~people_mask(rows)))
    return {name: one for name, one in found.items() if one.excess.value is not None}


def excess_by_judge(filtered: FilteredStudy) -> dict[str, OwnFamilyExcess]:
    """Judge that passes the filters -> its preference for its own family, the largest first."""
    shown = set(filtered.measured_judge_rows["judge"].astype(str))
    found = [(name, one) for name, one in _excess_of_all_judges(filtered).items() if name in shown]
    return dict(sorted(found, key=lambda pair: -(pair[1].excess.value or 0.0)))


def own_family_sentence(filtered: FilteredStudy) -> str:
    """Sentence that names the judges that prefer their own family, and by how much the first does;
    intervals that decide whether one is named are adjusted for all judges. Empty without
    families."""
    found, tests = excess_by_judge(filtered), len(_excess_of_all_judges(filtered))
    if not found:
        return ""
    lows = {name: simultaneous_interval(one.excess, tests).low for name, one in found.items()}
    biased = [name for name, low in lows.items() if low is not None and low > 0]
    if not biased:
        who = f"{next(iter(found))} was not" if len(found) == 1 else "No judge was"
        return f"{who} shown to prefer its own family."
    first, *others = biased
    excess = found[first].excess
    size = f"{points(number(100 * (excess.value or 0.0), 1))}{spaced_ci(excess, 1, scale=100)}"
    too = f"; {join_names(others)} {'do' if len(others) > 1 else 'does'} so too" if others else ""
    return (
        f"{first} gives the models of its own family a win rate {size} higher than judges of other "
        f"families do{too}."
    )


def render_own_family(filtered: FilteredStudy) -> Markup | None:
    """HTML table of the judges whose family wrote answers; None if there is none, or nobody of
    another family judged these answers."""
    found = excess_by_judge(filtered)
    rows = [ValueRow(k, one, {"judge": k}, f"family {one.family}") for k, one in found.items()]
    return page_table("Judge", COLUMNS, rows, TITLE) if rows else None
