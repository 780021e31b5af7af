"""The custodian kit must fail custodians that are broken on purpose, each where its fault lies."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from _pytest.outcomes import Failed, Skipped
from identity_custodian_sealed.custodian import holder_secrets
from identity_custodian_sealed.held_key import HeldKey, Label
from identity_kit.conformance.custodian import CustodianConformance

from identity_bbs.blind import IssueRequest
from identity_bbs.bls12381 import keys as bls
from identity_bbs.holders import HolderConsent
from identity_codec import ed25519, multikey, x25519
from identity_core.ports.custodian import HolderCustodian, KeyNameTaken, KeyNotHeld, KeyRefused, checked_names

Row = tuple[str, str, str, str, bytes]


class Sound:
    """Ed25519 and X25519 in a dictionary that outlives the object."""

    capabilities = frozenset({multikey.ED25519, multikey.X25519})

    def __init__(self, rows: dict[str, Row]) -> None:
        self._rows = rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._rows)} keys)"

    def _public(self, key_type: str, secret: bytes) -> str:
        raw = ed25519.generate(secret).public if key_type == multikey.ED25519 else x25519.public_key(secret)
        return multikey.encode_public(key_type, raw)

    def _check(self, name: str, key_type: str) -> None:
        if (
            key_type not in self.capabilities
            or not 1 <= len(name) <= 200
            or not (name.isascii() and name.isprintable())
        ):
            raise KeyRefused

    def _row(self, name: str) -> Row:
        if name not in self._rows:
            raise KeyNotHeld
        return self._rows[name]

    def _keep(self, name: str, row: Row) -> None:
        self._rows[name] = row

    async def generate(self, name: str, key_type: str, *, did: str, purpose: str) -> str:
        self._check(name, key_type)
        if name not in self._rows:
            secret = os.urandom(32)
            self._keep(name, (key_type, did, purpose, self._public(key_type, secret), secret))
        held = self._row(name)
        if held[:3] != (key_type, did, purpose):
            raise KeyNameTaken
        return held[3]

    async def import_key(self, name: str, key_type: str, secret: bytes, *, did: str, purpose: str) -> str:
        self._check(name, key_type)
        if len(secret) != 32:
            raise KeyRefused
        row = (key_type, did, purpose, self._public(key_type, secret), secret)
        if name not in self._rows:
            self._keep(name, row)
        if self._row(name) != row:
            raise KeyNameTaken
        return row[3]

    async def public_key(self, name: str) -> str:
        return self._row(name)[3]

    async def sign(self, name: str, message: bytes) -> bytes:
        row = self._row(name)
        if row[0] != multikey.ED25519:
            raise KeyRefused
        return ed25519.sign(row[4], message)

    async def sign_bbs(self, name: str, header: bytes, messages: Sequence[bytes | int]) -> bytes:
        self._row(name)
        raise KeyRefused

    async def destroy(self, name: str) -> None:
        self._rows.pop(name, None)


class ReplacesKeys(Sound):
    """Generates anew whatever is there."""

    async def generate(self, name, key_type, *, did, purpose):
        self._rows.pop(name, None)
        return await super().generate(name, key_type, did=did, purpose=purpose)


class GivesNamesAway(Sound):
    """Does not look at DID and purpose."""

    async def generate(self, name, key_type, *, did, purpose):
        return (
            self._rows[name][3]
            if name in self._rows
            else await super().generate(name, key_type, did=did, purpose=purpose)
        )


class FoldsCase(Sound):
    """Names in a database that compares without case."""

    async def generate(self, name, key_type, *, did, purpose):
        return await super().generate(name.lower(), key_type, did=did, purpose=purpose)

    async def public_key(self, name):
        return await super().public_key(name.lower())


class SignsTheHash(Sound):
    """Hashes before it signs, as some HSM modes do."""

    async def sign(self, name, message):
        return await super().sign(name, hashlib.sha512(message).digest())


class SignsForAnother(Sound):
    """One field for the key in use, no matter who uses it."""

    current = ""

    async def sign(self, name, message):
        self._row(name)
        type(self).current = name
        await asyncio.sleep(0)
        return await super().sign(type(self).current, message)


class RacesItself(Sound):
    """The check and the write are two steps."""

    async def generate(self, name, key_type, *, did, purpose):
        self._check(name, key_type)
        absent = name not in self._rows
        await asyncio.sleep(0)
        if absent:
            self._rows.pop(name, None)
        return await super().generate(name, key_type, did=did, purpose=purpose)


class KeepsTheDestroyed(Sound):
    """Marks, and signs on."""

    async def destroy(self, name):
        return None


class ForgetsAtClosing(Sound):
    """Durable only as long as it lives."""

    def __init__(self, rows):
        super().__init__({})


class ShowsSecrets(Sound):
    def __repr__(self):
        return repr(self._rows)


class TakesAnySecret(Sound):
    """Pads and cuts."""

    async def import_key(self, name, key_type, secret, *, did, purpose):
        return await super().import_key(name, key_type, (secret + bytes(32))[:32], did=did, purpose=purpose)


class OverwritesImports(Sound):
    async def import_key(self, name, key_type, secret, *, did, purpose):
        if name in self._rows and self._rows[name][:3] == (key_type, did, purpose):
            self._rows.pop(name)
        return await super().import_key(name, key_type, secret, did=did, purpose=purpose)


class InventsPublicKeys(Sound):
    def _public(self, key_type, secret):
        return super()._public(key_type, hashlib.sha256(secret).digest())


class RaisesItsOwnErrors(Sound):
    def _row(self, name):
        return self._rows[name]


class DeclaresTooMuch(Sound):
    capabilities = frozenset({multikey.ED25519, multikey.X25519, multikey.BLS12381G2})

    def _check(self, name, key_type):
        if key_type == multikey.BLS12381G2:
            raise KeyRefused
        super()._check(name, key_type)


class MixesKinds(Sound):
    """Signs with an X25519 secret as if it were an Ed25519 one."""

    async def sign(self, name, message):
        return ed25519.sign(self._row(name)[4], message)


class MixesUpInReading(Sound):
    """``public_key`` of an imported key is that of another secret."""

    async def public_key(self, name):
        found = await super().public_key(name)
        return multikey.encode_public(multikey.ED25519, os.urandom(32)) if name == "k" else found


class Keeps(Sound):
    """BLS keys and holders' secrets besides, as the sealed custodian makes them."""

    capabilities = frozenset({multikey.ED25519, multikey.X25519, multikey.BLS12381G2, "sign_bbs"})

    def __init__(self, rows: dict[str, Row], data_key: bytes = b"k" * 32) -> None:
        super().__init__(rows)
        self.secrets = holder_secrets(data_key, os.urandom)

    def _public(self, key_type: str, secret: bytes) -> str:
        if key_type == multikey.BLS12381G2:
            return multikey.encode_public(key_type, bls.public_key(secret))
        return super()._public(key_type, secret)

    def _check(self, name: str, key_type: str) -> None:
        Label(name, key_type, "d", "p").check()
        if key_type not in self.capabilities:
            raise KeyRefused

    async def generate(self, name: str, key_type: str, *, did: str, purpose: str) -> str:
        self._check(name, key_type)
        if name not in self._rows:
            made = HeldKey.generated(Label(name, key_type, did, purpose), os.urandom)
            self._keep(name, (key_type, did, purpose, made.public_key, made.secret))
        return await super().generate(name, key_type, did=did, purpose=purpose)

    async def import_key(self, name: str, key_type: str, secret: bytes, *, did: str, purpose: str) -> str:
        self._check(name, key_type)
        HeldKey.from_secret(Label(name, key_type, did, purpose), secret)
        return await super().import_key(name, key_type, secret, did=did, purpose=purpose)

    async def sign_bbs(self, name: str, header: bytes, messages: Sequence[bytes | int]) -> bytes:
        return self._held_key(name).sign_bbs(header, messages)

    async def commit_holder(self, secret: str, credential: str, request: IssueRequest) -> bytes:
        with checked_names():
            return self.secrets.commit(secret, credential, request)

    async def sign_bbs_blind(
        self, name: str, messages: Sequence[bytes | int], commitment: bytes, request: IssueRequest
    ) -> bytes:
        return self._held_key(name).sign_bbs_blind(messages, commitment, request)

    async def consent(
        self, secret: str, credentials: Sequence[str], message: bytes, pseudonym: str | None
    ) -> HolderConsent:
        with checked_names():
            return self.secrets.consent(secret, credentials, message, pseudonym)

    def _held_key(self, name: str) -> HeldKey:
        key_type, did, purpose, _, secret = self._row(name)
        return HeldKey.from_secret(Label(name, key_type, did, purpose), secret)


