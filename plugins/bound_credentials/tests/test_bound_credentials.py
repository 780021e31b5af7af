"""Credentials of suite 2: what is signed, what is refused, what a stranger who has one finds out, and the list that revokes it."""

from __future__ import annotations

import asyncio
import copy
import os
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from identity_bound_credentials.domain import status_gaps
from identity_bound_credentials.domain.bound_credential import BoundHeader, SecretKeeper
from identity_bound_credentials.store.status_gaps import StoredStatusGaps
from identity_bound_credentials.use_cases.issue import GAP_PERIOD
from identity_bound_credentials.use_cases.status_gaps import ListKeys
from identity_verification.wire import VerifyCredentialRequest

from identity_codec import multikey
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.values import replace
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.credentials.credential_schema import digest
from identity_core.errors import InternalError, InvalidCredential
from identity_core.use_cases.credentials.issue import CredentialIntake
from identity_core.use_cases.credentials.sealed import ShownCredential
from identity_core.wire import AdditionalKey, SetCredentialStatusRequest
from tests.credentials import shown_to_holder
from tests.unit.use_cases.credentials.conftest import BASE, SCHEMA, Keys, Office, context

DAY = timedelta(days=1)


def run(awaitable: Any) -> Any:
    return asyncio.run(awaitable)


def today(office: Office) -> datetime:
    return office.rooms.clock.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def as_text(office: Office, shown: ShownCredential) -> dict[str, Any]:
    return shown_to_holder(shown.credential, shown.witness, BASE)


def codes(office: Office, value: dict[str, Any]) -> list[str]:
    """Return the codes of the faults in a verdict."""
    verdict = run(office.verify(VerifyCredentialRequest(credential=value)))
    return [check.code for check in verdict.checks if check.code is not None]


def test_the_signature_covers_all_of_it(office: Office) -> None:
    end = today(office) + 30 * DAY
    shown = run(office.bound(valid_until=end))
    credential, binding = shown.credential, shown.credential.binding
    header = BoundHeader.from_octets(binding.header)
    assert (header.issuer, header.method, header.keeper) == (str(office.ivo), office.key_id, SecretKeeper.CUSTODIAN)
    assert header.digest == digest(run(office.schemas.get(SCHEMA)).definition)
    assert header.status.list_id == status_gaps.list_id(str(office.ivo), GAP_PERIOD)
    assert (credential.valid_from, credential.valid_until) == (today(office), end)
    assert 0 < binding.handle < status_gaps.LAST_END
    assert binding.secret == str(office.hana)
    assert run(office.credentials.get(credential.id)) == credential
    assert run(office.vault.witness(credential)) == shown.witness
    assert codes(office, as_text(office, shown)) == []


def test_two_credentials_of_one_holder_have_nothing_in_common(office: Office) -> None:
    first, second = (run(office.bound()) for _ in range(2))
    assert first.credential.binding.commitment != second.credential.binding.commitment
    assert first.credential.binding.handle != second.credential.binding.handle
    assert first.credential.binding.header == second.credential.binding.header, "the header tells holders apart"


def test_suite_2_is_what_is_issued_where_nothing_is_said(office: Office) -> None:
    shown = run(office.issued())
    assert shown.credential.binding is not None
    assert shown.credential.valid_from == today(office)
    assert as_text(office, shown)["proof"]["cryptosuite"] == "identity-bbs-credential-2"
    assert codes(office, as_text(office, shown)) == []


def test_suite_1_is_issued_on_demand(office: Office) -> None:
    office.rooms.clock.move(hours=1)
    alone = office.issue_by(provers=SimpleNamespace(extensions=frozenset()))
    caller = context(office.as_(office.ivo), "issueCredential")
    for shown in (run(office.issued(suite=1)), run(alone(office.new(), caller))):
        assert shown.credential.binding is None
        assert shown.credential.valid_from == office.rooms.clock.now(), "suite 1 begins at the second"
        value = as_text(office, shown)
        assert value["proof"]["cryptosuite"] == "identity-bbs-credential-1"
        assert value["proof"].keys().isdisjoint({"header", "commitment"})
        assert len(value["credentialStatus"]) == 2
    # A wallet may prove with what no prover here does.
    assert run(alone(office.new(suite=2), caller)).credential.binding is not None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"valid_until": timedelta(days=30, hours=1)}, "00:00:00Z"),
        ({"valid_from": timedelta(hours=1)}, "00:00:00Z"),
        ({"valid_until": timedelta(days=60_000)}, "2149"),
        ({"valid_from": timedelta(days=60_000)}, "2149"),
    ],
)
def test_validity_is_in_whole_days(office: Office, changed: dict[str, timedelta], reason: str) -> None:
    given = {name: today(office) + after for name, after in changed.items()}
    with pytest.raises(InvalidCredential) as refused:
        run(office.bound(**given))
    assert reason in refused.value.details["reason"]
    shown = run(office.issued(**given))
    assert shown.credential.binding is None, "suite 1 states what suite 2 cannot state, without a request"
    assert all(getattr(shown.credential, name) == moment for name, moment in given.items())


