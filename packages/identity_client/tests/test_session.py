"""The session: what it sends, how it reads answers, and what it tells of them. The other side is a bare HTTP server."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn
from urllib.parse import quote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from identity_client import Exchange, ForeignOrigin, ServiceError, ServiceUnreachable, Session, Signer, hash_body
from identity_core.domain.dids import challenge, keys
from packages.identity_client.tests.test_did_auth import DID, PAIR, TARGET, text

SIGNER = Signer(DID, PAIR.secret)


@dataclass
class Other:
    """Answers as it was told and remembers what it was asked."""

    url: str = ""
    status: int = 200
    media_type: str = "application/json"
    body: bytes = b"{}"
    challenge: str | None = None
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def other() -> Iterator[Other]:
    state = Other()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            state.asked.append((self.command, self.path, headers, sent))
            offers = state.challenge is not None and "/auth/challenge" in self.path
            data = json.dumps({"challenge": state.challenge}).encode() if offers else state.body
            self.send_response(200 if offers else state.status)
            self.send_header("Content-Type", state.media_type)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_DELETE = answer

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        state.url = f"http://127.0.0.1:{server.server_port}"
        yield state
        server.shutdown()
        thread.join()


def test_the_api_key_goes_where_nothing_else_speaks(other: Other) -> None:
    with Session(other.url + "/", api_key="secret") as session:
        session.create({"method": "ids"}, idempotency_key="once")
        session.resolve(DID)
        session.call("PATCH", "/dids/x", headers={"Authorization": "DIDAuth x"})
    (create, resolve, patch) = other.asked
    assert create[:2] == ("POST", "/api/v1/dids")
    assert create[2]["authorization"] == "ApiKey secret"
    assert create[2]["idempotency-key"] == "once"
    assert "authorization" not in resolve[2]
    assert patch[2]["authorization"] == "DIDAuth x"


def test_a_did_is_one_segment_of_the_path(other: Other) -> None:
    with Session(other.url) as session:
        session.resolve("did:web:id.example%3A8443/../x?y#z", versionId=3)
    assert other.asked[0][1] == "/api/v1/dids/did%3Aweb%3Aid.example%253A8443%2F..%2Fx%3Fy%23z?versionId=3"


def test_a_change_is_signed_for_itself(other: Other) -> None:
    body = {"operation": "removeService", "serviceId": "files"}
    other.challenge = text(target=TARGET)
    with Session(other.url, origin="https://id.example") as session:
        session.update(DID, body, SIGNER)
    (ask, change) = other.asked
    assert f"bodyHash={hash_body(body)}" in ask[1]
    assert "purpose=update" in ask[1]
    assert f"target={quote(TARGET + '?', safe='')}" in ask[1]
    scheme, _, value = change[2]["authorization"].partition(" ")
    assert scheme == "DIDAuth"
    assert str(challenge.parse_header(value).did) == DID
    assert json.loads(change[3]) == body


@pytest.mark.parametrize(
    ("purpose", "target"),
    [("deactivate", TARGET), (None, TARGET), ("update", None), ("update", TARGET + "/recover")],
)
def test_service_that_offers_another_challenge_gets_no_signature(
    other: Other, purpose: str | None, target: str | None
) -> None:
    other.challenge = text(purpose=purpose, target=target)
    with Session(other.url) as session, pytest.raises(ValueError, match=r"something else|not bound"):
        session.update(DID, {"operation": "removeService", "serviceId": "files"}, SIGNER)
    assert len(other.asked) == 1


def test_relayed_challenge_gets_no_signature(other: Other) -> None:
    """The challenge would sign in there in the holder's name."""
    other.challenge = text(target=TARGET)
    with Session(other.url) as session, pytest.raises(ForeignOrigin, match=r"https://id\.example"):
        session.update(DID, {"operation": "removeService", "serviceId": "files"}, SIGNER)
    assert len(other.asked) == 1


