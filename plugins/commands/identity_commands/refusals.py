"""Refusals that name the command's own options."""

from __future__ import annotations

import click

BY_DOCUMENT = "compare the request with the operation in `/openapi.json`"
# What commands call otherwise than the requests that they send.
_OPTIONS = {
    "autonomyLevel": "--level",
    "send anchor: false": "leave --anchor out",
    "Send anchor: false": "Leave --anchor out",
    "send confirm: true": "pass --yes",
    "Send `confirm: true`": "Pass --yes",
    "listDidHistory": "`identity did history`",
    "listCredentials": "`identity credential list`",
    "listCredentialSchemas": "`identity credential schema list`",
    "listDelegations": "`identity delegation list`",
    "resumeDelegation": "`identity delegation resume`",
    "createDid": "`identity did create`",
    "resolveDid": "`identity did resolve`",
    "getDidLog": "`identity did log get`",
    "`X-API-Key`": "IDENTITY_API_KEY or --api-key FILE",
}


def as_options(text: str) -> str:
    """Return ``text`` with this command's options instead of the members of a request that they fill."""
    context = click.get_current_context(silent=True)
    options = {} if context is None else {one.name: one.opts[0] for one in context.command.params if one.name}
    members = {name: option for name, option in options.items() if not name.islower()}
    command = "identity" if context is None else context.command_path
    for member, option in {**members, **_OPTIONS, BY_DOCUMENT: f"see `{command} --help`"}.items():
        text = text.replace(member, option)
    return text
