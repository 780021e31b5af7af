"""How the plugins of a running service do, from its ``/ready``: the states of ``identity plugins list --url``."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from identity_core.cli.output import fail
from identity_core.cli.remote import session
from identity_core.client import Exchange, Refused
from identity_core.plugin.inventory import InstalledPlugin
from identity_core.plugin.sockets import BEARER_HOOK, PROVIDE_HOOKS

HOOKS = {kind: hook for hook, kind in PROVIDE_HOOKS.items()} | {"bearer": BEARER_HOOK}


def conditions(url: str, api_key: str | None) -> Mapping[str, Any]:
    """The ``plugins`` of ``/ready``, by ``kind:name``, whether the service is ready or not. Ends the command where it does not show
    them."""
    seen: list[Exchange] = []
    # 503 says that it is not ready, and still says how it is.
    with session(url, api_key, on_exchange=seen.append) as opened, contextlib.suppress(Refused):
        opened.call("GET", "/ready")
    answer = seen[-1].answer if seen else None
    plugins = answer.get("plugins") if isinstance(answer, dict) else None
    if not isinstance(plugins, dict):
        remedy = "give an admin's key or one with the scope service:read: IDENTITY_API_KEY or --api-key FILE"
        fail("the service does not show how its plugins do", url, remedy)
    return plugins


def as_running(installed: list[InstalledPlugin], running: Mapping[str, Any]) -> list[InstalledPlugin]:
    """The rows of this installation with the states of the service, which may be set up otherwise: what is chosen here and not in use
    there is merely available. What only the service has comes last, without a distribution."""
    rows, left = [], dict(running)
    kinds = {hook: kind for kind, hook in HOOKS.items()}
    for row in installed:
        condition = left.pop(f"{kinds.get(row.hook, '-')}:{row.name}", None)
        if condition is not None:
            rows.append(replace(row, state=condition["state"], reason=_processes(condition)))
        elif row.state == "chosen" and running:
            rows.append(replace(row, state="available", reason="the service does not use it"))
        else:
            rows.append(row)
    for key, condition in left.items():
        kind, _, name = key.partition(":")
        rows.append(InstalledPlugin(name, HOOKS.get(kind, kind), "", "", condition["state"], _processes(condition)))
    return rows


def _processes(condition: Mapping[str, Any]) -> str:
    processes = condition.get("processes")
    if processes is None:
        return ""
    return f"{processes['ready']} of {processes['wanted']} processes, {processes['restarts']} restarts"
