"""Streaming Hugging Face data sets, and the message for every way that fails."""

import json
import sys
import time
from pathlib import Path

import pytest

from headway.data.read import read_part
from headway.data.sources import Document, Skipped, find_sources, split_sources
from headway.errors import DataError


def hub_folder(folder: Path) -> str:
    (folder / "set").mkdir()
    rows = [{"text": "one", "n": 1}, {"text": "", "n": 2}, {"text": None, "n": 3}, {"text": "four", "n": 4}]
    (folder / "set" / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"hf://{folder / 'set'}"


def hub_records(folder: Path, address: str, *, field: str = "text") -> list[Document | Skipped]:
    [part] = split_sources(find_sources(address, folder=folder))
    return list(read_part(part, field))


@pytest.fixture
def quiet_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.mark.usefixtures("quiet_hub")
def test_a_data_set_is_streamed_through_datasets(tmp_path: Path) -> None:
    address = hub_folder(tmp_path)

    found = hub_records(tmp_path, address)

    assert [record.text for record in found if isinstance(record, Document)] == ["one", "four"]
    reasons = [record.reason for record in found if isinstance(record, Skipped)]
    assert reasons == ["empty text", "field 'text' is null, not text"]
    assert found[3] == Document("four", 3, f"{address}:row 3")


@pytest.mark.usefixtures("quiet_hub")
def test_a_data_set_that_cannot_be_streamed_is_an_error(tmp_path: Path) -> None:
    address = hub_folder(tmp_path)

    with pytest.raises(DataError, match="there is no column 'body'; columns: text, n"):
        hub_records(tmp_path, address, field="body")
    with pytest.raises(DataError, match="column 'n' holds int, not text"):
        hub_records(tmp_path, f"{address}?field=n")
    with pytest.raises(DataError, match=r"cannot be streamed \(.*nosuch"):
        hub_records(tmp_path, f"{address}?split=nosuch")
    with pytest.raises(DataError, match="cannot be streamed"):
        hub_records(tmp_path, f"hf://{tmp_path / 'absent'}")


@pytest.mark.usefixtures("quiet_hub")
def test_without_a_network_the_error_comes_at_once_and_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    before = constants.HF_HUB_OFFLINE

    # Whoever tries again sleeps in between.
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)

    with pytest.raises(DataError, match=r"no way to http://127\.0\.0\.1:9 \(.*refused.*connect to the network"):
        hub_records(tmp_path, "hf://headway-nobody/nothing")

    assert slept == []
    assert "Retrying" not in capfd.readouterr().err
    assert constants.HF_HUB_OFFLINE is before


def test_without_datasets_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)

    with pytest.raises(DataError, match=r"needs the package datasets; install it with: pip install 'headway\[hub\]'"):
        hub_records(tmp_path, "hf://owner/name")


def test_a_folder_named_datasets_is_not_taken_for_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "datasets").mkdir()
    monkeypatch.delitem(sys.modules, "datasets", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    with pytest.raises(DataError, match="needs the package datasets"):
        hub_records(tmp_path, "hf://wikitext")
