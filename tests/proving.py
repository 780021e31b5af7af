"""Delegated proofs in one process, on the real store: Hana's credential from Ivo, her delegation to Aki, and IBCTs for it.

The prover is chosen by the test; ``Workers`` calls it on the loop and counts, where the service has processes.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from identity_bound_credentials.ports import PresentingProver
from identity_bound_credentials.store.holder_secrets import StoredHolderSecrets
from identity_bound_credentials.store.status_gaps import StoredStatusGaps
from identity_bound_credentials.use_cases.presenting import PresentBound
from identity_bound_credentials.use_cases.status_gaps import PublishStatusGaps
from identity_bound_credentials.use_cases.suite import BoundSuite
from identity_bound_credentials.worker_calls import Present
from identity_isolation.calls import Extended, decode_call, encode_call
from identity_kit.conformance.prover_cases import BbsIssuer
from identity_verification.use_cases.check import IssuerKeys

from identity_client import Signer, ibct
from identity_client.action import Grant
from identity_codec import ed25519, jcs, multibase, multikey
from identity_codec.strict_json import JsonValue
from identity_codec.structs import convert
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.credentials.attributes import Attribute, AttributeType
from identity_core.domain.credentials.credential import Credential, CredentialStatus
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.delegations.delegation import AutonomyTable, Delegation
from identity_core.domain.dids.did import Did
from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.domain.proofs.stored import Anchor, DelegatedProof
from identity_core.errors import PredicateNotSatisfied
from identity_core.ports.credentials import RegisteredSchema
from identity_core.ports.proofs import Anchoring, RefusedInvocation
from identity_core.ports.prover import Prover
from identity_core.use_cases.credentials.sealed import CredentialSeal, SealedCredentials
from identity_core.use_cases.dids.create import Created
from identity_core.use_cases.proofs.generate import Answered, GenerateDelegatedProof
from identity_core.use_cases.proofs.prepare import ProofRequest
from identity_core.use_cases.proofs.steps import ProofPolicy
from identity_core.use_cases.proofs.suite_1 import SuiteOne
from identity_core.use_cases.record import Record
from identity_core.wire import DelegatedPresentationRequest, DelegatedProofRequest
from tests.did_use_cases import ORIGIN, Rooms, secret_of
from tests.transparent_prover import TransparentProver

SCHEMA = Schema(
    "https://schemas.example/person/1",
    (
        Attribute("country", AttributeType.STRING),
        Attribute("age", AttributeType.INTEGER, low=0, high=200),
        Attribute("income", AttributeType.INTEGER),
        Attribute("birthDate", AttributeType.DATE),
    ),
)
VALUES: dict[str, JsonValue] = {"country": "JP", "age": 37, "income": 5_213_774, "birthDate": "1988-02-29"}
DELEGATIONS = f"{ORIGIN}/api/v1/delegations/"
Token = dict[str, Any]
Pause = Callable[[], Awaitable[None]]


@dataclass
class Workers:
    """A prover as use cases get it; ``before`` and ``after`` run around each proof."""

    prover: Prover = field(default_factory=TransparentProver)
    proofs: int = 0
    before: Pause | None = None
    after: Pause | None = None

    @property
    def suite(self) -> str:
        return self.prover.suite

    @property
    def predicate_types(self) -> frozenset[str]:
        return self.prover.predicate_types

    async def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        self.proofs += 1
        if self.before is not None:
            await self.before()
        proof = self.prover.prove(statement, witness, context=context)
        if self.after is not None:
            await self.after()
        return proof

    async def read(self, proof: str) -> PresentedProof:
        return self.prover.read(proof)

    async def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        self.prover.verify(statement, proof, context=context, now=now)

    @property
    def extensions(self) -> frozenset[str]:
        return frozenset({"bound_credentials"} if isinstance(self.prover, PresentingProver) else ())

    async def ask(self, call: Any) -> Any:
        """The call and its answer as they travel."""
        self.proofs += isinstance(call, Present)
        sent = decode_call(encode_call(Extended.from_call(call)))
        return call.read(msgspec.json.encode(sent.ask(self.prover)))  # type: ignore[union-attr]


@dataclass
class Ledger(Anchoring):
    """An anchoring that answers as the test says."""

    receipt: Anchor
    asked: list[tuple[str, int]] = field(default_factory=list)

    def require_enabled(self) -> None:
        pass

    async def request(self, proof_id: str, wait_ms: int) -> Anchor:
        self.asked.append((proof_id, wait_ms))
        return self.receipt


class Proving(Rooms):
    """The rooms of delegated proofs. ``await begin()`` makes the people and what they gave each other."""

    hana: Created
    aki: Created
    ivo: Created
    credential: Credential
    delegation: Delegation

    def __init__(
        self,
        folder: Path,
        *,
        workers: Workers | None = None,
        anchoring: Ledger | None = None,
        url: str | None = None,
    ) -> None:
        super().__init__(folder, url=url)
        self.workers = workers or Workers()
        self.seal = CredentialSeal(os.urandom(32), os.urandom)
        store = self.store
        self.policy = ProofPolicy(
            ORIGIN, timedelta(days=1), False, 3, None, timedelta(seconds=60), timedelta(days=90), (DELEGATIONS,)
        )
        custodian: Any = self.custodian
        publisher = PublishStatusGaps(StoredStatusGaps(store.database), custodian, self.clock)
        self.present = PresentBound(
            self.workers, custodian, StoredStatusGaps(store.database), publisher, IssuerKeys(self.reader)
        )
        parts = (
            custodian,
            custodian,
            publisher,
            self.workers,
            StoredHolderSecrets(store.database, store.activity),
            os.urandom,
            self.present,
        )
        self.suites = {1: SuiteOne(self.workers, custodian), 2: BoundSuite(*parts)}
        self.generate = GenerateDelegatedProof(
            reader=self.reader,
            sealed_credentials=SealedCredentials(store.credentials, store.credential_schemas, self.seal),
            suites=self.suites,
            invocations=store.invocations,
            anchoring=anchoring or Anchoring(),
            autonomy=AutonomyTable(),
            record=Record(store.activity),
            clock=self.clock,
            random=os.urandom,
            policy=self.policy,
        )

    async def begin(self, **wish: Any) -> None:
        self.hana, self.aki, self.ivo = [await self.new_did() for _ in range(3)]
        self.credential = await self.issue(self.did(self.hana))
        self.delegation = await self.delegate(**wish)

    @staticmethod
    def did(person: Created) -> Did:
        return person.version.state.did

    @staticmethod
    def signer(person: Created) -> Signer:
        return Signer(str(Proving.did(person)), secret_of(person))

    async def issue(self, holder: Did, **change: Any) -> Credential:
        """A credential of ``VALUES``, or of others with their ``schema``, signed by Ivo."""
        issuer = BbsIssuer()
        schema, values = change.setdefault("schema", SCHEMA), change.pop("values", VALUES)
        key = issuer.key
        now = self.clock.now()
        wish: dict[str, Any] = {
            "id": f"urn:uuid:{uuid.uuid4()}",
            "issuer": self.did(self.ivo),
            "holder": holder,
            "verification_method": key.verification_method,
            "issuer_public_key": key.public_key,
            "valid_from": now,
            "valid_until": None,
            "status": CredentialStatus.ACTIVE,
            "status_reason": None,
            "status_index": 0,
            "version": 1,
            "created_at": now,
            "created_by": "test",
        }
        credential = Credential(**(wish | change))
        await self.store.credential_schemas.add(RegisteredSchema(CredentialSchema(schema), now, "test"))
        box = self.seal.close(credential, issuer.credential(schema, values))
        stored = await self.store.credentials.add(credential, box, random=os.urandom)
        assert stored is not None
        return stored

    async def delegate(self, *grants: str, **change: Any) -> Delegation:
        """A delegation of Hana's to Aki for any question, unless said otherwise; None in a limit is not a limit."""
        now = self.clock.now()
        wish: dict[str, Any] = {
            "id": str(uuid.uuid4()),
            "holder": self.did(self.hana),
            "agent": self.did(self.aki),
            "grantor": self.did(self.hana),
            "parent_id": None,
            "grants": tuple(map(Grant.parse, grants or ("zkp.prove.*.*",))),
            "credential_ids": None,
            "schema_ids": None,
            "verifiers": None,
            "autonomy_level": 4,
            "max_uses": None,
            "max_refusals": None,
            "max_thresholds": None,
            "max_depth": 0,
            "not_before": now,
            "expires_at": now + timedelta(days=30),
            "created_at": now,
            "created_by": "test",
        }
        delegation = Delegation(**(wish | change))
        await self.store.delegations.add(delegation)
        return delegation

    def token(self, *, action: str = "zkp.prove.age.gte.18", signer: Signer | None = None, **change: str) -> Token:
        """An IBCT of Hana's for Aki, signed with ``change`` in it, whatever that makes of it."""
        holder = str(self.did(self.hana))
        wish = ibct.IbctTemplate(str(self.did(self.aki)), "zkp.prove.age.gte", self.delegation.id, timedelta(hours=1))
        id, nonce = f"urn:uuid:{uuid.uuid4()}", os.urandom(16).hex()
        unsigned = ibct.build(holder, wish, now=self.clock.now(), id=id, nonce=nonce)
        return signed(unsigned | {"action": action} | change, signer or self.signer(self.hana))

    def body(self, **change: Any) -> dict[str, Any]:
        """A ``DelegatedProofRequest``; ``value``, ``token`` and the members may be changed."""
        predicate = {"attributeName": "age", "type": "gte", "value": change.pop("value", 18)}
        body = {
            "holderDid": str(self.did(self.hana)),
            "agentDid": str(self.did(self.aki)),
            "credentialId": self.credential.id,
            "predicate": predicate,
            "ibct": change.pop("token", None) or self.token(),
        }
        return body | change

    async def answered(self, body: dict[str, Any] | None = None, *, caller: Caller | None = None) -> Answered:
        """Send a body (by default a valid one) as Aki or another caller."""
        caller = caller or Caller(did=self.did(self.aki))
        return await self.generate(
            request_of(body or self.body()), RequestContext("generateDelegatedProof", caller, "r-3")
        )

    async def ask(self, body: dict[str, Any] | None = None, *, caller: Caller | None = None) -> Answered:
        """The same; raises refusals as the edge does, but for the answer no."""
        answered = await self.answered(body, caller=caller)
        if isinstance(answered.outcome, RefusedInvocation) and answered.outcome.code != PredicateNotSatisfied.code:
            raise answered.outcome.error()
        return answered

    async def proven(self, body: dict[str, Any] | None = None) -> DelegatedProof:
        """The proof of a request that is answered well."""
        outcome = (await self.ask(body)).outcome
        assert isinstance(outcome, DelegatedProof)
        return outcome

    async def uses(self) -> int:
        chain = await self.store.delegations.chain(self.delegation.id)
        assert chain is not None
        return chain.leaf.uses


def request_of(body: dict[str, Any]) -> ProofRequest:
    """Return the request of a body, as the API makes it."""
    kind: type[ProofRequest] = DelegatedProofRequest if "predicate" in body else DelegatedPresentationRequest
    return convert(body, kind)


def signed(unsigned: Token, signer: Signer) -> Token:
    """Signs any object at all, as an attacker's own tool does."""
    secret = multikey.decode_secret(signer.secret)[1]
    signature = ed25519.sign(secret, jcs.canonicalize(unsigned))
    return unsigned | {"proofValue": multibase.base58_encode(signature)}


def run(folder: Path, story: Callable[[Proving], Awaitable[None]], **wish: Any) -> None:
    """Tells one story in rooms of its own."""

    async def run_story() -> None:
        rooms = Proving(folder, **wish)
        try:
            await rooms.begin()
            await story(rooms)
        finally:
            await rooms.close()

    asyncio.run(run_story())
