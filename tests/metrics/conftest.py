"""Settings for property tests on a busy two-core machine: few examples, no deadline."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("metrics", max_examples=25, deadline=None, derandomize=True)
settings.load_profile("metrics")
