"""The prompts in the form: a card for each, and the drawer with library, template as sent, editor
and comparison of two prompts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from components.html.format import count, tokens
from components.html.markup import Markup, escape
from components.html.pieces import notice_html, status_badge
from components.html.templates import macros
from components.inspect.word_diff import word_difference
from components.study.file.controls import controls
from components.study.file.lenient_study import (
    FormState,
    LenientStudy,
    available_prompts,
    find_prompt,
    user_prompts_folder,
)
from components.study.plan.study_preview import StudyPreview
from judges.planning.forecast import CHARACTERS_PER_TOKEN
from judges.rendering.prompt import Prompt, load_prompt
from judges.rendering.prompt_library import LibraryPrompt, PromptCheck, check_prompt, preview_prompt
from judges.rendering.template import split_template
from studies.domain import Item
from studies.errors import EvenhandError
from studies.spec import keys, presentations

html: Final = macros("study/form/prompts.html")
PANEL_MODES: Final = {
    "library": "Library", "side": "As sent", "editor": "Editor", "compare": "Compare two",
}  # fmt: skip
VERDICT_ENDINGS: Final = {
    "overall-response": "ends “… Response X is better.”",
    "final-answer": "ends “Final Answer: X”",
    "selection-option": "says “Selection: Option k”",
    "five-level": "ends with [[A>>B]] to [[B>>A]]",
    "arena-hard": "ends with [[A>>B]] to [[B>>A]]",
    "mt-bench": "ends with [[A]], [[B]] or [[C]]",
    "rating": "ends with a rating such as [[7]]",
    "rating-pair": "ends with two ratings such as [[7, 4]]",
    "factuality": "ends with a score from 0 to 10 for each answer",
    "json-winner": "ends with JSON that names the winner",
    "result-n": "ends with [RESULT] and a number from 1 to 5",
    "grade-letter": "ends with GRADE: C, P or I",
    "pass-fail": "ends with pass or fail",
    "score-scale": "ends “Score: X”",
    "rubric": "ends with a level for each criterion",
    "label": "answers with a label alone",
}
_PROTOCOLS: Final = {
    "pairwise": "two answers",
    "five-level": "two answers, five levels",
    "choice": "all answers at once",
    "single": "one answer",
    "factuality": "two answers, facts only",
}
_NOT_FOUND: Final = "not found: there is no prompt of this name and no file at this path"
NEW_PROMPT_YAML: Final = Path(__file__).with_name("new_prompt.yaml").read_text(encoding="utf-8")
"""Text with which the editor of "New prompt" starts: a valid prompt."""


def verdict_format_clause(verdict: str) -> str:
    """Clause on how a reply in this verdict format states its verdict, such as "ends with [[A]],
    [[B]] or [[C]]"; for other formats, "has the format" and the format's name."""
    return VERDICT_ENDINGS.get(verdict, f"has the format {verdict}")


# ---------------------------------------------------------------------------------- lists


def prompt_cards(study: LenientStudy) -> Markup:
    """HTML of the study's prompts, one box each; their editor opens in a drawer."""
    named = _prompts_by_name_in_study_file(study)
    cards = []
    for name in study.prompts:
        title, version, details = name, "", _NOT_FOUND
        if one := named.get(name):
            prompt = one.prompt
            title, version = prompt.name, f"version {prompt.version}"
            details = _PROTOCOLS.get(prompt.protocol, prompt.protocol)
            details += f"; the reply {verdict_format_clause(prompt.verdict)}"
        cards.append((name, title, version, details))
    first = study.prompts[0] if study.prompts else ""
    return html.cards(cards, len(_judging_prompt_names(named)), first if first in named else "")


def prompt_library(study: LenientStudy) -> Markup:
    """HTML list of the prompts for judging, each with a checkbox: prompts of the study, prompts of
    the user, built-in prompts."""
    named, chosen = _prompts_by_name_in_study_file(study), study.prompts
    rows = []
    for name in [*chosen, *(name for name in _judging_prompt_names(named) if name not in chosen)]:
        title, details, one = name, _NOT_FOUND, named.get(name)
        if one:
            prompt = one.prompt
            own = "" if one.built_in else f"yours, sha {prompt.sha[:4]}; "
            title = prompt.name + ("" if one.built_in else f", version {prompt.version}")
            sent = count(len(prompt.messages), "message")
            details = f"{own}{prompt.protocol}, {sent}, {verdict_format_clause(prompt.verdict)}"
        rows.append((name, title, details, name in chosen, bool(one)))
    return html.library(rows)


def _prompts_by_name_in_study_file(study: LenientStudy) -> dict[str, LibraryPrompt]:
    offered = available_prompts(study.folder)
    return {one.name_in_study_file(study.folder): one for one in offered}


