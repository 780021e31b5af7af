"""Bytes over a socket, as no HTTP library would send them, and a corpus of requests that are none."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import dataclass
from typing import Any

import orjson

SECONDS = 60.0


@dataclass(frozen=True)
class Response:
    """One answer off the wire."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str | None:
        """The code of the one error shape; None for what is not JSON."""
        if self.headers.get("content-type") != "application/json":
            return None
        error: dict[str, Any] = orjson.loads(self.body)["error"]
        if set(error) != {"code", "message", "details"}:
            raise ValueError("not the error shape")
        if error["details"]["requestId"] != self.headers["x-request-id"]:
            raise ValueError("another request id")
        return str(error["code"])


def exchange(address: tuple[str, int], data: bytes, *, head: bool = False) -> Response:
    """Sends ``data`` on a fresh connection and reads one answer. Raises ConnectionError when there is none."""
    with socket.create_connection(address, timeout=SECONDS) as connection:
        # The server may answer and close before it has read everything.
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
        return _read(connection, head=head)


def read_several(connection: socket.socket, number: int) -> list[Response]:
    """So many answers to requests that are not HEAD; those before the last one of all (1xx) are left out. Raises ConnectionError."""
    found: list[Response] = []
    received = b""
    while len(found) < number:
        response, received = _next(connection, received, head=False)
        if response.status >= 200:
            found.append(response)
    if received:
        raise ValueError("more came than was asked for")
    return found


def _read(connection: socket.socket, *, head: bool) -> Response:
    return _next(connection, b"", head=head)[0]


