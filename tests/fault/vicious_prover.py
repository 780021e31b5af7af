"""A prover that does what it must not, as the audience of the context (or the text of the proof) says: ``vice:exit`` and so on.

``[plugins.vicious] build`` names what happens when it is built. It belongs into worker processes only.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.predicate import Predicate
from identity_core.domain.proofs.proof import Context, PresentedProof, WitnessInvalid, ZkProof
from identity_core.errors import Overloaded, PredicateNotSatisfied, PredicateUnsupported, ProofInvalid
from identity_core.plugin import BuildContext, NotConfigured, PluginError, Provider, hookimpl


@dataclass(frozen=True)
class ViciousSettings:
    """``build`` is the vice at the start; ``scratch`` a folder where the prover leaves notes."""

    build: str = ""
    scratch: str = ""


def proof_of(context: Context) -> ZkProof:
    """A good answer: it says which process made it."""
    return ZkProof("cHJvb2Y", (str(os.getpid()),), "gte", context.proof_id)


class ViciousProver:
    suite = "vicious-1"
    predicate_types = frozenset({"gte"})

    def __init__(self, settings: ViciousSettings) -> None:
        self._settings = settings

    def prove(self, statement: Any, witness: Any, *, context: Context) -> Any:
        act = VICES.get(context.audience.partition(":")[2])
        return proof_of(context) if act is None else act(self, witness, context)

    def read(self, proof: str) -> Any:
        return RUINED[proof]()

    def verify(self, statement: Any, proof: ZkProof, *, context: Context, now: datetime) -> Any:
        if context.audience == "vice:false":
            return False
        if proof.proof == "bad":
            raise ProofInvalid(details={"reason": "it is bad"})
        if now.tzinfo is None:
            raise ProofInvalid(details={"reason": "the time came without its zone"})
        return None

    def note(self, name: str, text: str) -> None:
        Path(self._settings.scratch, name).write_text(text)

    def close(self) -> None:
        if self._settings.scratch:
            self.note("closed", str(os.getpid()))


class NamelessProver(ViciousProver):
    suite = ""


def refuse(error: Exception) -> Any:
    raise error


def tell(prover: ViciousProver, witness: Any, context: Context) -> Any:
    """Everything that a careless author may do with a secret, and then raises with it."""
    secret = str(dict(witness.attributes))
    print(secret)
    print(secret, file=sys.stderr)
    os.write(1, secret.encode())
    os.write(2, secret.encode())
    thread = threading.Thread(target=lambda: refuse(ValueError(secret)))
    thread.start()
    thread.join()
    logging.getLogger("other").error("a failure", exc_info=ValueError(secret))
    raise ValueError(secret)


def fork_and_both_answer(prover: ViciousProver, witness: Any, context: Context) -> Any:
    if os.fork() != 0:
        time.sleep(0.2)
    return proof_of(context)


def fork_many(prover: ViciousProver, witness: Any, context: Context) -> Any:
    pids = []
    for _ in range(30):
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
            os._exit(0)
        pids.append(str(pid))
    prover.note("forked", " ".join(pids))
    return proof_of(context)


def hold_the_lock(prover: ViciousProver, witness: Any, context: Context) -> Any:
    prover.note("hung", str(os.getpid()))
    # PyDLL keeps the interpreter's lock, as native code that hangs does.
    ctypes.PyDLL(None).sleep(600)
    return proof_of(context)


def spin(prover: ViciousProver, witness: Any, context: Context) -> Any:
    while True:
        pass


def scribble(prover: ViciousProver, witness: Any, context: Context) -> Any:
    """Writes to every open file, the channel among them."""
    for descriptor in [int(name) for name in os.listdir("/proc/self/fd") if int(name) > 2]:
        try:
            os.write(descriptor, b"\x00\x00\x00\x04Zjunk" * 4)
        except OSError:
            continue
    return proof_of(context)


def shut_everything(prover: ViciousProver, witness: Any, context: Context) -> Any:
    os.closerange(3, 256)
    return proof_of(context)


def die_later(prover: ViciousProver, witness: Any, context: Context) -> Any:
    threading.Timer(0.1, os._exit, (7,)).start()
    return proof_of(context)


class OwnProof(ZkProof):
    """A class that only the plugin has."""


VICES: dict[str, Callable[[ViciousProver, Any, Context], Any]] = {
    "raise": lambda *_: refuse(RuntimeError("boom")),
    "system-exit": lambda *_: sys.exit(3),
    "recursion": lambda *given: VICES["recursion"](*given),
    "memory": lambda *_: bytearray(1 << 33),
    "tell": tell,
    "unsupported": lambda *_: refuse(
        PredicateUnsupported("Not this one.", details={"reason": "no", "n": [1, {"a": None}]})
    ),
    "not-satisfied": lambda *_: refuse(PredicateNotSatisfied()),
    "witness": lambda *_: refuse(WitnessInvalid()),
    "invalid": lambda *_: refuse(ProofInvalid(details={"reason": "bad"})),
    "overloaded": lambda *_: refuse(Overloaded(details={"retryAfter": 3})),
    "ruined-details": lambda *_: refuse(ProofInvalid(details={"reason": object()})),  # type: ignore[dict-item]
    "junk": lambda *_: {"proof": "junk"},
    "none": lambda *_: None,
    "class": lambda *_: ZkProof,
    "unpicklable": lambda *_: ZkProof("x", (lambda: 0,), "gte", "p"),  # type: ignore[arg-type]
    "list": lambda _p, _w, context: ZkProof("x", ["a", 7], "gte", context.proof_id),  # type: ignore[arg-type]
    "surrogate": lambda *_: ZkProof("\udc80", (), "gte", "p"),
    "huge": lambda *_: ZkProof("A" * (1 << 23), (), "gte", "p"),
    "own-class": lambda _p, _w, context: OwnProof("own", (), "gte", context.proof_id),
    "exit": lambda *_: os._exit(0),
    "segv": lambda *_: ctypes.string_at(8),
    "abort": lambda *_: os.abort(),
    "kill": lambda *_: os.kill(os.getpid(), signal.SIGKILL),
    "stop": lambda *_: os.kill(os.getpid(), signal.SIGSTOP),
    "spin": spin,
    "hold": hold_the_lock,
    "fork": fork_and_both_answer,
    "fork-many": fork_many,
    "scribble": scribble,
    "shut": shut_everything,
    "die-later": die_later,
    "slow": lambda _p, _w, context: time.sleep(0.3) or proof_of(context),
    "environment": lambda _p, _w, context: ZkProof(
        "e", tuple(Path("/proc/self/environ").read_text().split("\0")), "gte", context.proof_id
    ),
    "nice": lambda _p, _w, context: ZkProof(
        str(os.getpriority(os.PRIO_PROCESS, 0)), (Path("/proc/self/oom_score_adj").read_text().strip(),), "gte", "p"
    ),
}

CONTEXT = Context("a", bytes(16), datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC), "p", None, None)
RUINED: dict[str, Callable[[], Any]] = {
    "text": lambda: "PresentedProof",
    "empty": lambda: PresentedProof(*[None] * len(PresentedProof.__struct_fields__)),
    "no-schema": lambda: PresentedProof("m", "schema", (), CONTEXT),  # type: ignore[arg-type]
    "no-context": lambda: PresentedProof("m", SCHEMA, (), None),  # type: ignore[arg-type]
    "predicates": lambda: PresentedProof("m", SCHEMA, (1, 2), CONTEXT),  # type: ignore[arg-type]
    "foreign-predicate": lambda: PresentedProof("m", SCHEMA, (FOREIGN,), CONTEXT),
}


def _schema(name: str) -> Schema:
    from identity_core.domain.credentials.attributes import Attribute, AttributeType

    return Schema("urn:vicious", (Attribute(name, AttributeType.INTEGER),))


SCHEMA = _schema("a")
FOREIGN = Predicate.parse(_schema("b"), "b", "gte", 1)


def build(settings: ViciousSettings, context: BuildContext) -> Any:
    match settings.build:
        case "raise":
            raise RuntimeError("no key file")
        case "refuse":
            raise PluginError("the proving key is of another curve")
        case "unset":
            raise NotConfigured("set plugins.vicious.scratch")
        case "exit":
            os._exit(5)
        case "misfit":
            return object()
        case "nameless":
            return NamelessProver(settings)
        case "slow":
            time.sleep(1.0)
        case "hang":
            time.sleep(600)
        case "log":
            for number in range(1000):
                context.logger.warning("line %d", number)
    return ViciousProver(settings)


@hookimpl
def identity_provide_prover() -> Provider[Any]:
    return Provider("vicious", build, ViciousSettings)
