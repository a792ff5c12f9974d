"""Every panel names the JSON keys of its numbers, and shows the numbers of the JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from html import unescape
from typing import Any

import numpy as np
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results.bias.bias_matrix import bias_matrix_html, list_matrix_measures
from components.results.bias.computed import load_bias
from components.results.view.result_view import Panel, View
from components.results.view_drawing import VIEWS, render_view_uncached
from components.study.plan.demo_studies import OPTIONS_STUDY, PAIRS_STUDY, TWINS_STUDY
from metrics.catalogue.record import DECLARED
from metrics.summary.measured_study import read_stored_study
from metrics.summary.summary import summarise_frame
from studies.domain import HUMAN_PREFIX
from studies.exchange.recorded_studies import import_verdicts
from studies.store.store import Store
from tests.components.results.pass_fail.test_pass_fail_view import store as checks  # noqa: F401
from tests.components.results.pass_fail.test_scores_view import store as scores  # noqa: F401
from tests.components.results.protocol.test_protocol_creation import creation  # noqa: F401
from tests.components.results.protocol.test_protocol_games import games  # noqa: F401
from tests.components.results.protocol.test_protocol_grade import graded  # noqa: F401
from tests.components.results.protocol.test_protocol_visit import pictures  # noqa: F401
from tests.metrics.frames import records
from tests.samples import sample
from tests.voted_studies import six_items

WITHOUT_NUMBERS = {
    ("Agreement", "notice"): "a text on how votes were collected",
    ("Agreement", "disputes"): "a list of single comparisons",
    ("Nudges", "twin_pairs"): "examples of single comparisons",
    ("Summary", "remedies"): "the headline of Remedies",
    ("Summary", "ranking"): "a sentence of Ranking",
    ("Remedies", "recommendation"): "its keys are in the last line of the view",
    ("Paper", "rules"): "the rules in force, in words",
    ("Paper", "cost"): "recorded costs of calls, in the export of judgements",
    ("Paper", "reading"): "stored replies read by two parsing rules",
    ("Paper", "grades_printed"): "values printed in a paper",
    ("Paper", "creation_printed"): "values printed in a paper",
    ("Paper", "others"): "correlations with an uploaded file",
}
"""Panels without keys, with the reason."""
BY = re.compile(r"--by ([\w,]+): (.*)")


def resolve(value: Any, path: list[str]) -> Iterator[Any]:
    """All values at a path with * for any key, ** for any number of keys."""
    if path[:1] == ["**"]:
        yield from resolve(value, path[1:])
        if isinstance(value, Mapping | list):
            for inner in value.values() if isinstance(value, Mapping) else value:
                yield from resolve(inner, path)
    elif not path:
        yield value
    elif isinstance(value, Mapping | list):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, inner in items:
            if path[0] in ("*", str(key)) or (path[0] == "[]" and isinstance(value, list)):
                yield from resolve(inner, path[1:])


def found(summaries: Mapping[str, Any], key: str) -> list[Any]:
    """All values that a declared key names; `summaries`: by the value of --by."""
    split = BY.fullmatch(key)
    by, path = split.groups() if split else ("", key)
    summary = summaries.get(by, {})
    if path.startswith("position."):  # people are no judges
        judges = summary.get("position", {}).items()
        kept = {judge: one for judge, one in judges if not judge.startswith(HUMAN_PREFIX)}
        summary = {"position": kept}
    return list(resolve(summary, path.split(".")))


def values_of(one: Any) -> list[float]:
    """The main numbers at a key: values of estimates with an interval, or plain numbers."""
    if isinstance(one, Mapping):
        if "value" in one:
            bounded = one.get("low") is not None or one.get("high") is not None
            return [float(one["value"])] if one["value"] is not None and bounded else []
        return [number for inner in one.values() for number in values_of(inner)]
    if isinstance(one, list):
        return [number for inner in one for number in values_of(inner)]
    return [float(one)] if isinstance(one, int | float) and not isinstance(one, bool) else []


NUMBER = re.compile(r"[−-]?(?:\d{1,3}(?:,\d{3})+|\d*)\.?\d+")


def numbers_in(content: Any) -> set[tuple[float, int]]:
    """(number, decimals) of every number in drawn content, in texts and in charts."""
    if isinstance(content, Mapping):
        return {pair for inner in content.values() for pair in numbers_in(inner)}
    if isinstance(content, list | tuple):
        return {pair for inner in content for pair in numbers_in(inner)}
    if isinstance(content, int | float) and not isinstance(content, bool):
        return {(float(content), 9)}
    if not isinstance(content, str):
        return set()
    made = set()
    for text in NUMBER.findall(unescape(content)):
        plain = text.replace("−", "-").replace(",", "")
        made.add((float(plain), len(plain.partition(".")[2])))
    return made


def shown_among(numbers: set[tuple[float, int]], values: list[float]) -> list[bool]:
    """Whether each value is among the numbers, as it is, in percent, or with the other sign."""
    shown, decimals = np.array(sorted(numbers)).T
    near = 0.5 * 10**-decimals + 1e-9
    return [
        any((abs(scale * value - shown) <= near).any() for scale in (1, 100, -1, -100))
        for value in values
    ]


def panels() -> list[tuple[View, Panel]]:
    return [(view, panel) for view in VIEWS.values() for panel in view.panels]


def test_every_panel_with_numbers_names_their_keys():
    without = {(view.name, panel.name) for view, panel in panels() if not panel.json_keys}
    assert without == set(WITHOUT_NUMBERS)
    headed = {view.name for view in VIEWS.values() if view.json_keys}
    assert headed == set(VIEWS)


def test_mistakes_before_a_comparison_of_candidates_have_no_key():
    """The page shows mistakes from the first label on, the JSON only beside candidates."""
    improve = next(one for one in VIEWS["Remedies"].panels if one.name == "improve")
    assert improve.json_keys and not any("mistakes" in key for key in improve.json_keys)


def test_explanations_show_no_asterisks():
    """They turn **bold** and `code` into tags, and nothing else."""
    texts = {panel.name: panel.how for _, panel in panels()}
    texts |= {record.key: record.how for record in DECLARED.values()}
    assert [name for name, how in texts.items() if "*" in re.sub(r"`[^`]*`|\*\*", "", how)] == []


def summarise(store: Store, name: str, by: str = "") -> Any:
    """The object that `python -m metrics --json --quick` prints."""
    names = by.split(",") if by else []
    return read_stored_study(store.path, name).summarise(names, quick=True)


class Summaries(dict[str, Any]):
    """Summaries of a study by the value of --by, each computed when it is first read; of other
    values than `splits` there is none. A split summary has the numbers of the whole too."""

    def __init__(self, store: Store, name: str, splits: tuple[str, ...]) -> None:
        super().__init__()
        self._study, self._splits = (store, name), splits

    def get(self, by: str, default: Any = None) -> Any:
        if not by and len(self._splits) > 1:
            by = self._splits[1]
        if by in self._splits and by not in self:
            self[by] = summarise(*self._study, by)
        return super().get(by, default)


Recorded = Callable[[str], tuple[Store, Summaries]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, recorded_demos: Store) -> Iterator[Recorded]:
    """Study -> its store, and by the value of --by its summary; each made on first use."""
    with ExitStack() as opened:

        @cache
        def read(name: str) -> tuple[Store, Summaries]:
            if name not in ("PRD", "small"):
                return recorded_demos, Summaries(recorded_demos, name, ("",))
            store = Store(tmp_path_factory.mktemp("recorded") / "store.db")
            opened.callback(store.close)
            if name == "PRD":
                import_verdicts(store, records("prd"), "PRD")
            else:
                half = {f"q{k}": "even" if k % 2 else "odd" for k in range(6)}
                six_items("small").save(store, categories=half)
            splits = ("", "category", "judge", "judge,prompt,category")[
                : 4 if name == "small" else 1
            ]
            return store, Summaries(store, name, splits)

        yield read


SELECTED = {
    ("Remedies", "frontier"), ("Remedies", "risk"),
    ("Remedies", "rules"), ("Remedies", "best_rules"), ("Remedies", "lower"), ("Summary", "card"),
    ("Ranking", "precision"), ("Ranking", "orders"), ("Remedies", "budget_plan"),
    ("Remedies", "improve"), ("Ranking", "choices"), ("Ranking", "evidence"),
}  # fmt: skip
"""Panels that show the numbers of one judge, pair or model that the reader selects, only those with
a finite rating, the first columns, or large numbers as powers of ten."""


def drawn(store: Store, name: str, view: View) -> tuple[dict[str, Any], dict[str, Any]]:
    """Outputs of a view with its first controls, and those by panel."""
    study = FilteredStudy(store, name)
    states = {one.name: one.initial_state(study, None) for one in view.controls.values()}
    controls = {name: state.value if state else None for name, state in states.items()}
    whole = render_view_uncached(study, view.name, controls)
    return whole, {panel.name: [whole.get(body.name) for body in panel.bodies]
                   for panel in view.panels}  # fmt: skip


@pytest.mark.parametrize("study", sample(["small", PAIRS_STUDY, "PRD"], "small"))
@pytest.mark.parametrize("name", [name for name in VIEWS if name != "Paper"])
def test_a_panel_shows_the_numbers_of_its_first_key(recorded, study, name):
    view = VIEWS[name]
    store, summaries = recorded(study)
    whole, bodies = drawn(store, study, view)
    compared = 0
    for panel in view.panels:
        shown = numbers_in(bodies[panel.name])
        if not panel.json_keys or whole.get(panel.visibility_output) is False or not shown:
            continue
        wanted = values_of(found(summaries, panel.json_keys[0]))
        seen = shown_among(shown, wanted)
        if seen:
            compared += 1
            enough = any if (name, panel.name) in SELECTED else all
            missing = [value for value, here in zip(wanted, seen, strict=True) if not here]
            assert enough(seen), (panel.name, panel.json_keys[0], missing)
    lacking = {("Agreement", PAIRS_STUDY), ("Nudges", "small")}  # people; answers of other lengths
    assert compared or (name, study) in lacking
    assert all(f"<code>{key}</code>" in whole["data"] for key in view.json_keys)


INTERVAL = re.compile(rf"\[({NUMBER.pattern}), ({NUMBER.pattern})\]")
NOT_IN_JSON = {
    ("Agreement", OPTIONS_STUDY): "one judge with several prompts, which the JSON does not compare"
}
"""(view, study) whose headline has an interval that the JSON lacks, with the reason."""


def intervals_below(one: Any) -> Iterator[tuple[float, float]]:
    """Intervals of all estimates in a part of a summary."""
    if isinstance(one, Mapping) and None not in (one.get("low"), one.get("high")):
        yield float(one["low"]), float(one["high"])
    for inner in one.values() if isinstance(one, Mapping) else one if isinstance(one, list) else ():
        yield from intervals_below(inner)


def unlisted_intervals(whole: Mapping[str, Any], summaries: Mapping[str, Any]) -> list[str]:
    """Intervals in a headline that are those of no key in the line of the view's keys; of a share
    and of the rest of it, in percent, or with the other sign."""
    values = [one for key in re.findall(r"<code>(.*?)</code>", whole["data"])
              for one in found(summaries, key)]  # fmt: skip
    known = [pair for one in values for pair in intervals_below(one)]
    known += [(1 - high, 1 - low) for low, high in known]
    scaled = [sorted((k * low, k * high)) for low, high in known for k in (1, 100, -1, -100)]
    missing = []
    for ends in INTERVAL.finditer(unescape(whole["finding"])):
        texts = [text.replace("−", "-").replace(",", "") for text in ends.groups()]
        near = max(0.5 * 10 ** -len(text.partition(".")[2]) for text in texts) + 1e-9
        wanted = list(map(float, texts))
        if not any(max(abs(a - b) for a, b in zip(one, wanted, strict=True)) <= near
                   for one in scaled):  # fmt: skip
            missing.append(ends[0])
    return missing


@pytest.mark.parametrize("study", sample([PAIRS_STUDY, OPTIONS_STUDY, "PRD", "small"], "small"))
def test_every_interval_of_a_headline_has_its_key_in_the_line_below(recorded, study):
    store, summaries = recorded(study)
    for name in VIEWS:
        if name == "Paper" or {(name, study), (name, "*")} & {*NOT_IN_JSON}:
            continue
        whole, bodies = drawn(store, study, VIEWS[name])
        assert unlisted_intervals(whole, summaries) == [], name
        shown = (one for one in VIEWS[name].panels if any(bodies[one.name]))
        for panel in shown:
            assert all(f"<code>{key}</code>" in whole["data"] for key in panel.json_keys
                       if not key.startswith("--by")), panel.name  # fmt: skip


METHODS = {
    "Wilson": ("Wilson", "Tango"), "Student's t": ("item-cluster t",), "jackknife": ("jackknife",),
    "bootstrap": ("bootstrap",), "sandwich": ("sandwich",), "Clopper–Pearson": ("Clopper",),
    "from that of the first-position share": ("first-position share",),
    "exact limit": ("exact limit",),
}  # fmt: skip
"""Name of a method of intervals in the catalogue -> words of it in the estimates."""


def intervals_of_another_method(summary: Any) -> tuple[int, set[tuple[str, str]]]:
    """Number of intervals whose record names a method, and (key, method) of those with another."""
    compared, wrong = 0, set()
    for record in DECLARED.values():
        named = [words for name, words in METHODS.items() if name in record.how]
        allowed = [word for words in named for word in words] + ["bounds: "]
        for path in record.paths if named else ():
            for one in resolve(summary, path.split(".")):
                bounded = isinstance(one, Mapping) and one.get("low") is not None
                method = one["method"] if bounded else ""
                compared += bool(method)
                if method and not any(word in method for word in allowed):
                    wrong.add((record.key, method))
    return compared, wrong


@pytest.mark.parametrize(
    "study", sample(["small", PAIRS_STUDY, OPTIONS_STUDY, TWINS_STUDY, "PRD"], "small")
)
def test_the_catalogue_names_the_method_of_every_interval(recorded, study):
    compared, wrong = intervals_of_another_method(recorded(study)[1].get(""))
    assert wrong == set() and compared > 20


@pytest.mark.extra
@pytest.mark.parametrize("fixture", ["checks", "scores", "games", "graded", "creation", "pictures"])
def test_the_catalogue_names_the_methods_of_other_kinds_of_studies(request, fixture):
    store = request.getfixturevalue(fixture)
    found = [
        intervals_of_another_method(summarise(store, line.name))
        for line in store.studies()
        if line.judged
    ]
    assert [wrong for _, wrong in found if wrong] == [] and sum(number for number, _ in found)


OTHER_DATA = {
    "self_preference.against_outsiders.*.excess", "self_preference.term", "verification",
    "without_suspects.*",
    "remedies.rules.*.*.*.dollars", "position.*.*.entropy_noise", "position.*.*.entropy_order",
    "position.*.*.label_effect", "position.*.*.slot_effect", "bounds.*",
    "style.*.minus_people.*", "pass_by_order.*.*.shift", "pass_by_order.*.*.by_category.*.shift",
    "alignment.judges.*.*.candidates.*.difference", "alignment.judges.*.*.candidates.*.agreement",
}  # fmt: skip
"""Keys of data that these studies may lack: families, checks, prices, repeats, crossed labels,
missing verdicts, injections, pass and fail in both orders, candidates for a prompt.
Their sections have tests of their own in tests/metrics/summary, tests/metrics/labels and
tests/library."""
STORES = ("checks", "scores", "games", "graded", "creation", "pictures", "judged")
"""Fixtures of stores with other kinds of studies."""


def every_summary(request, recorded):
    """Summaries of studies of all kinds, one at a time; the small ones come first."""
    yield from (recorded(name)[1] for name in ("small", PAIRS_STUDY, OPTIONS_STUDY, TWINS_STUDY))
    yield {"judge": summarise(recorded(PAIRS_STUDY)[0], PAIRS_STUDY, "judge")}
    for fixture in STORES:
        store = request.getfixturevalue(fixture)
        for line in store.studies():
            if line.judged:
                yield from ({by: summarise(store, line.name, by)} for by in ("", "category"))
    yield recorded("PRD")[1]


@pytest.mark.extra
def test_every_key_exists_in_the_json(request, recorded):
    declared = {key for view in VIEWS.values() for key in view.json_keys}
    missing = declared | {key for _, panel in panels() for key in panel.json_keys}
    for summary in every_summary(request, recorded):
        missing = {key for key in missing if not found(summary, key)}
        if missing <= OTHER_DATA:
            return
    assert missing <= OTHER_DATA


@pytest.mark.parametrize("study", ["small", OPTIONS_STUDY])
def test_a_cell_of_the_position_matrix_names_a_key_that_exists(recorded, study):
    store, _ = recorded(study)
    filtered = FilteredStudy(store, study)
    frame, bias = filtered.measured_judge_rows, load_bias(filtered)
    named = {}
    for measure in list_matrix_measures(bias.max_options):
        html = unescape(bias_matrix_html(bias, measure, frame=frame)).replace("<wbr>", "")
        named[measure] = set(re.findall(r"JSON: ([^\s\"<]+?)[.\s]*[\s\"<]", html))
    assert not named.get("Lean") and named["Consistency"]
    items = sorted(set(store.frame(study)["item"]))[:10]  # keys need no more
    rows = store.frame(study)
    whole = summarise_frame(rows[rows["item"].isin(items)], quick=True)
    assert {key for keys in named.values() for key in keys if not is_path(whole, key)} == set()


def is_path(value: Any, path: str) -> bool:
    """Whether the value has this path; its names may contain dots."""
    inside = value.items() if isinstance(value, Mapping) else ()
    return any(
        path == name or (path.startswith(f"{name}.") and is_path(inner, path[len(name) + 1 :]))
        for name, inner in inside
    )
