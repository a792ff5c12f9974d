"""All that the page, the report, the paper tables and the JSON say about eleven studies is what was
last accepted (frozen_pages.py): a change that nobody meant fails here with the panel's name."""

from __future__ import annotations

import pytest

from tests import frozen_pages


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    made = frozen_pages.prepare_frozen(tmp_path_factory.mktemp("frozen"))
    yield made
    made.close()


@pytest.mark.parametrize("study", [*frozen_pages.FROZEN, frozen_pages.OTHER_TABS])
def test_every_panel_is_as_accepted(store, study):
    found = dict(frozen_pages.fingerprints(store, study))
    accepted = {
        where: made
        for where, made in frozen_pages.read_accepted().items()
        if where.startswith(f"{study}: ")
    }
    changed = sorted(
        where for where in {**found, **accepted} if found.get(where) != accepted.get(where)
    )
    assert not changed, "changed (see tests/frozen_pages.py): " + "; ".join(changed)


def test_a_fingerprint_leaves_out_times_and_the_last_digits():
    def fingerprint(at, took, value):
        return frozen_pages.fingerprint({"at": f"{at} UTC", "took": took, "value": value})

    one = fingerprint("2026-01-02 03:04", "1.2 s", 0.12345678)
    assert one == fingerprint("2027-05-06 07:08", "3.4 s", 0.12345679)
    assert one != fingerprint("2026-01-02 03:04", "1.2 s", 0.1235)
