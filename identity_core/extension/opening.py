"""Opening of the installed extensions, each with a separate kernel object."""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, NoReturn, TypeVar

import orjson
from msgspec import Struct, field

from identity_codec.sealing import derive_key
from identity_codec.structs import python_name
from identity_codec.values import Hidden
from identity_core.database import Database, migrate
from identity_core.errors import IdentityError, Overloaded
from identity_core.extension.choice import InstalledExtension
from identity_core.extension.compose import operations
from identity_core.extension.declaration import Contribution, Gauge
from identity_core.plugin.choose import InstalledPlugin
from identity_core.plugin.load import described
from identity_core.plugin.manager import PluginManager
from identity_core.ports.clock import Clock
from identity_core.ports.panel import OperatorPanel
from identity_core.ports.repositories import SpentChallenges
from identity_core.ports.retention import RetentionRule
from identity_core.ports.securing import SecuringFormat
from identity_core.settings import Settings, ShownSetting, StartError
from identity_core.use_cases.dids.index import DidReader

S = TypeVar("S")

log = logging.getLogger("identity.extensions")

# Extension and label of the secrets that are older than extensions: the labels of their derivation from the root of
# the extension. None is that root itself. If they changed, data from before an upgrade would be refused after it.
_BEFORE: Final[Mapping[tuple[str, str], bytes | None]] = {
    ("agents", "tasks"): b"identity: tasks of agents, v1",
    ("consents", "replies"): None,
    ("oauth", "codes"): b"identity: authorization codes, v1",
    ("vcalm", "challenges"): None,
    ("wallets", "grants"): b"identity: wallets, v1",
    ("wallets", "presentations"): b"identity: presentations, v1",
}


class OpenKernel(Hidden, Struct, frozen=True):
    """The ``Kernel`` of one extension.

    ``root``: the source of its secrets, unless ``roots`` has another one by the name of the extension.
    ``services``: by type; each extension adds its own, and its ``gauges``.
    ``operations``: the compiled operations, once the application is built.
    """

    settings: Settings
    origin: str
    refusal: Callable[[], IdentityError | None]
    clock: Clock
    dids: DidReader
    challenges: SpentChallenges
    root: bytes
    plugins: PluginManager
    services: dict[type[Any], Any]
    operations: Mapping[str, Any]
    name: str = ""
    gauges: list[Gauge] = field(default_factory=list)
    retention: Sequence[RetentionRule] = ()
    roots: Mapping[str, bytes] = field(default_factory=dict)

    def random(self, count: int) -> bytes:
        return secrets.token_bytes(count)

    def secret(self, label: str) -> bytes:
        info = _BEFORE.get((self.name, label), f"identity: extension {self.name}, {label}, v1".encode())
        root = self.roots.get(self.name, self.root)
        return root if info is None else derive_key(root, info=info)

    def formats(self, *, anonymous: bool) -> Mapping[str, SecuringFormat]:
        return self.plugins.securing_workers(anonymous=anonymous)

    def issuing_formats(self) -> Mapping[str, SecuringFormat]:
        return self.plugins.securing_formats()

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


class InstallationState(Struct, frozen=True):
    """The state of an open installation that no operation returns: functions that return it now, and the panels of
    plugins by name.

    ``reasons``: by name of a dependency of ``/ready``, why it is unhealthy, if a job has found the reason.
    ``witnesses``: by name, why a witness does not cosign (empty if it does), and the size of the log that it cosigned
    last.
    """

    plugins: Callable[[], Sequence[InstalledPlugin]]
    settings: Callable[[], Sequence[ShownSetting]]
    reasons: Callable[[], Mapping[str, str]]
    witnesses: Callable[[], Mapping[str, tuple[str, int]]]
    panels: Mapping[str, OperatorPanel]


async def open_extensions(
    installed: Sequence[InstalledExtension], kernel: Callable[[str], OpenKernel], stack: AsyncExitStack
) -> list[Contribution]:
    """Open the extensions in their order, each with its tables and the ``kernel`` of its name. ``stack`` closes them
    in reverse.

    Raises ``PluginError``: when a vital one fails; ``StartError``: when two provide one service or gauge.
    """
    contributions = []
    for one in installed:
        given = kernel(one.declared.name)
        try:
            if one.declared.migrations is not None:
                migrate(given.need(Database), one.declared.migrations, f"{one.declared.name}_")
            contributions.append(await stack.enter_async_context(one.declared.open(given)))
        except Exception as error:
            if one.declared.vital and isinstance(error, StartError):
                raise
            if one.declared.vital:
                raise one.source.error(f"could not be opened: {described(error)}") from error
            log.error("%s could not be opened, so its operations answer 503: %s", one.source, described(error))
            contributions.append(Contribution(handlers=(_unavailable(one),)))
        given.services.update(contributions[-1].services)
        given.gauges.extend(contributions[-1].gauges)
    joined(contributions, "services")
    gauges = Counter(gauge.name for each in contributions for gauge in each.gauges)
    if twice := sorted(name for name, count in gauges.items() if count > 1):
        raise StartError(f"Two parts of the service have the gauges {twice}.")
    return contributions


def joined(contributions: Sequence[Contribution], member: str) -> dict[Any, Any]:
    """Return a member of all contributions as one mapping. Raises ``StartError``: when two have the same path, name or type."""
    found: dict[Any, Any] = {}
    for each in contributions:
        places: Mapping[Any, Any] = getattr(each, member)
        if twice := found.keys() & places.keys():
            raise StartError(f"Two parts of the service have the {member} {sorted(map(str, twice))}.")
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
