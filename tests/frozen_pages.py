"""A frozen snapshot of all that the page, the report, the tables and the JSON say about a set of
studies, to compare before and after a change that must not alter them.

    python -m tests.frozen_pages build FOLDER           make the studies once
    python -m tests.frozen_pages write FOLDER FILE      draw everything with this checkout's code
    python -m tests.frozen_pages compare FILE FILE      list what differs
    python -m tests.frozen_pages changed                list the panels that are not as accepted
    python -m tests.frozen_pages accept                 keep what the page says now as right

HTML is compared as parsed tags, attributes and text, so that white space between tags is free.
The tests compare a fingerprint of every panel of eleven studies with those in frozen_pages.txt
(test_frozen_pages.py); `make test` draws what `is_quick` keeps. After a change that is meant, look
at the differences between both checkouts by `write` and `compare`, then `accept` them.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from gradio.blocks import Block

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.home import demo_panel, paper_claims, study_list
from components.inspect import tab as inspect_tab
from components.inspect.url_selection import Selection
from components.page.page_tab import create_page
from components.results.contrasts import comparison
from components.results.view_drawing import VIEWS, offered_views, render_view_uncached
from components.run import actions_tab as run_actions
from components.run.live_figures import LiveStudies
from components.share.drawer_html import export_buttons_html, methods_html
from components.share.paper_text import latex_table, paper_tables
from components.share.report import report_metrics, report_sections
from components.share.report_sections import ReportFigures
from components.study import form_html
from components.study.file.lenient_study import FormState
from components.study.plan.cost_preview import forecast_by_judge
from components.study.plan.demo_studies import import_demo_studies
from components.study.plan.study_preview import StudyPreview, build_preview
from components.study.steps import power_panel, run_strip
from components.study.steps.planned_study import planned_study
from judges.engine.engine import Engine
from studies.exchange.recorded_studies import import_verdicts
from studies.store.store import Store
from tests import awkward_study
from tests.demo_store import copy_demo
from tests.example_studies import EXAMPLES_FOLDER, load_examples
from tests.judges.small_studies import run_text

ACCEPTED = Path(__file__).with_suffix(".txt")
"""Fingerprints of the panels, as last accepted: one line each."""
PAPER = "Creation-MMBench on the probe set"
"""A study with the view Paper."""
FROZEN = (
    "Probe set, four options",
    "Probe set, Qwen 1.5B judge",
    "Probe set, single answers",
    "Probe set, twins",
    "both",
    "rubrics",
    PAPER,
    "VisIT-Bench on the probe set",
    awkward_study.NAME,
    awkward_study.SINGLE,
    awkward_study.OPTIONS,
)
"""Studies whose pages `make test` compares with the accepted ones."""
OTHER_TABS = "other tabs"
CHANGED = ("both", PAPER, awkward_study.NAME)
"""Of these, the studies that are also drawn with other settings."""
REPORTED = ("both", PAPER, "rubrics", awkward_study.OPTIONS)
"""Studies whose report and JSON `make test` draws, one of each kind: comparisons beside verdicts on
single answers, comparisons with the view Paper, scores, more than two options. `make test-all`
draws all."""
RECORDS = Path(__file__).resolve().parents[2] / "shared" / "data"
JUDGES = (
    "{name: keen, model: simulated, seed: 3, score_noise: 0.3, first_bias: 0.5, sensitivity: 0.9, "
    "specificity: 0.8}, {name: dull, model: simulated, seed: 4, score_noise: 1.5, "
    "sensitivity: 0.6, specificity: 0.6}"
)
SMALL = {
    "passes": "data: {source: items.jsonl}\nprompts: [pass-fail]\n",
    "both": "data: {source: items.jsonl}\nprompts: [pass-fail, score-scale, brief-letters]\n",
    "rubrics": "data: {source: scored.jsonl}\nprompts: [rubric]\ncriteria_order: rotations\n",
    "scores": "data: {source: scored.jsonl}\nprompts: [score-scale]\nrepeats: 3\n",
}
SIMULATED = (
    "grade-score-probe",
    "creation-mmbench-probe",
    "visit-bench-probe",
    "mt-bench-probe",
    "arena-hard-probe",
    "label-probability-probe",
)


class Parsed(HTMLParser):
    """HTML as a list of tags with sorted attributes, and texts with single spaces."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[list[str]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        pairs = sorted((name, " ".join((value or "").split())) for name, value in attributes)
        self.parts.append([tag, *(f"{name}={value}" for name, value in pairs)])

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(["/" + tag])

    def handle_data(self, data: str) -> None:
        text = re.sub(r"\s+", " ", data).strip()
        if text and self.parts and self.parts[-1][0] == "text":
            self.parts[-1][1] += text
        elif text:
            self.parts.append(["text", text])


