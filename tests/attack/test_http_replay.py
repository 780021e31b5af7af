"""One signature, one change: replays in sequence, in parallel and over several processes, and signatures out of place."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest
from identity_commands.verify_log import verify
from nacl.signing import SigningKey

from identity_core.errors import AuthFailed
from identity_core.use_cases.auth.challenge import UNNAMED
from tests.attack.conftest import Target
from tests.attack.stranger import (
    LEAVE,
    PREFIX,
    add_key,
    at_once,
    base64url,
    body_hash,
    header,
    public,
    recovery_body,
    remove_key,
    rotation,
    rounds,
    service,
)
from tests.fault.turned_service import turned_service

FAILED = (401, "AUTH_FAILED")
GONE = (410, "DID_DEACTIVATED")
PARALLEL = 64
ROUNDS = rounds(5)


def test_a_signature_serves_once_on_every_path(either: Target) -> None:
    hana = either.stranger.holder(strictEvidence=False)
    unbound = header(hana.did, hana.key.sign(hana.challenge().encode()).signature)
    assert hana.send("update", service(), unbound).status == 200
    either.wire.close()
    assert hana.send("update", service(), unbound).outcome == FAILED
    assert hana.send("update", service("other"), unbound).outcome == FAILED
    assert hana.send("rotate", rotation(hana.key_id), unbound).outcome == FAILED
    assert hana.send("deactivate", LEAVE, unbound).outcome == FAILED
    assert len(verify_lines(hana.log())) == 2


@pytest.mark.parametrize("act", ["update", "rotate", "deactivate", "recover"])
def test_each_operation_spends_its_signature(target: Target, act: str) -> None:
    hana = target.stranger.holder()
    fresh = SigningKey.generate()
    body = {
        "update": service(),
        "rotate": rotation(hana.key_id, public(fresh)),
        "deactivate": LEAVE,
        "recover": recovery_body(public(fresh)),
    }[act]
    value = hana.signed(act, body)
    assert hana.send(act, body, value).status == 200
    assert hana.send(act, body, value).outcome == (GONE if act == "deactivate" else FAILED)


def test_a_refused_operation_spends_its_signature_too(target: Target) -> None:
    hana = target.stranger.holder()
    body = remove_key(hana.key_id)
    value = hana.signed("update", body)
    assert hana.send("update", body, value).outcome == (422, "INVALID_DOCUMENT")
    assert hana.send("update", body, value).outcome == FAILED


@pytest.mark.parametrize("count", [ROUNDS], ids=[f"{ROUNDS}_rounds"])
def test_one_of_64_identical_requests_wins(either: Target, count: int) -> None:
    """At least so many times, and until every process has taken part."""
    processes: set[str] = set()
    for turn in range(50 * count):
        if turn >= count and len(processes) == either.processes:
            break
        hana = either.stranger.holder()
        act, body = [("deactivate", LEAVE), ("update", service()), ("rotate", rotation(hana.key_id))][turn % 3]
        value = hana.signed(act, body)
        answers = at_once(either.wire, [lambda: hana.send(act, body, value)] * PARALLEL)  # noqa: B023
        outcomes = [answer.outcome if hasattr(answer, "outcome") else answer for answer in answers]
        assert sum(status == 200 for status, _ in outcomes) == 1, outcomes
        assert {code for _, code in outcomes} <= {None, "AUTH_FAILED", "DID_DEACTIVATED"}, outcomes
        assert verify(hana.log(), now=datetime.now(UTC)).versions == 2
        processes |= {answer.process for answer in answers}
    assert len(processes) == either.processes


@pytest.mark.parametrize("count", [ROUNDS], ids=[f"{ROUNDS}_rounds"])
def test_one_of_64_recoveries_with_one_signature_wins(either: Target, count: int) -> None:
    for _ in range(max(1, count // 2)):
        hana = either.stranger.holder()
        body = recovery_body(public(SigningKey.generate()))
        value = hana.signed("recover", body)
        answers = at_once(either.wire, [lambda: hana.send("recover", body, value)] * PARALLEL)  # noqa: B023
        assert sorted(answer.status for answer in answers) == [200] + [401] * (PARALLEL - 1)


def test_variants_of_one_header_are_one_signature(target: Target) -> None:
    """Case of the scheme and blanks are not a second signature; every other spelling of the base64 is invalid."""
    hana = target.stranger.holder(strictEvidence=False)
    value = header(hana.did, hana.key.sign(hana.challenge().encode()).signature)
    _, _, token = value.partition(" ")
    for spelling in spellings(token):
        assert hana.send("update", service(), f"DIDAuth {spelling}").outcome == FAILED, spelling
    assert hana.send("update", service(), f"didauth   {token} ").status == 200
    assert hana.send("update", service("again"), f"DIDAUTH {token}").outcome == FAILED


def test_a_padded_signature_is_no_second_signature(target: Target) -> None:
    """RFC 4648 §3.2: with padding or without, both are read. The challenge is used up, not the text of the header."""
    hana = target.stranger.holder(strictEvidence=False)
    for first, second in ((0, 1), (1, 0), (1, 1)):
        for is_named in (False, True):
            text = hana.challenge()
            signature = hana.key.sign(text.encode()).signature
            signer = text if is_named else hana.did
            texts = [
                f"{signer}.{encoded}".encode()
                for encoded in (base64url(signature), base64.urlsafe_b64encode(signature).decode())
            ]
            values = [base64.b64encode(each).decode() for each in texts]
            assert hana.send("update", service(f"s{first}{second}{is_named}"), f"DIDAuth {values[first]}").status == 200
            for value in (values[second], values[second].rstrip("="), values[first], values[first].rstrip("=")):
                assert hana.send("update", service("again"), f"DIDAuth {value}").outcome == FAILED


def test_two_spellings_at_once_use_a_signature_once(target: Target) -> None:
    hana = target.stranger.holder(strictEvidence=False)
    signature = hana.key.sign(hana.challenge().encode()).signature
    texts = [
        f"{hana.did}.{encoded}".encode()
        for encoded in (base64url(signature), base64.urlsafe_b64encode(signature).decode())
    ]
    values = [base64.b64encode(each).decode().rstrip("=") for each in texts]
    calls = [partial(hana.send, "update", service(), f"DIDAuth {value}") for value in values * 4]
    assert sorted(answer.status for answer in at_once(target.wire, calls)) == [200] + [401] * 7


def test_the_answer_names_the_malformed_part_of_a_header(target: Target) -> None:
    """An unregistered DID gets the same answer: the text of the header alone decides."""
    hana = target.stranger.holder(strictEvidence=False)
    short = base64.b64encode(f"{hana.did}.{base64url(bytes(63))}".encode()).decode()
    for value, reason in (
        ("%", "the value is not base64 of at most 2852 characters"),
        (short, "the signature has 63 bytes; 64 are needed"),
    ):
        for act, scheme, body in (
            ("update", "DIDAuth", service()),
            ("recover", "RecoveryKey", recovery_body(public(SigningKey.generate()))),
        ):
            error = hana.send(act, body, f"{scheme} {value}").json["error"]
            assert (error["code"], error["details"]["reason"]) == ("AUTH_FAILED", reason)
            assert reason in error["message"]


def test_a_padded_body_hash_binds_the_same_body(target: Target) -> None:
    """RFC 4648 §3.2: the 32 bytes of a SHA-256 end with one ``=``, or with none."""
    hana = target.stranger.holder()
    digest = body_hash(service())
    path = f"{PREFIX}/auth/challenge?did={quote(hana.did)}&purpose=update&bodyHash="
    answer = target.wire.call("GET", f"{path}{digest}%3D")
    assert answer.status == 200, answer.body
    assert answer.json["challenge"].split(" ")[4] == digest
    signature = hana.key.sign(answer.json["challenge"].encode()).signature
    assert hana.send("update", service(), header(hana.did, signature)).status == 200
    for wrong in (f"{digest}%3D%3D", f"%3D{digest}", f"{digest[:-1]}%3D"):
        assert target.wire.call("GET", path + wrong).outcome == (400, "INVALID_REQUEST")


def spellings(token: str) -> list[str]:
    """Texts that lenient decoders take for ``token``."""
    data = base64.b64decode(token)
    text = data.decode()
    did, _, signature = text.rpartition(".")
    found = [
        token + "=",
        token + "\t",
        token[:8] + " " + token[8:],
        token[:8] + "\t" + token[8:],
        token[:8] + "!" + token[8:],
        token[:8] + "-" + token[8:],
        token.rstrip("=") if token.endswith("=") else token + "====",
        token + "AAAA",
        base64.urlsafe_b64encode(data + b"??>").decode(),
        text,
        base64.b64encode(f"{did}.{signature}=".encode()).decode(),
        base64.b64encode(f"{did}.{signature[:-1]}{next_letter(signature[-1])}".encode()).decode(),
        base64.b64encode(f"{did}.{signature}\n".encode()).decode(),
        base64.b64encode(f" {did}.{signature}".encode()).decode(),
        base64.b64encode(f"{did}\0.{signature}".encode()).decode(),
        base64.b64encode(f"{did}..{signature}".encode()).decode(),
        base64.b64encode(f"{did}.x.{signature}".encode()).decode(),
        base64.b64encode(f"{did}#key-1.{signature}".encode()).decode(),
        base64.b64encode(f"{did.upper()}.{signature}".encode()).decode(),
        base64.b64encode(f"{signature}.{did}".encode()).decode(),
        base64.b64encode(did.encode() + b".\xff" + signature.encode()).decode(),
        base64.b64encode(
            f"{did}.{signature.replace('A', '+', 1).replace('-', '+').replace('_', '/')}+".encode()
        ).decode(),
    ]
    stem = token.rstrip("=")
    if stem != token:
        # The last letter holds bits that belong to no byte; lenient decoders do not look at them.
        found.append(stem[:-1] + next_letter(stem[-1]) + token[len(stem) :])
    return [each for each in found if each != token and each.rstrip(" \t") != token]


def next_letter(letter: str) -> str:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return alphabet[(alphabet.index(letter.translate({43: 45, 47: 95})) + 1) % 64]


def test_trailing_bits_of_the_signature_are_no_second_signature(target: Target) -> None:
    """64 bytes leave four bits of the last base64url letter unused: sixteen spellings, of which one is taken."""
    hana = target.stranger.holder(strictEvidence=False)
    signature = hana.key.sign(hana.challenge().encode()).signature
    right = base64url(signature)
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_":
        spelling = right[:-1] + letter
        if spelling != right and base64.urlsafe_b64decode(spelling + "==") == signature:
            value = base64.b64encode(f"{hana.did}.{spelling}".encode()).decode()
            assert hana.send("update", service(), f"DIDAuth {value}").outcome == FAILED
    assert hana.send("update", service(), header(hana.did, signature)).status == 200


@pytest.mark.parametrize("scheme", ["DIDAuth", "RecoveryKey"])
@pytest.mark.parametrize(
    "value",
    [
        "",
        "=",
        "====",
        "Lg==",
        "%2e",
        "e30=",
        ".",
        "AAAA",
        "A",
        "null",
        "{}",
        "A" * 8_000,
        "Lg==" * 500,
        "∅".encode().hex(),
    ],
    ids=lambda value: f"{value[:8]}_{len(value)}",
)
def test_junk_is_no_signature(target: Target, scheme: str, value: str) -> None:
    hana = target.stranger.holder(strictEvidence=False)
    act, body = (
        ("recover", recovery_body(public(SigningKey.generate()))) if scheme == "RecoveryKey" else ("update", service())
    )
    hana.challenge()
    assert hana.send(act, body, f"{scheme} {value}").outcome == FAILED


def test_signatures_of_another_length_or_group_element(target: Target) -> None:
    hana = target.stranger.holder(strictEvidence=False)
    text = hana.challenge().encode()
    good = hana.key.sign(text).signature
    order = 2**252 + 27742317777372353535851937790883648493
    high = (int.from_bytes(good[32:], "little") + order).to_bytes(32, "little")
    for bad in (
        good[:63],
        good + b"\0",
        b"",
        bytes(64),
        good[:32] + high,
        good[32:] + good[:32],
        b"\x01" + bytes(63),
        good[:63] + bytes([good[63] ^ 0x80]),
        hana.key.sign(text.hex().encode()).signature,
        hana.key.sign(b"\xef\xbb\xbf" + text).signature,
        hana.key.sign(text + b"\n").signature,
        hana.key.sign(text.decode().encode("utf-16")).signature,
        hana.key.sign(base64.b64encode(text)).signature,
    ):
        assert hana.send("update", service(), header(hana.did, bad)).outcome == FAILED, bad.hex()
    assert hana.send("update", service(), header(hana.did, good)).status == 200


def test_nothing_crosses_from_one_did_to_another(target: Target) -> None:
    hana, mallory = target.stranger.holder(strictEvidence=False), target.stranger.holder(strictEvidence=False)
    theirs = hana.challenge()
    mine = mallory.challenge()
    for signer, text, name in (
        (mallory.key, mine, mallory.did),
        (mallory.key, mine, hana.did),
        (mallory.key, theirs, mallory.did),
        (mallory.key, theirs, hana.did),
        (hana.key, mine, hana.did),
        (hana.key, theirs, mallory.did),
    ):
        value = header(name, signer.sign(text.encode()).signature)
        assert hana.send("update", service(), value).outcome == FAILED
    assert hana.send("update", service(), header(hana.did, hana.key.sign(theirs.encode()).signature)).status == 200


def test_one_key_in_two_dids_still_signs_for_one(target: Target) -> None:
    key = SigningKey.generate()
    own = [{"type": "Ed25519", "publicKeyMultibase": public(key), "purpose": ["authentication"]}]
    one = target.stranger.create({"method": "ids", "options": {"publicKeys": own}}).json["did"]
    hana = target.stranger.holder(strictEvidence=False)
    assert hana.act("update", add_key(public(key))).status == 200
    first = hana.challenge()
    signature = key.sign(first.encode()).signature
    answer = target.wire.call("PATCH", f"/api/v1/dids/{one}", service(), {"Authorization": header(one, signature)})
    assert answer.outcome == FAILED
    assert hana.send("update", service(), header(hana.did, signature)).status == 200


def test_a_challenge_that_nobody_offered_is_no_challenge(target: Target) -> None:
    hana = target.stranger.holder(strictEvidence=False)
    real = hana.challenge()
    fields = real.split(" ")
    forged = [*fields[:5], base64url(bytes(32)), fields[6]]
    longer = [*fields[:6], "2099-01-01T00:00:00Z"]
    elsewhere = [fields[0], "https://elsewhere.example", *fields[2:]]
    for text in (" ".join(forged), " ".join(longer), " ".join(elsewhere), "", hana.did, real[:-1]):
        value = header(hana.did, hana.key.sign(text.encode()).signature)
        assert hana.send("update", service(), value).outcome == FAILED


@pytest.mark.parametrize("asked", ["deactivate", "rotate", "recover", "token"])
def test_a_purpose_is_kept(target: Target, asked: str) -> None:
    hana = target.stranger.holder()
    for digest in (None, body_hash(service())):
        value = header(hana.did, hana.key.sign(hana.challenge(asked, digest).encode()).signature)
        assert hana.send("update", service(), value).outcome == FAILED


def test_a_body_is_kept(target: Target) -> None:
    hana = target.stranger.holder(strictEvidence=False)
    for purpose in (None, "update"):
        value = header(hana.did, hana.key.sign(hana.challenge(purpose, body_hash(service())).encode()).signature)
        for other in (
            service("another"),
            service(endpoint="https://mallory.example/"),
            add_key(public(SigningKey.generate())),
        ):
            assert hana.send("update", other, value).outcome == FAILED
        # Order and blanks are not what was signed.
        shuffled = (
            b' { "service":{"type":"LinkedDomains","serviceEndpoint":"https:\\/\\/hana.example/","id":"files"},'
            b' "operation" : "addService"}'
        )
        answer = target.wire.call("PATCH", hana.path(), shuffled, {"Authorization": value})
        assert answer.status == (200 if purpose is None else 422), answer.body
    assert len(verify_lines(hana.log())) == 2


def test_a_refusal_names_the_text_to_sign_and_no_more(target: Target) -> None:
    hana, mallory = target.stranger.holder(), SigningKey.generate()
    spent = hana.signed("update", service())
    assert hana.send("update", service(), spent).status == 200
    texts = (hana.challenge("deactivate"), hana.challenge("update", body_hash(service("another"))), "no challenge")
    wrong = [header(hana.did, hana.key.sign(text.encode()).signature) for text in texts]
    wrong.append(header(hana.did, mallory.sign(hana.challenge("update").encode()).signature))
    required = {"purpose": "update", "bodyHash": body_hash(service()), "target": f"/dids/{quote(hana.did, safe='')}"}
    used = {"reason": "This challenge was used. Fetch another from /auth/challenge and sign it."}
    untried = {"reason": UNNAMED}
    for value, expected in ((spent, required | used), *((value, required | untried) for value in wrong)):
        answer = hana.send("update", service(), value)
        assert answer.outcome == FAILED
        details = answer.json["error"]["details"]
        assert {name: text for name, text in details.items() if name not in ("requestId", "remedy")} == expected
        assert details["remedy"] == AuthFailed.reasons.get(details.get("reason"), AuthFailed.remedy)


def test_a_bound_body_cannot_be_smuggled_by_a_duplicate_name(target: Target) -> None:
    hana = target.stranger.holder()
    value = hana.signed("update", service())
    twice = (
        b'{"operation":"addService","service":{"id":"evil","type":"LinkedDomains","serviceEndpoint":"https://m.example/"},'
        + (b'"service":{"id":"files","type":"LinkedDomains","serviceEndpoint":"https://hana.example/"}}')
    )
    answer = target.wire.call("PATCH", hana.path(), twice, {"Authorization": value})
    assert answer.status in (400, 401), answer.body
    assert len(verify_lines(hana.log())) == 1


def test_the_text_that_is_signed_is_nothing_else(target: Target) -> None:
    """It begins with its label, is one printable line, and is neither JSON nor a token of three parts."""
    hana = target.stranger.holder()
    text = hana.challenge("update", body_hash(service()))
    label, origin, did, purpose, digest, nonce, expiry = text.split(" ")
    assert (label, did, purpose, digest) == ("didauth:v1", hana.did, "update", body_hash(service()))
    assert origin == target.wire.url
    assert len(base64.urlsafe_b64decode(nonce + "=")) == 32
    assert expiry.endswith("Z")
    assert text.isascii()
    assert text.isprintable()
    assert not text.startswith(("{", "["))


def test_the_host_header_decides_nothing(target: Target) -> None:
    hana = target.stranger.holder()
    answer = target.wire.call(
        "GET",
        f"/api/v1/auth/challenge?did={hana.did}",
        None,
        {"Host": "elsewhere.example", "X-Forwarded-Host": "m.example"},
    )
    assert answer.json["challenge"].split(" ")[1] == target.wire.url


def test_an_expired_challenge_is_none(tmp_path: Path) -> None:
    with turned_service(tmp_path) as turned:
        hana = turned.running.stranger.holder()
        late = hana.signed("update", service())
        offered = hana.ask().json
        unbound = header(hana.did, hana.key.sign(offered["challenge"].encode()).signature)
        turned.stop(datetime.fromisoformat(offered["expiresAt"]))
        assert hana.send("update", service(), late).outcome == FAILED
        assert hana.send("update", service(), unbound).outcome == FAILED
        assert hana.act("update", service()).status == 200


def verify_lines(log: bytes) -> list[bytes]:
    verify(log, now=datetime.now(UTC))
    return log.splitlines()