class SharesBlinds(Keeps):
    """One point for all credentials of a holder."""

    async def commit_holder(self, secret, credential, request):
        return self.secrets.commit(secret, "all", request)


class CommitsForAll(Keeps):
    """One secret for all holders."""

    async def commit_holder(self, secret, credential, request):
        return self.secrets.commit("all", credential, request)


class SignsForAnyHolder(Keeps):
    """Checks commitments against nothing: what it signs was made for another request."""

    async def sign_bbs_blind(self, name, messages, commitment, request):
        own = self.secrets.commit("another", "else", request)
        return await super().sign_bbs_blind(name, messages, own, request)


class ConsentsToTheFirst(Keeps):
    """Leaves the verifier's context away."""

    async def consent(self, secret, credentials, message, pseudonym):
        return await super().consent(secret, credentials, b"message", None)


class ForgetsHolders(Keeps):
    """Secrets of the process's own."""

    def __init__(self, rows):
        super().__init__(rows, os.urandom(32))


BROKEN = [
    (SharesBlinds, "test_many_may_ask_at_once"),
    (CommitsForAll, "test_a_commitment_is_one_of_the_secret_it_names"),
    (SignsForAnyHolder, "test_it_signs_no_other_commitment"),
    (SignsForAnyHolder, "test_it_signs_what_was_committed_to"),
    (ConsentsToTheFirst, "test_a_consent_is_to_one_message"),
    (ForgetsHolders, "test_secrets_of_holders_outlive_the_process"),
    (ReplacesKeys, "test_generate_again_gives_the_key_that_is_there"),
    (GivesNamesAway, "test_a_name_that_is_taken_is_not_given_away"),
    (FoldsCase, "test_names_are_kept_apart_and_bad_ones_refused"),
    (SignsTheHash, "test_it_signs_what_it_is_given"),
    (SignsForAnother, "test_many_tasks_may_sign_at_once"),
    (RacesItself, "test_many_tasks_that_generate_one_name_get_one_key"),
    (KeepsTheDestroyed, "test_a_destroyed_key_is_gone"),
    (ForgetsAtClosing, "test_keys_outlive_the_process"),
    (ShowsSecrets, "test_secrets_do_not_show"),
    (TakesAnySecret, "test_a_secret_that_is_no_key_is_refused"),
    (OverwritesImports, "test_an_imported_key_is_the_key_of_its_secret"),
    (InventsPublicKeys, "test_an_imported_key_is_the_key_of_its_secret"),
    (RaisesItsOwnErrors, "test_an_unknown_name_is_not_held"),
    (DeclaresTooMuch, "test_generate_returns_a_good_public_key_of_the_type"),
    (MixesKinds, "test_a_key_signs_only_in_its_own_kind"),
    (MixesUpInReading, "test_generate_returns_a_good_public_key_of_the_type"),
]

