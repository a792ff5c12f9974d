"""All that the page, the report, the paper tables and the JSON say about eleven studies is what was
last accepted (frozen_pages.py): a change that nobody meant fails here with the panel's name."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests import frozen_pages
from tests.samples import ALL


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    made = frozen_pages.prepare_frozen(tmp_path_factory.mktemp("frozen"))
    yield made
    made.close()


@pytest.mark.parametrize("study", [*frozen_pages.FROZEN, frozen_pages.OTHER_TABS])
def test_every_panel_is_as_accepted(store, study):
    changed = frozen_pages.changed_panels(store, study, quick=not ALL)
    assert not changed, "changed (see tests/frozen_pages.py): " + "; ".join(changed)


def test_a_fingerprint_leaves_out_times_and_the_last_digits():
    def fingerprint(at, took, value):
        return frozen_pages.fingerprint({"at": f"{at} UTC", "took": took, "value": value})

    one = fingerprint("2026-01-02 03:04", "1.2 s", 0.12345678)
    assert one == fingerprint("2027-05-06 07:08", "3.4 s", 0.12345679)
    assert one != fingerprint("2026-01-02 03:04", "1.2 s", 0.1235)


def test_a_fingerprint_tells_a_number_with_a_decimal_from_one_without():
    prints = [frozen_pages.fingerprint(f"{value} points") for value in ("12.0", "12", "10.0", "10")]
    assert len(set(prints)) == 4


def test_a_fingerprint_leaves_out_the_rounding_errors_of_zero():
    zeros = (0.0, 1.6324968146372229e-16, -1.2e-18, 3e-17)
    assert len({frozen_pages.fingerprint({"value": value}) for value in zeros}) == 1
    assert frozen_pages.fingerprint({"value": 1.5e-7}) != frozen_pages.fingerprint({"value": 0.0})


@pytest.mark.long
@pytest.mark.skipif(platform.machine() != "x86_64", reason="OTHER PROCESSOR: only x86 can be told")
@pytest.mark.parametrize("processor", ["Sandybridge", "Prescott"])
def test_another_processor_gives_the_same_pages(processor):
    """Linear algebra as on an older processor: the last digits differ, no panel may."""
    environment = {**os.environ, "OPENBLAS_CORETYPE": processor}
    environment["NPY_DISABLE_CPU_FEATURES"] = "X86_V3 X86_V4"
    command = [sys.executable, "-m", "tests.frozen_pages", "changed"]
    root = Path(__file__).parents[1]
    made = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert (made.returncode, made.stdout) == (0, ""), made.stderr[-2000:]
