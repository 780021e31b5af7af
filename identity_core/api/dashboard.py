"""The handlers of the tag ``dashboard``."""

from __future__ import annotations

from identity_codec.times import printed
from identity_codec.values import value_class
from identity_core import wire
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.domain.credentials.holder_secret import generation_of
from identity_core.domain.dids.did import Did
from identity_core.ports.holder_secrets import SecretRotation
from identity_core.use_cases.dashboard import ResetDisclosures, RotateHolderSecret


@value_class
class DashboardHandlers:
    """resetDisclosures, rotateHolderSecret."""

    reset: ResetDisclosures
    rotate: RotateHolderSecret

    async def reset_disclosures(self, request: Request) -> Answer:
        credential, at = await self.reset(request.body, request.context)
        body = wire.DisclosuresReset(
            credential_id=credential.id, holder_did=str(credential.holder), reset_at=printed(at)
        )
        return Answer(200, body, headers=[NO_STORE])

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
