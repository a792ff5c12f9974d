"""A judge's report card as one sheet: words, measures, places, categories, cost, flips to read."""

from __future__ import annotations

import json
from typing import Final

from components.cards.facts import Card
from components.cards.flips import flips_to_read
from components.cards.measures import show_measures
from components.cards.rules import sentences
from components.drawing.panels import Axis, empty, forest_row, how, wrap
from components.drawing.slots import slot_name
from components.drawing.tracks import Cell, Row, link, table
from components.format import (
    NARROW,
    NONE,
    attributes,
    count,
    dollars,
    duration,
    interval,
    number,
    rich,
    safe,
    share,
    tokens,
)
from components.voices import Voices
from metrics import selection
from studies.records import Estimate

SLOT_COLOURS: Final = ("first", "second")


def show_card(voices: Voices, voice: str) -> str:
    """The whole sheet of one voice."""
    if voice not in voices.heard:
        return empty(
            "No judge to report on.",
            "No verdict of a judge is in view: run the study, or take a filter away. People who "
            "judged alone are under Agreement.",
        )
    card = Card(voices, voice)
    parts = [_head(card), _verdict(card), show_measures(card)]
    if card.facts["read"]:
        places = f"<section><h3>Which place is chosen</h3>{_slots(card)}</section>"
        left = f"{places}{_categories(card)}"
        parts.append(
            f'<div class="eh-two eh-card-two"><div>{left}</div><div>{_flips(card)}</div></div>'
        )
    parts.append(_spent(card))
    return wrap(f'<article class="eh-report">{"".join(parts)}</article>') + how(_how(card))


def _head(card: Card) -> str:
    scene = card.voices.scene
    items = count(card.rows["item"].nunique(), "item")
    orders = int(card.facts["orders"] or 0)
    asked = "one order" if orders == 1 else "both orders" if card.pairs else f"{orders} orders"
    words = ["Report card of a judge", card.prompt, scene.name, f"{items} in {asked}"]
    if scene.filter.category != "all":
        words.append(f"category {scene.filter.category}")
    small = " \u00b7 ".join(safe(word) for word in words if word)
    badge = _simulated(card)
    return f'<p class="eh-small eh-mute">{small}</p><h1>{safe(card.judge)} {badge}</h1>'


def _simulated(card: Card) -> str:
    kinds = {judge.name: judge.kind for judge in card.voices.scene.study.judges}
    if kinds.get(card.judge) != "simulated":
        return ""
    return '<span class="eh-badge sim">simulated</span>'


def _verdict(card: Card) -> str:
    """Two sentences and one piece of advice; the threshold of each on hover and on focus."""
    said = sentences(card.facts, card.words)
    parts = []
    for sentence in said:
        made = attributes({"class": "eh-said", "data-tip": sentence.threshold, "tabindex": "0"})
        parts.append(f"<span{made}>{rich(sentence.text)}</span>")
    return f'<p class="eh-verdict">{" ".join(parts)}</p>'


# -------------------------------------------------------------------- places and flips


def _slots(card: Card) -> str:
    """A bar a slot, share of decisive verdicts, the dashed line at 1/N; ties in words."""
    even = 1 / card.options
    bars = ""
    for slot, estimate in enumerate(card.slots):
        if estimate.value is None:
            return f'<p class="eh-small eh-mute">{safe(estimate.note)}</p>'
        colour = SLOT_COLOURS[slot] if slot < 2 else "later"
        select = json.dumps(_select(card) | {"slot": slot})
        tip = f"{share(estimate.value)} {interval(estimate, 1, scale=100)}\nshown {slot_name(slot)}"
        made = attributes(
            {"type": "button", "class": "eh-bar", "data-select": select,
             "data-tip": f"{tip}\nn {count(estimate.n)}\nClick to read them"}
        )  # fmt: skip
        low, high = estimate.low or estimate.value, estimate.high or estimate.value
        bars += (
            f'<button{made}><span>{slot_name(slot)}</span><span class="t">'
            f'<i class="{colour}" style="width:{100 * estimate.value:.2f}%"></i>'
            f'<i class="w" style="left:{100 * low:.2f}%;width:{100 * (high - low):.2f}%"></i>'
            f'<i class="c" style="left:{100 * even:.2f}%"></i></span>'
            f"<b>{share(estimate.value, 0)}</b></button>"
        )
    return f'<div class="eh-bars">{bars}</div><p class="eh-small eh-mute">{_lean(card)}</p>'


