Feature: Get the signed checkpoint

  @getLedgerCheckpoint
  Scenario: A checkpoint covers what was recorded before it was asked for
    Given Hana has a DID
    When Vera fetches the checkpoint
    Then the answer is 200
    And the signature of the log covers the DID of Hana

  @getLedgerCheckpoint
  Scenario: The checkpoint of now is there whether or not witnesses have cosigned it
    Given Hana has a DID
    When Vera fetches the checkpoint of now
    Then the answer is 200
    And the signature of the log covers the DID of Hana
