"""Format Creation-MMBench: creative tasks about images, with separate criteria for every
question."""

import ast
import re
from collections.abc import Mapping
from typing import Any, Final

from studies.errors import SourceError
from studies.files.tables import SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.cells import RowCells
from studies.sources.join import answer_column, join_answers, join_key_of_row
from studies.sources.source_format import OpenedSource, reads

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
_DESCRIPTIONS: Final = ("description", "image_description", "dense_caption", "caption", "context")
_QUERY_PARTS: Final = ("role", "background", "instruction", "requirement")
_KIND_BY_BASE64_START: Final = {"/9j/": "jpeg", "iVBOR": "png", "R0lGOD": "gif", "UklGR": "webp"}
_TASKS: Final = "criteria, task_name and a question are Creation-MMBench's columns"


@reads(
    "creation-mmbench",
    "Creation-MMBench questions with criteria",
    "items with criteria",
    {
        "criteria, task_name, question": _TASKS,
        "criteria, task_name, instruction": _TASKS,
        "index, question, criteria, reference_answer_by_gpt4o": "index, question, criteria and "
        "reference_answer_by_gpt4o are Creation-MMBench's",
    },
)
def read_creation_mmbench(source: OpenedSource) -> SourceBuilder:
    """Read the questions of Creation-MMBench with their criteria, and the models' answers.

    The baseline's answer (`reference_answer_by_gpt4o`) is the reference, compared as `@reference`;
    the models' answers are in `prediction` files or columns.
    """
    table, spec, builder = source.rows, source.spec, SourceBuilder()
    files, on = source.read_other_files(), spec.join or ("index",)
    keys = [join_key_of_row(row, on) for row in table.rows]
    answers, report = join_answers(keys, on, files, _prediction_column)
    builder.join = report if files else None
    named = {model: name for name in table.columns if (model := _model_in_column_name(name))}
    own = {model: name for model, name in named.items() if model not in files}
    images = {text_of(row.get("index")): row.get("image") for row in table.rows}
    for line in source.cells():
        given = {model: line.text(name) for model, name in own.items()} | answers[line.index]
        _add_item(builder, line, given, images, spec.split == TEXT_ONLY_SPLIT)
    unknown = sorted({text_of(row.get("task_name")) for row in table.rows} - set(CATEGORY_BY_TASK))
    if unknown:
        builder.notes.append(f"no known category for the tasks {', '.join(unknown[:5])}")
    builder.notes.append("the baseline's answer is the reference, compared as @reference")
    return builder


def _model_in_column_name(column: str) -> str:
    """Return the name of a model in a column name such as `prediction_gpt4` or `prediction:gpt4`;
    "prediction" for the column `prediction`, "" for any other."""
    rest = column.removeprefix("prediction")
    model = rest.lstrip(":_ -")
    return column if column == "prediction" else model if column != rest != model else ""


def _prediction_column(table: SourceTable, contestant: str) -> str:
    """Return the column with a contestant's answers: `prediction` if the table has it, else the
    one that `answer_column` finds."""
    return "prediction" if table.has_columns("prediction") else answer_column(table, contestant)


def _add_item(
    builder: SourceBuilder,
    line: RowCells,
    answers: Mapping[str, str],
    images: Mapping[str, Any],
    text_only: bool,
) -> None:
    """Add the item of a row. `answers`: contestant -> text; `images`: `index` of a row -> its
    cell `image`. With `text_only`, a description takes the place of the images; SourceError
    if the row has no description."""
    task, where, number = line.text("task_name"), line.where, line.text("index").strip()
    description = _first_filled_text(line, *_DESCRIPTIONS)
    if text_only and not description:
        raise SourceError(
            f"{where}: split: text-only needs a description of the images; expected one of the "
            f"columns {', '.join(_DESCRIPTIONS)} (a describe prompt can generate it)"
        )
    line.require_text("index")
    builder.add_item(
        f"creation-{number.zfill(4) if number.isdigit() else number}",
        build_instruction(line, description if text_only else ""),
        answers,
        where=where,
        category=line.text("category") or CATEGORY_BY_TASK.get(task, ""),
        context="" if text_only else description,
        images=() if text_only else _image_sources(line, images),
        reference=_first_filled_text(line, "reference_answer_by_gpt4o"),
        ground_truth=_first_filled_text(line, "ground_truth"),
        criteria=parse_criteria(line.row.get("criteria"), where),
        meta={"task": task},
    )


def build_instruction(line: RowCells, description: str) -> str:
    """Return a row's question; if it is empty, build it from other columns by the query template.
    With a `description`, add the note that it replaces the images. SourceError if the row has
    neither a question nor an instruction."""
    question = _first_filled_text(line, "question")
    if not question:
        parts = {name: _first_filled_text(line, name, f"{name}s") for name in _QUERY_PARTS}
        if not parts["instruction"]:
            raise line.error(
                "columns 'question' and 'instruction' are both empty; fill one of them"
            )
        question = fill_query_template(**parts)
    return f"{question}\n\n{description_note(description)}" if description else question


def fill_query_template(role: str, background: str, instruction: str, requirement: str) -> str:
    """Build the question from its parts by Creation-MMBench's query template; empty parts are left
    out."""
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
    """Parse a cell of criteria, given as a dict or as the Python text of one, to texts under the
    keys "subjective" and "factuality". A key whose name contains "subjective" is taken for the
    first, any other for the second. A plain text is a subjective criterion, an empty cell
    gives {}. SourceError, which names the place `where`, for an unreadable dict."""
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
    """Parse the Python text of a dict. A text that does not begin with a brace is returned
    unchanged. SourceError if the text is too long, nested too deeply, or no valid dict."""
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


def _image_sources(line: RowCells, images: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a row's images as addresses, data URLs or paths, from the cell `image`, else from
    `image_path`. The cell `image` can be the index of another row with the image; `images` maps the
    `index` of each row to its cell `image`."""
    value = line.row.get("image")
    for _ in range(3):
        text = text_of(value).strip() if not isinstance(value, list) else ""
        if text and len(text) <= 64 and text in images and images[text] is not value:
            value = images[text]
    parts = value if isinstance(value, list) else _split_list(text_of(value).strip())
    found = [_image_source(text_of(part).strip(), line.where) for part in parts]
    if not any(found):
        paths = _split_list(_first_filled_text(line, "image_path"))
        found = [_image_source(path, line.where) for path in paths]
    return tuple(image for image in found if image)


def _split_list(text: str) -> list[str]:
    """Split the text of a list, such as "['a', 'b']", into its elements; other texts are one
    element."""
    if not (text.startswith("[") and text.endswith("]")):
        return [text]
    inner = text[1:-1].strip()
    return [part.strip().strip("'\"") for part in inner.split(",")] if inner else []


def _image_source(text: str, where: str) -> str:
    """Return an image as an address, a data: URL (from base64) or a relative path; SourceError for
    any other text."""
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


def _first_filled_text(line: RowCells, *columns: str) -> str:
    """Return the first text of these columns that is neither empty nor "nan" nor a backslash; "" if
    there is none."""
    texts = (line.text(column).strip() for column in columns)
    return next((text for text in texts if text.casefold() not in ("", "nan", "\\")), "")
