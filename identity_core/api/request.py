"""Requests and answers of handlers, and the document's facts about their operations.

A handler is ``async (Request) -> Answer``. It gets decoded, validated values and never ASGI. Only pages get cookies
and forms.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from identity_codec import strict_json
from identity_codec.strict_json import JsonValue
from identity_codec.values import Hidden
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.dids.changes import Authorization
from identity_core.errors import AuthFailed, AuthRequired, IdentityError

Headers = Sequence[tuple[str, str]]
REPEATABLE: Final = frozenset({"updateDid", "rotateDidKey", "recoverDid"})
"""Operations that take an ``Idempotency-Key`` and may end the key that signs them. That key may fetch the answer of its request."""
NO_STORE: Final = ("Cache-Control", "no-store")
"""The header for answers that must not be cached."""
FORM: Final = "application/x-www-form-urlencoded"
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
USUAL_BYTES: Final = 4_096
"""A body of at most this many bytes costs no more than an empty one: a proof of a bound or an interval, and the request for one."""
BYTES_PER_TOKEN: Final = 512
COUNTED_BELOW: Final = 16
"""If a body costs this many tokens by its bytes, its items are not counted."""


class Cost(Struct, frozen=True):
    """The weight of an operation, in tokens of its caller's bucket, from ``x-cost`` of the document.

    One token pays for about the work of proving or verifying one bound: some milliseconds of a prover. A statement about a large
    set takes longer with each element, and its elements make the body large. A set of 4,096 is 20 to 30 kB, and 50 to 100 ms.

    ``first``: the tokens of any request. ``items``: the members that lead to a list in the body; each of its items costs at least
    a token.
    ``free_bytes``: the bytes of a body that cost nothing. A whole body costs nothing unless the caller is unauthenticated or
    ``bySize`` is set.
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

    def tokens(self, request: Request) -> int:
        """Return the tokens that ``request`` costs after its body was read, at least 1. A bucket is never charged
        more than its size."""
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


class Operation(Struct, frozen=True):
    """The facts of one operation of the document.

    ``schemes``: schemes of which one is enough, as in the ``Authorization`` header; empty for a public operation.
    ``optional``: unauthenticated clients are admitted, too; a credential that is sent is still verified.
    ``challenge``: the value of ``WWW-Authenticate`` of a 401. ``bearer``: its part about bearer tokens, without their
    scope; empty for none.
    ``shape``: makes the answers of its refusals, if it follows another standard.
    ``resource``: the path of the resource of bearer tokens, empty for the interface.
    ``purpose``: the purpose of a signature that admits a DID; empty if no signature does.
    ``keeps``: it stores rows that do not expire. ``ends``: it revokes or erases, so a caller whose quota is used up
    may call it.
    ``waits``: unauthenticated clients wait for a worker, whose places are shared.
    ``scope``: the scope of API keys and tokens; without one the keys must be admin-equivalent.
    """

    operation_id: str
    method: str
    path: str
    schemes: frozenset[str]
    challenge: str
    optional: bool = False
    shape: ErrorShape | None = None
    bearer: str = ""
    resource: str = ""
    purpose: str = ""
    cost: Cost = Cost()
    keeps: bool = False
    ends: bool = False
    waits: bool = False
    scope: str = ""


class Parts(Struct, frozen=True):
    """A body of ``data`` that is sent as fast as its client reads it. The parts are made one at a time and hold
    nothing open."""

    byte_count: int
    parts: AsyncIterator[bytes]


