"""``identity verifications``: the results of the proofs that were verified at a service."""

from __future__ import annotations

from typing import Any

import click
from identity_commands.remote import add_command, did_option, page, page_options

from identity_core.cli.plugin_commands import OpenGroup


@click.group(name="verifications", cls=OpenGroup)
def command() -> None:
    """Show the verifications that you requested, and those of your own proofs."""


_CHOSEN = (
    click.option("--from", "from", metavar="TIME", help="Show only verifications at or after this RFC 3339 time."),
    click.option("--to", metavar="TIME", help="Show only verifications before this RFC 3339 time."),
    click.option("--verified/--refused", "verified", default=None, help="Show only verifications with this result."),
    did_option("--holder", "holderDid", "Show only verifications of proofs by this holder."),
    did_option("--issuer", "issuerDid", "Show only verifications of proofs with credentials of this issuer."),
)


def _why(row: dict[str, Any]) -> str:
    """Return the reasons of an invalid verification, or the missing comparisons of an unbound one."""
    return ", ".join(row["missing"] or [each["code"] for each in row["reasons"]])


def _row(row: dict[str, Any]) -> str:
    verdict = "valid" if row["verdict"] == "valid" else f"{row['verdict']} ({_why(row)})"
    return f"{row['ts']}  {row['proofId'] or '-'}  {row['holderDid'] or '-'}  {verdict}"


def _counts(body: dict[str, Any]) -> str:
    reasons = [f"  {each['code']}: {each['count']}" for each in body["reasons"]]
    counts = f"{body['valid']} valid, {body['verified'] - body['valid']} unbound, {body['refused']} invalid"
    return "\n".join([f"{body['total']} in all, {counts}", *reasons])


add_command(
    command,
    "list",
    "listVerificationHistory",
    "List verifications, newest first.",
    *_CHOSEN,
    *page_options,
    text=page(_row),
    columns={
        "TIME": "{ts}",
        "PROOF": lambda row: row["proofId"] or "-",
        "QUESTION": lambda row: "{attributeName} {type}".format_map(row["predicate"]) if row["predicate"] else "-",
        "HOLDER": lambda row: row["holderDid"] or "-",
        "VERDICT": "{verdict}",
        "REASONS": _why,
    },
    whose="the verifier or the holder",
)
add_command(
    command,
    "stats",
    "getVerificationStats",
    "Count the verifications, and the reasons of refusals.",
    *_CHOSEN,
    text=_counts,
    whose="the verifier or the holder",
)
