"""The mypy plugin reports Markup that becomes plain text, and nothing else."""

from __future__ import annotations

from pathlib import Path

from mypy import api

SOURCE = """
from markupsafe import Markup

made, text = Markup("<b>"), "a"
print(f"{made} of {text}")
print("{}".format(made))
print(", ".join([made, made]))
print(", ".join(made for _ in range(2)))
print(f"{text}", "{}".format(text), ", ".join([text]), made.format(made), made.join([made]))
"""


def test_markup_in_plain_text_is_reported(tmp_path: Path) -> None:
    plugin = Path(__file__).with_name("markup_types.py")
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nplugins = {plugin}\n")
    (tmp_path / "page.py").write_text(SOURCE)
    arguments = ["--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path)]
    found, errors, _ = api.run([*arguments, str(tmp_path / "page.py")])
    assert not errors
    lines = [line.split(":")[1] for line in found.splitlines() if "Markup becomes" in line]
    assert lines == ["5", "6", "7", "8"], found
