"""``identity proof verify``: verification of proofs with this package, with or without a service."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final

import click
from identity_verification.domain.checks import BOUND, BoundPart, Check, verdict_of
from identity_verification.domain.verification import Expectation

from identity_client.presentation import check_text
from identity_client.verification import members_of
from identity_codec import multibase, strict_json
from identity_codec.strict_json import JsonValue
from identity_codec.structs import plain
from identity_codec.values import replace
from identity_commands.credential_offline import issuer_options, read_schema
from identity_commands.json_input import MAX_FILE_OCTETS, input_argument, name_of, predicate_value, read_json
from identity_commands.options import installed_plugins, refuse_absent, several
from identity_commands.proof_anchor import LedgerUnreachable, check_anchor
from identity_commands.proof_consent import cover_of
from identity_commands.proof_question import proven, question_of, question_option
from identity_commands.public_keys import KeyFinder, Unchecked, in_document, in_log, key_of_option, resolved_at
from identity_core.cli.options import Whole, of_installation
from identity_core.cli.output import Command, fail, fail_start, show
from identity_core.errors import ProofInvalid
from identity_core.ports.prover import Prover
from identity_core.settings import Settings, StartError

SOURCES: Final[dict[str, Callable[[Any, datetime], KeyFinder]]] = {
    "issuer_key": lambda key, _: key_of_option(key),
    "issuer_document": in_document,
    "issuer_log": lambda log, now: in_log(log.read(), now),
    "url": resolved_at,
}
BINDING: Final = {
    "predicate": "--predicate",
    "challenge": "--challenge",
    "domain": "--audience",
    "issuerDid": "--issuer",
}
"""The options that compare a proof with each part of ``BOUND``."""


def verify_octets(
    data: bytes,
    *,
    prover: Prover,
    find_key: KeyFinder,
    expectation: Expectation,
    now: datetime,
    ledger: Settings | None = None,
) -> dict[str, Any]:
    """Verify the proof in ``data`` (JSON, or the bare text). Return its content, as the command prints it. The anchor of a record
    is checked too, on the ledger of the settings ``ledger`` if they are given. Raises ``ProofInvalid``, ``LedgerUnreachable``, and
    what ``find_key`` raises."""
    from identity_bound_credentials.checks import SUITES
    from identity_verification.answers import status_lists
    from identity_verification.domain.received import ReceivedProof
    from identity_verification.offline import GivenKeys, check_offline

    received, keys = ReceivedProof.parse(value := _read(data)), GivenKeys(find_key)
    verdict = check_offline(received, prover, keys, suites=SUITES, expectation=expectation, now=now)
    presented = verdict.presented
    if presented is None:
        reason = "it is not a proof, or one of several credentials or alternatives, which need --question"
        raise ProofInvalid(details={"reason": reason})
    if not verdict.verified:
        raise ProofInvalid(details={"reason": "; ".join(map(_fault, filter(attrgetter("code"), verdict.checks)))})
    anchor = check_anchor(value, ledger)
    # Without its path, what stands beside the proof about an anchor is a claim.
    is_claimed = anchor is None and isinstance(value, dict) and value.get("anchor") is not None
    return {
        "verified": True,
        "predicates": [predicate.json for predicate in presented.predicates],
        "question": question_of(presented),
        "verificationMethod": presented.verification_method,
        "schemaId": presented.schema.id,
        "context": presented.context.json,
        "statusLists": plain(status_lists(presented)),
        # The ledger was asked whether the leaf of this proof was revoked.
        "unchecked": [
            *(name for name in verdict.unchecked if not (name == "revocation" and anchor and anchor["onLedger"])),
            *["anchor"] * is_claimed,
        ],
        "anchor": anchor,
    }


def _fault(check: Check) -> str:
    return f"{check.name} {check.code}: {check_text({'check': check.name, 'ok': check.ok})}"


def _read(data: bytes) -> JsonValue:
    if len(data) > MAX_FILE_OCTETS:
        raise ProofInvalid(details={"reason": f"the file has more than {MAX_FILE_OCTETS} bytes"})
    text = data.strip()
    if not text.startswith(b"{"):
        return text.decode("ascii", "replace")
    try:
        value: JsonValue = strict_json.loads(text)
    except strict_json.JsonRefused as refused:
        raise ProofInvalid(details={"reason": str(refused)}) from None
    return value


def installed_prover(settings: Settings) -> Prover:
    """Return the prover in the settings, or the only installed one. Raises ``StartError``."""
    prover = installed_plugins(settings).prover(settings.prover.backend)
    if prover is None:
        raise StartError("no prover is installed, which a check needs; `identity plugins list` shows what is installed")
    return prover


@click.command(cls=Command)
@input_argument
@issuer_options
@click.option("--resolve", "url", metavar="URL", help="URL of the service that resolves the issuer's DID.")
@click.option("--issuer", metavar="DID", help="DID of the required issuer, or its verification method as a DID URL.")
@several("--predicate", "ATTRIBUTE TYPE VALUE", "Requested predicate; repeatable.", into="predicates")
@question_option
@click.option("--audience", help="Required verifier of the proof: the domain of the request.")
@click.option("--challenge", metavar="TEXT", help="Challenge of your request.")
@click.option("--nonce", metavar="BASE64URL", help="Challenge as bytes, in place of --challenge.")
@click.option("--proof-id", help="Required id of the proof.")
@click.option(
    "--require",
    "requires",
    multiple=True,
    type=click.Choice(["holder", "credentialValidity", "credentialStatus"]),
    help="Statement that the proof must contain (suite 2); repeatable.",
)
@click.option("--agent-key", metavar="MULTIKEY", help="Ed25519 key of the agent that must have signed the proof.")
@click.option(
    "--consent-covers",
    "--consent-cover",
    "consent_cover",
    callback=cover_of,
    metavar="NAMES",
    help="What the holder's consent must cover at least: audience, challenge, question, agent-key or token, separated by commas. "
    "A consent in advance covers question,agent-key.  [default: audience,challenge,question]",
)
@click.option("--max-age", type=Whole(0), metavar="SECONDS", help="Maximum age of the proof, in seconds.")
@click.option(
    "--status-max-age",
    type=Whole(0),
    metavar="SECONDS",
    help="Maximum time since the end of the epoch of its status list, in seconds.  [default: 3600]",
)
@click.option(
    "--schema",
    type=click.File("rb"),
    help="File with the registered schema, as `identity credential schema get ID --json` prints it.",
)
@click.option("--at", metavar="TIME", help="RFC 3339 time at which the proof is verified.  [default: now]")
@click.option("--ledger", "on_ledger", is_flag=True, help="Look up the root of the proof's anchor on the ledger too.")
@click.option("--signature-only", is_flag=True, help="Compare with less: the proof is genuine, and may be a replay.")
@of_installation
def verify(
    settings: Settings, file: Any, at: str | None, on_ledger: bool, signature_only: bool, **expected: Any
) -> None:
    """Verify a proof. FILE is a ZKProof, a result or record of a service, or the text of a proof; - is standard input.

    Give the expected question with --predicate, --audience and --challenge, and a key, document or log of the issuer.
    --issuer compares the issuer's DID too. If one of the four is missing, the proof could be a replay, or answer another question.
    --signature-only compares less, and calls a proof genuine instead of valid.

    The output lists everything else that was not compared as unchecked. A proof of suite 1 never states whether its credential is in
    force, whether it was revoked, and who presents it. A proof of suite 2 can state all three; --require demands
    them. The anchor in a record is followed to its root.

    A VALUE is JSON (18, true, ["JP","DE"]). Other text is a string (2008-01-01, 10.50, JP).

    The exit code is 0 for a valid proof (with --signature-only: genuine), 1 for an invalid one, and 2 if it could not be checked or an
    option is missing.
    """
    from identity_codec.times import parse

    if on_ledger:
        refuse_absent(settings)
    sources = {name: expected.pop(name) for name in SOURCES}
    try:
        now = datetime.now(UTC) if at is None else parse(at)
        expectation, find_key = _expectation(**expected), _key_finder(sources, now)
        missing = _missing(expectation, names_issuer=sources["url"] is None)
        if missing and not signature_only:
            raise ValueError(
                f"say what you asked for with {', '.join(BINDING[name] for name in missing)}, or give --signature-only"
            )
        body = verify_octets(
            file.read(MAX_FILE_OCTETS + 1),
            expectation=expectation,
            find_key=find_key,
            prover=installed_prover(settings),
            now=now,
            ledger=settings if on_ledger else None,
        )
    except Unchecked as error:
        remedy = "try again, or give --issuer-log"
        fail(f"the proof could not be checked: {error}", str(sources["url"]), remedy, status=2)
    except LedgerUnreachable as error:
        fail(f"the anchor could not be checked: {error}", "the ledger", "see `identity doctor`", status=2)
    except ProofInvalid as error:
        fail(f"the proof is not valid: {error.details.get('reason', error)}", name_of(file), "do not rely on it")
    except StartError as error:
        fail_start(error, "the installation", "see `identity plugins check`", status=2)
    except ValueError as error:
        fail(str(error), "the options", "see `identity proof verify --help`", status=2)
    body["unchecked"] += ["retiredKeys"] * (sources["issuer_log"] is not None)
    body |= {"verdict": verdict_of(True, missing), "missing": [*missing], "signatureOnly": signature_only}
    show(body, text=_text)


def _missing(expectation: Expectation, *, names_issuer: bool) -> list[BoundPart]:
    """Return the parts of ``BOUND`` that are not compared; a source of the issuer's own key names the issuer."""
    unchecked = expectation.unchecked
    return [name for name in BOUND if name in unchecked and not (name == "issuerDid" and names_issuer)]


