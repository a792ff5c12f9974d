"""Every number that views, cards, comparisons, report, tables, JSON and library text of a study
print for a measure of the catalogue, by key: (measure, judge, prompt, …).

A printed number stands for the range of values that are rounded to it. Places that print the same
key agree if their ranges have a value in common.
"""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.filtering.raters import Raters
from components.results.cards.card_html import show_card
from components.results.contrasts.comparison import comparison_headline, comparison_html
from components.results.contrasts.sides import list_sides_of_whole_study
from components.results.view_drawing import VIEWS, offered_views, render_view_uncached
from components.share.paper_text import paper_tables
from components.share.report import ReportFigures, report_metrics, report_sections
from evenhand.auditing.audit_table import summary_table
from evenhand.judge_audit import JudgeAudit
from evenhand.study_table import read
from metrics.catalogue.records import RECORDS, records_listed_by

Key = tuple[str, ...]
NUMBER: Final = r"([−-]?\d[\d,]*(?:\.\d+)?)"
MEASURED: Final = re.compile(r'data-measure="([^"]*)"[^>]*>(.*?)</(?:b|td|span)>', re.S)
HEAT: Final = re.compile(r'data-heat="([^"]*)"')
KPI: Final = re.compile(r'<dt[^>]*>(.*?)</dt>\s*<dd class="v">(.*?)</dd>', re.S)
JSON_KEY: Final = re.compile(r'data-key="(win_rate\.[^"]*)"[^>]*><b>(.*?)</b>')
NAMED: Final = {one.name: key for key, one in RECORDS.items()} | {"Agreement": "agreement"}
"""Name on the page -> key; the matrix of agreement has a short name."""
SENTENCES: Final = (
    (rf"flips {NUMBER}\s%", "conflict"),
    (rf"{NUMBER}\s% (?:\[[^]]*\] )?change on a repeat", "noise_floor"),
    (rf"one call agrees in {NUMBER}\s%", "agreement"),
    (rf"This judge agrees with people in {NUMBER}\s%", "agreement"),
    (rf"{NUMBER}\s% of this judge's replies are unusable", "unusable"),
    (rf"picks the longer answer in {NUMBER}\s%", "longer"),
)
"""Wording -> measure, of sentences on the judge that is selected (or on all)."""
ABOUT: Final = re.compile(
    rf"([\w.:+ -]+?) agrees with (?:the majority of people|the known better answers) in {NUMBER}\s%"
)


