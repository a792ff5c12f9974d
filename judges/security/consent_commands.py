"""The command `python -m judges allow`, and the question before an environment variable is sent to
a new host."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any, Final

from judges.judge_errors import ConsentNeeded
from judges.security.key_consents import Consents, Pair, origin_of, user_consents
from studies.domain import JudgeSpec
from studies.spec.study import Study
from studies.terminal import escape_control

OPTION: Final = "--allow-keys"


def add_allow_option(sub: argparse.ArgumentParser) -> None:
    """Add the command-line option that gives consent without a question, for scripts."""
    sub.add_argument(
        OPTION,
        action="store_true",
        help="send the variables this study names to the hosts it names, and remember them",
    )


def add_allow_command(commands: Any) -> None:
    words = "allow an environment variable to be sent to an endpoint, and remember it"
    sub = commands.add_parser("allow", help=words, description=words)
    sub.add_argument("variable", help="name of the variable, for example OPENAI_API_KEY")
    sub.add_argument("url", help="endpoint: https://host, with the port if it is not the default")
    sub.set_defaults(command=allow)


def allow(options: argparse.Namespace) -> int:
    pair = Pair(options.variable, origin_of(options.url) or options.url)
    user_consents().allow(pair)
    print(f"allowed: ${pair.variable} may be sent to {pair.origin}")
    return 0


def confirm(study: Study, options: argparse.Namespace) -> None:
    """Obtain consent for every environment variable that a study sends, by option or by a question
    on the terminal; raise an error if consent is refused."""
    judges = [*study.judges, *([study.extraction] if study.extraction else [])]
    confirm_judges(judges, user_consents(), allowed=options.allow_keys)


def confirm_judges(judges: Iterable[JudgeSpec], consents: Consents, *, allowed: bool) -> None:
    for pair in consents.missing(judges):
        if not allowed and not _ask(pair):
            raise ConsentNeeded(
                f"${pair.variable} is not sent to {pair.origin}: this study asks for it, but you "
                f"have not allowed it. If you trust the host, add {OPTION}"
            )
        consents.allow(pair)


def _ask(pair: Pair) -> bool:
    """Ask the user on the terminal whether the variable may be sent to the origin; without a
    terminal the answer is no."""
    if not sys.stdin.isatty():
        return False
    words = f"This study wants to send ${pair.variable} to {pair.origin}. Send it? [y/N] "
    print(escape_control(words), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
