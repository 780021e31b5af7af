"""What goes into a document: canonical forms, placeholders, endpoints, and identifiers as they come over the wire.

openapi/DECISIONS.md §2.4, §2.12. The corpus of bad requests as such is ``test_raw_socket``.
"""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from identity_commands.verify_log import verify
from nacl.signing import SigningKey

from tests.attack.conftest import Target
from tests.attack.raw_http import exchange, request
from tests.attack.stranger import LEAVE, PREFIX, Holder, add_key, header, public, service

MALFORMED = (400, "INVALID_REQUEST")
INVALID = (422, "INVALID_DOCUMENT")
BAD_DID = (400, "INVALID_DID")
VALID = b'{"method":"ids","keyType":"Ed25519"}'


def unbound(hana: Holder) -> str:
    return header(hana.did, hana.key.sign(hana.challenge().encode()).signature)


@pytest.mark.parametrize(
    "body",
    [
        b'{"confirm":true,"confirm":false}',
        b'{"confirm":false,"confirm":true}',
        b'{"confirm":true,"\\u0063onfirm":true}',
        b'{"confirm":true}{"confirm":true}',
        b'{"confirm":true}\x00',
        b"",
    ],
    ids=lambda body: repr(body)[:40],
)
def test_a_signed_body_that_has_no_one_meaning_is_refused(target: Target, body: bytes) -> None:
    hana = target.stranger.holder(strictEvidence=False)
    answer = hana.send("deactivate", body, unbound(hana))  # type: ignore[arg-type]
    assert answer.status == 400, answer.body
    assert answer.code == "INVALID_REQUEST"
    assert hana.resolve().status == 200


def test_numbers_of_every_spelling_are_never_a_500(target: Target) -> None:
    """Where a number may stand (an API key's limits), and where the canonical form of the body is asked for (Idempotency-Key)."""
    key = {"X-API-Key": target.stranger.api_key, "Content-Type": "application/json"}
    for place, number in enumerate(
        ("9007199254740993", "-0.0", "-0", "1.0", "1e0", "1E400", "1e-400", "0.1e1", "10" * 30, "9007199254740993.0")
    ):
        for member in ("burst", "requestsPerSecond"):
            body = f'{{"name":"n","scopes":["dids:list"],"{member}":{number}}}'.encode()
            headers = key | {"Idempotency-Key": f"{target.wire.url}-{member}-{place}"}
            answer = target.wire.call("POST", f"{PREFIX}/admin/api-keys", body, headers)
            assert answer.status in (201, 400), (number, answer.body)
            again = target.wire.call("POST", f"{PREFIX}/admin/api-keys", body, headers)
            assert again.status == answer.status


def test_empty_list_of_own_keys_is_no_list(target: Target) -> None:
    """Generated clients send every list. The answer is the same as without the member: it has the private key that was made."""
    answers = [target.stranger.create({"method": "ids", "options": one}) for one in ({}, {"publicKeys": []})]
    assert [answer.status for answer in answers] == [201, 201]
    assert answers[0].json.keys() == answers[1].json.keys() > {"keys"}


PLACEHOLDERS = ("{SCID}", "did:ids:{SCID}", "%7BSCID%7D", "SCID", "{{SCID}}", "$SCID", "did:webvh:{SCID}:a.example")


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_placeholder_text_of_caller_stays_what(target: Target, text: str) -> None:
    """The first entry is hashed with a placeholder instead of the identifier; a caller's own must not be replaced."""
    uri = f"https://a.example/{text}"
    wishes: list[dict[str, Any]] = [
        {"alsoKnownAs": [uri]},
        {"alsoKnownAs": [text]},
        {"serviceEndpoints": [{"type": "LinkedDomains", "serviceEndpoint": uri}]},
        {"serviceEndpoints": [{"type": text, "serviceEndpoint": "https://a.example/"}]},
    ]
    for wish in wishes:
        answer = target.stranger.create({"method": "ids", "options": wish})
        if answer.status == 422:
            assert answer.code == "INVALID_DOCUMENT"
            continue
        assert answer.status == 201, answer.body
        did, document = answer.json["did"], answer.json["didDocument"]
        kept = json.dumps(document).replace(did, "")
        assert text in kept
        log = target.wire.call("GET", f"{PREFIX}/dids/{did}/log").body
        assert verify(log, now=datetime.now(UTC)).did == did
        assert target.wire.call("GET", f"{PREFIX}/dids/{did}").json["didDocument"] == document


