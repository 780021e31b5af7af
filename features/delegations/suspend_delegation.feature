Feature: Suspend a delegation

  Scenario: A request that is sent twice is done once
    Given a good request for suspendDelegation
    When it is sent twice with one Idempotency-Key
    Then both answers are the same

  Scenario: An operator does it for a holder
    Given a good request for suspendDelegation
    When it is sent
    Then the answer is 200
    And the answer must not be cached
