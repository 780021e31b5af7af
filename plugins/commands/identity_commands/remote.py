"""The options and calls of the commands that call a running service.

A command that sends one operation and prints the answer is a call of ``add_command``: operationId, options, text.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlsplit

import click
import orjson
from msgspec import Struct

from identity_client import ChallengeRefused, Exchange, ForeignOrigin, ServiceError, ServiceUnreachable, Session, Signer
from identity_client.operations import served_operations
from identity_codec.values import Hidden
from identity_commands.options import all_of
from identity_commands.profiles import (
    DEFAULT_URL,
    asked_url,
    named_profile_option,
    named_url,
    profile_option,
    signed_in,
)
from identity_commands.refusals import BY_DOCUMENT, as_options
from identity_commands.secret_input import secret_option
from identity_commands.terminal import ids_option, on_one_line, show_table, shows_tables, working
from identity_commands.wallet import Wallet
from identity_core.cli.options import FILE, Whole
from identity_core.cli.output import Text, fail, prints_json, refused_values

F = TypeVar("F", bound=Callable[..., Any])
Option = Callable[[F], F]

url_option = all_of(
    profile_option,
    click.option(
        "--url",
        envvar="IDENTITY_URL",
        callback=asked_url,
        help="URL of the service. Set IDENTITY_ORIGIN to its public_url if that differs.  "
        f"[env var: IDENTITY_URL; default: the profile's, else {DEFAULT_URL}]",
    ),
)


def named_service_option(says: str, **more: Any) -> Option[Any]:
    """Return --url and --profile for a command that calls no service without them; ``says`` is the help text."""
    return all_of(named_profile_option, click.option("--url", callback=named_url, help=says, **more))


CALL_ERRORS = (ServiceError, ChallengeRefused, ServiceUnreachable)
"""What a call of a service raises."""

api_key_option = secret_option("--api-key", "IDENTITY_API_KEY", what="API key")
_keys = functools.partial(click.option, "--keys", "wallet", type=FILE, envvar="IDENTITY_KEYS", show_envvar=True)
keys_option = _keys(required=True, help="Keys file of `identity did create`; - is standard input.")
wallet_option = _keys(help="Keys file that signs the request; - is standard input. Without it the API key is used.")
page_options = (
    click.option("--limit", type=Whole(1, 200), default=50, help="Maximum number of items."),
    click.option("--cursor", help="`nextCursor` of the previous page."),
    ids_option,
)


def did_option(flag: str, member: str, says: str, **more: Any) -> Option[Any]:
    """Return an option that fills ``member`` of a request with a DID."""
    return click.option(flag, member, metavar="DID", help=says, **more)


@contextlib.contextmanager
def session(
    url: str,
    api_key: str | None = None,
    *,
    token: str | None = None,
    on_exchange: Callable[[Exchange], None] | None = None,
) -> Iterator[Session]:
    """Yield a session whose refusals end the command with a readable error. ``IDENTITY_ORIGIN`` is the service's own name if --url
    differs from it."""
    require_address(url)
    origin = os.environ.get("IDENTITY_ORIGIN")
    try:
        with Session(url, api_key=api_key, token=token, on_exchange=on_exchange, origin=origin) as opened:
            yield opened
    except CALL_ERRORS as error:
        fail(*explained(error, url))


def require_address(url: str) -> None:
    """End the command if ``url`` is not the address of a service."""
    try:
        is_one = urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
    except ValueError:
        is_one = False
    if not is_one:
        remedy = "write it as http://127.0.0.1:8080 or https://id.example"
        fail("this is not an address of a service", url.strip() or "--url", remedy, status=2)


def explained(error: Exception, url: str) -> tuple[str, str, str]:
    """Return the three lines of the error for one of ``CALL_ERRORS`` from the service at ``url``."""
    match error:
        case ServiceError():
            details = dict(error.details)
            where, explanation = f"{url}, request {details.pop('requestId', '-')}", details.pop("docUrl", None)
            where += as_options("; " * bool(refused_values(details)) + refused_values(details))
            then = as_options(str(details.get("remedy") or BY_DOCUMENT))
            if isinstance(explanation, str) and explanation.startswith("/"):
                then += f"; more at {url.rstrip('/')}{explanation}"
            return as_options(f"{error.code}: {error.message}"), where, then
        case ForeignOrigin():
            remedy_of = f"call it there; only if this is the same service: IDENTITY_ORIGIN={error.origin}"
            return f"nothing was signed: {error}", url, remedy_of
        case ChallengeRefused():
            return f"nothing was signed: {error}", url, "do not trust this service, or the connection to it"
    # The number of an error says nothing to people that its words do not.
    what = re.sub(r"\[Errno -?[0-9]+\] ", "", str(error))
    return what, url, "start it with `identity serve`, or name another place with --url"


class RemoteCaller(Struct, frozen=True):
    """A caller of operations. With a ``signer``, each is signed with a challenge for exactly its purpose and body."""

    session: Session
    signer: Signer | None
    has_credential: bool = False

    @property
    def did(self) -> str | None:
        """Return the calling DID."""
        return None if self.signer is None else self.signer.did

    def send(self, operation_id: str, *places: str, body: Any = None, token: str | None = None, **query: Any) -> Any:
        """Return the answer to the operation; ``places`` fill its path, in their order. An access ``token`` goes before any other
        credential. Raises ``ServiceError`` or ``ServiceUnreachable``."""
        method, path, purpose = _operations()[operation_id]
        names = iter(places)
        path = re.sub(r"\{\w+\}", lambda _: quote(next(names), safe=":"), path)
        if self.signer is None or token is not None:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            return self.session.call(method, path, body=body, query=query, headers=headers)
        return self.session.signed(method, path, body, self.signer, purpose, query=query)


class TokenCaller(Hidden, Struct):
    """A caller in the name of a DID, with an access token that one signature obtains."""

    session: Session
    signer: Signer
    _token: str = ""

    @property
    def did(self) -> str:
        """Return the DID."""
        return self.signer.did

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer. Raises ``ServiceError`` or ``ServiceUnreachable``."""
        self._token = self._token or self.session.token(self.signer)["access_token"]
        return self.session.call(method, path, body=body, headers={"Authorization": f"Bearer {self._token}"})


