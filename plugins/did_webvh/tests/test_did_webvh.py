from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identity_commands.verify_log import verify
from identity_did_ids import evolution
from identity_did_webvh import WebvhSettings, identity_provide_did_method
from identity_kit.conformance.controller import BIRTH, Controller, Life, WalletSigner
from webvh_life import begin, make, resealed, robbed_life, sealed, weak_key, whole_life

from identity_client import challenge
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    Authorization,
    Change,
    Create,
    Deactivate,
    Expire,
    NewService,
    Operation,
    Recover,
    RemoveService,
    RemoveVerificationMethod,
    Rotate,
    SetAlsoKnownAs,
    Update,
)
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import HistoryNeeded, LogInvalid, state_from_json, state_to_json
from identity_core.errors import AuthFailed, IdentityError, InvalidDid, InvalidDocument, VersionConflict
from identity_core.plugin import BuildContext, NotConfigured, PluginError
from identity_core.ports.did_method import UnsignedEntry

LIFE = whole_life()
LINES = LIFE.entries
SCID = "Qm" + "a" * 44


def context(folder: Path, public_url: str | None = None) -> BuildContext:
    return BuildContext(None, logging.getLogger("test"), folder, None, public_url=public_url)  # type: ignore[arg-type]


def test_without_a_host_it_says_what_to_set(tmp_path: Path) -> None:
    provider = identity_provide_did_method()
    with pytest.raises(PluginError, match=r"plugins\.webvh\.host is not set"):
        provider.build(provider.settings(), context(tmp_path))
    assert provider.build(WebvhSettings(host="id.example"), context(tmp_path)).name == "webvh"


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://id.example", "id.example"),
        ("https://id.example:443", "id.example"),
        ("https://id.example:8443", "id.example%3A8443"),
    ],
)
def test_without_a_host_that_of_the_origin_publishes(tmp_path: Path, origin: str, host: str) -> None:
    provider = identity_provide_did_method()
    method = provider.build(provider.settings(), context(tmp_path, origin))
    assert str(method.published(SCID)) == f"did:webvh:{SCID}:{host}:dids:{SCID}"
    named = provider.build(WebvhSettings(host="other.example"), context(tmp_path, origin))
    assert str(named.published(SCID)) == f"did:webvh:{SCID}:other.example:dids:{SCID}"


@pytest.mark.parametrize(
    "origin",
    [None, "http://id.example", "https://127.0.0.1", "https://[::1]:8080", "https://localhost", "https://id:99999999"],
)
def test_an_origin_that_no_reader_would_ask_is_none(tmp_path: Path, origin: str | None) -> None:
    provider = identity_provide_did_method()
    with pytest.raises(NotConfigured, match=r"plugins\.webvh\.host is not set.*public_url"):
        provider.build(provider.settings(), context(tmp_path, origin))


@pytest.mark.parametrize(
    ("host", "path", "location"),
    [
        ("id.example", "dids/{SCID}", "id.example:dids:{SCID}"),
        ("id.example", "", "id.example"),
        ("id.example:8443", "a/b-c_d.e", "id.example%3A8443:a:b-c_d.e"),
    ],
)
def test_dids_are_published_at_their_place(host: str, path: str, location: str) -> None:
    life = begin(method=make(host=host, path=path))
    scid = life.state.did.identifier[:46]
    assert str(life.state.did) == f"did:webvh:{scid}:{location.replace('{SCID}', scid)}"


@pytest.mark.parametrize(
    "table",
    [
        {"host": host}
        for host in ("", "ID.example", "localhost", "10.0.0.1", "0x7f.1", "a b", "id.example:", "id.example:0")
    ]
    + [
        {"host": host}
        for host in ("id.example:65536", "https://id.example", "id.example/x", "user@id.example", "-a.b", "é.b")
    ]
    + [{"path": path} for path in ("/", "a//b", "..", "a/../b", ".", "a?b", "a%2Fb", "{scid}", "x{SCID}", "a:b", "/a")],
)
def test_settings_that_would_mint_bad_dids(table: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"host|path"):
        WebvhSettings(**({"host": "id.example"} | table))


@pytest.mark.parametrize(
    "identifier",
    [
        SCID,
        f"{SCID}:localhost",
        f"{SCID}:127.0.0.1",
        f"{SCID}:id.example:..",
        f"{SCID}:id.example:%2e%2e",
        f"{SCID}:id.example%2Fx",
        f"{SCID[:-1]}:id.example",
        "Qm:id.example",
    ],
)
def test_identifiers_that_are_refused(identifier: str) -> None:
    with pytest.raises(InvalidDid):
        LIFE.method.check(Did.parse(f"did:webvh:{identifier}"))