def test_stored_shown_and_hashed_document_are_equal(target: Target) -> None:
    """Text at the edges of JSON's escapes comes back as it was, and the log stays valid."""
    hana = target.stranger.holder()
    for uri in (
        "https://a.example/%00",
        "https://a.example/~!$&'()*+,;=:@",
        "urn:x:%F0%9F%98%80",
        "https://a.example/%22%5C",
    ):
        answer = hana.act("update", {"operation": "setAlsoKnownAs", "alsoKnownAs": [uri]})
        assert answer.status == 200, answer.body
        assert hana.resolve().json["didDocument"]["alsoKnownAs"] == [uri]
    assert verify(hana.log(), now=datetime.now(UTC)).versions == 5


@pytest.mark.parametrize(
    "endpoint",
    [
        "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "file:///etc/passwd", "blob:https://a.example/1",
        "vbscript:x", "https://user:secret@a.example/", "https://user@a.example/", "https://", "https:///x", "//a.example/",
        "a.example", "", " https://a.example/", "https://a.example/ ", "https://a.example/\n", "https://a.example/\u202e",
        "https://\u0430.example/", "https://a.example:99999/", "https://a.example:x/", "https://a.example/<script>",
        'https://a.example/"', "https://a.example/\\", "https://a.example/{SCID}", "https://[::1", "https://" + "a" * 2048,
        "http:a.example", "https:\\\\a.example", "https://a.example/%zz", "did:ids:", "\x00", "mailto:",
    ],
    ids=lambda endpoint: repr(endpoint)[:40],
)  # fmt: skip
def test_endpoints_that_hurt_whoever_follows_them(target: Target, endpoint: str) -> None:
    wish = {"serviceEndpoints": [{"type": "LinkedDomains", "serviceEndpoint": endpoint}]}
    answer = target.stranger.create({"method": "ids", "options": wish})
    if endpoint == "did:ids:":
        # Not a DID, but an absolute URI whose scheme decides nothing.
        assert answer.status in (201, 422)
    else:
        assert answer.outcome == INVALID, answer.body


def test_the_service_calls_no_endpoint(target: Target) -> None:
    """An endpoint of ours that listens hears nothing when it is registered, changed, or resolved."""
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.setblocking(False)
        url = f"http://127.0.0.1:{trap.getsockname()[1]}/"
        hana = target.stranger.holder(serviceEndpoints=[{"type": "LinkedDomains", "serviceEndpoint": url}])
        assert hana.act("update", service(endpoint=url)).status == 200
        assert hana.act("update", {"operation": "setAlsoKnownAs", "alsoKnownAs": [url]}).status == 200
        assert hana.resolve().status == 200
        assert hana.act("deactivate", LEAVE).status == 200
        with pytest.raises(BlockingIOError):
            trap.accept()


