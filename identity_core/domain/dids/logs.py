"""Logs of DIDs as far as the kernel reads them: the keys that an entry states, its signer, the fold of a method, and what changed.

The form of entries and the rules of changes belong to the methods. A log pre-rotates
once an entry has ``nextKeyHashes`` (did:webvh 1.0, "Pre-Rotation Key Hash Generation and Verification").
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import orjson

from identity_client.data_integrity import signer_of_proof
from identity_codec import multibase, times
from identity_codec.values import value_class
from identity_core.domain.dids.state import KEY_EXPIRED, DidState, LogInvalid, remembering

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


def multihash(data: bytes) -> str:
    """Base58btc of the multihash of the SHA-256 of ``data``: 46 characters."""
    return multibase.base58_encode(_SHA256 + hashlib.sha256(data).digest())


# Of the few keys of the service, for every entry again.
@lru_cache(maxsize=256)
def key_hash(multikey: str) -> str:
    """Base58btc of the multihash of the SHA-256 of the multikey's text."""
    return multihash(multikey.encode())


def signer_of(data: bytes) -> str | None:
    """The multikey that the proof of an entry names, checked or not; None where the bytes are no entry of a log."""
    try:
        value: Any = orjson.loads(data)
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


def check_not_retired(retired: Mapping[str, int], entry: bytes, index: int) -> None:
    """Raise ``LogInvalid`` for an ``entry`` of any log that a retired key has signed and that stands at ``index`` (from 0) of the
    transparency log, where that is at or past the tree size of the retirement. ``retired`` are tree sizes by multikey."""
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
    """The same for a first version, which has all that there is, and nothing else."""
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
