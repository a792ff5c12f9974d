"""Tables of docs/command-line.md that follow from the code: keys of study files, and options.

python -m tests.command_tables           print them
python -m tests.command_tables --write   put them into docs/command-line.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import app
import components.__main__ as components_command
import evenhand.nightly.gate_command as gate_command
import judges.__main__ as judges_command
import metrics.__main__ as metrics_command
import studies.__main__ as studies_command
from components.study.file.judge_entries import simulation_setting_default
from judges.models.simulation import simulated_scores
from studies.spec.keys import SIMULATION
from studies.spec.schema import study_schema

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "command-line.md"
BEGIN: Final = "<!-- made by `python -m tests.command_tables --write`; do not edit -->"
END: Final = "<!-- end of the tables -->"
BLOCKS: Final = {
    "a study file": "",
    "`data`": "Data",
    "a judge": "Judge",
    "`price` of a judge, in dollars per million tokens": "Price",
    "a simulated judge, beside those of a judge": "SimulatedJudge",
    "`extraction`": "Extraction",
    "`twins`": "Twins",
}
UNSET: Final[Mapping[tuple[str, str], str]] = {
    ("", "data"): "the probe set",
    ("", "contestants"): "all of the data",
    ("", "judges"): "required",
    ("", "prompts"): "required, or the preset's",
    ("", "orders"): "`both` for pairs, `rotations` for N options",
    ("Judge", "name"): "the model",
    ("Judge", "read"): "`text`; embedded judge: `probabilities`",
    ("Judge", "timeout_s"): "`180.0`; 600 for models known to reason",
    ("Price", "cache_read"): "`input`",
    ("Price", "cache_write"): "`input`",
    ("SimulatedJudge", "much_rate"): "by the known answers",
    ("SimulatedJudge", "score_mean"): f"`{simulated_scores.DEFAULT_MEAN}`",
    ("SimulatedJudge", "score_spread"): f"`{simulated_scores.DEFAULT_SPREAD}`",
    ("SimulatedJudge", "score_noise"): f"`{simulated_scores.DEFAULT_NOISE}` points, "
    f"`{simulated_scores.DEFAULT_STEP_NOISE}` steps of a scale",
    ("SimulatedJudge", "graded_signal"): "none: no graded replies",
    ("SimulatedJudge", "graded_noise"): "`1.0`",
    ("SimulatedJudge", "graded_much"): f"`{simulated_scores.DEFAULT_MUCH}`",
    ("SimulatedJudge", "slot_weights"): "only the first",
    ("Extraction", "judge"): "required",
    ("Twins", "families"): "`quick`",
    ("Twins", "answers"): "`all`",
}
"""Block and key -> its default in words, where the schema does not tell it."""


def tables() -> str:
    """All tables as Markdown."""
    return "\n".join([*_key_tables(), *_option_tables()])


def _key_tables() -> Iterator[str]:
    schema = study_schema()
    judge = schema["$defs"]["Judge"]["properties"]
    for title, name in BLOCKS.items():
        block = schema["$defs"][name] if name else schema
        yield f"\n### Keys of {title}\n| key | meaning | values | default |\n|---|---|---|---|"
        for key, rule in block["properties"].items():
            if name != "SimulatedJudge" or key not in judge:
                needed = key in block.get("required", ())
                default = UNSET.get((name, key)) or _default(rule, needed)
                if name == "SimulatedJudge" and default == "none":
                    default = f"`{simulation_setting_default(SIMULATION[key])}`"
                yield f"| `{key}` | {_meaning(rule)} | {_values(rule)} | {default} |"


def _meaning(rule: Mapping[str, Any]) -> str:
    told = str(rule.get("description", ""))
    return _cell(f"{rule['title']}: {told}" if told else str(rule["title"]))


def _values(rule: Mapping[str, Any]) -> str:
    parts = [rule, *rule.get("anyOf", ())]
    words = [str(word) for part in parts for word in part.get("enum", ()) if word != ""]
    if words:
        return ", ".join(f"`{word}`" for word in words)
    lows = [part["minimum"] for part in parts if "minimum" in part]
    highs = [part["maximum"] for part in parts if "maximum" in part]
    if lows and highs:
        return f"{_number(lows[0])} to {_number(highs[0])}"
    kinds = [str(part.get("type")) for part in parts]
    named = {"boolean": "`true`, `false`", "array": "list", "object": "mapping"}
    if any("$ref" in part for part in parts):
        return "text or mapping" if "string" in kinds else "mapping"
    return next((named[kind] for kind in kinds if kind in named), "text")


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else str(value)


def _default(rule: Mapping[str, Any], needed: bool) -> str:
    if needed:
        return "required"
    value = rule.get("default")
    return "none" if value in (None, "", [], {}) else f"`{str(value).lower()}`"


def _option_tables() -> Iterator[str]:
    parsers = {
        "python app.py": app.build_parser(),
        "python -m judges": judges_command._build_parser(),
        "python -m studies": studies_command._build_parser(),
        "python -m metrics": metrics_command._build_parser(),
        "python -m components": components_command._build_parser(),
        "python -m evenhand gate": gate_command._build_parser(),
    }
    yield "\n### Options of commands\n| command | option | meaning |\n|---|---|---|"
    for name, parser in parsers.items():
        for command, one in _commands(name, parser):
            for action in one._actions:
                if not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction)):
                    yield f"| `{command}` | {_option(action)} | {_cell(action.help or '')} |"


def _commands(
    name: str, parser: argparse.ArgumentParser
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """A command and its sub-commands, at any depth."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                yield from _commands(f"{name} {word}", inner)


def _option(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings) or str(action.metavar or action.dest).upper()
    if action.option_strings and action.nargs != 0:
        choices = [str(one) for one in action.choices or ()]
        names += f" {'|'.join(choices) if choices else action.metavar or action.dest.upper()}"
    return f"`{_cell(names)}`"


def _cell(text: str) -> str:
    return " ".join(text.replace("%%", "%").split()).replace("|", "\\|")


def with_tables(page: str) -> str:
    """The page with the tables of the present code."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{tables()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(tables())
