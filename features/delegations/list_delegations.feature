Feature: List delegations

  Scenario: An operator does it for a holder
    Given a good request for listDelegations
    When it is sent
    Then the answer is 200
    And the answer must not be cached

  @400:INVALID_DID
  Scenario: A filter is a DID
    When listDelegations is asked about what is not a DID
    Then the answer is 400 INVALID_DID
