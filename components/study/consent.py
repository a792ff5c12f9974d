"""The Study tab's question before a variable of this machine is sent to a new host."""

from __future__ import annotations

from pathlib import Path

from components.drawing.pieces import notice
from components.study.fields import press
from components.study.public import is_public
from judges.consents import Consents, Pair, consents_in
from judges.errors import PlanError
from studies.study import Study


def consent_notices(study: Study, folder: Path) -> str:
    """A notice with a button for each variable the study would send to a host not allowed yet."""
    if is_public():
        return ""
    judges = [*study.judges, *([study.extraction] if study.extraction else [])]
    return "".join(map(_notice, consents_in(folder).missing(judges)))


def _notice(pair: Pair) -> str:
    words = f"Allow ${pair.variable} for {pair.origin}"
    action = {"do": "allow key", "variable": pair.variable, "origin": pair.origin}
    asked = notice(
        "warn", f"This file wants to send ${pair.variable} to {pair.origin}.",
        "Nothing is sent until you allow it. Allow it only if you trust that host with this key.",
    )  # fmt: skip
    return f'{asked}<div class="eh-row">{press(words, action, kind="small", errand=True)}</div>'


def allow_key(consents: Consents, pair: Pair) -> str:
    """Store the consent; the notice that says why it could not be stored, else nothing."""
    try:
        consents.allow(pair)
    except (PlanError, OSError) as error:
        return notice("bad", "Not allowed.", str(error))
    return ""
