Feature: The door of VCALM is that of every operation
  Whatever is wrong before anybody looks at a credential, and whatever breaks that no client can cause.

  @503:DID_QUARANTINED
  Scenario: What is stored about a holder and does not follow from the ledger decides nothing
    Given a service whose index was changed by another program
    And a good request for verifyVcalmPresentation
    When the fault strikes and it is sent
    Then the answer is 503 DID_QUARANTINED
