@generateDelegatedProof
Feature: The door of delegated proofs is that of every operation

  @503:DID_QUARANTINED
  Scenario Outline: What is stored about a DID and does not follow from the ledger decides nothing
    Given a service whose index was changed by another program
    And a good request for <operation>
    When it is sent under the signature of a DID whose index was changed
    Then the answer is 503 DID_QUARANTINED

    Examples:
      | operation              |
      | generateDelegatedProof |
      | createDelegatedPresentation |
      | verifyProof            |
      | getProof               |
      | verifyStoredProof      |
      | checkDelegatedProof    |
      | revokeProof            |
