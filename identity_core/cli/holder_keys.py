"""Where ``identity ibct verify`` takes the holder's keys from: the command line, a DID document, or a service that resolves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from identity_core.codec import multikey, strict_json
from identity_core.domain.times import parse


def holder_keys(did: str, now: datetime, *, keys: Sequence[str], document: Any, url: str | None) -> list[bytes]:
    """The raw Ed25519 keys that may sign for ``did`` now, of the one source that was named. Raises ``ValueError``."""
    if sum((bool(keys), document is not None, url is not None)) != 1:
        raise ValueError("give one of --key, --document and --resolve")
    if keys:
        return [_ed25519(key) for key in keys]
    if document is not None:
        try:
            value = strict_json.loads(document.read())
        except strict_json.JsonRefused as refused:
            raise ValueError(f"the DID document is no JSON: {refused}") from None
        return authentication_keys(value, did, now)
    from identity_core.cli.remote import session

    with session(str(url)) as opened:
        return authentication_keys(opened.resolve(did), did, now)


def authentication_keys(value: Any, did: str, now: datetime) -> list[bytes]:
    """Of a DID document, bare or in a resolution. Raises ``ValueError`` for one of another DID, or that has no such key."""
    document = value.get("didDocument", value) if isinstance(value, Mapping) else None
    if not isinstance(document, Mapping) or document.get("id") != did:
        raise ValueError("it is not the DID document of the token's invoker")
    methods = [*document.get("verificationMethod", []), *document.get("authentication", [])]
    known = {method["id"]: method for method in methods if isinstance(method, Mapping) and "id" in method}
    found = []
    for entry in document.get("authentication", []):
        method = known.get(entry["id"] if isinstance(entry, Mapping) else entry, {})
        until = method.get("revoked")
        if "publicKeyMultibase" in method and (until is None or now < parse(until)):
            kind, raw = multikey.decode_public(method["publicKeyMultibase"])
            if kind == multikey.ED25519:
                found.append(raw)
    if not found:
        raise ValueError("the DID document has no Ed25519 authentication key in force")
    return found


def _ed25519(text: str) -> bytes:
    kind, raw = multikey.decode_public(text)
    if kind != multikey.ED25519:
        raise ValueError("not an Ed25519 multikey")
    return raw
