"""Remedies against unreliable verdicts, such as asking in both orders, as a table: for each
decision rule its agreement with the known better answers and its number of calls; and a
recommended rule."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import numpy as np
import pandas as pd

from evenhand.extras import report_missing_extra
from evenhand.study_table import as_study
from metrics.remedies.rule_names import rule_id_and_judges, rule_texts_of_id
from metrics.summary import remedy_tables, summary
from metrics.summary.remedy_section import remedy_section
from studies import errors, terminal

ESTIMATES: Final = ("agreement", "difference", "adjusted", "decided", "right_when_decided")
COLUMNS: Final = [
    "judge", "prompt", "rule", "title", "calls",
    *(f"{name}{end}" for name in ESTIMATES for end in ("", "_low", "_high")), "n", "items", "note",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class RemedyComparison:
    """Decision rules (remedies, and the single call), measured on the same comparisons. `section`
    has the same result as in the JSON of `evenhand metrics --json`. `table` has one row for each
    judge, prompt and rule, and one for each jury and rule. A jury is several judges that decide
    together; its rows have the judges' names, joined by " + ", as judge, and an empty prompt. Rows
    of a single judge may also be about juries that contain it, compared with one call of this
    judge; the name of such a rule includes the judges of the jury: "jury-both|a|b"."""

    section: dict[str, Any]
    table: pd.DataFrame
    recommendation: str
    """Sentence that names the recommended rule or states that none was shown to help. It is about
    the judge and prompt whose single calls have the highest agreement."""

    def __str__(self) -> str:
        return terminal.escape_control("\n".join(remedy_tables.render_remedies(self.section)))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = self.table[["judge", "prompt", "title", "calls", "agreement", "adjusted"]]
        table = shown.to_html(index=False, escape=True, border=0, float_format="{:.3f}".format)
        return (
            f'<div class="evenhand-remedies"><p><b>{escape(self.recommendation)}</b></p>'
            f"{table}</div>"
        )


@report_missing_extra
def remedies(data: Any) -> RemedyComparison:
    """Compare ways to decide from a judge's verdicts (a single call, both orders, a jury, …) by
    their agreement with the known better answers. `data` is a study, a table or the path of a
    file. SourceError if no better answer is known, by design or from people's votes."""
    study = as_study(data)
    section = summary.to_plain_data(remedy_section(study.frame, study.measured.remedies))
    if not section:
        raise errors.SourceError(
            f"{study.name}: no comparison with a known better answer; add a column `truth`, or "
            "votes by people"
        )
    table = pd.DataFrame(list(_remedy_rows(section)), columns=COLUMNS)
    numbers = [name for name in COLUMNS if name.startswith(ESTIMATES)]
    table = table.astype(dict.fromkeys(numbers, np.float64))
    return RemedyComparison(section, table, section.get("recommendation", {}).get("sentence", ""))


def _remedy_rows(section: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for judge, prompts in section["rules"].items():
        for prompt, rules in prompts.items():
            for rule, line in rules.items():
                title = rule_texts_of_id(*rule_id_and_judges(rule, judge)).title
                yield _remedy_row(line, judge=judge, prompt=prompt, rule=rule, title=title)
    for name, jury in section.get("juries", {}).items():
        for rule, line in jury.items():
            if isinstance(line, dict) and "calls" in line:
                title = rule_texts_of_id(rule, name.split(" + ")).title
                yield _remedy_row(line, judge=name, prompt="", rule=rule, title=title)


def _remedy_row(line: dict[str, Any], **keys: str) -> dict[str, Any]:
    """Return the row of the table for one rule, as column -> value: its estimates `line`, as in the
    summary, with their limits; `keys` are the values of the columns judge, prompt, rule and title.
    """
    found: dict[str, Any] = {**keys, "calls": line["calls"]}
    for name in ESTIMATES:
        found[name] = line[name]["value"]
        found[f"{name}_low"], found[f"{name}_high"] = line[name]["low"], line[name]["high"]
    first = line["agreement"]
    return {**found, "n": first["n"], "items": first["items"], "note": first["note"]}
