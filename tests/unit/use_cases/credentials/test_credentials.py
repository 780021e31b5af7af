"""Issuing and importing, who sees what, status, verdicts; what the seal holds and what the journal tells."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from identity_did_ids import entry
from identity_records.audit import audit_of
from identity_records.queries import TimelineQuery
from identity_records.store import StoredTimeline
from identity_verification.wire import VerifyCredentialRequest

from identity_codec import multibase
from identity_codec.values import replace
from identity_core.domain.callers import Caller
from identity_core.domain.credentials import status_list
from identity_core.domain.credentials.credential import CredentialStatus, StatusPurpose
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.dids.did import Did
from identity_core.errors import (
    Conflict,
    CredentialNotFound,
    DidDeactivated,
    DidNotFound,
    Forbidden,
    IdentityError,
    InternalError,
    InvalidCredential,
    InvalidRequest,
    InvalidSchema,
    Overloaded,
    SchemaNotFound,
    StatusListNotFound,
)
from identity_core.ports.credentials import CredentialFilter
from identity_core.ports.repositories import RowPosition
from identity_core.use_cases.credentials.read import CredentialAccess
from identity_core.use_cases.credentials.signature_checks import SignatureChecks
from identity_core.wire import DeactivateDidRequest, ListCredentialsQuery, SetCredentialStatusRequest
from tests.credentials import ATTRIBUTES, VALUES, a_key, set_in, shown_to_holder, sign
from tests.events import audit_rows
from tests.unit.use_cases.credentials.conftest import BASE, SCHEMA, Office, context, held_key, key_caller

REVOCATION, SUSPENSION = StatusPurpose
ISSUE, READ = "credentials:write", "credentials:read"


def run(awaitable: Any) -> Any:
    return asyncio.run(awaitable)


def schema_of(office: Office) -> Schema:
    schema: Schema = run(office.schemas.get(SCHEMA)).definition.schema
    return schema


# Issuing and importing


def test_issued_credential_is_signed_sealed_and_stored(office: Office) -> None:
    shown = run(office.issued(valid_until=office.rooms.clock.now() + timedelta(days=30, microseconds=5)))
    credential = shown.credential
    assert credential.verification_method == office.key_id
    assert credential.valid_until.microsecond == 0
    assert credential.created_by == str(office.ivo)
    stored = run(office.credentials.get(credential.id))
    assert stored == credential
    witness = run(office.vault.witness(stored))
    assert witness.attributes["income"] == "41250.50"
    assert run(office.vault.policy(stored)).policies["age"].allowed_values
    assert run(office.vault.find(credential.id, office.hana)) == stored


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"schema_id": "urn:absent"}, SchemaNotFound),
        ({"attributes": {"age": 24}}, InvalidCredential),
        ({"attributes": VALUES | {"age": 24.5}}, InvalidCredential),
        ({"valid_until": "past"}, InvalidCredential),
        ({"valid_until": "before it begins"}, InvalidCredential),
        ({"verification_method": "did:ids:absent#key"}, InvalidCredential),
        ({"holder": "absent"}, DidNotFound),
    ],
)
def test_invalid_credential_is_not_issued(
    office: Office, changed: dict[str, Any], refusal: type[IdentityError]
) -> None:
    now = office.rooms.clock.now()
    if changed.get("valid_until") == "past":
        changed = {"valid_until": now, "valid_from": now - timedelta(days=2)}
    if changed.get("valid_until") == "before it begins":
        changed = {"valid_until": now + timedelta(days=1), "valid_from": now + timedelta(days=2)}
    if changed.get("holder") == "absent":
        changed = {"holder": replace(office.hana, text=f"{office.hana.text[:-3]}abc")}
    with pytest.raises(refusal) as refused:
        run(office.issued(**changed))
    assert "Hana" not in str(refused.value) + str(refused.value.details)
    assert run(office.credentials.list(CredentialFilter(), after=None, limit=9)) == []


def test_a_deactivated_holder_gets_nothing(office: Office) -> None:
    rooms = office.rooms

    async def end() -> None:
        hana = await rooms.new_did()
        did = hana.version.state.did
        secret = next(key.secret for key in hana.keys if key.purposes[0] == "authentication")
        signed = await rooms.signed(did, secret or "", "deactivate")
        await rooms.deactivate(
            did,
            DeactivateDidRequest(confirm=True),
            authorization=signed,
            context=rooms.context(did, signed),
            if_match=None,
        )
        await office.issued(holder=did)

    with pytest.raises(DidDeactivated):
        run(end())


def test_an_issuer_without_a_key_here(office: Office) -> None:
    new = office.new(issuer=office.hana, holder=office.ivo)
    with pytest.raises(InvalidCredential) as refused:
        run(office.issue(new, context(office.as_(office.hana))))
    assert "storeSecrets" in str(refused.value.details["reason"])


def test_a_key_that_was_named_and_is_none_of_the_issuers_here(office: Office) -> None:
    new = office.new(verification_method=f"{office.ivo}#other")
    with pytest.raises(InvalidCredential) as refused:
        run(office.issue(new, context(office.as_(office.ivo))))
    assert str(refused.value.details["reason"]).startswith("verificationMethod names no ")


def test_a_signature_from_elsewhere_is_imported(office: Office) -> None:
    secret = office.rooms.custodian.imported[office.key_id][1]
    pair = held_key(office.key_id, secret)
    text = multibase.base64url_encode(sign(schema_of(office), VALUES, pair))
    new = office.import_of(text, verification_method=office.key_id)
    shown = run(office.import_signed(new, context(office.as_(office.ivo))))
    assert shown.witness.signature == multibase.base64url_decode(text)
    assert run(office.vault.witness(shown.credential)) == shown.witness


def test_invalid_credential_is_not_imported(office: Office) -> None:
    secret = office.rooms.custodian.imported[office.key_id][1]
    ivo = held_key(office.key_id, secret)
    schema = schema_of(office)
    other = Schema("urn:example:person:2", schema.attributes)
    primary = run(office.rooms.reader.active(office.ivo)).head.state.document.methods[0].id
    mallory = a_key("mallory")
    right = sign(schema, VALUES, ivo)
    cases = [
        (office.key_id, sign(schema, VALUES, mallory)),
        (f"{office.ivo}#{mallory.public}", sign(schema, VALUES, mallory)),
        (office.key_id, sign(schema, VALUES | {"age": 25}, ivo)),
        (office.key_id, sign(other, VALUES, ivo)),
        (primary, right),
        (f"{office.hana}#{office.key_id.partition('#')[2]}", right),
        (office.key_id, bytes(80)),
        (office.key_id, right[:79]),
    ]
    for method, signature in cases:
        new = office.import_of(multibase.base64url_encode(signature), verification_method=method)
        with pytest.raises(InvalidCredential):
            run(office.import_signed(new, context(office.as_(office.ivo))))


def test_only_the_issuer_or_who_may_act_for_it(office: Office) -> None:
    def attempt(caller: Caller) -> None:
        run(office.issue(office.new(), context(caller)))

    attempt(key_caller())
    attempt(key_caller(targets=frozenset({str(office.ivo)}), scopes=frozenset({ISSUE})))
    for caller in (
        office.as_(office.hana),
        key_caller(targets=frozenset({str(office.hana)})),
        key_caller(targets=frozenset()),
        key_caller(scopes=frozenset({READ})),
        Caller(subject=office.ivo, scopes=frozenset({READ})),
    ):
        with pytest.raises(Forbidden):
            attempt(caller)


# Schemas


def test_a_did_names_what_is_its_own(office: Office) -> None:
    caller, place = context(office.as_(office.hana)), f"https://id.example/api/v1/dids/{office.hana}"
    for name in (f"{office.hana}#a", f"{office.hana}/a", f"{office.hana}?a", f"{place}/a"):
        assert run(office.schema(name, ATTRIBUTES, caller)).definition.schema.id == name
    for other in (
        f"{office.ivo}#a",
        str(office.hana),
        place,
        f"{place}/../a",
        f"{place}/%2e%2E/a",
        "https://id.example/a",
    ):
        with pytest.raises(Forbidden):
            run(office.schema(other, ATTRIBUTES, caller))


def test_a_schema_is_registered_once(office: Office) -> None:
    caller = context(key_caller())
    with pytest.raises(Conflict):
        run(office.schema(SCHEMA, ATTRIBUTES, caller))
    made = run(office.schema(None, ATTRIBUTES, caller))
    assert made.definition.schema.id.startswith("urn:uuid:")
    for bad in ("person", "HTTPS://x/", "urn:with space", "urn:é", "urn:" + "x" * 300, "urn:a\n"):
        with pytest.raises(InvalidSchema):
            run(office.schema(bad, ATTRIBUTES, caller))
    with pytest.raises(Forbidden):
        run(office.schema("urn:x:2", ATTRIBUTES, context(key_caller(scopes=frozenset({READ})))))


# Who sees what


def test_parties_see_values_and_strangers_nothing(office: Office) -> None:
    credential = run(office.issued()).credential

    def shows_witness(caller: Caller) -> bool:
        return run(office.get(credential.id, context(caller))).witness is not None

    targets = frozenset({str(office.hana)})
    operator = key_caller(targets=targets).api_key
    admin = key_caller().api_key
    assert shows_witness(office.as_(office.hana))
    assert shows_witness(office.as_(office.ivo))
    assert shows_witness(Caller(did=office.hana))
    assert shows_witness(key_caller(targets=targets, scopes=frozenset({READ})))
    assert shows_witness(Caller(subject=office.hana, operator=operator))
    assert not shows_witness(key_caller())
    assert not shows_witness(Caller(subject=office.hana, operator=admin))
    stranger = replace(office.hana, text=f"{office.hana.text[:-3]}abc")
    for caller in (
        office.as_(stranger),
        key_caller(targets=frozenset({str(stranger)})),
        Caller(subject=stranger, operator=admin),
        Caller(subject=stranger, operator=operator),
    ):
        with pytest.raises(CredentialNotFound) as foreign:
            shows_witness(caller)
        with pytest.raises(CredentialNotFound) as absent:
            run(office.get("urn:uuid:absent", context(caller)))
        assert (str(foreign.value), foreign.value.details) == (str(absent.value), absent.value.details)
    with pytest.raises(Forbidden):
        shows_witness(key_caller(scopes=frozenset({ISSUE})))


def test_a_foreign_credential_is_an_absent_one_for_provers(office: Office) -> None:
    credential = run(office.issued()).credential
    for credential_id, holder in ((credential.id, office.ivo), ("urn:uuid:absent", office.hana), ("\0", office.hana)):
        assert run(office.vault.find(credential_id, holder)) is None


def test_lists_show_what_is_ones_own(office: Office) -> None:
    credential = run(office.issued()).credential

    def listed(caller: Caller, **wanted: Any) -> list[str]:
        query = ListCredentialsQuery(**{f"{name}_did": did for name, did in wanted.items()})
        rows = run(office.list(query, context(caller), after=None))
        return [row.id for row in rows]

    stranger = replace(office.hana, text=f"{office.hana.text[:-3]}abc")
    assert listed(office.as_(office.hana)) == listed(office.as_(office.ivo)) == [credential.id]
    assert listed(office.as_(stranger)) == listed(office.as_(stranger), holder=str(office.hana)) == []
    assert listed(key_caller(targets=frozenset({str(office.ivo)})), issuer=str(office.ivo)) == [credential.id]
    assert listed(key_caller(), holder=str(office.hana)) == [credential.id]
    with pytest.raises(InvalidRequest):
        listed(key_caller())
    with pytest.raises(Forbidden):
        listed(key_caller(targets=frozenset({str(stranger)})), holder=str(office.hana))


# Status


def change(office: Office, credential_id: str, caller: Caller, purpose: StatusPurpose, value: bool) -> Any:
    office.rooms.clock.move(seconds=1)
    wish = SetCredentialStatusRequest(purpose=purpose.value, value=value, reason="because")
    return run(office.set_status(credential_id, wish, context(caller, "setCredentialStatus")))


def test_suspend_resume_revoke(office: Office) -> None:
    credential = run(office.issued()).credential
    ivo = office.as_(office.ivo)
    assert change(office, credential.id, ivo, SUSPENSION, True).status is CredentialStatus.SUSPENDED
    assert change(office, credential.id, ivo, SUSPENSION, True).version == 2
    assert change(office, credential.id, ivo, SUSPENSION, False).status is CredentialStatus.ACTIVE
    assert change(office, credential.id, ivo, REVOCATION, True).version == 4
    with pytest.raises(Conflict):
        change(office, credential.id, ivo, SUSPENSION, True)
    rows = run(
        StoredTimeline(office.rooms.store.database).list(TimelineQuery(frozenset({str(office.hana)}), "credential"))
    )
    kinds = [row.entry.kind for row in rows]
    assert kinds == ["credential.revoked", "credential.resumed", "credential.suspended", "credential.issued"]


def test_a_holder_knows_of_it_and_may_not_change_it(office: Office) -> None:
    credential = run(office.issued()).credential
    for caller in (office.as_(office.hana), key_caller(targets=frozenset({str(office.hana)}))):
        with pytest.raises(Forbidden):
            change(office, credential.id, caller, REVOCATION, True)
    with pytest.raises(CredentialNotFound):
        change(office, credential.id, key_caller(targets=frozenset()), REVOCATION, True)


def test_concurrent_changes_succeed_or_are_refused(office: Office) -> None:
    credential = run(office.issued()).credential
    ivo = context(office.as_(office.ivo))

    async def together() -> Any:
        return await asyncio.gather(
            office.set_status(credential.id, SetCredentialStatusRequest(purpose=REVOCATION.value, value=True), ivo),
            office.set_status(credential.id, SetCredentialStatusRequest(purpose=SUSPENSION.value, value=True), ivo),
            return_exceptions=True,
        )

    first, second = run(together())
    assert first.status is CredentialStatus.REVOKED
    assert isinstance(second, Conflict) or second.status is CredentialStatus.SUSPENDED
    assert run(office.credentials.get(credential.id)).status is CredentialStatus.REVOKED


def test_the_list_is_signed_and_says_so(office: Office) -> None:
    credential = run(office.issued()).credential
    status = status_list.entries(credential.issuer, credential.status_index, BASE)[0]
    name = status["statusListCredential"].rpartition("/")[2]
    before = run(office.status_list(name))
    assert run(office.status_list(name)) is before
    change(office, credential.id, office.as_(office.ivo), REVOCATION, True)
    after = run(office.status_list(name))
    assert after.version == before.version + 1
    document = orjson.loads(after.encoded)
    assert set_in(document["credentialSubject"]["encodedList"]) == {int(status["statusListIndex"])}
    proof = document.pop("proof")
    signer = office.rooms.custodian.pair.public
    assert document["issuer"] == f"did:key:{signer}"
    assert entry.check_proof(proof, document, [signer]) == signer
    for unknown in ("absent", "A" * 22 + "-revocation", name.replace("revocation", "message")):
        with pytest.raises(StatusListNotFound):
            run(office.status_list(unknown))


# Verdicts


def verdict(office: Office, value: Any) -> dict[str, Any]:
    return {
        check.check: (check.ok, check.code)
        for check in run(office.verify(VerifyCredentialRequest(credential=value))).checks
    }


def test_a_full_queue_of_strangers_refuses_no_api_key(office: Office) -> None:
    shown = run(office.issued())
    value = shown_to_holder(shown.credential, shown.witness, BASE)
    verify = replace(office.verify, check=SignatureChecks(waiting=0))
    with pytest.raises(Overloaded):
        run(verify(VerifyCredentialRequest(credential=value)))
    assert run(verify(VerifyCredentialRequest(credential=value), is_known=True)).verified


def test_a_good_credential(office: Office) -> None:
    shown = run(office.issued())
    value = shown_to_holder(shown.credential, shown.witness, BASE)
    assert run(office.verify(VerifyCredentialRequest(credential=value))).verified
    assert list(verdict(office, value)) == [
        "form", "schema", "issuerKey", "signature", "record", "status", "validity",
    ]  # fmt: skip


def test_a_bad_one_is_told_which_check_it_failed(office: Office) -> None:
    shown = run(office.issued(suite=1))
    good = shown_to_holder(shown.credential, shown.witness, BASE)
    subject = good["credentialSubject"]
    method = office.key_id.partition("#")[2]
    cases: list[tuple[dict[str, Any], str, tuple[bool | None, str]]] = [
        ({"extra": 1}, "form", (False, "CREDENTIAL_MALFORMED")),
        ({"credentialSchema": good["credentialSchema"] | {"id": "urn:x"}}, "schema", (False, "SCHEMA_UNKNOWN")),
        ({"credentialSubject": subject | {"age": "24"}}, "schema", (False, "ATTRIBUTES_INVALID")),
        ({"credentialSubject": subject | {"age": 25}}, "signature", (False, "SIGNATURE_INVALID")),
        ({"credentialSubject": subject | {"id": str(office.ivo)}}, "record", (False, "RECORD_MISMATCH")),
        ({"validFrom": "2020-01-01T00:00:00Z"}, "record", (False, "RECORD_MISMATCH")),
        ({"credentialStatus": []}, "record", (False, "RECORD_MISMATCH")),
        ({"id": "urn:uuid:absent"}, "record", (False, "CREDENTIAL_UNKNOWN")),
        ({"issuer": str(office.hana)}, "issuerKey", (False, "ISSUER_MISMATCH")),
        (
            {
                "issuer": str(office.hana),
                "proof": good["proof"] | {"verificationMethod": f"{office.hana}#{method}"},
            },
            "issuerKey",
            (False, "ISSUER_KEY_UNKNOWN"),
        ),
    ]
    for changed, name, outcome in cases:
        found = verdict(office, good | changed)
        assert found[name] == outcome
        assert list(found)[-1] == name
        assert not run(office.verify(VerifyCredentialRequest(credential=good | changed))).verified


def test_status_and_time_are_part_of_the_verdict(office: Office) -> None:
    until = office.rooms.clock.now() + timedelta(days=1)
    shown = run(office.issued(valid_until=until))
    value = shown_to_holder(shown.credential, shown.witness, BASE)
    office.rooms.clock.move(days=1)
    assert verdict(office, value)["validity"] == (False, "CREDENTIAL_EXPIRED")
    change(office, shown.credential.id, office.as_(office.ivo), SUSPENSION, True)
    assert verdict(office, value)["status"] == (False, "CREDENTIAL_SUSPENDED")
    change(office, shown.credential.id, office.as_(office.ivo), REVOCATION, True)
    assert verdict(office, value)["status"] == (False, "CREDENTIAL_REVOKED")


# The seal and the journal


def test_a_box_opens_only_for_its_own_credential(office: Office) -> None:
    credential = run(office.issued()).credential
    box = run(office.credentials.sealed(credential.id))
    office.vault.seal.open(credential, box)
    office.vault.seal.open(replace(credential, status=CredentialStatus.REVOKED, version=9), box)
    for moved in (
        replace(credential, id="urn:uuid:other"),
        replace(credential, holder=office.ivo),
        replace(credential, issuer=office.hana),
        replace(credential, issuer_public_key=bytes(96)),
        replace(credential, verification_method="x"),
        replace(credential, schema=Schema("urn:x", credential.schema.attributes)),
    ):
        with pytest.raises(InternalError):
            office.vault.seal.open(moved, box)
    with pytest.raises(InternalError):
        office.vault.seal.open(credential, box[:-1] + bytes([box[-1] ^ 1]))
    assert office.vault.seal.close(credential, run(office.vault.witness(credential))) != box


def test_values_stand_nowhere_in_the_clear(office: Office, store_files: Any) -> None:
    shown = run(office.issued())
    run(office.get(shown.credential.id, context(key_caller(targets=frozenset({str(office.hana)})))))
    change(office, shown.credential.id, office.as_(office.ivo), SUSPENSION, True)
    data = store_files()
    assert shown.credential.id.encode() in data
    for secret in (b"Hana-the-secret", b"41250", b"9007199254740993", shown.witness.signature):
        assert secret not in data
    assert "Hana-the-secret" not in repr((shown, office.new(), office.vault))


def test_the_audit_names_operator_and_target(office: Office) -> None:
    caller = key_caller(targets=frozenset({str(office.ivo)}))
    shown = run(office.issue(office.new(), context(caller, "issueCredential")))
    run(office.get(shown.credential.id, context(caller, "getCredential")))
    lines = [row for _, row in run(audit_rows(audit_of(office.rooms.store), after=0, limit=99))]
    written = {row.operation: row for row in lines}
    for operation, target in (("issueCredential", office.ivo), ("getCredential", office.hana)):
        assert written[operation].fingerprint == "0f1e2d3c4b5a"
        assert written[operation].target == str(target)
        assert written[operation].details["credentialId"] == shown.credential.id


def test_a_crowd_of_checks_is_turned_away(office: Office) -> None:
    shown = run(office.issued())
    value = shown_to_holder(shown.credential, shown.witness, BASE)
    office.verify.check.waiting = 3

    async def together() -> list[Any]:
        office.verify.check._turns = asyncio.Semaphore(1)
        return await asyncio.gather(
            *(office.verify(VerifyCredentialRequest(credential=value)) for _ in range(8)), return_exceptions=True
        )

    answers = run(together())
    assert sum(isinstance(answer, Overloaded) for answer in answers) == 5
    assert [answer.verified for answer in answers if not isinstance(answer, Overloaded)] == [True] * 3
    assert run(office.verify(VerifyCredentialRequest(credential=value))).verified


def test_agent_is_found_behind_pages_of_other_delegations() -> None:
    """Other agents may pass on any number of delegations to the same agent."""
    read: list[RowPosition | None] = []

    class Pages:
        async def list(self, wanted: Any, *, after: RowPosition | None, limit: int) -> list[Any]:
            read.append(after)
            leaf = SimpleNamespace(created_at=datetime(2026, 1, 2, tzinfo=UTC), id=str(len(read)))
            return [SimpleNamespace(leaf=leaf)] * (limit if len(read) < 4 else 0)

    class Access(CredentialAccess, frozen=True):
        shown: str = "3"

        def _shows(self, chain: Any, credential: Any, agent: Any) -> bool:
            return bool(chain.leaf.id == self.shown)

    nothing: Any = None
    pages: Any = Pages()
    credential: Any = SimpleNamespace(holder="did:ids:hana")
    agent = Did.parse("did:ids:aki")
    for shown, reads in (("3", 3), ("none", 4)):
        read.clear()
        access = Access(nothing, pages, nothing, nothing, shown=shown)
        assert asyncio.run(access._is_agent(credential, agent)) is (shown == "3")
        assert [one and one.id for one in read] == [None, "1", "2", "3"][:reads]