def _judging_prompt_names(named: Mapping[str, LibraryPrompt]) -> list[str]:
    """Names, as in study files, of the judging prompts in `named`, those saved by users before the
    built-in ones; without prompts for image descriptions and extraction."""
    judging = [
        n for n, one in named.items() if one.prompt.protocol not in ("describe", "extraction")
    ]
    return sorted(judging, key=lambda name: (named[name].built_in, name))


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


# --------------------------------------------------------------------------------- drawer


@dataclass(frozen=True, slots=True)
class PromptPreview:
    """Messages of a prompt for one item, as sent to a judge; `shown`: the models whose answers they
    contain, in order; `fault`: why there are no messages."""

    messages: Sequence[Mapping[str, Any]]
    shown: tuple[str, ...]
    fault: str = ""


def current_prompt(study: LenientStudy, state: FormState) -> LibraryPrompt | None:
    """The prompt shown in the drawer: the selected one, else the first of the study's prompts that
    is among the built-in and saved ones, else the first of them that can be read from its file;
    None if there is none."""
    offered, names = available_prompts(study.folder), (state.prompt, *study.prompts)
    for name in names:
        if one := find_prompt(name, offered, study.folder):
            return one
    for name in names:
        try:
            return LibraryPrompt(load_prompt(name, study.folder), study.folder / name, False)
        except EvenhandError:
            continue
    return None


def prompt_heading(preview: StudyPreview, state: FormState, prompt: Prompt | None) -> Markup:
    """HTML heading of the drawer: name of the prompt, selected item, buttons to the previous and
    next item, and the switch between the contents of the drawer."""
    study, n = preview.lenient_study, len(preview.items)
    at = min(state.item, max(0, n - 1))
    name = prompt.name if prompt else "No prompt"
    title = f"{name}, on item {at + 1} of {count(n)}" if n else name
    item = preview.items[at] if n else None
    titles = {"compare": "Two prompts side by side", "library": "Choose prompts"}
    if state.mode in titles:
        title, item = titles[state.mode], None
    sent = preview_messages(preview, prompt, item)
    summary = _item_summary(item, sent, prompt) if item and prompt else ""
    navigation = controls.previous_next(at, n) if n > 1 and item is not None else ""
    names = (
        [(name, name) for name in _prompts_by_name_in_study_file(study)]
        if state.mode == "compare"
        else None
    )
    first = state.prompt or (study.prompts or [""])[0]
    return html.heading(title, summary, PANEL_MODES.items(), state, navigation, names, first)


def _item_summary(item: Item, sent: PromptPreview, prompt: Prompt) -> str:
    numbers = [str(k + 1) for k in range(len(sent.shown))]
    labels = prompt.format.labels_for(len(sent.shown)) or numbers
    pairs = ", ".join(f"{n} as {label}" for n, label in zip(sent.shown, labels, strict=False))
    size = sum(len(_message_text(m["content"])) for m in sent.messages) / CHARACTERS_PER_TOKEN
    parts = [item.id, item.category, pairs, f"about {tokens(size)} tokens" if sent.messages else ""]
    return "; ".join(part for part in parts if part)


def preview_messages(
    preview: StudyPreview, prompt: Prompt | None, item: Item | None
) -> PromptPreview:
    """Messages that the study's first judge would get for an item, with answers of the study's
    models. Images are included if the study shows them and any of its judges has vision. No
    messages without a prompt or an item."""
    if prompt is None or item is None:
        return PromptPreview((), ())
    names = _item_contestants(preview, item)
    judges = preview.lenient_study.judges
    first = judges[0] if judges else {}
    read_mode = first.get("read", "probabilities" if first.get("model") == "embedded" else "text")
    sees = preview.lenient_study.text_value(*keys.STUDY.judge_sees) == "images" and any(
        j.get(keys.JUDGE.vision.name) for j in judges
    )
    images = tuple("data:," for _ in item.images) if sees else ()
    try:
        messages = preview_prompt(
            prompt, item, contestants=names, prefilled=read_mode == "probabilities", images=images
        )
    except EvenhandError as error:
        return PromptPreview((), (), str(error))
    most = {"choice": len(names), "single": 1, "describe": 1}.get(prompt.protocol, 2)
    return PromptPreview(messages, tuple(names[:most]))


def _item_contestants(preview: StudyPreview, item: Item) -> list[str]:
    answered = sorted(name for name, text in item.responses.items() if text.strip())
    if preview.plan is None:
        return answered
    names = presentations.resolve_contestants(preview.plan.study, preview.plan.items)
    return [name for name in names if name in answered] or answered


