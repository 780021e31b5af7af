"""The state of the installation that no operation returns, for the extensions that show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from identity_core.plugin.choose import InstalledPlugin
from identity_core.ports.panel import OperatorPanel
from identity_core.settings import ShownSetting
from identity_core.values import value_class


@value_class
class InstallationState:
    """Functions that return the state now, and the panels of plugins by name.

    ``reasons``: name of a dependency of ``/ready`` to the reason why it is unhealthy, for those whose job has found one. ``witnesses``:
    name of a witness to the reason why it does not cosign, empty if it does, and the size of the log that it cosigned last.
    """

    plugins: Callable[[], Sequence[InstalledPlugin]]
    settings: Callable[[], Sequence[ShownSetting]]
    reasons: Callable[[], Mapping[str, str]]
    witnesses: Callable[[], Mapping[str, tuple[str, int]]]
    panels: Mapping[str, OperatorPanel]
