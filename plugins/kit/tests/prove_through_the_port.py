"""Run in the environment of the plugin: proves and verifies through the guarded port that the settings choose."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from identity_kit.conformance.prover_cases import HANA, NOW, SCHEMA, BbsIssuer, context, statement

from identity_codec.values import replace
from identity_core.bootstrap import SystemClock
from identity_core.errors import PredicateNotSatisfied, ProofInvalid
from identity_core.plugin.manager import PluginManager
from identity_core.settings import load


def main() -> None:
    """Prints the suite when one proof goes through and two are refused."""
    settings = load()
    manager = PluginManager.load(settings, clock=SystemClock(), logger=logging.getLogger("identity"))
    prover = manager.prover(settings.prover.backend)
    issuer = BbsIssuer()
    witness = issuer.credential(SCHEMA, HANA)
    asked = statement(issuer.key, ("score", "gte", 18))
    made = prover.prove(asked, witness, context=context())
    prover.verify(asked, made, context=context(), now=NOW)
    refused = 0
    try:
        prover.verify(asked, replace(made, proof_id="another"), context=context(), now=NOW + timedelta(seconds=1))
    except ProofInvalid:
        refused += 1
    try:
        prover.prove(statement(issuer.key, ("score", "gte", 212)), witness, context=context())
    except PredicateNotSatisfied:
        refused += 1
    asyncio.run(manager.close())
    print(prover.suite, refused)


if __name__ == "__main__":
    main()