def test_documents_do_not_grow_without_end(target: Target) -> None:
    hana = target.stranger.holder()
    many = [{"type": "LinkedDomains", "serviceEndpoint": f"https://a.example/{n}"} for n in range(21)]
    assert target.stranger.create({"method": "ids", "options": {"serviceEndpoints": many}}).outcome == INVALID
    assert target.stranger.create({"method": "ids", "options": {"serviceEndpoints": many * 5000}}).status in (400, 413)
    names = [f"https://a.example/{n}" for n in range(11)]
    assert hana.act("update", {"operation": "setAlsoKnownAs", "alsoKnownAs": names}).outcome == INVALID
    keys = [{"type": "Ed25519", "purpose": ["authentication"]}] * 20
    assert target.stranger.create({"method": "ids", "options": {"additionalKeys": keys}}).outcome == INVALID
    long = [service(f"s{n}", "https://a.example/" + "x" * 2000) for n in range(9)]
    assert hana.act("update", {"operations": long}).outcome == INVALID
    assert hana.act("update", {"operations": [service(str(n)) for n in range(51)]}).status in (400, 422)
    bls = [{"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}] * 64
    assert target.stranger.create({"method": "ids", "options": {"additionalKeys": bls}}).outcome == INVALID
    assert verify(hana.log()).versions == 1


def test_service_ids_of_nobody_and_of_others(target: Target) -> None:
    hana, mallory = target.stranger.holder(), target.stranger.holder()
    for name in (
        f"{mallory.did}#files", f"{hana.did}#a#b", f"{hana.did}", "", "#", "a b", "a\n", "a/b", "a?b", "a%20", "\u0430", "a\u200b",
        "x" * 65, "..%2f", "#" + hana.did,
    ):  # fmt: skip
        assert hana.act("update", service(name)).outcome == INVALID, name
    assert hana.act("update", service("#files")).status == 200
    assert hana.act("update", service(f"{hana.did}#files")).outcome == INVALID
    assert hana.act("update", service(f"{hana.did}#more")).status == 200


def look_alikes(did: str) -> dict[str, str]:
    """Texts that a careless comparison, decoding or regular expression takes for ``did``; as they stand in a path, escaped."""
    tail = did.rpartition(":")[2]
    texts = {
        "newline": did + "\n",
        "return": did + "\r",
        "nul": did + "\0",
        "blank_before": " " + did,
        "blank_after": did + " ",
        "tab": did + "\t",
        "zero_width": did[:12] + "\u200b" + did[12:],
        "bom": "\ufeff" + did,
        "cyrillic": did.replace("i", "\u0456", 1),
        "fullwidth": did.replace("d", "\uff44", 1),
        "combining": did + "\u0301",
        "arabic_digit": did + "\u0661",
        "scheme_in_capitals": did.replace("did", "DID", 1),
        "method_in_capitals": did.replace("ids", "IDS", 1),
        "another_case": did.replace(tail, tail.swapcase()),
        "one_short": did[:-1],
        "one_long": did + "1",
        "two_colons": did.replace(":ids:", ":ids::"),
        "colon_after": did + ":",
        "path": did + "/x",
        "query": did + "?versionId=1",
        "fragment": did + "#key-1",
        "parameter": did + ";a=b",
        "dot": did + ".",
        "escaped_twice": quote(did, safe=""),
        "percent": did + "%20",
        "o_for_zero": did[:-1] + "0",
        "long": "did:ids:" + "Q" * 4000,
        "no_method": "did::" + tail,
        "no_identifier": "did:ids:",
        "bare": tail,
        "sql": did + "' OR '1'='1",
        "glob": did[:-3] + "%%%",
        "wildcard": did[:-1] + "_",
        "dots": "..",
    }
    return {name: quote(text, safe="") for name, text in texts.items()}


LOOK_ALIKES = list(look_alikes("did:ids:x"))


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_only_the_did_is_the_did(target: Target, name: str) -> None:
    """On every path over a raw socket, and as the parameter of the challenge."""
    hana = target.stranger.holder(strictEvidence=False)
    spelled = look_alikes(hana.did)[name]
    signed = b"Authorization: " + unbound(hana).encode()
    body = json.dumps(service()).encode()
    media = b"Content-Type: application/json"
    data = [
        request("GET", f"{PREFIX}/dids/{spelled}"),
        request("GET", f"{PREFIX}/dids/{spelled}/history"),
        request("GET", f"{PREFIX}/dids/{spelled}/log"),
        request("GET", f"{PREFIX}/auth/challenge?did={spelled}"),
        request("GET", f"/auth/challenge?did={spelled}"),
        request("PATCH", f"{PREFIX}/dids/{spelled}", media, signed, body=body),
        request("POST", f"{PREFIX}/dids/{spelled}/recover", media, signed, body=body),
    ]
    for each in data:
        answer = exchange(target.wire.address, each)
        assert answer.status in (400, 404), (each, answer.body)
        assert answer.code in ("INVALID_DID", "DID_NOT_FOUND", "INVALID_REQUEST"), (each, answer.code)
    assert verify(hana.log()).versions == 1


def test_a_slash_in_the_did_chooses_no_other_operation(target: Target) -> None:
    hana = target.stranger.holder()
    for tail in (
        "%2Fhistory",
        "%2flog",
        "%2F..%2Fhistory",
        "%252Fhistory",
        "%5Chistory",
        ";/history",
        "%2Fkeys%2Frotate",
    ):
        answer = exchange(target.wire.address, request("GET", f"{PREFIX}/dids/{hana.did}{tail}"))
        assert answer.code in ("INVALID_DID", "NOT_FOUND"), (tail, answer.body)
        assert b'"items"' not in answer.body
    for path in (f"{PREFIX}/dids/{hana.did}/./history", f"{PREFIX}/dids/x/../{hana.did}", f"{PREFIX}/dids//{hana.did}"):
        assert exchange(target.wire.address, request("GET", path)).code in ("NOT_FOUND", "INVALID_DID")


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00", "2026-01-01", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
        "2026-01-01T24:00:00Z", "\u0662026-01-01T00:00:00Z", "2026-01-01T00:00:00Z\n", "0000-01-01T00:00:00Z", "-2026-01-01T00:00:00Z",
        "9999999-01-01T00:00:00Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00." + "1" * 500 + "Z", "1767225600", "now", "",
        "2026-W01-1T00:00:00Z", "20260101T000000Z", "2026-01-01T00:00:00+99:99",
    ],
    ids=lambda text: repr(text)[:40],
)  # fmt: skip
def test_times_that_are_none(target: Target, text: str) -> None:
    """As a raw query, where ``+`` is a blank; none of them may be taken for another time, and none is a 500."""
    hana = target.stranger.holder(strictEvidence=False)
    answer = hana.resolve("?versionTime=" + (text if text.isascii() and text.isprintable() else quote(text)))
    assert answer.status in (400, 404), answer.body
    if answer.status == 404:
        assert text.startswith("2026-01-01T00:00:00.1")
    body = {"oldKeyId": hana.key_id, "newKeyType": "Ed25519", "revokeOldAfter": text}
    value = unbound(hana)
    if text not in ("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00." + "1" * 500 + "Z"):
        assert hana.send("rotate", body, value).outcome == MALFORMED


