"""The wheel: rewritten imports, strings and commands; its files; the words of its command."""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import re
import shutil
import subprocess
import tomllib
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import components.__main__
import judges.__main__
import studies.__main__
from evenhand.__main__ import WORDS
from evenhand.__main__ import main as command
from evenhand.nightly.gate_command import _build_parser
from release.build_wheel import EXTRAS, MAX_BYTES, write_wheel
from release.import_heads import CannotRewrite, rewrite_commands, rewrite_source
from tests.page_words import says

MODULES = {"judges.models.weights", "metrics.__main__", "app", "studies.store.store"}
ROOT = Path(__file__).parents[2]


def test_heads_of_imports_change_and_nothing_else() -> None:
    source = (
        "import judges.models.weights as w, json\n"
        "from studies.store.store import Store  # from studies import x\n"
        "from app import main\n"
        "def f(judges, metrics):\n"
        "    from metrics.__main__ import main\n"
        "    return judges.models, metrics, 'judges', 'judges.unknown', studies_like\n"
        "import metrics_of_others\n"
    )
    assert rewrite_source(source, "x.py", MODULES) == (
        "import evenhand.judges.models.weights as w, json\n"
        "from evenhand.studies.store.store import Store  # from studies import x\n"
        "from evenhand.app import main\n"
        "def f(judges, metrics):\n"
        "    from evenhand.metrics.__main__ import main\n"
        "    return judges.models, metrics, 'judges', 'judges.unknown', studies_like\n"
        "import metrics_of_others\n"
    )


def test_names_of_modules_in_strings_change() -> None:
    source = 'x = ["-m", "judges.models.weights"]; y = "é judges.models.weights"\n'
    assert rewrite_source(source, "x.py", MODULES) == (
        'x = ["-m", "evenhand.judges.models.weights"]; y = "é judges.models.weights"\n'
    )


def test_commands_in_messages_change_also_over_lines_and_in_f_strings() -> None:
    source = (
        'f"run: python -m judges allow {x}"\n"""First.\n\n'
        '    python -m judges.models.weights prepare\n"""\n'
    )
    assert rewrite_source(source, "x.py", MODULES) == (
        'f"run: evenhand allow {x}"\n"""First.\n\n'
        '    python -m evenhand.judges.models.weights prepare\n"""\n'
    )
    assert rewrite_commands("python -m metrics --json") == "evenhand metrics --json"
    assert rewrite_commands("pip install -r requirements/mcp.txt") == "pip install 'evenhand[mcp]'"
    assert rewrite_commands("python app.py, python -m venv") == "python app.py, python -m venv"


def test_imports_that_would_bind_another_name_are_refused() -> None:
    with pytest.raises(CannotRewrite, match=r"x.py:1: import judges\.models\.weights"):
        rewrite_source("import judges.models.weights\njudges.models.weights\n", "x.py", MODULES)
    relative = "from .metrics import x\nfrom . import judges\n"
    assert rewrite_source(relative, "x.py", MODULES) == relative
    kept = rewrite_source("import judges.models.weights\n", "x.py", MODULES)
    assert kept == "import evenhand.judges.models.weights\n"


@pytest.mark.extra
def test_the_wheel_of_the_checkout(tmp_path: Path) -> None:
    path = write_wheel(tmp_path)
    assert path.stat().st_size < MAX_BYTES
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        record = archive.read("evenhand-0.1.0.dist-info/RECORD").decode()
        for name in names - {"evenhand-0.1.0.dist-info/RECORD"}:
            content = archive.read(name)
            digest = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert f'"{name}",sha256={digest},{len(content)}' in record
            if name.endswith(".py"):
                assert not list(checkout_imports(content.decode(), name))
                assert not re.search(rb"python -m (judges|studies|components) ", content), name
    assert {"evenhand/app.py", "evenhand/studies/store/schema.sql", "evenhand/py.typed"} <= names
    assert "evenhand/assets/demo/pairs.jsonl.gz" in names
    assert not any(name.endswith((".db", ".gguf", ".pyc")) for name in names)
    again = write_wheel(tmp_path / "again")
    assert again.read_bytes() == path.read_bytes(), "the same files give the same bytes"


