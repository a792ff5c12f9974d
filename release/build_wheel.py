"""Build the wheel `evenhand`: all packages of the checkout inside one package, rewritten while
building.

    python -m release.build_wheel [--out dist]
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evenhand import __version__
from release.import_heads import PACKAGE, rewrite_source

ROOT: Final = Path(__file__).resolve().parents[1]
VERSION: Final = __version__
MAX_BYTES: Final = 5_000_000
"""Maximum bytes of the wheel, which contains no model weights."""
SOURCES: Final = ("components", "judges", "metrics", "studies")
DATA_FOLDERS: Final = ("assets",)
DATA_FILES: Final = (
    "LICENSE", "README.md", "docs/GLOSSARY.md", "requirements.txt", "study.schema.json"
)  # fmt: skip
LEFT_OUT: Final = ("assets/screenshots/", "assets/demo/record.sh")
"""Files that are left out of the wheel, because no code reads them at run time."""
CODE_SUFFIXES: Final = (".py", ".html", ".md", ".yaml", ".json", ".sql", ".typed")

CORE: Final = ("numpy>=2.0", "pandas>=2.2", "scipy>=1.14")
RUN: Final = (
    "openai[aiohttp]>=3.0", "PyYAML>=6.0", "pydantic>=2.10", "pyarrow>=18", "openpyxl>=3.1",
    "orjson>=3.10", "datasets>=4.0", "threadpoolctl>=3.5",
)  # fmt: skip
EXTRAS: Final[dict[str, tuple[str, ...]]] = {
    "run": RUN,
    "page": (
        *RUN, "gradio>=6.31,<7", "plotly>=7.0", "markupsafe>=3.0", "jinja2>=3.1", "authlib>=1.6",
        "itsdangerous>=2.2",
    ),
    "embedded": (*RUN, "xllamacpp>=2026.10", "gguf>=0.19"),
    "cluster": (*RUN, "ray[data]>=2.50"),
    "mcp": ("gradio[mcp]>=6.31,<7",),
    "inspect": ("inspect-ai>=0.3.200",),
}  # fmt: skip
"""Extra (optional part of the installation) -> its packages with lowest versions; the measures were
checked with the versions in requirements.txt."""


@dataclass(frozen=True, slots=True)
class WheelFile:
    name: str
    content: bytes

    @property
    def record(self) -> str:
        digest = base64.urlsafe_b64encode(hashlib.sha256(self.content).digest()).rstrip(b"=")
        return f'"{self.name}",sha256={digest.decode()},{len(self.content)}'


def wheel_files(root: Path = ROOT) -> Iterator[WheelFile]:
    """Yield the package's files, with Python modules rewritten, and the wheel's metadata files."""
    modules = set(module_names(root))
    for path in sorted(_shipped(root)):
        inside = path.relative_to(root).as_posix()
        name = inside if inside.startswith(f"{PACKAGE}/") else f"{PACKAGE}/{inside}"
        content = path.read_bytes()
        if path.suffix == ".py":
            content = rewrite_source(content.decode("utf-8"), inside, modules).encode()
        yield WheelFile(name, content)
    folder = f"{PACKAGE}-{VERSION}.dist-info"
    yield WheelFile(f"{folder}/METADATA", _metadata(root).encode())
    yield WheelFile(f"{folder}/WHEEL", _WHEEL.encode())
    yield WheelFile(f"{folder}/entry_points.txt", _ENTRY_POINTS.encode())
    yield WheelFile(f"{folder}/licenses/LICENSE", (root / "LICENSE").read_bytes())


def module_names(root: Path = ROOT) -> Iterator[str]:
    """Yield the dotted names of the checkout's modules and packages."""
    for path in [root / "app.py", *(p for top in SOURCES for p in (root / top).rglob("*.py"))]:
        yield (
            path.relative_to(root)
            .with_suffix("")
            .as_posix()
            .replace("/", ".")
            .removesuffix(".__init__")
        )


def _shipped(root: Path) -> Iterator[Path]:
    yield root / "app.py"
    yield from (root / name for name in DATA_FILES)
    for top in (PACKAGE, *SOURCES):
        yield from (p for p in (root / top).rglob("*") if p.suffix in CODE_SUFFIXES)
    for top in DATA_FOLDERS:
        for path in (root / top).rglob("*"):
            inside = path.relative_to(root).as_posix()
            if path.is_file() and not inside.startswith(LEFT_OUT) and path.suffix != ".pyc":
                yield path


def write_wheel(out: Path, root: Path = ROOT) -> Path:
    """Write the wheel and return its path; equal input files give a wheel with equal bytes."""
    files = list(wheel_files(root))
    record = f"{PACKAGE}-{VERSION}.dist-info/RECORD"
    lines = [*(file.record for file in files), f'"{record}",,']
    files.append(WheelFile(record, ("\n".join(lines) + "\n").encode()))
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{PACKAGE}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, file.content)
    return path


def build_wheel(
    wheel_directory: str, config_settings: object = None, metadata_directory: str | None = None
) -> str:
    """Write the wheel for pip, which calls this function for a checkout; return its file name."""
    return write_wheel(Path(wheel_directory)).name


_WHEEL: Final = """\
Wheel-Version: 1.0
Generator: evenhand
Root-Is-Purelib: true
Tag: py3-none-any
"""
_ENTRY_POINTS: Final = """\
[console_scripts]
evenhand = evenhand.__main__:main

[inspect_ai]
evenhand = evenhand.inspect_scorers
"""


def _metadata(root: Path) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {PACKAGE}",
        f"Version: {VERSION}",
        "Summary: Measures position bias, agreement and rankings of language models as judges",
        "License-Expression: Apache-2.0",
        "License-File: LICENSE",
        "Requires-Python: >=3.11",
        *(f"Requires-Dist: {one}" for one in CORE),
    ]
    for extra, packages in EXTRAS.items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {one}; extra == '{extra}'" for one in packages]
    text = (root / "docs" / "library.md").read_text(encoding="utf-8")
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", text])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m release.build_wheel", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder to write to")
    path = write_wheel(parser.parse_args(arguments).out)
    size = path.stat().st_size
    print(f"{path}: {size / 1e6:.2f} MB")
    if size > MAX_BYTES:
        print(f"error: larger than {MAX_BYTES / 1e6:.0f} MB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
