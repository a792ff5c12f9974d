"""The form's prompt panel: template, preview on an item, checks, comparison of two prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from components.html.format import count, tokens
from components.html.markup import Markup, escape, fill, join
from components.html.pieces import notice_html, status_badge
from components.inspect.word_diff import word_difference
from components.study.file.controls import (
    drawer_head,
    previous_next,
    segmented_switch,
    select_menu,
)
from components.study.file.lenient_study import (
    FormState,
    LenientStudy,
    available_prompts,
    find_prompt,
    own_prompts_folder,
)
from components.study.form.prompt_list import verdict_ending
from components.study.plan.study_preview import StudyPreview
from judges.planning.forecast import CHARACTERS_PER_TOKEN
from judges.rendering.prompt import Prompt, load_prompt
from judges.rendering.prompt_library import (
    LibraryPrompt,
    PromptCheck,
    PromptProblem,
    check_prompt,
    preview_prompt,
)
from judges.rendering.template import split_template
from studies.domain import Item
from studies.errors import EvenhandError
from studies.spec.keys import JUDGE, STUDY
from studies.spec.presentations import resolve_contestants

PANEL_MODES: Final = (
    ("library", "Library"),
    ("side", "As sent"),
    ("editor", "Editor"),
    ("compare", "Compare two"),
)
NEW_PROMPT_YAML: Final = """\
name: my-prompt
version: 1
source: ours
protocol: pairwise
messages:
  - system: Say which answer is more helpful to the person who asked. Nothing else counts.
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
"""Text with which the editor of "New prompt" starts: a valid prompt."""


@dataclass(frozen=True, slots=True)
class PromptPreview:
    """Messages of a prompt for one item, as sent to a judge; `fault`: why there are none."""

    messages: Sequence[Mapping[str, Any]]
    shown: tuple[str, ...]
    fault: str = ""


# --------------------------------------------------------------------------- one prompt


def current_prompt(study: LenientStudy, view: FormState) -> LibraryPrompt | None:
    """The prompt shown in the prompt panel: the selected one, else the first of the study."""
    offered = available_prompts(study.folder)
    for name in (view.prompt, *study.prompts):
        if one := find_prompt(name, offered, study.folder):
            return one
    return _load_by_path(study, view)


def _load_by_path(study: LenientStudy, view: FormState) -> LibraryPrompt | None:
    """First prompt file that can be loaded: the selected prompt, else a prompt of the study."""
    for name in (view.prompt, *study.prompts):
        try:
            return LibraryPrompt(load_prompt(name, study.folder), study.folder / name, False)
        except EvenhandError:
            continue
    return None


def prompt_heading(preview: StudyPreview, view: FormState, prompt: Prompt | None) -> Markup:
    """HTML heading of the prompt panel: prompt, item, navigation and view switch."""
    n = len(preview.items)
    at = min(view.item, max(0, n - 1))
    name = prompt.name if prompt else "No prompt"
    title = f"{name}, on item {at + 1} of {count(n)}" if n else name
    item = preview.items[at] if n else None
    if view.mode == "compare":
        title, item = "Two prompts side by side", None
    if view.mode == "library":
        title, item = "Choose prompts", None
    sent = preview_messages(preview, prompt, item)
    summary = _item_summary(item, sent, prompt) if item and prompt else ""
    navigation = previous_next(at, n, "item") if n > 1 and item is not None else ""
    switch = fill(
        '<span id="f-mode-l" hidden>View</span>{}', segmented_switch("mode", PANEL_MODES, view.mode)
    )
    other = ""
    if view.mode == "compare":
        names = [
            one.reference_from(preview.lenient_study.folder)
            for one in available_prompts(preview.lenient_study.folder)
        ]
        options = [(one, one) for one in names]
        first = view.prompt or (preview.lenient_study.prompts or [""])[0]
        other = select_menu("prompt", options, first, label="First prompt") + select_menu(
            "other", [("", "choose another"), *options], view.other, label="Second prompt"
        )
    return drawer_head(title) + fill(
        '<p class="eh-small eh-mute">{}</p><div class="eh-row eh-modes">{}{}{}</div>{}',
        summary,
        switch,
        navigation,
        other,
        view.notice_html,
    )