class Answer(Hidden, Struct, eq=False):
    """A response. ``body``: finished bytes, ``Parts``, or a JSON value for the edge to encode; None for no body.
    ``media_type``: empty without content.

    Must not be changed after it has been sent: its headers are encoded once, so that sending an answer from a cache
    is cheap.
    """

    status: int
    body: Any = None
    media_type: str = "application/json"
    headers: Headers = ()
    _encoded: list[tuple[bytes, bytes]] | None = None
    _not_modified: Answer | None = None

    def encoded_headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers in the form of ASGI: lower-case names, latin-1."""
        if self._encoded is None:
            encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in self.headers]
            if self.media_type and self.status not in (204, 304):
                encoded.insert(0, (b"content-type", self.media_type.encode("latin-1")))
            self._encoded = encoded
        return self._encoded

    @property
    def not_modified(self) -> Answer:
        """Return the 304 that replaces this answer."""
        self._not_modified = self._not_modified or Answer(304, b"", self.media_type, self.headers)
        return self._not_modified


ErrorShape = Callable[[IdentityError, dict[str, JsonValue], Headers], Answer]
"""Function that makes the answer of a refusal, with its details and headers, in the form of another standard."""


class Request(Hidden, Struct, eq=False, kw_only=True):
    """One request. The guard sets the members before ``operation``, the dispatch the others.

    ``headers``: those that the service reads (``transport.READ``), by lower-case name, repeated ones joined by a
    comma and a space.
    ``repeated``: their single values. ``arrived``: seconds of a monotonic clock. ``paid``: a bucket was charged.
    ``status``: None until an answer is sent. ``answer_headers`` and ``cross_origin``: sent with every answer,
    including refusals.
    ``query`` and ``body``: of the document's types in ``identity_core.wire``. ``query_octets``: the query as
    received.
    ``attempt``: see ``idempotency.py``.
    """

    request_id: str = "-"
    method: str = "GET"
    raw_path: bytes = b"/"
    client_address: str = ""
    headers: Mapping[str, str] = NOTHING
    repeated: Mapping[str, Sequence[str]] = NOTHING
    arrived: float = 0.0
    status: int | None = None
    sent_octets: int = 0
    refusal: str = ""
    paid: bool = False
    operation: Operation | None = None
    operation_id: str = ""
    path: Mapping[str, str] = NOTHING
    query: Any = NOTHING
    query_octets: bytes = b""
    body: Any = None
    body_octets: bytes = b""
    caller: Caller | None = None
    answer_headers: Headers = ()
    cross_origin: Headers = ()
    attempt: Any = None
    _json: list[Any] | None = None

    def require_rights(self, caller: Caller) -> None:
        """Raise ``Forbidden`` if the caller may not call the operation. The token of an API key has its identity, but not all of its
        rights."""
        operation = self.operation
        if operation is not None and operation.scope:
            caller.require_scope(operation.scope)
        elif operation is not None and caller.api_key is not None:
            caller.require_admin()

    @property
    def authenticated(self) -> Caller:
        """Return the authenticated caller. Raises ``AuthRequired``: for an unauthenticated client."""
        if self.caller is None:
            raise AuthRequired
        return self.caller

    @property
    def authorization(self) -> Authorization:
        """Return the verified signature of the caller. Raises ``AuthRequired``: without one; ``AuthFailed``: for a
        former key in a first run."""
        if (authorization := self.authenticated.authorization) is None:
            raise AuthRequired
        if authorization.is_former and (self.attempt is None or self.attempt.intent is None):
            raise AuthFailed
        return authorization

    @property
    def has_bearer(self) -> bool:
        """Return whether ``Authorization`` has a bearer token, or an API key as one."""
        return (self.header("authorization") or "").lstrip(" ")[:7].lower() == "bearer "

    @property
    def context(self) -> RequestContext:
        """Return the caller and the operation, for records. Raises ``AuthRequired``: without a caller."""
        return RequestContext(self.operation_id, self.authenticated, self.request_id, attempt=self.attempt)

    def showing(self, show: Callable[[Any], Answer]) -> RequestContext:
        """Return ``context`` for a use case that stores the answer of ``show`` together with its change."""
        if self.attempt is not None:
            self.attempt.show = show
        return self.context

    def header(self, name: str) -> str | None:
        """Return the value of a header by its lower-case name; ASCII."""
        return self.headers.get(name)

    def all_headers(self, name: str) -> Sequence[str]:
        """Return every value of a header by its lower-case name, in the order of arrival."""
        if name in self.repeated:
            return self.repeated[name]
        value = self.headers.get(name)
        return () if value is None else (value,)

    def json(self) -> Any:
        """Return the body as strict JSON, parsed once and not yet checked against the document. Raises
        ``JsonRefused``: for malformed JSON."""
        if self._json is None:
            self._json = [strict_json.loads(self.body_octets)]
        return self._json[0]


Handler = Callable[[Request], Awaitable[Answer]]


class PageForm(Struct, frozen=True):
    """A target of POST outside the document: a page's form, or a request without a body. The size of the body is
    charged to the address.

    ``operation``: the operation for counters, logs and refusals; None for a page.
    ``max_body``: the maximum size of the form in bytes; None for the general maximum.
    ``media_type``: the accepted type; ``request.body`` has the fields of a form.
    """

    handler: Handler
    operation: Operation | None = None
    max_body: int | None = None
    media_type: str = FORM
