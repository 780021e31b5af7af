"""The conformance kit: the contract of each port, as tests that a plugin author inherits.

A plugin's whole test module is one class with one fixture::

    from identity_kit.conformance.ledger import LedgerConformance

    class TestMyLedger(LedgerConformance):
        @pytest.fixture
        def ledger(self, tmp_path):
            return MyLedger(tmp_path)

===================== ===================================== ========================================== port class fixture (optional
ones in brackets) ===================== ===================================== ==========================================
``DidMethod`` ``did_method.DidMethodConformance`` ``method`` [``creation``] ``ResolvingDidMethod`` ``resolving``, alone or beside it
``outside`` ``LedgerBackend`` ``ledger.LedgerConformance`` ``ledger`` [``reopen``] the same, with faults ``ledger_faults``, beside
the former ``reopen`` [``outage``, ``tamper``] ``AnchoringLedger`` ``anchoring``, beside the first the first's ``Prover``
``prover.ProverConformance`` ``prover`` [``issuer``] ``KeyStore`` ``key_store.KeyStoreConformance`` ``store``, ``known_key``
``WritableKeyStore`` ``WritableKeyStoreConformance`` ``store`` ``Custodian`` ``custodian.CustodianConformance`` ``custodian``
[``reopen``] ``SecuringFormat`` ``securing.SecuringConformance`` ``securing``, ``unsecured`` or ``secured`` ``OperatorPanel``
``panel.PanelConformance`` ``panel`` ``Extension`` ``extension.ExtensionConformance`` ``declared`` ``verify_bearer``
``bearer.BearerConformance`` ``verify``, ``tokens`` ===================== =====================================
==========================================

- Every test is one promise, and its docstring says which: ``pytest -v`` reads as the contract. A failure names the
  broken promise.
- What a plugin need not be able to do is asked for by capability, never by a plugin's name: the object declares it, and
  a test of what is not declared is skipped.
- Fixtures may close what they made. Asynchronous ports are driven in an event loop of each scenario's own, so an object
  must not keep one loop for its whole life.
- Nasty inputs are built in: empty, very long, NUL, non-ASCII, look-alikes, the wrong key, the wrong order, many at once.
- The kit itself is tested against plugins that are broken on purpose (``plugins/kit/tests``), each of which it must
  fail.

New required tests come with minor versions of identity-service, never with patches.
"""
