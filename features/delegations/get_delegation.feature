Feature: Get a delegation

  Scenario: An operator does it for a holder
    Given a good request for getDelegation
    When it is sent
    Then the answer is 200
    And the answer must not be cached
