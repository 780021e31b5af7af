"""``identity ledger witness``: a small HTTP witness (C2SP tlog-witness); and ``identity ledger checkpoint``, its client.

One process, one state file that is replaced whole before an answer leaves. It listens on loopback unless told otherwise;
put a proxy before it for anything larger. Left out: bastions, ``sign-subtree``, ML-DSA.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
import httpx

from identity_core.cli.ledger_sources import (
    LogSource,
    Missing,
    key_option,
    opened,
    opened_checkpoint,
    source_options,
    trusted_key,
    verifier_key,
)
from identity_core.cli.options import FILE
from identity_core.cli.output import Command, fail, failing, show
from identity_core.codec.multibase import base64url_encode
from identity_core.crypto import ed25519
from identity_core.crypto.ed25519 import Ed25519KeyPair
from identity_core.database.files import durable_draft
from identity_core.domain.ledger.note import (
    MAX_NOTE,
    WITNESS,
    Checkpoint,
    VerifierKey,
    cosignature_line,
    cosignature_message,
)
from identity_core.domain.ledger.proofs import consistency_spans, span_hash
from identity_core.domain.ledger.tiles import needed, node_from, tile_at
from identity_core.domain.ledger.tree import Malformed, Refuted
from identity_core.domain.ledger.witness import NotSigned, Stale, Submission, UnknownLog, accept

STATUS: dict[type[Exception], int] = {UnknownLog: 404, NotSigned: 403, Stale: 409, Malformed: 400}
INCONSISTENT = 422
NO_ANSWER = (httpx.TransportError, httpx.InvalidURL)
SOCKET_SECONDS = 10.0

_LENGTH = re.compile(r"[0-9]{1,9}", re.ASCII)


class WitnessServer:
    """Watches ``logs`` and remembers in ``state`` what it cosigned last."""

    def __init__(self, key: VerifierKey, pair: Ed25519KeyPair, logs: Sequence[VerifierKey], state: Path) -> None:
        self.key = key
        self._pair, self._logs, self._state = pair, logs, state
        self._turn = threading.Lock()
        self._latest = _read_state(state)

    def add_checkpoint(self, octets: bytes) -> str:
        """The cosignature line. Raises what ``accept`` raises."""
        submission = Submission.parse(octets)
        with self._turn:
            checkpoint = accept(submission, self._logs, self._latest)
            latest = {**self._latest, checkpoint.origin: checkpoint}
            _write_state(self._state, latest)
            self._latest = latest
        seconds = int(time.time())
        return cosignature_line(self.key, seconds, self._pair.sign(cosignature_message(checkpoint.text, seconds)))


class Handler(BaseHTTPRequestHandler):
    """POST /add-checkpoint, and nothing else."""

    witness: WitnessServer
    protocol_version = "HTTP/1.1"
    timeout = SOCKET_SECONDS

    def do_POST(self) -> None:
        """One submission."""
        length = self.headers.get("Content-Length", "")
        if self.path != "/add-checkpoint" or not _LENGTH.fullmatch(length) or int(length) > 2 * MAX_NOTE:
            self.close_connection = True
            status = 404 if self.path != "/add-checkpoint" else 400
            self._answer(status, "text/plain", "POST a checkpoint to /add-checkpoint\n")
            return
        try:
            line = self.witness.add_checkpoint(self.rfile.read(int(length)))
        except Stale as error:
            self._answer(409, "text/x.tlog.size", f"{error.size}\n")
        except (Malformed, Refuted) as error:
            self._answer(STATUS.get(type(error), INCONSISTENT), "text/plain; charset=utf-8", f"{error}\n")
        else:
            self._answer(200, "text/plain; charset=utf-8", line)

    def _answer(self, status: int, media: str, text: str) -> None:
        octets = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(octets)))
        self.end_headers()
        self.wfile.write(octets)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """One line a request on stderr."""
        click.echo(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {int(code)}", err=True)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: what remains to be logged are a stranger's own words."""


