"""``identity login``: store a service and its credential for later commands."""

from __future__ import annotations

import sys
from urllib.parse import urlsplit

import click

from identity_client import ServiceError, Session
from identity_commands.profiles import DEFAULT_URL, KINDS, Profile, changed_profiles, profiles_file, require_name
from identity_commands.remote import session
from identity_commands.secret_input import secret_option, typed_or_piped
from identity_core.cli.output import Command, fail, misused, show

UNKNOWN = 401


@click.command(name="login", cls=Command)
@click.argument("name", required=False, callback=require_name)
@click.option("--url", envvar="IDENTITY_URL", default=DEFAULT_URL, help="URL of the service.")
@secret_option("--api-key", "IDENTITY_API_KEY", what="API key")
@secret_option("--token", "IDENTITY_TOKEN", what="access token")
@click.option("--anonymous", is_flag=True, help="Store the URL alone. This is enough if you sign with a keys file.")
def command(name: str | None, url: str, api_key: str | None, token: str | None, anonymous: bool) -> None:
    """Store the URL of a service and a credential as the profile NAME (default: the host of the URL), and use it.

    The credential is tried first. On a terminal it is prompted for if no option gives it. It is stored in a file
    that only you can read, and sent to this URL alone.

    Order of precedence: --url, --profile, the environment (IDENTITY_URL, IDENTITY_API_KEY), the current profile.
    """
    if urlsplit(url).username or urlsplit(url).password:
        misused("an address holds no password", "give the URL without it, and the credential by --api-key or --token")
    if (api_key is not None) + (token is not None) + anonymous > 1:
        misused("--api-key, --token and --anonymous exclude each other", "give one of them")
    if not anonymous and api_key is None and token is None:
        if not sys.stdin.isatty():
            misused(
                "there is no credential", "give --api-key FILE or --token FILE, - for standard input, or --anonymous"
            )
        api_key = typed_or_piped("API key")
    with session(url, api_key, token=token) as opened:
        _try(opened, url, is_signed_in=not anonymous)
    kind = "api_key" if api_key is not None else "token" if token is not None else None
    profile = Profile(url.rstrip("/"), kind, api_key or token)
    called = name or urlsplit(url).netloc
    with changed_profiles() as kept:
        kept.profiles[called] = profile
        kept.use = called
    show(
        {"profile": called, "url": profile.url, "credential": kind, "path": str(profiles_file())},
        text=lambda body: f"{called} is in use: {profile.url}, with {KINDS[kind]}\nkept in {body['path']}",
    )


def _try(service: Session, url: str, *, is_signed_in: bool) -> None:
    """End the command if there is no answer, or if the credential is unknown. A credential with other rights is accepted."""
    try:
        service.call("GET", "/dids" if is_signed_in else "/health", query={"limit": 1} if is_signed_in else {})
    except ServiceError as error:
        if not is_signed_in or error.status == UNKNOWN:
            fail(f"{error.code}: {error.message}", url, "give a credential that this service knows; nothing was kept")
        if error.status != 403:
            raise
