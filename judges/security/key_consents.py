"""Consent to send an environment variable to an endpoint; requested once, then stored.

A study file names a variable (`api_key_env`) and an address (`base_url`). A file written by another
person can pair a variable of this machine with that person's own address. A variable is therefore
sent only to an allowed origin: a provider listed in providers.yaml, or a pair the user confirmed.
Confirmed pairs of variable name and origin are stored in a file in the user's configuration folder,
which contains no key. A file beside a store is not trusted: it may have come with the store.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx2
import yaml

from judges.judge_errors import ConsentNeeded, KeyRefused, PlanError
from judges.security import endpoint_rules, key_store
from studies import settings, terminal
from studies.domain import JudgeSpec
from studies.files.partial_files import replace_when_written
from studies.spec.study import Study

FILE: Final = "key-consents.json"
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class KeyDestination(NamedTuple):
    """The name of an environment variable with an API key, and the origin (scheme, host and port)
    to which its value is sent."""

    variable: str
    origin: str


def origin_of(url: str) -> str:
    """Return the origin of a URL (scheme, host and port, in normal form); "" if it is no http or
    https URL with a host. Requests are built with the same parser, so that they go to this host."""
    try:
        parts = httpx2.URL(url.strip())
        host = parts.raw_host.decode("ascii").lower().rstrip(".")
    except (httpx2.InvalidURL, UnicodeError, ValueError, TypeError):
        return ""
    if parts.scheme not in ("http", "https") or not host:
        return ""
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + (f":{parts.port}" if parts.port else "")


@cache
def listed_key_destinations(
    path: Path = endpoint_rules.PROVIDERS_FILE,
) -> frozenset[KeyDestination]:
    """Read the list of known providers: for each environment variable with an API key, the https
    origin of the provider to which it belongs. PlanError if the file has no such list."""
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    named = values.get("variables") if isinstance(values, dict) else None
    if not isinstance(named, dict):
        raise PlanError(f"{path.name}: expected 'variables:' with a host for each variable")
    return frozenset(KeyDestination(str(name), f"https://{host}") for name, host in named.items())


@dataclass(frozen=True, slots=True)
class Consents:
    """Variables that may be sent, each with the origin that may receive it: the pairs `given`, and
    those that the user confirmed (file `path`)."""

    given: frozenset[KeyDestination] = frozenset()
    path: Path | None = None
    """File of the pairs that the user confirmed; None if none can be confirmed (public page)."""

    def store_consent(self, pair: KeyDestination) -> None:
        """Add a pair to the file of confirmed pairs; raise PlanError on a public page, or if the
        pair is malformed."""
        if self.path is None:
            raise PlanError("a public page sends no environment variables; type your key instead")
        known = bool(pair.origin) and origin_of(pair.origin) == pair.origin
        if not known or not _VARIABLE.fullmatch(pair.variable):
            raise PlanError(
                f"{pair.variable[:60]!r} {pair.origin[:120]!r}: expected a variable and an origin, "
                "for example OPENAI_API_KEY https://host"
            )
        with replace_when_written(self.path) as partial:
            partial.write_text(
                json.dumps(sorted({*self._read_confirmed_pairs(), pair}), indent=1), "utf-8"
            )

    def allows(self, pair: KeyDestination) -> bool:
        return pair in self.given or pair in self._read_confirmed_pairs()

    def require_consent(self, judge: JudgeSpec) -> None:
        """Raise ConsentNeeded if a judge's variable may not yet be sent to its endpoint."""
        pair = key_destination_of(judge)
        if pair is not None and not self.allows(pair):
            raise ConsentNeeded(
                f"judge {judge.name!r}: this study wants to send ${pair.variable} to "
                f"{pair.origin or judge.endpoint}. Allow it on the page, or with: "
                f"python -m judges allow {pair.variable} {pair.origin}"
            )

    def destinations_without_consent(
        self, judges: Iterable[JudgeSpec]
    ) -> tuple[KeyDestination, ...]:
        """Return the pairs of variable and origin that still need the user's consent for these
        judges, without duplicates; none on a public page, where no consent can be given."""
        if self.path is None:
            return ()
        pairs = (key_destination_of(judge) for judge in judges)
        return tuple(dict.fromkeys(p for p in pairs if p is not None and not self.allows(p)))

    def _read_confirmed_pairs(self) -> frozenset[KeyDestination]:
        """Read the confirmed pairs from the file; none if the file is missing or damaged."""
        try:
            lines = json.loads(self.path.read_text("utf-8")) if self.path is not None else []
            return frozenset(
                KeyDestination(str(variable), str(origin)) for variable, origin in lines
            )
        except (OSError, ValueError, TypeError):
            return frozenset()


NO_CONSENTS: Final = Consents()
"""Consents that allow no variable to be sent."""


