"""A flood of events in a separate process, so that measurements of other visitors exclude it.

`python -m tests.components.server.flooding PORT` reads a JSON list of events and sends them from
127.0.0.2 over several connections without reading the results. It prints the responses.
"""

from __future__ import annotations

import http.client
import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

AT_ONCE = 16
ADDRESS = "127.0.0.2"


def send(port: int, bodies: list[Any]) -> list[tuple[int, str]]:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(ADDRESS, 0))
    said = []
    for body in bodies:
        head = {"Content-Type": "application/json"}
        line.request("POST", "/gradio_api/queue/join", json.dumps(body), head)
        answer = line.getresponse()
        said.append((answer.status, json.loads(answer.read()).get("detail", "")))
    line.close()
    return said


def flood(port: int, bodies: list[Any]) -> Counter[tuple[int, str]]:
    with ThreadPoolExecutor(AT_ONCE) as senders:
        parts = senders.map(lambda n: send(port, bodies[n::AT_ONCE]), range(AT_ONCE))
        return Counter(answer for part in parts for answer in part)


if __name__ == "__main__":
    told = flood(int(sys.argv[1]), json.load(sys.stdin))
    print(json.dumps([[*answer, times] for answer, times in told.items()]))
