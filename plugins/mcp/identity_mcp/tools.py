"""The eight tools, which ``tools.json`` declares with their JSON Schemas (2020-12). None changes a DID, issues or revokes anything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

import orjson
from jsonschema_rs import Draft202012Validator
from mcp.types import Tool, ToolAnnotations
from msgspec import Struct

from identity_mcp.service import Refused, Service

Json = dict[str, Any]
PROOF_URI: Final = "identity://proofs/"


async def resolve_did(service: Service, given: Json) -> Json:
    """resolveDid."""
    if isinstance(given.get("versionId"), float):
        # The schema calls 1.0 an integer.
        given["versionId"] = int(given["versionId"])
    found: Json = await service.ask("resolveDid", path={"did": given.pop("did")}, query=given)
    return found


async def check_delegation(service: Service, given: Json) -> Json:
    """checkDelegatedProof."""
    found: Json = await service.ask("checkDelegatedProof", {**given, "agentDid": service.did})
    return found


async def list_delegations(service: Service, given: Json) -> Json:
    """listDelegations, of those to this agent."""
    page: Json = await service.ask("listDelegations", query={**given, "agentDid": service.did})
    return page


async def request_proof(service: Service, given: Json) -> Json:
    """generateDelegatedProof, with the IBCT of the arguments or the one that the holder gives when she is asked."""
    return await _proved(service, "generateDelegatedProof", given)


async def request_presentation(service: Service, given: Json) -> Json:
    """createDelegatedPresentation, in the same way."""
    return await _proved(service, "createDelegatedPresentation", given)


async def _proved(service: Service, operation: str, given: Json) -> Json:
    """Return the proof as a link, because it is of no use to a model and kilobytes long."""
    include = given.pop("includeProof", False)
    if "ibct" not in given:
        said = dict(await service.consent(given))
        if said["status"] == "proved" and include:
            said["proof"] = (await service.ask("getProof", path={"proofId": said["proofId"]}))["proof"]
        if said["status"] != "approved":
            return said
        given |= {name: said[name] for name in ("ibct", "credentialId")}
    for name in ("consentId", "purpose"):
        given.pop(name, None)
    made = await service.ask(operation, {**given, "agentDid": service.did})
    answer = {"status": "proved", "proofId": made["proofId"], "delegationId": made["delegationId"]}
    answer |= {"proofUri": PROOF_URI + quote(made["proofId"], safe=""), "anchor": made.get("anchor")}
    return answer | ({"proof": made["proof"]} if include else {})


async def verify_proof(service: Service, given: Json) -> Json:
    """verifyProof or verifyStoredProof."""
    expected = given.get("expect", {})
    verdict: Json
    if "proofId" in given:
        verdict = await service.ask("verifyStoredProof", expected, path={"proofId": given["proofId"]})
    else:
        verdict = await service.ask("verifyProof", given["proof"] | expected)
    return verdict


async def get_proof(service: Service, given: Json) -> Json:
    """getProof."""
    record: Json = await service.ask("getProof", path={"proofId": given["proofId"]})
    return record


async def create_challenge(service: Service, given: Json) -> Json:
    """createVerifierChallenge."""
    made: Json = await service.ask("createVerifierChallenge", given)
    return made


class AgentTool(Struct, frozen=True):
    """A tool, what checks its arguments, and what runs it."""

    tool: Tool
    arguments: Draft202012Validator
    run: Callable[[Service, Json], Awaitable[Json]]

    async def __call__(self, service: Service, given: Json) -> Json:
        """Raise ``Refused`` for arguments that the published schema refuses, and what the service raises."""
        wrong = next(iter(self.arguments.iter_errors(given)), None)
        if wrong is not None:
            place = "/".join(map(str, wrong.instance_path)) or "arguments"
            reason = wrong.message[:300]
            details = {
                "parameter": place,
                "reason": reason,
                "remedy": "Compare the arguments with the inputSchema of the tool.",
            }
            raise Refused("INVALID_REQUEST", f"{place}: {reason}", details)
        return await self.run(service, dict(given))


def _expanded(node: Any) -> Any:
    """Return a schema with each reference replaced by its definition, because many models do not follow references."""
    if isinstance(node, list):
        return [_expanded(one) for one in node]
    if not isinstance(node, dict):
        return node
    own = {name: _expanded(value) for name, value in node.items() if name != "$ref"}
    definition = node.get("$ref", "").removeprefix("#/definitions/")
    return _expanded(_DECLARED["definitions"][definition]) | own if definition else own


def _tool(declared: Json) -> AgentTool:
    hints = ToolAnnotations(
        read_only_hint=declared["readOnly"],
        destructive_hint=False,
        idempotent_hint=declared["idempotent"],
        open_world_hint=declared["openWorld"],
    )
    given, gives = _expanded(declared["input"]), _expanded(declared["output"])
    texts = {name: declared[name] for name in ("name", "title", "description")}
    tool = Tool(**texts, input_schema=given, output_schema=gives, annotations=hints)
    return AgentTool(tool, Draft202012Validator(given), _RUN[tool.name])


_DECLARED: Final[Json] = orjson.loads(files(__package__).joinpath("tools.json").read_bytes())
_RUN: Final = {
    run.__name__: run
    for run in (
        *(resolve_did, check_delegation, list_delegations, request_proof),
        *(request_presentation, verify_proof, get_proof, create_challenge),
    )
}
TOOLS: Final = {one["name"]: _tool(one) for one in _DECLARED["tools"]}
