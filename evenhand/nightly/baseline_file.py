"""The baseline of a nightly check: a JSON file with the history of earlier nights (a night is one
run of a study). `gate_check` compares a new night with it. For each stream (a judge, a prompt
and a kind of score, such as accuracy), the file has the outcomes of these nights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from metrics.drift.night_history import StreamHistory
from metrics.drift.night_scores import NightScores, Stream
from studies.errors import EvenhandError, build_write_error

VERSION: Final = 1


class BaselineUnusable(EvenhandError):
    """Raised if a baseline file is not named, missing, damaged or of another version, if a setting
    of the check is out of range, or if a night (run) has too few verdicts to be saved as a
    baseline."""


@dataclass(frozen=True)
class Baseline:
    """Earlier nights (runs) of a study. `streams`: stream (judge, prompt and kind of score, such as
    accuracy) -> history of its nights. `models`: judge -> model versions that its endpoint
    reported."""

    study: str = ""
    streams: Mapping[Stream, StreamHistory] = field(default_factory=dict)
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def with_night(self, scores: NightScores, models: Mapping[str, tuple[str, ...]]) -> Baseline:
        """Return the baseline with one more night (run), added as a good night without a test.
        `scores`: stream -> item -> outcome of the night; `models`: judge -> model versions that its
        endpoint reported, which replace the earlier ones."""
        streams = dict(self.streams)
        for stream, tonight in scores.items():
            known = streams.get(stream, StreamHistory(stream.kind))
            streams[stream] = known.with_baseline_night(tonight)
        return replace(self, streams=streams, models={**self.models, **models})


def load_baseline(path: Path) -> Baseline:
    """Read a baseline file; BaselineUnusable if it is missing (the message states how to make one),
    cannot be read or is of another version."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BaselineUnusable(
            f"there is no baseline at {path}; save a good night first (save=True, --save-baseline)"
        ) from None
    except (OSError, ValueError) as error:
        raise BaselineUnusable(
            f"{path} cannot be read as a baseline: {error}; make a new one"
        ) from None
    if not isinstance(data, dict) or data.get("version") != VERSION:
        raise BaselineUnusable(f"{path} is no baseline of this version; make a new one")
    try:
        streams = {}
        for entry in data["streams"]:
            history = StreamHistory.from_json(entry)
            streams[Stream(str(entry["judge"]), str(entry["prompt"]), history.kind)] = history
        models = {str(judge): tuple(map(str, names)) for judge, names in data["models"].items()}
        return Baseline(str(data["study"]), streams, models)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BaselineUnusable(f"{path} is damaged ({error!r}); make a new one") from None


def save_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline file atomically, so that no incomplete file is ever read; StudyError if it
    cannot be written."""
    partial = path.with_name(f"{path.name}.part")
    try:
        text = json.dumps(_baseline_to_json(baseline), ensure_ascii=False, indent=1)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise build_write_error(path, error) from None


def _baseline_to_json(baseline: Baseline) -> dict[str, Any]:
    return {
        "version": VERSION,
        "study": baseline.study,
        "models": {judge: list(names) for judge, names in baseline.models.items()},
        "streams": [
            {"judge": stream.judge, "prompt": stream.prompt, **history.to_json()}
            for stream, history in baseline.streams.items()
        ],
    }
