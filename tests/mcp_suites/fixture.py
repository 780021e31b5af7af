"""What the conformance suite of the Model Context Protocol calls, beside the tools of the service: ``test_*`` tools, resources and prompts
as its scenarios ask for them. The transport, who may call, the errors and the checks of headers are those of the service, which loads
this instead of its application (``identity.applications``).
"""

from __future__ import annotations

import base64
import contextlib
import struct
import zlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import mcp_types as types
from identity_mcp.http import open_application, service_of
from identity_mcp.server import AgentServer, Context, make_server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from starlette.types import ASGIApp


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# One red dot, and one sample of silence.
PNG = _base64(
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
    + _chunk(b"IEND", b"")
)
WAV = _base64(
    b"RIFF"
    + struct.pack("<I", 37)
    + b"WAVEfmt "
    + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
    + b"data"
    + struct.pack("<I", 1)
    + b"\x80"
)

EMPTY = {"type": "object", "properties": {}}
CUSTOM = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
KEYWORDS = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def text(words: str) -> types.TextContent:
    return types.TextContent(text=words)


def image() -> types.ImageContent:
    return types.ImageContent(data=PNG, mime_type="image/png")


def embedded(uri: str, words: str, kind: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=kind, text=words))


CONTENTS: dict[str, list[types.ContentBlock]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [image()],
    "test_audio_content": [types.AudioContent(data=WAV, mime_type="audio/wav")],
    "test_embedded_resource": [embedded("test://embedded-resource", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        image(),
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ],
    "test_streaming_elicitation": [text("Nothing is asked on the stream of an answer.")],
    "test_custom_header": [text("Regional.")],
    "json_schema_2020_12_tool": [text("Called.")],
}


def elicit(message: str, **properties: str) -> types.ElicitRequest:
    schema = {"type": "object", "properties": {name: {"type": kind} for name, kind in properties.items()}}
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema | {"required": [*properties]})
    )


def sample(words: str, most: int) -> types.CreateMessageRequest:
    said = types.SamplingMessage(role="user", content=text(words))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[said], max_tokens=most))


def asked_by(**requests: Any) -> dict[str, Any]:
    return requests


# What a tool asks, round by round; each round has a state of its own.
ROUNDS: dict[str, list[dict[str, Any]]] = {
    "test_input_required_result_elicitation": [asked_by(user_name=elicit("What is your name?", name="string"))],
    "test_input_required_result_sampling": [asked_by(capital_question=sample("What is the capital of France?", 100))],
    "test_input_required_result_list_roots": [asked_by(client_roots=types.ListRootsRequest())],
    "test_input_required_result_request_state": [asked_by(confirm=elicit("Please confirm", ok="boolean"))],
    "test_input_required_result_multiple_inputs": [
        asked_by(
            user_name=elicit("What is your name?", name="string"),
            greeting=sample("Generate a greeting", 50),
            client_roots=types.ListRootsRequest(),
        )
    ],
    "test_input_required_result_multi_round": [
        asked_by(step1=elicit("Step 1: What is your name?", name="string")),
        asked_by(step2=elicit("Step 2: What is your favorite color?", color="string")),
    ],
    "test_input_required_result_tampered_state": [asked_by(confirm=elicit("Please confirm", ok="boolean"))],
    "test_input_required_result_capabilities": [
        asked_by(user_name=elicit("What is your name?", name="string"), greeting=sample("Generate a greeting", 50))
    ],
    "test_input_required_result_prompt": [
        asked_by(user_context=elicit("What context should the prompt use?", context="string"))
    ],
}
# May be answered without the state of the question: the scenario sends none.
STATELESS = {"test_input_required_result_elicitation", "test_input_required_result_prompt"}
NEEDED = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def rounds(name: str, context: Context, asked: Any) -> types.InputRequiredResult | None:
    """What is to be asked now; None where all is answered."""
    capabilities = context.session.client_capabilities
    number = int(asked.request_state or 0)
    for at in range(number, len(ROUNDS[name])):
        wanted = {
            key: one
            for key, one in ROUNDS[name][at].items()
            if getattr(capabilities, NEEDED[one.method], None) is not None
        }
        answered = asked.input_responses if at == number and (asked.request_state or name in STATELESS) else None
        if wanted.keys() - (answered or {}).keys() or not wanted:
            return types.InputRequiredResult(
                input_requests=wanted, request_state=None if name in STATELESS else str(at)
            )
    return None


