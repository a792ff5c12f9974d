"""A reader of our own source: what is put into HTML, and whether it went through the choke point.

An f-string with a tag in it makes HTML. Each value put into it must be made by one of the functions
that escape or that write numbers, by a function of components (which is read the same way), or be a
variable that holds nothing else. Everything that remains is listed by hand, with its reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ESCAPES = {"safe", "rich", "safe_plot", "attributes"}
NUMBERS = {
    "count", "number", "share", "interval", "percent", "decimal", "rating", "dollars", "duration",
    "tokens", "about", "len", "round", "int", "float", "min", "max",
}  # fmt: skip
ONE_BY_ONE = {"enumerate", "zip", "sorted", "reversed"}
TAG = re.compile(r"<[a-zA-Z/!]")
NUMERIC = ("int", "float", "bool", "int | None", "float | None")


@dataclass(frozen=True)
class Sink:
    """A value in HTML that nobody is seen to have escaped."""

    file: str
    function: str
    value: str

    def __str__(self) -> str:
        return f"{self.file}: {self.function}: {{{self.value}}}"


def unescaped(folder: Path) -> set[Sink]:
    files = sorted(folder.rglob("*.py"))
    trees = {path.relative_to(folder).as_posix(): ast.parse(path.read_text()) for path in files}
    made = {node.name for tree in trees.values() for node in functions(tree)}
    return {
        Sink(name, function.name, value)
        for name, tree in trees.items()
        for function in functions(tree)
        for value in Function(function, made).unescaped()
    }


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


class Function:
    """One function: its parameters, and everything that is ever put into its variables."""

    def __init__(self, node: ast.FunctionDef, made: set[str]) -> None:
        self.node, self.made = node, made
        arguments = [*node.args.args, *node.args.kwonlyargs]
        self.parameters = {
            one.arg: ast.unparse(one.annotation) if one.annotation else "" for one in arguments
        }
        self.held: dict[str, list[tuple[ast.expr, bool]]] = {}
        for part in ast.walk(node):
            self._note(part)

    def unescaped(self) -> Iterator[str]:
        for part in ast.walk(self.node):
            if isinstance(part, ast.JoinedStr) and _is_html(part):
                for value in part.values:
                    if isinstance(value, ast.FormattedValue) and not self.fine(value):
                        yield ast.unparse(value.value)

    def _note(self, part: ast.AST) -> None:
        if isinstance(part, ast.Assign):
            for target in part.targets:
                self._hold(target, part.value, each=False)
        elif isinstance(part, ast.AugAssign | ast.NamedExpr):
            self._hold(part.target, part.value, each=False)
        elif isinstance(part, ast.For | ast.comprehension):
            self._hold(part.target, part.iter, each=True)

    def _hold(self, target: ast.expr, value: ast.expr, *, each: bool) -> None:
        if isinstance(target, ast.Name):
            self.held.setdefault(target.id, []).append((value, each))
        elif isinstance(target, ast.Tuple | ast.List):
            places = list(value.elts) if isinstance(value, ast.Tuple) and not each else []
            for place, one in enumerate(target.elts):
                alone = len(places) == len(target.elts)
                self._hold(one, places[place] if alone else value, each=each)

    def fine(self, value: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        match value:
            case ast.FormattedValue():
                return value.format_spec is not None or self.fine(value.value, seen)
            case ast.Constant() | ast.Compare() | ast.UnaryOp():
                return True
            case ast.JoinedStr():
                return all(self.fine(one, seen) for one in value.values)
            case ast.IfExp():
                return self.fine(value.body, seen) and self.fine(value.orelse, seen)
            case ast.BoolOp():
                return all(self.fine(one, seen) for one in value.values)
            case ast.BinOp():
                adds = isinstance(value.op, ast.Add)
                return not adds or (self.fine(value.left, seen) and self.fine(value.right, seen))
            case ast.Tuple() | ast.List():
                return all(self.fine(one, seen) for one in value.elts)
            case ast.GeneratorExp() | ast.ListComp():
                return self.fine(value.elt, seen)
            case ast.Starred() | ast.Subscript():
                return self.fine(value.value, seen)
            case ast.Call():
                return self._call(value, seen)
            case ast.Name():
                return self._name(value.id, seen)
        return False

    def _call(self, call: ast.Call, seen: frozenset[str]) -> bool:
        if isinstance(call.func, ast.Name):
            return call.func.id in ESCAPES | NUMBERS | self.made
        if isinstance(call.func, ast.Attribute):
            if call.func.attr == "join":
                return all(self.fine(one, seen) for one in call.args)
            return call.func.attr in self.made
        return False

    def _name(self, name: str, seen: frozenset[str]) -> bool:
        if name.isupper() or name in seen:
            return True
        if name in self.parameters:
            return self.parameters[name] in NUMERIC
        held = self.held.get(name, [])
        now = seen | {name}
        return bool(held) and all(
            self._each(one, now) if each else self.fine(one, now) for one, each in held
        )

    def _each(self, value: ast.expr, seen: frozenset[str]) -> bool:
        """The members of something that is gone through."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            if value.func.id == "range":
                return True
            if value.func.id in ONE_BY_ONE:
                return all(self._each(one, seen) for one in value.args)
            return False
        if isinstance(value, ast.Tuple | ast.List):
            return all(self.fine(one, seen) for one in value.elts)
        if isinstance(value, ast.GeneratorExp | ast.ListComp):
            return self.fine(value.elt, seen)
        return isinstance(value, ast.Name) and value.id.isupper()


def _is_html(text: ast.JoinedStr) -> bool:
    return any(isinstance(one, ast.Constant) and TAG.search(str(one.value)) for one in text.values)


def toasts(path: Path) -> Iterator[tuple[int, str]]:
    """Messages that Gradio shows as HTML and that nobody escaped: (line, source)."""
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("Error", "Warning", "Info", "Success")
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "gr"
            and node.args
            and not _plain(node.args[0])
        ):
            yield node.lineno, ast.unparse(node.args[0])


def _plain(message: ast.expr) -> bool:
    called = message.func if isinstance(message, ast.Call) else None
    return isinstance(message, ast.Constant) or (
        isinstance(called, ast.Name) and called.id in ESCAPES
    )
