"""Verify a proof without a service: genuine, made for this verifier, and an answer to its question.

    python offline_verifier.py answer.json issuer.jsonl age gte 18 --audience https://shop.example --challenge 'what I sent'

``answer.json`` is the answer of `POST /zkp/delegated-proofs`, or the ``ZKProof`` in it. ``issuer.jsonl`` is the log of the issuer's DID,
from any source. The exit code is 0 for a valid proof, else 1 with the reason. Properties that were not checked are printed as unchecked.
``--max-age`` refuses a proof whose own timestamp is older. ``--require`` refuses a proof that does not state that its holder agreed, that
its credential is valid, or that it is not revoked; proofs of suite 1 never state it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from identity_bound_credentials.domain.check import check_presentation
from identity_bound_credentials.domain.presented import PresentedPresentation
from identity_commands.verify_log import verify
from identity_prover_bbs import BbsProver
from identity_verification.domain.expected import AnyPresented
from identity_verification.domain.received import ReceivedProof
from identity_verification.domain.verification import Expectation
from identity_verification.use_cases import check as proofs
from identity_verification.use_cases.check import VerifiedProof

from identity_bbs.bls12381 import select
from identity_client.issuer_key import assertion_key
from identity_codec.values import replace
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import ProofInvalid


def check(answer: Path, log: Path, expectation: Expectation) -> VerifiedProof:
    """Print the proven statement, and what is not proven. Raises ``ProofInvalid``, ``LogInvalid``, ``ValueError``."""
    now = datetime.now(UTC)
    issuer = verify(log.read_bytes(), now=now)
    if issuer.deactivated:
        raise ValueError("the issuer has deactivated its DID")
    prover = BbsProver(select(), os.urandom)
    received = ReceivedProof.parse(json.loads(answer.read_text()))
    try:
        presented: AnyPresented = prover.read(received.proof)
    except ProofInvalid:
        presented = prover.read_presentation(received.proof)
    method = presented.verification_method
    expectation = replace(expectation, verification_method=method)
    keys = {one: assertion_key(dict(issuer.document), one, now) for one in presented.methods}
    if isinstance(presented, PresentedPresentation):
        return check_presentation(received, prover, keys=keys, expectation=expectation, now=now)
    return proofs.check(received, prover, issuer_key=keys[method], expectation=expectation, now=now)


def main() -> int:
    """Run with the arguments."""
    parser = argparse.ArgumentParser(description="Check a proof without any service.")
    parser.add_argument("answer", type=Path)
    parser.add_argument("log", type=Path)
    parser.add_argument("attribute")
    parser.add_argument("type")
    parser.add_argument("value", help="JSON, or a text")
    parser.add_argument("--audience", required=True)
    parser.add_argument("--challenge", required=True)
    parser.add_argument("--max-age", type=age, metavar="SECONDS")
    parser.add_argument("--require", action="store_true")
    said = parser.parse_args()
    try:
        value = json.loads(said.value)
    except ValueError:
        value = said.value
    expectation = Expectation(
        predicates=({"attributeName": said.attribute, "type": said.type, "value": value},),
        audience=said.audience,
        nonce=said.challenge.encode(),
        max_age=said.max_age,
        requires=frozenset({"holder", "credentialValidity", "credentialStatus"} if said.require else ()),
    )
    try:
        verified = check(said.answer, said.log, expectation)
    except ProofInvalid as error:
        return report(f"not valid: {error.details.get('reason', error)}", 1)
    except (LogInvalid, ValueError) as error:
        return report(f"not valid: {error}", 1)
    issuer = verified.presented.verification_method.partition("#")[0]
    report(f"valid: {said.attribute} {said.type} {said.value}, issuer {issuer}", 0)
    return report(f"unchecked: {', '.join(verified.unchecked)}", 0)


def age(text: str) -> timedelta:
    """Return the greatest age of a proof from a number of seconds."""
    try:
        found = timedelta(seconds=float(text))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds: give a finite one, such as 300") from None
    if found < timedelta(0):
        raise argparse.ArgumentTypeError(f"{text!r} is negative: give a number of seconds from 0 on, such as 300")
    return found


def report(line: str, status: int) -> int:
    """The status, after the line."""
    (sys.stderr if status else sys.stdout).write(line + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
