"""A Space's disk is emptied with every restart: the page says so, and whether anything is kept."""

from __future__ import annotations

import pytest

from components.run.notices import store_notices_html
from studies.store.store import Store


def test_on_ones_own_machine_nothing_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACE_ID", raising=False)
    assert store_notices_html(store) == ""


@pytest.mark.parametrize(
    ("dataset", "said", "not_said"),
    [("", "no backup", "private dataset"), ("me/kept", "private dataset", "Share")],
)
def test_on_a_space_the_page_says_what_outlives_a_restart(
    dataset: str, said: str, not_said: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPACE_ID", "me/page")
    monkeypatch.setenv("EVENHAND_SNAPSHOT", dataset)
    shown = store_notices_html(store)
    assert "loses its files" in shown
    assert said in shown
    assert not_said not in shown
