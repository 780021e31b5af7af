"""``identity delegation``: what a holder allows an agent, against a running service."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from identity_core.cli.asking import Ask, asks, wallet_option
from identity_core.cli.listing import add_list
from identity_core.cli.options import predicate_value
from identity_core.cli.output import as_json, fail, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.cli.remote import api_key_option, session, url_option
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


@command.command()
@url_option
@api_key_option
@wallet_option
@click.option("--agent", required=True, metavar="DID", help="Who may act.")
@click.option("--holder", metavar="DID", help="Whose credentials it is about; the DID of --keys by default.")
@click.option("--parent", metavar="ID", help="Pass on a part of this delegation; the holder is then its holder.")
@click.option("--action", "actions", multiple=True, metavar="ACTION", help="Such as zkp.prove.age.gte; any value.")
@click.option(
    "--pin", "pins", nargs=3, multiple=True, metavar="ATTRIBUTE TYPE VALUE", help="Only this value: age gte 18."
)
@click.option(
    "--level",
    type=click.IntRange(0, 5),
    required=True,
    help="Autonomy: 2 for pinned values, 3 for any; one more to anchor.",
)
@click.option(
    "--days", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True, help="How long it lasts."
)
@click.option("--credential", "credentials", multiple=True, metavar="ID", help="Only with this one; may be repeated.")
@click.option("--schema", "schemas", multiple=True, metavar="ID", help="Only of this schema; may be repeated.")
@click.option("--verifier", "verifiers", multiple=True, metavar="NAME", help="Only for this one; may be repeated.")
@click.option("--max-uses", type=_Limit(), help="Proofs and refused predicates.  [default: none]")
@click.option("--max-refusals", type=_Limit(), help="Refused predicates of unpinned values.  [default: 1]")
@click.option("--max-thresholds", type=_Limit(), help="Different unpinned predicates.  [default: 3]")
@click.option("--max-depth", type=click.IntRange(0, 8), help="How often it may be passed on.  [default: 0]")
@click.option("--purpose", help="For people.")
@as_json
def create(
    url: str,
    api_key: str | None,
    wallet: Path | None,
    holder: str | None,
    parent: str | None,
    pins: tuple[tuple[str, str, str], ...],
    days: float,
    json_output: bool,
    **terms: Any,
) -> None:
    """Allow an agent to have something proved. Each use still needs a token that the holder signs: `identity ibct issue`.

    A VALUE is JSON (18, true, ["JP","DE"]); anything else is taken as a string (2008-01-01, 10.50, JP).
    """
    if not terms["actions"] and not pins:
        fail("what may the agent do?", "identity delegation create", "give --action or --pin", status=2)
    with session(url, api_key) as opened:
        ask = asks(opened, wallet)
        body = _terms(**terms) | {"expiresAt": printed(datetime.now(UTC) + timedelta(days=days))}
        body["holderDid"] = holder or _holder_of(ask, parent)
        if parent is not None:
            body["parentId"] = parent
        if pins:
            body["predicates"] = [
                {"attributeName": name, "type": kind, "values": [predicate_value(value)]} for name, kind, value in pins
            ]
        show(ask("POST", "/delegations", "delegate", body), json_output=json_output, text=_record)


def _terms(
    *,
    agent: str,
    actions: tuple[str, ...],
    level: int,
    credentials: tuple[str, ...],
    schemas: tuple[str, ...],
    verifiers: tuple[str, ...],
    max_uses: int | str | None,
    max_refusals: int | str | None,
    max_thresholds: int | str | None,
    max_depth: int | None,
    purpose: str | None,
) -> dict[str, Any]:
    """The members that were named; what is left out, the service decides."""
    named: dict[str, Any] = {
        "actions": list(actions) or None,
        "credentialIds": list(credentials) or None,
        "schemaIds": list(schemas) or None,
        "verifiers": list(verifiers) or None,
        "maxUses": max_uses,
        "maxRefusals": max_refusals,
        "maxThresholds": max_thresholds,
        "maxDepth": max_depth,
        "purpose": purpose,
    }
    said = {name: None if value == NO_LIMIT else value for name, value in named.items() if value is not None}
    return {"agentDid": agent, "autonomyLevel": level} | said


def _holder_of(ask: Ask, parent: str | None) -> str:
    if parent is not None:
        above: str = ask("GET", _path(parent), "read")["holderDid"]
        return above
    if ask.did is None:
        fail(
            "whose credentials is it about?",
            "identity delegation create",
            "give --holder DID, or --keys FILE",
            status=2,
        )
    return ask.did


@command.command(name="show")
@click.argument("delegation_id")
@url_option
@api_key_option
@wallet_option
@as_json
def show_one(delegation_id: str, url: str, api_key: str | None, wallet: Path | None, json_output: bool) -> None:
    """Show a delegation, its state and what is left of its limits."""
    with session(url, api_key) as opened:
        answer = asks(opened, wallet)("GET", _path(delegation_id), "read")
    show(answer, json_output=json_output, text=_record)


add_list(
    command,
    "/delegations",
    "List delegations, newest first.",
    click.option("--holder", "holderDid", metavar="DID", help="Only those of this holder."),
    click.option("--agent", "agentDid", metavar="DID", help="Only those for this agent."),
    click.option("--status", type=click.Choice(STATUSES), help="Only those in this state."),
    row="{id}  {status:<9}  {holderDid}  {agentDid}",
)


@command.command()
@click.argument("delegation_id")
@url_option
@api_key_option
@wallet_option
@click.option("--reason", help="Shown in the record.")
@as_json
def revoke(
    delegation_id: str, url: str, api_key: str | None, wallet: Path | None, reason: str | None, json_output: bool
) -> None:
    """End a delegation, for good, with everything that was passed on under it."""
    body = {} if reason is None else {"reason": reason}
    with session(url, api_key) as opened:
        answer = asks(opened, wallet)("POST", f"{_path(delegation_id)}/revoke", "delegate", body)
    show(answer, json_output=json_output, text=_record)


def _switch(name: str, says: str) -> None:
    """Adds the command ``name``, which takes nothing but a delegation."""

    @command.command(name=name, help=says)
    @click.argument("delegation_id")
    @url_option
    @api_key_option
    @wallet_option
    @as_json
    def switch(delegation_id: str, url: str, api_key: str | None, wallet: Path | None, json_output: bool) -> None:
        with session(url, api_key) as opened:
            answer = asks(opened, wallet)("POST", f"{_path(delegation_id)}/{name}", "delegate")
        show(answer, json_output=json_output, text=_record)


_switch("suspend", "Suspend a delegation until it is resumed.")
_switch("resume", "Resume a delegation that was suspended, by hand or by the limit of refusals.")


def _path(delegation_id: str) -> str:
    return f"/delegations/{quote(delegation_id.removeprefix('urn:uuid:'), safe='')}"


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
