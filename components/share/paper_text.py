"""Texts for a paper, generated from a study: tables in LaTeX and Markdown, a methods paragraph, and
the command that prints the numbers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter, combine_rule_text
from components.html.format import NARROW_SPACE, count
from components.results.agreement import tab as agreement_tab
from components.results.bias import tab as bias_tab
from components.results.overview import tab as overview_tab
from components.results.pass_fail.computed import has_pass_fail_verdicts, load_pass_fail
from components.results.pass_fail.scores.computed import has_only_single_answers
from components.results.ranking import tab as ranking_tab
from components.results.remedies import tab as remedies_tab
from components.results.view.paper_table import EMPTY_CELL, PaperTable, chosen_filters_text
from metrics.estimation.row_selection import reply_noun, select_picks
from metrics.labels.true_pass_rate import is_by_labels
from studies.domain import HUMAN_PREFIX, USABLE_STATUSES
from studies.files.upload_names import original_name
from studies.spec.study import Study
from studies.texts.counts import plural

_LATEX_ESCAPES: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "\u2212": "$-$", "\u202f": r"\,", "\u2013": "--", "≥": r"$\ge$", "≤": r"$\le$",
        "κ": r"$\kappa$", "α": r"$\alpha$", "τ": r"$\tau$",
    }
)  # fmt: skip
TABLE_NAMES: Final = (
    "Position bias", "Agreement", "Ranking", "Win rates", "Remedies",
    "Confusion", "Pass or fail", "Pass/fail order", "Criteria order", "Score order", "Scores",
    "Replies",
)  # fmt: skip


TABLE_VIEWS: Final = (
    bias_tab.VIEW, agreement_tab.VIEW, ranking_tab.VIEW, remedies_tab.VIEW, overview_tab.VIEW,
)  # fmt: skip
"""Views with tables for a paper, in the order of the page."""


def paper_tables(filtered: FilteredStudy) -> dict[str, PaperTable]:
    """Name -> table, for all tables that have rows. Tables on comparisons are left out if the study
    only judges single answers; tables on single answers, if it judges none."""
    panels = [panel for view in TABLE_VIEWS for panel in view.panels_of_shown_groups(filtered)]
    made = (panel.table(filtered) for panel in panels if panel.table)
    return {
        table.name: _without_empty_columns(table)
        for table in made
        if table is not None and table.rows
    }


def _without_empty_columns(table: PaperTable) -> PaperTable:
    """The table without columns that have a value in no row."""
    kept = [
        place
        for place in range(len(table.head))
        if any(row[place] not in ("", EMPTY_CELL) for row in table.rows)
    ]
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return replace(table, head=tuple(table.head[place] for place in kept), rows=rows)


def latex_table(table: PaperTable) -> str:
    """The table in LaTeX (booktabs), with the caption below."""
    columns = "".join("r" if numeric else "l" for numeric in _numeric_columns(table))
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    lines += [_latex_row(table.head), r"\midrule"]
    lines += [_latex_row(row) for row in table.rows]
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{_escape_latex(table.caption)}}}"]
    return "\n".join([*lines, r"\end{table}"])


def markdown_table(table: PaperTable) -> str:
    """The table in Markdown, with numbers right-aligned and the caption below."""
    rule = ["---:" if numeric else "---" for numeric in _numeric_columns(table)]
    lines = [
        _markdown_row(table.head),
        "|" + "|".join(rule) + "|",
        *(_markdown_row(row) for row in table.rows),
    ]
    return "\n".join([*lines, "", table.caption])


def _numeric_columns(table: PaperTable) -> list[bool]:
    """For each column, whether it contains only numbers."""
    plain = str.maketrans("", "", "0123456789.,[]–\u2212 ")
    return [all(not row[i].translate(plain) for row in table.rows) for i in range(len(table.head))]


def _markdown_row(cells: Sequence[str]) -> str:
    escaped = (cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for cell in cells)
    return "| " + " | ".join(escaped) + " |"


def _latex_row(cells: Sequence[str]) -> str:
    text = " & ".join(_escape_latex(cell) for cell in cells)
    start = "{}" if text.startswith(("[", "*")) else ""  # else an option of the \\ before it
    return f"{start}{text} " + r"\\"


def _escape_latex(text: str) -> str:
    return text.translate(_LATEX_ESCAPES).replace("\n", " ")


# ---------------------------------------------------------------------------------- in words


def methods_paragraph(filtered: FilteredStudy) -> str:
    """Methods paragraph on a study: judges, prompts, items, orders, unusable replies, intervals."""
    study, frame = filtered.study, filtered.measured_judge_rows
    judges = sorted(str(name) for name in frame["judge"].unique())
    prompts = sorted(str(name) for name in frame["prompt"].unique())
    noun = reply_noun(frame)
    readable = int(frame["status"].isin(list(USABLE_STATUSES)).sum())
    if filtered.has_only_people:
        return _people_paragraph(filtered, readable)
    if has_only_single_answers(filtered):
        return _single_answers_paragraph(filtered, judges, prompts)
    counted = "counted as ties" if filtered.rule[1] == "tie" else "left out, not counted as ties"
    missing = f"; {plural(noun)} without one{_unusable_counts_text(filtered)} were {counted}"
    parts = [
        f"{_count_and_names_text(judges, 'judge')} judged, with "
        f"{_count_and_names_text(prompts, 'prompt')}, the answers to "
        f"{count(frame['item'].nunique(), 'item')} of {_data_name_and_filters(filtered)}.",
        f"{_orders_text(filtered)} Of {count(len(frame), noun)}, {count(readable)} had a verdict"
        f"{missing if readable < len(frame) else ''}.",
        _order_combination_sentence(filtered),
        _intervals_text(frame),
    ]
    end = _simulated_judges_text(study, judges), _twins_text(filtered)
    return " ".join(part for part in (*parts, *end) if part)


def _intervals_text(frame: pd.DataFrame, term: str = " and the position term") -> str:
    """Sentences on the intervals and tests that fit the numbers of options of the readable verdicts
    in `frame`. `term`: words that follow "Bradley–Terry ratings"."""
    options = select_picks(frame)["options"]
    parts = ["Wilson intervals at the effective sample size for shares"]
    if (options == 2).any():
        parts.append(f"a sandwich variance over items for Bradley–Terry ratings{term}")
    test = ""
    if (options > 2).any():
        parts.append("a jackknife over items for the position entropy")
        parts.append(
            "a sandwich variance over items for the effects of positions in a conditional logit"
        )
        test = (
            " A permutation test, which exchanges the choices of a comparison over its orders, "
            "tests whether all positions are chosen equally often."
        )
    return f"Intervals are 95 % and treat items as clusters: {', '.join(parts)}.{test}"


def _twins_text(filtered: FilteredStudy) -> str:
    """Sentence on the number of calls with a twin; empty without any."""
    twins = filtered.filter.apply(filtered.store.frame(filtered.name, "only"))
    told = "showed a changed copy of an answer (a twin), to measure what moves the judge."
    return f"{count(len(twins), 'further call')} {told}" if len(twins) else ""


def _simulated_judges_text(study: Study, judges: Sequence[str]) -> str:
    """Sentence on those of the judges that are simulated; empty if none is."""
    found = [one.name for one in study.judges if one.kind == "simulated" and one.name in judges]
    verb = "is" if len(found) == 1 else "are"
    told = f"{_count_and_names_text(found, 'judge')} {verb} simulated, with known parameters."
    return told if found else ""


def _people_paragraph(filtered: FilteredStudy, votes: int) -> str:
    """Methods paragraph on a study with people's votes only, without model judges."""
    people = filtered.frame_by_person["judge"].nunique()
    items = count(filtered.frame["item"].nunique(), "item")
    return (
        f"{count(people, 'person')} cast {count(votes, 'vote')} on the answers to {items} of "
        f"{_data_name_and_filters(filtered)}. Only the first vote of a person on a pair enters the "
        "agreement. "
        f"{_intervals_text(filtered.frame, '')}"
    )


