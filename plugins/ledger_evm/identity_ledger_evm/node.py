"""JSON-RPC with a node, by ``httpx``: eight methods, two ways to fail.

A node that does not answer, answers too late or answers nonsense is *away*: what it was asked to do may have been done. A node that
*refuses* has understood and did not do it. The code that reads a value defines its form.
"""

from __future__ import annotations

import itertools
import re
from types import TracebackType
from typing import Any

import httpx
import orjson

from identity_client.answers import Body, UnreadableAnswer, read_stream

MOST_OCTETS = 64 * 1024 * 1024
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}", re.ASCII)
_OCTETS = re.compile(r"0x(?:[0-9a-fA-F]{2})*", re.ASCII)


class NodeError(Exception):
    """Something about the node."""


class NodeAway(NodeError):
    """No answer, or none that makes sense."""


class NodeRefused(NodeError):
    """The node refuses the call; the message is its own."""


class Node:
    """One node, for one event loop: ``async with Node(url, seconds) as node``. No message holds the URL, which may hold a
    key."""

    def __init__(self, url: str, seconds: float) -> None:
        self._url = url
        # Proxies from the environment are for browsers: a node on loopback must not be asked through one.
        # Certificates are loaded only for a node that is to show one: it takes longer than many calls.
        self._http = httpx.AsyncClient(timeout=seconds, trust_env=False, verify=not url.startswith("http:"))
        self._ids = itertools.count(1)

    async def __aenter__(self) -> Node:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def call(self, method: str, *parameters: object) -> Any:
        """Return the ``result`` of a call. Raises ``NodeAway``, ``NodeRefused``."""
        number = next(self._ids)
        question = {"jsonrpc": "2.0", "id": number, "method": method, "params": list(parameters)}
        try:
            headers = {"Accept-Encoding": "identity"}
            async with self._http.stream("POST", self._url, json=question, headers=headers) as reply:
                content = await read_stream(Body(reply, MOST_OCTETS))
            # Not the standard library's reader, which a deep enough nesting can crash where py_ecc has lifted its limit.
            answer = orjson.loads(content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NodeAway(f"the node does not answer {method}: {type(error).__name__}") from error
        except UnreadableAnswer as error:
            raise NodeAway(f"the node cannot be read, {method}: {error.message}") from error
        except orjson.JSONDecodeError as error:
            raise NodeAway(
                f"the node answers {method} with something that is not JSON (HTTP {reply.status_code})"
            ) from error
        if not isinstance(answer, dict) or answer.get("id") not in (number, None):
            raise NodeAway(f"the node answers {method} with something that is not JSON-RPC")
        fault = answer.get("error")
        if fault is not None:
            raise NodeRefused(str(fault.get("message", fault) if isinstance(fault, dict) else fault)[:300])
        if "result" not in answer:
            raise NodeAway(f"the node answers {method} with neither result nor error")
        return answer["result"]


def quantity(value: object, bits: int = 63) -> int:
    """Return a number in hex, of at most so many bits."""
    if not isinstance(value, str) or _QUANTITY.fullmatch(value) is None or int(value, 16) >= 1 << bits:
        raise NodeAway("the node gives something that is not a number, or none that can be")
    return int(value, 16)


def decode_hex(value: object, size: int | None = None) -> bytes:
    """Return the bytes of a value in hex. Raises ``NodeAway`` for another ``size``."""
    if not isinstance(value, str) or _OCTETS.fullmatch(value) is None:
        raise NodeAway("the node gives something that is not hex")
    raw = bytes.fromhex(value[2:])
    if size is not None and len(raw) != size:
        raise NodeAway(f"the node gives {len(raw)} bytes for {size}")
    return raw


def member(value: object, name: str) -> object:
    """Return a member of an object."""
    if not isinstance(value, dict) or name not in value:
        raise NodeAway(f"the node gives no {name}")
    return value[name]


def listed(value: object) -> list[object]:
    """Return an array."""
    if not isinstance(value, list):
        raise NodeAway("the node gives something that is not a list")
    return value


def hexed(raw: bytes) -> str:
    """Bytes as the node reads them."""
    return "0x" + raw.hex()