def test_custodian_without_secrets_of_holders_signs_suite_1_only(office: Office) -> None:
    class Plain:
        """All of the custodian but what it keeps for holders."""

        def __init__(self, real: Any) -> None:
            self.public_key, self.sign_bbs = real.public_key, real.sign_bbs

    issue = office.issue_by(custodian=Plain(office.rooms.custodian))
    caller = context(office.as_(office.ivo), "issueCredential")
    with pytest.raises(InvalidCredential) as refused:
        run(issue(office.new(suite=2), caller))
    assert "secrets of holders" in refused.value.details["reason"]
    assert run(issue(office.new(), caller)).credential.binding is None


def test_a_key_without_a_proof_of_possession_signs_suite_1_only(office: Office) -> None:
    intake = office.issue.intake

    class Before(CredentialIntake):
        """The issuer's log is one of before proofs of possession."""

        async def prepare(self, *args: Any) -> Any:
            prepared = await intake.prepare(*args)
            return replace(prepared, state=replace(prepared.state, proven_keys=None))

    parts = {name: getattr(intake, name) for name in CredentialIntake.__slots__}
    issue = replace(office.issue, intake=Before(**parts))
    caller = context(office.as_(office.ivo), "issueCredential")
    with pytest.raises(InvalidCredential) as refused:
        run(issue(office.new(suite=2), caller))
    assert "possession" in refused.value.details["reason"]
    assert run(issue(office.new(), caller)).credential.binding is None


