"""The report: one file without network access, numbers as in `python -m metrics`, all escaped."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from components.__main__ import main
from components.filtering.filtered_study import FilteredStudy
from components.html.markup import escape
from components.results.bias import tab as bias_tab
from components.results.overview import tab as summary_tab
from components.share import report, report_sections
from judges.rendering.prompt import load_prompt
from metrics.__main__ import main as metrics_main
from studies.domain import Ask, Item, Judgement, Verdict
from studies.spec.study import Study
from studies.store.queries import cost_queries
from studies.store.store import Store
from tests.judges.small_studies import run_text
from tests.page_words import says
from tests.voted_studies import Sheet

NAME = "two judges"


@pytest.fixture(scope="module")
def written(judged: Store, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The file that the command writes, and what it prints."""
    path, printed = tmp_path_factory.mktemp("report") / "report.html", io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["report", NAME, str(path), "--store", str(judged.path)]) == 0
    return path, printed.getvalue()


@pytest.fixture(scope="module")
def html(written: tuple[Path, str]) -> str:
    return written[0].read_text(encoding="utf-8")


def sections(store: Store, study: str) -> str:
    """The report without its scripts and without the numbers as JSON."""
    return report.report_sections(FilteredStudy(store, study), report.ReportFigures())


def block(html: str, name: str) -> object:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', html, re.S)
    assert found, name
    return json.loads(found.group(1))


