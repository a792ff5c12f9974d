"""HTML is made in one way: constant templates, and values that are escaped where they go in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.html.markup import (
    EMPTY,
    Markup,
    attributes,
    bold_and_code_html,
    escape,
    escape_plot,
    fill,
    fill_plot,
    join,
    json_script,
    link,
    tag,
)
from tests.attacks.attack_log import Mode, attempt

COMPONENTS = Path(__file__).parents[3] / "components"
CORE = COMPONENTS / "html" / "markup.py"
TAG = re.compile(r"<[a-zA-Z/!]")
TEMPLATES = {"fill", "Markup", "fill_plot", "PlotText"}
"""Functions whose first argument is a constant piece of HTML or of Plotly's markup."""
HTML_IN_TEXT = re.compile("|".join([TAG.pattern, "markupsafe", *sorted(TEMPLATES)]))
"""One of these is in every source that `misplaced_html` has to parse."""
TOASTS = {"Error", "Warning", "Info", "Success"}


# ------------------------------------------------------------------------------ the source


def misplaced_html(tree: ast.Module) -> Iterator[str]:
    """Each f-string, sum or other text with a tag that is no constant template, and each template
    that is not constant."""
    allowed = {id(part.value) for part in ast.walk(tree) if isinstance(part, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        first = node.args[0]
        if isinstance(node.func, ast.Name) and node.func.id in TEMPLATES:
            if isinstance(first, ast.Constant):
                allowed.add(id(first))
            else:
                yield f"{node.lineno}: {node.func.id}() of a computed text"
        elif isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "re":
            allowed.add(id(first))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in allowed and TAG.search(node.value):
                yield f"{node.lineno}: {node.value[:60]!r}"
        elif isinstance(node, ast.ImportFrom) and node.module == "markupsafe":
            yield f"{node.lineno}: import Markup from components.html.markup"


def test_html_is_a_constant_template_with_escaped_values() -> None:
    sources = {path: path.read_text() for path in COMPONENTS.rglob("*.py") if path != CORE}
    found = {
        str(path.relative_to(COMPONENTS)): places
        for path, source in sources.items()
        if HTML_IN_TEXT.search(source) and (places := list(misplaced_html(ast.parse(source))))
    }
    assert len(sources) > 100 and found == {}


@pytest.mark.parametrize(
    "source",
    [
        "f'<b>{name}</b>'",
        "'<b>' + name + '</b>'",
        "'<b>%s</b>' % name",
        "'<b>{}</b>'.format(name)",
        "''.join(['<b>', name])",
        "Markup(name)",
        "Markup(f'{name}')",
        "fill('<b>' + name)",
        "fill(template, name)",
        "fill_plot(f'<b>{name}</b>')",
        "from markupsafe import Markup",
    ],
)
def test_html_made_in_another_way_is_found(source: str) -> None:
    assert list(misplaced_html(ast.parse(f"made = {source}" if "import" not in source else source)))


@pytest.mark.parametrize(
    "source",
    ["fill('<b>{}</b>', name)", "Markup('<br>')", "re.compile('(?P<a>b)')", "f'{name} < {other}'"],
)
def test_constant_templates_are_accepted(source: str) -> None:
    assert list(misplaced_html(ast.parse(f"made = {source}"))) == []


def unescaped_messages(tree: ast.Module) -> Iterator[str]:
    """Messages that Gradio shows as HTML: neither constant nor escaped."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in TOASTS
            and ast.unparse(node.func.value) == "gr"
            and node.args
        ):
            message = node.args[0]
            called = message.func if isinstance(message, ast.Call) else None
            escaped = isinstance(called, ast.Name) and called.id in ("escape", "bold_and_code_html")
            if not escaped and not isinstance(message, ast.Constant):
                yield f"{node.lineno}: {ast.unparse(message)}"


def test_no_head_of_a_table_is_empty() -> None:
    """Screen readers read the head of a column or row; one that nobody sees has the class eh-vh."""
    empty = re.compile(r"<th\b[^>]*></th>")
    templates = {path.name: path.read_text("utf-8") for path in COMPONENTS.rglob("*.html")}
    assert len(templates) > 20
    assert [name for name, text in templates.items() if empty.search(text)] == []


def test_messages_on_the_page_are_escaped() -> None:
    """Gradio shows them as HTML: an image in one would be a request to a foreign server."""
    found = {
        (path.name, text)
        for path in COMPONENTS.rglob("*.py")
        if path.name != "api_tab.py"  # its errors go to programs, as plain text
        if any(toast in (source := path.read_text()) for toast in TOASTS)
        for text in unescaped_messages(ast.parse(source))
    }
    assert found == set()
    assert list(unescaped_messages(ast.parse("gr.Error(str(error))")))


# ------------------------------------------------------------------------------ the functions

SCRIPTS = "script injection"
HOSTILE = "<img src=x onerror=alert(1)>\"'`&$x$ **b** %{y} {0} </script>"
MADE = {
    "fill": lambda: fill("<p title='{}'>{}</p>", HOSTILE, HOSTILE),
    "join": lambda: join([HOSTILE, HOSTILE], HOSTILE),
    "tag": lambda: tag("p", HOSTILE, class_=HOSTILE, data_tip=HOSTILE),
    "attributes": lambda: attributes({"title": HOSTILE}),
    "link": lambda: link(HOSTILE, {"judge": HOSTILE}),
    "link without selection": lambda: link(HOSTILE, None),
    "bold_and_code_html": lambda: bold_and_code_html(HOSTILE),
    "escape": lambda: escape(HOSTILE),
    "sum": lambda: Markup("<p>") + HOSTILE,
    "reversed sum": lambda: HOSTILE + Markup("<p>"),
    "json_script": lambda: json_script("data", {"text": HOSTILE}),
    "plot": lambda: fill_plot("<b>{}</b>", HOSTILE),
}


@pytest.mark.parametrize("name", MADE)
def test_no_hostile_text_becomes_a_tag(name: str, each_mode: Mode) -> None:
    with attempt(SCRIPTS, each_mode, name):
        made = MADE[name]()
        assert "<img" not in made
        assert made.count("</script>") == (name == "json_script")
        assert isinstance(made, Markup) == (name != "plot")


def test_values_are_escaped_once() -> None:
    inner = fill("<b>{}</b>", "a & b")
    assert fill("<p>{}</p>", inner) == "<p><b>a &amp; b</b></p>"
    assert join([inner, "<"], ", ") == "<b>a &amp; b</b>, &lt;"
    assert tag("i", inner, class_=None) == "<i><b>a &amp; b</b></i>"
    assert escape(inner) is inner
    assert fill_plot("{}", escape_plot("<$>")) == "&lt;&#36;&gt;"
    assert join([]) == EMPTY


def test_numbers_keep_their_format() -> None:
    assert fill("{:.2f}% of {}", 12.345, 7) == "12.35% of 7"


def test_bold_and_code_in_a_sentence() -> None:
    assert bold_and_code_html("**a<b** and `c`") == "<b>a&lt;b</b> and <code>c</code>"
    assert bold_and_code_html(HOSTILE).count("<") == 2  # the two tags of **b**
    assert not set(escape_plot(HOSTILE)) & set("<>${")
