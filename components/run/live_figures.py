"""Numbers and charts of a study while it runs. They are updated from the new rows only, and shared
by all visitors."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from components.charts.elo_chart import elo_curve_figure
from components.charts.figure_parts import Figure, empty_figure
from components.charts.run_charts import FirstSharePoint, live_first_share_figure, win_rate_figure
from components.html.markup import EMPTY, Markup
from judges.engine.pending_asks import CostQuote, QuoteCache
from judges.rendering.prompt import parse_prompt
from judges.verdicts.verdict_formats import PASS_FAIL_FORMAT
from metrics.catalogue.records import RECORDS
from metrics.estimation import row_selection
from metrics.position.first_slot_votes import anytime_valid_first_slot_share
from metrics.position.position_measures import (
    consistency,
    first_share,
    flip_share_from_consistency,
    noise_floor,
    slot_shares,
)
from metrics.ratings.online_elo import EloState, advance_elo
from metrics.win_rates.live_win_rates import live_win_rates
from studies.domain import Estimate
from studies.frames.frame import frame_from_rows
from studies.frames.point_columns import pass_fail_mask
from studies.frames.twin_rows import filter_rows_by_twins
from studies.store.queries.plan_queries import count_judge_asks_by_item
from studies.store.store import Store

MAX_SHARE_POINTS: Final = 120
MIN_ELO_BATTLES: Final = 100
"""Number of battles from which Elo curves are drawn; with fewer battles, ratings depend mostly on
the order of arrival."""


NO_VERDICT: Final = Estimate(None, note="no verdict yet")


@dataclass(frozen=True, slots=True)
class LiveFigures:
    """Numbers and charts of a study at one moment, computed from `rows` judgements. `share`:
    first-position share (share of verdicts for the answer shown first, ties left out). A chart that
    does not apply to the study is None."""

    rows: int
    share: Estimate
    options: int
    """Options per comparison; an even share is 1 / options."""
    share_figure: Figure | None
    elo_figure: Figure | None
    wins_figure: Figure | None
    sequence: Estimate = NO_VERDICT
    """Share of items with more verdicts for the first position than for the second, among items
    with unequal numbers of the two. Its interval is valid at every moment of a run."""
    changed: Estimate = NO_VERDICT
    """Share of comparisons judged in all orders whose verdict changes with the order."""
    repeats: Estimate = NO_VERDICT
    """Changes on a repeat: how often the verdict changes when the same call is repeated."""
    of_answers: tuple[str, Estimate] = ("", NO_VERDICT)
    """If single answers are judged: name and value of their pass rate, or else mean score."""

    @property
    def judges_single_answers(self) -> bool:
        return self.options == 1


MAX_FOLLOWED_ASKS: Final = 300_000
"""Maximum calls of a study whose live figures count all verdicts; in a larger study they count only
verdicts that arrive after the Run tab was opened."""
LIVE_SHARE: Final = 0.25
"""Share of the time that computing the live figures of all active runs may take together: other
readers of the page need the rest."""
ACTIVE_SECONDS: Final = 30.0
"""Seconds after its last figures during which a run counts as active for LIVE_SHARE."""
MAX_COMPARED_ROWS: Final = 50_000
"""Maximum verdicts for which the Run tab computes how often they change with the order or on a
repeat; with more, only the Results tab does."""


@dataclass(slots=True)
class SharedPace:
    """Divides the time for live figures (LIVE_SHARE) among the studies that are being watched."""

    _last: dict[str, float] = field(default_factory=dict)
    """Study -> time (of `time.monotonic`) at which its figures were last computed."""

    def rest_seconds(self, study: str, seconds: float, now: float) -> float:
        """Seconds for which the figures of a study are kept, if computing them took `seconds` until
        `now` (of `time.monotonic`)."""
        recent = {
            name: at for name, at in self._last.copy().items() if now - at < ACTIVE_SECONDS
        } | {study: now}
        self._last = recent
        return seconds * (len(recent) / LIVE_SHARE - 1)


@dataclass(slots=True)
class LiveStudy:
    """The live figures of one study. An update reads only the rows that arrived since the last one.
    All rows are read again in two cases: a call that was already counted got a new verdict, or a
    judge gives the first verdict in a study that had only people's votes."""

    store: Store
    study: str
    cursor: int = 0
    pace: SharedPace = field(default_factory=SharedPace)
    frame: pd.DataFrame | None = None
    elo: EloState = field(default_factory=EloState)
    _battles: list[int] = field(default_factory=list)
    _curves: dict[str, list[float]] = field(default_factory=dict)
    _points: list[FirstSharePoint] = field(default_factory=list)
    _plan_places: set[int] = field(default_factory=set)
    """Numbers, in the plan, of the calls counted so far."""
    _has_judges: bool = False
    """Whether a judge has given a verdict; people's votes are then left out."""
    _start: int = 0
    """Number of the store's row after which counting begins, and begins again after a reset."""
    _planned: tuple[str, Mapping[str, int]] | None = None
    """Hash of the plan, and its number of calls by item."""
    _figures: LiveFigures | None = None
    _kept_until: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._start = self.cursor

    def figures(self, running: bool = False) -> LiveFigures:
        """The current figures; until a new judgement arrives, the same object is returned. While a
        run is on (`running`), they may be older: see LIVE_SHARE."""
        with self._lock:
            started = time.monotonic()
            if self._figures is not None and running and started < self._kept_until:
                return self._figures
            if self._read_new_rows() or self._figures is None:
                self._figures = self._compute_figures()
            now = time.monotonic()
            self._kept_until = now + self.pace.rest_seconds(self.study, now - started, now)
            return self._figures

    def _read_new_rows(self) -> bool:
        rows = self.store.frame_rows(self.study, since=self.cursor)
        if not rows:
            return False
        if any(row[0] in self._plan_places for row in rows):
            self._reset()  # a new verdict on a counted call: count anew
            rows = self.store.frame_rows(self.study, since=self.cursor)
        new = self._judge_rows_or_else_votes(self._frame_of_new_rows(rows))
        if new.empty:
            return False
        first = self.frame is None
        self.frame = new if self.frame is None else _concat_frames(self.frame, new)
        self._advance_elo_curves(new)
        self._add_first_slot_share_points(first)
        return True

    def _frame_of_new_rows(self, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
        self._plan_places.update(row[0] for row in rows)
        rows.sort(key=lambda row: row[-1])  # in order of arrival
        self.cursor = int(rows[-1][-1])
        frame = frame_from_rows(rows, self.store.item_facts(self.study), study=self.study)
        return filter_rows_by_twins(frame, "without")

    def _judge_rows_or_else_votes(self, new: pd.DataFrame) -> pd.DataFrame:
        """Those of the new rows that count: the rows of judges or, while no judge has given a
        verdict, people's votes, as in Results. At the first verdict of a judge, everything counted
        so far is dropped, and the result is the judges' rows among all rows of the study."""
        human = row_selection.people_mask(new)
        if not self._has_judges and not human.all():
            self._has_judges = True
            if self.frame is not None:  # votes were counted until now
                self._reset()
                return self._judge_rows_or_else_votes(
                    self._frame_of_new_rows(self.store.frame_rows(self.study, since=self._start))
                )
        return row_selection.select_rows(new, ~human) if self._has_judges else new

    def _reset(self) -> None:
        self.cursor, self.frame, self.elo = self._start, None, EloState()
        self._battles, self._curves, self._points = [], {}, []
        self._plan_places = set()

    def _advance_elo_curves(self, new: pd.DataFrame) -> None:
        pairs = new[new["options"] == 2]
        if pairs.empty:
            return
        before = self.elo.battles
        self.elo, curve = advance_elo(self.elo, pairs)
        for name in curve.names:
            line = self._curves.setdefault(name, [1000.0] * len(self._battles))
            line.extend(float(value) for value in curve.ratings_of(name)[1:])
        self._battles.extend(range(before + 1, self.elo.battles + 1))

    def _add_first_slot_share_points(self, first: bool) -> None:
        """Add a point to the curve of the first-position share: the share of all rows so far. With
        `first`, for the first update, add up to 40 points instead: the shares of the oldest 8, …, n
        rows, at evenly spaced numbers of rows. If there are then more than MAX_SHARE_POINTS points,
        delete every second one."""
        assert self.frame is not None
        n = len(self.frame)
        steps = np.unique(np.linspace(8, n, 40, dtype=int)) if first and n > 8 else [n]
        for step in steps:
            estimate = _first_slot_share(self.frame.iloc[:step])
            if estimate.value is not None:
                self._points.append(
                    FirstSharePoint(estimate.n, estimate.value, estimate.low, estimate.high)
                )
        if len(self._points) > MAX_SHARE_POINTS:
            del self._points[1:-1:2]

    def _compute_figures(self) -> LiveFigures:
        if self.frame is None:
            if name := self._planned_measure_name():
                found = name, NO_VERDICT
                return LiveFigures(0, NO_VERDICT, 1, None, None, None, of_answers=found)
            none = empty_figure("The charts appear with the first verdicts.", 250)
            return LiveFigures(0, NO_VERDICT, 2, none, none, none)
        options = int(self.frame["options"].max())
        repeats = NO_VERDICT if len(self.frame) > MAX_COMPARED_ROWS else noise_floor(self.frame)
        if options == 1:
            found = _pass_rate_or_score(self.frame)
            return LiveFigures(
                len(self.frame), NO_VERDICT, 1, None, None, None, repeats=repeats, of_answers=found
            )
        share = _first_slot_share(self.frame)
        figure = live_first_share_figure(self._points, even=1 / options) if self._points else None
        rates = live_win_rates(self.frame, self._planned_calls_by_item())
        return LiveFigures(
            len(self.frame),
            share,
            options,
            figure,
            self._draw_elo_curves() if options == 2 or self._curves else None,
            win_rate_figure(rates, height=250)
            if rates
            else empty_figure("No complete item with readable verdicts yet.", 250),
            anytime_valid_first_slot_share(self.frame),
            _order_change_share(self.frame),
            repeats,
        )

    def _planned_measure_name(self) -> str:
        """Name of the measure that a study of single answers shows: the pass rate if a prompt asks
        for pass or fail, else the mean score. "" if the plan compares answers, or there is no
        plan."""
        texts = self.store.planned_prompt_texts(self.study)
        prompts = [parse_prompt(text, self.study) for text in texts]
        if not prompts or any(prompt.protocol != "single" for prompt in prompts):
            return ""
        passes = any(prompt.verdict == PASS_FAIL_FORMAT for prompt in prompts)
        return RECORDS["point_pass_rate" if passes else "point_level"].name

    def _planned_calls_by_item(self) -> Mapping[str, int]:
        """Number of planned calls by item, read again when the plan changes; empty while only
        people have given verdicts, as their votes are not planned."""
        sha = self.store.plan_sha(self.study)
        if self._planned is None or self._planned[0] != sha:
            self._planned = sha, count_judge_asks_by_item(self.store, self.study)
        return self._planned[1] if self._has_judges else {}

    def _draw_elo_curves(self) -> Figure:
        if not self._curves:
            return empty_figure("Elo ratings need verdicts on pairs of answers.", 250)
        if self.elo.battles < MIN_ELO_BATTLES:
            text = f"Elo is drawn from {MIN_ELO_BATTLES} battles on; there are {self.elo.battles}."
            return empty_figure(text, 250)
        return elo_curve_figure(
            [0, *self._battles],
            {name: [1000.0, *line] for name, line in self._curves.items()},
            height=250,
            revision="live-elo",
        )


class LiveStudies:
    """The live figures of all studies, shared by all sessions of the server.

    The three functions given to it get the name of a study. `study_headline` returns the headline
    of its Results tab. `outcome` returns the HTML that its Run tab shows once all calls have been
    made. `forecast` returns the number and cost of all its calls, as forecast before the run; None
    if unknown."""

    def __init__(
        self,
        store: Store,
        study_headline: Callable[[str], str] = lambda _: "",
        outcome: Callable[[str], Markup] = lambda _: EMPTY,
        forecast: Callable[[str], CostQuote | None] = lambda _: None,
    ) -> None:
        self.quotes = QuoteCache(store, forecast)
        self.study_headline, self.outcome = study_headline, outcome
        self._store, self._pace = store, SharedPace()

    def for_study(self, study: str) -> LiveStudy:
        """The live figures of a study, shared by all who ask for them; a new plan of the study
        starts them anew."""
        return self._store.memoised(
            study,
            ("live figures",),
            lambda: LiveStudy(
                self._store, study, _row_number_to_start_after(self._store, study), self._pace
            ),
            self._store.plan_sha(study),
        )


def _first_slot_share(frame: pd.DataFrame) -> Estimate:
    options = int(frame["options"].max())
    return first_share(frame) if options == 2 else slot_shares(frame, options)[0]


def _pass_rate_or_score(frame: pd.DataFrame) -> tuple[str, Estimate]:
    """Name and estimate of the pass rate; of the mean score if there are only scores."""
    record = RECORDS["point_pass_rate" if pass_fail_mask(frame).any() else "point_level"]
    return record.name, record.estimator.estimate(frame)


def _order_change_share(frame: pd.DataFrame) -> Estimate:
    """Share of comparisons whose verdict changes with the order; NO_VERDICT if the frame has more
    than MAX_COMPARED_ROWS rows."""
    if len(frame) > MAX_COMPARED_ROWS:
        return NO_VERDICT
    return flip_share_from_consistency(consistency(frame))


def _concat_frames(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Concatenate two frames whose categorical columns may have different categories."""
    for column in old.columns.intersection(new.columns):
        if isinstance(old[column].dtype, pd.CategoricalDtype):
            union = pd.api.types.union_categoricals([old[column], new[column]]).categories
            old[column] = old[column].cat.set_categories(union)
            new[column] = new[column].cat.set_categories(union)
    return pd.concat([old, new], ignore_index=True)


def _row_number_to_start_after(store: Store, study: str) -> int:
    """Row number after which the live figures of a study begin: 0 or, if the study has more than
    MAX_FOLLOWED_ASKS calls, its newest row, so that only later replies count."""
    whole = store.status_counts(study, recorded=True)["planned"]
    return store.version(study)[1] if whole > MAX_FOLLOWED_ASKS else 0
