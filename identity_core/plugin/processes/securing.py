"""The message about secured credentials, between server and worker."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from identity_codec import strict_json
from identity_core.plugin.border import Fault
from identity_core.ports.securing import Disclosed, KeyBinding, SecuredHead, SecuringFormat

T = TypeVar("T")


class AskFormat(Struct, tag=True):
    """``SecuringFormat.read``, and with a key ``SecuringFormat.verify``."""

    secured: str | dict[str, Any]
    public_key: str | None = None
    binding: KeyBinding | None = None

    def ask(self, securing: SecuringFormat) -> SecuredHead | Disclosed:
        if self.public_key is None:
            return asyncio.run(securing.read(self.secured))
        return asyncio.run(securing.verify(self.secured, self.public_key, binding=self.binding))

    def read(self, octets: bytes) -> SecuredHead | Disclosed:
        """The answer. Raises ``Fault``."""
        return read(octets, SecuredHead) if self.public_key is None else read(octets, Disclosed)


def read(octets: bytes, kind: type[T]) -> T:
    """Read the value that a worker answered, like the request of an unauthenticated client. Raises ``Fault``."""
    try:
        return msgspec.convert(strict_json.loads(octets), kind)
    except ValueError as error:
        raise something_else(error) from None


def something_else(error: Exception) -> Fault:
    """Return the fault of a worker whose answer breaks the port."""
    return Fault(f"answered with something else ({type(error).__name__})")
