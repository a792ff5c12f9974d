"""Rewrite a module of the checkout for the wheel, where every package lives inside `evenhand`.

Three kinds of text change: the heads of import statements, strings that are the name of a module of
the checkout (arguments of `importlib` and of `python -m`), and commands in messages. All else stays
byte for byte, so that line numbers of the checkout and of the wheel are the same.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

PACKAGE: Final = "evenhand"
HEADS: Final = ("app", "components", "judges", "metrics", "studies")
_MODULE_NAME: Final = re.compile(rf"(?:{'|'.join(HEADS)})(?:\.\w+)+")
_MODULE_COMMAND: Final = re.compile(rf"python -m ((?:{'|'.join(HEADS[1:])})(?:\.\w+)*)")
_INSTALL_EXTRA: Final = re.compile(r"pip install -r requirements/(mcp|cluster|embedded)\.txt")


class CannotRewrite(Exception):
    """Raised for an import whose meaning would change in the wheel."""


@dataclass(frozen=True, slots=True)
class _Edit:
    """Replacement of the characters `start` to `end` of one line."""

    line: int
    start: int
    end: int
    text: str


def rewrite_source(source: str, name: str, modules: Collection[str]) -> str:
    """Rewrite one module; `modules` are the dotted names of all modules of the checkout."""
    tree = ast.parse(source)
    edits = [*_import_edits(source, name, tree), *_string_edits(source, set(modules))]
    rewritten = _apply(source, edits)
    ast.parse(rewritten)
    return rewritten


def rewrite_commands(text: str) -> str:
    """Replace the commands of the checkout in a text by those of the wheel: `python -m judges run`
    becomes `evenhand run`, `python -m judges.x` becomes `python -m evenhand.judges.x`."""

    def command(match: re.Match[str]) -> str:
        module = match[1]
        if module == "metrics":
            return f"{PACKAGE} metrics"
        return PACKAGE if "." not in module else f"python -m {PACKAGE}.{module}"

    text = _MODULE_COMMAND.sub(command, text)
    return _INSTALL_EXTRA.sub(lambda match: f"pip install '{PACKAGE}[{match[1]}]'", text)


def _import_edits(source: str, name: str, tree: ast.Module) -> Iterator[_Edit]:
    lines = source.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            relative = node.level > 0  # valid in the wheel too
            if not relative and (node.module or "").partition(".")[0] in HEADS:
                yield _head_edit(lines, node.lineno, node.module or "", node.col_offset)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in HEADS:
                    _check_binding(tree, alias, f"{name}:{node.lineno}")
                    yield _head_edit(lines, alias.lineno, alias.name, alias.col_offset)


def _head_edit(lines: list[str], line: int, module: str, column: int) -> _Edit:
    """Return the edit that puts "evenhand." before the first occurrence of `module` in a line from
    byte `column` on."""
    start = len(lines[line - 1].encode()[:column].decode())
    place = lines[line - 1].index(module, start)
    return _Edit(line, place, place, f"{PACKAGE}.")


def _check_binding(tree: ast.Module, alias: ast.alias, where: str) -> None:
    """Raise CannotRewrite if the code imports `judges.x` and uses the name `judges.x`: the import
    in the wheel would define the name `evenhand` only."""
    if alias.asname is not None:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) == alias.name:
            raise CannotRewrite(
                f"{where}: import {alias.name} and use it; import it from its parent"
            )


def _string_edits(source: str, modules: set[str]) -> Iterator[_Edit]:
    """Yield the edits that change module names and commands inside strings and f-strings."""
    lines = source.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if tokenize.tok_name[token.type] not in ("STRING", "FSTRING_MIDDLE"):
            continue
        text = "".join(_span(lines, token.start, token.end))
        whole = text.strip("'\"")
        if _MODULE_NAME.fullmatch(whole) and whole in modules:
            changed = text.replace(whole, f"{PACKAGE}.{whole}")
        else:
            changed = rewrite_commands(text)
        if changed != text:
            yield from _line_edits(text, changed, token.start)


def _span(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> Iterator[str]:
    for number in range(start[0], end[0] + 1):
        line = lines[number - 1]
        begin = start[1] if number == start[0] else 0
        yield line[begin : end[1] if number == end[0] else None]


def _line_edits(before: str, after: str, start: tuple[int, int]) -> Iterator[_Edit]:
    """Yield one edit for each line that differs between `before` and `after`, the texts of a string
    that begins at `start`."""
    pairs = zip(before.split("\n"), after.split("\n"), strict=True)
    for number, (old, new) in enumerate(pairs):
        column = start[1] if number == 0 else 0
        if old != new:
            yield _Edit(start[0] + number, column, column + len(old), new)


def _apply(source: str, edits: list[_Edit]) -> str:
    lines = source.splitlines(keepends=True)
    for edit in sorted(edits, key=lambda one: (one.line, one.start), reverse=True):
        line = lines[edit.line - 1]
        lines[edit.line - 1] = line[: edit.start] + edit.text + line[edit.end :]
    return "".join(lines)
