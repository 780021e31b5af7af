"""The vicious prover as a ``BatchVerifier``: what the text of a proof says happens where it is verified together with others."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from identity_core.domain.credentials.attributes import Attribute, AttributeType
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.proof import Context, PresentedProof, ZkProof
from identity_core.errors import ProofInvalid
from identity_core.plugin import BuildContext, Provider, hookimpl
from tests.fault.vicious_prover import ViciousProver, ViciousSettings

SCHEMA = Schema("urn:crew", (Attribute("age", AttributeType.INTEGER),))
CONTEXT = Context("x", b"n" * 16, datetime(2026, 1, 2, tzinfo=UTC), datetime(2027, 1, 2, tzinfo=UTC), "p1", None, None)


class BatchingProver(ViciousProver):
    def read(self, proof: str) -> Any:
        if proof == "deadly":
            os._exit(3)
        if proof == "bad":
            raise ProofInvalid(details={"reason": "it is bad"})
        return PresentedProof("did:example:ivo#bbs", SCHEMA, (), CONTEXT)

    def verify(self, statement: Any, proof: ZkProof, *, context: Context, now: datetime) -> Any:
        if proof.proof == "deadly":
            os._exit(3)
        return super().verify(statement, proof, context=context, now=now)

    def verify_all(self, asked: Sequence[tuple[Any, ZkProof, Context, datetime]]) -> Any:
        texts = [proof.proof for _, proof, _, _ in asked]
        if "deadly" in texts:
            os._exit(3)
        if "raises" in texts:
            raise RuntimeError("boom")
        if "short" in texts:
            return [None]
        for text in texts:
            if text.startswith("{"):
                _speak(text.encode())
        return [ProofInvalid(details={"together": len(texts)}) if text == "bad" else None for text in texts]

    def verify_presentations(self, asked: Any) -> Any:
        raise NotImplementedError

    def present(self, statement: Any, witness: Any, *, bound: Any) -> str:
        raise NotImplementedError

    def read_presentation(self, text: str) -> Any:
        raise NotImplementedError

    def verify_presentation(self, statement: Any, text: str, *, bound: Any, acceptance: Any) -> None:
        raise NotImplementedError


def _speak(body: bytes) -> None:
    """Sends a message of its own to the server, on whatever descriptor that is."""
    for descriptor in [int(name) for name in os.listdir("/proc/self/fd") if int(name) > 2]:
        try:
            os.write(descriptor, struct.pack(">I", len(body)) + body)
        except OSError:
            continue


def build(settings: ViciousSettings, context: BuildContext) -> Any:
    return BatchingProver(settings)


@hookimpl
def identity_provide_prover() -> Provider[Any]:
    return Provider("vicious", build, ViciousSettings)