def _item_summary(item: Item, sent: PromptPreview, prompt: Prompt) -> str:
    labels = prompt.format.labels_for(len(sent.shown)) or [
        str(k + 1) for k in range(len(sent.shown))
    ]
    pairs = ", ".join(f"{n} as {label}" for n, label in zip(sent.shown, labels, strict=False))
    size = sum(len(_message_text(m["content"])) for m in sent.messages) / CHARACTERS_PER_TOKEN
    parts = [item.id, item.category, pairs, f"about {tokens(size)} tokens" if sent.messages else ""]
    return "; ".join(part for part in parts if part)


def preview_messages(
    preview: StudyPreview, prompt: Prompt | None, item: Item | None
) -> PromptPreview:
    """Messages for an item with answers of the study's models, as they would be sent to the study's
    first judge."""
    if prompt is None or item is None:
        return PromptPreview((), ())
    names = _item_contestants(preview, item)
    judges = preview.lenient_study.judges
    first = judges[0] if judges else {}
    read_mode = first.get("read", "probabilities" if first.get("model") == "embedded" else "text")
    sees = preview.lenient_study.text_value(*STUDY.judge_sees) == "images" and any(
        j.get(JUDGE.vision.name) for j in judges
    )
    images = tuple("data:," for _ in item.images) if sees else ()
    try:
        messages = preview_prompt(
            prompt, item, contestants=names, prefilled=read_mode == "probabilities", images=images
        )
    except EvenhandError as error:
        return PromptPreview((), (), str(error))
    pairs = prompt.protocol not in ("choice", "single", "describe")
    shown = names[:2] if pairs else names if prompt.protocol == "choice" else names[:1]
    return PromptPreview(messages, tuple(shown))


def _item_contestants(preview: StudyPreview, item: Item) -> list[str]:
    answered = sorted(name for name, text in item.responses.items() if text.strip())
    if preview.plan is None:
        return answered
    names = resolve_contestants(preview.plan.study, preview.plan.items)
    return [name for name in names if name in answered] or answered


def template_and_preview(
    preview: StudyPreview, view: FormState, shown: LibraryPrompt | None
) -> Markup:
    if shown is None:
        return notice_html(
            "warn", "No prompt.", "Choose a prompt in the library, or write your own."
        )
    prompt = shown.prompt
    return fill(
        '<div class="eh-ed"><div class="eh-box">{}</div><div class="eh-box well">{}</div></div>{}',
        template_html(prompt),
        preview_html(preview, view, prompt),
        prompt_check_html(shown),
    )


def template_html(prompt: Prompt) -> Markup:
    """HTML of the template, with its variables highlighted."""
    return join(
        _message_html(
            role,
            join(_variable_chip(t) if var else escape(t) for t, var in split_template(text)),
        )
        for role, text in prompt.messages
    )


def _variable_chip(name: str) -> Markup:
    return fill('<span class="eh-var">${}</span>', name)


def _message_html(role: str, html: str) -> Markup:
    return fill('<div class="eh-msg"><b>{}</b><pre>{}</pre></div>', role, html)


def preview_html(preview: StudyPreview, view: FormState, prompt: Prompt) -> Markup:
    """HTML of the messages as sent to a judge: text of the template in grey, text inserted from the
    item in black."""
    if not preview.items:
        return notice_html(
            "warn", "No item for a preview.", preview.data_error or "The slice is empty."
        )
    item = preview.items[min(view.item, len(preview.items) - 1)]
    if not item.responses and prompt.protocol != "describe":
        return Markup(
            '<p class="hint">This item has no answers, so the prompt cannot be previewed.</p>'
        )
    sent = preview_messages(preview, prompt, item)
    if sent.fault:
        return notice_html("bad", "The prompt cannot be rendered.", sent.fault)
    parts, same = [], 0
    for index, message in enumerate(sent.messages):
        template = prompt.messages[index][1] if index < len(prompt.messages) else ""
        if template == message["content"]:
            same += 1
            continue
        body = _shade_template(_message_text(message["content"]), template)
        parts.append(_message_html(f"{message['role']}, as sent", body))
    unchanged = (
        f"Not shown: {count(same, 'message')} sent exactly as in the template." if same else ""
    )
    return join(parts) + (fill('<p class="hint">{}</p>', unchanged) if unchanged else "")


