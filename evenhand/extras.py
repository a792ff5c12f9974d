"""Errors for optional packages that are not installed: they name the extra to install."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from studies.errors import EvenhandError

P = ParamSpec("P")
Result = TypeVar("Result")

EXTRA_OF_PACKAGE: Final = {
    "gradio": "page",
    "gradio_client": "page",
    "plotly": "page",
    "markupsafe": "page",
    "starlette": "page",
    "fastapi": "page",
    "uvicorn": "page",
    "brotli": "page",
    "huggingface_hub": "page",
    "openai": "run",
    "aiohttp": "run",
    "httpx2": "run",
    "yaml": "run",
    "pydantic": "run",
    "pyarrow": "run",
    "openpyxl": "run",
    "orjson": "run",
    "datasets": "run",
    "xllamacpp": "embedded",
    "gguf": "embedded",
    "ray": "cluster",
    "mcp": "mcp",
    "inspect_ai": "inspect",
}
"""Import name of a package -> extra of the wheel that installs the package."""


class PackageMissing(EvenhandError):
    """Raised if an optional package is not installed."""


def build_missing_extra_error(error: ModuleNotFoundError) -> PackageMissing | None:
    """Return an error that names the extra to install; None if the missing module belongs to no
    extra."""
    package = (error.name or "").partition(".")[0]
    extra = EXTRA_OF_PACKAGE.get(package)
    if extra is None:
        return None
    return PackageMissing(
        f"this needs the package {package}, which is not installed; "
        f'run: pip install "evenhand[{extra}]"'
    )


def report_missing_extra(function: Callable[P, Result]) -> Callable[P, Result]:
    """Decorate a function so that the import error of a missing optional package becomes
    PackageMissing, which names the extra to install."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except ModuleNotFoundError as error:
            if (explained := build_missing_extra_error(error)) is None:
                raise
            raise explained from error

    return wrapper
