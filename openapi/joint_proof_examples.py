"""The example of one proof about two credentials: Hana's, of suite 2, with equal attributes, an alternative and a pseudonym.

Everything comes from fixed random sources, so that it verifies: the keeper's consent, the signed gap of the status list, the proof.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from identity_bound_credentials.domain.bound_credential import BoundHeader
from identity_bound_credentials.domain.bound_format import particulars_of
from identity_bound_credentials.domain.gap_shards import Manifest, SignedGap
from identity_bound_credentials.domain.presentation import (
    DELEGATION_COVER,
    REQUEST_COVER,
    BoundWitness,
    ConsentTerms,
    Cover,
    GapWitness,
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
    StatusPart,
    check_consent,
    proof_day,
)
from identity_bound_credentials.domain.presented import presentation_signals
from identity_bound_credentials.domain.question import AskedCredential, Question
from identity_prover_bbs import BbsProver

from identity_bbs.bls12381 import select
from identity_bbs.consent import consent
from identity_bbs.frames import scalar
from identity_bbs.holders import HolderConsent
from identity_bbs.suite import ciphersuite
from identity_client.capability import Capability
from identity_codec import multikey
from identity_codec.multibase import base64url_encode
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.proofs.asked import parse_asked
from identity_core.domain.proofs.proof import Context, Witness, ZkProof, capability_digest
from openapi.gap_examples import gap_list
from openapi.story import START, Json, dice
from openapi.write_credential_examples import HANDLE, WALLETS_ID, CredentialTelling

PROOF: Final = "b7c1f1de-7e35-4f3f-8d0f-2f5f6a9d1e42"
SHOP: Final = "https://shop.example"
CHALLENGE: Final = "Yd3kQ9sT5vW7xZ1aC4eG6iK8mO0qS2uX"
QUESTION: Final[Json] = {
    "credentials": [
        {
            "credentialId": "urn:uuid:5e0a9a3c-7a53-4c79-8c0d-2f4f8f0d4c11",
            "predicates": [
                {"attributeName": "age", "type": "gte", "value": 18},
                {"attributeName": "country", "type": "neq", "value": "FR"},
            ],
        },
        {
            "credentialId": "urn:uuid:c2b7a4f1-58f6-4d2b-9f6c-0a3b5d7e9f13",
            "predicates": [
                {"attributeName": "age", "type": "lt", "value": 12},
                {"attributeName": "age", "type": "gte", "value": 21},
            ],
        },
    ],
    "same": [[{"credential": 0, "attributeName": "country"}, {"credential": 1, "attributeName": "country"}]],
    "either": [[2, 3]],
    "pseudonym": "https://shop.example/accounts",
}


AT_HOME: Final[Json] = {
    "credentials": [{"credentialId": WALLETS_ID, "predicates": [{"attributeName": "age", "type": "gte", "value": 18}]}]
}


class JointTelling:
    """Hana's two credentials, and what her keeper agrees to."""

    def __init__(self) -> None:
        self.told = CredentialTelling()
        ids = [one["credentialId"] for one in QUESTION["credentials"]]
        self.held = [self.told.held(ids[0], HANDLE), self.told.held(ids[1], 3_141_592_653)]

    def proof(self, token: dict[str, str]) -> ZkProof:
        """The answer to the request that the token is for."""
        credentials = [shown.credential for shown, _, _ in self.held]
        question = self.question(credentials)
        data = Capability.parse(token, places=()).encoded
        nonce = CHALLENGE.encode()
        ends = START + timedelta(hours=1)
        context = Context(SHOP, nonce, START, ends, PROOF, capability_digest(nonce, data), None)
        terms = ConsentTerms.around(START, timedelta(hours=1))
        manifest, shards = gap_list(self.told.story.did, self.told.key, self.told.method)
        gaps = [self._gap(credential, manifest, shards) for credential in credentials]
        status = tuple(StatusPart(gap.epoch, credentials[0].issuer_public_key) for gap in gaps)
        keys = tuple(credential.issuer_public_key for credential in credentials)
        statement = PresentationStatement(question, keys, proof_day(START), status)
        suite, (_, secret, _) = ciphersuite(select()), self.held[0]
        message = terms.message(question, context, None)
        blinds = [blind for _, _, blind in self.held]
        agreed = consent(suite, secret, blinds, message, dice("hana agrees"), QUESTION["pseudonym"])
        witnesses = tuple(_witness(shown.credential, shown.witness) for shown, _, _ in self.held)
        opened = tuple(GapWitness(*gap.gap, gap.signature) for gap in gaps)
        witness = PresentationWitness(witnesses, opened, HolderConsent(*agreed))
        bound = PresentationContext(context, None, terms)
        text = BbsProver(select(), dice("prover")).present(statement, witness, bound=bound)
        kinds = ",".join(one.type for asked in question.credentials for one in asked.predicates)
        return ZkProof(text, presentation_signals(question, context), kinds, PROOF)

    def agreed_at_home(self, agent: bytes | None = None) -> Json:
        """The consent of Hana's wallet to ``AT_HOME``, as the request has it; in advance, where it is to this key of an agent."""
        shown, secret, blind = self.told.of_a_wallet()
        binding = shown.credential.binding
        assert binding is not None
        header = BoundHeader.from_octets(binding.header)
        asked = tuple(parse_asked(header.schema, each) for each in AT_HOME["credentials"][0]["predicates"])
        question = Question((AskedCredential(header, asked),), status=True)
        context = Context(SHOP, CHALLENGE.encode(), START, START + timedelta(hours=1), PROOF, None, None)
        cover = REQUEST_COVER if agent is None else DELEGATION_COVER | Cover.AUDIENCE
        terms, suite = ConsentTerms.around(START, timedelta(hours=1), cover), ciphersuite(select())
        message = terms.message(question, context, agent)
        agreed = HolderConsent(*consent(suite, secret, [blind], message, dice("hana's wallet agrees")))
        check_consent(agreed, [binding.commitment], message, None)
        named = {} if agent is None else {"agentKey": multikey.encode_public(multikey.ED25519, agent)}
        return named | {
            "cover": int(terms.cover),
            "notBefore": terms.not_before,
            "notAfter": terms.not_after,
            "value": base64url_encode(agreed.encoded),
            "blindDifferences": [base64url_encode(scalar(rho)) for rho in agreed.rhos],
        }

    def question(self, credentials: list[Credential]) -> Question:
        """``QUESTION`` under the headers of the credentials."""
        headers = [BoundHeader.from_octets(one.binding.header) for one in credentials if one.binding is not None]
        asked = tuple(
            AskedCredential(header, tuple(parse_asked(header.schema, each) for each in part["predicates"]))
            for header, part in zip(headers, QUESTION["credentials"], strict=True)
        )
        same = tuple(tuple((one["credential"], one["attributeName"]) for one in group) for group in QUESTION["same"])
        either = tuple(map(tuple, QUESTION["either"]))
        return Question(asked, same, either, status=True, pseudonym=QUESTION["pseudonym"])

    def expected(self) -> Json:
        """The same question as its verifier puts it."""
        credentials = [
            {
                "issuerDid": str(shown.credential.issuer),
                "schemaId": shown.credential.schema.id,
                "predicates": part["predicates"],
            }
            for (shown, _, _), part in zip(self.held, QUESTION["credentials"], strict=True)
        ]
        return QUESTION | {"credentials": credentials}

    @staticmethod
    def _gap(credential: Credential, manifest: Manifest, shards: list[bytes]) -> SignedGap:
        if credential.binding is None:
            raise ValueError("the example is bound to its holder")
        number = manifest.shard_of(credential.binding.handle)
        return manifest.find(credential.binding.handle, number, shards[number])


def _witness(credential: Credential, witness: Witness | None) -> BoundWitness:
    if witness is None or credential.binding is None:
        raise ValueError("the example shows its values, and is bound to its holder")
    return BoundWitness(witness.signature, witness.attributes, particulars_of(credential, credential.binding))
