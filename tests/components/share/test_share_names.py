"""File names of exports: plain for every study name."""

from __future__ import annotations

import pytest

from components.share.drawer_html import EXPORT_LABELS, REPORT_NAME
from components.share.tab import write_export_file
from studies.domain import Item
from studies.spec.study import Study
from tests.studies.small_items import ask, judged

NAMES = [
    "a\x00\x1b]0;owned\x07\x85\u2028b", "../../etc/passwd", "..\\..\\evil.exe", "/", "..",
    "\u202egnp.exe", "x" * 500, "CON", "a;rm -rf ~", "$(id)", "`id`", "日本語",
    "name\r\nSet-Cookie: x=1", '"><script>', "-rf", ".bashrc",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_file_that_is_fetched_has_a_plain_name(name, store, tmp_path, monkeypatch):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    item = Item("q1", "why?", {"x": "so", "y": "thus"})
    study = Study(name, baseline="x")  # AlpacaEval's leaderboard needs one
    made = [judged(ask("k", "q1"))]
    store.save_study(study, [item], (), recorded=made, plan_sha="1", only_recorded=True)
    for form in (*EXPORT_LABELS, *([REPORT_NAME] if name == NAMES[0] else [])):
        path = write_export_file(store, study.name, form)
        assert path.parent.parent == tmp_path and path.is_file()
        assert len(path.name) <= 100 and path.name.count(".") == 1 and path.name[0] not in "-."
        assert set(path.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-."), path.name
