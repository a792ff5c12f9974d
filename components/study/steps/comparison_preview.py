"""The first comparisons of a study as its judges will read them, three at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from components.html.format import count, truncate
from components.html.markup import EMPTY, Markup, fill, join
from components.html.pieces import verdict_chip
from components.study.file.controls import form_button
from components.study.file.lenient_study import FormState
from components.study.plan.study_preview import StudyPreview
from judges.planning.plan import Plan
from judges.planning.plan_checks import showings_for
from studies.domain import REFERENCE, UNRELATED, Item
from studies.spec.presentations import Presentation, resolve_contestants

PAGE_SIZE: Final = 3
_MAX_TEXT: Final = 320


def comparisons_html(preview: StudyPreview, view: FormState, why_none: str = "") -> Markup:
    """HTML of three comparisons: question, and answers in the order of the first call. `why_none`:
    text on what is missing, shown if there is no comparison."""
    items = preview.items
    if not items:
        return _no_preview(why_none) if why_none else EMPTY
    first = min(view.item, max(0, len(items) - 1)) // PAGE_SIZE * PAGE_SIZE
    shown = [
        _comparison_html(at, item, _first_showing(preview, item))
        for at, item in enumerate(items[first : first + PAGE_SIZE], first + 1)
    ]
    return _heading(preview, first) + join(shown)


def _no_preview(why: str) -> Markup:
    return fill('<div class="eh-empty eh-nopv"><b>No preview yet.</b><p>{}</p></div>', why)


def _heading(preview: StudyPreview, first: int) -> Markup:
    n = len(preview.items)
    many = min(PAGE_SIZE, n - first)
    title = "One comparison" if many == 1 else f"{('Two', 'Three')[many - 2]} comparisons"
    orders = planned_orders(preview.plan) if preview.plan else 0
    order = f"answers as shown in the first of {orders} orders" if orders > 1 else ""
    before = form_button(
        "‹", {"do": "item", "to": first - PAGE_SIZE}, kind="small",
        label="previous comparisons", disabled=first <= 0,
    )  # fmt: skip
    after = form_button(
        "›", {"do": "item", "to": first + PAGE_SIZE}, kind="small", label="next comparisons",
        disabled=first + PAGE_SIZE >= n,
    )  # fmt: skip
    return fill(
        '<div class="eh-sub eh-pvhead"><b>{} as they will be read</b><span>{}{} '
        '<span class="eh-steps">{}{}</span></span></div>',
        title,
        f"of items {count(first + 1)} to {count(first + many)} of {count(n)}",
        f" · {order}" if order else "",
        before,
        after,
    )


def _first_showing(preview: StudyPreview, item: Item) -> tuple[str, ...]:
    """Models in the order of the first call on an item; without a plan, the first two by name."""
    if preview.plan is None:
        return tuple(sorted(name for name, text in item.responses.items() if text.strip()))[:2]
    found = next(_presentations(preview.plan, item), None)
    return found.shown if found else ()


def planned_orders(plan: Plan) -> int:
    """Number of orders in which a comparison is judged, taken from the first item with a
    comparison; 0 if there is none."""
    found = (next(_presentations(plan, item), None) for item in plan.items)
    return next((one.orders for one in found if one), 0)


def _presentations(plan: Plan, item: Item) -> Iterator[Presentation]:
    names = tuple(resolve_contestants(plan.study, plan.items))
    study = replace(plan.study, contestants=names)
    answered = {name for name, text in item.responses.items() if text.strip()} | {REFERENCE}
    if study.baseline and study.baseline not in answered:
        return
    study = replace(study, contestants=tuple(name for name in names if name in answered))
    # An unrelated option is an answer to another item, so one more item is passed along.
    others = [one for one in plan.items[:2] if one is not item] if study.unrelated != "none" else []
    shown = showings_for(plan.prompts[0])(study, [item, *others])
    yield from (one for one in shown if one.item is item)


def _comparison_html(number: int, item: Item, shown: tuple[str, ...]) -> Markup:
    answers = join(
        fill(
            '<div><p class="w">{} {}</p><p class="cl" dir="auto">{}</p></div>',
            verdict_chip(slot),
            name,
            truncate(_answer(item, name), _MAX_TEXT),
        )
        for slot, name in enumerate(shown)
    )
    return fill(
        '<div class="eh-pv"><span class="no">{}</span><b dir="auto" class="cl">{}</b>'
        '<div class="as" style="--n: {}">{}</div></div>',
        count(number),
        truncate(item.instruction, _MAX_TEXT) or "no question",
        max(1, min(len(shown), 2)),
        answers
        or fill('<p class="hint">{}</p>', "Answers are missing, so this question is not compared."),
    )


def _answer(item: Item, name: str) -> str:
    if name == UNRELATED:
        return "an answer to another question"
    return item.reference if name == REFERENCE else item.responses.get(name, "")
