"""Logs of our methods that a client must judge as the service does: histories with every kind of change, and forgeries of their
entries by a holder of the log key.
"""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from identity_commands.verify_log import verify
from identity_did_ids import entry
from identity_did_ids.chain import Chain
from identity_did_ids.evolution import Rules
from identity_kit.conformance.controller import Controller, Life, WalletSigner, committed

from identity_client import challenge, data_integrity
from identity_codec import jcs
from identity_codec.multibase import base58btc_encode
from identity_codec.times import parse, printed
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import (
    Change,
    Create,
    Deactivate,
    Expire,
    NewService,
    Recover,
    Rotate,
    RotateLogKey,
    Update,
)
from identity_core.domain.dids.did import SERVICE_CONTEXTS
from identity_core.domain.dids.keys import Key, default_purposes
from identity_core.domain.dids.logs import key_hash
from identity_core.domain.dids.requests import operations
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import IdentityError

Json = dict[str, Any]
SIGNER: Final = WalletSigner("log")
NEXT: Final = WalletSigner("next log")
EVE: Final = WalletSigner("Eve")
ED25519: Final = "Ed25519VerificationKey2020"
CHAIN: Final = Chain("ids", Rules())
# Of before contexts of services other than DIDComm's were known, and of between.
OLD: Final = (Chain("ids", Rules(contexts=())), Chain("ids", Rules(contexts=SERVICE_CONTEXTS[:2])))
TYPES: Final = ("DIDCommMessaging", "LinkedDomains", "LinkedVerifiablePresentation", "x")
STRICT: Final = {"operation": "setStrictEvidence", "strictEvidence": True}
BEGUN: Final = '"operation":"setStrictEvidence"'
LIVES: Final = 12
CHANGES: Final = 12


