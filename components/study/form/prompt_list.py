"""The prompts on offer: a line each, ticked if the study asks with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from components.html.format import count, escape
from components.study.file.controls import action_checkbox, form_button, form_link, subheading
from components.study.file.lenient_study import LenientStudy, available_prompts
from judges.rendering.prompt import load_prompt
from judges.rendering.prompt_library import LibraryPrompt
from studies.errors import EvenhandError

_VISIBLE_PROMPTS: Final = 4
"""How many prompts are in sight beside the chosen ones; the rest is folded."""


def prompt_list(sheet: LenientStudy) -> str:
    """Chosen ones first, then yours, then ours; the protocol comes with the prompt."""
    offered = available_prompts(sheet.folder)
    chosen = sheet.prompts
    named = {one.reference_from(sheet.folder): one for one in offered}
    used = [_prompt_row(name, named.get(name), sheet, True) for name in chosen]
    rest = [name for name in _sort_names(named) if name not in chosen]
    kinds = {named[name].prompt.protocol for name in chosen if name in named}
    near = [n for n in rest if not named[n].built_in or named[n].prompt.protocol in kinds][
        :_VISIBLE_PROMPTS
    ]
    others = [_prompt_row(name, named[name], sheet, False) for name in rest if name not in near]
    shown = [*used, *(_prompt_row(name, named[name], sheet, False) for name in near)]
    more = (
        f"<details class='eh-how eh-all' data-keep='all prompts'><summary>{count(len(others))} "
        f"more</summary>{''.join(others)}</details>"
        if others
        else ""
    )
    buttons = form_button("New prompt", {"do": "new prompt"}) + form_button(
        "Compare two", {"do": "mode", "mode": "compare"}, kind="ghost"
    )
    head = subheading("Prompts", "the protocol comes with the prompt")
    return f'{head}{"".join(shown)}{more}<div class="eh-row">{buttons}</div>'


def _sort_names(named: Mapping[str, LibraryPrompt]) -> list[str]:
    """Yours first; only what can judge: a describe or extraction prompt is no judge prompt."""
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
    """How a reply says its verdict; a format without words of ours goes by its name."""
    return VERDICT_ENDINGS.get(verdict, f"in the format {verdict}")


def _prompt_row(name: str, one: LibraryPrompt | None, sheet: LenientStudy, on: bool) -> str:
    if one is None:
        told, title = "not found: no prompt of this name, and no file at this path", name
    else:
        prompt = one.prompt
        mine = "" if one.built_in else f"yours, sha {prompt.sha[:4]}; "
        title = prompt.name + ("" if one.built_in else f", version {prompt.version}")
        sent = count(len(prompt.messages), "message")
        told = f"{mine}{prompt.protocol}, {sent}, {verdict_ending(prompt.verdict)}"
    box = action_checkbox(f"Ask with {title}", {"do": "prompt", "prompt": name, "on": not on}, on)
    opens = " · ".join(
        form_link(
            words, {"do": "show prompt", "prompt": name, "mode": mode}, label=f"{words} {title}"
        )
        for words, mode in (("Preview", "side"), ("Edit", "editor"))
    )
    aside = f'<span class="eh-small">{opens}</span>' if one else ""
    return (
        f'<div class="eh-pl{" on" if on else ""}">{box}'
        f'<span class="eh-mono">{escape(title)}</span>{aside}'
        f'<span class="d">{escape(told)}</span></div>'
    )


def prompt_protocols(sheet: LenientStudy) -> frozenset[str]:
    """The protocols of the study's prompts, as far as they can be found."""
    found = []
    for name in sheet.prompts:
        try:
            found.append(load_prompt(name, sheet.folder).protocol)
        except EvenhandError:
            continue  # the plan says so
    return frozenset(found)
