"""Credentials of suite 2 that their issuer signed at home for a wallet: taken with the handle that they name, or not at all."""

from __future__ import annotations

import asyncio
import copy
from datetime import timedelta
from typing import Any

import pytest
from identity_bound_credentials.domain import status_gaps
from identity_bound_credentials.domain.bound_credential import SecretKeeper, StatusListReference
from identity_bound_credentials.store.status_gaps import StoredStatusGaps
from identity_verification.wire import VerifyCredentialRequest

from identity_codec.multibase import base64url_encode
from identity_codec.structs import convert
from identity_codec.values import replace
from identity_core.domain.credentials.credential import NO_SECRET
from identity_core.errors import Conflict, Forbidden, InvalidCredential
from identity_core.use_cases.credentials.sealed import ShownCredential
from identity_core.wire import AdditionalKey, ImportCredentialRequest, SetCredentialStatusRequest
from tests.credentials import VALUES, shown_to_holder
from tests.unit.use_cases.credentials.conftest import BASE, SCHEMA, Office, context, held_key
from tests.wallets import DAY_SECONDS, HomeCredential, HomeWallet

OTHER_LIST = StatusListReference("AbCdEfGhIjKlMnOpQrStUv", DAY_SECONDS)


def run(awaitable: Any) -> Any:
    return asyncio.run(awaitable)


def obtained(office: Office, **changed: Any) -> HomeCredential:
    """Ivo has signed at home, for a wallet of Hana's."""
    key = held_key(office.key_id, office.rooms.custodian.imported[office.key_id][1])
    definition = run(office.schemas.get(SCHEMA)).definition
    given = {"now": office.rooms.clock.now()} | changed
    return HomeWallet().obtain(key, office.key_id, str(office.hana), definition, VALUES, **given)


def imported(office: Office, body: dict[str, Any]) -> ShownCredential:
    wish = convert(body, ImportCredentialRequest)
    shown: ShownCredential = run(office.import_signed(wish, context(office.as_(office.ivo), "importCredential")))
    return shown


def handles(office: Office) -> list[tuple[int, str]]:
    """All that are given, of every list."""
    statement = "SELECT handle, credential_id FROM gap_handles ORDER BY handle"
    return [*run(office.rooms.store.database.read(lambda tx: tx.execute(statement, {}).fetchall()))]


def test_it_is_a_credential_like_any_other_of_suite_2(office: Office) -> None:
    home = obtained(
        office, valid_until=office.rooms.clock.now().replace(hour=0, minute=0, second=0) + timedelta(days=9)
    )
    shown = imported(office, home.body)
    credential, binding = shown.credential, shown.credential.binding
    assert binding is not None
    assert (credential.id, binding.handle, binding.secret) == (home.particulars.id, home.particulars.handle, NO_SECRET)
    assert (credential.valid_from, credential.valid_until) == (
        home.particulars.valid_from,
        home.particulars.valid_until,
    )
    assert run(office.credentials.get(credential.id)) == credential
    value = shown_to_holder(credential, run(office.vault.witness(credential)), BASE)
    own = copy.deepcopy(value)
    # As the issuer wrote it, who knows of no bits here.
    own["credentialStatus"] = value["credentialStatus"][-1:]
    for each in (value, own):
        verdict = run(office.verify(VerifyCredentialRequest(credential=each)))
        assert [check.code for check in verdict.checks if check.code is not None] == []


def test_its_handle_is_revoked_with_it(office: Office) -> None:
    home = obtained(office)
    imported(office, home.body)
    gaps, ivo = StoredStatusGaps(office.rooms.store.database), context(office.as_(office.ivo))
    (gap_list,) = run(gaps.lists())
    assert gap_list.id == status_gaps.list_id(str(office.ivo), DAY_SECONDS)
    epoch = status_gaps.epoch_at(office.rooms.clock.now(), DAY_SECONDS)
    assert run(gaps.published(gap_list.id, epoch)) is not None, "the credential names a list that is not there"
    assert run(gaps.listed(gap_list.id, last_day=0))[1] == []
    wish = SetCredentialStatusRequest(purpose="revocation", value=True)
    run(office.set_status(home.particulars.id, wish, ivo))
    assert [*run(gaps.listed(gap_list.id, last_day=0))[1]] == [home.particulars.handle]


