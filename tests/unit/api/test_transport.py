import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from identity_core.api.request import Answer, Parts, Request
from identity_core.api.transport import ClientGone, deliver, read_body
from identity_core.errors import PayloadTooLarge


def read(messages: list[dict[str, Any]], *, declared: str | None = None, cap: int = 10) -> bytes:
    incoming = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(incoming)

    headers = {} if declared is None else {"content-length": declared}
    return asyncio.run(read_body(Request(headers=headers), receive, cap))


def part(data: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": data, "more_body": more}


@pytest.mark.parametrize(
    ("messages", "body"),
    [
        ([part(b"", more=False)], b""),
        ([part(b"0123456789", more=False)], b"0123456789"),
        ([part(b"01234"), part(b"56789"), part(b"", more=False)], b"0123456789"),
        ([{"type": "http.request"}], b""),
    ],
)
def test_bodies_up_to_the_cap(messages: list[dict[str, Any]], body: bytes) -> None:
    assert read(messages) == body


@pytest.mark.parametrize(
    "messages",
    [
        [part(b"0123456789a", more=False)],
        [part(b"0123456789"), part(b"a"), part(b"never read")],
        [part(b"0123456789"), part(b"a", more=False)],
    ],
)
def test_bodies_past_the_cap(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(PayloadTooLarge):
        read(messages)


def test_a_declared_length_past_the_cap_is_not_read_at_all() -> None:
    with pytest.raises(PayloadTooLarge):
        read([], declared="11")


@pytest.mark.parametrize("messages", [[{"type": "http.disconnect"}], [part(b"0"), {"type": "http.disconnect"}]])
def test_a_client_that_goes_away(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(ClientGone):
        read(messages)


def test_delivery_counts_the_octets_of_the_encoded_body() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    request = Request(request_id="r")
    asyncio.run(deliver(Answer(200, {"é": 1}), request, send))
    assert request.status == 200
    assert dict(sent[0]["headers"])[b"content-length"] == b"%d" % len(sent[1]["body"])
    assert sent[1]["body"] == '{"é":1}'.encode()


async def three_parts(made: list[int]) -> AsyncIterator[bytes]:
    for number in range(3):
        made.append(number)
        yield b"%d\n" % number


def test_parts_are_made_one_at_a_time_as_they_are_taken() -> None:
    made: list[int] = []
    seen: list[tuple[int, Any]] = []

    async def send(message: Any) -> None:
        seen.append((len(made), message))

    answer = Answer(200, Parts(6, three_parts(made)), media_type="application/jsonl")
    asyncio.run(deliver(answer, Request(request_id="r"), send))
    assert dict(seen[0][1]["headers"])[b"content-length"] == b"6"
    assert [(count, message.get("body"), message.get("more_body", False)) for count, message in seen[1:]] == [
        (1, b"0\n", True),
        (2, b"1\n", True),
        (3, b"2\n", True),
        (3, b"", False),
    ]


def test_head_tells_the_length_of_parts_and_makes_none() -> None:
    made: list[int] = []
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    answer = Answer(200, Parts(6, three_parts(made)))
    asyncio.run(deliver(answer, Request(request_id="r", method="HEAD"), send))
    assert dict(sent[0]["headers"])[b"content-length"] == b"6"
    assert (made, [message["body"] for message in sent[1:]]) == ([], [b""])


@pytest.mark.parametrize("size", [0, 65_535, 65_536, 65_537, 131_072, 200_000])
def test_a_long_body_is_sent_in_parts(size: int) -> None:
    body, sent = bytes(range(256)) * (size // 256) + b"x" * (size % 256), list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(deliver(Answer(200, body), Request(request_id="r"), send))
    assert b"".join(message["body"] for message in sent[1:]) == body
    assert max(len(message["body"]) for message in sent[1:]) <= 65_536
    assert [message.get("more_body", False) for message in sent[1:]] == [True] * (len(sent) - 2) + [False]
