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

TESTED: Final = ("metrics", "studies", "library")
"""Folders of tests that are run; those of the page and of the engine test the checkout only."""
SUPPORT: Final = ("conftest.py", "judge_server", "judges/small_studies.py", "hub_stand_in.py")
"""Files that these tests import."""
LEFT_OUT: Final = ("test_build_wheel.py",)
SETTINGS: Final = """\
[pytest]
testpaths = tests
pythonpath = .
addopts = -ra --strict-markers
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
_MODULE_OPTION: Final = re.compile(r'"-m", "(judges|metrics|studies|components)"')


def copy_tests(folder: Path, root: Path = ROOT) -> int:
    """Write the tests to a new folder; return how many files were copied."""
    if folder.exists():
        shutil.rmtree(folder)
    modules = set(module_names(root))
    copied = 0
    for place in (*TESTED, *SUPPORT):
        source = root / "tests" / place
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if not path.is_file() or path.suffix == ".pyc" or path.name in LEFT_OUT:
                continue
            inside = path.relative_to(root)
            target = folder / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".py":
                target.write_text(_rewrite(path, inside.as_posix(), modules), encoding="utf-8")
            else:
                shutil.copyfile(path, target)
            copied += 1
    shutil.copytree(root / "docs", folder / "docs")
    (folder / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    return copied


def _rewrite(path: Path, name: str, modules: set[str]) -> str:
    text = rewrite_source(path.read_text(encoding="utf-8"), name, modules)
    return _MODULE_OPTION.sub(rf'"-m", "{PACKAGE}.\1"', text)


if __name__ == "__main__":
    print(f"{copy_tests(Path(sys.argv[1])):,} files")
