"""What a key may do and for whom, as the options of ``identity keys`` say it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from identity_core.cli.output import fail
from identity_core.domain.scopes import KNOWN, require_known, require_targets
from identity_core.errors import IdentityError, InvalidRequest


def listed(text: str) -> frozenset[str]:
    """The parts between commas."""
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def scopes_of(text: str, where: str) -> frozenset[str]:
    """The scopes of ``--scopes``. Ends the command for one that is none."""
    scopes = listed(text)
    try:
        require_known(scopes)
    except InvalidRequest as error:
        fail(str(error), where, f"choose of {', '.join(sorted(KNOWN))}", status=2)
    return scopes


def check_targets(scopes: frozenset[str] | None, targets: Sequence[str], *, any_target: bool) -> None:
    """Ends the command where a new key may act for DIDs and nothing says for which."""
    where = "identity keys create"
    if any_target and targets:
        fail("--any-target and --allowed-target exclude each other", where, "say one of them", status=2)
    try:
        require_targets(scopes, said=bool(targets) or any_target)
    except InvalidRequest:
        remedy = "--allowed-target with each DID, or --any-target for every one"
        fail("a key that acts for DIDs says for which", where, remedy, status=2)


def remedy_for(error: IdentityError) -> str:
    """What to do about a refusal of ``identity keys``."""
    if isinstance(error, InvalidRequest) and error.details.get("field") == "allowedTargets":
        return "add --allowed-targets with the DIDs, or with none for every DID"
    return "see `identity keys list` for the ids"


def positive(kind: type[float]) -> Callable[[str], float]:
    """Reads a number above nothing. Raises ``ValueError``."""

    def read(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = kind(0)
        if not 0 < number <= 1_000_000:
            raise ValueError(f"{text!r} is no number from 0 to 1000000")
        return number

    return read
