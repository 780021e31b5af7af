"""Rules that no linter knows. The layers themselves are import-linter's contracts."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    path
    for path in [*(ROOT / "identity_core").rglob("*.py"), *ROOT.glob("p*/*/identity_*/**/*.py")]
    if "egg-info" not in str(path)
)

# The packages that may import a library. An import of it elsewhere is a fault.
PACKAGES = {
    "connexion": ("identity_core/api/",),
    "jsonschema_rs": ("identity_core/api/", "plugins/mcp/"),
    "mcp": ("plugins/mcp/",),
    "prometheus_client": ("plugins/observability/",),
    "opentelemetry": ("plugins/observability/",),
    "msgspec": (
        "packages/identity_codec/",
        "identity_core/extension/",
        "identity_core/plugin/isolation.py",
        "plugins/isolation/",
        "plugins/bound_credentials/identity_bound_credentials/worker_calls.py",
        "plugins/operations/identity_operations/backup/manifest.py",
        "plugins/transparency/identity_transparency/remembered.py",
    ),
    "jinja2": ("plugins/ui/",),
    "pluggy": ("identity_core/plugin/",),
    "sqlmodel": ("identity_core/store/tables.py", "plugins/"),
    "sqlalchemy": ("identity_core/store/tables.py", "plugins/"),
    "limits": ("identity_core/throttle/",),
    "packaging": ("identity_core/extension/",),
    "redis": ("plugins/redis/",),
    # The plain client of the specification uses no code of the project.
    "nacl": ("packages/identity_codec/", "packages/identity_tlog/", "plugins/kit/identity_kit/tests/specification/"),
    "joserfc": ("plugins/wallets/identity_wallets/jwe.py",),
    "pyblst": ("packages/identity_bbs/",),
    "py_ecc": ("packages/identity_bbs/",),
    "cryptography": (
        "packages/identity_codec/",
        "packages/identity_tlog/",
        "plugins/wallets/identity_wallets/jwe.py",
    ),
    "rfc8785": ("packages/identity_codec/",),
    "base58": ("packages/identity_codec/", "plugins/kit/identity_kit/tests/specification/"),
    "pkcs11": ("plugins/custodian_pkcs11/",),
    "web3": ("plugins/",),
    "click": (
        "identity_core/cli/",
        "plugins/ledger_evm/identity_ledger_evm/commands.py",
        "plugins/custodian_pkcs11/identity_custodian_pkcs11/commands.py",
        "plugins/commands/",
        "plugins/kit/identity_kit/commands.py",
        "plugins/kit/identity_kit/specification.py",
        "plugins/operations/identity_operations/commands/",
        "plugins/transparency/identity_transparency/cli/",
        "plugins/wallets/identity_wallets/commands.py",
        "plugins/records/identity_records/commands/",
        "plugins/anchoring/identity_anchoring/commands.py",
        "plugins/api_keys/identity_api_keys/commands.py",
        "plugins/api_keys/identity_api_keys/options.py",
        "plugins/api_keys/identity_api_keys/accept_command.py",
    ),
    "uvicorn": (
        "identity_core/cli/",
        "plugins/server_processes/",
        "plugins/transparency/identity_transparency/cli/ledger_witness.py",
    ),
    "tomllib": ("identity_core/settings/", "plugins/keys_file/"),
}

# What a value needs of msgspec is allowed everywhere: the table limits where it converts bytes.
VALUE_NAMES = {"Struct", "field", "structs"}

# ``except Exception`` belongs to the edge and to the plugin border; the database's writer carries what a job raises over
# to the task that waits for it.
CATCH_ALL = (
    "identity_core/api/",
    "identity_core/plugin/",
    "identity_core/extension/",
    "identity_core/cli/",
    "identity_core/database/",
    "plugins/isolation/",  # the plugin border, between processes
    "plugins/postgresql/",
    "plugins/operations/identity_operations/commands/",
    "identity_core/store/events.py",  # a sink is code of an extension
)

FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "base", "misc"}
# "About 250 lines" and "under 40", with the tolerance of "about".
MODULE_LINES, FUNCTION_LINES = 300, 45
# What may be longer, and why. An entry that is no longer needed fails, so that the list only grows with a reason.
# Import paths of version 1.0, one of them in the conformance kit. They leave in 1.2.
OLD_PATH = ROOT / "identity_core/old_names.py"
LONG_BY_NATURE = {
    "identity_core/plugin/border.py": "the guarded call is one piece, for the sake of its cost",
}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(tree: ast.AST) -> Iterator[str]:
    """The top-level names of what a module imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module == "msgspec" and {alias.name for alias in node.names} <= VALUE_NAMES:
                continue
            yield node.module.partition(".")[0]


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    return {name_of(path): ast.parse(path.read_text()) for path in MODULES}


def test_modules_are_found() -> None:
    assert len(MODULES) > 50


def test_libraries_stay_in_their_packages(trees: dict[str, ast.Module]) -> None:
    leaks = [
        f"{name} imports {library}"
        for name, tree in trees.items()
        for library in set(imported(tree))
        if library in PACKAGES and not name.startswith(PACKAGES[library])
    ]
    assert leaks == []


