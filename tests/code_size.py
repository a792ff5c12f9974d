"""Size of the code: lines, import lines and functions of the product.

    python -m tests.code_size [FOLDER]

Lines are counted without blank lines, comments and docstrings; a template counts one line for each
100 characters. `tests/test_structure.py` keeps the figures within 3 % of those stated there.
"""

from __future__ import annotations

import ast
import math
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

PACKAGES: Final = ("app.py", "components", "judges", "metrics", "studies", "evenhand")
TEMPLATE_WIDTH: Final = 100


@dataclass
class CodeSize:
    lines: int = 0
    imports: int = 0
    functions: int = 0
    modules: int = 0

    @property
    def import_share(self) -> float:
        return self.imports / max(self.lines, 1)

    @property
    def function_rate(self) -> float:
        """Functions per thousand lines."""
        return 1000 * self.functions / max(self.lines, 1)

    def add(self, other: CodeSize) -> None:
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def statements_under(root: ast.AST) -> list[ast.AST]:
    """The node and all its statements, also the inner ones; most nodes of a tree are parts of
    expressions, which hold neither imports nor functions, classes and assertions."""
    found, todo = [], [root]
    while todo:
        node: ast.AST = todo.pop()
        found.append(node)
        for part in ("cases", "handlers", "finalbody", "orelse", "body"):
            todo.extend(reversed(getattr(node, part, ())))
    return found


@cache
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    """The module and its statements; several tests of test_structure.py read the same sources."""
    return tuple(statements_under(ast.parse(source)))


def is_text(value: ast.expr) -> bool:
    """Whether an expression is a text alone; as a statement it is a docstring, of a module, a
    function, a class, or of the field or constant above it."""
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def measure_file(path: Path) -> CodeSize:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        body = re.sub(r"\s+", " ", re.sub(r"{#.*?#}", "", text, flags=re.DOTALL)).strip()
        return CodeSize(lines=math.ceil(len(body) / TEMPLATE_WIDTH))
    found, skipped = CodeSize(modules=1), set()
    for node in nodes_of(text):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.imports += (node.end_lineno or node.lineno) - node.lineno + 1
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.functions += 1
        if isinstance(node, ast.Expr) and is_text(node.value):
            skipped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    found.lines = sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in skipped
        for number, line in enumerate(text.splitlines(), 1)
    )
    return found


def measure_code(root: Path) -> dict[str, CodeSize]:
    """Return package -> size, and "all"."""
    sizes = {"all": CodeSize()}
    for name in PACKAGES:
        top, size = root / name, CodeSize()
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.suffix in (".py", ".html") and "__pycache__" not in path.parts:
                size.add(measure_file(path))
        sizes[name] = size
        sizes["all"].add(size)
    return sizes


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    for name, size in measure_code(folder).items():
        print(f"{name:12} {size.lines:7,} lines, {100 * size.import_share:4.1f} % imports, "
              f"{size.function_rate:3.0f} functions per 1,000, {size.modules} modules")  # fmt: skip
