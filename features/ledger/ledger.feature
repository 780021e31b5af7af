Feature: Check the ledger without trusting the service
  Whoever holds the log's key proves what was recorded, and that nothing was taken back.

  @getLedgerTransaction
  Scenario: A transaction hash leads to the entry
    Given Hana has a DID
    When Vera looks up the transaction of the DID of Hana
    Then the answer is 200
    And it is the first entry of the log of Hana

  @getLedgerTransaction
  @404:TRANSACTION_NOT_FOUND
  Scenario: A transaction that nobody made
    When getLedgerTransaction is asked for what the ledger does not have
    Then the answer is 404 TRANSACTION_NOT_FOUND

  @getLedgerTransaction
  @400:INVALID_REQUEST
  Scenario: What is no transaction hash
    When getLedgerTransaction is asked for what is malformed
    Then the answer is 400 INVALID_REQUEST

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
  Scenario: What is no number of a block
    When getLedgerBlock is asked for what is malformed
    Then the answer is 400 INVALID_REQUEST

  @getLedgerKey
  Scenario: The key of the log
    When Vera asks for the key of the log
    Then the answer is 200
    And it verifies a checkpoint

  @getLedgerCheckpoint
  Scenario: A checkpoint covers what was recorded before it was asked for
    Given Hana has a DID
    When Vera fetches the checkpoint
    Then the answer is 200
    And the signature of the log covers the DID of Hana

  @getLedgerTile
  Scenario: The whole log can be read as tiles
    Given Hana has a DID
    When Vera reads the last tile and the last bundle
    Then the answer is 200
    And the bundle hashes to the tile
    And the answer never changes

  @getLedgerTile
  @404:TILE_NOT_FOUND
  Scenario: A tile beyond the end of the log
    When getLedgerTile is asked for what the ledger does not have
    Then the answer is 404 TILE_NOT_FOUND

  @getLedgerTile
  @404:TILE_NOT_FOUND
  Scenario: Where deactivated DIDs are hidden no bundle shows them
    Given a service that hides the history of deactivated DIDs
    And Hana has a DID
    When Vera reads the first bundle
    Then the answer is 404 TILE_NOT_FOUND

  @getLedgerInclusionProof
  Scenario: An entry is proven to be in the log
    Given Hana has a DID
    And Hana has changed the document once
    When Vera asks for a proof of the DID of Hana
    Then the answer is 200
    And the proof leads from the entry to the signed root

  @getLedgerInclusionProof
  Scenario: The proof as a text to keep
    Given Hana has a DID
    When Vera asks for a proof of the DID of Hana to keep
    Then the answer is 200
    And the text proves the first entry of the log of Hana

  @getLedgerInclusionProof
  @404:TRANSACTION_NOT_FOUND
  Scenario: No proof of a transaction that nobody made
    When getLedgerInclusionProof is asked for what the ledger does not have
    Then the answer is 404 TRANSACTION_NOT_FOUND

  @getLedgerInclusionProof
  @422:LOG_RANGE_INVALID
  Scenario: No proof in a log that is larger than this one
    Given Hana has a DID
    When Vera asks for a proof of the DID of Hana in a log of a million entries
    Then the answer is 422 LOG_RANGE_INVALID

  @getLedgerInclusionProof
  @406:NOT_ACCEPTABLE
  Scenario: A proof is no picture
    Given Hana has a DID
    When Vera asks for a proof of the DID of Hana as a picture
    Then the answer is 406 NOT_ACCEPTABLE

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
