Feature: Get a stored proof

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

  Scenario: An operator does it for a holder
    Given a good request for getProof
    When it is sent
    Then the answer is 200
    And the answer must not be cached
