"""Weights that a judge names: files, Hub files, their size and download, and refusals."""

from __future__ import annotations

from pathlib import Path

import huggingface_hub.constants
import pytest

from judges.__main__ import main
from judges.models.weights import (
    HubWeights,
    WeightsMissing,
    cached_hub_weights,
    download_weights,
    locate_weights,
    parse_hub_weights,
    size_on_hub,
)
from judges.planning.plan import identity_of
from studies.domain import JudgeSpec
from studies.errors import StudyError
from studies.spec.judge_spec import dump_judge, parse_judge
from tests.hub_stand_in import Hub, hub
from tests.page_words import pattern

__all__ = ["hub"]

CONTENT = b"GGUF" + bytes(range(256)) * 40_000
NAMED = "hub:owner/small-model/folder/small.gguf"


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def test_a_file_is_found_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(CONTENT)
    assert locate_weights(str(path)) == path
    monkeypatch.chdir(tmp_path)
    assert locate_weights("mine.gguf") == path.resolve()


@pytest.mark.parametrize("name", ["absent.gguf", "text.gguf", "model.bin"])
def test_what_is_no_gguf_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "text.gguf").write_text("not a model")
    (tmp_path / "model.bin").write_bytes(CONTENT)
    with pytest.raises(WeightsMissing, match="weights: "):
        locate_weights(str(tmp_path / name))


@pytest.mark.parametrize(
    "name",
    [
        "hub:owner/file.gguf",
        "hub:owner/repo/file.bin",
        "hub:owner/repo/../../secret.gguf",
        "hub:https://host/repo/file.gguf",
        "hub:owner/repo/file.gguf@a b",
    ],
)
def test_other_texts_are_no_hub_files(name: str) -> None:
    with pytest.raises(WeightsMissing, match=r"hub:owner/repo/file\.gguf"):
        parse_hub_weights(name)


def test_a_hub_file_is_named_with_its_revision() -> None:
    assert parse_hub_weights(f"{NAMED}@v1.0") == HubWeights(
        "owner/small-model", "folder/small.gguf", "v1.0"
    )


@pytest.mark.parametrize("named", ["", NAMED, "/models/judge.gguf"])
def test_a_public_page_loads_its_own_weights_only(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(CONTENT)
    monkeypatch.setenv("EVENHAND_GGUF", str(own))
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    if not named:
        assert locate_weights(named) == own
        return
    with pytest.raises(WeightsMissing, match="public page"):
        locate_weights(named)


def test_a_hub_file_is_downloaded_once_with_its_size_and_progress(
    hub: Hub, hub_cache: Path
) -> None:
    hub.files["folder/small.gguf"] = CONTENT
    weights = parse_hub_weights(NAMED)
    assert cached_hub_weights(weights) is None
    with pytest.raises(WeightsMissing, match="python -m judges download"):
        locate_weights(NAMED)
    assert size_on_hub(weights) == len(CONTENT)
    seen: list[tuple[int, int]] = []
    path = download_weights(weights, lambda received, total: seen.append((received, total)))
    assert path.read_bytes() == CONTENT
    assert seen[-1][0] == len(CONTENT)
    assert locate_weights(NAMED) == cached_hub_weights(weights)
    fetched = len(hub.fetched)
    assert locate_weights(NAMED).read_bytes() == CONTENT
    assert len(hub.fetched) == fetched, "the second use asks nothing of the Hub"


def test_the_download_command_says_the_size_before_it_asks(
    hub: Hub, hub_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.files["folder/small.gguf"] = CONTENT
    assert main(["download", NAMED]) == 1
    output = capsys.readouterr()
    assert "10 MB" in output.out
    assert "--yes" in output.err
    assert cached_hub_weights(parse_hub_weights(NAMED)) is None
    assert main(["download", NAMED, "--yes"]) == 0
    assert cached_hub_weights(parse_hub_weights(NAMED)) is not None


def test_a_file_that_the_hub_lacks_gives_the_next_step(hub: Hub, hub_cache: Path) -> None:
    with pytest.raises(WeightsMissing, match=pattern("check", "list", "files")):
        download_weights(parse_hub_weights(NAMED))


def test_the_hash_of_the_weights_is_the_identity(tmp_path: Path) -> None:
    identities = set()
    for number in range(2):
        path = tmp_path / f"{number}.gguf"
        path.write_bytes(CONTENT + bytes([number]))
        judge = JudgeSpec("j", "embedded", weights=str(path))
        identities.add(identity_of(judge))
        assert str(tmp_path) not in identity_of(judge)
    assert len(identities) == 2


def test_weights_stand_in_the_study_file() -> None:
    entry = {"name": "mine", "model": "embedded", "weights": NAMED}
    judge = parse_judge(entry, "judges[0]")
    assert judge.weights == NAMED
    assert dump_judge(judge) == entry
    with pytest.raises(StudyError, match="weights"):
        parse_judge({"model": "m", "base_url": "http://h/v1", "weights": NAMED}, "judges[0]")
