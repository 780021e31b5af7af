"""A DID with a ledger of its own, made by the rules and the log of the service, from a fixed random source.

The examples of the document are told from it (``did_examples``). Its keys are public: never use them.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from identity_did_ids.chain import Chain
from identity_did_ids.evolution import Rules

from identity_client import challenge
from identity_codec import ed25519
from identity_core.domain.dids import keys, logs
from identity_core.domain.dids.changes import Authorization, Change
from identity_core.domain.dids.keys import Key
from identity_core.ports.ledger import Receipt
from identity_core.ports.repositories import IndexedVersion

ORIGIN: Final = "https://identity.example"
START: Final = datetime(2026, 1, 5, 9, 0, 0, tzinfo=UTC)

Json = dict[str, Any]


def dice(seed: str) -> Callable[[int], bytes]:
    """Bytes that are the same every time."""
    counter = itertools.count()

    def random(count: int) -> bytes:
        return hashlib.shake_256(f"openapi.story {seed} {next(counter)}".encode()).digest(count)

    return random


@dataclass(slots=True)
class Story:
    """One DID: its versions, and the lines of its log."""

    random: Callable[[int], bytes]
    versions: list[IndexedVersion] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    _chain: Chain = field(default_factory=lambda: Chain("ids", Rules()))
    _log_key: Key = field(init=False)

    def __post_init__(self) -> None:
        self._log_key = self.key()

    @property
    def did(self) -> str:
        """The DID, once it is created."""
        return str(self.versions[0].state.did)

    @property
    def log_key(self) -> str:
        """The multikey that signs the entries."""
        return self._log_key.public

    @property
    def log_secret(self) -> bytes:
        """The secret of the key that signs the entries."""
        return self._log_key.secret_raw

    def key(self, kind: str = "Ed25519", *purposes: str) -> Key:
        """A new key."""
        return keys.generate(kind, self.random, purposes)

    def record(self, change: Change, at: datetime) -> IndexedVersion:
        """Drafts, signs, checks and appends."""
        before = self.versions[-1].state if self.versions else None
        draft = self._chain.draft(before, change, at, signer=self.log_key)
        entry = draft.sealed(ed25519.sign(self._log_key.secret_raw, draft.signing_input))
        after = self._chain.apply(before, entry)
        sequence = len(self.lines) + 1
        receipt = Receipt(hashlib.sha256(entry).hexdigest(), sequence, sequence, at)
        version = IndexedVersion(after, receipt, logs.changes(before, after))
        self.lines.append(entry)
        self.versions.append(version)
        return version

    def offer(self, purpose: str, body: Json, at: datetime) -> str:
        """A challenge for exactly this."""
        return challenge.build(
            origin=ORIGIN,
            did=self.did,
            purpose=purpose,
            body_hash=challenge.hash_body(body),
            nonce=self.random(32),
            expires_at=at + timedelta(minutes=5),
        )

    def sign(self, key: Key, purpose: str, body: Json, at: datetime, *, scheme: str = "DIDAuth") -> Authorization:
        """The controller's signature over a challenge for this body."""
        text = self.offer(purpose, body, at)
        return Authorization(scheme, key.public, text, ed25519.sign(key.secret_raw, text.encode()))
