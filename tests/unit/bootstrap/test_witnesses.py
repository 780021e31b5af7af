"""A policy of witnesses with which no checkpoint could be valid stops the start, with file and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from identity_core.bootstrap.witnesses import read_witnesses
from identity_core.domain.ledger.note import WITNESS, VerifierKey
from identity_core.settings import SettingsError, load
from tests.transparency import LogKey

KEY = VerifierKey("w.example", LogKey(bytes(range(32))).pair.public, WITNESS)


def test_without_the_setting_there_is_none(tmp_path: Path) -> None:
    assert read_witnesses(load(environment={}, overrides={"data_dir": tmp_path})) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read: No such file"),
        ("quorum", "cannot be read: line 1"),
        (f"witness W {KEY} ftp://w.example\nquorum W", "URL of the witness W"),
        (f"witness W {KEY} w.example\nquorum W", "URL of the witness W"),
        (f"witness W {KEY} http://[::\nquorum W", "URL of the witness W"),
        (f"witness W {KEY} http://w:99999999\nquorum W", "URL of the witness W"),
        (f"witness W {KEY} http://w/?x\nquorum W", "URL of the witness W"),
        (f"witness W {KEY}\nquorum W", "no quorum"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "policy.txt"
    if text is not None:
        path.write_text(text)
    settings = load(environment={"IDENTITY_LEDGER_WITNESSES": str(path)}, overrides={"data_dir": tmp_path})
    with pytest.raises(SettingsError, match=says) as found:
        read_witnesses(settings)
    assert str(path) in found.value.where
    assert found.value.fix


def test_whom_it_asks(tmp_path: Path) -> None:
    (tmp_path / "policy.txt").write_text(f"witness W {KEY} http://w.example/prefix\nquorum W")
    environment = {"IDENTITY_LEDGER_WITNESSES": str(tmp_path / "policy.txt")}
    policy = read_witnesses(load(environment=environment, overrides={"data_dir": tmp_path}))
    assert policy is not None
    assert [one.url for one in policy.witnesses] == ["http://w.example/prefix"]
