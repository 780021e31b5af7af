Feature: Get the key that checkpoints are verified with

  @getLedgerKey
  Scenario: The key of the log
    When Vera asks for the key of the log
    Then the answer is 200
    And it verifies a checkpoint
