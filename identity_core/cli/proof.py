"""``identity proof``: proofs checked without the service, by whoever has the package and the issuer's key."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from identity_core.cli.configuration import config_option, configured
from identity_core.cli.output import as_json, fail, show
from identity_core.codec import multibase, multikey, strict_json
from identity_core.domain.errors import JsonValue, ProofInvalid
from identity_core.domain.proof import Expectation
from identity_core.ports.prover import Prover
from identity_core.settings import Settings, StartError

MAX_FILE_OCTETS = 1 << 20
_log = logging.getLogger("identity")


def verify_octets(
    octets: bytes, *, prover: Prover, issuer_key: str, expectation: Expectation, now: datetime
) -> dict[str, JsonValue]:
    """What the proof in ``octets`` (JSON, or the bare text) proves, as the command prints it.

    ``issuer_key`` is the issuer's ``Bls12381G2Key2020`` multikey. Raises ``ProofInvalid``, and ``ValueError`` for a text that is
    no such key.
    """
    from identity_core.use_cases.proofs.verify import ReceivedProof, VerifyProof

    key_type, raw = multikey.decode_public(issuer_key)
    if key_type != multikey.BLS12381G2:
        raise ValueError("not a Bls12381G2Key2020 multikey")
    verified = VerifyProof(prover)(ReceivedProof.parse(_read(octets)), issuer_key=raw, expectation=expectation, now=now)
    presented = verified.presented
    return {
        "verified": True,
        "predicates": [predicate.json for predicate in presented.predicates],
        "verificationMethod": presented.verification_method,
        "schemaId": presented.schema.id,
        "context": presented.context.json,
        "unchecked": list(verified.unchecked),
    }


def _read(octets: bytes) -> JsonValue:
    if len(octets) > MAX_FILE_OCTETS:
        raise ProofInvalid(details={"reason": f"the file has more than {MAX_FILE_OCTETS} octets"})
    text = octets.strip()
    if not text.startswith(b"{"):
        return text.decode("ascii", "replace")
    try:
        value: JsonValue = strict_json.loads(text)
    except strict_json.JsonRefused as refused:
        raise ProofInvalid(details={"reason": str(refused)}) from None
    return value


def installed_prover(settings: Settings) -> Prover:
    """The prover that the settings choose, or the only one there is. Raises ``StartError``."""
    from identity_core.bootstrap import SystemClock
    from identity_core.plugin.manager import PluginManager

    manager = PluginManager.load(settings, clock=SystemClock(), logger=_log)
    prover = manager.prover(settings.prover.backend)
    if prover is None:
        raise StartError("no prover is installed; the proofs of this service need identity-prover-bbs")
    return prover


@click.group(name="proof")
def command() -> None:
    """Check zero-knowledge proofs, offline."""


@command.command()
@click.argument("file", type=click.File("rb"))
@click.option("--issuer-key", required=True, metavar="MULTIKEY", help="The issuer's Bls12381G2Key2020 public key.")
@click.option("--issuer", metavar="DID_URL", help="The verification method that the proof must name.")
@click.option(
    "--predicate", "predicates", nargs=3, multiple=True, metavar="ATTRIBUTE TYPE VALUE", help="What you asked."
)
@click.option("--audience", help="Whom the proof must be for.")
@click.option("--nonce", metavar="BASE64URL", help="The nonce that you gave.")
@click.option("--proof-id", help="The proof's id.")
@click.option("--at", metavar="TIME", help="Check as of this RFC 3339 time instead of now.")
@config_option
@as_json
def verify(
    file: Any,
    issuer_key: str,
    issuer: str | None,
    predicates: tuple[tuple[str, str, str], ...],
    audience: str | None,
    nonce: str | None,
    proof_id: str | None,
    at: str | None,
    config: Path | None,
    json_output: bool,
) -> None:
    """Check a proof: FILE holds a ZKProof, a delegated-proof result or the bare text, `-` is standard input.

    Say what you asked for with --predicate, --audience and --nonce: what you leave out is printed as unchecked.
    A VALUE is JSON (18, true, ["JP","DE"]); anything else is taken as a string (2008-01-01, JP).
    """
    from identity_core.domain.times import parse

    try:
        expectation = Expectation(
            verification_method=issuer,
            header_digest=None,
            predicates=tuple(map(_predicate, predicates)) or None,
            audience=audience,
            nonce=None if nonce is None else multibase.base64url_decode(nonce),
            proof_id=proof_id,
            capability=None,
        )
        now = datetime.now(UTC) if at is None else parse(at)
        body = verify_octets(
            file.read(),
            prover=installed_prover(configured(config)),
            issuer_key=issuer_key,
            expectation=expectation,
            now=now,
        )
    except ProofInvalid as error:
        reason = error.details.get("reason", error)
        fail(f"the proof is not valid: {reason}", getattr(file, "name", "standard input"), "do not rely on it")
    except StartError as error:
        fail(str(error), "the installation", "see `identity plugins check`", status=2)
    except ValueError as error:
        fail(str(error), "the options", "see `identity proof verify --help`", status=2)
    show(body, json_output=json_output, text=_text)


def _predicate(asked: tuple[str, str, str]) -> Mapping[str, JsonValue]:
    attribute, kind, value = asked
    try:
        read: JsonValue = strict_json.loads(value.encode())
    except strict_json.JsonRefused:
        read = value
    return {"attributeName": attribute, "type": kind, "value": read}


def _text(body: Mapping[str, Any]) -> str:
    lines = ["valid"]
    lines += [f"proves     {one['attributeName']} {one['type']} {one['value']}" for one in body["predicates"]]
    lines += [f"issuer     {body['verificationMethod']}", f"schema     {body['schemaId']}"]
    lines += [f"audience   {body['context']['audience']}", f"proof id   {body['context']['proofId']}"]
    if body["unchecked"]:
        lines.append(f"unchecked  {', '.join(body['unchecked'])}")
    return "\n".join(lines)
