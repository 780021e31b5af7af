Feature: List the entries of a block

  @getLedgerBlock
  Scenario: A block lists its entries
    Given Hana has a DID
    When Vera lists the block of the DID of Hana
    Then the answer is 200
    And the DID of Hana is in the block

  @getLedgerBlock
  @404:BLOCK_NOT_FOUND
  Scenario: A block that is not there yet
    When getLedgerBlock is asked for what the ledger does not have
    Then the answer is 404 BLOCK_NOT_FOUND

  @getLedgerBlock
  @400:INVALID_REQUEST
  Scenario: What is not a number of a block
    When getLedgerBlock is asked for what is malformed
    Then the answer is 400 INVALID_REQUEST
