"""Provers beside the event loop: on threads of this process, unless an extension runs them in other processes.

The default has the same deadline and limit of calls at the caller. A thread cannot be ended: a call that hangs
occupies it until the process ends, and a crash of native code ends the server.
"""

from __future__ import annotations

import ctypes
import resource
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec

from identity_codec import strict_json
from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.plugin.border import Bulkhead, Fault, guard
from identity_core.plugin.build import Built, calls_taken
from identity_core.plugin.load import Offer
from identity_core.plugin.sockets import Socket
from identity_core.plugin.threads import in_threads
from identity_core.ports.prover import ProofWorkers, Prover, ProverCall
from identity_core.settings import Settings

T = TypeVar("T")

_SET_DUMPABLE: Final = 4


# Returns the object of an offer in so many processes, guarded by the bulkhead, for the running event loop. The flag is
# set for those that serve unauthenticated clients. Raises ``PluginError``: when it cannot be built.
Isolation = Callable[[Socket[Any], Offer, Bulkhead, Settings, bool, int], Built]


def on_threads(built: Built, bulkhead: Bulkhead, workers: int) -> Built:
    """Return a prover of this process on ``workers`` threads, guarded by ``bulkhead``."""
    made = in_threads(_ProverCalls(built.thing), workers=workers)
    return Built(built.offer, made, guard(made, ProofWorkers, bulkhead), bulkhead)


class _ProverCalls:
    """The methods of ``ports.prover.ProofWorkers`` as plain functions."""

    def __init__(self, prover: Prover) -> None:
        self._prover = prover
        self.suite, self.predicate_types = prover.suite, prover.predicate_types
        self.extensions = frozenset(calls_taken(prover))

    def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        return self._prover.prove(statement, witness, context=context)

    def read(self, proof: str) -> PresentedProof:
        return self._prover.read(proof)

    def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        return self._prover.verify(statement, proof, context=context, now=now)

    def ask(self, call: ProverCall) -> Any:
        return call.read(msgspec.json.encode(call.ask(self._prover)))


def read_answer(data: bytes, kind: type[T]) -> T:
    """Read the JSON that a prover answered, like the request of an unauthenticated client. Raises ``Fault``."""
    try:
        return msgspec.convert(strict_json.loads(data), kind)
    except ValueError as error:
        raise something_else(error) from None


def something_else(error: Exception) -> Fault:
    """Return the fault of a prover whose answer breaks the port."""
    return Fault(f"answered with something else ({type(error).__name__})")


def leave_no_core() -> None:
    """Disable core files of this process, and access to it for other processes of the same account: a plugin's process
    must not read in ``/proc`` what it was not given."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
