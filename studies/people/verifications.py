"""All that people verified in a study: in the file of its data, and on the page."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import Final

from studies.domain import HUMAN_PREFIX, AnswerCheck
from studies.store.store import Store

_STUDY_ID: Final = "(SELECT id FROM studies WHERE name=?)"
ChecksByItem = dict[str, tuple[AnswerCheck, ...]]
"""By item. One word a person and answer, and persons by their bare names: the last one stands."""


VerificationStamp = tuple[int, float]
"""How many verifications there are on the page, and when the last one came."""


def verification_stamp(store: Store, study: str) -> VerificationStamp:
    """Changes with every verification on the page, which changes no version: it is no judgement."""
    words, last = store.read(
        "SELECT count(*), COALESCE(max(done), 0) FROM ballots "
        f"WHERE study={_STUDY_ID} AND answer IS NOT NULL AND state='voted'",
        (study,),
    ).fetchone()
    return int(words), float(last)


def current_checks(store: Store, study: str) -> ChecksByItem:
    """What stands: who verified an answer again, on the page, has changed their mind.

    Read once until somebody verifies something or the study is saved: only to be looked at.
    """
    return _merge_checks(store, study, store.version(study)[0], verification_stamp(store, study))


@lru_cache(maxsize=16)
def _merge_checks(store: Store, study: str, version: str, at: VerificationStamp) -> ChecksByItem:
    came, cast = _checks_from_data(store, study, version), store.checks(study) if at[0] else {}
    items = _item_ids(store, study) if cast else ()
    found: dict[str, dict[tuple[str, str], AnswerCheck]] = {}
    for source in (came, {item: checks for item, checks in cast.items() if item in items}):
        for item, checks in source.items():
            mine = found.setdefault(item, {})
            for check in checks:
                who = check.judge.removeprefix(HUMAN_PREFIX)
                mine[who, check.contestant] = replace(check, judge=who)
    return {item: tuple(checks.values()) for item, checks in found.items()}


def _item_ids(store: Store, study: str) -> set[str]:
    """What the study holds now: a word about an item that is gone is kept, and not counted."""
    rows = store.read(f"SELECT item FROM study_items WHERE study={_STUDY_ID}", (study,))
    return {item for (item,) in rows}


@lru_cache(maxsize=16)
def _checks_from_data(store: Store, study: str, version: str) -> ChecksByItem:
    """Most items have none: only those that speak of checks are looked into."""
    rows = store.read(
        "SELECT s.item, json_extract(i.json, '$.checks') "
        "FROM study_items s JOIN items i USING(sha) "
        f"WHERE s.study={_STUDY_ID} AND instr(i.json, '\"checks\"') "
        "ORDER BY s.position",
        (study,),
    )
    return {
        item: tuple(AnswerCheck(**one) for one in json.loads(said)) for item, said in rows if said
    }
