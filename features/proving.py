"""What stories about proofs need: Hana holds a credential of Ivo's, Aki may act for her, and asks with her tokens."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from features.delegating import terms
from features.document import Operation
from features.formats import base58btc, canonical, sign
from features.signing import signature
from features.world import DRAFTS, Draft, Person, World
from identity_client import Signer, ibct

OPERATION = "generateDelegatedProof"
PRESENTATION = "createDelegatedPresentation"
MODELS = {OPERATION: "DelegatedProofRequest", PRESENTATION: "DelegatedPresentationRequest"}
ANY = "zkp.prove.*.*"
SCHEMA = "https://schemas.example/features/person"
ATTRIBUTES = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 150},
    {"name": "country", "type": "string"},
]
VALUES = {"age": 37, "country": "JP"}
BOTH: list[dict[str, Any]] = [
    {"attributeName": "age", "type": "gte", "value": 18},
    {"attributeName": "country", "type": "set_member", "value": ["FR", "JP"]},
]
ISSUER = {
    "storeSecrets": True,
    "additionalKeys": [{"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}],
}


@dataclass
class Proving:
    """One holder, one agent, one credential, one delegation; everything about the next request may be changed before it is sent."""

    world: World
    delegated: dict[str, Any] = field(default_factory=dict)
    issued: dict[str, Any] = field(default_factory=dict)
    token: dict[str, str] = field(default_factory=dict)
    predicate: dict[str, Any] = field(default_factory=lambda: {"attributeName": "age", "type": "gte", "value": 18})
    predicates: list[dict[str, Any]] | None = None
    question: dict[str, Any] | None = None
    body: dict[str, Any] = field(default_factory=dict)
    credential_id: str = ""
    delegation_id: str = ""
    schema_ids: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Everything that the story takes for granted, done by an operator."""
        self.hana, self.aki = self.world.person("Hana"), self.world.person("Aki")
        self.credential_id = self.issue(self.hana)
        self.delegation_id = self.delegate()

    @property
    def hana(self) -> Person:
        return self.world.people["Hana"]

    @hana.setter
    def hana(self, person: Person) -> None:
        self.world.people["Hana"] = person

    @property
    def aki(self) -> Person:
        return self.world.people["Aki"]

    @aki.setter
    def aki(self, person: Person) -> None:
        self.world.people["Aki"] = person

    def issue(self, holder: Person, **values: Any) -> str:
        ivo = self.world.people.get("Ivo") or self.world.new_person("Ivo", ISSUER)
        schema = {"id": f"{SCHEMA}/{uuid.uuid4()}", "attributes": ATTRIBUTES}
        self.schema_ids.append(schema["id"])
        self.operate("createCredentialSchema", "CreateCredentialSchemaRequest", schema)
        wish = {
            "issuerDid": ivo.did,
            "holderDid": holder.did,
            "schemaId": schema["id"],
            "attributes": VALUES | values,
        }
        return str(self.operate("issueCredential", "IssueCredentialRequest", wish | self.issued).id)

    def delegate(self) -> str:
        wish = terms(self.world, "Hana", "Aki", **({"actions": [ANY], "autonomyLevel": 4} | self.delegated))
        return str(self.operate("createDelegation", "CreateDelegationRequest", wish).id)

    def change_status(self, purpose: str) -> None:
        body = self.world.model("SetCredentialStatusRequest", {"purpose": purpose, "value": True})
        headers = self.world.key_header()
        done = self.world.call("setCredentialStatus", headers=headers, credential_id=self.credential_id, body=body)
        assert done.status_code == 200, done.content

    def signed_token(self) -> dict[str, str]:
        """A token of Hana's for the predicates, with what the story changed in it."""
        asked = self.predicates or [self.predicate]
        action = " ".join(ibct.action_text(one["attributeName"], one["type"]) for one in asked)
        if self.question is not None:
            action = ibct.question_action(self.question)
        wish = ibct.IbctTemplate(self.aki.did, action, self.delegation_id, timedelta(hours=1))
        id, nonce = f"urn:uuid:{uuid.uuid4()}", os.urandom(16).hex()
        unsigned = ibct.build(self.hana.did, wish, now=datetime.now(UTC), id=id, nonce=nonce) | self.token
        # As the generated client writes a time, so that it sends what was signed.
        times = {name: unsigned[name].replace("Z", "+00:00") for name in ("issuedAt", "expiresAt")}
        return signed(unsigned | times, self.hana.signer())

    @property
    def operation_id(self) -> str:
        """The operation that proves what is asked: a proof is of one predicate, everything else is a presentation."""
        is_one = self.predicates is None and self.question is None and not self.world.notes.get("presents")
        return OPERATION if is_one else PRESENTATION

    def request(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"predicate": self.predicate}
        if self.operation_id == PRESENTATION:
            asked = {"predicates": [self.predicate] if self.predicates is None else self.predicates}
        asked["credentialId"] = self.credential_id
        parties = {"holderDid": self.hana.did, "agentDid": self.aki.did, "ibct": self.signed_token()}
        return (self.question or asked) | parties | self.body

    def ask(self, request: dict[str, Any] | None = None, *, by: str = "Aki") -> Any:
        """Sends the request through the generated client, signed by the caller."""
        made = self.world.model(MODELS[self.operation_id], request or self.request())
        headers = signature(self.world, self.world.person(by), self.operation_id, made.to_dict())
        return self.world.call(self.operation_id, headers=headers, body=made)

    def operate(self, operation_id: str, model: str, body: dict[str, Any]) -> Any:
        answer = self.world.call(operation_id, headers=self.world.key_header(), body=self.world.model(model, body))
        assert answer.status_code == 201, answer.content
        return answer.parsed


def signed(token: dict[str, str], signer: Signer) -> dict[str, str]:
    """Signs any object at all: our own tool refuses what stories about bad tokens need."""
    return token | {"proofValue": base58btc(sign(signer.secret, canonical(token))).removeprefix("z")}


def story(world: World) -> Proving:
    """The story's proof, begun when it is first asked for."""
    if "proving" not in world.notes:
        world.notes["proving"] = Proving(world)
    proving: Proving = world.notes["proving"]
    if not proving.delegation_id:
        proving.begin()
    return proving


def _drafted(world: World, found: Operation) -> Draft:
    """An operator asks for Aki."""
    world.notes["presents"] = world.notes.get("presents") or found.operation_id == PRESENTATION
    return Draft(found, found.path, headers=world.key_header(), body=story(world).request())


for _name in (OPERATION, PRESENTATION, "checkDelegatedProof"):
    DRAFTS[_name] = _drafted
