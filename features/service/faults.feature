Feature: What no client can cause is answered in the same shape
  A ledger, a key store, a custodian or a DID method that breaks costs its own requests, and says so.

  @503:DID_QUARANTINED
  Scenario Outline: What is stored about a DID and does not follow from the ledger decides nothing
    Given a service whose index was changed by another program
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 503 DID_QUARANTINED

    Examples:
      | operation           |
      | resolveDid          |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | listDidHistory      |
      | getDidAuthChallenge |
