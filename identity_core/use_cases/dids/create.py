"""createDid: a new DID with its keys, services and recovery key.

Private keys that are made here leave once, with the answer; they are kept nowhere unless ``store_secrets`` hands them to
the custodian (DIF Registration's word).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from identity_core.domain import keys, possession
from identity_core.domain.change import Create, NewKey, NewService
from identity_core.domain.document import MAX_KEYS, MAX_SERVICES, check_count
from identity_core.domain.echo import TERM, echoed
from identity_core.domain.keys import KeyPair, PublicKey
from identity_core.errors import DidExists, InvalidDid, InvalidDocument, InvalidRequest, VersionConflict
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import Custodian
from identity_core.ports.did_method import DidMethod
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.keep_secrets import KeepSecrets
from identity_core.use_cases.dids.writer import DidWriter, RequestContext

RECOVERY = "recovery"


@dataclass(frozen=True, slots=True)
class RequestedKey:
    """A key that the caller asks for (``multibase`` None: made here) or brings along."""

    type: str
    purposes: tuple[str, ...]
    multibase: str | None = None


@dataclass(frozen=True, slots=True)
class Creation:
    """What the request says. ``additional`` are made here, ``public_keys`` are the caller's own."""

    method: str
    key_type: str | None
    additional: tuple[RequestedKey, ...] = ()
    public_keys: tuple[RequestedKey, ...] = ()
    services: tuple[NewService, ...] = ()
    also_known_as: tuple[str, ...] = ()
    recovery_key: bool = False
    store_secrets: bool = False
    return_secrets: bool = True


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key of the new DID: the purpose that it is filed under, its absolute id, its public and maybe its secret multikey."""

    purpose: str
    key_id: str
    public: str
    secret: str | None


@dataclass(frozen=True, slots=True)
class Created:
    """The first version, and the keys in the order of the document, the recovery key last."""

    version: IndexedVersion
    keys: tuple[IssuedKey, ...]


@dataclass(frozen=True, slots=True)
class CreateDid:
    """Creates a DID. Raises ``InvalidDid`` for an unknown method, ``InvalidDocument``, ``DidExists``, ``LedgerUnavailable``."""

    methods: Mapping[str, DidMethod]
    writer: DidWriter
    custodian: Custodian
    clock: Clock
    random: Callable[[int], bytes]

    async def __call__(self, wish: Creation, occasion: RequestContext) -> Created:
        method = self.methods.get(wish.method)
        if method is None:
            raise InvalidDid(
                "No such DID method is installed.",
                details={"method": echoed(wish.method, TERM), "supported": [*sorted(self.methods)]},
            )
        if not (wish.return_secrets or wish.store_secrets or wish.public_keys):
            raise InvalidRequest("returnSecrets: false needs storeSecrets: true, else the keys would be lost.")
        self._check_counts(wish)
        new_keys, recovery, pairs = self._own(wish) if wish.public_keys else self._made(wish)
        change = Create(
            keys=new_keys,
            update_keys=(self.writer.signer.multikey,),
            services=wish.services,
            also_known_as=wish.also_known_as,
            recovery_key=recovery,
        )
        draft = method.draft(None, change, self.clock.now(), signer=self.writer.signer.multikey)
        if wish.store_secrets:
            await KeepSecrets(self.custodian)(draft.did, pairs)
        try:
            version = await self.writer.register(draft, occasion, owner=occasion.caller.identity)
        except VersionConflict as error:
            raise DidExists(details={"did": str(draft.did)}) from error
        secrets = {pair.public: pair.secret for _, pair in pairs} if wish.return_secrets else {}
        filed = [(key.purposes[0], key.multibase) for key in new_keys]
        filed += [(RECOVERY, recovery)] if recovery is not None else []
        issued = tuple(
            IssuedKey(purpose, f"{draft.did}#{public}", public, secrets.get(public)) for purpose, public in filed
        )
        return Created(version, issued)

    @staticmethod
    def _check_counts(wish: Creation) -> None:
        """Before a key is made or a public one is read, which costs more than everything else. Raises ``InvalidDocument``."""
        own = sum(RECOVERY not in key.purposes for key in wish.public_keys)
        check_count("verificationMethod", own or 1 + len(wish.additional), MAX_KEYS)
        check_count("service", len(wish.services), MAX_SERVICES)

    def _made(self, wish: Creation) -> tuple[tuple[NewKey, ...], str | None, tuple[tuple[str, KeyPair], ...]]:
        """Keys made here, the primary one first: for the document, the recovery key, and (purpose, pair) of all."""
        pairs: list[tuple[str, KeyPair]] = []
        new_keys: list[NewKey] = []
        primary = RequestedKey("Ed25519" if wish.key_type is None else wish.key_type, ())
        wanted = [
            (
                keys.verification_method_type(key.type),
                key.purposes or keys.default_purposes(key.type, primary=place == 0),
            )
            for place, key in enumerate((primary, *wish.additional))
        ]
        for kind, purposes in wanted:
            keys.check_purposes(kind, purposes)
        for kind, purposes in wanted:
            pair = keys.generate(kind, self.random)
            new_keys.append(NewKey(kind, pair.public, purposes, possession.of_pair(pair)))
            pairs.append((purposes[0], pair))
        recovery = keys.generate("Ed25519", self.random) if wish.recovery_key else None
        if recovery is not None:
            pairs.append((RECOVERY, recovery))
        return tuple(new_keys), recovery.public if recovery else None, tuple(pairs)

    @staticmethod
    def _own(wish: Creation) -> tuple[tuple[NewKey, ...], str | None, tuple[tuple[str, KeyPair], ...]]:
        """The caller's own keys, in the same form; there are no pairs."""
        if wish.additional:
            raise InvalidDocument("publicKeys and additionalKeys exclude each other: give every key in publicKeys.")
        recovery = [key for key in wish.public_keys if RECOVERY in key.purposes]
        if len(recovery) > 1 or any(len(key.purposes) > 1 for key in recovery):
            raise InvalidDocument("One key may have the purpose recovery, and no other purpose beside it.")
        if wish.recovery_key and not recovery:
            raise InvalidDocument("Give the recovery key in publicKeys, with the purpose recovery.")
        for key in wish.public_keys:
            PublicKey.parse(key.type, key.multibase or "")
        named = tuple(
            NewKey(
                keys.verification_method_type(key.type),
                key.multibase or "",
                key.purposes or keys.default_purposes(key.type, primary=place == 0),
            )
            for place, key in enumerate(wish.public_keys)
            if key not in recovery
        )
        return named, recovery[0].multibase if recovery else None, ()
