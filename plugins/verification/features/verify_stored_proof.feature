Feature: Verify a stored proof as things are now

  @verifyStoredProof
  Scenario: The verifier whom it answers sees the receipt
    Given Vera has a challenge for https://shop.example
    And the proof shall answer it
    And Aki has an anchored proof about Hana
    When Vera verifies the stored proof
    Then it is verified
    And its anchor is confirmed

  Scenario: A verdict whose answer was lost is repeated
    Given Vera has a challenge for https://shop.example
    And the proof shall answer it
    And Aki has an anchored proof about Hana
    When Vera verifies the stored proof with that challenge again after a lost answer
    Then it is verified
    And its anchor is confirmed
    And both answers are the same

  Scenario: An operator does it for a holder
    Given a good request for verifyStoredProof
    When it is sent
    Then the answer is 200
    And the answer must not be cached

  @400:INVALID_REQUEST
  Scenario Outline: What no verifier can mean
    When a client sends verifyStoredProof with <what>
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | what                        |
      | a number of 17 digits       |
      | a challenge of five letters |

  @503:PLUGIN_UNAVAILABLE
  Scenario: Without a prover nothing is said about the proof
    Given a service whose prover raises
    And a good request for verifyStoredProof
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

  @504:PLUGIN_TIMEOUT
  Scenario: A prover that hangs is given up at its deadline
    Given a service whose prover hangs
    And a good request for verifyStoredProof
    When the fault strikes and it is sent
    Then the answer is 504 PLUGIN_TIMEOUT
