"""A wallet that keeps its holder's secret, and an issuer who signs at home for it: what the service gets to see is what they send."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from identity_bound_credentials.domain import status_gaps
from identity_bound_credentials.domain.bound_credential import (
    BoundHeader,
    Particulars,
    SecretKeeper,
    StatusListReference,
    midnight,
)
from identity_bound_credentials.domain.presentation import DELEGATION_COVER, REQUEST_COVER, ConsentTerms, Cover
from identity_bound_credentials.domain.question import AskedCredential, Question

from identity_bbs import blind, consent
from identity_bbs.bls12381 import keys, select
from identity_bbs.encoding import mixed_messages_to_scalars, signature_to_octets
from identity_bbs.holders import HolderConsent
from identity_bbs.openings import HolderSecret
from identity_bbs.suite import ciphersuite
from identity_codec import multikey
from identity_codec.multibase import base64url_encode
from identity_core.domain.credentials import credential_schema
from identity_core.domain.credentials.credential import canonical_values
from identity_core.domain.credentials.credential_schema import CredentialSchema, digest
from identity_core.domain.dids.keys import Key
from identity_core.domain.proofs.asked import parse_asked
from identity_core.domain.proofs.proof import Context

DAY_SECONDS = 86_400


@dataclass(frozen=True)
class HomeCredential:
    """What the issuer signed, what the wallet keeps of it, and the body of importCredential."""

    header: BoundHeader
    particulars: Particulars
    blind: int
    body: dict[str, Any]


@dataclass(frozen=True)
class HomeWallet:
    """The keeper of one secret."""

    material: bytes = field(default_factory=lambda: os.urandom(48))

    @property
    def secret(self) -> HolderSecret:
        return HolderSecret.derived(ciphersuite(select()), self.material)

    def obtain(
        self, key: Key, key_id: str, holder: str, definition: CredentialSchema, values: Any, **changed: Any
    ) -> HomeCredential:
        """Blind issue, both sides, with a key of the issuer whose secret is at home. ``changed``: members of header or particulars."""
        suite, issuer = ciphersuite(select()), key_id.partition("#")[0]
        listed = StatusListReference(status_gaps.list_id(issuer, DAY_SECONDS), DAY_SECONDS)
        header = BoundHeader(
            definition.schema,
            key_id,
            changed.get("status", listed),
            changed.get("keeper", SecretKeeper.WALLET),
            changed.get("digest", digest(definition)),
        )
        about = Particulars(
            changed.get("id", f"urn:uuid:{uuid.uuid4()}"),
            holder,
            midnight(changed.get("now", datetime.now(UTC))),
            changed.get("valid_until"),
            0 if header.status is None else changed.get("handle", 1 + int.from_bytes(os.urandom(3), "big")),
        )
        assert key.secret is not None
        secret = multikey.decode_secret(key.secret)[1]
        request = blind.IssueRequest(key_id, header.encoded, holder, os.urandom(32))
        data, own_blind = blind.commit(suite, self.secret, request, os.urandom)
        canonical = canonical_values(definition.schema, values)
        known = mixed_messages_to_scalars(header.known_messages(canonical, about))
        public = keys.public_key(secret)
        signature = blind.blind_sign(suite, secret, public, header.encoded, known, data, request)
        point = blind.check_commitment(suite, data, request).point_octets
        body = {
            "issuerDid": issuer,
            "holderDid": holder,
            "schemaId": definition.schema.id,
            "attributes": dict(values),
            "validFrom": about.valid_from.isoformat(),
            "verificationMethod": key_id,
            "signature": base64url_encode(signature_to_octets(suite, signature)),
            "bound": {
                "id": about.id,
                "header": base64url_encode(header.encoded),
                "commitment": base64url_encode(point),
                "holderTag": base64url_encode(data[48:96]),
                "handle": about.handle,
            },
        }
        if about.valid_until is not None:
            body["validUntil"] = about.valid_until.isoformat()
        return HomeCredential(header, about, own_blind, body)

    def obtained(self, key: Any, holder: str, schema: Any, values: Any) -> HomeCredential:
        """As ``obtain``, from what createDid answered of the issuer's key and the body of createCredentialSchema."""
        own = Key("Bls12381G2Key2020", key["publicKey"], secret=key["privateKey"])
        return self.obtain(
            own, key["keyId"], holder, credential_schema.read(schema["id"], schema["attributes"]), values
        )

    def agrees(
        self, held: HomeCredential, predicate: Any, audience: str, challenge: str = "", *, agent_key: str | None = None
    ) -> dict[str, Any]:
        """The member ``holderConsent`` of a request of one predicate: for a challenge, or in advance for an agent's key (a multikey)."""
        question = Question((AskedCredential(held.header, (parse_asked(held.header.schema, predicate),)),), status=True)
        now, nonce = datetime.now(UTC).replace(microsecond=0), challenge.encode() or bytes(32)
        context = Context(audience, nonce, now, now + timedelta(minutes=1), str(uuid.uuid4()), None, None)
        cover = REQUEST_COVER if agent_key is None else DELEGATION_COVER | Cover.AUDIENCE
        terms = ConsentTerms.around(now, timedelta(hours=1), cover)
        raw = None if agent_key is None else multikey.decode_public(agent_key)[1]
        given = self.agree([held], terms.message(question, context, raw))
        times = {"cover": int(cover), "notBefore": terms.not_before, "notAfter": terms.not_after}
        differences = [base64url_encode(rho.to_bytes(32, "big")) for rho in given.rhos]
        named = {} if agent_key is None else {"agentKey": agent_key}
        return times | named | {"value": base64url_encode(given.encoded), "blindDifferences": differences}

    def agree(self, held: list[HomeCredential], message: bytes, pseudonym: str | None = None) -> HolderConsent:
        """The consent to ``message`` for these credentials."""
        blinds = [one.blind for one in held]
        suite = ciphersuite(select())
        data, rhos = consent.consent(suite, self.secret, blinds, message, os.urandom, pseudonym)
        return HolderConsent(data, rhos)
