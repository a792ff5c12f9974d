"""SQL stands in studies/store only, the store passes no call on, and only it caches study data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STORE = ROOT / "studies" / "store"
SQL = re.compile(
    r"\b(SELECT|INSERT( OR \w+)? INTO|UPDATE \w+ SET|DELETE FROM|CREATE( TEMP)? (TABLE|VIEW|INDEX"
    r"|TRIGGER)|DROP TABLE|ALTER TABLE|PRAGMA|BEGIN IMMEDIATE|VACUUM|ATTACH DATABASE"
    r"|JOIN \w+ (ON|USING))\b"
)
SQL_WORDS = re.compile(
    r"SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|BEGIN|VACUUM|ATTACH|JOIN"
)
"""One of these is in every source with a statement, wherever its string is broken."""
PLAIN_KEYS = {
    "str", "int", "bool", "float", "bytes", "None", "Path", "tuple", "type", "IPv4Address",
    "IPv6Address",
}  # fmt: skip
"""Types of small values, by which results that depend on nothing else may be cached."""
REGISTRIES = {
    "judges/verdicts/markers.py": ["READERS"],
    "metrics/catalogue/record.py": ["DECLARED"],
    "studies/exchange/export.py": ["EXPORT_FORMATS"],
    "studies/frames/reply_facts.py": ["REPLY_FACTS"],
    "studies/sources/source_format.py": ["DECLARED"],
}
"""Tables that decorators fill while modules are imported; they do not grow with data."""
EMPTY_TABLE = re.compile(
    r"^[\w\])][^\n]*=\s*(\(\s*)?(\{\s*\}|([\w.]+\.)?(dict|defaultdict|OrderedDict|Weak\w+)\s*\()",
    re.M,
)
"""In every source with a dictionary that starts empty, at the left margin."""


def modules() -> list[Path]:
    folders = ("studies", "judges", "metrics", "components")
    return sorted([*(p for f in folders for p in (ROOT / f).rglob("*.py")), ROOT / "app.py"])


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module", autouse=True)
def free_memory() -> Iterator[None]:
    """Delete the trees at the end: every later garbage collection would visit them."""
    yield
    tree_of.cache_clear()


@cache
def tree_of(source: str) -> ast.Module:
    return ast.parse(source)


def docstrings(tree: ast.AST) -> set[int]:
    """Ids of the constants that are statements of their own: docstrings and comments on values."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def statements(source: str) -> list[str]:
    """String constants of a source that look like SQL."""
    if not SQL_WORDS.search(source):
        return []  # parsing takes most of the time
    tree = tree_of(source)
    comments = docstrings(tree)
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in comments
        and SQL.search(node.value)
    ]


def test_sql_stands_in_the_store_only() -> None:
    outside = [path for path in modules() if STORE not in path.parents]
    found = {name_of(path): statements(path.read_text("utf-8")) for path in outside}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_the_scan_finds_statements_and_no_comments() -> None:
    assert statements('store.read("SELECT 1 FROM plan")') == ["SELECT 1 FROM plan"]
    assert statements('c.execute(f"DELETE FROM {table}")') == ["DELETE FROM "]
    assert statements('c.execute("PRAGMA quick_check")') and statements('x = "BEGIN IMMEDIATE"')
    assert statements('def f():\n    """A SELECT of rows."""\n    return "Select a study"') == []
    assert any(statements(path.read_text("utf-8")) for path in STORE.rglob("*.py"))


def test_no_statement_numbers_its_parameters() -> None:
    """Numbered parameters with a tuple are an error from Python 3.14 on."""
    numbered = {
        name_of(path): found
        for path in sorted(STORE.rglob("*.py"))
        if (found := re.findall(r"\?\d", path.read_text("utf-8")))
    }
    assert numbered == {}


# -------------------------------------------------------------------------------- passing on


def forwarding_methods(source: str) -> list[str]:
    """Methods whose only statement calls a module's function with `self` and their own values."""
    return [
        f"{one.name}.{method.name}"
        for one in ast.walk(tree_of(source))
        if isinstance(one, ast.ClassDef)
        for method in one.body
        if isinstance(method, ast.FunctionDef) and _only_forwards(method)
    ]


