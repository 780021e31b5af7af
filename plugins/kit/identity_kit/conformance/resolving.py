"""The promises of a method that resolves DIDs elsewhere (``ports.did_method.ResolvingDidMethod``), as tests.

An author subclasses ``ResolvingDidMethodConformance`` and gives one fixture: a function that opens the outside hosts, in the event
loop of a test, as an asynchronous context manager of an ``Outside``::

    class TestMine(ResolvingDidMethodConformance):
        @pytest.fixture
        def outside(self, tmp_path):
            @contextlib.asynccontextmanager
            async def opened():
                async with my_host(tmp_path) as host:
                    yield Outside(MyMethod(host), …)
            return opened
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

import pytest
from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import InvalidDid, InvalidDocument, PluginUnavailable
from identity_core.ports.did_method import ResolvingDidMethod
from identity_kit.conformance.controller import BIRTH, Controller, WalletSigner
from identity_kit.conformance.loops import expect_error, own_loop_per_test

MANY = 20


class Outside(Struct, frozen=True):
    """The outside hosts of a test.

    - ``document``: the published document of ``did``.
    - ``absent``: a DID that is known not to exist.
    - ``unreachable``: a DID that cannot be looked up.
    - ``borrowed``: a DID with the document of another one.
    - ``unfit``: DIDs whose documents have an invalid form (``identity_did_ids.foreign``).
    """

    method: ResolvingDidMethod
    did: Did
    document: Mapping[str, JsonValue]
    absent: Did
    unreachable: Did
    borrowed: Did
    unfit: Sequence[Did]


Opened = Callable[[], AbstractAsyncContextManager[Outside]]


@own_loop_per_test
class ResolvingDidMethodConformance:
    """The tests of a resolving method: subclass it, give ``outside``, and run pytest."""

    async def test_it_is_a_resolving_method(self, outside: Opened) -> None:
        """Check that it has the port's members, ``resolve`` is a coroutine, and its own DIDs pass its check."""
        async with outside() as world:
            assert isinstance(world.method, ResolvingDidMethod)
            assert inspect.iscoroutinefunction(world.method.resolve)
            for did in (world.did, world.absent, world.unreachable, world.borrowed, *world.unfit):
                assert did.method == world.method.name
                world.method.check(did)

    async def test_published_version_is_shown(self, outside: Opened) -> None:
        """The state holds the document as it was found, and is not deactivated."""
        async with outside() as world:
            state = await world.method.resolve(world.did)
            assert state is not None, "what is published was not found"
            assert state.did == world.did
            assert state.document.to_json() == world.document, "the document was changed on the way"
            assert (state.version_id, state.deactivated) == (1, False)
            assert state.created_at.tzinfo is not None

    async def test_nobody_signs_in_with_what_was_found(self, outside: Opened) -> None:
        """A foreign document gives no key that this installation trusts."""
        async with outside() as world:
            state = await world.method.resolve(world.did)
            assert state is not None
            assert not history.authentication_keys(state, state.updated_at)

    async def test_the_identifier_alone_tells_nothing(self, outside: Opened) -> None:
        """``expand`` is None, at once: only ``resolve`` looks."""
        async with outside() as world:
            for did in (world.did, world.absent, world.unreachable):
                assert world.method.expand(did) is None

    async def test_nothing_is_none(self, outside: Opened) -> None:
        """Check that that there is nothing is an answer, the same each time."""
        async with outside() as world:
            assert [await world.method.resolve(world.absent) for _ in range(3)] == [None] * 3

    async def test_not_to_know_is_not_nothing(self, outside: Opened) -> None:
        """Check that what could not be learnt is ``PluginUnavailable``, each time, and never None."""
        async with outside() as world:
            for _ in range(3):
                await expect_error(PluginUnavailable, world.method.resolve(world.unreachable))

    async def test_invalid_version_is_refused(self, outside: Opened) -> None:
        """A document of another form is ``InvalidDocument``, each time, and shown in no part."""
        async with outside() as world:
            assert world.unfit, "name a DID whose document cannot be shown"
            for did in (*world.unfit, *world.unfit):
                await expect_error(InvalidDocument, world.method.resolve(did))

    async def test_a_document_of_another_did_is_not_shown(self, outside: Opened) -> None:
        """Check that it is nothing, or ``InvalidDocument``."""
        async with outside() as world:
            for _ in range(2):
                with contextlib.suppress(InvalidDocument):
                    assert await world.method.resolve(world.borrowed) is None

    @pytest.mark.parametrize("text", ["did:other:a", "did:{name}:", "did:{name}:é", "did:{name}:..", "did:{name}:%00"])
    async def test_an_identifier_that_is_none_of_it(self, outside: Opened, text: str) -> None:
        """Check that what cannot be a DID of the method is ``InvalidDid``, before anything is asked."""
        async with outside() as world:
            with pytest.raises(InvalidDid):
                _checked(world.method, text.format(name=world.method.name))

    async def test_many_at_once(self, outside: Opened) -> None:
        """Many callers get the same answer, and one that is cancelled does not affect the others."""
        async with outside() as world:
            calls = [asyncio.create_task(world.method.resolve(world.did)) for _ in range(MANY)]
            await asyncio.sleep(0)
            calls[0].cancel()
            states = await asyncio.gather(*calls, world.method.resolve(world.absent), return_exceptions=True)
            for state in states[1:MANY]:
                assert isinstance(state, history.DidState), f"a caller got {state!r}"
                assert state.document.to_json() == world.document
            assert states[MANY] is None
            assert await world.method.resolve(world.did) is not None

    async def test_nothing_is_written_here(self, outside: Opened) -> None:
        """A method whose DIDs are made elsewhere drafts no entry and reads none."""
        async with outside() as world:
            if world.method.mutable:
                pytest.skip("it also keeps DIDs of its own: DidMethodConformance is for those")
            signer = WalletSigner("kit")
            with pytest.raises(InvalidDocument):
                world.method.draft(None, Controller("kit").creation(signer), BIRTH, signer=signer.multikey)
            for entry in (b"", b"{}", b"\xff", b"[" * 5000):
                with pytest.raises(LogInvalid):
                    world.method.apply(None, entry)


def _checked(method: ResolvingDidMethod, text: str) -> None:
    method.check(Did.parse(text))
