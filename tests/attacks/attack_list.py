"""The attack list: threats, what counts as one input, and the tests that try inputs of each."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

OWN: Final[Literal["own machine"]] = "own machine"
PUBLIC: Final[Literal["public"]] = "public"
MODES: Final = (OWN, PUBLIC)


class Threat(NamedTuple):
    """One line of the attack list."""

    inputs: str
    """Kind of input, as printed in the table."""
    tests: tuple[str, ...]
    """Files and tests with `attempt` for this threat."""


THREATS: Final = {
    "a typed key leaks": Threat(
        "a way in which an endpoint, a log line or a crash could show the key",
        (
            "tests/ui/test_canary.py",
            "tests/attacks/test_public_canary.py",
            "tests/attacks/test_stored_files.py",
            "tests/judges/security/test_key_store.py",
            "tests/judges/security/test_key_consents.py",
        ),
    ),
    "SSRF through a base URL": Threat(
        "a URL, an address, a redirect, a reply that is too large",
        ("tests/judges/security/test_endpoint_rules.py",),
    ),
    "files fetched for a visitor": Threat(
        "a function of the page or a route, called with the address of a file",
        (
            "tests/components/server/test_remote_files.py",
            "tests/attacks/test_mcp_routes.py",
            "tests/attacks/test_mcp_server.py",
        ),
    ),
    "script injection": Threat(
        "a payload in one view or function that makes HTML",
        ("tests/ui/test_hostile_text.py", "tests/components/html/test_markup.py"),
    ),
    "instructions to the judge": Threat(
        "an answer that instructs the judge, a reply that quotes one",
        (
            "tests/studies/texts/test_injection.py",
            "tests/judges/rendering/test_injected_answers.py",
            "tests/judges/rendering/test_prompt.py",
        ),
    ),
    "formulas in exports": Threat(
        "a text in a cell", ("tests/studies/files/test_spreadsheet_guard.py",)
    ),
    "bombs and huge uploads": Threat(
        "a file, a request body",
        (
            "tests/studies/files/test_bombs.py",
            "tests/studies/files/test_json_counts.py",
            "tests/studies/spec/test_yaml_bombs.py",
            "tests/components/server/test_traversal.py",
        ),
    ),
    "file access": Threat(
        "a request, the name of an upload, a path in a study",
        (
            "tests/components/server/test_traversal.py",
            "tests/attacks/test_visitor_files.py",
            "tests/attacks/test_stored_files.py",
        ),
    ),
    "writing to a closed store": Threat(
        "a function of a page whose store is frozen or read-only, a command on a full disk",
        ("tests/attacks/test_closed_stores.py",),
    ),
    "dataset code": Threat(
        "a dataset, a file that its card names",
        ("tests/studies/sources/test_source_hostile_hub.py",),
    ),
    "the owner's key, abused": Threat(
        "a session, a study file that asks for the key",
        ("tests/judges/money/test_host_key.py", "tests/judges/security/test_key_consents.py"),
    ),
    "reading another's run": Threat(
        "a forged event, a call of the API, a request of another web site",
        (
            "tests/components/server/test_access.py",
            "tests/components/server/test_foreign_sites.py",
            "tests/ui/test_two_visitors.py",
            "tests/ui/test_foreign_page.py",
        ),
    ),
    "stuffed votes": Threat(
        "a name that looks like another's, a vote sent again, a vote that fits no ballot",
        ("tests/components/vote/test_stuffed_votes.py",),
    ),
    "denial of service": Threat(
        "a connection, an event, a slow body or head, a study that is too large",
        (
            "tests/components/server/test_access.py",
            "tests/components/server/limits/test_slow_app.py",
            "tests/components/server/test_flood.py",
            "tests/components/server/test_page_cache.py",
            "tests/components/server/test_runs_by_address.py",
            "tests/judges/engine/test_address_limits.py",
            "tests/judges/engine/test_embedded_turns.py",
            "tests/studies/sharing/test_visitor_space.py",
        ),
    ),
}
