"""The promises of a custodian of private keys, as tests (``ports/custodian.py``).

An author subclasses ``CustodianConformance`` with one fixture, and a second one when keys outlive the process::

    class TestMyCustodian(CustodianConformance):
        @pytest.fixture
        def custodian(self, tmp_path): return MyCustodian(tmp_path)

        @pytest.fixture
        def reopen(self, tmp_path): return lambda: MyCustodian(tmp_path)

``custodian`` must hold no keys. A custodian that does without a key type does not declare it, and the tests of it are
skipped. Signatures are checked with our own verifiers, so the custodian may be built on anything. Left out on purpose:
how keys are protected at rest; the author knows best how to attack that.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from identity_core.codec import multikey
from identity_core.conformance.custodian_examined import DID, KEY_TYPES, PURPOSE, SECRET, closed, run, verified
from identity_core.conformance.custodian_keys import KeyPromises
from identity_core.conformance.custodian_signatures import SigningPromises
from identity_core.domain.custody import KeyNameTaken, KeyNotHeld
from identity_core.ports.custodian import Custodian

__all__ = ["DID", "KEY_TYPES", "PURPOSE", "SECRET", "CustodianConformance", "closed", "run", "verified"]


class CustodianConformance(KeyPromises, SigningPromises):
    """What every custodian promises."""

    @pytest.fixture
    def reopen(self) -> Callable[[], Custodian]:
        """Opens the same keys a second time."""
        pytest.skip("the author gives no fixture 'reopen': its keys do not outlive the process")

    def test_it_is_a_custodian(self, custodian: Custodian) -> None:
        """The object has the methods of the port and declares something."""
        assert isinstance(custodian, Custodian)
        assert custodian.capabilities, "a custodian without capabilities is of no use"
        assert custodian.capabilities <= {*KEY_TYPES, "sign_bbs"}, "an unknown capability is declared"
        assert not hasattr(custodian, "private_key"), "a private key could come out"

    def test_secrets_do_not_show(self, custodian: Custodian, key_type: str) -> None:
        """Neither the object nor an error shows a secret that was imported."""

        async def scenario() -> str:
            await custodian.import_key("k", key_type, SECRET, did=DID, purpose=PURPOSE)
            with pytest.raises(KeyNameTaken) as refusal:
                await custodian.import_key("k", key_type, SECRET, did=DID, purpose="other")
            return f"{custodian!r} {refusal.value!r} {refusal.value.details}"

        shown = run(scenario())
        for form in (repr(SECRET), SECRET.hex(), multikey.encode_secret(key_type, SECRET)):
            assert form not in shown, "a secret shows"

    def test_keys_outlive_the_process(
        self, custodian: Custodian, key_type: str, reopen: Callable[[], Custodian]
    ) -> None:
        """What ``generate``, ``import_key`` and ``destroy`` did holds when the keys are opened again."""

        async def before() -> list[str]:
            made = await custodian.generate("made", key_type, did=DID, purpose=PURPOSE)
            taken = await custodian.import_key("taken", key_type, SECRET, did=DID, purpose=PURPOSE)
            await custodian.generate("gone", key_type, did=DID, purpose=PURPOSE)
            await custodian.destroy("gone")
            return [made, taken]

        async def after(again: Custodian) -> list[str]:
            with pytest.raises(KeyNotHeld):
                await again.public_key("gone")
            if key_type == multikey.ED25519:
                await verified(again, "made", b"message")
            found = [await again.public_key("made"), await again.public_key("taken")]
            await closed(again)
            return found

        assert run(before()) == run(after(reopen())), "keys were lost or changed"

    def test_closing_twice_is_no_error(self, custodian: Custodian) -> None:
        """``close``, where there is one, may be called twice."""

        async def scenario() -> None:
            await closed(custodian)
            await closed(custodian)

        run(scenario())
