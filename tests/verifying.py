"""Verification in one process, on the rooms of delegated proofs: here Ivo's BBS key stands in Ivo's own DID document."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from identity_kit.conformance.prover_cases import BbsIssuer
from identity_records.store import StoredVerifications
from identity_records.use_cases.verifications import ReadVerifications
from identity_verification.domain.verification import ProofVerification
from identity_verification.store import StoredProofs, StoredVerifierChallenges
from identity_verification.suites import SuiteOneChecks
from identity_verification.use_cases.challenges import CreateVerifierChallenge
from identity_verification.use_cases.check import CheckProof, IssuerKeys
from identity_verification.use_cases.stored import ChallengeUse, GetProof, ProofAccess, RevokeProof
from identity_verification.use_cases.verify import ProofStatus, VerifyProof, VerifyStoredProof
from identity_verification.wire import ExpectedPredicate, VerifyProofRequest, VerifyStoredProofRequest

from identity_bbs.bls12381 import keys as bls
from identity_client import possession
from identity_codec import multikey
from identity_codec.strict_json import JsonValue
from identity_codec.structs import convert
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import AddVerificationMethod
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import Key
from identity_core.domain.proofs.stored import StoredProof
from identity_core.ports.proofs import Anchoring
from identity_core.use_cases.dids.create import Created
from identity_core.use_cases.record import Record
from tests.did_use_cases import operator, own_key, update_of
from tests.proving import Proving, Workers

BLS_KEY = multikey.encode_public(multikey.BLS12381G2, BbsIssuer().key.public_key)
OPERATOR = operator()


def asking(
    predicate: Mapping[str, JsonValue] | None = None,
    challenge: str | None = None,
    domain: str | None = None,
    issuer: str | None = None,
    schema_id: str | None = None,
    max_age: timedelta | None = None,
) -> VerifyStoredProofRequest:
    """What a verifier expects."""
    said = {
        "predicate": None if predicate is None else convert(predicate, ExpectedPredicate),
        "challenge": challenge,
        "domain": domain,
        "issuer_did": issuer,
        "schema_id": schema_id,
        "max_age": None if max_age is None else int(max_age.total_seconds()),
    }
    return VerifyStoredProofRequest(**{name: one for name, one in said.items() if one is not None})


def about(question: VerifyStoredProofRequest | None, **members: Any) -> VerifyProofRequest:
    """What is expected of a proof with these members; None for one that is left out."""
    question = question or asking()
    expected = {name: getattr(question, name) for name in question.__struct_fields__}
    return VerifyProofRequest(**expected, **{name: one for name, one in members.items() if one is not None})


class Verifying(Proving):
    """``vera`` and ``mallory`` have DIDs and no part in anything."""

    vera: Created
    mallory: Created
    issuer: Created | None = None

    def __init__(self, folder: Path, **wish: Any) -> None:
        super().__init__(folder, **wish)
        store, self.issuer_keys = self.store, keys.generate("Ed25519", os.urandom)
        check = CheckProof(
            self.workers, (SuiteOneChecks(), self.suites[2]), IssuerKeys(self.reader), store.credential_schemas
        )
        freshness = ChallengeUse(StoredVerifierChallenges(store.database))
        record = Record(store.activity)
        access = ProofAccess(StoredProofs.from_store(store), StoredVerifierChallenges(store.database))
        status = ProofStatus(access, StoredProofs.from_store(store))
        self.challenges = CreateVerifierChallenge(
            StoredVerifierChallenges(store.database), self.clock, os.urandom, timedelta(minutes=5)
        )
        self.received = VerifyProof(check, check, freshness, StoredProofs.from_store(store), status, record, self.clock)
        self.stored = VerifyStoredProof(self.received)
        self.verified_before = ReadVerifications(
            StoredVerifications(store.database), StoredProofs.from_store(store), access, self.clock
        ).list
        self.get = GetProof(access, record, self.clock)
        self.revoke = RevokeProof(access, StoredProofs.from_store(store), Anchoring(), self.clock)

    async def begin(self, **wish: Any) -> None:
        self.vera, self.mallory = await self.new_did(), await self.new_did()
        await super().begin(**wish)

    async def issue(self, holder: Did, **change: Any) -> Credential:
        if self.issuer is None:
            own = (own_key("Ed25519", "authentication", self.issuer_keys.public),)
            self.issuer = await self.new_did(public_keys=own, recovery_key=False)
            await self.add_signing_key(self.did(self.issuer))
        self.ivo = self.issuer
        method = f"{self.did(self.ivo)}#{BLS_KEY}"
        return await super().issue(holder, **({"verification_method": method} | change))

    async def add_signing_key(self, did: Did, seed: bytes = b"issuer") -> None:
        """A BBS key joins Ivo's document: that of the kit's issuer, or another."""
        secret = bls.generate_secret(seed.ljust(32, b"."))
        public = multikey.encode_public(multikey.BLS12381G2, bls.public_key(secret))
        key = Key(
            "Bls12381G2Key2020", public, ("assertionMethod",), possession.prove_possession(str(did), public, secret)
        )
        authorization = await self.signed(did, self.issuer_keys.secret, "update")
        context = self.context(did, authorization)
        await self.update(did, update_of(AddVerificationMethod(key)), authorization, context, if_match=None)

    async def create_proof(self, **change: Any) -> StoredProof:
        """A proof of Hana's, as it is kept."""
        made = await self.proven(self.body(**change))
        stored = await StoredProofs.from_store(self.store).get(made.proof.proof_id)
        assert stored is not None
        return stored

    @staticmethod
    def context_of(caller: Caller) -> RequestContext:
        return RequestContext("verifyStoredProof", caller, "r-6")

    def caller(self, person: Created) -> Caller:
        return Caller(did=self.did(person))

    async def verify(
        self,
        stored: StoredProof,
        question: VerifyStoredProofRequest | None = None,
        *,
        caller: Caller | None = None,
        **change: Any,
    ) -> ProofVerification:
        """The stateless verification of a proof's members, some of them perhaps ``change``d."""
        proof = stored.proof
        members = {
            "proof": proof.proof,
            "public_signals": proof.public_signals,
            "predicate_type": proof.predicate_type,
            "proof_id": proof.proof_id,
        }
        context = None if caller is None else RequestContext("verifyProof", caller, "r-4")
        return await self.received(about(question, **(members | change)), context)

    async def verify_stored(
        self, stored: StoredProof, question: VerifyStoredProofRequest | None = None, *, caller: Caller | None = None
    ) -> ProofVerification:
        """Return the verification of a stored proof, by Hana or another caller."""
        context = RequestContext("verifyStoredProof", caller or self.caller(self.hana), "r-5")
        return await self.stored(stored.id, question or asking(), context)


__all__ = ["OPERATOR", "Verifying", "Workers", "about", "asking"]
