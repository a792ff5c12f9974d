"""List of the available prompts in the form, with the study's prompts ticked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from components.html.format import count
from components.html.markup import Markup, fill, join
from components.study.file.controls import action_checkbox, form_button, form_link, subheading
from components.study.file.lenient_study import LenientStudy, available_prompts
from judges.rendering.prompt import load_prompt
from judges.rendering.prompt_library import LibraryPrompt
from studies.errors import EvenhandError


def prompt_cards(study: LenientStudy) -> Markup:
    """HTML cards of the study's prompts; their editor opens in a drawer."""
    offered = available_prompts(study.folder)
    named = {one.reference_from(study.folder): one for one in offered}
    cards = join(_prompt_card(name, named.get(name)) for name in study.prompts)
    library = {"do": "mode", "mode": "library"}
    words = "Add another" if study.prompts else "Choose a prompt"
    first = study.prompts[0] if study.prompts else ""
    buttons = form_button(words, library)
    if first in named:
        shown = {"do": "show prompt", "prompt": first}
        buttons = (
            form_button("Preview as sent", {**shown, "mode": "side"})
            + form_button("Edit", {**shown, "mode": "editor"}, label=f"Edit {first}")
            + buttons
        )
    many = sum(1 for _ in _sort_names(named))
    head = subheading(
        "Prompt" if len(study.prompts) == 1 else "Prompts", f"{count(many)} in the library"
    )
    return fill('{}{}<div class="eh-row">{}</div>', head, cards, buttons)


def _prompt_card(name: str, one: LibraryPrompt | None) -> Markup:
    if one is None:
        title, version = name, ""
        details = "not found: there is no prompt of this name and no file at this path"
    else:
        title, version = one.prompt.name, f"version {one.prompt.version}"
        details = f"{_protocol_text(one.prompt.protocol)}; the reply "
        details += verdict_ending(one.prompt.verdict)
    remove = form_link(
        "Remove", {"do": "prompt", "prompt": name, "on": False}, label=f"Remove {title} {version}"
    )
    change = form_button(
        "Change",
        {"do": "show prompt", "prompt": name, "mode": "library"},
        kind="small",
        label=f"Change {title} {version}".strip(),
    )
    return fill(
        '<div class="eh-jc"><header><b class="eh-mono">{}</b><span class="eh-small eh-mute">{}'
        '</span><span class="eh-grow"></span>{} {}</header><div class="d">{}</div></div>',
        title,
        version,
        fill('<span class="eh-small">{}</span>', remove),
        change,
        details,
    )


def _protocol_text(protocol: str) -> str:
    return {
        "pairwise": "two answers",
        "five-level": "two answers, five levels",
        "choice": "all answers at once",
        "single": "one answer",
        "factuality": "two answers, facts only",
    }.get(protocol, protocol)


def prompt_library(study: LenientStudy) -> Markup:
    """HTML list of all prompts, each with a checkbox: prompts of the study, prompts of the user,
    built-in prompts."""
    offered = available_prompts(study.folder)
    chosen = study.prompts
    named = {one.reference_from(study.folder): one for one in offered}
    rows = [_prompt_row(name, named.get(name), True) for name in chosen]
    rows += [
        _prompt_row(name, named[name], False) for name in _sort_names(named) if name not in chosen
    ]
    new = form_button("New prompt", {"do": "new prompt"})
    note = "If you choose several prompts, they are compared on the same questions."
    return fill('<p class="hint">{}</p>{}<div class="eh-row">{}</div>', note, join(rows), new)


def _sort_names(named: Mapping[str, LibraryPrompt]) -> list[str]:
    """Names of the judging prompts, those saved by users before the built-in ones; without prompts
    for image descriptions and extraction."""
    judging = [
        n for n, one in named.items() if one.prompt.protocol not in ("describe", "extraction")
    ]
    return sorted(judging, key=lambda name: (named[name].built_in, name))


VERDICT_ENDINGS: Final = {
    "overall-response": "ends “… Response X is better.”",
    "final-answer": "ends “Final Answer: X”",
    "selection-option": "says “Selection: Option k”",
    "five-level": "ends with [[A>>B]] to [[B>>A]]",
    "arena-hard": "ends with [[A>>B]] to [[B>>A]]",
    "mt-bench": "ends with [[A]], [[B]] or [[C]]",
    "rating": "ends with a rating such as [[7]]",
    "label": "answers with a label alone",
}


def verdict_ending(verdict: str) -> str:
    """Clause on how a reply in this verdict format states its verdict, such as "ends with [[A]],
    [[B]] or [[C]]"; for other formats, "has the format" and the format's name."""
    return VERDICT_ENDINGS.get(verdict, f"has the format {verdict}")


def _prompt_row(name: str, one: LibraryPrompt | None, on: bool) -> Markup:
    if one is None:
        details, title = "not found: there is no prompt of this name and no file at this path", name
    else:
        prompt = one.prompt
        own = "" if one.built_in else f"yours, sha {prompt.sha[:4]}; "
        title = prompt.name + ("" if one.built_in else f", version {prompt.version}")
        sent = count(len(prompt.messages), "message")
        details = f"{own}{prompt.protocol}, {sent}, {verdict_ending(prompt.verdict)}"
    box = action_checkbox(f"Use {title}", {"do": "prompt", "prompt": name, "on": not on}, on)
    opens = join(
        (
            form_link(
                words, {"do": "show prompt", "prompt": name, "mode": mode}, label=f"{words} {title}"
            )
            for words, mode in (("Preview", "side"), ("Edit", "editor"))
        ),
        " · ",
    )
    aside = fill('<span class="eh-small">{}</span>', opens) if one else ""
    return fill(
        '<div class="eh-pl{}">{}<span class="eh-mono">{}</span>{}<span class="d">{}</span></div>',
        " on" if on else "",
        box,
        title,
        aside,
        details,
    )


def prompt_protocols(study: LenientStudy) -> frozenset[str]:
    """Protocols of the study's prompts, such as "pairwise"; prompts that cannot be loaded are left
    out."""
    found = []
    for name in study.prompts:
        try:
            found.append(load_prompt(name, study.folder).protocol)
        except EvenhandError:
            continue  # the plan reports the error
    return frozenset(found)
