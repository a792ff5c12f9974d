"""One prompt opened: its template, how it is sent on a real item, its faults, another beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from components.drawing.pieces import notice, status_badge
from components.format import count, safe, tokens
from components.inspect.diff import word_difference
from components.study.bench import Bench
from components.study.fields import choose, seg, steps
from components.study.prompt_list import ending
from components.study.sheet import Sheet, View, own_prompts, prompt_named, prompts_on_offer
from judges.plan import CHARACTERS_PER_TOKEN
from judges.prompt import Prompt, load_prompt
from judges.prompt_library import Checked, Listed, Problem, check_prompt, preview
from judges.template import pieces
from studies.comparisons import contestants_of
from studies.errors import EvenhandError
from studies.records import Item

MODES: Final = (("side", "Side by side"), ("editor", "Editor"), ("compare", "Compare"))
NEW: Final = """\
name: my-prompt
version: 1
source: ours
protocol: pairwise
messages:
  - system: Say which of two answers helps the person who asked more. Nothing else counts.
  - user: |
      The question:
      $task

      Answer $label_first:
      <<$fence
      $first
      $fence>>

      Answer $label_second:
      <<$fence
      $second
      $fence>>

      $closing
verdict: overall-response
"""
"""What "New prompt" begins with: it can be asked as it stands."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A prompt on one item, as a judge would get it."""

    messages: Sequence[Mapping[str, Any]]
    shown: tuple[str, ...]
    fault: str = ""


# ------------------------------------------------------------------------- the prompt opened


def shown_prompt(sheet: Sheet, view: View) -> Listed | None:
    """The prompt in the panel: the one asked for, else the study's first."""
    offered = prompts_on_offer(sheet.folder)
    for name in (view.prompt, *sheet.prompts):
        if one := prompt_named(name, offered, sheet.folder):
            return one
    return _elsewhere(sheet, view)


def _elsewhere(sheet: Sheet, view: View) -> Listed | None:
    """A prompt file that the study names by a path of its own."""
    for name in (view.prompt, *sheet.prompts):
        try:
            return Listed(load_prompt(name, sheet.folder), sheet.folder / name, False)
        except EvenhandError:
            continue
    return None


def prompt_head(bench: Bench, view: View, prompt: Prompt | None) -> str:
    """Which prompt on which item, and how to go on."""
    n = len(bench.items)
    at = min(view.item, max(0, n - 1))
    name = prompt.name if prompt else "No prompt"
    title = f"{name}, on item {at + 1} of {count(n)}" if n else name
    item = bench.items[at] if n else None
    if view.mode == "compare":
        title, item = "Two prompts side by side", None
    sent = as_sent(bench, prompt, item)
    told = _told_item(item, sent, prompt) if item and prompt else ""
    walk = steps(at, n, "item") if n > 1 and view.mode != "compare" else ""
    switch = f'<span id="f-mode-l" hidden>View</span>{seg("mode", MODES, view.mode)}'
    other = ""
    if view.mode == "compare":
        names = [one.named_in(bench.sheet.folder) for one in prompts_on_offer(bench.sheet.folder)]
        options = [(one, one) for one in names]
        mine = view.prompt or (bench.sheet.prompts or [""])[0]
        other = choose("prompt", options, mine, label="First prompt") + choose(
            "other", [("", "choose another"), *options], view.other, label="Second prompt"
        )
    return (
        f'<header class="eh-head"><div><h2>{safe(title)}</h2><p>{safe(told)}</p></div>'
        f'<div class="eh-row">{walk}{other}{switch}</div></header>'
    )


def _told_item(item: Item, sent: Sent, prompt: Prompt) -> str:
    labels = prompt.format.labels_for(len(sent.shown)) or [
        str(k + 1) for k in range(len(sent.shown))
    ]
    pairs = ", ".join(f"{n} as {label}" for n, label in zip(sent.shown, labels, strict=False))
    size = sum(len(_text(m["content"])) for m in sent.messages) / CHARACTERS_PER_TOKEN
    parts = [item.id, item.category, pairs, f"about {tokens(size)} tokens" if sent.messages else ""]
    return "; ".join(part for part in parts if part)


def as_sent(bench: Bench, prompt: Prompt | None, item: Item | None) -> Sent:
    """The messages for an item, with the study's contestants, read as its first judge is."""
    if prompt is None or item is None:
        return Sent((), ())
    names = _contestants(bench, item)
    judges = bench.sheet.judges
    first = judges[0] if judges else {}
    by_label = first.get("read", "probabilities" if first.get("model") == "embedded" else "text")
    sees = bench.sheet.word("judge_sees") == "images" and any(j.get("vision") for j in judges)
    images = tuple("data:," for _ in item.images) if sees else ()
    try:
        messages = preview(
            prompt, item, contestants=names, prefilled=by_label == "probabilities", images=images
        )
    except EvenhandError as error:
        return Sent((), (), str(error))
    pairs = prompt.protocol not in ("choice", "single", "describe")
    shown = names[:2] if pairs else names if prompt.protocol == "choice" else names[:1]
    return Sent(messages, tuple(shown))


def _contestants(bench: Bench, item: Item) -> list[str]:
    answered = sorted(name for name, text in item.responses.items() if text.strip())
    if bench.plan is None:
        return answered
    names = contestants_of(bench.plan.study, bench.plan.items)
    return [name for name in names if name in answered] or answered


def side_by_side(bench: Bench, view: View, shown: Listed | None) -> str:
    if shown is None:
        return notice("warn", "No prompt.", "Tick one in step 2, or write your own.")
    prompt = shown.prompt
    return (
        f'<div class="eh-ed"><div class="eh-box">{template_html(prompt)}</div>'
        f'<div class="eh-box well">{sent_html(bench, view, prompt)}</div></div>{verdict_on(shown)}'
    )