def plain(content: Any) -> Any:
    """Content as JSON: HTML parsed, charts and other values as they are."""
    if isinstance(content, str) and "<" in content:
        parsed = Parsed()
        parsed.feed(str(content))
        return parsed.parts
    if isinstance(content, dict):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    if isinstance(content, Block):
        return [type(content).__name__, plain(getattr(content, "value", "")), content.visible]
    return str(content) if not isinstance(content, int | float | bool | None) else content


def build(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder / "frozen.db")
    import_demo_studies(store)
    run_small_studies(store, folder, SMALL)
    for name in SIMULATED:
        run_text(store, (EXAMPLES_FOLDER / f"{name}.yaml").read_text(), EXAMPLES_FOLDER)
    if (RECORDS / "prd").is_dir():
        import_verdicts(store, RECORDS / "prd", "PRD")
    store.close()


def run_small_studies(store: Store, folder: Path, names: Iterable[str]) -> None:
    """Run some of the studies in SMALL with two simulated judges; their items go to the folder."""
    lines = []
    for k in range(30):
        good = {"okapi": k % 3 > 0, "tapir": k % 3 == 0}
        labels = [
            {"contestant": who, "value": "pass" if one else "fail"}
            for who, one in good.items()
            if k < 20
        ]
        lines.append(
            {
                "id": f"q{k}",
                "instruction": f"question {k}",
                "responses": {"okapi": f"answer {k}", "tapir": f"other {k}"},
                "labels": labels,
                "category": "even" if k % 2 else "odd",
                "human": [
                    {
                        "judge": "by-design",
                        "shown": ["okapi", "tapir"],
                        "picked": "okapi" if good["okapi"] else "tapir",
                    }
                ],
            }
        )
    text = "\n".join(json.dumps(line) for line in lines)
    (folder / "items.jsonl").write_text(text, encoding="utf-8")
    scored = [
        {
            "id": f"q{k}",
            "instruction": f"question {k}",
            "responses": {"m": f"answer {k}", "n": f"other {k}"},
            "labels": [
                {"contestant": who, "value": 1 + (k + shift) % 3} for shift, who in enumerate("mn")
            ],
        }
        for k in range(12)
    ]
    text = "\n".join(json.dumps(line) for line in scored)
    (folder / "scored.jsonl").write_text(text, encoding="utf-8")
    head = f"judges: [{JUDGES}]\noptions: rotations\n"
    for name in names:
        run_text(store, f"name: {name}\n{head}{SMALL[name]}", folder)


def filters(whole: FilteredStudy) -> Iterator[Filter]:
    """No filter, the first judge, and the last category."""
    yield Filter()
    frame = whole.frame
    judges = sorted({str(name) for name in frame["judge"] if not str(name).startswith("human:")})
    categories = sorted({str(name) for name in frame["category"] if str(name)})
    if len(judges) > 1:
        yield Filter(judge=judges[0])
    if len(categories) > 1:
        yield Filter(category=categories[-1])


Drawing = tuple[str, Callable[[], Any]]


