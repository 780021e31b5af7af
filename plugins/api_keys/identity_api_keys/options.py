"""Options of the commands of API keys."""

from __future__ import annotations

from typing import TypeVar

import click
from identity_commands.options import NONE

from identity_codec.structs import UNSET, UnsetType
from identity_core.domain.callers import KNOWN, require_known
from identity_core.errors import InvalidRequest

T = TypeVar("T")


def comma_separated(_: click.Context, __: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """Return the parts between commas."""
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def or_null(value: T | None) -> T | UnsetType | None:
    """Return the value of an option as a member of a request: missing, or null for ``none``."""
    return UNSET if value is None else None if value in (NONE, (NONE,)) else value


def known_scopes(context: click.Context, option: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """Return the known scopes between commas."""
    scopes = comma_separated(context, option, text)
    try:
        require_known(scopes or ())
    except InvalidRequest as error:
        raise click.BadParameter(f"{error} Choose of {', '.join(sorted(KNOWN))}.") from error
    return scopes
