"""Who may do what: keys with their scopes, targets and ends, and callers of every kind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from identity_codec.values import replace
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.dids.changes import Authorization
from identity_core.domain.dids.did import Did
from identity_core.errors import Forbidden

NOW = datetime(2026, 1, 2, tzinfo=UTC)
TICK = timedelta(microseconds=1)
HANA = Did.parse("did:ids:QmZVXud7T8h7qtJnoSA4jFk4o37z7nZFWQaiEfrNbZ5Mw7")
OTHER = Did.parse("did:ids:QmNrVDyZTYqSVSJwBKPLNk3Mt9NrKNQxJhAnfDpWmVxpJs")
ADMIN = ApiKey("k1", "one", "0" * 64, None, None, None, None, NOW, fingerprint="f1")
NARROW = replace(ADMIN, scopes=frozenset({"audit:read"}), allowed_targets=frozenset({str(HANA)}))
SIGNED = Caller(did=HANA, authorization=Authorization("DIDAuth", "z6Mk", "didauth:v1", bytes(64)))


@pytest.mark.parametrize("member", ["expires_at", "revoked_at"])
def test_a_key_ends_at_its_end(member: str) -> None:
    key = replace(ADMIN, **{member: NOW})
    assert key.usable(NOW - TICK)
    assert not key.usable(NOW)
    assert not key.usable(NOW + TICK)
    assert ADMIN.usable(NOW)
    assert not replace(ADMIN, expires_at=NOW, revoked_at=NOW + TICK).usable(NOW)


def test_a_key_without_scopes_and_targets_may_everything() -> None:
    ADMIN.require_scope("anything")
    ADMIN.require_target(HANA)
    NARROW.require_scope("audit:read")
    NARROW.require_target(HANA)
    with pytest.raises(Forbidden) as refused:
        NARROW.require_scope("dids:operate")
    assert refused.value.details == {"scope": "dids:operate"}
    with pytest.raises(Forbidden) as refused:
        NARROW.require_target(OTHER)
    assert refused.value.details == {"did": str(OTHER)}
    with pytest.raises(Forbidden):
        replace(ADMIN, allowed_targets=frozenset()).require_target(HANA)


def test_keys_are_compared_without_their_fingerprints() -> None:
    assert replace(ADMIN, fingerprint="f2") == ADMIN
    assert ApiKey("k1", "one", "0" * 64, None, None, None, None, NOW).fingerprint == "-"
    assert ADMIN.source == "sql"


@pytest.mark.parametrize(
    ("caller", "identity", "person", "author"),
    [
        (Caller(api_key=ADMIN), "key:k1", None, "apiKey:f1"),
        (Caller(api_key=replace(ADMIN, lineage="k0")), "key:k0", None, "apiKey:f1"),
        (SIGNED, f"did:{HANA}", HANA, str(HANA)),
        (Caller(subject=HANA), f"sub:{HANA}", HANA, str(HANA)),
        (Caller(subject=HANA, operator=ADMIN), f"key:k1 for {HANA}", None, "apiKey:f1"),
        (Caller(subject=HANA, operator=replace(ADMIN, lineage="k0")), f"key:k0 for {HANA}", None, "apiKey:f1"),
        (Caller(name="service"), "service", None, "None"),
        (Caller(), "", None, "None"),
    ],
)
def test_names(caller: Caller, identity: str, person: Did | None, author: str) -> None:
    assert (caller.identity, caller.person, caller.author) == (identity, person, author)
    assert caller.key is (caller.api_key or caller.operator)


def test_caller_acts_for_its_dids() -> None:
    for caller in (Caller(api_key=ADMIN), SIGNED, Caller(subject=HANA), Caller(subject=HANA, scopes=frozenset({"s"}))):
        caller.require_acting_for(HANA, "s")
    Caller(api_key=NARROW).require_acting_for(HANA, "audit:read")
    Caller(api_key=ADMIN).require_acting_for(OTHER, "s")
    for caller, did in (
        (SIGNED, OTHER),
        (Caller(subject=HANA), OTHER),
        (Caller(), HANA),
        (Caller(api_key=NARROW), HANA),
        (Caller(api_key=replace(NARROW, scopes=None)), OTHER),
        (Caller(subject=HANA, scopes=frozenset({"t"})), HANA),
    ):
        with pytest.raises(Forbidden):
            caller.require_acting_for(did, "s")


def test_scopes_are_those_of_the_key_or_the_token() -> None:
    # The scopes of a token do not narrow the key that is presented beside them.
    Caller(api_key=ADMIN, scopes=frozenset()).require_scope("s")
    SIGNED.require_scope("s")
    for caller in (Caller(api_key=NARROW), Caller(subject=HANA, scopes=frozenset())):
        with pytest.raises(Forbidden) as refused:
            caller.require_scope("s")
        assert refused.value.details == {"scope": "s"}


def test_operation_with_key_accepts_admin() -> None:
    Caller(api_key=ADMIN).require_key("s")
    Caller(api_key=NARROW).require_key("audit:read")
    for caller in (Caller(api_key=NARROW), SIGNED, Caller(subject=HANA, operator=ADMIN)):
        with pytest.raises(Forbidden) as refused:
            caller.require_key("s")
        assert refused.value.details == {"scope": "s"}
    assert Caller(api_key=ADMIN).is_admin
    Caller(api_key=ADMIN).require_admin()
    for caller in (Caller(api_key=NARROW), SIGNED, Caller(subject=HANA, operator=ADMIN), Caller()):
        assert not caller.is_admin
        with pytest.raises(Forbidden) as refused:
            caller.require_admin()
        assert refused.value.details == {"role": "admin"}
