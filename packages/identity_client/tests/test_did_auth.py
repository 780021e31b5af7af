"""The signer signs what it was asked to authorise and nothing else."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from identity_client import ChallengeRefused, ForeignOrigin, Signer, hash_body
from identity_client.challenge import build, origin_field
from identity_codec import ed25519
from identity_core.domain.dids import challenge, keys

PAIR = keys.generate("Ed25519", lambda size: bytes(range(size)))
DID = "did:key:" + PAIR.public
OTHER = "did:key:" + keys.generate("Ed25519", lambda size: bytes(size)).public
BODY = {"operation": "removeService", "serviceId": "files"}
SIGNER = Signer(DID, PAIR.secret)


TARGET = "/dids/" + DID.replace(":", "%3A")


def text(did: str = DID, purpose: str | None = "update", body: object = BODY, target: str | None = None) -> str:
    return build(
        origin=origin_field("https://id.example", target),
        did=did,
        purpose=purpose,
        body_hash=None if body is None else hash_body(body),
        nonce=b"n" * 32,
        expires_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def test_it_signs_what_was_asked_for() -> None:
    value = SIGNER.header(text(), purpose="update", digest=hash_body(BODY))
    signed = challenge.parse_header(value.removeprefix("DIDAuth "))
    assert (str(signed.did), signed.named) == (DID, None)
    ed25519.verify(keys.PublicKey.parse("Ed25519", PAIR.public).raw, text().encode(), signed.signature)


def test_it_names_the_challenge_where_that_is_wanted() -> None:
    value = SIGNER.header(text(), purpose="update", digest=hash_body(BODY), named=True)
    signed = challenge.parse_header(value.removeprefix("DIDAuth "))
    assert signed.named is not None
    assert signed.named.text == text()


def test_the_header_names_its_scheme() -> None:
    asked = {"purpose": "recover", "digest": hash_body(BODY)}
    assert SIGNER.header(text(purpose="recover"), scheme="RecoveryKey", **asked).startswith("RecoveryKey ")
    assert SIGNER.header(text(purpose="recover"), **asked).startswith("DIDAuth ")


@pytest.mark.parametrize(
    ("purpose", "body"),
    [(None, None), (None, BODY), *((purpose, None) for purpose in ("update", "rotate", "recover", "deactivate"))],
)
def test_header_refuses_a_challenge_that_serves_for_any_change(purpose: str | None, body: object) -> None:
    """In the log of a DID without ``strictEvidence`` a reader accepts ``-`` for every purpose, and no entry shows a body (log README,
    "Bound evidence"). So the signature would serve a holder of the log key for any change."""
    digest = None if body is None else hash_body(body)
    with pytest.raises(ValueError, match="with purpose, and for a change of a DID with bodyHash"):
        SIGNER.header(text(purpose=purpose, body=body), purpose=purpose, digest=digest)  # type: ignore[arg-type]


def test_header_signs_a_read_that_has_no_body() -> None:
    assert SIGNER.header(text(purpose="read", body=None), purpose="read").startswith("DIDAuth ")


@pytest.mark.parametrize(
    ("offered", "reason"),
    [
        (text(did=OTHER), "another DID"),
        (text(purpose="deactivate"), "something else"),
        (text(purpose=None), "not bound"),
        (text(body={"operation": "removeService", "serviceId": "other"}), "something else"),
        (text(body=None), "not bound"),
        ("", "not a DIDAuth challenge"),
        ("hello", "not a DIDAuth challenge"),
        (json.dumps({"challenge": text()}), "not a DIDAuth challenge"),
        (json.dumps({"type": "IBCT", "invoker": DID, "nonce": "1"}), "not a DIDAuth challenge"),
        (text() + " ", "not a DIDAuth challenge"),
        (" " + text(), "not a DIDAuth challenge"),
        (text() + "\n", "expiry"),
        (text().replace(" ", "\t"), "not a DIDAuth challenge"),
        (text().replace("didauth:v1", "didauth:v2"), "not a DIDAuth challenge"),
        (text().replace("didauth:v1", "DIDAUTH:v1"), "not a DIDAuth challenge"),
        (text().replace(" update ", " everything "), "not a DIDAuth challenge"),
        (text().replace(DID, "did:"), "not a DID"),
        (text().replace("2026-01-01T00:00:00Z", "2026-01-01"), "expiry"),
        (text() + "x" * 4096, "not a DIDAuth challenge"),
    ],
)
def test_it_refuses_what_was_not_asked_for(offered: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        SIGNER.header(offered, purpose="update", digest=hash_body(BODY))


@pytest.mark.parametrize("spelling", [TARGET, f"/dids/{DID}", f"/api/v1/dids/{DID}?"])
def test_header_signs_for_each_spelling_of_the_target(spelling: str) -> None:
    asked = {"purpose": "update", "digest": hash_body(BODY), "origin": "https://id.example"}
    assert SIGNER.header(text(target=TARGET), target=spelling, **asked)


@pytest.mark.parametrize(
    ("asked", "offered"), [(TARGET, None), (None, TARGET), (TARGET, TARGET + "/recover"), (TARGET, TARGET + "?x=1")]
)
def test_header_refuses_another_target(asked: str | None, offered: str | None) -> None:
    with pytest.raises(ValueError, match="something else"):
        SIGNER.header(text(target=offered), purpose="update", digest=hash_body(BODY), target=asked)


def test_only_ed25519_keys_sign() -> None:
    wrong = keys.generate("X25519KeyAgreementKey2020", lambda size: bytes(range(1, size + 1)))
    with pytest.raises(ValueError, match="Ed25519"):
        Signer(DID, wrong.secret).header(text(), purpose="update", digest=hash_body(BODY))
    with pytest.raises(ValueError):
        Signer(DID, PAIR.public).header(text(), purpose="update", digest=hash_body(BODY))


@pytest.mark.parametrize("change", [("update", "rotate"), (DID, f"{DID}x"), ("didauth:v1", "didauth:v9"), (" ", "  ")])
def test_changed_challenge_is_refused_as_such(change: tuple[str, str]) -> None:
    with pytest.raises(ChallengeRefused):
        SIGNER.header(text().replace(*change), purpose="update", digest=hash_body(BODY))


def test_the_secret_does_not_show() -> None:
    assert PAIR.secret not in repr(SIGNER)


@pytest.mark.parametrize("asked", ["https://id.example", "https://id.example/", "https://ID.example:443", None])
def test_the_challenge_of_the_service_that_was_asked(asked: str | None) -> None:
    assert SIGNER.header(text(), purpose="update", digest=hash_body(BODY), origin=asked)


@pytest.mark.parametrize(
    "asked",
    ["http://id.example", "https://id.example:8443", "https://id.example.evil", "https://evil.example/id.example", ""],
)
def test_the_challenge_of_another_service(asked: str) -> None:
    with pytest.raises(ForeignOrigin, match=r"one of https://id\.example"):
        SIGNER.header(text(), purpose="update", digest=hash_body(BODY), origin=asked)


def test_the_names_of_this_machine_are_one() -> None:
    own = text().replace("https://id.example", "http://127.0.0.1:8080")
    for asked in ("http://localhost:8080", "http://[::1]:8080", "http://127.0.0.1:8080"):
        assert SIGNER.header(own, purpose="update", digest=hash_body(BODY), origin=asked)
    with pytest.raises(ForeignOrigin):
        SIGNER.header(own, purpose="update", digest=hash_body(BODY), origin="http://localhost:8081")
