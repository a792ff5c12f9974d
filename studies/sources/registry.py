"""Registry of the supported source formats, in the order of detection, and their table for
docs/formats.md (`python -m studies.sources.registry` writes it there)."""

import inspect
from pathlib import Path
from typing import Final

from studies.sources.formats import (
    any_table,
    battle_tables,
    benchmarks,
    checked_verdicts,
    creation_mmbench,
    inspect_log,
    labelled_pairs,
    own_exports,
    pair_annotations,
    preference_sets,
    tool_logs,
    visit_bench,
)
from studies.sources.source_format import DECLARED, SourceFormat

FORMAT_MODULES: Final = (
    any_table, battle_tables, benchmarks, checked_verdicts, creation_mmbench, inspect_log,
    labelled_pairs, own_exports, pair_annotations, preference_sets, tool_logs, visit_bench,
)  # fmt: skip
"""Modules that declare formats when they are imported."""
DETECTION_ORDER: Final = (
    "evenhand", "evenhand-judgements", "evenhand-csv", "evenhand-votes", "evenhand-shards",
    "visit-bench", "visit-battles", "auto-j", "oasst", "creation-mmbench", "arena", "mt-bench",
    "vicuna", "arena-hard", "alpaca-eval", "llmbar", "llm-comparator", "autoarena", "evalica",
    "judgebench", "preference", "themis", "pandalm", "verdict-label", "kaggle", "prd", "inspect",
    "promptfoo", "deepeval", "langfuse", "phoenix", "langsmith", "table",
)  # fmt: skip
"""Names of the formats in the order in which messages, the form and docs/formats.md list them:
Evenhand's own files, test sets and benchmarks, logs of tools, and the mapped table. The order does
not decide which format a source has: every format is tried, and a source that matches several is an
error. The mapped table never matches."""

SOURCE_FORMATS: Final[dict[str, SourceFormat]] = {
    name: DECLARED[name] for name in sorted(DECLARED, key=DETECTION_ORDER.index)
}


def render_table_of_formats() -> str:
    """Return the table of formats in docs/formats.md, made from the declarations and docstrings of
    the readers."""
    rows = ["| `--format` | what it reads | gives | notes |", "|---|---|---|---|"]
    for name, source_format in SOURCE_FORMATS.items():
        what, _, notes = inspect.cleandoc(source_format.read.__doc__ or "").partition("\n\n")
        parts = (what.removeprefix("Read "), source_format.gives, notes)
        texts = (" ".join(text.split()).rstrip(".") for text in parts)
        rows.append(
            " | ".join([f"| `{name}`", *(text.replace("|", r"\|") for text in texts)]) + " |"
        )
    return "\n".join(rows) + "\n"


def write_table_of_formats(docs: Path) -> None:
    """Write the table of `render_table_of_formats` to the file `docs` (docs/formats.md), in place
    of the table that the file has."""
    text = docs.read_text(encoding="utf-8")
    start = text.index("| `--format` |")
    end = text.index("\n\n", start) + 1
    docs.write_text(text[:start] + render_table_of_formats() + text[end:], encoding="utf-8")


if __name__ == "__main__":
    write_table_of_formats(Path(__file__).parents[2] / "docs" / "formats.md")
