"""Small random studies, with missing verdicts, ties, labels, votes and orders at extreme rates, and
study files with random settings: all tabs, views, cards, reports and paper tables are drawn; no
text has a missing value or a wrong plural."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.home import study_list
from components.layout.header import study_size_html
from components.results.overview.run_outcome import run_outcome_html
from components.results.view_drawing import VIEWS, render_view_uncached, study_headline
from components.run import actions_tab as run_actions
from components.run.live_figures import LiveStudies
from components.share.drawer_html import export_buttons_html, methods_html
from components.study import form_html
from components.study.file.lenient_study import START_YAML, FormState
from components.study.file.yaml_edit import put_value
from components.study.form.data_step.records_report import comparisons_html
from components.study.plan.study_preview import build_preview
from components.vote import tab as vote_tab
from judges.engine.engine import Engine
from studies.domain import AnswerLabel, Ask, Item, Judgement, Preference, Usage, Verdict
from studies.errors import SourceError
from studies.exchange.recorded_studies import save_recorded_study
from studies.sources.load import LoadedSource
from studies.spec.study import DataSpec
from studies.store.store import Store
from tests.frozen_pages import draw_documents, draw_steps, draw_views, plain
from tests.samples import ALL, sample

NOUNS = (
    "item call judge comparison verdict model prompt vote answer pair battle label point score "
    "question study order repeat flip judgement attempt token"
)
FAULTY = re.compile(
    r"\b(?:nan|inf|Traceback)\b|\bNone\b(?! of)|<NA>"  # a missing value
    r"| \.(?!\d)|(?<!–) ,|; \.|: \.|(?<!\.)\.\.(?!\.)|\(\)"  # a gap where a text was left out
    rf"|(?<![\d.,])1 (?:{'|'.join(noun + 's' for noun in NOUNS.split())}|replies|people)\b"
    r"|\bonly 0 |\b0 of 0\b|−0(?![.\d])|−0\.0+(?!\d)|– points"
    r"|^, (?:n \d|effective|standard)| : [a-z]+ (?!=)|(?<=\S)  (?=\S)"
    r"|\b1 of [\d,]+ \w+s are\b|– of the"
)
KINDS = (("pair",), ("pair",), ("options",), ("score",), ("pass",), ("pair", "score"),
         ("pass", "score"), (), ("pair", "options"), ("options", "score"))  # fmt: skip
OPTIONS = {"score": ("1", "2", "3", "4", "5"), "pass": ("pass", "fail")}


def presentations(
    kind: str, models: tuple[str, ...], orders: int
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], int]]:
    """Answers and labels as shown, and the number of planned orders."""
    if kind == "pair":
        for place, one in enumerate(models):
            for other in models[place + 1 :]:
                for shown in ((one, other), (other, one))[: max(orders, 1)]:
                    yield shown, ("A", "B"), orders
    elif kind == "options" and len(models) > 2:
        turns = 1 if orders == 1 else len(models)
        for turn in range(turns):
            yield (*models[turn:], *models[:turn]), tuple("ABCD"[: len(models)]), turns
    elif kind in OPTIONS:
        for model in models:
            for listed in (OPTIONS[kind], OPTIONS[kind][::-1])[: max(orders, 1)]:
                yield (model,), listed, orders


def random_study(seed: int) -> LoadedSource:
    rng = Random(seed)
    kinds = rng.choice(KINDS)
    models = ("ant", "bee", "cat", "dog")[: rng.choice([2, 3, 4] if "pair" in kinds else [1, 2, 4])]
    judges, prompts = rng.choice([1, 2, 3]), rng.choice([1, 2])
    missing, ties = rng.choice([0, 0, 0.2, 0.9, 1]), rng.choice([0, 0.2, 1])
    labelled, voting, known = (rng.choice([0, 0.5, 1]) for _ in range(3))
    orders, repeats = rng.choice([0, 1, 2, 2, 2]), rng.choice([1, 1, 2, 3])
    floor = rng.choice([0, 0, 0.5])  # share of calls repeated for the noise floor
    items, judgements = [], []
    for number in range(rng.choice([1, 2, 3, 6, 12])):
        human = []
        for who in ("ann", "bo", "cy") if len(models) > 1 else ():
            if rng.random() < voting or not kinds:
                pair = tuple(rng.sample(models, 2))
                human.append(Preference(f"human:{who}", pair, rng.choice([*pair, "tie"])))
        if rng.random() < known:
            human.append(Preference("by-design", None, models[0]))
        right: Any = ("pass", "fail") if "pass" in kinds else (1.0, 2.0, 3.0, 4.0, 5.0)
        labels = [
            AnswerLabel(model, rng.choice(right)) for model in models if rng.random() < labelled
        ]
        texts = {model: "word " * (3 + number * place % 9) for place, model in enumerate(models)}
        category = rng.choice(("x", "y", ""))
        items.append(
            Item(f"q{number}", f"question {number}?", texts, category, human=tuple(human),
                 labels=tuple(labels))
        )  # fmt: skip
        for judge in ("keen", "dull", "mute")[:judges]:
            for prompt in ("p", "q")[:prompts]:
                for kind in kinds:
                    for shown, listed, planned in presentations(kind, models, orders):
                        for repeat in range(repeats + (rng.random() < floor)):
                            ask = Ask("", f"q{number}", judge, f"{prompt}-{kind}", shown, listed,
                                      repeat, orders=planned, noise=repeat == repeats)  # fmt: skip
                            if rng.random() < missing:
                                fault: Any = rng.choice(("unreadable", "empty", "refusal", "error"))
                                judgements.append(Judgement(ask, fault, detail="x"))
                                continue
                            made = Verdict(rng.randrange(len(shown)))
                            if len(shown) == 1:
                                top = (1, 5) if kind == "score" else (0, 1)
                                made = Verdict(None, 1, (float(rng.randint(*top)),))
                            elif rng.random() < ties:
                                made = Verdict("tie", 0)
                            facts: Any = {"reply": "So. [[A]]", "usage": Usage(9, 2)}
                            judgements.append(Judgement(ask, "ok", made, "recorded", **facts))
    return LoadedSource(items, judgements, "table", "drawn at random")


def texts_in(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        if not content.startswith(("data-figure", "data-table")):
            yield content
    elif isinstance(content, dict):
        for part in content.values():
            yield from texts_in(part)
    elif isinstance(content, list):
        for part in content:
            yield from texts_in(part)


def check_study(seed: int, folder: Path, with_report: bool = True) -> None:
    store = Store(folder / f"{seed}.db")
    loaded = random_study(seed)
    try:
        save_recorded_study(store, "study", DataSpec(source="x.csv"), loaded)
    except SourceError:  # neither a verdict nor a vote
        store.close()
        return
    whole = FilteredStudy(store, "study")
    drawings = [*draw_views(whole), *(draw_documents(whole) if with_report else ())]
    raters = sorted({(one.ask.judge, one.ask.prompt) for one in loaded.judgements})[:2]
    filters = [Filter(judge=judge, prompt=prompt) for judge, prompt in raters]
    filters += [Filter(category="x"), Filter(contestants=("bee",)), Filter(judge="nobody")]
    for chosen in filters:
        one = FilteredStudy(store, "study", chosen)
        for view in (
            ("Summary", "Remedies", "Ranking") if chosen not in filters[:2] else ("Summary",)
        ):
            controls = VIEWS[view].initial_values(one)
            drawings.append(
                (
                    f"{view} of {chosen}",
                    lambda one=one, v=view, c=controls: render_view_uncached(one, v, c),
                )
            )
    drawings += other_tabs(store, whole)
    for where, make in drawings:
        if where != "paper" and not where.startswith("json"):
            assert not faults_in(make), (seed, where, faults_in(make)[:3])
    store.close()


def other_tabs(store: Store, whole: FilteredStudy) -> Iterator[tuple[str, Any]]:
    """The tabs Home, Run and Vote, the drawer Share and the header."""
    engine = Engine()
    live = LiveStudies(
        store, lambda name: study_headline(store, name), lambda name: run_outcome_html(store, name)
    )
    yield "Home", lambda: study_list.studies_html(store, set())
    yield "Run", lambda: run_actions.render(store, engine, live, whole.name)[2:]
    yield "Vote", lambda: vote_tab.render(store, whole.name, {})
    yield "Share", lambda: [export_buttons_html(whole), methods_html(whole)]
    yield "header", lambda: study_size_html(store, whole.name)


def faults_in(make: Any) -> list[str]:
    return [
        text[max(0, found.start() - 60) : found.end() + 40]
        for text in texts_in(plain(make()))
        for found in FAULTY.finditer(text)
    ]


def random_form(seed: int) -> str:
    """A study file with settings at extreme values."""
    rng = Random(seed)
    text = START_YAML
    simulated = {"model": "simulated", "seed": 1}
    for path, values in {
        ("data", "count"): [1, 2, 0, 5],
        ("prompts",): [["brief-letters"], ["pass-fail"], ["score-scale"],
                       ["brief-letters", "pass-fail"]],
        ("judges",): [[{**simulated, "name": f"j{k}"} for k in range(n)] for n in (1, 2, 3)],
        ("repeats",): [1, 2],
        ("noise_floor",): [None, 0.05, 1.0],
        ("orders",): ["both", "one"],
        ("budget_usd",): [None, 0.001, 5.0],
    }.items():  # fmt: skip
        text = put_value(text, path, rng.choice(values))
    return text


def check_form(seed: int, store: Store) -> None:
    preview = build_preview(random_form(seed), store.folder)
    assert preview.plan is not None, (seed, preview.plan_error)
    drawings = {
        "form": lambda: form_html.render_form(preview, FormState(), {}),
        "steps": lambda: draw_steps(store, preview),
        "answers": lambda: comparisons_html(preview, FormState()),
    }
    for where, make in drawings.items():
        found = [one for one in faults_in(make) if "()" not in one]  # answers of the data are code
        assert not found, (seed, where, found[:3])


@pytest.mark.parametrize("seed", [*range(6), 114])
def test_random_forms_are_drawn_without_gaps(seed: int, store: Store) -> None:
    check_form(seed, store)


@pytest.mark.long
def test_many_random_forms_are_drawn_without_gaps(store: Store) -> None:
    for seed in range(100, 160):
        check_form(seed, store)


@pytest.mark.parametrize("seed", sample([1, 2, 6, 9, 33, 215], 9, 33))
def test_random_studies_are_drawn_without_gaps(seed: int, tmp_path: Path) -> None:
    check_study(seed, tmp_path, with_report=ALL or seed in (9, 33))


@pytest.mark.long
def test_many_random_studies_are_drawn_without_gaps(tmp_path: Path) -> None:
    for seed in range(100, 220):
        check_study(seed, tmp_path)
