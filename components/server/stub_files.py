"""Skip Gradio's comparison of component classes with their type stubs at each import, which takes
1.7 s of CPU."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_COMPONENT_CLASS = "ComponentMeta"


@contextmanager
def skip_stub_files() -> Iterator[None]:
    """Inside the `with` block, make `inspect.getfile` fail for Gradio's component classes, so that
    Gradio does not compare them with their type stubs."""
    find = inspect.getfile

    def find_file_unless_component(value: Any) -> str:
        if type(value).__name__ == _COMPONENT_CLASS:
            raise OSError("its stub is not compared")
        return find(value)

    inspect.getfile = find_file_unless_component  # type: ignore[assignment]
    try:
        yield
    finally:
        inspect.getfile = find
