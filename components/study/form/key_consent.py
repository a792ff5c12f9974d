"""Notices in the Study tab that ask for consent before an API key is sent to a new host."""

from __future__ import annotations

from components.html.markup import EMPTY, Markup, fill, join
from components.html.pieces import notice_html
from components.study.file.controls import form_button
from components.study.plan.public_checks import is_public
from judges.judge_errors import PlanError
from judges.security.key_consents import Consents, Pair, user_consents
from studies.spec.study import Study


def consent_notices(study: Study) -> Markup:
    """HTML notice and button for each pair of environment variable and host without consent."""
    if is_public():
        return EMPTY
    judges = [*study.judges, *([study.extraction] if study.extraction else [])]
    return join(map(_consent_notice, user_consents().missing(judges)))


def _consent_notice(pair: Pair) -> Markup:
    words = f"Allow ${pair.variable} for {pair.origin}"
    action = {"do": "allow key", "variable": pair.variable, "origin": pair.origin}
    notice = notice_html(
        "warn",
        f"This study wants to send ${pair.variable} to {pair.origin}.",
        "Nothing is sent until you allow it. Allow it only if you trust that host with this key.",
    )
    return fill(
        '{}<div class="eh-row">{}</div>',
        notice,
        form_button(words, action, kind="small", errand=True),
    )


def allow_key(consents: Consents, pair: Pair) -> Markup:
    """Store the user's consent; return an error notice if that fails, else empty HTML."""
    try:
        consents.allow(pair)
    except (PlanError, OSError) as error:
        return notice_html("bad", "The consent could not be stored.", str(error))
    return EMPTY
