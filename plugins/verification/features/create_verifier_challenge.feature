Feature: Obtain a challenge for a proof

  Scenario: An operator sees it all
    Given a good request for createVerifierChallenge
    When it is sent
    Then the answer is 201
    And the answer must not be cached
