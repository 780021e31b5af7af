"""Logs of ours whose entries were changed at random, in one place each, and hashed and signed anew: by the log's key, and where a body was
changed by the controller too. What the service takes of them a client must take, and nothing else."""

from __future__ import annotations

import copy
import functools
import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from identity_commands.verify_log import verify
from identity_did_ids import entry
from identity_kit.conformance.controller import Controller, Life, WalletSigner

from identity_client import challenge, data_integrity
from identity_codec import jcs, multibase
from identity_codec.multibase import base58btc_encode
from identity_core.domain.dids.changes import Create, NewService, Update
from identity_core.domain.dids.did import SERVICE_CONTEXTS
from identity_core.domain.dids.requests import operations
from identity_core.domain.dids.state import LogInvalid
from tests.client.own_logs import CHAIN, NEXT, SIGNER, TYPES, Json, RandomLife, toggled

LIVES: Final = 8
MOST_ENTRIES: Final = 7
COUNT: Final = 300
TEXTS: Final = (
    "", "x", "#x", "constructor", "__proto__", "toString", "Ed25519", "2026-01-02T03:04:05Z", "2099-01-02T03:04:05+00:00", "http:",
    "https://é.example", "javascript:1", "urn:x", "https://a@b/", "https://a:99999/",
)  # fmt: skip
VALUES: Final[tuple[Any, ...]] = (
    *TEXTS, None, True, False, 2**53 - 1, 259_200, [], {}, ["authentication"], ["authentication", "authentication"], [[]], {"x": 5},
)  # fmt: skip
NAMES: Final = (
    "x", "__proto__", "constructor", "possession", "strictGrace", "recoveryWindow", "strictEvidence", "recoveryKey", "revokeAt", "id",
    "restoreVersion", "operations", "body", "purposes", "deactivated", "nextKeyHashes", "updateKeys", "scid", "revoked",
    "newPublicKeyMultibase", "newRecoveryKey", "revokeAllExistingKeys",
)  # fmt: skip
# Changes of a signed body whose later operations take back what the earlier ones added: member and values.
HIDDEN: Final[tuple[tuple[tuple[str | int, ...], tuple[Any, ...]], ...]] = (
    ((0, "service", "type"), (None, 5, [], "", "x y", "x" * 300)),
    ((0, "service", "serviceEndpoint"), (None, 5, {}, "", "https://")),
    ((0, "service", "id"), (None, 5, "", "#", "x y")),
    ((2, "relationships"), (None, "", {}, [5], ["x"], [], ["authentication", "authentication"])),
    ((2, "verificationMethod", "publicKeyMultibase"), (None, 5, "x")),
    ((2, "verificationMethod", "proofOfPossession"), (None, "")),  # Clients do not read it.
    ((4, "alsoKnownAs"), (None, "", "ab", {}, {"urn:x": 1}, [5], ["x y"], ["urn:x", "urn:x"])),
)
# What the client does not compute, as its README says.
BEYOND: Final = ("The proof of possession is not one of this key", "not a point")


