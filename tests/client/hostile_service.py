"""A server that answers as no good one does, with raw bytes, and what a client in any language must make of each answer.

Below ``/<case>/`` lies a service of its own; every request to it is kept.
"""

from __future__ import annotations

import contextlib
import json
import socketserver
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from identity_client.challenge import origin_field

DID = "did:ids:QmPdn589kkBJKooQMPRUHHsRXAUDJAqunTWzvoEFGy5t6P"
HASH = "A" * 43


@dataclass(frozen=True)
class Case:
    """What is asked and answered: the answers in their order, the last one for good. ``code`` is that of the error, None for an answer;
    ``requests`` is how many the client sends, with two retries."""

    operation: str
    answers: tuple[bytes, ...]
    code: str | None
    requests: int
    given: dict[str, Any] = field(default_factory=dict)
    paged: bool = False
    signed: bool = False


def answer(status: str, body: bytes, *headers: str, media: str = "application/json") -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {media}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def refusal(status: str, code: str, *headers: str) -> bytes:
    return answer(status, json.dumps({"error": {"code": code, "message": "no", "details": {}}}).encode(), *headers)


def challenge(**change: str) -> bytes:
    said = {"origin": "ORIGIN#TARGET", "did": DID, "purpose": "update", "hash": "HASH"} | change
    nonce, expiry = "A" * 43, "2099-01-01T00:00:00Z"
    text = f"didauth:v1 {said['origin']} {said['did']} {said['purpose']} {said['hash']} {nonce} {expiry}"
    return answer("200 OK", json.dumps({"challenge": text, "expiresAt": expiry}).encode())


ALIVE = answer("200 OK", b'{"status":"ok"}')
LIMITED = refusal("429 Too Many Requests", "RATE_LIMITED", "Retry-After: 0")
DOWN = refusal("503 Service Unavailable", "OVERLOADED", "Retry-After: 0")
CREATE: dict[str, Any] = {"body": {"method": "ids"}}
VERIFY: dict[str, Any] = {"body": {"credential": {}}}
UPDATE: dict[str, Any] = {"did": DID, "body": {"operation": "removeService", "serviceId": "files"}}
PAGE = answer("200 OK", b'{"items":[{}],"nextCursor":"next"}')
ENDLESS = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + b'"' + b"a" * 200_000

CASES = {
    "limited and then not": Case("getHealth", (LIMITED, LIMITED, ALIVE), None, 3),
    "limited for good": Case("verifyCredential", (LIMITED,), "RATE_LIMITED", 3, VERIFY),
    "told to wait for days": Case(
        "getHealth", (refusal("429 Too Many Requests", "RATE_LIMITED", "Retry-After: 999999"),), "RATE_LIMITED", 1
    ),
    "told to wait for a word": Case(
        "getHealth", (refusal("429 Too Many Requests", "RATE_LIMITED", "Retry-After: -1e9"), ALIVE), None, 2
    ),
    "down and a read": Case("getHealth", (DOWN, DOWN, ALIVE), None, 3),
    "down for good": Case("getHealth", (DOWN,), "OVERLOADED", 3),
    "down and a change with a key": Case("createDid", (DOWN,), "OVERLOADED", 3, CREATE),
    "down and a request without a key": Case("verifyCredential", (DOWN,), "OVERLOADED", 1, VERIFY),
    "in progress": Case("createDid", (refusal("409 Conflict", "REQUEST_IN_PROGRESS"),), "REQUEST_IN_PROGRESS", 3, CREATE),
    "another conflict": Case("createDid", (refusal("409 Conflict", "DID_EXISTS"),), "DID_EXISTS", 1, CREATE),
    "cut off": Case("getHealth", (ALIVE[:-4],), "UNREACHABLE", 3),
    "cut off and a request without a key": Case("verifyCredential", (ALIVE[:-4],), "UNREACHABLE", 1, VERIFY),
    "closed at once": Case("getHealth", (b"",), "UNREACHABLE", 3),
    "not HTTP": Case("getHealth", (b"SSH-2.0-OpenSSH_9.2\r\n",), "UNREACHABLE", 3),
    "a page of a portal": Case("getHealth", (answer("200 OK", b"<html>", media="text/html"),), "UNREADABLE", 1),
    "a page of a proxy": Case("getHealth", (answer("502 Bad Gateway", b"<html>", media="text/html"),), "UNREADABLE", 3),
    "half of a JSON text": Case("getHealth", (answer("200 OK", b'{"status":'),), "UNREADABLE", 1),
    "not UTF-8": Case("getHealth", (answer("200 OK", b'{"status":"\xff"}'),), "UNREADABLE", 1),
    "an error of another shape": Case("getHealth", (answer("400 Bad Request", b'{"error":[1]}'),), "UNREADABLE", 1),
    "an error that is null": Case("getHealth", (answer("400 Bad Request", b"null"),), "UNREADABLE", 1),
    "too many bytes": Case("getHealth", (ENDLESS,), "UNREADABLE", 1),
    "too many bytes of an error": Case("getHealth", (ENDLESS.replace(b"200 OK", b"400 Bad", 1),), "UNREADABLE", 1),
    "pages in a circle": Case("listCredentialSchemas", (PAGE,), "UNREADABLE", 2, paged=True),
    "pages without end": Case("listCredentialSchemas", (PAGE.replace(b"next\"", b"NNNN\""),), "UNREADABLE", 5, paged=True),
    "a page of no items": Case("listCredentialSchemas", (ALIVE,), "UNREADABLE", 1, paged=True),
    "a cursor of another type": Case(
        "listCredentialSchemas", (answer("200 OK", b'{"items":[{}],"nextCursor":{}}'),), "UNREADABLE", 1, paged=True
    ),
    "a challenge of another service": Case(
        "updateDid", (challenge(origin="https://bank.example#TARGET"),), "REFUSED", 1, UPDATE, signed=True
    ),
    "a challenge for another purpose": Case("updateDid", (challenge(purpose="deactivate"),), "REFUSED", 1, UPDATE, signed=True),
    "a challenge for any body": Case("updateDid", (challenge(hash="-"),), "REFUSED", 1, UPDATE, signed=True),
    "a challenge for another body": Case("updateDid", (challenge(hash=HASH),), "REFUSED", 1, UPDATE, signed=True),
    "a challenge for any target": Case("updateDid", (challenge(origin="ORIGIN"),), "REFUSED", 1, UPDATE, signed=True),
    "a challenge for another target": Case("updateDid", (challenge(origin=f"ORIGIN#{HASH}"),), "REFUSED", 1, UPDATE, signed=True),
    "a challenge for another DID": Case("updateDid", (challenge(did=DID[:-1] + "Q"),), "REFUSED", 1, UPDATE, signed=True),
    "a token as a challenge": Case("updateDid", (answer("200 OK", b'{"challenge":{"a":1}}'),), "REFUSED", 1, UPDATE, signed=True),
    "no challenge": Case("updateDid", (answer("200 OK", b"{}"),), "REFUSED", 1, UPDATE, signed=True),
}  # fmt: skip
ELSEWHERE = "led elsewhere"
PATIENT = "asked to be patient"
DRIPPING = "an byte now and then"
MOST_OCTETS = 100_000
MOST_PAGES = 5


