"""Static analysis of components: find values put into HTML without being escaped.

An f-string that contains a tag produces HTML. Each value in it must be the result of a function
that escapes or formats numbers, or of a function of components (which is checked in the same way),
or a variable that only holds such results. Every other value is reported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ESCAPES = {"escape", "inline_markup", "escape_plot", "attributes"}
NUMBERS = {
    "count", "number", "share", "interval", "percent", "decimal", "rating", "dollars", "duration",
    "tokens", "approximate_count", "len", "round", "sum", "int", "float", "min", "max",
}  # fmt: skip
ITERATORS = {"enumerate", "zip", "sorted", "reversed"}
TAG = re.compile(r"<[a-zA-Z/!]")
NUMERIC = ("int", "float", "bool", "int | None", "float | None")


@dataclass(frozen=True)
class Sink:
    """A value in HTML that is not visibly escaped."""

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
    """One function: the annotations of its parameters and all values assigned to its variables."""

    def __init__(self, node: ast.FunctionDef, made: set[str]) -> None:
        self.node, self.made = node, made
        arguments = [*node.args.args, *node.args.kwonlyargs]
        self.parameters = {
            one.arg: ast.unparse(one.annotation) if one.annotation else "" for one in arguments
        }
        self.assigned: dict[str, list[tuple[ast.expr, bool]]] = {}
        for part in ast.walk(node):
            self._record_assignment(part)

    def unescaped(self) -> Iterator[str]:
        for part in ast.walk(self.node):
            if isinstance(part, ast.JoinedStr) and _is_html(part):
                for value in part.values:
                    if isinstance(value, ast.FormattedValue) and not self.is_escaped(value):
                        yield ast.unparse(value.value)

    def _record_assignment(self, part: ast.AST) -> None:
        if isinstance(part, ast.Assign):
            for target in part.targets:
                self._assign(target, part.value, each=False)
        elif isinstance(part, ast.AugAssign | ast.NamedExpr):
            self._assign(part.target, part.value, each=False)
        elif isinstance(part, ast.For | ast.comprehension):
            self._assign(part.target, part.iter, each=True)

    def _assign(self, target: ast.expr, value: ast.expr, *, each: bool) -> None:
        if isinstance(target, ast.Name):
            self.assigned.setdefault(target.id, []).append((value, each))
        elif isinstance(target, ast.Tuple | ast.List):
            values = list(value.elts) if isinstance(value, ast.Tuple) and not each else []
            for index, one in enumerate(target.elts):
                paired = len(values) == len(target.elts)
                self._assign(one, values[index] if paired else value, each=each)

    def is_escaped(self, value: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        match value:
            case ast.FormattedValue():
                return value.format_spec is not None or self.is_escaped(value.value, seen)
            case ast.Constant() | ast.Compare() | ast.UnaryOp():
                return True
            case ast.JoinedStr():
                return all(self.is_escaped(one, seen) for one in value.values)
            case ast.IfExp():
                return self.is_escaped(value.body, seen) and self.is_escaped(value.orelse, seen)
            case ast.BoolOp():
                return all(self.is_escaped(one, seen) for one in value.values)
            case ast.BinOp():
                adds = isinstance(value.op, ast.Add)
                sides = (value.left, value.right)
                return not adds or all(self.is_escaped(side, seen) for side in sides)
            case ast.Tuple() | ast.List():
                return all(self.is_escaped(one, seen) for one in value.elts)
            case ast.GeneratorExp() | ast.ListComp():
                return self.is_escaped(value.elt, seen)
            case ast.Starred() | ast.Subscript():
                return self.is_escaped(value.value, seen)
            case ast.Call():
                return self._call_escaped(value, seen)
            case ast.Name():
                return self._name_escaped(value.id, seen)
        return False

    def _call_escaped(self, call: ast.Call, seen: frozenset[str]) -> bool:
        if isinstance(call.func, ast.Name):
            return call.func.id in ESCAPES | NUMBERS | self.made
        if isinstance(call.func, ast.Attribute):
            if call.func.attr == "join":
                return all(self.is_escaped(one, seen) for one in call.args)
            return call.func.attr in self.made
        return False

    def _name_escaped(self, name: str, seen: frozenset[str]) -> bool:
        if name.isupper() or name in seen:
            return True
        if name in self.parameters:
            return self.parameters[name] in NUMERIC
        values = self.assigned.get(name, [])
        now = seen | {name}
        return bool(values) and all(
            self._members_escaped(one, now) if each else self.is_escaped(one, now)
            for one, each in values
        )

    def _members_escaped(self, value: ast.expr, seen: frozenset[str]) -> bool:
        """Whether every member of an iterated expression is escaped."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            if value.func.id == "range":
                return True
            if value.func.id in ITERATORS:
                return all(self._members_escaped(one, seen) for one in value.args)
            return False
        if isinstance(value, ast.Tuple | ast.List):
            return all(self.is_escaped(one, seen) for one in value.elts)
        if isinstance(value, ast.GeneratorExp | ast.ListComp):
            return self.is_escaped(value.elt, seen)
        return isinstance(value, ast.Name) and value.id.isupper()


def _is_html(text: ast.JoinedStr) -> bool:
    return any(isinstance(one, ast.Constant) and TAG.search(str(one.value)) for one in text.values)


def toasts(path: Path) -> Iterator[tuple[int, str]]:
    """Messages that Gradio shows as HTML and that are not escaped: (line, source)."""
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("Error", "Warning", "Info", "Success")
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "gr"
            and node.args
            and not _is_escaped_message(node.args[0])
        ):
            yield node.lineno, ast.unparse(node.args[0])


def _is_escaped_message(message: ast.expr) -> bool:
    called = message.func if isinstance(message, ast.Call) else None
    return isinstance(message, ast.Constant) or (
        isinstance(called, ast.Name) and called.id in ESCAPES
    )
