"""Audits as text and HTML: the page's sentences, and inert texts of a study."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import evenhand as eh
from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters
from components.results.cards.report_card import ReportCard
from components.study.plan.demo_studies import PAIRS_STUDY
from evenhand import judge_audit, page_views
from evenhand.auditing.audit_html import CHART_WIDTH, _page_style_variables
from evenhand.judge_audit import JudgeAudit
from evenhand.page_views import _save_in_temporary_store
from evenhand.recorded_demo import demo_study
from evenhand.recorded_demo import main as demo
from evenhand.study_table import as_study
from metrics.catalogue.records import RECORDS
from studies.errors import StudyError
from studies.store.store import Store
from tests.page_words import says

ROOT = Path(__file__).parents[2]
NAMES = {one.name for one in RECORDS.values()}
ATTACK = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
OPTIONAL = (
    "gradio", "openai", "datasets", "yaml", "pyarrow", "pydantic", "markupsafe", "aiohttp",
    "httpx2", "huggingface_hub", "plotly", "orjson", "starlette", "openpyxl",
)  # fmt: skip


class TagCollector(HTMLParser):
    """Names and attributes of all tags."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def hostile_study() -> eh.JudgedStudy:
    rows = [
        (f"q{n}{ATTACK}", *pair, pair[n % 2], ATTACK, f"p{ATTACK}")
        for n in range(8)
        for pair in (("x" + ATTACK, "y"), ("y", "x" + ATTACK))
    ]
    columns = ["item", "first", "second", "winner", "judge", "prompt"]
    return eh.study(pd.DataFrame(rows, columns=columns), name=ATTACK)


@pytest.mark.extra
def test_the_demo_prints_the_cards_of_the_page(
    recorded_demos: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    raters = Raters(FilteredStudy(recorded_demos, PAIRS_STUDY))
    audit = eh.audit(demo_study())
    cards = {card.prompt: card for card in audit.cards}
    assert len(cards) == len(raters.names) == 4
    for rater, (_, prompt) in raters.names.items():
        page = ReportCard(raters, rater)
        own = cards[prompt].measures
        assert own["First-position share"] == page.measures["first_share"]
        assert own["Accuracy"] == page.measures["accuracy"]
    assert demo([]) == 0
    printed = capsys.readouterr().out
    assert "qwen2.5-coder-1.5b" in printed and "embedded" not in printed
    assert printed.count("Accuracy") == printed.count(" · ") >= 4, "one for each card"
    assert "\u202f" not in printed and "\\u202f" not in printed


def test_names_with_html_are_text() -> None:
    audit = eh.audit(hostile_study())
    found = TagCollector()
    found.feed(audit._repr_html_())
    assert found.tags == {
        "div", "style", "h3", "h4", "section", "p", "table", "thead", "tbody", "tr", "th", "td",
        "b", "svg", "line", "circle", "span",
    }  # fmt: skip
    assert not {name for name in found.attributes if name.startswith("on") or name == "src"}
    assert ATTACK in str(audit)


def test_the_card_of_pass_and_fail_has_the_numbers_of_its_table(tmp_path: Path) -> None:
    """30 good answers, 27 passed; 20 bad ones, 4 passed, counted by hand."""
    lines = ["verdict,label", *["pass,pass"] * 27, *["fail,pass"] * 3, *["pass,fail"] * 4]
    (tmp_path / "checks.csv").write_text("\n".join([*lines, *["fail,fail"] * 16]) + "\n")
    for data in (tmp_path / "checks.csv", pd.read_csv(tmp_path / "checks.csv")):
        (card,) = (audit := eh.audit(data)).cards
        assert card.measures[RECORDS["pass_fail.sensitivity"].name].value == pytest.approx(27 / 30)
        assert card.measures[RECORDS["pass_fail.specificity"].name].value == pytest.approx(16 / 20)
        assert "90 % of good answers" in str(audit) and "None of the" not in str(audit)
        assert card.measures.keys() <= NAMES
        kappa = audit.table.query("measure == 'pass_fail.kappa'")["value"].item()
        assert card.measures["κ with labels"].value == pytest.approx(kappa)


def test_the_cards_of_scores_and_of_rubrics_have_their_means(tmp_path: Path) -> None:
    scores = pd.DataFrame({"verdict": [1, 2, 3, 4, 5], "label": [2, 2, 3, 4, 4]})
    (card,) = eh.audit(scores).cards
    assert card.measures["Mean score"].value == pytest.approx(3.0)
    assert card.measures.keys() <= NAMES | {"Mean score"}
    assert card.measures[RECORDS["scores.mae"].name].value == pytest.approx(2 / 5)
    log = tmp_path / "log.json"
    rows = [{"id": f"q{n}", "model": "m", "grade": n % 5, "judge": "j"} for n in range(20)]
    log.write_text(json.dumps(rows))
    mapping = {"id": "id", "model": "contestant", "grade": "score", "judge": "judge"}
    (card,) = eh.audit(eh.read(log, mapping=mapping)).cards
    assert card.measures["Mean score"].value == pytest.approx(2.0)
    assert says(" ".join(card.sentences), "mean score", "2.00")


def test_a_notebook_and_a_report_of_a_table_have_the_pages_colours_and_a_chart(
    tmp_path: Path,
) -> None:
    style = (ROOT / "assets" / "style.css").read_text()
    (first,) = {line.split(";")[0] for line in re.findall(r"(?<=--first: )[^;]+", style)[:1]}
    page = eh.report(hostile_study(), tmp_path / "audit.html").read_text()
    for html in (eh.audit(hostile_study())._repr_html_(), page):
        assert f"--first: {first};" in html
        charts = re.findall(r'<circle cx="([\d.]+)"', html)
        card = eh.audit(hostile_study()).cards[0]
        shares = [one.value for one in card.measures.values() if one.unit == "share"]
        assert [float(x) / CHART_WIDTH for x in charts] == pytest.approx(shares, abs=1e-3)


def test_the_version_is_that_of_the_wheel(capsys: pytest.CaptureFixture[str]) -> None:
    from evenhand.__main__ import main as command
    from release.build_wheel import VERSION

    assert command(["--version"]) == 0
    assert capsys.readouterr().out.split() == ["evenhand", eh.__version__]
    assert eh.__version__ == VERSION


def test_the_core_needs_no_optional_package() -> None:
    """Imports and the demo work where every optional package is missing; the commands of measuring,
    where they are installed, do not import pydantic."""
    code = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Absent())