class RandomLife(Life):
    """A DID whose controller asks for whatever the ``dice`` say; what the rules refuse does not happen."""

    def __init__(self, seed: int) -> None:
        self.dice, self.old_entries = random.Random(seed), seed * 3 % 10
        self.rotates = seed % 3 != 0
        controller = Controller(f"life {seed}")
        creation = Create(
            (controller.new_key(), controller.new_key("X25519KeyAgreementKey2020")),
            (SIGNER.multikey,),
            services=(
                NewService("DIDCommMessaging", "https://hana.example/inbox"),
                NewService(TYPES[seed % 4], "https://hana.example/"),
            ),
            recovery_key=controller.key().public,
            strict_evidence=seed % 2 == 1,
        )
        super().__init__(CHAIN, creation, controller, SIGNER, self.keys(SIGNER))

    def keys(self, signer: WalletSigner) -> Any:
        """What an entry says of the log's keys."""
        others = (NEXT,) if signer is SIGNER else ()
        return committed(signer, *others) if self.rotates else None

    def entry(self, change: Change, at: Any, next_keys: Any = None) -> bytes:
        before = self.states[-1] if self.states else None
        # A log may begin with entries of before.
        chain = self.dice.choice(OLD) if len(self.states) < self.old_entries else CHAIN
        return self.signer.seal(chain.draft(before, change, at, signer=self.signer.multikey, next_keys=next_keys))

    def grow(self) -> None:
        """One more entry, if the rules allow what was drawn."""
        ends = history.find_grace_end(self.state)
        at = self.later(self.dice.choice([1, 60, 3600, 40 * 3600]) + 0.25)
        change: Change
        before = self.signer
        try:
            if ends is not None and ends <= at:
                at, change = ends, Expire()
            else:
                change = self.wish(at)
            self.signer = NEXT if isinstance(change, RotateLogKey) else before
            self.change(change, at, self.keys(self.signer))
        except IdentityError:
            self.signer = before

    def wish(self, at: Any) -> Change:
        """A change that the controller asks for at this time."""
        did, dice = str(self.state.did), self.dice
        names = [method.id for method in self.state.document.methods]
        public = self.controller.key().public
        draw = dice.randrange(10)
        if draw == 0 and self.rotates and self.signer is SIGNER:
            return RotateLogKey()
        if draw in (1, 2):
            end = dice.choice([None, at + timedelta(hours=dice.choice([1, 50]))])
            purposes = dice.choice([(), ("authentication",)])
            body: Json = {"oldKeyId": dice.choice(names), "newKeyType": dice.choice([ED25519, "Ed25519"])}
            body |= {"newPublicKeyMultibase": public, "purpose": list(purposes)}
            body |= {} if end is None else {"revokeOldAfter": printed(end)}
            key = Key(ED25519, public, purposes)
            return Rotate(body["oldKeyId"], key, end, self.signed(at, "rotate", body))
        if draw == 3:
            successor, whole = self.controller.key().public, dice.choice([True, False])
            new = {"type": ED25519, "publicKeyMultibase": public}
            body = {"newAuthenticationKey": new, "revokeAllExistingKeys": whole}
            body |= {"newRecoveryKey": {"type": ED25519, "publicKeyMultibase": successor}}
            version = dice.choice([None, dice.randrange(1, self.state.version_id + 1)])
            body |= {} if version is None else {"restoreVersion": version}
            key = Key(ED25519, public, default_purposes(ED25519, primary=True))
            return Recover(key, whole, successor, self.signed(at, "recover", body), version)
        if draw == 4 and len(self.entries) > CHANGES - 2:
            return Deactivate(self.signed(at, "deactivate", {"confirm": True}))
        steps = [self.step(did) for _ in range(dice.choice([1, 1, 3]))]
        if draw == 5 and len(self.entries) > 3:
            steps.append(dict(STRICT))
        body = steps[0] if len(steps) == 1 else {"operations": steps}
        return Update(operations(body, did), self.signed(at, "update", body, begins_strict=draw == 5))

    def rotate_to_a_key_of_the_service(self) -> None:
        """The controller leaves the new key to the service to make."""
        at, key = self.later(), self.controller.new_key("Ed25519", "authentication")
        old = next(one for one in self.state.document.methods if one.revoked is None and one.type == ED25519)
        body = {"oldKeyId": old.id, "newKeyType": ED25519, "purpose": ["authentication"]}
        self.change(Rotate(old.id, key, None, self.signed(at, "rotate", body)), at, self.keys(self.signer))

    def step(self, did: str) -> Json:
        """An operation of updateDid."""
        dice = self.dice
        name = dice.choice(["files", "notes", "#inbox", f"{did}#didcommmessaging-1"])
        service = {
            "id": name,
            "type": dice.choice(TYPES),
            "serviceEndpoint": "https://é.example/",
        }
        service["serviceEndpoint"] = f"https://hana.example/{dice.randrange(9)}"
        kind = dice.choice([ED25519, "Ed25519", "X25519KeyAgreementKey2020"])
        method = {"type": kind, "publicKeyMultibase": self.controller.key(kind).public}
        gone = dice.choice(self.state.document.methods).id
        added: Json = {"operation": "addVerificationMethod", "verificationMethod": method}
        return dice.choice([
            {"operation": "addService", "service": service}, {"operation": "updateService", "service": service},
            {"operation": "removeService", "serviceId": name}, added,
            added if kind.startswith("X") else added | {"relationships": ["assertionMethod", "authentication"]},
            {"operation": "removeVerificationMethod", "keyId": dice.choice([gone, gone[len(did) :]])},
            {"operation": "setAlsoKnownAs", "alsoKnownAs": dice.choice([[], ["https://hana.example/é"]])},
        ])  # fmt: skip

    def signed(self, at: Any, purpose: str, body: Json, *, begins_strict: bool = False) -> Any:
        """Evidence by one of the keys that may give it, or the recovery key. Without strictEvidence its challenge may name anything."""
        scheme = challenge.RECOVERY_KEY if purpose == "recover" else challenge.DID_AUTH
        key = (
            self.state.recovery_key
            if purpose == "recover"
            else self.dice.choice(history.authentication_keys(self.state, at))
        )
        did = str(self.state.did)
        if not (self.state.strict_evidence or begins_strict):
            named = {"purpose": self.dice.choice([None, purpose]), "body": self.dice.choice([None, body])}
            return self.controller.authorize(did, key or "", at, scheme=scheme, **named)  # type: ignore[arg-type]
        return self.controller.authorize(did, key or "", at, scheme=scheme, purpose=purpose, body=body)


