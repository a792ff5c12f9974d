"""Format Creation-MMBench: creative tasks about images, with separate criteria for every question.

The answer of the baseline model (`reference_answer_by_gpt4o`) is the item's reference, compared as
`@reference`. The contestants' answers are in `prediction` files or columns.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, Final

from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.join import answer_column, join_answers, join_key

MAX_LITERAL_CHARS: Final = 200_000
MAX_LITERAL_DEPTH: Final = 20
TEXT_ONLY_SPLIT: Final = "text-only"
"""Value of `data.split` for the variant with descriptions in place of images."""

TASKS_BY_CATEGORY: Final[Mapping[str, tuple[str, ...]]] = {
    "Literary Writing": (
        "story_continue", "landscape_to_poem", "historical_story_creation",
        "story_novel_creation", "prose_writing_scenery", "art_inspired_prose",
        "daily_conversation_creation", "children_book_illustration_dialogue_creation",
    ),
    "Common Functional Writing": (
        "ins_simple_daily_copywriter", "travel_journal", "short_video_scripts_for_social_media",
        "social_media_travel_content", "daily_achievement_show_off",
        "scientific_research_simple_promotion", "twitter_comment_on_daily_news",
        "personal_event_summaries", "daily_affairs_inquiries",
        "business_collaborative_email_writing", "daily_emotional_email_writing",
        "letter_of_complaint", "daily_invitation_email_writing", "holiday_card_writing",
        "letter_of_application", "product_usage_experience_review", "store_experience_review",
        "public_welfare_activity_participation_initiative",
    ),
    "Professional Functional Writing": (
        "museum_guide_word_creation", "recipe_infer_and_guide", "landscape_introduction",
        "drafting_announcements_for_public_spaces", "floor_plan_renovation_design",
        "teaching_plan", "nutritional_formulation_of_recipe", "clothing_match_design",
        "software_engineering_diagram_explanation", "event_planning_and_venue_arrangement",
        "ui_design_analysis_and_optimization", "attraction_promotional_words",
        "product_marketing_strategy",
        "script_writing_for_product_advertisement_promotional_video", "residence_reasoning",
        "scientific_diagram_understanding", "pulitzer_prize_judge", "architecture_appreciation",
        "company_team_amuse_broadcast",
    ),
    "Creative Multimodal Understanding": (
        "travel_itinerary_planning_and_recommendations", "photography_appreciation",
        "meme_explanation", "advertisement_explanation", "document_understanding",
        "snapshot_analysis",
    ),
}  # fmt: skip
"""The 51 tasks by their names in the data, in the four categories of the paper."""

CATEGORY_BY_TASK: Final = {
    task: category for category, tasks in TASKS_BY_CATEGORY.items() for task in tasks
}
_DESCRIPTION_COLUMNS: Final = (
    "description",
    "image_description",
    "dense_caption",
    "caption",
    "context",
)
_QUERY_PARTS: Final = ("role", "background", "instruction", "requirement")


def matches_table(table: SourceTable) -> str:
    if table.has("criteria", "task_name") and (table.has("question") or table.has("instruction")):
        return "criteria, task_name and a question are Creation-MMBench's columns"
    if table.has("index", "question", "criteria") and table.has("reference_answer_by_gpt4o"):
        return "index, question, criteria and reference_answer_by_gpt4o are Creation-MMBench's"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    table, spec, builder = source.rows, source.spec, SourceBuilder()
    files = {name: source.read_other_file(path) for name, path in spec.files.items()}
    on = spec.join or ("index",)
    keys = [join_key(row, on) for row in table.rows]
    answers, report = join_answers(keys, on, files, _prediction_column)
    builder.join = report if files else None
    own = _answer_columns(table, set(files))
    images = {text_of(row.get("index")): row.get("image") for row in table.rows}
    for index, row in enumerate(table.rows):
        where = table.where(index)
        mine = {name: text_of(row.get(column)) for name, column in own.items()}
        _add_item(builder, row, mine | answers[index], images, where, spec.split == TEXT_ONLY_SPLIT)
    unknown = sorted({text_of(row.get("task_name")) for row in table.rows} - set(CATEGORY_BY_TASK))
    if unknown:
        builder.notes.append(f"no known category for the tasks {', '.join(unknown[:5])}")
    builder.notes.append("the baseline's answer is the reference, compared as @reference")
    return builder


def _prediction_column(table: SourceTable, contestant: str) -> str:
    return "prediction" if table.has("prediction") else answer_column(table, contestant)


def _answer_columns(table: SourceTable, taken: set[str]) -> dict[str, str]:
    """Return model -> its column of answers (`prediction:<model>`), except models in `taken`."""
    found = {}
    for column in table.columns:
        if column == "prediction":
            found["prediction"] = column
        elif match := re.fullmatch(r"prediction[:_ -]+(.+)", column):
            found[match[1]] = column
    return {name: column for name, column in found.items() if name not in taken}


def _add_item(
    builder: SourceBuilder,
    row: Row,
    answers: Mapping[str, str],
    images: Mapping[str, Any],
    where: str,
    text_only: bool,
) -> None:
    task = text_of(row.get("task_name"))
    description = next(
        (text for name in _DESCRIPTION_COLUMNS if (text := _trimmed_text(row, name))), ""
    )
    if text_only and not description:
        raise SourceError(
            f"{where}: split: text-only needs a description of the images; expected one of the "
            f"columns {', '.join(_DESCRIPTION_COLUMNS)} (a describe prompt can generate it)"
        )
    builder.add_item(
        f"creation-{_item_number(row, where)}",
        build_instruction(row, description if text_only else "", where),
        answers,
        where=where,
        category=text_of(row.get("category")) or CATEGORY_BY_TASK.get(task, ""),
        context="" if text_only else description,
        images=() if text_only else _image_sources(row, images, where),
        reference=_trimmed_text(row, "reference_answer_by_gpt4o"),
        ground_truth=_trimmed_text(row, "ground_truth"),
        criteria=parse_criteria(row.get("criteria"), where),
        meta={"task": task},
    )


def _item_number(row: Row, where: str) -> str:
    number = text_of(row.get("index")).strip()
    if not number:
        raise SourceError(f"{where}: column 'index' is empty; fill it or remove the row")
    return number.zfill(4) if number.isdigit() else number


def build_instruction(row: Row, description: str, where: str) -> str:
    """Return a row's question; if empty, build it from other columns by the query template."""
    question = _trimmed_text(row, "question")
    if not question:
        parts = {
            name: _trimmed_text(row, name) or _trimmed_text(row, f"{name}s")
            for name in _QUERY_PARTS
        }
        if not parts["instruction"]:
            raise SourceError(
                f"{where}: columns 'question' and 'instruction' are both empty; fill one of them"
            )
        question = build_query(**parts)
    return f"{question}\n\n{description_note(description)}" if description else question