def test_distributions_declare_what_they_import_of_each_other(trees: dict[str, ast.Module]) -> None:
    """An editable installation hides a missing dependency."""
    projects = {file.parent: tomllib.loads(file.read_text())["project"] for file in ROOT.glob("p*/*/pyproject.toml")}
    projects[ROOT] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    providers = {
        each.name: project["name"] for folder, project in projects.items() for each in folder.glob("identity_*")
    }
    missing = set()
    for name, tree in trees.items():
        project = next(projects[folder] for folder in (ROOT / name).parents if folder in projects)
        optional = project.get("optional-dependencies", {})
        extras = [*optional.get("bbs", []), *optional.get("bound", [])]
        declared = {project["name"], *(re.split(r"[<>=\[]", text)[0] for text in (*project["dependencies"], *extras))}
        wanted = {providers[module] for module in imported(tree) if module in providers}
        missing |= {(project["name"], other) for other in wanted - declared}
    assert missing == set()


def test_the_core_names_no_plugin_of_ours() -> None:
    """Neither its distribution nor its package, in code or prose: the core is the same with other plugins."""
    projects = [tomllib.loads(path.read_text()) for path in (ROOT / "plugins").glob("*/pyproject.toml")]
    assert len(projects) >= 13
    names = [form for one in projects for name in [one["project"]["name"]] for form in (name, name.replace("-", "_"))]
    files = [path for path in (ROOT / "identity_core").rglob("*") if path.suffix in (".py", ".md", ".yml")]
    files.remove(OLD_PATH)
    named = [f"{name_of(path)} names {name}" for path in files for name in names if name in path.read_text()]
    assert named == []


def test_domain_and_ports_do_no_io(trees: dict[str, ast.Module]) -> None:
    io = {
        "os",
        "pathlib",
        "socket",
        "sqlite3",
        "time",
        "random",
        "secrets",
        "subprocess",
        "asyncio",
        "logging",
    }
    found = [
        f"{name} imports {library}"
        for name, tree in trees.items()
        for library in set(imported(tree)) & io
        if name.startswith(("identity_core/domain/", "identity_core/ports/"))
    ]
    assert found == []


def test_modules_and_functions_are_short(trees: dict[str, ast.Module]) -> None:
    long: dict[str, list[str]] = {}
    for path in MODULES:
        lines = len(path.read_text().splitlines())
        if lines > MODULE_LINES:
            long.setdefault(name_of(path), []).append(f"{lines} lines")
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1 - _docstring_lines(node)
                if lines > FUNCTION_LINES:
                    long.setdefault(name, []).append(f"{node.name}, line {node.lineno}: {lines} lines")
    assert {name: why for name, why in long.items() if not name.startswith(tuple(LONG_BY_NATURE))} == {}
    idle = [excuse for excuse in LONG_BY_NATURE if not any(name.startswith(excuse) for name in long)]
    assert idle == []


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return (first.end_lineno or first.lineno) - first.lineno + 1
    return 0


def test_names_say_something() -> None:
    vague = [name_of(path) for path in MODULES if {path.stem, *path.relative_to(ROOT).parent.parts} & FORBIDDEN_NAMES]
    assert vague == []


def test_only_the_borders_catch_everything(trees: dict[str, ast.Module]) -> None:
    found = []
    for name, tree in trees.items():
        for node in ast.walk(tree):
            catches = isinstance(node, ast.ExceptHandler) and (
                node.type is None
                or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
            )
            if catches and not _raises_again(node) and not name.startswith(CATCH_ALL):
                found.append(f"{name}:{node.lineno}")
    assert found == []


def _raises_again(handler: ast.AST) -> bool:
    """Whether the handler only tidies up and lets the exception go on."""
    return any(isinstance(node, ast.Raise) and node.exc is None for node in ast.walk(handler))


def test_only_the_settings_read_the_environment(trees: dict[str, ast.Module]) -> None:
    # The command line hands its settings to worker processes, prometheus-client knows no other way to share, and the
    # conformance kit is told how long to try. A host of MCP sets a server up by its environment.
    allowed = (
        "identity_core/settings/",
        "identity_core/cli/",
        "plugins/commands/identity_commands/",
        "plugins/server_processes/identity_server_processes/",
        "plugins/kit/identity_kit/conformance/",
        "plugins/mcp/identity_mcp/server.py",
        "plugins/observability/identity_observability/extension.py",
        "plugins/operations/identity_operations/commands/",
    )
    found = [
        f"{name}:{node.lineno}"
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv") and not name.startswith(allowed)
    ]
    assert found == []


def test_packages_say_what_they_are(trees: dict[str, ast.Module]) -> None:
    silent = [name for name, tree in trees.items() if tree.body and ast.get_docstring(tree) is None]
    assert silent == []


def test_audit_lines_are_made_in_one_place() -> None:
    calls = re.compile(r"\bto_line\(")
    found = {str(path.relative_to(ROOT)) for path in MODULES if calls.search(path.read_text())}
    assert found == {"plugins/records/identity_records/audit.py"}
