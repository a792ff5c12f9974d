"""Copy the tests of the checkout for the installed wheel, with their imports rewritten.

    python -m release.installed_tests FOLDER

The copy has no package of the checkout beside it, so that every import comes from the wheel.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Final

from release.build_wheel import ROOT, module_names
from release.import_heads import PACKAGE, rewrite_source

TESTED: Final = ("metrics", "studies", "library", "judges", "components")
"""Folders of tests that are run with the wheel."""
BROWSER_TESTS: Final = ("ui/test_page.py",)
"""Browser tests that are run with the wheel."""
LEFT_OUT: Final = (
    "test_build_wheel.py",
    "test_gradio_private.py",
    "test_help_texts.py",
    "test_markup.py",
    "test_shipped_prompts.py",
)
"""Tests that are left out, because they read source files of the checkout."""
START_SCRIPT: Final = "import sys\n\nfrom evenhand.app import main\n\nsys.exit(main())\n"
"""Content of app.py in the copy, so that tests start the wheel's page like the checkout's."""
SETTINGS: Final = """\
[pytest]
testpaths = tests
pythonpath = .
addopts = -ra --strict-markers
    --deselect tests/studies/test_settings.py::test_one_module_reads_the_environment
    --deselect tests/judges/bulk/test_capacity.py::test_the_page_is_what_the_script_prints
tmp_path_retention_policy = failed
filterwarnings = error::RuntimeWarning
markers =
    browser: drives a real Chromium
    core: a browser test that make test runs
    extra: seconds or a browser
    embedded: asks the real embedded model
    records: needs the real records (EVENHAND_RECORDS)
    long: minutes
    slow: a cluster
"""
_PACKAGES: Final = "judges|metrics|studies|components"
_MODULE_OPTION: Final = re.compile(rf'(-m(?:", "| ))({_PACKAGES})(?=[" ])')
_IMPORT_IN_TEXT: Final = re.compile(
    rf'((?:"|^\s*|; )(?:from|import) )({_PACKAGES})(?=[.\s,;"])', re.MULTILINE
)
"""Imports inside texts, as in programs that tests write; other imports are rewritten earlier."""
_IMPORTED_APP: Final = re.compile(rf"^(\s*)import {PACKAGE}\.app$", re.MULTILINE)
_ATTRIBUTE: Final = re.compile(rf'"((?:{_PACKAGES})(?:\.\w+)+)\.(\w+)"')


def copy_tests(folder: Path, root: Path = ROOT) -> int:
    """Write the tests to a new folder; return how many files were copied."""
    if folder.exists():
        shutil.rmtree(folder)
    modules = set(module_names(root))
    copied = 0
    for path in sorted((root / "tests").rglob("*")):
        inside = path.relative_to(root)
        if not path.is_file() or path.suffix == ".pyc" or not _is_needed(inside):
            continue
        target = folder / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".py":
            target.write_text(_rewrite(path, inside.as_posix(), modules), encoding="utf-8")
        else:
            shutil.copyfile(path, target)
        copied += 1
    for name in ("docs", "assets"):
        shutil.copytree(root / name, folder / name)
    shutil.copyfile(root / "study.schema.json", folder / "study.schema.json")
    (folder / "app.py").write_text(START_SCRIPT, encoding="utf-8")
    (folder / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    return copied


def _is_needed(inside: Path) -> bool:
    """Whether a file is copied: a test that is run with the wheel, or a file that is no test, which
    tests may import."""
    if inside.name in LEFT_OUT:
        return False
    if not inside.name.startswith("test_") or inside.parts[1] in TESTED:
        return True
    return inside.relative_to("tests").as_posix() in BROWSER_TESTS


def _rewrite(path: Path, name: str, modules: set[str]) -> str:
    text = rewrite_source(path.read_text(encoding="utf-8"), name, modules)
    for pattern in (_MODULE_OPTION, _IMPORT_IN_TEXT):
        text = pattern.sub(rf"\1{PACKAGE}.\2", text)
    text = _IMPORTED_APP.sub(rf"\1from {PACKAGE} import app", text)
    return _ATTRIBUTE.sub(lambda match: _attribute(match, modules), text)


def _attribute(match: re.Match[str], modules: set[str]) -> str:
    """Add "evenhand." to a dotted name in quotes if it is an attribute of one of the `modules`."""
    if match[1] not in modules:
        return match[0]
    return f'"{PACKAGE}.{match[1]}.{match[2]}"'


if __name__ == "__main__":
    print(f"{copy_tests(Path(sys.argv[1])):,} files")
