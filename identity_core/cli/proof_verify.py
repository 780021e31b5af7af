"""``identity proof verify``: proofs checked by anyone who has the package, with or without a service."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from identity_core.cli.credential_offline import read_schema
from identity_core.cli.options import (
    config_option,
    configured,
    data_dir_option,
    database_url_option,
    predicate_value,
    refuse_absent,
    shown,
)
from identity_core.cli.output import as_json, fail, fail_start, show
from identity_core.cli.proof_anchor import LedgerUnreachable, check_anchor
from identity_core.cli.public_keys import KeyFinder, Unchecked, given, in_document, in_log, resolved_at
from identity_core.codec import multibase, strict_json
from identity_core.domain.proof import Expectation
from identity_core.errors import JsonValue, ProofInvalid
from identity_core.ports.prover import Prover
from identity_core.settings import Settings, StartError

MAX_FILE_OCTETS = 1 << 20
_log = logging.getLogger("identity")


def verify_octets(
    octets: bytes,
    *,
    prover: Prover,
    find_key: KeyFinder,
    expectation: Expectation,
    now: datetime,
    ledger: Settings | None = None,
) -> dict[str, JsonValue]:
    """What the proof in ``octets`` (JSON, or the bare text) proves, as the command prints it; the anchor of a record is checked too, on the
    ledger of the settings ``ledger`` where they are given. Raises ``ProofInvalid``, ``LedgerUnreachable``, and what ``find_key`` raises."""
    from identity_core.use_cases.proofs.verify import OfflineVerification, ReceivedProof

    value = _read(octets)
    received = ReceivedProof.parse(value)
    raw = find_key(prover.read(received.proof).verification_method)
    verified = OfflineVerification(prover)(received, issuer_key=raw, expectation=expectation, now=now)
    anchor = check_anchor(value, ledger)
    presented = verified.presented
    return {
        "verified": True,
        "predicates": [predicate.json for predicate in presented.predicates],
        "verificationMethod": presented.verification_method,
        "schemaId": presented.schema.id,
        "context": presented.context.json,
        # The ledger was asked whether the leaf of this proof was revoked.
        "unchecked": [
            name for name in verified.unchecked if not (name == "revocation" and anchor and anchor["onLedger"])
        ],
        "anchor": anchor,
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
        raise StartError(
            "no prover is installed, and none can be checked without; `identity plugins list` shows what is"
        )
    return prover


@click.command()
@click.argument("file", type=click.File("rb"))
@click.option("--issuer-key", metavar="MULTIKEY", help="The issuer's Bls12381G2Key2020 public key.")
@click.option(
    "--issuer-document", type=click.File("rb"), help="The issuer's DID document, or the answer of a resolution."
)
@click.option("--issuer-log", type=click.File("rb"), help="The log of the issuer's DID, which is verified too.")
@click.option("--resolve", "url", metavar="URL", help="Let this service resolve the issuer's DID.")
@click.option("--issuer", metavar="DID_URL", help="The verification method that the proof must name.")
@click.option(
    "--predicate", "predicates", nargs=3, multiple=True, metavar="ATTRIBUTE TYPE VALUE", help="What you asked."
)
@click.option("--audience", help="Whom the proof must be for: the domain of the request.")
@click.option("--challenge", metavar="TEXT", help="The challenge that you gave.")
@click.option("--nonce", metavar="BASE64URL", help="The same as octets.")
@click.option("--proof-id", help="The proof's id.")
@click.option("--max-age", type=click.IntRange(0), metavar="SECONDS", help="How old it may be, by its own word.")
@click.option(
    "--schema",
    type=click.File("rb"),
    help="The registered schema: what `identity credential schema get ID --json` printed.",
)
@click.option("--at", metavar="TIME", help="Check as of this RFC 3339 time instead of now.")
@click.option(
    "--ledger", "on_ledger", is_flag=True, help="Ask the configured ledger for the root of the proof's anchor too."
)
@config_option
@data_dir_option
@database_url_option
@as_json
def verify(
    file: Any,
    issuer_key: str | None,
    issuer_document: Any,
    issuer_log: Any,
    url: str | None,
    at: str | None,
    on_ledger: bool,
    config: Path | None,
    data_dir: Path | None,
    database_url: str | None,
    **expected: Any,
) -> None:
    """Check a proof: FILE holds a ZKProof, a delegated-proof result, a record (`identity proof get --json`) or the bare text, `-` is
    standard input. The anchor in a record is followed to its root.

    Say what you asked for with --predicate, --audience and --nonce: what you leave out is printed as unchecked. So is what no proof says:
    whether its credential is in force, whether it was taken back, and who shows it. The service of the holder tells that who took part.
    A VALUE is JSON (18, true, ["JP","DE"]); anything else is taken as a string (2008-01-01, 10.50, JP).

    Ends with 0 for a proof that holds, 1 for one that does not, 2 when it could not be checked.
    """
    from identity_core.domain.times import parse

    try:
        expectation = _expectation(**expected)
        now = datetime.now(UTC) if at is None else parse(at)
        find_key = _key_finder(issuer_key, issuer_document, issuer_log, url, now)
        settings = configured(config, {"data_dir": data_dir, "database_url": database_url})
        if on_ledger:
            refuse_absent(settings, "name the one of the service with --data-dir, or its server with --database-url")
        body = verify_octets(
            file.read(),
            prover=installed_prover(settings),
            find_key=find_key,
            expectation=expectation,
            now=now,
            ledger=settings if on_ledger else None,
        )
    except Unchecked as error:
        fail(f"the proof could not be checked: {error}", str(url), "try again, or give --issuer-log", status=2)
    except LedgerUnreachable as error:
        fail(f"the anchor could not be checked: {error}", "the ledger", "see `identity doctor`", status=2)
    except ProofInvalid as error:
        reason = error.details.get("reason", error)
        fail(f"the proof is not valid: {reason}", getattr(file, "name", "standard input"), "do not rely on it")
    except StartError as error:
        fail_start(error, "the installation", "see `identity plugins check`", status=2)
    except ValueError as error:
        fail(str(error), "the options", "see `identity proof verify --help`", status=2)
    show(body, text=_text)


def _key_finder(key: str | None, document: Any, log: Any, url: str | None, now: datetime) -> KeyFinder:
    """The one source that was named. Raises ``ValueError`` for none, several, or one that is no good."""
    finders: list[Callable[[], KeyFinder]] = []
    if key is not None:
        finders.append(lambda: given(key))
    if document is not None:
        finders.append(lambda: in_document(document.read(MAX_FILE_OCTETS), now))
    if log is not None:
        finders.append(lambda: in_log(log.read(), now))
    if url is not None:
        finders.append(lambda: resolved_at(url, now))
    if len(finders) != 1:
        raise ValueError("give one of --issuer-key, --issuer-document, --issuer-log and --resolve")
    return finders[0]()


def _expectation(
    issuer: str | None,
    predicates: tuple[tuple[str, str, str], ...],
    audience: str | None,
    challenge: str | None,
    nonce: str | None,
    proof_id: str | None,
    max_age: int | None,
    schema: Any,
) -> Expectation:
    if challenge is not None and nonce is not None:
        raise ValueError("--challenge and --nonce say the same thing: give one")
    octets = None if challenge is None else challenge.encode()
    return Expectation(
        verification_method=issuer,
        header_digest=None if schema is None else hashlib.sha256(read_schema(schema).schema.header).digest(),
        predicates=tuple(map(_predicate, predicates)) or None,
        audience=audience,
        nonce=octets if nonce is None else multibase.base64url_decode(nonce),
        proof_id=proof_id,
        capability=None,
        max_age=None if max_age is None else timedelta(seconds=max_age),
    )


def _predicate(asked: tuple[str, str, str]) -> Mapping[str, JsonValue]:
    attribute, kind, value = asked
    return {"attributeName": attribute, "type": kind, "value": predicate_value(value)}


def _text(body: Mapping[str, Any]) -> str:
    lines = ["valid"]
    lines += [f"proves     {one['attributeName']} {one['type']} {shown(one['value'])}" for one in body["predicates"]]
    lines += [f"issuer     {body['verificationMethod']}", f"schema     {body['schemaId']}"]
    lines += [f"audience   {body['context']['audience']}", f"proof id   {body['context']['proofId']}"]
    if body["anchor"] is not None:
        anchor = body["anchor"]
        where = f"block {anchor['blockNumber']}" if anchor["onLedger"] else "not asked (--ledger)"
        lines.append(f"anchor     the path leads to the root; ledger {anchor['ledger']}: {where}")
    if body["unchecked"]:
        lines.append(f"unchecked  {', '.join(body['unchecked'])}")
    return "\n".join(lines)