def checkout_imports(source: str, name: str) -> Iterator[str]:
    heads = {"app", "components", "judges", "metrics", "studies"}
    for node in ast.walk(ast.parse(source)):
        found = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (f"{name}: {one}" for one in found if one.partition(".")[0] in heads)


def test_the_core_needs_three_packages_and_extras_have_lower_bounds() -> None:
    metadata = next(f for f in wheel_files_quick() if f.startswith("Metadata-Version"))
    required = re.findall(r"^Requires-Dist: (\S+)(.*)$", metadata, re.MULTILINE)
    core = [name for name, condition in required if "extra ==" not in condition]
    assert [re.split("[<>=]", name)[0] for name in core] == ["numpy", "pandas", "scipy"]
    assert set(EXTRAS) >= {"page", "run", "embedded", "cluster", "mcp"}
    assert all(">=" in name and "==" not in name for name, _ in required)


def wheel_files_quick() -> Iterator[str]:
    """The metadata without rewriting all modules."""
    from release.build_wheel import _metadata

    yield _metadata(ROOT)


def parsers() -> Iterator[argparse.ArgumentParser]:
    yield judges.__main__._build_parser()
    yield studies.__main__._build_parser()
    yield components.__main__._build_parser()


def test_every_command_of_the_checkout_is_a_word() -> None:
    known = {"app", "metrics", "demo", "gate"}
    for parser in parsers():
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                known |= set(action.choices)
    assert set(WORDS) == known


def test_unknown_words_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["nonsense"]) == 2
    assert says(capsys.readouterr().err, "no command named", "'nonsense'")
    assert command(["--help"]) == 0
    printed = capsys.readouterr().out
    assert all(f"  {word} " in printed for word in WORDS)


ACTION = ROOT / "docs" / "gate-action.yaml"


def test_the_action_keeps_its_history_after_an_alarm_too() -> None:
    steps = yaml.safe_load(ACTION.read_text())["jobs"]["gate"]["steps"]
    used = [step.get("uses", "").partition("@")[0] for step in steps]
    runs = [step.get("run", "") for step in steps]
    restored, saved = used.index("actions/cache/restore"), used.index("actions/cache/save")
    gates = [n for n, run in enumerate(runs) if run.startswith("evenhand gate")]
    assert restored < min(gates) <= max(gates) < saved
    assert "always()" in steps[saved]["if"]
    first, nightly = (steps[n] for n in gates)
    assert "--save-baseline" in first["run"] and "--save-baseline" not in nightly["run"]
    assert {first["if"], nightly["if"]} == {"${{ inputs.save }}", "${{ !inputs.save }}"}
    assert "dist/" not in ACTION.read_text(), "installed from a release or an address"
    for run in (first["run"], nightly["run"]):
        _build_parser().parse_args(run.split()[2:])


WORKFLOWS = (ACTION, ROOT / "assets" / "board" / "check-board.yml")


def test_workflows_pin_actions_by_commit_and_run_no_expression() -> None:
    """A tag can be moved to other code; an expression in `run` would be read as shell code."""
    for path in WORKFLOWS:
        used = re.findall(r"uses: (\S+)(.*)", path.read_text())
        assert used
        for action, comment in used:
            assert re.fullmatch(r"actions/[a-z/-]+@[0-9a-f]{40}", action), action
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), comment
        (job,) = yaml.safe_load(path.read_text())["jobs"].values()
        assert not [step for step in job["steps"] if "${{" in step.get("run", "")]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_workflows_pass_the_schema_of_workflows(path: Path) -> None:
    linter = shutil.which("check-jsonschema")
    if linter is None:
        pytest.skip("check-jsonschema, the linter of workflows, is not installed")
    command_line = [linter, "--builtin-schema", "vendor.github-workflows", str(path)]
    done = subprocess.run(command_line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.extra
def test_pip_builds_the_wheel_from_a_checkout(tmp_path: Path) -> None:
    """As pip does it for `git+https://…`: by the hook that pyproject.toml names."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    hook = importlib.import_module(settings["build-backend"]).build_wheel
    with zipfile.ZipFile(tmp_path / hook(str(tmp_path))) as archive:
        assert "evenhand/__init__.py" in archive.namelist()
