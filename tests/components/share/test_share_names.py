"""File names of exports: plain for every study name."""

from __future__ import annotations

import gradio as gr
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.share import tab as share_tab
from components.share.drawer_html import BOARD_NAME, EXPORT_LABELS, REPORT_NAME
from components.share.tab import _clicked_export_name, write_export_file
from studies.domain import Item
from studies.errors import EvenhandError
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


@pytest.mark.parametrize("name", [REPORT_NAME, BOARD_NAME, *EXPORT_LABELS])
def test_a_file_of_a_known_name_is_made_and_another_refused(name, monkeypatch):
    event = gr.EventData(None, {"export": name})  # type: ignore[arg-type]
    assert _clicked_export_name(event) == name
    for sent in ({"export": f"{name}x"}, {}, "text"):
        with pytest.raises(gr.Error):
            _clicked_export_name(gr.EventData(None, sent))  # type: ignore[arg-type]


def test_a_board_and_a_report_have_the_study_s_name_and_a_full_disk_is_told(
    store, tmp_path, monkeypatch
):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    made = []
    monkeypatch.setattr(share_tab.record_tree, "records_of_store", lambda _, name: f"of {name}")
    monkeypatch.setattr(
        share_tab.board_files, "zip_board", lambda records, path: made.append((records, path.name))
    )
    monkeypatch.setattr(
        share_tab.report, "write_report", lambda _, name, path: made.append((name, path.name))
    )
    paths = [write_export_file(store, "My Study", one) for one in (BOARD_NAME, REPORT_NAME)]
    assert made == [(["of My Study"], "my-study-board.zip"), ("My Study", "my-study-report.html")]
    assert [one.name for one in paths] == ["my-study-board.zip", "my-study-report.html"]
    assert len({one.parent for one in paths}) == 2
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "file"))
    with pytest.raises(EvenhandError):
        write_export_file(store, "My Study", REPORT_NAME)


def test_the_drawer_and_its_export_need_a_study(store):
    chosen = []
    with gr.Blocks() as blocks:
        tab, opener = share_tab.build(), gr.Button()
        share_tab.bind(tab, opener, [], lambda *_: chosen[0] if chosen else None)
    events = {getattr(one.fn, "__name__", ""): one.fn for one in blocks.fns.values()}
    drawer, *parts = events["open_drawer"]()
    assert drawer.visible is True and parts == ["", gr.skip(), "", ""]
    assert events["show_table_as_printed"]("Ranking") == ""
    with pytest.raises(gr.Error):
        events["write_clicked_export"](gr.EventData(None, {"export": REPORT_NAME}))
    made = [judged(ask("k", "q1"))]
    item = Item("q1", "why?", {"x": "so", "y": "thus"})
    store.save_study(Study("s"), [item], (), recorded=made, plan_sha="1", only_recorded=True)
    chosen.append(FilteredStudy(store, "s"))
    drawer, exports, tables, printed, words = events["open_drawer"]()
    names = [name for name, _ in tables.choices]
    assert drawer.visible is True and tables.value == (names[0] if names else None)
    assert REPORT_NAME in exports and words != ""
    assert printed == events["show_table_as_printed"](names[0] if names else "")
