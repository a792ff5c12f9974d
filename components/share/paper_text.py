"""Texts for a paper, generated from a study: tables in LaTeX and Markdown, a methods paragraph, and
the command that prints the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import (
    ALL_CHOICE,
    WITHOUT_SUSPECTS,
    combine_text,
    row_names,
    rule_text,
)
from components.html.format import count, number, share
from components.results.remedies.computed import load_remedies
from metrics.agreement.pairwise_agreement import agreement_among_people
from metrics.position.position_measures import position_profile
from metrics.ratings.bradley_terry import fit_leaderboards
from metrics.remedies.recommendation import points
from metrics.remedies.rule_names import rule_words
from metrics.win_rates.win_rates import win_rate
from studies.domain import HUMAN_PREFIX, USABLE_STATUSES, Estimate
from studies.files.upload_names import original_name

_LATEX_ESCAPES: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "\u2212": "$-$", "\u202f": r"\,", "\u2013": "--", "≥": r"$\ge$",
    }
)  # fmt: skip
EMPTY_CELL: Final = "–"
TABLE_NAMES: Final = ("Position bias", "Agreement", "Ranking", "Win rates", "Remedies")


@dataclass(frozen=True, slots=True)
class PaperTable:
    """The texts of a table, without any markup."""

    name: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def paper_tables(view: FilteredStudy) -> dict[str, PaperTable]:
    """All tables that have at least one row, by name."""
    made = (make(view) for make in TABLE_MAKERS)
    return {table.name: table for table in made if table is not None and table.rows}


def position_table(view: FilteredStudy) -> PaperTable | None:
    """Table of position bias, one row for each judge and prompt."""
    frame = view.machines
    if frame.empty or view.has_only_people:
        return None
    found = position_profile(frame, ["judge", "prompt"])
    rows = []
    for key, name in row_names(frame).items():
        cell = found[key]
        rows.append(
            (
                name,
                *_percent_cells(cell["consistency"]),
                *_percent_cells(cell["first_share"]),
                _decimal_cell(cell["entropy"]),
                *_percent_cells(cell["noise_floor"]),
                count(cell["consistency"].n),
            )
        )
    caption = (
        f"Position bias on {view.name}: % of comparisons with the same verdict in every order "
        "(consistency), % of decisive verdicts for the answer shown first, entropy of the chosen "
        "slot (1 is even), % of verdicts that change when a call is repeated in the same order "
        f"(noise floor). {_slice_text(view)} 95 % intervals over items; n: comparisons with a "
        "readable verdict in every order."
    )
    head = (
        *("Judge", "Consistency", "95 % CI", "First", "95 % CI"),
        *("Entropy", "Noise", "95 % CI", "n"),
    )
    return PaperTable("Position bias", caption, head, tuple(rows))


def people_table(view: FilteredStudy) -> PaperTable | None:
    """Table of agreement among people, for a study without model judges."""
    if not view.has_only_people:
        return None
    found = agreement_among_people(view.filter.apply(view.stored_frame))
    measures = (
        ("Two people agree", found.pair.share),
        ("Two people agree, without ties", found.pair.decisive),
        ("A person and the majority of the others", found.others.share),
    )
    rows = [(name, *_percent_cells(got), count(got.n)) for name, got in measures if got.n]
    alpha = found.pair.alpha
    if alpha.value is not None:
        rows.append(
            ("Krippendorff's α", _decimal_cell(alpha), _interval_cell(alpha, 1, 2), count(alpha.n))
        )
    caption = (
        f"Agreement among people on {view.name}: % of pairs of votes on the same two answers that "
        "are equal; α is corrected for chance. "
        f"{count(found.voters)} people. {_slice_text(view)} 95 % intervals over items."
    )
    return PaperTable("Agreement", caption, ("Agreement", "%", "95 % CI", "n"), tuple(rows))


def ranking_table(view: FilteredStudy) -> PaperTable | None:
    """Table of Bradley–Terry ratings on the Elo scale, with rank ranges."""
    pairs = view.outcomes[view.outcomes["options"] == 2]
    if pairs.empty:
        return None
    rates = win_rate(pairs)  # of the ranked battles only, as on the page
    rows = []
    for board in fit_leaderboards(pairs):
        for place, name in enumerate(board.names):
            rank, rating = board.ranks[name], board.ratings[name]
            rows.append(
                (
                    _rank_cell(rank.low, rank.high),
                    name,
                    number(rating.value),
                    _interval_cell(rating, 1, 0),
                    *_percent_cells(rates[name]),
                    count(int(board.matches[place])),
                )
            )
    caption = (
        f"Ranking on {view.name}: Bradley–Terry on the Elo scale with 95 % intervals over items, "
        "ranks as the ranges that the intervals of differences allow, and win rates (ties as "
        f"half). {rule_text(*view.rule)} "
        f"{_slice_text(view)}"
    )
    head = ("Rank", "Model", "Rating", "95 % CI", "Win rate", "95 % CI", "Battles")
    return PaperTable("Ranking", caption, head, tuple(rows))


def wins_table(view: FilteredStudy) -> PaperTable | None:
    """Table of the models' win rates, from pairs and from choices among several options."""
    if view.machines.empty:
        return None
    rates = win_rate(view.machines, *view.rule)
    rows = tuple((name, *_percent_cells(e), count(e.n)) for name, e in rates.items() if e.n)
    caption = (
        f"Win rates on {view.name}: (wins + ties/2) / readable verdicts, 95 % Wilson intervals at "
        f"the effective n. {rule_text(*view.rule)} {_slice_text(view)}"
    )
    return PaperTable("Win rates", caption, ("Model", "Win rate", "95 % CI", "n"), rows)