def rewritten(line: bytes, before: bytes, change: Callable[[Json], object], signer: WalletSigner) -> bytes:
    """An entry that was changed, hashed and signed anew by the log's key."""
    body = json.loads(line)
    proof = body.pop("proof")[0]
    change(body)
    number = body["versionId"].split("-")[0]
    body["versionId"] = json.loads(before)["versionId"]
    body["versionId"] = f"{number}-{entry.multihash(jcs.canonicalize(body))}"
    config = {name: proof[name] for name in proof if name != "proofValue"}
    value = base58btc_encode(signer._pair.sign(data_integrity.proof_input(config, body)))
    return jcs.canonicalize(body | {"proof": [config | {"proofValue": value}]})


def attacks(life: RandomLife, place: int) -> Iterator[tuple[str, Callable[[Json], object]]]:
    """What may be done to the entry at ``place``."""
    older = [json.loads(line)["parameters"]["change"] for line in life.entries[1:place]]
    evidences = [said["authorization"] for said in older if "authorization" in said]

    def get_change(body: Json) -> Json:
        found: Json = body["parameters"]["change"]
        return found

    yield "nothing", lambda body: None
    yield "another alias", lambda body: body["state"].update(alsoKnownAs=["https://eve.example/"])
    yield "no service", lambda body: body["state"].pop("service", None)
    for context in SERVICE_CONTEXTS:
        yield f"or without {context}", functools.partial(toggled, context=context)
    yield "contexts in another order", lambda body: body["state"]["@context"].reverse()
    yield "contexts twice", lambda body: body["state"].update({"@context": body["state"]["@context"] * 2})
    yield "one context", lambda body: body["state"].update({"@context": SERVICE_CONTEXTS[1]})
    yield "a key in another place", lambda body: body["state"].get("verificationMethod", []).reverse()
    yield "another signature", lambda body: get_change(body).get("authorization", {}).update(signature="A" * 86)
    yield "another key", lambda body: get_change(body).get("authorization", {}).update(key=life.controller.key().public)
    yield "another scheme", lambda body: get_change(body).get("authorization", {}).update(scheme="Other")
    yield "no evidence", lambda body: get_change(body).pop("authorization", None)
    yield (
        "another operation",
        lambda body: get_change(body).update(
            operation="update" if get_change(body)["operation"] != "update" else "keyExpired"
        ),
    )
    yield "no operations", lambda body: get_change(body).update(operations=[])
    yield (
        "a body",
        lambda body: (
            get_change(body).get("authorization", {}).update(body={"operation": "setAlsoKnownAs", "alsoKnownAs": []})
        ),
    )
    yield "lax rules", lambda body: get_change(body).update(strictGrace=False)
    yield "strictEvidence off", lambda body: get_change(body).update(strictEvidence=False)
    yield "strictEvidence on", lambda body: get_change(body).update(strictEvidence=True)
    yield "strictEvidence as a number", lambda body: get_change(body).update(strictEvidence=1)
    yield "strictEvidence never begun", lambda body: get_change(body).pop("strictEvidence", None)
    yield (
        "an operation that begins strictEvidence",
        lambda body: get_change(body).get("operations", []).append(dict(STRICT)),
    )
    yield "another end of grace", lambda body: get_change(body).update(revokeAt="2099-01-01T00:00:00Z")
    yield "another version restored", lambda body: get_change(body).update(restoreVersion=1)
    yield (
        "another proofBy",
        lambda body: get_change(body).update(
            proofBy="service" if get_change(body)["proofBy"] != "service" else "controller"
        ),
    )
    yield "an scid", lambda body: body["parameters"].update(scid="x")
    yield (
        "other log keys",
        lambda body: body["parameters"].update(updateKeys=[EVE.multikey], nextKeyHashes=[key_hash(EVE.multikey)]),
    )
    yield "no next log keys", lambda body: body["parameters"].pop("nextKeyHashes", None)
    yield "no further log keys", lambda body: body["parameters"].update(nextKeyHashes=[])
    yield "null for next log keys", lambda body: body["parameters"].update(nextKeyHashes=None)
    yield "no end", lambda body: body["parameters"].update(deactivated=False)
    yield "an end", lambda body: body["parameters"].update(deactivated=True)
    yield "evidence in another form", lambda body: respell(get_change(body).get("authorization", {}), "signature")
    yield "more evidence", lambda body: get_change(body).get("authorization", {}).update(more=1)
    yield "an end of grace in another form", lambda body: another_zone(body, get_change(body))
    yield "numbers for flags", lambda body: [numbered(body["parameters"]), numbered(get_change(body))]
    yield "no word of possession", lambda body: get_change(body).update(possession=False)
    if evidences:
        yield "older evidence", lambda body: get_change(body).update(authorization=evidences[-1])


