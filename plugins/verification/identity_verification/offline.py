"""The checks of verifyProof without a service: a prover of this process, and the documents that the caller has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from identity_client.session import finished
from identity_codec.strict_json import JsonValue
from identity_codec.structs import ValidationError, convert, encode, plain
from identity_core.domain.dids.did import controller_of
from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, ZkProof
from identity_core.errors import InvalidDid, InvalidRequest, ProofInvalid
from identity_core.ports.prover import Prover, ProverCall
from identity_verification.answers import verification
from identity_verification.domain.checks import Check, CheckCode, right, undecided, wrong
from identity_verification.domain.received import ReceivedProof
from identity_verification.domain.verification import Expectation, ProofVerification
from identity_verification.expectation import expectation_of
from identity_verification.suites import SuiteChecks, SuiteOneChecks
from identity_verification.use_cases.check import NAME, CheckProof, DocumentKeys, FoundKey
from identity_verification.wire import VerifyProofRequest


class LocalProver(Struct, frozen=True):
    """A prover of this process with the reading methods of ``ProofWorkers``. None of them suspends its caller."""

    prover: Prover

    @property
    def suite(self) -> str:
        """See ``Prover``."""
        return self.prover.suite

    async def read(self, proof: str) -> PresentedProof:
        """See ``ProofWorkers``."""
        return self.prover.read(proof)

    async def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        """See ``ProofWorkers``."""
        self.prover.verify(statement, proof, context=context, now=now)

    async def ask(self, call: ProverCall) -> Any:
        """See ``ProofWorkers``."""
        return call.read(encode(call.ask(self.prover)))


class GivenKeys(Struct, frozen=True):
    """Keys of issuers. ``find`` returns the raw key (96 bytes) of a verification method."""

    find: Callable[[str], bytes]

    async def __call__(self, method_id: str, now: datetime) -> FoundKey:
        """See ``DocumentKeys``."""
        return FoundKey(right(NAME), self.find(method_id))


class GivenDocuments(DocumentKeys, frozen=True):
    """Documents of issuers by DID, or the failed checks that replace them. No schema is registered."""

    documents: Mapping[str, Mapping[str, JsonValue] | Check]

    async def _document(self, method_id: str) -> Check | Mapping[str, JsonValue]:
        try:
            did = str(controller_of(method_id))
        except InvalidDid:
            return wrong(NAME, CheckCode.ISSUER_KEY_UNKNOWN)
        return self.documents.get(did) or undecided(NAME, CheckCode.ISSUER_UNAVAILABLE)

    async def get(self, schema_id: str) -> None:
        """See ``CredentialSchemas``."""


def check_offline(
    received: ReceivedProof,
    prover: Prover,
    keys: GivenKeys | DocumentKeys,
    *,
    suites: Sequence[SuiteChecks] = (SuiteOneChecks(),),
    expectation: Expectation,
    now: datetime,
) -> ProofVerification:
    """Check a proof as verifyProof does, at ``now`` (aware UTC). Raises what ``keys`` does."""
    sources: Any = (LocalProver(prover), suites, keys, GivenDocuments({}))
    return finished(CheckProof(*sources)(received, expectation, now))


def expectation_from_json(members: Mapping[str, Any]) -> Expectation:
    """Return the expectation of the members of a request of verifyProof without its proof. Raises ``ValueError``: when no proof can meet
    it."""
    try:
        return expectation_of(convert({"proof": "-", **members}, VerifyProofRequest))
    except (InvalidRequest, ValidationError) as error:
        raise ValueError(str(error)) from None


def verify_offline(
    proof: JsonValue, expect: Mapping[str, JsonValue], keys: DocumentKeys, **more: Any
) -> dict[str, Any]:
    """Return the answer of verifyProof. See ``expectation_from_json`` for ``expect``, and ``check_offline`` for ``more``. Raises
    ``ValueError``: when no proof can meet ``expect``."""
    expectation = expectation_from_json(expect)
    try:
        received = ReceivedProof.parse(proof)
    except ProofInvalid:
        # No suite reads the empty text.
        received = ReceivedProof("")
    verdict = check_offline(received, keys=keys, expectation=expectation, **more)
    return dict(plain(verification(verdict, None)))