PROMISES = [
    name for name, member in inspect.getmembers(CustodianConformance, inspect.isfunction) if name.startswith("test_")
]


def failures(make: Callable[[dict[str, Row]], Any]) -> dict[str, str]:
    """The promises that the custodian breaks, with what the kit says about each."""
    broken: dict[str, str] = {}
    for name in PROMISES:
        test = getattr(CustodianConformance(), name)
        parameters = inspect.signature(test).parameters
        for key_type in sorted(make({}).capabilities - {"sign_bbs"}) if "key_type" in parameters else ("",):
            rows: dict[str, Row] = {}
            custodian = make(rows)
            if {"keeper", "signer"} & parameters.keys() and not isinstance(custodian, HolderCustodian):
                continue
            given = {
                "keeper": custodian,
                "signer": custodian,
                "custodian": custodian,
                "signing": custodian,
                "key_type": key_type,
                "reopen": lambda rows=rows: make(rows),
            }
            try:
                test(**{parameter: given[parameter] for parameter in parameters})
            except Skipped:
                continue
            except (Exception, Failed) as failure:
                broken[name] = f"{type(failure).__name__}: {failure}"
    return broken


@pytest.mark.parametrize("sound", [Sound, Keeps])
def test_a_sound_custodian_keeps_every_promise(sound):
    assert failures(sound) == {}
    assert len(PROMISES) >= 26


@pytest.mark.parametrize(
    ("custodian", "promise"), BROKEN, ids=[f"{broken.__name__}-{promise[5:]}" for broken, promise in BROKEN]
)
def test_a_broken_custodian_fails_where_its_fault_lies(custodian, promise):
    assert promise in failures(custodian)


def test_every_promise_says_what_it_is():
    for name in PROMISES:
        assert (getattr(CustodianConformance, name).__doc__ or "").strip(), name
