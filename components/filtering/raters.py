"""The raters of a study: every combination of judge and prompt, and the people."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE, Filter, rater_column_head, rater_names
from components.filtering.memo import memoise_by_study
from metrics.estimation import row_selection
from metrics.remedies import remedy_study
from metrics.remedies.known_winners import PEOPLE as PEOPLES_MAJORITY
from metrics.summary.remedy_section import RemedyInputs, study_of_inputs
from metrics.summary.study_inputs import read_remedy_inputs
from studies.domain import BY_DESIGN, Estimate
from studies.frames.frame import has_known_answers
from studies.frames.known_answers import KnownAnswerSource
from studies.lazy_values import cached_property


@dataclass(frozen=True)
class Raters:
    """The rows of a filtered study, grouped by rater: a judge with one prompt, or a person. A judge
    with two prompts is two raters. The filters on judge and prompt do not remove people, since
    people have no prompt. In `frame` the column `judge` holds the rater's name."""

    filtered: FilteredStudy

    @cached_property
    def names(self) -> dict[str, tuple[str, str]]:
        """Rater's name -> (judge, prompt). Names are made from the whole study, so that links stay
        valid when filters change."""
        return {
            name: (judge, prompt)
            for (judge, prompt), name in rater_names(self._unfiltered_model_judge_rows).items()
        }

    @property
    def column_head(self) -> str:
        return rater_column_head(self.names.values())

    @cached_property
    def _unfiltered_model_judge_rows(self) -> pd.DataFrame:
        return row_selection.select_rows(
            self.filtered.whole_frame_by_person,
            ~row_selection.people_mask(self.filtered.whole_frame_by_person),
        )

    @cached_property
    def rows(self) -> pd.DataFrame:
        """Rows of model judges that pass all filters, and rows of people that pass all filters
        except judge and prompt."""
        chosen = self.filtered.filter
        rows = self.filtered.of_all_raters.frame_by_person
        people = row_selection.people_mask(rows)
        machine = ~people
        for column in ("judge", "prompt"):
            value = getattr(chosen, column)
            if value != ALL_CHOICE:
                machine &= (rows[column] == value).to_numpy()
        return row_selection.select_rows(rows, people | machine)

    @cached_property
    def frame(self) -> pd.DataFrame:
        rows = self.rows
        rater, raters = row_selection.group_codes(rows, ("judge", "prompt"))
        first = rows.iloc[row_selection.first_row_per_group(rater, raters)]
        names_by_rater = {rater: name for name, rater in self.names.items()}
        named = [
            names_by_rater.get((judge, prompt), judge)
            for judge, prompt in zip(
                first["judge"].astype(str), first["prompt"].astype(str), strict=True
            )
        ]
        known = sorted(set(named))
        code = np.array([known.index(name) for name in named], np.int64)
        return rows.assign(judge=pd.Categorical.from_codes(code[rater], pd.Index(known)))

    @cached_property
    def rows_of_model_judges(self) -> pd.DataFrame:
        return row_selection.select_rows(self.frame, ~row_selection.people_mask(self.frame))

    @cached_property
    def filtered_rater_names(self) -> list[str]:
        """Names of the raters, without people, that have rows after filtering, in the order of
        `names`."""
        present = set(self.rows_of_model_judges["judge"].astype(str).unique())
        return [name for name in self.names if name in present]

    @property
    def has_people(self) -> bool:
        return bool(row_selection.people_mask(self.rows).any())

    @property
    def missing_votes_text(self) -> str:
        """Sentence on why no verdict of the judges shown is compared with votes."""
        if self.has_people:
            return "No vote is on a comparison on which a judge shown has a verdict."
        hidden = row_selection.people_mask(self.filtered.whole_frame_by_person).any()
        return "No vote passes the filters." if hidden else "No votes on these comparisons yet."

    @property
    def yet_or_under_filters_text(self) -> str:
        """Last words of a sentence such as "No verdicts …": "yet" without filters, else "under
        these filters"."""
        return "yet" if self.filtered.filter == Filter() else "under these filters"

    @cached_property
    def known_answer_source(self) -> KnownAnswerSource:
        """Source of the known better answers: the "design" of the data, the votes of "people", or
        "none" if no better answer is known."""
        return known_answer_source(self.filtered) if has_known_answers(self.rows) else "none"

    @cached_property
    def temperatures(self) -> Mapping[str, float | None]:
        """Judge -> temperature in the study file; None where the file names none."""
        return {judge.name: judge.temperature for judge in self.filtered.study.judges}

    @property
    def remedies(self) -> remedy_study.RemedyStudy:
        """The study's remedies (rules that decide a comparison from several stored verdicts),
        compared over all judges and prompts; the other filters apply."""
        return load_remedies_of_all_raters(self.filtered)[0]

    @property
    def call_agreement(self) -> dict[tuple[str, str], Estimate]:
        """(judge, prompt) -> how often one call agrees with the known better answers, or with the
        majority of people; filters on judge and prompt have no effect."""
        return one_call_agreement_of_all_raters(self.filtered)

    def rows_of_rater(self, rater: str) -> pd.DataFrame:
        return row_selection.select_rows(self.frame, np.asarray(self.frame["judge"] == rater))


