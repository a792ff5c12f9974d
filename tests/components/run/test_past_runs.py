"""Rows of the list of past runs: calls, cost, study and button."""

from __future__ import annotations

from dataclasses import replace
from html import unescape

import pytest

from components.run.past_runs import _run_row
from studies.store.queries.run_costs import RunSpending
from studies.store.queries.run_queries import StoredRun
from tests.page_words import text_of

RUN = StoredRun("r1", "mine", "done", "all made", 1_000.0, 1_090.0)


def row(
    run: StoredRun = RUN, spent: RunSpending | None = None, *, study: bool = False,
    opened: bool = False,
) -> str:  # fmt: skip
    return str(_run_row(run, spent, with_study=study, opened=opened))


def test_a_row_has_a_button_that_opens_or_closes_its_run() -> None:
    assert ">Open</button>" in row() and '{"run": "r1"}' in unescape(row())
    opened = row(opened=True)
    assert ">Close</button>" in opened and '{"close": 1}' in unescape(opened)
    assert 'aria-current="true"' in opened and "aria-current" not in row()


def test_the_study_is_named_in_the_list_of_all_studies() -> None:
    assert ">mine</b>all made" in row(study=True) and "mine" not in row()


@pytest.mark.parametrize(
    ("state", "spent", "told"),
    [
        ("done", None, "no call"),
        ("running", None, "in progress"),
        ("running", RunSpending(3, 1.0, 0), "in progress"),
        ("paused", RunSpending(3, 1.0, 0), "3 attempts, $1.00 so far"),
        ("paused", RunSpending(1, 0.0, 0), "1 attempt, so far"),
        ("done", RunSpending(3, 1.0, 0), "3 attempts, $1.00"),
        ("done", RunSpending(3, 0.0, 0), "3 attempts, $0"),
        ("done", RunSpending(3, 0.0, 3), "3 attempts, price unknown"),
        ("done", RunSpending(3, 1.0, 2), "3 attempts, $1.00 and 2 of them at an unknown price"),
        ("done", RunSpending(3, 0.0, 2), "3 attempts, 2 of them at an unknown price"),
    ],
)
def test_the_calls_of_a_run_are_told_with_what_they_cost(
    state: str, spent: RunSpending | None, told: str
) -> None:
    html = row(replace(RUN, state=state), spent)
    assert text_of(html.split('class="calls"')[1].split("</span>")[0].strip(">")) == told


def test_a_run_shows_its_state_and_how_long_it_took() -> None:
    assert "s-ok" in row() and "1 min 30 s" in row()
    assert "s-error" in row(replace(RUN, state="failed", ended=None))
    assert "1 min" not in row(replace(RUN, ended=None))
    assert "s-unreadable" in row(replace(RUN, state="new"))
