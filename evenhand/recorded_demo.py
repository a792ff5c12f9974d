"""The recorded demo: verdicts of two language models, with 135M and 1.5B parameters, on the probe
set (built-in items whose better answer is known), measured without any call. The command prints
the measures of the 1.5B judge."""

import argparse
from typing import Final

from evenhand.judge_audit import JudgeAudit
from evenhand.study_table import JudgedStudy
from metrics.remedies.known_winners import DESIGN
from metrics.summary import measured_study, remedy_section
from studies.exchange.unsaved_study import frame_from_judgements
from studies.files.items import read_items
from studies.files.tables import read_table
from studies.sources.formats.own_exports import keep_first_per_ask, parse_judgements
from studies.sources.load import ASSETS_FOLDER, BUILT_IN_SOURCES
from studies.terminal import run_command

NAME: Final = "Probe set, embedded judge"
FILES: Final = {
    "pairs": NAME,
    "second": "Probe set, Qwen 1.5B judge",
    "options": "Probe set, four options",
    "single": "Probe set, single answers",
    "twins": "Probe set, twins",
}
"""Name of a recorded file in assets/demo -> name of its study."""


def demo_study(file: str = "pairs") -> JudgedStudy:
    """Return a recorded study on the built-in items. `file` is `pairs` for pairs judged by a model
    with 135M parameters; the others are by a model with 1.5B parameters: `second` (pairs),
    `options` (four answers at once), `single` (each answer alone) or `twins` (changed copies of
    answers)."""
    path = ASSETS_FOLDER / "demo" / f"{file}.jsonl.gz"
    judgements = keep_first_per_ask(parse_judgements(read_table(path)))
    used = {judgement.ask.item for judgement in judgements}
    items = [item for item in read_items(BUILT_IN_SOURCES["probe"]) if item.id in used]
    name = FILES[file]
    frame = frame_from_judgements(items, judgements, name)
    inputs = remedy_section.RemedyInputs(source=DESIGN)
    measured = measured_study.MeasuredStudy.from_rows(frame, name, items, inputs)
    return JudgedStudy(measured, name, "design", items=tuple(items))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="evenhand demo", description=__doc__)
    parser.parse_args(arguments)
    return run_command(_print_cards)


def _print_cards() -> int:
    print(JudgeAudit(demo_study("second")))
    return 0
