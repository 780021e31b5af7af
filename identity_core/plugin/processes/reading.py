"""What a worker answered, read as a stranger's request is."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from identity_core.codec import strict_json
from identity_core.plugin.border import Fault

T = TypeVar("T")


def read(octets: bytes, kind: type[T]) -> T:
    """The value in a message. Raises ``Fault``."""
    try:
        return msgspec.convert(strict_json.loads(octets), kind)
    except ValueError as error:
        raise something_else(error) from None


def something_else(error: Exception) -> Fault:
    """What is raised where it is not what the port promises."""
    return Fault(f"answered with something else ({type(error).__name__})")
