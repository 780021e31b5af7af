"""Witnesses as processes, and logs to submit to them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from identity_tlog.proofs import consistency_spans, span_hash
from identity_tlog.tiles import node_from
from identity_tlog.witness import Submission
from tests.servers import PROGRAM, popen
from tests.transparency import LogKey, tiles_over


@contextlib.contextmanager
def witness(
    folder: Path,
    *logs: str,
    name: str = "witness.example/w1",
    command: Sequence[str] = ("serve",),
    more: Sequence[str] = (),
) -> Iterator[dict[str, Any]]:
    """A running witness: what it announced."""
    words = [word for log in logs for word in ("--log", log)]
    options = ["--folder", str(folder), "--port", "0", "--name", name, "--json", *more]
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as output:
        whole = [*PROGRAM, "ledger", "witness", *command, *words, *options]
        process = popen(whole, stdout=output, stderr=subprocess.DEVNULL)
    try:
        with os.fdopen(reading, "rb") as output:
            said = b""
            while not said.endswith(b"\n}\n"):
                line = output.readline()
                assert line, process.wait(60)
                said += line
        yield json.loads(said)
    finally:
        process.terminate()
        process.wait(60)


def submission(key: LogKey, leaves: list[bytes], old: int, new: int) -> bytes:
    """The body that asks for the checkpoint of the first ``new`` leaves after that of ``old``, with its proof."""
    node = node_from(tiles_over(leaves))
    proof = tuple(span_hash(span, node) for span in consistency_spans(old, new))
    return Submission(old, proof, key.note(leaves[:new])).encode()
