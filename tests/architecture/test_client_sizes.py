"""The hand-written lines of the three clients, besides what verifies without a service: a limit for each, which is never raised.

Blank lines, comments, imports and re-exports do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from openapi.clients import GO, TYPESCRIPT
from tests.architecture.sizes import ROOT, size_of_file

PYTHON: Final = ROOT / "packages" / "identity_client" / "identity_client"
# The target for each client is 300.
LIMITS: Final = {"python": 377, "typescript": 300, "go": 566}
# The modules of Python that are the client; the others are rules that the service and verifiers import.
PYTHON_CLIENT: Final = ("answers", "client", "did_auth", "ibct", "operations")
VERIFIERS: Final = ("proofs/verify", "checkpoint", "log", "status", "expectation")
# Go has no imports between the files of a package.
GO_VERIFIER: Final = frozenset(
    {"changes", "checkpoint", "codec", "entry", "evidence", "keys", "log", "status", "steps", "webvh", "working"}
)
# ``tools/write_unicode_14.py`` writes it.
GENERATED: Final = "unicode14"
_FROM: Final = re.compile(r'^(?:import|export) (?!type )[^;]*? from "(\.[^"]+)\.js";', re.MULTILINE)


def code_lines(text: str) -> Iterator[str]:
    """Yield the lines of TypeScript or Go that count."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r'^(?:import|export)\b[^;{]*(?:\{[^}]*\})?\s*from "[^"]*";$', "", text, flags=re.MULTILINE)
    text = re.sub(r'^import (?:\([^)]*\)|(?:\w+ )?"[^"]*")$', "", text, flags=re.MULTILINE)
    for line in map(str.strip, text.splitlines()):
        if line and not line.startswith(("//", "package ")):
            yield line


def count_lines(paths: Iterable[Path]) -> int:
    return sum(len(list(code_lines(path.read_text("utf-8")))) for path in paths)


def verifier_modules(source: Path) -> set[Path]:
    """Return the modules of TypeScript that the verifiers load."""
    found, waiting = set[Path](), [source / f"{name}.ts" for name in VERIFIERS]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [(path.parent / f"{name}.ts").resolve() for name in _FROM.findall(path.read_text("utf-8"))]
            # Those that the generator of types writes are nowhere in the source.
            waiting = [one for one in waiting if one.exists()]
    return found


def typescript_modules() -> list[Path]:
    source = TYPESCRIPT / "src"
    return sorted(set(source.rglob("*.ts")) - verifier_modules(source))


def go_files() -> list[Path]:
    return sorted(path for path in GO.glob("*.go") if path.stem not in GO_VERIFIER | {GENERATED})


def sizes() -> dict[str, int]:
    """Return the lines by client."""
    python = sum(size_of_file(PYTHON / f"{name}.py").lines for name in PYTHON_CLIENT)
    return {"python": python, "typescript": count_lines(typescript_modules()), "go": count_lines(go_files())}


def test_clients_have_few_lines_written_by_hand() -> None:
    """Lower the limit in the commit that lowers the lines."""
    assert {name: lines for name, lines in sizes().items() if lines > LIMITS[name]} == {}


def test_modules_beside_the_verifiers_are_known() -> None:
    """A module that a verifier no longer imports would count; a new one counts from the start."""
    names = [path.relative_to(TYPESCRIPT / "src").as_posix() for path in typescript_modules()]
    assert names == ["client.ts", "index.ts", "signing.ts", "types.ts"]
    assert [path.name for path in go_files()] == ["client.go", "jobs.go", "members.go", "signing.go"]
    assert all((GO / f"{name}.go").exists() for name in GO_VERIFIER)


def test_comments_and_imports_are_no_code_lines() -> None:
    typescript = (
        'import { a } from "./a.js";\nexport type {\n  b,\n} from "./b.js";\n/** c\n * d */\n// e\n\nconst f = 1;\n'
    )
    go = 'package a\n\nimport (\n\t"b"\n\t_ "c"\n)\n\nimport "d"\n\n// e\nvar f = 1\n'
    assert [*code_lines(typescript)] == ["const f = 1;"]
    assert [*code_lines(go)] == ["var f = 1"]
