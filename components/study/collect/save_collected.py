"""Save new items and image captions. Data files are never changed: each save writes a new version
of the data, which the study file then names."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Final

from components.html.format import count, truncate
from components.html.markup import EMPTY, Markup, fill
from components.html.pieces import notice_html, wrap
from components.inspect import html_parts, load_comparison
from components.results.protocol.paper_tables import visit_bench_skills
from components.study.file.lenient_study import read_lenient_study
from components.study.file.yaml_edit import put_value, reset_to_source
from components.study.jobs import JobResult
from components.study.plan.study_preview import load_records, read_data_spec
from studies.domain import Item
from studies.errors import EvenhandError
from studies.people.item_versions import list_versions
from studies.people.new_items import NewItem, SavedVersion, add_item, parse_responses, write_caption
from studies.sources.load import image_folder
from studies.spec.keys import DATA, STUDY
from studies.spec.presets import VISIT_BENCH

ANSWER_BOXES: Final = 4
"""Number of answer fields for a new item; further models get no answer to the item."""
MAX_LISTED_ITEMS: Final = 500
WHOLE_ITEM: Final = "all images"
_FILE_KEYS: Final = (DATA.format, DATA.files, DATA.join, DATA.mapping, DATA.split)


@dataclass(frozen=True, slots=True)
class CollectTarget:
    """The data of a study to which a new item or caption will be added."""

    source: str
    items: Sequence[Item]
    image_folder: Path | None
    """Base folder of relative image paths."""
    load_error: str = ""
    published_categories: tuple[str, ...] = ()
    """Categories listed in the paper of the study's protocol."""

    @property
    def contestants(self) -> list[str]:
        return sorted({name for item in self.items for name in item.responses})

    @property
    def categories(self) -> list[str]:
        """Categories of the items in the data, then those that the paper of the study's preset uses
        and the data lack."""
        own = sorted({item.category for item in self.items if item.category})
        known = {_normalise_category(name) for name in own}
        return own + [
            name for name in self.published_categories if _normalise_category(name) not in known
        ]

    def item(self, item_id: str | None) -> Item | None:
        return next((item for item in self.items if item.id == item_id), None)


def load_collect_target(text: str, folder: Path) -> CollectTarget:
    """Load all items of the study's data source, also those that filters and sample leave out; if
    that fails, the result has no items and the reason in `load_error`."""
    study = read_lenient_study(text, folder)
    skills = visit_bench_skills() if study.values.get(STUDY.preset.name) == VISIT_BENCH.name else ()
    try:
        spec = read_data_spec(study)
        items = load_records(spec, folder).items
        return CollectTarget(
            spec.source, items, image_folder(spec, folder), published_categories=skills
        )
    except EvenhandError as error:
        return CollectTarget("", (), None, str(error), skills)


def _normalise_category(category: str) -> str:
    """The name of a category in lower case with spaces for underscores, because data files write
    `harmful_memes` and papers write a space."""
    return category.casefold().replace("_", " ")


def caption_item_choices(target: CollectTarget) -> list[tuple[str, str]]:
    """Items as (label, id), at most MAX_LISTED_ITEMS: first those with images but no caption, then
    with both, then without images."""

    def rank(item: Item) -> tuple[bool, bool]:
        return (not item.images, any(item.context))

    ranked = sorted(target.items, key=rank)[:MAX_LISTED_ITEMS]
    return [(f"{item.id}: {truncate(item.instruction, 60)}", item.id) for item in ranked]


def version_choices(target: CollectTarget, folder: Path) -> list[tuple[str, str]]:
    """(file name, data source) of each saved version of the data, oldest first; empty if there is
    only one."""
    found = list_versions(target.source, folder) if target.source else []
    sources = found if target.source in found else [target.source, *found]
    if len(sources) < 2:
        return []
    return [(PurePath(source).name, source) for source in sources]


def set_data_version(text: str, folder: Path, source: str) -> str:
    """The study file `text`, changed to use the version `source` of its data; unchanged if there is
    no such version."""
    known = {name for _, name in version_choices(load_collect_target(text, folder), folder)}
    return _with_data_version(text, source) if source in known else text


