"""Study: the first screen with its finding, then the form from which a study is made and run."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from components import bias_view, demo, run_tab
from components.bias_view import first_visit_rows
from components.format import count, share
from components.header import Header
from components.panels import data_line, empty, finding, first_visit_table, heading, notice
from components.plot import ClickableHTML
from components.study_form import (
    JUDGES,
    SOURCES,
    Form,
    planned,
    prompt_choices,
    show_coverage,
    show_item,
    show_plan,
    show_prompt,
    source_facts,
    step_head,
    study_yaml,
)
from judges.check import check
from judges.models.embedded import EmbeddedUnavailable
from judges.models.weights import WeightsMissing
from judges.plan import save_plan
from judges.engine import Engine
from studies.errors import EvenhandError, StudyError
from studies.store import Store
from studies.study import parse

START = Form()


@dataclass(frozen=True)
class StudyTab:
    finding: gr.HTML
    again: gr.Button
    table: gr.HTML
    data: gr.HTML
    plan: gr.HTML
    run: gr.Button
    fields: tuple[Any, ...]
    """The form's components, in the order of Form's fields."""
    upload: gr.File
    coverage: gr.HTML
    item: gr.HTML
    key: gr.Textbox
    test: gr.Button
    tested: gr.HTML
    prompt: gr.HTML
    yaml: gr.Code
    open_file: gr.UploadButton
    save_file: gr.DownloadButton
    said: gr.HTML


def build() -> StudyTab:
    with gr.Row(elem_classes="eh-title-row"):
        told = ClickableHTML(elem_id="eh-first-finding")
        again = gr.Button(
            "Ask 20 items again: 40 asks, free", variant="primary", elem_classes="eh-fit eh-big",
            elem_id="eh-again",
        )  # fmt: skip
    table = ClickableHTML(elem_id="eh-first-visit")
    data = ClickableHTML()
    with gr.Row(elem_classes="eh-title-row"):
        ClickableHTML(finding("Set up a study", "Nothing is asked until you press Run."))
        run = gr.Button("Run", variant="primary", elem_classes="eh-fit eh-big", elem_id="eh-run")
    plan = ClickableHTML(elem_id="eh-plan")
    said = ClickableHTML(elem_id="eh-study-said")
    fields: dict[str, Any] = {}
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel"):
            upload, coverage, item = _build_data(fields)
        with gr.Column(elem_classes="eh-panel"):
            key, test, tested = _build_judges(fields)
        with gr.Column(elem_classes="eh-panel"):
            _build_protocol(fields)
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel"):
            ClickableHTML(heading("The first ask, as sent", "rendered on a real item of the slice"))
            prompt = ClickableHTML(elem_id="eh-prompt")
        with gr.Column(elem_classes="eh-panel"):
            ClickableHTML(heading("study.yaml", "the form writes it, Run reads it; edit either"))
            yaml = gr.Code(
                study_yaml(START), language="yaml", show_label=False, interactive=True,
                elem_id="eh-yaml", lines=12, max_lines=24, show_line_numbers=False,
            )  # fmt: skip
            with gr.Row():
                open_file = gr.UploadButton(
                    "Open a study file", file_types=[".yaml", ".yml"], elem_classes="eh-fit"
                )
                save_file = gr.DownloadButton("Save study.yaml", elem_classes="eh-fit")
    ordered = tuple(fields[name] for name in Form.__dataclass_fields__)
    return StudyTab(
        told, again, table, data, plan, run, ordered, upload, coverage, item, key, test, tested,
        prompt, yaml, open_file, save_file, said,
    )  # fmt: skip


def _build_data(fields: dict[str, Any]) -> tuple[gr.File, gr.HTML, gr.HTML]:
    ClickableHTML(step_head(1, "Data"))
    fields["name"] = gr.Textbox(START.name, label="Name of the study", interactive=True)
    fields["source"] = gr.Radio(list(SOURCES), value=START.source, label="Source", interactive=True)
    fields["file"] = gr.Textbox("", visible="hidden", label="file")
    upload = gr.File(
        label="Items, one JSON object a line", file_types=[".jsonl", ".ndjson"], visible=False,
        interactive=True, height=110,
    )  # fmt: skip
    fields["categories"] = gr.Dropdown(
        [],
        value=[],
        multiselect=True,
        label="Categories",
        info="none chosen: all",
        interactive=True,
    )
    fields["contestants"] = gr.Dropdown(
        list(START.contestants),
        value=list(START.contestants),
        multiselect=True,
        label="Contestants",
        info="none chosen: all",
        interactive=True,
    )
    with gr.Row():
        fields["items"] = gr.Number(
            START.items, label="Items", minimum=0, precision=0, interactive=True, info="0: all"
        )
        fields["seed"] = gr.Number(
            START.seed, label="Seed", minimum=0, precision=0, interactive=True
        )
    return upload, ClickableHTML(), ClickableHTML()


def _build_judges(fields: dict[str, Any]) -> tuple[gr.Textbox, gr.Button, gr.HTML]:
    ClickableHTML(step_head(2, "Judges and prompts"))
    fields["judges"] = gr.CheckboxGroup(
        list(JUDGES), value=list(START.judges), label="Judges", interactive=True
    )
    with gr.Column(visible=False) as simulated:
        fields["first_bias"] = gr.Slider(
            0, 1, START.first_bias, step=0.05, label="Simulated: picks the first whatever it says",
            interactive=True,
        )  # fmt: skip
        fields["accuracy"] = gr.Slider(
            0, 1, START.accuracy, step=0.05, label="Simulated: else right with probability",
            interactive=True,
        )  # fmt: skip
    with gr.Column(visible=False) as endpoint:
        fields["base_url"] = gr.Textbox(
            "", label="Endpoint", placeholder="http://127.0.0.1:8000/v1", interactive=True
        )
        fields["model"] = gr.Textbox("", label="Model", interactive=True)
        key = gr.Textbox(
            "", label="Key", type="password", interactive=True,
            info="kept in memory for this run, never written",
        )  # fmt: skip
        with gr.Row():
            for name, label in (("price_in", "$ per M in"), ("price_out", "$ per M out")):
                fields[name] = gr.Number(0, label=label, minimum=0, interactive=True)
        fields["budget"] = gr.Number(
            0, label="Budget, $", minimum=0, interactive=True, info="0: none"
        )
    fields["judges"].change(
        lambda chosen: [gr.Column(visible=name in chosen) for name in JUDGES[1:]],
        fields["judges"], [simulated, endpoint], show_progress="hidden", api_visibility="private",
    )  # fmt: skip
    test = gr.Button("Test the judges: one ask each", elem_classes="eh-fit", elem_id="eh-test")
    tested = ClickableHTML(elem_id="eh-tested")
    fields["prompts"] = gr.Dropdown(
        prompt_choices(), value=list(START.prompts), multiselect=True, label="Prompts",
        info="the protocol comes with the prompt", interactive=True,
    )  # fmt: skip
    return key, test, tested


def _build_protocol(fields: dict[str, Any]) -> None:
    ClickableHTML(step_head(3, "Protocol"))
    fields["orders"] = gr.Radio(
        ["both", "one"], value=START.orders, label="Orders of a pair", interactive=True,
        info="one order cannot show position bias; several options are rotated",
    )  # fmt: skip
    fields["labels"] = gr.Radio(
        ["plain", "crossed"], value=START.labels, label="Labels", interactive=True,
        info="crossed calls the first answer B half of the time: tells place from name",
    )  # fmt: skip
    fields["repeats"] = gr.Number(
        START.repeats, label="Repeats", minimum=1, maximum=100, precision=0, interactive=True
    )
    fields["noise_floor"] = gr.Slider(
        0, 1, START.noise_floor, step=0.05, label="Noise floor", interactive=True,
        info="share of asks repeated in the same order: what flips without any swap",
    )  # fmt: skip


def bind(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store, engine: Engine) -> None:
    quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    folder = store.path.parent
    _bind_form(tab, store, quiet)

    def replan(text: str) -> list[Any]:
        return show_plan_of(text, store)

    plan_outputs = [tab.plan, tab.run, tab.coverage, tab.item, tab.prompt, tab.said, tab.save_file]
    tab.yaml.change(replan, tab.yaml, plan_outputs, trigger_mode="always_last", **quiet)
    tab.open_file.upload(
        lambda path: Path(path).read_text("utf-8"), tab.open_file, tab.yaml, **quiet
    )

    def test(text: str, key: str) -> str:
        return test_judges(text, folder, key)

    tab.test.click(test, [tab.yaml, tab.key], tab.tested, show_progress="minimal",
                   api_visibility="private")  # fmt: skip

    def run(text: str, key: str) -> list[Any]:
        name = start_study(store, engine, text, key)
        return [gr.Dropdown(choices=study_names(store), value=name), gr.Tabs(selected="run"), ""]

    def again() -> list[Any]:
        plan = demo.live_plan(store)
        save_plan(plan, store)
        run_tab.begin(store, engine, plan.study.name)
        names = study_names(store)
        return [gr.Dropdown(choices=names, value=plan.study.name), gr.Tabs(selected="run")]

    remember = "() => evenhand.remember({tab: 'run'})"
    tab.run.click(run, [tab.yaml, tab.key], [header.study, tabs, tab.key], **quiet).success(
        None, None, None, js=remember
    )
    tab.again.click(again, None, [header.study, tabs], **quiet).success(
        None, None, None, js=remember
    )


def _bind_form(tab: StudyTab, store: Store, quiet: dict[str, Any]) -> None:
    """Whatever changes in the form is written to the study file."""
    names = list(Form.__dataclass_fields__)
    fields = dict(zip(names, tab.fields, strict=True))

    def write(*values: Any) -> Any:
        return form_yaml(dict(zip(names, values, strict=True)))

    for field in tab.fields:
        field.change(write, list(tab.fields), tab.yaml, trigger_mode="always_last", **quiet)

    def choose(source: str, file: str) -> list[Any]:
        return [
            gr.File(visible=source == SOURCES[1]),
            *show_choices(source, file, store.path.parent),
        ]

    choices = [tab.upload, fields["categories"], fields["contestants"]]
    fields["source"].change(choose, [fields["source"], fields["file"]], choices, **quiet)

    def keep(path: str | None, source: str) -> list[Any]:
        file = keep_upload(Path(path), store) if path else ""
        return [file, *show_choices(source, file, store.path.parent)]

    tab.upload.change(
        keep, [tab.upload, fields["source"]],
        [fields["file"], fields["categories"], fields["contestants"]], **quiet,
    )  # fmt: skip


def form_yaml(values: dict[str, Any]) -> Any:
    """The study file of what is in the form; a field that cannot be read says so."""
    for name in ("categories", "contestants", "judges", "prompts"):
        values[name] = tuple(values[name] or ())
    for name, default in Form().__class__.__dataclass_fields__.items():
        if values.get(name) is None:
            values[name] = default.default
    try:
        return study_yaml(Form(**values))
    except EvenhandError as error:
        gr.Warning(str(error))
        return gr.skip()


def keep_upload(path: Path, store: Store) -> str:
    """An uploaded file is kept beside the store, by its content: temporary files go."""
    content = path.read_bytes()
    folder = store.path.parent / "uploads"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{hashlib.sha256(content).hexdigest()[:8]}-{path.name}"
    shutil.copyfile(path, kept)
    return f"uploads/{kept.name}"


def show_choices(source: str, file: str, folder: Path, chosen: tuple[str, ...] = ()) -> list[Any]:
    """The categories and contestants a source offers; a new source begins with all of them."""
    try:
        categories, contestants, _ = source_facts(source, file, folder)
    except EvenhandError as error:
        raise gr.Error(str(error), title="This file cannot be used", duration=None) from None
    return [
        gr.Dropdown(choices=categories, value=[]),
        gr.Dropdown(choices=contestants, value=list(chosen)),
    ]


def show_plan_of(text: str, store: Store) -> list[Any]:
    """The plan box is always true: it is computed from the very file that Run reads."""
    try:
        plan = planned(text, store.path.parent)
        strip, words = show_plan(plan, store)
        saved = _download(text)
        return [
            strip, gr.Button(words, interactive=True), show_coverage(plan), show_item(plan),
            show_prompt(plan), "", saved,
        ]  # fmt: skip
    except (EvenhandError, WeightsMissing) as error:
        told = notice("bad", "This study cannot be run yet.", str(error))
        return [gr.skip(), gr.Button("Run", interactive=False), *[gr.skip()] * 3, told, gr.skip()]


def _download(text: str) -> str:
    """A file for the download button, in Gradio's own folder of temporary files."""
    folder = Path(tempfile.gettempdir()) / "gradio" / hashlib.sha256(text.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def start_study(store: Store, engine: Engine, text: str, key: str) -> str:
    """Saves the study and begins its run; a run of it that is on is joined."""
    try:
        study = parse(text, "study.yaml", store.path.parent)
        if study.name in {demo.PAIRS, demo.OPTIONS}:
            raise StudyError("name: this is the recorded demo's name; choose another")
        plan = planned(text, store.path.parent)
        save_plan(plan, store)
    except (EvenhandError, WeightsMissing) as error:
        raise gr.Error(str(error), title="This study cannot be run", duration=None) from None
    keys = {judge.name: key for judge in study.judges if judge.kind == "endpoint"} if key else {}
    run_tab.begin(store, engine, study.name, keys)
    return study.name


def test_judges(text: str, folder: Path, key: str) -> str:
    """One ask each: raw reply, reading, latency."""
    try:
        plan = planned(text, folder)
        keys = {judge.name: key for judge in plan.study.judges} if key else {}
        results = [check(plan, judge, keys) for judge in plan.study.judges]
    except (EvenhandError, EmbeddedUnavailable, WeightsMissing) as error:
        return notice("bad", "Cannot test.", str(error))
    parts = []
    for result in results:
        kind = "calm" if result.read.status == "ok" else "bad"
        reply = result.reply[-160:] or result.read.detail
        told = f"{result.read.status} in {result.seconds:.1f} s: “{reply}”"
        parts.append(notice(kind, f"{result.judge}.", told))
    return "".join(parts)


def opening_outputs(tab: StudyTab) -> list[Any]:
    """What a freshly opened page fills: `show_first`, then `show_start`."""
    form = dict(zip(Form.__dataclass_fields__, tab.fields, strict=True))
    return [
        tab.finding, tab.table, tab.data, tab.plan, tab.run, tab.coverage, tab.item, tab.prompt,
        tab.said, tab.save_file, form["categories"], form["contestants"],
    ]  # fmt: skip


def show_start(store: Store) -> list[Any]:
    """The plan of the form as it starts, and the choices of its data."""
    folder = store.path.parent
    choices = show_choices(SOURCES[0], "", folder, START.contestants)
    return [*show_plan_of(study_yaml(START), store), *choices]


def study_names(store: Store) -> list[str]:
    return [line.name for line in store.studies()]


def show_first(store: Store) -> list[Any]:
    """The finding of the recorded demo, a line a prompt."""
    if demo.PAIRS not in study_names(store):
        told = "make demo records it; judges can be run without it."
        return [
            finding("No recorded demo in this store.", told),
            "",
            empty("Nothing recorded.", told),
        ]
    frame = store.frame(demo.PAIRS)
    rows = first_visit_rows(frame)
    pairs = bias_view.leans(frame)
    flips, asked = sum(row.flips for row in pairs), sum(row.pairs for row in pairs)
    items = frame["item"].nunique()
    rate = share(flips / max(1, asked), 0)
    title = f"Swap two answers, and this judge changes its mind on {rate} of pairs."
    lead = (
        f"A small judge on this machine, asked in both orders about {asked // max(1, len(rows))} "
        f"pairs of answers to {items} questions, with {count(len(rows), 'prompt')}. Recorded."
    )
    told = (
        "Real replies of SmolLM2-135M-Instruct to the built-in probe set, recorded. It is far too "
        "small to rank models: it is here to show what position bias looks like."
    )
    return [finding(title, lead), first_visit_table(rows), data_line(told)]
