"""Redundancy panel: correlation of a study's model scores with the scores of other benchmarks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from components.charts.figure_parts import Figure
from components.charts.scatter import ScatterPlot, scatter_figure
from components.filtering.filtered_study import FilteredStudy
from components.html import scales
from components.html.format import count, number
from components.html.heatmap import colour_scale_html
from components.html.markup import Markup, bold_and_code_html, fill
from components.html.pieces import empty_state, notice_html, wrap
from components.html.static_matrix import StaticCell, static_matrix
from components.html.tables.value_table import SCORE
from components.results.protocol.creation_panels import creation_mmbench_rows
from components.results.protocol.game_panels import load_rating_rows
from components.results.protocol.sections import study_protocols
from metrics.protocols import benchmark_correlations as benchmarks
from metrics.protocols.creation_levels import single_answer_ratings_by_prompt
from metrics.ratings.bradley_terry import connected_leaderboards
from studies.domain import Estimate

BenchmarkScores = Mapping[str, Mapping[str, float]]
"""Scores by benchmark, then by model."""

CORRELATION_SCALES: Final = {
    "Spearman": scales.score_scale("Spearman", 0, "1, same ranking", "0 or less", ""),
    "R²": scales.score_scale("R²", 0, "1, exact linear relation", "0", ""),
}
MAX_BYTES: Final = 2_000_000
SEED: Final = 20_24


class InvalidScores(ValueError):
    """An uploaded table of benchmark scores is not valid; the message gives the reason."""


def read_benchmark_scores(path: Path) -> dict[str, dict[str, float]]:
    """Read an uploaded CSV file of at most MAX_BYTES: benchmark -> model -> score. InvalidScores,
    with the reason, if it cannot be read."""
    if path.stat().st_size > MAX_BYTES:
        raise InvalidScores(
            f"{path.name} is larger than {count(MAX_BYTES)} bytes. "
            "Upload a file with one line per model and benchmark."
        )
    try:
        table = pd.read_csv(path, dtype=str, skipinitialspace=True, encoding="utf-8-sig")
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        why = str(error).partition("\n")[0]
        raise InvalidScores(f"{path.name} is not a CSV file in UTF-8: {why}") from None
    try:
        lower = table.rename(columns=lambda name: str(name).strip().lower())
        return benchmarks.benchmark_scores(lower)
    except ValueError as error:
        raise InvalidScores(f"{path.name}: {error}") from None


def study_scores_by_model(filtered: FilteredStudy) -> tuple[str, dict[str, Estimate]]:
    """(name of the score, model -> its score). The score is "Reward" for five-level verdicts,
    "rating" (Bradley–Terry) for pairwise verdicts, else "mean rating"; ("", {}) if models
    have no score. If several prompts ask for ratings, that with the most rated models is used,
    and the name of the score includes it."""
    kinds = study_protocols(filtered)
    if "five-level" in kinds:
        return "Reward", {row.model: row.reward for row in creation_mmbench_rows(filtered)}
    if "pairwise" in kinds:
        rows = filtered.counted_outcomes
        boards = connected_leaderboards(rows) if len(rows) else []
        return "rating", {n: e for board in boards for n, e in board.ratings.items()}
    if "single" in kinds:
        rows = load_rating_rows(filtered)
        rated = single_answer_ratings_by_prompt(rows) if len(rows) else {}
        if not rated:
            return "mean rating", {}
        prompt = max(rated, key=lambda name: len(rated[name].means))
        name = f"mean rating by {prompt}" if len(rated) > 1 else "mean rating"
        return name, rated[prompt].means
    return "", {}


def correlate_with_benchmarks(
    filtered: FilteredStudy, scores: BenchmarkScores
) -> benchmarks.BenchmarkCorrelations | None:
    """Correlations between the study's scores and the uploaded benchmarks; None if the study has no
    scores."""
    kind, own = study_scores_by_model(filtered)
    if not own:
        return None
    whole = benchmarks.add_study_as_benchmark(own, scores, f"this study ({kind})")
    return benchmarks.correlate_all_benchmarks(whole, np.random.default_rng(SEED))


def show_correlations(
    filtered: FilteredStudy, scores: BenchmarkScores | None, measure: str
) -> Markup:
    if not scores:
        return empty_state(
            "No other benchmarks yet.",
            "Upload a CSV with the columns `model`, `benchmark` and `score`; the models must have "
            "the names they have in this study. A high correlation means that the study and the "
            "benchmark rank the models alike.",
        )
    found = correlate_with_benchmarks(filtered, scores)
    if found is None:
        return empty_state(
            "This study has no scores of its models.",
            "Correlations with benchmarks need Reward, ratings or win rates of the models.",
        )
    scale = CORRELATION_SCALES[measure]
    table = found.spearman if measure == "Spearman" else found.r2
    cells: dict[tuple[str, str], StaticCell | None] = {}
    for one in found.benchmarks:
        for two, got in table[one].items():
            text = f"{one} and {two}", f"{count(got.n)} models in common"
            lines = (*text, got.note) if got.note else text
            cells[one, two] = StaticCell.from_estimate(got, scale, *lines)
    names = [(name, "") for name in found.benchmarks]
    drawn = static_matrix(found.benchmarks, names, cells, scale, small=False, label_width=168)
    return wrap(_unmatched_models_html(found), drawn, colour_scale_html(scale))


def _unmatched_models_html(found: benchmarks.BenchmarkCorrelations) -> Markup:
    """HTML: number of models named equally in study and benchmarks, and up to six names without a
    match; a warning if no name matches."""
    own = set(found.scores[found.benchmarks[0]])
    others = {model for name in found.benchmarks[1:] for model in found.scores[name]}
    common, missing = own & others, ", ".join(sorted(own - others)[:6])
    if not common:
        names = f"Study: {', '.join(sorted(own)[:6])}. Table: {', '.join(sorted(others)[:6])}. "
        text = f"{names}In the CSV, use this study's names of the models."
        return notice_html("warn", "No model name matches.", text)
    of = f"{count(len(common))} of {count(len(own), 'model')} of this study"
    end = f"; missing: {missing}." if missing else "."
    told = bold_and_code_html(f"{of} are in the uploaded table{end}")
    return fill('<p class="eh-small">{}</p>', told)


def show_scatter(filtered: FilteredStudy, scores: BenchmarkScores | None) -> Figure | None:
    """Scatter plots of the study's scores against each benchmark, one point per model; None without
    uploaded scores or scores of the study."""
    found = correlate_with_benchmarks(filtered, scores) if scores else None
    if found is None:
        return None
    own = found.benchmarks[0]
    plots = []
    for other in found.benchmarks[1:]:
        rho, r2 = found.spearman[own][other], found.r2[own][other]
        text = f"{number(rho.value, 2)} {SCORE.interval(rho)}".strip()
        title = f"{other}: ρ {text}, R² {number(r2.value, 2)}"
        plots.append(ScatterPlot(found.shared_scores(other, own), other, own, title))
    return scatter_figure(plots)