@memoise_by_study
def _read_remedy_judges_and_prices(whole: FilteredStudy) -> RemedyInputs:
    """Facts that the comparison of remedies (rules that decide a comparison from several stored
    verdicts) needs besides the verdicts, such as judges and prices per call. `whole`: the study
    without filters, so that the facts are cached once for all filters."""
    return read_remedy_inputs(whole.store, whole.name)


@memoise_by_study
def _remedy_study_and_inputs(
    filtered: FilteredStudy,
) -> tuple[remedy_study.RemedyStudy, RemedyInputs]:
    inputs = _read_remedy_judges_and_prices(FilteredStudy(filtered.store, filtered.name))
    frame = filtered.frame_by_person
    return study_of_inputs(frame, inputs), inputs


def load_remedies_of_all_raters(
    filtered: FilteredStudy,
) -> tuple[remedy_study.RemedyStudy, RemedyInputs]:
    """The comparison of the study's remedies (rules that decide a comparison from several stored
    verdicts), and the inputs from which it is computed. Filters on judge and prompt have no effect:
    a judge that they hide can still be a member of a jury (several judges that decide together)."""
    return _remedy_study_and_inputs(filtered.of_all_raters)


def call_credits_of_all_raters(filtered: FilteredStudy) -> pd.DataFrame:
    """The judgements that pass all filters except judge and prompt, with one more column CREDIT: 1
    if the verdict is for the known better answer, ½ if the verdict is a tie, 0 if it is for the
    other answer. It is nan for judgements without credit, such as those on other comparisons."""
    frame = filtered.of_all_raters.frame_by_person
    return remedy_study.add_call_credits(frame, load_remedies_of_all_raters(filtered)[0])


@memoise_by_study
def one_call_agreement_of_all_raters(filtered: FilteredStudy) -> dict[tuple[str, str], Estimate]:
    """(judge, prompt) -> agreement of one call with the majority of people, or with the known
    better answers; an undecided verdict counts half. Filters on judge and prompt have no effect.
    All views quote this number."""
    return remedy_study.estimate_call_agreement(call_credits_of_all_raters(filtered))


def is_agreement_with_people(filtered: FilteredStudy) -> bool:
    """Whether `one_call_agreement_of_all_raters` compares with the majority of people; if not, it
    compares with answers that are better by the design of the data."""
    return load_remedies_of_all_raters(filtered)[0].call_grid.source == PEOPLES_MAJORITY


@memoise_by_study
def known_answer_source(filtered: FilteredStudy) -> KnownAnswerSource:
    """Source of the known better answers: "people" if only votes of people name them, else "design"
    (also if no better answer is known). The page calls a verdict "correct" only with "design"."""
    items = filtered.store.item_facts(filtered.name).values()
    sources = {judge for facts in items for judge, *_ in facts["human"]}
    return "people" if sources - {BY_DESIGN} and BY_DESIGN not in sources else "design"


def rater_filters(raters: Raters, rater: str) -> dict[str, str]:
    """The filters {"judge": …, "prompt": …} that a click on a rater's point or bar sends; empty
    texts for people."""
    judge, prompt = raters.names.get(rater, ("", ""))
    return {"judge": judge, "prompt": prompt}
