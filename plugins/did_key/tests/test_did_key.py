from __future__ import annotations

import copy
import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity_did_ids import entry as entries
from identity_did_key import DidKey, DidKeySettings
from identity_did_key.method import EVER
from identity_kit.conformance.controller import BIRTH, Controller, WalletSigner

from identity_client import data_integrity
from identity_codec import multibase, multikey
from identity_codec.multibase import base58btc_encode
from identity_core.domain.dids.changes import Create, NewService
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import Key
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import InvalidDid, InvalidDocument

METHOD, HANA, LOG = DidKey(DidKeySettings()), Controller("key"), WalletSigner("key")
PURPOSES = {
    "Ed25519": ("authentication", "assertionMethod", "capabilityInvocation", "capabilityDelegation"),
    "X25519KeyAgreementKey2020": ("keyAgreement",),
    "Bls12381G2Key2020": ("assertionMethod",),
}


@pytest.mark.parametrize("kind", PURPOSES)
def test_the_identifier_is_the_document(kind: str) -> None:
    key = HANA.new_key(kind)
    state = METHOD.expand(Did.parse(f"did:key:{key.public}"))
    assert state is not None
    (method,) = state.document.methods
    assert method.id == f"did:key:{key.public}#{key.public}"
    assert (method.type, method.multibase) == (key.type, key.public)
    assert state.document.purposes(method.id) == PURPOSES[kind]
    assert (state.version_id, state.created_at, state.updated_at, state.deactivated) == (1, EVER, EVER, False)


@pytest.mark.parametrize(
    ("identifier", "kind"),
    [
        # The examples of the did:key method.
        ("zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme", "secp256k1"),
        ("z82LkvCwHNreneWpsgPEbV3gu1C6NFJEBg4srfJ5gdxEsMGRJUz2sG9FE42shbn2xkZJh54", "P-384"),
        (multibase.base58btc_encode(b"\x82\x24" + bytes([2]) + bytes(66)), "P-521"),
        ("z4MX" + "x" * 368, "RSA"),
    ],
)
def test_a_key_of_an_unsupported_type_is_named(identifier: str, kind: str) -> None:
    with pytest.raises(InvalidDid, match=f"{kind} is not supported; Ed25519, X25519, P-256"):
        METHOD.check(Did.parse(f"did:key:{identifier}"))


@pytest.mark.parametrize("kind", PURPOSES)
def test_a_registered_key_resolves_to_the_same_document(kind: str) -> None:
    key = HANA.new_key(kind)
    draft = METHOD.draft(None, Create((key,), (LOG.multikey,)), BIRTH, signer=LOG.multikey)
    state = METHOD.apply(None, LOG.seal(draft))
    expanded = METHOD.expand(draft.did)
    assert expanded is not None
    assert state.document == expanded.document
    assert (state.created_at, state.update_keys) == (BIRTH, (LOG.multikey,))


def test_fewer_purposes_are_asked_for_and_all_are_given() -> None:
    key = HANA.new_key("Ed25519", "authentication")
    draft = METHOD.draft(None, Create((key,), (LOG.multikey,)), BIRTH, signer=LOG.multikey)
    state = METHOD.apply(None, LOG.seal(draft))
    assert len(state.document.relationships) == 4


def test_the_same_key_twice_is_the_same_did() -> None:
    creation = Create((HANA.new_key(),), (LOG.multikey,))
    assert (
        METHOD.draft(None, creation, BIRTH, signer=LOG.multikey).did
        == METHOD.draft(None, creation, EVER, signer=LOG.multikey).did
    )


