"""Numbers that the parts of the service are measured by, and the port of the extension that shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from identity_codec.values import value_class

Mode = Literal["counter", "livesum", "livemax", "livemin"]


@value_class
class Gauge:
    """A number of a part of the service.

    ``name``: as Prometheus has it, without ``identity_``; that of a counter without ``_total``. ``mode``: ``counter`` for a number that
    only grows, else how the numbers of several server processes become one (``multiprocess_mode`` of prometheus-client). ``read``: returns
    the number, or with a ``label`` the number by its value. It is called before each scrape, must not raise and must not block.
    """

    name: str
    mode: Mode
    meaning: str
    read: Callable[[], float | Mapping[str, float]]
    label: str = ""


class RenderedMetrics(Protocol):
    """The metrics of all server processes. An extension may provide it as a service."""

    def render(self, dependencies: Mapping[str, str]) -> bytes:
        """Return the text format of Prometheus; ``dependencies`` is the state of each in a word."""
        ...


def render_metrics(find: Callable[[type[Any]], Any]) -> bytes:
    """Return the text of the service ``RenderedMetrics``, by the method ``find`` of a kernel; nothing where no part provides it."""
    found: RenderedMetrics | None = find(RenderedMetrics)
    return b"" if found is None else found.render({})
