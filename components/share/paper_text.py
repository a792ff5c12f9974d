"""For a paper: tables in LaTeX and Markdown, a methods paragraph, the command behind each number.

Everything is generated from the study and its numbers: nothing here is typed in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE, WITHOUT_SUSPECTS, row_names
from components.html.format import count, number, share
from metrics.position.position_measures import position_profile
from metrics.ratings.bradley_terry import fit_leaderboards
from metrics.win_rates.win_rates import win_rate
from studies.domain import HUMAN_PREFIX, USABLE_STATUSES, Estimate

_LATEX_ESCAPES: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "\u2212": "$-$", "\u202f": r"\,", "\u2013": "--", "≥": r"$\ge$",
    }
)  # fmt: skip
EMPTY_CELL: Final = "–"
TABLE_NAMES: Final = ("Position bias", "Ranking", "Win rates")


@dataclass(frozen=True, slots=True)
class PaperTable:
    """What a table says, before any markup."""

    name: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def paper_tables(scene: FilteredStudy) -> dict[str, PaperTable]:
    """The tables this study has numbers for, by name."""
    made = (make(scene) for make in TABLE_MAKERS)
    return {table.name: table for table in made if table is not None and table.rows}


def position_table(scene: FilteredStudy) -> PaperTable | None:
    """One line a judge and prompt: what the order of the answers does."""
    frame = scene.machines
    if frame.empty:
        return None
    found = position_profile(frame, ["judge", "prompt"])
    rows = []
    for key, name in row_names(frame).items():
        cell = found[key]
        rows.append(
            (name, *_percent_cells(cell["consistency"]), *_percent_cells(cell["first_share"]),
             _decimal_cell(cell["entropy"]), *_percent_cells(cell["noise_floor"]),
             count(cell["consistency"].n))
        )  # fmt: skip
    caption = (
        f"Position bias on {scene.name}: % of comparisons whose verdict survives a new order, % of "
        "decisive verdicts for the answer shown first, entropy of the slot chosen (1 is even), % "
        f"of verdicts that change without any swap (noise floor). {_slice_text(scene)} 95 % intervals "
        "over items; n comparisons read in all orders."
    )
    head = ("Judge", "Consistency", "95 % CI", "First", "95 % CI", "Entropy", "Noise", "95 % CI",
            "n")  # fmt: skip
    return PaperTable("Position bias", caption, head, tuple(rows))


def ranking_table(scene: FilteredStudy) -> PaperTable | None:
    """Bradley–Terry on the Elo scale with ranks as ranges."""
    pairs = scene.outcomes[scene.outcomes["options"] == 2]
    if pairs.empty:
        return None
    rates = win_rate(pairs)  # of the battles that are ranked, as on the page
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
    combine, unreadable = scene.rule
    caption = (
        f"Ranking on {scene.name}: Bradley–Terry on the Elo scale with 95 % intervals over items, "
        "ranks as the ranges that the intervals of differences allow, and win rates (ties as "
        f"half). Rule for both orders: {combine}; unreadable replies: {unreadable}. {_slice_text(scene)}"
    )
    head = ("Rank", "Model", "Rating", "95 % CI", "Win rate", "95 % CI", "Battles")
    return PaperTable("Ranking", caption, head, tuple(rows))


def wins_table(scene: FilteredStudy) -> PaperTable | None:
    """Win rates by contestant, for options too."""
    if scene.machines.empty:
        return None
    rates = win_rate(scene.machines, *scene.rule)
    rows = tuple((name, *_percent_cells(e), count(e.n)) for name, e in rates.items() if e.n)
    caption = (
        f"Win rates on {scene.name}: (wins + ties/2) / readable verdicts, 95 % Wilson intervals at "
        f"the effective n. {_slice_text(scene)}"
    )
    return PaperTable("Win rates", caption, ("Model", "Win rate", "95 % CI", "n"), rows)


TABLE_MAKERS: Final[tuple[Callable[[FilteredStudy], PaperTable | None], ...]] = (
    position_table,
    ranking_table,
    wins_table,
)


def latex_table(table: PaperTable) -> str:
    """A booktabs table, its caption under it."""
    columns = "".join("r" if numeric else "l" for numeric in _numeric_columns(table))
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    lines += [_latex_row(table.head), r"\midrule"]
    lines += [_latex_row(row) for row in table.rows]
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{_escape_latex(table.caption)}}}"]
    return "\n".join([*lines, r"\end{table}"])


def markdown_table(table: PaperTable) -> str:
    """A pipe table; numbers to the right."""
    rule = ["---:" if numeric else "---" for numeric in _numeric_columns(table)]
    lines = [
        _markdown_row(table.head),
        "|" + "|".join(rule) + "|",
        *(_markdown_row(row) for row in table.rows),
    ]
    return "\n".join([*lines, "", table.caption])


def _numeric_columns(table: PaperTable) -> list[bool]:
    """Which columns hold numbers: those stand to the right."""
    plain = str.maketrans("", "", "0123456789.,[]–\u2212 ")
    return [all(not row[i].translate(plain) for row in table.rows) for i in range(len(table.head))]


def _markdown_row(cells: Sequence[str]) -> str:
    safe = (cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for cell in cells)
    return "| " + " | ".join(safe) + " |"


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(_escape_latex(cell) for cell in cells) + r" \\"


def _escape_latex(text: str) -> str:
    return text.translate(_LATEX_ESCAPES).replace("\n", " ")


# ---------------------------------------------------------------------------------- in words


def methods_paragraph(scene: FilteredStudy) -> str:
    """A methods paragraph: what was asked of whom, what was not read, how intervals were made."""
    study, frame = scene.study, scene.machines
    judges = sorted(str(name) for name in frame["judge"].unique())
    prompts = sorted(str(name) for name in frame["prompt"].unique())
    readable = int(frame["status"].isin(list(USABLE_STATUSES)).sum())
    parts = [
        f"{_list_names(judges, 'judge')} {'was' if len(judges) == 1 else 'were'} asked with "
        f"{_list_names(prompts, 'prompt')} about {count(frame['item'].nunique(), 'item')} of "
        f"{source_name(study.data.source)}{_sample_text(scene)}.",
        f"{_orders_text(scene)} {count(len(frame), 'reply')} came back, {count(readable)} of them "
        f"readable{_failures_text(scene)}; a reply without a readable verdict is no evidence and was "
        f"{'counted as a tie' if scene.rule[1] == 'tie' else 'left out, never counted as a tie'}.",
        _combination_text(scene),
        "Intervals are 95 % and treat items as clusters: Wilson intervals at the effective sample "
        "size for shares, an item sandwich for Bradley–Terry ratings and the position term.",
    ]
    simulated = [judge.name for judge in study.judges if judge.kind == "simulated"]
    if simulated:
        parts.append(f"{_list_names(simulated, 'judge')}: simulated, with known parameters.")
    return " ".join(part for part in parts if part)


def metrics_command(scene: FilteredStudy, store_name: str = "evenhand.db") -> str:
    """What prints the same numbers again, with every seed in it."""
    return f"python -m metrics {store_name} --study {_shell_quote(scene.name)} --json"


def _shell_quote(name: str) -> str:
    return "'" + name.replace("'", "'\\''") + "'"


def source_name(source: str) -> str:
    """What a reader may know of where the records lay: a set's name or a file's, never a folder."""
    return source if source.startswith("hub:") else re.split(r"[/\\\\]", source.rstrip("/"))[-1]


def _sample_text(scene: FilteredStudy) -> str:
    data = scene.study.data
    return f" (a seeded sample, seed {data.seed})" if data.count or data.per else ""


def _orders_text(scene: FilteredStudy) -> str:
    options = int(scene.machines["options"].max()) if len(scene.machines) else 2
    study = scene.study
    floor = ""
    if study.noise_floor:
        floor = f" {share(study.noise_floor, 0)} of the asks were repeated in the same order."
    if options > 2:
        return f"Options were shown in {study.option_orders}.{floor}"
    shown = "both orders" if study.pair_orders == "both" else "one seeded order"
    crossed = ", labels crossed with places" if study.labels == "crossed" else ""
    return f"Each pair of answers was shown in {shown}{crossed}.{floor}"


def _failures_text(scene: FilteredStudy) -> str:
    counts = scene.machines["status"].value_counts()
    bad = [f"{n} {s}" for s, n in counts.items() if n and s not in USABLE_STATUSES]
    return f" ({', '.join(bad)})" if bad else ""


def _combination_text(scene: FilteredStudy) -> str:
    told = {
        "pooled": "Every readable verdict of each order counts.",
        "strict": "A comparison is won if both orders name the same answer, else it is a tie.",
        "majority": "A comparison is won by a win and a tie, or two wins, over its orders.",
    }
    return told[scene.rule[0]]


def _slice_text(scene: FilteredStudy) -> str:
    """What the filters leave, said in the caption so that a table cannot be misread."""
    chosen = [v for v in (scene.filter.judge, scene.filter.prompt, scene.filter.category)
              if v != ALL_CHOICE]  # fmt: skip
    chosen += list(scene.filter.contestants)
    items = count(scene.frame["item"].nunique(), "item")
    less = scene.filter.suspects == WITHOUT_SUSPECTS
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
