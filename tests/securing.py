"""Credentials of bbs-2023 as an issuer and a holder make them at home."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from identity_securing_bbs2023 import Bbs2023

from identity_bbs import interface
from identity_bbs.bls12381 import keys, select
from identity_bbs.suite import ciphersuite
from identity_codec import multikey
from identity_core.ports.securing import UnsecuredCredential


@functools.cache
def bbs() -> Bbs2023:
    """The format, once a process."""
    return Bbs2023()


def new_key() -> dict[str, str]:
    """A key of a did:key issuer, in the form of ``createDid``'s answer."""
    secret = keys.generate_secret(bytes(range(32)))
    public = multikey.encode_public(multikey.BLS12381G2, keys.public_key(secret))
    return {
        "keyId": f"did:key:{public}#{public}",
        "publicKey": public,
        "privateKey": multikey.encode_secret(multikey.BLS12381G2, secret),
    }


def issued(claims: Mapping[str, Any], key: Mapping[str, str], *, mandatory: Sequence[str]) -> dict[str, Any]:
    """A credential that the key of ``createDid``'s answer has signed, as its holder gets it."""
    unsecured = UnsecuredCredential(claims, key["keyId"], key["publicKey"], datetime.now(UTC), mandatory)
    draft = bbs().draft(unsecured)
    (_, secret), (_, public) = multikey.decode_secret(key["privateKey"]), multikey.decode_public(key["publicKey"])
    signature = interface.sign(ciphersuite(select()), secret, public, draft.header, draft.messages)
    secured = bbs().secure(draft, signature)
    assert isinstance(secured, dict)
    return secured


def disclosed(
    claims: Mapping[str, Any], key: Mapping[str, str], *, mandatory: Sequence[str], pointers: Sequence[str]
) -> dict[str, Any]:
    """What the holder shows of one."""
    shown = bbs().derive(issued(claims, key, mandatory=mandatory), key["publicKey"], pointers=pointers)
    assert isinstance(shown, dict)
    return shown
