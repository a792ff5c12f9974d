"""The script of the page: its functions share one object, where a second of a name wins."""

from __future__ import annotations

import re
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "assets" / "page.js"


def test_no_function_of_the_page_replaces_another_of_its_name() -> None:
    names = re.findall(r"^ *evenhand\.(\w+) = ", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(names) > 10
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
