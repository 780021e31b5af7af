"""Options of ``identity plugins list`` that show the states of plugins in a running service."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from identity_client import Exchange, ServiceError
from identity_codec.values import replace
from identity_commands.profiles import signed_in
from identity_commands.remote import api_key_option, named_service_option, session
from identity_core.cli.output import fail
from identity_core.plugin.choose import InstalledPlugin
from identity_core.plugin.sockets import BEARER_HOOK, PROVIDE_HOOKS

F = TypeVar("F", bound=Callable[..., Any])


def service_options(decorated: F) -> F:
    """Add --url, --profile and --api-key. With --url, the command gets ``running``, which gives its rows the states of the service."""

    @functools.wraps(decorated)
    def wrapped(url: str | None, api_key: str | None, **rest: Any) -> None:
        states = None if url is None else conditions(url, **signed_in(url, api_key))
        decorated(**rest, running=None if states is None else functools.partial(as_running, running=states))

    return named_service_option("A running service, whose states are shown.")(api_key_option(wrapped))  # type: ignore[no-any-return]


HOOKS = {kind: hook for hook, kind in PROVIDE_HOOKS.items()} | {"bearer": BEARER_HOOK}


def conditions(url: str, *, api_key: str | None = None, token: str | None = None) -> Mapping[str, Any]:
    """Return the ``plugins`` of ``/ready``, by ``kind:name``, whether the service is ready or not. A service that does not show
    them ends the command."""
    seen: list[Exchange] = []
    # 503 says that it is not ready, and still says how it is.
    with session(url, api_key, token=token, on_exchange=seen.append) as opened, contextlib.suppress(ServiceError):
        opened.call("GET", "/ready")
    answer = seen[-1].answer if seen else None
    plugins = answer.get("plugins") if isinstance(answer, dict) else None
    if not isinstance(plugins, dict):
        remedy = "give an admin's key or one with the scope service:read: IDENTITY_API_KEY or --api-key FILE"
        fail("the service does not show how its plugins do", url, remedy)
    return plugins


def as_running(installed: list[InstalledPlugin], running: Mapping[str, Any]) -> list[InstalledPlugin]:
    """Return the rows of this installation with the states of the service, which may have other settings. A plugin that is chosen
    here and not in use there is shown as available. Plugins that only the service has come last, without a distribution."""
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
