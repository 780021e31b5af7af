"""``identity proof``: requests for proofs, stored proofs, and the import of those from before anchoring existed."""

from __future__ import annotations

import functools
from typing import Any

import click

from identity_codec import strict_json
from identity_commands.json_input import name_of, predicate_value, read_json
from identity_commands.proof_consent import consent, hand_over
from identity_commands.proof_create import create
from identity_commands.proof_import import import_
from identity_commands.proof_question import proven, question_option
from identity_commands.proof_verify import verify
from identity_commands.remote import RemoteCaller, add_command, named, with_caller
from identity_commands.secret_input import secret_option
from identity_commands.terminal import ids_option, show_table
from identity_core.cli.options import Whole
from identity_core.cli.output import fail, misused
from identity_core.cli.plugin_commands import OpenGroup


@click.group(name="proof", cls=OpenGroup)
def command() -> None:
    """Request, create, verify, show, revoke and import zero-knowledge proofs."""


command.add_command(verify)
command.add_command(create)
command.add_command(consent)
command.add_command(hand_over)
command.add_command(import_)


@command.command()
@click.option("--ibct", "token", type=click.File("rb"), required=True, help="The holder's token; - is standard input.")
@click.option("--credential", metavar="ID", help="Id of the credential.")
@question_option
@click.option(
    "--value",
    "values",
    multiple=True,
    help="Value of each predicate of the token. It may be omitted if the token or the delegation pins it.",
)
@click.option("--challenge", help="Challenge of the verifier, at least 16 characters.")
@click.option("--domain", help="Verifier of the proof: its DID or origin.")
@click.option(
    "--holder-consent",
    type=click.File("rb"),
    metavar="FILE",
    help="Output of `identity proof consent`, if the wallet stores the secret.",
)
@click.option("--anchor", is_flag=True, help="Write a commitment to the proof to the ledger.")
@click.option("--sync-wait-ms", type=Whole(min=0), default=0, help="Wait for the anchor, in ms.")
@secret_option("--token", "IDENTITY_TOKEN", what="access token", parameter="bearer")
@ids_option
@with_caller
def request(
    caller: RemoteCaller,
    token: Any,
    credential: str | None,
    question: Any,
    values: tuple[str, ...],
    holder_consent: Any,
    anchor: bool,
    sync_wait_ms: int,
    bearer: str | None,
    **verifier: str | None,
) -> None:
    """Request a proof and print it. The token names holder, agent and predicates.

    For several credentials, or under a pseudonym, give the question for which the token was issued. One predicate
    is a proof (generateDelegatedProof); everything else is a presentation (createDelegatedPresentation).

    The same request again returns the same proof. A token cannot be used for another request.
    """
    from identity_client import ibct

    if (credential is None) == (question is None) or (question is not None and values):
        misused("what is asked?", "give --credential, with --value or without, or --question alone")
    more = named(caller, values=[*map(predicate_value, values)] or None, **verifier)
    if holder_consent is not None:
        more |= read_json(holder_consent)
    if anchor:
        more |= {"anchor": True, "syncWaitMs": sync_wait_ms}
    try:
        signed = strict_json.loads(token.read())
        if question is not None:
            body = ibct.question_request(signed, read_json(question), **more)
        else:
            body = ibct.proof_request(signed, credential or "", **more)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = error if isinstance(error, ValueError) else "it has not the members of a token"
        fail(f"this is not a token: {reason}", name_of(token), "`identity ibct issue` makes tokens")
    show_table(caller.send(ibct.operation_of(body), body=body, token=bearer))


def _text(body: dict[str, Any]) -> str:
    anchor = body["anchor"]
    # `did:` before a DID names the kind of the caller.
    by = (body["revokedBy"] or "").removeprefix("did:")
    state = f"revoked {body['revokedAt']} by {by}" if body["revokedAt"] else "in force"
    lines = [
        f"proof      {body['proofId']}, {state}",
        *proven(body),
        f"holder     {body['holderDid']}",
        f"agent      {body['agentDid']}",
        f"issuer     {body['issuerDid']}",
        f"made       {body['createdAt']}, expires {body['expiresAt']}",
        f"anchor     {'none' if anchor is None else anchor['status']}",
    ]
    if body["revocationReason"]:
        lines.append(f"reason     {body['revocationReason']}")
    return "\n".join(lines)


add = functools.partial(add_command, command, text=_text, whose="the holder or the agent")
_PROOF = click.argument("proof_id")
add(
    "get",
    "getProof",
    "Show a stored proof and the state of its anchor. Its `proof` member is an input of `identity proof verify`.",
    _PROOF,
)
add(
    "revoke",
    "revokeProof",
    "Revoke a stored proof. A second revocation changes nothing.",
    _PROOF,
    click.option("--reason", help="Reason, shown to the holder and the agent."),
    click.option("--sync-wait-ms", "syncWaitMs", type=Whole(min=0), default=0, help="Wait for the anchor, in ms."),
    body=named,
)
