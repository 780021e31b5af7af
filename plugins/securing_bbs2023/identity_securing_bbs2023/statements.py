"""From a JSON-LD document to its canonical statements (RDFC-1.0), within bounds that no document exceeds.

PyLD expands and canonicalises. What it leaves out is decided here: contexts come from the wheel alone; what expansion would drop without
a word is refused, because it would not have been signed; an IRI has the characters of an IRI, or it could end its statement and begin
another; and the search for labels of blank nodes that look alike, which a hostile graph makes exponential, has a budget.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cachetools import LRUCache
from pyld.canon import URDNA2015
from pyld.context_resolver import ContextResolver
from pyld.documentloader.frozen import BUNDLED_CONTEXTS, FrozenDocumentLoader
from pyld.identifier_issuer import IdentifierIssuer
from pyld.jsonld import JsonLdError, JsonLdProcessor
from pyld.nquads import serialize_nquad

from identity_securing_bbs2023.contexts import OURS, VC_CONTEXT
from identity_securing_bbs2023.proof_values import MAX_QUADS
from identity_securing_bbs2023.refused import Malformed, malformed
from identity_securing_bbs2023.tree import Quad, tree

MAX_BLANK_NODES: Final = 64
MAX_PERMUTATIONS: Final = 2_000
"""Orders of blank nodes with equal hashes that may be tried; six that nothing tells apart need 720."""
SKOLEM: Final = "urn:bnid:"
"""How blank nodes are named while statements are selected (VC Data Integrity ECDSA 1.0 §3.4)."""

Labels = Mapping[str, str]
"""The label of a blank node in a document → its canonical label; without ``_:``."""

_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_PATHS: Final = {VC_CONTEXT: BUNDLED_CONTEXTS[VC_CONTEXT], **OURS}


class _Canonical(URDNA2015):  # type: ignore[misc]
    """RDFC-1.0 (URDNA2015 under its later name) with a budget for poisoned graphs (RDFC-1.0 §7.1)."""

    def __init__(self) -> None:
        super().__init__()
        self._tried = 0

    def create_hash_to_related(self, id_: str, issuer: Any) -> Any:
        related = super().create_hash_to_related(id_, issuer)
        self._tried += 1 + sum(math.factorial(min(len(alike), 20)) for alike in related.values())
        if self._tried > MAX_PERMUTATIONS:
            malformed("too many blank nodes look alike")
        return related


class Statements:
    """JSON-LD with the contexts of the wheel. It remembers processed contexts and belongs to one thread."""

    def __init__(self) -> None:
        loader = FrozenDocumentLoader(documents=_PATHS)
        self._options = {
            "documentLoader": loader,
            "contextResolver": ContextResolver(LRUCache(maxsize=64), loader),
            "rdfDirection": "i18n-datatype",
            # PyLD makes up a base for relative IRIs unless there is to be none.
            "base": None,
        }
        self._processor = JsonLdProcessor(on_property_dropped=_dropped)

    def expand(self, document: Mapping[str, Any], *, skolems: bool = False) -> list[Any]:
        """Return the expanded form, of which everything becomes a statement. ``skolems``: it is one of ours, whose blank nodes have
        skolem names. Raises ``Malformed``."""
        try:
            expanded: list[Any] = self._processor.expand(document, self._options)
        except Malformed:
            raise
        except (JsonLdError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            # PyLD meets input that it did not expect with errors of Python.
            malformed("the document is not JSON-LD with contexts that are known here")
        if len(expanded) != 1:
            malformed("the document says nothing, or several things")
        _check_expanded(expanded, skolems)
        return expanded

    def compact(self, expanded: list[Any], context: Any) -> dict[str, Any]:
        """Return the compacted form. Raises ``Malformed``."""
        try:
            compacted: dict[str, Any] = self._processor.compact(expanded, context, self._options)
        except (JsonLdError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            malformed("the document cannot be compacted")
        return compacted

    def quads(self, expanded: list[Any]) -> list[Quad]:
        """Return the statements of an expanded document, with blank nodes instead of skolem names. Raises ``Malformed``."""
        options = {**self._options, "identifierIssuer": IdentifierIssuer("_:b")}
        try:
            dataset = self._processor.to_rdf(expanded, options)
        except (JsonLdError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            malformed("the document has no statements")
        if dataset.keys() - {"@default"}:
            malformed("a part of the document is a graph of its own")
        found: list[Quad] = [
            {key: _deskolemized(part) for key, part in triple.items()} for triple in dataset.get("@default", ())
        ]
        if len(found) > MAX_QUADS:
            malformed(f"the document has more than {MAX_QUADS} statements")
        return found

    def pinned(self, quads: list[Quad], root: str | None, contexts: Sequence[Any]) -> dict[str, Any]:
        """Return the statements about ``root``, compacted with those of ``contexts`` that are of the wheel.

        A term of any other context is written as its IRI. Raises ``Malformed``.
        """
        known = [*dict.fromkeys(context for context in contexts if isinstance(context, str))]
        return self.compact([tree(quads, root)], known)


def documents() -> dict[str, Any]:
    """Return every context of the wheel by its address, for those who check what this plugin makes."""
    return {address: json.loads(path.read_bytes()) for address, path in _PATHS.items()}


def canonical_labels(quads: list[Quad]) -> Labels:
    """Return the label that RDFC-1.0 gives to each blank node. Raises ``Malformed`` for a graph beyond the bounds."""
    nodes = {part["value"] for quad in quads for part in quad.values() if part["type"] == "blank node"}
    if len(nodes) > MAX_BLANK_NODES:
        malformed(f"the document has more than {MAX_BLANK_NODES} blank nodes")
    # PyLD writes into what it is given.
    copied = [{key: dict(part) for key, part in quad.items()} for quad in quads]
    algorithm = _Canonical()
    algorithm.main({"@default": copied}, {"format": "application/n-quads"})
    return {name[2:]: label[2:] for name, label in algorithm.canonical_issuer.existing.items()}


def lines(quads: list[Quad], labels: Labels) -> list[str]:
    """Return the statements as N-Quads with these labels, each once, in the order of their code points."""
    return sorted({serialize_nquad({key: _labelled(part, labels) for key, part in quad.items()}) for quad in quads})


def skolemized(value: Any, names: Iterator[str]) -> Any:
    """Return an expanded value whose blank nodes have the names of ``names``, or what follows from their own labels."""
    if isinstance(value, list):
        return [skolemized(one, names) for one in value]
    if not isinstance(value, dict) or "@value" in value:
        return value
    keep = ("@id", "@type", "@index", "@direction", "@language")
    named = {key: part if key in keep else skolemized(part, names) for key, part in value.items()}
    if "@list" in value or "@set" in value:
        return named
    own = named.get("@id")
    named["@id"] = SKOLEM + next(names) if own is None else SKOLEM + own[2:] if own.startswith("_:") else own
    return named


def _dropped(_: str | None) -> None:
    malformed("a member of the document has no meaning in its contexts")


def _labelled(part: Mapping[str, str], labels: Labels) -> Mapping[str, str]:
    return {**part, "value": f"_:{labels[part['value'][2:]]}"} if part["type"] == "blank node" else part


def _deskolemized(part: Mapping[str, str]) -> Mapping[str, str]:
    if part["type"] == "IRI" and part["value"].startswith(SKOLEM):
        return {"type": "blank node", "value": "_:" + part["value"].removeprefix(SKOLEM)}
    return part


def _check_expanded(value: Any, skolems: bool) -> None:
    """Refuse what would make no statement of its own: relative IRIs, ill-formed languages, properties without a value."""
    if isinstance(value, list):
        for one in value:
            _check_expanded(one, skolems)
    elif isinstance(value, dict):
        for key, part in value.items():
            _check_member(key, part, skolems)


def _check_member(key: str, part: Any, skolems: bool) -> None:
    if key in ("@id", "@type"):
        for name in part if isinstance(part, list) else [part]:
            _check_name(name, skolems)
    elif key == "@language":
        if _LANGUAGE.fullmatch(part) is None:
            malformed("a language is ill-formed")
    elif key == "@value":
        if isinstance(part, str) and _CONTROL.search(part):
            malformed("a text has control characters")
    elif key in ("@list", "@set", "@graph", "@direction"):
        _check_expanded(part, skolems)
    elif key.startswith("@"):
        malformed(f"the keyword {key} is not used here")
    else:
        _check_name(key, skolems)
        if part == []:
            malformed("a member has no value")
        _check_expanded(part, skolems)


def _check_name(name: Any, skolems: bool) -> None:
    if name == "@json":
        return
    if not isinstance(name, str) or _IRI.fullmatch(name) is None:
        malformed("an IRI is not absolute, or has characters that none has")
    if name.startswith(SKOLEM) and not skolems:
        malformed("an IRI is of those that stand for blank nodes")
