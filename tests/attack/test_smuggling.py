"""Request smuggling: one request must have one answer, whatever upgrade it offers and however its bytes are split.

RFC 9110 §7.8: a server may ignore an offer to upgrade. RFC 9112 §6.3: the framing alone tells where the body ends. CWE-444.
"""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from tests.attack.raw_http import SECONDS, request
from tests.attack.stranger import GENEROUS
from tests.servers import local_server

HIDDEN = request("DELETE", "/hidden")
# Fields, the bytes of a body that looks like a request, whether the framing is valid.
FRAMINGS: dict[str, tuple[list[bytes], bytes, bool]] = {
    "length": ([b"Content-Length: %d" % len(HIDDEN)], HIDDEN, True),
    "chunked": ([b"Transfer-Encoding: chunked"], b"%x\r\n%b\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN), True),
    "chunked with a trailer": (
        [b"Transfer-Encoding: chunked"],
        b"%x\r\n%b\r\n0\r\nUpgrade: h2c\r\n\r\n" % (len(HIDDEN), HIDDEN),
        True,
    ),
    "none": ([], b"", True),
    "length of zero": ([b"Content-Length: 0"], b"", True),
    "two lengths": ([b"Content-Length: 4", b"Content-Length: %d" % len(HIDDEN)], HIDDEN, False),
    "both": ([b"Content-Length: 5", b"Transfer-Encoding: chunked"], b"0\r\n\r\n" + HIDDEN, False),
    "unknown coding": ([b"Transfer-Encoding: gzip"], HIDDEN, False),
    "folded coding": ([b"Transfer-Encoding: chun\r\n ked"], HIDDEN, False),
}
OFFERS = [
    [],
    *(
        [b"Connection: " + connection, b"Upgrade: " + upgrade]
        for connection in (b"Upgrade", b"keep-alive, uPGRADE")
        for upgrade in (b"h2c", b"websocket", b"foo", b"TLS/1.0, h2c", b"")
    ),
    [b"Connection: upgrade"],
    [b"Upgrade: h2c"],
    [b"Upgrade: h2c", b"Upgrade: websocket", b"Connection: upgrade", b"Connection: keep-alive"],
    [b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__"],
    [b"Connection: upgrade, close", b"Upgrade: h2c"],
]
METHODS = ["POST", "GET", "PUT", "OPTIONS", "DELETE"]
FOLLOWING = request("GET", "/health", b"X-Request-Id: following", b"Connection: close")
BATCH = 200


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    with local_server(environment=GENEROUS) as server:
        host, _, port = server.url.removeprefix("http://").partition(":")
        yield host, int(port)


def statuses(received: bytes) -> list[int]:
    """Return the status of each answer in ``received``."""
    found = []
    while received:
        head, _, received = received.partition(b"\r\n\r\n")
        found.append(int(head.split(b" ", 2)[1]))
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if lengths:
            received = received[int(lengths[0].partition(b":")[2]) :]
        elif b"content-type" in head.lower():
            # The body of a refusal by Go's server ends with the connection.
            break
    return found


def read_to_end(connection: socket.socket) -> bytes:
    received = b""
    # A server that closes before it has read everything resets the connection.
    with suppress(ConnectionResetError):
        while more := connection.recv(65536):
            received += more
    return received


def answers(address: tuple[str, int], messages: list[list[bytes]]) -> list[list[int]]:
    """Send the parts of each message on a connection of its own and return the statuses of its answers."""
    with ExitStack() as stack:
        connections = [stack.enter_context(socket.create_connection(address, timeout=SECONDS)) for _ in messages]
        for connection in connections:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for place in range(max(map(len, messages))):
            for connection, parts in zip(connections, messages, strict=True):
                # A server that has refused the message may have closed the connection.
                with suppress(ConnectionError):
                    connection.sendall(b"".join(parts[place : place + 1]))
        return [statuses(read_to_end(connection)) for connection in connections]


def check(address: tuple[str, int], cases: list[tuple[bool, list[bytes]]]) -> None:
    """Assert that each case has one answer and, if its framing is valid, that the request behind it has one answer too."""
    for start in range(0, len(cases), BATCH):
        batch = cases[start : start + BATCH]
        for (is_valid, parts), found in zip(batch, answers(address, [parts for _, parts in batch]), strict=True):
            whole = b"".join(parts)
            if is_valid:
                assert found[:1] in ([204], [404]), (found, whole)
                assert found[1:] == ([] if b", close" in whole else [200]), (found, whole)
            else:
                # A reset may discard the answer to a message that came in parts.
                assert found == [400] or (found == [] and len(parts) > 1), (found, whole)


def messages(methods: list[str]) -> Iterator[tuple[bool, bytes]]:
    for (fields, body, is_valid), offer, method in itertools.product(FRAMINGS.values(), OFFERS, methods):
        # The framing stands before and behind the offer.
        for lines in ([*fields, *offer], [*offer, *fields]):
            yield is_valid, request(method, "/nothing", *lines) + body + FOLLOWING


def test_every_framing_has_one_answer_with_every_offer(address: tuple[str, int]) -> None:
    check(address, [(is_valid, [message]) for is_valid, message in messages(METHODS)])


def test_every_framing_has_one_answer_byte_by_byte(address: tuple[str, int]) -> None:
    check(address, [(is_valid, [bytes([each]) for each in message]) for is_valid, message in messages(["POST"])])


@pytest.mark.parametrize("framing", FRAMINGS)
def test_one_answer_when_split_at_every_byte(address: tuple[str, int], framing: str) -> None:
    fields, body, is_valid = FRAMINGS[framing]
    message = request("POST", "/nothing", b"Connection: Upgrade", b"Upgrade: h2c", *fields) + body + FOLLOWING
    check(address, [(is_valid, [message[:cut], message[cut:]]) for cut in range(1, len(message))])


def test_many_requests_in_one_segment_have_one_answer_each(address: tuple[str, int]) -> None:
    offer = [b"Connection: Upgrade", b"Upgrade: h2c"]
    one = request("POST", "/nothing", *offer, body=HIDDEN)
    check(address, [(True, [one + FOLLOWING])])
    assert answers(address, [[one * 20 + FOLLOWING]]) == [[404] * 20 + [200]]


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_an_invalid_body_is_refused_behind_the_answers_before_it(address: tuple[str, int], ahead: int) -> None:
    invalid = request("POST", "/nothing", b"Transfer-Encoding: chunked") + b"x\r\n"
    sent = request("GET", "/health") * ahead + invalid + HIDDEN
    assert answers(address, [[sent]]) == [[200] * ahead + [400]]


@pytest.mark.parametrize("target", [b"/nothing", b"elsewhere:443"])
def test_connect_is_refused_and_its_bytes_are_not_a_request(address: tuple[str, int], target: bytes) -> None:
    """RFC 9110 §9.3.6: the content of CONNECT has no meaning, so the end of the request is unknown."""
    message = request("CONNECT", target, body=HIDDEN) + FOLLOWING
    assert answers(address, [[message]]) == [[400]]
