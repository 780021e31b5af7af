Feature: Prove that an entry is in the log

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
  Scenario: No proof of an unknown transaction
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
  Scenario: A proof is not a picture
    Given Hana has a DID
    When Vera asks for a proof of the DID of Hana as a picture
    Then the answer is 406 NOT_ACCEPTABLE
