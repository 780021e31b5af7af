"""``identity proof create``: a proof that the wallet makes itself, with a credential and a secret that it keeps."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from identity_core.cli.credential_wallet import held_option, opened
from identity_core.cli.options import configured, load_json, name_of, predicate_value, several
from identity_core.cli.output import Command, fail, failing, show
from identity_core.cli.proof_verify import installed_prover
from identity_core.cli.remote import keys_option
from identity_core.cli.wallet import Wallet
from identity_core.codec import multikey
from identity_core.codec.multibase import base64url_decode
from identity_core.errors import IdentityError
from identity_core.ports.prover import PresentingProver

if TYPE_CHECKING:
    from identity_core.domain.credentials.verifiable_credential import PresentedBinding, PresentedCredential
    from identity_core.domain.proofs.presentation import ConsentTerms, GapWitness, StatusPart
    from identity_core.domain.proofs.proof import Context
    from identity_core.domain.proofs.question import Question


@click.command(cls=Command)
@keys_option
@held_option
@click.option("--credential", "credential_id", required=True, metavar="ID", help="Which of the file's credentials.")
@several("--predicate", "ATTRIBUTE TYPE VALUE", "What the verifier asked.", into="predicates")
@click.option("--audience", required=True, help="Whom the proof is for: the verifier's DID or origin.")
@click.option("--challenge", required=True, metavar="TEXT", help="The verifier's challenge, 16 to 256 characters.")
@click.option(
    "--gap",
    type=click.File("rb"),
    metavar="FILE",
    help="What `identity status fetch --json` printed: the proof then says that the credential is not revoked.",
)
@click.option(
    "--list-key",
    metavar="MULTIKEY",
    help="The key of the gap's list, where it is not the one that signed the credential.",
)
@click.option("--minutes", type=click.IntRange(1, 60), default=10, show_default=True, help="How long it is good.")
def create(
    wallet: Path,
    held: Path,
    credential_id: str,
    predicates: tuple[tuple[str, str, str], ...],
    audience: str,
    challenge: str,
    gap: Any,
    list_key: str | None,
    minutes: int,
) -> None:
    """Prove at home, with a credential that `identity credential accept` took, and print what `identity proof verify` takes. No service
    learns of it. The verifier checks it as one of a service's, and sees that no token of an agent stands behind it.

    A VALUE is JSON (18, true, ["JP","DE"]); anything else is taken as a string (2008-01-01, 10.50, JP).
    """
    from identity_core.domain.proofs.presentation import (
        ConsentTerms,
        PresentationContext,
        PresentationStatement,
        PresentationWitness,
        last_expiry,
        proof_day,
    )
    from identity_core.domain.proofs.proof import WitnessInvalid

    now = datetime.now(UTC).replace(microsecond=0)
    record = opened(held, Wallet.open(wallet).did)
    kept, presented, own = _kept(record, credential_id, held)
    prover = _prover()
    own_key = _key(kept["issuerKey"])
    expires = min(now + timedelta(minutes=minutes), last_expiry(proof_day(now)))
    try:
        question = _question(own, predicates, is_status_asked=gap is not None)
        status, gaps = _status(gap, presented, own_key, list_key)
        terms = ConsentTerms.around(now, timedelta(hours=1))
        context = _context(audience, challenge, now, expires)
        bound = PresentationContext(context, None, terms)
        agreed = _agreed(record["secret"], kept["blind"], question, context, terms)
        witness = PresentationWitness((_witness(presented, own),), gaps, agreed)
        statement = PresentationStatement(question, (own_key,), proof_day(now), status)
        text = prover.present(statement, witness, bound=bound)
    except WitnessInvalid:
        remedy = "bring the file back from your copy, and fetch the gap again"
        fail("credential, secret and gap do not belong together", str(held), remedy)
    except IdentityError as error:
        fail(f"{error.code}: {error.details.get('reason', error)}", str(held), "nothing was proved; see the code")
    except ValueError as error:
        fail(str(error), "the options", "see `identity proof create --help`", status=2)
    show({"proof": text})


def _kept(
    record: dict[str, Any], credential_id: str, held: Path
) -> tuple[dict[str, str], PresentedCredential, PresentedBinding]:
    """What the file holds of the credential, the credential, and what it is bound to. One that is not there ends the command."""
    from identity_core.domain.credentials import verifiable_credential

    kept = record["credentials"].get(credential_id)
    presented = None if kept is None else verifiable_credential.parse(kept["credential"])
    if presented is None or presented.bound is None:
        fail("the file holds no such credential", str(held), "`identity credential accept` puts credentials there")
    return kept, presented, presented.bound


def _prover() -> PresentingProver:
    prover = installed_prover(configured(None))
    if not isinstance(prover, PresentingProver):
        fail(
            "the prover that is installed makes no such proofs",
            "the installation",
            "see `identity plugins list`",
            status=2,
        )
    return prover


def _question(
    bound: PresentedBinding, predicates: tuple[tuple[str, str, str], ...], *, is_status_asked: bool
) -> Question:
    from identity_core.domain.proofs.question import AskedCredential, Question, parse_asked

    members = [{"attributeName": name, "type": kind, "value": predicate_value(text)} for name, kind, text in predicates]
    asked = tuple(parse_asked(bound.header.schema, one) for one in members)
    return Question((AskedCredential(bound.header, asked),), status=is_status_asked)


def _context(audience: str, challenge: str, now: datetime, expires: datetime) -> Context:
    from identity_core.domain.proofs.proof import Context

    return Context(audience, challenge.encode(), now, expires, str(uuid.uuid4()), None, None)


def _witness(presented: PresentedCredential, bound: PresentedBinding) -> Any:
    from identity_core.domain.credentials.bound_credential import Particulars
    from identity_core.domain.proofs.presentation import BoundWitness

    times = presented.valid_from, presented.valid_until
    particulars = Particulars(presented.id, str(presented.holder), *times, bound.handle)
    return BoundWitness(presented.signature, presented.attributes, particulars)


def _agreed(secret: str, blind: str, question: Question, context: Context, terms: ConsentTerms) -> Any:
    """The holder's consent, which the wallet gives to itself: the proof then has the form of one that a service makes."""
    from identity_core.crypto.bbs.consent import consent
    from identity_core.crypto.bbs.openings import HolderSecret
    from identity_core.crypto.bbs.suite import ciphersuite
    from identity_core.crypto.bls12381 import select
    from identity_core.domain.proofs.presentation import HolderConsent

    suite = ciphersuite(select())
    message = terms.message(question, context, None)
    own = HolderSecret.of(suite, base64url_decode(secret))
    octets, rhos = consent(suite, own, [int.from_bytes(base64url_decode(blind), "big")], message, os.urandom)
    return HolderConsent(octets, rhos)


