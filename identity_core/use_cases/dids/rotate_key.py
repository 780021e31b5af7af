"""rotateDidKey: a new key takes the place of an old one, which may stay for a grace period."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from identity_core.domain import keys
from identity_core.domain import possession as possessions
from identity_core.domain.change import Authorization, NewKey, Rotate
from identity_core.domain.did import Did
from identity_core.domain.history import DidState
from identity_core.domain.keys import PublicKey
from identity_core.domain.possession import Possession
from identity_core.errors import InvalidRequest
from identity_core.ports.custodian import Custodian
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.create import IssuedKey
from identity_core.use_cases.dids.keep_secrets import KeepSecrets
from identity_core.use_cases.dids.writer import DidWriter, RequestContext


@dataclass(frozen=True, slots=True)
class Rotation:
    """What the request says. ``multibase`` brings an own key, ``possession`` its proof; ``purposes`` empty means those of the old key."""

    old_key_id: str
    key_type: str
    purposes: tuple[str, ...]
    revoke_old_after: datetime | None
    multibase: str | None = None
    possession: Possession | None = None
    store_secrets: bool = False
    return_secrets: bool = True


@dataclass(frozen=True, slots=True)
class Rotated:
    """``grace_period_end`` is when the old key stops: the entry's own time when there is no grace."""

    version: IndexedVersion
    new_key: IssuedKey
    grace_period_end: datetime


@dataclass(frozen=True, slots=True)
class RotateDidKey:
    """Raises ``InvalidDocument`` for unknown keys and types, a key in grace, a grace beyond the cap."""

    writer: DidWriter
    custodian: Custodian
    random: Callable[[int], bytes]

    async def __call__(
        self, did: Did, wish: Rotation, authorization: Authorization, occasion: RequestContext, *, if_match: int | None
    ) -> Rotated:
        if not (wish.return_secrets or wish.store_secrets or wish.multibase):
            raise InvalidRequest("returnSecrets: false needs storeSecrets: true, else the key would be lost.")
        kind = keys.verification_method_type(wish.key_type)
        if wish.multibase is not None:
            public, secret = PublicKey.parse(wish.key_type, wish.multibase).multibase, None
            possession = wish.possession
        else:
            pair = keys.generate(wish.key_type, self.random)
            public, secret, possession = pair.public, pair.secret, possessions.of_pair(pair)
            if wish.store_secrets:
                await KeepSecrets(self.custodian)(did, [("rotation", pair)])

        def change(state: DidState) -> Rotate:
            new_key = NewKey(kind, public, wish.purposes, possession)
            return Rotate(wish.old_key_id, new_key, wish.revoke_old_after, authorization)

        version = await self.writer.commit(did, change, occasion, if_match=if_match)
        old = version.state.document.method(wish.old_key_id)
        end = old.revoked if old is not None and old.revoked is not None else version.state.updated_at
        purpose = version.state.document.purposes(f"{did}#{public}")[0]
        shown = secret if wish.return_secrets else None
        return Rotated(version, IssuedKey(purpose, f"{did}#{public}", public, shown), end)
