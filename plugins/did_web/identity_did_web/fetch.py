"""One GET of one document: HTTPS with a verified certificate, no redirects, no cookies, no proxies, at most 64 KiB in at most
three seconds.

The connection is made to the address that was checked; the certificate is that of the name. Names are not looked up a second
time, so a name server cannot answer otherwise in between.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import httpcore

from identity_codec import strict_json
from identity_codec.strict_json import JsonValue
from identity_core.domain.dids.did import Did
from identity_core.errors import Overloaded, PluginUnavailable
from identity_core.ports.did_method import CLIENT
from identity_did_web.addresses import Addresses, NoSuchHost, network_of, site_of
from identity_did_web.location import Location

MAX_BYTES: Final = 64 * 1024
MAX_SECONDS: Final = 3.0
MEDIA_TYPES: Final = (
    "application/did+json",
    "application/did+ld+json",
    "application/did",
    "application/json",
    "application/ld+json",
)
_HEADERS: Final = (
    (b"Accept", ", ".join(MEDIA_TYPES).encode()),
    (b"Accept-Encoding", b"identity"),
    (b"User-Agent", b"identity-did-web/1"),
)


class NothingThere(Exception):
    """The host has no document of this DID: the text is the reason, for the log."""


class Unreachable(Exception):
    """The host could not be asked, or could not answer: the text is the reason, for the log."""


def share_of(at_a_time: int) -> int:
    """Return how many of the fetches at a time one site or address may have."""
    return max(1, at_a_time // 4)


def trust(ca_file: str | None) -> ssl.SSLContext:
    """Return the certificates to trust: the system's, or those of ``ca_file`` alone. Raises ``OSError``."""
    context = ssl.create_default_context(cafile=ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class _Pinned(httpcore.AsyncNetworkBackend):
    """Connects to one address, whatever the name."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  (the signature is httpcore's)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return await self._network.connect_tcp(self._address, port, timeout, local_address, socket_options)


class Shares:
    """The fetches in progress of each site, address and client, so that none of them takes them all."""

    def __init__(self) -> None:
        self._held: Counter[tuple[str, str]] = Counter()

    @contextlib.contextmanager
    def hold(self, kind: str, name: str, most: int) -> Iterator[None]:
        """Count one more while the block runs. Raises ``Overloaded``: when ``name`` has ``most`` of them."""
        if self._held[kind, name] >= most:
            raise Overloaded(
                f"As many documents are fetched for this {kind} as it may have at a time. Try again later.",
                details={"retryAfter": 1, "limit": most},
            )
        self._held[kind, name] += 1
        try:
            yield
        finally:
            self._held[kind, name] -= 1
            if not self._held[kind, name]:
                del self._held[kind, name]


class Fetch:
    """Fetches documents, at most ``at_a_time``: a quarter of them of one site or address, and half of them for one client."""

    def __init__(self, addresses: Addresses, trusted: ssl.SSLContext, logger: logging.Logger, at_a_time: int) -> None:
        self._addresses = addresses
        self._trusted = trusted
        self._logger = logger
        self._turns = asyncio.Semaphore(at_a_time)
        self._shares = Shares()
        self._of_site, self._of_client = share_of(at_a_time), max(1, at_a_time // 2)

    async def __call__(
        self, did: Did, location: Location, read: Callable[[Did, bytes], dict[str, JsonValue]] | None = None
    ) -> dict[str, JsonValue] | None:
        """Return the members of the document that claims to be of ``did``, or None when there is none.

        ``read`` parses and checks the document; without it the document must be the DID document. It raises ``NothingThere``.

        Raises ``PluginUnavailable``: when the host could not be reached. Raises ``Overloaded``: when too many documents are fetched.

        What was wrong is for the log alone: an answer that contained it would map the network for any client.
        """
        waits, shares, client = True, self._shares, CLIENT.get()
        try:
            with contextlib.ExitStack() as held:
                held.enter_context(shares.hold("site", site_of(location.host), self._of_site))
                if client:
                    held.enter_context(shares.hold("client", network_of(client), self._of_client))
                async with asyncio.timeout(MAX_SECONDS), self._turns:
                    waits = False
                    return (read or _document)(did, await self._get(location))
        except (NothingThere, NoSuchHost) as error:
            self._logger.info("%s: %s", did, error)
            return None
        except (
            Unreachable,
            OSError,
            httpcore.NetworkError,
            httpcore.TimeoutException,
            httpcore.ProtocolError,
        ) as error:
            # TimeoutError is an OSError.
            if waits:
                raise Overloaded(
                    "Too many documents are fetched. Try again later.", details={"retryAfter": 1}
                ) from error
            self._logger.info("%s could not be reached: %s %s", did, type(error).__name__, error)
            raise PluginUnavailable(
                "The host of the DID could not be reached.", details={"did": did.safe_text, "retryAfter": 5}
            ) from error

    async def _get(self, location: Location) -> bytes:
        address = await self._addresses.resolve(location.host, location.port)
        url = httpcore.URL(scheme="https", host=location.host, port=location.port, target=location.target)
        with self._shares.hold("address", network_of(address), self._of_site):
            return await self._body(address, url)

    async def _body(self, address: str, url: httpcore.URL) -> bytes:
        async with (
            httpcore.AsyncConnectionPool(
                ssl_context=self._trusted, max_connections=1, network_backend=_Pinned(address)
            ) as pool,
            pool.stream("GET", url, headers=list(_HEADERS)) as response,
        ):
            _check_head(response)
            body = bytearray()
            async for chunk in response.aiter_stream():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise NothingThere("the document is too large")
            return bytes(body)

    def close(self) -> None:
        """End the threads of the look-ups."""
        self._addresses.close()


def _check_head(response: httpcore.Response) -> None:
    if response.status == 429 or response.status >= 500:
        raise Unreachable(f"status {response.status}")
    if response.status != 200:
        raise NothingThere(f"status {response.status}")
    headers = {name.lower(): value for name, value in response.headers}
    media = headers.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("ascii", "replace")
    if media not in MEDIA_TYPES:
        raise NothingThere(f"the media type is {media[:64]!r}")
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise NothingThere("the document is compressed")


def read_object(_: Did, data: bytes) -> dict[str, JsonValue]:
    """Return the members of a JSON object. Raises ``NothingThere``."""
    try:
        value = strict_json.loads(data)
    except strict_json.JsonRefused as error:
        raise NothingThere(f"the document is {error.reason}") from error
    if type(value) is not dict:
        raise NothingThere("the document is not an object")
    return value


def _document(did: Did, data: bytes) -> dict[str, JsonValue]:
    value = read_object(did, data)
    if value.get("id") != str(did):
        raise NothingThere("the document is of another DID")
    return value
