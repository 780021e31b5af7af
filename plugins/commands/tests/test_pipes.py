"""A secret is read from a pipe to its end, and a silent or endless pipe is refused."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest
from identity_commands.secret_input import read_pipe


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writing = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(b"secret" * 20_000))
    writing.start()
    assert read_pipe(tmp_path / "pipe") == b"secret" * 20_000
    writing.join()


def test_silent_or_endless_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TimeoutError, match="no process writes"):
        read_pipe(tmp_path / "pipe", seconds=0.05)

    def endless() -> None:
        # Until the reader has gone.
        with contextlib.suppress(BrokenPipeError), (tmp_path / "pipe").open("wb") as pipe:
            while True:
                pipe.write(bytes(100_000))

    writing = threading.Thread(target=endless)
    writing.start()
    with pytest.raises(OSError, match="it has more than 4 MiB"):
        read_pipe(tmp_path / "pipe")
    writing.join()