import evenhand as eh
assert 'pandas' not in sys.modules, 'the import itself loads nothing'
from evenhand.recorded_demo import demo_study
audit = eh.audit(demo_study())
assert str(audit).count('Consistency') == 4
assert not set({OPTIONAL!r}) & set(sys.modules)
for name in eh.__all__:
    getattr(eh, name)
sys.meta_path.pop(0)
import metrics.__main__, studies.spec.study
assert 'pydantic' not in sys.modules
print('measured')
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "measured", done.stderr[-2000:]


def test_a_missing_package_names_its_extra(tmp_path: Path) -> None:
    from evenhand.extras import PackageMissing, report_missing_extra

    @report_missing_extra
    def needs(package: str) -> None:
        raise ModuleNotFoundError(name=package)

    with pytest.raises(PackageMissing, match=r"openai.*evenhand\[run\]"):
        needs("openai")
    with pytest.raises(ModuleNotFoundError):
        needs("some_own_module")


def test_reports_of_tables_and_of_stores(tmp_path: Path) -> None:
    target = eh.report(hostile_study(), tmp_path / "audit.html")
    found = TagCollector()
    found.feed(target.read_text())
    assert "script" not in found.tags and "img" not in found.tags
    assert "&lt;script&gt;" in target.read_text()


def copied_frame(study: eh.JudgedStudy) -> pd.DataFrame:
    """The frame of the store that the page of a study would show."""
    store = Store(_save_in_temporary_store(study))
    frame = store.frame(study.name)
    store.close()
    return frame


@pytest.mark.parametrize("texts", [False, True])
def test_the_page_of_a_table_has_its_truth_its_unusable_replies_and_its_texts(texts: bool) -> None:
    rows = [
        ("q1", "x", "y", "x", "x", "maths", "j"),
        ("q1", "y", "x", "", "x", "maths", "j"),
        ("q2", "x", "y", "tie", "tie", "", "j"),
        ("q3", "x", "y", "y", "", "prose", "k"),
    ]
    names = ["item", "first", "second", "winner", "truth", "category", "judge"]
    table = pd.DataFrame(rows, columns=names)
    if texts:
        table["question"] = "Why? " + table["item"]
        for answer, shown in (("first_answer", "first"), ("second_answer", "second")):
            table[answer] = table["item"] + " by " + table[shown]
    study = eh.study(table, name="small")
    copied = copied_frame(study)
    facts = ["item", "judge", "category", "shown", "orders", "repeat"]
    columns = [*facts, "status", "pick", "known_answer"]
    wanted, found = (
        frame[columns].astype(str).sort_values(["item", "shown"]).to_numpy().tolist()
        for frame in (study.frame, copied)
    )
    assert found == wanted
    assert copied["status"].astype(str).tolist().count("unreadable") == 1
    assert (copied.get("length_0", pd.Series([-1])) > 0).all() == texts