def _next(connection: socket.socket, received: bytes, *, head: bool) -> tuple[Response, bytes]:
    """An answer, and what came behind it."""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    top, _, body = received.partition(b"\r\n\r\n")
    status_line, *lines = top.split(b"\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(b":")
        headers[name.strip().lower().decode()] = value.strip().decode()
    length = 0 if head else int(headers.get("content-length", "0"))
    while len(body) < length:
        body += _more(connection)
    return Response(int(status_line.split()[1]), headers, body[:length]), body[length:]


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionError("the server closed the connection without an answer")
    return data


def request(method: str, target: str | bytes, *headers: bytes, host: bytes = b"localhost", body: bytes = b"") -> bytes:
    """A request whose header lines are given as they go out; ``Content-Length`` only when there is a body."""
    raw = target if isinstance(target, bytes) else target.encode()
    lines = [method.encode() + b" " + raw + b" HTTP/1.1", b"Host: " + host, *headers]
    if body:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@dataclass(frozen=True)
class Case:
    """What is sent, and what must come back."""

    name: str
    raw: bytes
    status: int
    code: str


BAD_REQUEST = (400, "INVALID_REQUEST")
# What the HTTP parser in front of the application refuses: no request, and the same answer.
PARSER = BAD_REQUEST
BAD_DID = (400, "INVALID_DID")
UNAUTHORIZED = (401, "AUTH_FAILED")
AMBIGUOUS = (400, "AUTH_AMBIGUOUS")
NOT_FOUND = (404, "NOT_FOUND")
NOT_ALLOWED = (405, "METHOD_NOT_ALLOWED")
TOO_LARGE = (413, "PAYLOAD_TOO_LARGE")
MEDIA = (415, "UNSUPPORTED_MEDIA_TYPE")
HEADERS = (431, "HEADERS_TOO_LARGE")

DIDS = "/api/v1/dids"
JSON = b"Content-Type: application/json"


def corpus(api_key: str, did: str, valid_body: bytes) -> list[Case]:
    """Every case of the corpus. ``valid_body`` is one that createDid would take, ``did`` a DID that resolves."""
    key = b"X-API-Key: " + api_key.encode()
    cases: list[Case] = []

    def add(name: str, data: bytes, expected: tuple[int, str]) -> None:
        cases.append(Case(name, data, *expected))

    for name, data, expected in [*_bodies(valid_body), *_media(valid_body)]:
        media = data[0] if isinstance(data, tuple) else JSON
        body = data[1] if isinstance(data, tuple) else data
        add(f"body: {name}", request("POST", DIDS, key, *([media] if media else []), body=body), expected)
    for name, query, expected in QUERIES:
        add(f"query: {name}", request("GET", f"{DIDS}/{did}?".encode() + query), expected)
    for name, path, expected in PATHS:
        add(f"path: {name}", request("GET", path.replace(b"{did}", did.encode())), expected)
    for name, lines, expected in _headers(key):
        add(f"headers: {name}", request("POST", DIDS, JSON, *lines, body=valid_body), expected)
    for name, data, expected in _messages(key, did, valid_body):
        add(f"message: {name}", data, expected)
    return cases


Row = tuple[str, Any, tuple[int, str]]


def _bodies(valid: bytes) -> list[Row]:
    def having(member: bytes) -> bytes:
        return valid[:-1] + b"," + member + b"}"

    return [
        ("duplicate name", having(b'"method":"ids"'), BAD_REQUEST),
        ("duplicate name, escaped", having(b'"\\u006dethod":"ids"'), BAD_REQUEST),
        ("NaN", having(b'"keyType":NaN'), BAD_REQUEST),
        ("Infinity", having(b'"options":-Infinity'), BAD_REQUEST),
        ("1e999", having(b'"options":1e999'), BAD_REQUEST),
        ("lone surrogate", having(b'"note":"\\ud800"'), BAD_REQUEST),
        ("33 levels", b"[" * 33 + b"]" * 33, BAD_REQUEST),
        ("100,000 levels", b"[" * 100_000, BAD_REQUEST),
        ("21 digits", having(b'"options":123456789012345678901'), BAD_REQUEST),
        ("100,000 digits", having(b'"options":' + b"9" * 100_000), BAD_REQUEST),
        ("not UTF-8", valid.replace(b'"method"', b'"meth\xff"'), BAD_REQUEST),
        ("overlong UTF-8", having(b'"note":"\xc0\xaf"'), BAD_REQUEST),
        ("UTF-16 with a mark", valid.decode().encode("utf-16"), BAD_REQUEST),
        ("UTF-16 big-endian", valid.decode().encode("utf-16-be"), BAD_REQUEST),
        ("byte order mark", b"\xef\xbb\xbf" + valid, BAD_REQUEST),
        ("NUL in a string", having(b'"note":"\x00"'), BAD_REQUEST),
        ("newline in a string", having(b'"note":"\n"'), BAD_REQUEST),
        ("comment", valid[:-1] + b"/* x */}", BAD_REQUEST),
        ("single quotes", valid.replace(b'"', b"'"), BAD_REQUEST),
        ("trailing comma", valid[:-1] + b",}", BAD_REQUEST),
        ("two values", valid + valid, BAD_REQUEST),
        ("cut off", valid[:-1], BAD_REQUEST),
        ("an array", b"[" + valid + b"]", BAD_REQUEST),
        ("a string", b'"x"', BAD_REQUEST),
        ("null", b"null", BAD_REQUEST),
        ("empty", b"", BAD_REQUEST),
        ("spaces only", b"   ", BAD_REQUEST),
        ("unknown member", having(b'"surprise":1'), BAD_REQUEST),
        ("wrong type", b'{"method":1}', BAD_REQUEST),
        ("256 KiB and one", b'{"method":"' + b"x" * (256 * 1024 - 12) + b'"}', TOO_LARGE),
        ("2 MB", b" " * 2_000_000, TOO_LARGE),
    ]


def _media(valid: bytes) -> list[Row]:
    return [
        ("charset=utf-7", (b"Content-Type: application/json; charset=utf-7", valid), MEDIA),
        ("charset=iso-8859-1", (b'Content-Type: application/json; charset="iso-8859-1"', valid), MEDIA),
        ("two charsets", (b"Content-Type: application/json; charset=utf-8; charset=utf-16", valid), MEDIA),
        ("text/plain", (b"Content-Type: text/plain", valid), MEDIA),
        ("a form", (b"Content-Type: application/x-www-form-urlencoded", b"method=ids"), MEDIA),
        ("no media type", (None, valid), MEDIA),
        ("10,000 parameters", (b"Content-Type: application/json" + b";a=b" * 8_000, valid), MEDIA),
        ("two media types in one", (b"Content-Type: application/json, text/plain", valid), MEDIA),
    ]


QUERIES: list[Row] = [
    ("repeated", b"versionId=1&versionId=1", BAD_REQUEST),
    ("repeated, escaped", b"versionId=1&version%49d=1", BAD_REQUEST),
    ("unknown", b"versionid=1", BAD_REQUEST),
    ("plus sign", b"versionId=+1", BAD_REQUEST),
    ("escaped plus sign", b"versionId=%2B1", BAD_REQUEST),
    ("negative", b"versionId=-1", BAD_REQUEST),
    ("zero", b"versionId=0", BAD_REQUEST),
    ("leading zero", b"versionId=01", BAD_REQUEST),
    ("underscore", b"versionId=1_0", BAD_REQUEST),
    ("Arabic digits", b"versionId=%D9%A1", BAD_REQUEST),
    ("full-width digits", b"versionId=%EF%BC%91", BAD_REQUEST),
    ("decimal", b"versionId=1.0", BAD_REQUEST),
    ("exponent", b"versionId=1e0", BAD_REQUEST),
    ("hexadecimal", b"versionId=0x1", BAD_REQUEST),
    ("2^53", b"versionId=9007199254740992", BAD_REQUEST),
    ("100 digits", b"versionId=" + b"9" * 100, BAD_REQUEST),
    ("nothing", b"versionId=", BAD_REQUEST),
    ("no value", b"versionId", BAD_REQUEST),
    ("NUL", b"versionId=1%00", BAD_REQUEST),
    ("newline", b"versionId=1%0A", BAD_REQUEST),
    ("broken escape", b"versionId=%4", BAD_REQUEST),
    ("not UTF-8", b"versionTime=%FF", BAD_REQUEST),
    ("an array", b"versionId[]=1", BAD_REQUEST),
    ("empty pair", b"versionId=1&&", BAD_REQUEST),
    ("semicolon", b"versionId=1;versionTime=x", BAD_REQUEST),
]

PATHS: list[Row] = [
    ("NUL", b"/api/v1/dids/did:ids:%00", BAD_DID),
    ("slash inside", b"/api/v1/dids/did:ids:a%2Fhistory", BAD_DID),
    ("trailing newline", b"/api/v1/dids/{did}%0A", BAD_DID),
    ("CR LF inside", b"/api/v1/dids/{did}%0D%0AX-A:b", BAD_DID),
    ("broken escape", b"/api/v1/dids/did:ids:%zz", BAD_DID),
    ("not UTF-8", b"/api/v1/dids/did:ids:%FF", BAD_DID),
    ("surrogate", b"/api/v1/dids/did:ids:%ED%A0%80", BAD_DID),
    ("scheme in capitals", b"/api/v1/dids/DID:ids:abc", BAD_DID),
    ("escaped twice", b"/api/v1/dids/did%253Aids%253Aabc", BAD_DID),
    ("fragment, escaped", b"/api/v1/dids/{did}%23key-1", BAD_DID),
    ("dot segments, escaped", b"/api/v1/dids/%2e%2e/history", BAD_DID),
    ("space", b"/api/v1/dids/%20{did}", BAD_DID),
    ("trailing slash", b"/api/v1/dids/{did}/", NOT_FOUND),
    ("two slashes", b"/api/v1//dids/{did}", NOT_FOUND),
    ("dot segments, plain", b"/api/v1/dids/../../../etc/passwd", NOT_FOUND),
    ("slash instead of a separator", b"/api/v1%2Fdids", NOT_FOUND),
    ("backslash", b"/api\\v1\\dids", NOT_FOUND),
    ("capitals", b"/API/V1/dids", NOT_FOUND),
    ("10,000 characters", b"/api/v1/dids/did:ids:" + b"a" * 10_000, BAD_REQUEST),
    ("a bare CR", b"/api/v1/dids/a\rb", PARSER),
    ("a tab", b"/api/v1/dids/a\tb", PARSER),
    ("bytes past ASCII", b"/api/v1/dids/\xc3\xa9", PARSER),
    *(
        (f"%{byte:02X} before a rest", b"/api/v1/ledger/tile/%%%02X/x" % byte, BAD_REQUEST)
        for byte in (*range(32), 127)
    ),
    ("broken escape before a rest", b"/api/v1/ledger/tile/%zz/000", BAD_REQUEST),
    ("not UTF-8 before a rest", b"/api/v1/ledger/tile/%FF/000", BAD_REQUEST),
    ("%19 in a rest", b"/api/v1/ledger/tile/0/x%19", BAD_REQUEST),
]


def _headers(key: bytes) -> list[Row]:
    value = key.partition(b": ")[2]
    return [
        ("two API keys", [key, b"X-API-Key: another"], AMBIGUOUS),
        ("API key and another Authorization", [key, b"Authorization: ApiKey another"], AMBIGUOUS),
        ("API key and a token", [key, b"Authorization: Bearer another"], AMBIGUOUS),
        ("two Authorizations", [b"Authorization: ApiKey " + value, b"Authorization: ApiKey another"], AMBIGUOUS),
        ("unknown scheme", [b"Authorization: Digest " + value], UNAUTHORIZED),
        ("scheme alone", [b"Authorization: Bearer"], UNAUTHORIZED),
        ("a wrong key", [b"X-API-Key: wrong"], UNAUTHORIZED),
        ("the key with another case", [b"X-API-Key: " + value.swapcase()], UNAUTHORIZED),
        ("an underscore is not a hyphen", [b"X_API_Key: " + value], (401, "AUTH_REQUIRED")),
        ("Authorization past ASCII", [b"Authorization: ApiKey \xc3\xa9"], BAD_REQUEST),
        ("API key past ASCII", [b"X-API-Key: \xff"], BAD_REQUEST),
        ("1 MB", [key, b"X-Padding: " + b"x" * 1_000_000], HEADERS),
        ("10,000 fields", [key, *(b"X-%d: x" % number for number in range(10_000))], HEADERS),
        ("another Host", [key, b"Host: elsewhere"], BAD_REQUEST),
        ("another Content-Type", [key, b"Content-Type: text/plain"], BAD_REQUEST),
        ("gzip", [key, b"Content-Encoding: gzip"], MEDIA),
        ("br", [key, b"Content-Encoding: br"], MEDIA),
        ("long Idempotency-Key", [key, b"Idempotency-Key: " + b"k" * 256], BAD_REQUEST),
        ("empty Idempotency-Key", [key, b"Idempotency-Key:"], BAD_REQUEST),
        ("Idempotency-Key past ASCII", [key, b"Idempotency-Key: \xc3\xa9"], BAD_REQUEST),
        ("two Idempotency-Keys", [key, b"Idempotency-Key: a", b"Idempotency-Key: b"], BAD_REQUEST),
        ("space before the colon", [b"X-API-Key : " + value], PARSER),
        ("no colon", [key, b"nonsense"], PARSER),
        ("NUL in a value", [key, b"X-Padding: a\x00b"], PARSER),
        ("folded line", [b"X-API-Key:\r\n " + value], PARSER),
        ("a bare CR", [b"X-Padding: a\rX-API-Key: " + value], PARSER),
        ("two lengths", [key, b"Content-Length: 5"], PARSER),
        ("length and chunks", [key, b"Transfer-Encoding: chunked"], PARSER),
        ("unknown coding", [key, b"Transfer-Encoding: cow"], PARSER),
        ("two lengths that are equal", [key, b"Content-Length: 36"], PARSER),
        ("two lengths in one", [key, b"Content-Length: 36, 36"], PARSER),
    ]


def _messages(key: bytes, did: str, valid: bytes) -> list[Row]:
    chunked = [key, JSON, b"Transfer-Encoding: chunked"]
    resolve = f"{DIDS}/{did}"
    return [
        ("no Host", b"GET " + resolve.encode() + b" HTTP/1.1\r\n\r\n", BAD_REQUEST),
        ("empty Host", request("GET", resolve, host=b""), BAD_REQUEST),
        ("the same Host twice", request("GET", resolve, b"Host: localhost"), BAD_REQUEST),
        ("a Host with a path", request("GET", resolve, host=b"a/b"), BAD_REQUEST),
        ("a Host with a user", request("GET", resolve, host=b"a@b"), BAD_REQUEST),
        ("a Host with a space", request("GET", resolve, host=b"a b"), BAD_REQUEST),
        ("no Host in HTTP/1.0", b"GET " + resolve.encode() + b" HTTP/1.0\r\n\r\n", BAD_REQUEST),
        ("TRACE", request("TRACE", resolve), NOT_ALLOWED),
        ("PUT", request("PUT", resolve, JSON, body=valid), NOT_ALLOWED),
        ("PROPFIND", request("PROPFIND", DIDS), NOT_ALLOWED),
        ("an unknown method", request("BREW", resolve), PARSER),
        ("a method in small letters", request("get", resolve), PARSER),
        ("garbage", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", PARSER),
        ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", PARSER),
        ("HTTP/2.0", b"GET " + resolve.encode() + b" HTTP/2.0\r\nHost: h\r\n\r\n", BAD_REQUEST),
        ("HTTP/9.9", b"GET " + resolve.encode() + b" HTTP/9.9\r\nHost: h\r\n\r\n", PARSER),
        ("no version", b"GET " + resolve.encode() + b"\r\nHost: h\r\n\r\n", BAD_REQUEST),
        ("an asterisk", request("GET", "*"), NOT_FOUND),
        ("a body where none belongs", request("GET", resolve, JSON, body=b"{}"), BAD_REQUEST),
        ("a negative length", request("POST", DIDS, key, JSON, b"Content-Length: -1"), PARSER),
        ("a length with a sign", request("POST", DIDS, key, JSON, b"Content-Length: +5") + valid, PARSER),
        ("a length of 30 digits", request("POST", DIDS, key, JSON, b"Content-Length: " + b"9" * 30), PARSER),
        ("a length of 50 MB", request("POST", DIDS, key, JSON, b"Content-Length: 50000000"), TOO_LARGE),
        (
            "chunks past the cap",
            request("POST", DIDS, *chunked) + b"40001\r\n" + b" " * 0x40001 + b"\r\n0\r\n\r\n",
            TOO_LARGE,
        ),
        *(
            (f"a transfer coding that is {coding.decode()}", _coded(key, coding, valid), BAD_REQUEST)
            for coding in (b"gzip, chunked", b"chunked, chunked", b"chunked;q=1", b"identity, chunked", b"xchunked")
        ),
        ("two transfer codings", _coded(key, b"gzip\r\nTransfer-Encoding: chunked", valid), BAD_REQUEST),
        ("chunks in HTTP/1.0", _coded(key, b"chunked", valid).replace(b"HTTP/1.1", b"HTTP/1.0"), BAD_REQUEST),
        (
            "a trailer is not a header",
            request("POST", DIDS, JSON, b"Transfer-Encoding: chunked")
            + _chunks(valid).removesuffix(b"\r\n")
            + key
            + b"\r\n\r\n",
            (401, "AUTH_REQUIRED"),
        ),
        ("a chunk size that is none", request("POST", DIDS, *chunked) + b"xyz\r\n", PARSER),
        ("a negative chunk size", request("POST", DIDS, *chunked) + b"-5\r\n", PARSER),
        (
            "duplicate name in chunks",
            request("POST", DIDS, *chunked) + _chunks(valid[:-1] + b',"method":"x"}'),
            BAD_REQUEST,
        ),
    ]


def _coded(key: bytes, coding: bytes, body: bytes) -> bytes:
    """The body in chunks, under a transfer coding of another name."""
    return request("POST", DIDS, key, JSON, b"Transfer-Encoding: " + coding) + _chunks(body)


def _chunks(body: bytes) -> bytes:
    """``body`` in chunks of seven bytes."""
    parts = [body[start : start + 7] for start in range(0, len(body), 7)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in [*parts, b""])
