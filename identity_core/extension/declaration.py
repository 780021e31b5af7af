"""The declaration of an extension: the result of the hook ``identity_extend``, the resources of an extension, and the
parts that it adds.

It includes the checks of an installation while no service is open.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar

from msgspec import Struct

from identity_core.errors import IdentityError
from identity_core.plugin.border import Tracing
from identity_core.plugin.isolation import Isolation
from identity_core.ports.activity import EventSink
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import SpentChallenges
from identity_core.ports.retention import RetentionRule
from identity_core.ports.securing import SecuringFormat
from identity_core.settings import Settings, StartError
from identity_core.store import Store
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.service import Probe
from identity_core.use_cases.transparency import RollbackGuard

if TYPE_CHECKING:
    # The library of rate limits takes longer to import than most commands.
    from identity_core.throttle.memory import TokenBucketStorage

SHOWN: Final = 5


class Diagnosis(Struct, frozen=True):
    """The result of one check. ``remedy``: the next step for the operator, after ``warn`` and ``fail``."""

    state: Literal["ok", "not checked", "warn", "fail"]
    says: str
    remedy: str = ""


ok = functools.partial(Diagnosis, "ok")
unchecked = functools.partial(Diagnosis, "not checked")
warn = functools.partial(Diagnosis, "warn")
wrong = functools.partial(Diagnosis, "fail")


def stopped(error: StartError, remedy: str) -> Diagnosis:
    """Return the diagnosis of an error that stops every start. ``remedy`` is used if the error has none."""
    says = f"{error.what} It is in: {error.where}" if error.where else error.what
    return wrong(" ".join(says.split()), error.fix or remedy)


def listed(found: Sequence[str]) -> str:
    """Return the first items in one line, and the number of the others."""
    return "; ".join(found[:SHOWN]) + (f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else "")


class InstallationCheck(Struct, frozen=True):
    """A check of ``identity doctor``.

    ``run``: yields the diagnoses of the installation that the settings name, and changes nothing. A ``StartError``
    that it raises is a diagnosis. ``remedy``: used if such an error has none.
    """

    name: str
    run: Callable[[Settings], Iterable[Diagnosis]]
    remedy: str = ""


class RowRule(Struct, frozen=True):
    """A rule of ``identity fsck``.

    ``rows``: SQL of both dialects that selects the names of the rows that break the rule. ``says``: the fault of each
    such row.
    ``remedy``: for a ``kind`` for which the check has no remedy.
    """

    kind: str
    rows: str
    says: str
    remedy: str = ""


Mode = Literal["counter", "livesum", "livemax", "livemin"]


class Gauge(Struct, frozen=True):
    """A number that metrics report of a part of the service.

    ``name``: the Prometheus name, without ``identity_``; that of a counter without ``_total``.
    ``mode``: ``counter`` for a number that only grows; else the way to combine the numbers of several server
    processes (``multiprocess_mode`` of prometheus-client).
    ``read``: returns the number, or with a ``label`` the number by its value. It is called before each scrape, must
    not raise and must not block.
    """

    name: str
    mode: Mode
    meaning: str
    read: Callable[[], float | Mapping[str, float]]
    label: str = ""


class RenderedMetrics(Protocol):
    """The metrics of all server processes. An extension may provide it as a service."""

    def render(self, dependencies: Mapping[str, str]) -> bytes:
        """Return the text format of Prometheus. ``dependencies``: the state of each dependency in one word."""


S = TypeVar("S")


class TokenGrants(dict[str, Any]):
    """The grants of the token endpoint by ``grant_type``, besides the grant for clients. It is complete once all
    extensions are open."""


class TokenResources(tuple[str, ...]):
    """The paths outside the document that have separate access tokens (RFC 8707)."""


class PeoplePages(Protocol):
    """The pages for people. Without the extension that provides them, a holder cannot decide anything on a page."""

    def page(self, template: str, request: Any, *, status: int = 200, **values: Any) -> Any:
        """Return the answer with a page in the language of the request."""

    def explained(self, handler: Any) -> Any:
        """Return ``handler``, whose refusals are pages."""


class Contribution(Struct, frozen=True, kw_only=True):
    """The parts of an open extension.

    ``handlers``: objects whose public coroutine methods are named after the operationIds of its document in snake
    case.
    ``pages``: by path outside the document, answer GET without authentication. ``people``: the same with the
    signed-in user.
    ``forms``: take a POST of a page. ``endpoints``: take a POST of a program.
    ``error_shapes``: make refusals in the form of another standard, by the name of their schema (``x-error-schema``).
    ``grants``: the grants of the token endpoint by ``grant_type``.
    ``services``: by their type, for ``Kernel.need`` of extensions that are opened later. A service replaces the
    kernel's default of its type.
    ``events``: writes rows of events in the transaction of their changes; it is vital if the extension is.
    ``gauges``: the numbers that metrics report. ``observers``: called with each answered request and its duration in
    seconds; must not raise.
    ``probes``: dependencies of ``/ready`` by name. Each function returns the state in one word: ``ok``, ``degraded``
    if requests are still served, else another.
    """

    handlers: tuple[object, ...] = ()
    pages: Mapping[str, Any] = {}
    people: Mapping[str, Any] = {}
    forms: Mapping[str, Any] = {}
    endpoints: Mapping[str, Any] = {}
    error_shapes: Mapping[str, Any] = {}
    grants: Mapping[str, Any] = {}
    services: Mapping[type[Any], Any] = {}
    events: EventSink | None = None
    gauges: tuple[Gauge, ...] = ()
    observers: tuple[Callable[[Any, float], None], ...] = ()
    probes: Mapping[str, Probe] = {}


class Kernel(Protocol):
    """All resources that an extension gets from the service."""

    @property
    def settings(self) -> Settings: ...

    @property
    def origin(self) -> str:
        """Return the scheme, host and port of the setting ``public_url``."""

    @property
    def operations(self) -> Mapping[str, Any]:
        """Return the callable of each operation by operationId. A call makes the operation's own authorization. The
        mapping is empty until the application is built."""

    @property
    def gauges(self) -> Sequence[Gauge]:
        """Return the gauges of all parts; complete once the application is built."""

    @property
    def retention(self) -> Sequence[RetentionRule]:
        """Return the retention rules of all active parts."""

    @property
    def refusal(self) -> Callable[[], IdentityError | None]:
        """Return the function that returns why changes are refused now, or None."""

    @property
    def clock(self) -> Clock: ...

    @property
    def dids(self) -> DidReader: ...

    @property
    def challenges(self) -> SpentChallenges: ...

    def random(self, count: int) -> bytes:
        """Return ``count`` random bytes of the operating system."""

    def secret(self, label: str) -> bytes:
        """Return 32 secret bytes for this extension only, which are the same in all processes of the installation."""

    def formats(self, *, anonymous: bool) -> Mapping[str, SecuringFormat]:
        """Return the installed formats of secured credentials by name. Unauthenticated callers have separate
        processes."""

    def issuing_formats(self) -> Mapping[str, SecuringFormat]:
        """Return the formats in this process, where an ``IssuingFormat`` can issue."""

    def find(self, service: type[S]) -> S | None:
        """Return the service of this type; None while no open part provides it."""

    def need(self, service: type[S]) -> S:
        """Return the service of this type. Raises ``StartError``: when no installed distribution provides it."""


class Extension(Struct, frozen=True, kw_only=True):
    """An extension as its distribution declares it.

    ``name``: of the form ``[a-z][a-z0-9_]*``. ``kernel``: the supported versions, such as ``>=1.1,<2`` (PEP 440).
    ``requires``: names of extensions that are opened before it. ``after``: the same for optional ones.
    ``document``: its part of the OpenAPI document, as JSON.
    ``tracing``: makes the spans; called before anything is opened, if the setting ``tracing.endpoint`` is set.
    ``open``: entered at startup and left at shutdown. If ``open`` fails, that is logged and its operations answer
    503.
    ``vital``: a failing ``open`` stops the startup instead. ``default``: if False, the extension is off until the
    settings enable it.
    ``early``: it is opened before the handlers of the kernel are built, which use its services.
    ``guard``: called before anything is opened; compares the databases with what was written.
    ``isolation``: entered before anything is opened; runs provers in processes. Without it they run on threads.
    ``buckets``: returns the buckets of rate limits by the settings and the monotonic clock. Without it each process has
    its own.
    ``migrations``: the package of the numbered SQL files of its tables. New files run before ``open``; the tables
    begin with ``<name>_``.
    ``adopts``: its tables that a step of the kernel made.
    ``sinks``: makes the sinks of its events over an open store, for a service and for a command beside one. They are
    vital if the extension is. The second argument is whether the store had no records before.
    ``retention``: the retention rules of its tables with records about people.
    ``checks`` and ``rows``: its checks of an installation while no service is open, for ``identity doctor`` and
    ``identity fsck``.
    ``resources``: paths outside its document that have separate access tokens, each with the setting that serves it.
    Such a setting turns the extension on as well, so an upgrade keeps it on by the setting alone.
    ``paths``: its other public paths outside the document, which answer 404 with the remedy while it is off.
    """

    name: str
    kernel: str
    open: Callable[[Kernel], AbstractAsyncContextManager[Contribution]]
    requires: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    document: bytes | None = None
    tracing: Callable[[Settings], Tracing] | None = None
    vital: bool = False
    default: bool = True
    early: bool = False
    guard: Callable[[Settings], RollbackGuard] | None = None
    isolation: Callable[[], AbstractContextManager[Isolation]] | None = None
    buckets: Callable[[Settings, Callable[[], float]], Awaitable[TokenBucketStorage]] | None = None
    migrations: str | None = None
    adopts: tuple[str, ...] = ()
    sinks: Callable[[Store, bool], Sequence[EventSink]] = lambda _store, _is_new: ()
    retention: tuple[RetentionRule, ...] = ()
    checks: tuple[InstallationCheck, ...] = ()
    rows: tuple[RowRule, ...] = ()
    resources: Mapping[str, str] = {}
    paths: tuple[str, ...] = ()
