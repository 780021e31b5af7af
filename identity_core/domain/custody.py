"""Refusals of the custodian port."""

from __future__ import annotations

from identity_core.errors import IdentityError


class KeyNotHeld(IdentityError):
    """The custodian holds no key under this name."""

    message = "The custodian holds no such key."


class KeyNameTaken(IdentityError):
    """Another key lives under this name."""

    message = "The custodian holds another key under this name."


class KeyRefused(IdentityError):
    """The custodian does not hold keys of this type, or the secret or the name is not one that it can take."""

    message = "The custodian does not take this key."
