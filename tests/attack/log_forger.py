"""A log of ours with everything in it, and an insider who holds the log key and writes what no rule would have drafted."""

from __future__ import annotations

import copy
import json
from datetime import datetime, timedelta
from typing import Any

from identity_did_ids import change_json, entry
from identity_did_ids.chain import Chain
from identity_did_ids.evolution import Rules
from identity_kit.conformance.controller import BIRTH, Controller, Life, WalletSigner

from identity_client import challenge, data_integrity
from identity_codec import multibase, multikey
from identity_codec.multibase import base58btc_encode
from identity_codec.values import replace
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    Authorization,
    Deactivate,
    Expire,
    NewService,
    Recover,
    Rotate,
    Update,
)
from identity_core.domain.dids.state import DidState

LOG_KEY = WalletSigner("log key")
MINUTE = timedelta(minutes=1)


class Ids(Chain):
    """The chain as a method."""

    name = "ids"
    mutable = True
    pre_rotates = True

    def expand(self, did: object) -> None:
        return None


METHOD = Ids("ids", Rules())


def new_life(seed: str = "hana", *, is_strict: bool = False) -> Life:
    """A DID with a recovery key, at version 1; with strictEvidence where it ``is_strict``."""
    hana = Controller(seed)
    return Life(METHOD, replace(hana.creation(LOG_KEY), strict_evidence=is_strict), hana, LOG_KEY)


def whole_life(seed: str = "hana") -> Life:
    """Create, update, rotate with grace, the end of it, recover, deactivate: every kind of entry, in this order."""
    life = new_life(seed)
    hana = life.controller
    at = BIRTH + MINUTE
    steps = (
        AddService(NewService("A", "https://a.example/", "a")),
        AddVerificationMethod(hana.new_key("Ed25519", "authentication")),
    )
    life.change(Update(steps, life.authorize(at)), at)
    at += MINUTE
    life.change(Rotate(life.state.document.methods[0].id, hana.new_key(), at + 5 * MINUTE, life.authorize(at)), at)
    due = history.find_grace_end(life.state)
    assert due is not None
    life.change(Expire(), due)
    at = due + MINUTE
    spend = life.authorize(at, key=life.state.recovery_key, scheme=challenge.RECOVERY_KEY)
    life.change(Recover(hana.new_key(), True, hana.key().public, spend), at)
    at += MINUTE
    life.change(Deactivate(life.authorize(at)), at)
    return life


def parsed(line: bytes) -> dict[str, Any]:
    """The entry as JSON to be spoilt."""
    return json.loads(line)


def resealed(item: dict[str, Any], before: DidState, signer: WalletSigner = LOG_KEY) -> bytes:
    """The entry with a hash and a proof that fit what it says now."""
    body = {name: copy.deepcopy(value) for name, value in item.items() if name != "proof"}
    body["versionId"] = f"{before.version_id}-{before.entry_hash}"
    number = item["versionId"].split("-")[0]
    body["versionId"] = f"{number}-{entry.multihash(entry.canonical(body))}"
    return sealed(body, signer)


def reminted(item: dict[str, Any], signer: WalletSigner = LOG_KEY) -> bytes:
    """The first entry with an identifier, a hash and a proof that fit what it says now."""
    body = {name: value for name, value in item.items() if name != "proof"}
    old = item["parameters"]["scid"]
    body["versionId"] = entry.PLACEHOLDER
    body = json.loads(json.dumps(body).replace(old, entry.PLACEHOLDER))
    scid = entry.multihash(entry.canonical(body))
    body = json.loads(json.dumps(body).replace(entry.PLACEHOLDER, scid))
    body["versionId"] = f"1-{entry.multihash(entry.canonical(body))}"
    return sealed(body, signer)


def sealed(body: dict[str, Any], signer: WalletSigner = LOG_KEY, **changes: str) -> bytes:
    """The entry with a proof; ``changes`` go into the proof's configuration."""
    config = entry.proof_config(signer.multikey, body["versionTime"]) | changes
    value = base58btc_encode(signer._pair.sign(data_integrity.proof_input(config, body)))
    return entry.canonical(body | {"proof": [config | {"proofValue": value}]})


WEAK_KEY = multikey.encode_public(multikey.ED25519, b"\x01" + bytes(31))
"""The neutral element: of order 1."""
_NEUTRAL = multibase.base58btc_encode(b"\x01" + bytes(63))


def signed_by_no_key(item: dict[str, Any]) -> bytes:
    """A first entry whose one key is of small order, with a signature that is right under it for every message."""
    item = copy.deepcopy(item)
    item["parameters"]["updateKeys"] = [WEAK_KEY]
    body = parsed(reminted(item))
    config = entry.proof_config(WEAK_KEY, body["versionTime"])
    return entry.canonical(body | {"proof": [config | {"proofValue": _NEUTRAL}]})


def authorization_json(authorization: Authorization) -> dict[str, Any]:
    """As ``parameters.change.authorization`` has it."""
    return change_json._write_authorization(authorization)


def later(state: DidState, seconds: float = 60) -> datetime:
    """A time after the state's."""
    return state.updated_at + timedelta(seconds=seconds)
