Feature: Resolvers are asked like everything else
  What is wrong with a request before anybody looks for a DID, and what no client can cause.

  @503:DID_QUARANTINED
  Scenario: What is stored about a DID and does not follow from the ledger decides nothing
    Given a service whose index was changed by another program
    And a good request for resolveIdentifier
    When the fault strikes and it is sent
    Then the answer is 503 DID_QUARANTINED
