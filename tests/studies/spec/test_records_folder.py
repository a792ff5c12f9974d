"""The one variable that a data source may name."""

from __future__ import annotations

import pytest

from studies.errors import SourceError
from studies.spec.records_folder import check_source_variable, expand_records_variable

NAME = "${EVENHAND_RECORDS}"


def test_only_the_folder_of_records_is_put_in(monkeypatch):
    monkeypatch.setenv("EVENHAND_RECORDS", "/records")
    monkeypatch.setenv("SECRET", "canary")
    for source, path in (
        (f"{NAME}/visit", "/records/visit"),
        (f"a{NAME}b{NAME}", "a/recordsb/records"),
        ("${SECRET}/x", "${SECRET}/x"),
        ("${EVENHAND_RECORDS", "${EVENHAND_RECORDS"),
        ("$EVENHAND_RECORDS/x", "$EVENHAND_RECORDS/x"),
        ("${}", "${}"),
        ("plain", "plain"),
    ):
        assert expand_records_variable(source) == path
    monkeypatch.setenv("EVENHAND_RECORDS", "")
    assert expand_records_variable(f"{NAME}/visit") == f"{NAME}/visit"


def test_another_variable_and_an_unset_one_are_refused(monkeypatch):
    monkeypatch.setenv("EVENHAND_RECORDS", "/records")
    for source in (NAME, "plain", "${EVENHAND_RECORDS"):
        check_source_variable(source)
    for source in ("${SECRET}/x", f"{NAME}/${{HOME}}"):
        with pytest.raises(SourceError, match="not supported"):
            check_source_variable(source)
    monkeypatch.setenv("EVENHAND_RECORDS", "")
    with pytest.raises(SourceError, match="export EVENHAND_RECORDS"):
        check_source_variable(NAME)
