"""Small logs of other tools, written by hand in the documented shape."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa


def inspect_header(model: str = "openai/gpt-x", task: str = "qa") -> dict[str, Any]:
    scorers = [
        {"name": "model_graded_qa", "options": {"model": "judge/one"}},
        {"name": "match", "options": {}},
    ]
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": task, "model": model, "scorers": scorers, "model_roles": {}},
    }


def inspect_sample(
    number: int, grade: Any, explanation: str = "why", **more: Any
) -> dict[str, Any]:
    scores = {
        "model_graded_qa": {"value": grade, "explanation": explanation},
        "match": {"value": "I"},
    }
    return {
        "id": f"s{number}",
        "epoch": 1,
        "input": f"question {number}",
        "target": f"target {number}",
        "output": {"choices": [{"message": {"role": "assistant", "content": f"answer {number}"}}]},
        "scores": scores,
        "events": [{"event": "model", "input": "long"}] * 3,
        **more,
    }


def write_eval(
    path: Path, header: dict[str, Any], samples: list[dict[str, Any]], zstandard: bool = False
) -> Path:
    entries = {"header.json": header}
    for sample in samples:
        entries[f"samples/{sample['id']}_epoch_{sample['epoch']}.json"] = sample
    contents = {name: json.dumps(value).encode() for name, value in entries.items()}
    if zstandard:
        path.write_bytes(zstandard_zip(contents))
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def zstandard_zip(contents: dict[str, bytes]) -> bytes:
    """A zip archive with Zstandard entries, which Python 3.11 cannot write."""
    codec, body, directory = pa.Codec("zstd"), b"", b""
    for name, content in contents.items():
        packed, label = codec.compress(content, asbytes=True), name.encode()
        common = struct.pack(
            "<HHHHHIIIHH", 20, 0, 93, 0, 33, zlib.crc32(content), len(packed), len(content),
            len(label), 0,
        )  # fmt: skip
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + common
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + label
        body += b"PK\x03\x04" + common + label + packed
    count = len(contents)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end