def _key_finder(sources: Mapping[str, Any], now: datetime) -> KeyFinder:
    """Return the one source that was named. Raises ``ValueError``: for no source, several, or an invalid one."""
    named = [name for name, one in sources.items() if one is not None]
    if len(named) != 1:
        raise ValueError("give one of --issuer-key, --issuer-document, --issuer-log and --resolve")
    return SOURCES[named[0]](sources[named[0]], now)


def _expectation(
    *,
    predicates: tuple[tuple[str, str, str], ...],
    audience: str | None,
    challenge: str | None,
    nonce: str | None,
    proof_id: str | None,
    schema: Any,
    question: Any,
    issuer: str | None,
    **members: Any,
) -> Expectation:
    from identity_verification.offline import expectation_from_json

    if challenge is not None and nonce is not None:
        raise ValueError("--challenge and --nonce say the same thing: give one")
    if question is not None and (predicates or schema is not None or issuer is not None):
        raise ValueError("--question says it of each credential: leave --predicate, --schema and --issuer out")
    is_method = issuer is not None and "#" in issuer
    members |= {"issuer_did": None if is_method else issuer, "domain": audience, "challenge": challenge}
    members |= {"predicates": [*map(_predicate, predicates)] or None} | (
        {} if question is None else read_json(question)
    )
    expectation = expectation_from_json(members_of(members))
    return replace(
        expectation,
        verification_method=issuer if is_method else None,
        header_digest=None if schema is None else hashlib.sha256(read_schema(schema).schema.header).digest(),
        nonce=expectation.nonce if nonce is None else multibase.base64url_decode(nonce),
        proof_id=proof_id,
    )


def _predicate(asked: tuple[str, str, str]) -> Mapping[str, JsonValue]:
    attribute, kind, value = asked
    return {"attributeName": attribute, "type": kind, "value": predicate_value(value)}


def _text(body: Mapping[str, Any]) -> str:
    lines = ["genuine" if body["signatureOnly"] else "valid"]
    if body["missing"]:
        lines[0] += (
            f", but not bound to your request: it could be a replay (not compared: {', '.join(body['missing'])})"
        )
    lines += proven(body)
    lines += [f"issuer     {body['verificationMethod']}", f"schema     {body['schemaId']}"]
    lines += [f"audience   {body['context']['audience']}", f"proof id   {body['context']['proofId']}"]
    lines += [f"status     as of {one['begins']} to {one['ends']}, list {one['listId']}" for one in body["statusLists"]]
    if body["anchor"] is not None:
        anchor = body["anchor"]
        where = f"block {anchor['blockNumber']}" if anchor["onLedger"] else "not asked (--ledger)"
        lines.append(f"anchor     the path leads to the root; ledger {anchor['ledger']}: {where}")
    if body["unchecked"]:
        lines.append(f"unchecked  {', '.join(body['unchecked'])}")
    return "\n".join(lines)