def creations() -> dict[str, Create]:
    key, more = HANA.new_key(), HANA.new_key()
    updates = (LOG.multikey,)
    return {
        "no key": Create((), updates),
        "two keys": Create((key, more), updates),
        "a service": Create((key,), updates, (NewService("A", "https://a.example/"),)),
        "a name": Create((key,), updates, (), ("https://a.example/",)),
        "a recovery key": Create((key,), updates, (), (), more.public),
        "a wrong purpose": Create((Key(key.type, key.public, ("keyAgreement",)),), updates),
        "no purpose": Create((Key(key.type, key.public, ()),), updates),
        "a wrong type": Create((Key("X25519KeyAgreementKey2020", key.public, ("keyAgreement",)),), updates),
        "an unknown type": Create((Key("Multikey", key.public, ("authentication",)),), updates),
        "no multikey": Create((Key(key.type, "z6Mk", ("authentication",)),), updates),
    }


@pytest.mark.parametrize("creation", creations().values(), ids=creations())
def test_did_key_lacks_features(creation: Create) -> None:
    with pytest.raises(InvalidDocument):
        METHOD.draft(None, creation, BIRTH, signer=LOG.multikey)


IDENTIFIERS = {
    "weak ed25519": multikey.encode_public(multikey.ED25519, b"\x01" + bytes(31)),
    "zero x25519": multikey.encode_public(multikey.X25519, bytes(32)),
    "bls infinity": multikey.encode_public(multikey.BLS12381G2, b"\xc0" + bytes(95)),
    "no point on p-256": multikey.encode_public(multikey.P256, b"\x02" + b"\xff" * 32),
    "a secret": multikey.encode_secret(multikey.ED25519, bytes(32)),
    "another curve": multibase.base58btc_encode(b"\xe7\x01" + b"\x02" * 33),
    "short": "z6Mk",
    "a path": HANA.new_key().public + ":x",
    "another base": "u7QEDoQe_884Qvh1w3RjnS8CZZ-TWMJulDV8d3IZkElUxuA",
    "long": "z" + "1" * 400,
}


def test_key_on_p256_resolves_and_cannot_be_registered() -> None:
    """The example of did:key for P-256."""
    text = "did:key:zDnaerx9CtbPJ1q36T5Ln5wYt3MQYeGRG5ehnPAmxcf5mDZpv"
    did = Did.parse(text)
    METHOD.check(did)
    state = METHOD.expand(did)
    assert state is not None
    found = orjson.loads(state.document.encoded)
    key_id = f"{text}#{did.identifier}"
    assert found["verificationMethod"] == [
        {"id": key_id, "type": "Multikey", "controller": text, "publicKeyMultibase": did.identifier}
    ]
    assert [found[name] for name in ("authentication", "assertionMethod", "capabilityInvocation")] == [[key_id]] * 3
    assert "keyAgreement" not in found


@pytest.mark.parametrize("identifier", IDENTIFIERS.values(), ids=IDENTIFIERS)
def test_identifiers_that_are_refused(identifier: str) -> None:
    did = Did.parse(f"did:key:{identifier}")
    with pytest.raises(InvalidDid):
        METHOD.check(did)
    with pytest.raises(InvalidDid):
        METHOD.expand(did)


@given(st.text(alphabet="zk123456789ABCDEFMabcdef", min_size=1, max_size=60))
def test_any_identifier_is_a_key_or_invalid(identifier: str) -> None:
    did = Did.parse(f"did:key:{identifier}")
    try:
        METHOD.check(did)
    except InvalidDid:
        return
    assert METHOD.expand(did)


def resealed(item: dict, did: str) -> bytes:
    """An entry that says ``item``, with its hash and a signature of the log key."""
    body = {name: value for name, value in item.items() if name != "proof"}
    body["versionId"] = f"1-{entries.multihash(entries.canonical(body | {'versionId': did.removeprefix('did:key:')}))}"
    config = entries.proof_config(LOG.multikey, body["versionTime"])
    value = base58btc_encode(LOG._pair.sign(data_integrity.proof_input(config, body)))
    return entries.canonical(body | {"proof": [config | {"proofValue": value}]})


