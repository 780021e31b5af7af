"""Remedies after a refusal, in the words of the command's own options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from identity_core.cli.output import shown
from identity_core.errors import IdentityError

# What a service writes in place of what it does not repeat.
_HIDDEN = "(not shown)"
_BY_MESSAGE = {
    "RFC 3339": "write a time with its zone, as 2026-01-31T12:00:00Z",
    "no such version": "take one that `identity did history` lists",
    "has no such key": "take the id of a key that `identity did resolve` shows",
    "not an absolute URI": "write it with its scheme, as https://hana.example/profile or did:web:hana.example",
}
_FORMS = {"INVALID_DID": "write the whole DID, as did:METHOD:NAME: `identity did create` prints one"}
# What commands call otherwise than the members of the requests that they send.
_OPTIONS = {"autonomyLevel": "--level", "send anchor: false": "leave --anchor out"}


def explained(error: IdentityError) -> tuple[str, str]:
    """Return the place and the remedy of a refusal in this process."""
    return given(error.details) or "the options", remedy(error.code, error.status, str(error), error.details)


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
    """Return what was refused, name by name, where no remedy is made of it. What the service hides is left out."""
    if _details(details):
        return ""
    shown_too = {name: value for name, value in details.items() if value != _HIDDEN}
    return "; ".join(f"{name}: {_listed(value)}" for name, value in shown_too.items())


def _details(details: Mapping[str, Any]) -> str:
    """Return what the service says that may help, in words: remedies, else what it takes instead, else the places of a body that are
    wrong."""
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
    """Return the remedy where the service returns no more than its message."""
    if status >= 500:
        return "try again later; if it stays so, its log has the request"
    if status == 403:
        return "ask as somebody who may: the holder, the issuer, or another API key"
    if status == 409:
        return "look at what is there now, then decide"
    context = click.get_current_context(silent=True)
    return f"see `{context.command_path if context is not None else 'identity'} --help`"


def as_options(text: str) -> str:
    """``text`` with the options of this command in place of the members of a request that they fill."""
    context = click.get_current_context(silent=True)
    options = {} if context is None else {one.name: one.opts[0] for one in context.command.params if one.name}
    members = {name: option for name, option in options.items() if not name.islower()}
    for member, option in {**members, **_OPTIONS}.items():
        text = text.replace(member, option)
    return text
