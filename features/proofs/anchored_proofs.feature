Feature: A proof is anchored on the ledger
  Aki may have a commitment to a proof put on the ledger. Its receipt has four members wherever it is shown; what stands behind it, those see
  who may see the proof, and anybody can check it.

  @verifyStoredProof @listVerificationHistory
  Scenario: Anyone else who knows the proof sees no receipt, which would tell of its revocation
    Given Aki has an anchored proof about Hana
    And Vera has verified it
    When Vera reads the history
    Then no row shows a receipt