def _single_answers_paragraph(
    filtered: FilteredStudy, judges: list[str], prompts: list[str]
) -> str:
    """Methods paragraph on a study whose judges pass, fail or score single answers."""
    rows = filtered.measured_judge_rows
    noun = reply_noun(rows)
    missing = f"; the other {plural(noun)} are not counted in any measure of verdicts"
    start = (
        f"{_count_and_names_text(judges, 'judge')} judged, with "
        f"{_count_and_names_text(prompts, 'prompt')}, single answers to "
        f"{count(rows['item'].nunique(), 'item')}{_filters_text(filtered)}. Of "
        f"{count(len(rows), noun)}, {count(len(rows) - filtered.unusable_count)} had a verdict"
        f"{missing if filtered.unusable_count else ''}.{_repeats_text(filtered)} Intervals are 95"
        f"{NARROW_SPACE}% and treat items as clusters."
    )
    end = _simulated_judges_text(filtered.study, judges), _twins_text(filtered)
    start = " ".join(part for part in (start, *end) if part)
    if not has_pass_fail_verdicts(filtered):
        return (
            f"{start} Arrangements (orders of options and criteria) are compared on the same "
            "answers."
        )
    if all(is_by_labels(one.true_pass_rate) for one in load_pass_fail(filtered).results.values()):
        return f"{start} Every answer has a pass/fail label; the labels give the true pass rate."
    return (
        f"{start} The true pass rate uses labels where they exist. Elsewhere it is estimated by "
        "the method of Rogan and Gladen, with the confidence limits of Lang and Reiczigel. This "
        "method assumes equal error rates on labelled and unlabelled answers."
    )


