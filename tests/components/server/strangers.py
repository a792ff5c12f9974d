"""Visitors who call any handler of a public page with any inputs through Gradio's protocol."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from studies.sharing.visitors import new_secret
from tests.ui.visitors import Visitor


class Stranger(Visitor):
    """A visitor with a secret of their own; `call` answers what came, whatever it was."""

    def __init__(self, url: str, secret: str = "", token: str = "") -> None:
        super().__init__(url.rstrip("/"))
        self.secret, self.token = secret or new_secret(), token

    def steps(self, taking: str = "") -> list[dict[str, Any]]:
        """Every event with a handler; `taking`: that have this part among their inputs."""
        return [
            step
            for step in self.config["dependencies"]
            if step["backend_fn"]
            and (not taking or taking in [self._name(part) for part in step["inputs"]])
        ]

    def step(self, elem_id: str, event: str, fills: str = "") -> dict[str, Any]:
        return self._step(elem_id, event, fills)

    def call(
        self, step: Mapping[str, Any], values: Mapping[str, Any], event: object = None
    ) -> tuple[bool, str]:
        """(whether it worked, everything that was sent back)."""
        target = next((part for part, _ in step["targets"] if part is not None), None)
        asked = {
            "data": [self._value(part, values) for part in step["inputs"]],
            "fn_index": step["id"], "session_hash": self.session, "trigger_id": target,
            "event_data": event,
        }  # fmt: skip
        try:
            self._post(f"{self.api}/queue/join", asked)
        except urllib.error.HTTPError as error:
            return False, error.read().decode()
        stream = f"{self.api}/queue/data?session_hash={self.session}"
        with urllib.request.urlopen(stream, timeout=60) as lines:
            for line in lines:
                if line.startswith(b"data:"):
                    said = json.loads(line[5:])
                    if said["msg"] == "process_completed":
                        return bool(said["success"]), json.dumps(said)
        raise AssertionError("the server closed the stream without an answer")

    def _value(self, part: int, values: Mapping[str, Any]) -> Any:
        known = self.parts[part]
        if known["type"] == "browserstate":
            return self.secret
        if self._name(part) == "eh-token":
            return self.token
        return super()._value(part, values)
