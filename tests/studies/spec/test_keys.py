"""Keys of the study file are written once: code names them as attributes of their block."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from studies.spec.keys import DATA, EXTRACTION, JUDGE, PRICE, SIMULATION, STUDY

ROOT = Path(__file__).parents[3]
STUDY_FILES_IN_PYTHON = {"studies/spec/presets.py"}
"""Modules that contain whole study files as Python values."""
OTHER_USES = {
    "option of another key, action, or part of the Study form": "data preset source new baseline "
    "mapping extraction protocol prompts judges judge name model read unrelated labels files",
    "column of judgements, items and their exports, or a method": "contestants options orders "
    "unreadable family cache_write split where input output join criteria format",
    "measure or section of the results": "accuracy tie_rate self_preference noise_floor repeats "
    "reading sensitivity specificity twins count",
    "parameter of the chat completions API": "temperature top_p max_tokens reasoning_effort seed",
}
"""Keys whose word also belongs to another vocabulary, where it is written as a string."""


def test_a_key_is_a_string_in_at_most_one_module() -> None:
    blocks = (STUDY, DATA, JUDGE, PRICE, SIMULATION, EXTRACTION)
    keys = {word for block in blocks for key in block for word in (key.name, str(key))}
    shared = {word for words in OTHER_USES.values() for word in words.split()}
    assert shared <= keys, "an exception that is no key"
    found: dict[str, set[str]] = defaultdict(set)
    own = keys - shared
    quoted = re.compile(rf"""["'](?:{"|".join(map(re.escape, own))})["']""")
    for folder in ("components", "judges", "metrics", "studies"):
        for path in (ROOT / folder).rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            if not quoted.search(source):
                continue  # parsing takes most of the time
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Constant) and node.value in own:
                    found[node.value].add(path.relative_to(ROOT).as_posix())
    several = {key: names - STUDY_FILES_IN_PYTHON for key, names in found.items()}
    assert {key: names for key, names in several.items() if len(names) > 1} == {}