def remedies_table(view: FilteredStudy) -> PaperTable | None:
    """Table of remedies for the judge shown on the page, all on the same comparisons."""
    data = load_remedies(view)
    if data.cell is None:
        return None
    rows = tuple(
        (
            rule_words(line.rule).title,
            f"{line.rule.price:g}",
            *_percent_cells(line.agreement),
            EMPTY_CELL if line.adjusted is None else points(line.adjusted.value),
            EMPTY_CELL if line.adjusted is None else _interval_cell(line.adjusted, 100, 1),
            *(_percent_cells(one)[0] for one in (line.decided, line.right_when_decided)),
        )
        for line in data.table
        if line.complete
    )
    what = "the majority of people" if data.by_people else "known answers"
    caption = (
        f"Remedies for {data.judge} on {view.name}: % agreement with {what} (undecided counts "
        f"half) on the same {count(data.comparisons, 'comparison')}, difference to one call in "
        "points with intervals adjusted for all rules, % decided, % right when decided. "
        f"{_slice_text(view)}"
    )
    head = (
        "Rule",
        "Calls",
        "Agreement",
        "95 % CI",
        "Difference",
        "Adjusted CI",
        "Decided",
        "Right",
    )
    return PaperTable("Remedies", caption, head, rows)


TABLE_MAKERS: Final[tuple[Callable[[FilteredStudy], PaperTable | None], ...]] = (
    position_table,
    people_table,
    ranking_table,
    wins_table,
    remedies_table,
)


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
    return " & ".join(_escape_latex(cell) for cell in cells) + r" \\"


def _escape_latex(text: str) -> str:
    return text.translate(_LATEX_ESCAPES).replace("\n", " ")


# ---------------------------------------------------------------------------------- in words


def methods_paragraph(view: FilteredStudy) -> str:
    """Methods paragraph on a study: judges, prompts, items, orders, unusable replies, intervals."""
    study, frame = view.study, view.machines
    judges = sorted(str(name) for name in frame["judge"].unique())
    prompts = sorted(str(name) for name in frame["prompt"].unique())
    readable = int(frame["status"].isin(list(USABLE_STATUSES)).sum())
    if view.has_only_people:
        return _people_paragraph(view, readable)
    parts = [
        f"{_list_names(judges, 'judge')} judged, with {_list_names(prompts, 'prompt')}, the "
        f"answers to {count(frame['item'].nunique(), 'item')} of "
        f"{source_name(study.data.source)}{_sample_text(view)}.",
        f"{_orders_text(view)} Of {count(len(frame), 'reply')}, {count(readable)} had a readable "
        f"verdict{_failures_text(view)}; replies without one were "
        f"{'counted as ties' if view.rule[1] == 'tie' else 'left out, not counted as ties'}.",
        _combination_text(view),
        "Intervals are 95 % and treat items as clusters: Wilson intervals at the effective sample "
        "size for shares, a sandwich variance over items for Bradley–Terry ratings and the "
        "position term.",
    ]
    simulated = [judge.name for judge in study.judges if judge.kind == "simulated"]
    if simulated:
        verb = "is" if len(simulated) == 1 else "are"
        parts.append(f"{_list_names(simulated, 'judge')} {verb} simulated, with known parameters.")
    return " ".join(part for part in parts if part)


