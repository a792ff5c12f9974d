"""A loopback stand-in of the Batch API: files, batches, output and error files, expiry.

The lines of a batch are answered by a judge server, so that a batch and a live run of one study
can be compared row by row.
"""

from __future__ import annotations

import json
import random
import re
import threading
import urllib.error
import urllib.request
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openai

from judges.bulk.batch_api import collect_batches, submit_batches
from judges.bulk.batch_files import batch_files_by_judge, export_batch
from judges.planning.plan import Plan
from studies.domain import Judgement
from studies.store.store import Store


class BatchServer(ThreadingHTTPServer):
    def __init__(self, judge_url: str, api_key: str = "none") -> None:
        """`api_key` is sent to the judge server."""
        super().__init__(("127.0.0.1", 0), Request)
        self.judge_url = judge_url
        self.api_key = api_key
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.looks_until_done = 2
        self.expire_share = 0.0
        self.lose_share = 0.0
        self.repeat_share = 0.0
        self.shuffle = False
        self.crash_after_create = False
        self.random = random.Random(7)
        self.headers_seen: list[dict[str, str]] = []
        threading.Thread(target=self.serve_forever, args=[0.02], daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def finish(self, batch: dict[str, Any]) -> None:
        """Answers every line; some expire, some are lost, some come twice, in any order."""
        output, errors = [], []
        for line in self.files[batch["input_file_id"]].splitlines():
            asked = json.loads(line)
            fate = self.random.random()
            if fate < self.expire_share:
                errors.append(_line(asked, None, {"code": "batch_expired", "message": "expired"}))
            elif fate >= self.expire_share + self.lose_share:
                status, body = self.ask(asked["body"])
                response = {"status_code": status, "request_id": "r", "body": body}
                (output if status == 200 else errors).append(_line(asked, response, None))
        output += [line for line in output if self.random.random() < self.repeat_share]
        if self.shuffle:
            self.random.shuffle(output)
        batch["status"] = "expired" if errors and self.expire_share else "completed"
        for name, lines in (("output_file_id", output), ("error_file_id", errors)):
            if lines:
                batch[name] = self.keep("".join(lines).encode())

    def ask(self, body: dict[str, Any]) -> tuple[int, Any]:
        request = urllib.request.Request(
            f"{self.judge_url}/chat/completions", json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {self.api_key}"},
        )  # fmt: skip
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def keep(self, content: bytes) -> str:
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return name


def _line(asked: dict[str, Any], response: Any, error: Any) -> str:
    values = {"id": "b", "custom_id": asked["custom_id"], "response": response, "error": error}
    return json.dumps(values) + "\n"


class Request(BaseHTTPRequestHandler):
    server: BatchServer

    def do_POST(self) -> None:
        self._note_headers()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/files":
            content = re.search(rb'name="file".*?\r\n\r\n(.*?)\r\n--', body, re.S)
            assert content
            self.say({"id": self.server.keep(content.group(1)), "object": "file"})
        else:
            asked = json.loads(body)
            name = f"batch-{len(self.server.batches)}"
            batch = {"id": name, "object": "batch", "status": "validating", "looks": 0, **asked}
            self.server.batches[name] = batch
            if self.server.crash_after_create:
                self.server.crash_after_create = False
                self.close_connection = True
                return
            self.say(batch)

    def _note_headers(self) -> None:
        self.server.headers_seen.append({k.lower(): v for k, v in self.headers.items()})

    def do_GET(self) -> None:
        self._note_headers()
        parts = self.path.split("?")[0].strip("/").split("/")
        if parts[-1] == "content":
            self.send(self.server.files[parts[2]])
        elif parts[1:] == ["batches"]:
            self.say({"object": "list", "data": list(self.server.batches.values()),
                      "has_more": False})  # fmt: skip
        else:
            batch = self.server.batches[parts[2]]
            batch["looks"] += 1
            if batch["looks"] == self.server.looks_until_done:
                self.server.finish(batch)
            self.say(batch)

    def say(self, value: Any) -> None:
        self.send(json.dumps(value).encode())

    def send(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Quiet."""


def client(batches: BatchServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=batches.url, api_key="none", max_retries=0)


def submitted(
    plan: Plan, store: Store, folder: Path, batches: BatchServer, **limits: int
) -> set[str]:
    """The names of the files that were written and sent."""
    export_batch(plan, store, folder, **limits)
    (files,) = batch_files_by_judge(folder).values()
    submit_batches(client(batches), folder, files)
    return {file.name for file in files}


def collected(
    plan: Plan, store: Store, folder: Path, batches: BatchServer, **limits: int
) -> list[Path]:
    """The output files of a study that was sent and answered."""
    names = submitted(plan, store, folder, batches, **limits)
    return collect_batches(client(batches), folder, names, wait=60, every=0.01)


def rows(store: Store) -> list[Judgement]:
    """As stored, without what a clock or a price list says."""
    return [replace(j, time=0.0, seconds=0.0, cost=None) for j in store.judgements("small")]