def test_the_page_of_a_log_has_its_scores(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("item,verdict,label\nq1,3,2\nq2,1,1\nq3,,1\n")
    study = eh.read(log)
    pd.testing.assert_frame_equal(copied_frame(study), study.frame)


def test_the_page_of_a_table_of_single_answers_has_its_scores_and_labels() -> None:
    table = {"item": ["q1", "q2"], "verdict": ["pass", "fail"], "label": ["pass", "pass"]}
    copied = copied_frame(eh.study(pd.DataFrame(table), name="points"))
    assert (copied["score_0"].tolist(), copied["gold"].tolist()) == ([1, 0], [1, 1])
    tenths = pd.DataFrame({"item": ["q1", "q2"], "verdict": [0.1, 70.3], "label": [0.2, 70.3]})
    study = eh.study(tenths, name="tenths")
    assert copied_frame(study)["score_0"].tolist() == study.frame["score_0"].tolist()


def test_the_table_names_the_judge_of_measures_of_single_answers() -> None:
    verdicts = [1, 2, 3, 4, 5] * 4
    table = pd.DataFrame(
        {"item": [f"q{k // 2}" for k in range(20)], "model": ["x", "y"] * 10, "verdict": verdicts,
         "label": verdicts[::-1], "judge": "j"}
    )  # fmt: skip
    found = eh.audit(table).table
    sections = found["measure"].str.partition(".")[0]
    rows = found[sections.isin(["score_distribution", "reliability", "point_ranking"])]
    assert len(rows) and set(rows["judge"]) == {"j"}
    assert sections[rows.index].nunique() == 3


@pytest.mark.extra
def test_the_page_is_shown_with_the_study() -> None:
    rows = [(f"q{n}", "x", "y", "x") for n in range(6)]
    table = pd.DataFrame(rows, columns=["item", "first", "second", "winner"])
    page = eh.show(eh.study(table, name="small"))
    try:
        with urllib.request.urlopen(page.address, timeout=60) as reply:
            assert reply.status == 200 and b"gradio" in reply.read()
        assert "study=small" in page.address and "<iframe" in page._repr_html_()
    finally:
        page.close()
    assert page.process.poll() is not None


def test_all_names_are_documented_and_typed() -> None:
    assert set(eh.__all__) == set(eh._MODULES)
    page = (ROOT / "docs" / "library.md").read_text()
    for name in eh.__all__:
        assert getattr(eh, name).__doc__
        if not name[0].isupper():
            assert f"eh.{name}(" in page, name


def test_an_audit_has_the_light_colours_of_the_page():
    found = _page_style_variables()
    for name in ("sans", "surface", "line", "ink", "ink-3", "first", "first-mid"):
        assert re.search(rf"--{name}: [^;]+;", found), name


@pytest.fixture(scope="module")
def demo_audit() -> JudgeAudit:
    return JudgeAudit(demo_study("second"))


def test_more_cards_than_are_shown_are_counted(
    demo_audit: JudgeAudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit, cards = demo_audit, len(demo_audit.cards)
    for most, more in ((cards, ""), (cards - 1, "1 more card;"), (cards - 2, "2 more cards;")):
        monkeypatch.setattr(judge_audit, "MAX_CARDS", most)
        assert ("more card" in str(audit)) == ("more card" in audit._repr_html_()) == bool(more)
        assert more in str(audit) and more in audit._repr_html_()
    vote = {"item": "q", "first": "x", "second": "y", "winner": "x", "judge": "human:1"}
    people = pd.DataFrame([vote])
    assert says(str(JudgeAudit(as_study(people))), "no verdict", "model judge")


def test_the_demo_command_prints_its_cards(
    demo_audit: JudgeAudit, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo([]) == 0
    assert capsys.readouterr().out == f"{demo_audit}\n"


def test_a_page_is_shown_inline_and_stopped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Process:
        def __init__(self) -> None:
            self.calls: list[object] = []

        def poll(self) -> int | None:
            return 0 if "terminate" in self.calls else None

        def terminate(self) -> None:
            self.calls.append("terminate")

        def wait(self, seconds: float) -> None:
            self.calls.append(seconds)

    process = Process()
    page = page_views.ShownPage('http://127.0.0.1:1/?study="a"', process, 321)
    assert repr(page) == '<page at http://127.0.0.1:1/?study="a">'
    html = page._repr_html_()
    assert 'src="http://127.0.0.1:1/?study=&quot;a&quot;"' in html and 'height="321"' in html
    page.close()
    page.close()
    assert process.calls == ["terminate", 30]
    with pytest.raises(page_views.PageNotStarted):
        page_views._wait_until_page_answers("http://127.0.0.1:1", process)
    monkeypatch.setattr(page_views, "START_SECONDS", -1)
    waiting = Process()
    with pytest.raises(page_views.PageNotStarted):
        page_views._wait_until_page_answers("http://127.0.0.1:1", waiting)
    assert waiting.calls == ["terminate"]
    assert 0 < page_views._free_port() < 65_536


def test_a_report_that_cannot_be_written_is_a_message(tmp_path: Path) -> None:
    with pytest.raises(StudyError):
        page_views.report(hostile_study(), tmp_path)
    assert eh.report(hostile_study(), tmp_path / "a.html").read_text().startswith("<!DOCTYPE")
