"""Values computed at the first use: no object waits for another, and all threads get one value."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from studies.lazy_values import cached_property

ROOT = Path(__file__).parents[2]


class Slow:
    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    @cached_property
    def value(self) -> list[str]:
        """A value."""
        self.begun.set()
        assert self.go_on.wait(30)
        return []


def test_an_object_does_not_wait_for_the_value_of_another() -> None:
    slow, other = Slow(), Slow()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert slow.begun.wait(30)
    other.go_on.set()
    found: list[list[str]] = []
    second = threading.Thread(target=lambda: found.append(other.value), daemon=True)
    second.start()
    second.join(10)
    slow.go_on.set()
    thread.join(30)
    assert found == [[]] and slow.value == []


def test_threads_that_compute_at_once_get_the_same_value() -> None:
    slow, found = Slow(), []
    threads = [threading.Thread(target=lambda: found.append(slow.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    slow.go_on.set()
    for thread in threads:
        thread.join(30)
    assert len(found) == 2 and found[0] is found[1] is slow.value
    assert Slow.value.__doc__ == "A value."


def test_the_product_uses_no_cached_property_with_a_lock() -> None:
    packages = ("components", "judges", "metrics", "studies", "evenhand")
    files = [ROOT / "app.py", *(file for name in packages for file in (ROOT / name).rglob("*.py"))]
    locked = re.compile(
        r"^from functools import .*\bcached_property|functools\.cached_property", re.M
    )
    found = [
        str(file.relative_to(ROOT)) for file in files if locked.search(file.read_text("utf-8"))
    ]
    assert found == []
