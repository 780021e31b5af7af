"""createDid: a new DID with its keys, services and recovery key.

Private keys that are made here are returned once, in the answer. They are not stored, unless ``storeSecrets`` imports them into
the custodian (the term is that of DIF DID Registration).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial

from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_codec.structs import value_or
from identity_codec.values import replace
from identity_core.domain.activity import RequestContext
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import Create, NewService, WitnessList
from identity_core.domain.dids.document import MAX_KEYS, MAX_SERVICES, check_count
from identity_core.domain.dids.keys import RECOVERY, Key, PublicKey
from identity_core.domain.inputs import TERM, echoed
from identity_core.errors import DidExists, InvalidDid, InvalidDocument, InvalidRequest, VersionConflict
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import Custodian
from identity_core.ports.did_method import DidMethod, PublishingDidMethod
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.commit import DidWriter, keep_secrets
from identity_core.use_cases.transparency import WitnessApprovals
from identity_core.wire import AdditionalKey, CreateDidOptions, CreateDidRequest


class Created(Struct, frozen=True):
    """The first version, and the keys in the order of the document, the recovery key last. They have secrets only if these are
    returned."""

    version: IndexedVersion
    keys: tuple[Key, ...]


class CreateDid(Struct, frozen=True):
    """Use case createDid. Raises ``InvalidDid``: when the method is unknown. Raises ``InvalidDocument``, ``DidExists``,
    ``LedgerUnavailable``."""

    methods: Mapping[str, DidMethod]
    writer: DidWriter
    custodian: Custodian
    clock: Clock
    random: Callable[[int], bytes]
    approvals: WitnessApprovals

    async def __call__(self, wish: CreateDidRequest, context: RequestContext) -> Created:
        method = self.methods.get(wish.method)
        if method is None:
            details: dict[str, JsonValue] = {"method": echoed(wish.method, TERM), "supported": [*sorted(self.methods)]}
            raise InvalidDid("No such DID method is installed.", details=details)
        options = value_or(wish.options, CreateDidOptions())
        returned, stored = value_or(options.return_secrets, True), value_or(options.store_secrets, False)
        own = bool(value_or(options.public_keys, ()))
        if not (returned or stored or own):
            raise InvalidRequest("returnSecrets: false needs storeSecrets: true, else the keys would be lost.")
        self._check_counts(options)
        random = self.random if context.attempt is None else context.attempt.random
        asked = self._own(options) if own else self._generate_keys(value_or(wish.key_type, "Ed25519"), options, random)
        recovery = asked[-1] if asked[-1].purposes == (RECOVERY,) else None
        window, witness = value_or(options.recovery_window, None), value_or(options.witness, None)
        if witness is not None:
            self._require_witnesses(method)
        witness_ids = () if witness is None else tuple(one.id for one in witness.witnesses)
        change = Create(
            keys=asked if recovery is None else asked[:-1],
            update_keys=(),  # the signer knows the current key of the log
            services=tuple(
                NewService(each.type, each.service_endpoint, value_or(each.id, None))
                for each in value_or(options.service_endpoints, ())
            ),
            also_known_as=value_or(options.also_known_as, ()),
            recovery_key=None if recovery is None else recovery.public,
            strict_evidence=value_or(options.strict_evidence, None),
            recovery_window=None if window is None else timedelta(seconds=window),
            witnesses=None if witness is None else WitnessList(witness.threshold, witness_ids),
        )
        shown = asked if returned else tuple(replace(key, secret=None) for key in asked)
        version = None
        if context.attempt is not None:
            context = replace(context, result=partial(Created, keys=shown))
            version = await self.writer.resumed(context, owner=context.caller.identity)
        if version is None:
            signed = await self.writer.signer.signed(method, None, change, self.clock.now())
            if stored and not own:
                await keep_secrets(self.custodian, signed.entry.did, asked)
            try:
                version = await self.writer.append(None, signed, context, owner=context.caller.identity)
            except VersionConflict as error:
                raise DidExists(details={"did": str(signed.entry.did)}) from error
        return Created(version, shown)

    def _require_witnesses(self, method: DidMethod) -> None:
        """Raise ``InvalidDocument``: when a DID of the method cannot have witnesses here."""
        self.approvals.require()
        if not isinstance(method, PublishingDidMethod):
            raise InvalidDocument("Entries of this method have no place for witnesses.", details={"member": "witness"})

    @staticmethod
    def _check_counts(options: CreateDidOptions) -> None:
        """Check the counts first, because making keys and parsing public keys takes most of the time. Raises ``InvalidDocument``."""
        own = sum(RECOVERY not in key.purpose for key in value_or(options.public_keys, ()))
        check_count("verificationMethod", own or 1 + len(value_or(options.additional_keys, ())), MAX_KEYS)
        check_count("service", len(value_or(options.service_endpoints, ())), MAX_SERVICES)

    @staticmethod
    def _generate_keys(key_type: str, options: CreateDidOptions, random: Callable[[int], bytes]) -> tuple[Key, ...]:
        """Return keys that are made here: the primary one first, the recovery key last."""
        primary = AdditionalKey(type=key_type, purpose=())
        wanted = [
            (keys.key_type(key.type).name, key.purpose or keys.default_purposes(key.type, primary=place == 0))
            for place, key in enumerate((primary, *value_or(options.additional_keys, ())))
        ]
        for kind, purposes in wanted:
            keys.check_purposes(kind, purposes)
        if value_or(options.recovery_key, False):
            wanted.append((keys.ED25519.name, (RECOVERY,)))
        return tuple(keys.generate(kind, random, purposes) for kind, purposes in wanted)

    @staticmethod
    def _own(options: CreateDidOptions) -> tuple[Key, ...]:
        """Return the keys that the caller supplied, in the same order."""
        public_keys = value_or(options.public_keys, ())
        if value_or(options.additional_keys, ()):
            raise InvalidDocument("publicKeys and additionalKeys exclude each other: give every key in publicKeys.")
        recovery = [key for key in public_keys if RECOVERY in key.purpose]
        if len(recovery) > 1 or any(len(key.purpose) > 1 for key in recovery):
            raise InvalidDocument("One key may have the purpose recovery, and no other purpose beside it.")
        if value_or(options.recovery_key, False) and not recovery:
            raise InvalidDocument("Give the recovery key in publicKeys, with the purpose recovery.")
        named = [
            Key(
                PublicKey.parse(key.type, key.public_key_multibase).type,
                key.public_key_multibase,
                key.purpose or keys.default_purposes(key.type, primary=place == 0),
            )
            for place, key in enumerate(public_keys)
        ]
        return tuple(sorted(named, key=lambda key: RECOVERY in key.purposes))
