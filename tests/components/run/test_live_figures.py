"""The live view grows with the rows that arrive and ends where the whole frame does."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from components.run import live_figures
from components.run.live_figures import NO_VERDICT, LiveFigures, LiveStudies, LiveStudy, SharedPace
from components.run.status_html import early_stop_note
from components.study.plan.demo_studies import LARGER_STUDY, OPTIONS_STUDY, TWINS_STUDY
from metrics.estimation.planning.confidence_sequence import confidence_sequence
from metrics.position.position_measures import first_share
from metrics.ratings.online_elo import elo_table
from metrics.win_rates.win_rates import win_rate
from studies.frames.twin_rows import filter_rows_by_twins
from studies.store.store import Store
from tests.page_words import says
from tests.samples import sample
from tests.voted_studies import Sheet

NAME = "two judges"


class Dripping:
    """A store whose rows arrive a few at a time."""

    def __init__(self, store) -> None:
        self._store, self.upto = store, 0

    def frame_rows(self, name: str, *, since: int = 0):
        rows = self._store.frame_rows(name)
        rows.sort(key=lambda row: row[-1])
        return [row for row in rows[: self.upto] if row[-1] > since]

    def __getattr__(self, name: str):
        return getattr(self._store, name)


def test_rows_in_pieces_end_where_rows_at_once_do(judged):
    pieces, once = Dripping(judged), Dripping(judged)
    view = LiveStudy(pieces, NAME)
    total = len(judged.frame(NAME))
    for upto in (10, 11, 60, total):
        pieces.upto = upto
        view.figures()
    once.upto = total
    whole = LiveStudy(once, NAME)
    whole.figures()
    assert view.elo.ratings == pytest.approx(whole.elo.ratings)
    assert view.figures().share.value == pytest.approx(first_share(judged.frame(NAME)).value)
    assert view.figures().rows == total


class AskedAgain(Dripping):
    """The first ask is answered a second time, at the end."""

    def frame_rows(self, name: str, *, since: int = 0):
        rows = super().frame_rows(name)
        again = (*rows[0][:-1], rows[-1][-1] + 1)
        return [row for row in [*rows[1:], again] if row[-1] > since]


def test_an_ask_that_is_answered_again_counts_once(judged):
    total = len(judged.frame(NAME))
    before, after = Dripping(judged), AskedAgain(judged)
    before.upto = after.upto = total
    view = LiveStudy(before, NAME)
    view.figures()
    view.store = after
    assert view.figures().rows == total


def test_nothing_new_is_the_same_picture(judged):
    views = LiveStudies(judged)
    assert views.for_study(NAME).figures() is views.for_study(NAME).figures()


def test_during_a_run_figures_are_kept_for_thrice_the_time_they_took(judged, monkeypatch):
    clock = iter([100.0, 102.0, 107.9, 108.1, 108.1, 108.2, 108.2])
    monkeypatch.setattr(live_figures, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    pieces = Dripping(judged)
    view, pieces.upto = LiveStudy(pieces, NAME), 10
    first = view.figures(running=True)  # took 2 s, from 100 to 102
    pieces.upto = 20
    assert view.figures(running=True) is first  # at 107.9, before 102 + 3 · 2
    assert view.figures(running=True).rows == 20
    pieces.upto = 30
    assert view.figures().rows == 30, "after the run they are always up to date"


def test_all_studies_together_have_the_share_of_one():
    pace = SharedPace()
    assert pace.rest_seconds("one", 2.0, now=100.0) == 6.0
    assert pace.rest_seconds("two", 2.0, now=101.0) == 14.0  # each rests, both take a quarter
    assert pace.rest_seconds("one", 2.0, now=102.0) == 14.0
    assert pace.rest_seconds("one", 2.0, now=131.5) == 6.0, "nobody watches the other any more"


def test_noise_repeats_do_not_move_the_ratings(judged):
    frame = judged.frame(NAME)
    view = LiveStudies(judged).for_study(NAME)
    view.figures()
    battles = len(frame[~frame["noise"]])
    assert view.elo.battles == battles


def test_before_the_first_reply_there_is_nothing_to_draw(judged):
    view = LiveStudy(Dripping(judged), NAME)
    picture = view.figures()
    assert (picture.rows, picture.share.value) == (0, None)
    assert picture.elo_figure and says(picture.elo_figure["summary"], "charts appear", "verdicts")


def test_elo_of_the_live_view_is_that_of_the_arrival_order(judged):
    import numpy as np

    frame = judged.frame(NAME).sort_values("seq").reset_index(drop=True)
    view = LiveStudies(judged).for_study(NAME)
    view.figures()
    table = elo_table(frame, rng=np.random.default_rng(0), orders=0, rounds=0)
    for name, rating in table.items():
        assert view.elo.ratings[name] == pytest.approx(rating.estimate.value)


def test_a_view_that_began_late_begins_again_where_it_began(judged):
    """Of millions of verdicts only those since its start are read, also after a second answer."""
    total = len(judged.frame(NAME))
    before, after = Dripping(judged), AskedAgain(judged)
    before.upto = after.upto = total
    seqs = sorted(row[-1] for row in judged.frame_rows(NAME))
    start = seqs[total // 2 - 1]
    view = LiveStudy(before, NAME, start)
    assert view.figures().rows == total - total // 2
    view.store = after  # the first ask, answered before the view began, has a verdict once more
    assert view.figures().rows == total - total // 2 + 1
    view.store = AskedOnceMore(judged)
    view.store.upto = total
    assert view.figures().rows == total - total // 2 + 1


class AskedOnceMore(AskedAgain):
    """And a third time."""

    def frame_rows(self, name: str, *, since: int = 0):
        rows = super().frame_rows(name)
        last = (*rows[-1][:-1], rows[-1][-1] + 1)
        return [row for row in [*rows[:-1], last] if row[-1] > since]


def voted(tmp_path) -> Store:
    """People's votes arrive first (all for y), then a judge's verdicts (all for x)."""
    store = Store(tmp_path / "voted.db")
    sheet = Sheet("judges and people")
    for n in range(12):
        sheet.votes(f"q{n:02}", ann="y", bob="y")
    for n in range(12):
        sheet.both(f"q{n:02}", "judge", "xx")
    sheet.save(store)
    return store


def test_votes_of_people_are_not_counted_with_the_verdicts_of_judges(tmp_path):
    store = voted(tmp_path)
    view = LiveStudy(store, "judges and people")
    picture = view.figures()
    assert (picture.rows, view.elo.battles, picture.share.n) == (24, 24, 24)
    drawn = picture.share_figure["data"][1]["x"]
    assert drawn == sorted(drawn), "the line never runs backwards"
    assert picture.share.value == first_share(store.frame()).value
    rates = {row[0]: row[2] for row in picture.wins_figure["table"]["rows"]}
    assert rates["x"] == pytest.approx(1.0)
    store.close()


def test_people_alone_are_shown_until_the_first_judge_speaks(tmp_path):
    store = voted(tmp_path)
    dripping = Dripping(store)
    view = LiveStudy(dripping, "judges and people")
    dripping.upto = 24
    assert (view.figures().rows, view.elo.ratings["y"] > 1000) == (24, True)
    dripping.upto = 26
    assert (view.figures().rows, view.elo.ratings["x"] > 1000) == (2, True)
    dripping.upto = 48
    assert view.figures().rows == 24
    store.close()


@pytest.mark.parametrize(
    ("wins", "n", "pieces"),
    [(60, 100, ("60.0", "43.4, 75.1", "when")), (70, 100, ("70.0", "53.7, 83.4", "now"))],
)
def test_the_note_on_stopping_uses_bounds_valid_at_every_look(wins, n, pieces):
    figures = LiveFigures(0, NO_VERDICT, 2, None, None, None, confidence_sequence(wins, n))
    assert says(early_stop_note(figures), *pieces)


def test_live_win_rates_have_bounds_valid_at_every_look(tmp_path):
    store = voted(tmp_path)
    drawn = LiveStudy(store, "judges and people").figures().wins_figure["table"]["rows"]
    want = confidence_sequence(12, 12)
    (line,) = [row for row in drawn if row[0] == "x"]
    assert line[2:5] == pytest.approx([1.0, want.low, want.high])
    store.close()


@pytest.mark.parametrize("study", sample([LARGER_STUDY, OPTIONS_STUDY, TWINS_STUDY], TWINS_STUDY))
def test_the_win_rates_of_a_complete_study_are_those_of_results(recorded_demos, study):
    drawn = LiveStudy(recorded_demos, study).figures().wins_figure["table"]["rows"]
    found = {row[0]: row[2] for row in drawn}
    wanted = win_rate(filter_rows_by_twins(recorded_demos.frame(study), "without"))
    assert len(found) == 4 and found == pytest.approx(
        {name: wanted[name].value for name in found}, abs=0.005
    )


@pytest.mark.parametrize(("said", "changed"), [("xx", 0.0), ("xy", 1.0)])
def test_one_item_has_its_share_of_changes_too(store: Store, said: str, changed: float) -> None:
    Sheet("one").both("q", "j", said).save(store)
    assert LiveStudy(store, "one").figures().changed.value == changed


def test_verdicts_on_pairs_without_a_battle_have_an_empty_elo_chart(judged):
    """Among more options there is no Elo, so no chart; of a pair it only has no rating yet."""
    view = LiveStudies(judged).for_study(NAME)
    assert view.figures().elo_figure is not None
    view = replace(view, _curves={})  # the store keeps the other one for later tests
    told = view._compute_figures().elo_figure
    assert told is not None and not told["data"]
    view.frame = view.frame.assign(options=3)
    assert view._compute_figures().elo_figure is None
