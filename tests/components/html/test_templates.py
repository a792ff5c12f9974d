"""Templates: escaping, unknown names, and rules that hold for every template file."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import jinja2
import pytest

from components.html.markup import Markup
from components.html.pieces import finding_html
from components.html.templates import ENVIRONMENT, TEMPLATE_FOLDER, macros

TEMPLATES = sorted(
    path.relative_to(TEMPLATE_FOLDER).as_posix() for path in TEMPLATE_FOLDER.rglob("*.html")
)
CALLS = Counter(
    name
    for ending in ("*.py", "*.html")
    for path in Path(TEMPLATE_FOLDER).rglob(ending)
    for name in re.findall(r"\b(\w+)\(", path.read_text(encoding="utf-8"))
)
"""Name followed by a bracket -> number of places."""


def test_values_are_escaped_and_markup_is_kept() -> None:
    made = ENVIRONMENT.from_string("{% macro cell(x) %}<td>{{ x }}</td>{% endmacro %}").module
    assert made.cell("<script>") == "<td>&lt;script&gt;</td>"
    assert made.cell(Markup("<b>1</b>")) == "<td><b>1</b></td>"
    assert isinstance(made.cell("x"), Markup)


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        ENVIRONMENT.from_string("{{ missing }}").render()


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_escapes_everything_and_each_macro_is_used(name: str) -> None:
    text = (TEMPLATE_FOLDER / name).read_text(encoding="utf-8")
    assert not re.search(r"\|\s*safe\b|autoescape|Markup", text), "values must be escaped"
    made = macros(name)
    for macro in re.findall(r"{%-? macro (\w+)", text):
        assert callable(getattr(made, macro))
        assert CALLS[macro] > 1, f"{name}: the macro {macro} is never called"


def test_an_interval_in_a_headline_is_one_grey_word_and_hostile_text_stays_text():
    html = finding_html("Flips 47 % [44, 49]; a [link, text] <b>", "loses [−3.0, −0.8] points")
    assert re.findall(r'<span class="eh-ci">(.*?)</span>', html) == ["[44, 49]", "[−3.0, −0.8]"]
    assert "[link, text] &lt;b&gt;" in html
