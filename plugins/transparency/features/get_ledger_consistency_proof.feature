Feature: Prove that the log only grew

  @getLedgerConsistencyProof
  Scenario: The log only grows
    Given Vera has kept a checkpoint
    And Hana has a DID
    When Vera asks for the growth since
    Then the answer is 200
    And the log continues the checkpoint that Vera kept

  @getLedgerConsistencyProof
  @422:LOG_RANGE_INVALID
  Scenario: No growth from a log that is larger than this one
    When getLedgerConsistencyProof is asked for what the ledger does not have
    Then the answer is 422 LOG_RANGE_INVALID