def toggled(body: Json, context: str) -> None:
    """The document lists a context that it did not, or no longer one that it did."""
    listed = body["state"]["@context"]
    if context in listed:
        listed.remove(context)
    else:
        listed.insert(len(listed) - (listed[-1] == SERVICE_CONTEXTS[2]), context)


def numbered(members: Json) -> None:
    """JSON's 0 and 1 are not its false and true, which Python's == does not tell."""
    members.update({name: int(value) for name, value in members.items() if type(value) is bool})


def respell(evidence: Json, name: str) -> None:
    """Sets bits of the last character that say nothing."""
    if name in evidence:
        evidence[name] = evidence[name][:-1] + {"A": "B", "Q": "R", "g": "h", "w": "x"}[evidence[name][-1]]


def another_zone(body: Json, change: Json) -> None:
    """The same time, written differently."""
    end = change.get("revokeAt")
    for part in (change, *body["state"].get("verificationMethod", [])):
        for name in ("revokeAt", "revoked"):
            if end is not None and part.get(name) == end:
                part[name] = f"{end[:-1]}+00:00"


@functools.cache
def own_logs() -> Mapping[str, str]:
    """The logs by what they are."""
    logs: dict[str, str] = {}
    for seed in range(LIVES):
        life = RandomLife(seed)
        for _ in range(4 * CHANGES):
            if len(life.entries) < CHANGES and not life.state.deactivated:
                life.grow()
        logs[f"life {seed}"] = "".join(f"{line.decode()}\n" for line in life.entries)
        last = len(life.entries) - 1
        for place in sorted({1 + seed % last, last} if life.state.deactivated else {1 + seed % last}):
            signer = NEXT if f"did:key:{NEXT.multikey}" in life.entries[place].decode() else SIGNER
            for name, change in attacks(life, place):
                line = rewritten(life.entries[place], life.entries[place - 1], change, signer)
                logs[f"life {seed}, entry {place + 1} with {name}"] = "".join(
                    f"{one.decode()}\n" for one in (*life.entries[:place], line)
                )
    return logs


def is_good(log: str) -> bool:
    """Whether the service takes it."""
    try:
        verify(log.encode())
    except LogInvalid:
        return False
    return True


TIMES: Final[list[Json]] = json.loads((Path(__file__).parents[1] / "vectors" / "times.json").read_text("utf-8"))
"""RFC 3339 times, with their microseconds since 1970; None where every reader refuses them."""


@functools.cache
def timed_logs() -> Mapping[str, str]:
    """A log for each of ``TIMES``, whose rotation was asked for with this time. The body of the request is part of the hashed entry."""
    logs: dict[str, str] = {}
    for case in TIMES:
        life = RandomLife(7)
        at, text, key = life.later(), case["text"], life.controller.new_key("Ed25519", "authentication")
        old = next(one for one in life.state.document.methods if one.type == ED25519)
        body = {"oldKeyId": old.id, "newKeyType": ED25519, "newPublicKeyMultibase": key.public}
        body |= {"purpose": ["authentication"], "revokeOldAfter": text}
        end = None if case["microseconds"] is None else parse(text)
        change = Rotate(old.id, Key(ED25519, key.public, key.purposes), end, life.signed(at, "rotate", body))
        chain = Chain("ids", Rules(max_grace=timedelta.max))
        # A service that reads times otherwise would write it.
        with patch("identity_did_ids.change_json.asks_for", return_value=True):
            said = chain.draft(life.state, change, at, signer=SIGNER.multikey, next_keys=life.keys(SIGNER))
        entries = [*life.entries, SIGNER.seal(said)]
        logs[text] = "".join(f"{line.decode()}\n" for line in entries)
    return logs
