"""Attacks by a holder of the log key (the operator or a thief): entries that the controller did not want, or that the rules forbid.

Hashes and proofs of such an entry fit, and it is refused.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from identity_kit.conformance.controller import BIRTH, Life, WalletSigner

from identity_client import challenge
from identity_codec import times
from identity_codec.values import replace
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import AddService, Deactivate, Expire, NewService, Rotate, Update
from identity_core.domain.dids.keys import Key
from identity_core.domain.dids.state import LogInvalid
from tests.attack.log_forger import (
    LOG_KEY,
    METHOD,
    MINUTE,
    authorization_json,
    later,
    new_life,
    parsed,
    reminted,
    resealed,
    sealed,
)

Item = dict[str, Any]
A = AddService(NewService("A", "https://a.example/", "a"))


def refused(state: history.DidState | None, entry: bytes) -> None:
    with pytest.raises(LogInvalid):
        METHOD.apply(state, entry)


@pytest.fixture
def life(request: pytest.FixtureRequest) -> Life:
    return new_life(is_strict=getattr(request, "param", False))


IN_BOTH_MODES = pytest.mark.parametrize("life", [False, True], ids=["plain", "strictEvidence"], indirect=True)
BODY = {"operation": "addService", "service": {"id": "a", "type": "A", "serviceEndpoint": "https://a.example/"}}


@pytest.fixture
def update(life: Life) -> Item:
    """A good second entry, to be spoilt."""
    at = later(life.state)
    bound = life.controller.authorize(
        str(life.state.did), life.creation.keys[0].public, at, purpose="update", body=BODY
    )
    return parsed(life.entry(Update((A,), bound if life.state.strict_evidence else life.authorize(at)), at))


EXTRA = {"id": "x", "type": "B", "serviceEndpoint": "https://mallory.example/"}
DOCUMENT: dict[str, Callable[[Item], object]] = {
    "another endpoint": lambda item: item["state"]["service"][0].update(serviceEndpoint="https://mallory.example/"),
    "one more service": lambda item: item["state"]["service"].append(EXTRA | {"id": item["state"]["id"] + "#x"}),
    "no service": lambda item: item["state"].pop("service"),
    "another name": lambda item: item["state"].update(alsoKnownAs=["https://mallory.example/"]),
    "another controller": lambda item: item["state"].update(controller="did:x:mallory"),
    "a key less": lambda item: item["state"].pop("assertionMethod"),
    "a key revoked": lambda item: item["state"]["verificationMethod"][0].update(revoked="2026-01-09T00:00:00Z"),
    "an unknown member": lambda item: item["state"].update(x=1),
    "another context": lambda item: item["state"].update({"@context": ["https://www.w3.org/ns/did/v1"]}),
    "the document of another DID": lambda item: item["state"].update(id="did:ids:Qm" + "a" * 44),
    "no document": lambda item: item.update(state={}),
}


@IN_BOTH_MODES
@pytest.mark.parametrize("spoil", DOCUMENT.values(), ids=DOCUMENT)
def test_a_document_that_the_change_does_not_make(life: Life, update: Item, spoil: Callable[[Item], object]) -> None:
    spoil(update)
    refused(life.state, resealed(update, life.state))


def change(item: Item) -> Item:
    return item["parameters"]["change"]


PARAMETERS: dict[str, Callable[[Item], object]] = {
    "no change": lambda item: item["parameters"].pop("change"),
    "change no object": lambda item: item["parameters"].update(change=[]),
    "no operation": lambda item: change(item).pop("operation"),
    "another operation": lambda item: change(item).update(operation=history.DEACTIVATED),
    "unknown operation": lambda item: change(item).update(operation="patch"),
    "operation no text": lambda item: change(item).update(operation=["update"]),
    "a second creation": lambda item: change(item).update(operation=history.CREATE),
    "an expiry": lambda item: item["parameters"].update(
        change={"operation": history.KEY_EXPIRED, "proofBy": "service"}
    ),
    "other operations": lambda item: change(item).update(operations=[]),
    "unknown step": lambda item: change(item).update(operations=[{"operation": "addMallory"}]),
    "step no object": lambda item: change(item).update(operations=["addService"]),
    "step with more": lambda item: change(item).setdefault("operations", [{}])[0].update(x=1),
    "one more step": lambda item: (
        change(item).setdefault("operations", []).append({"operation": "setAlsoKnownAs", "alsoKnownAs": ["did:x:y"]})
    ),
    "members of another change": lambda item: change(item).update(recoveryKey=LOG_KEY.multikey),
    "proof by the controller": lambda item: change(item).update(proofBy="controller"),
    "proof without an author": lambda item: change(item).pop("proofBy"),
    "proof by an unknown author": lambda item: change(item).update(proofBy="mallory"),
    "grace not strict": lambda item: change(item).update(strictGrace=False),
    "evidence strict": lambda item: change(item).update(strictEvidence=True),
    "evidence not strict": lambda item: change(item).update(strictEvidence=False),
    "evidence strict by a number": lambda item: change(item).update(strictEvidence=1),
    "grace strict": lambda item: change(item).update(strictGrace=True),
    "new update keys": lambda item: item["parameters"].update(updateKeys=[WalletSigner("mallory").multikey]),
    "another method": lambda item: item["parameters"].update(method="did:ids:2.0"),
    "a method again": lambda item: item["parameters"].update(method="did:ids:1.0"),
    "an scid again": lambda item: item["parameters"].update(scid=item["state"]["id"].split(":")[2]),
    "deactivated": lambda item: item["parameters"].update(deactivated=True),
    "not deactivated": lambda item: item["parameters"].update(deactivated=False),
    "a webvh parameter": lambda item: item["parameters"].update(portable=True),
    "null": lambda item: item["parameters"].update(witness=None),
}


@IN_BOTH_MODES
@pytest.mark.parametrize("spoil", PARAMETERS.values(), ids=PARAMETERS)
def test_parameters_that_are_not_those_of_the_change(life: Life, update: Item, spoil: Callable[[Item], object]) -> None:
    spoil(update)
    refused(life.state, resealed(update, life.state))


TIMES: dict[str, Callable[[Item], object]] = {
    "as before": lambda item: item.update(versionTime=times.printed_exactly(BIRTH)),
    "earlier": lambda item: item.update(versionTime=times.printed_exactly(BIRTH - MINUTE)),
    "whole seconds": lambda item: item.update(versionTime=item["versionTime"][:19] + "Z"),
    "milliseconds": lambda item: item.update(versionTime=item["versionTime"][:23] + "Z"),
    "nanoseconds": lambda item: item.update(versionTime=item["versionTime"][:-1] + "001Z"),
    "another zone": lambda item: item.update(versionTime=item["versionTime"][:-1] + "+00:00"),
    "lower case": lambda item: item.update(versionTime=item["versionTime"].lower()),
    "a number": lambda item: item.update(versionTime=1767323045),
    "the end of the calendar": lambda item: item.update(versionTime="9999-12-31T23:59:59.999999Z"),
    "the beginning of the calendar": lambda item: item.update(versionTime="0001-01-01T00:00:00.000000Z"),
    "past the life of the challenge": lambda item: item.update(versionTime=times.printed_exactly(BIRTH + 7 * MINUTE)),
}


@IN_BOTH_MODES
@pytest.mark.parametrize("spoil", TIMES.values(), ids=TIMES)
def test_times(life: Life, update: Item, spoil: Callable[[Item], object]) -> None:
    spoil(update)
    refused(life.state, resealed(update, life.state))


@IN_BOTH_MODES
@pytest.mark.parametrize("number", ["1", "3", "02", "2.0", "0", "-2", "99999999999"])
def test_numbers(life: Life, update: Item, number: str) -> None:
    update["versionId"] = f"{number}-x"
    refused(life.state, resealed(update, life.state))


def test_evidence(life: Life, update: Item) -> None:
    at = times.parse(update["versionTime"])
    hana, did, key = life.controller, str(life.state.did), life.creation.keys[0].public
    stranger = hana.key().public
    good = life.authorize(at)
    forged = (
        replace(good, signature=bytes(64)),
        replace(good, signature=hana.sign(stranger, good.challenge)),
        replace(good, challenge=good.challenge.replace(" - - ", " update - ")),
        life.authorize(at, key=stranger),
        life.authorize(at, key=life.state.recovery_key),
        life.authorize(at, scheme=challenge.RECOVERY_KEY),
        hana.authorize(did, key, at, purpose="deactivate"),
        hana.authorize(did, key, at, purpose="token"),
        hana.authorize("did:ids:Qm" + "a" * 44, key, at),
        hana.authorize(did, key, at - 10 * MINUTE),
        hana.authorize(did, key, at, lifetime=timedelta(days=3)),
    )
    for authorization in (*forged, good):
        change(update)["authorization"] = authorization_json(authorization)
        entry = resealed(update, life.state)
        if authorization is good:
            METHOD.apply(life.state, entry)
        else:
            refused(life.state, entry)


MALFORMED = ({}, {"scheme": "DIDAuth"}, [], None, "x")


@IN_BOTH_MODES
@pytest.mark.parametrize("authorization", MALFORMED, ids=str)
def test_malformed_evidence(life: Life, update: Item, authorization: object) -> None:
    change(update)["authorization"] = authorization
    refused(life.state, resealed(update, life.state))
    change(update).pop("authorization")
    refused(life.state, resealed(update, life.state))


@IN_BOTH_MODES
@pytest.mark.parametrize("member", ["scheme", "key", "challenge", "signature"])
@pytest.mark.parametrize("value", [None, 1, "", "é", ["x"], "A" * 86 + "=="])
def test_evidence_of_the_wrong_type(life: Life, update: Item, member: str, value: object) -> None:
    change(update)["authorization"][member] = value
    refused(life.state, resealed(update, life.state))


def test_a_challenge_that_was_used_is_not_used_again(life: Life, update: Item) -> None:
    """The operator takes the evidence of one change and puts it under another, while the challenge would still be good."""
    used = change(update)["authorization"]
    after = METHOD.apply(life.state, resealed(update, life.state))
    at = later(after, 1)
    authorization = life.controller.authorize(str(after.did), life.creation.keys[0].public, at)
    again = parsed(
        LOG_KEY.seal(
            METHOD.draft(
                after,
                Update((AddService(NewService("B", "https://b.example/", "b")),), authorization),
                at,
                signer=LOG_KEY.multikey,
            )
        )
    )
    METHOD.apply(after, resealed(again, after))
    change(again)["authorization"] = used
    refused(after, resealed(again, after))


def rotated(life: Life, grace: timedelta = 10 * MINUTE) -> str:
    """Rotates the first key with grace and returns the multikey of the old one."""
    at = later(life.state)
    old = life.state.document.methods[0]
    life.change(Rotate(old.id, life.controller.new_key(), at + grace, life.authorize(at)), at)
    return old.multibase


def test_an_expiry_at_another_time_or_of_another_key(life: Life) -> None:
    rotated(life)
    due = history.find_grace_end(life.state)
    assert due is not None
    good = parsed(life.entry(Expire(), due))
    METHOD.apply(life.state, resealed(good, life.state))
    for at in (due - timedelta(microseconds=1), due + timedelta(microseconds=1), due - MINUTE, due + MINUTE):
        refused(life.state, resealed(good | {"versionTime": times.printed_exactly(at)}, life.state))
    other = copy.deepcopy(good)
    other["state"] = life.states[0].document.to_json()
    refused(life.state, resealed(other, life.state))
    early = new_life()
    refused(early.state, resealed(good, early.state))


def test_no_write_goes_past_an_expiry_that_is_due(life: Life) -> None:
    rotated(life)
    due = history.find_grace_end(life.state)
    assert due is not None
    new = life.state.document.methods[0].multibase
    just_before = due - timedelta(microseconds=1)
    item = parsed(life.entry(Update((A,), life.authorize(just_before, key=new)), just_before))
    METHOD.apply(life.state, resealed(item, life.state))
    for at in (due, due + MINUTE):
        change(item)["authorization"] = authorization_json(life.authorize(at, key=new))
        refused(life.state, resealed(item | {"versionTime": times.printed_exactly(at)}, life.state))


def test_a_key_in_grace_with_the_operator_on_its_side(life: Life) -> None:
    """The draft would refuse it; so does anyone who reads the log."""
    old = rotated(life)
    at = later(life.state)
    new = life.state.document.methods[0].multibase
    item = parsed(life.entry(Deactivate(life.authorize(at, key=new)), at))
    METHOD.apply(life.state, resealed(item, life.state))
    change(item)["authorization"] = authorization_json(life.authorize(at, key=old))
    refused(life.state, resealed(item, life.state))


def test_a_revocation_is_said_in_whole_seconds(life: Life) -> None:
    at = later(life.state)
    item = parsed(
        life.entry(
            Rotate(life.state.document.methods[0].id, life.controller.new_key(), at + 9 * MINUTE, life.authorize(at)),
            at,
        )
    )
    METHOD.apply(life.state, resealed(item, life.state))
    change(item)["revokeAt"] = change(item)["revokeAt"].replace("Z", ".0Z")
    refused(life.state, resealed(item, life.state))


@IN_BOTH_MODES
def test_proofs(life: Life, update: Item) -> None:
    body = {name: value for name, value in update.items() if name != "proof"}
    time = update["versionTime"]
    good = parsed(sealed(body))["proof"][0]
    METHOD.apply(life.state, sealed(body))
    for changes in (
        {"type": "Ed25519Signature2020"},
        {"cryptosuite": "eddsa-rdfc-2022"},
        {"proofPurpose": "authentication"},
        {"created": time[:19] + "Z"},
        {"verificationMethod": LOG_KEY.multikey},
        {"verificationMethod": f"did:key:{LOG_KEY.multikey}"},
        {"verificationMethod": f"did:key:{LOG_KEY.multikey}#{WalletSigner('x').multikey}"},
        {"verificationMethod": f"did:key:{WalletSigner('x').multikey}#{LOG_KEY.multikey}"},
        {"verificationMethod": f"did:web:{LOG_KEY.multikey}#{LOG_KEY.multikey}"},
        {"id": "urn:x"},
        {"expires": "2027-01-01T00:00:00Z"},
        {"challenge": "x"},
    ):
        refused(life.state, sealed(body, LOG_KEY, **changes))
    from identity_did_ids import entry

    for proofs in ([], [good, good], {}, good, [None], [good | {"proofValue": good["proofValue"][1:]}], [good | {"proofValue": None}],
                   [{name: value for name, value in good.items() if name != "created"}]):  # fmt: skip
        refused(life.state, entry.canonical(body | {"proof": proofs}))


def test_a_genesis_breaks_no_rule_either(life: Life) -> None:
    good = parsed(life.entries[0])
    assert reminted(copy.deepcopy(good)) == life.entries[0]

    def genesis(spoil: Callable[[Item], object]) -> bytes:
        item = copy.deepcopy(good)
        spoil(item)
        return reminted(item)

    x25519 = life.controller.key("X25519KeyAgreementKey2020").public
    for spoil in (
        lambda item: item["parameters"].update(method="did:ids:2.0"),
        lambda item: item["parameters"].update(method="did:webvh:1.0"),
        lambda item: item["parameters"].pop("method"),
        lambda item: item["parameters"].update(updateKeys=[]),
        lambda item: item["parameters"].update(updateKeys=LOG_KEY.multikey),
        lambda item: item["parameters"].update(updateKeys=[LOG_KEY.multikey, 1]),
        lambda item: item["parameters"].update(updateKeys=[WalletSigner("x").multikey]),
        lambda item: item["parameters"].update(updateKeys=[LOG_KEY.multikey] * 2),
        lambda item: item["parameters"].update(updateKeys=[LOG_KEY.multikey, x25519]),
        lambda item: item["parameters"].update(witness={}),
        lambda item: change(item).update(recoveryKey=item["state"]["verificationMethod"][0]["publicKeyMultibase"]),
        lambda item: change(item).update(recoveryKey=x25519),
        lambda item: change(item).update(recoveryKey=None),
        lambda item: change(item).update(strictGrace=True),
        lambda item: change(item).update(proofBy="controller"),
        lambda item: change(item).update(operation=history.UPDATE),
        lambda item: change(item).update(operation=history.KEY_EXPIRED),
        lambda item: item["state"].pop("authentication"),
        lambda item: item["state"]["verificationMethod"][0].update(revoked="2026-01-09T00:00:00Z"),
        lambda item: item["state"].update(controller="did:x:y"),
        lambda item: item["state"].update(id="did:key:" + item["parameters"]["scid"]),
        lambda item: item["state"].update(service=[EXTRA]),
    ):
        refused(None, genesis(spoil))


def test_a_did_that_is_not_the_hash_of_its_genesis(life: Life) -> None:
    good = parsed(life.entries[0])
    scid = good["parameters"]["scid"]
    body = {name: value for name, value in good.items() if name != "proof"}
    from identity_did_ids import entry

    for wrong in ("Qm" + "a" * 44, scid[:-1] + ("a" if scid[-1] != "a" else "b")):
        text = entry.canonical(body | {"versionId": scid}).replace(scid.encode(), wrong.encode())
        moved = parsed(text)
        moved["versionId"] = f"1-{entry.multihash(entry.canonical(moved))}"
        refused(None, sealed(moved))


def test_a_log_may_be_born_without_strict_grace_and_says_so() -> None:
    good = parsed(new_life().entries[0])
    change(good)["strictGrace"] = False
    state = METHOD.apply(None, reminted(good))
    assert not state.strict_grace


def test_signature_as_controller_is_marked() -> None:
    """``proofBy`` is the controller's where the key that signs the entry also authenticates for the DID; it cannot be denied."""
    from identity_core.domain.dids.changes import Create

    own = WalletSigner("own key of the controller")
    creation = Create(
        (Key("Ed25519VerificationKey2020", own.multikey, ("authentication",)),), (own.multikey, LOG_KEY.multikey)
    )
    for signer, said in ((own, "controller"), (LOG_KEY, "service")):
        entry = signer.seal(METHOD.draft(None, creation, BIRTH, signer=signer.multikey))
        METHOD.apply(None, entry)
        item = parsed(entry)
        assert change(item)["proofBy"] == said
        change(item)["proofBy"] = {"controller": "service", "service": "controller"}[said]
        refused(None, reminted(item, signer))


def test_an_entry_has_a_size(life: Life) -> None:
    item = parsed(life.entries[0])
    item["state"]["alsoKnownAs"] = ["https://a.example/" + "a" * 1900 + str(n) for n in range(9)]
    refused(None, reminted(item))
    with pytest.raises(LogInvalid, match="large"):
        METHOD.apply(None, b"{" + b" " * (16 * 1024) + b"}")
