"""Command line `evenhand WORD …`: start the page, run and plan studies, print measures, import
data, write reports, and check a judge every night."""

import sys
from importlib import import_module
from typing import Final

from evenhand import __version__
from evenhand.extras import build_missing_extra_error

_JUDGES, _STUDIES, _PAGE = "judges.__main__", "studies.__main__", "components.__main__"
"""Modules with several commands, whose `main` also gets the word that names the command."""
WORDS: Final = {
    "app": ("app", "start the page"),
    "run": (_JUDGES, "make the missing calls of a study; also resumes a run"),
    "plan": (_JUDGES, "count calls, tokens and dollars, without any call"),
    "check": (_JUDGES, "call each judge once"),
    "reread": (_JUDGES, "parse the stored replies again"),
    "retry": (_JUDGES, "repeat failed calls"),
    "describe": (_JUDGES, "describe images with a judge"),
    "align": (_JUDGES, "improve a prompt from corrections, shown on held-out items"),
    "twins": (_JUDGES, "write the twins of a study for reading"),
    "allow": (_JUDGES, "allow an environment variable for an endpoint"),
    "providers": (_JUDGES, "list the presets of providers"),
    "models": (_JUDGES, "list the models of a provider"),
    "download": (_JUDGES, "download the weights of a model"),
    "import-prompts": (_JUDGES, "import prompts of MT-Bench"),
    "export-batch": (_JUDGES, "write the calls of a study as batch files"),
    "submit-batch": (_JUDGES, "send batch files"),
    "collect-batch": (_JUDGES, "fetch the results of batches"),
    "import-batch": (_JUDGES, "import the results of batches"),
    "metrics": ("metrics.__main__", "print all measures of a store or a CSV"),
    "import": (_STUDIES, "import recorded verdicts as a study"),
    "list": (_STUDIES, "list the studies of a store"),
    "show": (_STUDIES, "print a study file and its counts"),
    "export": (_STUDIES, "write the judgements of a study"),
    "delete": (_STUDIES, "delete a study"),
    "repair": (_STUDIES, "copy the readable rows of a damaged store"),
    "backup": (_STUDIES, "copy a store to one file"),
    "report": (_PAGE, "write a study as one HTML file"),
    "freeze": (_PAGE, "write a read-only page of a study"),
    "publish": (_PAGE, "write a Space with a study"),
    "board": (_PAGE, "compare judges on one offline page, and verify it"),
    "access": (_PAGE, "print the table of limits"),
    "demo": ("evenhand.recorded_demo", "print the cards of the recorded 1.5B judge, offline"),
    "gate": ("evenhand.nightly.gate_command", "compare a judge with its baseline, for CI"),
}
"""Word on the command line -> module of its command, and a summary of the command."""


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
        module = WORDS[given[0]][0]
        code: int = import_module(module).main(
            given if module in (_JUDGES, _STUDIES, _PAGE) else given[1:]
        )
        return code
    except ModuleNotFoundError as error:
        explained = build_missing_extra_error(error)
        if explained is None:
            raise
        print(f"error: {explained}", file=sys.stderr)
        return 2


def _usage() -> str:
    lines = [f"  {word:<16} {summary}" for word, (_, summary) in WORDS.items()]
    return "\n".join(["usage: evenhand WORD …", "", *lines, "", "evenhand WORD --help says more"])


if __name__ == "__main__":
    sys.exit(main())
