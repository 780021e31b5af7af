from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_client.challenge import (
    MAX_TEXT,
    PURPOSES,
    Challenge,
    build,
    build_header,
    canonical_target,
    hash_body,
    origin_field,
)
from identity_codec import multibase
from identity_core.domain.dids import challenge
from identity_core.errors import AuthFailed

DID = "did:ids:QmZVXud7T8h7qtJnoSA4jFk4o37z7nZFWQaiEfrNbZ5Mw7"
ORIGIN = "https://id.example"
END = datetime(2026, 1, 2, 3, 4, 5, 999999, tzinfo=UTC)
HASH = hash_body({"b": 1, "a": [2]})


def text_of(purpose: str | None = "update", body_hash: str | None = HASH, did: str = DID) -> str:
    return build(origin=ORIGIN, did=did, purpose=purpose, body_hash=body_hash, nonce=bytes(range(32)), expires_at=END)


def test_the_text_is_one_line_of_seven_fields() -> None:
    nonce = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
    assert text_of() == f"didauth:v1 https://id.example {DID} update {HASH} {nonce} 2026-01-02T03:04:05Z"
    assert text_of(None, None) == f"didauth:v1 https://id.example {DID} - - {nonce} 2026-01-02T03:04:05Z"


@pytest.mark.parametrize("purpose", [None, *sorted(PURPOSES)])
@pytest.mark.parametrize("body_hash", [None, HASH])
def test_built_challenge_is_parsed(purpose: str | None, body_hash: str | None) -> None:
    read = Challenge.parse(text_of(purpose, body_hash))
    assert (read.origin, read.did, read.purpose, read.body_hash) == (ORIGIN, DID, purpose, body_hash)
    assert read.expires_at == END.replace(microsecond=0)


def test_body_hash_does_not_depend_on_how_body_was_written() -> None:
    assert hash_body({"a": [2], "b": 1}) == HASH
    assert len(multibase.base64url_decode(HASH)) == 32


def test_bound_challenge_fits_only_its_request() -> None:
    loose, tight = Challenge.parse(text_of(None, None)), Challenge.parse(text_of())
    assert loose.fits(ORIGIN, "rotate", "x")
    assert loose.fits(ORIGIN, "update", None)
    assert tight.fits(ORIGIN, "update", HASH)
    assert not tight.fits(ORIGIN, "rotate", HASH)
    assert not tight.fits(ORIGIN, "update", hash_body({}))
    assert not tight.fits(ORIGIN, "update", None)
    assert not loose.fits("https://other.example", "update", HASH)


def test_purpose_without_hash_is_for_a_request_without_a_body() -> None:
    named = Challenge.parse(text_of("erase", None))
    assert named.fits(ORIGIN, "erase", None)
    assert not named.fits(ORIGIN, "erase", HASH)
    assert Challenge.parse(text_of(None, HASH)).fits(ORIGIN, "erase", HASH)


MUTATIONS = (
    lambda text: text + " ",
    lambda text: text + "\n",
    lambda text: " " + text,
    lambda text: text.replace(" ", "  ", 1),
    lambda text: text.replace(" ", "\t", 1),
    lambda text: text.replace("didauth:v1", "didauth:v2"),
    lambda text: text.replace("didauth:v1", "DIDAUTH:v1"),
    lambda text: text.replace(" update ", " Update "),
    lambda text: text.replace(" update ", " delete "),
    lambda text: text.replace(" update ", "  "),
    lambda text: text.replace(HASH, HASH[:-1]),
    lambda text: text.replace(HASH, HASH + "="),
    lambda text: text.replace("AAECAwQ", "AAECAw"),
    lambda text: text.replace("HR4f", "HR4g").replace("Hh8", "Hh9"),
    lambda text: text.replace("05Z", "05.0Z"),
    lambda text: text.replace("05Z", "05+00:00"),
    lambda text: text.replace("2026-01-02", "2026-02-30"),
    lambda text: text.replace(DID, DID + "#key"),
    lambda text: text.replace(DID, "did:ids:é"),
    lambda text: text.replace(ORIGIN, "https://id.example/\x7f"),
    lambda text: text.replace(ORIGIN, ""),
    lambda text: "\ufeff" + text,
    lambda text: text + "x" * 3000,
)


@pytest.mark.parametrize("mutate", MUTATIONS, ids=range(len(MUTATIONS)))
def test_another_text_is_no_challenge(mutate) -> None:
    assert mutate(text_of()) != text_of()
    with pytest.raises(ValueError, match=r".+"):
        Challenge.parse(mutate(text_of()))


@given(st.text(max_size=200))
def test_any_text_is_a_challenge_or_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Challenge.parse(text)


