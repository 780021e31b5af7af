"""Copies what ``/docs`` serves of Swagger UI into ``identity_core/api/swagger_ui``, from the package that ``package-lock.json`` pins by
its SHA-512.

The packages that PyPI has of it are old or bring a web framework along, which Connexion would load where it finds it. After a new
version in ``package.json``: ``npm install --package-lock-only`` in this folder, then ``python -m openapi.copy_swagger_ui``.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Final

from openapi.clients import HERE, install_node_tools

TARGET: Final = HERE.parent / "identity_core" / "api" / "swagger_ui"
SERVED: Final = ("swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png")
LICENCES: Final = ("LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt")


def package_in(node_modules: Path) -> Path:
    """The folder of Swagger UI below ``node_modules``."""
    return node_modules / "swagger-ui-dist"


def copy(package: Path) -> None:
    """Writes the files below ``TARGET`` anew."""
    TARGET.mkdir(exist_ok=True)
    for name in (*SERVED, *LICENCES):
        shutil.copyfile(package / name, TARGET / name)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        copy(package_in(install_node_tools(Path(folder)).parent))
