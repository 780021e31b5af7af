"""The end of a command that fails: three lines, or one JSON object, for whatever comes out of it, and never a traceback.

With ``IDENTITY_LOG_LEVEL=debug`` an unexpected exception shows its traceback as well.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import click

from identity_core.cli.output import JSON_ERRORS, fail, fail_start, shown

INTERRUPTED = 130
# Called without a command, a group shows its help; click has a class for that since 8.2.
_NO_ARGUMENTS: tuple[type[Exception], ...] = tuple(filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)]))

# What a service writes in place of what it does not repeat.
_HIDDEN = "(not shown)"
_BY_MESSAGE = {
    "RFC 3339": "write a time with its zone, as 2026-01-31T12:00:00Z",
    "no such version": "take one that `identity did history` lists",
    "has no such key": "take the id of a key that `identity did resolve` shows",
    "not an absolute URI": "write it with its scheme, as https://hana.example/profile or did:web:hana.example",
}
_FORMS = {"INVALID_DID": "write the whole DID, as did:METHOD:NAME: `identity did create` prints one"}


@contextlib.contextmanager
def reported(words: Sequence[str] = ()) -> Iterator[None]:
    """Ends the program with three lines for whatever comes out of it; as JSON where ``words``, those of the command line, say so."""
    # Read here: a command line that is wrong is told before any option is parsed.
    options = words[: words.index("--")] if "--" in words else words
    asked = JSON_ERRORS.set("--json" in options)
    try:
        _require_streams()
        yield
    except click.ClickException as error:
        _misused(error)
    except click.Abort:
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:  # noqa: BLE001  (the edge)
        _failed(error)
    finally:
        JSON_ERRORS.reset(asked)


def _require_streams() -> None:
    """Put /dev/null in place of a closed standard input or error, so that no file gets its descriptor; end the program where nothing that
    it prints would arrive."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  (until the program ends)
    if sys.stdout is None:
        fail("standard output is closed", "standard output", "redirect it to a file, or to /dev/null", status=2)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _failed(error: Exception) -> NoReturn:
    # Imported here, because help has no use for them.
    from identity_core.database import DatabaseError
    from identity_core.errors import IdentityError
    from identity_core.settings import StartError

    match error:
        case StartError():
            fail_start(error, "start-up")
        case DatabaseError():
            fail(f"the database cannot be used: {error.reason}", "the database", "see `identity doctor`")
        case IdentityError():
            then = remedy(error.code, error.status, str(error), error.details)
            fail(f"{error.code}: {error}", given(error.details) or "the options", then)
        case UnicodeEncodeError(reason="surrogates not allowed"):
            fail("an argument, or a text that was read, is not UTF-8", "the options", "write it in UTF-8", status=2)
        case OSError():
            where = str(error.filename) if error.filename else "the operating system"
            fail(error.strerror or str(error), where, "check that the place exists and that you may use it")
    _unexpected(error)


def _misused(error: click.ClickException) -> NoReturn:
    if isinstance(error, _NO_ARGUMENTS):
        error.show()
        raise SystemExit(2)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "identity"
    what, then = error.format_message(), f"see `{command} --help`"
    if command == "identity" and what.startswith("No such command"):
        then += "; commands of extensions are installed with `pip install identity-service`"
    fail(what, command, then, status=2)


def _unexpected(error: Exception) -> NoReturn:
    if os.environ.get("IDENTITY_LOG_LEVEL") == "debug":
        traceback.print_exception(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename}:{frame.lineno} {frame.name}"
    fail(f"unexpected {type(error).__name__}: {error}", where, "report this; IDENTITY_LOG_LEVEL=debug shows more")


def remedy(code: str, status: int, message: str, details: Mapping[str, Any]) -> str:
    """Return one line on what may help after a refusal; it repeats nothing of ``details``, which ``given`` shows."""
    for part, line in _BY_MESSAGE.items():
        if part in message:
            return line
    hints = {
        "AUTH_REQUIRED": "give a credential: IDENTITY_API_KEY or --api-key FILE, or --keys for an operation on a DID",
        "AUTH_FAILED": "check that the key is a current one of this DID, or that the API key is not revoked",
        "DID_NOT_FOUND": "check the DID and --url: a service knows its own DIDs, of methods that it has (`identity plugins list`);"
        " `identity did create` makes one",
        "CREDENTIAL_NOT_FOUND": "check the id, and that you hold or issued the credential: `identity credential list`",
        "DELEGATION_NOT_FOUND": "check the id, and that you are a party of it: `identity delegation list`",
        "SCHEMA_NOT_FOUND": "check the id: `identity credential schema list`",
        "RATE_LIMITED": f"wait {details.get('retryAfter', 1)} s and send it again",
        "IBCT_REPLAYED": "ask the holder for another token: each serves one request",
        "IBCT_EXPIRED": "ask the holder for another token",
        "DELEGATION_SUSPENDED": "ask the holder: `identity delegation resume`",
        "PROOF_NOT_FOUND": "check the id, and that you are the proof's holder or agent",
        "DID_DEACTIVATED": "nothing: a deactivation is final; its log stays readable: `identity did log get`",
    }
    return hints.get(code) or _details(details) or _FORMS.get(code, "") or _usual(status)


def given(details: Mapping[str, Any]) -> str:
    """What was refused, name by name, where no remedy is made of it. What the service hides is left out."""
    if _details(details):
        return ""
    shown_too = {name: value for name, value in details.items() if value != _HIDDEN}
    return "; ".join(f"{name}: {_listed(value)}" for name, value in shown_too.items())


def _details(details: Mapping[str, Any]) -> str:
    """What the service says that may help, in words: remedies, else what it takes instead, else the places of a body that are wrong."""
    match details:
        case {"supported": [*known], **given}:
            instead = f" instead of {'; '.join(map(_listed, given.values()))}" if given else ""
            return f"choose from {_listed(known)}{instead}" if known else f"nothing is there to take{instead}"
        case {"remedy": str() as one}:
            return one
        case {"parameter": "cursor"}:
            return "give `nextCursor` of the page before, with the same options as then"
        case {"remedies": [*remedies]}:
            return "; or ".join(map(shown, remedies))
        case {"errors": [*errors]}:
            return "; ".join(
                " ".join(map(shown, one.values())) if isinstance(one, dict) else shown(one) for one in errors
            )
    return ""


def _listed(value: Any) -> str:
    return ", ".join(map(shown, value)) if isinstance(value, list) else shown(value)


def _usual(status: int) -> str:
    """Where the service says no more than its message."""
    if status >= 500:
        return "try again later; if it stays so, its log has the request"
    if status == 403:
        return "ask as somebody who may: the holder, the issuer, or another API key"
    if status == 409:
        return "look at what is there now, then decide"
    context = click.get_current_context(silent=True)
    return f"see `{context.command_path if context is not None else 'identity'} --help`"