def draw(store: Store) -> Iterator[Drawing]:
    """All drawings: of every study with every filter, and of the forms of our example files."""
    for name in sorted(one.name for one in store.studies()):
        whole = FilteredStudy(store, name)
        for number, chosen in enumerate(filters(whole)):
            yield from draw_views(FilteredStudy(store, name, chosen), f"{name}/{number}/")
        yield from draw_documents(whole)
    yield from draw_other_tabs(store)


def draw_other_tabs(store: Store) -> Iterator[Drawing]:
    """Home, the form of our example files in its states, and the Run tab and the drawer Share of
    the studies in FROZEN."""
    yield "Home/demo", lambda: demo_panel.recorded_demo_html(store)
    yield "Home/examples", lambda: study_list.examples_html(store, paper_claims.claims_html(store))
    for example in load_examples():
        if not example.needs_records and not example.uses_embedded_judge:
            yield from draw_form(store, example.path)
    engine = Engine()
    yield "layout", lambda: draw_layout(store, engine)
    live = LiveStudies(store)
    for name in FROZEN:
        filtered = FilteredStudy(store, name)
        if name.startswith("Probe set"):  # charts of a run just made follow its replies' order
            yield f"Run/{name}", lambda n=name: run_actions.render(store, engine, live, n)[2:]
        yield f"Share/{name}", lambda f=filtered: [export_buttons_html(f), methods_html(f)]


def draw_layout(store: Store, engine: Engine) -> dict[str, Any]:
    """The components of the page with their settings, and its events, as Gradio sends them to the
    browser; by elem_id or label, because ids follow the order of building."""
    config = create_page(store, engine).get_config_file()
    names = {}
    found: dict[str, Any] = {}
    for one in config["components"]:
        props = one["props"]
        text = props.get("elem_id") or props.get("label") or str(props.get("value", ""))[:40]
        names[one["id"]] = f"{one['type']} {text}"
        if one["type"] != "state":  # its settings name objects by their address in memory
            found.setdefault(names[one["id"]], []).append(props)
    for event in config["dependencies"]:
        for part in ("id", "api_name", "trigger_after", "cancels"):
            event.pop(part)
        for part in ("inputs", "outputs"):
            event[part] = [names.get(one) for one in event[part]]
        event["targets"] = [(names.get(one), kind) for one, kind in event["targets"]]
        found.setdefault(f"events of {event['targets'][:1]}", []).append(event)
    return found


def draw_form(store: Store, path: Path) -> Iterator[Drawing]:
    """The form of a study file with each of its drawers, its price, and what it can tell."""
    preview = build_preview(path.read_text(encoding="utf-8"), path.parent)
    drawers = [FormState(), FormState(panel="judge", judge="0")]
    drawers += [
        FormState(panel="prompts", mode=mode) for mode in ("library", "side", "editor", "compare")
    ]
    for state in drawers:
        yield (
            f"Study/{path.stem}/{state.panel} {state.mode}",
            lambda s=state: [
                form_html.render_form(preview, s, {}),
                form_html.render_prompt_title(preview, s),
                form_html.render_prompt_body(preview, s),
            ],
        )
    if preview.plan is not None:
        yield f"Study/{path.stem}/steps", lambda: draw_steps(store, preview)


def draw_steps(store: Store, preview: StudyPreview) -> list[Any]:
    """Price, calls and expected precision of a planned study."""
    plan, study = preview.plan, preview.lenient_study
    assert plan is not None
    numbers = forecast_by_judge(plan, store)
    planned = planned_study(preview, plan, numbers, store, "")
    return [
        run_strip.cost_strip(preview, plan, numbers, ""),
        run_strip.data_summary(preview),
        power_panel.power_html(planned, study, FormState()),
        form_html.render_slice_profile(preview, FormState()),
    ]


