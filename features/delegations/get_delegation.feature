Feature: Get a delegation

  Scenario: An operator does it for a holder
    Given a good request for getDelegation
    When it is sent
    Then the answer is 200
    And no one may keep a copy of the answer