@click.command(name="witness", cls=Command)
@click.option(
    "--log", "logs", multiple=True, required=True, help="The verifier key of a log to watch, or a file with it."
)
@click.option("--name", default="witness.invalid/identity", show_default=True, help="The name under which it cosigns.")
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False), required=True, help="Where key and state are kept."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=int, default=8099, show_default=True, help="Port to listen on; 0 takes a free one.")
def witness(logs: Sequence[str], name: str, folder: Path, host: str, port: int) -> None:
    """Cosign the checkpoints of logs that only grow; refuse a fork (422) and a rollback (409), no matter who signed it."""
    watched = [verifier_key(text) for text in logs]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    pair = _own_key(folder / "witness.key")
    with failing(Malformed, name, "a name such as witness.example.org/w1, and a folder that a witness wrote"):
        key = VerifierKey(name, pair.public, WITNESS)
        made = WitnessServer(key, pair, watched, folder / "witness.json")
    handler = type("Bound", (Handler,), {"witness": made})
    try:
        server = ThreadingHTTPServer((host, port), handler)
    except OSError as error:
        fail(f"cannot listen: {error.strerror}", f"{host}:{port}", "choose another --port or --host")
    url = f"http://{host}:{server.server_address[1]}"
    body = {"url": url, "verifierKey": str(key), "logs": [one.name for one in watched], "process": os.getpid()}
    show(body, text="Witness at {url}\nKey {verifierKey}")
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("stopped", err=True)


def cosigned(url: str, note: bytes, checkpoint: Checkpoint, prove: Any) -> bytes:
    """The note with the cosignature of the witness at ``url``; ``prove(old)`` makes the consistency proof from that size.

    Raises ``Refuted`` when the witness does not cosign.
    """
    place, old = f"{url.rstrip('/')}/add-checkpoint", 0
    for _ in range(3):
        body = Submission(old, tuple(prove(old)), note).encode()
        with failing(NO_ANSWER, url, "start it with `identity ledger witness`", what="the witness does not answer"):
            answer = httpx.post(place, content=body, timeout=SOCKET_SECONDS, trust_env=False)
        if answer.status_code == 200:
            return note + answer.content
        if answer.status_code != 409 or not answer.text.strip().isdigit():
            raise Refuted(f"the witness refuses: {answer.status_code} {answer.text.strip()[:200]}")
        old = int(answer.text)
        if old > checkpoint.size:
            raise Refuted(f"the witness has seen {old} entries, the log shows {checkpoint.size}: it was cut")
    raise Refuted("the log grows faster than the witness cosigns; try again")


def _own_key(path: Path) -> Ed25519KeyPair:
    """The witness's own key, made at the first start."""
    if not path.exists():
        # A link fails where another process was first; then its key holds.
        with durable_draft(path, secrets.token_bytes(32)) as draft, contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
    seed = path.read_bytes()
    if len(seed) != 32:
        fail("the witness's key has not 32 octets", str(path), "put the right file there; a new key is a new witness")
    return ed25519.generate(seed)


def _read_state(path: Path) -> dict[str, Checkpoint]:
    if not path.exists():
        return {}
    try:
        texts = json.loads(path.read_text())
        return {origin: Checkpoint.parse(text) for origin, text in texts.items()}
    except (ValueError, AttributeError) as error:
        raise Malformed(f"the state of the witness cannot be read: {error}") from error


def _write_state(path: Path, latest: dict[str, Checkpoint]) -> None:
    """Durable before the cosignature leaves: a witness that forgets could cosign a fork."""
    texts = {origin: one.text for origin, one in latest.items()}
    with durable_draft(path, json.dumps(texts).encode()) as draft:
        draft.replace(path)


@click.command(name="checkpoint", cls=Command)
@source_options
@key_option
@click.option("--witness", "witnesses", multiple=True, help="URL of a witness that shall cosign it.")
@click.option("--save", type=FILE, help="Keep it, for a later --held.")
def checkpoint(key_text: str | None, witnesses: Sequence[str], save: Path | None, **where: Any) -> None:
    """Fetch the signed checkpoint, verify it, have it cosigned, keep it."""
    with opened(**where) as source:
        note = source.note()
        found = opened_checkpoint(note, trusted_key(source, key_text), source.place).checkpoint
        remedy = "compare the checkpoints: the signer of both has forked the log"
        with failing((Refuted, Malformed, Missing), source.place, remedy):
            for url in witnesses:
                note = cosigned(url, note, found, lambda old: _grown_from(source, old, found.size))
    if save is not None:
        save.write_bytes(note)
    root = base64url_encode(found.root)
    body = {"origin": found.origin, "treeSize": found.size, "rootHash": root, "checkpoint": note.decode()}
    show(body, text=lambda shown: str(shown["checkpoint"]).removesuffix("\n"))


def _grown_from(source: LogSource, old: int, new: int) -> list[bytes]:
    """The consistency proof, made from tiles."""
    spans = consistency_spans(old, new)
    tiles = {(level, number): source.tile(tile_at(new, level, number)) for level, number in needed(spans)}
    return [span_hash(span, node_from(tiles)) for span in spans]
