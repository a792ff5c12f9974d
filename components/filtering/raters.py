"""Who speaks in a study, as one list: each judge with each prompt, and the people beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE, row_names
from components.filtering.memo import memoise_by_study
from metrics.estimation import row_selection
from studies.domain import BY_DESIGN

NO_VOTES: Final = "No votes by people yet."
ACCURACY_LABEL: Final = "Right on known pairs"
TruthSource = Literal["design", "people", "none"]


@dataclass(frozen=True)
class Raters:
    """The rows a scene's filters leave, with people whatever judge or prompt is chosen.

    People have no prompt of ours: a filter for one would silence them. In `frame` the column
    `judge` names the voice, so that one judge with two prompts is two voices.
    """

    filtered_study: FilteredStudy

    @cached_property
    def names(self) -> dict[str, tuple[str, str]]:
        """voice -> (judge, prompt); named over the whole study, so that links stay valid."""
        return {name: cell for cell, name in row_names(self._judges).items()}

    @cached_property
    def _judges(self) -> pd.DataFrame:
        """Judges that are no people, who are voices of their own kind here."""
        return row_selection.select_rows(
            self.filtered_study.stored_frame,
            ~row_selection.people_mask(self.filtered_study.stored_frame),
        )

    @cached_property
    def rows(self) -> pd.DataFrame:
        """Machines through all filters, people through those that are about answers."""
        chosen = self.filtered_study.filter
        rows = replace(chosen, judge=ALL_CHOICE, prompt=ALL_CHOICE).apply(
            self.filtered_study.stored_frame
        )
        kept = row_selection.people_mask(rows)
        machine = ~kept
        for column in ("judge", "prompt"):
            value = getattr(chosen, column)
            if value != ALL_CHOICE:
                machine &= (rows[column] == value).to_numpy()
        return row_selection.select_rows(rows, kept | machine)

    @cached_property
    def frame(self) -> pd.DataFrame:
        rows = self.rows
        cell, cells = row_selection.group_codes(rows, ("judge", "prompt"))
        first = rows.iloc[row_selection.first_rows(cell, cells)]
        by_cell = {cell: name for name, cell in self.names.items()}
        named = [
            by_cell.get((judge, prompt), judge)
            for judge, prompt in zip(
                first["judge"].astype(str), first["prompt"].astype(str), strict=True
            )
        ]
        known = sorted(set(named))
        place = np.array([known.index(name) for name in named], np.int64)
        return rows.assign(judge=pd.Categorical.from_codes(place[cell], known))

    @cached_property
    def machines(self) -> pd.DataFrame:
        return row_selection.select_rows(self.frame, ~row_selection.people_mask(self.frame))

    @cached_property
    def in_view(self) -> list[str]:
        """Voices with rows in view, in the order of the names."""
        here = set(self.machines["judge"].astype(str).unique())
        return [name for name in self.names if name in here]

    @property
    def has_people(self) -> bool:
        return bool(row_selection.people_mask(self.rows).any())

    @cached_property
    def truth(self) -> TruthSource:
        """Where the better answer is known from: the design of the data, or people's votes."""
        known = self.rows["truth"].to_numpy() >= 0
        if not known.any():
            return "none"
        return truth_source(self.filtered_study)

    def of(self, voice: str) -> pd.DataFrame:
        """The rows of one voice."""
        return row_selection.select_rows(self.frame, np.asarray(self.frame["judge"] == voice))


@memoise_by_study
def truth_source(scene: FilteredStudy) -> TruthSource:
    """Whose word the better answer is, where it is known at all: a majority is no fact."""
    items = scene.store.item_facts(scene.name).values()
    said = {judge for facts in items for judge, *_ in facts["human"]}
    return "people" if said - {BY_DESIGN} and BY_DESIGN not in said else "design"


def accuracy_label(scene: FilteredStudy) -> str:
    """What a share of "right" verdicts is called: right by design, or what most people say."""
    return ACCURACY_LABEL if truth_source(scene) == "design" else "Sides with most people"


def rater_selection(voices: Raters, voice: str) -> dict[str, str]:
    """What a click on a voice's mark sends."""
    judge, prompt = voices.names.get(voice, ("", ""))
    return {"judge": judge, "prompt": prompt}