def test_times_at_the_ends_of_the_calendar(target: Target) -> None:
    hana = target.stranger.holder(strictEvidence=False)
    for text, status in (
        ("0001-01-01T00:00:00Z", 404),
        ("0001-01-01T00:00:00%2B23:59", 400),
        ("9999-12-31T23:59:59Z", 200),
        ("9999-12-31T23:59:59-23:59", 400),
        ("1969-12-31T23:59:59Z", 404),
        ("2016-12-31T23:59:60Z", 404),
    ):
        answer = hana.resolve("?versionTime=" + text)
        assert answer.status in (status, 400), (text, answer.body)
    for text in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59"):
        body = {"oldKeyId": hana.key_id, "newKeyType": "Ed25519", "revokeOldAfter": text}
        assert hana.send("rotate", body, unbound(hana)).status in (200, 400, 401, 422)


def test_a_did_key_takes_no_change(target: Target) -> None:
    key = SigningKey.generate()
    own = [{"type": "Ed25519", "publicKeyMultibase": public(key), "purpose": ["authentication"]}]
    did = target.stranger.create({"method": "key", "options": {"publicKeys": own}}).json["did"]
    static = Holder(target.wire, did, key, None, {})
    for act, body in (("update", service()), ("update", add_key(public(SigningKey.generate()))), ("deactivate", LEAVE)):
        assert static.act(act, body).outcome == INVALID, act
