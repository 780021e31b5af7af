Feature: Revoke a delegation, without a reason

  Scenario: An operator does it for a holder
    Given a good request for deleteDelegation
    When it is sent
    Then the answer is 200
    And the answer must not be cached

  Scenario: Every party may revoke, and says so
    Given Hana has delegated to Aki
    And Aki has passed it on to Ben
    When Ben sends deleteDelegation about it
    Then the answer is 200
    And the delegation is revoked
    And it says that Ben revoked it