def _status(
    file: Any, presented: PresentedCredential, own_key: bytes, list_key: str | None
) -> tuple[tuple[StatusPart, ...], tuple[GapWitness, ...]]:
    """The gap in the file, whose list is the credential's. Raises ``ValueError``."""
    from identity_core.domain.credentials.status_gaps import StatusEpoch
    from identity_core.domain.proofs.presentation import GapWitness, StatusPart

    if file is None:
        return (), ()
    with failing(ValueError, name_of(file), "give what `identity status fetch --json` printed", status=2):
        value = load_json(file)
        if not isinstance(value, Mapping) or not {"header", "low", "high", "signature"} <= value.keys():
            raise ValueError("the file holds no gap")
        header, signature, low, high = (value[name] for name in ("header", "signature", "low", "high"))
        if not (isinstance(header, str) and isinstance(signature, str) and type(low) is int and type(high) is int):
            raise ValueError("a member of the gap has another type")
        epoch, witness = (
            StatusEpoch.from_header(base64url_decode(header)),
            GapWitness(low, high, base64url_decode(signature)),
        )
    if epoch.method != presented.verification_method and list_key is None:
        fail("another key signed the list", name_of(file), "give it with --list-key", status=2)
    key = own_key if list_key is None else _key(list_key)
    return (StatusPart(epoch, key),), (witness,)


def _key(text: str) -> bytes:
    with failing(ValueError, "the key", "give a Bls12381G2Key2020 multikey", status=2):
        kind, raw = multikey.decode_public(text)
        if kind != multikey.BLS12381G2:
            raise ValueError("the key is not one that signs credentials")
        return raw
