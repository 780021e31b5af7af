"""A recovery that restores a version: what a thief has done since is undone by one more entry, as long as the window lasts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from identity_commands.verify_log import verify
from identity_kit.conformance.controller import BIRTH, Controller, Life

from identity_client import challenge
from identity_codec.values import replace
from identity_core.domain.dids import logs
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    Deactivate,
    Expire,
    NewService,
    Recover,
    RemoveService,
    RemoveVerificationMethod,
    Rotate,
    SetAlsoKnownAs,
    Update,
)
from identity_core.domain.dids.keys import Key
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import AuthFailed, DidDeactivated, DidNotFound, InvalidDocument
from tests.attack.log_forger import LOG_KEY, METHOD, parsed, reminted, resealed

HOUR = timedelta(hours=1)
A = NewService("A", "https://a.example/", "a")
THIEFS = NewService("T", "https://thief.example/", "t")


class Robbed(Life):
    """A DID of two versions whose authentication key a thief has: she adds a key of hers in version 3, throws the owner's out in 4,
    moves the service in 5 and 6."""

    def __init__(self, window: timedelta | None = None, seed: str = "hana", method: Any = METHOD) -> None:
        self.hana = Controller(seed)
        creation = replace(self.hana.creation(LOG_KEY), recovery_window=window)
        super().__init__(method, creation, self.hana, LOG_KEY)
        self.update(AddService(A))
        self.good = self.state
        self.theirs = self.hana.new_key("Ed25519", "authentication")
        self.update(AddVerificationMethod(self.theirs))
        key_id = f"{self.state.did}#{self.creation.keys[0].public}"
        self.by_thief(RemoveVerificationMethod(key_id))
        self.by_thief(RemoveService("a"))
        self.by_thief(AddService(THIEFS), SetAlsoKnownAs(("https://thief.example/",)))

    def by_thief(self, *steps: Any) -> None:
        at = self.later()
        self.change(Update(steps, self.authorize(at, key=self.theirs.public)), at)

    def recovery(self, version: int | None, after: timedelta = HOUR, *, revoke: bool = False) -> tuple[Recover, Any]:
        at = self.state.updated_at + after
        spent = self.authorize(at, key=self.state.recovery_key, scheme=challenge.RECOVERY_KEY)
        return Recover(self.hana.new_key(), revoke, self.hana.key().public, spent, version), at

    def recover(self, version: int | None, after: timedelta = HOUR, *, revoke: bool = False) -> DidState:
        change, at = self.recovery(version, after, revoke=revoke)
        return self.change(change, at)


def multibases(state: DidState) -> list[str]:
    return [method.multibase for method in state.document.methods]


def test_document_is_of_named_version() -> None:
    robbed = Robbed()
    after = robbed.recover(2)
    assert after.document.services == robbed.good.document.services
    assert after.document.also_known_as == ()
    assert multibases(after)[:-1] == multibases(robbed.good)
    assert robbed.theirs.public not in multibases(after)
    assert (after.version_id, after.operation, after.restored) == (7, history.RECOVERED, 2)
    assert logs.changes(robbed.states[-2], after)[0] == "versionRestored 2"
    # In line: the log is one chain, for who has nothing but the log too.
    checked = verify(b"\n".join(robbed.entries))
    assert (checked.versions, checked.document) == (7, after.document.to_json())


def test_thiefs_key_never_comes_back_and_owners_works_again() -> None:
    robbed = Robbed()
    robbed.recover(2)
    with pytest.raises(AuthFailed):
        robbed.by_thief(AddService(THIEFS))
    at = robbed.later()
    theirs = Update((AddVerificationMethod(robbed.theirs),), robbed.authorize(at))
    with pytest.raises(InvalidDocument, match="has been one"):
        robbed.change(theirs, at)
    own = robbed.creation.keys[0].public
    robbed.change(Update((AddService(THIEFS),), robbed.authorize(at, key=own)), at)
    # And it can be rotated away like any other: its return has made no exception for good.
    at = robbed.later()
    robbed.change(Rotate(f"{robbed.state.did}#{own}", robbed.hana.new_key(), None, robbed.authorize(at)), at)
    at = robbed.later()
    again = Key("Ed25519VerificationKey2020", own, ("authentication",))
    change = Update((AddVerificationMethod(again),), robbed.authorize(at))
    with pytest.raises(InvalidDocument, match="has been one"):
        robbed.change(change, at)


def test_with_revoke_all_the_new_key_alone_is_left() -> None:
    robbed = Robbed()
    change, at = robbed.recovery(2, revoke=True)
    after = robbed.change(change, at)
    assert multibases(after) == [change.new_key.public]
    assert after.document.services == robbed.good.document.services
    later, own = robbed.later(), replace(robbed.creation.keys[0], secret=None)
    again = Update((AddVerificationMethod(own),), robbed.authorize(later))
    with pytest.raises(InvalidDocument, match="has been one"):
        robbed.change(again, later)


@pytest.mark.parametrize("window", [None, HOUR, timedelta(days=30)], ids=str)
def test_the_window_ends_at_its_second(window: timedelta | None) -> None:
    """The window begins when the version was replaced, which for version 2 is the time of version 3."""
    robbed = Robbed(window)
    length = window or history.RECOVERY_WINDOW
    change = robbed.recovery(2)[0]
    last = robbed.states[2].updated_at + length
    for at, is_late in ((last, False), (last + timedelta(microseconds=1), True)):
        spent = robbed.authorize(at, key=robbed.state.recovery_key, scheme=challenge.RECOVERY_KEY)
        asked = replace(change, authorization=spent)
        if is_late:
            with pytest.raises(InvalidDocument, match="recovery window") as caught:
                robbed.entry(asked, at)
            seconds = length // timedelta(seconds=1)
            assert caught.value.details == {
                "did": str(robbed.state.did), "versionId": 2, "oldest": 3, "recoveryWindow": seconds,
            }  # fmt: skip
        else:
            METHOD.apply(robbed.state, robbed.entry(asked, at))
    # Without restoreVersion the recovery key is worth what it was.
    assert robbed.recover(None, length * 2 + HOUR).restored is None


def test_a_window_of_nothing_restores_nothing_but_the_present() -> None:
    robbed = Robbed(timedelta(0))
    for version in range(1, 6):
        with pytest.raises(InvalidDocument, match="recovery window"):
            robbed.recover(version)
    assert robbed.recover(6).document.services == robbed.states[5].document.services


@pytest.mark.parametrize("version", [7, 10**9, 0, -1])
def test_a_version_that_there_is_not(version: int) -> None:
    with pytest.raises(DidNotFound, match="no such version"):
        Robbed().recover(version)


def test_a_deactivation_stays_final() -> None:
    robbed = Robbed()
    change, at = robbed.recovery(2, HOUR * 2)
    end = robbed.later()
    robbed.change(Deactivate(robbed.authorize(end, key=robbed.theirs.public)), end)
    with pytest.raises(DidDeactivated):
        robbed.entry(change, at)
    # A reader refuses it as well, even from a holder of the log key: the entry belongs to another history of the DID.
    other = Robbed()
    other.change(change, at)
    with pytest.raises(LogInvalid, match="deactivated"):
        METHOD.apply(robbed.state, resealed(parsed(other.entries[-1]) | {"versionId": "8-x"}, robbed.state))


def test_grace_period_that_ended_meanwhile_does_not_begin_again() -> None:
    hana = Robbed(seed="grace")
    hana.recover(2)
    at = hana.later()
    old = hana.state.document.methods[0]
    end = (at + HOUR).replace(microsecond=0)
    hana.change(Rotate(old.id, hana.hana.new_key(), end, hana.authorize(at)), at)
    fading = hana.state
    hana.change(Expire(), end)
    hana.update(AddService(THIEFS))
    after = hana.recover(fading.version_id)
    assert fading.document.method(old.id) is not None
    assert after.document.method(old.id) is None
    assert THIEFS.fragment not in [service.fragment for service in after.document.services]


def test_one_that_has_not_ended_goes_on() -> None:
    hana = Robbed(seed="grace")
    hana.recover(2)
    at = hana.later()
    old = hana.state.document.methods[0]
    end = (at + 2 * HOUR).replace(microsecond=0)
    hana.change(Rotate(old.id, hana.hana.new_key(), end, hana.authorize(at)), at)
    fading = hana.state
    hana.update(RemoveVerificationMethod(old.id))
    after = hana.recover(fading.version_id)
    method = after.document.method(old.id)
    assert method is not None
    assert method.revoked == end
    assert hana.change(Expire(), end).document.method(old.id) is None


def test_a_bbs_key_that_comes_back_needs_no_second_proof() -> None:
    robbed = Robbed()
    robbed.recover(2)
    key = robbed.hana.new_key("Bls12381G2Key2020")
    robbed.update(AddVerificationMethod(key))
    with_key = robbed.state
    robbed.update(RemoveVerificationMethod(f"{robbed.state.did}#{key.public}"))
    assert robbed.state.proven_keys == ()
    after = robbed.recover(with_key.version_id)
    assert after.proven_keys == with_key.proven_keys == (key.public,)
    assert verify(b"\n".join(robbed.entries)).document == after.document.to_json()


def test_restored_versions_can_be_restored() -> None:
    """A recovery was wrong: the next one takes it back, whatever the chain of them."""
    robbed = Robbed()
    robbed.recover(2)
    robbed.recover(6)
    assert THIEFS.fragment in [service.fragment for service in robbed.state.document.services]
    after = robbed.recover(7)
    assert after.document.services == robbed.good.document.services
    assert verify(b"\n".join(robbed.entries)).versions == 9


def test_a_state_without_its_past_says_so() -> None:
    robbed = Robbed()
    change, at = robbed.recovery(2)
    entry = robbed.entry(change, at)
    bare = history.state_from_json(
        robbed.state.did.text, history.state_to_json(robbed.state), robbed.state.document.encoded
    )
    assert bare == robbed.state
    with pytest.raises(history.HistoryNeeded):
        METHOD.apply(bare, entry)


SPOILT = {
    "another version": lambda said: said.update(restoreVersion=1),
    "no version": lambda said: said.pop("restoreVersion"),
    "the future": lambda said: said.update(restoreVersion=7),
    "a text": lambda said: said.update(restoreVersion="2"),
    "true": lambda said: said.update(restoreVersion=True),
    "a fraction": lambda said: said.update(restoreVersion=2.5),
    "null": lambda said: said.update(restoreVersion=None),
    "all keys revoked": lambda said: said.update(revokeAll=True),
}


@pytest.mark.parametrize("name", SPOILT)
def test_an_entry_whose_document_is_not_that_of_the_version(name: str) -> None:
    robbed = Robbed()
    change, at = robbed.recovery(2)
    item = parsed(robbed.entry(change, at))
    METHOD.apply(robbed.state, resealed(item, robbed.state))
    SPOILT[name](item["parameters"]["change"])
    with pytest.raises(LogInvalid):
        METHOD.apply(robbed.state, resealed(item, robbed.state))


@pytest.mark.parametrize("seconds", [-1, 2_592_001, 259_200, "3600", 3600.5, True, None])
def test_a_first_entry_that_says_another_window_than_there_is(seconds: object) -> None:
    """72 hours are not said, because logs of before say nothing."""
    item = parsed(Robbed(HOUR).entries[0])
    assert item["parameters"]["change"]["recoveryWindow"] == 3600
    METHOD.apply(None, reminted(item))
    item["parameters"]["change"]["recoveryWindow"] = seconds
    with pytest.raises(LogInvalid):
        METHOD.apply(None, reminted(item))


def test_a_later_entry_says_no_window() -> None:
    robbed = Robbed()
    item = parsed(robbed.entries[1])
    item["parameters"]["change"]["recoveryWindow"] = 60
    with pytest.raises(LogInvalid):
        METHOD.apply(robbed.states[0], resealed(item, robbed.states[0]))


@pytest.mark.parametrize("window", [timedelta(seconds=-1), timedelta(days=30, seconds=1)])
def test_no_did_is_made_with_a_longer_window(window: timedelta) -> None:
    hana = Controller("hana")
    with pytest.raises(InvalidDocument, match="recoveryWindow"):
        METHOD.draft(None, replace(hana.creation(LOG_KEY), recovery_window=window), BIRTH, signer=LOG_KEY.multikey)
