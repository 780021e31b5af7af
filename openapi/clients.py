"""Builds what others build from the document: the clients of Python, TypeScript and Go, and the tools that read it with Node.

Clients are built, used and thrown away; none is committed, but for the modules of the TypeScript one that the verify page imports
(``python -m openapi.clients`` writes them). The features speak through the Python one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from openapi import go_types, typescript_types

HERE: Final = Path(__file__).resolve().parent
DOCUMENT: Final = HERE / "reference.json"
PACKAGE: Final = "identity_service_client"
# Where in the folder that they are given to fill.
PYTHON_CLIENT: Final = "identity-service-client"
TYPESCRIPT_CLIENT: Final = "identity-service-client-typescript"
NODE_TOOLS: Final = Path("node_modules", ".bin")
TYPESCRIPT: Final = HERE / "typescript"
GO_CLIENT: Final = "identity-service-client-go"
GO: Final = HERE / "go"
PROOF_BUNDLE: Final = Path("dist", "proofs", "verify.js")
CURVE_LICENSE: Final = "LICENSE.noble"
_BANNER: Final = f"// With @noble/curves and @noble/hashes ({CURVE_LICENSE})."
PAGE_MODULES: Final = HERE.parent / "plugins" / "ui" / "identity_ui" / "static" / "client"


def build_python_client(folder: Path, document: Path = DOCUMENT) -> Path:
    """Write the package ``identity_service_client`` below ``folder`` and return the directory to append to ``sys.path``.

    Raises ``subprocess.CalledProcessError`` when the generator fails or warns: a warning is a part that it left out.
    """
    target = folder / PYTHON_CLIENT
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(document)]
    command += ["--config", str(HERE / "python-client.yaml"), "--output-path", str(target), "--overwrite"]
    _run([*command, "--fail-on-warning"], folder)
    return target


def install_node_tools(folder: Path) -> Path:
    """Installs spectral, openapi-typescript and TypeScript below ``folder`` as the lock file says; returns their ``bin``."""
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(HERE / name, folder)
    _run([_program("npm"), "ci"], folder)
    return folder / NODE_TOOLS


def run_node_tool(tools: Path, name: str, *arguments: str | Path) -> str:
    """What the tool prints. Raises ``subprocess.CalledProcessError`` when it is not content."""
    return _run([str(tools.resolve() / name), *map(str, arguments)], tools.resolve().parent.parent)


def build_typescript_client(folder: Path, tools: Path, document: Path = DOCUMENT) -> Path:
    """Makes the npm package ``identity-service-client`` below ``folder`` with the ``tools`` of ``install_node_tools``; returns its
    directory, from which ``npm pack`` packs it. Raises ``subprocess.CalledProcessError``."""
    target = folder.resolve() / TYPESCRIPT_CLIENT
    shutil.copytree(TYPESCRIPT, target)
    shutil.copy(HERE.parent / "LICENSE", target)
    # A member of a request that has a default may be left out.
    options = ("--default-non-nullable", "false")
    run_node_tool(tools, "openapi-typescript", document, *options, "--output", target / "src" / "document.ts")
    text = typescript_types.operations(json.loads(document.read_bytes()))
    (target / "src" / "operations.ts").write_text(text, encoding="utf-8")
    modules = target / "node_modules"
    modules.symlink_to(tools.resolve().parent)
    run_node_tool(tools, "tsc", "--project", target)
    bundle_verifier(target, tools)
    modules.unlink()
    return target


def bundle_verifier(package: Path, tools: Path) -> None:
    """Make one file of the verifier of proofs and its curve library in the compiled TypeScript ``package``, which then depends on no other.

    It imports the reader of logs and its codec, which have other users. The licence of the library stands beside it."""
    bundle = package / PROOF_BUNDLE
    parts = [path for path in bundle.parent.iterdir() if not path.name.startswith("verify.")]
    options = (
        "--bundle",
        "--format=esm",
        "--target=es2022",
        "--minify",
        "--legal-comments=none",
        "--external:../log.js",
        "--external:../codec.js",
    )
    run_node_tool(
        tools, "esbuild", bundle, *options, f"--outfile={bundle}", "--allow-overwrite", f"--banner:js={_BANNER}"
    )
    for path in parts:
        path.unlink()
    shutil.copy(tools.resolve().parent / "@noble" / "curves" / "LICENSE", bundle.with_name(CURVE_LICENSE))


def write_page_modules(package: Path) -> None:
    """Copy the modules that pages import from the built TypeScript ``package``: what reads logs and verifies proofs has one source."""
    for name in page_modules():
        shutil.copy(package / "dist" / name, PAGE_MODULES / name)


def page_modules() -> list[str]:
    """Return the paths of the files that pages import, and of the licence, below the folder of modules."""
    files = (path for path in PAGE_MODULES.rglob("*") if path.is_file())
    return sorted(path.relative_to(PAGE_MODULES).as_posix() for path in files)


def build_go_client(folder: Path, document: Path = DOCUMENT) -> Path:
    """Makes the Go module ``identity-service-client`` below ``folder`` and returns its directory; Go must be installed. Raises
    ``subprocess.CalledProcessError``."""
    target = folder.resolve() / GO_CLIENT
    shutil.copytree(GO, target)
    shutil.copy(HERE.parent / "LICENSE", target)
    value = json.loads(document.read_bytes())
    (target / "types.go").write_text(go_types.types(value), encoding="utf-8")
    (target / "operations.go").write_text(go_types.methods(value), encoding="utf-8")
    _run([_program("gofmt"), "-w", "types.go", "operations.go"], target)
    return target


def run_go(folder: Path, *arguments: str) -> str:
    """What the ``go`` command prints in ``folder``; it fetches nothing. Raises ``subprocess.CalledProcessError``."""
    return _run([_program("go"), *arguments], folder, GOPROXY="off", GOFLAGS="-mod=mod", HOME=str(Path.home()))


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not installed")
    return found


def _run(command: list[str], folder: Path, **variables: str) -> str:
    environment = os.environ | {"NO_COLOR": "1"} | variables
    done = subprocess.run(
        command, cwd=folder, env=environment, check=False, capture_output=True, text=True, timeout=600
    )
    if done.returncode:
        error = subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
        error.add_note(done.stdout + done.stderr)
        raise error
    return done.stdout


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        tools = Path(made, "tools")
        tools.mkdir()
        write_page_modules(build_typescript_client(Path(made), install_node_tools(tools)))