def set_in_body(*path: str, to: Any) -> Any:
    def change(body: dict[str, Any]) -> None:
        for member in path[:-1]:
            body = body[member]
        body[path[-1]] = to

    return change


def flipped(*path: str) -> Any:
    def change(body: dict[str, Any]) -> None:
        for member in path[:-1]:
            body = body[member]
        text = body[path[-1]]
        body[path[-1]] = ("A" if text[5] != "A" else "B").join((text[:5], text[6:]))

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_in_body("bound", "id", to="urn:uuid:00000000-0000-4000-8000-000000000000"),
        set_in_body("bound", "handle", to=77),
        set_in_body("attributes", "age", to=25),
        set_in_body("validUntil", to="2100-01-01T00:00:00Z"),
        set_in_body("validFrom", to="2001-01-01T00:00:00Z"),
        set_in_body("validFrom", to="2001-01-01T00:00:01Z"),
        flipped("bound", "commitment"),
        flipped("bound", "header"),
        flipped("signature"),
        set_in_body("bound", "header", to="*"),
        set_in_body("bound", "commitment", to="*" * 64),
        set_in_body("bound", "commitment", to=base64url_encode(bytes([0xC0]) + bytes(47))),
        lambda body: body.pop("bound"),
    ],
)
def test_unsigned_credential_takes_no_handle(office: Office, change: Any) -> None:
    home = obtained(office)
    body = copy.deepcopy(home.body)
    change(body)
    with pytest.raises(InvalidCredential):
        imported(office, body)
    assert handles(office) == []
    imported(office, home.body)


def test_credential_of_another_holder_is_refused(office: Office) -> None:
    mallory = run(office.rooms.new_did()).version.state.did
    with pytest.raises(InvalidCredential):
        imported(office, obtained(office).body | {"holderDid": str(mallory)})
    wish = convert(obtained(office).body, ImportCredentialRequest)
    for stranger in (office.hana, mallory):
        with pytest.raises(Forbidden):
            run(office.import_signed(wish, context(office.as_(stranger))))
    assert handles(office) == []


@pytest.mark.parametrize(
    "signed",
    [
        {"keeper": SecretKeeper.CUSTODIAN},
        {"keeper": SecretKeeper.NONE},
        {"status": None},
        {"status": OTHER_LIST},
        {"digest": bytes(32)},
    ],
    ids=str,
)
def test_valid_signature_on_irrevocable_header(office: Office, signed: dict[str, Any]) -> None:
    body = obtained(office, **signed).body
    body["bound"]["handle"] = body["bound"]["handle"] or 1
    with pytest.raises(InvalidCredential):
        imported(office, body)
    hourly = StatusListReference(status_gaps.list_id(str(office.ivo), 3_600), 3_600)
    others = StatusListReference(status_gaps.list_id(str(office.hana), DAY_SECONDS), DAY_SECONDS)
    for status in (hourly, others):
        with pytest.raises(InvalidCredential) as refused:
            imported(office, obtained(office, status=status).body)
        assert status_gaps.list_id(str(office.ivo), DAY_SECONDS) in refused.value.details["reason"]
    assert handles(office) == []


def test_one_handle_is_one_credentials(office: Office) -> None:
    """Otherwise a revocation of one revokes both; and an id belongs to one credential."""
    issued = run(office.bound()).credential
    assert issued.binding is not None
    before = handles(office)
    taken = obtained(office, handle=issued.binding.handle)
    known = obtained(office, id=issued.id)
    for home, member in ((taken, "handle"), (known, "id")):
        with pytest.raises(Conflict) as refused:
            imported(office, home.body)
        assert refused.value.details["member"] == member
        assert handles(office) == before
    home = obtained(office)
    with pytest.raises(Conflict) as refused:
        imported(office, home.body)
    assert "newHolderSecret" in str(refused.value.details["remedy"]), "the custodian keeps another secret of hers"
    home.body["newHolderSecret"] = True
    assert imported(office, home.body).credential.binding.secret_replaced
    with pytest.raises(Conflict):
        imported(office, home.body)
    assert handles(office) == sorted([*before, (home.particulars.handle, home.particulars.id)])