class RichLife(RandomLife):
    """One whose keys are of every type."""

    def __init__(self, seed: int) -> None:
        self.dice, self.old_entries = random.Random(seed), seed * 2 % 5
        self.rotates = seed % 3 != 0
        controller = Controller(f"rich life {seed}")
        others = [controller.new_key(name) for name in ("EcdsaSecp256r1VerificationKey2019", "Bls12381G2Key2020")]
        creation = Create(
            (controller.new_key(), controller.new_key("X25519KeyAgreementKey2020"), *others[: seed % 3]),
            (SIGNER.multikey,),
            services=(
                NewService("DIDCommMessaging", "https://hana.example/inbox"),
                NewService(TYPES[seed % 4], "https://hana.example/"),
            ),
            recovery_key=controller.key().public,
            strict_evidence=seed % 2 == 1,
        )
        Life.__init__(self, CHAIN, creation, controller, SIGNER, self.keys(SIGNER))
        for _ in range(4 * MOST_ENTRIES):
            if len(self.entries) < MOST_ENTRIES and not self.state.deactivated:
                self.grow()


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands within a JSON value."""
    for name in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*place, name)
        yield from places(value[name], (*place, name))


def mutate(value: Any, dice: random.Random) -> None:
    """Changes one thing."""
    if "state" in value and dice.random() < 0.2:
        return toggled(value, dice.choice(SERVICE_CONTEXTS))
    *way, name = dice.choice([*places(value)])
    parent = functools.reduce(lambda part, step: part[step], way, value)
    old, kind = parent[name], dice.randrange(7)
    if kind == 0:
        del parent[name]
    elif kind == 1 and isinstance(parent, dict):
        parent[dice.choice(NAMES)] = dice.choice([*VALUES, old])
    elif kind == 2 and isinstance(parent, list):
        parent.insert(dice.randrange(len(parent) + 1), copy.deepcopy(dice.choice(parent)))
    elif kind == 3 and isinstance(old, str) and old:
        place = dice.randrange(len(old))
        parent[name] = old[:place] + dice.choice("Az19-_. /#:") + old[place + 1 :]
    elif kind == 4 and isinstance(old, str):
        fragment = old.rpartition("#")[2]
        forms = [old.lower(), old.upper(), f"{old} ", f"{old}A", old[:-1], f"{old[:-1]}B", f"#{fragment}", fragment]
        parent[name] = dice.choice(forms)
    elif kind == 5 and isinstance(old, list):
        old.reverse()
    else:
        parent[name] = copy.deepcopy(dice.choice(VALUES))
    return None


def asked_again(body: Json, life: RandomLife) -> None:
    """The controller signs the challenge anew, over the body as it is now, where there is one."""
    evidence = body["parameters"].get("change", {}).get("authorization", {})
    fields = evidence["challenge"].split(" ")
    fields[4] = challenge.hash_body(evidence["body"])
    evidence["challenge"] = " ".join(fields)
    evidence["signature"] = multibase.base64url_encode(life.controller.sign(evidence["key"], evidence["challenge"]))


def sealed(body: Json, proof: Json, signer: WalletSigner) -> bytes:
    config = {name: proof[name] for name in proof if name != "proofValue"}
    value = base58btc_encode(signer._pair.sign(data_integrity.proof_input(config, body)))
    return jcs.canonicalize(body | {"proof": [config | {"proofValue": value}]})


def mutated_first(life: RandomLife, dice: random.Random) -> list[bytes]:
    """A first entry with another identifier, which follows from what it says."""
    body = json.loads(life.entries[0].replace(life.state.did.identifier.encode(), b"{SCID}"))
    proof = body.pop("proof")[0]
    mutate(body if dice.random() < 0.8 else proof, dice)
    body["versionId"] = "{SCID}"
    scid = entry.multihash(jcs.canonicalize(body))
    body = json.loads(json.dumps(body).replace("{SCID}", scid))
    body["versionId"] = f"1-{entry.multihash(jcs.canonicalize(body))}"
    return [sealed(body, proof, SIGNER)]


def mutated_later(life: RandomLife, place: int, dice: random.Random) -> list[bytes]:
    """The log up to an entry that was changed."""

    def change(body: Json, proof: Json) -> None:
        said = body["parameters"]["change"]
        mutate(
            dice.choice(
                [said, said, body["parameters"], body, proof, said.get("authorization", {}).get("body") or said]
            ),
            dice,
        )

    return resealed(life, place, change)


def resealed(life: RandomLife, place: int, change: Callable[[Json, Json], object]) -> list[bytes]:
    """The log up to the entry at ``place``, which was changed."""
    line = life.entries[place]
    body = json.loads(line)
    proof, evidence = body.pop("proof")[0], body["parameters"]["change"].get("authorization", {})
    change(body, proof)
    if "body" in evidence:
        asked_again(body, life)
    number, before = body["versionId"].split("-")[0], json.loads(life.entries[place - 1])["versionId"]
    body["versionId"] = f"{number}-{entry.multihash(jcs.canonicalize(body | {'versionId': before}))}"
    signer = NEXT if f"did:key:{NEXT.multikey}".encode() in line else SIGNER
    return [*life.entries[:place], sealed(body, proof, signer)]


def with_a_note(count: int) -> Callable[[Json, Json], object]:
    """A signed body that has a text of so many characters, each three bytes of UTF-8."""
    return lambda body, proof: body["parameters"]["change"]["authorization"]["body"]["service"].update(note="☂" * count)


def asks_for_a_service(line: bytes) -> bool:
    """Whether the entry keeps a signed body of one operation on a service."""
    return "service" in json.loads(line)["parameters"]["change"].get("authorization", {}).get("body", {})


@functools.cache
def mutated_logs(part: int = 0, changes: int = COUNT) -> Mapping[str, tuple[str, bool]]:
    """The logs by what they are, with the verdict of the service. Each part has other lives and changes."""
    dice = random.Random(17 + part)
    lives = [RichLife(seed) for seed in range(part * LIVES, (part + 1) * LIVES)]
    found: dict[str, tuple[str, bool]] = {}
    for seed, life in enumerate(lives):
        found[f"life {seed}"] = (log_of(life.entries), True)
    bound, noted = next(
        (life, place) for life in lives for place, line in enumerate(life.entries) if asks_for_a_service(line)
    )
    for count, is_short in ((3_500, True), (5_000, False)):
        found[f"an entry with {count} umbrellas"] = (log_of(resealed(bound, noted, with_a_note(count))), is_short)
    found |= hidden_faults() if part == 0 else ()
    for number in range(changes):
        seed = dice.randrange(LIVES)
        place = dice.randrange(len(lives[seed].entries))
        try:
            lines = mutated_later(lives[seed], place, dice) if place else mutated_first(lives[seed], dice)
        except (LookupError, TypeError, AttributeError, ValueError, LogInvalid):
            # What has no hash or no place for a signature any more is not a log.
            continue
        verdict = judged(log_of(lines))
        if verdict is not None:
            found[f"life {seed}, entry {place + 1}, change {number}"] = (log_of(lines), verdict)
    return found


def hidden_faults() -> Iterator[tuple[str, tuple[str, bool]]]:
    """Yield logs whose last entry has a signed body with a fault that no document shows."""
    life = RichLife(LIVES * 1_000)
    did, key = str(life.state.did), life.controller.key().public
    service = {"id": "#gone", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
    method = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": key}
    steps = [
        {"operation": "addService", "service": service},
        {"operation": "removeService", "serviceId": "#gone"},
        {"operation": "addVerificationMethod", "verificationMethod": method, "relationships": ["assertionMethod"]},
        {"operation": "removeVerificationMethod", "keyId": f"#{key}"},
        {"operation": "setAlsoKnownAs", "alsoKnownAs": ["https://hana.example/gone"]},
        {"operation": "setAlsoKnownAs", "alsoKnownAs": list(life.state.document.also_known_as)},
    ]
    body, at = {"operations": steps}, life.later(90 * 3600)
    life.change(Update(operations(body, did), life.signed(at, "update", body)), at, life.keys(life.signer))
    yield "hidden faults: none", (log_of(life.entries), True)
    for place, values in HIDDEN:
        for value in values:
            log = log_of(resealed(life, len(life.entries) - 1, with_a_member(place, value)))
            verdict = judged(log)
            if verdict is not None:
                yield f"hidden fault: {place} is {value}", (log, verdict)


def with_a_member(place: tuple[str | int, ...], value: Any) -> Callable[[Json, Json], object]:
    """A signed body of several operations that has ``value`` at ``place``."""
    *way, name = place

    def change(body: Json, proof: Json) -> None:
        signed = body["parameters"]["change"]["authorization"]["body"]["operations"]
        functools.reduce(lambda part, step: part[step], way, signed)[name] = value

    return change


def log_of(lines: list[bytes]) -> str:
    return "".join(f"{line.decode()}\n" for line in lines)


def judged(log: str) -> bool | None:
    """None for what a client does not compute."""
    try:
        verify(log.encode())
    except LogInvalid as refusal:
        return None if any(reason in str(refusal) for reason in BEYOND) else False
    return True
