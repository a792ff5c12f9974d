"""Collecting on the page: what the study's data offers to a new item or caption, and saving it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Final

from components.drawing.pieces import notice, wrap
from components.format import count, safe
from components.inspect.data import picture
from components.inspect.pieces import pictures_html
from components.protocol.published import visit_skills
from components.study.bench import data_of, loaded
from components.study.edit import other_source, put
from components.study.errands import Went
from components.study.sheet import read_sheet
from studies.collect import NewItem, Saved, add_item, responses_of, write_caption
from studies.collect_files import versions_in
from studies.errors import EvenhandError
from studies.presets import VISIT
from studies.records import Item
from studies.sources.load import image_folder

ANSWERS: Final = 4
"""Boxes for answers; whoever else plays in the file has none yet."""
MOST_LISTED: Final = 500
WHOLE: Final = "all of it"
_OTHER_FILE: Final = ("format", "files", "join", "mapping", "split")


@dataclass(frozen=True, slots=True)
class Ground:
    """The data that a study names, to which something is to be added."""

    source: str
    items: Sequence[Item]
    beside: Path | None
    """What image paths of the items are relative to."""
    fault: str = ""
    published: tuple[str, ...] = ()
    """The categories of the study's protocol, where its paper lists them."""

    @property
    def contestants(self) -> list[str]:
        return sorted({name for item in self.items for name in item.responses})

    @property
    def categories(self) -> list[str]:
        """Those of the data, then those of the paper that it has not."""
        own = sorted({item.category for item in self.items if item.category})
        known = {_plain(name) for name in own}
        return own + [name for name in self.published if _plain(name) not in known]

    def item(self, id: str | None) -> Item | None:
        return next((item for item in self.items if item.id == id), None)


def ground_of(text: str, folder: Path) -> Ground:
    """All items of the study's source, before the slice; none, and why, where it cannot be read."""
    sheet = read_sheet(text, folder)
    skills = visit_skills() if sheet.values.get("preset") == VISIT.name else ()
    try:
        spec = data_of(sheet)
        items = loaded(spec, folder).items
        return Ground(spec.source, items, image_folder(spec, folder), published=skills)
    except EvenhandError as error:
        return Ground("", (), None, str(error), skills)


def _plain(category: str) -> str:
    """Real files write `harmful_memes` where the paper has a space."""
    return category.casefold().replace("_", " ")


def listed(ground: Ground) -> list[tuple[str, str]]:
    """(words, id) of items that can have a caption: those with images and none first."""

    def rank(item: Item) -> tuple[bool, bool]:
        return (not item.images, any(item.context))

    ranked = sorted(ground.items, key=rank)[:MOST_LISTED]
    return [(f"{item.id}: {_short(item.instruction, 60)}", item.id) for item in ranked]


def versions_of(ground: Ground, folder: Path) -> list[tuple[str, str]]:
    """(words, source) of the versions there are, the oldest first; none where there is one only."""
    found = versions_in(ground.source, folder) if ground.source else []
    sources = found if ground.source in found else [ground.source, *found]
    if len(sources) < 2:
        return []
    return [(PurePath(source).name, source) for source in sources]


def read_version(text: str, folder: Path, source: str) -> str:
    """The study on another version of its data; what is no version of it changes nothing."""
    known = {name for _, name in versions_of(ground_of(text, folder), folder)}
    return _reading(text, source) if source in known else text


def images_of(item: Item | None) -> list[str]:
    """What a caption can be about, where there are several images."""
    if item is None or len(item.images) < 2:
        return []
    return [WHOLE, *(f"image {k + 1}" for k in range(len(item.images)))]


def caption_of(item: Item | None, image: str) -> str:
    """The caption there is, to be gone on with."""
    if item is None:
        return ""
    if isinstance(item.context, str):
        return item.context
    place = _place(image)
    if place:
        return item.context[place - 1] if place <= len(item.context) else ""
    return "\n".join(f"Image {k + 1}: {text}" for k, text in enumerate(item.context) if text)


def show_item(ground: Ground, item: Item | None) -> str:
    """What a caption is for: the question and the images; an https address is a link, not read."""
    if item is None:
        return ""
    pictures = '<p class="hint">This item has no image: describe what it is about.</p>'
    if item.images:
        found = (picture(path, ground.beside) for path in item.images)
        pictures = pictures_html(found, "Open the image")
    return wrap(f'<p class="eh-q" dir="auto">{safe(item.instruction)}</p>{pictures}')


def save_item(
    text: str, folder: Path, new: NewItem, fresh: bool, answers: Sequence[tuple[str, str]] = ()
) -> Went:
    """The study on a new version of its data, or on a new file, with one item more."""
    ground = Ground("", (), None) if fresh else ground_of(text, folder)
    try:
        if ground.fault:
            raise EvenhandError(f"{ground.fault}. Mend it, or start a new file.")
        new = replace(new, responses=responses_of(answers))
        saved = add_item(ground.items, new, ground.source, folder, ground.beside)
    except EvenhandError as error:
        return Went(text, notice("bad", "Nothing was saved.", str(error)))
    made = other_source(text, saved.source) if fresh else _reading(text, saved.source)
    return Went(made, _told(saved, ground.source))


def save_caption(
    text: str, folder: Path, item: str | None, caption: str, image: str, by: str
) -> Went:
    """The study on a new version of its data in which one item has this caption."""
    ground = ground_of(text, folder)
    try:
        if ground.fault:
            raise EvenhandError(ground.fault)
        if not item:
            raise EvenhandError("No item is chosen; choose the one that the caption is of.")
        saved = write_caption(
            ground.items, item, caption, ground.source, folder,
            image=_place(image), by=by, beside=ground.beside,
        )  # fmt: skip
    except EvenhandError as error:
        return Went(text, notice("bad", "Nothing was saved.", str(error)))
    return Went(_reading(text, saved.source), _told(saved, ground.source))


def _reading(text: str, source: str) -> str:
    """The study file with another version as its data; a slice of it stays what it is."""
    for key in _OTHER_FILE:
        text = put(text, ("data", key), None)
    return put(text, ("data", "source"), source)


def _told(saved: Saved, source: str) -> str:
    name = PurePath(saved.source).name
    stays = f" {PurePath(source).name} is as it was." if source else ""
    words = f"{name}: {count(saved.items, 'item')}. The study reads it now.{stays}"
    return notice("calm", "Saved as a new version." if source else "Saved as a new file.", words)


def _place(image: str) -> int:
    return int(image.removeprefix("image ")) if image.startswith("image ") else 0


def _short(text: str, most: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else words[:most].rstrip() + " …"
