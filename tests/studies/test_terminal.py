"""Terminal output: control characters in data are escaped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metrics.__main__ import main as metrics_main
from studies.__main__ import main
from studies.domain import Item
from studies.spec.study import Study
from studies.terminal import escape_control
from tests.studies.small_items import ask, judged

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp"


def test_escapes_are_shown_and_not_sent():
    assert escape_control(EVIL) == r"\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp"
    assert escape_control("so\tand\nso, 日本語 é") == "so\tand\nso, 日本語 é"


@given(st.text())
def test_nothing_that_is_not_printed_is_left(text):
    assert all(c.isprintable() or c in "\n\t" for c in escape_control(text))


def test_the_commands_print_names_so(store, capsys):
    item = Item("q", "?", {"x": "a", "y": "b"}, category=EVIL)
    made = [judged(ask(s, "q", s, judge=f"j{EVIL}")) for s in ("xy", "yx")]
    study = Study(f"s{EVIL}")
    store.save_study(study, [item], (), recorded=made, plan_sha="1", only_recorded=True)
    assert main(["list", "--store", str(store.path)]) == 0
    assert metrics_main([str(store.path), "--quick", "--by", "judge,category"]) == 0
    printed = capsys.readouterr().out
    assert r"s\x1b]0;owned" in printed and r"j\x1b]0;owned" in printed
    assert not any(sign in printed for sign in "\x1b\x07\x9b\u202e")
