Feature: Resume a delegation

  Scenario: A request that is sent twice is done once
    Given a good request for resumeDelegation
    When it is sent twice with one Idempotency-Key
    Then both answers are the same

  Scenario: An operator does it for a holder
    Given a good request for resumeDelegation
    When it is sent
    Then the answer is 200
    And the answer must not be cached

  Scenario: A pause reaches what was passed on, and ends
    Given Hana has delegated to Aki
    And Hana has suspended it
    When Hana sends resumeDelegation about it
    Then the answer is 200
    And the delegation is active