class Hostile(socketserver.ThreadingTCPServer):
    """``requests`` are the heads and bodies of what came, by case."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.requests: defaultdict[str, list[bytes]] = defaultdict(list)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.lock = threading.Lock()

    def build_url(self, name: str) -> str:
        """Where the service of a case is."""
        return f"{self.url}/{place(name)}"


def place(name: str) -> str:
    return name.replace(" ", "-")


class _Connection(socketserver.StreamRequestHandler):
    server: Hostile

    def handle(self) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline(65_536)
            if not line:
                return
            head += line
        lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        body = self.rfile.read(int(lengths[0])) if lengths else b""
        name = head.split(b" ")[1].split(b"/")[1].decode()
        with self.server.lock:
            self.server.requests[name].append(head + body)
            number = len(self.server.requests[name])
        with contextlib.suppress(OSError):
            if name == place(DRIPPING):
                self._drip()
            self.wfile.write(self._answer(name, number, head))

    def _drip(self) -> None:
        """Until the client has had enough, which the next write tells."""
        self.wfile.write(
            ALIVE.partition(b"\r\n\r\n")[0].replace(b"Content-Length: 15", b"Content-Length: 9999") + b"\r\n\r\n"
        )
        while True:
            self.wfile.write(b" ")
            threading.Event().wait(0.02)

    def _answer(self, name: str, number: int, head: bytes) -> bytes:
        if name == place(ELSEWHERE):
            return answer("302 Found", b"", f"Location: {self.server.url}/caught/api/v1/health")
        if name == place(PATIENT):
            return refusal("429 Too Many Requests", "RATE_LIMITED", "Retry-After: 30")
        answers = next((case.answers for each, case in CASES.items() if place(each) == name), (ALIVE,))
        chosen = answers[min(number, len(answers)) - 1].replace(b"NNNN", b"%04d" % number)
        if b"ORIGIN" not in chosen and b"HASH" not in chosen:
            return chosen
        query = parse_qs(urlsplit(head.split(b" ")[1].decode()).query)
        told = {
            "ORIGIN": self.server.url,
            "HASH": query["bodyHash"][0],
            "TARGET": origin_field("", query["target"][0])[1:],
        }
        said = chosen.partition(b"\r\n\r\n")[2].decode()
        for word, value in told.items():
            said = said.replace(word, value)
        return answer("200 OK", said.encode())


@contextlib.contextmanager
def hostile_service() -> Iterator[Hostile]:
    with Hostile() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
