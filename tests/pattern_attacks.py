"""Texts that make a backtracking regular expression slow, derived from the expression itself.

A pattern takes quadratic time when a repeat is tried again from every position of a long run, or
when the part before a missing ending occurs often. Both need a text made of the pattern's own
pieces, so the pieces are read from its parse tree.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = ("studies", "metrics", "judges", "components")
LONG: Final = 50
"""A repeat of at most so many is a constant factor."""
COMMON: Final = (
    " ", "\n", "\t", "a", "A", "0", "_", "-", ".", ",", "'", '"', "\\", "<", ">", "[", "[[", "{",
    "{{", "${", "*", "**", "`", "|", "#", "<think>", "</think>", "<think></think>", "a ", "a\n",
    " \n", "\r\n", "é", "\u0301", "\u200b", "a1", "1.", "Bearer ", "sk-", "aB3_", '{"', "---\n",
)  # fmt: skip
_METHODS: Final = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")
_CALL_OF_RE: Final = re.compile(r"\bre\s*\.")
_REPEATS: Final = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_CLASSES: Final = {
    codes.CATEGORY_DIGIT: "0", codes.CATEGORY_NOT_DIGIT: "a",
    codes.CATEGORY_SPACE: " ", codes.CATEGORY_NOT_SPACE: "a",
    codes.CATEGORY_WORD: "a", codes.CATEGORY_NOT_WORD: "-",
}  # fmt: skip


@dataclass
class Use:
    """One regular expression of the project and the methods it is called with."""

    name: str
    pattern: re.Pattern[str]
    methods: set[str] = field(default_factory=set)


def modules() -> list[ModuleType]:
    """All modules of the project that can be imported here."""
    found = [importlib.import_module("app")]
    for package in PACKAGES:
        base = importlib.import_module(package)
        for info in pkgutil.walk_packages(base.__path__, f"{package}."):
            if not info.name.endswith("__main__"):
                found.append(importlib.import_module(info.name))
    return found


def compiled_patterns() -> list[Use]:
    """Patterns held by modules, also inside tuples, mappings and dataclasses of theirs."""
    uses: dict[tuple[str, int], Use] = {}
    for module in modules():
        held = [(name, p) for name, value in vars(module).items() for p in _patterns_in(value)]
        calls = _called_methods(module) if held else {}
        for name, pattern in held:
            if isinstance(pattern.pattern, str):
                key = (pattern.pattern, pattern.flags)
                use = uses.setdefault(key, Use(f"{module.__name__}.{name}", pattern))
                use.methods |= calls.get(name, set())
    for use in uses.values():
        use.methods = use.methods or {"finditer"}  # passed on: the most demanding use
    return list(uses.values())


def _patterns_in(value: object, depth: int = 0) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 3 and isinstance(value, (tuple, list)):
        for part in value:
            yield from _patterns_in(part, depth + 1)
    elif depth < 3 and isinstance(value, dict):
        yield from _patterns_in(tuple(value.values()), depth + 1)
    elif depth < 3 and hasattr(type(value), "__dataclass_fields__"):
        parts = tuple(getattr(value, name, None) for name in type(value).__dataclass_fields__)
        yield from _patterns_in(parts, depth + 1)


def _called_methods(module: ModuleType) -> dict[str, set[str]]:
    """By name: the methods called on it here. A name used in another way may be used in any."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    found: dict[str, set[str]] = {}
    called: set[int] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr in _METHODS
        ):
            found.setdefault(node.value.id, set()).add(node.attr)
            called.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in called:
            found.setdefault(node.id, set()).add("finditer")
    return found


@cache
def inline_patterns() -> tuple[list[Use], list[str]]:
    """Patterns given to `re` inside functions, and the places whose pattern is no constant."""
    uses, unread = [], []
    for path in _sources():
        source = path.read_text(encoding="utf-8")
        if not _CALL_OF_RE.search(source):
            continue  # parsing takes most of the time
        tree = ast.parse(source)
        top = {
            id(part) for node in tree.body if not _is_definition(node) for part in ast.walk(node)
        }
        for node in ast.walk(tree):
            if not _is_call_of_re(node) or id(node) in top:
                continue
            place = f"{path.relative_to(ROOT)}:{node.lineno}"
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                method = {"compile": "finditer"}.get(node.func.attr, node.func.attr)
                uses.append(Use(place, re.compile(first.value), {method}))
            elif not (isinstance(first, ast.Name) and first.id.isupper()):
                unread.append(place)
    return uses, unread


