"""Items and dense captions that people write on the page (VisIT-Bench, figures 11 and 12).

What is collected becomes a new version of the data file, `items.v2.jsonl` beside the uploads: the
file it started from is never written to. Two people who save at once make two versions.
"""

from __future__ import annotations

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
    relocate_images,
    save_version,
    store_image,
    version_number,
)

MAX_INSTRUCTION_CHARS: Final = 200
MAX_CAPTION_CHARS: Final = 2_000
"""Characters, as in VisIT-Bench's forms; an instruction without an image may be longer."""
MAX_TEXT_CHARS: Final = 20_000
MAX_IMAGES: Final = 10
LICENCES: Final = (
    "CC BY 4.0", "CC BY-SA 4.0", "CC0 1.0", "public domain", "my own, released as CC BY 4.0",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NewItem:
    """What the form of a new item holds; only the instruction must be there."""

    instruction: str
    images: Sequence[Path] = ()
    """Files just uploaded."""
    addresses: Sequence[str] = ()
    """https:// addresses: passed on to judges that see, never fetched here."""
    licence: str = ""
    category: str = ""
    reference: str = ""
    caption: str = ""
    responses: Mapping[str, str] = field(default_factory=dict)
    """An answer may be empty until it is known; comparisons leave it out."""
    id: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class SavedVersion:
    """What became of it: `source` is what a study names to read it."""

    source: str
    version: int
    item: str
    items: int


def add_item(
    items: Sequence[Item], new: NewItem, source: str, folder: Path, beside: Path | None = None
) -> SavedVersion:
    """A new version with one item more.

    `items` are all of `source` ("" for a file that begins here), `folder` is where the uploads
    folder lies, `beside` what the image paths of the items are relative to.
    """
    _check_new_item(new, items)
    uploads = folder / UPLOADS_FOLDER
    kept = [store_image(path, uploads) for path in new.images]
    made = {
        "id": new.id.strip() or _new_item_id(items),
        "instruction": new.instruction.strip(),
        "responses": _all_responses(new, items),
        "category": new.category.strip(),
        "context": new.caption.strip(),
        "images": [*kept, *(address.strip() for address in new.addresses)],
        "reference": new.reference.strip(),
        "meta": _non_empty_texts(licence=new.licence, collected_by=new.by),
    }
    item = parse_item(made, "new item")
    whole = [*relocate_images(items, beside, uploads), item]
    return _saved_version(save_version(whole, source, uploads), item.id, len(whole))


def write_caption(
    items: Sequence[Item], item: str, caption: str, source: str, folder: Path,
    *, image: int = 0, by: str = "", beside: Path | None = None,
) -> SavedVersion:  # fmt: skip
    """A new version in which one item has this dense caption, of its `image`th image (from 1) or,
    with 0, of all it shows."""
    old = next((one for one in items if one.id == item), None)
    if old is None:
        raise SourceError(f"caption: no item {item!r} in {source or 'this file'}; choose one of it")
    text = caption.strip()
    if not text:
        raise SourceError(
            f"caption of item {item!r}: it is empty; describe what is seen so that the question "
            "can be answered without the image"
        )
    _check_length(text, MAX_CAPTION_CHARS, f"caption of item {item!r}")
    uploads = folder / UPLOADS_FOLDER
    meta = {**old.meta, **_non_empty_texts(caption_by=by)}
    changed = replace(old, context=_merge_caption(old, text, image), meta=meta)
    if changed.context == old.context:
        raise SourceError(f"caption of item {item!r}: this is the caption it has; nothing to save")
    rest = [changed if one.id == item else one for one in items]
    made = save_version(relocate_images(rest, beside, uploads), source, uploads)
    return _saved_version(made, item, len(rest))


def _saved_version(source: str, item: str, items: int) -> SavedVersion:
    return SavedVersion(source, version_number(source), item, items)


def _merge_caption(item: Item, text: str, image: int) -> str | tuple[str, ...]:
    if image == 0:
        return text
    if not 1 <= image <= len(item.images):
        raise SourceError(
            f"caption of item {item.id!r}: it has {len(item.images)} images, there is no image "
            f"{image}"
        )
    if len(item.images) == 1:
        return text
    had = item.context if isinstance(item.context, tuple) else (item.context,)
    each = [had[k] if k < len(had) else "" for k in range(len(item.images))]
    each[image - 1] = text
    return tuple(each)


# ------------------------------------------------------------------------------------- checks


def _check_new_item(new: NewItem, items: Sequence[Item]) -> None:
    if not new.instruction.strip():
        raise SourceError("new item: the instruction is empty; write what is asked about the image")
    pictures = len(new.images) + len(new.addresses)
    most = MAX_INSTRUCTION_CHARS if pictures else MAX_TEXT_CHARS
    _check_length(new.instruction.strip(), most, "new item: the instruction")
    _check_length(new.caption.strip(), MAX_CAPTION_CHARS, "new item: the caption")
    for name, text in (("the expected output", new.reference), *new.responses.items()):
        _check_length(text, MAX_TEXT_CHARS, f"new item: {name}")
    if any(one.id == new.id.strip() for one in items):
        raise SourceError(
            f"new item: id {new.id.strip()!r} is taken; choose another, or leave it empty"
        )
    if pictures > MAX_IMAGES:
        raise SourceError(f"new item: {pictures} images; at most {MAX_IMAGES} can be kept")
    for address in new.addresses:
        if not address.strip().startswith("https://"):
            raise SourceError(
                f"new item: image {address.strip()[:80]!r} is no https:// address; upload the file"
            )
    if pictures and not new.licence.strip():
        raise SourceError(
            "new item: an image needs a public licence; name it (for instance CC BY 4.0), so that "
            "others may use the data"
        )


def _check_length(text: str, most: int, what: str) -> None:
    if len(text) > most:
        raise SourceError(f"{what} has {len(text):,} characters; shorten it to {most:,}")


def parse_responses(answers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Answers by who gives them, as a form holds them: boxes left empty are nobody's."""
    found: dict[str, str] = {}
    for name, text in answers:
        who = name.strip()
        if not who and text.strip():
            told = f"new item: the answer {text.strip()[:40]!r} has no name; say whose it is"
            raise SourceError(told)
        if who in found:
            raise SourceError(f"new item: contestant {who!r} is named twice; give each one name")
        if who:
            found[who] = text
    return found


def _all_responses(new: NewItem, items: Sequence[Item]) -> dict[str, str]:
    """What was typed, and an empty answer of everybody else who plays in this file."""
    typed = parse_responses(new.responses.items())
    playing = dict.fromkeys(sorted({name for one in items for name in one.responses}), "")
    if not typed and not playing:
        raise SourceError(
            "new item: it is the first of its file; name at least one contestant (the answer may "
            "stay empty until it is known)"
        )
    return {**playing, **typed}


def _non_empty_texts(**facts: str) -> dict[str, str]:
    return {name: value.strip() for name, value in facts.items() if value.strip()}


def _new_item_id(items: Iterable[Item]) -> str:
    taken = {one.id for one in items}
    while (made := f"new-{secrets.token_hex(4)}") in taken:
        pass
    return made
