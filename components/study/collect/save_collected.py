"""Collecting on the page: what the study's data offers to a new item or caption, and saving it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Final

from components.html.format import count, escape
from components.html.pieces import notice_html, wrap
from components.inspect.html_parts import images_html
from components.inspect.load_comparison import load_image
from components.results.protocol.paper_tables import visit_skills
from components.study.file.lenient_study import read_lenient_study
from components.study.file.yaml_edit import change_source, put_value
from components.study.jobs import JobResult
from components.study.plan.study_preview import load_records, read_data_spec
from studies.domain import Item
from studies.errors import EvenhandError
from studies.people.item_versions import list_versions
from studies.people.new_items import NewItem, SavedVersion, add_item, parse_responses, write_caption
from studies.sources.load import image_folder
from studies.spec.presets import VISIT_BENCH

ANSWER_BOXES: Final = 4
"""Boxes for answers; whoever else plays in the file has none yet."""
MAX_LISTED_ITEMS: Final = 500
WHOLE_ITEM: Final = "all of it"
_FILE_KEYS: Final = ("format", "files", "join", "mapping", "split")


@dataclass(frozen=True, slots=True)
class CollectTarget:
    """The data that a study names, to which something is to be added."""

    source: str
    items: Sequence[Item]
    image_folder: Path | None
    """What image paths of the items are relative to."""
    load_error: str = ""
    published_categories: tuple[str, ...] = ()
    """The categories of the study's protocol, where its paper lists them."""

    @property
    def contestants(self) -> list[str]:
        return sorted({name for item in self.items for name in item.responses})

    @property
    def categories(self) -> list[str]:
        """Those of the data, then those of the paper that it has not."""
        own = sorted({item.category for item in self.items if item.category})
        known = {_normalise_category(name) for name in own}
        return own + [
            name for name in self.published_categories if _normalise_category(name) not in known
        ]

    def item(self, id: str | None) -> Item | None:
        return next((item for item in self.items if item.id == id), None)


def load_collect_target(text: str, folder: Path) -> CollectTarget:
    """All items of the study's source, before the slice; none, and why, where it cannot be read."""
    sheet = read_lenient_study(text, folder)
    skills = visit_skills() if sheet.values.get("preset") == VISIT_BENCH.name else ()
    try:
        spec = read_data_spec(sheet)
        items = load_records(spec, folder).items
        return CollectTarget(
            spec.source, items, image_folder(spec, folder), published_categories=skills
        )
    except EvenhandError as error:
        return CollectTarget("", (), None, str(error), skills)


def _normalise_category(category: str) -> str:
    """Real files write `harmful_memes` where the paper has a space."""
    return category.casefold().replace("_", " ")


def captionable_items(ground: CollectTarget) -> list[tuple[str, str]]:
    """(words, id) of items that can have a caption: those with images and none first."""

    def rank(item: Item) -> tuple[bool, bool]:
        return (not item.images, any(item.context))

    ranked = sorted(ground.items, key=rank)[:MAX_LISTED_ITEMS]
    return [(f"{item.id}: {_truncate(item.instruction, 60)}", item.id) for item in ranked]


def version_choices(ground: CollectTarget, folder: Path) -> list[tuple[str, str]]:
    """(words, source) of the versions there are, the oldest first; none where there is one only."""
    found = list_versions(ground.source, folder) if ground.source else []
    sources = found if ground.source in found else [ground.source, *found]
    if len(sources) < 2:
        return []
    return [(PurePath(source).name, source) for source in sources]


def use_version(text: str, folder: Path, source: str) -> str:
    """The study on another version of its data; what is no version of it changes nothing."""
    known = {name for _, name in version_choices(load_collect_target(text, folder), folder)}
    return _with_data_source(text, source) if source in known else text


def image_choices(item: Item | None) -> list[str]:
    """What a caption can be about, where there are several images."""
    if item is None or len(item.images) < 2:
        return []
    return [WHOLE_ITEM, *(f"image {k + 1}" for k in range(len(item.images)))]


def existing_caption(item: Item | None, image: str) -> str:
    """The caption there is, to be gone on with."""
    if item is None:
        return ""
    if isinstance(item.context, str):
        return item.context
    place = _image_number(image)
    if place:
        return item.context[place - 1] if place <= len(item.context) else ""
    return "\n".join(f"Image {k + 1}: {text}" for k, text in enumerate(item.context) if text)


def show_item(ground: CollectTarget, item: Item | None) -> str:
    """What a caption is for: the question and the images; an https address is a link, not read."""
    if item is None:
        return ""
    pictures = '<p class="hint">This item has no image: describe what it is about.</p>'
    if item.images:
        found = (load_image(path, ground.image_folder) for path in item.images)
        pictures = images_html(found, "Open the image")
    return wrap(f'<p class="eh-q" dir="auto">{escape(item.instruction)}</p>{pictures}')


def save_item(
    text: str, folder: Path, new: NewItem, fresh: bool, answers: Sequence[tuple[str, str]] = ()
) -> JobResult:
    """The study on a new version of its data, or on a new file, with one item more."""
    ground = CollectTarget("", (), None) if fresh else load_collect_target(text, folder)
    try:
        if ground.load_error:
            raise EvenhandError(f"{ground.load_error}. Mend it, or start a new file.")
        new = replace(new, responses=parse_responses(answers))
        saved = add_item(ground.items, new, ground.source, folder, ground.image_folder)
    except EvenhandError as error:
        return JobResult(text, notice_html("bad", "Nothing was saved.", str(error)))
    made = change_source(text, saved.source) if fresh else _with_data_source(text, saved.source)
    return JobResult(made, _saved_notice(saved, ground.source))


def save_caption(
    text: str, folder: Path, item: str | None, caption: str, image: str, by: str
) -> JobResult:
    """The study on a new version of its data in which one item has this caption."""
    ground = load_collect_target(text, folder)
    try:
        if ground.load_error:
            raise EvenhandError(ground.load_error)
        if not item:
            raise EvenhandError("No item is chosen; choose the one that the caption is of.")
        saved = write_caption(
            ground.items, item, caption, ground.source, folder,
            image=_image_number(image), by=by, beside=ground.image_folder,
        )  # fmt: skip
    except EvenhandError as error:
        return JobResult(text, notice_html("bad", "Nothing was saved.", str(error)))
    return JobResult(_with_data_source(text, saved.source), _saved_notice(saved, ground.source))


def _with_data_source(text: str, source: str) -> str:
    """The study file with another version as its data; a slice of it stays what it is."""
    for key in _FILE_KEYS:
        text = put_value(text, ("data", key), None)
    return put_value(text, ("data", "source"), source)


def _saved_notice(saved: SavedVersion, source: str) -> str:
    name = PurePath(saved.source).name
    stays = f" {PurePath(source).name} is as it was." if source else ""
    words = f"{name}: {count(saved.items, 'item')}. The study reads it now.{stays}"
    return notice_html(
        "calm", "Saved as a new version." if source else "Saved as a new file.", words
    )


def _image_number(image: str) -> int:
    return int(image.removeprefix("image ")) if image.startswith("image ") else 0


def _truncate(text: str, most: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else words[:most].rstrip() + " …"
