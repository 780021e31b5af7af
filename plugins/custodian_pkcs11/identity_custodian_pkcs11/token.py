"""One token and the one session on it, which comes back by itself.

A job that meets a lost session is done once more on a new one: every job of the custodian may be repeated, as Ed25519 is
deterministic and keys are made under a lock. A PIN that the token refused is never tried again, since tokens count wrong
ones and lock themselves.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Final, TypeVar

import pkcs11
from msgspec import Struct, field

from identity_core.cache import BoundedCache
from identity_core.errors import PluginUnavailable
from identity_core.ports.clock import Clock
from identity_custodian_pkcs11.keys import TokenKey
from identity_custodian_pkcs11.module import Module, TokenAway

T = TypeVar("T")

# How long a token that is away is left alone: each try closes and opens the whole library.
RETRY_SECONDS: Final = 1.0

_PIN_REFUSED: Final = {
    pkcs11.PinIncorrect: "the PIN is wrong; correct plugins.pkcs11.pin before the token locks itself",
    pkcs11.PinLenRange: "the PIN has a length that the token does not take; correct plugins.pkcs11.pin",
    pkcs11.PinInvalid: "the PIN has characters that the token does not take; correct plugins.pkcs11.pin",
    pkcs11.PinLocked: "the PIN is locked after wrong tries; the token's security officer has to set it anew",
    pkcs11.PinExpired: "the PIN has expired; set a new one on the token",
}
# What says something about the session or the device, and nothing about the call.
_LOST: Final = (
    pkcs11.SessionHandleInvalid,
    pkcs11.SessionClosed,
    pkcs11.UserNotLoggedIn,
    pkcs11.DeviceError,
    pkcs11.DeviceRemoved,
    pkcs11.TokenNotPresent,
    pkcs11.TokenNotRecognised,
    pkcs11.SlotIDInvalid,
    pkcs11.GeneralError,
    pkcs11.FunctionFailed,
    pkcs11.FunctionCancelled,
    pkcs11.OperationActive,
    pkcs11.OperationNotInitialized,
    pkcs11.ObjectHandleInvalid,
    pkcs11.KeyHandleInvalid,
)

MOST_IN_MEMORY = 4_096


class Connection(Struct, frozen=True):
    """An open session, logged in, and the keys that were looked up in it: their handles end with it."""

    session: pkcs11.Session
    generation: int
    keys: BoundedCache[str, TokenKey] = field(default_factory=lambda: BoundedCache(MOST_IN_MEMORY))

    def check(self) -> None:
        """Raise ``PKCS11Error`` when the token is gone or the session no longer logged in.

        Asked before every search: on a token that was taken out, and for a stranger, a search finds nothing and raises
        nothing, and that is no answer to whether a key exists. A logout ends the handles of private keys, so one valid
        handle proves that the session is logged in; a session without handles is new.
        """
        self.session.token.slot.get_token()
        for key in self.keys.values():
            key.check()
            break


class Token:
    """The token named ``label``. Any thread may call it; the library's lock lets in one at a time."""

    def __init__(self, module: Module, label: str, pin: str, *, clock: Clock, logger: logging.Logger) -> None:
        self._module = module
        self._label = label
        self._pin = pin
        self._clock = clock
        self._logger = logger
        self._connection: Connection | None = None
        self._refused: str | None = None
        self._away: tuple[float, str] | None = None
        self._said = False

    def __repr__(self) -> str:
        return f"Token({self._label!r})"

    def open(self) -> None:
        """Open the session. Raises ``TokenAway``."""
        with self._module.lock:
            self._connected()

    def run(self, job: Callable[[Connection], T]) -> T:
        """Return the result of ``job``. Raises ``PluginUnavailable`` when the token is away, and what else ``job``
        raises."""
        try:
            with self._module.lock:
                try:
                    return job(self._connected())
                except pkcs11.PKCS11Error as error:
                    if not _means_a_lost_session(error):
                        raise
                    self._logger.warning("the token %s: %s; connecting again", self._label, type(error).__name__)
                self._connection = None
                return job(self._reconnected())
        except TokenAway as error:
            if not self._said:
                self._said = True
                self._logger.error("%s", error)
            raise PluginUnavailable("The key token is not available.") from error
        except pkcs11.PKCS11Error as error:
            self._logger.error("the token %s refused a call: %s", self._label, type(error).__name__)
            raise PluginUnavailable("The key token does not do what it is asked.") from error

    def close(self) -> None:
        """Log out and close the session."""
        with self._module.lock:
            connection, self._connection = self._connection, None
            if connection is not None and connection.generation == self._module.generation:
                # A session that is lost already needs no closing.
                with contextlib.suppress(pkcs11.PKCS11Error):
                    connection.session.close()

    def _connected(self) -> Connection:
        self._module.check_process()
        connection = self._connection
        if connection is not None and connection.generation == self._module.generation:
            return connection
        if self._away is not None:
            return self._reconnected()
        try:
            self._connection = self._logged_in()
        except (TokenAway, pkcs11.PKCS11Error):
            # The library may list the tokens that were there when it started.
            return self._reconnected()
        return self._connection

    def _reconnected(self) -> Connection:
        now = self._clock.monotonic()
        if self._refused is not None:
            raise TokenAway(self._refused)
        if self._away is not None and now < self._away[0]:
            raise TokenAway(self._away[1])
        try:
            self._module.restart()
            self._connection = self._logged_in()
        except (TokenAway, pkcs11.PKCS11Error) as error:
            reason = str(error) or f"the token {self._label} cannot be opened: {type(error).__name__}"
            self._away = (self._clock.monotonic() + RETRY_SECONDS, reason)
            raise TokenAway(reason) from error
        if self._said:
            self._said = False
            self._logger.warning("the token %s is back", self._label)
        self._away = None
        return self._connection

    def _logged_in(self) -> Connection:
        if self._refused is not None:
            raise TokenAway(self._refused)
        found = self._module.tokens(self._label)
        if len(found) != 1:
            many = "two tokens have" if found else "no token has"
            raise TokenAway(f"{many} the label {self._label!r} in {self._module.path}; correct plugins.pkcs11.token")
        try:
            session = found[0].open(rw=True, user_pin=self._pin)
        except pkcs11.UserAlreadyLoggedIn:
            # A login counts for every session of the process; here another custodian on the same token had it first.
            session = found[0].open(rw=True)
        except pkcs11.UserPinNotInitialized as error:
            # It counts as no try, and SoftHSM says it of a token, too, that another process is writing to: so it is tried again.
            raise TokenAway(f"the token {self._label} has no user PIN yet; initialise it") from error
        except tuple(_PIN_REFUSED) as error:
            self._refused = f"the token {self._label}: {_PIN_REFUSED[type(error)]}"
            raise TokenAway(self._refused) from error
        return Connection(session, self._module.generation)


def _means_a_lost_session(error: pkcs11.PKCS11Error) -> bool:
    # CKR_CRYPTOKI_NOT_INITIALIZED has no class of its own.
    return isinstance(error, _LOST) or type(error) is pkcs11.PKCS11Error
