"""The issuer's BBS signature on a credential: what is signed, and the check before anything is stored or believed.

Header and messages follow from the schema and the values alone (PROTOCOL.md §2), so whoever imports a credential recomputes
them: a signature on anything else is refused. The signature covers schema and values. Holder, validity and id are the
record's, for which issuer and service vouch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from identity_core.codec import multibase
from identity_core.domain.attributes import ValueRefused
from identity_core.domain.schema import Message, Schema
from identity_core.errors import InvalidCredential, JsonValue

SIGNATURE_OCTETS: Final = 80


def canonical_values(schema: Schema, values: Mapping[str, Any]) -> dict[str, JsonValue]:
    """The values in the order and the one form that the schema gives them, null for one without a value.

    Raises ``InvalidCredential``, which names the attribute and never quotes a value.
    """
    names = [attribute.name for attribute in schema.attributes]
    if values.keys() - set(names):
        # What is too much is not named: it is the caller's text, and may hold what belongs into a value.
        raise InvalidCredential(
            details={"reason": "the schema does not have all of these attributes", "attributes": [*names]}
        )
    canonical: dict[str, JsonValue] = {}
    for attribute in schema.attributes:
        if attribute.name not in values:
            raise _refused(attribute.name, "an attribute without a value is given as null")
        value = values[attribute.name]
        try:
            canonical[attribute.name] = None if value is None else attribute.read(value).json
        except ValueRefused as refused:
            raise _refused(attribute.name, str(refused)) from None
    return canonical


def messages(schema: Schema, canonical: Mapping[str, JsonValue]) -> tuple[Message, ...]:
    """What the issuer signs in the slots, from canonical values."""
    return schema.messages(canonical)


def parse_signature(text: str) -> bytes:
    """The 80 octets of ``signature``: base64url, bare or as multibase ``u…``. Raises ``InvalidCredential``."""
    try:
        octets = multibase.base64url_decode(text.removeprefix("u") if len(text) == 108 else text)
    except ValueError:
        octets = b""
    if len(octets) != SIGNATURE_OCTETS:
        raise InvalidCredential(details={"reason": "the signature is not 80 octets in base64url"})
    return octets


def check_signature(public_key: bytes, signature: bytes, schema: Schema, canonical: Mapping[str, JsonValue]) -> None:
    """Raises ``InvalidCredential`` unless this key (96 octets) signed exactly this schema and these values."""
    # The curve backends are slow to load, and most processes of the command line never need them.
    from identity_core.crypto.bbs import core, octets
    from identity_core.crypto.bbs.suite import BbsSignatureInvalid, ciphersuite
    from identity_core.crypto.bls12381 import select

    suite = ciphersuite(select())
    try:
        scalars = octets.mixed_messages_to_scalars(messages(schema, canonical))
        key = octets.octets_to_public_key(suite, public_key)
        core.core_verify(suite, key, octets.octets_to_signature(suite, signature), schema.header, scalars)
    except (BbsSignatureInvalid, ValueError):
        raise InvalidCredential(details={"reason": "the signature is not the issuer's on these values"}) from None


def _refused(attribute: str, reason: str) -> InvalidCredential:
    return InvalidCredential(details={"attribute": attribute, "reason": reason})
