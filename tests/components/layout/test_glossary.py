"""Terms of the glossary: read from the documentation, marked once in the labels of a panel."""

from __future__ import annotations

import json
import re

import pytest

from components.html.markup import Markup, fill
from components.html.pieces import Kpi, kpi_strip, panel_html
from components.html.tables.table import Table
from components.layout.glossary import GLOSSARY, UNMARKED, glossary, mark_terms, parse_glossary
from components.layout.theme import head_html
from components.layout.widgets import ClickableHTML
from metrics.catalogue import records
from metrics.catalogue.record import CHANCE


def marked(html: str) -> list[str]:
    return re.findall(r'data-term="([^"]*)"', html)


def text_of(html: str) -> str:
    return re.sub(r"<[^>]*>", "", html)


def test_a_bullet_may_define_several_terms_over_several_lines():
    terms = parse_glossary(
        "# Words\n\n## Part\n- **Swap** (also *turn*): the other\n  order. **Set** (in code: *x*): "
        "all `orders`. In code, it is *y*.\n- **κ (kappa)**: above chance.\n"
    )
    assert [(one.name, one.also, one.definition) for one in terms] == [
        ("Swap", "turn", "The other order."),
        ("Set", "", "All orders."),
        ("κ (kappa)", "", "Above chance."),
    ]
    assert terms[2].spellings == ("κ", "kappa")


def test_every_bold_word_of_the_documentation_is_a_term_with_a_definition():
    bold = re.findall(r"\*\*(.+?)\*\*", GLOSSARY.read_text(encoding="utf-8"))
    assert [term.name for term in glossary()] == bold
    assert all(len(term.definition) > 8 for term in glossary())
    assert not [term for term in glossary() if re.search(r"[*`]|\bask", term.definition)]


def test_the_definition_of_a_measure_is_that_of_its_record():
    named = {one.name.lower(): one for one in records.RECORDS.values()}
    found = {}
    for term in glossary():
        record = named.get(term.key) or named.get(term.also)
        if record is not None:
            found[record.key] = term
            share = "share of " if record.style == "percent" else ""
            told = f"{share}{record.definition}".replace("`", "").lower()
            assert term.definition.lower().startswith(told), (term, told)
    listed = {"consistency", "first_share", "accuracy", "noise_floor", "grade", "win_rate"}
    assert listed <= set(found) and len(found) >= 9
    (chance,) = (term.definition for term in glossary() if term.key == "chance")
    assert chance.endswith(CHANCE.removeprefix("Chance: ")), "one definition"
    assert len(re.findall("^- ", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)) <= 62


def test_unmarked_words_are_terms_of_the_glossary():
    assert {term.key for term in glossary()} >= UNMARKED


def test_title_key_figures_and_heads_mark_each_term_once():
    body = Table(["Judge", "Win rate", "Flips"], [["a flip", "1", "2"]], "eh-tbl").html()
    html = mark_terms(panel_html("Flips by judge", "% of flips, 95 % intervals", body))
    assert marked(html) == ["flip", "interval", "win rate"]
    strip = mark_terms(kpi_strip([Kpi("Unusable replies", "3", note="no consistency")]))
    assert marked(strip) == ["unusable reply", "consistency"]


def test_marks_change_no_text():
    html = panel_html(
        "Elo & κ <b>", "Bradley–Terry, **noise floor** & `flip`", Markup("<p>flip</p>")
    )
    made = mark_terms(html)
    assert text_of(made) == text_of(html)
    assert marked(made) == ["elo", "κ (kappa)", "bradley–terry", "changes on a repeat"]


def test_a_hostile_name_stays_escaped():
    html = mark_terms(panel_html('flip"><img src=x onerror=1>', "<script>flip</script>", Markup()))
    assert isinstance(html, Markup)
    assert "<img" not in html
    assert "<script" not in html
    assert marked(html) == ["flip"]


@pytest.mark.parametrize(
    "label",
    [
        fill("<h2><button>{}</button></h2>", "Flips"),
        fill('<h2><a href="#">{}</a></h2>', "Flips"),
        fill("<h2>{}</h2>", "Flipside, non-Elo, eloquent"),
        fill("<td>{}</td><p>{}</p>", "Flips", "noise floor"),
    ],
)
def test_links_parts_of_words_and_other_text_are_left_alone(label):
    assert mark_terms(label) == label


def test_the_component_marks_its_first_and_later_values():
    view = ClickableHTML(panel_html("Flips", "", Markup()))
    assert marked(view.value) == ["flip"]
    assert marked(view.postprocess(panel_html("Elo", "", Markup()))) == ["elo"]
    assert view.postprocess(None) is None


def test_the_head_has_each_definition_once():
    found = re.search(r'id="eh-help-data">(.*?)</script>', head_html(), re.DOTALL)
    assert found is not None
    sent = json.loads(found[1])["terms"]
    assert [name for name, _ in sent] == [term.name for term in glossary()]
    assert dict(sent)["Position"].endswith("second, … Also: slot.")
