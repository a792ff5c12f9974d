"""python -m tests.sbom FILE: write a software bill of materials of the app (CycloneDX 1.6, JSON).

python -m tests.sbom --licences FILE: write the table of licences of all locked packages.

A script of our own: the usual tool brings twenty packages for these two lists. Names and versions
come from the locks, licences and dependencies from the metadata of the installed packages.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
LOCKS = {
    "requirements.lock": "the app",
    "requirements/embedded.lock": "the embedded judge",
    "requirements/dev.lock": "tests",
}
STATED_ELSEWHERE = {
    "audioop-lts": "PSF-2.0",
    "axe-playwright-python": "MIT AND MPL-2.0",
    "colorama": "BSD-3-Clause",
}
"""Licences that no installed metadata state: packages for other systems or Python versions, and one
whose licences are in its files only."""
ELSEWHERE = {"httpx2-jsfetch"}
"""Packages for browsers (Emscripten), where Evenhand does not run."""
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


class LockedPackage(NamedTuple):
    name: str
    version: str
    use: str
    hashes: tuple[str, ...]


def read_lock(path: Path, use: str = "") -> Iterator[LockedPackage]:
    """The packages of a lock with the hashes of their files."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if found := re.match(r"([a-z0-9-]+)==(\S+)", line):
            hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", line))
            yield LockedPackage(found[1], found[2], use, hashes)


def locked_packages() -> list[LockedPackage]:
    """All locked packages that Evenhand can use, by name."""
    found = [one for name, use in LOCKS.items() for one in read_lock(ROOT / name, use)]
    return sorted(one for one in found if one.name not in ELSEWHERE)


def licence_of(name: str) -> str:
    """The licence that a package states: the expression, else the classifier, else the text."""
    if name in STATED_ELSEWHERE:
        return STATED_ELSEWHERE[name]
    try:
        facts = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        raise SystemExit(f"{name} is not installed: run make lock") from None
    if expression := facts.get("License-Expression"):
        return str(expression)
    classified = [
        one.rpartition(" :: ")[2]
        for one in facts.get_all("Classifier") or ()
        if one.startswith("License :: OSI Approved :: ")
    ]
    text = (facts.get("License") or "").strip()
    if classified:
        return " OR ".join(CLASSIFIERS.get(one, one) for one in classified)
    return text.splitlines()[0] if text else "not stated"


def bill_of_materials() -> dict[str, Any]:
    """The packages of the app and of the embedded judge, without those of the tests."""
    packages = [one for one in locked_packages() if one.use != "tests"]
    places = {one.name: f"pkg:pypi/{one.name}@{one.version}" for one in packages}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "evenhand", "bom-ref": "app"}},
        "components": [_component(one, places[one.name]) for one in packages],
        "dependencies": [
            {"ref": "app", "dependsOn": sorted(places[name] for name in _direct() & set(places))},
            *({"ref": ref, "dependsOn": _needs(name, places)} for name, ref in places.items()),
        ],
    }


def _component(package: LockedPackage, place: str) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": place,
        "name": package.name,
        "version": package.version,
        "purl": place,
        "licenses": [{"license": {"name": licence_of(package.name)}}],
        "properties": [{"name": "evenhand:use", "value": package.use}],
    }


def _direct() -> set[str]:
    return {_normal(name) for name in re.findall(r"^([\w.-]+)", _pins(), re.MULTILINE)}


def _pins() -> str:
    names = ("requirements.txt", "requirements/embedded.txt")
    return "".join((ROOT / name).read_text(encoding="utf-8") for name in names)


def _requires(name: str) -> list[str]:
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []


@cache
def _extras() -> frozenset[tuple[str, str]]:
    """Pairs of a package and an extra of it that another package or our own list asks for."""
    lines = [*_pins().splitlines(), *(one for p in locked_packages() for one in _requires(p.name))]
    found = (re.match(r"([\w.-]+)\s*\[([\w.,\s-]+)\]", line) for line in lines)
    return frozenset(
        (_normal(one[1]), extra.strip()) for one in found if one for extra in one[2].split(",")
    )


def _needs(name: str, places: dict[str, str]) -> list[str]:
    needed = set()
    for line in _requires(name):
        extra = re.search(r"extra\s*==\s*[\"']([\w.-]+)", line)
        if extra is None or (name, extra[1]) in _extras():
            needed.add(_normal(re.split(r"[^\w.-]", line, maxsplit=1)[0]))
    return sorted(places[one] for one in needed if one in places)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


INTRODUCTION = """# Licences of the packages that Evenhand uses

Written by `make lock` from the metadata of the packages; a test compares the table with the locks.
`make sbom` writes the same for the app as a CycloneDX file. Evenhand: [LICENSE](../LICENSE).

| package | version | licence | used by |
|---|---|---|---|
"""


def licence_table() -> str:
    rows = (
        f"| {one.name} | {one.version} | {licence_of(one.name).replace('|', '/')} | {one.use} |\n"
        for one in locked_packages()
    )
    return INTRODUCTION + "".join(rows)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--licences"] and len(arguments) == 2:
        Path(arguments[1]).write_text(licence_table(), encoding="utf-8")
    elif len(arguments) == 1 and not arguments[0].startswith("-"):
        text = json.dumps(bill_of_materials(), indent=1) + "\n"
        Path(arguments[0]).write_text(text, encoding="utf-8")
    else:
        print(__doc__, file=sys.stderr)
        return 2
    print(arguments[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
