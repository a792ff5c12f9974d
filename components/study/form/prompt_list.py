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

_VISIBLE_PROMPTS: Final = 4
"""Number of unselected prompts shown; the others are folded."""


def prompt_list(study: LenientStudy) -> Markup:
    """HTML list of prompts: selected ones first, then the user's own, then the other built-in
    ones."""
    offered = available_prompts(study.folder)
    chosen = study.prompts
    named = {one.reference_from(study.folder): one for one in offered}
    selected = [_prompt_row(name, named.get(name), study, True) for name in chosen]
    unselected = [name for name in _sort_names(named) if name not in chosen]
    kinds = {named[name].prompt.protocol for name in chosen if name in named}
    visible = [n for n in unselected if not named[n].built_in or named[n].prompt.protocol in kinds][
        :_VISIBLE_PROMPTS
    ]
    others = [
        _prompt_row(name, named[name], study, False) for name in unselected if name not in visible
    ]
    shown = [*selected, *(_prompt_row(name, named[name], study, False) for name in visible)]
    more = (
        fill(
            "<details class='eh-how eh-all' data-keep='all prompts'><summary>{} "
            "more</summary>{}</details>",
            count(len(others)),
            join(others),
        )
        if others
        else ""
    )
    buttons = form_button("New prompt", {"do": "new prompt"}) + form_button(
        "Compare two", {"do": "mode", "mode": "compare"}, kind="ghost"
    )
    head = subheading("Prompts", "each prompt defines its protocol")
    return fill('{}{}{}<div class="eh-row">{}</div>', head, join(shown), more, buttons)


def _sort_names(named: Mapping[str, LibraryPrompt]) -> list[str]:
    """Names of the judging prompts, the user's own first; prompts for descriptions and extraction
    are left out."""
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
    """Clause on where a reply states its verdict; the name of the format if there is no such
    clause."""
    return VERDICT_ENDINGS.get(verdict, f"has the format {verdict}")


def _prompt_row(name: str, one: LibraryPrompt | None, study: LenientStudy, on: bool) -> Markup:
    if one is None:
        details, title = "not found: no prompt of this name and no file at this path", name
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
    """Protocols of the study's prompts; prompts that cannot be loaded are ignored."""
    found = []
    for name in study.prompts:
        try:
            found.append(load_prompt(name, study.folder).protocol)
        except EvenhandError:
            continue  # the plan reports the error
    return frozenset(found)
