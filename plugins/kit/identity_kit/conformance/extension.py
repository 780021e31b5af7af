"""The promises of the declaration of an extension, as tests (``identity_core/extension/declaration.py``).

An author subclasses ``ExtensionConformance`` with one fixture::

    class TestMyExtension(ExtensionConformance):
        @pytest.fixture
        def declared(self): return identity_extend()
"""

from __future__ import annotations

import json
import re

from identity_core.api.contract import load_document
from identity_core.extension.choice import in_order
from identity_core.extension.declaration import Extension
from identity_core.plugin.load import PluginSource


class ExtensionConformance:
    """The promises of every extension: a valid declaration, and a part of the document that fits."""

    def test_declaration_is_valid(self, declared: Extension) -> None:
        """Its name and its range of versions are ones that the service accepts."""
        source = PluginSource(declared.name, "identity-under-test", "0", lambda: None)
        assert in_order([(source, Extension(name=declared.name, kernel=declared.kernel, open=declared.open))])

    def test_part_of_the_document_fits_the_kernel(self, declared: Extension) -> None:
        """No name, path or operation is one of the kernel's with other content, and each reference has a target."""
        whole = load_document({declared.name: declared.document or b'{"paths": {}}'}).value
        for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(whole)):
            target = whole
            for step in reference.split("/"):
                assert step in target, f"nothing has the name {reference}"
                target = target[step]
