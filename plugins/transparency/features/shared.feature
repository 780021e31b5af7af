Feature: The door of the ledger is that of every operation
  Everybody may read it; whatever else goes wrong is answered as everywhere.

  @503:PLUGIN_UNAVAILABLE
  Scenario Outline: Nothing is signed without the custodian
    Given a service whose custodian raises
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

    Examples:
      | operation               |
      | getLedgerCheckpoint     |
      | getLedgerInclusionProof |
      | getStatusGapsProof      |