def test_its_numbers_equal_those_of_the_command(
    judged: Store, html: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert metrics_main([str(judged.path), "--study", NAME, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert block(html, "metrics") == printed


def test_it_names_no_other_host_and_forbids_loading_one(html: str) -> None:
    assert "default-src 'none'" in html
    page = html[html.index('<body class="') :]
    own = page[: page.index('<script type="application/json" id="figure-1">')]
    assert not re.findall(r'(?:src|href)="https?://', own)


def test_it_stays_below_seven_megabytes(html: str) -> None:
    assert len(html.encode()) < 7_000_000


def test_it_holds_study_file_prompts_and_versions(html: str) -> None:
    assert "first_bias: 1" in html
    assert "brief-letters, version" in html
    assert "python 3." in html


def test_no_text_of_a_reply_or_a_name_becomes_markup(store: Store) -> None:
    attack = "</script><img src=x onerror=alert(1)>"
    item = Item("q", "why?", {attack: "a", "y": "b"}, category=attack)
    ask = Ask("k", "q", attack, "brief", (attack, "y"), ("A", "B"), orders=2)
    rows = [
        Judgement(ask, "ok", Verdict(0), reply=attack),
        Judgement(replace(ask, key="k2", shown=("y", attack)), "unreadable", detail=attack),
    ]
    study = Study(attack, prompts=("brief",))
    store.save_study(study, [item], (), (), recorded=rows, only_recorded=True)
    html = report.report_html(store, attack)
    assert "<img src=x" not in html
    assert "&lt;img src=x" in html


def test_failures_are_counted_with_an_example(store: Store) -> None:
    ask = Ask("k", "q", "j", "p", ("x", "y"), ("A", "B"))
    rows = [
        Judgement(replace(ask, key=str(i)), "refusal", detail="I may not judge") for i in range(3)
    ]
    item = Item("q", "why?", {"x": "a", "y": "b"})
    store.save_study(Study("s"), [item], (), (), recorded=rows, only_recorded=True)
    assert cost_queries.failure_counts(store, "s") == [
        cost_queries.FailureCount("refusal", "j", 3, "I may not judge")
    ]


def test_an_empty_study_makes_a_report_that_says_so(store: Store) -> None:
    store.save_study(Study("none"), [Item("q", "why?", {"x": "a", "y": "b"})], (), ())
    html = report.report_html(store, "none")
    assert says(html, "no verdicts yet") and says(html, "no replies")
    assert not says(html, "Every reply has") and not says(html, "No reply says")


def test_the_command_writes_the_file_and_says_its_size(written: tuple[Path, str]) -> None:
    path, printed = written
    assert re.search(r"report\.html: \d\.\d MB", printed)
    assert path.stat().st_size > 4_000_000


def test_a_study_that_is_not_there_is_an_error_in_words(
    judged: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "nobody", str(tmp_path / "x"), "--store", str(judged.path)]) == 2
    assert "nobody" in capsys.readouterr().err


def test_it_says_who_agrees_with_whom_and_has_a_card_for_each_judge(html: str) -> None:
    assert says(html, "agrees", "whom")
    assert "agrees with people" not in html  # nobody voted
    cards = re.findall(r'<section class="eh-panel eh-sheet">(.*?)</section>', html, re.S)
    assert sorted(re.search(r"<h1>(.*?)<", card)[1].strip() for card in cards) == [
        "always first", "fair",
    ]  # fmt: skip


def test_a_vote_of_today_does_not_date_replies_whose_time_nobody_wrote_down(store: Store) -> None:
    sheet = Sheet("dated")
    for n in range(6):
        sheet.both(f"q{n}", "judge", "xy").votes(f"q{n}", ann="x")
    sheet.save(store)
    with closing(sqlite3.connect(store.path)) as behind, behind:
        mine = "key IN (SELECT key FROM plan WHERE judge='human:ann')"
        behind.execute(f"UPDATE judgements SET time=1700000000.0 WHERE {mine}")
        behind.execute(f"UPDATE judgements SET time=0 WHERE NOT {mine}")
    assert report_sections.reply_dates(store, "dated") == ("", "")
    assert says(sections(store, "dated"), "dates", "replies", "not recorded")


def test_what_most_people_say_is_not_called_right(store: Store) -> None:
    better = {f"q{n}": "x" for n in range(6)}
    for name, who in (("by people", "ann"), ("by design", "by-design")):
        sheet = Sheet(name)
        for item in better:
            sheet.both(item, "judge", "xx")
        sheet.save(store, design=better, known_by=who)
    people, known = (sections(store, name) for name in ("by people", "by design"))
    assert says(people, "Agreement", "majority", "people") and "<dt>Accuracy<" not in people
    assert says(known, "Accuracy", "known")


def test_its_headline_on_several_options_is_that_of_the_page(store: Store) -> None:
    """Both state the result of the test for a position preference."""
    run_text(store, "name: options\ndata: {source: probe, count: 8}\noptions: rotations\n"
             "contestants: [precise, padded, flawed, offtopic]\nprompts: [brief-options]\n"
             "judges: [{name: ada, model: simulated, seed: 1, first_bias: 0.5}]\n")  # fmt: skip
    whole = FilteredStudy(store, "options")
    title, _, tested = bias_tab.headline(whole)[0].partition(" (p")
    assert tested
    assert escape(title) in report_sections._title_section(whole, report_sections.ReportFigures())


def test_its_headline_on_single_answers_is_that_of_summary(store: Store) -> None:
    """Position's headline is the effect of the order of pass and fail; that of Summary is not."""
    judge = "{name: keen, model: simulated, seed: 1, first_bias: 0.5}"
    text = "data: {source: probe, count: 6}\ncontestants: [precise]\noptions: rotations\n"
    run_text(store, f"name: passing\n{text}judges: [{judge}]\nprompts: [pass-fail]\n")
    whole = FilteredStudy(store, "passing")
    title, other = (one.headline(whole)[0] for one in (summary_tab, bias_tab))
    top = report_sections._title_section(whole, report_sections.ReportFigures())
    assert escape(title[:18]) in top and escape(other[-18:]) not in top


def test_times_in_milliseconds_are_no_dates(store: Store) -> None:
    name = Sheet("old").both("q0", "ada", "xx").save(store)
    with closing(sqlite3.connect(store.path)) as file, file:
        file.execute("UPDATE judgements SET time = 1.7e12")
    assert report_sections.reply_dates(store, name) == ("", "")


def test_a_prompt_that_the_study_file_names_by_its_path_is_in_the_report(
    store: Store, tmp_path: Path
) -> None:
    own = load_prompt("brief-reference").yaml.replace("brief-reference", "my-own")
    (tmp_path / "my-own-v1.yaml").write_text(own, encoding="utf-8")
    judge = "{name: ada, model: simulated, seed: 1}"
    run_text(
        store,
        "name: paths\ndata: {source: probe, count: 2}\ncontestants: [precise, flawed]\n"
        f"judges: [{judge}]\nprompts: [my-own-v1.yaml]\n",
        tmp_path,
    )
    html = sections(store, "paths")
    assert "my-own, version 1, sha" in html and "was not recorded" not in html
    assert store.prompts_with_reference("paths") == {"my-own"}
