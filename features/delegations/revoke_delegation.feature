Feature: Revoke a delegation

  Scenario: A request that is sent twice is done once
    Given a good request for revokeDelegation
    When it is sent twice with one Idempotency-Key
    Then both answers are the same

  Scenario: An operator does it for a holder
    Given a good request for revokeDelegation
    When it is sent
    Then the answer is 200
    And the answer must not be cached

  Scenario Outline: Every party may revoke, and says so
    Given Hana has delegated to Aki
    And Aki has passed it on to Ben
    When <who> sends <operation> about it
    Then the answer is 200
    And the delegation is revoked
    And it says that <who> revoked it

    Examples:
      | who  | operation        |
      | Hana | revokeDelegation |
      | Aki  | revokeDelegation |
      | Ben  | revokeDelegation |
