"""The file of a holder with its own secret of suite-2 credentials: its members, and a check of their consistency."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from identity_codec.multibase import base64url_decode
from identity_core.errors import InvalidCredential

HELD: Final[Mapping[str, Any]] = {"secret": "", "requests": {}, "credentials": {}}
OWN = "secret"
"""The member of a request or credential that has a secret of its own: the one from before a rotation."""
ISSUED_ANEW = (
    "ask each issuer for another (`identity credential request`; the issuer signs with --new-secret), and to revoke the one before: who "
    "has a former secret proves with it until then"
)


def secret_of(record: Mapping[str, Any], kept: Mapping[str, str]) -> str:
    """Return the secret that a request or a credential of the file is bound to: the present one, or its own from before a rotation."""
    return str(kept.get(OWN, record[OWN]))


def unfit(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the reasons why credentials of a holder's file prove nothing, by their ids."""
    from identity_bbs.bls12381 import select
    from identity_bbs.bls12381.keys import InvalidBlsKey
    from identity_bbs.openings import BLIND_SLOT, HolderSecret
    from identity_bbs.suite import ciphersuite
    from identity_bound_credentials.domain.bound_format import binding_of, parse_credential

    suite = ciphersuite(select())
    curve = suite.curve
    for name, kept in record["credentials"].items():
        try:
            bound = binding_of(parse_credential(kept["credential"]))
            blind = int.from_bytes(base64url_decode(kept["blind"]), "big")
            secret = HolderSecret.from_bytes(suite, base64url_decode(secret_of(record, kept)))
        except InvalidBlsKey:
            yield name, "its secret is not there"
            continue
        except (InvalidCredential, KeyError, TypeError, ValueError, AttributeError):
            yield name, "it cannot be read"
            continue
        point = curve.g1_add(secret.point, curve.g1_mul(suite.generator(BLIND_SLOT), blind))
        if bound is None or bound.commitment != curve.g1_to_octets(point):
            yield name, "it is bound to another secret"
