"""``identity status``: the state of a service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from identity_commands.profiles import signed_in
from identity_commands.remote import api_key_option, session, url_option
from identity_commands.running_plugins import read_readiness
from identity_core.cli.output import Command, fail, show


@click.command(name="status", cls=Command)
@url_option
@api_key_option
def command(url: str, api_key: str | None) -> None:
    """Show version, readiness and extensions of a service. With an administrator's API key, show its parts too."""
    credential = signed_in(url, api_key)
    with session(url, **credential) as opened:
        version = opened.call("GET", "/version", signed_in=False)
    found = {"url": url, **version, **read_readiness(url, **credential)}
    show(found, text=_text)
    if found.get("status") != "ready":
        fail("the service is not ready", url, "run `identity doctor` on its machine")


def _text(found: Mapping[str, Any]) -> str:
    lines = [f"{found['url']}: {found.get('status', 'no answer to /ready')}"]
    lines.append(f"version {found['version']} (build {found['build']}, interface {found['interface']})")
    lines.append(f"extensions: {found.get('extensions') or 'none'}")
    states = {**found.get("dependencies", {}), **{name: one["state"] for name, one in found.get("plugins", {}).items()}}
    return "\n".join([*lines, *(f"  {name}: {state}" for name, state in states.items())])
