"""Structure of the code: import order, folder sizes, unique names, docstrings, pinned versions."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.code_size import measure_code, measure_file, nodes_of, statements_under

ROOT = Path(__file__).parents[1]
LAYERS = ("evenhand", "app", "components", "judges", "metrics", "studies")
BELOW = {
    "evenhand": {"app", "components", "judges", "metrics", "studies"},
    "app": {"components", "judges", "metrics", "studies"},
    "components": {"judges", "metrics", "studies"},
    "judges": {"studies"},
    "metrics": {"studies"},
    "studies": set(),
}
COMMAND_IMPORTS = {"studies/__main__.py": {"judges"}, "judges/__main__.py": {"metrics"}}
"""Imports of a command beyond its package: `--read` reads replies with the judges' readers; `align`
prints the comparison of prompts."""
GRADIO_MODULES = re.compile(
    r"app\.py|components/([\w/]+/)?((\w+_)?tab|layout/(widgets|theme|header)|"
    r"server/gradio_private)\.py"
)
"""The modules that lay out the page, and the boundary to Gradio: only they import it."""
ORDER = {
    "studies": (
        "domain errors lazy_values",
        "settings",
        "terminal texts",
        "frames",
        "files spec",
        "sources",
        "store",
        "people sharing",
        "exchange",
        "__main__",
    ),
    "judges": (
        "judge_errors",
        "verdicts security twins",
        "rendering",
        "models",
        "money",
        "planning",
        "engine",
        "operations bulk",
        "__main__",
    ),
    "metrics": (
        "estimation",
        "agreement ratings",
        "position",
        "remedies",
        "win_rates error_models",
        "labels people protocols twins",
        "catalogue",
        "drift summary",
        "__main__",
    ),
    "evenhand": (
        "extras",
        "table_input",
        "study_table",
        "audit_cards rating_frames remedy_rates running",
        "auditing",
        "judge_audit inspect_scorers",
        "recorded_demo",
        "page_views nightly",
        "__main__",
    ),
    "components": (
        "filtering html",
        "charts server",
        "layout inspect",
        "results run vote",
        "share study",
        "home",
        "api_tab __main__",
        "page",
    ),
    "components/results": (
        "view",
        "pass_fail",
        "bias",
        "agreement cards contrasts remedies nudges",
        "protocol controls",
        "wins",
        "ranking",
        "overview",
        "view_drawing",
        "results_tab",
    ),
    "components/study": (
        "file",
        "plan",
        "form",
        "steps",
        "form_html jobs form_changes",
        "collect",
        "form_layout_tab",
        "form_updates_tab",
        "collect_tab files_tab",
        "tab",
    ),
}
"""The entries of a package from the lowest to the highest; an entry imports only lower ones."""
CONTRACT_NAMES = {"tab", "__main__", "__init__", "panels", "sentences", "computed"}
"""Module names that every view or package may have."""
MAX_ENTRIES = 15
UNCLEAR_OPENINGS = re.compile(r"(What|Who|Whoever|Whom|Which|Whose|Somebody|Nobody)\b")
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
MACHINES = re.compile(r"(?<![\w.~-])/(work|root|home)/(?!somebody\b)[\w.]")
"""A folder of the machine a file was made on; /home/somebody is everybody's example."""
REGISTRIES = (
    "pypi.org", "pythonhosted.org", "registry.npmjs", "npmjs.com", "jsdelivr", "unpkg.com", "cdnjs",
    "artifactory", "--index-url", "--extra-index-url", "anaconda.org",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def free_memory() -> Iterator[None]:
    """Delete the parsed sources at the end: millions of objects, which every later garbage
    collection of the worker would visit."""
    yield
    for cached in (tracked_texts, nodes_of, imports_in):
        cached.cache_clear()


@cache
def modules() -> tuple[Path, ...]:
    found = [path for layer in LAYERS if layer != "app" for path in (ROOT / layer).rglob("*.py")]
    return tuple(sorted([*found, *ROOT.glob("app.py")]))


@cache
def tracked_texts() -> dict[str, str]:
    """What git would ship: tracked files and new ones that are not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("NOT A GIT CHECKOUT: cannot tell which files ship")
    texts = {}
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.is_file() and b"\0" not in (content := path.read_bytes()):
            texts[name] = content.decode("utf-8", "replace")
    return texts


@cache
def imports_in(source: str) -> tuple[str, ...]:
    """Every module a source imports, also inside functions and under TYPE_CHECKING."""
    return tuple(_imports_in(source))


def _imports_in(source: str) -> Iterator[str]:
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import hides where an arrow points"
            yield node.module or ""


def arrows_up(path: str, source: str) -> list[str]:
    """Imports of a module in `path` that its layer must not make."""
    mine = path.removesuffix(".py").split("/")[0]
    allowed = BELOW[mine] | {mine} | COMMAND_IMPORTS.get(path, set())
    tops = {name.split(".")[0] for name in imports_in(source)}
    return sorted(top for top in tops if top in LAYERS and top not in allowed)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_imports_point_down() -> None:
    wrong = {name_of(p): arrows_up(name_of(p), p.read_text("utf-8")) for p in modules()}
    assert {name: tops for name, tops in wrong.items() if tops} == {}


def test_the_rule_itself_sees_an_arrow_that_points_up() -> None:
    assert arrows_up("metrics/x.py", "def f():\n    import judges.planning.plan") == ["judges"]
    assert arrows_up("judges/x.py", "from metrics import elo") == ["metrics"]
    assert arrows_up("studies/x.py", "from components import plot\nimport app") == [
        "app",
        "components",
    ]
    assert arrows_up("components/x.py", "import judges, metrics, studies, json") == []


def module_of(path: Path) -> str:
    return name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def circles(sources: dict[str, str]) -> set[str]:
    """Modules that import each other in a loop, however long: nobody can read one before another.

    What imports nothing that is left can be read; whoever never can be is in a loop, or needs one.
    """
    left = {
        name: {one for one in _named_in(source) if one in sources and one != name}
        for name, source in sources.items()
    }
    while free := {name for name, needs in left.items() if not needs & left.keys()}:
        left = {name: needs for name, needs in left.items() if name not in free}
    return set(left)


def _named_in(source: str) -> Iterator[str]:
    """As `imports_in`, with what is taken from a module: it may be a module itself."""
    yield from imports_in(source)
    for node in nodes_of(source):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles({module_of(path): path.read_text("utf-8") for path in modules()}) == set()


def test_the_rule_itself_sees_a_circle() -> None:
    loop = {
        "a": "import b",
        "b": "from c import x",
        "c": "def f():\n    from d import a",
        "d.a": "import a",
    }
    assert circles(loop) == {"a", "b", "c", "d.a"}
    assert circles({**loop, "d.a": "import json"}) == set()


def test_only_the_page_knows_gradio() -> None:
    users = {
        name_of(path)
        for path in modules()
        if any(name.split(".")[0] == "gradio" for name in imports_in(path.read_text("utf-8")))
    }
    assert {name for name in users if not GRADIO_MODULES.fullmatch(name)} == set()


def entry_of(module: str, folder: str) -> str | None:
    """The entry of the folder that a dotted module belongs to, None outside the folder."""
    parts, inside = module.split("."), folder.split("/")
    return (
        parts[len(inside)] if parts[: len(inside)] == inside and len(parts) > len(inside) else None
    )


def upward_imports(folder: str, sources: dict[str, str]) -> list[str]:
    """Imports from one entry of a folder to an entry of the same or a higher level."""
    level = {name: place for place, row in enumerate(ORDER[folder]) for name in row.split()}
    found = []
    for module, source in sources.items():
        mine = entry_of(module, folder)
        for target in set(_named_in(source)) if mine else ():
            theirs = entry_of(target, folder)
            if theirs in level and theirs != mine and level[theirs] >= level[mine]:
                found.append(f"{module} imports {target}")
    return sorted(one for one in found if not any(o.startswith(f"{one}.") for o in found))


@pytest.mark.parametrize("folder", ORDER)
def test_entries_of_a_package_import_only_lower_ones(folder: str) -> None:
    sources = {module_of(path): path.read_text("utf-8") for path in modules()}
    level = {name for row in ORDER[folder] for name in row.split()}
    present = {entry for module in sources if (entry := entry_of(module, folder))}
    assert present == level, "name every entry of the package in ORDER"
    assert upward_imports(folder, sources) == []


def test_the_order_check_finds_an_upward_import() -> None:
    above = {"judges.models.x": "from judges.engine.run import Run"}
    beside = {"judges.bulk.x": "from judges.operations import check_judge"}
    below = {"judges.engine.x": "from judges.models import endpoint"}
    assert upward_imports("judges", above) == ["judges.models.x imports judges.engine.run.Run"]
    assert upward_imports("judges", beside) == [
        "judges.bulk.x imports judges.operations.check_judge"
    ]
    assert upward_imports("judges", below) == []


def class_names() -> list[tuple[str, str]]:
    return [
        (node.name, name_of(path))
        for path in modules()
        for node in nodes_of(path.read_text("utf-8"))
        if isinstance(node, ast.ClassDef)
    ]


def test_no_class_name_is_used_twice() -> None:
    where: dict[str, list[str]] = {}
    for name, path in class_names():
        where.setdefault(name, []).append(path)
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


def test_no_module_name_is_used_twice() -> None:
    where: dict[str, list[str]] = {}
    for path in modules():
        where.setdefault(path.stem, []).append(name_of(path))
    twice = {name: paths for name, paths in where.items() if len(paths) > 1}
    assert {name: paths for name, paths in twice.items() if name not in CONTRACT_NAMES} == {}


def test_folders_are_small_enough_to_read() -> None:
    entries: dict[str, set[str]] = {}
    for name in tracked_texts():
        parts = name.split("/")
        if parts[0] in LAYERS:
            for depth in range(1, len(parts)):
                entries.setdefault("/".join(parts[:depth]), set()).add(parts[depth])
    sizes = {folder: len(names - {"__init__.py"}) for folder, names in entries.items()}
    listed = {"judges/prompts"}  # one file for each prompt
    assert {f: n for f, n in sizes.items() if n > MAX_ENTRIES and f not in listed} == {}


def test_docstrings_open_with_a_statement() -> None:
    unclear = []
    for path in modules():
        for node in nodes_of(path.read_text("utf-8")):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node) or ""
                if UNCLEAR_OPENINGS.match(text):
                    unclear.append(f"{name_of(path)}: {text.splitlines()[0]}")
    assert unclear == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [name_of(p) for p in modules() if VAGUE & {p.stem, p.parent.name}] == []


def test_package_files_are_empty_where_the_design_says_so() -> None:
    assert (ROOT / "components" / "__init__.py").read_text("utf-8") == ""


def test_the_space_runs_the_gradio_that_is_pinned() -> None:
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("NO README.md YET: its front matter cannot be compared with the pin")
    front = yaml.safe_load(readme.read_text("utf-8").split("---")[1])
    pins = (ROOT / "requirements.txt").read_text("utf-8")
    pinned = re.search(r"^gradio(?:\[[^\]]*\])?==([\d.]+)", pins, re.MULTILINE)
    assert pinned and str(front["sdk_version"]) == pinned[1]
    assert front["sdk"] == "gradio" and front["app_file"] == "app.py"


def test_what_runs_is_pinned() -> None:
    for name in ("requirements.txt", "requirements/dev.txt", "requirements/embedded.txt"):
        lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
        wanted = [line for line in lines if line and not line.startswith("-r ")]
        assert [line for line in wanted if "==" not in line] == [], name


def test_no_file_names_a_folder_of_the_machine_it_was_made_on() -> None:
    found = {name: MACHINES.search(text) for name, text in tracked_texts().items()}
    assert {name: match[0] for name, match in found.items() if match} == {}


def test_no_file_names_the_host_of_a_package_registry() -> None:
    found = {
        name: [one for one in REGISTRIES if one in lowered]
        for name, text in tracked_texts().items()
        if name != "tests/test_structure.py" and (lowered := text.lower())
    }
    assert {name: hosts for name, hosts in found.items() if hosts} == {}


CHECKS = {"raises", "fail", "warns", "assert_allclose", "assert_array_equal", "assert_frame_equal"}
"""Functions of libraries that fail where something does not hold."""


def calls_in(node: ast.AST) -> set[str]:
    """Names of the functions that a piece of code calls or hands on."""
    nodes = ast.walk(node)
    return {getattr(one, "id", getattr(one, "attr", "")) for one in nodes
            if isinstance(one, ast.Name | ast.Attribute)}  # fmt: skip


def test_every_test_asserts_something() -> None:
    """By itself, or by a function of the tests that it calls, at whatever depth."""
    functions = [
        (path, node)
        for path in (ROOT / "tests").rglob("*.py")
        for node in nodes_of(path.read_text("utf-8"))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    asserting = CHECKS | {
        node.name
        for _, node in functions
        if any(isinstance(one, ast.Assert) for one in statements_under(node))
    }
    others = {node.name: calls_in(node) for _, node in functions if node.name not in asserting}
    while found := {name for name, calls in others.items() if calls & asserting} - asserting:
        asserting |= found
    silent = [
        f"{name_of(path)}::{node.name}"
        for path, node in functions
        if node.name.startswith("test_")
        and path.name.startswith("test_")
        and node.name not in asserting
    ]
    assert silent == []


def test_oracles_cite_documents_that_exist() -> None:
    known = {path.name for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]}
    found = {
        (name, word)
        for name, text in tracked_texts().items()
        if name.startswith("tests/") and name != "tests/test_structure.py"
        for word in re.findall(r"\b(?:STATISTICS|PROTOCOLS|DESIGN|docs/[a-zA-Z-]+)\.md", text)
        if word.removeprefix("docs/") not in known
    }
    assert found == set()


MAX_PROSE = 150
"""Assertions with the wording of a sentence. Numbers, keys and names are asserted by
`tests.page_words.says`."""
WORDS_OF_MODELS = re.compile(r"judges/(rendering|verdicts)/|studies/texts/|test_judge_server")
"""Tests of prompts and replies: their literals are data, not words of the page."""
_PROSE_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_NO_PROSE = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|PRAGMA|python -m|import|from|def|f\")\b")


def is_prose(text: str) -> bool:
    """Whether a literal has four or more words and is no SQL, no command and no Python."""
    words = [word.strip(".,:;!?()[]“”\"'*–—%") for word in text.split()]
    return len([w for w in words if _PROSE_WORD.fullmatch(w)]) >= 4 and not _NO_PROSE.match(text)


def literals_in(node: ast.AST) -> Iterator[str]:
    """String literals of an expression; of an f-string, its fixed parts together."""
    if isinstance(node, ast.JoinedStr):
        yield " ".join(str(one.value) for one in node.values if isinstance(one, ast.Constant))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from literals_in(child)


def asserted_in(source: str) -> Iterator[tuple[int, ast.AST]]:
    """(line, expression) of assertions: their tests, and the `match` of expected errors."""
    for node in nodes_of(source):
        if isinstance(node, ast.Assert):
            yield node.lineno, node.test
        calls = [item.context_expr for item in getattr(node, "items", ())]
        for call in [*calls, getattr(node, "value", None)]:
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "raises":
                yield from ((call.lineno, one.value) for one in call.keywords if one.arg == "match")


def prose_assertions(sources: dict[str, str]) -> list[str]:
    return [
        f"{name}:{line}"
        for name, source in sources.items()
        for line, asserted in asserted_in(source)
        if any(is_prose(text) for text in literals_in(asserted))
    ]


def test_few_assertions_repeat_the_wording_of_the_page() -> None:
    paths = [
        path for path in (ROOT / "tests").rglob("*.py") if not WORDS_OF_MODELS.search(str(path))
    ]
    found = prose_assertions({name_of(path): path.read_text("utf-8") for path in paths})
    assert len(found) <= MAX_PROSE, f"{len(found)} assertions on prose: use says()"


def test_the_count_of_prose_finds_sentences_and_leaves_numbers_and_sql() -> None:
    sources = {
        "a": 'assert "the run has ended here" in page',
        "b": 'with pytest.raises(E, match="no such file in folder"):\n    f()',
        "c": 'assert f"{n} calls of the run" in page and says(page, "3 calls", "done")',
        "d": 'assert one("SELECT count(*) FROM calls of x") == 3 and "3 calls done" in page',
    }
    assert prose_assertions(sources) == ["a:1", "b:1", "c:1"]


SIZES = {"lines": 80_850, "components": 33_250, "imports": 0.098, "functions": 81}
"""Size of the code, by tests/code_size.py; a change may exceed a figure by 3 %."""


def test_the_code_does_not_grow_unnoticed() -> None:
    found = measure_code(ROOT)
    whole = found["all"]
    assert whole.lines <= 1.03 * SIZES["lines"], f"{whole.lines:,} lines"
    assert found["components"].lines <= 1.03 * SIZES["components"]
    assert whole.import_share <= 1.03 * SIZES["imports"]
    assert whole.function_rate <= 1.03 * SIZES["functions"]


def test_the_size_leaves_out_comments_docstrings_and_blank_lines(tmp_path: Path) -> None:
    code = tmp_path / "code.py"
    code.write_text(
        '"""Text."""\n\nimport os  # why\n\n\n# note\ndef f():\n    """Two\n    lines."""\n'
        'N = "text"\n"""Of the constant,\nin two lines."""\n'
    )
    found = measure_file(code)
    assert (found.lines, found.imports, found.functions) == (3, 1, 1)
    page = tmp_path / "page.html"
    page.write_text("{# note #}" + "<b>x</b>" * 26)
    assert measure_file(page).lines == 3  # 208 characters


FILTERED_NAMES = re.compile(r"\b(view|filtered_study)\s*:\s*(FilteredStudy|FormState)\b")
OTHER_WORDS = re.compile(
    r"change[ds] when swapped|differ between the orders|same choice in every order", re.IGNORECASE
)
"""Former words for a filtered study, and for a flip or its absence."""


def test_one_word_is_used_for_each_thing() -> None:
    wrong = []
    for package in LAYERS:
        for path in (ROOT / package).rglob("*"):
            if path.suffix in (".py", ".html"):
                text = path.read_text("utf-8")
                wrong += [(path.name, one.group()) for one in FILTERED_NAMES.finditer(text)]
                wrong += [(path.name, one.group()) for one in OTHER_WORDS.finditer(text)]
    assert wrong == []


def test_only_tabs_of_results_are_called_views() -> None:
    declared = re.compile(r"^ *class (\w*View)\b", re.MULTILINE)
    classes = {
        name
        for package in LAYERS
        for path in (ROOT / package).rglob("*.py")
        for name in declared.findall(path.read_text("utf-8"))
    }
    assert classes == {"View"}
    named = [
        path.relative_to(ROOT).as_posix()
        for package in LAYERS
        for path in (ROOT / package).rglob("*.py")
        if _names(path.read_text("utf-8"), "view")
    ]
    elsewhere = [path for path in named if not path.startswith("components/results/")]
    # The tables and the report of a study come from views of Results.
    assert sorted(elsewhere) == [
        "components/share/paper_text.py",
        "components/share/report_sections.py",
    ]


def test_the_known_better_answer_is_called_so() -> None:
    """`truth` is only a hidden class of a model with latent classes, and the parameter of the
    library that names a column of the user's table."""
    named = {
        path.relative_to(ROOT).as_posix()
        for package in LAYERS
        for path in (ROOT / package).rglob("*.py")
        if _names(path.read_text("utf-8"), "truth")
    }
    assert named == {"metrics/error_models/unlabelled_jury.py", "evenhand/study_table.py"}


def _names(source: str, word: str) -> bool:
    """Whether a variable, parameter, attribute, function or class has this name."""
    if not re.search(rf"\b{word}\b", source):  # parsing takes long
        return False
    kinds = ("id", "arg", "attr", "name")
    return any(getattr(n, kind, "") == word for n in ast.walk(ast.parse(source)) for kind in kinds)
