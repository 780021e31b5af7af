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

    return named_service_option("URL of a running service, for the state of its plugins.")(api_key_option(wrapped))  # type: ignore[no-any-return]


HOOKS = {kind: hook for hook, kind in PROVIDE_HOOKS.items()} | {"bearer": BEARER_HOOK}


def read_readiness(url: str, **credential: str | None) -> Mapping[str, Any]:
    """Return the answer of ``/ready``, whether the service is ready or not; empty for an answer of another program."""
    seen: list[Exchange] = []
    # The body of a 503 is the same as that of a 200.
    with session(url, **credential, on_exchange=seen.append) as opened, contextlib.suppress(ServiceError):
        opened.call("GET", "/ready")
    answer = seen[-1].answer if seen else None
    return answer if isinstance(answer, dict) else {}


def conditions(url: str, **credential: str | None) -> Mapping[str, Any]:
    """Return the ``plugins`` of ``/ready`` by ``kind:name``. A service that does not show them ends the command."""
    plugins = read_readiness(url, **credential).get("plugins")
    if not isinstance(plugins, dict):
        remedy = "give an admin's key or one with the scope service:read: IDENTITY_API_KEY or --api-key FILE"
        fail("the service does not show the states of its plugins", url, remedy)
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
