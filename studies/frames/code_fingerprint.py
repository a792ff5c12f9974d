"""Fingerprint (hash) of the project code that a module depends on.

A cache file must not be read by a release whose code would produce different contents. The modules
are found by their import statements, so moved, added and renamed files are included.
"""

import ast
import hashlib
import importlib.machinery
import importlib.util
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType

Read = Callable[[Path], bytes]


class CodeMissing(RuntimeError):
    """Raised if the source of a module cannot be read, or its imports cannot be followed, so that
    no fingerprint can be computed."""


def fingerprint(
    *roots: ModuleType, versions: Iterable[str] = (), read: Read = Path.read_bytes
) -> str:
    """Return a hash (16 hexadecimal digits) of the sources of the root modules and of all modules
    of their top-level packages that they import, directly or indirectly.

    `versions` are the versions of the libraries that a result depends on; `read` returns the
    content of a file.
    """
    found = module_sources(*roots, read=read)
    parts = [name.encode() + b"\0" + text for name, text in sorted(found.items())]
    whole = b"\x1f".join([*parts, *(version.encode() for version in versions)])
    return hashlib.sha256(whole).hexdigest()[:16]


def module_sources(*roots: ModuleType, read: Read = Path.read_bytes) -> dict[str, bytes]:
    """Return module name -> source code, for the root modules and, recursively, their imports from
    the same packages. `read` returns the content of a file."""
    packages = {root.__name__.partition(".")[0] for root in roots}
    found: dict[str, bytes] = {}
    waiting = [root.__name__ for root in roots]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _read_module_source(name, read)
            waiting += [
                one for one in imported_modules(found[name]) if one.partition(".")[0] in packages
            ]
    return found


def imported_modules(source: bytes) -> Iterator[str]:
    """Yield the names of the modules that a source text imports, also inside functions; CodeMissing
    for a relative import."""
    for node in _iterate_statements(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise CodeMissing("a relative import cannot be followed; name the module in full")
            module = node.module or ""
            yield module
            yield from _submodules(module, (alias.name for alias in node.names))


def _iterate_statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield all statements of a module, also those inside functions and blocks; expressions, which
    contain no imports, are not visited."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, name, ())


def _submodules(module: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the full names of those imported `names` that are modules of the package `module`."""
    if (spec := _find_module_spec(module)) is None or spec.submodule_search_locations is None:
        return
    yield from (
        whole for name in names if _find_module_spec(whole := f"{module}.{name}") is not None
    )


def _find_module_spec(name: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def _read_module_source(name: str, read: Read) -> bytes:
    spec = _find_module_spec(name)
    if spec is None or not spec.origin:
        raise CodeMissing(f"module {name} is imported and cannot be found; reinstall Evenhand")
    try:
        return read(Path(spec.origin))
    except OSError as error:
        raise CodeMissing(
            f"the source of module {name} cannot be read ({error.strerror}); reinstall Evenhand"
        ) from error
