"""A DID of did:webvh that lived through every kind of change, and the key that signed its log."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from identity_did_ids import entry as entries
from identity_did_webvh import DidWebvh, WebvhSettings
from identity_kit.conformance.controller import Controller, Life, WalletSigner

from identity_client import challenge, data_integrity
from identity_codec import multikey
from identity_codec.multibase import base58btc_encode
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    Deactivate,
    Expire,
    NewService,
    Recover,
    RemoveVerificationMethod,
    Rotate,
    SetAlsoKnownAs,
    Update,
)

Change = Callable[[dict[str, Any]], object]


def make(**table: Any) -> DidWebvh:
    settings = WebvhSettings(**({"host": "id.example"} | table))
    return DidWebvh(settings.location, settings.rules)


def begin(seed: str = "hana", *, recovery: bool = True, method: DidWebvh | None = None) -> Life:
    controller, signer = Controller(seed), WalletSigner("log")
    return Life(method or make(), controller.creation(signer, recovery=recovery), controller, signer)


def whole_life(seed: str = "hana", method: DidWebvh | None = None) -> Life:
    """Create, two updates, a rotation with grace, its end, a recovery, the deactivation."""
    life = begin(seed, method=method)
    for operation in (
        (AddService(NewService("DIDCommMessaging", "https://agent.example/didcomm")),),
        (
            SetAlsoKnownAs(("https://hana.example/",)),
            AddVerificationMethod(life.controller.new_key("X25519KeyAgreementKey2020")),
        ),
    ):
        at = life.later()
        life.change(Update(operation, life.authorize(at)), at)
    at = life.later()
    old = life.state.document.related("authentication")[0]
    end = (at + timedelta(hours=1)).replace(microsecond=0)
    life.change(Rotate(old, life.controller.new_key(), end, life.authorize(at)), at)
    life.change(Expire(), end)
    at = life.later()
    recovery_key = life.state.recovery_key
    assert recovery_key is not None
    spent = life.authorize(at, key=recovery_key, scheme=challenge.RECOVERY_KEY)
    life.change(Recover(life.controller.new_key(), True, life.controller.key().public, spent), at)
    at = life.later()
    life.change(Deactivate(life.authorize(at)), at)
    return life


def robbed_life(*, revoke: bool, method: DidWebvh | None = None) -> Life:
    """A thief of the authentication key puts her own in its place and a service of hers beside it; the owner recovers version 1."""
    life = begin(method=method)
    first, theirs = life.state.document.methods[0], life.controller.new_key("Ed25519", "authentication")
    life.update(AddVerificationMethod(theirs))
    life.update(RemoveVerificationMethod(first.id), AddService(NewService("Files", "https://thief.example/")))
    at = life.later()
    recovery_key = life.state.recovery_key
    assert recovery_key is not None
    spent = life.authorize(at, key=recovery_key, scheme=challenge.RECOVERY_KEY)
    life.change(Recover(life.controller.new_key(), revoke, life.controller.key().public, spent, 1), at)
    return life


def resealed(lines: list[bytes], place: int, change: Change, signer: WalletSigner) -> list[bytes]:
    """The log with one entry changed, and that and all later ones hashed and signed anew, as a holder of the log key could."""
    done = list(lines[:place])
    predecessor = json.loads(lines[place - 1])["versionId"] if place else None
    for number, line in enumerate(lines[place:], start=place):
        body = {name: value for name, value in json.loads(line).items() if name != "proof"}
        if number == place:
            change(body)
        previous = body["parameters"]["scid"] if predecessor is None else predecessor
        digest = entries.multihash(entries.canonical(copy.deepcopy(body) | {"versionId": previous}))
        predecessor = body["versionId"] = f"{number + 1}-{digest}"
        done.append(sealed(body, signer))
    return done


def sealed(body: dict[str, Any], signer: WalletSigner, **config: Any) -> bytes:
    """``body`` with a good proof of ``signer``, whose configuration ``config`` changes."""
    said = entries.proof_config(signer.multikey, body["versionTime"]) | config
    signature = signer._pair.sign(data_integrity.proof_input(said, body))
    return entries.canonical(body | {"proof": [said | {"proofValue": base58btc_encode(signature)}]})


def weak_key() -> str:
    """An Ed25519 key of small order."""
    return multikey.encode_public(multikey.ED25519, b"\x01" + bytes(31))