def test_a_commitment_of_another_holder_is_not_signed(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The custodian would take a commitment for what it is: bound to one holder, issuer and nonce."""
    real = Keys.commit_holder

    async def swapped(self: Keys, secret: str, credential: str, request: Any) -> bytes:
        return await real(self, secret, credential, replace(request, holder=str(office.ivo)))

    monkeypatch.setattr(Keys, "commit_holder", swapped)
    with pytest.raises(Exception, match="commitment"):
        run(office.bound())


# A client that has one


def changes(office: Office, value: dict[str, Any], other: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Everything that one may write into a credential, by what it is."""
    changed: dict[str, dict[str, Any]] = {}

    def replace_member(name: str, *path: str, to: Any) -> None:
        copied = copy.deepcopy(value)
        inner: Any = copied
        for member in path[:-1]:
            inner = inner[member]
        inner[path[-1]] = to
        changed[name] = copied

    replace_member("id", "id", to=other["id"])
    replace_member("holder", "credentialSubject", "id", to=str(office.ivo))
    replace_member("a value", "credentialSubject", "age", to=25)
    replace_member("begins earlier", "validFrom", to="2020-01-01T00:00:00Z")
    replace_member("never ends", "validUntil", to="2100-01-01T00:00:00Z")
    replace_member("ends within a day", "validUntil", to="2100-01-01T00:00:01Z")
    replace_member("another's signature", "proof", "proofValue", to=other["proof"]["proofValue"])
    replace_member("another's commitment", "proof", "commitment", to=other["proof"]["commitment"])
    header = base64url_decode(value["proof"]["header"])
    replace_member(
        "another keeper", "proof", "header", to=base64url_encode(header.replace(b'"custodian"', b'"wallet"'))
    )
    replace_member("no list", "proof", "header", to=_without_list(header))
    replace_member("another handle", "credentialStatus", to=_with_handle(value, "77"))
    replace_member("suite 1", "proof", to=_of_suite_1(value))
    return changed


def _without_list(header: bytes) -> str:
    read = BoundHeader.from_octets(header)
    return base64url_encode(replace(read, status=None).encoded)


def _with_handle(value: dict[str, Any], handle: str) -> Any:
    *bits, entry = value["credentialStatus"]
    return [*bits, entry | {"statusListIndex": handle}]


def _of_suite_1(value: dict[str, Any]) -> dict[str, Any]:
    proof = {name: one for name, one in value["proof"].items() if name not in ("header", "commitment")}
    return proof | {"cryptosuite": "identity-bbs-credential-1"}


def test_nothing_in_it_can_be_changed(office: Office) -> None:
    value, other = (as_text(office, run(office.bound(valid_until=today(office) + 30 * DAY))) for _ in range(2))
    found = {name: codes(office, changed) for name, changed in changes(office, value, other).items()}
    assert {name: code for name, code in found.items() if code != ["SIGNATURE_INVALID"]} == {}


@pytest.mark.parametrize(
    "broken",
    [
        {"header": "AAAA"},
        {"header": 7},
        {"header": "="},
        {"commitment": None},
        {"commitment": "*"},
        {"cryptosuite": "identity-bbs-credential-3"},
        {"proofPurpose": "authentication"},
    ],
)
def test_broken_proof_is_malformed(office: Office, broken: dict[str, Any]) -> None:
    value = as_text(office, run(office.bound()))
    value["proof"] |= broken
    assert codes(office, value) == ["CREDENTIAL_MALFORMED"]


@pytest.mark.parametrize("handle", ["", "-1", "1.0", "01", "٣", "4294967296", "99999999999", 7, None])
def test_a_handle_has_one_form(office: Office, handle: Any) -> None:
    value = as_text(office, run(office.bound()))
    value["credentialStatus"] = _with_handle(value, handle)
    assert codes(office, value) in (["CREDENTIAL_MALFORMED"], ["SIGNATURE_INVALID"])


@pytest.mark.parametrize("data", [b"", bytes(48), b"\xc0" + bytes(47), b"\xff" * 48, bytes(47)])
def test_a_point_that_is_none(office: Office, data: bytes) -> None:
    value = as_text(office, run(office.bound()))
    value["proof"]["commitment"] = base64url_encode(data)
    assert codes(office, value) == ["SIGNATURE_INVALID"]


def test_the_box_does_not_open_for_another_row(office: Office) -> None:
    """A writer of the database puts one holder's handle, commitment or secret's name into another's row."""
    first, second = (run(office.bound()) for _ in range(2))
    for column, value in (("commitment", second.credential.binding.commitment), ("handle", 7), ("holder_secret", "x")):
        statement = f"UPDATE credentials SET {column} = :value WHERE id = :id"
        parameters = {"value": value, "id": first.credential.id}
        database = office.rooms.store.database
        before = run(office.credentials.get(first.credential.id))
        database.write_now(lambda tx, sql=statement, given=parameters: tx.execute(sql, given).rowcount)
        moved = run(office.credentials.get(first.credential.id))
        assert moved != before
        with pytest.raises(InternalError):
            run(office.vault.witness(moved))


# The list


def test_revoking_it_lists_its_handle_and_resuming_unlists_it(office: Office) -> None:
    shown = run(office.bound())
    ivo, gaps = context(office.as_(office.ivo)), StoredStatusGaps(office.rooms.store.database)
    (gap_list,) = run(gaps.lists())
    assert (gap_list.issuer, gap_list.method) == (str(office.ivo), office.key_id)

    def listed() -> list[int]:
        return list(run(gaps.listed(gap_list.id, last_day=0))[1])

    assert listed() == []
    for purpose, value, expected in (
        ("suspension", True, [shown.credential.binding.handle]),
        ("suspension", False, []),
        ("revocation", True, [shown.credential.binding.handle]),
    ):
        wish = SetCredentialStatusRequest(purpose=purpose, value=value)
        run(office.set_status(shown.credential.id, wish, ivo))
        assert listed() == expected
    assert run(office.credentials.get(shown.credential.id)).status is CredentialStatus.REVOKED
    assert codes(office, as_text(office, shown)) == ["CREDENTIAL_REVOKED"]


def test_the_list_is_signed_with_the_newest_key_of_the_issuer(office: Office) -> None:
    """A credential may still be signed with an older one; the list follows the issuer's rotation with the next credential."""
    run(office.bound())

    async def with_two() -> tuple[Any, list[str]]:
        wish = AdditionalKey(type="Bls12381G2Key2020", purpose=("assertionMethod",))
        made = await office.rooms.new_did(additional_keys=(wish, wish), store_secrets=True)
        did = made.version.state.did
        return did, [f"{did}#{key.public}" for key in made.keys if key.type == multikey.BLS12381G2]

    ivan, (older, newest) = run(with_two())
    caller = context(office.as_(ivan), "issueCredential")
    run(office.issue(office.new(issuer=ivan, suite=2, verification_method=older), caller))
    lists = {one.issuer: one for one in run(StoredStatusGaps(office.rooms.store.database).lists())}
    assert lists[str(ivan)].method == newest

    # As it was before the newest key came.
    gaps, given = StoredStatusGaps(office.rooms.store.database), replace(lists[str(ivan)], method=older)
    run(gaps.give(given, "urn:uuid:1", 60_000, random=os.urandom))
    run(office.issue(office.new(issuer=ivan, suite=2), caller))
    (after,) = [one for one in run(gaps.lists()) if one.issuer == str(ivan)]
    assert after.method == newest
    assert after.version > lists[str(ivan)].version


def test_list_of_issuer_is_signed_with_key_of_document(office: Office) -> None:
    """After a rotation with the successor that is held here; with what it has while there is none, or one without a proof."""
    run(office.bound())
    (gap_list,) = run(StoredStatusGaps(office.rooms.store.database).lists())
    keys = ListKeys(office.rooms.reader, office.rooms.custodian)  # type: ignore[arg-type]
    assert run(keys(gap_list)) == office.key_id
    assert run(keys(replace(gap_list, method=f"{office.ivo}#before"))) == office.key_id
    for stranger in (str(office.hana), "did:ids:" + "Q" * 46):
        other = replace(gap_list, issuer=stranger, method=f"{stranger}#1")
        assert run(keys(other)) == other.method
