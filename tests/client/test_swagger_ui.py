"""What ``/docs`` serves of Swagger UI is the package that the lock file pins, byte for byte, with its licences."""

import json
from pathlib import Path

from openapi.clients import HERE
from openapi.copy_swagger_ui import LICENCES, SERVED, TARGET, package_in


def test_the_copy_is_the_pinned_package(node_tools: Path) -> None:
    package = package_in(node_tools.parent)
    assert {path.name for path in TARGET.iterdir()} == {*SERVED, *LICENCES}
    for name in (*SERVED, *LICENCES):
        assert (TARGET / name).read_bytes() == (package / name).read_bytes(), "run python -m openapi.copy_swagger_ui"


def test_the_pinned_version_is_the_one_that_is_served() -> None:
    pinned = json.loads((HERE / "package.json").read_bytes())["devDependencies"]["swagger-ui-dist"]
    locked = json.loads((HERE / "package-lock.json").read_bytes())["packages"]["node_modules/swagger-ui-dist"]
    assert locked["version"] == pinned
    assert locked["integrity"].startswith("sha512-")
    assert f'PACKAGE_VERSION:"{pinned}"'.encode() in (TARGET / "swagger-ui-bundle.js").read_bytes()