PROMPTS: dict[str, list[str]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


def prompted(name: str, given: Mapping[str, str]) -> list[types.ContentBlock]:
    if name == "test_prompt_with_arguments":
        return [text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
    if name == "test_prompt_with_embedded_resource":
        return [
            embedded(given["resourceUri"], "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ]
    if name == "test_prompt_with_image":
        return [image(), text("Please analyze the image above.")]
    return [text("This is a simple prompt for testing.")]


RESOURCES: dict[str, types.TextResourceContents | types.BlobResourceContents] = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
    ),
    "test://static-binary": types.BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=PNG),
}
TEMPLATE = "test://template/"


class FixtureServer(AgentServer):
    """The service's own tools and resources, and those of the suite."""

    def input_schema(self, name: str) -> dict[str, Any] | None:
        if name == "test_custom_header":
            return CUSTOM
        return super().input_schema(name)

    async def list_tools(self, context: Context, page: Any) -> types.ListToolsResult:
        schemas = {"test_custom_header": CUSTOM, "json_schema_2020_12_tool": KEYWORDS}
        names = [*CONTENTS, *ROUNDS, "test_error_handling", "test_missing_capability", "test_logging_tool"]
        names += ["test_tool_with_progress", "test_tool_with_logging"]
        listed = await super().list_tools(context, page)
        for name in names:
            given = schemas.get(name, EMPTY)
            listed.tools.append(types.Tool(name=name, description="Made for the suite.", input_schema=given))
        return listed

    async def call_tool(self, context: Context, called: Any) -> types.CallToolResult | types.InputRequiredResult:
        name = called.name
        if name in CONTENTS:
            return types.CallToolResult(content=CONTENTS[name])
        if name in ROUNDS:
            return rounds(name, context, called) or types.CallToolResult(content=[text("state-ok")])
        if name == "test_error_handling":
            words = "This tool intentionally returns an error for testing"
            return types.CallToolResult(content=[text(words)], is_error=True)
        if name == "test_missing_capability":
            data = types.MissingRequiredClientCapabilityErrorData(
                required_capabilities=types.ClientCapabilities(sampling=types.SamplingCapability())
            )
            raise MCPError(
                code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
                message="The client cannot sample.",
                data=data.model_dump(by_alias=True, exclude_none=True),
            )
        if name in ("test_tool_with_progress", "test_logging_tool", "test_tool_with_logging"):
            for done in (0, 50, 100):
                await context.session.report_progress(done, 100)
                await context.session.send_log_message("info", f"{done} %", related_request_id=context.request_id)
            return types.CallToolResult(content=[text("Done.")])
        return await super().call_tool(context, called)

    async def list_resources(self, context: Context, page: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=uri, name=uri, description="Made for the suite.", mime_type=one.mime_type)
                for uri, one in RESOURCES.items()
            ]
        )

    async def read(self, context: Context, asked: Any) -> types.ReadResourceResult:
        uri = str(asked.uri)
        if uri in RESOURCES:
            return types.ReadResourceResult(contents=[RESOURCES[uri]])
        if uri.startswith(TEMPLATE):
            number = uri.removeprefix(TEMPLATE).partition("/")[0]
            words = f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}'
            found = types.TextResourceContents(uri=uri, mime_type="application/json", text=words)
            return types.ReadResourceResult(contents=[found])
        return await super().read(context, asked)

    async def list_prompts(self, context: Context, page: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=name,
                    description="Made for the suite.",
                    arguments=[types.PromptArgument(name=one, required=True) for one in arguments],
                )
                for name, arguments in PROMPTS.items()
            ]
        )

    async def get_prompt(self, context: Context, asked: Any) -> types.GetPromptResult | types.InputRequiredResult:
        if asked.name not in PROMPTS:
            raise MCPError(code=types.INVALID_PARAMS, message="Unknown prompt")
        if asked.name in ROUNDS and (wanted := rounds(asked.name, context, asked)):
            return wanted
        said = prompted(asked.name, asked.arguments or {})
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in said])

    async def complete(self, context: Context, asked: Any) -> types.CompleteResult:
        return types.CompleteResult(completion=types.Completion(values=[asked.argument.value + "ing"], total=1))


@contextlib.asynccontextmanager
async def open_fixture() -> AsyncIterator[ASGIApp]:
    """The application, as the service loads it."""
    served = FixtureServer(service_of)
    server = make_server(
        served, on_list_prompts=served.list_prompts, on_get_prompt=served.get_prompt, on_completion=served.complete
    )
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="fixture"))
    async with open_application(server) as application:
        yield application
