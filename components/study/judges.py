"""Who is asked: a card a judge, its settings unfolded in place, what a test of it said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from components.drawing.pieces import status_badge
from components.format import count, dollars, safe
from components.study.fields import (
    choose,
    chosen,
    link,
    press,
    row,
)
from components.study.judge_form import EMBEDDED, SIMULATED, judge_form, kind_of
from components.study.sheet import Sheet, View, called
from judges.check import Checked
from judges.cost import listed_prices
from studies.judge_fields import SIMULATION_RANGES


def judge_cards(sheet: Sheet, view: View, tested: Mapping[str, Checked]) -> str:
    """The judges of the study, then those on offer that are not asked."""
    cards = [
        _card(judge, str(place), view, tested.get(str(judge.get("name", ""))))
        for place, judge in enumerate(sheet.judges)
    ]
    cards += [_parked(judge, place) for place, judge in enumerate(view.parked)]
    add = press("Add a judge", {"do": "add judge"})
    return "".join(cards) + f'<div class="eh-row">{add}</div>' + _extraction(sheet, view)


def _card(judge: Mapping[str, Any], place: str, view: View, told: Checked | None) -> str:
    name = called(judge)
    open_ = view.judge == place
    words = "Test again" if told else "Test this judge"
    buttons = press(words, {"do": "test", "judge": name}, kind="small", errand=True)
    edit = press(
        "Close" if open_ else "Edit", {"do": "open judge", "judge": "" if open_ else place},
        kind="small", label=f"{'Close' if open_ else 'Edit'} {name}",
    )  # fmt: skip
    box = chosen(f"Ask {name}", {"do": "park", "judge": int(place), "name": name}, True)
    head = f'<header>{box}<b>{safe(name)}</b><span class="eh-grow"></span>{buttons}{edit}</header>'
    result = _result(told) if told else ""
    form = judge_form(judge, f"judge.{place}", name) if open_ else ""
    return f'<div class="eh-jc">{head}<div class="d">{_told(judge, name)}</div>{result}{form}</div>'


def _parked(judge: Mapping[str, Any], place: int) -> str:
    name = called(judge)
    gone = link("Remove", {"do": "drop", "judge": place, "name": name}, label=f"Remove {name}")
    box = chosen(f"Ask {name}", {"do": "unpark", "judge": place, "name": name}, False)
    head = (
        f"<header>{box}<b>{safe(name)}</b>"
        f'<span class="eh-grow"></span><span class="eh-small">{gone}</span></header>'
    )
    return (
        f'<div class="eh-jc off">{head}<div class="d">{_told(judge, name)}, not asked</div></div>'
    )


def _told(judge: Mapping[str, Any], name: str) -> str:
    """What a judge is, in a line."""
    kind = kind_of(judge)
    if kind == EMBEDDED:
        read = "replies in words" if judge.get("read") == "text" else "label probabilities"
        return f"embedded · {read} · on this machine, free"
    if kind == SIMULATED:
        settings = [
            f"{key.replace('_', ' ')} {judge[key]}"
            for key in SIMULATION_RANGES
            if judge.get(key) not in (None, 0)
        ]
        return safe(f"simulated · {', '.join(settings) or 'a coin'}")
    host = urlsplit(str(judge.get("base_url") or "")).netloc or "no address yet"
    model = str(judge.get("model") or "no model yet")
    sees = " · sees images" if judge.get("vision") else ""
    none = f"key from {judge['api_key_env']}" if judge.get("api_key_env") else "no key typed"
    url = safe(str(judge.get("base_url") or ""))
    key = (
        f'<span data-key-of="{safe(name)}" data-key-url="{url}" data-none="{safe(none)}">'
        f"{safe(none)}</span>"
    )
    return f"{safe(model)} at {safe(host)} · {key} · {safe(_price(judge))}{sees}"


def _price(judge: Mapping[str, Any]) -> str:
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


def _result(told: Checked) -> str:
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
        f' <span class="eh-mute">{safe(told.read.detail)}</span>'
        if end and told.read.detail
        else ""
    )
    return (
        f'<div class="t">{status_badge(told.read.status)}<span>{told.seconds:.1f} s{safe(read)}: '
        f"{safe(said)}{safe(odds)}{why}</span></div>"
    )


def _extraction(sheet: Sheet, view: View) -> str:
    """Who reads a verdict out of a reply in which none was found."""
    entry = sheet.raw("extraction", "judge")
    own = isinstance(entry, Mapping)
    names = [str(judge.get("name", "")) for judge in sheet.judges]
    options = [("", "nobody"), *((name, name) for name in names), ("@own", "another judge")]
    control = choose("extraction.judge", options, "@own" if own else str(entry or ""))
    told = "a second judge reads replies in which no verdict was found; its asks are billed"
    made = row("Extraction", control, told, to="extraction.judge")
    if own:
        made += judge_form(dict(entry), "extraction", str(entry.get("name", "")))
    return f'<div class="eh-jx">{made}</div>'


def judges_aside(sheet: Sheet) -> str:
    return f"{count(len(sheet.judges), 'judge')} × {count(len(sheet.prompts), 'prompt')}"
