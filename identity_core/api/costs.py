"""The cost of a request, in tokens of its caller's bucket.

One token pays for about the work of proving or verifying one bound: some milliseconds of a prover. A statement about a large set takes
longer with each element, and its elements make the body large: 4,096 of them are 20 to 30 kB, and 50 to 100 ms.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final, Protocol

from identity_codec.values import value_class

USUAL_BYTES: Final = 4_096
"""A body of at most so many bytes costs no more than an empty one: a proof of a bound or an interval, and the request for one."""
BYTES_PER_TOKEN: Final = 512
COUNTED_BELOW: Final = 16
"""The items of a body that costs so many tokens by its bytes are not counted."""


class Body(Protocol):
    """A request whose body has been read."""

    body_octets: bytes

    def json(self) -> Any:
        """Return the body parsed as JSON. Raises ``ValueError``: when it is malformed."""
        ...


@value_class
class Cost:
    """The weight of an operation, as ``x-cost`` of the document states it.

    ``first``: the tokens of any request. ``items``: the members that lead to a list in the body, of which each item costs at least a
    token. ``free_bytes``: so much of a body costs nothing; all of it costs nothing unless the caller is unauthenticated or ``bySize`` is
    set.
    """

    first: int = 1
    items: tuple[str, ...] = ()
    free_bytes: int = USUAL_BYTES

    @classmethod
    def from_document(cls, declared: Mapping[str, Any], *, needs_caller: bool) -> Cost:
        """Return the cost of an operation; ``declared`` is its ``x-cost``."""
        items = tuple(declared["items"].split("/")) if "items" in declared else ()
        free = declared.get("freeBytes", USUAL_BYTES) if declared.get("bySize", not needs_caller) else sys.maxsize
        return cls(declared.get("first", 1), items, free)

    def tokens(self, request: Body) -> int:
        """Return the tokens that ``request`` costs, at least 1. A bucket takes no more than it holds."""
        tokens = self.first + max(len(request.body_octets) - self.free_bytes, 0) // BYTES_PER_TOKEN
        if not self.items or tokens >= COUNTED_BELOW:
            return tokens
        try:
            value = request.json()
        except ValueError:
            # Malformed JSON, which is refused later.
            return tokens
        for member in self.items:
            value = value.get(member) if isinstance(value, dict) else None
        return max(tokens, len(value)) if isinstance(value, list) else tokens
