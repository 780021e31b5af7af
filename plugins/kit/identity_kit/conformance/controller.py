"""A controller for the DID kit and for tests: keys from a seed, and the signatures of a wallet over challenges."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from identity_client import challenge
from identity_codec import ed25519, multikey
from identity_codec.strict_json import JsonValue
from identity_codec.values import replace
from identity_core.domain.dids import keys
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import Authorization, Change, Create, Operation, Update
from identity_core.domain.dids.keys import Key
from identity_core.domain.dids.logs import LogKeys, key_hash
from identity_core.domain.dids.state import DidState
from identity_core.ports.did_method import DidMethod, PreRotatingDidMethod, UnsignedEntry

ORIGIN: Final = "https://id.example"
BIRTH: Final = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def seeded_random(seed: str) -> Callable[[int], bytes]:
    """Return a source of reproducible bytes: SHAKE-256 of the seed and a counter of the calls."""
    throws = 0

    def throw(size: int) -> bytes:
        nonlocal throws
        throws += 1
        return hashlib.shake_256(f"{seed}/{throws}".encode()).digest(size)

    return throw


class WalletSigner:
    """An Ed25519 key that signs log entries."""

    def __init__(self, seed: str) -> None:
        self._pair = ed25519.generate(seeded_random(f"signer/{seed}")(32))
        self.multikey = multikey.encode_public(multikey.ED25519, self._pair.public)

    def seal(self, draft: UnsignedEntry) -> bytes:
        """Return the finished entry."""
        return draft.sealed(self.sign(draft))

    def sign(self, draft: UnsignedEntry) -> bytes:
        """Return the signature of the draft."""
        return self._pair.sign(draft.signing_input)


def committed(signer: WalletSigner, *others: WalletSigner) -> LogKeys:
    """Return the log keys in an entry by ``signer``, if it or one of the ``others`` signs the next."""
    return LogKeys((signer.multikey,), tuple(key_hash(one.multikey) for one in (signer, *others)))


class Controller:
    """A controller of DIDs. It can sign with every key that it makes."""

    def __init__(self, seed: str) -> None:
        self._random = seeded_random(seed)
        self._secrets: dict[str, bytes] = {}

    def key(self, type_name: str = "Ed25519") -> Key:
        """Return a new key without purposes."""
        pair = keys.generate(type_name, self._random)
        self._secrets[pair.public] = pair.secret_raw
        return pair

    def new_key(self, type_name: str = "Ed25519", *purposes: str) -> Key:
        """Return a new key in the form of changes; its default purposes are those of a primary key."""
        return replace(self.key(type_name), purposes=purposes or keys.default_purposes(type_name, primary=True))

    def creation(self, signer: WalletSigner, *, recovery: bool = True) -> Create:
        """Return a DID with one Ed25519 key and maybe a recovery key."""
        # The kit signs before it knows the change, so its evidence names none.
        recovery_key = self.key().public if recovery else None
        return Create((self.new_key(),), (signer.multikey,), recovery_key=recovery_key, strict_evidence=False)

    def sign(self, key: str, text: str) -> bytes:
        """Return the signature of one of its keys, named by its multikey."""
        return ed25519.sign(self._secrets[key], text.encode())

    def authorize(
        self,
        did: str,
        key: str,
        at: datetime,
        *,
        scheme: str = challenge.DID_AUTH,
        purpose: str | None = None,
        body: JsonValue = None,
        lifetime: timedelta = timedelta(minutes=5),
    ) -> Authorization:
        """Return a signed challenge for ``did`` that expires ``lifetime`` after ``at``, cut to whole seconds, and names ``purpose``
        and the hash of ``body`` where they are given."""
        text = challenge.build(
            origin=ORIGIN,
            did=did,
            purpose=purpose,
            body_hash=None if body is None else challenge.hash_body(body),
            nonce=self._random(challenge.NONCE_BYTES),
            expires_at=at.replace(microsecond=0) + lifetime,
        )
        return Authorization(scheme, key, text, self.sign(key, text), body)


class Life:
    """A DID under test: its log so far, and the next entry of it."""

    def __init__(
        self,
        method: DidMethod,
        creation: Create,
        controller: Controller,
        signer: WalletSigner,
        next_keys: LogKeys | None = None,
    ) -> None:
        self.method, self.creation, self.controller, self.signer = method, creation, controller, signer
        self.entries: list[bytes] = []
        self.states: list[DidState] = []
        self.change(creation, BIRTH, next_keys)

    @property
    def state(self) -> DidState:
        """Return the newest state."""
        return self.states[-1]

    def entry(self, change: Change, at: datetime, next_keys: LogKeys | None = None) -> bytes:
        """Return the sealed next entry, not applied. ``next_keys`` is for a method that pre-rotates."""
        before = self.states[-1] if self.states else None
        if next_keys is None or not isinstance(self.method, PreRotatingDidMethod):
            return self.signer.seal(self.method.draft(before, change, at, signer=self.signer.multikey))
        draft = self.method.draft(before, change, at, signer=self.signer.multikey, next_keys=next_keys)
        return self.signer.seal(draft)

    def change(self, change: Change, at: datetime, next_keys: LogKeys | None = None) -> DidState:
        """Draft, seal and apply a change."""
        entry = self.entry(change, at, next_keys)
        state = self.method.apply(self.states[-1] if self.states else None, entry)
        self.entries.append(entry)
        self.states.append(state if self.states else history.remembering(state))
        return self.state

    def update(self, *operations: Operation, at: datetime | None = None) -> DidState:
        """Apply these changes of the document, authorised by the controller. The default time is after the newest version."""
        moment = at or self.later()
        return self.change(Update(operations, self.authorize(moment)), moment)

    def authorize(self, at: datetime, *, key: str | None = None, scheme: str = challenge.DID_AUTH) -> Authorization:
        """Return evidence by ``key``, or by the first key that may authenticate."""
        signer = key or history.authentication_keys(self.state, at)[0]
        return self.controller.authorize(str(self.state.did), signer, at, scheme=scheme)

    def later(self, seconds: float = 60) -> datetime:
        """Return a time after the newest version."""
        return self.state.updated_at + timedelta(seconds=seconds)
