"""Standard input: {"url", "dids"}. Looks up each DID as an agent of ACA-Py does whose setting ``resolver.universal`` is ``url``, and that
asks there which DIDs are supported. Standard output: {DID: document, or the name of the error}.
"""

from __future__ import annotations

import asyncio
import json
import sys

from aries_cloudagent.config.injection_context import InjectionContext
from aries_cloudagent.core.profile import Profile
from aries_cloudagent.resolver.base import ResolverError
from aries_cloudagent.resolver.default.universal import UniversalResolver
from aries_cloudagent.resolver.did_resolver import DIDResolver


class Agent(Profile):
    """One that keeps nothing."""

    def session(self, context: InjectionContext | None = None) -> None:
        """Never asked for."""

    def transaction(self, context: InjectionContext | None = None) -> None:
        """Never asked for."""


async def main() -> None:
    """As the agent starts and is asked."""
    asked = json.load(sys.stdin)
    context, universal = InjectionContext(settings={"resolver.universal": asked["url"]}), UniversalResolver()
    await universal.setup(context)
    resolver, found = DIDResolver([universal]), {}
    for did in asked["dids"]:
        try:
            found[did] = await resolver.resolve(Agent(context=context), did)
        except ResolverError as error:
            found[did] = type(error).__name__
    print(json.dumps(found))


asyncio.run(main())
