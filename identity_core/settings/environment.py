"""Environment variables: which are settings, which stand for a file, and which only look like settings."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from identity_core.settings.errors import Origin, SettingsError
from identity_core.settings.fields import Given

PREFIX = "IDENTITY_"

# Variables with the prefix that are no settings: the settings file itself, what the command line reads as a client, and what the
# project's tests read.
_NOT_SETTINGS = re.compile("IDENTITY_(?:CONFIG|URL|ORIGIN|API_KEY|KEYS|TOKEN|LEDGER_KEY|VECTORS|ROUNDS|TEST_.*)")

# Kubernetes and Docker links put these into every container beside a service that is called "identity" or "identity-…".
_SERVICE_LINK = re.compile(
    "IDENTITY_(?:[A-Z0-9_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)"
)


def candidates(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that must be settings. An empty one counts as unset, as container files often leave them."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(PREFIX)
        and value
        and _NOT_SETTINGS.fullmatch(name) is None
        and not _is_service_link(name, value)
    }


def _is_service_link(name: str, value: str) -> bool:
    if name.endswith("_PORT") and re.match("(?:tcp|udp|sctp)://", value):
        return True
    return _SERVICE_LINK.fullmatch(name) is not None


def value_of(environment: Mapping[str, str], name: str) -> Given | None:
    """The value of the variable ``name``, or of the file that ``name_FILE`` names; None when neither is set.

    Raises ``SettingsError`` when both are set or the file cannot be read. One newline at the file's end is cut off.
    """
    text, path = environment.get(name) or None, environment.get(f"{name}_FILE") or None
    if path is None:
        return None if text is None else Given(text, Origin("environment", name), is_text=True)
    if text is not None:
        raise SettingsError(
            f"{name} and {name}_FILE are both set.", f"environment {name}, {name}_FILE", "Unset one of them."
        )
    try:
        content = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingsError(
            f"The file that {name}_FILE names cannot be read: {reason}.",
            f"environment {name}_FILE, file {path}",
            "Name a readable file that holds the value and nothing else.",
        ) from error
    return Given(content.removesuffix("\n").removesuffix("\r"), Origin("environment", f"{name}_FILE"), is_text=True)


_INHERITED: Final = (
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "LD_LIBRARY_PATH",
    "PYTHONHOME",
    "PYTHONUTF8",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPYCACHEPREFIX",
)
"""What an interpreter and its libraries look at before anything else runs. None of it holds a secret."""


def handed_on(named: Sequence[str]) -> dict[str, str]:
    """The environment of a prover's process: nothing of the server's but what every program needs, and the variables ``named``."""
    return {name: os.environ[name] for name in (*_INHERITED, *named) if name in os.environ}


def may_be_handed_on(variable: str) -> None:
    """Raises ``ValueError`` for what is no name, and for the service's own variables, which hold its secrets."""
    if re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,127}", variable) is None:
        raise ValueError("it is not the name of a variable")
    if variable == "API_KEY" or (variable.startswith("IDENTITY_") and not variable.startswith("IDENTITY_TEST_")):
        raise ValueError("it is the service's own; what a prover needs stands in its own table")
