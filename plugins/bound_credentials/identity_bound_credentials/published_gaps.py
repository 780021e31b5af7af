"""A holder's gap from the published files: the manifest of an epoch, and one of its shards.

The server learns the requested shard and the time, so it knows that the holder's credential lies in one of a thousand gaps. Fetch
right after publication or at a random time, not before a proof. ``whole`` fetches all shards and reveals nothing. Requests have no
cookies, redirects or keys of the caller, because the files are public.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import httpx

from identity_bound_credentials.domain import gap_log
from identity_bound_credentials.domain.gap_shards import (
    MAX_MANIFEST_OCTETS,
    MAX_SHARD_OCTETS,
    Manifest,
    SignedGap,
    manifest_place,
    proof_place,
    shard_place,
)
from identity_bound_credentials.domain.status_gaps import StatusEpoch
from identity_client.answers import Body, ServiceError, ServiceUnreachable, UnreadableAnswer, read_stream
from identity_client.status_list import StatusListRefused
from identity_tlog.leaf import ProvenEntry
from identity_tlog.note import VerifierKey
from identity_tlog.policy import WitnessPolicy
from identity_tlog.proofs import MAX_PROOF

_HEADERS: Final = {"Accept": "application/json, application/octet-stream, text/plain", "Accept-Encoding": "identity"}


class PublishedGaps:
    """The files below ``url``: a service, its address with the prefix of its operations, a mirror, or a copied folder. An async context
    manager.

    The manifest of an epoch is ``status-gaps/{list}/{epoch}``, a shard ``status-gaps/{list}/shards/{SHA-256, base64url}``, the
    proof that a log has the manifest ``status-gaps/{list}/proofs/{SHA-256 of the manifest}``.

    ``timeout_seconds`` is for each file as a whole: a server that sends single bytes slowly is abandoned at its end.
    """

    def __init__(self, url: str, *, timeout_seconds: float = 10.0) -> None:
        self.url = url.rstrip("/")
        self._timeout_seconds = timeout_seconds
        self._http = httpx.AsyncClient(timeout=timeout_seconds, trust_env=False, verify=httpx.create_ssl_context())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._http.aclose()

    async def manifest(self, epoch: StatusEpoch, *, digest: bytes | None = None) -> Manifest:
        """Return the manifest of this epoch, for all credentials of the list.

        ``digest`` is its record in a transparency log, if the caller knows it. Raises ``StatusListRefused``: for anything but this
        epoch's manifest. Raises ``ServiceError``: when there is none. Raises ``ServiceUnreachable``.
        """
        manifest = Manifest.from_octets(await self._file(manifest_place(epoch), MAX_MANIFEST_OCTETS))
        if manifest.epoch != epoch:
            raise StatusListRefused("the manifest is that of another list or epoch")
        if digest is not None and manifest.digest != digest:
            raise StatusListRefused("the manifest is not the one that the log has")
        return manifest

    async def recorded(
        self, manifest: Manifest, policy: WitnessPolicy, *, logs: Sequence[VerifierKey] = ()
    ) -> tuple[ProvenEntry, bytes]:
        """Return the entry of this manifest in a transparency log, with its tlog-proof for other verifiers.

        Raises ``StatusListRefused`` unless a log of the policy or of ``logs`` has exactly this manifest, and as ``manifest`` does.
        """
        proof = await self._file(proof_place(manifest), MAX_PROOF)
        return gap_log.verify_recorded(manifest, proof, policy, logs=logs), proof

    async def gap(self, manifest: Manifest, public_key: bytes, handle: int, *, whole: bool = False) -> SignedGap:
        """Return the gap of the handle, its signature checked against the raw 96-byte key of the list.

        Raises ``HandleListed``: when a signed gap shows that. Raises ``StatusListRefused``: for shards other than the published
        ones. Raises as ``manifest`` does.
        """
        wanted = manifest.shard_of(handle)
        data = b""
        for number in range(len(manifest.digests)) if whole else (wanted,):
            fetched = await self._file(shard_place(manifest, number), MAX_SHARD_OCTETS)
            if number == wanted:
                data = fetched
            else:
                manifest.open(number, fetched)
        found = manifest.find(handle, wanted, data)
        found.check(public_key, handle)
        return found

    async def _file(self, place: str, most: int) -> bytes:
        if "://" not in self.url:
            return _read(Path(self.url) / place, most)
        try:
            # A cookie of an answer would come back with the next request and join the two.
            self._http.cookies.clear()
            async with (
                asyncio.timeout(self._timeout_seconds),
                self._http.stream("GET", f"{self.url}/{place}", headers=_HEADERS) as answer,
            ):
                if answer.status_code != 200:
                    raise ServiceError(answer.status_code, "NOT_PUBLISHED", "the list is not there", {})
                return await read_stream(Body(answer, most))
        except UnreadableAnswer as error:
            raise StatusListRefused(f"a file of the list: {error.message}") from error
        except (httpx.TransportError, httpx.InvalidURL, TimeoutError) as error:
            raise ServiceUnreachable(f"{self.url} does not answer: {error}") from error


def _read(path: Path, most: int) -> bytes:
    """Return a file of a copied folder."""
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise ServiceUnreachable(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > most:
        raise StatusListRefused("a file of the list is too long")
    return data
