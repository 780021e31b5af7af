Feature: Obtain a challenge for a proof

  Scenario: An operator sees it all
    Given a good request for createVerifierChallenge
    When it is sent
    Then the answer is 201
    And no one may keep a copy of the answer