def test_the_did_of_another_host_is_a_did_that_is_not_here() -> None:
    did = Did.parse(f"did:webvh:{SCID}:other.example")
    LIFE.method.check(did)
    assert LIFE.method.expand(did) is None


def test_a_log_outlives_a_change_of_the_settings() -> None:
    elsewhere, state = make(host="new.example", path="x"), None
    for line, expected in zip(LINES, LIFE.states, strict=True):
        state = elsewhere.apply(state, line)
        assert state == expected


def test_the_largest_entry_still_folds() -> None:
    """A draft is never too large for its readers after it is signed."""
    hana, method = Controller("hana"), make()

    def drafted(last: int) -> UnsignedEntry:
        lengths = [1900] * 6 + [last]
        services = tuple(
            NewService("A", f"https://a.example/{'x' * length}", f"s{n}") for n, length in enumerate(lengths)
        )
        creation = Create((hana.new_key(),), (LIFE.signer.multikey,), services)
        return method.draft(None, creation, BIRTH, signer=LIFE.signer.multikey)

    largest = LIFE.signer.seal(drafted(1213))
    method.apply(None, largest)
    assert 16_384 - 320 < len(largest) <= 16_384
    with pytest.raises(InvalidDocument, match="too large"):
        drafted(1214)


def test_entries_say_nothing_but_webvh() -> None:
    said = [json.loads(line) for line in LINES]
    log, recovery = LIFE.signer.multikey, LIFE.creation.recovery_key
    assert [entry["parameters"] for entry in said] == [
        {"method": "did:webvh:1.0", "scid": LIFE.state.did.identifier[:46], "updateKeys": [log, recovery]},
        {},
        {},
        {},
        {},
        {"updateKeys": [log, LIFE.states[5].recovery_key]},
        {"deactivated": True, "updateKeys": []},
    ]
    for entry in said:
        assert entry.keys() == {"versionId", "versionTime", "parameters", "state", "proof"}
        assert entry["versionTime"].endswith("Z")
        assert "." not in entry["versionTime"]
        (proof,) = entry["proof"]
        assert proof.keys() == {
            "type",
            "cryptosuite",
            "verificationMethod",
            "created",
            "proofPurpose",
            "proofValue",
        }
    faded = said[3]["state"]["verificationMethod"]
    assert [method.get("revoked") for method in faded if "revoked" in method] == [said[4]["versionTime"]]


def test_the_kinds_of_change_are_concluded() -> None:
    assert [state.operation for state in LIFE.states] == [
        history.CREATE,
        history.UPDATE,
        history.UPDATE,
        history.KEY_ROTATED,
        history.KEY_EXPIRED,
        history.RECOVERED,
        history.DEACTIVATED,
    ]
    assert verify(b"\n".join(LINES) + b"\n").versions == 7


def test_no_recovery_key_is_no_second_update_key() -> None:
    life = begin(recovery=False)
    assert json.loads(life.entries[0])["parameters"]["updateKeys"] == [life.signer.multikey]
    assert life.state.recovery_key is None
    at = life.later()
    authorization = life.authorize(at, scheme=challenge.RECOVERY_KEY)
    with pytest.raises(AuthFailed):
        life.entry(Recover(life.controller.new_key(), True, life.controller.key().public, authorization), at)


def test_creations_that_updatekeys_cannot_say() -> None:
    controller, signer = Controller("odd"), WalletSigner("log")
    key, method = controller.new_key(), make()
    for creation in (
        Create((key,), (signer.multikey, controller.key().public)),
        Create((key,), ()),
        Create((key,), (signer.multikey,), recovery_key=signer.multikey),
        Create((key,), (signer.multikey,), recovery_key=key.public),
    ):
        with pytest.raises((InvalidDocument, LogInvalid)):
            method.draft(None, creation, BIRTH, signer=signer.multikey)


def test_an_update_that_swaps_a_key_is_called_a_rotation() -> None:
    life = begin()
    old, at = life.state.document.related("authentication")[0], life.later()
    swap = (AddVerificationMethod(life.controller.new_key()), RemoveVerificationMethod(old))
    assert life.change(Update(swap, life.authorize(at)), at).operation == history.KEY_ROTATED


