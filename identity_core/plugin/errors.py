"""Why a plugin cannot be used, in one line that names the plugin, its distribution and version."""

from __future__ import annotations

from identity_core.settings import StartError


class PluginError(StartError):
    """A plugin that the start-up cannot go on with. ``build`` raises it with a reason for the operator, such as a wrong
    passphrase; the manager adds whose it is."""


class NotConfigured(PluginError):
    """A plugin that is installed and waits for settings that nobody can guess. Unless something chosen needs it, that is no fault:
    it is listed with what to set."""
