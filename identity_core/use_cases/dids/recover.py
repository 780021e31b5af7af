"""recoverDid: a new authentication key under the recovery key, which is spent and replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from identity_core.domain import keys
from identity_core.domain.change import Authorization, NewKey, Recover
from identity_core.domain.did import Did
from identity_core.domain.keys import PublicKey
from identity_core.domain.possession import Possession
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.create import RECOVERY, IssuedKey
from identity_core.use_cases.dids.writer import DidWriter, RequestContext


@dataclass(frozen=True, slots=True)
class Recovery:
    """What the request says. ``new_recovery_key`` (type, multibase) brings an own successor."""

    key_type: str
    multibase: str
    revoke_all: bool
    possession: Possession | None = None
    new_recovery_key: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Recovered:
    """The new version, and the recovery key that succeeds the spent one."""

    version: IndexedVersion
    recovery_key: IssuedKey


@dataclass(frozen=True, slots=True)
class RecoverDid:
    """Raises ``InvalidDocument`` for bad keys, a recovery key that is also an authentication key, or the spent one again."""

    writer: DidWriter
    random: Callable[[int], bytes]

    async def __call__(
        self, did: Did, wish: Recovery, authorization: Authorization, occasion: RequestContext
    ) -> Recovered:
        key = PublicKey.parse(wish.key_type, wish.multibase)
        if wish.new_recovery_key is not None:
            public, secret = PublicKey.parse(*wish.new_recovery_key).multibase, None
        else:
            pair = keys.generate("Ed25519", self.random)
            public, secret = pair.public, pair.secret
        purposes = keys.default_purposes(key.type, primary=True)
        new_key = NewKey(key.type, key.multibase, purposes, wish.possession)
        change = Recover(new_key, wish.revoke_all, public, authorization)
        version = await self.writer.commit(did, lambda _: change, occasion)
        return Recovered(version, IssuedKey(RECOVERY, f"{did}#{public}", public, secret))
