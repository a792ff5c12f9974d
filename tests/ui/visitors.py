"""A visitor without a browser: Gradio's own queue, spoken as the page speaks it.

Twelve browsers on two cores would measure the browsers. What has to be kept apart is kept apart by
session on the server, and this reaches the very handlers that a click reaches.
"""

from __future__ import annotations

import json
import urllib.request
import uuid
from collections.abc import Mapping
from functools import cached_property
from typing import Any


class Visitor:
    """One session; `fire` presses what has an elem_id."""

    def __init__(self, url: str) -> None:
        self.api = f"{url}/gradio_api"
        self.url = url
        self.session = uuid.uuid4().hex[:11]

    @cached_property
    def config(self) -> dict[str, Any]:
        return self._get(f"{self.url}/config")

    @cached_property
    def parts(self) -> dict[int, dict[str, Any]]:
        return {part["id"]: part for part in self.config["components"]}

    def open(self) -> None:
        """What a browser does first: the page loads, and its session learns what can be chosen."""
        for step in self.config["dependencies"]:
            if any(event == "load" for _, event in step["targets"]) and step["backend_fn"]:
                self._run(step, {})

    def fire(
        self, elem_id: str, event: str, values: Mapping[str, Any], fills: str = ""
    ) -> dict[str, Any]:
        """The event's outputs by elem_id; `values` are inputs by elem_id, the rest as it starts.

        Where several things happen on an event: the one that fills a certain part. No elem_id: the
        event of whatever has it, a timer say.
        """
        return self._run(self._step(elem_id, event, fills), values)

    def asking(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """`values` with the text in which the page's own script sends filters and controls."""
        step = next(
            step for step in self.config["dependencies"]
            if {"eh-filter-judge", "eh-filter-rule"} <= set(map(self._name, step["inputs"]))
        )  # fmt: skip
        *menus, settings = [self._value(part, values) for part in step["inputs"]]
        return {**values, "eh-asked": json.dumps([*menus, *json.loads(settings)])}

    def _run(self, step: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
        asked = {
            "data": [self._value(part, values) for part in step["inputs"]], "fn_index": step["id"],
            "session_hash": self.session, "trigger_id": None, "event_data": None,
        }  # fmt: skip
        self._post(f"{self.api}/queue/join", asked)
        names = [self._name(part) for part in step["outputs"]]
        return dict(zip(names, self._answer(), strict=True))

    def _step(self, elem_id: str, event: str, fills: str) -> dict[str, Any]:
        for step in self.config["dependencies"]:
            filled = {self._name(part) for part in step["outputs"]}
            heard = {(self._name(part), on) for part, on in step["targets"] if part is not None}
            hears = (elem_id, event) in heard or (not elem_id and event in {on for _, on in heard})
            if hears and step["backend_fn"] and fills in {"", *filled}:
                return dict(step)
        raise LookupError(f"nothing happens on {event} of {elem_id}")

    def _name(self, part: int) -> str:
        known = self.parts.get(part, {"props": {}})
        return str(known["props"].get("elem_id") or part)

    def _value(self, part: int, values: Mapping[str, Any]) -> Any:
        return values.get(self._name(part), self.parts[part]["props"].get("value"))

    def _answer(self) -> list[Any]:
        stream = f"{self.api}/queue/data?session_hash={self.session}"
        with urllib.request.urlopen(stream, timeout=120) as lines:
            for line in lines:
                if not line.startswith(b"data:"):
                    continue
                said = json.loads(line[5:])
                if said["msg"] == "process_completed":
                    assert said["success"], said
                    return list(said["output"]["data"])
        raise AssertionError("the server closed the stream without an answer")

    def _get(self, url: str) -> dict[str, Any]:
        with urllib.request.urlopen(url, timeout=60) as reply:
            return dict(json.load(reply))

    def _post(self, url: str, body: object) -> dict[str, Any]:
        sent = urllib.request.Request(
            url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(sent, timeout=60) as reply:
            return dict(json.load(reply))
