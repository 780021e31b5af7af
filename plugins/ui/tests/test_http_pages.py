"""Attacks on the pages without a browser: sessions, cookies, forms of other origins, markup in text."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import time
from urllib.parse import quote, urlencode

import pytest

from tests.attack.conftest import Target
from tests.attack.page_requests import FORM, MARKUP, OWN, begin, cookie_of, page, session_of, signed
from tests.attack.stranger import LEAVE, PREFIX, base64url, body_hash, header


def is_signed_in(target: Target, cookie: str) -> bool:
    answer = page(target, "/ui/home", cookie)
    assert answer.status in (200, 303), answer.body
    return answer.status == 200


def test_session_reads_pages_and_no_operation_takes_its_cookie(target: Target) -> None:
    hana = target.stranger.holder()
    answer = begin(hana)
    cookie = cookie_of(answer)
    attributes = answer.headers["set-cookie"].split("; ")[1:]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    assert is_signed_in(target, cookie)
    value = cookie.partition("=")[2]
    for path in ("/delegations", "/dashboard/timeline", "/credentials"):
        assert target.wire.call("GET", PREFIX + path, None, {"Cookie": cookie}).status == 401
        for scheme in ("Bearer", "ApiKey", "DIDAuth"):
            refused = target.wire.call("GET", PREFIX + path, None, {"Authorization": f"{scheme} {value}"})
            assert refused.status == 401


@pytest.mark.parametrize("bound", ["nothing", "purpose", "another body", "another purpose", "unnamed"])
def test_a_signature_for_something_else_begins_no_session(target: Target, bound: str) -> None:
    hana = target.stranger.holder(strictEvidence=False)
    digest = body_hash(session_of(hana))
    made = {
        "nothing": lambda: signed(hana, purpose=None),
        "purpose": lambda: signed(hana),
        "another body": lambda: signed(hana, digest=body_hash({"did": hana.did})),
        "another purpose": lambda: signed(hana, purpose="delegate", digest=digest),
        "unnamed": lambda: header(hana.did, hana.key.sign(hana.challenge("read", digest).encode()).signature),
    }[bound]()
    answer = begin(hana, made)
    assert answer.outcome == (401, "AUTH_FAILED")
    assert "set-cookie" not in answer.headers


def test_a_signature_begins_one_session_of_its_own_did_alone(target: Target) -> None:
    hana, mallory = target.stranger.holder(), target.stranger.holder()
    authorization = signed(hana, digest=body_hash(session_of(hana)))
    assert begin(hana, authorization).status == 204
    assert begin(hana, authorization).outcome == (401, "AUTH_FAILED")
    assert begin(mallory, signed(mallory, digest=body_hash(session_of(hana)))).outcome == (401, "AUTH_FAILED")
    # And none for an operation that reads.
    unused = signed(hana, digest=body_hash(session_of(hana)))
    path = f"{PREFIX}/dashboard/timeline"
    assert target.wire.call("GET", path, None, {"Authorization": unused}).outcome == (401, "AUTH_FAILED")


def test_a_cookie_that_was_changed_or_made_up_is_none(target: Target) -> None:
    hana, mallory = target.stranger.holder(), target.stranger.holder()
    name, _, value = cookie_of(begin(mallory)).partition("=")
    text, _, tag = value.partition(".")
    said = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    forged = base64url(json.dumps(said | {"did": hana.did}).encode())
    tampered = [
        f"{forged}.{tag}",
        f"{text}.{tag[:-2]}AA",
        f"{text}.",
        text,
        f".{tag}",
        "." * 40,
        "A" * 4_000,
        f"{text}.{tag}=",
        '"' + value + '"',
    ]
    assert [each for each in tampered if is_signed_in(target, f"{name}={each}")] == []
    # Others on the same host may set cookies of our name; the one that is ours counts.
    assert is_signed_in(target, f"{name}=junk; other=1; {name}={value}")


def test_signing_out_ends_the_session_and_not_just_the_cookie(either: Target) -> None:
    hana = either.stranger.holder()
    cookie, other = cookie_of(begin(hana)), cookie_of(begin(hana))
    out = either.wire.call("POST", "/ui/sign-out", b"", FORM | {"Cookie": cookie})
    assert (out.status, out.headers["location"]) == (303, "/ui")
    assert "Max-Age=0" in out.headers["set-cookie"]
    for _ in range(4):
        assert either.wire.call("GET", "/ui/home", None, {"Cookie": cookie}, fresh=True).status == 303
    assert is_signed_in(either, other)


def test_a_session_ends_with_its_key_and_its_did(target: Target) -> None:
    hana = target.stranger.holder()
    cookie = cookie_of(begin(hana))
    assert hana.act("deactivate", LEAVE).status == 200
    assert not is_signed_in(target, cookie)
    # Pages for anybody are there all the same.
    assert page(target, "/ui/verify", cookie).status == 200


@pytest.mark.parametrize(
    "origin",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/ui/sign-out", "/ui/session", "/ui/verify", "/ui/agents/stop"])
def test_forms_of_other_origins_do_nothing(target: Target, path: str, origin: dict[str, str]) -> None:
    hana = target.stranger.holder()
    cookie = cookie_of(begin(hana))
    media = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = target.wire.call("POST", path, b"proof=%7B%7D", media | {"Cookie": cookie} | origin)
    assert answer.status == 403
    assert is_signed_in(target, cookie)


def test_form_with_the_own_origin_alone_is_taken(target: Target) -> None:
    """Browsers without Fetch Metadata, and all browsers on plain HTTP beside loopback, send ``Origin`` alone."""
    cookie = cookie_of(begin(target.stranger.holder()))
    media = {"Content-Type": "application/x-www-form-urlencoded", "Origin": target.wire.url}
    assert target.wire.call("POST", "/ui/sign-out", b"", media | {"Cookie": cookie}).status == 303
    assert not is_signed_in(target, cookie)


@pytest.mark.parametrize("text", MARKUP)
def test_markup_in_what_somebody_asks_for_stays_text(target: Target, text: str) -> None:
    answers = [
        target.wire.call("POST", "/ui/verify", urlencode({"proof": text, "domain": text}).encode(), FORM),
        target.wire.call(
            "POST", "/ui/verify", urlencode({"proof": json.dumps({"proof": text}), "issuer": text}).encode(), FORM
        ),
        page(target, f"/ui/did/{quote(text, safe='')}"),
        page(target, f"/ui/did/did:ids:{quote(text, safe='')}?version={quote(text, safe='')}"),
        page(target, f"/ui/transaction/{quote(text, safe='')}"),
        page(target, f"/ui/search?q={quote(text, safe='')}"),
        page(target, f"/ui/sign-in?to={quote(text, safe='')}"),
    ]
    for answer in answers:
        assert answer.status < 500
        location = answer.headers.get("location", "/ui")
        assert location.startswith("/ui")
        assert "\n" not in location
        if "<" in text and answer.headers["content-type"].startswith("text/html"):
            assert text not in answer.body.decode()
    if "<" in text:
        assert html.escape(text) in answers[0].body.decode().replace("&#34;", "&quot;").replace("&#39;", "&#x27;")


def test_every_page_has_the_policy_and_a_nonce_of_its_own(target: Target) -> None:
    cookie = cookie_of(begin(target.stranger.holder()))
    nonces = set()
    paths = ["/ui", "/ui/verify", "/ui/sign-in", "/ui/home", "/ui/agents", "/ui/agents/new", "/ui/activity", "/ui/keys"]
    paths += ["/ui/credentials", "/ui/issued", "/ui/results", "/ui/check-log", "/ui/did/did:ids:none"]
    for path in paths:
        answer = page(target, path, cookie)
        policy = answer.headers["content-security-policy"]
        (nonce,) = re.findall(r"script-src 'nonce-([^']+)';", policy)
        nonces.add(nonce)
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert answer.headers["cache-control"] == "no-store"
        body = answer.body.decode()
        assert len(answer.body) < 100_000
        assert re.findall(r"<script(?! nonce=)|\son[a-z]+=|style=|https?://", body.replace(target.wire.url, "")) == []
        for script in re.findall(r"<script[^>]*>", body):
            assert f'nonce="{nonce}"' in script
    assert len(nonces) == len(paths)


def test_files_are_compressed_for_who_takes_that_and_pages_never(target: Target) -> None:
    """A page holds text that another user may have chosen beside secret text: compressed, its length would reveal it."""
    cookie = cookie_of(begin(target.stranger.holder()))
    takes = {"Accept-Encoding": "gzip, deflate, br"}
    for path in ("/ui/verify", "/ui/home", "/ui/agents/new", "/ui/keys"):
        answer = target.wire.call("GET", path, None, takes | {"Cookie": cookie})
        assert "content-encoding" not in answer.headers
        data = len(answer.body)
        # An icon is a fragment of a file that is loaded once.
        for file in set(re.findall(r'(?:src|href)="(/ui/static/[^"#]+)', answer.body.decode())):
            packed, plain = target.wire.call("GET", file, None, takes), target.wire.call("GET", file)
            assert packed.headers["content-encoding"] == "gzip"
            assert "content-encoding" not in plain.headers
            assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
            assert gzip.decompress(packed.body) == plain.body
            data += len(packed.body)
        assert data < 55_000, path


def test_root_is_page_for_browsers_and_nothing_for_programs(target: Target) -> None:
    browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    assert target.wire.call("GET", "/", None, {"Accept": browser}).status == 200
    for accept in ("application/json", "*/*", "image/png"):
        assert target.wire.call("GET", "/", None, {"Accept": accept}).outcome == (404, "NOT_FOUND")
    assert target.wire.call("GET", "/").outcome == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("body", "media", "outcome"),
    [
        (b"proof=%ff%fe", FORM["Content-Type"], (400, "INVALID_REQUEST")),
        (b"\xff", FORM["Content-Type"], (400, "INVALID_REQUEST")),
        (b"&".join(b"a%d=1" % number for number in range(40)), FORM["Content-Type"], (400, "INVALID_REQUEST")),
        (b"{}", "application/json", (415, "UNSUPPORTED_MEDIA_TYPE")),
        (b"proof=" + b"a" * 300_000, FORM["Content-Type"], (413, "PAYLOAD_TOO_LARGE")),
    ],
    ids=["not UTF-8", "not ASCII", "many fields", "JSON", "large"],
)
def test_malformed_form_is_refused(target: Target, body: bytes, media: str, outcome: tuple[int, str]) -> None:
    assert target.wire.call("POST", "/ui/verify", body, OWN | {"Content-Type": media}).outcome == outcome


def test_claimed_name_is_marked_in_every_sentence(target: Target) -> None:
    """An agent that calls itself like a website is not shown as the website that names it."""
    claim = {"type": "ProfileName", "serviceEndpoint": "urn:identity-service:name:https%3A%2F%2Fbank.example"}
    hana, mallory = target.stranger.holder(), target.stranger.holder(serviceEndpoints=[claim])
    expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3_600))
    body = {"holderDid": hana.did, "agentDid": mallory.did, "actions": ["zkp.prove.age.gte"], "autonomyLevel": 3}
    key = {"X-API-Key": target.stranger.api_key}
    made = target.wire.call("POST", f"{PREFIX}/delegations", body | {"expiresAt": expires}, key)
    assert made.status == 201, made.body
    cookie, shown = cookie_of(begin(hana)), 0
    for path in ("/ui/home", "/ui/agents", "/ui/activity", f"/ui/delegation/{made.json['id']}"):
        text = page(target, path, cookie).body.decode()
        names = re.findall(
            r"<b[^>]*><bdi>([^<]*bank\.example[^<]*)</bdi></b>(?:</a>)?( <span class=\"small warn\">name not verified)?",
            text,
        )
        assert all(name == "“https://bank.example”" and hint for name, hint in names), (path, names)
        shown += len(names)
    assert shown >= 3
