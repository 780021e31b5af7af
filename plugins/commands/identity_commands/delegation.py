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
from identity_core.cli.options import Number, Whole
from identity_core.cli.output import misused
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


add = functools.partial(add_command, command)
add(
    "create",
    "createDelegation",
    """Allow an agent to have something proved. Each use still needs a token that the holder signs: `identity ibct issue`.

    A VALUE is JSON (18, true, ["JP","DE"]); anything else is taken as a string (2008-01-01, 10.50, JP).
    """,
    did_option("--agent", "agentDid", "Who may act.", required=True),
    did_option("--holder", "holderDid", "Whose credentials it is about; the DID of --keys by default."),
    click.option(
        "--parent", "parentId", metavar="ID", help="Pass on a part of this delegation; the holder is then its holder."
    ),
    several("--action", "ACTION", "Such as zkp.prove.age.gte; any value.", into="actions"),
    several("--pin", "ATTRIBUTE TYPE VALUE", "Only this value: age gte 18.", into="predicates"),
    click.option(
        "--level",
        "autonomyLevel",
        type=Whole(0, 5),
        required=True,
        help="Autonomy: 2 for pinned values, 3 for any; one more to anchor.",
    ),
    click.option("--days", type=Number(min=0, min_open=True), default=30.0, show_default=True, help="Its lifetime."),
    several("--credential", "ID", "Only with this one; may be repeated.", into="credentialIds"),
    several("--schema", "ID", "Only of this schema; may be repeated.", into="schemaIds"),
    several("--verifier", "NAME", "Only for this one; may be repeated.", into="verifiers"),
    click.option("--max-uses", "maxUses", type=LIMIT, help="Proofs and refused predicates.  [default: none]"),
    click.option("--max-refusals", "maxRefusals", type=LIMIT, help="Refusals for unpinned values.  [default: 1]"),
    click.option("--max-thresholds", "maxThresholds", type=LIMIT, help="Different unpinned predicates.  [default: 3]"),
    click.option("--max-depth", "maxDepth", type=Whole(0, 8), help="How often it may be passed on.  [default: 0]"),
    click.option("--purpose", help="For people."),
    body=_delegation,
    text=_record,
)

_DELEGATION = click.argument("delegation_id", callback=lambda _, __, text: text.removeprefix("urn:uuid:"))
add("show", "getDelegation", "Show a delegation, its state and what is left of its limits.", _DELEGATION, text=_record)
add(
    "list",
    "listDelegations",
    "List delegations, newest first.",
    did_option("--holder", "holderDid", "Only those of this holder."),
    did_option("--agent", "agentDid", "Only those for this agent."),
    click.option("--status", type=click.Choice(STATUSES), help="Only those in this state."),
    *page_options,
    text=page("{id}  {status:<9}  {holderDid}  {agentDid}"),
    columns={"ID": "{id}", "STATUS": "{status}", "HOLDER": "{holderDid}", "AGENT": "{agentDid}"},
)
add(
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
