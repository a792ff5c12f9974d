"""Command line `evenhand WORD …`: page, runs, plans, measures, imports, reports, nightly check."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from evenhand import __version__
from evenhand.extras import explain_missing

Main = Callable[[list[str]], int]


def _load_app() -> Main:
    from app import main

    return lambda given: main(given[1:])


def _load_judges() -> Main:
    from judges.__main__ import main

    return main


def _load_metrics() -> Main:
    from metrics.__main__ import main

    return lambda given: main(given[1:])


def _load_studies() -> Main:
    from studies.__main__ import main

    return main


def _load_components() -> Main:
    from components.__main__ import main

    return main


def _load_demo() -> Main:
    from evenhand.recorded_demo import main

    return lambda given: main(given[1:])


def _load_gate() -> Main:
    from evenhand.nightly.gate_command import main

    return lambda given: main(given[1:])


WORDS: Final[dict[str, tuple[Callable[[], Main], str]]] = {
    "app": (_load_app, "start the page"),
    "run": (_load_judges, "make the missing calls of a study; also resumes a run"),
    "plan": (_load_judges, "count calls, tokens and dollars, without any call"),
    "check": (_load_judges, "call each judge once"),
    "reread": (_load_judges, "parse the stored replies again"),
    "retry": (_load_judges, "repeat failed calls"),
    "describe": (_load_judges, "describe images with a judge"),
    "align": (_load_judges, "improve a prompt from corrections, shown on held-out items"),
    "twins": (_load_judges, "write the twins of a study for reading"),
    "allow": (_load_judges, "allow an environment variable for an endpoint"),
    "providers": (_load_judges, "list the presets of providers"),
    "models": (_load_judges, "list the models of a provider"),
    "download": (_load_judges, "download the weights of a model"),
    "import-prompts": (_load_judges, "import prompts of MT-Bench"),
    "export-batch": (_load_judges, "write the calls of a study as batch files"),
    "submit-batch": (_load_judges, "send batch files"),
    "collect-batch": (_load_judges, "fetch the results of batches"),
    "import-batch": (_load_judges, "import the results of batches"),
    "metrics": (_load_metrics, "print all measures of a store or a CSV"),
    "import": (_load_studies, "import recorded verdicts as a study"),
    "list": (_load_studies, "list the studies of a store"),
    "show": (_load_studies, "print a study file and its counts"),
    "export": (_load_studies, "write the judgements of a study"),
    "delete": (_load_studies, "delete a study"),
    "repair": (_load_studies, "copy the readable rows of a damaged store"),
    "backup": (_load_studies, "copy a store to one file"),
    "report": (_load_components, "write a study as one HTML file"),
    "freeze": (_load_components, "write a read-only page of a study"),
    "publish": (_load_components, "write a Space with a study"),
    "board": (_load_components, "compare judges on one offline page, and verify it"),
    "access": (_load_components, "print the table of limits"),
    "demo": (_load_demo, "print the cards of the recorded 1.5B judge, offline"),
    "gate": (_load_gate, "compare a judge with its baseline, for CI"),
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
