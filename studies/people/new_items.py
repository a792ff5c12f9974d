"""Save items and dense captions written on the page (VisIT-Bench, figures 11 and 12).

Each save writes a new version of the data file to the uploads folder (`items.v2.jsonl`); the
original file is never changed. Two people who save at the same time create two versions.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from studies.domain import Item
from studies.errors import SourceError
from studies.files.items import parse_item
from studies.people.item_versions import (
    UPLOADS_FOLDER,
    copy_image_to_uploads,
    relocate_images,
    save_version,
    version_number,
)

MAX_INSTRUCTION_CHARS: Final = 200
MAX_CAPTION_CHARS: Final = 2_000
"""Maximum characters of a caption, as in VisIT-Bench's forms."""
MAX_TEXT_CHARS: Final = 20_000
MAX_IMAGES: Final = 10
LICENCES: Final = (
    "CC BY 4.0",
    "CC BY-SA 4.0",
    "CC0 1.0",
    "public domain",
    "my own, released as CC BY 4.0",
)


@dataclass(frozen=True, slots=True)
class NewItem:
    """Contents of the form for a new item; required are the instruction, a licence if it has
    images, and the name of a model if it is the first item of its file."""

    instruction: str
    images: Sequence[Path] = ()
    addresses: Sequence[str] = ()
    """https:// addresses of images, which are sent to judges and never downloaded by Evenhand."""
    licence: str = ""
    category: str = ""
    reference: str = ""
    caption: str = ""
    responses: Mapping[str, str] = field(default_factory=dict)
    """Contestant -> answer; empty answers are left out of comparisons."""
    id: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class SavedVersion:
    """Result of a save; `source` is the path for a study's `data.source`."""

    source: str
    version: int
    item: str
    items: int


def add_item(
    items: Sequence[Item], new: NewItem, source: str, folder: Path, data_folder: Path | None = None
) -> SavedVersion:
    """Save a new version of a data file with one more item.

    `items` are all items of the file `source` ("" for a new file), `folder` contains the uploads
    folder, and `data_folder` is the folder to which the image paths of `items` are relative.
    SourceError if a field of `new` is invalid.
    """
    _check_new_item(new, items)
    uploads = folder / UPLOADS_FOLDER
    images = [copy_image_to_uploads(path, uploads) for path in new.images]
    fields = {
        "id": new.id.strip() or _new_item_id(items),
        "instruction": new.instruction.strip(),
        "responses": _typed_and_empty_responses(new, items),
        "category": new.category.strip(),
        "context": new.caption.strip(),
        "images": [*images, *(address.strip() for address in new.addresses)],
        "reference": new.reference.strip(),
        "meta": _non_empty_texts(licence=new.licence, collected_by=new.by),
    }
    item = parse_item(fields, "new item")
    whole = [*relocate_images(items, data_folder, uploads), item]
    return _build_saved_version(save_version(whole, source, uploads), item.id, len(whole))


def write_caption(
    items: Sequence[Item],
    item: str,
    caption: str,
    source: str,
    folder: Path,
    *,
    image: int = 0,
    by: str = "",
    data_folder: Path | None = None,
) -> SavedVersion:
    """Save a new version of a data file with a dense caption of one item; `items`, `source`,
    `folder` and `data_folder` are as in `add_item`.

    `image` is the number of the captioned image, from 1; 0 if the caption describes all images of
    the item. `by` is the name of the author. SourceError for an unknown item or image, and for an
    empty, long or unchanged caption.
    """
    old = next((one for one in items if one.id == item), None)
    if old is None:
        raise SourceError(f"caption: no item {item!r} in {source or 'this file'}; choose another")
    text = caption.strip()
    if not text:
        raise SourceError(
            f"caption of item {item!r}: the text is empty; describe the image so that the "
            "question can be answered without seeing it"
        )
    _check_length(text, MAX_CAPTION_CHARS, f"caption of item {item!r}")
    uploads = folder / UPLOADS_FOLDER
    meta = {**old.meta, **_non_empty_texts(caption_by=by)}
    changed = replace(old, context=_merge_caption(old, text, image), meta=meta)
    if changed.context == old.context:
        raise SourceError(f"caption of item {item!r}: the text is unchanged; nothing to save")
    rest = [changed if one.id == item else one for one in items]
    made = save_version(relocate_images(rest, data_folder, uploads), source, uploads)
    return _build_saved_version(made, item, len(rest))


