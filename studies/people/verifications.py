"""Human verifications of answers in a study, from its data file and from the page."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import Final

from studies.domain import HUMAN_PREFIX, AnswerCheck
from studies.store.store import Store

_STUDY_ID: Final = "(SELECT id FROM studies WHERE name=?)"
ChecksByItem = dict[str, tuple[AnswerCheck, ...]]
"""Checks by item: the last one per person and answer, with persons' names without prefix."""


VerificationStamp = tuple[int, float]
"""Number of verifications made on the page, and time of the last one."""


def verification_stamp(store: Store, study: str) -> VerificationStamp:
    """Return a value that changes with every verification on the page; the study's version covers
    judgements only."""
    number, last = store.read(
        "SELECT count(*), COALESCE(max(done), 0) FROM ballots "
        f"WHERE study={_STUDY_ID} AND answer IS NOT NULL AND state='voted'",
        (study,),
    ).fetchone()
    return int(number), float(last)


def current_checks(store: Store, study: str) -> ChecksByItem:
    """Return the valid checks of a study; a check on the page replaces the person's earlier one.

    Cached until a new verification or until the study is saved; callers must not change the result.
    """
    return _merge_checks(store, study, store.version(study)[0], verification_stamp(store, study))


@lru_cache(maxsize=16)
def _merge_checks(store: Store, study: str, version: str, at: VerificationStamp) -> ChecksByItem:
    from_data = _checks_from_data(store, study, version)
    cast = store.checks(study) if at[0] else {}
    items = _item_ids(store, study) if cast else ()
    found: dict[str, dict[tuple[str, str], AnswerCheck]] = {}
    for source in (from_data, {item: checks for item, checks in cast.items() if item in items}):
        for item, checks in source.items():
            merged = found.setdefault(item, {})
            for check in checks:
                person = check.judge.removeprefix(HUMAN_PREFIX)
                merged[person, check.contestant] = replace(check, judge=person)
    return {item: tuple(checks.values()) for item, checks in found.items()}


def _item_ids(store: Store, study: str) -> set[str]:
    """Ids of the study's items; checks of removed items stay stored but are not counted."""
    rows = store.read(f"SELECT item FROM study_items WHERE study={_STUDY_ID}", (study,))
    return {item for (item,) in rows}


@lru_cache(maxsize=16)
def _checks_from_data(store: Store, study: str, version: str) -> ChecksByItem:
    """Checks in the study's data; only items whose JSON contains "checks" are parsed."""
    rows = store.read(
        "SELECT s.item, json_extract(i.json, '$.checks') "
        "FROM study_items s JOIN items i USING(sha) "
        f"WHERE s.study={_STUDY_ID} AND instr(i.json, '\"checks\"') "
        "ORDER BY s.position",
        (study,),
    )
    return {
        item: tuple(AnswerCheck(**one) for one in json.loads(text)) for item, text in rows if text
    }