def user_consents() -> Consents:
    """Return the consents of this user, which hold for all stores: the known providers, and the
    pairs that the user confirmed."""
    named = Path(settings.USER_CONFIG.read())  # by the XDG standard a relative path is ignored
    base = named if named.is_absolute() else Path.home() / ".config"
    return Consents(listed_key_destinations(), base / "evenhand" / FILE)


def key_destination_of(judge: JudgeSpec) -> KeyDestination | None:
    """Return a judge's environment variable and origin; None if the judge uses no variable."""
    if judge.kind != "endpoint" or not judge.api_key_env:
        return None
    return KeyDestination(judge.api_key_env, origin_of(judge.endpoint))


@dataclass(frozen=True, slots=True)
class TypedKey:
    """An API key that the user typed, and the only origin (scheme, host and port) that may receive
    it."""

    value: str = field(repr=False)
    origin: str


TypedKeys = Mapping[str, TypedKey]
"""Typed keys by judge name."""


def parse_typed_keys(sent: str | None) -> dict[str, TypedKey]:
    """Return judge -> typed key from the JSON text that the browser sends: {judge: {"key": …,
    "url": …}}. Malformed entries and entries without a key are left out; None gives no keys."""
    try:
        values = json.loads(sent or "{}")
    except ValueError:
        return {}
    entries = values.items() if isinstance(values, dict) else ()
    return {
        str(judge): TypedKey(str(entry["key"]), origin_of(str(entry.get("url", ""))))
        for judge, entry in entries
        if isinstance(entry, dict) and entry.get("key")
    }


def typed_keys_of_judges(judges: Iterable[JudgeSpec], typed: TypedKeys) -> dict[str, str]:
    """Return judge -> typed key, for these judges; raise KeyRefused if a key was typed for another
    origin or is malformed."""
    found = {}
    for judge in judges:
        if judge.kind == "endpoint" and judge.name in typed:
            found[judge.name] = strip_and_check_key_for_origin(
                typed[judge.name], origin_of(judge.endpoint), judge.name
            )
    return found


def strip_and_check_key_for_origin(key: TypedKey, origin: str, name: str) -> str:
    """Check a key and return it without surrounding white space; raise KeyRefused if it was typed
    for another origin than `origin` or is malformed. `name` is for the error message."""
    if not origin or key.origin != origin:
        raise KeyRefused(
            f"{name}: the key was typed for {key.origin or 'no valid address'}, not for "
            f"{origin or 'this address'}. Nothing was sent. Type the key for the new address"
        )
    return key_store.strip_and_check_typed_key(key.value)


OPTION: Final = "--allow-keys"


def add_allow_keys_option(parser: argparse.ArgumentParser) -> None:
    """Add the command-line option that gives consent without a question, for scripts."""
    parser.add_argument(
        OPTION,
        action="store_true",
        help="send the variables this study names to the hosts it names, and remember them",
    )


def add_allow_command(commands: Any) -> None:
    words = "allow an environment variable to be sent to an endpoint, and remember it"
    sub = commands.add_parser("allow", help=words, description=words)
    sub.add_argument("variable", help="name of the variable, for example OPENAI_API_KEY")
    sub.add_argument("url", help="endpoint: https://host, with the port if it is not the default")
    sub.set_defaults(command=allow_key_variable)


def allow_key_variable(options: argparse.Namespace) -> int:
    pair = KeyDestination(options.variable, origin_of(options.url) or options.url)
    user_consents().store_consent(pair)
    print(f"allowed: ${pair.variable} may be sent to {pair.origin}")
    return 0


def obtain_study_key_consents(study: Study, options: argparse.Namespace) -> None:
    """Obtain and store consent, by `--allow-keys` or a question on the terminal, for every pair of
    environment variable and host that a study needs and the user has not allowed yet. ConsentNeeded
    if it is refused, or if there is no terminal to ask on."""
    judges = [*study.judges, *([study.extraction] if study.extraction else [])]
    obtain_judge_key_consents(judges, user_consents(), allowed=options.allow_keys)


def obtain_judge_key_consents(
    judges: Iterable[JudgeSpec], consents: Consents, *, allowed: bool
) -> None:
    for pair in consents.destinations_without_consent(judges):
        if not allowed and not _ask_for_consent(pair):
            raise ConsentNeeded(
                f"${pair.variable} is not sent to {pair.origin}: this study asks for it, but you "
                f"have not allowed it. If you trust the host, add {OPTION}"
            )
        consents.store_consent(pair)


def _ask_for_consent(pair: KeyDestination) -> bool:
    """Ask the user on the terminal whether the variable may be sent to the origin; without a
    terminal the answer is no."""
    if not sys.stdin.isatty():
        return False
    words = f"This study wants to send ${pair.variable} to {pair.origin}. Send it? [y/N] "
    print(terminal.escape_control(words), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
