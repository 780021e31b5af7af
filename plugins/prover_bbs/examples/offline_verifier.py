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
import sys
from pathlib import Path

from identity_client import Expectation, verify, verify_log


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
    try:
        log = said.log.read_text()
        issuer = verify_log(log).did
        expect = Expectation(
            predicate={"attributeName": said.attribute, "type": said.type, "value": value},
            challenge=said.challenge,
            domain=said.audience,
            issuer_did=issuer,
            max_age=said.max_age,
            requires=["holder", "credentialValidity", "credentialStatus"] if said.require else None,
        )
        found = verify(json.loads(said.answer.read_text()), expect=expect, logs=[log])
    except ValueError as error:
        return report(f"not valid: {error}", 1)
    if found["verdict"] != "valid":
        return report(f"not valid: {', '.join(found['errors'])}", 1)
    report(f"valid: {said.attribute} {said.type} {said.value}, issuer {issuer}", 0)
    return report(f"unchecked: {', '.join(found['unchecked'])}", 0)


def age(text: str) -> int:
    """Return the greatest age of a proof from a number of seconds."""
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of seconds: give one such as 300")
    return int(text)


def report(line: str, status: int) -> int:
    """The status, after the line."""
    (sys.stderr if status else sys.stdout).write(line + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
