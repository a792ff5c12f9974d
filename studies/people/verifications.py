"""People's verifications of answers in a study, from its data file and from the page."""

from dataclasses import replace

from studies.domain import HUMAN_PREFIX, AnswerCheck
from studies.store.ballot_queries import checks_by_item, read_ballots, verification_stamp
from studies.store.queries.item_queries import answer_checks_in_study_data, item_ids
from studies.store.store import Store

ChecksByItem = dict[str, tuple[AnswerCheck, ...]]
"""Item -> each person's last check of each answer; persons' names are without `human:`."""


def checks_of_answers(store: Store, study: str) -> ChecksByItem:
    """Return item -> people's checks of its answers, from the data file and the page. A check on
    the page replaces an earlier one by the same person.

    The result is cached until the next check or save of the study; callers must not change it."""
    saved, stamp = store.version(study)[0], verification_stamp(store.read_connection, study)
    return store.memoised(
        study, ("checks",), lambda: _merge_answer_checks(store, study, saved), (saved, stamp)
    )


def _merge_answer_checks(store: Store, study: str, saved: str) -> ChecksByItem:
    """Return item -> checks of its answers, from the data file and the page; a check on the page
    replaces one by the same person. Checks on the page of items that the study no longer has
    are left out. `saved` is a text that changes whenever the study is saved."""
    from_data = store.memoised(
        study, ("checks in items",), lambda: answer_checks_in_study_data(store, study), saved
    )
    cast = checks_by_item(read_ballots(store.read_connection, study))
    items = item_ids(store, study) if cast else ()
    found: dict[str, dict[tuple[str, str], AnswerCheck]] = {}
    for source in (from_data, {item: checks for item, checks in cast.items() if item in items}):
        for item, checks in source.items():
            merged = found.setdefault(item, {})
            for check in checks:
                person = check.judge.removeprefix(HUMAN_PREFIX)
                merged[person, check.contestant] = replace(check, judge=person)
    return {item: tuple(checks.values()) for item, checks in found.items()}
