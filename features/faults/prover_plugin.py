"""A prover that breaks on demand: the real one, until ``IDENTITY_TEST_FAULT`` names a file with ``prover:raise`` or ``prover:hang``."""

from __future__ import annotations

import time
from typing import Any

import identity_prover_bbs

from features.faults.words import Broken, faults, is_hung
from identity_core.plugin import NoSettings, Provider, hookimpl


class Prover:
    """The BBS prover, until it breaks; it runs in a process of its own."""

    def __init__(self, real: Any) -> None:
        self._real = real

    @property
    def suite(self) -> str:
        suite: str = self._real.suite
        return suite

    @property
    def predicate_types(self) -> frozenset[str]:
        types: frozenset[str] = self._real.predicate_types
        return types

    def prove(self, statement: Any, witness: Any, *, context: Any) -> Any:
        self._strike()
        return self._real.prove(statement, witness, context=context)

    def read(self, proof: str) -> Any:
        self._strike()
        return self._real.read(proof)

    def verify(self, statement: Any, proof: Any, *, context: Any, now: Any) -> None:
        self._strike()
        self._real.verify(statement, proof, context=context, now=now)

    def present(self, statement: Any, witness: Any, *, bound: Any) -> Any:
        self._strike()
        return self._real.present(statement, witness, bound=bound)

    def read_presentation(self, text: str) -> Any:
        self._strike()
        return self._real.read_presentation(text)

    def verify_presentation(self, statement: Any, text: str, *, bound: Any, acceptance: Any) -> None:
        self._strike()
        self._real.verify_presentation(statement, text, bound=bound, acceptance=acceptance)

    @staticmethod
    def _strike() -> None:
        if "prover:raise" in faults():
            raise Broken("prover")
        while is_hung("prover"):
            time.sleep(0.02)


@hookimpl
def identity_provide_prover() -> Provider[Any]:
    real = identity_prover_bbs.identity_provide_prover()
    return Provider(
        "faulty", build=lambda _, context: Prover(real.build(real.settings(), context)), settings=NoSettings
    )
