"""The contract: its source (``ledger.vy``), what the compiler made of it (``contract.json``), and its calls and events.

Arguments and events are whole words of 32 bytes, so reading and writing them is slicing; no library is asked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Final

from msgspec import Struct

MOST_ITEMS: Final = 128
WORD: Final = 32

_DIGEST: Final = b"identity-ledger-evm entry v1\n"


class CallUnreadable(ValueError):
    """The input of a transaction is not an ``append`` of ours."""


class Artifact(Struct, frozen=True):
    """``code`` deploys, ``runtime`` is what then stands at the address. Selectors are 4 bytes, topics 32."""

    code: bytes
    runtime: bytes
    selectors: dict[str, bytes]
    topics: dict[str, bytes]


@cache
def artifact() -> Artifact:
    """Return what ``compile.py`` wrote."""
    made = json.loads(resources.files(__name__).joinpath("contract.json").read_text("utf-8"))

    def decode_hex(text: str) -> bytes:
        return bytes.fromhex(text[2:])

    return Artifact(
        decode_hex(made["bytecode"]),
        decode_hex(made["runtime"]),
        {name: decode_hex(value) for name, value in made["selectors"].items()},
        {name: decode_hex(value) for name, value in made["topics"].items()},
    )


class Item(Struct, frozen=True):
    """One entry to append: version ``expected + 1`` of ``did``."""

    did: str
    expected: int
    entry: bytes

    @property
    def key(self) -> bytes:
        """SHA-256 of the DID: what the contract knows it by."""
        return hashlib.sha256(self.did.encode()).digest()

    @property
    def digest(self) -> bytes:
        """SHA-256 over the domain tag, the length of the DID (4 bytes), the DID, the version (8 bytes) and the entry."""
        name = self.did.encode()
        version = (self.expected + 1).to_bytes(8, "big")
        return hashlib.sha256(b"".join((_DIGEST, len(name).to_bytes(4, "big"), name, version, self.entry))).digest()


def word(number: int) -> bytes:
    """Return a number as 32 bytes."""
    return number.to_bytes(WORD, "big")


def call(function: str, *arguments: bytes) -> bytes:
    """Return the input of a call whose arguments are words."""
    return artifact().selectors[function] + b"".join(arguments)


def append_call(items: Sequence[Item]) -> bytes:
    """Return the input of ``append``: the words of the items, and behind them their bytes, each with its length (4 bytes)."""
    words = b"".join(item.key + word(item.expected) + item.digest for item in items)
    data = b"".join(_with_length(item.did.encode()) + _with_length(item.entry) for item in items)
    return call("append", word(WORD), word(len(items)), words, data)


def read_append(data: bytes) -> list[Item]:
    """Return the items of such an input; what stands behind them is the sender's mark. Raises ``CallUnreadable`` when its bytes are
    not those that its digests name."""
    count = int.from_bytes(data[4 + WORD : 4 + 2 * WORD], "big")
    start = 4 + 2 * WORD
    if data[:4] != artifact().selectors["append"] or data[4 : 4 + WORD] != word(WORD) or count > MOST_ITEMS:
        raise CallUnreadable("another function, or another form of its arguments")
    at, items = start + 3 * WORD * count, []
    for place in range(start, at, 3 * WORD):
        did, at = _read(data, at)
        entry, at = _read(data, at)
        try:
            item = Item(did.decode(), int.from_bytes(data[place + WORD : place + 2 * WORD], "big"), entry)
        except UnicodeDecodeError as error:
            raise CallUnreadable("a DID is not UTF-8") from error
        if item.expected >= 2**63 or data[place : place + 3 * WORD] != item.key + word(item.expected) + item.digest:
            raise CallUnreadable("the bytes are not those that the digest names")
        items.append(item)
    return items


def _with_length(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _read(data: bytes, at: int) -> tuple[bytes, int]:
    end = at + 4 + int.from_bytes(data[at : at + 4], "big")
    if end > len(data) or at + 4 > len(data):
        raise CallUnreadable("the bytes end too early")
    return data[at + 4 : end], end
