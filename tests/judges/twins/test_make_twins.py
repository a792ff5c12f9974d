"""Laws of the twins: changed, within bounds, words kept, equal for equal seeds, skips counted."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from components.inspect.injection_marks import suspects_shown
from judges.twins.make_twins import (
    LENGTHS,
    SLACK,
    TwinItems,
    add_twins,
    describe_twins,
    find_broken_rule,
    list_twins,
    make_twin,
    smallest_detectable_effect,
)
from judges.twins.twin_makers import (
    MAKERS,
    TwinSkipped,
    TwinSource,
    _add_opening_and_closing,
    _add_signature,
    _bold_first_clause,
    _return_question_as_answer,
)
from judges.twins.twin_texts import ATTACKS, FILLERS, OPENINGS
from studies.domain import Item
from studies.spec.study import Study, TwinSpec, parse_study
from studies.texts.injection import is_suspect
from studies.texts.twin_families import (
    CONTROLS,
    FAMILIES,
    PRESET_FAMILIES,
    QUICK,
    add_floor_and_control_families,
    split_twin_name,
    twin_name,
)
from tests.page_words import says

ENGLISH = (
    "Water boils at 100 degrees at sea level, because its vapour pressure then equals that of "
    "the air. On a mountain of 3000 metres it boils earlier, at about 90 degrees."
)

MARKDOWN = "# Boiling\n\n- **Water** boils at 100 degrees.\n- See [the table](https://x.org/a).\n"
CODE = "```python\ndef total(n):\n    return sum(range(1, n + 1))\n```"
BARE_CODE = "def total(n):\n    return sum(range(1, n + 1))\n\nprint(total(10))"
CHINESE = "水在海平面的沸点是100度。在3000米的高山上，水在大约90度时沸腾。"
ARABIC = "يغلي الماء عند 100 درجة عند مستوى سطح البحر. وعلى الجبال يغلي قبل ذلك."
TEXTS = {
    "english": ENGLISH, "markdown": MARKDOWN, "code": CODE, "bare code": BARE_CODE,
    "chinese": CHINESE, "arabic": ARABIC, "short": "Paris.", "digit": "4",
}  # fmt: skip


def source_of(
    text: str, seed: int = 0, maker: str = "qwen", other: str = "The other item's answer."
) -> TwinSource:
    item = Item("q1", "When does water boil?", {"m": text}, images=("https://x.org/a.png",))
    return TwinSource(item, text, str(seed), maker, other)


def twin_of(family: str, text: str, seed: int = 0) -> str:
    return make_twin(family, source_of(text, seed))


def made_twins(text: str) -> dict[str, str]:
    found = {}
    for family in FAMILIES:
        try:
            found[family] = twin_of(family, text)
        except TwinSkipped:
            continue
    return found


def test_every_family_has_one_maker_and_a_known_floor():
    assert MAKERS.keys() == FAMILIES.keys()
    assert {FAMILIES[one.floor].group for one in FAMILIES.values()} == {"floor"}
    assert {name for name, one in FAMILIES.items() if one.floor == "prefix"} - {"frame"} == (
        OPENINGS.keys() - {"prefix"}
    )


@pytest.mark.parametrize("kind", TEXTS)
def test_twins_differ_keep_words_and_stay_within_their_lengths(kind: str):
    original = TEXTS[kind]
    for family, twin in made_twins(original).items():
        assert (twin == original) == (family == "repeat")
        low, high = LENGTHS.get(family, (1, 1))
        assert low * len(original) - 2 <= len(twin) <= high * len(original) + 2 * SLACK
        if FAMILIES[family].keeps_words:
            stripped = re.sub(r"[*#\s-]", "", twin)
            assert re.sub(r"[*#\s-]", "", original) in stripped, family
        kept = family not in ("marker", "echo", "empty", "other")
        if kept and original.endswith("."):
            assert twin.rstrip().rstrip("*").endswith("."), family


@pytest.mark.parametrize("family", FAMILIES)
def test_equal_seeds_give_equal_twins(family: str):
    try:
        assert twin_of(family, ENGLISH, 5) == twin_of(family, ENGLISH, 5)
    except TwinSkipped as reason:
        assert (family, str(reason)) == ("plain", "no Markdown")


def test_another_seed_draws_other_fillers_typos_and_numbers():
    for family in ("longer-1", "typos-5", "number"):
        assert len({twin_of(family, ENGLISH, seed) for seed in range(8)}) > 1


@pytest.mark.parametrize("family", ATTACKS)
def test_the_injection_rules_recognise_each_attack(family: str):
    assert is_suspect(twin_of(family, ENGLISH)) and not is_suspect(ENGLISH)


def test_inspect_marks_an_attack_among_the_answers_shown():
    item = Item(
        "q1", "When?", {"m": ENGLISH}, twins={"m ≈ attack-order": twin_of("attack-order", ENGLISH)}
    )
    assert [one.where for one in suspects_shown(item, ("m", "m ≈ attack-order"))] == [
        "m ≈ attack-order"
    ]
    assert suspects_shown(item, ("m",)) == []


def test_no_other_twin_looks_like_an_attack():
    plain = [family for family in FAMILIES if family not in {*ATTACKS, "marker"}]
    made = made_twins(ENGLISH)
    assert [family for family in plain if family in made and is_suspect(made[family])] == []


def test_padding_is_as_long_as_promised_and_says_nothing():
    for times in (1, 3):
        twin = twin_of(f"longer-{times}", ENGLISH)
        added = twin.removeprefix(ENGLISH)
        assert times * len(ENGLISH) <= len(added) <= times * len(ENGLISH) + SLACK
        assert not re.search(r"\d", added) and len(set(FILLERS)) == len(FILLERS)


def test_markdown_is_added_and_removed_without_touching_code():
    made = twin_of("markdown", f"{ENGLISH}\n\n{CODE}")
    assert made.startswith("## Answer\n\n- **Water boils at 100 degrees at sea level**, because")
    assert CODE in made and made.count("\n- ") == 2
    assert twin_of("plain", MARKDOWN) == "Boiling\n\nWater boils at 100 degrees.\nSee the table.\n"
    assert twin_of("plain", f"**Yes.**\n\n{CODE}") == f"Yes.\n\n{CODE}"


def test_typos_change_the_promised_number_of_words():
    long = " ".join([ENGLISH] * 10)
    for family, share in (("typos-1", 0.01), ("typos-5", 0.05)):
        twin = twin_of(family, long).split()
        changed = [a for a, b in zip(long.split(), twin, strict=True) if a != b]
        assert len(changed) == round(share * len(long.split()))
    assert CODE in twin_of("typos-5", f"{ENGLISH}\n{CODE}\n{ENGLISH}")


def test_controls_change_what_matters():
    cut = twin_of("cut", ENGLISH)
    assert cut.endswith(".") and ENGLISH.startswith(cut[:-1]) and len(cut) < 0.8 * len(ENGLISH)
    differing = [(a, b) for a, b in zip(ENGLISH, twin_of("number", ENGLISH), strict=True) if a != b]
    assert len(differing) == 1 and all(part.isdigit() for pair in differing for part in pair)
    assert len(twin_of("cut", CHINESE)) < len(CHINESE)


@pytest.mark.parametrize(
    ("family", "text", "reason"),
    [
        ("number", "Paris.", "no number"),
        ("plain", ENGLISH, "no Markdown"),
        ("markdown", MARKDOWN, "has Markdown already"),
        ("markdown", CODE, "code"),
        ("markdown", BARE_CODE, "code"),
        ("typos-1", BARE_CODE, "code"),
        ("confident", CHINESE, "not in Latin script"),
        ("longer-3", ARABIC, "not in Latin script"),
        ("cut", "4", "too short to cut"),
        ("sham", "  \n", "empty answer"),
    ],
)
def test_a_family_that_does_not_apply_gives_its_reason(family: str, text: str, reason: str):
    with pytest.raises(TwinSkipped, match=reason):
        twin_of(family, text)


@pytest.mark.parametrize("other", ["", " \n", "Paris."])
def test_an_answer_to_another_item_is_a_twin_only_if_it_says_something_else(other: str):
    assert make_twin("other", source_of("Paris.", other="Rome.")) == "Rome."
    with pytest.raises(TwinSkipped, match="no other item"):
        make_twin("other", source_of("Paris.", other=other))


def test_a_twin_that_breaks_a_law_is_found():
    assert says(find_broken_rule("sham", ENGLISH, ENGLISH), "same")
    assert says(find_broken_rule("citation", ENGLISH, "Source."), "length")
    assert find_broken_rule("citation", ENGLISH, ENGLISH.replace("Water", "Steam")) == "words lost"
    assert says(find_broken_rule("citation", "Yes.", "Yes. (Source)"), "full stop")
    assert find_broken_rule("sham", ENGLISH, ENGLISH + "\n") == ""


def study_of(twins: TwinSpec, items: int = 6) -> tuple[Study, list[Item]]:
    made = [
        Item(f"q{k}", "What?", {"x": f"It is {k}.", "y": "No.", "z": "" if k else "Yes."})
        for k in range(items)
    ]
    return Study("s", twins=twins), made


def test_twins_of_a_study_are_counted_with_the_skipped_ones():
    study, items = study_of(TwinSpec(("crowd", "number"), per_item=3))
    got = add_twins(study, items)
    answers = 6 * 2 + 1  # the answer of z is empty in five items
    assert got.made["crowd"] == got.made["prefix"] == got.made["sham"] == answers
    assert got.made["number"] == 6 and got.skipped["number", "no number"] == 7
    assert "repeat" not in got.made
    assert add_twins(study, items) == got
    for item in got.items:
        assert {split_twin_name(name)[0] for name in item.twins} <= {"x", "y", "z"}
        assert item.answer(twin_name("x", "crowd")).endswith(item.responses["x"])


def test_floors_and_controls_are_added_by_themselves():
    assert add_floor_and_control_families(("crowd",), "duel") == (
        "sham",
        "prefix",
        "crowd",
        *CONTROLS,
    )
    assert add_floor_and_control_families(("twice",), "substitution")[:2] == ("repeat", "sham")
    assert len(QUICK) == 6 and set(PRESET_FAMILIES["full"]) | set(CONTROLS) | {
        "repeat", "sham", "prefix",
    } == set(FAMILIES)  # fmt: skip


def test_the_number_of_items_and_of_answers_per_item_is_kept():
    study, items = study_of(TwinSpec(("twice",), answers=("x", "y"), items=4))
    found = [item for item in add_twins(study, items).items if item.twins]
    assert len(found) == 4
    assert all(len({split_twin_name(name)[0] for name in item.twins}) == 1 for item in found)


def test_a_study_file_names_presets_and_corrects_names():
    quick = parse_study("name: s\ntwins: quick\n").twins
    assert quick is not None and (quick.families, quick.items) == (QUICK, 20)
    full = parse_study("name: s\ntwins: {families: full, answers: all}\n").twins
    assert full is not None and full.families == PRESET_FAMILIES["full"] and full.answers == ()
    with pytest.raises(Exception, match=r"twins: no family 'longr-3' \(did you mean 'longer-3'\?"):
        parse_study("name: s\ntwins: {families: [longr-3]}\n")


@pytest.mark.parametrize(
    ("family", "longest"),
    [("frame", 1000 + 600), ("longer-3", 4000 + 600), ("longer-1", 2000 + 300), ("twice", 2300)],
)
def test_a_twin_may_exceed_its_length_by_whole_sentences(family, longest):
    original = "x" * 999 + "."
    for length, fault in ((longest, ""), (longest + 1, "length out of bounds")):
        twin = original + " " + "y" * (length - 1002) + "."
        assert len(twin) == length
        assert find_broken_rule(family, original, twin) == fault


def test_a_twin_keeps_at_least_its_share_of_the_length_its_words_and_its_full_stop():
    original = "word " * 199 + "ends."
    assert find_broken_rule("repeat", original, original) == ""
    assert find_broken_rule("repeat", original, original + "x")
    assert find_broken_rule("frame", original, original), "the same text is no twin"
    assert says(find_broken_rule("cut", original, original[:297]), "length")
    assert not says(find_broken_rule("cut", original, original[:298]), "length")
    assert find_broken_rule("longer-1", original, original + "z" * 1000 + ".") == ""
    assert find_broken_rule("longer-1", original, "z" * 1999 + ".") == "words lost"
    assert find_broken_rule("longer-1", original, original + "z" * 1000).startswith("no full stop")
    assert find_broken_rule("longer-1", original, original + "z" * 995 + "end.**") == ""
    assert find_broken_rule("empty", original, "") == "" == find_broken_rule("other", original, "z")


def test_a_twin_is_listed_with_its_original() -> None:
    family = QUICK[0]
    items = [
        Item("q1", "?", {"x": "so", "y": "thus"}, twins={twin_name("y", family): "thus, then"}),
        Item("q2", "?", {"x": "so"}),
    ]
    assert list(list_twins(items)) == [
        {"item": "q1", "answer": "y", "family": family, "original": "thus", "twin": "thus, then"}
    ]


def test_the_smallest_effect_is_that_of_a_two_sided_test_with_power():
    """One family: (1.95996 + .84162) · ½ / √n; 49 answers: .2001. At most 1."""
    assert smallest_detectable_effect(49, 1) == pytest.approx(0.200113, abs=1e-5)
    five = (2.575829 + 0.841621) / 2 / 10  # .025/5 beyond 2.575829
    assert smallest_detectable_effect(100, 5) == pytest.approx(five, abs=1e-6)
    assert smallest_detectable_effect(49, 1, power=0.5) == pytest.approx(1.959964 / 14, abs=1e-6)
    assert smallest_detectable_effect(1, 9) == 1.0
    assert smallest_detectable_effect(0, 1) is smallest_detectable_effect(1, 0) is None


def test_the_lines_on_twins_count_those_made_and_skipped():
    made = {"sham": 49, "longer-3": 40, "prefix": 3}
    skipped = {("longer-3", "too short"): 9, ("markdown", "no text"): 1_049}
    found = TwinItems([], made, skipped)
    lines = [line.split() for line in describe_twins(found)]
    assert ["longer-3", "40", "twins;", "9", "skipped:", "too", "short"] in lines
    assert ["markdown", "0", "twins;", "1,049", "skipped:", "no", "text"] in lines
    assert ["sham", "49", "twins"] in lines and len(lines) == 5
    assert lines[-1][-3:] == ["about", "20", "points"]
    assert len(list(describe_twins(TwinItems([], {"sham": 49}, {})))) == 1


def test_a_twin_that_cannot_be_made_says_why():
    plain = source_of("One. Two.")
    for question, make, why in (
        (" ", _add_opening_and_closing, "Latin"),
        ("为什么?", _add_opening_and_closing, "Latin"),
        (" ", _return_question_as_answer, "no question"),
    ):
        with pytest.raises(TwinSkipped, match=why):
            make(replace(plain, item=replace(plain.item, instruction=question)))
    with pytest.raises(TwinSkipped, match="not set"):
        _add_signature("own", replace(plain, maker=""))
    assert _return_question_as_answer(plain) == plain.item.instruction
    assert "Qwen" in _add_signature("own", plain) and "Qwen" not in _add_signature("other", plain)
    for text, bold in (("One, two.", "**One**, two."), ("", ""), (" ,", " ,")):
        assert _bold_first_clause(text) == bold
