"""Who is asked: a card a judge, its settings unfolded in place, what a test of it said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from components.html.format import count, dollars, escape
from components.html.pieces import status_badge
from components.study.file.controls import (
    action_checkbox,
    form_button,
    form_link,
    form_row,
    select_menu,
)
from components.study.file.lenient_study import FormState, LenientStudy, judge_name
from components.study.form.judge_settings import EMBEDDED, SIMULATED, judge_form, judge_kind
from judges.money.costs import listed_prices
from judges.operations.check_judge import JudgeCheck
from studies.spec.judge_spec import SIMULATION_RANGES


def judge_cards(sheet: LenientStudy, view: FormState, tested: Mapping[str, JudgeCheck]) -> str:
    """The judges of the study, then those on offer that are not asked."""
    cards = [
        _judge_card(judge, str(place), view, tested.get(str(judge.get("name", ""))))
        for place, judge in enumerate(sheet.judges)
    ]
    cards += [_deselected_card(judge, place) for place, judge in enumerate(view.deselected_judges)]
    add = form_button("Add a judge", {"do": "add judge"})
    return "".join(cards) + f'<div class="eh-row">{add}</div>' + _extraction_settings(sheet, view)


def _judge_card(
    judge: Mapping[str, Any], place: str, view: FormState, told: JudgeCheck | None
) -> str:
    name = judge_name(judge)
    open_ = view.judge == place
    words = "Test again" if told else "Test this judge"
    buttons = form_button(words, {"do": "test", "judge": name}, kind="small", errand=True)
    edit = form_button(
        "Close" if open_ else "Edit", {"do": "open judge", "judge": "" if open_ else place},
        kind="small", label=f"{'Close' if open_ else 'Edit'} {name}",
    )  # fmt: skip
    box = action_checkbox(f"Ask {name}", {"do": "park", "judge": int(place), "name": name}, True)
    head = (
        f'<header>{box}<b>{escape(name)}</b><span class="eh-grow"></span>{buttons}{edit}</header>'
    )
    result = _test_result(told) if told else ""
    form = judge_form(judge, f"judge.{place}", name) if open_ else ""
    return f'<div class="eh-jc">{head}<div class="d">{_judge_summary(judge, name)}</div>{result}{form}</div>'


def _deselected_card(judge: Mapping[str, Any], place: int) -> str:
    name = judge_name(judge)
    gone = form_link("Remove", {"do": "drop", "judge": place, "name": name}, label=f"Remove {name}")
    box = action_checkbox(f"Ask {name}", {"do": "unpark", "judge": place, "name": name}, False)
    head = (
        f"<header>{box}<b>{escape(name)}</b>"
        f'<span class="eh-grow"></span><span class="eh-small">{gone}</span></header>'
    )
    return f'<div class="eh-jc off">{head}<div class="d">{_judge_summary(judge, name)}, not asked</div></div>'


def _judge_summary(judge: Mapping[str, Any], name: str) -> str:
    """What a judge is, in a line."""
    kind = judge_kind(judge)
    if kind == EMBEDDED:
        read = "replies in words" if judge.get("read") == "text" else "label probabilities"
        return f"embedded · {read} · on this machine, free"
    if kind == SIMULATED:
        settings = [
            f"{key.replace('_', ' ')} {judge[key]}"
            for key in SIMULATION_RANGES
            if judge.get(key) not in (None, 0)
        ]
        return escape(f"simulated · {', '.join(settings) or 'a coin'}")
    host = urlsplit(str(judge.get("base_url") or "")).netloc or "no address yet"
    model = str(judge.get("model") or "no model yet")
    sees = " · sees images" if judge.get("vision") else ""
    none = f"key from {judge['api_key_env']}" if judge.get("api_key_env") else "no key typed"
    url = escape(str(judge.get("base_url") or ""))
    key = (
        f'<span data-key-of="{escape(name)}" data-key-url="{url}" data-none="{escape(none)}">'
        f"{escape(none)}</span>"
    )
    return f"{escape(model)} at {escape(host)} · {key} · {escape(_price_summary(judge))}{sees}"


def _price_summary(judge: Mapping[str, Any]) -> str:
    price = judge.get("price")
    if isinstance(price, Mapping):
        sent, back = (float(price.get(k) or 0) for k in ("input", "output"))
        return (
            "free"
            if not sent and not back
            else f"{dollars(sent)} in, {dollars(back)} out a million"
        )
    known = listed_prices().get(str(judge.get("model")))
    if known is None:
        return "price unknown"
    return f"{dollars(known.input)} in, {dollars(known.output)} out a million"


def _test_result(told: JudgeCheck) -> str:
    """Raw reply, how it was read, how long it took."""
    reply = " ".join(told.reply.split())
    end = reply if len(reply) <= 220 else "… " + reply[-220:].partition(" ")[2]
    said = f"“{end}”" if end else told.read.detail or "no reply"
    verdict = told.read.verdict
    read = f", read by {told.read.rule}" if told.read.rule and verdict else ""
    odds = ""
    if verdict is not None and verdict.label_probabilities:
        odds = " (" + ", ".join(f"{p:.2f}" for p in verdict.label_probabilities) + ")"
    why = (
        f' <span class="eh-mute">{escape(told.read.detail)}</span>'
        if end and told.read.detail
        else ""
    )
    return (
        f'<div class="t">{status_badge(told.read.status)}<span>{told.seconds:.1f} s{escape(read)}: '
        f"{escape(said)}{escape(odds)}{why}</span></div>"
    )


def _extraction_settings(sheet: LenientStudy, view: FormState) -> str:
    """Who reads a verdict out of a reply in which none was found."""
    entry = sheet.raw("extraction", "judge")
    own = isinstance(entry, Mapping)
    names = [str(judge.get("name", "")) for judge in sheet.judges]
    options = [("", "nobody"), *((name, name) for name in names), ("@own", "another judge")]
    control = select_menu("extraction.judge", options, "@own" if own else str(entry or ""))
    told = "a second judge reads replies in which no verdict was found; its asks are billed"
    made = form_row("Extraction", control, told, to="extraction.judge")
    if own:
        made += judge_form(dict(entry), "extraction", str(entry.get("name", "")))
    return f'<div class="eh-jx">{made}</div>'


def judge_count_text(sheet: LenientStudy) -> str:
    return f"{count(len(sheet.judges), 'judge')} × {count(len(sheet.prompts), 'prompt')}"