def template_html(prompt: Prompt) -> str:
    """The template with its variables as chips."""
    return "".join(
        _message(role, "".join(_chip(t) if var else safe(t) for t, var in pieces(text)))
        for role, text in prompt.messages
    )


def _chip(name: str) -> str:
    return f'<span class="eh-var">${safe(name)}</span>'


def _message(role: str, html: str) -> str:
    return f'<div class="eh-msg"><b>{safe(role)}</b><pre>{html}</pre></div>'


def sent_html(bench: Bench, view: View, prompt: Prompt) -> str:
    """As a judge gets it: what the template says in grey, what the item brings in ink."""
    if not bench.items:
        return notice("warn", "No item to show it on.", bench.data_fault or "The slice is empty.")
    item = bench.items[min(view.item, len(bench.items) - 1)]
    if not item.responses and prompt.protocol != "describe":
        return '<p class="hint">This item has no answers: there is nothing to show it on.</p>'
    sent = as_sent(bench, prompt, item)
    if sent.fault:
        return notice("bad", "Cannot be rendered.", sent.fault)
    parts, same = [], 0
    for place, message in enumerate(sent.messages):
        template = prompt.messages[place][1] if place < len(prompt.messages) else ""
        if template == message["content"]:
            same += 1
            continue
        body = _filled(_text(message["content"]), template)
        parts.append(_message(f"{message['role']}, as sent", body))
    told = f"{count(same, 'message')} sent as on the left." if same else ""
    return "".join(parts) + (f'<p class="hint">{told}</p>' if told else "")


def _filled(text: str, template: str) -> str:
    """Where the template's own words lie in what was sent; only the shading depends on it."""
    out, at = [], 0
    for words, variable in pieces(template):
        if variable or not words:
            continue
        found = text.find(words, at)
        if found < 0:
            return safe(text)
        out.append(safe(text[at:found]) + f'<span class="eh-own">{safe(words)}</span>')
        at = found + len(words)
    return "".join(out) + safe(text[at:])


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "[image]") for part in content)


# ---------------------------------------------------------------------- checking, comparing


def verdict_on(shown: Listed) -> str:
    """What can be said about a prompt without asking anybody."""
    checked = check_prompt(shown.prompt.yaml, shown.prompt.name)
    return checked_html(checked, ours=shown.built_in)


def checked_html(checked: Checked, *, ours: bool = False) -> str:
    prompt = checked.prompt
    problems = "".join(_problem(problem, ours) for problem in checked.problems)
    if prompt is None or not checked.usable:
        return problems
    told = (
        f"{count(len(prompt.messages), 'message')}; every variable is known; "
        f"the reply {ending(prompt.verdict)}"
    )
    sha = f"version {prompt.version}, sha {prompt.sha[:8]} · {prompt.source}"
    return (
        f'<div class="eh-row eh-foot">{status_badge("ok")}'
        f'<span class="eh-small">{safe(told)}</span><span class="eh-grow"></span>'
        f'<span class="eh-small eh-mute">{safe(sha)}</span></div>{problems}'
    )


def _problem(problem: Problem, ours: bool) -> str:
    """A prompt of ours is asked as it stands: what there is to know about it is no alarm."""
    if problem.level == "error":
        return notice("bad", "Cannot be saved.", problem.text)
    if ours:
        return f'<p class="hint">To know: {safe(problem.text)}.</p>'
    return notice("warn", "Mind:", problem.text)


def editor_side(bench: Bench, view: View, text: str) -> str:
    """Beside the editor: the text as it would be sent, and what is wrong with it."""
    checked = check_prompt(text)
    box = sent_html(bench, view, checked.prompt) if checked.prompt else ""
    well = f'<div class="eh-box well">{box}</div>' if box else ""
    return f"{checked_html(checked)}{well}"


def compared(bench: Bench, view: View) -> str:
    """Two prompts message by message, with the words that only one of them has marked."""
    folder = bench.sheet.folder
    offered = prompts_on_offer(folder)
    first = shown_prompt(bench.sheet, view)
    second = prompt_named(view.other, offered, folder)
    if first is None or second is None:
        return notice("calm", "Choose two prompts.", "Words that only one of them has are marked.")
    sides: tuple[list[str], list[str]] = ([], [])
    a, b = first.prompt, second.prompt
    for place in range(max(len(a.messages), len(b.messages))):
        mine, its = _at(a, place), _at(b, place)
        difference = word_difference(mine[1], its[1])
        for side, role, html in ((0, mine[0], difference.first), (1, its[0], difference.second)):
            sides[side].append(_message(role, html) if role else "")
    heads = [f"{p.name}, version {p.version} · {p.protocol}, {p.verdict}" for p in (a, b)]
    boxes = "".join(
        f'<div class="eh-box"><p class="eh-small eh-mute">{safe(head)}</p>{"".join(side)}</div>'
        for head, side in zip(heads, sides, strict=True)
    )
    same = " They say the same." if a.messages == b.messages else ""
    told = f"{tokens(_size(a))} and {tokens(_size(b))} tokens without the item.{same}"
    return f'<div class="eh-ed">{boxes}</div><p class="eh-small eh-mute">{safe(told)}</p>'


def _at(prompt: Prompt, place: int) -> tuple[str, str]:
    return prompt.messages[place] if place < len(prompt.messages) else ("", "")


def _size(prompt: Prompt) -> float:
    return sum(len(text) for _, text in prompt.messages) / CHARACTERS_PER_TOKEN


def saved_name(prompt: Prompt, folder: Path) -> str:
    """How the study file names a version saved beside the store."""
    return f"{own_prompts(folder).name}/{prompt.name}-v{prompt.version}.yaml"