def template_and_preview(
    preview: StudyPreview, state: FormState, shown: LibraryPrompt | None
) -> Markup:
    """HTML of a prompt's template, with its variables highlighted, beside its messages as sent; a
    notice without a prompt."""
    if shown is None:
        return notice_html(
            "warn", "No prompt.", "Choose a prompt in the library, or write your own."
        )
    prompt = shown.prompt
    templates = [(role, split_template(text)) for role, text in prompt.messages]
    checked = check_prompt(prompt.yaml, prompt.name)
    return html.side_by_side(
        templates,
        sent_messages_html(preview, state, prompt),
        check_result_html(checked, shown.built_in),
    )


def sent_messages_html(preview: StudyPreview, state: FormState, prompt: Prompt) -> Markup:
    """HTML of the messages as a judge gets them: words of the template in grey, texts inserted from
    the item in black. Messages equal to their template are not shown, only counted. A notice if
    there is no item with answers, or if the prompt cannot be filled in."""
    if not preview.items:
        return notice_html(
            "warn", "No item for a preview.", preview.data_error or "The slice is empty."
        )
    item = preview.items[min(state.item, len(preview.items) - 1)]
    if not item.responses and prompt.protocol != "describe":
        return html.hint("This item has no answers, so the prompt cannot be previewed.")
    sent = preview_messages(preview, prompt, item)
    if sent.fault:
        return notice_html("bad", "The prompt cannot be rendered.", sent.fault)
    templates = [text for _, text in prompt.messages] + [""] * len(sent.messages)
    changed = [
        (
            f"{message['role']}, as sent",
            _split_by_template(_message_text(message["content"]), template),
        )
        for message, template in zip(sent.messages, templates, strict=False)
        if template != message["content"]
    ]
    return html.sent_messages(changed, len(sent.messages) - len(changed))


def _split_by_template(text: str, template: str) -> list[tuple[str, bool]]:
    """Parts of a sent message, each with True if it comes from the template and False if it was
    inserted. If the template's text is not found in the message, the whole message as one inserted
    part."""
    parts: list[tuple[str, bool]] = []
    at = 0
    for words, variable in split_template(template):
        if variable or not words:
            continue
        found = text.find(words, at)
        if found < 0:
            return [(text, False)]
        parts += [(text[at:found], False), (words, True)]
        at = found + len(words)
    return [*parts, (text[at:], False)]


def _message_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "[image]") for part in content)


# ---------------------------------------------------------------------- checking, comparing


def check_result_html(checked: PromptCheck, built_in: bool = False) -> Markup:
    """HTML result of checking a prompt without calling a judge; problems of a built-in prompt
    (`built_in`) are short notes."""
    problems = [
        notice_html("bad", "The prompt cannot be saved.", problem.text)
        if problem.level == "error"
        else html.hint(f"Note: {problem.text}.")
        if built_in
        else notice_html("warn", "Warning:", problem.text)
        for problem in checked.problems
    ]
    prompt = checked.prompt if checked.usable else None
    ending = verdict_format_clause(prompt.verdict) if prompt else ""
    return html.check_result(prompt, ending, status_badge("ok"), problems)


def editor_preview(preview: StudyPreview, state: FormState, text: str) -> Markup:
    """HTML of the edited prompt's problems, and of its messages as they would be sent."""
    checked = check_prompt(text)
    box = sent_messages_html(preview, state, checked.prompt) if checked.prompt else Markup()
    return check_result_html(checked) + (html.well(box) if box else "")


def prompt_differences_html(preview: StudyPreview, state: FormState) -> Markup:
    """HTML of two prompts message by message, with differing words marked; a notice until two
    prompts are chosen."""
    folder = preview.lenient_study.folder
    first = current_prompt(preview.lenient_study, state)
    second = find_prompt(state.other, available_prompts(folder), folder)
    if first is None or second is None:
        return notice_html(
            "calm",
            "Choose two prompts.",
            "Words that occur in only one of the two prompts are marked.",
        )
    a, b = first.prompt, second.prompt
    sides: tuple[list[tuple[str, Markup]], list[tuple[str, Markup]]] = ([], [])
    for index in range(max(len(a.messages), len(b.messages))):
        (left, mine), (right, its) = (
            p.messages[index] if index < len(p.messages) else ("", "") for p in (a, b)
        )
        difference = word_difference(mine, its)
        sides[0].append((left, escape(difference.first)))
        sides[1].append((right, escape(difference.second)))
    sizes = [
        tokens(sum(len(text) for _, text in p.messages) / CHARACTERS_PER_TOKEN) for p in (a, b)
    ]
    return html.comparison(((a, sides[0]), (b, sides[1])), sizes, a.messages == b.messages)


def saved_prompt_path(prompt: Prompt, folder: Path) -> str:
    """Path by which study files name a saved version of a prompt."""
    return f"{user_prompts_folder(folder).name}/{prompt.name}-v{prompt.version}.yaml"
