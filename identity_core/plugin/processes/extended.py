"""The calls of extensions that run in the worker of a prover."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final

import msgspec
from msgspec import Struct

from identity_core.ports.prover import Prover, ProverCall

GROUP: Final = "identity.prover_calls"


def calls_taken(prover: object) -> list[str]:
    """Return the extensions whose calls the prover takes."""
    return [one.name for one in entry_points(group=GROUP) if isinstance(prover, one.load().PROTOCOLS[-1])]


def prover_protocols() -> tuple[type[Any], ...]:
    """Return what a prover may be besides ``Prover``, by the modules of extensions' calls."""
    return tuple(each for one in entry_points(group=GROUP) for each in one.load().PROTOCOLS)


@cache
def calls_of(extension: str) -> Any:
    """Return the module of an extension's calls. It is not that of the extension, which no worker loads."""
    (found,) = entry_points(group=GROUP, name=extension)
    return found.load()


class Extended(Struct, tag=True):
    """A ``ProverCall``: the server has it whole, and the worker its members."""

    extension: str
    kind: str
    call: Any

    @classmethod
    def from_call(cls, call: ProverCall) -> Extended:
        return cls(call.extension, type(call).__name__, call)

    def parse(self) -> ProverCall:
        """The call, in the worker. Raises ``ValueError``."""
        call: ProverCall = msgspec.convert(self.call, getattr(calls_of(self.extension), self.kind))
        return call

    def ask(self, prover: Prover) -> Any:
        return self.parse().ask(prover)

    def read(self, octets: bytes) -> Any:
        """The answer, in the server."""
        return self.call.read(octets)
