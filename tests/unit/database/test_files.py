"""A file that is durable and whole, or not there at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from identity_core.files import durable_draft


def test_a_draft_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_bytes(b"old")
    with durable_draft(path, b"new") as draft:
        assert path.read_bytes() == b"old"
        draft.replace(path)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_fails_where_a_file_is_and_leaves_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"first")
    with pytest.raises(FileExistsError), durable_draft(path, b"second") as draft:
        path.hardlink_to(draft)
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"), durable_draft(path, b"new") as draft:
        draft.replace(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_are_durable_before_name_and_return(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, events = tmp_path / "state", []
    fsync = os.fsync

    def record_fsync(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        events.append((kind, path.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record_fsync)
    with durable_draft(path, b"new") as draft:
        draft.replace(path)
    assert events == [("file", False), ("folder", True)]
