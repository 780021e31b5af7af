"""The keys and the state of a witness in one folder: C2SP tlog-witness v1.0.0 without its HTTP.

``witness.json`` maps the origin of each log to the last checkpoint that was cosigned, as a signed note with the log's signature and
the cosignatures. It is replaced as a whole, and is on disk before a cosignature is returned, because a witness without its state
could cosign a fork. One process uses the folder at a time, under ``witness.lock``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from identity_codec import ed25519
from identity_codec.ed25519 import Ed25519KeyPair
from identity_core.cli.output import fail
from identity_core.database.files import FileLock
from identity_core.files import durable_draft
from identity_tlog import mldsa
from identity_tlog.mldsa import MlDsaKeyPair
from identity_tlog.note import (
    WITNESS,
    WITNESS_ML_DSA,
    Checkpoint,
    Note,
    VerifierKey,
    cosignature_line,
    cosignature_message,
    subtree_message,
)
from identity_tlog.policy import WitnessPolicy
from identity_tlog.tree import Malformed
from identity_tlog.witness import Submission, accept

STATE: Final = "witness.json"


class CosigningKey(Struct, frozen=True):
    """The key pair of a witness, and the verifier key of its cosignatures."""

    key: VerifierKey
    pair: Ed25519KeyPair | MlDsaKeyPair

    def line(self, checkpoint: Checkpoint, seconds: int) -> str:
        """Return the cosignature line of a checkpoint at a POSIX time."""
        if self.key.kind == WITNESS_ML_DSA:
            message = subtree_message(self.key.name, seconds, checkpoint)
        else:
            message = cosignature_message(checkpoint.text, seconds)
        return cosignature_line(self.key, seconds, self.pair.sign(message))


class LogsUnknown(Exception):
    """An unreadable policy. No checkpoint is cosigned until it can be read."""


class WatchedLogs(Struct, frozen=True):
    """The keys of the logs that a witness watches: the ``given`` ones, and those of the lines ``log`` in a tlog-policy file (C2SP
    tlog-policy), which is read again for each request.

    So the operator of the witness can replace a key or remove a stolen one there, with immediate effect. A log cannot do this
    itself, because a thief of its key could do it too.
    """

    given: Sequence[VerifierKey]
    policy: Path | None = None

    def __call__(self) -> Sequence[VerifierKey]:
        """Return the keys of the watched logs. Raises ``LogsUnknown``."""
        if self.policy is None:
            return self.given
        try:
            return (*self.given, *(log.key for log in WitnessPolicy.parse(self.policy.read_bytes()).logs))
        except (Malformed, OSError) as error:
            raise LogsUnknown(f"the policy {self.policy} cannot be read: {error}") from error


class Cosigner(Struct, eq=False):
    """A witness of the current ``logs``, which stores its last cosignatures in ``state``. Raises ``OSError``; ``Malformed``: for an
    unreadable state."""

    keys: Sequence[CosigningKey]
    logs: Callable[[], Sequence[VerifierKey]]
    state: Path
    clock: Callable[[], float] = time.time
    _turn: threading.Lock = field(default_factory=threading.Lock)
    # None where a write has failed half way: then the file says what holds.
    _notes: dict[str, bytes] | None = None

    def __post_init__(self) -> None:
        self._notes = _read(self.state)

    def add_checkpoint(self, data: bytes) -> str:
        """Return the cosignature lines for the body of a request. Raises what ``accept`` raises; ``LogsUnknown``; ``OSError`` where
        the state cannot be kept."""
        submission = Submission.parse(data)
        # Compared, signed and written in one turn: no checkpoint can come in between, and times follow the sizes.
        with self._turn:
            held, logs = self._stored_notes(), self.logs()
            latest = {origin: _checkpoint_of(note) for origin, note in held.items()}
            checkpoint = accept(submission, logs, latest)
            seconds = int(self.clock())
            lines = "".join(one.line(checkpoint, seconds) for one in self.keys)
            notes = {**held, checkpoint.origin: _without_strangers(submission.checkpoint, logs) + lines.encode()}
            if latest.get(checkpoint.origin) != checkpoint:
                self._notes = None
                write_state(self.state, notes)
            self._notes = notes
        return lines

    def latest(self, origin_hash: str) -> bytes | None:
        """Return the last cosigned checkpoint of the log whose origin has this SHA-256 in lower-case hex; None where there is none.
        Raises ``OSError`` where the state cannot be read."""
        with self._turn:
            for origin, note in self._stored_notes().items():
                if hashlib.sha256(origin.encode()).hexdigest() == origin_hash:
                    # One that an earlier version kept has no signatures: it counts, and cannot be shown.
                    return note if b"\n\n" in note else None
        return None

    def _stored_notes(self) -> dict[str, bytes]:
        if self._notes is None:
            self._notes = _read(self.state)
        return self._notes


def _checkpoint_of(note: bytes) -> Checkpoint:
    text = note.decode()
    return Checkpoint.parse(Note.parse(note).text if "\n\n" in text else text)


def _without_strangers(data: bytes, logs: Sequence[VerifierKey]) -> bytes:
    """Return the note with the signatures of ``logs`` alone, because the witness must not store or show anything else that a client
    adds."""
    note = Note.parse(data)
    lines = [log.line(found.signature) for log in logs if (found := note.find_signature(log)) is not None]
    return f"{note.text}\n{''.join(lines)}".encode()


def _read(path: Path) -> dict[str, bytes]:
    try:
        texts = json.loads(path.read_bytes())
        notes = {str(origin): text.encode() for origin, text in texts.items()}
        for origin, note in notes.items():
            if _checkpoint_of(note).origin != origin:
                raise Malformed("a checkpoint stands under another log's name")
    except (ValueError, AttributeError) as error:
        raise Malformed(f"the state of the witness cannot be read: {error}") from error
    return notes


def write_state(path: Path, notes: Mapping[str, bytes]) -> None:
    """Replace the file, durably on return."""
    texts = {origin: note.decode() for origin, note in notes.items()}
    with durable_draft(path, json.dumps(texts).encode()) as draft:
        draft.replace(path)


def open_cosigner(
    folder: Path, name: str, logs: Callable[[], Sequence[VerifierKey]], *, with_ml_dsa: bool
) -> tuple[Cosigner, FileLock]:
    """Return the witness of ``folder``, whose keys are made at its first start, and the lock that the caller holds as long as it
    runs. Ends the command if another process uses the folder or the state is missing. Raises ``Malformed``, ``OSError``."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = FileLock(folder / "witness.lock")
    if not lock.try_acquire():
        fail("another process is this witness", str(folder), "stop it, or give each witness a folder of its own")
    state = folder / STATE
    if not state.exists():
        if (folder / "witness.key").exists():
            remedy = f"put {STATE} back; only a witness that never cosigned anything may begin with {{}} in it"
            fail("the witness does not know what it cosigned: its state is gone", str(state), remedy)
        write_state(state, {})
    pair = ed25519.generate(own_seed(folder / "witness.key"))
    keys = [CosigningKey(VerifierKey(name, pair.public, WITNESS), pair)]
    if with_ml_dsa:
        if not mldsa.is_available():
            fail("cryptography has no ML-DSA-44 here", "--ml-dsa", "install a newer one: pip install -U cryptography")
        other = mldsa.generate(own_seed(folder / "witness.mldsa.key"))
        keys.append(CosigningKey(VerifierKey(name, other.public, WITNESS_ML_DSA), other))
    return Cosigner(keys, logs, state), lock


def own_seed(path: Path) -> bytes:
    """Return the witness's own 32 random bytes, which are made at the first start."""
    if not path.exists():
        # A link fails where another process was first; then its key holds.
        with durable_draft(path, secrets.token_bytes(32)) as draft, contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
    seed = path.read_bytes()
    if len(seed) != 32:
        fail("the witness's key has not 32 bytes", str(path), "put the right file there; a new key is a new witness")
    return seed
