"""The eight tools: what each is called, may be sent, and does at the service. None changes a DID, issues or revokes anything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote

from jsonschema_rs import Draft202012Validator
from mcp.types import Tool, ToolAnnotations
from msgspec import Struct

from identity_mcp import schemas
from identity_mcp.schemas import Json
from identity_mcp.service import Refused, Service

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
            raise Refused("INVALID_REQUEST", f"{place}: {wrong.message[:300]}")
        return await self.run(service, dict(given))


def _tool(
    run: Callable[[Service, Json], Awaitable[Json]],
    title: str,
    description: str,
    given: Json,
    gives: Json,
    *,
    reads: bool = True,
    repeats: bool = True,
    open_world: bool = False,
) -> AgentTool:
    hints = ToolAnnotations(
        read_only_hint=reads, destructive_hint=False, idempotent_hint=repeats, open_world_hint=open_world
    )
    tool = Tool(
        name=run.__name__,
        title=title,
        description=description,
        input_schema=given,
        output_schema=gives,
        annotations=hints,
    )
    return AgentTool(tool, Draft202012Validator(given), run)


TOOLS: Final = {
    one.tool.name: one
    for one in (
        _tool(
            resolve_did,
            "Resolve a DID",
            "The DID document of a DID, of now, of a version or of a time.",
            schemas.RESOLVE_IN,
            schemas.RESOLVE_OUT,
            open_world=True,
        ),
        _tool(
            check_delegation,
            "Check a request for a proof",
            "What would refuse a request for a proof. Spends nothing, and does not say whether the predicate holds.",
            schemas.CHECK_IN,
            schemas.CHECK_OUT,
        ),
        _tool(
            list_delegations,
            "List delegations",
            "What holders have delegated to this agent.",
            schemas.LIST_IN,
            schemas.LIST_OUT,
        ),
        _tool(
            request_proof,
            "Request a proof",
            "Proves that a predicate holds of a holder's credential, without showing the attribute. Takes an IBCT that the holder has "
            "signed for this agent and this predicate; it works once, and the identical request gets the identical answer. Without one "
            "the holder is asked where the service has pages: give her consentUrl, and call again with the same arguments and "
            "consentId.",
            schemas.REQUEST_IN,
            schemas.REQUEST_OUT,
            reads=False,
        ),
        _tool(
            request_presentation,
            "Request a presentation",
            "Proves several predicates over one credential (credentialId, predicates), or over several (credentials, which needs an IBCT), "
            "in one proof. Everything else is as for request_proof.",
            schemas.PRESENT_IN,
            schemas.REQUEST_OUT,
            reads=False,
        ),
        _tool(
            verify_proof,
            "Verify a proof",
            "The verdict on a proof: valid, if it is what you expect and expect has predicate, challenge, domain and issuerDid; unbound, "
            "if it is genuine but one of these is missing, so that it could be a replay; invalid.",
            schemas.VERIFY_IN,
            schemas.VERIFY_OUT,
        ),
        _tool(
            get_proof,
            "Get a proof",
            "A stored proof of this agent, with its anchor.",
            schemas.GET_IN,
            schemas.GET_OUT,
        ),
        _tool(
            create_challenge,
            "Create a challenge",
            "A challenge to give to a holder who shall prove something to you.",
            schemas.CHALLENGE_IN,
            schemas.CHALLENGE_OUT,
            reads=False,
            repeats=False,
        ),
    )
}