def _people_paragraph(view: FilteredStudy, votes: int) -> str:
    """Methods paragraph on a study with people's votes only, without model judges."""
    people = count(view.filter.apply(view.stored_frame)["judge"].nunique())
    items = count(view.frame["item"].nunique(), "item")
    return (
        f"{people} people cast {count(votes, 'vote')} on the answers to {items} of "
        f"{source_name(view.study.data.source)}{_sample_text(view)}. Only the first vote of a "
        "person on a pair enters the agreement. Intervals are 95 % and treat items as clusters: "
        "Wilson intervals at the effective sample size for shares, a sandwich variance over items "
        "for Bradley–Terry ratings."
    )


def metrics_command(view: FilteredStudy, store_name: str = "evenhand.db") -> str:
    """The shell command that prints all numbers of the study as JSON."""
    return f"python -m metrics {store_name} --study {_shell_quote(view.name)} --json"


def _shell_quote(name: str) -> str:
    return "'" + name.replace("'", "'\\''") + "'"


def source_name(source: str) -> str:
    """The name of a data source as shown to readers: a Hub dataset, or a file name without its
    folder."""
    if source.startswith("hub:"):
        return source
    return original_name(source.rstrip("/").replace("\\", "/"))


def _sample_text(view: FilteredStudy) -> str:
    data = view.study.data
    return f" (a seeded sample, seed {data.seed})" if data.count or data.per else ""


_OPTION_ORDER_TEXTS: Final = {
    "rotations": "all rotations, each option once in each position",
    "williams": "the orders of a Williams square, each option also directly after every other",
    "all": "all permutations",
    "one": "one seeded order",
}


def _orders_text(view: FilteredStudy) -> str:
    options = int(view.machines["options"].max()) if len(view.machines) else 2
    study = view.study
    floor = ""
    if study.repeats > 1:
        floor = f" Each call was made {study.repeats} times."
    if study.noise_floor:
        floor += f" {share(study.noise_floor, 0)} of the calls were repeated in the same order."
    if options > 2:
        return f"Options were shown in {_OPTION_ORDER_TEXTS[study.option_orders]}.{floor}"
    shown = "both orders" if study.pair_orders == "both" else "one seeded order"
    crossed = ", with both assignments of labels to positions" if study.labels == "crossed" else ""
    return f"Each pair of answers was shown in {shown}{crossed}.{floor}"


def _failures_text(view: FilteredStudy) -> str:
    counts = view.machines["status"].value_counts()
    bad = [f"{n} {s}" for s, n in counts.items() if n and s not in USABLE_STATUSES]
    return f" ({', '.join(bad)})" if bad else ""


def _combination_text(view: FilteredStudy) -> str:
    rules = {
        "pooled": "Every readable verdict of each order counts.",
        "strict": "A comparison is won if both orders name the same answer, else it is a tie.",
        "majority": "A comparison is won with two wins, or a win and a tie, over its orders.",
        "graded": "The mean graded score of both orders (label probabilities, margins or points) "
        "decides a comparison.",
    }
    combine = view.rule[0]
    return rules.get(combine) or f"The rule for a comparison is: {combine_text(combine)}."


def _slice_text(view: FilteredStudy) -> str:
    """Text on the filters in use and the number of items, for captions."""
    filters = (view.filter.judge, view.filter.prompt, view.filter.category)
    chosen = [value for value in filters if value != ALL_CHOICE]
    chosen += list(view.filter.contestants)
    items = count(view.frame["item"].nunique(), "item")
    less = view.filter.suspects == WITHOUT_SUSPECTS
    left_out = ", without injection suspects" if less else ""
    return f"{items}{', ' + ', '.join(chosen) + ' only' if chosen else ''}{left_out}."


def _list_names(names: Sequence[str], noun: str) -> str:
    shown = [name.removeprefix(HUMAN_PREFIX) for name in names]
    if len(shown) > 6:
        return count(len(shown), noun)
    return f"{count(len(shown), noun)} ({', '.join(shown)})"


def _percent_cells(estimate: Estimate) -> tuple[str, str]:
    if estimate.value is None:
        return EMPTY_CELL, ""
    return number(100 * estimate.value, 1), _interval_cell(estimate, 100, 1)


def _decimal_cell(estimate: Estimate) -> str:
    return EMPTY_CELL if estimate.value is None else number(estimate.value, 2)


def _interval_cell(estimate: Estimate, scale: float, decimals: int) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = (number(scale * bound, decimals) for bound in (estimate.low, estimate.high))
    return f"[{low}, {high}]"


def _rank_cell(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"
