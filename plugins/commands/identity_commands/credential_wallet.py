"""The holder's commands, without a service, for a credential on the wallet's own secret: ``request`` and ``accept``. Those of the issuer
are in ``credential_offer``; messages go by file, and neither the issuer nor a service sees the secret."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from identity_bound_credentials.holder_file import HELD

from identity_bbs.bls12381.backend import G1_OCTETS
from identity_codec import multikey
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_commands.credential_offline import issuer_options, read_schema, schema_option
from identity_commands.json_input import input_argument, name_of, read_json
from identity_commands.public_keys import KeyFinder, in_document, in_log, key_of_option
from identity_commands.remote import keys_option
from identity_commands.secret_input import private_record, read_record
from identity_commands.wallet import AUTHENTICATION, Wallet
from identity_core.cli.output import Command, fail, failing, misused, show
from identity_core.errors import IdentityError, ProofInvalid

if TYPE_CHECKING:
    from identity_core.domain.credentials.verifiable_credential import PresentedCredential

held_option = click.option(
    "--held",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File with the holder's secret and the credentials bound to it (mode 0600). It is created if it is missing. Keep a copy.",
)


@click.command(cls=Command)
@input_argument
@keys_option
@held_option
def request(file: Any, wallet: Path, held: Path) -> None:
    """Print a request that answers the offer in FILE, for `identity credential sign-request`; - is standard input.

    The secret is created with the first request and is the same for all credentials of the DID. With the secret and
    the credentials anyone can prove in the holder's name. If it is lost, each issuer must issue again.
    """
    from identity_bound_credentials.domain.blind_issue import CommittedRequest, CredentialOffer, ExchangeRefused

    from identity_bbs.blind import commit
    from identity_bbs.bls12381 import select
    from identity_bbs.frames import scalar
    from identity_bbs.openings import HolderSecret
    from identity_bbs.suite import ciphersuite
    from identity_codec import ed25519

    holder = Wallet.open(wallet)
    message = read_json(file)
    with failing(ExchangeRefused, name_of(file), "ask the issuer for an offer to your DID"):
        offered = CredentialOffer.from_json(member(message, "offer"))
        if offered.holder != holder.did:
            raise ExchangeRefused("the offer is to another DID")
    signer, key = holder.signer(), holder.keys[AUTHENTICATION]
    _, seed = multikey.decode_secret(signer.secret)
    suite = ciphersuite(select())
    with private_record(held, "holder's file", HELD, holder.did) as record:
        if not record["secret"]:
            made = HolderSecret.derived(suite, os.urandom(48))
            record["secret"] = base64url_encode(scalar(made.scalar))
        with failing(ValueError, str(held), "bring it back from your copy", what="the secret cannot be read"):
            secret = HolderSecret.from_bytes(suite, base64url_decode(record["secret"]))
        commitment, blind = commit(suite, secret, offered.issue_request, os.urandom)
        answer = CommittedRequest.signed(offered, commitment, key["keyId"], lambda message: ed25519.sign(seed, message))
        # By the point that is signed: an offer that is answered twice has two.
        record["requests"][base64url_encode(commitment[:G1_OCTETS])] = {
            "header": offered.json["header"],
            "blind": base64url_encode(scalar(blind)),
        }
    show({"request": answer.json, "issuer": offered.header.issuer, "schema": offered.header.schema.id})


@click.command(cls=Command)
@input_argument
@keys_option
@held_option
@schema_option
@issuer_options
def accept(
    file: Any, wallet: Path, held: Path, schema_file: Any, issuer_key: str | None, issuer_document: Any, issuer_log: Any
) -> None:
    """Store the credential in FILE, which answers a request; - is standard input.

    It is verified against the request and under the issuer's key. It is stored together with the secret.
    """
    from identity_bound_credentials.domain.bound_format import parse_credential

    from identity_core.domain.credentials.credential import canonical_values

    holder, definition, now = Wallet.open(wallet), read_schema(schema_file), datetime.now(UTC)
    credential = read_json(file)
    find_key = _issuer_key(issuer_key, issuer_document, issuer_log, now)
    with private_record(held, "holder's file", HELD, holder.did) as record:
        try:
            presented = parse_credential(credential)
            place, asked = _request_of(record["requests"], presented)
            if asked is None or str(presented.holder) != holder.did:
                fail("the credential answers no request of this file", name_of(file), "ask the issuer for yours")
            values = canonical_values(definition.schema, presented.attributes)
            key = find_key(presented.verification_method)
            work, *arguments = presented.signature_check(key, definition, values)
            work(*arguments)
        except (IdentityError, ProofInvalid) as error:
            fail(f"the credential is not valid: {error.details.get('reason', error)}", name_of(file), "ask the issuer")
        record["credentials"][presented.id] = {
            "credential": credential,
            "blind": asked["blind"],
            "issuerKey": multikey.encode_public(multikey.BLS12381G2, key),
            # A request from before a rotation has its secret with it.
            **{name: one for name, one in asked.items() if name == "secret"},
        }
        del record["requests"][place]
    said = {"id": presented.id, "issuer": str(presented.issuer), "schema": presented.schema_id}
    show(said | {"held": len(record["credentials"])}, "{id} is yours, from {issuer}; {held} in the file")


def read_held(held: Path, did: str) -> dict[str, Any]:
    """Return the content of the holder's file. A missing file, or one of another DID, ends the command."""
    return read_record(held, "holder's file", HELD, did)


def _issuer_key(key: str | None, document: Any, log: Any, now: datetime) -> KeyFinder:
    """Return the key from the one source that was named. No source, several, or an invalid one ends the command."""
    if sum(source is not None for source in (key, document, log)) != 1:
        misused("whose key is it?", "give one of --issuer-key, --issuer-document and --issuer-log")
    with failing(ValueError, "the issuer's key", "give it as it is published", status=2):
        if key is not None:
            return key_of_option(key)
        return in_log(log.read(), now) if document is None else in_document(document, now)


def _request_of(requests: Mapping[str, Any], presented: PresentedCredential) -> tuple[str, dict[str, str] | None]:
    """Return the request for the credential, and its index: the one with this commitment, for this header."""
    from identity_bound_credentials.domain.bound_format import binding_of

    if (bound := binding_of(presented)) is None:
        return "", None
    place = base64url_encode(bound.commitment)
    found = requests.get(place)
    return place, found if found and found["header"] == base64url_encode(bound.header.encoded) else None


def member(message: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the message, which may be in the member under which the other command printed it."""
    inner = message.get(name, message)
    return inner if isinstance(inner, dict) else {}
