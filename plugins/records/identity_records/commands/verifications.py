"""``identity verifications``: the results of the proofs that were verified at a service."""

from __future__ import annotations

from typing import Any

import click
from identity_commands.remote import add_command, did_option, page, page_options

from identity_core.cli.plugin_commands import OpenGroup


@click.group(name="verifications", cls=OpenGroup)
def command() -> None:
    """The verifications that you asked for, and those of your own proofs."""


_CHOSEN = (
    click.option("--from", "from", metavar="TIME", help="Only those from then on (RFC 3339)."),
    click.option("--to", metavar="TIME", help="Only those before."),
    click.option("--verified/--refused", "verified", default=None, help="Only those that ended so."),
    did_option("--holder", "holderDid", "Only of proofs of this holder."),
    did_option("--issuer", "issuerDid", "Only of proofs over credentials of this issuer."),
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
    "Print verifications, newest first.",
    *_CHOSEN,
    *page_options,
    text=page(_row),
    columns={
        "TIME": "{ts}",
        "PROOF": lambda row: row["proofId"] or "-",
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
    "Count verifications, and the reasons of refusals.",
    *_CHOSEN,
    text=_counts,
    whose="the verifier or the holder",
)
