"""What an operator names by mistake is refused at once: nothing of it waits, and nothing of it has no end."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from identity_core import files
from identity_core.files import read_regular


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def a_large_one(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(files.MOST_OCTETS + 1)


def test_a_file_is_read_and_so_is_what_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert (read_regular(tmp_path / "file"), read_regular(tmp_path / "link")) == (b"content", b"content")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (os.mkfifo, "it is a pipe"),
        (lambda path: path.symlink_to("/dev/zero"), "it is a pipe, a device"),
        (lambda path: path.symlink_to("/dev/tty"), "it is a pipe, a device"),
        (a_socket, "it is a pipe, a device or a socket"),
        (os.mkdir, "Is a directory"),
        (a_large_one, "it has more than 4 MiB"),
        (lambda path: None, "No such file"),
        (lambda path: path.symlink_to(path), "Too many levels"),
    ],
    ids=["pipe", "device", "terminal", "socket", "directory", "large", "none", "ring"],
)
def test_irregular_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], None], says: str) -> None:
    make(tmp_path / "it")
    with pytest.raises(OSError, match=says):
        read_regular(tmp_path / "it")


def test_a_file_that_grows_is_not_read_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "it").write_bytes(bytes(100))
    monkeypatch.setattr(files, "MOST_OCTETS", 10)
    monkeypatch.setattr(files, "_require_regular", lambda *_: None)
    with pytest.raises(OSError, match="it has more than"):
        read_regular(tmp_path / "it")