def draw_views(filtered: FilteredStudy, where: str = "") -> Iterator[Drawing]:
    """The views and paper tables of a filtered study."""
    for view in offered_views(filtered):
        controls = VIEWS[view].initial_values(filtered)
        yield f"{where}{view}", lambda v=view, c=controls: render_view_uncached(filtered, v, c)
    yield (
        f"{where}paper",
        lambda: {key: latex_table(table) for key, table in paper_tables(filtered).items()},
    )


def draw_other_settings(whole: FilteredStudy) -> Iterator[Drawing]:
    """The views of a study with each of the other values of every control, one at a time, and
    beside the first other judge or prompt."""
    for view in offered_views(whole):
        start = VIEWS[view].initial_values(whole)
        for name, control in VIEWS[view].controls.items():
            state = control.initial_state(whole, None)
            for choice in (state and state.choices) or control.choices:
                value = choice[1] if isinstance(choice, tuple) else choice
                if value != start[name]:
                    chosen = {**start, name: value}
                    yield (
                        f"{view}/{name} {value}",
                        lambda v=view, c=chosen: render_view_uncached(whole, v, c),
                    )
        _, (_, side), *_ = comparison.compare_menu_state(whole, None).choices or ()
        beside = {**start, comparison.CONTROL: side}
        yield (f"{view}/beside {side}", lambda v=view, c=beside: render_view_uncached(whole, v, c))


def draw_documents(whole: FilteredStudy) -> Iterator[Drawing]:
    """The JSON, the report and the list of judgements of a study."""
    name = whole.name
    yield f"json of {name}", lambda: report_metrics(whole)
    yield f"report of {name}", lambda: report_sections(whole, ReportFigures())
    yield f"Inspect of {name}", lambda: inspect_tab.render(whole.store, Selection(study=name))[1:]


# ------------------------------------------------------------------------- fingerprints


def is_quick(name: str, where: str) -> bool:
    """Whether `make test` draws it: all views; reports and JSON of some studies; other settings of
    the study with most kinds of verdicts, and of the view Paper."""
    if where.startswith(("report of ", "json of ")):
        return name in REPORTED
    view, _, setting = where.partition("/")
    if name == PAPER:
        return view == "Paper" or not setting
    return not setting or name != awkward_study.NAME


def fingerprints(store: Store, name: str, quick: bool = False) -> Iterator[tuple[str, str]]:
    """Name and fingerprint of every panel of a study, without a filter; of those in CHANGED also
    with other settings. With the name OTHER_TABS: of the other tabs. `quick`: of what `make test`
    draws."""
    if name == OTHER_TABS:
        drawings = list(draw_other_tabs(store))
    else:
        whole = FilteredStudy(store, name)
        drawings = [*draw_views(whole), *draw_documents(whole)]
        drawings += draw_other_settings(whole) if name in CHANGED else ()
    for where, make in drawings:
        if quick and not is_quick(name, where):
            continue
        made = make()
        for part, content in made.items() if isinstance(made, dict) else [("", made)]:
            is_text = isinstance(content, str)
            found = text_fingerprint(str(content)) if is_text else fingerprint(plain(content))
            yield f"{name}: {where}/{part}", found


@lru_cache(maxsize=1000)
def text_fingerprint(text: str) -> str:
    """Fingerprint of HTML or a text. Most panels are the same with other settings."""
    return fingerprint(plain(text))