def build_query(role: str, background: str, instruction: str, requirement: str) -> str:
    """Build the question by Creation-MMBench's query template; empty parts are left out."""
    task = instruction
    if requirement:
        initial = instruction[:1].lower() if instruction[1:2].islower() else instruction[:1]
        task = f"Please follow the requirements below to {initial}{instruction[1:].rstrip('.')}."
    lines = [f"Assume you are {role.rstrip('.')}." if role else "", background, task, requirement]
    return "\n".join(line for line in lines if line)


def description_note(description: str) -> str:
    """Return the text that replaces the images in the text-only variant."""
    return f"The images themselves are not shown. What they show, in words:\n{description}"


def parse_criteria(value: Any, where: str) -> dict[str, str]:
    """Parse subjective and factuality criteria from a cell with a Python dict literal."""
    found = value if isinstance(value, Mapping) else _parse_literal(text_of(value).strip(), where)
    if isinstance(found, str):
        return {"subjective": found} if found else {}
    out: dict[str, str] = {}
    for name, text in found.items():
        kind = "subjective" if "subjective" in str(name).casefold() else "factuality"
        if re.search(r"\w", text_of(text)):
            out[kind] = text_of(text)
    return out


def _parse_literal(text: str, where: str) -> Mapping[Any, Any] | str:
    """Parse a dict literal of plain values; size and depth are checked before parsing."""
    if not text.startswith("{"):
        return text
    if len(text) > MAX_LITERAL_CHARS or _bracket_depth(text) > MAX_LITERAL_DEPTH:
        raise SourceError(
            f"{where}: column 'criteria': too large or nested too deeply to be read; shorten it"
        )
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        value = None
    if not isinstance(value, dict):
        raise SourceError(
            f"{where}: column 'criteria': expected a dict such as {{'subjective requirement': "
            f"'…'}}, found {text[:80]!r}; correct the row or remove it"
        )
    return value


def _bracket_depth(text: str) -> int:
    """Return the maximum depth of nested brackets in a text; brackets inside quotes count too."""
    depth = deepest = 0
    for character in text:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth -= 1
    return deepest


def _image_sources(row: Row, images: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Return a row's images as data URLs or paths; `images` maps the `index` of each row to its
    cell `image`, which can be the index of another row with the image."""
    value = row.get("image")
    for _ in range(3):
        text = text_of(value).strip() if not isinstance(value, list) else ""
        if text and len(text) <= 64 and text in images and images[text] is not value:
            value = images[text]
    cells = value if isinstance(value, list) else _split_list(text_of(value).strip())
    found = [_image_source(text_of(cell).strip(), where) for cell in cells]
    if not any(found):
        found = [
            _image_source(path, where) for path in _split_list(_trimmed_text(row, "image_path"))
        ]
    return tuple(image for image in found if image)


def _split_list(text: str) -> list[str]:
    if not (text.startswith("[") and text.endswith("]")):
        return [text]
    inner = text[1:-1].strip()
    return [part.strip().strip("'\"") for part in inner.split(",")] if inner else []


_KIND_BY_BASE64_START: Final = {"/9j/": "jpeg", "iVBOR": "png", "R0lGOD": "gif", "UklGR": "webp"}


def _image_source(text: str, where: str) -> str:
    if not text or text.startswith(("https://", "data:")):
        return text
    for magic, kind in _KIND_BY_BASE64_START.items():
        if text.startswith(magic) and len(text) > 64:
            return f"data:image/{kind};base64,{text}"
    if len(text) > 1000 or text.startswith("/") or ".." in text:
        raise SourceError(
            f"{where}: column 'image': expected base64, an https:// address or a path inside the "
            f"file's folder, found {text[:60]!r}; correct the row or remove it"
        )
    return text


def _trimmed_text(row: Row, column: str) -> str:
    text = text_of(row.get(column)).strip()
    return "" if text.casefold() in ("nan", "\\") else text
