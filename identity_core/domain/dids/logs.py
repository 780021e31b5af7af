"""Logs of DIDs, as far as the kernel reads them: the keys in an entry, its signer, the fold of a method, and the differences.

The form of entries and the rules of changes belong to the methods. A log pre-rotates
once an entry has ``nextKeyHashes`` (did:webvh 1.0, "Pre-Rotation Key Hash Generation and Verification").
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import orjson
from msgspec import Struct

from identity_client.data_integrity import signer_of_proof
from identity_codec import multibase, times
from identity_core.domain.dids.state import KEY_EXPIRED, DidState, LogInvalid, remembering

UPDATE_KEYS: Final = "updateKeys"
NEXT_KEY_HASHES: Final = "nextKeyHashes"
Apply = Callable[[DidState | None, bytes], DidState]
"""The ``apply`` of a DID method: the state after an entry. Raises ``LogInvalid``."""
_SHA256: Final = b"\x12\x20"


class LogKeys(Struct, frozen=True):
    """The log keys of an entry. ``update_keys`` are Ed25519 multikeys. ``next_key_hashes`` are the ``key_hash`` values of the keys that
    the next entry may name."""

    update_keys: tuple[str, ...]
    next_key_hashes: tuple[str, ...] = ()

    def parameters(self) -> dict[str, Any]:
        """Return the members for an entry's ``parameters``."""
        return {UPDATE_KEYS: [*self.update_keys], NEXT_KEY_HASHES: [*self.next_key_hashes]}


def multihash(data: bytes) -> str:
    """Return base58btc of the multihash of the SHA-256 of ``data``: 46 characters."""
    return multibase.base58_encode(_SHA256 + hashlib.sha256(data).digest())


# Cached, because every entry has the same few keys of the service.
@lru_cache(maxsize=256)
def key_hash(multikey: str) -> str:
    """Return base58btc of the multihash of the SHA-256 of the multikey's text."""
    return multihash(multikey.encode())


def signer_of(data: bytes) -> str | None:
    """Return the multikey that the proof of an entry names, without verification; None if the bytes are not an entry of a log."""
    try:
        value: Any = orjson.loads(data)
        return signer_of_proof(value["proof"][0])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None


def fold(apply: Apply, lines: Iterable[bytes]) -> Iterator[DidState]:
    """Yield the state after each line, by a method's ``apply``. Raises ``LogInvalid``, with the ``line`` in its details."""
    state: DidState | None = None
    for place, line in enumerate(lines, start=1):
        try:
            after = apply(state, line)
            state = remembering(after) if state is None else after
        except LogInvalid as error:
            raise LogInvalid(str(error), details={"line": place}) from error
        yield state


def check_not_retired(retired: Mapping[str, int], entry: bytes, index: int) -> None:
    """Check that no retired key signed ``entry``, which is at ``index`` (from 0) of the transparency log. ``retired`` are the tree sizes
    of retirements by multikey. Raises ``LogInvalid``: when the key is retired and ``index`` is not below its tree size."""
    if not retired:
        return
    size = retired.get(signer_of(entry) or "")
    if size is not None and index >= size:
        raise LogInvalid(
            f"The entry is signed by a retired key: it is leaf {index} of the log, and the key counts for leaves below {size}."
        )


def changes(before: DidState | None, after: DidState) -> tuple[str, ...]:
    """Return the differences as public strings such as ``keyAdded #z6Mk…``."""
    if before is None:
        return _beginning(after)
    old, new = before.document, after.document
    removed = "keyExpired" if after.operation == KEY_EXPIRED else "keyRemoved"
    found = [f"{removed} {_name(m.id)}" for m in old.methods if new.method(m.id) is None]
    for method in new.methods:
        known = old.method(method.id)
        if known is None:
            found.append(f"keyAdded {_name(method.id)}")
        elif known.revoked != method.revoked and method.revoked is not None:
            found.append(f"keyRevoked {_name(method.id)} at {times.printed(method.revoked)}")
    old_services = {service.id: service for service in old.services}
    new_services = {service.id: service for service in new.services}
    found += [f"serviceRemoved {_name(name)}" for name in old_services if name not in new_services]
    for name, service in new_services.items():
        if name not in old_services:
            found.append(f"serviceAdded {_name(name)}")
        elif old_services[name] != service:
            found.append(f"serviceUpdated {_name(name)}")
    if after.restored is not None:
        found.insert(0, f"versionRestored {after.restored}")
    if set(old.also_known_as) != set(new.also_known_as):
        found.append("alsoKnownAsChanged")
    if after.witness_version == after.version_id:
        found.append("witnessesChanged")
    if after.strict_evidence and not before.strict_evidence:
        found.append("strictEvidenceBegun")
    if after.deactivated:
        found.append("deactivated")
    elif before.recovery_key != after.recovery_key:
        found.append("recoveryKeyChanged")
    return tuple(found)


def _beginning(first: DidState) -> tuple[str, ...]:
    """Return the differences of a first version: all of its content."""
    document = first.document
    found = [f"keyAdded {_name(method.id)}" for method in document.methods]
    found += [f"serviceAdded {_name(service.id)}" for service in document.services]
    if document.also_known_as:
        found.append("alsoKnownAsChanged")
    if first.recovery_key is not None:
        found.append("recoveryKeyChanged")
    return tuple(found)


def _name(did_url: str) -> str:
    return "#" + did_url.partition("#")[2]
