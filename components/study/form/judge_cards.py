"""Cards of the judges in the form: summary, settings and the result of a test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from components.html.format import dollars
from components.html.markup import Markup, escape, fill, join
from components.html.pieces import status_badge
from components.study.file.controls import (
    form_button,
    form_row,
    select_menu,
)
from components.study.file.lenient_study import LenientStudy, judge_name
from components.study.form.judge_settings import (
    EMBEDDED,
    ENDPOINT,
    SIMULATED,
    judge_address,
    judge_form,
    judge_kind,
    judge_variable,
    needs_typed_key,
)
from judges.money.costs import listed_price
from judges.operations.check_judge import JudgeCheck
from studies.spec.keys import EXTRACTION, JUDGE, PRICE, SIMULATION, STUDY
from studies.spec.provider_presets import provider_presets


def judge_cards(study: LenientStudy, tested: Mapping[str, JudgeCheck]) -> Markup:
    """HTML cards of the study's judges, and the button that adds a judge."""
    cards = [
        _judge_card(judge, str(place), tested.get(str(judge.get(JUDGE.name.name, ""))))
        for place, judge in enumerate(study.judges)
    ]
    words = "Add a second judge" if len(cards) == 1 else "Add a judge"
    hint = "for a jury or a comparison" if cards else "a judge is a model that compares the answers"
    return join(cards) + fill(
        '<div class="eh-row">{}<span class="eh-small eh-mute">{}</span></div>',
        form_button(words, {"do": "add judge"}),
        hint,
    )


def _judge_card(judge: Mapping[str, Any], place: str, check: JudgeCheck | None) -> Markup:
    name = judge_name(judge)
    words = "Test again" if check else "Test: 1 call"
    buttons = form_button(
        words,
        {"do": "test", "judge": name},
        kind="small",
        errand=True,
        label=f"{words} of {name}",
    )
    change = form_button(
        "Change", {"do": "open judge", "judge": place}, kind="small", label=f"Change {name}"
    )
    head = fill(
        '<header><b>{}</b><span class="eh-small eh-mute">{}</span><span class="eh-grow"></span>'
        "{}{}</header>",
        name,
        provider_title(judge),
        buttons,
        change,
    )
    result = test_result(check) if check else ""
    summary = fill('<div class="d">{}</div>', _judge_summary(judge, name))
    missing = _missing_key(name) if needs_typed_key(judge) else ""
    return fill('<div class="eh-jc">{}{}{}{}</div>', head, summary, missing, result)


def _missing_key(name: str) -> Markup:
    """HTML line on a missing key, which the browser hides once the key is typed."""
    return fill(
        '<div class="t" data-keys-of="{}"><span class="lacks">{}No key typed. A key stays in '
        "memory only.</span></div>",
        json.dumps([name]),
        status_badge("error"),
    )


def provider_title(judge: Mapping[str, Any]) -> str:
    """Name of a judge's provider; "built in", "simulated" or "other address" if it has none."""
    kind = judge_kind(judge)
    if kind != ENDPOINT:
        return {EMBEDDED: "built in", SIMULATED: "simulated"}[kind]
    presets = provider_presets()
    if named := presets.get(str(judge.get(JUDGE.provider.name))):
        return named.title
    url = judge_address(judge)
    return next((one.title for one in presets.values() if one.serves(url)), "other address")


def _judge_summary(judge: Mapping[str, Any], name: str) -> Markup:
    """HTML line on a judge: its model, "embedded" or "simulated"; main settings, key, price."""
    kind = judge_kind(judge)
    if kind == EMBEDDED:
        read = "reply text" if judge.get(JUDGE.read.name) == "text" else "label probabilities"
        return escape(f"embedded · {read} · on this machine, free")
    if kind == SIMULATED:
        settings = [
            f"{key.name.replace('_', ' ')} {judge[key.name]}"
            for key in SIMULATION
            if key != SIMULATION.slot_weights
            and judge.get(key.name) is not None
            and (judge[key.name] != 0 or key == SIMULATION.accuracy)
        ]
        return escape(f"simulated · {', '.join(settings) or 'no bias, always correct'}")
    url = judge_address(judge)
    host = urlsplit(url).netloc or "no address"
    model = str(judge.get(JUDGE.model.name) or "no model")
    variable = judge_variable(judge)
    sees = " · sees images" if judge.get(JUDGE.vision.name) else ""
    none = f"key from {variable}" if variable else "no key entered"
    key = fill(
        '<span data-key-of="{}" data-key-url="{}" data-none="{}">{}</span>', name, url, none, none
    )
    return fill("{} at {} · {} · {}{}", model, host, key, _price_summary(judge), sees)


def _price_summary(judge: Mapping[str, Any]) -> str:
    price = judge.get(JUDGE.price.name)
    if isinstance(price, Mapping):
        sent, back = (float(price.get(k) or 0) for k in (PRICE.input.name, PRICE.output.name))
        return (
            "free"
            if not sent and not back
            else f"{dollars(sent)} per million input tokens, {dollars(back)} per million output "
            "tokens"
        )
    known = listed_price(str(judge.get(JUDGE.model.name)), judge_address(judge))
    if known is None:
        return "price unknown"
    return (
        f"{dollars(known.input)} per million input tokens, {dollars(known.output)} per million "
        "output tokens"
    )


def test_result(check: JudgeCheck) -> Markup:
    """HTML result of a judge test: status, duration, parsing rule, reply, label probabilities."""
    reply = " ".join(check.reply.split())
    end = reply if len(reply) <= 220 else "… " + reply[-220:].partition(" ")[2]
    quoted = f"“{end}”" if end else check.read.detail or "no reply"
    verdict = check.read.verdict
    read = f", parsed by the rule {check.read.rule}" if check.read.rule and verdict else ""
    odds = ""
    if verdict is not None and verdict.label_probabilities:
        odds = " (" + ", ".join(f"{p:.2f}" for p in verdict.label_probabilities) + ")"
    why = (
        fill(' <span class="eh-mute">{}</span>', check.read.detail)
        if end and check.read.detail
        else ""
    )
    return fill(
        '<div class="t">{}<span>{:.1f} s{}: {}{}{}</span></div>',
        status_badge(check.read.status),
        check.seconds,
        read,
        quoted,
        odds,
        why,
    )


def extraction_settings(study: LenientStudy) -> Markup:
    """HTML of the choice of an extraction judge."""
    entry = study.raw(*EXTRACTION.judge)
    own = isinstance(entry, Mapping)
    names = [str(judge.get(JUDGE.name.name, "")) for judge in study.judges]
    options = [("", "none"), *((name, name) for name in names), ("@own", "another judge")]
    control = select_menu(str(EXTRACTION.judge), options, "@own" if own else str(entry or ""))
    rule = STUDY.extraction.rule
    made = form_row(rule.label, control, rule.hint, to=str(EXTRACTION.judge))
    if own:
        made += judge_form(dict(entry), STUDY.extraction.name, str(entry.get(JUDGE.name.name, "")))
    return fill('<div class="eh-jx">{}</div>', made)
