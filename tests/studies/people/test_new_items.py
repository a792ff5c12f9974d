"""Collected items and captions: new versions can be loaded, original files are unchanged."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from studies.domain import AnswerCheck, Item, Preference
from studies.errors import SourceError
from studies.files.partial_files import _reserve_name_and_rename
from studies.people.item_versions import (
    MAX_IMAGE_BYTES,
    copy_image_to_uploads,
    list_versions,
    version_number,
)
from studies.people.new_items import (
    MAX_CAPTION_CHARS,
    MAX_INSTRUCTION_CHARS,
    NewItem,
    _merge_caption,
    _new_item_id,
    add_item,
    write_caption,
)
from studies.sources.load import load_source
from studies.spec.study import DataSpec
from tests.page_words import pattern
from tests.samples import examples

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)  # one pixel
ITEMS = [
    Item(
        "q1",
        "What is this?",
        {"m": "a cat", "k": "a dog"},
        "animals",
        reference="a cat",
        human=(Preference("ann", ("m", "k"), "m"),),
        checks=(AnswerCheck("ann", "@reference", True),),
    ),
    Item("q2", "And that?", {"m": "a cup"}, images=("https://example.org/a.png",)),
]


def loaded(saved, folder: Path) -> list[Item]:
    return load_source(DataSpec(saved.source), folder).items


def picture(folder: Path, name: str = "photo.jpg", content: bytes = PNG) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_a_new_item_is_a_new_version_that_loads_again(tmp_path):
    new = NewItem(
        " What stands on the table? ", [picture(tmp_path)], ["https://example.org/b.jpg"],
        licence="CC BY 4.0", category="objects", reference="A blue cup.", caption="A table, a cup.",
        responses={"m": "A cup."}, by="ann",
    )  # fmt: skip
    saved = add_item(ITEMS, new, "uploads/1234-items.jsonl", tmp_path)
    assert (saved.source, saved.version) == ("uploads/1234-items.v2.jsonl", 2)
    *before, item = loaded(saved, tmp_path)
    assert before == ITEMS and saved.items == 3  # votes and checks too
    assert item.id == saved.item and item.instruction == "What stands on the table?"
    # Whoever else plays in this file has no answer yet.
    assert item.responses == {"m": "A cup.", "k": ""}
    assert (item.category, item.reference, item.context) == (
        "objects", "A blue cup.", "A table, a cup.",
    )  # fmt: skip
    assert item.meta == {"licence": "CC BY 4.0", "collected_by": "ann"}
    kept, address = item.images
    # The bytes say what it is, the name said otherwise.
    assert kept.startswith("images/") and kept.endswith(".png")
    assert (tmp_path / "uploads" / kept).read_bytes() == PNG
    assert address == "https://example.org/b.jpg"


def test_the_original_is_never_written_to_and_versions_go_on(tmp_path):
    original = tmp_path / "uploads" / "items.jsonl"
    original.parent.mkdir()
    original.write_text('{"id": "q", "instruction": "why?", "responses": {"m": "so"}}\n', "utf-8")
    before = original.read_bytes()
    items = load_source(DataSpec("uploads/items.jsonl"), tmp_path).items
    one = add_item(items, NewItem("one?"), "uploads/items.jsonl", tmp_path)
    two = add_item(loaded(one, tmp_path), NewItem("two?"), one.source, tmp_path)
    late = add_item(items, NewItem("late?"), "uploads/items.jsonl", tmp_path)  # from the first
    assert [one.version, two.version, late.version] == [2, 3, 4]
    assert original.read_bytes() == before
    assert [item.instruction for item in loaded(two, tmp_path)] == ["why?", "one?", "two?"]
    assert [item.instruction for item in loaded(late, tmp_path)] == ["why?", "late?"]
    assert list_versions(two.source, tmp_path) == [
        "uploads/items.jsonl", one.source, two.source, late.source,
    ]  # fmt: skip
    assert not [path for path in original.parent.iterdir() if path.name.startswith(".")]


def test_two_who_save_at_once_make_two_versions(tmp_path):
    gate, made, names = threading.Barrier(8), [], [f"asked by {k}?" for k in range(8)]

    def save(words: str) -> None:
        gate.wait()
        made.append((words, add_item(ITEMS, NewItem(words), "uploads/x.jsonl", tmp_path)))

    threads = [threading.Thread(target=save, args=(words,)) for words in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(saved.version for _, saved in made) == list(range(2, 10))
    for words, saved in made:
        assert loaded(saved, tmp_path)[-1].instruction == words


@pytest.mark.parametrize(
    ("kind", "ending"), [("PNG", "png"), ("JPEG", "jpg"), ("GIF", "gif"), ("WEBP", "webp")]
)
def test_an_image_keeps_its_kind_whatever_its_name_says(tmp_path, kind, ending):
    given = tmp_path / "picture.bin"
    Image.new("RGB", (3, 2), "red").save(given, kind)
    stored = copy_image_to_uploads(given, tmp_path)
    assert stored.endswith(f".{ending}")
    assert (tmp_path / stored).read_bytes() == given.read_bytes()


def test_a_disk_without_links_gives_a_name_away_once(tmp_path):
    for k, wanted in enumerate([True, False]):
        partial = tmp_path / f"p{k}"
        partial.write_text(str(k))
        assert _reserve_name_and_rename(partial, tmp_path / "items.v2.jsonl") is wanted
    assert (tmp_path / "items.v2.jsonl").read_text() == "0"


def test_a_file_begins_with_its_first_item(tmp_path):
    first = add_item([], NewItem("What is it?", responses={"m": ""}), "", tmp_path)
    second = add_item([], NewItem("What is it?", responses={"m": ""}), "", tmp_path)
    assert first.version == 1 and first.source.endswith("-collected.v1.jsonl")
    assert first.source != second.source
    (item,) = loaded(first, tmp_path)
    assert item.responses == {"m": ""}
    with pytest.raises(SourceError, match=pattern("file", "least", "model")):
        add_item([], NewItem("What is it?"), "", tmp_path)


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (NewItem("  "), "the instruction is empty; write"),
        (NewItem("x" * (MAX_INSTRUCTION_CHARS + 1), addresses=["https://e.org/a"], licence="CC0"),
         "has 201 characters; shorten it to 200"),
        (NewItem("why?", addresses=["http://e.org/a.png"], licence="CC0"), "no https:// address"),
        (NewItem("why?", addresses=["https://e.org/a.png"]), "needs a public licence; name it"),
        (NewItem("why?", addresses=["https://e.org/a.png"] * 11, licence="CC0"), "at most 10"),
        (NewItem("why?", id="q1"), "id 'q1' is taken; choose another"),
        (NewItem("why?", responses={"": "an answer"}), "has no model name; enter one"),
        (NewItem("why?", responses={"@me": "an answer"}), "model '@me'"),
        (NewItem("why?", caption="x" * (MAX_CAPTION_CHARS + 1)), "2,001 characters; shorten"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_anything_is_written(tmp_path, new, told):
    with pytest.raises(SourceError, match="new item") as caught:
        add_item(ITEMS, new, "uploads/items.jsonl", tmp_path)
    assert told in str(caught.value)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_half_a_character_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(SourceError, match="half a character"):
        add_item(ITEMS, NewItem("why \ud83d?"), "uploads/items.jsonl", tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_long_question_without_an_image_is_welcome(tmp_path):
    saved = add_item(ITEMS, NewItem("x" * 3000), "uploads/items.jsonl", tmp_path)
    assert len(loaded(saved, tmp_path)[-1].instruction) == 3000


def test_only_images_are_kept(tmp_path):
    page = picture(tmp_path, "photo.png", b"<svg onload=alert(1)>")
    with pytest.raises(SourceError, match=pattern("'photo.png'", "not", "JPEG, GIF")):
        add_item(ITEMS, NewItem("why?", [page], licence="CC0"), "", tmp_path)
    large = picture(tmp_path, "large.png", PNG + bytes(MAX_IMAGE_BYTES))
    with pytest.raises(SourceError, match=pattern("larger", "10 MB", "smaller")):
        add_item(ITEMS, NewItem("why?", [large], licence="CC0"), "", tmp_path)
    with pytest.raises(SourceError, match="cannot be read"):
        add_item(ITEMS, NewItem("why?", [tmp_path / "none.png"], licence="CC0"), "", tmp_path)


def test_a_caption_changes_one_item_and_nothing_else(tmp_path):
    saved = write_caption(ITEMS, "q2", " A cup. ", "uploads/items.jsonl", tmp_path, by="bob")
    one, two = loaded(saved, tmp_path)
    assert one == ITEMS[0]
    assert (two.context, two.meta) == ("A cup.", {"caption_by": "bob"})
    assert (two.images, two.responses) == (ITEMS[1].images, ITEMS[1].responses)


def test_each_of_several_images_has_a_caption_of_its_own(tmp_path):
    item = Item("q", "why?", {"m": "so"}, images=("https://e.org/1.png", "https://e.org/2.png"))
    one = write_caption([item], "q", "The second.", "x.jsonl", tmp_path, image=2)
    assert loaded(one, tmp_path)[0].context == ("", "The second.")
    two = write_caption(loaded(one, tmp_path), "q", "The first.", one.source, tmp_path, image=1)
    assert loaded(two, tmp_path)[0].context == ("The first.", "The second.")
    with pytest.raises(SourceError, match=pattern("2 images", "no image 3")):
        write_caption([item], "q", "The third.", "x.jsonl", tmp_path, image=3)


@pytest.mark.parametrize(
    ("item", "caption", "told"),
    [
        ("q9", "A cup.", "no item 'q9' in uploads/items.jsonl; choose"),
        ("q2", " ", "the text is empty; describe"),
        ("q2", "x" * 2001, "2,001 characters; shorten it to 2,000"),
    ],
)
def test_a_caption_that_cannot_be_kept_says_why(tmp_path, item, caption, told):
    with pytest.raises(SourceError, match="caption") as caught:
        write_caption(ITEMS, item, caption, "uploads/items.jsonl", tmp_path)
    assert told in str(caught.value)


def test_the_caption_it_has_is_no_new_version(tmp_path):
    items = [Item("q", "why?", {"m": "so"}, context="A cup.")]
    with pytest.raises(SourceError, match="nothing to save"):
        write_caption(items, "q", "A cup. ", "uploads/items.jsonl", tmp_path)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_images_beside_the_old_file_come_along(tmp_path):
    beside = tmp_path / "records"
    (beside / "img").mkdir(parents=True)
    picture(beside / "img", "a.png")
    items = [Item("q", "why?", {"m": "so"}, images=("img/a.png", "img/gone.png"))]
    saved = add_item(items, NewItem("what?"), "records/items.jsonl", tmp_path, beside)
    old, _ = loaded(saved, tmp_path)
    assert (tmp_path / "uploads" / old.images[0]).read_bytes() == PNG
    assert old.images[1] == "img/gone.png"  # missing before, missing now
    assert saved.source == "uploads/items.v2.jsonl"


@pytest.mark.parametrize(
    ("source", "version"),
    [("", 0), ("uploads/items.jsonl", 1), ("uploads/items.v2.jsonl", 2), ("a/items.v12.csv.gz", 12),
     ("probe", 1), ("hub:owner/name:config@main", 1), ("items.version.jsonl", 1)],
)  # fmt: skip
def test_versions_are_read_off_the_name(source, version):
    assert version_number(source) == version


def test_a_hub_dataset_and_a_built_in_one_become_files_of_ours(tmp_path):
    for source, wanted in (
        ("hub:owner/name:config@main", "uploads/name-config.v2.jsonl"),
        ("probe", "uploads/probe.v2.jsonl"),
        ("../../etc/passwd", "uploads/passwd.v2.jsonl"),
    ):
        assert add_item(ITEMS, NewItem("why?"), source, tmp_path).source == wanted


@examples(25)
@given(words=st.text(min_size=1, max_size=80), answer=st.text(max_size=80))
def test_whatever_is_typed_comes_back_as_it_was(tmp_path_factory, words, answer):
    folder = tmp_path_factory.mktemp("collected")
    try:
        saved = add_item(ITEMS, NewItem(words, responses={"m": answer}), "uploads/i.jsonl", folder)
    except SourceError as error:
        assert not words.strip() or "half a character" in str(error)
        return
    item = loaded(saved, folder)[-1]
    assert (item.instruction, item.responses["m"]) == (words.strip(), answer)


@pytest.mark.parametrize(
    ("images", "context", "image", "found"),
    [
        (1, "old", 1, "new"),
        (2, "old", 0, "new"),
        (2, "old", 1, ("new", "")),
        (2, "old", 2, ("old", "new")),
        (3, ("a", "b", "c"), 2, ("a", "new", "c")),
    ],
)
def test_a_caption_takes_the_place_of_that_of_its_image(images, context, image, found):
    item = Item("q", "?", {}, images=("i",) * images, context=context)
    assert _merge_caption(item, "new", image) == found
    for beyond in (-1, images + 1):
        with pytest.raises(SourceError, match="choose another image"):
            _merge_caption(item, "new", beyond)


def test_a_new_id_is_free(monkeypatch):
    drawn = iter(["aaaa", "bbbb", "cccc"])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(drawn))
    taken = [Item("new-aaaa", "?", {}), Item("new-bbbb", "?", {})]
    assert _new_item_id(taken) == "new-cccc"


def test_an_image_is_stored_once_and_a_full_disk_leaves_no_version(tmp_path, monkeypatch):
    one = copy_image_to_uploads(picture(tmp_path), tmp_path / "uploads")
    stored = tmp_path / "uploads" / one
    stored.write_bytes(b"as it was")
    assert copy_image_to_uploads(picture(tmp_path), tmp_path / "uploads") == one
    assert stored.read_bytes() == b"as it was" and len(list(stored.parent.iterdir())) == 1

    def fail(*_: object) -> bool:
        raise OSError(28, "No space left")

    monkeypatch.setattr("studies.files.partial_files.assign_name_if_free", fail)
    with pytest.raises(SourceError, match=r"x: No space"):
        add_item(ITEMS, NewItem("one?"), "uploads/x.jsonl", tmp_path)
    assert [path.name for path in (tmp_path / "uploads").iterdir()] == ["images"]
