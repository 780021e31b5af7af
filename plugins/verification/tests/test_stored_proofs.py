"""The status of a stored proof in the store: revocation, credentials and delegation, read together."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta

import pytest
from identity_verification.ports import CredentialRecord, ProofRecords
from identity_verification.store import StoredProofs

from identity_codec.values import replace
from identity_core.domain.activity import StatusChanged
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.delegations.delegation import Delegation
from identity_core.domain.dids.did import Did
from identity_core.domain.proofs.stored import KeptCredential, KeptQuestion, StoredProof
from identity_core.ports.credentials import RegisteredSchema
from identity_core.store import Store
from identity_core.store.events import OpenSink
from tests.anchoring import add_proofs, revoke_proof, some_proof
from tests.credentials import HOLDER, ISSUER, NOW, a_credential, a_schema

AKI = Did.parse("did:ids:aki")
DELEGATION = Delegation(
    id="d",
    holder=HOLDER,
    agent=AKI,
    grantor=HOLDER,
    parent_id=None,
    grants=(),
    credential_ids=("c",),
    schema_ids=(),
    verifiers=None,
    autonomy_level=5,
    max_uses=None,
    max_refusals=None,
    max_thresholds=None,
    max_depth=0,
    not_before=NOW,
    expires_at=NOW + timedelta(days=1),
    created_at=NOW,
    created_by=str(HOLDER),
)
ACTIVE = CredentialRecord(CredentialStatus.ACTIVE, NOW, None)


@pytest.fixture
def proof(store: Store) -> StoredProof:
    """A proof with the credential ``c`` and the delegation ``d``, all of them in the store."""
    proof = some_proof(NOW, anchor=None)

    async def begin() -> None:
        await store.credential_schemas.add(RegisteredSchema(a_schema(), NOW, str(ISSUER)))
        for name, until in (("c", None), ("ending", NOW + timedelta(hours=1))):
            made = a_credential(id=name, valid_until=until)
            assert await store.credentials.add(made, b"sealed", random=os.urandom)
        await store.delegations.add(DELEGATION)
        await add_proofs(store, [proof])

    asyncio.run(begin())
    return proof


def records(store: Store, proof: StoredProof) -> ProofRecords:
    return asyncio.run(StoredProofs.from_store(store).records(proof))


def test_all_that_it_stands_on_is_in_force(store: Store, proof: StoredProof) -> None:
    found = records(store, proof)
    assert (found.revoked, found.credentials) == (False, (ACTIVE,))
    assert found.chain is not None
    assert found.chain.leaf.id == "d"


def test_a_proof_is_revoked_or_gone(store: Store, proof: StoredProof) -> None:
    gone = replace(proof, proof=replace(proof.proof, proof_id="00000000-0000-4000-8000-000000000000"))
    assert records(store, gone).revoked
    asyncio.run(revoke_proof(store, proof, NOW))
    found = records(store, proof)
    assert (found.revoked, found.credentials) == (True, (ACTIVE,))


class Full:
    """A vital sink that cannot write."""

    kinds = frozenset({StatusChanged})

    def write(self, transaction: object, records: object) -> None:
        raise OSError("full")


def test_revocation_is_undone_without_the_rows_of_its_event(store: Store, proof: StoredProof) -> None:
    store.activity.sinks.append(OpenSink("full", Full(), is_vital=True))
    with pytest.raises(OSError, match="full"):
        asyncio.run(revoke_proof(store, proof, NOW))
    assert not records(store, proof).revoked


def test_a_credential_is_told_as_it_is_by_now(store: Store, proof: StoredProof) -> None:
    for status in (CredentialStatus.SUSPENDED, CredentialStatus.ACTIVE, CredentialStatus.REVOKED):
        credential = asyncio.run(store.credentials.get("c"))
        assert credential is not None
        assert asyncio.run(store.credentials.set_status(credential, status, None, NOW))
        assert records(store, proof).credentials == (replace(ACTIVE, status=status),)


def test_several_credentials_keep_the_order_of_the_question(store: Store, proof: StoredProof) -> None:
    names = ("ending", "unknown\0", "c", "c")
    asked = KeptQuestion(tuple(KeptCredential(name, "did:x:ivo", "s", ()) for name in names), (), (), None)
    ending = replace(ACTIVE, valid_until=NOW + timedelta(hours=1))
    assert records(store, replace(proof, question=asked)).credentials == (ending, None, ACTIVE, ACTIVE)


def test_chain_is_listed_from_its_leaf(store: Store, proof: StoredProof) -> None:
    for child, parent in (("e", "d"), ("f", "e")):
        asyncio.run(store.delegations.add(replace(DELEGATION, id=child, parent_id=parent)))
    asked = KeptQuestion(tuple(KeptCredential(name, "did:x:ivo", "s", ()) for name in ("c", "ending")), (), (), None)
    found = records(store, replace(proof, delegation_id="f", question=asked))
    assert found.chain == asyncio.run(store.delegations.chain("f"))
    assert found.chain is not None
    assert [record.id for record in found.chain.records] == ["f", "e", "d"]


def test_unknown_proof_is_none(store: Store, proof: StoredProof) -> None:
    unknown = replace(proof, credential_id="x", delegation_id="y")
    assert records(store, unknown) == ProofRecords(revoked=False, credentials=(None,), chain=None)
