"""Profiles: the URL of a service and its credential, which `identity login` stores for later commands.

They are one file of JSON below ``XDG_CONFIG_HOME`` (``profiles_file``), readable for its owner alone: ``{use, profiles}``.
``profiles`` maps a name to ``{url, credential, secret}``; ``credential`` is ``api_key``, ``token`` or null. The secret of a profile
is sent to its own URL and to no other, and is never printed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource
from msgspec import Struct, field

from identity_codec.values import Hidden
from identity_commands.secret_input import read_private
from identity_core.cli.output import fail

DEFAULT_URL: Final = "http://127.0.0.1:8080"
KINDS: Final = {"api_key": "an API key", "token": "an access token", None: "no credential"}
_CHOSEN: Final = "identity.profile"
_NAME: Final = re.compile(r"[\w.:\[\]-]{1,255}", re.ASCII)


class Profile(Hidden, Struct, frozen=True):
    """A service at ``url``; ``credential`` is the kind of the ``secret``, one of ``KINDS``."""

    url: str
    credential: str | None = None
    secret: str | None = None


class Profiles(Struct):
    """All profiles by name, and the name of the one in ``use``."""

    use: str | None = None
    profiles: dict[str, Profile] = field(default_factory=dict)

    def find(self, name: str) -> Profile:
        """Return the profile of that name. An unknown one ends the command."""
        if name not in self.profiles:
            fail(f"there is no profile {name}", str(profiles_file()), "`identity use` lists them", status=2)
        return self.profiles[name]


def xdg_folder(name: str, default: Path) -> Path:
    """Return a folder of the XDG Base Directory Specification, which ignores relative paths."""
    named = Path(os.environ.get(name, ""))
    return named if named.is_absolute() else default


def profiles_file() -> Path:
    """Return the path of the file of profiles."""
    return xdg_folder("XDG_CONFIG_HOME", Path.home() / ".config") / "identity/profiles.json"


def read_profiles() -> Profiles:
    """Return the stored profiles; none without a file. A foreign file, or one that others can read, ends the command."""
    path = profiles_file()
    if not path.exists():
        return Profiles()
    try:
        value = json.loads(read_private(path, "file of profiles"))
        kept = Profiles(value["use"], {name: Profile(**one) for name, one in value["profiles"].items()})
        if any(one.credential not in KINDS or not isinstance(one.url, str) for one in kept.profiles.values()):
            raise TypeError("a member is of another type")
    except (ValueError, KeyError, TypeError, AttributeError):
        fail("the file of profiles cannot be read", str(path), "remove it, and log in again")
    return kept


@contextlib.contextmanager
def changed_profiles() -> Iterator[Profiles]:
    """Yield the stored profiles for changes. They are on disk at the end, unless an error is raised. Concurrent commands run one
    after the other."""
    from identity_core.database.files import FileLock
    from identity_core.files import durable_draft

    path = profiles_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.closing(FileLock(path.with_name(f".{path.name}.lock"))) as lock:
        lock.acquire()
        kept = read_profiles()
        yield kept
        members = ("url", "credential", "secret")
        of_each = {name: {one: getattr(profile, one) for one in members} for name, profile in kept.profiles.items()}
        data = json.dumps({"use": kept.use, "profiles": of_each}, indent=2).encode()
        with durable_draft(path, data + b"\n") as draft:
            draft.replace(path)


def require_name(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    """Require a name of one word on one line."""
    if name is not None and _NAME.fullmatch(name) is None:
        raise click.BadParameter("A name has letters, digits, and . : - _ alone.")
    return name


def _remember(context: click.Context, option: click.Parameter, name: str | None) -> None:
    """Note the profile of the command, and whether its own command line names it."""
    if name and not context.resilient_parsing:
        typed = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
        context.meta[_CHOSEN] = (name, read_profiles().find(name), typed)


profile_option = click.option(
    "--profile",
    metavar="NAME",
    envvar="IDENTITY_PROFILE",
    show_envvar=True,
    is_eager=True,
    expose_value=False,
    callback=_remember,
    help="Profile whose service and credential are used.  [default: that of `identity use`]",
)

named_profile_option = click.option(
    "--profile",
    metavar="NAME",
    is_eager=True,
    expose_value=False,
    callback=_remember,
    help="Profile whose service and credential are used in place of --url. The current profile does not apply.",
)


def _chosen(context: click.Context) -> tuple[Profile | None, bool]:
    """Return the effective profile, and whether the command's own line names it."""
    if _CHOSEN not in context.meta:
        kept = read_profiles()
        context.meta[_CHOSEN] = (kept.use, kept.profiles.get(kept.use or ""), False)
    _, profile, typed = context.meta[_CHOSEN]
    return profile, typed


def asked_url(context: click.Context, option: click.Parameter, url: str | None) -> str | None:
    """Return the URL of the service: by --url, else --profile, else the environment, else the profile in use."""
    if context.resilient_parsing:
        return url
    named = _CHOSEN in context.meta and context.meta[_CHOSEN][2]
    if named and context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE:
        raise click.UsageError("--url and --profile exclude each other.", context)
    if url is not None and not named:
        return url
    profile, _ = _chosen(context)
    return DEFAULT_URL if profile is None else profile.url


def named_url(context: click.Context, option: click.Parameter, url: str | None) -> str | None:
    """Return the URL of the service to call instead of the local installation: by --url or ``named_profile_option``; None without
    either.
    """
    if context.resilient_parsing or (url is None and _CHOSEN not in context.meta):
        return url
    return asked_url(context, option, url)


def required_url(context: click.Context, parameter: click.Parameter, url: str | None) -> str | None:
    """Return the URL of the service for a command that writes without confirmation. It requires a URL or a profile, and has no
    default."""
    if url is None and not context.resilient_parsing and _chosen(context)[0] is None:
        raise click.MissingParameter(ctx=context, param=parameter)
    return asked_url(context, parameter, url)


def signed_in(url: str, api_key: str | None) -> dict[str, Any]:
    """Return the credential of a ``Client`` for ``url``: ``api_key`` or ``token``. The order is --api-key, --profile, the
    environment, the profile in use. A profile of another URL is ignored."""
    context = click.get_current_context()
    if api_key is not None and context.get_parameter_source("api_key") is ParameterSource.COMMANDLINE:
        return {"api_key": api_key}
    profile, typed = _chosen(context)
    if profile is None or profile.url.rstrip("/") != url.rstrip("/") or (api_key is not None and not typed):
        return {"api_key": api_key}
    return {} if profile.credential is None else {profile.credential: profile.secret}
