"""HTML of the Inspect tab's list of comparisons, its detail panel, and messages for empty lists."""

from collections.abc import Sequence
from typing import Final

from components.html.format import count, truncate
from components.html.markup import EMPTY, Markup, fill, join
from components.html.pieces import Action, empty_state, status_badge, verdict_chip, wrap
from components.inspect import url_selection
from components.inspect.comparison_html import comparison_html
from components.inspect.comparison_index import PAGE_SIZE, ComparisonRow, OrderVerdict
from components.inspect.explanation import score_text
from components.inspect.html_parts import html
from components.inspect.load_comparison import InspectedStudy
from components.inspect.verification_filter import ANY_CHECK
from studies.domain import ERROR_STATUSES, USABLE_STATUSES

_MAX_CHIPS: Final = 6
_MAX_QUESTION: Final = 160


# ------------------------------------------------------------------------- list


def list_html(inspected: InspectedStudy) -> Markup:
    """HTML of the list: one row per comparison (question, verdict for each order, models), and
    buttons to other pages. If no comparison matches, only an invisible element that holds the
    filters, for the page's address. Empty if the study does not exist."""
    address = {k: v for k, v in inspected.selection.non_default_fields().items() if k != "study"}
    if not inspected.total:
        return html.no_comparisons(address) if inspected.choices is not None else EMPTY
    several = _varying_fields(inspected)
    rows = [_list_row(line, inspected, several) for line in inspected.lines]
    orders = max(len(line.verdicts) for line in inspected.lines)
    picked = "position chosen in the original and the swapped order"
    page, last = inspected.selection.page, (inspected.total - 1) // PAGE_SIZE
    shown = (page * PAGE_SIZE + 1, min((page + 1) * PAGE_SIZE, inspected.total))
    single = all(len(line.model_names) == 1 for line in inspected.lines)
    title = picked if orders == 2 else "position chosen in each order"
    title = "score, or 1 for pass and 0 for fail" if single else title
    told = count(inspected.total, "answer" if single else "comparison")
    if inspected.selection.status:
        noun = "call" if inspected.selection.status in ERROR_STATUSES else "reply"
        told += f", {count(inspected.replies, noun)}"
    return wrap(html.comparisons(address, title, inspected.total, told, rows, shown, page, last))


def _varying_fields(inspected: InspectedStudy) -> tuple[str, ...]:
    """Names of the fields that each row of the list shows: "judge" if the study has several judges
    and no filter selects one of them; "prompt" likewise."""
    offered = inspected.choices or {}
    return tuple(
        name
        for name in ("judge", "prompt")
        if len(offered.get(name, ())) > 1 and not getattr(inspected.selection, name)
    )


def _list_row(
    line: ComparisonRow, inspected: InspectedStudy, several: Sequence[str]
) -> tuple[object, ...]:
    """Values of a row for the template: key, whether it is open, question, chips, models, and a
    list with the row's values of the fields `several` ("judge", "prompt")."""
    key = (inspected.keys or {}).get(line.at, "")
    question = truncate((inspected.questions or {}).get(line.item) or line.item, _MAX_QUESTION)
    chips = join(_order_chip(mark) for mark in line.verdicts[:_MAX_CHIPS])
    chips += Markup("<span>\u2026</span>") if len(line.verdicts) > _MAX_CHIPS else ""
    chips += join(status_badge(status) for status in dict.fromkeys(line.failed_repeats))
    opened = bool(key) and key == inspected.selection.key
    return key, opened, question, chips, line.model_names, [getattr(line, one) for one in several]


def _order_chip(mark: OrderVerdict) -> Markup:
    if mark.status not in USABLE_STATUSES:
        return status_badge(mark.status)
    if mark.pick is None and mark.scores and not mark.is_divided:
        scores = " \u00b7 ".join(map(score_text, mark.scores))
        return fill('<span class="eh-slot">{}</span>', scores)
    return verdict_chip(mark.pick)


# ----------------------------------------------------------------------- opened


def detail_panel(inspected: InspectedStudy) -> Markup:
    """HTML of the opened comparison; if none is open, the message for an empty list."""
    if inspected.opened is not None:
        return comparison_html(
            inspected.opened, inspected.place, inspected.total, inspected.previous, inspected.next
        )
    return empty_list_panel(inspected)


def empty_list_panel(inspected: InspectedStudy) -> Markup:
    """HTML message with the reason for an empty list, and the next step."""
    selection = inspected.selection
    if inspected.choices is None:
        name = selection.study
        reason = f"No study is named {name}." if name else "No study is selected."
        choose = "Choose a study at the top of the page."
        create = "Create a study on the Study tab."
        return empty_state(reason, choose if inspected.studies else create)
    everything = (inspected.counts or {}).get("all", 0)
    if not selection.has_filters and not everything:
        return empty_state(
            "No judgements yet.",
            f"Planned: {count(inspected.planned, 'call')}. Start the run on the Run tab. Replies "
            "appear here as they arrive."
            if inspected.planned
            else "This study plans no calls. Choose data, a judge and a prompt on the Study tab.",
        )
    return empty_state(
        "No comparison matches these filters.",
        _empty_reason(inspected),
        Action("Clear the filters", {"clear": True}),
    )


def _empty_reason(inspected: InspectedStudy) -> str:
    selection, counts = inspected.selection, inspected.counts or {}
    chosen = {name for name in url_selection.FILTERS if name in selection.non_default_fields()}
    left = "" if len(chosen) == 1 else " among those that the other filters leave"
    if selection.text and not counts.get("all"):
        return f"No question or reply contains \u201c{selection.text}\u201d{left}."
    if selection.flipped and not counts.get("flipped"):
        return (
            f"No comparison has flipped{left}. A flip is counted once all orders of a comparison "
            "have a verdict."
        )
    if selection.status == url_selection.FAILURES and not counts.get(url_selection.FAILURES):
        return f"No reply is unusable{left}."
    if selection.verified and not (inspected.verified or {}).get(ANY_CHECK):
        return (
            "No answer in these comparisons has been verified. People verify answers on the Vote "
            "tab."
        )
    return "Remove a filter, or clear them all."
