"""The handlers of this extension."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from identity_bbs.holders import generation_of
from identity_bound_credentials import wire
from identity_bound_credentials.ports import SecretRotation
from identity_bound_credentials.use_cases.gap_log import GetStatusGapsProof
from identity_bound_credentials.use_cases.holder_secrets import RotateHolderSecret
from identity_bound_credentials.use_cases.status_gaps import GetStatusGaps, GetStatusGapShard
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.domain.dids.did import Did

LIST_SECONDS: Final = 60
"""How long a cache may show a list: what is revoked is seen everywhere a minute later."""
_FOR_GOOD: Final = ("Cache-Control", "public, max-age=86400, immutable")


class BoundHandlers(Struct, frozen=True):
    """getStatusGaps, getStatusGapShard, getStatusGapsProof, rotateHolderSecret."""

    gaps: GetStatusGaps
    shard: GetStatusGapShard
    gaps_proof: GetStatusGapsProof
    rotate: RotateHolderSecret

    async def get_status_gaps(self, request: Request) -> Answer:
        manifest = await self.gaps(request.path["gapListId"], request.path["epoch"])
        return Answer(200, manifest, headers=[("Cache-Control", f"public, max-age={LIST_SECONDS}")])

    async def get_status_gap_shard(self, request: Request) -> Answer:
        shard = await self.shard(request.path["gapListId"], request.path["digest"])
        return Answer(200, shard, media_type="application/octet-stream", headers=[_FOR_GOOD])

    async def get_status_gaps_proof(self, request: Request) -> Answer:
        proof = await self.gaps_proof(request.path["gapListId"], request.path["digest"])
        headers = [("Cache-Control", f"public, max-age={LIST_SECONDS}")]
        return Answer(200, proof, media_type="text/plain; charset=utf-8", headers=headers)

    async def rotate_holder_secret(self, request: Request) -> Answer:
        return _rotated(await self.rotate(request.body, request.showing(_rotated)))


def _rotated(found: tuple[Did, SecretRotation]) -> Answer:
    holder, done = found
    bound = tuple(
        wire.BoundToFormerSecret(credential_id=one.id, issuer_did=one.issuer, generation=generation_of(one.secret))
        for one in done.credentials
    )
    body = wire.HolderSecretRotation(
        holder_did=str(holder), generation=done.generation, credentials=bound, complete=done.is_last
    )
    return Answer(200, body, headers=[NO_STORE])
