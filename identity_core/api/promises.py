"""What the document promises about answers, checked on every answer of a test or staging run (off in production).

An answer whose status, media type, body or error code the document does not have is a fault of ours: it becomes 500 and
a line in the log, so that the features and the fuzzers find it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from jsonschema_rs import Draft202012Validator

from identity_codec.structs import encode
from identity_core.api.contract import dereference
from identity_core.api.errors import error_answer
from identity_core.api.request import Answer, Operation, Parts, Request
from identity_core.api.schemas import Schemas
from identity_core.api.transport import Receive, Scope
from identity_core.errors import IdentityError

Run = Callable[[Request, Scope, Receive], Awaitable[Answer]]


class PromiseBroken(Exception):
    """An operation answers what its document does not say."""


class Promises:
    """The responses of one operation: status → media type → validator (None for what is no JSON), and its codes."""

    def __init__(
        self, document: Mapping[str, Any], operation: Operation, declared: Mapping[str, Any], schemas: Schemas
    ) -> None:
        self._operation = operation
        self._operation_id = operation.operation_id
        self._media: dict[int, dict[str, Draft202012Validator | None]] = {}
        self._codes: dict[int, set[str]] = {}
        for status, reference in declared["responses"].items():
            response = dereference(document, reference)
            self._codes[int(status)] = set(response.get("x-error-codes", ()))
            self._media[int(status)] = {
                media: schemas.compile(content["schema"]) if media.endswith("json") and "schema" in content else None
                for media, content in response.get("content", {}).items()
            }

    def check_answer(self, answer: Answer) -> None:
        """Raises ``PromiseBroken``."""
        promised = self._media.get(answer.status)
        if promised is None:
            raise PromiseBroken(f"{self._operation_id}: {answer.status} is not in the document")
        if answer.body in (None, b"") or (not promised and answer.status == 304):
            return
        media = answer.media_type.partition(";")[0]
        if media not in promised:
            raise PromiseBroken(f"{self._operation_id}: {answer.status} as {media} is not in the document")
        validator = promised[media]
        if validator is None:
            return
        if isinstance(answer.body, Parts):
            raise PromiseBroken(f"{self._operation_id}: a stream of JSON cannot be checked")
        value = orjson.loads(answer.body if isinstance(answer.body, bytes) else encode(answer.body))
        for error in validator.iter_errors(value):
            place = "/".join(map(str, error.instance_path))
            raise PromiseBroken(f"{self._operation_id}: {answer.status} /{place}: {error.message}")

    def check_error(self, error: IdentityError) -> None:
        """Raises ``PromiseBroken``."""
        status = error.status
        if error.code not in self._codes.get(status, ()):
            raise PromiseBroken(f"{self._operation_id}: {status} {error.code} is not in the document") from error
        self.check_answer(error_answer(error, "-", self._operation))


def verified(run: Run, promises: Promises) -> Run:
    """``run``, with every outcome checked."""

    async def checked(request: Request, scope: Scope, receive: Receive) -> Answer:
        try:
            answer = await run(request, scope, receive)
        except IdentityError as error:
            promises.check_error(error)
            raise
        promises.check_answer(answer)
        return answer

    return checked
