"""``identity delegation``: what a holder allows an agent, against a running service."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import click

from identity_core.cli.options import predicate_value
from identity_core.cli.output import fail
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.cli.remote import RemoteCaller, add_command, named, page, page_options
from identity_core.domain.times import printed

STATUSES = ("scheduled", "active", "suspended", "exhausted", "expired", "revoked")
NO_LIMIT = "none"


class _Limit(click.ParamType[int | str]):
    """A number, or ``none`` for no limit."""

    name = "N|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if str(value) == NO_LIMIT:
            return NO_LIMIT
        if not str(value).isascii() or not str(value).isdecimal():
            self.fail(f"{value} is no number, and not {NO_LIMIT}.", param, ctx)
        return int(value)


@click.group(name="delegation", cls=OpenGroup)
def command() -> None:
    """Create, list, show, suspend, resume and revoke delegations."""


def _delegation(
    caller: RemoteCaller, *, days: float, predicates: tuple[tuple[str, str, str], ...], **given: Any
) -> dict[str, Any]:
    """The body of createDelegation, of what was given."""
    if not given["actions"] and not predicates:
        fail("what may the agent do?", "identity delegation create", "give --action or --pin", status=2)
    body = named(caller, **given) | {"expiresAt": printed(datetime.now(UTC) + timedelta(days=days))}
    body |= {name: None for name, value in body.items() if value == NO_LIMIT}
    body["holderDid"] = given["holderDid"] or _holder_of(caller, given["parentId"])
    if predicates:
        body["predicates"] = [
            {"attributeName": name, "type": kind, "values": [predicate_value(value)]}
            for name, kind, value in predicates
        ]
    return body


def _holder_of(caller: RemoteCaller, parent: str | None) -> str:
    if parent is not None:
        above: str = caller.send("getDelegation", parent.removeprefix("urn:uuid:"))["holderDid"]
        return above
    if caller.did is None:
        remedy = "give --holder DID, or --keys FILE"
        fail("whose credentials is it about?", "identity delegation create", remedy, status=2)
    return caller.did


def _record(one: dict[str, Any]) -> str:
    lines = [
        one["id"],
        f"status     {one['status']}" + (f" ({one['suspendedReason']})" if one["suspendedReason"] else ""),
        f"holder     {one['holderDid']}",
        f"agent      {one['agentDid']}",
        *(f"may        {action}" for action in one["actions"]),
        f"level      {one['effectiveAutonomyLevel']}",
        f"from       {one['notBefore']}",
        f"until      {one['expiresAt']}",
        f"uses       {_counted(one['uses'], one['maxUses'])}",
        f"refusals   {_counted(one['refusals'], one['maxRefusals'])}",
        f"thresholds {_counted(one['thresholds'], one['maxThresholds'])}",
    ]
    if one["purpose"]:
        lines.append(f"purpose    {one['purpose']}")
    return "\n".join(lines)


def _counted(count: int, most: int | None) -> str:
    return f"{count}, no limit" if most is None else f"{count} of {most}"


add_command(
    command,
    "create",
    "createDelegation",
    """Allow an agent to have something proved. Each use still needs a token that the holder signs: `identity ibct issue`.

    A VALUE is JSON (18, true, ["JP","DE"]); anything else is taken as a string (2008-01-01, 10.50, JP).
    """,
    click.option("--agent", "agentDid", required=True, metavar="DID", help="Who may act."),
    click.option(
        "--holder", "holderDid", metavar="DID", help="Whose credentials it is about; the DID of --keys by default."
    ),
    click.option(
        "--parent", "parentId", metavar="ID", help="Pass on a part of this delegation; the holder is then its holder."
    ),
    click.option("--action", "actions", multiple=True, metavar="ACTION", help="Such as zkp.prove.age.gte; any value."),
    click.option(
        "--pin",
        "predicates",
        nargs=3,
        multiple=True,
        metavar="ATTRIBUTE TYPE VALUE",
        help="Only this value: age gte 18.",
    ),
    click.option(
        "--level",
        "autonomyLevel",
        type=click.IntRange(0, 5),
        required=True,
        help="Autonomy: 2 for pinned values, 3 for any; one more to anchor.",
    ),
    click.option(
        "--days",
        type=click.FloatRange(min=0, min_open=True),
        default=30.0,
        show_default=True,
        help="How long it lasts.",
    ),
    click.option(
        "--credential", "credentialIds", multiple=True, metavar="ID", help="Only with this one; may be repeated."
    ),
    click.option("--schema", "schemaIds", multiple=True, metavar="ID", help="Only of this schema; may be repeated."),
    click.option("--verifier", "verifiers", multiple=True, metavar="NAME", help="Only for this one; may be repeated."),
    click.option("--max-uses", "maxUses", type=_Limit(), help="Proofs and refused predicates.  [default: none]"),
    click.option(
        "--max-refusals", "maxRefusals", type=_Limit(), help="Refused predicates of unpinned values.  [default: 1]"
    ),
    click.option(
        "--max-thresholds", "maxThresholds", type=_Limit(), help="Different unpinned predicates.  [default: 3]"
    ),
    click.option(
        "--max-depth", "maxDepth", type=click.IntRange(0, 8), help="How often it may be passed on.  [default: 0]"
    ),
    click.option("--purpose", help="For people."),
    body=_delegation,
    text=_record,
)

_DELEGATION = click.argument("delegation_id", callback=lambda _, __, text: text.removeprefix("urn:uuid:"))
add_command(
    command,
    "show",
    "getDelegation",
    "Show a delegation, its state and what is left of its limits.",
    _DELEGATION,
    text=_record,
)
add_command(
    command,
    "list",
    "listDelegations",
    "List delegations, newest first.",
    click.option("--holder", "holderDid", metavar="DID", help="Only those of this holder."),
    click.option("--agent", "agentDid", metavar="DID", help="Only those for this agent."),
    click.option("--status", type=click.Choice(STATUSES), help="Only those in this state."),
    *page_options,
    text=page("{id}  {status:<9}  {holderDid}  {agentDid}"),
)
add_command(
    command,
    "revoke",
    "revokeDelegation",
    "End a delegation, for good, with everything that was passed on under it.",
    _DELEGATION,
    click.option("--reason", help="Shown in the record."),
    body=named,
    text=_record,
)
for name, operation_id, says in (
    ("suspend", "suspendDelegation", "Suspend a delegation until it is resumed."),
    ("resume", "resumeDelegation", "Resume a delegation that was suspended, by hand or by the limit of refusals."),
):
    add_command(command, name, operation_id, says, _DELEGATION, text=_record)
