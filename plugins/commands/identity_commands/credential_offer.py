"""The issuer's commands, without a service, for a credential whose secret a wallet keeps: ``offer`` and ``sign-request``. Those of the
holder are in ``credential_wallet``."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import click

from identity_codec import multikey, times
from identity_codec.multibase import base64url_encode
from identity_codec.times import printed
from identity_commands.credential_offline import (
    given_values,
    holder_option,
    key_option,
    read_schema,
    schema_option,
    signing_key,
    value_options,
)
from identity_commands.credential_wallet import member
from identity_commands.json_input import input_argument, name_of, read_json
from identity_commands.options import all_of
from identity_commands.public_keys import holder_keys
from identity_commands.remote import keys_option
from identity_commands.secret_input import private_record
from identity_commands.status_list import PERIODS
from identity_commands.wallet import Wallet
from identity_core.cli.options import Whole
from identity_core.cli.output import Command, fail, failing, misused, show
from identity_core.domain.credentials.attributes import ValueRefused
from identity_core.errors import IdentityError

_LIST_URL: Final = re.compile(r"https?://[!-~]+/status-gaps/([A-Za-z0-9_-]{22})", re.ASCII)
_LAST_HANDLE: Final = (1 << 32) - 2
_BOOK: Final[Mapping[str, Any]] = {"offers": {}, "holders": {}, "handles": {}}

_book_option = click.option(
    "--book",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File with the issuer's open offers, holders' tags and used handles. It is created if it is missing.",
)


@click.command(cls=Command)
@keys_option
@key_option
@holder_option
@schema_option
@_book_option
@click.option("--status-url", metavar="URL", help="URL of the status list (…/status-gaps/LIST), for revocation.")
@click.option(
    "--service",
    metavar="URL",
    help="URL of a service that holds the issuer's key and publishes the status list, in place of --status-url. Import the "
    "signed credentials there.",
)
@click.option("--period", type=click.Choice([*PERIODS]), default="day", help="Length of an epoch of the status list.")
@click.option("--minutes", type=Whole(1, 10_080), default=10, help="Validity of the offer, in minutes.")
def offer(
    wallet: Path,
    method: str | None,
    holderDid: str,
    schema_file: Any,
    book: Path,
    status_url: str | None,
    service: str | None,
    period: str,
    minutes: int,
) -> None:
    """Print an offer of a credential, which is the input of `identity credential request`. The issuer calls this; no
    service is called.
    """
    from identity_bound_credentials.domain.blind_issue import NONCE_OCTETS, CredentialOffer
    from identity_bound_credentials.domain.bound_credential import BoundHeader, SecretKeeper

    from identity_core.domain.credentials.credential_schema import digest

    issuer, definition = Wallet.open(wallet), read_schema(schema_file)
    key = signing_key(issuer, method)
    listed, place = _list(issuer.did, service, status_url, period)
    with failing(ValueRefused, "the options", "name a key of the issuer's DID, and a shorter schema", status=2):
        header = BoundHeader(definition.schema, key["keyId"], listed, SecretKeeper.WALLET, digest(definition))
        made = CredentialOffer(header, holderDid, secrets.token_bytes(NONCE_OCTETS))
        data = header.encoded
    ends = datetime.now(UTC) + timedelta(minutes=minutes)
    with private_record(book, "issuer's record", _BOOK, issuer.did) as record:
        record["offers"] = {nonce: one for nonce, one in record["offers"].items() if not _is_past(one["expiresAt"])}
        record["offers"][base64url_encode(made.nonce)] = {
            "offer": made.json,
            "expiresAt": printed(ends),
            "statusUrl": place,
        }
    show({"offer": made.json, "headerOctets": len(data), "expiresAt": printed(ends)})


def _list(did: str, service: str | None, status_url: str | None, period: str) -> tuple[Any, str | None]:
    """Return the status list, as a header names it, and its URL; ``(None, None)`` for no list. Invalid options end the command."""
    from identity_bound_credentials.domain.bound_credential import StatusListReference
    from identity_bound_credentials.domain.status_gaps import list_id

    if service is not None:
        if status_url is not None or period != "day":
            misused("which list revokes it?", "give --service, or --status-url with its --period")
        # A service's lists have epochs of a day.
        own = StatusListReference(list_id(did, PERIODS["day"]), PERIODS["day"])
        return own, f"{service.rstrip('/')}/api/v1/status-gaps/{own.list_id}"
    if status_url is None:
        return None, None
    found = _LIST_URL.fullmatch(status_url)
    if found is None:
        remedy = "give https://…/status-gaps/LIST, 22 characters"
        fail("this is not an address of a list", "--status-url", remedy, status=2)
    if found[1] == list_id(did, PERIODS[period]):
        # Its publisher does not know the handles that are given here: what is revoked would never be in it.
        remedy = "give --service, and import what you sign; or publish a list of your own with `identity status-list publish`"
        fail("this is the list that a service publishes for the issuer", "--status-url", remedy, status=2)
    return StatusListReference(found[1], PERIODS[period]), status_url


@click.command(name="sign-request", cls=Command)
@input_argument
@keys_option
@schema_option
@_book_option
@all_of(*value_options)
@click.option("--holder-key", "holder_key", multiple=True, metavar="MULTIKEY", help="Ed25519 public key of the holder.")
@click.option("--holder-document", type=click.File("rb"), help="The holder's DID document, or its resolution.")
@click.option("--resolve", "url", metavar="URL", help="URL of the service that resolves the holder's DID.")
@click.option("--new-secret", is_flag=True, help="Accept another secret of this holder, once authenticated.")
def sign_request(
    file: Any,
    wallet: Path,
    schema_file: Any,
    book: Path,
    values: Any,
    single: Any,
    holder_key: tuple[str, ...],
    holder_document: Any,
    url: str | None,
    new_secret: bool,
    **validity: str | None,
) -> None:
    """Sign the credential that the request in FILE describes; - is standard input. The issuer calls this; no service
    is called.

    The output is the input of `identity credential accept`. An offer is used once.
    """
    from identity_bound_credentials.domain.blind_issue import (
        CommittedRequest,
        CredentialOffer,
        ExchangeRefused,
        credential_json,
    )

    issuer, definition, now = Wallet.open(wallet), read_schema(schema_file), datetime.now(UTC)
    given_attributes = given_values(values, single)
    with failing(ExchangeRefused, name_of(file), "ask the holder for `identity credential request`"):
        asked = CommittedRequest.from_json(member(read_json(file), "request"))
    with private_record(book, "issuer's record", _BOOK, issuer.did) as record:
        place = base64url_encode(asked.nonce)
        entry = record["offers"].get(place)
        if entry is None or _is_past(entry["expiresAt"]):
            fail("the request answers no open offer", name_of(file), "make a new offer, and have it answered in time")
        offered = CredentialOffer.from_json(entry["offer"])
        if offered.header.schema != definition.schema:
            fail("the offer was about another schema", name_of(schema_file), "give the schema of the offer", status=2)
        with failing(
            ValueError, "the holder's key", "give one of --holder-key, --holder-document and --resolve", status=2
        ):
            keys = holder_keys(offered.holder, now, keys=holder_key, document=holder_document, url=url)
        with failing(ExchangeRefused, name_of(file), "sign nothing: the request may come from another party"):
            asked.check_holder(offered, keys)
        _recognise(record["holders"], offered.holder, _checked_tag(offered, asked, file), new_secret=new_secret)
        body = _signed(issuer, record["handles"], offered, asked, definition, given_attributes, now, validity)
        del record["offers"][place]
    show(credential_json(**body, created=printed(now), status_url=entry["statusUrl"]))


def _checked_tag(offered: Any, asked: Any, file: Any) -> str:
    """Return the holder's tag of a valid commitment. An invalid one ends the command."""
    from identity_bbs.blind import CommitmentInvalid, check_commitment
    from identity_bbs.bls12381 import select
    from identity_bbs.suite import ciphersuite

    with failing(
        CommitmentInvalid, name_of(file), "ask the holder for `identity credential request`", what="no commitment"
    ):
        commitment = check_commitment(ciphersuite(select()), asked.commitment, offered.issue_request)
    return base64url_encode(commitment.holder_tag)


