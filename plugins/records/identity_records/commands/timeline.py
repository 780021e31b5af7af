"""``identity timeline``: what was done in the name of a DID."""

from __future__ import annotations

import click
from identity_commands.remote import add_command, page, page_options

from identity_client.presentation import words_of
from identity_core.cli.plugin_commands import OpenGroup


@click.group(name="timeline", cls=OpenGroup)
def command() -> None:
    """Show actions by you, in your name, or about you."""


add_command(
    command,
    "list",
    "getDashboardTimeline",
    "List events, newest first: proofs, delegations, credentials, changes of your DID, refusals.",
    click.option("--kind", help="Show only events of this kind, such as proof or proof.generated."),
    click.option("--after", metavar="TIME", help="Show only events at or after this RFC 3339 time."),
    click.option("--before", metavar="TIME", help="Show only events before this RFC 3339 time."),
    *page_options,
    text=page(lambda row: f"{row['at']}  {row['outcome']:<8}  {words_of(row)}  {row['code'] or ''}".rstrip()),
    columns={"TIME": "{at}", "OUTCOME": "{outcome}", "EVENT": words_of, "CODE": lambda row: row["code"] or ""},
    whose="the DID",
)