_ADDED: Final = list[bytes]()


def add_operations(document: bytes) -> None:
    """Let commands call the operations of a ``document``, of an extension from another repository."""
    _ADDED.append(document)
    _operations.cache_clear()


@functools.cache
def _operations() -> dict[str, tuple[str, str, str]]:
    """Return method, path and purpose of a signature by operationId, of this repository and of the documents that were added."""
    added = {
        operation["operationId"]: (method.upper(), path, operation.get("x-challenge-purpose", ""))
        for document in map(orjson.loads, _ADDED)
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if "operationId" in operation
    }
    return {name: (one.method, one.path, one.purpose or "") for name, one in served_operations().items()} | added


def with_caller(decorated: F, *, anonymous: bool = False) -> F:
    """Return the options for the service and, unless ``anonymous``, its credential. The command gets its ``caller``."""

    @functools.wraps(decorated)
    def wrapped(url: str, api_key: str | None = None, wallet: Path | None = None, **rest: Any) -> None:
        signer = None if wallet is None else Wallet.open(wallet).signer()
        # Who signs, or asks as anybody, shows no profile's credential.
        credential = {"api_key": api_key} if anonymous or signer is not None else signed_in(url, api_key)
        with session(url, **credential) as opened:
            decorated(RemoteCaller(opened, signer, any(credential.values())), **rest)

    return url_option(wrapped if anonymous else api_key_option(wallet_option(wrapped)))  # type: ignore[return-value]


@contextlib.contextmanager
def settled(path: Path, url: str) -> Iterator[tuple[Session, Wallet]]:
    """Yield the service, and the keys file of a DID without a pending operation."""
    wallet = Wallet.open(path)
    with session(url) as opened:
        wallet.settle(opened)
        yield opened, wallet


def add_command(
    group: click.Group,
    name: str,
    operation_id: str,
    says: str,
    *options: Option[Any],
    text: Text | None = None,
    columns: Mapping[str, Text] | None = None,
    body: Callable[..., dict[str, Any]] | None = None,
    anonymous: bool = False,
    whose: str = "",
) -> None:
    """Add a command that sends one operation and prints its answer, as ``show`` does.

    The operation's path is filled with the first arguments among the ``options``; the others are named as in the query, or are the
    input of ``body``, which makes the request for the caller. An ``anonymous`` command needs no credential. ``whose`` names the
    owner of the required credential if the service's own answer would not.
    """

    def run(caller: RemoteCaller, **given: Any) -> None:
        if whose and caller.signer is None and not caller.has_credential:
            fail("no caller is named", "the options", f"give --keys of {whose}, or --api-key", status=2)
        _, path, _ = _operations()[operation_id]
        places = [given.pop(one) for one in arguments[: path.count("{")]]
        sent = {} if body is None else {"body": body(caller, **given)}
        with working("waiting for the service"):
            answer = caller.send(operation_id, *places, **(sent or given))
            if columns and "{holderDid}" in columns.values() and caller.signer is not None and shows_tables():
                answer = _with_nicknames(caller, answer)
        show_table(answer if text is None or prints_json() else on_one_line(answer), text=text, columns=columns)

    made = group.command(name=name, help=says)(with_caller(all_of(*options)(run), anonymous=anonymous))
    arguments = [str(one.name) for one in made.params if isinstance(one, click.Argument)]


def _with_nicknames(caller: RemoteCaller, page: dict[str, Any]) -> dict[str, Any]:
    """Return a page with the signer's nicknames (``listLabels``) instead of DIDs of holders and agents; without nicknames, unchanged."""
    try:
        nicknames = {one["did"]: one["label"] for one in caller.send("listLabels")["items"]}
    except ServiceError:
        return page
    people = {"holderDid", "agentDid"}
    items = [one | {name: nicknames.get(one[name], one[name]) for name in people & one.keys()} for one in page["items"]]
    return page | {"items": items}


def named(_: RemoteCaller, **members: Any) -> dict[str, Any]:
    """Return the body with the given members, which have the names of the options. The service decides missing ones."""
    return {name: value for name, value in members.items() if value not in (None, ())}


def page(row: Text) -> Callable[[Any], str]:
    """Return the text of a page of records, with the command for the next one; ``row`` is the text of one record."""
    render = row.format_map if isinstance(row, str) else row

    def text(body: dict[str, Any]) -> str:
        more = [f"more: --cursor {body['nextCursor']}"] if body.get("nextCursor") else []
        return "\n".join([*map(render, body["items"]), *more]) or "none"

    return text
