"""resolveIdentifier, resolveIdentifierWithOptions: what a DID or a DID URL leads to (DID Resolution §4 and §5): a document, a part of it,
or the place of a service.

listDidMethods, listDidMethodProperties, listTestIdentifiers, listDidTraits: what this installation can resolve, for clients that
ask a resolver before they use it (DIF Universal Resolver).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_codec.structs import value_or
from identity_codec.values import replace
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.keys import KEY_TYPES, MULTIKEY, MULTIKEY_CONTEXT, RELATIONSHIPS
from identity_core.errors import DidMethodNotSupported, DidNotFound, FeatureNotSupported, InvalidRequest
from identity_core.ports.did_method import DescribedDidMethod, DidMethod, PublishingDidMethod, ResolvingDidMethod
from identity_core.use_cases.dids.read import Resolution, ResolveDid
from identity_core.wire import ResolveDidQuery
from identity_universal import did_url
from identity_universal.did_url import DidUrl
from identity_universal.wire import DidMethodPattern, DidMethodProperties, DidResolutionOptions, ResolveIdentifierQuery


class Dereferenced(Struct, frozen=True):
    """``resolution`` of the DID in ``url``; ``content`` is what a fragment names in it, ``endpoint`` where a service is."""

    resolution: Resolution
    url: DidUrl
    content: Mapping[str, JsonValue] | None = None
    endpoint: str | None = None


class Identifiers(Struct, frozen=True):
    """The operations of the tag over ``methods``, the installed ones by name. ``listed`` are the test identifiers of the operator."""

    resolve: ResolveDid
    methods: Mapping[str, DidMethod]
    listed: Sequence[Did] = ()

    async def dereference(self, text: str, query: ResolveIdentifierQuery) -> Dereferenced:
        """Raises what ``ResolveDid`` does, ``DidMethodNotSupported`` for a DID of a method that is not installed, ``InvalidDidUrl``,
        ``FeatureNotSupported`` and ``DidUrlNotFound`` for what follows the DID, ``InvalidRequest`` for a repeated parameter."""
        url = DidUrl.parse(text).with_options(query.version_id, query.version_time, query.service, query.relative_ref)
        did = self.resolve.reader.parse(str(url.did))
        if url.relative_ref is not None and url.service is None:
            raise InvalidRequest("relativeRef goes with service.", details={"parameter": "relativeRef"})
        try:
            asked = ResolveDidQuery(version_id=url.version_id, version_time=url.version_time)
            found = await self.resolve(did, asked)
        except DidNotFound:
            if did.method not in self.methods:
                supported: list[JsonValue] = [*self.names()]
                raise DidMethodNotSupported(details={"did": did.safe_text, "supported": supported}) from None
            raise
        if (
            query.no_cache
            and found.version.receipt is None
            and isinstance(self.methods.get(did.method), ResolvingDidMethod)
        ):
            raise FeatureNotSupported(details={"feature": "noCache"})
        if found.deactivated:
            return Dereferenced(found, url)
        return _selected(did, url, _with_multikeys(found) if query.public_key_format is not None else found)

    async def dereference_with(self, text: str, options: DidResolutionOptions) -> Dereferenced:
        """Raises what ``dereference`` does. ``options`` are as DID Resolution §4.1 types them: a version is text."""
        version_id = value_or(options.version_id, None)
        query = ResolveIdentifierQuery(
            version_id=None if version_id is None else int(version_id),
            version_time=value_or(options.version_time, None),
            service=value_or(options.service, None),
            relative_ref=value_or(options.relative_ref, None),
            no_cache=value_or(options.no_cache, False),
            public_key_format=value_or(options.public_key_format, None),
        )
        return await self.dereference(text, query)

    def names(self) -> Sequence[str]:
        """Return the names of the methods, sorted."""
        return sorted(self.methods)

    def properties(self) -> Mapping[str, DidMethodProperties]:
        """Return the properties of each method."""
        return {
            name: DidMethodProperties(
                http=DidMethodPattern(pattern=f"^did:{name}:.+$"),
                mutable=method.mutable,
                publishes_logs=isinstance(method, PublishingDidMethod) and method.log_path is not None,
                looks_elsewhere=isinstance(method, ResolvingDidMethod),
            )
            for name, method in sorted(self.methods.items())
        }

    def test_identifiers(self) -> Mapping[str, Sequence[str]]:
        """Return the test identifiers of each method, with those that the operator ``listed``."""
        found: dict[str, list[str]] = {}
        for name, method in sorted(self.methods.items()):
            own = method.test_identifiers if isinstance(method, DescribedDidMethod) else ()
            found[name] = [*own, *(str(did) for did in self.listed if did.method == name)]
        return {name: dids for name, dids in found.items() if dids}

    def traits(self) -> Mapping[str, Mapping[str, JsonValue]]:
        """Return the traits of each method; of one that does not describe itself, whether its DIDs change."""
        found: dict[str, Mapping[str, JsonValue]] = {}
        for name, method in sorted(self.methods.items()):
            known = dict.fromkeys(("supportsUpdate", "supportsDeactivate"), method.mutable)
            said = method.traits if isinstance(method, DescribedDidMethod) else known
            found[name] = {"name": name, **said}
        return found


def _selected(did: Did, url: DidUrl, found: Resolution) -> Dereferenced:
    document = found.version.state.document.encoded
    if url.service is not None:
        return Dereferenced(found, url, endpoint=did_url.endpoint(did, document, url))
    if url.fragment is not None:
        return Dereferenced(found, url, content=did_url.secondary_resource(did, document, url.fragment))
    return Dereferenced(found, url)


def _with_multikeys(found: Resolution) -> Resolution:
    state = found.version.state
    data = orjson.dumps(with_multikeys(orjson.loads(state.document.encoded)))
    return replace(found, version=replace(found.version, state=replace(state, document=DidDocument.load(data))))


def with_multikeys(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with each key of a known type as a ``Multikey`` (CID 1.0), which has the same members. The context of
    ``Multikey`` replaces the contexts of these types. A key in another form stays as it is."""

    def converted(method: Any) -> Any:
        kind = method.get("type") if isinstance(method, dict) and "publicKeyMultibase" in method else None
        return method | {"type": MULTIKEY} if isinstance(kind, str) and kind in KEY_TYPES else method

    members = ("verificationMethod", *RELATIONSHIPS)
    methods = {name: [*map(converted, document[name])] for name in members if isinstance(document.get(name), list)}
    if all(methods[name] == document[name] for name in methods):
        return dict(document)
    replaced, said = [*(kind.context for kind in KEY_TYPES.values()), MULTIKEY_CONTEXT], document.get("@context", [])
    first, *contexts = [one for one in (said if isinstance(said, list) else [said]) if one not in replaced] or [None]
    return {**document, "@context": [*([] if first is None else [first]), MULTIKEY_CONTEXT, *contexts], **methods}