def _lean(card: Card) -> str:
    ties = f"ties {share(card.ties.value, 0)}; dashed: even"
    if not card.pairs:
        return ties
    flips = card.flips
    return (
        f"{ties}; {count(flips['toward_first'])} flips toward the first, "
        f"{count(flips['toward_second'])} toward the second of {count(flips['pairs'], 'pair')}"
    )


def _select(card: Card) -> dict[str, object]:
    return {"judge": card.judge, "prompt": card.prompt}


def _categories(card: Card) -> str:
    known = {name: e for name, e in card.categories.items() if e.value is not None}
    if not known:
        return ""
    ranked = sorted(known.items(), key=lambda pair: (pair[1].items < 5, -(pair[1].value or 0.0)))
    axis = Axis(chance=card.measures["chance"].value)
    rows = [
        Row(
            [
                Cell(link(name, _select(card) | {"category": name}), "nm"),
                Cell(forest_row(estimate, axis), "trk"),
                Cell(_category_value(estimate), "num"),
            ]
        )
        for name, estimate in ranked
    ]  # fmt: skip
    heads = [Cell("", "nm"), Cell("", "trk"), Cell("", "num")]
    made = table(heads, rows, "card cats", f"Consistency of {card.judge} by category")
    return f"<section><h3>Consistency by category</h3>{made}</section>"


def _category_value(estimate: Estimate) -> str:
    if 0 < estimate.items < 5:
        return f'<span class="eh-mute eh-small">{count(estimate.items, "item")}</span>'
    ends = f"{number(100 * (estimate.low or 0.0))}\u2013{number(100 * (estimate.high or 0.0))}"
    value = number(100 * (estimate.value or 0.0))
    return f'<b>{value}</b> <span class="eh-ci">{ends if estimate.low is not None else ""}</span>'


def _flips(card: Card) -> str:
    return f"<section><h3>Flips to read</h3>{flips_to_read(card)}</section>"


# ------------------------------------------------------------------------ cost and speed


def _spent(card: Card) -> str:
    """Replies, tokens, seconds, dollars; what nobody recorded is a dash with the reason."""
    spent = card.spent
    failed = len(card.asked) - int(selection.evidence(card.asked).sum())
    per = None if spent.dollars is None or not spent.replies else 1000 * spent.dollars
    parts = [
        ("Replies", count(spent.replies), f"{count(failed)} without a verdict"),
        ("Tokens, in and out", f"{tokens(spent.prompt_tokens)} + {tokens(spent.completion_tokens)}"
         if spent.prompt_tokens is not None else NONE,
         "" if spent.prompt_tokens is not None else "not recorded"),
        ("Seconds a reply", duration(spent.median_seconds),
         "median" if spent.timed else "not recorded"),
        ("Dollars", dollars(spent.dollars) if spent.dollars is not None else NONE,
         f"{dollars(per / (spent.replies - spent.unpriced))} for 1,000 replies" if per is not None
         else "no price known"),
    ]  # fmt: skip
    cells = "".join(
        f"<div><dt>{safe(label)}</dt><dd><b>{safe(value)}</b>"
        f'<span class="eh-small eh-mute">{safe(note)}</span></dd></div>'
        for label, value, note in parts
    )
    return f'<dl class="eh-spent">{cells}</dl>'


def _how(card: Card) -> str:
    asked, read = len(card.asked), int(card.facts["read"] or 0)
    people = card.persons
    votes = (
        f"People: {count(people.cases, 'pair')} voted on, majority; {count(people.thin)} with a "
        "single vote. "
        if people.cases
        else ""
    )
    return (
        f"{count(asked, 'reply')}, {count(read)} read. Intervals: 95{NARROW}%, resampled by items, "
        f"all orders and pairs of an item kept together. {votes}Chance of consistency is what "
        "independent draws from the judge's own shares would give.\n\n"
        "The sentences are chosen by rules from the numbers; the rule and its threshold stand in "
        "the hover of each."
    )
