"""Logs of DIDs as far as the kernel reads them: the keys that an entry states, its signer, and the fold of a method.

The form of entries and the rules of changes belong to the methods (``identity_did_ids``, which other methods use). A log pre-rotates
once an entry has ``nextKeyHashes`` (did:webvh 1.0, "Pre-Rotation Key Hash Generation and Verification").
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

import orjson

from identity_client.data_integrity import signer_of_proof
from identity_codec import multibase
from identity_codec.values import value_class
from identity_core.domain.dids.state import DidState, LogInvalid, remembering

UPDATE_KEYS: Final = "updateKeys"
NEXT_KEY_HASHES: Final = "nextKeyHashes"
Apply = Callable[[DidState | None, bytes], DidState]
"""The ``apply`` of a DID method: the state after an entry. Raises ``LogInvalid``."""
_SHA256: Final = b"\x12\x20"


@value_class
class LogKeys:
    """The log keys that an entry states: ``update_keys`` are Ed25519 multikeys, ``next_key_hashes`` the ``key_hash`` of
    those that the next entry may name."""

    update_keys: tuple[str, ...]
    next_key_hashes: tuple[str, ...] = ()

    def parameters(self) -> dict[str, Any]:
        """As members of an entry's ``parameters``."""
        return {UPDATE_KEYS: [*self.update_keys], NEXT_KEY_HASHES: [*self.next_key_hashes]}


def multihash(octets: bytes) -> str:
    """Base58btc of the multihash of the SHA-256 of ``octets``: 46 characters."""
    return multibase.base58_encode(_SHA256 + hashlib.sha256(octets).digest())


# Of the few keys of the service, for every entry again.
@lru_cache(maxsize=256)
def key_hash(multikey: str) -> str:
    """Base58btc of the multihash of the SHA-256 of the multikey's text."""
    return multihash(multikey.encode())


def signer_of(octets: bytes) -> str | None:
    """The multikey that the proof of an entry names, checked or not; None where the bytes are no entry of a log."""
    try:
        value: Any = orjson.loads(octets)
        return signer_of_proof(value["proof"][0])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None


def fold(apply: Apply, lines: Iterable[bytes]) -> Iterator[DidState]:
    """The states after each line, by a method's ``apply``. Raises ``LogInvalid`` with the ``line`` in its details."""
    state: DidState | None = None
    for place, line in enumerate(lines, start=1):
        try:
            after = apply(state, line)
            state = remembering(after) if state is None else after
        except LogInvalid as error:
            raise LogInvalid(str(error), details={"line": place}) from error
        yield state
