"""``identity proof consent`` and ``hand-over``: with the first, the holder's wallet consents to a proof that the service makes with
stored credentials. With the second, the named agent signs that proof for the verifier."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from identity_bbs.frames import scalar
from identity_codec.multibase import base64url_encode
from identity_commands.credential_wallet import held_option, read_held
from identity_commands.json_input import input_argument, load_json, name_of, read_json
from identity_commands.proof_home import agreed, asked_of
from identity_commands.public_keys import agents_key
from identity_commands.remote import keys_option
from identity_commands.wallet import Wallet
from identity_core.cli.options import Whole
from identity_core.cli.output import Command, fail, failing, misused, show
from identity_core.errors import PredicateUnsupported, ProofInvalid

if TYPE_CHECKING:
    from identity_bound_credentials.domain.presentation import Cover

    from identity_core.domain.proofs.proof import Context


COVERS: Final = {"audience": 1, "challenge": 2, "question": 4, "agent-key": 8, "token": 16}
"""The parts of a request that a consent may cover, with their numbers in ``Cover``."""


def cover_of(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """Return the sum of the named parts. A number from 0 to 31 is such a sum."""
    if text is None or text in map(str, range(32)):
        return None if text is None else int(text)
    names = [name.strip().lower() for name in text.split(",")]
    if unknown := [name for name in names if name not in COVERS]:
        raise click.BadParameter(f"{', '.join(unknown)}: name some of {', '.join(COVERS)}, separated by commas.")
    return sum(COVERS[name] for name in {*names})


@click.command(cls=Command)
@input_argument
@keys_option
@held_option
@click.option("--audience", help="Verifier of the proof: the `domain` of the request.")
@click.option("--challenge", metavar="TEXT", help="Challenge of the verifier, as in the request.")
@click.option("--agent-key", metavar="MULTIKEY", help="Ed25519 key of an agent, for a consent in advance.")
@click.option("--hours", type=Whole(1, 24), default=1, help="Minimum validity, in hours.")
def consent(
    file: Any, wallet: Path, held: Path, audience: str | None, challenge: str | None, agent_key: str | None, hours: int
) -> None:
    """Agree to a proof: FILE holds what an agent asks, the request or its members `credentials` (or `credentialId` and its predicates),
    `same`, `either`, `pseudonym`; `-` is standard input. Prints the member `holderConsent` of the request, which `identity proof request
    --holder-consent` takes.

    It serves this question, verifier and challenge alone, and where FILE has the agent's `ibct`, a request with that one. The
    service that has the credentials proves with it, without the secret.

    With --agent-key it serves whichever challenge comes until the UTC day ends in which its hours do, and without --audience whichever
    verifier. It cannot be revoked by itself: the service refuses it once the delegation is revoked. Make one for each use.
    """
    from identity_bound_credentials.domain.presentation import ConsentTerms

    if (challenge is None) == (agent_key is None) or (audience is None and agent_key is None):
        misused("what does it serve?", "give --audience and --challenge, or --agent-key with --audience or without")
    key = agents_key(agent_key)
    now = datetime.now(UTC).replace(microsecond=0)
    record = read_held(held, Wallet.open(wallet).did)
    with failing(
        (PredicateUnsupported, ValueError),
        name_of(file),
        "agree to nothing that you cannot read",
        what="no question",
        status=2,
    ):
        body = read_json(file)
        asked = asked_of(record, body, held)
        context, cover = _served(body, audience, challenge, now)
        terms = ConsentTerms.around(now, timedelta(hours=hours), cover)
        given = agreed(asked, context, terms, key)
    member: dict[str, Any] = {} if agent_key is None else {"agentKey": agent_key}
    member |= {
        "cover": int(terms.cover),
        "notBefore": terms.not_before,
        "notAfter": terms.not_after,
        "value": base64url_encode(given.encoded),
        "blindDifferences": [base64url_encode(scalar(rho)) for rho in given.rhos],
    }
    show({"holderConsent": member})


def _served(body: dict[str, Any], audience: str | None, challenge: str | None, now: datetime) -> tuple[Context, Cover]:
    """Return the fields besides the question that the consent covers, with their values. Raises ``ValueError``."""
    from identity_bound_credentials.domain.presentation import DELEGATION_COVER, REQUEST_COVER, Cover

    from identity_client.capability import Capability
    from identity_core.domain.proofs.proof import MIN_NONCE_OCTETS, Context, capability_digest

    capability, cover = None, REQUEST_COVER
    nonce = bytes(MIN_NONCE_OCTETS) if challenge is None else challenge.encode()
    if challenge is None:
        # What is not covered is the empty field of the message: the context may have any text there.
        cover = DELEGATION_COVER if audience is None else DELEGATION_COVER | Cover.AUDIENCE
    elif "ibct" in body:
        token = body["ibct"] if isinstance(body["ibct"], dict) else {}
        capability = capability_digest(nonce, Capability.parse(token, places=()).encoded)
        cover |= Cover.CAPABILITY
    ends = now + timedelta(minutes=1)
    audience = "any" if audience is None else audience
    return Context(audience, nonce, now, ends, str(uuid.uuid4()), capability, None), cover


@click.command(name="hand-over", cls=Command)
@input_argument
@keys_option
@click.option("--audience", required=True, help="Verifier of the proof: the `domain` of your request.")
@click.option("--challenge", required=True, metavar="TEXT", help="Challenge of the verifier, as in your request.")
def hand_over(file: Any, wallet: Path, audience: str, challenge: str) -> None:
    """Sign a proof as the agent whose key it names. FILE contains the output of `identity proof request` for a consent
    to your key.

    `identity proof consent --agent-key` makes such a consent; - is standard input. The output is the input of
    `identity proof verify`. A proof that names another key, audience or challenge is not signed.
    """
    from identity_bound_credentials.handover import hand_over as signed
    from identity_verification.domain.received import ReceivedProof

    signer = Wallet.open(wallet).signer()
    try:
        text = ReceivedProof.parse(load_json(file)).proof
        text = signed(text, signer, audience=audience, challenge=challenge)
    except ProofInvalid as error:
        fail(str(error.details.get("reason", error)), name_of(file), "ask for a proof that names your key")
    except ValueError as error:
        fail(str(error), name_of(file), "give what `identity proof request --json` printed", status=2)
    show({"proof": text})
