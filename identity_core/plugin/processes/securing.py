"""The messages about secured credentials, between server and worker."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from identity_core.codec import strict_json
from identity_core.plugin.border import Fault
from identity_core.ports.securing import Disclosed, KeyBinding, SecuredHead, SecuringFormat

T = TypeVar("T")


class ReadSecured(Struct, tag=True):
    """``SecuringFormat.read``."""

    secured: str | dict[str, Any]

    def ask(self, securing: SecuringFormat) -> SecuredHead:
        return asyncio.run(securing.read(self.secured))

    @staticmethod
    def read(octets: bytes) -> SecuredHead:
        """The answer. Raises ``Fault``, as the next does."""
        return read(octets, SecuredHead)


class VerifySecured(Struct, tag=True):
    """``SecuringFormat.verify``."""

    secured: str | dict[str, Any]
    public_key: str
    binding: KeyBinding | None

    def ask(self, securing: SecuringFormat) -> Disclosed:
        return asyncio.run(securing.verify(self.secured, self.public_key, binding=self.binding))

    @staticmethod
    def read(octets: bytes) -> Disclosed:
        """The answer."""
        return read(octets, Disclosed)


def read(octets: bytes, kind: type[T]) -> T:
    """Read the value that a worker answered, like the request of an unauthenticated client. Raises ``Fault``."""
    try:
        return msgspec.convert(strict_json.loads(octets), kind)
    except ValueError as error:
        raise something_else(error) from None


def something_else(error: Exception) -> Fault:
    """What is raised where it is not what the port promises."""
    return Fault(f"answered with something else ({type(error).__name__})")