def _only_forwards(method: ast.FunctionDef) -> bool:
    body = [s for s in method.body if not isinstance(getattr(s, "value", None), ast.Constant)]
    call = getattr(body[0], "value", None) if len(body) == 1 else None
    if not isinstance(call, ast.Call) or not _is_module_function(call.func):
        return False
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    return bool(values) and all(isinstance(v, (ast.Name, ast.Attribute)) for v in values)


def _is_module_function(function: ast.expr) -> bool:
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id not in ("self", "super")


def store_classes() -> dict[str, str]:
    paths = [STORE / "store.py", STORE / "store_file.py", *(STORE / "queries").glob("*.py")]
    return {name_of(path): path.read_text("utf-8") for path in paths}


def test_the_store_has_no_method_that_only_passes_a_call_on() -> None:
    # A hook that subclasses replace; the visitors' store opens connections of its own.
    hooks = {"StoreFile._open_reader"}
    found = {one for source in store_classes().values() for one in forwarding_methods(source)}
    assert found - hooks == set()


def test_the_rule_itself_sees_a_method_that_passes_on() -> None:
    lines = "class S:\n    def items(self, name):\n        {}\n"
    assert forwarding_methods(lines.format("return queries.items(self.read, name)")) == ["S.items"]
    assert forwarding_methods(lines.format("return items(self, name=name)")) == ["S.items"]
    assert forwarding_methods(lines.format('return self.read("SELECT 1", name)')) == []
    assert forwarding_methods(lines.format("return Counter(self.items(name))")) == []


# ------------------------------------------------------------------------------------ caches


def cached_functions(source: str) -> Iterator[ast.FunctionDef]:
    if "cache" not in source:
        return
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.FunctionDef) and any(
            name in ast.unparse(decorator).split("(")[0].split(".")
            for decorator in node.decorator_list
            for name in ("cache", "lru_cache")
        ):
            yield node


def key_types(function: ast.FunctionDef) -> set[str]:
    """Names in the annotations of a function's parameters; `?` for one without annotation."""
    spec = function.args
    named = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
    found: set[str] = set()
    for argument in filter(None, named):
        if argument.annotation is None:
            found.add("?")
            continue
        nodes = list(ast.walk(argument.annotation))
        found |= {node.id for node in nodes if isinstance(node, ast.Name)}
    return found


def cache_tables(source: str) -> list[str]:
    """Module-level names of dictionaries that start empty: caches, or registries."""
    if not EMPTY_TABLE.search(source):
        return []  # parsing takes most of the time
    found = []
    for node in tree_of(source).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        empty = (isinstance(value, ast.Dict) and not value.keys) or (
            isinstance(value, ast.Call)
            and ast.unparse(value.func).split(".")[-1]
            in ("dict", "defaultdict", "OrderedDict", "WeakKeyDictionary", "WeakValueDictionary")
            and not value.args
        )
        if empty and isinstance(target, ast.Name):
            found.append(target.id)
    return found


def test_only_the_store_caches_what_is_computed_from_studies() -> None:
    wrong = {
        f"{name_of(path)}:{function.name}": key_types(function) - PLAIN_KEYS
        for path in modules()
        for function in cached_functions(path.read_text("utf-8"))
    }
    found = {name for name, kinds in wrong.items() if kinds}
    assert found == set()


def test_no_module_has_a_table_that_grows() -> None:
    found = {name_of(path): cache_tables(path.read_text("utf-8")) for path in modules()}
    assert {name: tables for name, tables in found.items() if tables} == REGISTRIES


def test_the_rule_itself_sees_a_cache_of_frames_and_of_stores() -> None:
    source = "@lru_cache(maxsize=4)\ndef f(store: Store, name: str, *, frame: pd.DataFrame): ..."
    (function,) = cached_functions(source)
    assert key_types(function) - PLAIN_KEYS == {"Store", "pd"}
    (bare,) = cached_functions("@functools.cache\ndef f(x): ...")
    assert key_types(bare) == {"?"}
    assert cache_tables("SEEN: dict[str, int] = {}\nX = {1: 2}\nW = WeakKeyDictionary()") == [
        "SEEN",
        "W",
    ]