def metrics_command(filtered: FilteredStudy) -> str:
    """The shell command that prints all numbers of the study as JSON; it has to be run in the
    folder of the study's store."""
    store = filtered.store.path.name
    return f"python -m metrics {_shell_quote(store)} --study {_shell_quote(filtered.name)} --json"


def metrics_command_title(filtered: FilteredStudy, numbers: str) -> str:
    """Title above the command of `metrics_command`: "Command that computes …", with the words
    `numbers`; if filters are set, a title that says that the command does not apply them."""
    if filtered.filter != Filter():
        return "Command for the whole study (filters do not apply)"
    return f"Command that computes {numbers}"


def _shell_quote(name: str) -> str:
    return "'" + name.replace("'", "'\\''") + "'"


def source_name(source: str) -> str:
    """Name of a data source for readers: a Hub dataset, or a file name without its folder."""
    if source.startswith("hub:"):
        return source
    return original_name(source.rstrip("/").replace("\\", "/"))


def _data_name_and_filters(filtered: FilteredStudy) -> str:
    """Name of the study's data, its sample and the filters. Several files stored together have no
    name of their own: the study's is used."""
    name = source_name(filtered.study.data.source)
    name = filtered.name if name.endswith("-files") else name
    return f"{name}{_data_sample_text(filtered)}{_filters_text(filtered)}"


def _filters_text(filtered: FilteredStudy) -> str:
    """Text on the filters in use, besides the judges and prompts, which the paragraph names."""
    return chosen_filters_text(filtered, ("category",))


def _data_sample_text(filtered: FilteredStudy) -> str:
    data = filtered.study.data
    if data.take == "first" and data.count and not data.per:
        return f" (the first {count(data.count, 'item')})"
    return f" (a seeded sample, seed {data.seed})" if data.count or data.per else ""


_OPTION_ORDER_TEXTS: Final = {
    "rotations": "all rotations, each option once in each position",
    "williams": "the orders of a Williams square: each option stands in each position, and "
    "directly after each other option, equally often",
    "all": "all permutations",
    "one": "one seeded order",
}


def _orders_text(filtered: FilteredStudy) -> str:
    options = (
        int(filtered.measured_judge_rows["options"].max())
        if len(filtered.measured_judge_rows)
        else 2
    )
    study, floor = filtered.study, _repeats_text(filtered)
    if study.labels == "crossed":
        floor = f" A random half of the comparisons had their labels in reverse order.{floor}"
    if options > 2:
        return f"Options were shown in {_OPTION_ORDER_TEXTS[study.option_orders]}.{floor}"
    shown = "both orders" if study.pair_orders == "both" else "one seeded order"
    return f"Each pair of answers was shown in {shown}.{floor}"


def _repeats_text(filtered: FilteredStudy) -> str:
    """Sentences on the repeated calls, each after a space; empty without repeats."""
    times = filtered.study.repeats
    text = f" Each call was made {times} times." if times > 1 else ""
    if again := int(filtered.measured_judge_rows["noise"].sum()):
        text += f" Repeated once more in the same order: {count(again, 'call')}."
    return text


def _unusable_counts_text(filtered: FilteredStudy) -> str:
    counts = filtered.measured_judge_rows["status"].value_counts()
    bad = [f"{n} {s}" for s, n in counts.items() if n and s not in USABLE_STATUSES]
    return f" ({', '.join(bad)})" if bad else ""


def _order_combination_sentence(filtered: FilteredStudy) -> str:
    rules = {
        "pooled": "The verdicts in different orders count separately.",
        "strict": "An answer wins a comparison if it wins in both orders; otherwise the "
        "comparison is a tie.",
        "majority": "An answer wins a comparison if it wins in both orders, or wins in one order "
        "and ties in the other.",
        "graded": "The mean score of both orders (label probabilities, levels or points) "
        "decides a comparison.",
    }
    combine = filtered.rule[0]
    return (
        rules.get(combine) or f"The rule that combines verdicts is: {combine_rule_text(combine)}."
    )


def _count_and_names_text(names: Sequence[str], noun: str) -> str:
    shown = [name.removeprefix(HUMAN_PREFIX) for name in names]
    if len(shown) > 6:
        return count(len(shown), noun)
    return f"{count(len(shown), noun)} ({', '.join(shown)})"