def _recognise(holders: dict[str, str], did: str, tag: str, *, new_secret: bool) -> None:
    """Require one secret for one holder, and one holder for one secret; anything else ends the command."""
    if any(one == tag and other != did for other, one in holders.items()):
        fail("another holder has this secret", did, "sign nothing: a secret was handed on, or stolen")
    if holders.get(did, tag) != tag and not new_secret:
        remedy = (
            "make sure that the holder lost or replaced it, revoke what was bound to the old one, and give --new-secret"
        )
        fail("the holder had another secret before", did, remedy)
    holders[did] = tag


def _signed(
    issuer: Wallet,
    handles: dict[str, str],
    offered: Any,
    asked: Any,
    definition: Any,
    attributes: dict[str, Any],
    now: datetime,
    validity: Mapping[str, str | None],
) -> dict[str, Any]:
    """Return the signed content of the credential. Invalid values or times end the command."""
    from identity_bound_credentials.domain.bound_credential import NO_HANDLE, Particulars, midnight

    from identity_bbs.blind import blind_sign
    from identity_bbs.bls12381 import keys, select
    from identity_bbs.encoding import mixed_messages_to_scalars, signature_to_octets
    from identity_bbs.suite import ciphersuite
    from identity_core.domain.credentials.credential import canonical_values

    header = offered.header
    _, secret = multikey.decode_secret(signing_key(issuer, header.method)["privateKey"])
    credential_id, handle = f"urn:uuid:{uuid.uuid4()}", NO_HANDLE
    if header.status is not None:
        while handle == NO_HANDLE or str(handle) in handles:
            handle = 1 + secrets.randbelow(_LAST_HANDLE)
        handles[str(handle)] = credential_id
    with failing(ValueError, "the times", "give days: 2026-01-31T00:00:00Z", status=2):
        begins = times.parse(validity["validFrom"]) if validity["validFrom"] else midnight(now)
        ends = times.parse(validity["validUntil"]) if validity["validUntil"] else None
        particulars = Particulars(credential_id, offered.holder, begins, ends, handle)
    try:
        values = canonical_values(definition.schema, attributes)
    except IdentityError as error:
        fail(str(error.details.get("reason", error)), "the values", "put it right and sign again")
    suite = ciphersuite(select())
    known = mixed_messages_to_scalars(header.known_messages(values, particulars))
    signature = blind_sign(
        suite, secret, keys.public_key(secret), header.encoded, known, asked.commitment, offered.issue_request
    )
    return {
        "header": header,
        "particulars": particulars,
        "values": values,
        "commitment": asked.commitment,
        "signature": signature_to_octets(suite, signature),
    }


def _is_past(text: str) -> bool:
    return times.parse(text) <= datetime.now(UTC)