def test_a_refusal_is_read(other: Other) -> None:
    other.status = 422
    other.body = b'{"error": {"code": "INVALID_DOCUMENT", "message": "no", "details": {"requestId": "1"}}}'
    with Session(other.url) as session, pytest.raises(ServiceError) as refused:
        session.create({})
    error = refused.value
    assert (error.status, error.code, error.message, error.details) == (
        422,
        "INVALID_DOCUMENT",
        "no",
        {"requestId": "1"},
    )
    assert str(error) == '422 INVALID_DOCUMENT: no {"requestId":"1"}'


def test_text_of_a_refusal_has_its_remedy() -> None:
    error = ServiceError(400, "INVALID_REQUEST", "It is wrong.", {"reason": "a\nb", "remedy": "Send\nanother."})
    assert str(error) == '400 INVALID_REQUEST: It is wrong. {"reason":"a\\nb"} Send another.'
    assert str(ServiceError(400, "INVALID_REQUEST", "It is wrong.", {})) == "400 INVALID_REQUEST: It is wrong."


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"\xff", b'{"error": "no"}', b'{"error": {}}'])
@pytest.mark.parametrize("media_type", ["text/html", "application/json"])
def test_any_other_error_is_readable_too(other: Other, body: bytes, media_type: str) -> None:
    other.status, other.body, other.media_type = 502, body, media_type
    with Session(other.url) as session, pytest.raises(ServiceError) as refused:
        session.create({})
    assert (refused.value.status, refused.value.code) == (502, "UNREADABLE")


def test_text_stays_text(other: Other) -> None:
    other.media_type, other.body = "application/jsonl", b'{"a":1}\n{"a":2}\n'
    with Session(other.url) as session:
        assert session.log(DID) == '{"a":1}\n{"a":2}\n'


def test_nobody_there() -> None:
    with Session("http://127.0.0.1:1") as session, pytest.raises(ServiceUnreachable):
        session.resolve(DID)


def test_observer_gets_answers_and_refusals(other: Other) -> None:
    told: list[Exchange] = []
    with Session(other.url, on_exchange=told.append) as session:
        session.create({"method": "ids"})
        other.status, other.body = 404, b'{"error": {"code": "DID_NOT_FOUND", "message": "no"}}'
        with pytest.raises(ServiceError):
            session.resolve(DID)
    assert [(one.method, one.status, one.sent) for one in told] == [
        ("POST", 200, {"method": "ids", "options": {"strictEvidence": True}}),
        ("GET", 404, None),
    ]
    assert told[1].path.startswith("/api/v1/dids/did%3Akey")
    assert told[1].answer["error"]["code"] == "DID_NOT_FOUND"
    # Either may hold keys, so neither shows by accident.
    assert "ids" not in repr(told[0]).replace("/dids", "")


def test_the_key_is_a_real_one() -> None:
    assert keys.PublicKey.parse("Ed25519", PAIR.public).multibase == PAIR.public


def test_only_a_client_of_https_reads_the_trust_store(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any, **__: Any) -> NoReturn:
        raise RuntimeError("the trust store is read")

    monkeypatch.setattr(ssl, "create_default_context", read)
    Session("http://127.0.0.1:1").close()
    with pytest.raises(RuntimeError, match="the trust store is read"):
        Session("https://id.example")


def test_it_trusts_the_authority_that_the_environment_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service with a certificate of its operator's own, as `deploy/GUIDE.md` makes one."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    addresses = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    certificate = made.add_extension(addresses, critical=False).sign(key, hashes.SHA256()).public_bytes(pem)
    (tmp_path / "own.pem").write_bytes(certificate)
    (tmp_path / "own.key").write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *said: object) -> None:
            return None

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "own.pem", tmp_path / "own.key")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://127.0.0.1:{server.server_port}"
        for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            monkeypatch.delenv(variable, raising=False)
        with Session(url) as client, pytest.raises(ServiceUnreachable):
            client.call("GET", "/health")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))
        # A proxy of the environment is asked nothing.
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
        with Session(url) as client:
            assert client.call("GET", "/health") == {}
        server.shutdown()
