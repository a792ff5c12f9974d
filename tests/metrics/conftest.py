"""Settings for property tests on a busy two-core machine: few examples, no deadline."""

from __future__ import annotations

from hypothesis import settings

from tests.samples import examples

settings.register_profile("metrics", examples(25), derandomize=True)
settings.load_profile("metrics")
