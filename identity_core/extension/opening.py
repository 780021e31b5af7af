"""Opens the installed extensions, each over a kernel object of its own."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import field
from typing import Any, Final, NoReturn, TypeVar

import orjson

from identity_core.codec.structs import python_name
from identity_core.crypto.sealing import derive_key
from identity_core.errors import IdentityError, Overloaded
from identity_core.extension.compose import operations
from identity_core.extension.declaration import Contribution
from identity_core.extension.metrics import Gauge
from identity_core.extension.order import InstalledExtension
from identity_core.plugin.load import described
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import SpentChallenges
from identity_core.ports.securing import SecuringFormat
from identity_core.settings import Settings, StartError
from identity_core.use_cases.dids.index import DidReader
from identity_core.values import value_class

S = TypeVar("S")

log = logging.getLogger("identity.extensions")

# Extension and label of the secrets that existed before there were extensions: they are the secret of challenges itself.
_OF_CHALLENGES: Final = frozenset({("vcalm", "challenges")})


@value_class
class OpenKernel:
    """The ``Kernel`` of one extension. ``root`` is what its secrets are derived from, ``securing`` is called with ``anonymous``,
    ``services`` by type and ``gauges`` are those of all open parts, and ``operations`` has the passes of all operations once the
    application is built."""

    settings: Settings
    origin: str
    refusal: Callable[[], IdentityError | None]
    clock: Clock
    dids: DidReader
    challenges: SpentChallenges
    root: bytes = field(repr=False)
    securing: Callable[..., Mapping[str, SecuringFormat]]
    services: dict[type[Any], Any]
    operations: Mapping[str, Any]
    name: str = ""
    gauges: list[Gauge] = field(default_factory=list)

    def random(self, count: int) -> bytes:
        return secrets.token_bytes(count)

    def secret(self, label: str) -> bytes:
        if (self.name, label) in _OF_CHALLENGES:
            return self.root
        return derive_key(self.root, info=f"identity: extension {self.name}, {label}, v1".encode())

    def formats(self, *, anonymous: bool) -> Mapping[str, SecuringFormat]:
        return self.securing(anonymous=anonymous)

    def find(self, service: type[S]) -> S | None:
        return self.services.get(service)

    def need(self, service: type[S]) -> S:
        found = self.find(service)
        if found is None:
            raise StartError(
                f"The extension {self.name} needs {service.__name__}, which nothing that is installed provides.",
                "the installed extensions",
                f"Name {self.name} in plugins.disabled.",
            )
        return found


async def open_extensions(
    installed: Sequence[InstalledExtension], kernel: Callable[[str], OpenKernel], stack: AsyncExitStack
) -> list[Contribution]:
    """Open the extensions in their order, each with the ``kernel`` of its name; ``stack`` closes them in reverse.

    Raises ``PluginError``: when a vital one fails.
    """
    contributions = []
    for one in installed:
        try:
            own = kernel(one.declared.name)
            added = await stack.enter_async_context(one.declared.open(own))
            _share(own, added)
            contributions.append(added)
        except Exception as error:
            if one.declared.vital and isinstance(error, StartError):
                raise
            if one.declared.vital:
                raise one.source.error(f"could not be opened: {described(error)}") from error
            log.error("%s could not be opened, so its operations answer 503: %s", one.source, described(error))
            contributions.append(Contribution(handlers=(_unavailable(one),)))
    return contributions


def _share(own: OpenKernel, added: Contribution) -> None:
    """Let all parts have the services and gauges of one. Raises ``StartError``: when another part has one of them."""
    known = {gauge.name for gauge in own.gauges}
    twice = [gauge.name for gauge in added.gauges if gauge.name in known]
    twice += [service.__name__ for service in added.services if service in own.services]
    if twice:
        raise StartError(f"Two parts of the service have the gauges or services {sorted(twice)}.")
    own.services.update(added.services)
    own.gauges.extend(added.gauges)


def joined(contributions: Sequence[Contribution], member: str) -> dict[str, Any]:
    """Return a member of all contributions as one mapping. Raises ``StartError``: when two have the same path."""
    found: dict[str, Any] = {}
    for each in contributions:
        places: Mapping[str, Any] = getattr(each, member)
        if twice := found.keys() & places.keys():
            raise StartError(f"Two parts of the service have the {member} {sorted(twice)}.")
        found |= places
    return found


def _unavailable(one: InstalledExtension) -> object:
    """Return handlers that refuse every operation of an extension that could not be opened."""

    async def refuse(self: object, request: object) -> NoReturn:
        raise Overloaded(
            "The extension of this operation could not be opened.",
            details={"extension": one.declared.name, "retryAfter": 60},
        )

    document = orjson.loads(one.declared.document or b'{"paths": {}}')
    names = [python_name(operation["operationId"]) for _, _, operation in operations(document)]
    return type("UnavailableHandlers", (), dict.fromkeys(names, refuse))()