def _build_saved_version(source: str, item: str, items: int) -> SavedVersion:
    return SavedVersion(source, version_number(source), item, items)


def _merge_caption(item: Item, text: str, image: int) -> str | tuple[str, ...]:
    """Return the item's new context, in which `text` replaces the old caption; SourceError if
    there is no image number `image`.

    The context is a single text if `image` is 0 (a caption of all images) or the item has
    only one image. Otherwise it has one text per image, and that of image number `image`
    (counted from 1) is replaced."""
    if image == 0:
        return text
    if not 1 <= image <= len(item.images):
        raise SourceError(
            f"caption of item {item.id!r}: the item has {len(item.images)} images, so there is "
            f"no image {image}; choose another image"
        )
    if len(item.images) == 1:
        return text
    had = item.context if isinstance(item.context, tuple) else (item.context,)
    each = [had[k] if k < len(had) else "" for k in range(len(item.images))]
    each[image - 1] = text
    return tuple(each)


# ------------------------------------------------------------------------------------- checks


def _check_new_item(new: NewItem, items: Sequence[Item]) -> None:
    """Raise SourceError for a form with an invalid field, or an id that is taken in `items`."""
    if not new.instruction.strip():
        raise SourceError("new item: the instruction is empty; write the question")
    pictures = len(new.images) + len(new.addresses)
    most = MAX_INSTRUCTION_CHARS if pictures else MAX_TEXT_CHARS
    _check_length(new.instruction.strip(), most, "new item: the instruction")
    _check_length(new.caption.strip(), MAX_CAPTION_CHARS, "new item: the caption")
    for name, text in (("the expected output", new.reference), *new.responses.items()):
        _check_length(text, MAX_TEXT_CHARS, f"new item: {name}")
    if any(one.id == new.id.strip() for one in items):
        raise SourceError(
            f"new item: id {new.id.strip()!r} is taken; choose another id, or leave it empty"
        )
    if pictures > MAX_IMAGES:
        raise SourceError(f"new item: {pictures} images; at most {MAX_IMAGES} are allowed")
    for address in new.addresses:
        if not address.strip().startswith("https://"):
            raise SourceError(
                f"new item: image {address.strip()[:80]!r} has no https:// address; upload the file"
            )
    if pictures and not new.licence.strip():
        raise SourceError(
            "new item: an image needs a public licence; name it (for example CC BY 4.0), so that "
            "others may use the data"
        )


def _check_length(text: str, limit: int, subject: str) -> None:
    if len(text) > limit:
        raise SourceError(f"{subject} has {len(text):,} characters; shorten it to {limit:,}")


def parse_responses(answers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return contestant -> answer from the rows (name, text) of the form; rows with neither are
    skipped. SourceError for an answer without a name, or a name given twice."""
    found: dict[str, str] = {}
    for name, text in answers:
        contestant = name.strip()
        if not contestant and text.strip():
            raise SourceError(
                f"new item: the answer {text.strip()[:40]!r} has no model name; enter one"
            )
        if contestant in found:
            raise SourceError(f"new item: model {contestant!r} is named twice; rename one")
        if contestant:
            found[contestant] = text
    return found


def _typed_and_empty_responses(new: NewItem, items: Sequence[Item]) -> dict[str, str]:
    """Return contestant -> typed answer, "" for the file's contestants without a typed answer.
    SourceError if there is no contestant at all, a name is given twice or an answer has none."""
    typed = parse_responses(new.responses.items())
    empty = dict.fromkeys(sorted({name for one in items for name in one.responses}), "")
    if not typed and not empty:
        raise SourceError(
            "new item: the first item of a file needs the name of at least one model (the "
            "answer may stay empty for now)"
        )
    return {**empty, **typed}


def _non_empty_texts(**facts: str) -> dict[str, str]:
    return {name: value.strip() for name, value in facts.items() if value.strip()}


def _new_item_id(items: Iterable[Item]) -> str:
    taken = {one.id for one in items}
    while (made := f"new-{secrets.token_hex(4)}") in taken:
        pass
    return made
