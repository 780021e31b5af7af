"""A PKCS#11 library in this process: loaded once, initialised once, entered by one thread at a time.

PKCS#11 2.40 §5.4: one ``C_Initialize`` a process, no matter who uses the library in it; §6.6.1: what was open before ``fork``
is worth nothing after it. One lock for all calls, because SoftHSM under python-pkcs11 fails with several sessions at
once, up to a crash of the process.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Any

import pkcs11

_loaded: dict[Path, Module] = {}
_loading = threading.Lock()


class TokenAway(Exception):
    """The token or its library cannot be used; the text has the reason and the remedy."""


class Module:
    """One library. ``generation`` counts its starts: what was opened in an earlier one is closed."""

    def __init__(self, path: Path, library: Any) -> None:
        self.path = path
        self.lock = threading.Lock()
        self.generation = 0
        self._library = library
        self._process = os.getpid()

    def tokens(self, label: str) -> list[pkcs11.Token]:
        """Return the tokens with this label. A slot that cannot be read has none."""
        found = []
        for slot in self._library.get_slots(token_present=True):
            try:
                token = slot.get_token()
            except pkcs11.PKCS11Error:
                # One that was just taken out: it must not hide those that are there.
                continue
            if token.label == label:
                found.append(token)
        return found

    def restart(self) -> None:
        """``C_Finalize`` and ``C_Initialize``: closes every session of the process, and sees tokens that came later."""
        self.generation += 1
        # It may not be initialised, or its token is gone: what counts is whether the next line succeeds.
        with contextlib.suppress(pkcs11.PKCS11Error):
            self._library.finalize()
        self._library.initialize()

    def check_process(self) -> None:
        """Raise ``TokenAway`` in a child that was forked from the process that loaded the library."""
        if os.getpid() != self._process:
            raise TokenAway(f"{self.path} was loaded before a fork; a process opens its own token")


def loaded(path: Path) -> Module:
    """Return the library in the file ``path``, the same object for everybody in the process. Raises ``TokenAway``."""
    path = path.absolute()
    with _loading:
        if path not in _loaded:
            if not path.is_file():
                raise TokenAway(f"there is no PKCS#11 library {path}; correct plugins.pkcs11.module")
            try:
                library = pkcs11.lib(str(path))
            except pkcs11.PKCS11Error as error:
                reason = (str(error) or type(error).__name__).removeprefix(
                    f"OS exception while loading {path}: {path}: "
                )
                raise TokenAway(f"{path} cannot be used as a PKCS#11 library: {reason}") from error
            _loaded[path] = Module(path, library)
        return _loaded[path]