def test_another_wallet_of_a_holder_must_be_accepted(office: Office) -> None:
    """Also one whose secret is unknown, and a custodian's."""
    imported(office, obtained(office).body)
    other = obtained(office).body
    unknown = copy.deepcopy(other)
    del unknown["bound"]["holderTag"]
    for body in (other, unknown):
        with pytest.raises(Conflict):
            imported(office, body)
    with pytest.raises(Conflict):
        run(office.bound())
    assert imported(office, other | {"newHolderSecret": True}).credential.binding.secret_replaced
    assert run(office.bound(new_holder_secret=True)).credential.binding.secret_replaced


def test_a_wallet_of_another_holder_is_refused(office: Office) -> None:
    """Mallory has Hana's secret, and Ivo accepts whatever he asks for."""
    mallory = run(office.rooms.new_did()).version.state.did
    key = held_key(office.key_id, office.rooms.custodian.imported[office.key_id][1])
    definition, wallet = run(office.schemas.get(SCHEMA)).definition, HomeWallet()
    hers, his = (
        wallet.obtain(key, office.key_id, str(one), definition, VALUES, now=office.rooms.clock.now())
        for one in (office.hana, mallory)
    )
    imported(office, hers.body)
    with pytest.raises(Conflict, match="Another holder"):
        imported(office, his.body | {"newHolderSecret": True})


def test_the_id_of_anothers_credential_is_not_taken(office: Office) -> None:
    """Mallory, an issuer, has seen the id of a credential of suite 1, which has no handle."""
    issued = run(office.issued(suite=1)).credential
    with pytest.raises(Conflict):
        imported(office, obtained(office, id=issued.id).body)
    assert handles(office) == []


def test_two_at_once_with_one_id_are_one(office: Office) -> None:
    home = obtained(office)
    wish = convert(home.body, ImportCredentialRequest)
    ivo = context(office.as_(office.ivo))

    async def both() -> list[Any]:
        return await asyncio.gather(*(office.import_signed(wish, ivo) for _ in range(2)), return_exceptions=True)

    outcomes = run(both())
    assert sorted(type(one).__name__ for one in outcomes) == ["Conflict", "ShownCredential"]
    assert len(handles(office)) == 1


def test_the_key_of_the_credentials_may_stay_at_home(office: Office) -> None:
    """Ivan's second key is here, and signs the list. An issuer none of whose keys is here has no list that could be signed."""
    wish = AdditionalKey(type="Bls12381G2Key2020", purpose=("assertionMethod",))
    made = run(office.rooms.new_did(additional_keys=(wish, wish), store_secrets=True, return_secrets=True))
    ivan, definition = made.version.state.did, run(office.schemas.get(SCHEMA)).definition
    home_key, here = [key for key in made.keys if key.type == "Bls12381G2Key2020"]
    own_id = f"{ivan}#{home_key.public}"
    _, secret, _, _ = office.rooms.custodian.imported.pop(own_id)
    given = (held_key(own_id, secret), own_id, str(office.hana), definition, VALUES)
    home = HomeWallet().obtain(*given, now=office.rooms.clock.now())
    ask = convert(home.body, ImportCredentialRequest)
    caller = context(office.as_(ivan))
    run(office.import_signed(ask, caller))
    (gap_list,) = run(StoredStatusGaps(office.rooms.store.database).lists())
    assert gap_list.method == f"{ivan}#{here.public}"

    again = HomeWallet().obtain(*given, now=office.rooms.clock.now())
    office.rooms.custodian.imported.pop(gap_list.method)
    with pytest.raises(InvalidCredential):
        run(office.import_signed(convert(again.body, ImportCredentialRequest), caller))


def test_a_key_without_a_proof_of_possession_signs_none(office: Office) -> None:
    home = obtained(office)
    prepare = office.import_signed.intake.prepare

    class Unproven:
        """The intake, at an issuer whose keys came before there were such proofs."""

        async def prepare(self, *given: Any) -> Any:
            prepared = await prepare(*given)
            return replace(prepared, state=replace(prepared.state, proven_keys=()))

        checked = staticmethod(office.import_signed.intake.checked)
        suites, credentials = office.import_signed.intake.suites, office.credentials

    wish = convert(home.body, ImportCredentialRequest)
    older = replace(office.import_signed, intake=Unproven())  # type: ignore[arg-type]
    with pytest.raises(InvalidCredential) as refused:
        run(older(wish, context(office.as_(office.ivo))))
    assert "proof of possession" in refused.value.details["reason"]
    assert handles(office) == []