def fingerprint(content: Any) -> str:
    """Hash of content that does not depend on times, digits behind the fifth, the rounding errors
    of a processor, nor the place of the installed packages."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, default=str)
    if "/site-packages" in text:
        text = re.sub(r"/[^' ]*/site-packages", "", text)
    text = re.sub(r"20\d\d-\d\d-\d\d( \d\d:\d\d UTC)?|\d+\.\d\s(?=m?s\b)", "", text)
    text = re.sub(r"-?\d+(\.\d{5,}(e-\d+)?|\.?\d*e-\d+)|(?<![\d.])-?0\.0\b", _shortened, text)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _shortened(number: re.Match[str]) -> str:
    value = float(number[0])
    return "0" if abs(value) < 1e-9 else f"{value:.5g}"


def prepare_frozen(folder: Path) -> Store:
    """A store with the studies in FROZEN."""
    store = Store(copy_demo(folder / "frozen.db"))
    run_small_studies(store, folder, [name for name in FROZEN if name in SMALL])
    for example in ("creation-mmbench-probe", "visit-bench-probe"):
        run_text(store, (EXAMPLES_FOLDER / f"{example}.yaml").read_text(), EXAMPLES_FOLDER)
    awkward_study.save_awkward_studies(store)
    return store


def read_accepted() -> dict[str, str]:
    lines = ACCEPTED.read_text(encoding="utf-8").splitlines()
    return {where: made for made, _, where in (line.partition(" ") for line in lines)}


def changed_panels(store: Store, study: str, quick: bool = False) -> list[str]:
    """Panels of a study, or of OTHER_TABS, that are not as accepted."""
    found = dict(fingerprints(store, study, quick))
    accepted = {}
    for where, made in read_accepted().items():
        name, _, panel = where.partition(": ")
        if name == study and not (quick and not is_quick(name, panel.rpartition("/")[0])):
            accepted[where] = made
    return sorted(
        where for where in {**found, **accepted} if found.get(where) != accepted.get(where)
    )


def changed() -> int:
    with tempfile.TemporaryDirectory() as place:
        store = prepare_frozen(Path(place))
        found = [one for name in (*FROZEN, OTHER_TABS) for one in changed_panels(store, name)]
        store.close()
    print("".join(f"{where}\n" for where in found), end="")
    return int(bool(found))


def accept() -> None:
    with tempfile.TemporaryDirectory() as place:
        store = prepare_frozen(Path(place))
        found = [one for name in (*FROZEN, OTHER_TABS) for one in fingerprints(store, name)]
        store.close()
    lines = "".join(f"{made} {where}\n" for where, made in found)
    ACCEPTED.write_text(lines, encoding="utf-8")


def write(folder: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "frozen.db"
        shutil.copy(folder / "frozen.db", copy)
        store = Store(copy)
        found = {}
        for name, make in draw(store):
            try:
                found[name] = plain(make())
            except Exception as error:
                found[name] = f"error: {type(error).__name__}: {error}"
        store.close()
    with gzip.open(target, "wt", encoding="utf-8") as file:
        json.dump(found, file, ensure_ascii=False, default=str)


def differences(one: Any, other: Any, path: str) -> Iterator[str]:
    if one == other:
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            yield from differences(one.get(key), other.get(key), f"{path}/{key}")
    elif isinstance(one, list) and isinstance(other, list):
        for place, (left, right) in enumerate(zip(one, other, strict=False)):
            if left != right:
                if isinstance(left, dict | list) and path.count("/") < 12:
                    yield from differences(left, right, f"{path}[{place}]")
                else:
                    yield f"{path}[{place}]: {str(left)[:300]} -> {str(right)[:300]}"
                if len(one) != len(other):
                    break  # the rest is shifted
        if len(one) != len(other):
            yield f"{path}: {len(one)} -> {len(other)} parts"
    else:
        yield f"{path}: {str(one)[:300]} -> {str(other)[:300]}"


def compare(one: Path, other: Path) -> int:
    with gzip.open(one, "rt", encoding="utf-8") as file:
        before = json.load(file)
    with gzip.open(other, "rt", encoding="utf-8") as file:
        after = json.load(file)
    count = 0
    for line in differences(before, after, ""):
        print(line)
        count += 1
    print(f"{len(before)} before, {len(after)} after, {count} differences")
    return int(bool(count))


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    commands = {one.__name__: one for one in (build, write, compare, changed, accept)}
    sys.exit(commands[command](*map(Path, paths)))  # type: ignore[operator]
