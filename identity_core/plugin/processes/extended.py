"""Messages to a worker beyond those of a prover: calls of extensions, and secured credentials."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from identity_codec import strict_json
from identity_core.plugin.border import Fault
from identity_core.ports.prover import Prover, ProverCall
from identity_core.ports.securing import Disclosed, KeyBinding, SecuredHead, SecuringFormat

GROUP: Final = "identity.prover_calls"


def calls_taken(prover: object) -> list[str]:
    """Return the extensions whose calls the prover takes."""
    return [one.name for one in entry_points(group=GROUP) if isinstance(prover, one.load().PROTOCOLS[-1])]


def prover_protocols() -> tuple[type[Any], ...]:
    """Return the optional Protocols of a prover besides ``Prover``, from the modules of extensions' calls."""
    return tuple(each for one in entry_points(group=GROUP) for each in one.load().PROTOCOLS)


@cache
def calls_of(extension: str) -> Any:
    """Return the module of an extension's calls. It is not that of the extension, which no worker loads."""
    (found,) = entry_points(group=GROUP, name=extension)
    return found.load()


class Extended(Struct, tag=True):
    """The message of a ``ProverCall``. The server has the whole call, the worker its members."""

    extension: str
    kind: str
    call: Any

    @classmethod
    def from_call(cls, call: ProverCall) -> Extended:
        """Return the message of a call."""
        return cls(call.extension, type(call).__name__, call)

    def parse(self) -> ProverCall:
        """Return the call, in the worker. Raises ``ValueError``: when it is malformed."""
        call: ProverCall = msgspec.convert(self.call, getattr(calls_of(self.extension), self.kind))
        return call

    def ask(self, prover: Prover) -> Any:
        """Run the call in the worker, and return its result."""
        return self.parse().ask(prover)

    def read(self, data: bytes) -> Any:
        """Return the answer, in the server."""
        return self.call.read(data)


T = TypeVar("T")


class AskFormat(Struct, tag=True):
    """The message for ``SecuringFormat.read``, and with a key for ``SecuringFormat.verify``."""

    secured: str | dict[str, Any]
    public_key: str | None = None
    binding: KeyBinding | None = None

    def ask(self, securing: SecuringFormat) -> SecuredHead | Disclosed:
        """Run the call in the worker, and return its result."""
        if self.public_key is None:
            return asyncio.run(securing.read(self.secured))
        return asyncio.run(securing.verify(self.secured, self.public_key, binding=self.binding))

    def read(self, data: bytes) -> SecuredHead | Disclosed:
        """Return the answer. Raises ``Fault``: when it is malformed."""
        return read(data, SecuredHead) if self.public_key is None else read(data, Disclosed)


def read(data: bytes, kind: type[T]) -> T:
    """Read the value that a worker answered, like the request of an unauthenticated client. Raises ``Fault``."""
    try:
        return msgspec.convert(strict_json.loads(data), kind)
    except ValueError as error:
        raise something_else(error) from None


def something_else(error: Exception) -> Fault:
    """Return the fault of a worker whose answer breaks the port."""
    return Fault(f"answered with something else ({type(error).__name__})")
