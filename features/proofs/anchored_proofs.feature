Feature: A proof is anchored on the ledger
  Aki may have a commitment to a proof put on the ledger. Its receipt has four members wherever it is shown; what stands behind it, those see
  who may see the proof, and anybody can check it.

  @generateDelegatedProof
  Scenario Outline: How long Aki waits for the receipt
    Given Hana lets Aki prove things about her
    When Aki asks for an anchored proof and waits <milliseconds> ms
    Then the answer is 201
    And its anchor is <status>

    Examples:
      | milliseconds | status    |
      | 0            | pending   |
      | 30000        | confirmed |
      | 3600000      | confirmed |

  @generateDelegatedProof
  Scenario: A repetition gets the first receipt again
    Given Hana lets Aki prove things about her
    When Aki asks for an anchored proof twice
    Then both answers are the same proof

  @generateDelegatedProof
  Scenario: Nobody waits for a receipt without an anchor
    Given Hana lets Aki prove things about her
    When Aki asks for a proof without an anchor and waits 30000 ms
    Then the answer is 201
    And there is no anchor

  @getProof
  Scenario: A stranger can check the anchor
    Given Aki has an anchored proof about Hana
    When Hana looks at the proof
    Then its anchor is confirmed
    And its details lead from the proof to the root

  @getProof
  Scenario: A proof that waits is confirmed in the end
    Given Hana lets Aki prove things about her
    And Aki has asked for an anchored proof and not waited
    When Hana looks at the proof until its anchor is confirmed
    Then its details lead from the proof to the root

  @revokeProof
  Scenario: Revoking a proof revokes its anchor alone
    Given Aki has an anchored proof about Hana
    When Hana revokes the proof and waits for its anchor
    Then its anchor is revoked
    And it names the block of the revocation

  @verifyStoredProof
  Scenario: The verifier whom it answers sees the receipt
    Given Vera has a challenge for https://shop.example
    And the proof shall answer it
    And Aki has an anchored proof about Hana
    When Vera verifies the stored proof
    Then it is verified
    And its anchor is confirmed

  @listVerificationHistory
  Scenario: The history of verifications shows the receipt
    Given Vera has a challenge for https://shop.example
    And the proof shall answer it
    And Aki has an anchored proof about Hana
    And Vera has verified it
    When Vera reads the history
    Then each row shows the receipt

  @verifyStoredProof @listVerificationHistory
  Scenario: Whoever else knows the proof sees no receipt, which would tell of its revocation
    Given Aki has an anchored proof about Hana
    And Vera has verified it
    When Vera reads the history
    Then no row shows a receipt

  @getDashboardTimeline
  Scenario: The timeline tells of the anchor
    Given Aki has an anchored proof about Hana
    When Hana reads the timeline
    Then an event anchor.confirmed shows the receipt
