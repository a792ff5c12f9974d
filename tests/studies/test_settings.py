"""Environment variables: one module reads them, and the documentation lists them all."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from studies import settings
from studies.errors import SettingError
from studies.settings import is_public

ROOT = Path(__file__).parents[2]
READERS = {"studies/settings.py", "app.py"}
"""app.py sets one variable of Gradio before Gradio is imported."""


def _product_modules() -> list[Path]:
    folders = ("components", "judges", "metrics", "studies")
    return [ROOT / "app.py", *(p for f in folders for p in (ROOT / f).rglob("*.py"))]


def test_one_module_reads_the_environment() -> None:
    found = set()
    words = {"environ", "environb", "getenv", "putenv"}
    for path in _product_modules():
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if any(w in source for w in words) else ():
            names = (
                {getattr(node, "attr", ""), *(a.name for a in getattr(node, "names", ()) if a)}
                if isinstance(node, (ast.Attribute, ast.ImportFrom))
                else set()
            )
            if names & words:
                found.add(path.relative_to(ROOT).as_posix())
    assert found == READERS


def test_the_documentation_lists_every_variable_with_its_default() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    table = text[text.index("| variable | meaning | default |") :].split("\n\n")[0]
    rows = [line for line in table.splitlines()[2:] if line]
    listed = [f"| `{s.name}` | {s.meaning} | {s.default} |" for s in settings.ALL_SETTINGS]
    assert rows == listed


def test_every_variable_of_the_project_named_in_a_text_is_a_setting() -> None:
    known = {setting.name for setting in settings.ALL_SETTINGS}
    for path in _product_modules():
        named = set(re.findall(r"EVENHAND_[A-Z_]*[A-Z]", path.read_text(encoding="utf-8")))
        assert named <= known, path


@pytest.mark.parametrize(
    ("setting", "text", "value"),
    [
        (settings.THREADS, " 3 ", 3),
        (settings.HOSTS, "a.example, b:1,", ("a.example", "b:1")),
        (settings.VOTES, "open", True),
        (settings.HOST_KEY_DAY_USD, "0", 0.0),
        (settings.PUBLIC, "0", False),
        (settings.PORT, "", 7860),
    ],
)
def test_a_value_is_converted_at_each_read(setting, text, value, monkeypatch) -> None:
    monkeypatch.setenv(setting.name, text)
    assert setting.read() == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PORT", "http"),
        ("PORT", "70000"),
        ("EVENHAND_MAX_FILE_MB", "-1"),
        ("EVENHAND_VOTES", "yes"),
        ("EVENHAND_KEY_MINUTES", "nan"),
    ],
)
def test_a_wrong_value_is_refused_at_the_start_with_an_example(name, text, monkeypatch) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(SettingError, match=rf"^{name} is '{text}', not .+\. Set {name}=\w+\.$"):
        settings.check_settings()


def test_a_space_is_public_unless_its_owner_decides(monkeypatch) -> None:
    monkeypatch.delenv("EVENHAND_PUBLIC", raising=False)
    monkeypatch.delenv("SPACE_ID", raising=False)
    assert not is_public()
    monkeypatch.setenv("SPACE_ID", "owner/space")
    assert is_public()
    monkeypatch.setenv("EVENHAND_PUBLIC", "0")
    assert not is_public()