def test_a_grace_period_is_over_before_anything_else_happens() -> None:
    life = begin()
    at = life.later()
    old = life.state.document.related("authentication")[0]
    end = (at + timedelta(hours=1)).replace(microsecond=0)
    life.change(Rotate(old, life.controller.new_key(), end, life.authorize(at)), at)
    for late in (end, end + timedelta(seconds=1)):
        with pytest.raises(VersionConflict):
            life.entry(Deactivate(life.authorize(late)), late)


def forged(place: int, change: Callable[[dict[str, Any]], object]) -> list[bytes]:
    """A log that a thief of the log key could write: good hashes, good proofs, other content."""
    return resealed(LINES, place, change, LIFE.signer)


def methods(body: dict[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = body["state"]["verificationMethod"]
    return found


def retired_key_back(body: dict[str, Any]) -> None:
    old = json.loads(LINES[0])["state"]["verificationMethod"][0]
    methods(body).insert(0, old)
    body["state"]["authentication"].insert(0, old["id"])


def without_authentication(body: dict[str, Any]) -> None:
    del body["state"]["authentication"]


def all_fading(body: dict[str, Any]) -> None:
    for method in methods(body):
        method["revoked"] = "2026-02-01T00:00:00Z"


INSIDER = {
    "grace without a rotation": (1, all_fading),
    "a longer grace": (3, lambda body: methods(body)[1].update(revoked="2026-01-02T03:00:00Z")),
    "without a controller": (1, without_authentication),
    "a retired key": (5, retired_key_back),
    "an expiry that changes more": (4, lambda body: body["state"].pop("alsoKnownAs")),
    "an expiry at another time": (4, lambda body: body.update(versionTime="2026-01-02T23:00:00Z")),
    "a ttl": (1, lambda body: body["parameters"].update(ttl=60)),
    "witnesses": (0, lambda body: body["parameters"].update(witness={})),
    "portable": (0, lambda body: body["parameters"].update(portable=True)),
    "another signer": (5, lambda body: body["parameters"].update(updateKeys=[LIFE.creation.recovery_key] * 2)),
    "no recovery key": (5, lambda body: body["parameters"].update(updateKeys=[LIFE.signer.multikey])),
    "the spent recovery key": (
        5,
        lambda body: body["parameters"].update(updateKeys=[LIFE.signer.multikey, LIFE.creation.recovery_key]),
    ),
    "the log key for recovery": (5, lambda body: body["parameters"].update(updateKeys=[LIFE.signer.multikey] * 2)),
    "a weak recovery key": (
        5,
        lambda body: body["parameters"].update(updateKeys=[LIFE.signer.multikey, weak_key()]),
    ),
    "a recovery out of nothing": (1, lambda body: body["parameters"].update(updateKeys="x")),
    "a deactivation that leaves keys": (
        1,
        lambda body: body["parameters"].update(deactivated=True, updateKeys=[]),
    ),
    "a deactivation that leaves update keys": (6, lambda body: body["parameters"].pop("updateKeys")),
    "fractions of seconds": (1, lambda body: body.update(versionTime="2026-01-02T03:05:05.500000Z")),
    "another context": (1, lambda body: body["state"]["@context"].append("https://x.example/")),
    "an unknown member": (1, lambda body: body["state"].update(x=1)),
}


@pytest.mark.parametrize("name", INSIDER)
def test_strict_rules_refuse_what_other_readers_accept(name: str) -> None:
    place, change = INSIDER[name]
    lines = forged(place, change)
    state = LIFE.states[place - 1] if place else None
    with pytest.raises(LogInvalid):
        LIFE.method.apply(state, lines[place])


def test_the_forger_forges_well() -> None:
    assert forged(1, lambda body: None) == LINES


def test_proofs_have_one_form() -> None:
    body = {name: value for name, value in json.loads(LINES[0]).items() if name != "proof"}
    assert sealed(body, LIFE.signer) == LINES[0]
    for config in ({"created": "2026-01-02T03:04:06Z"}, {"challenge": "x"}, {"proofPurpose": "authentication"}):
        with pytest.raises(LogInvalid):
            LIFE.method.apply(None, sealed(body, LIFE.signer, **config))
    two = json.loads(LINES[0])
    two["proof"] *= 2
    with pytest.raises(LogInvalid):
        LIFE.method.apply(None, json.dumps(two, separators=(",", ":"), sort_keys=True).encode())


def operation(life: Life, data: st.DataObject) -> Operation:
    document = life.state.document
    kind = data.draw(st.sampled_from(("add", "drop", "service", "unserve", "names")))
    if kind == "add":
        return AddVerificationMethod(life.controller.new_key(*data.draw(st.sampled_from(KEYS))))
    if kind == "drop" and document.methods:
        return RemoveVerificationMethod(data.draw(st.sampled_from(document.methods)).id)
    if kind == "unserve" and document.services:
        return RemoveService(data.draw(st.sampled_from(document.services)).fragment)
    if kind == "names":
        return SetAlsoKnownAs(tuple(data.draw(st.sets(st.sampled_from(("https://a.example/", "urn:b")), max_size=2))))
    return AddService(NewService("A", "https://a.example/"))


KEYS = [("Ed25519", "authentication"), ("Ed25519", "assertionMethod"), ("X25519KeyAgreementKey2020", "keyAgreement")]


def step(life: Life, data: st.DataObject, at: Any) -> Change:
    scheme = challenge.DID_AUTH
    kind = data.draw(st.sampled_from(("update", "update", "rotate", "rotate", "recover")))
    if kind == "recover" and life.state.recovery_key is not None:
        scheme = challenge.RECOVERY_KEY
        authorization = life.authorize(at, key=life.state.recovery_key, scheme=scheme)
        return Recover(life.controller.new_key(), data.draw(st.booleans()), life.controller.key().public, authorization)
    authorization: Authorization = life.authorize(at)
    if kind == "rotate":
        old = data.draw(st.sampled_from(life.state.document.methods)).id
        end = data.draw(st.sampled_from((None, at + timedelta(hours=1), at + timedelta(days=1))))
        return Rotate(old, life.controller.new_key(), end, authorization)
    operations = tuple(operation(life, data) for _ in range(data.draw(st.integers(1, 3))))
    return Update(operations, authorization)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_the_rules_allow_the_fold_accepts(data: st.DataObject) -> None:
    """``evolve`` goes from change to change, the fold from document to document: they never part."""
    life = begin(str(data.draw(st.integers(0, 3))))
    rules = make()._rules
    for _ in range(data.draw(st.integers(1, 8))):
        at = (life.later(data.draw(st.sampled_from((1, 60, 7200))))).replace(microsecond=0)
        while (due := history.find_grace_end(life.state)) is not None and due <= at:
            life.change(Expire(), due)
            at = max(at, life.later(1))
        try:
            change = step(life, data, at)
            expected = evolution.evolve(life.state, change, at, rules=rules)
        except IdentityError:
            continue
        after = life.change(change, at)
        kept = ("document", "version_id", "updated_at", "recovery_key", "retired_keys", "update_keys", "previous_hash")
        assert all(getattr(after, name) == getattr(expected, name) for name in kept)
        swapped = history.KEY_ROTATED if isinstance(change, Update) else expected.operation
        assert after.operation in (expected.operation, swapped)
    assert verify(b"\n".join(life.entries)).versions == life.state.version_id


def test_a_state_without_its_past_says_that_a_recovery_needs_it() -> None:
    """The row of an index knows nothing of before. Where every key is dropped there is nothing to look up."""
    for revoke in (False, True):
        life = robbed_life(revoke=revoke)
        before = life.states[-2]
        bare = state_from_json(before.did.text, state_to_json(before), before.document.encoded)
        if revoke:
            assert life.method.apply(bare, life.entries[-1]) == life.state
        else:
            with pytest.raises(HistoryNeeded):
                life.method.apply(bare, life.entries[-1])


ROBBED = robbed_life(revoke=False)
RESTORED: dict[str, Callable[[dict[str, Any]], object]] = {
    "one more service": lambda body: body["state"].update(service=json.loads(ROBBED.entries[2])["state"]["service"]),
    "another name": lambda body: body["state"].update(alsoKnownAs=["https://thief.example/"]),
    "the thief's key too": lambda body: methods(body).insert(
        1, json.loads(ROBBED.entries[1])["state"]["verificationMethod"][1]
    ),
    "no new key": lambda body: (methods(body).pop(), body["state"].update(authentication=[methods(body)[0]["id"]])),
    "another time": lambda body: body.update(versionTime="2026-01-09T00:00:00Z"),
}


@pytest.mark.parametrize("name", RESTORED)
def test_a_recovery_brings_back_a_version_or_nothing(name: str) -> None:
    before = ROBBED.states[-2]
    assert ROBBED.method.apply(before, resealed(ROBBED.entries, 3, lambda body: None, ROBBED.signer)[3])
    spoilt = resealed(ROBBED.entries, 3, RESTORED[name], ROBBED.signer)[3]
    with pytest.raises(LogInvalid):
        ROBBED.method.apply(before, spoilt)
