"""The conformance kit: the contract of each port, as tests that a plugin author inherits.

A plugin's whole test module is one class with one fixture::

    from identity_kit.conformance.ledger import LedgerConformance

    class TestMyLedger(LedgerConformance):
        @pytest.fixture
        def ledger(self, tmp_path):
            return MyLedger(tmp_path)

=====================  =====================================  ==========================================
port                   class                                  fixture (optional ones in brackets)
=====================  =====================================  ==========================================
``DidMethod``          ``did_method.DidMethodConformance``    ``method`` [``creation``]
``ResolvingDidMethod`` ``resolving``, alone or beside it      ``outside``
``LedgerBackend``      ``ledger.LedgerConformance``           ``ledger`` [``reopen``]
the same, with faults  ``ledger_faults``, beside the former   ``reopen`` [``outage``, ``tamper``]
``AnchoringLedger``    ``anchoring``, beside the first        those of the first
``Prover``             ``prover.ProverConformance``           ``prover`` [``issuer``]
``KeyStore``           ``key_store.KeyStoreConformance``      ``store``, ``known_key``
``WritableKeyStore``   ``WritableKeyStoreConformance``        ``store``
``Custodian``          ``custodian.CustodianConformance``     ``custodian`` [``reopen``]
``SecuringFormat``     ``securing.SecuringConformance``       ``securing``, ``unsecured`` or ``secured``
``OperatorPanel``      ``panel.PanelConformance``             ``panel``
``Extension``          ``extension.ExtensionConformance``     ``declared``
``verify_bearer``      ``bearer.BearerConformance``           ``verify``, ``tokens``
=====================  =====================================  ==========================================

- Each test checks one requirement, which its docstring states. A failure names the requirement that is not met.
- The object declares its optional capabilities. A test of a capability that it does not declare is skipped.
- Fixtures may close the objects that they create. Each test of an asynchronous port has its own event loop, so an
  object must not keep one loop for its whole life.
- Hostile inputs are included: empty, very long, NUL, non-ASCII, look-alikes, the wrong key, the wrong order, many at
  once.
- The kit is tested against plugins with planted faults (``plugins/kit/tests``), each of which it must refuse.

New required tests come with minor versions of identity-service, never with patches.
"""
