Feature: Get an entry of the ledger by its transaction hash

  @getLedgerTransaction
  Scenario: A transaction hash leads to the entry
    Given Hana has a DID
    When Vera looks up the transaction of the DID of Hana
    Then the answer is 200
    And it is the first entry of the log of Hana

  @getLedgerTransaction
  Scenario: A transaction hash as tools of EVM chains write it
    Given Hana has a DID
    When Vera looks up the transaction of the DID of Hana with 0x before it
    Then the answer is 200
    And it is the first entry of the log of Hana

  @getLedgerTransaction
  @404:TRANSACTION_NOT_FOUND
  Scenario: An unknown transaction
    When getLedgerTransaction is asked for what the ledger does not have
    Then the answer is 404 TRANSACTION_NOT_FOUND

  @getLedgerTransaction
  @400:INVALID_REQUEST
  Scenario: What is not a transaction hash
    When getLedgerTransaction is asked for what is malformed
    Then the answer is 400 INVALID_REQUEST
