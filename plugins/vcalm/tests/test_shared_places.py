"""One address cannot take anonymous verification from the others: it holds a quarter of the waiting places at most."""

from __future__ import annotations

import contextlib
import json
import select
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests import securing
from tests.attack.raw_http import Response, read_several, request
from tests.servers import LocalServer, local_server

FLOOD, PLACES = 24, 4
SECONDS = 120.0
PATH, VC = "/vcalm/credentials/verify", "https://www.w3.org/ns/credentials/"
# The bucket of an address would refuse the flood before its places do.
PROXY = {"IDENTITY_SERVER_TRUSTED_PROXIES": "127.0.0.1", "IDENTITY_THROTTLE_ADDRESS_BURST": "1000"}


@pytest.fixture
def server() -> Iterator[LocalServer]:
    """A service whose worker of unauthenticated callers starts with their first request."""
    with local_server(environment=PROXY) as found:
        yield found


def credential() -> bytes:
    """A credential whose verification takes the worker a while: it has a right proof and many values."""
    key = securing.new_key()
    claims = {
        "@context": [f"{VC}v2", f"{VC}undefined-terms/v2"],
        "type": ["VerifiableCredential"],
        "issuer": key["keyId"].partition("#")[0],
        "credentialSubject": {f"claim{number}": number for number in range(100)},
    }
    shown = securing.disclosed(claims, key, mandatory=["/issuer"], pointers=["/credentialSubject"])
    return json.dumps({"verifiableCredential": shown}).encode()


@contextlib.contextmanager
def sent(server: LocalServer, body: bytes, *headers: bytes, source: str = "127.0.0.1") -> Iterator[socket.socket]:
    """A connection from this address, on which a verification was sent and no answer was read."""
    place = urlsplit(server.url)
    message = request("POST", PATH, b"Content-Type: application/json", *headers, body=body)
    with socket.create_connection((place.hostname or "", place.port or 0), SECONDS, (source, 0)) as connection:
        connection.sendall(message)
        yield connection


@pytest.mark.parametrize("by", ["peer", "forwarded"])
def test_other_addresses_find_places_while_one_floods(server: LocalServer, by: str) -> None:
    body = credential()
    source = "127.0.0.2" if by == "peer" else "127.0.0.1"
    flooding, other = (
        (b"X-Forwarded-For: " + one,) if by == "forwarded" else () for one in (b"192.0.2.1", b"192.0.2.2")
    )
    with contextlib.ExitStack() as stack:
        flood = [stack.enter_context(sent(server, body, *flooding, source=source)) for _ in range(FLOOD)]
        refused = _refusals(flood)
        late = "127.0.0.3" if by == "peer" else "127.0.0.1"
        connection = stack.enter_context(sent(server, body, *other, source=late))
        assert _verified(*read_several(connection, 1))
        assert all(_verified(*read_several(one, 1)) for one in flood if one not in refused)
    assert len(refused) == FLOOD - PLACES
    for answer in refused.values():
        assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "OVERLOADED", "1")
        assert "of this address" in json.loads(answer.body)["error"]["message"]


def _verified(answer: Response) -> bool:
    return answer.status == 200 and json.loads(answer.body)["verified"] is True


def _refusals(flood: list[socket.socket]) -> dict[socket.socket, Response]:
    """The answers to all requests of the flood but ``PLACES``; they come while the worker still starts."""
    found: dict[socket.socket, Response] = {}
    while len(found) < FLOOD - PLACES:
        readable, _, _ = select.select([one for one in flood if one not in found], [], [], SECONDS)
        assert readable, f"only {len(found)} requests of the flood were answered"
        found |= {one: read_several(one, 1)[0] for one in readable}
    return found
