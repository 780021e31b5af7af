"""One implementation of each check: the readers that must call it, and no second one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.test_packages import MODULES, ROOT

# Every reader of a JWT. A new one is added here, and calls ``check_claims``.
JWT_READERS = {
    "plugins/oauth/identity_oauth/domain/client_assertion.py": "assertions of clients (RFC 7523)",
    "plugins/oauth/identity_oauth/domain/tokens.py": "access tokens (RFC 9068)",
    "plugins/wallets/identity_wallets/domain/possession.py": "key proofs of wallets (OpenID4VCI 1.0)",
    "plugins/securing_sd_jwt/identity_securing_sd_jwt/presented.py": "SD-JWTs and their key bindings (RFC 9901)",
    "plugins/records/identity_records/linked_domains.py": "domain linkage credentials (Well Known DID Configuration v1)",
}
# They open a token for one of the readers above.
OPENERS = {
    "plugins/oauth/identity_oauth/use_cases/client_assertions.py",
    "plugins/oauth/identity_oauth/use_cases/tokens.py",
}
# Every reader of a Data Integrity proof. A new one is added here, and calls ``check_proof_options``.
PROOF_READERS = {
    "plugins/vcalm/identity_vcalm/presentation.py": "presentations of VCALM",
    "identity_core/domain/credentials/verifiable_credential.py": "credentials of this service's own suites",
    "identity_core/domain/delegations/delegation.py": "proofs of holders under a delegation",
    "packages/identity_client/identity_client/data_integrity.py": "entries of logs, approvals of witnesses, status lists",
    "plugins/securing_bbs2023/identity_securing_bbs2023/credentials.py": "credentials of bbs-2023",
    "plugins/records/identity_records/linked_domains.py": "domain linkage credentials (Well Known DID Configuration v1)",
}
# It chooses a reader by the suite.
OTHER_PROOFS = {"plugins/vcalm/identity_vcalm/verify.py"}
# The entity tags of answers that a client may have; ``unless_known`` compares them with If-None-Match.
TAGGED = {
    "identity_core/api/caching.py",
    "identity_core/api/credentials.py",
    "identity_core/api/log_answers.py",
    "identity_core/api/pages.py",
}
# Handlers of lists. A cursor is read by ``position`` or ``row_position`` with a pattern, and written by ``cursor`` or ``page_of``.
LISTS = {
    "plugins/api_keys/identity_api_keys/handlers.py",
    "identity_core/api/credentials.py",
    "identity_core/api/delegations.py",
    "identity_core/api/dids.py",
    "plugins/records/identity_records/handlers.py",
}
RESOLVER = "plugins/universal/identity_universal/did_url.py"
# The modules in which one check is implemented, by the kind of violation that they may contain.
HOMES = {
    "time": {"packages/identity_codec/identity_codec/times.py"},
    "reference": {RESOLVER},
    # A client names one audience (RFC 7523bis), which ``check_claims`` does not ask of every JWT.
    "claim": {
        "packages/identity_codec/identity_codec/jose.py",
        "plugins/oauth/identity_oauth/domain/client_assertion.py",
    },
    "condition": {"identity_core/api/caching.py"},
    "cursor": {"identity_core/api/decode.py"},
    "tag": {"identity_core/api/caching.py"},
}
OPENS = re.compile(r"\b(?:CompactJws|Envelope)\.open\(")
READS_SUITE = re.compile(r"""(?:\.get\(|\[)["']cryptosuite["'][)\]]""")

PARSERS = {"fromisoformat", "strptime", "fromisocalendar", "parsedate", "parsedate_to_datetime", "isoparse"}
CLAIMS = {"exp", "nbf", "iat", "aud"}
CONDITIONS = {"if-none-match", "if-match", "if-modified-since", "if-unmodified-since", "if-range"}
ENCODERS = {"base64url_encode", "base64url_decode", "b64encode", "b64decode", "urlsafe_b64encode", "urlsafe_b64decode"}


def name_of(node: ast.expr) -> str:
    """The last name of a dotted expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def constants(nodes: list[ast.expr]) -> Iterator[str]:
    yield from (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def is_cursor(node: ast.expr) -> bool:
    return any("cursor" in name_of(part).lower() for part in ast.walk(node) if isinstance(part, ast.expr))


@cache
def violations(source: str) -> set[str]:
    """Return the kinds of checks that ``source`` implements itself."""
    found = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            found |= {"reference"} if "urljoin" in names else set()
            found |= {"time"} if names & PARSERS else set()
        elif isinstance(node, ast.Call):
            called, texts = name_of(node.func), set(constants(node.args))
            found |= {"time"} if called in PARSERS else set()
            found |= {"reference"} if called == "urljoin" else set()
            found |= {"claim"} if called in ("get", "pop") and texts & CLAIMS else set()
            found |= (
                {"condition"} if called in ("get", "header") and {one.lower() for one in texts} & CONDITIONS else set()
            )
            found |= {"cursor"} if called in ENCODERS and any(map(is_cursor, node.args)) else set()
            found |= {"cursor"} if called == "position" and len(node.args) + len(node.keywords) < 2 else set()
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            read = set(constants([node.slice]))
            found |= {"claim"} if read & CLAIMS else set()
            found |= {"condition"} if {one.lower() for one in read} & CONDITIONS else set()
        elif isinstance(node, ast.Compare):
            found |= {"claim"} if set(constants([node.left])) & CLAIMS else set()
        elif isinstance(node, ast.JoinedStr):
            is_tag = any(isinstance(one, ast.FormattedValue) and "hexdigest" in ast.dump(one) for one in node.values)
            found |= {"tag"} if is_tag and ast.unparse(node).count('"') >= 2 and "'\"" in ast.unparse(node) else set()
    return found


@cache
def sources() -> Mapping[str, str]:
    """The text of every module of the core, the plugins and the packages, by path."""
    packages = [path for path in (ROOT / "packages").glob("*/identity_*/**/*.py") if "egg-info" not in str(path)]
    # The stories of the specification use no code of the project.
    own = [path for path in map(Path, [*MODULES, *packages]) if "tests" not in path.parts]
    return {str(path.relative_to(ROOT)): path.read_text() for path in own}


def offenders(found: Mapping[str, str], kind: str) -> set[str]:
    return {name for name, text in found.items() if kind in violations(text)}


@pytest.mark.parametrize("kind", sorted(HOMES))
def test_check_is_implemented_in_one_place(kind: str) -> None:
    assert offenders(sources(), kind) - HOMES[kind] == set()


PLANTED = {
    "time": [
        "from datetime import datetime\nx = datetime.fromisoformat(text)",
        "import datetime\nx = datetime.datetime.strptime(text, '%Y')",
        "from datetime import date\nx = date.fromisoformat(text)",
        "from email.utils import parsedate_to_datetime",
    ],
    "reference": ["from urllib.parse import urljoin", "import urllib.parse\nx = urllib.parse.urljoin(a, b)"],
    "claim": [
        "def read(claims, now):\n    return claims['exp'] > now",
        "def read(jws, now):\n    return jws.claims.get('nbf', 0) <= now",
        "def read(payload):\n    return 'aud' in payload and payload.get(\"aud\") == OURS",
    ],
    "condition": [
        "def page(request):\n    return request.header('if-none-match') == tag",
        "def page(scope):\n    return scope['headers']['If-Match']",
        "def page(headers):\n    return headers.get('If-Modified-Since')",
    ],
    "cursor": [
        "def page(query):\n    return base64url_decode(query.cursor)",
        "def page(query):\n    return multibase.base64url_decode(query.cursor).decode()",
        "import base64\ndef page(cursor):\n    return base64.urlsafe_b64encode(cursor.encode())",
        "def page(query):\n    return position(query.cursor)",
    ],
    "tag": ["import hashlib\ntag = f'\"{hashlib.sha256(content).hexdigest()[:32]}\"'"],
}


@pytest.mark.parametrize(("kind", "source"), [(kind, one) for kind, many in PLANTED.items() for one in many])
def test_planted_second_implementation_is_refused(kind: str, source: str) -> None:
    assert offenders({**sources(), "identity_core/api/planted.py": source}, kind) - HOMES[kind] == {
        "identity_core/api/planted.py"
    }


def test_every_kind_of_check_has_a_planted_violation() -> None:
    assert PLANTED.keys() == HOMES.keys()


def test_checks_are_where_this_table_says() -> None:
    """An entry that implements nothing any more would hide a second implementation."""
    found = sources()
    homes = {kind: {name for name in places if name in offenders(found, kind)} for kind, places in HOMES.items()}
    # The resolver uses no function of a library, and cursors are recognised by their name where they are not at home.
    assert homes == HOMES | {"reference": set(), "tag": HOMES["tag"]}
    assert "def resolve_reference(" in found[RESOLVER]
    assert [name for name, text in found.items() if "def resolve_reference(" in text] == [RESOLVER]


def test_every_reader_of_a_jwt_calls_check_claims() -> None:
    found = sources()
    assert [name for name in JWT_READERS if "check_claims(" not in found[name]] == []
    opening = {name for name, text in found.items() if OPENS.search(text)}
    assert opening - JWT_READERS.keys() - OPENERS == set()


def test_every_reader_of_a_proof_calls_check_proof_options() -> None:
    found = sources()
    assert [name for name in PROOF_READERS if "check_proof_options(" not in found[name]] == []
    reading = {name for name, text in found.items() if READS_SUITE.search(text)}
    assert reading - PROOF_READERS.keys() - OTHER_PROOFS == set()


def test_every_answer_with_a_tag_calls_unless_known() -> None:
    found = sources()
    written = re.compile(r"""\(["'](?i:etag)["'],""")
    # A write answers with the tag that If-Match takes.
    tagged = {name for name, text in found.items() if written.search(text)} - {"identity_core/api/dids.py"}
    assert tagged == TAGGED
    assert [name for name in TAGGED if "unless_known(" not in found[name]] == []


def test_every_list_reads_its_cursor_in_one_place() -> None:
    reads = re.compile(r"\bposition\(query\.cursor, ")
    found = {name: text for name, text in sources().items() if name.startswith("identity_core/api/") or name in LISTS}
    assert {name for name, text in found.items() if "query.cursor" in text} == LISTS
    lines = [line for name in LISTS for line in found[name].splitlines() if "query.cursor" in line]
    assert [line for line in lines if reads.search(line.replace("row_position", "position")) is None] == []
