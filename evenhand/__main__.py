"""Command line `evenhand WORD …`: page, runs, plans, measures, imports, reports, nightly check."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from evenhand import __version__
from evenhand.extras import explain_missing

MainFunction = Callable[[list[str]], int]


def _import_app_main() -> MainFunction:
    from app import main

    return lambda given: main(given[1:])


def _import_judges_main() -> MainFunction:
    from judges.__main__ import main

    return main


def _import_metrics_main() -> MainFunction:
    from metrics.__main__ import main

    return lambda given: main(given[1:])


def _import_studies_main() -> MainFunction:
    from studies.__main__ import main

    return main


def _import_components_main() -> MainFunction:
    from components.__main__ import main

    return main


def _import_demo_main() -> MainFunction:
    from evenhand.recorded_demo import main

    return lambda given: main(given[1:])


def _import_gate_main() -> MainFunction:
    from evenhand.nightly.gate_command import main

    return lambda given: main(given[1:])


WORDS: Final[dict[str, tuple[Callable[[], MainFunction], str]]] = {
    "app": (_import_app_main, "start the page"),
    "run": (_import_judges_main, "make the missing calls of a study; also resumes a run"),
    "plan": (_import_judges_main, "count calls, tokens and dollars, without any call"),
    "check": (_import_judges_main, "call each judge once"),
    "reread": (_import_judges_main, "parse the stored replies again"),
    "retry": (_import_judges_main, "repeat failed calls"),
    "describe": (_import_judges_main, "describe images with a judge"),
    "align": (_import_judges_main, "improve a prompt from corrections, shown on held-out items"),
    "twins": (_import_judges_main, "write the twins of a study for reading"),
    "allow": (_import_judges_main, "allow an environment variable for an endpoint"),
    "providers": (_import_judges_main, "list the presets of providers"),
    "models": (_import_judges_main, "list the models of a provider"),
    "download": (_import_judges_main, "download the weights of a model"),
    "import-prompts": (_import_judges_main, "import prompts of MT-Bench"),
    "export-batch": (_import_judges_main, "write the calls of a study as batch files"),
    "submit-batch": (_import_judges_main, "send batch files"),
    "collect-batch": (_import_judges_main, "fetch the results of batches"),
    "import-batch": (_import_judges_main, "import the results of batches"),
    "metrics": (_import_metrics_main, "print all measures of a store or a CSV"),
    "import": (_import_studies_main, "import recorded verdicts as a study"),
    "list": (_import_studies_main, "list the studies of a store"),
    "show": (_import_studies_main, "print a study file and its counts"),
    "export": (_import_studies_main, "write the judgements of a study"),
    "delete": (_import_studies_main, "delete a study"),
    "repair": (_import_studies_main, "copy the readable rows of a damaged store"),
    "backup": (_import_studies_main, "copy a store to one file"),
    "report": (_import_components_main, "write a study as one HTML file"),
    "freeze": (_import_components_main, "write a read-only page of a study"),
    "publish": (_import_components_main, "write a Space with a study"),
    "board": (_import_components_main, "compare judges on one offline page, and verify it"),
    "access": (_import_components_main, "print the table of limits"),
    "demo": (_import_demo_main, "print the cards of the recorded 1.5B judge, offline"),
    "gate": (_import_gate_main, "compare a judge with its baseline, for CI"),
}
"""Word on the command line -> function that imports its command, and a summary of the command."""


def main(arguments: list[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    if not given or given[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0 if given else 2
    if given[0] in ("-V", "--version"):
        print(f"evenhand {__version__}")
        return 0
    if given[0] not in WORDS:
        print(f"error: no command named {given[0]!r}; known: {', '.join(WORDS)}", file=sys.stderr)
        return 2
    try:
        return WORDS[given[0]][0]()(given)
    except ModuleNotFoundError as error:
        explained = explain_missing(error)
        if explained is None:
            raise
        print(f"error: {explained}", file=sys.stderr)
        return 2


def _usage() -> str:
    lines = [f"  {word:<16} {summary}" for word, (_, summary) in WORDS.items()]
    return "\n".join(["usage: evenhand WORD …", "", *lines, "", "evenhand WORD --help says more"])


if __name__ == "__main__":
    sys.exit(main())
