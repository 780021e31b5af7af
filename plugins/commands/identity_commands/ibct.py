"""``identity ibct``: tokens by which a holder lets an agent act, made and checked at the holder's own machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import click
import orjson

from identity_commands.json_input import input_argument, load_json, name_of, predicate_value, read_json
from identity_commands.options import several
from identity_commands.proof_question import question_option
from identity_commands.remote import RemoteCaller, add_command, did_option, keys_option, named
from identity_commands.wallet import Wallet
from identity_core.cli.options import Number, Whole
from identity_core.cli.output import fail, failing, misused, show
from identity_core.cli.plugin_commands import OpenGroup

MAX_FILE_OCTETS = 65_536
MOST_AT_ONCE = 1000
TEXT = """\
valid
from       {invoker}
for        {target}
action     {action}
delegation {delegationId}
until      {expiresAt}"""


@click.group(name="ibct", cls=OpenGroup)
def command() -> None:
    """Issue, sign, verify and revoke the tokens with which you let an agent act, one use each."""


def _reference(_: click.Context, __: click.Parameter, text: str) -> str:
    """Return the reference of a delegation. A malformed one ends the command, because no token with it would be accepted."""
    from identity_client.capability import delegation_id

    place, _slash, last = text.rpartition("/")
    if delegation_id(last if place.startswith(("https://", "http://")) else text, ()) is None:
        raise click.BadParameter("Give the uuid or URL of a delegation: `identity delegation list` has them.")
    return text


@command.command()
@keys_option
@did_option("--agent", "agent", "DID of the agent.", required=True)
@click.option(
    "--delegation",
    required=True,
    metavar="ID",
    callback=_reference,
    help="Delegation on which the token is based: its UUID or URL.",
)
@click.option(
    "--predicate",
    "predicates",
    multiple=True,
    nargs=2,
    metavar="ATTRIBUTE TYPE",
    help="Predicate that may be proved, such as age gte; repeatable. Several are proved together, in this order.",
)
@click.option(
    "--pin",
    "pins",
    multiple=True,
    metavar="VALUE",
    help="Only permitted value, one per predicate. Without it the agent chooses the value.",
)
@question_option
@click.option("--minutes", type=Number(min=0.1, max=129_600), default=60.0, help="Validity of each token, in minutes.")
@click.option("--count", type=Whole(1, MOST_AT_ONCE), default=1, help="Number of tokens, each for one use.")
def issue(
    wallet: Path,
    agent: str,
    delegation: str,
    predicates: tuple[tuple[str, str], ...],
    pins: tuple[str, ...],
    question: Any,
    minutes: float,
    count: int,
) -> None:
    """Print signed tokens, one per line. Only the agent can use a token, once.

    With --question the token is for exactly that question about several credentials, with each value pinned.

    A VALUE is JSON (18, true, ["JP","DE"]). Other text is a string (2008-01-01, 10.50, JP).
    """
    from identity_client import ibct
    from identity_client.did import split_did

    holder = Wallet.open(wallet)
    with failing(ValueError, "--agent", "name the DID of the agent", what=f"{agent} is not a DID", status=2):
        split_did(agent)
    try:
        if (question is None) == (not predicates) or (question is not None and pins):
            raise ValueError("give --predicate, with --pin or without, or --question alone")
        if len(pins) not in (0, len(predicates)):
            raise ValueError("--pin is given once for each --predicate, or never")
        values = [*map(predicate_value, pins)] or [None] * len(predicates)
        action = " ".join(
            ibct.action_text(*predicate, pin=value) for predicate, value in zip(predicates, values, strict=True)
        )
        if question is not None:
            action = ibct.question_action(read_json(question))
        wish = ibct.IbctTemplate(agent, action, delegation, timedelta(minutes=minutes))
        tokens = [ibct.sign_token(holder.signer(), wish) for _ in range(count)]
    except ValueError as error:
        fail(str(error), "the options", "see `identity ibct issue --help`", status=2)
    show(tokens if count > 1 else tokens[0], text=lambda _: "\n".join(map(_line, tokens)))


@command.command()
@input_argument
@keys_option
def sign(file: Any, wallet: Path) -> None:
    """Sign the token in FILE, which another party prepared; - is standard input. Read it first.

    The token must be in your own name.
    """
    from identity_client import ibct

    holder = Wallet.open(wallet)
    remedy = "sign only what you understand; `identity ibct issue` draws tokens up"
    with failing(ValueError, name_of(file), remedy):
        token = ibct.sign(_token(file), holder.signer())
    show(token, text=_line)


@command.command()
@input_argument
@several("--key", "MULTIKEY", "Ed25519 public key of the holder; repeatable.", into="keys")
@click.option("--document", type=click.File("rb"), help="The holder's DID document, or its resolution.")
@click.option("--resolve", "url", metavar="URL", help="URL of the service that resolves the holder's DID.")
def verify(file: Any, keys: tuple[str, ...], document: Any, url: str | None) -> None:
    """Verify the form, signature and expiry of the token in FILE; - is standard input.

    Only the service knows whether the token was used or revoked, and what the delegation permits.
    """
    from identity_client import ibct
    from identity_client.capability import Capability, CapabilityExpired, CapabilityInvalid
    from identity_commands.public_keys import holder_keys

    now = datetime.now(UTC)
    try:
        token = _token(file)
        # What is not a token at all is refused before anyone is asked for the keys of its invoker.
        invoker = Capability.parse(token, places=()).invoker
        known = holder_keys(invoker, now, keys=keys, document=document, url=url)
        capability = ibct.verify(token, known, now)
    except (CapabilityInvalid, CapabilityExpired) as error:
        fail(f"{error.code}: {error}", name_of(file), "do not rely on it")
    except ValueError as error:
        fail(str(error), name_of(file), "see `identity ibct verify --help`", status=2)
    shown = {
        "valid": True,
        "invoker": capability.invoker,
        "target": capability.target,
        "action": capability.action,
        "delegationId": capability.delegation_id,
        "expiresAt": token["expiresAt"],
    }
    show(shown, text=TEXT)


def _line(token: dict[str, str]) -> str:
    return orjson.dumps(token).decode()


def _token(file: Any) -> dict[str, str]:
    """Return a JSON object of strings. Raises ``ValueError``."""
    value = load_json(file, MAX_FILE_OCTETS)
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ValueError("a token is a JSON object of strings")
    return cast(dict[str, str], value)


def _revoked(caller: RemoteCaller, **given: Any) -> dict[str, Any]:
    body = named(caller, **given)
    if ("id" in body) == ("nonce" in body):
        misused("which token?", "give --id or --nonce, one of the two")
    body["invoker"] = (
        body.get("invoker") or caller.did or misused("who signed it?", "give --invoker DID, or --keys FILE")
    )
    return body


add_command(
    command,
    "revoke",
    "revokeIbct",
    "Revoke a token by its id or nonce, whether or not it was used.",
    did_option("--invoker", "invoker", "DID of the holder who signed the token.  [default: the DID of --keys]"),
    click.option("--id", help="`id` of the token."),
    click.option("--nonce", help="`nonce` of the token, in place of --id."),
    click.option(
        "--expires-at",
        "expiresAt",
        help="`expiresAt` of the token. Without it the revocation is stored for the longest lifetime of a delegation.",
    ),
    body=_revoked,
    text="revoked    {revokedAt}\nremembered {keptUntil}",
)