@dataclass
class PrintedNumbers:
    """Key -> place -> (lowest, highest) value that the printed number stands for."""

    found: dict[Key, dict[str, tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def add(self, place: str, key: str, of: tuple[str, ...], text: str) -> None:
        """Add a number as printed; text without a number (a dash) is no number."""
        shown = re.search(NUMBER, text.replace("\u202f", " "))
        if shown is None or key not in RECORDS:
            return
        digits = shown[1].replace("−", "-").replace(",", "")
        decimals = len(digits.partition(".")[2])
        percent = RECORDS[key].style in ("percent", "points") or "compared with" in place
        scale = 100 if percent and place != "library" else 1
        value, half = float(digits) / scale, 0.5 * 10**-decimals / scale - 1e-8
        self.found[key, *of][place] = (value - half, value + half)

    def add_exact(self, place: str, key: str, of: tuple[str, ...], value: float) -> None:
        self.found[key, *of][place] = (value - 1e-7, value + 1e-7)

    @property
    def contradictions(self) -> list[str]:
        """A line for each key whose places print different numbers."""
        lines = []
        for key, places in self.found.items():
            low, high = (
                (max(low for low, _ in places.values())),
                min(high for _, high in places.values()),
            )
            if low > high:
                said = "; ".join(
                    f"{place}: {(low + high) / 2:.4f}" for place, (low, high) in places.items()
                )
                lines.append(f"{' / '.join(key)}: {said}")
        return lines


def plain(markup: object) -> str:
    """The text of HTML, with single spaces."""
    without = re.sub(r"<[^>]*>", " ", str(markup))
    return re.sub(r"\s+", " ", html.unescape(without))


def read_study(whole: FilteredStudy) -> PrintedNumbers:
    """Walk all outlets of a study without filters, and the cards and comparisons of its judges."""
    numbers = PrintedNumbers()
    raters = Raters(whole)
    for view in offered_views(whole):
        _read_view(numbers, view, whole)
    for rater, (judge, prompt) in raters.names.items():
        _read_markup(numbers, f"card of {rater}", show_card(raters, rater), raters, (judge, prompt))
        chosen = FilteredStudy(whole.store, whole.name, Filter(judge=judge, prompt=prompt))
        _read_view(numbers, "Remedies", chosen, (judge, prompt))
    sides = list(list_sides_of_whole_study(whole).items())
    for (name, one), (other, _) in pairwise(sides):
        chosen = FilteredStudy(
            whole.store,
            whole.name,
            Filter(**{k: v for k, v in (("judge", one.judge), ("prompt", one.prompt)) if v}),
        )
        for view in ("Summary", "Position", "Agreement", "Ranking"):
            place = f"{view}: {name} compared with {other}"
            assert comparison_headline(chosen, other, view)[0]
            _read_markup(numbers, place, comparison_html(chosen, other, view), raters)
    report = report_sections(whole, ReportFigures())
    _read_markup(numbers, "report", re.sub(r'<article class="eh-report">.*?</article>', "", report,
                                           flags=re.S), raters)  # fmt: skip
    _read_papers(numbers, whole, raters)
    _read_json(numbers, report_metrics(whole))
    _read_library(numbers, whole)
    return _normalised(numbers, raters)


def _read_view(
    numbers: PrintedNumbers, view: str, filtered: FilteredStudy, of: tuple[str, ...] = ("", "")
) -> None:
    controls = VIEWS[view].initial_values(filtered)
    for panel, drawn in render_view_uncached(filtered, view, controls).items():
        if isinstance(drawn, str) and "<" in drawn:
            _read_markup(numbers, f"{view}: {panel}", drawn, Raters(filtered), of)


def _read_markup(
    numbers: PrintedNumbers, place: str, markup: str, raters: Raters, of: tuple[str, ...] = ("", "")
) -> None:
    for data, text in MEASURED.findall(markup):
        key, *names = json.loads(html.unescape(data))
        numbers.add(place, key, tuple(names), plain(text))
    for data in HEAT.findall(markup):
        heat = json.loads(html.unescape(data))
        for row, column, *_, text, _bounds in heat["cells"]:
            if heat["name"] in NAMED and row in raters.names and column == "All":
                numbers.add(place, NAMED[heat["name"]], raters.names[row], text)
    for label, text in KPI.findall(markup):
        numbers.add(place, NAMED.get(plain(label).strip(), ""), of, plain(text))
    for path, text in JSON_KEY.findall(markup):
        numbers.add(place, "win_rate", ("", "", html.unescape(path).partition(".")[2]), text)
    said = plain(markup)
    for pattern, key in SENTENCES:
        for text in re.findall(pattern, said):
            numbers.add(place, key, _told_of(of, key, raters, said), text)
    for name, text in ABOUT.findall(said):
        rater = next((one for one in raters.names if name.endswith(one)), None)
        if rater is not None:
            numbers.add(place, "agreement", raters.names[rater], text)


def _told_of(of: tuple[str, ...], key: str, raters: Raters, said: str) -> tuple[str, ...]:
    """Judge and prompt of a sentence: those of the card, else the judge that Remedies shows."""
    if of != ("", "") or key != "agreement":
        return of
    best = re.search(r"points \[[^]]*\] on items not used to choose the rule ([^:]+):", said)
    name = best[1].strip() if best else ""
    return raters.names.get(name, (name, ""))


def _read_papers(numbers: PrintedNumbers, whole: FilteredStudy, raters: Raters) -> None:
    heads = {one.column_head: one.key for one in records_listed_by("paper")} | {
        "Win rate": "win_rate"
    }
    heads |= {"Noise": "noise_floor", "Entropy": "entropy"}
    for name, table in paper_tables(whole).items():
        for row in table.rows:
            for head, text in zip(table.head, row, strict=True):
                if name == "Position bias" and row[0] in raters.names and head in heads:
                    numbers.add("paper", heads[head], raters.names[row[0]], text)
                elif head == "Win rate":
                    model = row[list(table.head).index("Model")]
                    numbers.add(f"paper: {name}", "win_rate", ("", "", model), text)


def _read_json(numbers: PrintedNumbers, summary: dict[str, Any]) -> None:
    summary = {key: part for key, part in summary.items() if "contrast" not in key}
    for line in summary_table(summary).itertuples():
        path = str(line.measure).split(".")
        # The table names a measure of `position` by its key alone.
        record = RECORDS.get(path[0]) if len(path) == 1 and line.judge else None
        if record is None and path[-1] == "agreement" and path[-2:-1] == ["single"]:
            record = RECORDS["agreement"]
        if record is not None and line.value == line.value:
            numbers.add_exact("JSON", record.key, (line.judge, line.prompt), line.value)
    for key, one in summary.get("position_pooled", {}).items():
        if key in RECORDS and isinstance(one, dict) and one["value"] is not None:
            numbers.add_exact("JSON", key, ("", ""), one["value"])
    for model, one in summary.get("win_rate", {}).items():
        numbers.add_exact("JSON", "win_rate", ("", "", model), one["value"])


def _read_library(numbers: PrintedNumbers, whole: FilteredStudy) -> None:
    audit = JudgeAudit(read(whole.store.path, study=whole.name))
    said = str(audit)
    for card in audit.cards:
        title = card.judge if card.prompt in ("", "all") else f"{card.judge} · {card.prompt}"
        text = re.search(rf"^{re.escape(title)}\n(?:  .*\n|\n(?=  ))*", f"{said}\n", re.M)[0]
        for label in card.measures:
            shown = re.search(rf"  {re.escape(label)}\s+(\S+)", text)
            if shown and label in NAMED:
                numbers.add("library", NAMED[label], (card.judge, card.prompt), shown[1])


def _normalised(numbers: PrintedNumbers, raters: Raters) -> PrintedNumbers:
    """Keys in which "all judges" and "all prompts" are named where the study has only one."""
    judges, prompts = ({cell[k] for cell in raters.names.values()} for k in (0, 1))
    made = PrintedNumbers()
    for (key, *of), places in numbers.found.items():
        judge, prompt, *rest = [name for k, name in enumerate([*of, "", ""]) if k < 2 or name]
        judge = judge or (next(iter(judges)) if len(judges) == 1 else "")
        prompt = prompt or (next(iter(prompts)) if len(prompts) == 1 else "")
        for place, ends in places.items():
            made.found[key, judge, prompt, *rest][place] = ends
    return made


def several(numbers: PrintedNumbers) -> Iterator[Key]:
    """Keys that more than one place prints."""
    return (key for key, places in numbers.found.items() if len(places) > 1)
