"""Load Hub datasets in a separate process, since the Hub's address is read once, at import.

Reads a list of {source, split, token, env} as JSON from stdin, prints the result of each.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path

from studies.errors import EvenhandError
from studies.sources.load import load_source
from studies.spec.study import DataSpec


def became(ask: dict[str, str]) -> dict[str, object]:
    for name in ("EVENHAND_PUBLIC", "HF_TOKEN"):
        os.environ.pop(name, None)
    os.environ.update(ask.get("env", {}))  # type: ignore[arg-type]
    spec = DataSpec(ask["source"], split=ask.get("split", ""))
    try:
        found = load_source(spec, Path(), token=ask.get("token"))
    except EvenhandError as error:
        return {"error": str(error)}
    return {
        "items": [item.id for item in found.items],
        "format": found.format,
        "why": found.format_reason,
        "verdicts": len(found.judgements),
        "revision": found.revision,
        "notes": found.notes,
        "pinned": found.pin_revision(spec).source,
        "images": [len(i.images) for i in found.items],
    }


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))  # a bomb ends this process alone
    print(json.dumps([became(ask) for ask in json.load(sys.stdin)]))