def test_invalid_challenge_part_is_not_built() -> None:
    for changes in (
        {"origin": "two words"},
        {"purpose": "anything"},
        {"nonce": bytes(31)},
        {"body_hash": "-"},
        {"did": "x"},
    ):
        fields = {
            "origin": ORIGIN,
            "did": DID,
            "purpose": None,
            "body_hash": None,
            "nonce": bytes(32),
            "expires_at": END,
        }
        if changes == {"body_hash": "-"}:
            changes = {"body_hash": "--"}
        with pytest.raises(ValueError, match=r".+"):
            build(**(fields | changes))


def test_times_of_other_zones_are_written_in_utc() -> None:
    text = build(
        origin=ORIGIN, did=DID, purpose=None, body_hash=None, nonce=bytes(32),
        expires_at=END.astimezone(timezone(timedelta(hours=9))),
    )  # fmt: skip
    assert text.endswith(" 2026-01-02T03:04:05Z")


@pytest.mark.parametrize("did", [DID, "did:web:a.b.c", "did:x:a%3Ab", "did:x:" + "a" * 506])
def test_a_header_goes_there_and_back(did: str) -> None:
    signature = bytes(range(64))
    parsed = challenge.parse_header(build_header(did, signature))
    assert (str(parsed.did), parsed.signature, parsed.named) == (did, signature, None)


def test_a_header_may_name_its_challenge() -> None:
    text = build(origin=ORIGIN, did=DID, purpose="update", body_hash=None, nonce=bytes(range(32)), expires_at=END)
    parsed = challenge.parse_header(build_header(text, bytes(64)))
    assert (str(parsed.did), parsed.signature) == (DID, bytes(64))
    assert parsed.named is not None
    assert parsed.named.text == text


def b64(text: str | bytes) -> str:
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


SIGNATURE = multibase.base64url_encode(bytes(range(64)))
HEADERS = {
    "empty": "",
    "no dot": b64("did:x:a"),
    "not base64": "did:x:a." + SIGNATURE,
    "junk between": b64(f"did:x:a.{SIGNATURE}")[:8] + "\n" + b64(f"did:x:a.{SIGNATURE}")[8:],
    "junk ignored by loose decoders": b64(f"did:x:a.{SIGNATURE}")[:8] + "!" + b64(f"did:x:a.{SIGNATURE}")[8:],
    "blank in front": " " + b64(f"did:x:a.{SIGNATURE}"),
    "padding doubled": b64(f"did:x:ab.{SIGNATURE}") + "=",
    "padding halved": b64(f"did:x:a.{SIGNATURE}").removesuffix("="),
    "padding alone": "==",
    "bits left over": b64(f"did:x:ab.{SIGNATURE}")[:-2] + chr(ord(b64(f"did:x:ab.{SIGNATURE}")[-2]) + 1) + "=",
    "url alphabet": base64.urlsafe_b64encode(b"did:x:a." + b"\xfb\xff" * 40).decode(),
    "63 bytes": b64("did:x:a." + multibase.base64url_encode(bytes(63))),
    "65 bytes": b64("did:x:a." + multibase.base64url_encode(bytes(65))),
    "signature padded by half": b64(f"did:x:a.{SIGNATURE}="),
    "signature padded too far": b64(f"did:x:a.{SIGNATURE}==="),
    "padding within the signature": b64(f"did:x:a.{SIGNATURE[:-4]}={SIGNATURE[-4:]}="),
    "signature with a newline": b64(f"did:x:a.{SIGNATURE}\n"),
    "signature with bits left over": b64(f"did:x:a.{SIGNATURE[:-1]}x"),
    "signature in the other alphabet": b64("did:x:a." + b64(b"\xff" * 64).rstrip("=")),
    "no did": b64("." + SIGNATURE),
    "a challenge cut short": b64(f"didauth:v1 https://id.example did:x:a - - . {SIGNATURE}"),
    "a challenge and more": b64(
        f"didauth:v1 https://id.example did:x:a - - {'A' * 43} 2026-01-01T00:00:00Z x.{SIGNATURE}"
    ),
    "a challenge of no DID": b64(f"didauth:v1 https://id.example x - - {'A' * 43} 2026-01-01T00:00:00Z.{SIGNATURE}"),
    "a challenge with a nonce whose bits are left over": b64(
        f"didauth:v1 https://id.example did:x:a - - {'A' * 42}B 2026-01-01T00:00:00Z.{SIGNATURE}"
    ),
    "a challenge of another label": b64(
        f"didauth:v2 https://id.example did:x:a - - {'A' * 43} 2026-01-01T00:00:00Z.{SIGNATURE}"
    ),
    "did url": b64("did:x:a#k." + SIGNATURE),
    "did not ascii": b64("did:x:é." + SIGNATURE),
    "did with nul": b64("did:x:\x00." + SIGNATURE),
    "did too long": b64("did:x:" + "a" * 507 + "." + SIGNATURE),
    "not utf-8": b64(b"did:x:\xff." + SIGNATURE.encode()),
    "not ascii": "é" * 8,
    "huge": "A" * 1_000_000,
}


