"""Private names of Gradio: a missing one stops public mode only if it protects visitors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from components.server.private_name import GradioChanged, PrivateName, check_names

GRADIO = SimpleNamespace(__version__="9.9", there=1)


def name(attribute: str, *, protects: bool = False) -> PrivateName:
    def check(package: Any, blocks: Any) -> bool:
        return bool(getattr(package, attribute)) and bool(blocks["page"])

    return PrivateName(
        attribute, "use", f"without {attribute}", frozenset({attribute}), check, protects
    )


def test_a_name_holds_if_its_check_finds_it() -> None:
    assert name("there").is_working({"page": 1}, GRADIO)
    assert not name("there").is_working({"page": 0}, GRADIO)
    for blocks in ({}, None):
        assert not name("there").is_working(blocks, GRADIO), "the check itself fails"
    assert not name("gone").is_working({"page": 1}, GRADIO)


def test_public_mode_is_refused_without_a_name_that_protects_visitors(
    caplog: pytest.LogCaptureFixture,
) -> None:
    page = {"page": 1}
    check_names([name("there", protects=True)], page, GRADIO, public=True)
    assert caplog.text == ""
    check_names([name("gone")], page, GRADIO, public=True)
    assert "without gone" in caplog.text
    check_names([name("lost", protects=True)], page, GRADIO, public=False)
    assert "without lost" in caplog.text
    names = [name("gone"), name("lost", protects=True), name("missed", protects=True)]
    with pytest.raises(GradioChanged, match=r"9\.9.*lost, missed"):
        check_names(names, page, GRADIO, public=True)
