"""``identity proof create``: a proof that the wallet makes itself, with its own credential and secret."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from identity_bound_credentials.ports import PresentingProver

from identity_codec import multikey
from identity_codec.multibase import base64url_decode
from identity_commands.credential_wallet import held_option, read_held
from identity_commands.json_input import load_json, name_of, predicate_value, read_json
from identity_commands.options import several
from identity_commands.proof_home import AskedAtHome, WalletCredential, agreed, asked_of
from identity_commands.proof_question import question_option
from identity_commands.proof_verify import installed_prover
from identity_commands.public_keys import raw_key
from identity_commands.remote import keys_option
from identity_commands.wallet import Wallet
from identity_core.cli.options import Whole, configured
from identity_core.cli.output import Command, fail, failing, misused, show
from identity_core.errors import IdentityError

if TYPE_CHECKING:
    from identity_bound_credentials.domain.presentation import BoundWitness, GapWitness, StatusPart
    from identity_bound_credentials.domain.status_gaps import StatusEpoch

    from identity_core.domain.proofs.proof import Context


@click.command(cls=Command)
@keys_option
@held_option
@click.option("--credential", "credential_id", metavar="ID", help="Id of a credential in the file.")
@several("--predicate", "ATTRIBUTE TYPE VALUE", "Requested predicate; repeatable.", into="predicates")
@question_option
@click.option("--audience", required=True, help="Verifier of the proof: its DID or origin.")
@click.option("--challenge", required=True, metavar="TEXT", help="Challenge of the verifier, 16 to 256 characters.")
@click.option(
    "--gap",
    "gaps",
    type=click.File("rb"),
    multiple=True,
    metavar="FILE",
    help="File that `identity status-list fetch --json` printed, one per credential. The proof then shows that none is revoked.",
)
@click.option("--list-key", metavar="MULTIKEY", help="Key of the status list, if another than the credential's.")
@click.option("--minutes", type=Whole(1, 60), default=10, help="Validity of the proof, in minutes.")
def create(
    wallet: Path,
    held: Path,
    credential_id: str | None,
    predicates: tuple[tuple[str, str, str], ...],
    question: Any,
    audience: str,
    challenge: str,
    gaps: tuple[Any, ...],
    list_key: str | None,
    minutes: int,
) -> None:
    """Create a proof on this machine, with credentials that `identity credential accept` stored. No service is called.

    The output is the input of `identity proof verify`. A verifier checks it like a proof of a service, and sees
    that no agent's token is involved.

    A VALUE is JSON (18, true, ["JP","DE"]). Other text is a string (2008-01-01, 10.50, JP).
    """
    from identity_bound_credentials.domain.presentation import last_expiry, proof_day

    from identity_core.domain.proofs.proof import Context, WitnessInvalid

    now = datetime.now(UTC).replace(microsecond=0)
    record = read_held(held, Wallet.open(wallet).did)
    body = _body(credential_id, predicates, question)
    prover = _prover()
    expires = min(now + timedelta(minutes=minutes), last_expiry(proof_day(now)))
    try:
        asked = asked_of(record, body, held, status=bool(gaps))
        context = Context(audience, challenge.encode(), now, expires, str(uuid.uuid4()), None, None)
        text = _proved(prover, asked, gaps, list_key, context)
    except WitnessInvalid:
        remedy = "bring the file back from your copy, and fetch the gap again"
        fail("credential, secret and gap do not belong together", str(held), remedy)
    except IdentityError as error:
        fail(f"{error.code}: {error.details.get('reason', error)}", str(held), "nothing was proved; see the code")
    except ValueError as error:
        fail(str(error), "the options", "see `identity proof create --help`", status=2)
    show({"proof": text})


def _proved(
    prover: PresentingProver, asked: AskedAtHome, gaps: tuple[Any, ...], list_key: str | None, context: Context
) -> str:
    from identity_bound_credentials.domain.presentation import (
        ConsentTerms,
        PresentationContext,
        PresentationStatement,
        PresentationWitness,
        proof_day,
    )

    keys = tuple(_key(one.kept["issuerKey"]) for one in asked.held)
    status, signed = _status(gaps, asked.held, keys, list_key)
    terms = ConsentTerms.around(context.issued_at, timedelta(hours=1))
    consent = agreed(asked, context, terms)
    witness = PresentationWitness(tuple(map(_witness, asked.held)), signed, consent)
    statement = PresentationStatement(asked.question, keys, proof_day(context.issued_at), status)
    return prover.present(statement, witness, bound=PresentationContext(context, None, terms))


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


def _body(credential_id: str | None, predicates: tuple[tuple[str, str, str], ...], question: Any) -> Mapping[str, Any]:
    """Return the question in the form of a request. A repeated or missing one ends the command."""
    if (credential_id is None) == (question is None) or (question is not None and predicates):
        misused("what is asked?", "give --credential, with --predicate or without, or --question alone")
    if question is not None:
        return read_json(question)
    members = [{"attributeName": name, "type": kind, "value": predicate_value(text)} for name, kind, text in predicates]
    return {"credentialId": credential_id, "predicates": members}


def _witness(held: WalletCredential) -> BoundWitness:
    from identity_bound_credentials.domain.bound_credential import Particulars
    from identity_bound_credentials.domain.presentation import BoundWitness

    presented = held.presented
    times = presented.valid_from, presented.valid_until
    particulars = Particulars(presented.id, str(presented.holder), *times, held.bound.handle)
    return BoundWitness(presented.signature, presented.attributes, particulars)


def _status(
    files: tuple[Any, ...], held: tuple[WalletCredential, ...], keys: tuple[bytes, ...], list_key: str | None
) -> tuple[tuple[StatusPart, ...], tuple[GapWitness, ...]]:
    """Return the gap of each credential: of its list, with its handle. Raises ``ValueError``."""
    from identity_bound_credentials.domain.presentation import StatusPart

    if not files:
        return (), ()
    gaps = [_gap(file) for file in files]
    parts: list[StatusPart] = []
    chosen: list[GapWitness] = []
    for one, own_key in zip(held, keys, strict=True):
        reference, handle = one.bound.header.status, one.bound.handle
        fitting = [
            (name, epoch, gap)
            for name, epoch, gap in gaps
            if reference is not None and epoch.list_id == reference.list_id and gap.low <= handle <= gap.high
        ]
        if not fitting:
            raise ValueError(f"no --gap is the one of {one.presented.id}")
        name, epoch, gap = fitting[0]
        is_own = epoch.method == one.presented.verification_method
        if not is_own and list_key is None:
            fail("another key signed the list", name, "give it with --list-key", status=2)
        parts.append(StatusPart(epoch, own_key if is_own else _key(str(list_key))))
        chosen.append(gap)
    return tuple(parts), tuple(chosen)


def _gap(file: Any) -> tuple[str, StatusEpoch, GapWitness]:
    from identity_bound_credentials.domain.presentation import GapWitness
    from identity_bound_credentials.domain.status_gaps import StatusEpoch

    with failing(ValueError, name_of(file), "give what `identity status-list fetch --json` printed", status=2):
        value = load_json(file)
        if not isinstance(value, Mapping) or not {"header", "low", "high", "signature"} <= value.keys():
            raise ValueError("the file holds no gap")
        header, signature, low, high = (value[name] for name in ("header", "signature", "low", "high"))
        if not (isinstance(header, str) and isinstance(signature, str) and type(low) is int and type(high) is int):
            raise ValueError("a member of the gap has another type")
        epoch = StatusEpoch.from_header(base64url_decode(header))
        return name_of(file), epoch, GapWitness(low, high, base64url_decode(signature))


def _key(text: str) -> bytes:
    with failing(ValueError, "the key", "give a Bls12381G2Key2020 multikey", status=2):
        return raw_key(text, multikey.BLS12381G2)