def test_an_entry_that_says_something_else() -> None:
    creation = Create((HANA.new_key(),), (LOG.multikey,))
    entry = LOG.seal(METHOD.draft(None, creation, BIRTH, signer=LOG.multikey))
    good = json.loads(entry)
    other = METHOD.expand(Did.parse(f"did:key:{HANA.new_key().public}"))
    assert other is not None

    def spoilt(change) -> bytes:
        item = copy.deepcopy(good)
        change(item)
        return resealed(item, good["state"]["id"])

    assert spoilt(lambda item: None) == entry
    for change in (
        lambda item: item.update(state=other.document.to_json()),
        lambda item: item["state"].update(service=[]),
        lambda item: item["state"].pop("capabilityInvocation"),
        lambda item: item["parameters"].update(updateKeys=[]),
        lambda item: item["parameters"].update(updateKeys="x"),
        lambda item: item["parameters"].update(updateKeys=[LOG.multikey, 1]),
        lambda item: item["parameters"].update(method="did:ids:1.0"),
        lambda item: item["parameters"].update(x=1),
        lambda item: item.update(parameters={}),
        lambda item: item.update(versionTime=item["versionTime"][:19] + "Z"),
    ):
        with pytest.raises(LogInvalid):
            METHOD.apply(None, spoilt(change))


DERIVING = DidKey(DidKeySettings(derive_x25519=True))
# The example of the did:key specification ("Ed25519 with X25519").
EXAMPLE = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
DERIVED = "z6LSj72tK8brWgZja8NLRwPigth2T9QRiG1uH9oKZuKjdh9p"


def test_the_derived_key_is_the_one_that_everybody_derives() -> None:
    state = DERIVING.expand(Did.parse(EXAMPLE))
    assert state is not None
    signing, agreeing = state.document.methods
    assert signing.id == f"{EXAMPLE}#{EXAMPLE.removeprefix('did:key:')}"
    assert (agreeing.id, agreeing.type) == (f"{EXAMPLE}#{DERIVED}", "X25519KeyAgreementKey2020")
    assert state.document.purposes(agreeing.id) == ("keyAgreement",)
    plain = METHOD.expand(Did.parse(EXAMPLE))
    assert plain is not None
    assert plain.document.methods == (signing,)


@pytest.mark.parametrize("kind", ["X25519KeyAgreementKey2020", "Bls12381G2Key2020"])
def test_from_other_keys_nothing_follows(kind: str) -> None:
    did = Did.parse(f"did:key:{HANA.new_key(kind).public}")
    assert DERIVING.expand(did) == METHOD.expand(did)


@pytest.mark.parametrize(("writer", "reader"), [(METHOD, DERIVING), (DERIVING, METHOD)])
def test_setting_change_keeps_recorded_entries(writer: DidKey, reader: DidKey) -> None:
    draft = writer.draft(None, Create((HANA.new_key(),), (LOG.multikey,)), BIRTH, signer=LOG.multikey)
    entry = LOG.seal(draft)
    assert reader.apply(None, entry) == writer.apply(None, entry)
    assert len(reader.apply(None, entry).document.methods) == (2 if writer is DERIVING else 1)


def test_recorded_key_agreement_key_is_derived_one_or_refused() -> None:
    """The owner of the log key cannot add a key to a did:key."""
    draft = DERIVING.draft(None, Create((HANA.new_key(),), (LOG.multikey,)), BIRTH, signer=LOG.multikey)
    item = json.loads(LOG.seal(draft))
    theirs = HANA.new_key("X25519KeyAgreementKey2020").public
    derived = item["state"]["verificationMethod"][1]["publicKeyMultibase"]
    assert DERIVING.apply(None, resealed(item, item["state"]["id"])).document == draft.after(LOG.sign(draft)).document
    with pytest.raises(LogInvalid):
        DERIVING.apply(None, resealed(json.loads(json.dumps(item).replace(derived, theirs)), item["state"]["id"]))
