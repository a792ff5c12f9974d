"""Does this study say anything new? Its scores beside those of other benchmarks, same models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from components.charts import Figure
from components.drawing import matrix as heat
from components.drawing.grid import Style
from components.drawing.panels import empty, notice, wrap
from components.drawing.scatter import Cloud, clouds
from components.drawing.still import Still, still_matrix, strip
from components.format import count, number, rich
from components.protocol.creation import models
from components.protocol.ratings import rating_rows
from components.protocol.sections import protocols_of
from components.scene import Scene
from metrics.bradley_terry import leaderboards
from metrics.preference import ratings
from metrics.redundancy import Redundancy, benchmark_scores, redundancy, with_study
from studies.records import Estimate

Scores = Mapping[str, Mapping[str, float]]
"""benchmark -> model -> score"""

MEASURES: Final[dict[str, heat.Scale]] = {
    "Spearman": heat.Scale("Spearman", "b", 1, 0, ("1.00 the same ranking", "0"), 2, 1, ""),
    "R²": heat.Scale("R²", "b", 1, 0, ("1.00 the same up to a line", "0"), 2, 1, ""),
}
MOST_BYTES: Final = 2_000_000
SEED: Final = 20_24
_TWO: Final = Style(2)


class BadScores(ValueError):
    """An uploaded table that cannot be used, and why."""


def read_scores(path: Path) -> dict[str, dict[str, float]]:
    """benchmark -> model -> score from an uploaded CSV; what is wrong is named with its row."""
    if path.stat().st_size > MOST_BYTES:
        raise BadScores(f"{path.name} is larger than {count(MOST_BYTES)} bytes: a table of scores "
                        "has a line for each model and benchmark")  # fmt: skip
    try:
        table = pd.read_csv(path, dtype=str, skipinitialspace=True, encoding="utf-8-sig")
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise BadScores(f"{path.name} is no CSV in UTF-8: {str(error).splitlines()[0]}") from None
    try:
        return benchmark_scores(table.rename(columns=lambda name: str(name).strip().lower()))
    except ValueError as error:
        raise BadScores(f"{path.name}: {error}") from None


def own_scores(scene: Scene) -> tuple[str, dict[str, Estimate]]:
    """What the study itself says of its models: Reward, Bradley–Terry rating, or mean rating."""
    kinds = protocols_of(scene)
    if "five-level" in kinds:
        found = {row.model: row.reward for row in models(scene)}
        return "Reward", found
    if "pairwise" in kinds:
        boards = leaderboards(scene.outcomes) if len(scene.outcomes) else []
        return "rating", {n: e for board in boards for n, e in board.ratings.items()}
    if "single" in kinds:
        rows = rating_rows(scene)
        return "mean rating", ratings(rows) if len(rows) else {}
    return "", {}


def compared(scene: Scene, scores: Scores) -> Redundancy | None:
    """The study and the uploaded benchmarks, every two of them; None without own scores."""
    kind, own = own_scores(scene)
    if not own:
        return None
    whole = with_study(own, scores, f"this study ({kind})")
    return redundancy(whole, np.random.default_rng(SEED))


def show_matrix(scene: Scene, scores: Scores | None, measure: str) -> str:
    if not scores:
        return empty(
            "No other benchmark yet.",
            "Upload a CSV with the columns `model, benchmark, score`: models named as in this "
            "study. High correlations say that the study ranks models as others do.",
        )
    found = compared(scene, scores)
    if found is None:
        return empty(
            "This study gives its models no score.",
            "Reward, ratings or win rates are compared; options without authors have none.",
        )
    scale = MEASURES[measure]
    table = found.spearman if measure == "Spearman" else found.r2
    cells: dict[tuple[str, str], Still | None] = {}
    for one in found.benchmarks:
        for two, got in table[one].items():
            said = f"{one} and {two}", f"{count(got.n)} models in common"
            lines = (*said, got.note) if got.note else said
            cells[one, two] = Still.of(got, scale, *lines)
    names = [(name, "") for name in found.benchmarks]
    drawn = still_matrix(found.benchmarks, names, cells, scale, small=False, label_width=168)
    return wrap(_unmatched(found), drawn, strip(scale))


def _unmatched(found: Redundancy) -> str:
    """Models are matched by name, so a name that differs must be seen."""
    own = set(found.scores[found.benchmarks[0]])
    others = {model for name in found.benchmarks[1:] for model in found.scores[name]}
    common, missing = own & others, own - others
    if common:
        said = f"{count(len(common))} of {count(len(own), 'model')} are in the table"
        said += f"; not in it: {', '.join(sorted(missing)[:6])}." if missing else "."
        return f'<p class="eh-small">{rich(said)}</p>'
    told = f"The study has {', '.join(sorted(own)[:6])}; the table {', '.join(sorted(others)[:6])}."
    return notice("warn", "No model has the same name.", told)


def show_scatter(scene: Scene, scores: Scores | None) -> Figure | None:
    """The study against each benchmark: a point a model."""
    found = compared(scene, scores) if scores else None
    if found is None:
        return None
    own = found.benchmarks[0]
    plots = []
    for other in found.benchmarks[1:]:
        rho, r2 = found.spearman[own][other], found.r2[own][other]
        title = f"{other}: ρ {_said(rho)}, R² {number(r2.value, 2)}"
        plots.append(Cloud(found.points(other, own), other, own, title))
    return clouds(plots)


def _said(estimate: Estimate) -> str:
    return f"{number(estimate.value, 2)} {_TWO.bounds(estimate)}".strip()
