"""``identity proof consent``: the holder's wallet agrees to a proof that the service makes with credentials that it keeps."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from identity_core.cli.credential_wallet import held_option, opened
from identity_core.cli.options import input_argument, name_of, read_json
from identity_core.cli.output import Command, failing, show
from identity_core.cli.proof_home import agreed, asked_of
from identity_core.cli.remote import keys_option
from identity_core.cli.wallet import Wallet
from identity_core.codec.multibase import base64url_encode
from identity_core.crypto.frames import scalar
from identity_core.errors import IbctInvalid, PredicateUnsupported


@click.command(cls=Command)
@input_argument
@keys_option
@held_option
@click.option("--audience", required=True, help="Whom the proof is for: the `domain` of the request.")
@click.option("--challenge", required=True, metavar="TEXT", help="The verifier's challenge, as in the request.")
@click.option(
    "--hours", type=click.IntRange(1, 24), default=1, show_default=True, help="How long it is good, at least."
)
def consent(file: Any, wallet: Path, held: Path, audience: str, challenge: str, hours: int) -> None:
    """Agree to a proof: FILE holds what an agent asks, the request or its members `credentials` (or `credentialId` and its predicates),
    `same`, `either`, `pseudonym`; `-` is standard input. Prints the member `holderConsent` of the request, which `identity proof request
    --holder-consent` takes.

    It serves this question, verifier and challenge alone, and where FILE has the agent's `ibct`, a request with that one. The
    service that has the credentials proves with it, without the secret.
    """
    from identity_core.domain.delegations.ibct import Capability
    from identity_core.domain.proofs.presentation import REQUEST_COVER, ConsentTerms, Cover
    from identity_core.domain.proofs.proof import Context, capability_digest

    now = datetime.now(UTC).replace(microsecond=0)
    record = opened(held, Wallet.open(wallet).did)
    with failing(
        (PredicateUnsupported, IbctInvalid, ValueError),
        name_of(file),
        "agree to nothing that you cannot read",
        what="no question",
        status=2,
    ):
        body, nonce = read_json(file), challenge.encode()
        asked = asked_of(record, body, held)
        capability, cover = None, REQUEST_COVER
        if "ibct" in body:
            token = body["ibct"] if isinstance(body["ibct"], dict) else {}
            capability = capability_digest(nonce, Capability.parse(token, places=()).octets)
            cover |= Cover.CAPABILITY
        context = Context(audience, nonce, now, now + timedelta(minutes=1), str(uuid.uuid4()), capability, None)
        terms = ConsentTerms.around(now, timedelta(hours=hours), cover)
        given = agreed(record["secret"], asked, context, terms)
    member = {
        "cover": int(terms.cover),
        "notBefore": terms.not_before,
        "notAfter": terms.not_after,
        "value": base64url_encode(given.octets),
        "blindDifferences": [base64url_encode(scalar(rho)) for rho in given.rhos],
    }
    show({"holderConsent": member})