def _sources() -> Iterator[Path]:
    yield ROOT / "app.py"
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def _is_definition(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


def _is_call_of_re(node: Any) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in (*_METHODS, "compile")
        and bool(node.args)
    )


# ------------------------------------------------------------------------------------- attacks


@dataclass(frozen=True)
class Attack:
    """`head`, then `unit` up to the length wanted, then `tail`."""

    head: str
    unit: str
    tail: str = "\0"

    def text(self, length: int) -> str:
        return self.head + self.unit * max(1, length // len(self.unit)) + self.tail


def attacks_on(pattern: re.Pattern[str]) -> list[Attack]:
    """Attacks from the parse tree, each once; those every pattern gets are in `COMMON`.

    Only a long repeat can be tried again over much text: bounded ones are a constant factor.
    """
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    found = dict.fromkeys(Attack("", unit) for unit in COMMON)
    for attack in _walk(tree, ""):
        found.setdefault(attack)
    whole = _sample(tree)
    if whole:
        found.setdefault(Attack("", whole))
        found.setdefault(Attack(whole, " "))
    return list(found)


def _walk(tree: Any, head: str) -> Iterator[Attack]:
    before = head
    for node in tree:
        kind, value = node
        if kind in _REPEATS:
            _, high, body = value
            if high > LONG:
                yield from _long_repeats(before, body)
            yield from _walk(body, before)
        elif kind is codes.SUBPATTERN:
            yield from _walk(value[-1], before)
        elif kind is codes.BRANCH:
            for alternative in value[1]:
                yield from _walk(alternative, before)
        elif kind in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _walk(value[1], before)
        elif kind is codes.ATOMIC_GROUP:
            yield from _walk(value, before)
        before += _sample([node])


def _long_repeats(before: str, body: Any) -> Iterator[Attack]:
    for unit in _units(body):
        yield Attack("", unit)
        if before:
            yield Attack("", before)
            yield Attack(before, unit)
            yield Attack("", before + unit)
            yield Attack("", before + unit * 20)


def _units(body: Any) -> list[str]:
    """Texts that one turn of a repeat takes: several where it is a class of characters."""
    nodes = list(body)
    if len(nodes) == 1 and nodes[0][0] is codes.IN:
        return _members(nodes[0][1])
    if len(nodes) == 1 and nodes[0][0] in (codes.ANY, codes.NOT_LITERAL):
        return [one for one in ("a", " ", "<") if nodes[0][1] != ord(one)]
    return [sample] if (sample := _sample(body)) else []


def _members(parts: Any) -> list[str]:
    if parts and parts[0][0] is codes.NEGATE:
        barred = re.compile(_class_text(parts))
        return [one for one in ("a", " ", "\n", "<", "-", "0", "(") if barred.match(one)][:3]
    found = []
    for kind, value in parts:
        if kind is codes.LITERAL:
            found.append(chr(value))
        elif kind is codes.RANGE:
            found.append(chr(value[0]))
        elif kind is codes.CATEGORY:
            found.append(_CLASSES.get(value, "a"))
    return found


def _class_text(parts: Any) -> str:
    """A negated class as a pattern again."""
    names = {
        codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_NOT_DIGIT: r"\D",
        codes.CATEGORY_SPACE: r"\s", codes.CATEGORY_NOT_SPACE: r"\S",
        codes.CATEGORY_WORD: r"\w", codes.CATEGORY_NOT_WORD: r"\W",
    }  # fmt: skip
    inner = ""
    for kind, value in parts[1:]:
        if kind is codes.LITERAL:
            inner += re.escape(chr(value))
        elif kind is codes.RANGE:
            inner += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        elif kind is codes.CATEGORY:
            inner += names[value]
    return f"[^{inner}]"


def _sample(tree: Any) -> str:
    """A short text that the nodes take, as far as assertions allow."""
    return "".join(_sample_of(kind, value) for kind, value in tree)


def _sample_of(kind: Any, value: Any) -> str:
    if kind is codes.LITERAL:
        return chr(value)
    if kind is codes.NOT_LITERAL:
        return "b" if value == ord("a") else "a"
    if kind is codes.ANY:
        return "a"
    if kind is codes.IN:
        return next(iter(_members(value)), "a")
    if kind is codes.BRANCH:
        return _sample(value[1][0])
    if kind is codes.SUBPATTERN:
        return _sample(value[-1])
    if kind in _REPEATS:
        return _sample(value[2]) * value[0]
    return _sample(value) if kind is codes.ATOMIC_GROUP else ""