@pytest.mark.parametrize("value", HEADERS.values(), ids=HEADERS)
def test_a_header_that_is_written_otherwise_is_auth_failed(value: str) -> None:
    with pytest.raises(AuthFailed) as refusal:
        challenge.parse_header(value)
    assert refusal.value.details.keys() == {"reason"}
    assert str(refusal.value.details["reason"]) in str(refusal.value)


@pytest.mark.parametrize("did", ["did:x:a", "did:x:ab", "did:x:abc"])
def test_parse_header_accepts_base64_with_and_without_padding(did: str) -> None:
    """RFC 4648 §3.2: base64url has padding unless a specification leaves it out, and DIDAuth states neither.

    ``urlsafe_b64encode`` of Python, ``getUrlEncoder`` of Java and ``URLEncoding`` of Go write ``==`` after 64 bytes.
    """
    for encoded in (SIGNATURE, f"{SIGNATURE}=="):
        for value in (b64(f"{did}.{encoded}"), b64(f"{did}.{encoded}").rstrip("=")):
            parsed = challenge.parse_header(value)
            assert (str(parsed.did), parsed.signature) == (did, bytes(range(64)))


def test_parse_header_accepts_the_longest_header_with_padding() -> None:
    did = "did:x:" + "a" * 506
    text = build(
        origin="https://" + "o" * 504, did=did, purpose="update", body_hash="A" * 43, nonce=bytes(32), expires_at=END
    )
    named = challenge.parse_header(b64(f"{text}.{SIGNATURE}==")).named
    assert named is not None
    assert named.text == text
    assert len(b64("x" * MAX_TEXT + f".{SIGNATURE}==")) == challenge.MAX_HEADER


NOT_BASE64 = f"the value is not base64 of at most {challenge.MAX_HEADER} characters"
REASONS = {
    "A" * (challenge.MAX_HEADER + 1): NOT_BASE64,
    "did:x:a." + SIGNATURE: NOT_BASE64,
    b64(f"no-did.{SIGNATURE}"): "the decoded value does not begin with a DID or a challenge of this service, and a dot",
    b64("did:x:a"): "the decoded value does not begin with a DID or a challenge of this service, and a dot",
    b64("did:x:a.+/+/"): "the signature is not base64url",
    b64("did:x:a."): "the signature has 0 bytes; 64 are needed",
    b64("did:x:a." + base64.urlsafe_b64encode(bytes(32)).decode()): "the signature has 32 bytes; 64 are needed",
}


@pytest.mark.parametrize(("value", "reason"), REASONS.items(), ids=[str(number) for number in range(len(REASONS))])
def test_parse_header_names_the_part_that_is_malformed(value: str, reason: str) -> None:
    with pytest.raises(AuthFailed) as refusal:
        challenge.parse_header(value)
    assert refusal.value.details == {"reason": reason}
    assert str(refusal.value) == f"The signature header cannot be read: {reason}."


@pytest.mark.parametrize("text", ["AA=", "AA===", "AAA==", "AAAA=", "==="])
def test_strip_padding_refuses_another_length(text: str) -> None:
    with pytest.raises(ValueError, match="padding"):
        challenge.strip_padding(text)


def test_the_text_is_split_at_the_last_dot() -> None:
    assert str(challenge.parse_header(b64(f"did:web:a.example.{SIGNATURE}")).did) == "did:web:a.example"


TARGETS = json.loads((Path(__file__).parents[2] / "vectors" / "challenge_targets.json").read_text())


@pytest.mark.parametrize("case", TARGETS, ids=[case["target"] for case in TARGETS])
def test_each_spelling_of_a_target_has_one_form(case: dict[str, str]) -> None:
    assert canonical_target(case["target"]) == case["canonical"]
    assert canonical_target(case["canonical"]) == case["canonical"]
    assert origin_field(ORIGIN, case["target"]) == f"{ORIGIN}#{case['hash']}"


def test_a_challenge_with_a_target_fits_that_target_alone() -> None:
    field = origin_field(ORIGIN, "/delegations/1/revoke")
    bound = Challenge.parse(text_of(None, None).replace(ORIGIN, field))
    assert bound.fits(ORIGIN, "update", None, "/delegations/1/revoke")
    for other in ("/delegations/2/revoke", "/delegations/1/revoke?x=1", "/delegations/1%2Frevoke", None):
        assert not bound.fits(ORIGIN, "update", None, other)
    assert not bound.fits("https://other.example", "update", None, "/delegations/1/revoke")
    assert Challenge.parse(text_of(None, None)).fits(ORIGIN, "update", None, "/delegations/2/revoke")