def _shade_template(text: str, template: str) -> Markup:
    """HTML of a sent message, with the template's text in grey if it can be located."""
    out, at = [], 0
    for words, variable in split_template(template):
        if variable or not words:
            continue
        found = text.find(words, at)
        if found < 0:
            return escape(text)
        out.append(escape(text[at:found]) + fill('<span class="eh-own">{}</span>', words))
        at = found + len(words)
    return join(out) + escape(text[at:])


def _message_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "[image]") for part in content)


# ---------------------------------------------------------------------- checking, comparing


def prompt_check_html(shown: LibraryPrompt) -> Markup:
    """HTML result of checking a prompt, without calling a judge."""
    checked = check_prompt(shown.prompt.yaml, shown.prompt.name)
    return check_result_html(checked, ours=shown.built_in)


def check_result_html(checked: PromptCheck, *, ours: bool = False) -> Markup:
    prompt = checked.prompt
    problems = join(_problem_html(problem, ours) for problem in checked.problems)
    if prompt is None or not checked.usable:
        return problems
    summary = (
        f"The prompt has {count(len(prompt.messages), 'message')}; every variable is known; the "
        f"judge's reply {verdict_ending(prompt.verdict)}"
    )
    sha = f"version {prompt.version}, sha {prompt.sha[:8]} · {prompt.source}"
    return fill(
        '<div class="eh-row eh-foot">{}'
        '<span class="eh-small">{}</span><span class="eh-grow"></span>'
        '<span class="eh-small eh-mute">{}</span></div>{}',
        status_badge("ok"),
        summary,
        sha,
        problems,
    )


def _problem_html(problem: PromptProblem, ours: bool) -> Markup:
    """HTML of one problem of a prompt: error notice, warning, or a short note for a built-in prompt
    (`ours`)."""
    if problem.level == "error":
        return notice_html("bad", "The prompt cannot be saved.", problem.text)
    if ours:
        return fill('<p class="hint">Note: {}.</p>', problem.text)
    return notice_html("warn", "Warning:", problem.text)


def editor_preview(preview: StudyPreview, view: FormState, text: str) -> str:
    """HTML of the edited prompt's problems, and of its messages as they would be sent."""
    checked = check_prompt(text)
    box = preview_html(preview, view, checked.prompt) if checked.prompt else ""
    well = fill('<div class="eh-box well">{}</div>', box) if box else ""
    return check_result_html(checked) + well


def compare_prompts(preview: StudyPreview, view: FormState) -> Markup:
    """HTML of two prompts message by message, with differing words marked."""
    folder = preview.lenient_study.folder
    offered = available_prompts(folder)
    first = current_prompt(preview.lenient_study, view)
    second = find_prompt(view.other, offered, folder)
    if first is None or second is None:
        return notice_html(
            "calm",
            "Choose two prompts.",
            "Words that occur in only one of the two prompts are marked.",
        )
    sides: tuple[list[str], list[str]] = ([], [])
    a, b = first.prompt, second.prompt
    for index in range(max(len(a.messages), len(b.messages))):
        left, right = _message_at(a, index), _message_at(b, index)
        difference = word_difference(left[1], right[1])
        for side, role, html in ((0, left[0], difference.first), (1, right[0], difference.second)):
            sides[side].append(_message_html(role, html) if role else "")
    heads = [f"{p.name}, version {p.version} · {p.protocol}, {p.verdict}" for p in (a, b)]
    boxes = join(
        fill('<div class="eh-box"><p class="eh-small eh-mute">{}</p>{}</div>', head, join(side))
        for head, side in zip(heads, sides, strict=True)
    )
    same = " Their messages are identical." if a.messages == b.messages else ""
    sizes = f"{tokens(_estimate_tokens(a))} and {tokens(_estimate_tokens(b))} tokens"
    summary = f"{sizes} without the item.{same}"
    return fill('<div class="eh-ed">{}</div><p class="eh-small eh-mute">{}</p>', boxes, summary)


def _message_at(prompt: Prompt, index: int) -> tuple[str, str]:
    return prompt.messages[index] if index < len(prompt.messages) else ("", "")


def _estimate_tokens(prompt: Prompt) -> float:
    return sum(len(text) for _, text in prompt.messages) / CHARACTERS_PER_TOKEN


def saved_prompt_path(prompt: Prompt, folder: Path) -> str:
    """Path by which study files name a saved version of a prompt."""
    return f"{own_prompts_folder(folder).name}/{prompt.name}-v{prompt.version}.yaml"
