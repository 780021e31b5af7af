"""``identity delegation``: delegations of a holder to an agent, at a running service."""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from identity_codec.times import printed
from identity_commands.json_input import predicate_value
from identity_commands.options import NONE, OrNone, several
from identity_commands.remote import RemoteCaller, add_command, did_option, named, page, page_options
from identity_commands.terminal import ids_option
from identity_core.cli.options import Number, Whole
from identity_core.cli.output import format_value, misused
from identity_core.cli.plugin_commands import OpenGroup

STATUSES = ("scheduled", "active", "suspended", "exhausted", "expired", "revoked")
LIMIT = OrNone(Whole(min=0))


@click.group(name="delegation", cls=OpenGroup)
def command() -> None:
    """Create, list, show, suspend, resume and revoke delegations."""


def _delegation(
    caller: RemoteCaller, *, days: float, predicates: tuple[tuple[str, str, str], ...], **given: Any
) -> dict[str, Any]:
    """Return the body of createDelegation from the options."""
    if not given["actions"] and not predicates:
        misused("what may the agent do?", "give --action or --pin")
    body = {name: None if value == NONE else value for name, value in named(caller, **given).items()}
    body["expiresAt"] = printed(datetime.now(UTC) + timedelta(days=days))
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
    return caller.did or misused("whose credentials is it about?", "give --holder DID, or --keys FILE")


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
    ]
    for name in ("uses", "refusals", "thresholds"):
        most = one[f"max{name.capitalize()}"]
        lines.append(f"{name:<10} {one[name]}" + (", no limit" if most is None else f" of {most}"))
    return "\n".join(lines + ([f"purpose    {one['purpose']}"] if one["purpose"] else []))


def _permitted(row: dict[str, Any]) -> str:
    pinned = [
        f"{one['attributeName']} {one['type']} {', '.join(map(format_value, one['values']))}"
        for one in row["predicates"]
    ]
    return "; ".join([*row["actions"], *pinned])


add = functools.partial(add_command, command)
add(
    "create",
    "createDelegation",
    """Allow an agent to request proofs. Each use also needs a token that the holder signs: `identity ibct issue`.

    A VALUE is JSON (18, true, ["JP","DE"]). Other text is a string (2008-01-01, 10.50, JP).
    """,
    did_option("--agent", "agentDid", "DID of the agent.", required=True),
    did_option("--holder", "holderDid", "DID of the holder whose credentials are used.  [default: the DID of --keys]"),
    click.option("--parent", "parentId", metavar="ID", help="Delegation of which a part is passed on."),
    several("--action", "ACTION", "Permitted action, such as zkp.prove.age.gte; repeatable.", into="actions"),
    several("--pin", "ATTRIBUTE TYPE VALUE", "Permitted predicate, such as age gte 18; repeatable.", into="predicates"),
    click.option(
        "--level",
        "autonomyLevel",
        type=Whole(0, 5),
        required=True,
        help="Autonomy level: 2 for pinned values, 3 for any value; one more to anchor.",
    ),
    click.option("--days", type=Number(min=0, min_open=True), default=30.0, help="Lifetime in days."),
    several("--credential", "ID", "Permitted credential; repeatable.  [default: any]", into="credentialIds"),
    several("--schema", "ID", "Permitted schema; repeatable.  [default: any]", into="schemaIds"),
    several("--verifier", "NAME", "Domain of a permitted verifier; repeatable.  [default: any]", into="verifiers"),
    click.option("--max-uses", "maxUses", type=LIMIT, help="Limit of proofs and refused predicates.  [default: none]"),
    click.option("--max-refusals", "maxRefusals", type=LIMIT, help="Limit of refused unpinned values.  [default: 1]"),
    click.option("--max-thresholds", "maxThresholds", type=LIMIT, help="Limit of unpinned predicates.  [default: 3]"),
    click.option("--max-depth", "maxDepth", type=Whole(0, 8), help="How often it may be passed on.  [default: 0]"),
    click.option("--purpose", help="Purpose in words, shown in the record."),
    ids_option,
    body=_delegation,
    text=_record,
)

_DELEGATION = click.argument("delegation_id", callback=lambda _, __, text: text.removeprefix("urn:uuid:"))
add("show", "getDelegation", "Show a delegation, its status and the rest of its limits.", _DELEGATION, text=_record)
add(
    "list",
    "listDelegations",
    "List delegations, newest first.",
    did_option("--holder", "holderDid", "Show only records of this holder."),
    did_option("--agent", "agentDid", "Show only delegations for this agent."),
    click.option("--status", type=click.Choice(STATUSES), help="Show only delegations with this status."),
    *page_options,
    text=page("{id}  {status:<9}  {holderDid}  {agentDid}  {expiresAt}"),
    columns={
        "ID": "{id}",
        "STATUS": "{status}",
        "MAY": _permitted,
        "UNTIL": "{expiresAt}",
        "PURPOSE": lambda row: row["purpose"] or "",
        "HOLDER": "{holderDid}",
        "AGENT": "{agentDid}",
    },
)
add(
    "revoke",
    "revokeDelegation",
    "Revoke a delegation for good, with every delegation that was derived from it.",
    _DELEGATION,
    click.option("--reason", help="Reason, shown in the record."),
    body=named,
    text=_record,
)
for name, operation_id, says in (
    ("suspend", "suspendDelegation", "Suspend a delegation until it is resumed."),
    (
        "resume",
        "resumeDelegation",
        "Resume a suspended delegation, including one that the limit of refusals suspended.",
    ),
):
    add(name, operation_id, says, _DELEGATION, text=_record)
add(
    "suspend-all",
    "suspendDelegations",
    "Suspend every active delegation of yours, or with --agent those to one agent.",
    did_option("--agent", "agentDid", "Only the delegations to this agent."),
    body=lambda _, *, agentDid: {"all": True} if agentDid is None else {"agentDid": agentDid},
    text=lambda body: (
        "\n".join([*body["suspended"], *(f"{one['id']}  {one['code']}" for one in body["failed"])]) or "none"
    ),
)