def image_choices(item: Item | None) -> list[str]:
    """Choices "all images", "image 1", … of a caption; empty unless the item has several images."""
    if item is None or len(item.images) < 2:
        return []
    return [WHOLE_ITEM, *(f"image {k + 1}" for k in range(len(item.images)))]


def existing_caption(item: Item | None, image: str) -> str:
    """The present caption of what `image` (a choice of `image_choices`) names; "" if there is none.
    If the item has one caption for all its images, that is returned for every choice. For "all
    images" of an item with a caption for each, these are joined, with the images' numbers."""
    if item is None:
        return ""
    if isinstance(item.context, str):
        return item.context
    number = _image_number(image)
    if number:
        return item.context[number - 1] if number <= len(item.context) else ""
    return "\n".join(f"Image {k + 1}: {text}" for k, text in enumerate(item.context) if text)


def caption_task_html(target: CollectTarget, item: Item | None) -> Markup:
    """HTML of the instruction and images of the item to caption, with a hint if it has no image; an
    https image is a link and is not fetched. Empty without an item."""
    if item is None:
        return EMPTY
    pictures = Markup(
        '<p class="hint">This item has no image. Describe what the instruction refers to.</p>'
    )
    if item.images:
        found = (load_comparison.load_image(path, target.image_folder) for path in item.images)
        pictures = html_parts.images_html(found, "Open the image")
    return wrap(fill('<p class="eh-q" dir="auto">{}</p>{}', item.instruction, pictures))


def save_item(
    text: str, folder: Path, new: NewItem, fresh: bool, answers: Sequence[tuple[str, str]] = ()
) -> JobResult:
    """Add the item `new`, with its `answers` (pairs of model and answer), to the data of the study
    file `text`, and save them as a new version. With `fresh`, save the item alone, as new data. The
    result has the study file changed to use the saved data; after an error, the unchanged study
    file and a notice with the reason."""
    target = CollectTarget("", (), None) if fresh else load_collect_target(text, folder)
    try:
        if target.load_error:
            raise EvenhandError(
                f"{target.load_error}. Correct the data source, or start a new file."
            )
        new = replace(new, responses=parse_responses(answers))
        saved = add_item(target.items, new, target.source, folder, target.image_folder)
    except EvenhandError as error:
        return JobResult(text, notice_html("bad", "Nothing was saved.", str(error)))
    made = reset_to_source(text, saved.source) if fresh else _with_data_version(text, saved.source)
    return JobResult(made, _saved_notice(saved, target.source))


def save_caption(
    text: str, folder: Path, item: str | None, caption: str, image: str, by: str
) -> JobResult:
    """Save a caption of an image in a new version of the data of the study file `text`. `item`: id
    of the item; `image`: a choice of `image_choices`; `by`: name of the author. The result has the
    study file changed to use the new version; after an error, the unchanged study file and a notice
    with the reason."""
    target = load_collect_target(text, folder)
    try:
        if target.load_error:
            raise EvenhandError(target.load_error)
        if not item:
            raise EvenhandError("No item is chosen. Choose the item that the caption describes.")
        saved = write_caption(
            target.items,
            item,
            caption,
            target.source,
            folder,
            image=_image_number(image),
            by=by,
            data_folder=target.image_folder,
        )
    except EvenhandError as error:
        return JobResult(text, notice_html("bad", "Nothing was saved.", str(error)))
    return JobResult(_with_data_version(text, saved.source), _saved_notice(saved, target.source))


def _with_data_version(text: str, source: str) -> str:
    """The study file `text`, changed to use the version `source` of its data. Settings that
    describe the former file (format, files, join, mapping, split) are removed; those that choose
    items, such as filters and sample, stay."""
    for key in _FILE_KEYS:
        text = put_value(text, key.path, None)
    return put_value(text, DATA.source.path, source)


def _saved_notice(saved: SavedVersion, source: str) -> Markup:
    name = PurePath(saved.source).name
    unchanged = f" {PurePath(source).name} is unchanged." if source else ""
    words = f"{name}: {count(saved.items, 'item')}. The study now uses this file.{unchanged}"
    return notice_html(
        "calm", "Saved as a new version." if source else "Saved as a new file.", words
    )


def _image_number(image: str) -> int:
    """Number in a choice such as "image 2"; 0 for all images."""
    return int(image.removeprefix("image ")) if image.startswith("image ") else 0
