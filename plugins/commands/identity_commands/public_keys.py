"""The sources of public keys for a check: the command line, a document, a log, or a service that resolves.

These are the issuer's keys for `identity proof verify`, and the holder's for `identity ibct verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from identity_client.issuer_key import MANY_KEYS, agent_key_of, assertion_key, signing_keys
from identity_codec import multikey
from identity_codec.strict_json import JsonValue
from identity_codec.times import parse
from identity_commands.json_input import load_json
from identity_core.cli.output import failing
from identity_core.domain.dids.did import controller_of
from identity_core.errors import InvalidDid, ProofInvalid

KeyFinder = Callable[[str], bytes]
"""From the verification method that a proof names to the raw key. Raises ``ProofInvalid`` when that method is not to be relied on, and
``Unchecked`` when that cannot be known."""


class Unchecked(Exception):
    """An issuer's key that could not be fetched. The message states the reason."""


def key_of_option(text: str) -> KeyFinder:
    """Return the key of a ``Bls12381G2Key2020`` multikey, even if the proof names another key of one issuer. Raises ``ValueError``: for
    any other text, and for a proof of several issuers."""
    raw, issuers = raw_key(text, multikey.BLS12381G2), set[str]()

    def find(method_id: str) -> bytes:
        issuers.add(method_id.partition("#")[0])
        if len(issuers) > 1:
            raise ValueError("--issuer-key is the key of one issuer, and the proof names several: give --resolve")
        return raw

    return find


def agents_key(text: str | None) -> bytes | None:
    """Return the raw key of an agent's multikey, if one is given. An invalid one ends the command."""
    with failing(ValueError, "the agent's key", "give an Ed25519 multikey, z6Mk…", status=2):
        return None if text is None else agent_key_of(text)


def in_document(file: Any, now: datetime) -> KeyFinder:
    """Find keys in a DID document, bare or in a resolution result. Raises ``ValueError``: for anything else."""
    return _of_document(_json(file), now)


def in_log(data: bytes, now: datetime) -> KeyFinder:
    """Find keys in the log of a DID, of which every entry is verified. Raises ``ValueError`` for a log that is not valid."""
    from identity_commands.verify_log import verify
    from identity_core.domain.dids.state import LogInvalid

    try:
        verified = verify(data, now=now)
    except LogInvalid as error:
        raise ValueError(f"the issuer's log is not valid: {error}") from None
    if verified.deactivated:
        raise ProofInvalid(details={"reason": "the issuer has deactivated its DID"})
    return _of_document(dict(verified.document), now)


def resolved_at(url: str, now: datetime) -> KeyFinder:
    """Find keys through the service at ``url``, which is trusted for the issuer's document and nothing else."""
    from identity_client import ServiceError, ServiceUnreachable, Session

    def find(method_id: str) -> bytes:
        try:
            did = controller_of(method_id)
            with Session(url) as session:
                answer = session.resolve(str(did))
        except InvalidDid:
            raise ProofInvalid(details={"reason": "the proof names no verification method of a DID"}) from None
        except ServiceUnreachable as error:
            raise Unchecked(str(error)) from error
        except ServiceError as error:
            if error.code in ("DID_NOT_FOUND", "DID_DEACTIVATED", "INVALID_DID"):
                raise ProofInvalid(details={"reason": f"the issuer's DID: {error.code}"}) from error
            raise Unchecked(str(error)) from error
        return _of_document(answer, now)(method_id)

    return find


def _of_document(value: Any, now: datetime) -> KeyFinder:
    document = _document(value)
    if (count := signing_keys(document, now)) > MANY_KEYS:
        says = "one for each holder would tell holders apart"
        click.echo(f"warning: the issuer has {count} keys in force: {says}", err=True)

    def find(method_id: str) -> bytes:
        try:
            return assertion_key(document, method_id, now)
        except ValueError as error:
            raise ProofInvalid(details={"reason": str(error)}) from None

    return find


def holder_keys(did: str, now: datetime, *, keys: Sequence[str], document: Any, url: str | None) -> list[bytes]:
    """Return the raw Ed25519 keys that may sign for ``did`` now, of the one source that was named. Raises ``ValueError``."""
    if sum((bool(keys), document is not None, url is not None)) != 1:
        raise ValueError("give one of --key, --document and --resolve")
    if keys:
        return [raw_key(key, multikey.ED25519) for key in keys]
    if document is not None:
        return authentication_keys(_json(document), did, now)
    from identity_commands.remote import session

    with session(str(url)) as opened:
        return authentication_keys(opened.resolve(did), did, now)


def authentication_keys(value: Any, did: str, now: datetime) -> list[bytes]:
    """Return the keys of a DID document, bare or in a resolution. Raises ``ValueError``: for one of another DID, or without such a
    key."""
    document = _document(value)
    if document["id"] != did:
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


def raw_key(text: str, kind: str) -> bytes:
    """Return the raw key of a multikey of this type. Raises ``ValueError``: for a multikey of another type."""
    found, raw = multikey.decode_public(text)
    if found != kind:
        raise ValueError(f"not a multikey of the type {kind}")
    return raw


def _json(file: Any) -> JsonValue:
    try:
        return load_json(file)
    except ValueError as error:
        raise ValueError(f"the DID document is not JSON: {error}") from None


def _document(value: Any) -> dict[str, Any]:
    """Return a DID document, bare or in the answer of a resolution."""
    if isinstance(value, dict) and isinstance(value.get("didDocument"), dict):
        value = value["didDocument"]
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        raise ValueError("not a DID document, and not the answer of a resolution")
    return value
