"""The part of a wallet in a proof: finding the credentials of the question, and the consent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from identity_bound_credentials.holder_file import ISSUED_ANEW, secret_of
from msgspec import Struct

from identity_codec.multibase import base64url_decode
from identity_codec.values import Hidden
from identity_core.cli.output import fail

if TYPE_CHECKING:
    from identity_bound_credentials.domain.bound_format import ShownBinding
    from identity_bound_credentials.domain.presentation import ConsentTerms
    from identity_bound_credentials.domain.question import Question

    from identity_bbs.holders import HolderConsent
    from identity_core.domain.credentials.verifiable_credential import PresentedCredential
    from identity_core.domain.proofs.proof import Context


class WalletCredential(Struct, frozen=True):
    """An entry of the holder's file, its credential, and the credential's binding."""

    kept: dict[str, str]
    presented: PresentedCredential
    bound: ShownBinding


class AskedAtHome(Hidden, Struct, frozen=True):
    """A question, the file's credentials for it, in its order, and the secret to which they are bound."""

    question: Question
    held: tuple[WalletCredential, ...]
    secret: str


def asked_of(record: dict[str, Any], body: Mapping[str, Any], held: Path, *, status: bool | None = None) -> AskedAtHome:
    """Return the question of a request, as the service forms it: about status if every credential names a list, unless ``status``
    is given. Raises ``ValueError``, ``PredicateUnsupported``: for an invalid question. A credential that the file lacks ends the
    command."""
    from identity_bound_credentials.domain.question import AskedCredential, Question

    from identity_core.domain.proofs.asked import parse_asked

    try:
        parts = body["credentials"] if "credentials" in body else [_single(body)]
        found = tuple(held_credential(record, part["credentialId"], held) for part in parts)
        headers = [one.bound.header for one in found]
        asked = tuple(
            AskedCredential(header, tuple(parse_asked(header.schema, one) for one in part.get("predicates", ())))
            for header, part in zip(headers, parts, strict=True)
        )
        same = tuple(
            tuple((one["credential"], one["attributeName"]) for one in together) for together in body.get("same", ())
        )
        either = tuple(map(tuple, body.get("either", ())))
    except (KeyError, TypeError, AttributeError):
        raise ValueError("it has not the members of a question") from None
    is_listed = all(header.status is not None for header in headers) if status is None else status
    question = Question(asked, same, either, status=is_listed, pseudonym=body.get("pseudonym"))
    secrets = {secret_of(record, one.kept) for one in found}
    if len(secrets) > 1:
        fail("the credentials are bound to two secrets", str(held), f"of those on the former one: {ISSUED_ANEW}")
    return AskedAtHome(question, found, secrets.pop())


def _single(body: Mapping[str, Any]) -> dict[str, Any]:
    predicates = body["predicates"] if "predicates" in body else [body["predicate"]]
    return {"credentialId": body["credentialId"], "predicates": predicates}


def held_credential(record: dict[str, Any], credential_id: str, held: Path) -> WalletCredential:
    """Return the file's credential with this id. An unknown one ends the command."""
    from identity_bound_credentials.domain.bound_format import binding_of, parse_credential

    kept = record["credentials"].get(credential_id)
    presented = None if kept is None else parse_credential(kept["credential"])
    bound = None if presented is None else binding_of(presented)
    if presented is None or bound is None:
        fail("the file holds no such credential", str(held), "`identity credential accept` puts credentials there")
    return WalletCredential(kept, presented, bound)


def agreed(asked: AskedAtHome, context: Context, terms: ConsentTerms, agent_key: bytes | None = None) -> HolderConsent:
    """Return the holder's consent to the question, with the secret of the file; ``agent_key`` if the terms cover one."""
    from identity_bbs.bls12381 import select
    from identity_bbs.consent import consent
    from identity_bbs.holders import HolderConsent
    from identity_bbs.openings import HolderSecret
    from identity_bbs.suite import ciphersuite

    suite, question = ciphersuite(select()), asked.question
    message = terms.message(question, context, agent_key)
    own = HolderSecret.from_bytes(suite, base64url_decode(asked.secret))
    blinds = [int.from_bytes(base64url_decode(one.kept["blind"]), "big") for one in asked.held]
    return HolderConsent(*consent(suite, own, blinds, message, os.urandom, question.pseudonym))
