"""Selective disclosure in a JWT (RFC 9901): digests in the payload, and the disclosures that open them.

Only SHA-256 is known, the one that every implementation has. Foreign text is read as RFC 9901 §7.1 requires: a digest stands in one place
or the credential is refused, a disclosure that no digest asks for is refused, and a name is never written over. All errors are
``ValueError``, whose text quotes nothing.
"""

from __future__ import annotations

import hashlib
import random as permutation
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson
from msgspec import Struct, field

from identity_codec import multibase, strict_json
from identity_codec.strict_json import JsonValue

HASH: Final = "sha-256"
SALT_OCTETS: Final = 16
MAX_DISCLOSURES: Final = 256
DIGESTS: Final = "_sd"
ALGORITHM: Final = "_sd_alg"
ELEMENT: Final = "..."
DECOYS_TO: Final = 8
"""Each object has a multiple of so many digests, so that their number says less about what it holds (RFC 9901 §4.2.5)."""


def digest_of(text: str) -> str:
    """Return the digest of a disclosure as it is sent, in base64url (RFC 9901 §4.2.3); of a presentation it is ``sd_hash``
    (RFC 9901 §4.3.1)."""
    return multibase.base64url_encode(hashlib.sha256(text.encode("ascii")).digest())


class Disclosure(Struct, frozen=True):
    """One disclosure. ``name`` is None for an element of an array. ``text`` is what is sent."""

    text: str
    name: str | None
    value: Any

    @classmethod
    def parse(cls, text: str) -> Disclosure:
        """Return the disclosure of a text (RFC 9901 §4.2.1, §4.2.2)."""
        value = strict_json.loads(multibase.base64url_decode(text))
        if not isinstance(value, list) or len(value) not in (2, 3) or not isinstance(value[0], str):
            raise ValueError("a disclosure is an array of a salt, a name unless it is an element, and a value")
        name = value[1] if len(value) == 3 else None
        if len(value) == 3 and (not isinstance(name, str) or name in (DIGESTS, ELEMENT)):
            raise ValueError("the name in a disclosure is a text, and none that stands for digests")
        return cls(text, name, value[-1])


class Concealing(Struct):
    """Makes disclosures, in the order in which they were asked for. ``random`` is the operating system's random source."""

    random: Callable[[int], bytes]
    made: list[str] = field(default_factory=list)

    def conceal(self, members: Mapping[str, Any]) -> dict[str, JsonValue]:
        """Return an object in which each member is a digest, also those of objects within it (RFC 9901 §4.2.6); decoys fill the
        number up."""
        digests = [self._disclose(name, value) for name, value in members.items()]
        digests += [digest_of(multibase.base64url_encode(self.random(32))) for _ in range(-len(digests) % DECOYS_TO)]
        # The order says nothing about names; what an attacker could guess of a shuffle is not a secret in itself, its seed is random.
        permutation.Random(self.random(32)).shuffle(digests)  # noqa: S311
        return {DIGESTS: [*digests]}

    def _disclose(self, name: str, value: Any) -> str:
        value = self.conceal(value) if isinstance(value, Mapping) else value
        salt = multibase.base64url_encode(self.random(SALT_OCTETS))
        text = multibase.base64url_encode(orjson.dumps([salt, name, value]))
        self.made.append(text)
        return digest_of(text)


def disclosed(payload: Mapping[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """Return the payload with what ``texts`` disclose, without digests (RFC 9901 §7.1). Neither argument is changed."""
    if len(texts) > MAX_DISCLOSURES:
        raise ValueError(f"more than {MAX_DISCLOSURES} disclosures")
    if payload.get(ALGORITHM, HASH) != HASH:
        raise ValueError("the hash of the digests is another one")
    opening = _Opening({digest_of(text): Disclosure.parse(text) for text in texts})
    if len(opening.known) != len(texts):
        raise ValueError("a disclosure comes twice")
    found = opening.object({name: value for name, value in payload.items() if name != ALGORITHM}, 0)
    if opening.known.keys() - opening.seen:
        raise ValueError("a disclosure belongs to no digest")
    return found


class _Opening(Struct):
    known: Mapping[str, Disclosure]
    seen: set[str] = field(default_factory=set)

    def value(self, value: Any, depth: int) -> Any:
        if depth > strict_json.MAX_DEPTH:
            raise ValueError("disclosures are nested too deep")
        if isinstance(value, dict):
            return self.object(value, depth)
        return self._array(value, depth) if isinstance(value, list) else value

    def object(self, value: Mapping[str, Any], depth: int) -> dict[str, Any]:
        if ELEMENT in value or ALGORITHM in value:
            raise ValueError("a name that stands for digests is in the wrong place")
        found = {name: self.value(member, depth + 1) for name, member in value.items() if name != DIGESTS}
        digests = value.get(DIGESTS, [])
        if not isinstance(digests, list):
            raise ValueError("_sd is not an array")
        for digest in digests:
            disclosure = self._take(digest)
            if disclosure is None:
                continue
            if disclosure.name is None or disclosure.name in found or disclosure.name == ALGORITHM:
                raise ValueError("a disclosure has no name, or one that is there already")
            found[disclosure.name] = self.value(disclosure.value, depth + 1)
        return found

    def _array(self, value: Sequence[Any], depth: int) -> list[Any]:
        found = []
        for element in value:
            if not isinstance(element, dict) or ELEMENT not in element:
                found.append(self.value(element, depth + 1))
                continue
            if len(element) != 1:
                raise ValueError("a digest of an element has members beside it")
            disclosure = self._take(element[ELEMENT])
            if disclosure is not None:
                if disclosure.name is not None:
                    raise ValueError("the disclosure of an element has a name")
                found.append(self.value(disclosure.value, depth + 1))
        return found

    def _take(self, digest: Any) -> Disclosure | None:
        """Return the disclosure of a digest, None for a decoy and for a withheld claim."""
        if not isinstance(digest, str):
            raise ValueError("a digest is not text")
        if digest in self.seen:
            raise ValueError("a digest stands in two places")
        self.seen.add(digest)
        return self.known.get(digest)
